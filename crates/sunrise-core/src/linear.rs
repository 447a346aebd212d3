//! Scores that are weighted sums of the terms x and x^2 of the cells, about an anchor.

use crate::cells::Matrix;
use crate::fault::{self, afford, Fault};
use crate::lanes::{sum_of, LANES};
use crate::score::{Scorer, PART};
use crate::vectorised;
use std::ops::Range;

/// The weights of a linear score, each classes x columns; a cell adds base + x (x - a) + x2 (x - a)^2.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// The base summed over the columns, one per class.
    pub constant: &'a [f64],
    /// Added by every observed cell.
    pub base: Option<&'a [f64]>,
    /// Weight of x - a.
    pub x: Option<&'a [f64]>,
    /// Weight of (x - a)^2.
    pub x2: Option<&'a [f64]>,
    /// The anchor a; 0 where it is not given.
    pub anchor: Option<&'a [f64]>,
    /// Whether missing cells change the weights of the others, because the parameters of a row sum to 1.
    pub compositional: bool,
}

impl Weights<'_> {
    fn check(&self, columns: usize) -> Result<(), Fault> {
        let cells = fault::cells(self.constant.len(), columns)?;
        if [self.base, self.x, self.x2, self.anchor].iter().flatten().any(|part| part.len() != cells) {
            return Err(Fault::shape("the weights do not have one cell for each class and column"));
        }
        Ok(())
    }
}

/// Dense cells with linear weights.
pub struct DenseLinear<'a> {
    cells: Box<dyn Matrix + 'a>,
    weights: Weights<'a>,
}

impl<'a> DenseLinear<'a> {
    /// Checks that cells and weights fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, weights: Weights<'a>) -> Result<Self, Fault> {
        weights.check(cells.columns())?;
        afford(PART, cells.columns())?;
        Ok(DenseLinear { cells, weights })
    }

    /// The score of a complete row for one class.
    #[inline(always)]
    fn class(&self, row: &[f64], c: usize) -> f64 {
        let w = &self.weights;
        let class = |part: &'a [f64]| &part[c * row.len()..][..row.len()];
        let sum = match (w.x.map(class), w.x2.map(class), w.anchor.map(class)) {
            (None, None, _) => 0.0,
            (Some(x), None, None) => sum_of::<LANES, _>([row, x], |[v, x]| v * x),
            (Some(x), None, Some(a)) => sum_of::<LANES, _>([row, x, a], |[v, x, a]| (v - a) * x),
            (None, Some(x2), None) => sum_of::<LANES, _>([row, x2], |[v, x2]| v * v * x2),
            (None, Some(x2), Some(a)) => {
                sum_of::<LANES, _>([row, x2, a], |[v, x2, a]| (v - a) * (v - a) * x2)
            }
            (Some(x), Some(x2), None) => sum_of::<LANES, _>([row, x, x2], |[v, x, x2]| v * (x + v * x2)),
            (Some(x), Some(x2), Some(a)) => {
                sum_of::<LANES, _>([row, x, x2, a], |[v, x, x2, a]| (v - a) * (x + (v - a) * x2))
            }
        };
        w.constant[c] + sum
    }

    /// The score of one cell for one class.
    fn cell(&self, value: f64, at: usize) -> f64 {
        let w = &self.weights;
        let d = value - w.anchor.map_or(0.0, |a| a[at]);
        w.base.map_or(0.0, |b| b[at]) + d * (w.x.map_or(0.0, |x| x[at]) + d * w.x2.map_or(0.0, |x2| x2[at]))
    }

    /// Scores a row cell by cell; true if cells are missing.
    #[cold]
    fn add_observed(&self, r: usize, row: &[f64], scores: &mut [f64]) -> Result<bool, Fault> {
        self.cells.find_fault(r..r + 1)?;
        let columns = row.len();
        for (c, score) in scores.iter_mut().enumerate() {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                *score += self.cell(value, c * columns + j);
            }
        }
        Ok(row.iter().any(|value| value.is_nan()))
    }

    #[inline(always)]
    fn add_rows(
        &self,
        rows: Range<usize>,
        scores: &mut [f64],
        incomplete: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let (classes, columns, reading) =
            (self.weights.constant.len(), self.cells.columns(), self.cells.reading());
        let mut scratch = Vec::new();
        let mut own = vec![0.0; classes];
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        for (k, (r, scores)) in rows.zip(scores.chunks_exact_mut(classes)).enumerate() {
            let row = &numbers[k * columns..][..columns];
            let mut sound = true;
            for (c, own) in own.iter_mut().enumerate() {
                *own = self.class(row, c);
                sound &= own.is_finite();
            }
            if reading.bounded() {
                sound &= row.iter().fold(true, |all, &x| all & reading.accepts(x));
            }
            if sound {
                scores.iter_mut().zip(&own).for_each(|(score, own)| *score += own);
            } else if self.add_observed(r, row, scores)? && self.weights.compositional {
                incomplete.push(r);
            }
        }
        Ok(())
    }
}

impl Scorer for DenseLinear<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64], incomplete: &mut Vec<usize>) -> Result<(), Fault> {
        vectorised(
            #[inline(always)]
            || self.add_rows(rows, scores, incomplete),
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use crate::score::joint;
    use ndarray::Array2;

    fn weights<'a>(constant: &'a [f64], x2: &'a [f64], anchor: &'a [f64]) -> Weights<'a> {
        Weights {
            constant,
            base: Some(&[-1.0; 22]),
            x: None,
            x2: Some(x2),
            anchor: Some(anchor),
            compositional: false,
        }
    }

    #[test]
    fn squares_about_an_anchor_add_up_and_missing_cells_do_not() {
        // 11 columns of cells one above the anchor, weight -2: each adds -1 - 2.
        let mut x = Array2::from_elem((1, 11), 4.0);
        let (x2, anchor) = ([-2.0; 22], [3.0; 22]);
        let constant = [-11.0, -11.0];
        let linear = |x: &Array2<f64>| {
            let dense = Dense::new(x.view(), Reading::REAL);
            let block = DenseLinear::new(Box::new(dense), weights(&constant, &x2, &anchor)).unwrap();
            joint(1, &block, &[0.0, 0.5]).unwrap()
        };
        assert_eq!(linear(&x), [-33.0, -32.5]);
        x[(0, 10)] = f64::NAN;
        x[(0, 0)] = f64::NAN;
        assert_eq!(linear(&x), [-27.0, -26.5]);
    }
}
