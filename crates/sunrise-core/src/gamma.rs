//! Logarithms of factorials and of rising factorials.

use std::ops::Range;
use std::sync::OnceLock;

/// Coefficients of 1 / x, 1 / x^3, ... in log gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + ...
const STIRLING: [f64; 7] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];

/// log(2 pi) / 2.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_8;

/// From this argument on the seven terms are exact to every digit.
const FAR: f64 = 16.0;

/// Sixteen factors in this range have a product within the range of floats.
const MODERATE: Range<f64> = 1e-18..1e15;

/// Stirling's series at x: what log gamma(x) is beyond (x - 1/2) log x - x + log(2 pi) / 2.
fn stirling(x: f64) -> f64 {
    let (inverse, mut sum) = (1.0 / x, 0.0);
    for term in STIRLING.iter().rev() {
        sum = sum * (inverse * inverse) + term;
    }
    sum * inverse
}

/// log x! of a whole number from 0, NaN of any other number; a table for small ones, Stirling's series beyond.
pub fn log_factorial(x: f64) -> f64 {
    static SMALL: OnceLock<[f64; 256]> = OnceLock::new();
    let small = SMALL.get_or_init(|| {
        let mut sums = [0.0; 256];
        for k in 1..256 {
            sums[k] = sums[k - 1] + (k as f64).ln();
        }
        sums
    });
    if x.is_nan() || x < 0.0 || x != x.floor() {
        f64::NAN
    } else if let Some(&sum) = small.get(x as usize) {
        sum
    } else {
        (x + 0.5) * x.ln() - x + HALF_LOG_TAU + stirling(x)
    }
}

/// [`log_rising`] for a from [`FAR`].
fn log_rising_far(a: f64, n: f64) -> f64 {
    n * a.ln() + ((a + n - 0.5) * (n / a).ln_1p() - n) + (stirling(a + n) - stirling(a))
}

/// log of a (a + 1) ... (a + n - 1), that is log gamma(a + n) - log gamma(a) for any n from 0, without cancellation.
pub fn log_rising(a: f64, n: f64) -> f64 {
    if n == 0.0 {
        return 0.0;
    }
    if a <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let steps = (FAR - a).ceil().max(0.0);
    if n.fract() != 0.0 {
        let near: f64 = (0..steps as usize).map(|k| (n / (a + k as f64)).ln_1p()).sum();
        return log_rising_far(a + steps, n) - near;
    }
    if a < MODERATE.start {
        // A tiny factor is taken out, so that the product of the others stays within the range of floats.
        return a.ln() + log_rising(a + 1.0, n - 1.0);
    }
    let near = if a < MODERATE.end { n.min(steps.max(4.0)) } else { 0.0 };
    let product = (0..near as usize).fold(1.0, |product, k| product * (a + k as f64));
    product.ln() + if n > near { log_rising_far(a + near, n - near) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_factorial_is_the_product_of_its_factors() {
        for a in [1e-30, 1e-8, 0.3, 1.0, 7.5, 15.9, 16.0, 1e3] {
            for n in [1, 2, 3, 5, 16, 17, 40, 100] {
                let sum: f64 = (0..n).map(|k| (a + f64::from(k)).ln()).sum();
                let log = log_rising(a, f64::from(n));
                assert!((log - sum).abs() <= 1e-13 * (1.0 + sum.abs()), "{a} {n}: {log} is not {sum}");
            }
        }
        // Half a step twice is one step.
        for a in [1e-8, 0.3, 3.0, 20.0, 1e6] {
            let halves = log_rising(a, 0.5) + log_rising(a + 0.5, 0.5);
            assert!((halves - a.ln()).abs() <= 1e-13 * (1.0 + a.ln().abs()));
        }
        assert_eq!(log_rising(0.0, 0.0), 0.0);
        assert_eq!(log_rising(0.0, 2.0), f64::NEG_INFINITY);
        assert_eq!(log_rising(1e300, 1.0), 1e300_f64.ln());
    }

    #[test]
    fn factorials_continue_where_the_table_ends() {
        for n in [1_u32, 5, 255, 256, 257, 1000] {
            let sum: f64 = (1..=n).map(|k| f64::from(k).ln()).sum();
            assert!((log_factorial(f64::from(n)) - sum).abs() <= 1e-13 * (1.0 + sum));
        }
        assert!(log_factorial(0.5).is_nan() && log_factorial(-1.0).is_nan());
    }
}
