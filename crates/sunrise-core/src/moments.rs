//! Sums of x - a and (x - a)^2 per class and column, about an anchor `a` close to the class mean.
//!
//! A block of rows is read once, about the class means of the blocks before it; the first block is read twice. Blocks
//! are merged about their joint mean (Chan, Golub and LeVeque). A block whose mean is far from those before it loses no
//! digits that the joint variance has, because the distance is part of that variance. The residual sum of x - a is
//! kept, so a mean is known beyond the precision of one float and merging loses nothing.

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

    /// Bounds on the rounding error of `x2`, in the order of the cells.
    ///
    /// Up to 1,024 cells are added up one after the other, then sums of about 64 cells. Equal cells can make every
    /// addition round in the same direction. Neighbouring floats differ by about 2^-52 of their size. Squared deviations
    /// far below the square of this spacing, by 2^-40, come from the rounding of the mean, not from different cells.
    pub fn error(&self) -> Vec<f64> {
        let squares = self.x2.iter().zip(&self.anchor);
        let cells = self.rows.iter().zip(&self.weight).zip(squares);
        cells
            .map(|((&rows, weight), (x2, anchor))| {
                let additions = 16.0 + rows.min(1024) as f64 + rows as f64 / 64.0;
                let (relative, spacing) = (2f64.powi(-55), 2f64.powi(-72) * anchor);
                relative * additions * x2 + weight * (spacing * spacing)
            })
            .collect()
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

/// Rows of a block: few enough that copied cells stay in the second-level cache and sums of a class are short, many
/// enough to make merging cheap.
fn block_rows(columns: usize, classes: usize) -> usize {
    (65_536 / columns.max(1)).clamp(16, (64 * classes).clamp(256, 1024))
}

/// The moments of one block of rows; `present` lists its classes.
struct Block {
    part: Moments,
    count: Vec<i64>,
    weight: Vec<f64>,
    present: Vec<usize>,
    /// Classes that have an observed cell in every column: their mean so far is the anchor of the next block.
    settled: Vec<bool>,
    /// Whether the block before had missing cells.
    holes: bool,
}

impl Block {
    fn new(classes: usize, columns: usize) -> Self {
        Block {
            part: Moments::zeros(classes * columns),
            count: vec![0; classes],
            weight: vec![0.0; classes],
            present: Vec::with_capacity(classes),
            settled: vec![false; classes],
            holes: false,
        }
    }

    /// Computes the moments of a block; false if one is not finite. `total` has the blocks before.
    #[inline(always)]
    fn fill(&mut self, cells: &[f64], columns: usize, rows: Rows, total: &Moments) -> bool {
        match (columns, rows.weighted()) {
            // Compiled apart: no loop over the columns of a row, no multiplications by weights.
            (1, false) => self.fill_rows::<false>(cells, 1, rows, total),
            (1, true) => self.fill_rows::<true>(cells, 1, rows, total),
            (_, false) => self.fill_rows::<false>(cells, columns, rows, total),
            (_, true) => self.fill_rows::<true>(cells, columns, rows, total),
        }
    }

    #[inline(always)]
    fn fill_rows<const WEIGHTED: bool>(
        &mut self,
        cells: &[f64],
        columns: usize,
        rows: Rows,
        total: &Moments,
    ) -> bool {
        let weight_of = |weight: f64| if WEIGHTED { weight } else { 1.0 };
        self.find_classes(rows);
        for &c in &self.present {
            let class = c * columns..(c + 1) * columns;
            self.part.anchor[class.clone()].copy_from_slice(&total.anchor[class]);
        }
        if self.present.iter().any(|&c| !self.settled[c]) {
            self.find_anchors(cells, columns, rows);
        }
        if !self.holes {
            self.clear(columns);
            for r in 0..rows.len() {
                let Some((c, weight)) = rows.class(r) else { continue };
                let (weight, class) = (weight_of(weight), c * columns..(c + 1) * columns);
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
            for &c in &self.present {
                let class = c * columns..(c + 1) * columns;
                self.part.rows[class.clone()].fill(self.count[c]);
                self.part.weight[class].fill(self.weight[c]);
            }
            if self.finite(columns) {
                return true;
            }
        }
        self.clear(columns);
        for r in 0..rows.len() {
            let Some((c, weight)) = rows.class(r) else { continue };
            let (weight, class) = (weight_of(weight), c * columns..(c + 1) * columns);
            let anchor = &self.part.anchor[class.clone()];
            let (x1, x2) = (&mut self.part.x[class.clone()], &mut self.part.x2[class.clone()]);
            let (n, seen) = (&mut self.part.weight[class.clone()], &mut self.part.rows[class]);
            let row = &cells[r * columns..][..columns];
            let sums = x1.iter_mut().zip(x2.iter_mut()).zip(n.iter_mut().zip(seen.iter_mut()));
            for ((((x1, x2), (n, seen)), a), &x) in sums.zip(anchor).zip(row) {
                // A missing cell adds 0. A mask of bits, because the compiler makes slow stores of a choice.
                let there = u64::from(x.is_nan()).wrapping_sub(1);
                let d = f64::from_bits((x - a).to_bits() & there);
                let wd = weight * d;
                *x1 += wd;
                *x2 += wd * d;
                if WEIGHTED {
                    *n += f64::from_bits(weight.to_bits() & there);
                }
                *seen -= there as i64;
            }
        }
        if !WEIGHTED {
            for class in self.present.iter().map(|&c| c * columns..(c + 1) * columns) {
                let weights = self.part.weight[class.clone()].iter_mut();
                weights.zip(&self.part.rows[class]).for_each(|(weight, &rows)| *weight = rows as f64);
            }
        }
        let count = |c: usize| self.part.rows[c * columns..][..columns].iter().min().copied();
        self.holes = self.present.iter().any(|&c| count(c) < Some(self.count[c]));
        self.finite(columns)
    }

    /// Counts the rows of every class.
    #[inline(always)]
    fn find_classes(&mut self, rows: Rows) {
        for &c in &self.present {
            (self.count[c], self.weight[c]) = (0, 0.0);
        }
        self.present.clear();
        for (c, weight) in (0..rows.len()).filter_map(|r| rows.class(r)) {
            if self.count[c] == 0 {
                self.present.push(c);
            }
            self.count[c] += 1;
            self.weight[c] += weight;
        }
    }

    /// Sets the sums of the classes of the block to 0.
    #[inline(always)]
    fn clear(&mut self, columns: usize) {
        for class in self.present.iter().map(|&c| c * columns..(c + 1) * columns) {
            self.part.rows[class.clone()].fill(0);
            self.part.weight[class.clone()].fill(0.0);
            self.part.x[class.clone()].fill(0.0);
            self.part.x2[class].fill(0.0);
        }
    }

    /// Whether the sums of x - a of the block are finite.
    #[inline(always)]
    fn finite(&self, columns: usize) -> bool {
        self.present
            .iter()
            .all(|&c| self.part.x[c * columns..][..columns].iter().fold(true, |all, x| all & x.is_finite()))
    }

    /// Makes the means of the block the anchors of the classes that are not settled.
    fn find_anchors(&mut self, cells: &[f64], columns: usize, rows: Rows) {
        self.clear(columns);
        let part = &mut self.part;
        for r in 0..rows.len() {
            let Some((c, weight)) = rows.class(r) else { continue };
            for (j, &x) in cells[r * columns..][..columns].iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                part.weight[c * columns + j] += weight;
                part.x[c * columns + j] += weight * x;
            }
        }
        for &c in self.present.iter().filter(|&&c| !self.settled[c]) {
            for at in c * columns..(c + 1) * columns {
                part.anchor[at] = if part.weight[at] > 0.0 { part.x[at] / part.weight[at] } else { 0.0 };
            }
        }
    }

    /// Notes which classes have an observed cell in every column of all blocks so far.
    #[inline(always)]
    fn settle(&mut self, columns: usize, total: &Moments) {
        for &c in &self.present {
            if !self.settled[c] {
                self.settled[c] = total.rows[c * columns..][..columns].iter().all(|&rows| rows > 0);
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
                for part in blocks(piece, block_rows(columns, rows.classes)) {
                    let numbers = x.numbers(part.clone(), &mut scratch)?;
                    let rows = rows.part(part.clone());
                    if !block.fill(numbers, columns, rows, &total) {
                        x.find_fault_in(part, rows)?;
                    }
                    for &c in &block.present {
                        total.merge(&block.part, c * columns..(c + 1) * columns);
                    }
                    block.settle(columns, &total);
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
    for r in x.fetched(class) {
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
    for r in x.fetched(class) {
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

    #[test]
    fn a_column_that_is_missing_at_first_keeps_its_digits_far_from_zero() {
        // 5000 missing cells, then 1e9 and 1e9 + 1 in turn: the variance is exactly 1/4.
        let cell = |(r, j): (usize, usize)| match (j, r < 5000) {
            (0, _) => 1.0,
            (_, true) => f64::NAN,
            _ => 1e9 + (r % 2) as f64,
        };
        let m = moments(&Array2::from_shape_fn((15_000, 2), cell), &[0; 15_000], 1);
        assert_eq!((m.rows[1], m.weight[1]), (10_000, 10_000.0));
        let squares = m.x2[1] - m.x[1] * m.x[1] / 10_000.0;
        assert!((squares / 2500.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn blocks_far_from_each_other_keep_the_digits_of_their_variance() {
        // The first block lies at 1e8, all others at 0 and 1 in turn; sums of whole numbers are exact.
        let x = Array2::from_shape_fn((40_000, 1), |(r, _)| if r < 1024 { 1e8 } else { (r % 2) as f64 });
        let m = moments(&x, &[0; 40_000], 1);
        let (n, sum, squares) = (40_000.0, 1024e8 + 19_488.0, 1024e16 + 19_488.0);
        let expected = squares - sum * sum / n;
        assert!(((m.x2[0] - m.x[0] * m.x[0] / n) / expected - 1.0).abs() < 1e-13);
    }
}
