//! Log densities without one kernel.

use crate::normalise::exp_of_negative;

/// log(1 - e) for e up to 1/2, as -2 artanh(e / (2 - e)).
#[inline(always)]
fn log_of_rest<const TERMS: u32>(e: f64) -> f64 {
    let z = e / (2.0 - e);
    let series = (0..TERMS).rev().fold(0.0, |sum, k| sum * (z * z) + 1.0 / f64::from(2 * k + 1));
    -2.0 * z * series
}

/// Shares up to this one need a few terms of the series only.
const SMALL_SHARE: f64 = 1.0 / 64.0;

/// What a kernel of a class has in a density, and what the density gains without it, as logarithms.
pub(super) struct Removed {
    /// Height of the kernel / total of the class.
    pub(super) log_height: f64,
    /// Total with / total without the kernel; NaN if no other kernels are left.
    pub(super) log_gain: f64,
}

impl Removed {
    /// Leaves kernels out of log densities: with T the log density and e the share of the kernel in it, the result is
    /// T + log(1 - e) + log(gain).
    ///
    /// `shares` holds kernels in heights, and then their shares. True if all shares are small and all results finite.
    #[inline(always)]
    pub(super) fn leave(&self, logs: &mut [f64], shares: &mut [f64]) -> bool {
        let (mut are_small, mut are_known) = (true, true);
        for (share, log) in shares.iter_mut().zip(&mut *logs) {
            let below = self.log_height - *log;
            *share *= exp_of_negative(if below < 0.0 { below } else { 0.0 });
            *share = if below > 0.0 { 1.0 } else { *share };
            *log += self.log_gain;
            are_small &= *share <= SMALL_SHARE;
            are_known &= log.abs() <= f64::MAX;
        }
        if are_small {
            shares.iter().zip(logs).for_each(|(share, log)| *log += log_of_rest::<4>(*share));
        } else {
            for (share, log) in shares.iter().zip(logs) {
                *log += log_of_rest::<13>(if *share < 0.5 { *share } else { 0.5 });
            }
        }
        are_small && are_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_of_the_logarithm_is_long_enough() {
        for k in 0..=1000 {
            let e = 0.0005 * f64::from(k);
            assert!((log_of_rest::<13>(e) - (-e).ln_1p()).abs() < 1e-13, "{e}");
            let small = e * (2.0 * SMALL_SHARE);
            assert!((log_of_rest::<4>(small) - (-small).ln_1p()).abs() < 1e-15, "{small}");
        }
    }
}
