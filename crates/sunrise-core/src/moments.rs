//! Sums of x - a and (x - a)^2 per class and column, about an anchor `a` close to the class mean.
//!
//! A block of rows is read from memory once and centred on its own class means while in cache; blocks
//! are then merged about their joint mean (Chan, Golub and LeVeque). The residual sum of x - a is kept, so a
//! mean is known beyond the precision of one float and merging loses nothing.

use crate::cells::{Cell, Matrix, Reading};
use crate::csr::{Csr, Index};
use crate::fault::Fault;
use crate::parallel::{blocks, pieces, run};
use crate::rows::Rows;
use crate::vectorised;
use std::ops::Range;

/// Moments of every class and column, each vector classes x columns.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Observed rows.
    pub rows: Vec<i64>,
    /// Observed weight.
    pub weight: Vec<f64>,
    /// The anchor a.
    pub anchor: Vec<f64>,
    /// Weighted sum of x - a.
    pub x: Vec<f64>,
    /// Weighted sum of (x - a)^2.
    pub x2: Vec<f64>,
}

impl Moments {
    fn zeros(cells: usize) -> Self {
        Moments {
            rows: vec![0; cells],
            weight: vec![0.0; cells],
            anchor: vec![0.0; cells],
            x: vec![0.0; cells],
            x2: vec![0.0; cells],
        }
    }

    /// Adds the cells of `other`, about the joint means.
    #[inline(always)]
    fn merge(&mut self, other: &Moments, cells: Range<usize>) {
        // Zipped slices of one length: no bounds checks, whole vectors.
        let (rows, n) = (&mut self.rows[cells.clone()], &mut self.weight[cells.clone()]);
        let (a, x, x2) =
            (&mut self.anchor[cells.clone()], &mut self.x[cells.clone()], &mut self.x2[cells.clone()]);
        let (their_rows, m) = (&other.rows[cells.clone()], &other.weight[cells.clone()]);
        let (b, u, u2) = (&other.anchor[cells.clone()], &other.x[cells.clone()], &other.x2[cells]);
        for j in 0..n.len().min(m.len()) {
            let total = n[j] + m[j];
            // Without weight on either side, keep zeros rather than divide by zero.
            let per = if total > 0.0 { 1.0 / total } else { 0.0 };
            let joint = a[j] + ((b[j] - a[j]) * m[j] + (x[j] + u[j])) * per;
            let (left, right) = (a[j] - joint, b[j] - joint);
            x2[j] =
                (x2[j] + left * (2.0 * x[j] + n[j] * left)) + (u2[j] + right * (2.0 * u[j] + m[j] * right));
            x[j] = (x[j] + n[j] * left) + (u[j] + m[j] * right);
            a[j] = joint;
            n[j] = total;
            rows[j] += their_rows[j];
        }
    }
}

/// Rows of a block: small enough to stay in the second-level cache while it is passed over twice.
fn block_rows(columns: usize) -> usize {
    (32_768 / columns.max(1)).clamp(16, 256)
}

/// The moments of one block of rows; `present` lists its classes.
struct Block {
    part: Moments,
    count: Vec<i64>,
    weight: Vec<f64>,
    present: Vec<usize>,
}

impl Block {
    fn new(classes: usize, columns: usize) -> Self {
        Block {
            part: Moments::zeros(classes * columns),
            count: vec![0; classes],
            weight: vec![0.0; classes],
            present: Vec::with_capacity(classes),
        }
    }

    /// Computes the moments of a block; false if a cell is not finite.
    #[inline(always)]
    fn fill(&mut self, cells: &[f64], columns: usize, rows: Rows) -> bool {
        match columns {
            1 => self.fill_rows(cells, 1, rows), // compiled apart: no loop over the columns of a row
            _ => self.fill_rows(cells, columns, rows),
        }
    }

