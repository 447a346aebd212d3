//! Scores of counts by rising factorials, from a table where most counts are.

use crate::cells::Matrix;
use crate::fault::{self, afford, Fault};
use crate::gamma::log_rising;
use crate::gather;
use crate::parallel::blocks;
use crate::score::{step, Scorer};
use crate::vectorised;
use std::ops::Range;

/// The parts of the score, each columns x classes; a count x adds weight (base + slope x + log rising(shape, x)).
///
/// With a gap, log rising(shape + gap, x) is subtracted.
#[derive(Clone, Copy, Debug)]
pub struct Factorials<'a> {
    /// Number of classes.
    pub classes: usize,
    /// Added by every observed cell.
    pub base: &'a [f64],
    /// Weight of the count.
    pub slope: &'a [f64],
    /// First factor of the rising factorial.
    pub shape: &'a [f64],
    /// Distance to the first factor of the divisor.
    pub gap: Option<&'a [f64]>,
    /// Factor of each column.
    pub weight: &'a [f64],
}

impl Factorials<'_> {
    /// The score of a count in column `j` for one class.
    fn score(&self, j: usize, c: usize, x: f64) -> f64 {
        let at = j * self.classes + c;
        let (shape, weight) = (self.shape[at], self.weight[j]);
        if weight == 0.0 {
            return 0.0;
        }
        // One ratio of gamma functions in two ways: each is accurate where the other cancels.
        let rising = match self.gap.map(|gap| gap[at]) {
            None => log_rising(shape, x),
            Some(gap) if x <= gap => log_rising(shape, x) - log_rising(shape + gap, x),
            Some(gap) => log_rising(shape, gap) - log_rising(shape + x, gap),
        };
        weight * (self.base[at] + self.slope[at] * x + rising)
    }
}

/// The scores of the counts of a range for every column, made once.
#[derive(Debug, Default)]
pub struct CountScores {
    classes: usize,
    /// The first count of each column.
    lows: Vec<f64>,
    /// The number of counts of each column.
    sizes: Vec<f64>,
    /// Entry of the first count of each column.
    entries: Vec<usize>,
    /// The scores, entries x classes, the classes padded as [`crate::gather`] wants them; the last entry has zeros.
    values: Vec<f64>,
}

impl CountScores {
    /// Scores `sizes` counts of every column from `lows` on.
    pub fn new(factorials: Factorials, lows: &[i64], sizes: &[i64]) -> Result<Self, Fault> {
        let columns = factorials.weight.len();
        let small = |k: &i64| (0..=1 << 53).contains(k);
        if lows.len() != columns || sizes.len() != columns || !lows.iter().chain(sizes).all(small) {
            return Err(Fault::shape("there is not one range of counts for each column"));
        }
        let size = fault::cells(factorials.classes, columns)?;
        let parts = [factorials.base, factorials.slope, factorials.shape];
        if parts.iter().chain(&factorials.gap).any(|part| part.len() != size) {
            return Err(Fault::shape("the factorials do not have one cell for each column and class"));
        }
        let stride = gather::stride(factorials.classes);
        let total = sizes.iter().try_fold(1, |sum: usize, &size| sum.checked_add(size as usize));
        let total = total.ok_or(Fault::Memory)?;
        afford(total, stride)?;
        let mut scores = CountScores {
            classes: factorials.classes,
            values: vec![0.0; total * stride],
            ..CountScores::default()
        };
        let mut rows = scores.values.chunks_exact_mut(stride);
        let mut entry = 0;
        for (j, (&low, &size)) in lows.iter().zip(sizes).enumerate() {
            for (count, row) in (low..low + size).zip(&mut rows) {
                for (c, value) in row[..factorials.classes].iter_mut().enumerate() {
                    *value = factorials.score(j, c, count as f64);
                }
            }
            scores.entries.push(entry);
            entry += size as usize;
        }
        scores.lows = lows.iter().map(|&low| low as f64).collect();
        scores.sizes = sizes.iter().map(|&size| size as f64).collect();
        Ok(scores)
    }
}

/// Dense counts scored by rising factorials.
pub struct DenseFactorials<'a> {
    cells: Box<dyn Matrix + 'a>,
    factorials: Factorials<'a>,
    scores: &'a CountScores,
}

impl<'a> DenseFactorials<'a> {
    /// Checks that cells and scores fit together; the scores must be those of the same factorials.
    pub fn new(
        cells: Box<dyn Matrix + 'a>,
        factorials: Factorials<'a>,
        scores: &'a CountScores,
    ) -> Result<Self, Fault> {
        let columns = cells.columns();
        let size = fault::cells(factorials.classes, columns)?;
        let parts = [factorials.base, factorials.slope, factorials.shape];
        if factorials.weight.len() != columns
            || scores.entries.len() != columns
            || scores.classes != factorials.classes
            || parts.iter().chain(&factorials.gap).any(|part| part.len() != size)
        {
            return Err(Fault::shape("the factorials are not those of the columns"));
        }
        afford(1, columns)?;
        Ok(DenseFactorials { cells, factorials, scores })
    }

