//! Scores of cells under kernel densities.

use super::scaled::ScaledFloat;
use super::sum::{KernelSum, RemovedPoint};
use crate::cells::Matrix;
use crate::fault::Fault;
use crate::parallel::{blocks, run};
use crate::score::Scorer;
use std::ops::Range;

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
    fn scale(&self, x: f64) -> f64 {
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
    fn folded(&self, at: usize, u: f64, folds: &Folds) -> ScaledFloat {
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
                        let images = folds.images.iter();
                        let each = images.map(|(sign, shift)| {
                            self.sums[sum].without(sign * x[i] + shift, [own(0), own(1)])
                        });
                        each.fold(ScaledFloat::ZERO, |all, one| all.plus(one)).ln()
                    }
                }
            })
            .collect::<Vec<f64>>()
        });
        Ok(parts.concat())
    }
}

/// How the sums of a column become log densities: (own sum + prior * common density) / total, class by class.
#[derive(Clone, Copy, Debug)]
pub struct DensityWeights<'a> {
    /// Factor of each sum in the common density of the column, columns x sums.
    pub common: &'a [f64],
    /// Weight of the common density beside the own sum of a class, columns x classes.
    pub prior: &'a [f64],
    /// Log of the divisor of each density, columns x classes.
    pub log_total: &'a [f64],
    /// Log of the integral of one kernel, columns x sums.
    pub log_width: &'a [f64],
    /// Factor of each column in the score; 0 if the column is not used.
    pub weight: &'a [f64],
}

/// Dense cells scored by kernel densities.
pub struct DensityScorer<'a> {
    cells: Box<dyn Matrix + 'a>,
    kernels: &'a KernelSums,
    folds: &'a Folds,
    weights: DensityWeights<'a>,
    classes: usize,
}

impl<'a> DensityScorer<'a> {
    /// Checks that cells, sums and weights have the same columns and classes.
    pub fn new(
        cells: Box<dyn Matrix + 'a>,
        kernels: &'a KernelSums,
        folds: &'a Folds,
        weights: DensityWeights<'a>,
        classes: usize,
    ) -> Result<Self, Fault> {
        let (columns, each) = (cells.columns(), kernels.per_column);
        let fits = kernels.sums.len() == columns * each
            && classes <= each
            && [weights.common, weights.log_width].iter().all(|part| part.len() == columns * each)
            && [weights.prior, weights.log_total].iter().all(|part| part.len() == columns * classes)
            && weights.weight.len() == columns;
        if !fits {
            return Err(Fault::shape("the kernels do not fit the cells"));
        }
        Ok(DensityScorer { cells, kernels, folds, weights, classes })
    }

    /// Adds the log densities of one cell to the scores of its row.
    #[inline(always)]
    fn add_cell(&self, j: usize, x: f64, found: &mut [ScaledFloat], scores: &mut [f64]) {
        let each = self.kernels.per_column;
        let u = self.folds.scale(x);
        for (k, found) in found.iter_mut().enumerate() {
            *found = self.kernels.folded(j * each + k, u, self.folds);
            found.level -= self.weights.log_width[j * each + k];
        }
        let factors = found.iter().zip(&self.weights.common[j * each..]);
        let common = factors.fold(ScaledFloat::ZERO, |all, (sum, factor)| all.plus(sum.times(*factor)));
        let (prior, log_total) =
            (&self.weights.prior[j * self.classes..], &self.weights.log_total[j * self.classes..]);
        for (c, score) in scores.iter_mut().enumerate() {
            let density = found[c].plus(common.times(prior[c])).ln();
            *score += self.weights.weight[j] * (density - log_total[c]);
        }
    }
}

impl Scorer for DensityScorer<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        16 * self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (columns, reading) = (self.cells.columns(), self.cells.reading());
        let mut scratch = Vec::new();
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        let mut found = vec![ScaledFloat::ZERO; self.kernels.per_column];
        for (r, scores) in scores.chunks_exact_mut(self.classes).enumerate() {
            for j in 0..columns {
                let x = numbers[r * columns + j];
                if x.is_nan() {
                    continue;
                }
                if !reading.accepts(x) {
                    self.cells.find_fault(rows.start + r..rows.start + r + 1)?;
                    continue;
                }
                if self.weights.weight[j] != 0.0 {
                    self.add_cell(j, x, &mut found, scores);
                }
            }
        }
        Ok(())
    }
}
