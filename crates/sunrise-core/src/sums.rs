//! Weighted sums of cells per class and column.

use crate::cells::{Cell, Matrix, Reading};
use crate::csr::{Csr, Index};
use crate::fault::Fault;
use crate::parallel::{blocks, pieces, run};
use crate::rows::Rows;
use crate::vectorised;
use std::ops::Range;

/// Sums of every class and column, each vector classes x columns.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Weighted sum of the cells.
    pub x: Vec<f64>,
    /// Rows and weight of the cells that were missing; empty where none was.
    pub missing: (Vec<i64>, Vec<f64>),
}

impl Sums {
    fn zeros(cells: usize) -> Self {
        Sums { x: vec![0.0; cells], missing: Default::default() }
    }

    /// Adds up a block in `sum` and its missing cells here; whether there are any, and whether no cell is refused.
    #[inline(always)]
    fn add_observed<const WEIGHTED: bool>(
        &mut self,
        cells: &[f64],
        columns: usize,
        reading: Reading,
        rows: Rows,
        sum: &mut [f64],
    ) -> (bool, bool) {
        self.expect_missing();
        let (mut holes, mut refused) = (false, false);
        for r in 0..rows.len() {
            let Some((c, weight)) = rows.class(r) else { continue };
            let class = c * columns..(c + 1) * columns;
            let missing = self.missing.0[class.clone()].iter_mut().zip(&mut self.missing.1[class.clone()]);
            let row = &cells[r * columns..][..columns];
            for ((s, (rows, lost)), &x) in sum[class].iter_mut().zip(missing).zip(row) {
                // A missing cell adds 0. A mask of bits, because the compiler makes slow stores of a choice.
                let seen = u64::from(x.is_nan()).wrapping_sub(1);
                *s += f64::from_bits((weight * x).to_bits() & seen);
                *rows += (seen as i64) + 1;
                if WEIGHTED {
                    *lost += f64::from_bits(weight.to_bits() & !seen);
                }
            }
            holes |= row.iter().fold(false, |any, x| any | x.is_nan());
            if reading.bounded() {
                refused |= row.iter().fold(false, |any, &x| any | reading.refuses(x));
            }
        }
        (holes, !refused && sum.iter().fold(true, |all, s| all & s.is_finite()))
    }

    fn expect_missing(&mut self) {
        if self.missing.0.is_empty() {
            self.missing = (vec![0; self.x.len()], vec![0.0; self.x.len()]);
        }
    }

    fn miss(&mut self, at: usize, weight: f64) {
        self.expect_missing();
        self.missing.0[at] += 1;
        self.missing.1[at] += weight;
    }

    fn merge(&mut self, other: Sums) {
        self.x.iter_mut().zip(&other.x).for_each(|(a, b)| *a += b);
        if self.missing.0.is_empty() {
            self.missing = other.missing;
        } else {
            self.missing.0.iter_mut().zip(&other.missing.0).for_each(|(a, b)| *a += b);
            self.missing.1.iter_mut().zip(&other.missing.1).for_each(|(a, b)| *a += b);
        }
    }
}

const BLOCK: usize = 256;

/// Sums of a dense matrix.
pub fn dense(x: &dyn Matrix, rows: Rows, threads: usize) -> Result<Sums, Fault> {
    let columns = x.columns();
    let cells = rows.table(x.rows(), columns)?;
    if cells == 0 {
        return Ok(Sums::zeros(cells));
    }
    let most = (64 << 20) / (cells * 8) + 1;
    let tasks = pieces(x.rows(), (8 * rows.classes).max(2048), most.min(16));
    let parts = run(threads, tasks, |piece: Range<usize>| {
        let mut total = Sums::zeros(cells);
        let mut sum = vec![0.0; cells];
        let mut scratch = Vec::new();
        let mut holes = false;
        vectorised(
            #[inline(always)]
            || {
                for part in blocks(piece, BLOCK) {
                    let numbers = x.numbers(part.clone(), &mut scratch)?;
                    let rows = rows.part(part.clone());
                    sum.fill(0.0);
                    // Where cells were missing before, more are likely to come.
                    if holes || !add_rows(numbers, columns, x.reading(), rows, &mut sum) {
                        sum.fill(0.0);
                        let (some, accepted) = if rows.weighted() {
                            total.add_observed::<true>(numbers, columns, x.reading(), rows, &mut sum)
                        } else {
                            total.add_observed::<false>(numbers, columns, x.reading(), rows, &mut sum)
                        };
                        holes = some;
                        if !accepted {
                            x.find_fault_in(part, rows)?;
                        }
                    }
                    total.x.iter_mut().zip(&sum).for_each(|(a, b)| *a += b);
                }
                Ok(())
            },
        )?;
        if !rows.weighted() {
            total.missing.1.iter_mut().zip(&total.missing.0).for_each(|(lost, &rows)| *lost = rows as f64);
        }
        Ok(total)
    });
    let mut total = Sums::zeros(cells);
    for part in parts {
        total.merge(part?);
    }
    Ok(total)
}

