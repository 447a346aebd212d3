//! Scores of cells under kernel densities, with and without the kernels of the cells themselves.

use super::densities::Densities;
use super::finder::Finder;
use super::lattice::PARTS;
use crate::cells::Matrix;
use crate::fault::{self, Fault};
use crate::parallel::{blocks, run};
use crate::score::Scorer;
use crate::vectorised;
use std::ops::Range;

/// Rows that are scored together, so that the table of a column stays in cache.
const ROWS: usize = 1024;

/// Rows of a task that only adds up.
const TASK: usize = 8192;

/// Dense cells scored by kernel densities.
pub struct DensityScorer<'a> {
    cells: Box<dyn Matrix + 'a>,
    densities: &'a Densities,
    /// Factor of each column in the score; 0 if the column is not used.
    weight: &'a [f64],
}

impl<'a> DensityScorer<'a> {
    /// Checks that cells, densities and weights have the same columns.
    pub fn new(
        cells: Box<dyn Matrix + 'a>,
        densities: &'a Densities,
        weight: &'a [f64],
    ) -> Result<Self, Fault> {
        if cells.columns() != densities.columns() || weight.len() != densities.columns() {
            return Err(Fault::shape("the kernels do not fit the cells"));
        }
        Ok(DensityScorer { cells, densities, weight })
    }
}

/// Checks that every observed cell of some rows is within the support.
fn check(cells: &dyn Matrix, rows: Range<usize>, numbers: &[f64]) -> Result<(), Fault> {
    let reading = cells.reading();
    let accepted = vectorised(
        #[inline(always)]
        || numbers.iter().fold(true, |all, &x| all & (x.is_nan() | reading.accepts(x))),
    );
    if accepted {
        return Ok(());
    }
    cells.find_fault(rows)
}

/// The observed cells of a column, with their rows.
#[inline(always)]
fn observed(numbers: &[f64], columns: usize, j: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
    numbers[j..].iter().step_by(columns).copied().enumerate().filter(|(_, x)| !x.is_nan())
}

impl Scorer for DensityScorer<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        4 * self.cells.columns()
    }

    fn part(&self) -> usize {
        ROWS
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let columns = self.cells.columns();
        let mut scratch = Vec::new();
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        check(self.cells.as_ref(), rows, numbers)?;
        let mut column = vec![0.0; numbers.len() / columns.max(1)];
        vectorised(
            #[inline(always)]
            || {
                for j in (0..columns).filter(|&j| self.weight[j] != 0.0) {
                    let cells = numbers[j..].iter().step_by(columns);
                    column.iter_mut().zip(cells).for_each(|(to, cell)| *to = *cell);
                    self.densities.add(j, &column, self.weight[j], scores);
                }
            },
        );
        Ok(())
    }
}

impl Densities {
    /// The log density of every cell by every class, rows x classes x columns; 0 if missing.
    pub fn cells(&self, cells: &dyn Matrix, threads: usize) -> Result<Vec<f64>, Fault> {
        let (n, columns, classes) = (cells.rows(), cells.columns(), self.classes());
        if columns != self.columns() {
            return Err(Fault::shape("the kernels do not fit the cells"));
        }
        let per_row = fault::cells(classes, columns)?;
        let mut out = vec![0.0; fault::cells(n, per_row)?];
        let parts: Vec<_> = blocks(0..n, ROWS).zip(out.chunks_mut((ROWS * per_row).max(1))).collect();
        let done = run(threads, parts, |(rows, out)| {
            let mut scratch = Vec::new();
            let numbers = cells.numbers(rows.clone(), &mut scratch)?;
            check(cells, rows, numbers)?;
            for j in (0..columns).filter(|&j| self.is_known(j)) {
                self.each(j, observed(numbers, columns, j), |r, class, logs| {
                    for (k, log) in logs.iter().enumerate() {
                        out[(r * classes + class + k) * columns + j] = *log;
                    }
                });
            }
            Ok(())
        });
        done.into_iter().collect::<Result<(), Fault>>()?;
        Ok(out)
    }

    /// Checks the shapes of training cells; their classes must have been fitted.
    fn check_training(&self, cells: &dyn Matrix, y: &[i32], row_weight: &[f64]) -> Result<(), Fault> {
        let classes = self.classes();
        let known = |&c: &i32| usize::try_from(c).is_ok_and(|c| c < classes);
        let fits =
            cells.columns() == self.columns() && y.len() == cells.rows() && row_weight.len() == classes;
        if !fits || !self.is_linear() || !y.iter().all(known) {
            return Err(Fault::shape("the kernels do not fit the cells and their classes"));
        }
        Ok(())
    }

