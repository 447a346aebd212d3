//! The one log-sum-exp: from joint log scores to probabilities.

/// What is wanted of a row of joint log scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The scores as they are.
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

/// Turns a row of scores into what is wanted; false where the row was impossible under every class.
///
/// Such a row gets the class prior. With the largest score apart, `log1p` keeps the digits of a winner whose
/// probability rounds to 1.
#[inline(always)]
pub fn normalise(scores: &mut [f64], log_prior: &[f64], output: Output) -> bool {
    if output == Output::Joint || scores.is_empty() {
        return true;
    }
    let possible = scores.iter().any(|&s| s > f64::NEG_INFINITY);
    if !possible {
        scores.copy_from_slice(log_prior);
    }
    let winner = best(scores);
    let top = scores[winner];
    let mut rest = 0.0;
    for (c, score) in scores.iter_mut().enumerate() {
        *score -= top;
        if c != winner && *score > -750.0 {
            let e = score.exp();
            rest += e;
            if output == Output::Proba {
                *score = e;
            }
        } else if output == Output::Proba {
            *score = f64::from(u8::from(c == winner));
        }
    }
    match output {
        Output::Proba => scores.iter_mut().for_each(|p| *p /= 1.0 + rest),
        _ => {
            let log = rest.ln_1p();
            scores.iter_mut().for_each(|s| *s -= log);
        }
    }
    possible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sure_winner_keeps_its_digits() {
        let mut scores = [-1000.0, -1040.0];
        assert!(normalise(&mut scores, &[0.0, 0.0], Output::LogProba));
        assert_eq!(scores, [-4.248354255291589e-18, -40.0]);
    }

    #[test]
    fn an_impossible_row_gets_the_prior() {
        let mut scores = [f64::NEG_INFINITY; 2];
        assert!(!normalise(&mut scores, &[0.25_f64.ln(), 0.75_f64.ln()], Output::Proba));
        assert!((scores[0] - 0.25).abs() < 1e-15);
    }

    #[test]
    fn a_tie_goes_to_the_first_class() {
        assert_eq!(best(&[1.0, 2.0, 2.0]), 1);
        assert_eq!(best(&[f64::NEG_INFINITY; 3]), 0);
    }
}