/// Adds up a block; false where a cell is missing or refused.
#[inline(always)]
fn add_rows(cells: &[f64], columns: usize, reading: Reading, rows: Rows, sum: &mut [f64]) -> bool {
    let mut refused = false;
    for r in 0..rows.len() {
        if let Some((c, weight)) = rows.class(r) {
            let row = &cells[r * columns..][..columns];
            for (s, x) in sum[c * columns..][..columns].iter_mut().zip(row) {
                *s += weight * x;
            }
            if reading.bounded() {
                refused |= row.iter().fold(false, |bad, &x| bad | !reading.accepts(x));
            }
        }
    }
    !refused && sum.iter().fold(true, |all, s| all & s.is_finite())
}

/// Sums of a sparse matrix.
///
/// Rows are read class by class, so that the row of the table they are added to stays in
/// cache. A large class is cut into segments, whose sums are added in order.
pub fn sparse<T: Cell, I: Index>(
    x: &Csr<T, I>,
    reading: Reading,
    rows: Rows,
    threads: usize,
) -> Result<Sums, Fault> {
    let columns = x.columns();
    let cells = rows.table(x.rows(), columns)?;
    let mut total = Sums::zeros(cells);
    if cells == 0 {
        return Ok(total);
    }
    let grouped = rows.by_class();
    let longest = x.rows().div_ceil(16).max(1024);
    let mut tasks = Vec::new();
    for (c, sum) in total.x.chunks_exact_mut(columns).enumerate() {
        // The first segment of a class adds to the table itself, the others to sums of their own.
        let mut table = Some(sum);
        tasks.extend(grouped.class(c).chunks(longest).map(|segment| (c, segment, table.take())));
    }
    let parts = run(threads, tasks, |(c, segment, table)| {
        let mut own = Vec::new();
        let sum = match table {
            Some(sum) => sum,
            None => {
                own = vec![0.0; columns];
                &mut own
            }
        };
        let whole = vectorised(
            #[inline(always)]
            || add_segment(x, reading, rows, segment, sum),
        )?;
        Ok((c, own, whole))
    });
    let mut whole = true;
    for part in parts {
        let (c, own, sound) = part?;
        whole &= sound;
        total.x[c * columns..][..columns].iter_mut().zip(&own).for_each(|(a, b)| *a += b);
    }
    if whole {
        return Ok(total);
    }
    // Something is missing somewhere: once more, looking at every cell.
    total = Sums::zeros(cells);
    for c in 0..rows.classes {
        for &r in grouped.class(c) {
            add_observed_sparse(x, reading, c, r, rows.weight(r), &mut total)?;
        }
    }
    Ok(total)
}

/// Adds up rows of one class; false where a cell is missing or refused.
#[inline(always)]
fn add_segment<T: Cell, I: Index>(
    x: &Csr<T, I>,
    reading: Reading,
    rows: Rows,
    segment: &[usize],
    sum: &mut [f64],
) -> Result<bool, Fault> {
    // Counts are read as they are, within bounds: compiled apart, because there are very many of them.
    if reading.above.is_none() && !reading.whole {
        let (lowest, highest) = (reading.lowest.max(f64::MIN), reading.highest.min(f64::MAX));
        add_cells(x, false, rows, segment, sum, |v| (v, (v >= lowest) & (v <= highest)))
    } else {
        add_cells(x, reading.above.is_some(), rows, segment, sum, |v| (reading.read(v), reading.accepts(v)))
    }
}

