//! The sums of kernels of all columns, at positions on the line.

use super::scaled::ScaledFloat;
use super::sum::{KernelSum, RemovedPoint};
use crate::fault::Fault;
use crate::parallel::{blocks, run};

/// How a cell becomes positions on the line at which the kernels are evaluated.
#[derive(Clone, Debug)]
pub struct Folds {
    /// Distances from a bound are removed as logarithms.
    pub log: bool,
    /// Lower bound of the cells, or -inf.
    pub lower: f64,
    /// Upper bound of the cells, or inf.
    pub upper: f64,
    /// Images sign * x + shift of a position: itself first, then its reflections at the bounds.
    pub images: Vec<(f64, f64)>,
}

impl Folds {
    /// The position of a cell on the line.
    #[inline(always)]
    pub fn scale(&self, x: f64) -> f64 {
        match (self.log, self.lower.is_finite(), self.upper.is_finite()) {
            (true, true, true) => (x - self.lower).ln() - (self.upper - x).ln(),
            (true, true, false) => (x - self.lower).ln(),
            (true, false, true) => -(self.upper - x).ln(),
            _ => x,
        }
    }
}

/// Sums of kernels of all columns; those of the classes come first within a column.
#[derive(Debug)]
pub struct KernelSums {
    /// Number of sums of a column.
    pub per_column: usize,
    /// The sums, column after column.
    pub sums: Vec<KernelSum>,
}

impl KernelSums {
    /// One of the sums at a position, added over its images.
    #[inline(always)]
    pub fn folded(&self, at: usize, u: f64, folds: &Folds) -> ScaledFloat {
        let sum = &self.sums[at];
        if sum.is_empty() {
            return ScaledFloat::ZERO;
        }
        match folds.images.as_slice() {
            [_] => sum.evaluate(u),
            images => images
                .iter()
                .map(|(sign, shift)| sum.evaluate(sign * u + shift))
                .fold(ScaledFloat::ZERO, |all, one| all.plus(one)),
        }
    }

    /// One of the sums at a position, added over its images, without some weight at two of its points.
    pub fn folded_without(
        &self,
        at: usize,
        u: f64,
        removed: [RemovedPoint; 2],
        folds: &Folds,
    ) -> ScaledFloat {
        let each = folds.images.iter().map(|(sign, shift)| self.sums[at].without(sign * u + shift, removed));
        each.fold(ScaledFloat::ZERO, |all, one| all.plus(one))
    }

    /// Logarithms of sums at positions on the line, optionally without some weight at two points of each sum.
    pub fn log_sums(
        &self,
        at: &[i64],
        x: &[f64],
        removed: Option<(&[f64], &[f64])>,
        folds: &Folds,
        threads: usize,
    ) -> Result<Vec<f64>, Fault> {
        let n = x.len();
        let known = |&k: &i64| usize::try_from(k).is_ok_and(|k| k < self.sums.len());
        let fits = removed.is_none_or(|(points, weights)| points.len() == 2 * n && weights.len() == 2 * n);
        if at.len() != n || !fits || !at.iter().all(known) {
            return Err(Fault::shape("there is not one sum of kernels for each cell"));
        }
        let parts = run(threads, blocks(0..n, 4096).collect(), |rows| {
            rows.map(|i| {
                let sum = at[i] as usize;
                match removed {
                    None => self.folded(sum, x[i], folds).ln(),
                    Some((points, weights)) => {
                        let own =
                            |k: usize| RemovedPoint { point: points[2 * i + k], weight: weights[2 * i + k] };
                        self.folded_without(sum, x[i], [own(0), own(1)], folds).ln()
                    }
                }
            })
            .collect::<Vec<f64>>()
        });
        Ok(parts.concat())
    }
}
