//! The one log-sum-exp: from joint log scores to probabilities.

use crate::lanes::sum_of;
use crate::vectorised;

/// The kind of result of a row of joint log scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The scores themselves.
    Joint,
    /// Log-probabilities.
    LogProba,
    /// Probabilities.
    Proba,
}

/// The first of the largest scores.
#[inline(always)]
pub fn best(scores: &[f64]) -> usize {
    let mut top = 0;
    for (c, score) in scores.iter().enumerate() {
        if *score > scores[top] {
            top = c;
        }
    }
    top
}

/// Turns rows of joint log scores into results in place; returns the number of impossible rows.
///
/// A row that is impossible under every class gets the fallback. The largest score is left out of the sum, so `log1p`
/// keeps the digits of a winner whose probability rounds to 1.
pub fn normalise(scores: &mut [f64], fallback: &[f64], output: Output, scratch: &mut Vec<f64>) -> usize {
    let classes = fallback.len();
    if output == Output::Joint || classes == 0 {
        return 0;
    }
    vectorised(
        #[inline(always)]
        || {
            let mut impossible = 0;
            for row in scores.chunks_exact_mut(classes) {
                let mut top = largest(row);
                if top == f64::NEG_INFINITY {
                    row.copy_from_slice(fallback);
                    impossible += 1;
                    top = largest(row);
                }
                row.iter_mut().for_each(|s| *s -= top);
            }
            scratch.clear();
            scratch.extend_from_slice(scores);
            scratch.iter_mut().for_each(|x| *x = exp_of_negative(*x));
            for (row, e) in scores.chunks_exact_mut(classes).zip(scratch.chunks_exact_mut(classes)) {
                // The winner, now at 0, is left out of the sum: it is the 1 in log(1 + rest).
                let winner = row.iter().position(|&s| s == 0.0).unwrap_or(0);
                e[winner] = 0.0;
                let rest = sum_of::<4, 1>([e], |[x]| x);
                e[winner] = 1.0;
                if output == Output::Proba {
                    let total = 1.0 + rest;
                    row.iter_mut().zip(e).for_each(|(p, e)| *p = *e / total);
                } else {
                    let log = rest.ln_1p();
                    row.iter_mut().for_each(|s| *s -= log);
                }
            }
            impossible
        },
    )
}

/// The largest of some scores, in four partial searches.
#[inline(always)]
fn largest(row: &[f64]) -> f64 {
    let mut tops = [f64::NEG_INFINITY; 4];
    let fours = row.chunks_exact(4);
    let rest = fours.remainder().iter().copied();
    for four in fours {
        tops.iter_mut().zip(four).for_each(|(top, &s)| *top = if s > *top { s } else { *top });
    }
    tops.into_iter().chain(rest).fold(f64::NEG_INFINITY, |top, s| if s > top { s } else { top })
}

/// e^x for x <= 0, in operations that vectors have: x = n ln 2 + r, a Taylor sum for r, a shift for n.
///
/// Its error is below 2 units in the last place; below -745 it is 0, for -inf too.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f64) -> f64 {
    const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Adding and taking away 1.5 * 2^52 rounds to a whole number, whose bits are then the low ones.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = if x > -800.0 { x } else { -800.0 };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut sum = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    // Two half shifts reach the subnormal numbers, which one could not.
    let whole = |shifted: f64| (shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64);
    let half = whole(n * 0.5 + ROUND);
    let power = |n: i64| f64::from_bits(((n + 1023) as u64) << 52);
    sum * power(half) * power(whole(shifted) - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sure_winner_keeps_its_digits() {
        let mut scores = [-1000.0, -1040.0];
        assert_eq!(normalise(&mut scores, &[0.0, 0.0], Output::LogProba, &mut Vec::new()), 0);
        assert_eq!(scores, [-4.248354255291589e-18, -40.0]);
    }

    #[test]
    fn an_impossible_row_gets_the_prior() {
        let mut scores = [f64::NEG_INFINITY; 2];
        assert_eq!(
            normalise(&mut scores, &[0.25_f64.ln(), 0.75_f64.ln()], Output::Proba, &mut Vec::new()),
            1
        );
        assert!((scores[0] - 0.25).abs() < 1e-15);
    }

    #[test]
    fn exp_is_exact_to_two_units_and_reaches_zero() {
        for k in 0..7_500 {
            let x = -0.1 * f64::from(k) - 1e-3 / f64::from(k + 1);
            let (e, truth) = (exp_of_negative(x), x.exp());
            let unit = truth * f64::EPSILON + f64::from_bits(1);
            assert!((e - truth).abs() <= 2.0 * unit, "{x}: {e} is not {truth}");
        }
        assert_eq!([exp_of_negative(0.0), exp_of_negative(f64::NEG_INFINITY)], [1.0, 0.0]);
    }

    #[test]
    fn a_tie_goes_to_the_first_class() {
        assert_eq!(best(&[1.0, 2.0, 2.0]), 1);
        assert_eq!(best(&[f64::NEG_INFINITY; 3]), 0);
    }
}