#[inline(always)]
fn add_cells<T: Cell, I: Index>(
    x: &Csr<T, I>,
    canonical: bool,
    rows: Rows,
    segment: &[usize],
    sum: &mut [f64],
    read: impl Fn(f64) -> (f64, bool),
) -> Result<bool, Fault> {
    let mut sound = true;
    for r in x.fetched(segment) {
        let weight = rows.weight(r);
        let (indices, cells) = if canonical { x.canonical_row(r)? } else { x.row(r) };
        for (j, cell) in indices.iter().zip(cells) {
            let (value, accepted) = read(cell.number());
            sound &= accepted;
            match sum.get_mut(j.at()) {
                Some(s) => *s += weight * value,
                None => return Err(x.outside()),
            }
        }
    }
    Ok(sound)
}

/// Adds up a row cell by cell, leaving out the missing ones.
fn add_observed_sparse<T: Cell, I: Index>(
    x: &Csr<T, I>,
    reading: Reading,
    c: usize,
    r: usize,
    weight: f64,
    total: &mut Sums,
) -> Result<(), Fault> {
    // A missing cell cannot be added to another cell of its column, so a row must not repeat a column.
    let (indices, cells) = x.canonical_row(r)?;
    for (j, cell) in indices.iter().map(|j| j.at()).zip(cells) {
        let value = cell.number();
        if let Some(what) = reading.fault(value) {
            return Err(Fault::Cell { what, row: r, column: j, value });
        }
        if value.is_nan() {
            total.miss(c * x.columns() + j, weight);
        } else {
            total.x[c * x.columns() + j] += weight * reading.read(value);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::Dense;
    use ndarray::array;
    use proptest::prelude::*;

    const COUNTS: Reading = Reading { lowest: 0.0, ..Reading::REAL };

    #[test]
    fn missing_cells_are_counted_apart() {
        let x = array![[1.0, f64::NAN], [2.0, 4.0]];
        let s = dense(&Dense::new(x.view(), COUNTS), Rows::new(&[0, 0], Some(&[3.0, 1.0]), 1).unwrap(), 1)
            .unwrap();
        assert_eq!((s.x, s.missing), (vec![5.0, 4.0], (vec![0, 1], vec![0.0, 3.0])));
    }

    #[test]
    fn a_negative_count_is_named() {
        let x = array![[1.0, 2.0], [2.0, -4.0]];
        let fault =
            dense(&Dense::new(x.view(), COUNTS), Rows::new(&[0, 0], None, 1).unwrap(), 1).unwrap_err();
        assert!(matches!(fault, Fault::Cell { row: 1, column: 1, value, .. } if value == -4.0));
    }

    proptest! {
        #[test]
        fn sparse_equals_dense_for_any_threads(
            rows in prop::collection::vec((prop::collection::vec(0_u8..4, 6), 0_i32..3), 0..40),
            threads in 1_usize..5,
        ) {
            let cells: Vec<f64> = rows.iter().flat_map(|(row, _)| row.iter().map(|&x| f64::from(x))).collect();
            let y: Vec<i32> = rows.iter().map(|(_, c)| *c).collect();
            let x = ndarray::ArrayView2::from_shape((rows.len(), 6), &cells).unwrap();
            let (mut data, mut indices, mut indptr) = (vec![], vec![], vec![0_i32]);
            for row in x.rows() {
                for (j, &value) in row.iter().enumerate().filter(|(_, &v)| v != 0.0) {
                    data.push(value);
                    indices.push(j as i32);
                }
                indptr.push(data.len() as i32);
            }
            let labelled = Rows::new(&y, None, 3).unwrap();
            let a = dense(&Dense::new(x, COUNTS), labelled, 1).unwrap();
            let csr = Csr::new(&data, &indices, &indptr, 6).unwrap();
            let b = sparse(&csr, COUNTS, labelled, threads).unwrap();
            prop_assert_eq!(a.x, b.x);
        }
    }
}