    #[inline(always)]
    fn add_rows(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (classes, columns, reading) =
            (self.factorials.classes, self.cells.columns(), self.cells.reading());
        let table = self.scores;
        let stride = gather::stride(classes);
        let nothing = (table.values.len() / stride.max(1)).saturating_sub(1);
        let (mut entries, mut own) = (vec![0; columns], vec![0.0; stride]);
        let (mut beyond, mut scratch) = (Vec::new(), Vec::new());
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        for (k, (r, scores)) in rows.zip(scores.chunks_exact_mut(classes)).enumerate() {
            let row = &numbers[k * columns..][..columns];
            if !row.iter().fold(true, |all, &x| all & (x.is_nan() | reading.accepts(x))) {
                self.cells.find_fault(r..r + 1)?;
            }
            beyond.clear();
            for (j, (&x, entry)) in row.iter().zip(&mut entries).enumerate() {
                let place = x - table.lows[j];
                *entry = if place >= 0.0 && place < table.sizes[j] {
                    table.entries[j] + place as usize
                } else {
                    if !x.is_nan() {
                        beyond.push((j, x));
                    }
                    nothing
                };
            }
            own.fill(0.0);
            gather::add(&table.values, entries.iter().map(|&entry| (entry, 1.0)), &mut own);
            for (c, (score, own)) in scores.iter_mut().zip(&own).enumerate() {
                *score += own + beyond.iter().map(|&(j, x)| self.factorials.score(j, c, x)).sum::<f64>();
            }
        }
        Ok(())
    }
}

impl Scorer for DenseFactorials<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        2 * self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let step = step(self.cells.columns());
        for (rows, scores) in blocks(rows, step).zip(scores.chunks_mut(step * self.factorials.classes)) {
            vectorised(
                #[inline(always)]
                || self.add_rows(rows, scores),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use crate::score::joint;
    use ndarray::{array, Array2};

    const COUNTS: Reading = Reading { above: None, lowest: 0.0, highest: 1e15, whole: true };

    fn factorials<'a>(gap: Option<&'a [f64]>) -> Factorials<'a> {
        Factorials {
            classes: 1,
            base: &[-1.0, -1.0],
            slope: &[0.5, 0.5],
            shape: &[2.0, 2.0],
            gap,
            weight: &[1.0, 2.0],
        }
    }

    fn score(x: &Array2<f64>, gap: Option<&[f64]>, low: i64, size: i64) -> Result<Vec<f64>, Fault> {
        let scores = CountScores::new(factorials(gap), &[low; 2], &[size; 2])?;
        let block = DenseFactorials::new(Box::new(Dense::new(x.view(), COUNTS)), factorials(gap), &scores)?;
        joint(x.nrows(), &block, &[0.0])
    }

    #[test]
    fn a_table_does_not_change_the_scores() {
        // rising(2, 3) = 2 * 3 * 4, rising(2, 5) = 720.
        let x = array![[3.0, 5.0], [0.0, 3.0], [f64::NAN, 0.0]];
        let of = |n: f64, factorial: f64| -1.0 + 0.5 * n + factorial.ln();
        let expected = [of(3.0, 24.0) + 2.0 * of(5.0, 720.0), -1.0 + 2.0 * of(3.0, 24.0), -2.0];
        let plain = score(&x, None, 0, 0).unwrap();
        assert!(plain.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{plain:?}");
        for (low, size) in [(0, 4), (3, 1), (2, 10)] {
            let found = score(&x, None, low, size).unwrap();
            assert!(found.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn a_divisor_is_subtracted_for_small_and_for_large_counts() {
        // rising(2, x) / rising(5, x) is 4! / ((x + 2) (x + 3) (x + 4)).
        for x in [0.0_f64, 2.0, 3.0, 4.0, 1e9] {
            let expected = -1.0 + 0.5 * x + (24.0 / ((x + 2.0) * (x + 3.0) * (x + 4.0))).ln();
            let found = score(&array![[x, f64::NAN]], Some(&[3.0; 2]), 0, 1).unwrap();
            assert!((found[0] - expected).abs() <= 1e-12 * (1.0 + 0.5 * x), "{x}");
        }
    }

    #[test]
    fn cells_that_are_not_counts_are_faults() {
        for x in [0.5, -1.0, f64::INFINITY] {
            assert!(matches!(score(&array![[1.0, x]], None, 0, 4), Err(Fault::Cell { column: 1, .. })));
        }
    }
}