    #[inline(always)]
    fn fill_rows(&mut self, cells: &[f64], columns: usize, rows: Rows) -> bool {
        for &c in &self.present {
            (self.count[c], self.weight[c]) = (0, 0.0);
        }
        self.present.clear();
        for r in 0..rows.len() {
            if let Some((c, weight)) = rows.class(r) {
                if self.count[c] == 0 {
                    self.present.push(c);
                    self.part.anchor[c * columns..][..columns].fill(0.0);
                }
                self.count[c] += 1;
                self.weight[c] += weight;
                let sum = &mut self.part.anchor[c * columns..][..columns];
                for (s, x) in sum.iter_mut().zip(&cells[r * columns..][..columns]) {
                    *s += weight * x;
                }
            }
        }
        let mut finite = true;
        for &c in &self.present {
            let class = c * columns..(c + 1) * columns;
            let per = 1.0 / self.weight[c];
            for a in &mut self.part.anchor[class.clone()] {
                *a *= per;
                finite &= a.is_finite();
            }
            self.part.rows[class.clone()].fill(self.count[c]);
            self.part.weight[class.clone()].fill(self.weight[c]);
            self.part.x[class.clone()].fill(0.0);
            self.part.x2[class].fill(0.0);
        }
        if !finite {
            return false;
        }
        for r in 0..rows.len() {
            if let Some((c, weight)) = rows.class(r) {
                let class = c * columns..(c + 1) * columns;
                let anchor = &self.part.anchor[class.clone()];
                let (x1, x2) = (&mut self.part.x[class.clone()], &mut self.part.x2[class]);
                let row = &cells[r * columns..][..columns];
                for (((x1, x2), a), x) in x1.iter_mut().zip(x2.iter_mut()).zip(anchor).zip(row) {
                    let d = x - a;
                    let wd = weight * d;
                    *x1 += wd;
                    *x2 += wd * d;
                }
            }
        }
        true
    }

    /// Computes the moments of a block with missing cells, cell by cell.
    fn fill_observed(&mut self, cells: &[f64], columns: usize, rows: Rows) {
        let part = &mut self.part;
        for &c in &self.present {
            for at in c * columns..(c + 1) * columns {
                part.rows[at] = 0;
                (part.weight[at], part.anchor[at], part.x[at], part.x2[at]) = (0.0, 0.0, 0.0, 0.0);
            }
        }
        for pass in 0..2 {
            for r in 0..rows.len() {
                let Some((c, weight)) = rows.class(r) else { continue };
                for (j, &x) in cells[r * columns..][..columns].iter().enumerate() {
                    let at = c * columns + j;
                    if x.is_nan() {
                        continue;
                    }
                    if pass == 0 {
                        part.rows[at] += 1;
                        part.weight[at] += weight;
                        part.anchor[at] += weight * x;
                    } else {
                        let d = x - part.anchor[at];
                        part.x[at] += weight * d;
                        part.x2[at] += weight * d * d;
                    }
                }
            }
            if pass == 0 {
                for &c in &self.present {
                    for at in c * columns..(c + 1) * columns {
                        if part.rows[at] > 0 {
                            part.anchor[at] /= part.weight[at];
                        }
                    }
                }
            }
        }
    }
}

/// Moments of a dense matrix.
pub fn dense(x: &dyn Matrix, rows: Rows, threads: usize) -> Result<Moments, Fault> {
    let columns = x.columns();
    let cells = rows.table(x.rows(), columns)?;
    if cells == 0 {
        return Ok(Moments::zeros(cells));
    }
    // Every piece has tables of its own: together they may take 64 MiB.
    let most = (64 << 20) / (cells * 40) + 1;
    let tasks = pieces(x.rows(), (8 * rows.classes).max(2048), most.min(16));
    let parts = run(threads, tasks, |piece: Range<usize>| {
        let mut total = Moments::zeros(cells);
        let mut block = Block::new(rows.classes, columns);
        let mut scratch = Vec::new();
        vectorised(
            #[inline(always)]
            || {
                for part in blocks(piece, block_rows(columns)) {
                    let numbers = x.numbers(part.clone(), &mut scratch)?;
                    let rows = rows.part(part.clone());
                    if !block.fill(numbers, columns, rows) {
                        x.find_fault_in(part, rows)?;
                        block.fill_observed(numbers, columns, rows);
                    }
                    for &c in &block.present {
                        total.merge(&block.part, c * columns..(c + 1) * columns);
                    }
                }
                Ok(())
            },
        )?;
        Ok(total)
    });
    let mut total = Moments::zeros(cells);
    for part in parts {
        total.merge(&part?, 0..cells);
    }
    Ok(total)
}

/// Moments of a sparse matrix, class by class; the zeros are added in closed form.
pub fn sparse<T: Cell, I: Index>(x: &Csr<T, I>, rows: Rows, threads: usize) -> Result<Moments, Fault> {
    rows.table(x.rows(), x.columns())?;
    let grouped = rows.by_class();
    let parts = run(threads, (0..rows.classes).collect(), |c: usize| sparse_class(x, rows, grouped.class(c)));
    let mut total = Moments::zeros(0);
    for part in parts {
        let part = part?;
        total.rows.extend(part.rows);
        total.weight.extend(part.weight);
        total.anchor.extend(part.anchor);
        total.x.extend(part.x);
        total.x2.extend(part.x2);
    }
    Ok(total)
}

