//! log(x) and log(1 + x) in plain arithmetic, which compilers turn into vectors.

/// The bits of 1 and of the square root of 1/2; mantissas are taken between this root and its double.
const ONE: u64 = 1.0_f64.to_bits();
const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

/// A float whose last bits are whole numbers.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// Coefficients of z, z^2, ... in log((1 + s) / (1 - s)) = 2 s + s R(z), z = s^2, for |s| < 0.1716 (FreeBSD's e_log.c).
const SERIES: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

/// log(1 + x) for x from 0 to the largest float, with a relative error below 1e-15 from 1e-300 on; infinity beyond, NaN for NaN.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let one_plus = 1.0 + x;
    let shifted = one_plus.to_bits().wrapping_add(ONE - ROOT_HALF);
    // The exponent as a float: conversions of integers are not vector instructions.
    let exponent = f64::from_bits((shifted >> 52) | WHOLE.to_bits()) - (WHOLE + 1023.0);
    let mantissa = f64::from_bits((shifted & (u64::MAX >> 12)) + ROOT_HALF);
    // Below the root of 2 the exponent is 0, and x itself has the digits that 1 + x has lost.
    let f = if one_plus < std::f64::consts::SQRT_2 { x } else { mantissa - 1.0 };
    let log = assembled(exponent, f);
    if one_plus <= f64::MAX {
        log
    } else {
        one_plus
    }
}

/// log(x) of a normal positive float, with a relative error below 1e-15; infinity and NaN for themselves.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let shifted = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    let exponent = f64::from_bits((shifted >> 52) | WHOLE.to_bits()) - (WHOLE + 1023.0);
    let log = assembled(exponent, f64::from_bits((shifted & (u64::MAX >> 12)) + ROOT_HALF) - 1.0);
    if x <= f64::MAX {
        log
    } else {
        x
    }
}

/// log((1 + f) 2^exponent), for 1 + f between the root of 1/2 and its double.
#[inline(always)]
fn assembled(exponent: f64, f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let square = z * z;
    let [a, b, c, d, e, g, h] = SERIES;
    // Short chains of steps: a processor then works on several logarithms at a time.
    let high = (e + z * g) + square * h;
    let series = (a + z * b) + square * ((c + z * d) + square * high);
    exponent * std::f64::consts::LN_2 + s * (2.0 + z * series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_range_of_floats_ends_in_the_right_values() {
        assert_eq!(ln_1p(0.0), 0.0);
        assert!(ln_1p(5e-324) <= 1e-323);
        assert_eq!(ln_1p(1e-300), 1e-300);
        assert!((ln_1p(f64::MAX) - f64::MAX.ln()).abs() < 1e-12);
        assert_eq!(ln_1p(f64::INFINITY), f64::INFINITY);
        assert!(ln_1p(f64::NAN).is_nan());
        assert!(ln(f64::NAN).is_nan() && ln(f64::INFINITY) == f64::INFINITY && ln(1.0) == 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_positive_float_has_the_logarithm_of_the_standard_library(bits in 1e-300_f64.to_bits()..f64::INFINITY.to_bits()) {
            let x = f64::from_bits(bits);
            prop_assert!((ln_1p(x) - x.ln_1p()).abs() <= 1e-15 * x.ln_1p(), "{x:e}");
            prop_assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs(), "{x:e}");
        }

        #[test]
        fn moderate_floats_too(log2 in -60.0..60.0_f64) {
            let x = log2.exp2();
            prop_assert!((ln_1p(x) - x.ln_1p()).abs() <= 1e-15 * x.ln_1p(), "{x:e}");
            prop_assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs(), "{x:e}");
        }
    }
}
