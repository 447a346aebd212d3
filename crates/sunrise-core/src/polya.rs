//! Dirichlet-multinomial scores of rows of counts: log rising(a_1, n_1) + ... - log rising(a_1 + ..., n_1 + ...).

use crate::cells::{Cell, Matrix, Reading};
use crate::csr::{Csr, Index};
use crate::fault::{self, afford, Fault};
use crate::gamma::log_rising;
use crate::gather;
use crate::score::{Scorer, PART};
use crate::vectorised;
use std::f64::consts::LN_2;
use std::ops::Range;

/// Factors that are multiplied before their product is brought back to between 1 and 2.
const FACTORS: usize = 16;

/// Dirichlet concentrations of every class.
#[derive(Clone, Copy, Debug)]
pub struct Concentrations<'a> {
    /// Columns x stride: the classes of a column together, padded.
    pub table: &'a [f64],
    /// Sum of the concentrations of each class.
    pub total: &'a [f64],
    /// Which columns are used; all by default.
    pub known: Option<&'a [bool]>,
    /// Factor of the scores.
    pub weight: f64,
    /// Whether products of sixteen concentrations stay within the range of floats.
    pub moderate: bool,
}

/// Scratch memory for the sums of a row.
struct Room {
    product: Vec<f64>,
    exponent: Vec<i64>,
    sum: Vec<f64>,
}

impl Room {
    fn new(stride: usize) -> Self {
        Room { product: vec![1.0; stride], exponent: vec![0; stride], sum: vec![0.0; stride] }
    }

    /// Brings the products back to between 1 and 2.
    #[inline(always)]
    fn settle(&mut self) {
        const FRACTION: u64 = (1 << 52) - 1;
        for (product, exponent) in self.product.iter_mut().zip(&mut self.exponent) {
            let bits = product.to_bits();
            *exponent += (bits >> 52) as i64 - 1023;
            *product = f64::from_bits((bits & FRACTION) | (1023 << 52));
        }
    }
}

impl Concentrations<'_> {
    fn check(&self, columns: usize) -> Result<(), Fault> {
        let size = fault::cells(columns, gather::stride(self.total.len()))?;
        if self.table.len() != size || self.known.is_some_and(|known| known.len() != columns) {
            return Err(Fault::shape("the concentrations do not have one cell for each column and class"));
        }
        Ok(())
    }

    #[inline(always)]
    fn counts(&self, j: usize) -> bool {
        self.known.is_none_or(|known| known[j])
    }

    /// The sums of the concentrations of the observed columns; `missing` is in order.
    #[cold]
    fn total_without(&self, missing: &[usize], columns: usize) -> Vec<f64> {
        let known = (0..columns).filter(|&j| self.counts(j)).map(|j| (j, 1.0));
        gather::sum_without(self.table, self.total, missing, known)
    }

    /// Adds the score of a row; `total` has the sums of the concentrations of its observed columns.
    #[inline(always)]
    fn add(
        &self,
        cells: impl Iterator<Item = (usize, f64)>,
        total: &[f64],
        room: &mut Room,
        scores: &mut [f64],
    ) {
        let (classes, stride) = (self.total.len(), room.sum.len());
        room.product.fill(1.0);
        room.exponent.fill(0);
        room.sum.fill(0.0);
        let (mut factors, mut length) = (0, 0.0);
        for (j, n) in cells.filter(|&(j, n)| n != 0.0 && !n.is_nan() && self.counts(j)) {
            length += n;
            let concentrations = &self.table[j * stride..][..stride];
            if self.moderate && n <= FACTORS as f64 && n.fract() == 0.0 {
                let n = n as usize;
                if factors + n > FACTORS {
                    room.settle();
                    factors = 0;
                }
                factors += n;
                for (product, a) in room.product.iter_mut().zip(concentrations) {
                    *product *= a;
                }
                for k in 1..n {
                    let k = k as f64;
                    for (product, a) in room.product.iter_mut().zip(concentrations) {
                        *product *= a + k;
                    }
                }
            } else {
                for (sum, &a) in room.sum.iter_mut().zip(&concentrations[..classes]) {
                    *sum += log_rising(a, n);
                }
            }
        }
        room.settle();
        for (c, score) in scores.iter_mut().enumerate() {
            let cells = room.sum[c] + (room.product[c].ln() + room.exponent[c] as f64 * LN_2);
            // A class whose concentrations are all 0 has no normaliser.
            let all = if total[c] > 0.0 { log_rising(total[c], length) } else { 0.0 };
            let own = cells - all;
            *score += if self.weight == 0.0 { 0.0 } else { self.weight * own };
        }
    }
}