/// Moments of the rows of one class.
fn sparse_class<T: Cell, I: Index>(x: &Csr<T, I>, rows: Rows, class: &[usize]) -> Result<Moments, Fault> {
    let columns = x.columns();
    let mut m = Moments::zeros(columns);
    let mut missing = vec![0.0; columns];
    let mut stored = vec![(0_i64, 0.0); columns];
    m.rows.fill(class.len() as i64);
    for &r in class {
        let (indices, cells) = x.canonical_row(r)?;
        let weight = rows.weight(r);
        for (j, value) in indices.iter().map(|j| j.at()).zip(cells.iter().map(|cell| cell.number())) {
            if value.is_nan() {
                m.rows[j] -= 1;
                missing[j] += weight;
            } else if let Some(what) = Reading::REAL.fault(value) {
                return Err(Fault::Cell { what, row: r, column: j, value });
            } else {
                stored[j].0 += 1;
                stored[j].1 += weight;
                m.anchor[j] += weight * value;
            }
        }
    }
    let weight: f64 = class.iter().map(|&r| rows.weight(r)).sum();
    for (j, missing) in missing.into_iter().enumerate() {
        if m.rows[j] > 0 {
            m.weight[j] = weight - missing;
            m.anchor[j] /= m.weight[j];
        } else {
            m.anchor[j] = 0.0;
        }
    }
    for &r in class {
        let (indices, cells) = x.canonical_row(r)?;
        let weight = rows.weight(r);
        for (j, value) in indices.iter().map(|j| j.at()).zip(cells.iter().map(|cell| cell.number())) {
            if !value.is_nan() {
                let d = value - m.anchor[j];
                m.x[j] += weight * d;
                m.x2[j] += weight * d * d;
            }
        }
    }
    for (j, (rows, weight)) in stored.into_iter().enumerate() {
        // The number of rows decides whether there was a zero: a difference of weights may be rounding residue.
        if m.rows[j] > rows {
            let zeros = m.weight[j] - weight;
            m.x[j] -= zeros * m.anchor[j];
            m.x2[j] += zeros * m.anchor[j] * m.anchor[j];
        }
    }
    Ok(m)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::Dense;
    use ndarray::{Array2, ShapeBuilder};

    fn moments(x: &Array2<f64>, y: &[i32], threads: usize) -> Moments {
        dense(&Dense::new(x.view(), Reading::REAL), Rows::new(y, None, 2).unwrap(), threads).unwrap()
    }

    #[test]
    fn known_mean_and_variance_far_from_zero() {
        // NIST NumAcc4: mean 10000000.2, sd .1 of 1001 rows, as exact as float64 data allow.
        let mut column = vec![10000000.2];
        for _ in 0..500 {
            column.extend([10000000.1, 10000000.3]);
        }
        let x = Array2::from_shape_vec((1001, 1), column).unwrap();
        let m = moments(&x, &vec![1; 1001], 1);
        let squares = m.x2[1] - m.x[1] * m.x[1] / 1001.0;
        assert!(((squares / 1000.0).sqrt() / 0.10000000055879354 - 1.0).abs() < 1e-15);
        assert_eq!(m.rows, [0, 1001]);
    }

    #[test]
    fn layout_and_threads_change_no_bit() {
        let x = Array2::from_shape_fn((20_000, 3), |(r, j)| ((r * 7 + j * 13) % 101) as f64 * 0.37);
        let mut f = Array2::zeros((20_000, 3).f());
        f.assign(&x);
        let y: Vec<i32> = (0..20_000).map(|r| i32::from(r % 3 == 0)).collect();
        let one = moments(&x, &y, 1);
        for other in [moments(&x, &y, 4), moments(&f, &y, 2)] {
            assert_eq!((&one.x, &one.x2, &one.anchor), (&other.x, &other.x2, &other.anchor));
        }
    }

    #[test]
    fn missing_cells_are_left_out_and_infinity_is_found() {
        let mut x = Array2::from_elem((5, 2), 2.0);
        x[(3, 1)] = f64::NAN;
        assert_eq!(moments(&x, &[0, 0, 0, 0, 1], 1).rows, [4, 3, 1, 1]);
        x[(2, 0)] = f64::NEG_INFINITY;
        let fault =
            dense(&Dense::new(x.view(), Reading::REAL), Rows::new(&[0; 5], None, 1).unwrap(), 1).unwrap_err();
        assert!(matches!(fault, Fault::Cell { row: 2, column: 0, .. }));
    }
}
