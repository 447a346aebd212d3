//! Scores of rows of counts under Polya urns: log rising(a_1, n_1) + ... - log rising(a_1 + ..., n_1 + ...).

use crate::cells::{Cell, Matrix, Reading};
use crate::csr::{Csr, Index};
use crate::fault::{self, afford, Fault};
use crate::gather;
use crate::score::{Scorer, PART};
use crate::vectorised;
use std::f64::consts::LN_2;
use std::ops::Range;

/// log gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + these times 1 / x, 1 / x^3, ...
const STIRLING: [f64; 7] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
/// From here on those are enough for every digit.
const FAR: f64 = 16.0;
/// As many factors can be multiplied without leaving the range of floats, if all are between these.
const FACTORS: usize = 16;
const PLAIN: Range<f64> = 1e-18..1e15;

fn stirling(x: f64) -> f64 {
    let (low, mut sum) = (1.0 / x, 0.0);
    for term in STIRLING.iter().rev() {
        sum = sum * (low * low) + term;
    }
    sum * low
}

/// The same as [`log_rising`], for a from [`FAR`].
fn log_rising_far(a: f64, n: f64) -> f64 {
    n * a.ln() + ((a + n - 0.5) * (n / a).ln_1p() - n) + (stirling(a + n) - stirling(a))
}

/// Log of a (a + 1) ... (a + n - 1), or log gamma(a + n) - log gamma(a) for any n from 0, without its cancelling.
pub fn log_rising(a: f64, n: f64) -> f64 {
    if n == 0.0 {
        return 0.0;
    }
    if a <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let steps = (FAR - a).ceil().max(0.0);
    if n.fract() != 0.0 {
        let near: f64 = (0..steps as usize).map(|k| (n / (a + k as f64)).ln_1p()).sum();
        return log_rising_far(a + steps, n) - near;
    }
    if a < PLAIN.start {
        // Next to nothing: apart from the others it does not take them out of range.
        return a.ln() + log_rising(a + 1.0, n - 1.0);
    }
    let near = if a < PLAIN.end { n.min(steps.max(4.0)) } else { 0.0 };
    let product = (0..near as usize).fold(1.0, |product, k| product * (a + k as f64));
    product.ln() + if n > near { log_rising_far(a + near, n - near) } else { 0.0 }
}

/// Urns, one for each class.
#[derive(Clone, Copy, Debug)]
pub struct Urns<'a> {
    /// What is in them, columns x stride: the classes of a column together, padded.
    pub table: &'a [f64],
    /// The sum of it, one for each class.
    pub total: &'a [f64],
    /// Which columns count; all of them where it is not given.
    pub known: Option<&'a [bool]>,
    /// What the scores are multiplied by.
    pub weight: f64,
    /// Whether all that is in the urns is neither tiny nor huge.
    pub plain: bool,
}

/// Room for the sums of a row.
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

impl Urns<'_> {
    fn check(&self, columns: usize) -> Result<(), Fault> {
        let size = fault::cells(columns, gather::stride(self.total.len()))?;
        if self.table.len() != size || self.known.is_some_and(|known| known.len() != columns) {
            return Err(Fault::shape("the urns do not have one cell for each column and class"));
        }
        Ok(())
    }

    #[inline(always)]
    fn counts(&self, j: usize) -> bool {
        self.known.is_none_or(|known| known[j])
    }

    /// Adds the score of the counts of a row, which are all there.
    #[inline(always)]
    fn add(&self, cells: impl Iterator<Item = (usize, f64)>, room: &mut Room, scores: &mut [f64]) {
        let (classes, stride) = (self.total.len(), room.sum.len());
        room.product.fill(1.0);
        room.exponent.fill(0);
        room.sum.fill(0.0);
        let (mut factors, mut length) = (0, 0.0);
        for (j, n) in cells.filter(|&(j, n)| n != 0.0 && self.counts(j)) {
            length += n;
            let urns = &self.table[j * stride..][..stride];
            if self.plain && n <= FACTORS as f64 && n.fract() == 0.0 {
                let n = n as usize;
                if factors + n > FACTORS {
                    room.settle();
                    factors = 0;
                }
                factors += n;
                for (product, a) in room.product.iter_mut().zip(urns) {
                    *product *= a;
                }
                for k in 1..n {
                    let k = k as f64;
                    for (product, a) in room.product.iter_mut().zip(urns) {
                        *product *= a + k;
                    }
                }
            } else {
                for (sum, &a) in room.sum.iter_mut().zip(&urns[..classes]) {
                    *sum += log_rising(a, n);
                }
            }
        }
        room.settle();
        for (c, score) in scores.iter_mut().enumerate() {
            let cells = room.sum[c] + (room.product[c].ln() + room.exponent[c] as f64 * LN_2);
            // An empty urn gives nothing, whatever is asked of it.
            let all = if self.total[c] > 0.0 { log_rising(self.total[c], length) } else { 0.0 };
            let own = cells - all;
            *score += if self.weight == 0.0 { 0.0 } else { self.weight * own };
        }
    }
}

/// Sparse counts with urns.
pub struct SparsePolya<'a, T, I> {
    cells: Csr<'a, T, I>,
    reading: Reading,
    urns: Urns<'a>,
}

