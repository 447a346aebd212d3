//! Kernel densities: sums of Gaussian kernels about many points, in time that does not grow with their number.
//!
//! A [`KernelSum`] is S(x) = sum_i w_i exp(-z_i^2 / 2), z_i = (x - v_i) / h. The line is divided into intervals. Points
//! beyond the radius R, R^2 = d^2 + 2 h^2 ln(W / (w e)) with d the distance of the nearest one, add less than a share e
//! of S together and are left out; x - R and x + R both grow with x, so the ends of an interval bound the points that
//! matter inside. Few points are added one by one. Elsewhere, with x = m + s h and m the middle of the interval,
//!
//! S(x) = exp(s D - s^2 / 2) sum_i W_i exp(s (z_i - D)),   W_i = w_i exp(-z_i^2 / 2) at m, D the mean of z_i by W_i,
//!
//! and the sum is a Taylor series in s whose coefficients are moments about D. Its remainder is bounded from the same
//! moments, as a share of S: an interval in which it might be larger than allowed is halved. So every sum has a known
//! relative error for any points, also far below the peak.

mod curve;
mod densities;
mod finder;
mod kernels;
mod lattice;
mod layout;
mod merge;
mod nodes;
mod polynomials;
mod removed;
mod scaled;
mod score;
mod sum;

pub use densities::{Densities, Mixture};
pub use kernels::{Folds, KernelSums};
pub use nodes::{on_lattices, Values};
pub use scaled::ScaledFloat;
pub use score::DensityScorer;
pub use sum::{KernelSum, RemovedPoint};

/// Largest square of a distance in bandwidths: larger ones are cut off, to stay within the range of floats.
const FARTHEST: f64 = 1e300;

/// Square of a distance in bandwidths, at most [`FARTHEST`].
#[inline(always)]
fn square(d: f64, width: f64) -> f64 {
    let z = d / width;
    // A comparison becomes one instruction; `f64::min` takes care of NaN besides.
    if z * z < FARTHEST {
        z * z
    } else {
        FARTHEST
    }
}
