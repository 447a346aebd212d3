//! Weighted sums of cells per class and column, and the rows and weight of the classes.

use crate::cells::{Cell, Dense, Reading};
use crate::csr::{by_class, Csr, Index};
use crate::fault::{check_rows, row_class, Fault};
use crate::vectorised;
use crate::work::{pieces, run};
use std::ops::Range;

/// Rows and weight of every class.
pub fn totals(y: &[i32], w: Option<&[f64]>, classes: usize) -> Result<(Vec<i64>, Vec<f64>), Fault> {
    check_rows(y.len(), 1, classes, y, w)?;
    let (mut rows, mut weight) = (vec![0; classes], vec![0.0; classes]);
    for r in 0..y.len() {
        if let Some((c, w)) = row_class(r, y, w) {
            rows[c] += 1;
            weight[c] += w;
        }
    }
    Ok((rows, weight))
}

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

    fn miss(&mut self, at: usize, weight: f64) {
        if self.missing.0.is_empty() {
            self.missing = (vec![0; self.x.len()], vec![0.0; self.x.len()]);
        }
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
pub fn dense<T: Cell>(
    x: &Dense<T>,
    y: &[i32],
    w: Option<&[f64]>,
    classes: usize,
    threads: usize,
) -> Result<Sums, Fault> {
    let columns = x.columns();
    check_rows(x.rows(), x.columns(), classes, y, w)?;
    let cells = classes * columns;
    if cells == 0 {
        return Ok(Sums::zeros(cells));
    }
    let most = (64 << 20) / (cells * 8) + 1;
    let tasks = pieces(x.rows(), (8 * classes).max(2048), most.min(16));
    let parts = run(threads, tasks, |rows: Range<usize>| {
        let mut total = Sums::zeros(cells);
        let mut sum = vec![0.0; cells];
        let mut scratch = Vec::new();
        vectorised(
            #[inline(always)]
            || {
                let mut at = rows.start;
                while at < rows.end {
                    let part = at..rows.end.min(at + BLOCK);
                    at = part.end;
                    let numbers = x.numbers(part.clone(), &mut scratch)?;
                    let (y, w) = (&y[part.clone()], w.map(|w| &w[part.clone()]));
                    sum.fill(0.0);
                    let sound = add_rows(numbers, columns, x.reading, y, w, &mut sum);
                    if sound {
                        total.x.iter_mut().zip(&sum).for_each(|(a, b)| *a += b);
                    } else {
                        add_observed(x, part, numbers, y, w, &mut total)?;
                    }
                }
                Ok(())
            },
        )?;
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
fn add_rows(
    cells: &[f64],
    columns: usize,
    reading: Reading,
    y: &[i32],
    w: Option<&[f64]>,
    sum: &mut [f64],
) -> bool {
    let mut refused = false;
    for r in 0..y.len() {
        if let Some((c, weight)) = row_class(r, y, w) {
            let row = &cells[r * columns..][..columns];
            for (s, x) in sum[c * columns..][..columns].iter_mut().zip(row) {
                *s += weight * x;
            }
            if reading.bounded() {
                refused |=
                    row.iter().fold(false, |bad, &x| bad | (x < reading.lowest) | (x > reading.highest));
            }
        }
    }
    !refused && sum.iter().fold(true, |all, s| all & s.is_finite())
}

/// Adds up a block cell by cell, leaving out the missing ones.
fn add_observed<T: Cell>(
    x: &Dense<T>,
    part: Range<usize>,
    cells: &[f64],
    y: &[i32],
    w: Option<&[f64]>,
    total: &mut Sums,
) -> Result<(), Fault> {
    let columns = x.columns();
    for (r, row) in part.enumerate() {
        let Some((c, weight)) = row_class(r, y, w) else { continue };
        x.find_fault(row..row + 1)?;
        for (j, &value) in cells[r * columns..][..columns].iter().enumerate() {
            if value.is_nan() {
                total.miss(c * columns + j, weight);
            } else {
                total.x[c * columns + j] += weight * value;
            }
        }
    }
    Ok(())
}

/// Sums of a sparse matrix.
///
/// Rows are taken class by class, so that what is added to is one class's row of the table and stays in
/// cache. A large class is cut in segments, added up in their order.
pub fn sparse<T: Cell, I: Index>(
    x: &Csr<T, I>,
    reading: Reading,
    y: &[i32],
    w: Option<&[f64]>,
    classes: usize,
    threads: usize,
) -> Result<Sums, Fault> {
    let columns = x.columns();
    check_rows(x.rows(), x.columns(), classes, y, w)?;
    if classes * columns == 0 {
        return Ok(Sums::zeros(classes * columns));
    }
    let (order, begin) = by_class(classes, y, w);
    let longest = x.rows().div_ceil(16).max(1024);
    let mut total = vec![0.0; classes * columns];
    let mut tasks = Vec::new();
    for (c, sum) in total.chunks_exact_mut(columns).enumerate() {
        let class = &order[begin[c]..begin[c + 1]];
        let mut target = Some(sum);
        for segment in class.chunks(longest) {
            tasks.push((c, segment, target.take()));
        }
    }
    let parts = run(threads, tasks, |(c, segment, target)| {
        let mut own = Vec::new();
        let sum = match target {
            Some(sum) => sum,
            None => {
                own = vec![0.0; columns];
                &mut own
            }
        };
        let whole = vectorised(
            #[inline(always)]
            || add_segment(x, reading, w, segment, sum),
        )?;
        Ok((c, own, whole))
    });
    let mut whole = true;
    let mut rest = Vec::new();
    for part in parts {
        let (c, own, sound) = part?;
        whole &= sound;
        rest.push((c, own));
    }
    let mut total = Sums { x: total, missing: Default::default() };
    if !whole {
        // Something is missing somewhere: once more, looking at every cell.
        total = Sums::zeros(classes * columns);
        for c in 0..classes {
            for &r in &order[begin[c]..begin[c + 1]] {
                add_observed_sparse(x, reading, c, r, w.map_or(1.0, |w| w[r]), &mut total)?;
            }
        }
        return Ok(total);
    }
    for (c, own) in rest {
        total.x[c * columns..][..columns].iter_mut().zip(&own).for_each(|(a, b)| *a += b);
    }
    Ok(total)
}

/// Adds up rows of one class; false where a cell is missing or refused.
#[inline(always)]
fn add_segment<T: Cell, I: Index>(
    x: &Csr<T, I>,
    reading: Reading,
    w: Option<&[f64]>,
    rows: &[usize],
    sum: &mut [f64],
) -> Result<bool, Fault> {
    let mut sound = true;
    for &r in rows {
        let weight = w.map_or(1.0, |w| w[r]);
        let (indices, cells) = if reading.above.is_some() { x.canonical_row(r)? } else { x.row(r) };
        for (j, cell) in indices.iter().zip(cells) {
            let value = cell.number();
            sound &= reading.accepts(value);
            match sum.get_mut(j.at()) {
                Some(s) => *s += weight * reading.read(value),
                None => return Err(x.outside()),
            }
        }
    }
    Ok(sound)
}

fn add_observed_sparse<T: Cell, I: Index>(
    x: &Csr<T, I>,
    reading: Reading,
    c: usize,
    r: usize,
    weight: f64,
    total: &mut Sums,
) -> Result<(), Fault> {
    // A missing cell cannot be added to another of its column, so here every column must stand once.
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
    use ndarray::array;
    use proptest::prelude::*;

    const COUNTS: Reading = Reading { above: None, lowest: 0.0, highest: f64::INFINITY };

    #[test]
    fn missing_cells_are_counted_apart() {
        let x = array![[1.0, f64::NAN], [2.0, 4.0]];
        let s = dense(&Dense::new(x.view(), COUNTS), &[0, 0], Some(&[3.0, 1.0]), 1, 1).unwrap();
        assert_eq!((s.x, s.missing), (vec![5.0, 4.0], (vec![0, 1], vec![0.0, 3.0])));
    }

    #[test]
    fn a_negative_count_is_named() {
        let x = array![[1.0, 2.0], [2.0, -4.0]];
        let fault = dense(&Dense::new(x.view(), COUNTS), &[0, 0], None, 1, 1).unwrap_err();
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
            let a = dense(&Dense::new(x, COUNTS), &y, None, 3, 1).unwrap();
            let csr = Csr::new(&data, &indices, &indptr, 6).unwrap();
            let b = sparse(&csr, COUNTS, &y, None, 3, threads).unwrap();
            prop_assert_eq!(a.x, b.x);
        }
    }
}