/// Sparse counts with their concentrations.
pub struct SparsePolya<'a, T, I> {
    cells: Csr<'a, T, I>,
    reading: Reading,
    concentrations: Concentrations<'a>,
}

impl<'a, T: Cell, I: Index> SparsePolya<'a, T, I> {
    /// Checks that cells and concentrations fit together.
    pub fn new(
        cells: Csr<'a, T, I>,
        reading: Reading,
        concentrations: Concentrations<'a>,
    ) -> Result<Self, Fault> {
        concentrations.check(cells.columns())?;
        Ok(SparsePolya { cells, reading, concentrations })
    }
}

impl<T: Cell, I: Index> Scorer for SparsePolya<'_, T, I> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.stored() / self.cells.rows().max(1) + 1
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let classes = self.concentrations.total.len();
        vectorised(
            #[inline(always)]
            || {
                let mut room = Room::new(gather::stride(classes));
                for (r, scores) in rows.zip(scores.chunks_exact_mut(classes)) {
                    let (indices, cells) = self.cells.canonical_row(r)?;
                    let mut missing = Vec::new();
                    for (column, cell) in indices.iter().zip(cells) {
                        let (column, value) = (column.at(), cell.number());
                        if self.reading.accepts(value) {
                            continue;
                        }
                        if let Some(what) = self.reading.fault(value) {
                            return Err(Fault::Cell { what, row: r, column, value });
                        }
                        if self.concentrations.counts(column) {
                            missing.push(column);
                        }
                    }
                    let cells = indices.iter().map(|j| j.at()).zip(cells.iter().map(|cell| cell.number()));
                    let shorter = (!missing.is_empty())
                        .then(|| self.concentrations.total_without(&missing, self.cells.columns()));
                    let total = shorter.as_deref().unwrap_or(self.concentrations.total);
                    self.concentrations.add(cells, total, &mut room, scores);
                }
                Ok(())
            },
        )
    }
}

/// Dense counts with their concentrations.
pub struct DensePolya<'a> {
    cells: Box<dyn Matrix + 'a>,
    concentrations: Concentrations<'a>,
}

impl<'a> DensePolya<'a> {
    /// Checks that cells and concentrations fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, concentrations: Concentrations<'a>) -> Result<Self, Fault> {
        concentrations.check(cells.columns())?;
        afford(PART, cells.columns())?;
        Ok(DensePolya { cells, concentrations })
    }
}

impl Scorer for DensePolya<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (classes, columns, reading) =
            (self.concentrations.total.len(), self.cells.columns(), self.cells.reading());
        vectorised(
            #[inline(always)]
            || {
                let (mut room, mut scratch) = (Room::new(gather::stride(classes)), Vec::new());
                let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
                for (k, (r, scores)) in rows.zip(scores.chunks_exact_mut(classes)).enumerate() {
                    let row = &numbers[k * columns..][..columns];
                    let mut shorter = None;
                    if !row.iter().fold(true, |all, &x| all & reading.accepts(x)) {
                        self.cells.find_fault(r..r + 1)?;
                        let missing = |j: &usize| row[*j].is_nan() && self.concentrations.counts(*j);
                        let missing: Vec<usize> = (0..columns).filter(missing).collect();
                        shorter = Some(self.concentrations.total_without(&missing, columns));
                    }
                    let total = shorter.as_deref().unwrap_or(self.concentrations.total);
                    self.concentrations.add(row.iter().copied().enumerate(), total, &mut room, scores);
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
    use ndarray::array;

    #[test]
    fn sparse_and_dense_rows_score_alike_and_unknown_columns_say_nothing() {
        let table: Vec<f64> = [0.5, 2.0, 1.5, 0.1].iter().flat_map(|&a| [a, 2.0 * a, 0.0, 0.0]).collect();
        let total = [2.6, 5.2];
        let known = [true, true, false, true];
        let concentrations =
            Concentrations { table: &table, total: &total, known: Some(&known), weight: 1.0, moderate: true };
        let x = array![[3.0, 0.0, 9.0, 20.0]];
        let dense = DensePolya::new(Box::new(Dense::new(x.view(), Reading::REAL)), concentrations).unwrap();
        let csr = Csr::new(&[3.0, 9.0, 20.0], &[0_i32, 2, 3], &[0, 3], 4).unwrap();
        let sparse = SparsePolya::new(csr, Reading::REAL, concentrations).unwrap();
        let expected: Vec<f64> = [1.0, 2.0]
            .iter()
            .map(|f| log_rising(0.5 * f, 3.0) + log_rising(0.1 * f, 20.0) - log_rising(2.6 * f, 23.0))
            .collect();
        for found in [joint(1, &dense, &[0.0, 0.0]).unwrap(), joint(1, &sparse, &[0.0, 0.0]).unwrap()] {
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