    /// Whether some rows are all the rows that the kernels came from, but for their order.
    ///
    /// Compares sums of hashes, which takes less time than to find every cell among the points.
    pub fn holds(
        &self,
        cells: &dyn Matrix,
        y: &[i32],
        row_weight: &[f64],
        threads: usize,
    ) -> Result<bool, Fault> {
        self.check_training(cells, y, row_weight)?;
        let (n, columns, classes) = (cells.rows(), cells.columns(), self.classes());
        let add = |sums: &mut [u64], part: Vec<u64>| {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.wrapping_add(part));
        };
        let mut sums = vec![0_u64; columns * classes];
        for part in run(threads, blocks(0..n, TASK).collect(), |rows| {
            let mut own = vec![0_u64; columns * classes];
            let mut scratch = Vec::new();
            let numbers = cells.numbers(rows.clone(), &mut scratch)?;
            vectorised(
                #[inline(always)]
                || {
                    for (row, &c) in numbers.chunks_exact(columns.max(1)).zip(&y[rows]) {
                        let own = &mut own[c as usize * columns..][..columns];
                        for (j, (sum, &x)) in own.iter_mut().zip(row).enumerate() {
                            let own = if self.is_grid(j) { self.hash_on_grid(j, x) } else { hash(x) };
                            *sum = sum.wrapping_add(own);
                        }
                    }
                },
            );
            Ok(own)
        }) {
            add(&mut sums, part?);
        }
        let expected = run(threads, (0..columns * classes).collect(), |k| {
            let (c, j) = (k / columns, k % columns);
            let (points, weight) = self.points(j, c);
            let parts = if self.is_grid(j) { PARTS } else { 1.0 };
            let times = |w: &f64| (parts * w / row_weight[c]).round() as u64;
            points
                .iter()
                .zip(weight)
                .fold(0_u64, |sum, (&v, w)| sum.wrapping_add(times(w).wrapping_mul(hash(v))))
        });
        Ok(sums == expected)
    }

    /// The hashes of the nodes of a cell, as often as its share has parts; 0 if the cell is missing.
    #[inline(always)]
    fn hash_on_grid(&self, j: usize, x: f64) -> u64 {
        if x.is_nan() {
            return 0;
        }
        let [(below, rest), (above, share)] = self.shares(j, x);
        // Added to this number, a small whole number fills the last bits; a conversion would take longer.
        const WHOLE: f64 = 4_503_599_627_370_496.0;
        let parts = |share: f64| (share * PARTS + WHOLE).to_bits() ^ WHOLE.to_bits();
        let times = |share: f64, point: f64| parts(share).wrapping_mul(hash(point));
        times(rest, below).wrapping_add(times(share, above))
    }

    /// The log density of every cell by its own class, without the kernel of the cell itself.
    ///
    /// `row_weight` has the weight of a row of each class. With `weight`, the result has the weighted sum over the
    /// columns of each row, else rows x columns. A missing cell adds 0. With `check`, a cell that is not among the
    /// points is NaN.
    pub fn left_out_cells(
        &self,
        cells: &dyn Matrix,
        y: &[i32],
        row_weight: &[f64],
        weight: Option<&[f64]>,
        check: bool,
        threads: usize,
    ) -> Result<Vec<f64>, Fault> {
        self.check_training(cells, y, row_weight)?;
        let (n, columns, classes) = (cells.rows(), cells.columns(), self.classes());
        if weight.is_some_and(|weight| weight.len() != columns) {
            return Err(Fault::shape("there is not one weight for each column"));
        }
        let finders = run(threads, (0..if check { columns * classes } else { 0 }).collect(), |k| {
            Finder::new(self.points(k / classes, k % classes).0)
        });
        let per_row = if weight.is_some() { 1 } else { columns };
        let mut out = vec![0.0; fault::cells(n, per_row)?];
        let parts: Vec<_> = blocks(0..n, ROWS).zip(out.chunks_mut((ROWS * per_row).max(1))).collect();
        let done = run(threads, parts, |(rows, out)| {
            let mut scratch = Vec::new();
            let numbers = cells.numbers(rows.clone(), &mut scratch)?;
            self::check(cells, rows.clone(), numbers)?;
            let y = &y[rows];
            let (mut column, mut logs) = (vec![0.0; y.len()], vec![0.0; y.len()]);
            for j in (0..columns).filter(|&j| self.is_known(j) && weight.is_none_or(|w| w[j] != 0.0)) {
                let cells = numbers[j..].iter().step_by(columns);
                column.iter_mut().zip(cells).for_each(|(to, cell)| *to = *cell);
                vectorised(
                    #[inline(always)]
                    || self.left_out(j, &column, y, row_weight, &mut logs),
                );
                for (r, (&x, log)) in column.iter().zip(&mut logs).enumerate() {
                    let c = y[r] as usize;
                    if x.is_nan() {
                        *log = 0.0;
                    } else if check {
                        let (points, weights) = self.points(j, c);
                        let is_fitted = self.shares(j, x).iter().all(|&(point, share)| {
                            let at = finders[j * classes + c].position(points, point);
                            let weight = at.map_or(0.0, |at| weights[at]);
                            weight >= (1.0 - 1e-9) * share * row_weight[c]
                        });
                        *log = if is_fitted { *log } else { f64::NAN };
                    }
                }
                match weight {
                    Some(weight) => out.iter_mut().zip(&logs).for_each(|(sum, log)| *sum += weight[j] * log),
                    None => out[j..].iter_mut().step_by(columns).zip(&logs).for_each(|(to, log)| *to = *log),
                }
            }
            Ok(())
        });
        done.into_iter().collect::<Result<(), Fault>>()?;
        Ok(out)
    }
}

/// A hash of a number, 0 if it is missing; both zeros have one.
#[inline(always)]
fn hash(x: f64) -> u64 {
    let mixed = ((x + 0.0).to_bits() ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    if x.is_nan() {
        0
    } else {
        mixed ^ (mixed >> 29)
    }
}
