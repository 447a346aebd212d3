//! log(1 - u) by series of a few terms, which compilers turn into vectors.

/// Below these, log(1 - u) is computed by series of four, six and eight terms.
pub(crate) const TINY: f64 = 0.0015;
pub(crate) const SMALL: f64 = 0.02;
pub(crate) const MIDDLE: f64 = 0.25;

/// log(1 - u).
#[inline(always)]
pub(crate) fn log_rest(u: f64) -> f64 {
    if u < SMALL {
        -small_series(u)
    } else {
        (1.0 - u.min(1.0)).ln()
    }
}

/// -log(1 - u) of a u below [`TINY`]: its Taylor series, reduced to four terms by Chebyshev polynomials.
#[inline(always)]
pub(crate) fn tiny_series(u: f64) -> f64 {
    const C: [f64; 4] =
        [0.999_999_999_999_992_1, 0.500_000_000_169_195_8, 0.333_332_769_512_639_57, 0.250_601_056_347_344_1];
    u * (C[0] + u * (C[1] + u * (C[2] + u * C[3])))
}

/// -log(1 - u) of a u below [`SMALL`], in the same way.
#[inline(always)]
pub(crate) fn small_series(u: f64) -> f64 {
    const C: [f64; 6] = [
        0.999_999_999_999_995_2,
        0.500_000_000_016_992_3,
        0.333_333_323_443_172_74,
        0.250_002_102_889_421_1,
        0.199_798_342_053_141_43,
        0.175_530_443_769_695_3,
    ];
    let square = u * u;
    // Short chains of steps: a processor then works on several series at a time.
    u * ((C[0] + u * C[1]) + square * ((C[2] + u * C[3]) + square * (C[4] + u * C[5])))
}

/// -log(1 - u) of a u below [`MIDDLE`]: twice the inverse hyperbolic tangent of u / (2 - u).
#[inline(always)]
pub(crate) fn middle_series(u: f64) -> f64 {
    let s = u / (2.0 - u);
    let s2 = s * s;
    let rest = 1.0 / 9.0 + s2 * (1.0 / 11.0 + s2 * (1.0 / 13.0 + s2 * (1.0 / 15.0)));
    2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0 + s2 * rest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_series_is_enough() {
        for k in 0..200 {
            let u = SMALL * f64::from(k) / 200.0;
            assert!((small_series(u) + (-u).ln_1p()).abs() <= 6e-15 * u);
            let u = MIDDLE * f64::from(k) / 200.0;
            assert!((middle_series(u) + (-u).ln_1p()).abs() <= 5e-15 * u);
            let u = TINY * f64::from(k) / 200.0;
            assert!((tiny_series(u) + (-u).ln_1p()).abs() <= 1e-14 * u);
        }
    }
}
