//! Scores of sparse cells that are weighted sums of the terms x and x^2, about an anchor.

use crate::cells::{Cell, Reading};
use crate::composition::Composition;
use crate::csr::{Csr, Index};
use crate::fault::{self, Fault};
use crate::gather;
use crate::score::Scorer;
use crate::vectorised;
use std::ops::Range;

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
    /// The weights of rows with missing cells, if those change the weights of the others.
    pub composition: Option<Composition<'a>>,
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
        if let Some(composition) = &weights.composition {
            composition.check(weights.constant.len(), cells.columns())?;
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
    fn add_replacing(&self, r: usize, scores: &mut [f64]) -> Result<(), Fault> {
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
        if let (true, Some(composition)) = (missing, &w.composition) {
            let read = |cell: &T| self.reading.read(cell.number());
            let stored = indices.iter().map(|j| j.at()).zip(cells.iter().map(read));
            composition.add_sparse(stored, self.cells.columns(), scores);
            return Ok(());
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
        Ok(())
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

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
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
                        let columns = indices.iter().map(|j| j.at());
                        // Compiled apart, because a branch for every cell leaves fewer misses of the cache under way.
                        match self.reading.above {
                            None => {
                                gather::add(weights, columns.zip(cells.iter().map(|x| x.number())), &mut own)
                            }
                            Some(threshold) => {
                                let read = |x: &T| f64::from(u8::from(x.number() > threshold));
                                gather::add(weights, columns.zip(cells.iter().map(read)), &mut own);
                            }
                        }
                        if own[..classes].iter().fold(true, |all, own| all & own.is_finite()) {
                            scores.iter_mut().zip(&own).for_each(|(score, own)| *score += own);
                            continue;
                        }
                    }
                    self.add_replacing(r, scores)?;
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
    use crate::score::joint;

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
                composition: None,
            },
        )
        .unwrap();
        assert_eq!(joint(1, &block, &[0.0]).unwrap(), [-0.125]);
    }
}