impl<'a, T: Cell, I: Index> SparsePolya<'a, T, I> {
    /// Checks that cells and urns fit together.
    pub fn new(cells: Csr<'a, T, I>, reading: Reading, urns: Urns<'a>) -> Result<Self, Fault> {
        urns.check(cells.columns())?;
        Ok(SparsePolya { cells, reading, urns })
    }
}

impl<T: Cell, I: Index> Scorer for SparsePolya<'_, T, I> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.stored() / self.cells.rows().max(1) + 1
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64], incomplete: &mut Vec<usize>) -> Result<(), Fault> {
        let classes = self.urns.total.len();
        vectorised(
            #[inline(always)]
            || {
                let mut room = Room::new(gather::stride(classes));
                for (r, scores) in rows.zip(scores.chunks_exact_mut(classes)) {
                    let (indices, cells) = self.cells.canonical_row(r)?;
                    let mut missing = false;
                    for (column, cell) in indices.iter().zip(cells) {
                        let (column, value) = (column.at(), cell.number());
                        if self.reading.accepts(value) {
                            continue;
                        }
                        if let Some(what) = self.reading.fault(value) {
                            return Err(Fault::Cell { what, row: r, column, value });
                        }
                        missing |= self.urns.counts(column);
                    }
                    if missing {
                        incomplete.push(r);
                        continue;
                    }
                    let cells = indices.iter().map(|j| j.at()).zip(cells.iter().map(|cell| cell.number()));
                    self.urns.add(cells, &mut room, scores);
                }
                Ok(())
            },
        )
    }
}

/// Dense counts with urns.
pub struct DensePolya<'a> {
    cells: Box<dyn Matrix + 'a>,
    urns: Urns<'a>,
}

impl<'a> DensePolya<'a> {
    /// Checks that cells and urns fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, urns: Urns<'a>) -> Result<Self, Fault> {
        urns.check(cells.columns())?;
        afford(PART, cells.columns())?;
        Ok(DensePolya { cells, urns })
    }
}

impl Scorer for DensePolya<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64], incomplete: &mut Vec<usize>) -> Result<(), Fault> {
        let (classes, columns, reading) = (self.urns.total.len(), self.cells.columns(), self.cells.reading());
        vectorised(
            #[inline(always)]
            || {
                let (mut room, mut scratch) = (Room::new(gather::stride(classes)), Vec::new());
                let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
                for (k, (r, scores)) in rows.zip(scores.chunks_exact_mut(classes)).enumerate() {
                    let row = &numbers[k * columns..][..columns];
                    if !row.iter().fold(true, |all, &x| all & reading.accepts(x)) {
                        self.cells.find_fault(r..r + 1)?;
                        if row.iter().enumerate().any(|(j, x)| x.is_nan() && self.urns.counts(j)) {
                            incomplete.push(r);
                            continue;
                        }
                    }
                    self.urns.add(row.iter().copied().enumerate(), &mut room, scores);
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
    fn rising_is_the_product_it_stands_for() {
        for a in [1e-30, 1e-8, 0.3, 1.0, 7.5, 15.9, 16.0, 1e3] {
            for n in [1, 2, 3, 5, 16, 17, 40, 100] {
                let sum: f64 = (0..n).map(|k| (a + f64::from(k)).ln()).sum();
                let found = log_rising(a, f64::from(n));
                assert!((found - sum).abs() <= 1e-13 * (1.0 + sum.abs()), "{a} {n}: {found} is not {sum}");
            }
        }
        // Half a step twice is one step.
        for a in [1e-8, 0.3, 3.0, 20.0, 1e6] {
            let halves = log_rising(a, 0.5) + log_rising(a + 0.5, 0.5);
            assert!((halves - a.ln()).abs() <= 1e-13 * (1.0 + a.ln().abs()));
        }
        assert_eq!(log_rising(0.0, 0.0), 0.0);
        assert_eq!(log_rising(0.0, 2.0), f64::NEG_INFINITY);
        assert_eq!(log_rising(1e300, 1.0), 1e300_f64.ln());
    }

    #[test]
    fn sparse_and_dense_rows_score_alike_and_unknown_columns_say_nothing() {
        let table: Vec<f64> = [0.5, 2.0, 1.5, 0.1].iter().flat_map(|&a| [a, 2.0 * a, 0.0, 0.0]).collect();
        let total = [2.6, 5.2];
        let known = [true, true, false, true];
        let urns = Urns { table: &table, total: &total, known: Some(&known), weight: 1.0, plain: true };
        let x = array![[3.0, 0.0, 9.0, 20.0]];
        let dense = DensePolya::new(Box::new(Dense::new(x.view(), Reading::REAL)), urns).unwrap();
        let csr = Csr::new(&[3.0, 9.0, 20.0], &[0_i32, 2, 3], &[0, 3], 4).unwrap();
        let sparse = SparsePolya::new(csr, Reading::REAL, urns).unwrap();
        let expected: Vec<f64> = [1.0, 2.0]
            .iter()
            .map(|f| log_rising(0.5 * f, 3.0) + log_rising(0.1 * f, 20.0) - log_rising(2.6 * f, 23.0))
            .collect();
        for found in [joint(1, &dense, &[0.0, 0.0]).unwrap(), joint(1, &sparse, &[0.0, 0.0]).unwrap()] {
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
