//! Scores that are weighted sums of the terms x and x^2 of the cells, about an anchor.

use crate::cells::{Cell, Matrix, Reading};
use crate::csr::{Csr, Index};
use crate::fault::{self, afford, Fault};
use crate::gather;
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

/// The weights for sparse rows: columns x `stride`, the classes of a column together.
///
/// A row starts from the score of an all-zero row; a stored cell then replaces the zero of its column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnWeights<'a> {
    /// Score of an all-zero row, one per class; `constant + residue` is exact.
    pub constant: &'a [f64],
    /// The rounding of `constant`.
    pub residue: &'a [f64],
    /// Score of a zero of the column.
    pub zero: Option<&'a [f64]>,
    /// Weight of x, for forms without anchor and square.
    pub x: Option<&'a [f64]>,
    /// Base, anchor and the weights of x - a and (x - a)^2, for all other forms.
    pub about: Option<[&'a [f64]; 4]>,
    /// As in [`Weights`].
    pub compositional: bool,
}

/// Sparse cells with linear weights.
pub struct SparseLinear<'a, T, I> {
    cells: Csr<'a, T, I>,
    reading: Reading,
    weights: ColumnWeights<'a>,
    stride: usize,
}

impl<'a, T: Cell, I: Index> SparseLinear<'a, T, I> {
    /// Checks that cells and weights fit together.
    pub fn new(cells: Csr<'a, T, I>, reading: Reading, weights: ColumnWeights<'a>) -> Result<Self, Fault> {
        let stride = gather::stride(weights.constant.len());
        let size = fault::cells(cells.columns(), stride)?;
        let about = weights.about.iter().flatten();
        if weights.residue.len() != weights.constant.len()
            || weights.zero.iter().chain(&weights.x).chain(about).any(|part| part.len() != size)
        {
            return Err(Fault::shape("the weights do not have one cell for each column and class"));
        }
        Ok(SparseLinear { cells, reading, weights, stride })
    }

    /// The stored cells of a row; it must not repeat a column if the score is not linear in the cells.
    #[inline(always)]
    fn row(&self, r: usize) -> Result<(&'a [I], &'a [T]), Fault> {
        if self.reading.above.is_some() || self.weights.about.is_some() {
            self.cells.canonical_row(r)
        } else {
            Ok(self.cells.row(r))
        }
    }

    /// Whether every stored cell of a row is within the support; a fault if a column index is not valid.
    #[inline(always)]
    fn sound(&self, indices: &[I], cells: &[T]) -> Result<bool, Fault> {
        if !I::all_below(indices, self.cells.columns()) {
            return Err(self.cells.outside());
        }
        let Reading { above, lowest, highest, whole } = self.reading;
        if above.is_none() && lowest == 0.0 && highest == f64::INFINITY && !whole {
            // Negative cells show in their sign bits; NaN and infinity show in the sums.
            let signs = cells.iter().fold(0, |signs, cell| signs | cell.number().to_bits());
            return Ok(signs >> 63 == 0);
        }
        Ok(cells.iter().fold(true, |all, cell| all & self.reading.accepts(cell.number())))
    }

    /// Scores a row whose cells replace zeros with a score, or that has missing cells.
    ///
    /// The sums are compensated (Neumaier), so the score of a zero cancels to the last digit.
    fn add_replacing(&self, r: usize, scores: &mut [f64]) -> Result<bool, Fault> {
        let (indices, cells) = self.cells.canonical_row(r)?;
        let w = &self.weights;
        let mut missing = false;
        for (column, cell) in indices.iter().zip(cells) {
            let value = cell.number();
            if let Some(what) = self.reading.fault(value) {
                return Err(Fault::Cell { what, row: r, column: column.at(), value });
            }
            missing |= value.is_nan();
        }
        for (c, score) in scores.iter_mut().enumerate() {
            let mut sum = Compensated { sum: w.constant[c], residue: w.residue[c] };
            for (j, cell) in indices.iter().zip(cells) {
                let at = j.at() * self.stride + c;
                let value = self.reading.read(cell.number());
                let zero = w.zero.map_or(0.0, |z| z[at]);
                if let Some([base, anchor, x, x2]) = w.about {
                    sum.add(-zero);
                    if !value.is_nan() {
                        let d = value - anchor[at];
                        sum.add(base[at] + d * (x[at] + d * x2[at]));
                    }
                } else if value.is_nan() {
                    sum.add(-zero);
                } else {
                    sum.add(value * w.x.map_or(0.0, |x| x[at]));
                }
            }
            *score += sum.value();
        }
        Ok(missing)
    }
}

/// A sum with its rounding errors.
struct Compensated {
    sum: f64,
    residue: f64,
}

impl Compensated {
    #[inline(always)]
    fn add(&mut self, x: f64) {
        let total = self.sum + x;
        self.residue +=
            if self.sum.abs() >= x.abs() { (self.sum - total) + x } else { (x - total) + self.sum };
        self.sum = total;
    }

    /// The corrected sum; without the correction if it is not finite.
    fn value(&self) -> f64 {
        if self.sum.is_finite() {
            self.sum + self.residue
        } else {
            self.sum
        }
    }
}

impl<T: Cell, I: Index> Scorer for SparseLinear<'_, T, I> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.stored() / self.cells.rows().max(1) + 1
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64], incomplete: &mut Vec<usize>) -> Result<(), Fault> {
        let classes = self.weights.constant.len();
        vectorised(
            #[inline(always)]
            || {
                let mut own = vec![0.0; self.stride];
                for (r, scores) in rows.zip(scores.chunks_exact_mut(classes)) {
                    let (indices, cells) = self.row(r)?;
                    if let (Some(weights), None, true) =
                        (self.weights.x, self.weights.about, self.sound(indices, cells)?)
                    {
                        own[..classes].copy_from_slice(self.weights.constant);
                        let read = |cell: &T| self.reading.read(cell.number());
                        let picks = indices.iter().map(|j| j.at()).zip(cells.iter().map(read));
                        gather::add(weights, picks, &mut own);
                        if own[..classes].iter().fold(true, |all, own| all & own.is_finite()) {
                            scores.iter_mut().zip(&own).for_each(|(score, own)| *score += own);
                            continue;
                        }
                    }
                    if self.add_replacing(r, scores)? && self.weights.compositional {
                        incomplete.push(r);
                    }
                }
                Ok(())
            },
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::Dense;
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

    #[test]
    fn a_stored_cell_replaces_its_zero_to_the_last_digit() {
        // Zeros cost 1e16 here; the cell itself scores -0.125.
        let csr = Csr::new(&[1e8 + 0.5], &[0_i32], &[0, 1], 1).unwrap();
        let parts = [[0.0; 4], [1e8; 4], [0.0; 4], [-0.5; 4]];
        let zero = [-0.5e16; 4];
        let block = SparseLinear::new(
            csr,
            Reading::REAL,
            ColumnWeights {
                constant: &zero[..1],
                residue: &[0.0],
                zero: Some(&zero),
                x: None,
                about: Some([&parts[0], &parts[1], &parts[2], &parts[3]]),
                compositional: false,
            },
        )
        .unwrap();
        assert_eq!(joint(1, &block, &[0.0]).unwrap(), [-0.125]);
    }
}
