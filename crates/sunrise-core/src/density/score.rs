//! Scores of cells under kernel densities, with and without the kernels of the cells themselves.

use super::densities::Densities;
use super::finder::Finder;
use super::lattice::{reflected, split, PARTS};
use crate::cells::Matrix;
use crate::fault::{self, Fault};
use crate::parallel::{blocks, run};
use crate::rows::Rows;
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

/// Some rows of numbers, one after the other.
fn in_order(numbers: &[f64], columns: usize, order: &[usize]) -> Vec<f64> {
    let mut sorted = Vec::with_capacity(order.len() * columns);
    order.iter().for_each(|row| sorted.extend_from_slice(&numbers[row * columns..][..columns]));
    sorted
}

/// Calls `act(column, cells)` for every column of `n` rows.
///
/// Tiles of rows and columns are copied, so that a line of the cache is read once.
#[inline(always)]
fn each_column(numbers: &[f64], columns: usize, n: usize, mut act: impl FnMut(usize, &[f64])) {
    // More columns would share too few places of the first cache, because they are a power of two apart.
    const COLUMNS: usize = 8;
    const SOME: usize = 64;
    let mut cells = vec![0.0; COLUMNS.min(columns) * n];
    for some in blocks(0..columns, COLUMNS) {
        for rows in blocks(0..n, SOME) {
            for (j, column) in some.clone().zip(cells.chunks_exact_mut(n)) {
                let lines = numbers[rows.start * columns..].chunks_exact(columns);
                column[rows.clone()].iter_mut().zip(lines).for_each(|(cell, line)| *cell = line[j]);
            }
        }
        for (j, column) in some.zip(cells.chunks_exact(n)) {
            act(j, column);
        }
    }
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
        vectorised(
            #[inline(always)]
            || {
                each_column(
                    numbers,
                    columns,
                    numbers.len() / columns.max(1),
                    #[inline(always)]
                    |j, column| {
                        if self.weight[j] != 0.0 {
                            self.densities.add(j, column, self.weight[j], scores);
                        }
                    },
                );
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
        if !fits || self.folds().log || !y.iter().all(known) {
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
        let training = Rows::new(y, None, classes)?;
        let mut sums = vec![0_u64; columns * classes];
        for part in run(threads, blocks(0..n, TASK).collect(), |rows| {
            let (mut own, mut scratch) = (vec![0_u64; columns * classes], Vec::new());
            for rows in blocks(rows, ROWS) {
                let grouped = training.part(rows.clone()).by_class();
                let numbers = in_order(cells.numbers(rows, &mut scratch)?, columns, grouped.rows());
                let runs: Vec<_> = grouped.runs().collect();
                vectorised(
                    #[inline(always)]
                    || {
                        each_column(
                            &numbers,
                            columns,
                            grouped.rows().len(),
                            #[inline(always)]
                            |j, column| {
                                for (c, run) in runs.iter().cloned() {
                                    let sum = &mut own[c * columns + j];
                                    *sum = sum.wrapping_add(self.hashes(j, &column[run]));
                                }
                            },
                        );
                    },
                );
            }
            Ok(own)
        }) {
            sums.iter_mut().zip(part?).for_each(|(sum, part)| *sum = sum.wrapping_add(part));
        }
        let expected = run(threads, (0..columns * classes).collect(), |k| {
            let (c, j) = (k / columns, k % columns);
            let (points, weight) = self.points(j, c);
            let parts = if self.step(j) > 0.0 { PARTS } else { 1.0 } / row_weight[c];
            vectorised(
                #[inline(always)]
                || {
                    points.iter().zip(weight).fold(
                        0_u64,
                        #[inline(always)]
                        |sum, (&v, w)| sum.wrapping_add(whole(parts * w).wrapping_mul(hash(v))),
                    )
                },
            )
        });
        Ok(sums == expected)
    }

    /// The sum of the hashes of some cells of a column; of their nodes, as often as a share has parts, on a lattice.
    #[inline(always)]
    fn hashes(&self, j: usize, cells: &[f64]) -> u64 {
        let (step, folds) = (self.step(j), self.folds());
        if step == 0.0 {
            sum_of_hashes(cells, hash)
        } else if folds.lower.is_finite() || folds.upper.is_finite() {
            sum_of_hashes(
                cells,
                #[inline(always)]
                |x| hash_on_lattice(x, step, |node| reflected(node, folds)),
            )
        } else {
            sum_of_hashes(
                cells,
                #[inline(always)]
                |x| hash_on_lattice(x, step, |node| node),
            )
        }
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
        let training = Rows::new(y, None, classes)?;
        let is_used = |j: usize| self.is_known(j) && weight.is_none_or(|w| w[j] != 0.0);
        let parts: Vec<_> = blocks(0..n, ROWS).zip(out.chunks_mut((ROWS * per_row).max(1))).collect();
        let done = run(threads, parts, |(rows, out)| {
            // Rows of one class lie together, so that its numbers are constants of short loops that fill vectors.
            let grouped = training.part(rows.clone()).by_class();
            let (order, runs): (_, Vec<_>) = (grouped.rows(), grouped.runs().collect());
            let mut scratch = Vec::new();
            let numbers = cells.numbers(rows.clone(), &mut scratch)?;
            self::check(cells, rows, numbers)?;
            let numbers = in_order(numbers, columns, order);
            let (mut logs, mut sums) = (vec![0.0; order.len()], vec![0.0; order.len()]);
            vectorised(
                #[inline(always)]
                || {
                    each_column(
                        &numbers,
                        columns,
                        order.len(),
                        #[inline(always)]
                        |j, column| {
                            if !is_used(j) {
                                return;
                            }
                            for (c, run) in runs.iter().cloned() {
                                let (cells, logs) = (&column[run.clone()], &mut logs[run]);
                                self.left_out(j, c, cells, row_weight[c], logs);
                                if check {
                                    self.refuse(
                                        (j, c),
                                        cells,
                                        &finders[j * classes + c],
                                        row_weight[c],
                                        logs,
                                    );
                                }
                            }
                            match weight {
                                Some(weight) => {
                                    sums.iter_mut().zip(&logs).for_each(|(sum, log)| *sum += weight[j] * log);
                                }
                                None => {
                                    order.iter().zip(&logs).for_each(|(r, log)| out[r * columns + j] = *log)
                                }
                            }
                        },
                    );
                },
            );
            if weight.is_some() {
                order.iter().zip(sums).for_each(|(&r, sum)| out[r] = sum);
            }
            Ok(())
        });
        done.into_iter().collect::<Result<(), Fault>>()?;
        Ok(out)
    }

    /// Replaces the log densities of cells of column j and class c that are not among its points by NaN.
    fn refuse(&self, (j, c): (usize, usize), cells: &[f64], finder: &Finder, weight: f64, logs: &mut [f64]) {
        let (points, weights) = self.points(j, c);
        let is_fitted = |x: f64| {
            self.shares(j, x).iter().all(|&(point, share)| {
                let found = finder.position(points, point).map_or(0.0, |at| weights[at]);
                found >= (1.0 - 1e-9) * share * weight
            })
        };
        for (log, &x) in logs.iter_mut().zip(cells) {
            *log = if x.is_nan() || is_fitted(x) { *log } else { f64::NAN };
        }
    }
}

/// The sum of the hashes of cells.
#[inline(always)]
fn sum_of_hashes(cells: &[f64], hash: impl Fn(f64) -> u64) -> u64 {
    cells.iter().fold(
        0_u64,
        #[inline(always)]
        |sum, &x| sum.wrapping_add(hash(x)),
    )
}

/// The hashes of the nodes of a cell, as often as its share has parts; 0 if the cell is missing.
#[inline(always)]
fn hash_on_lattice(x: f64, step: f64, node: impl Fn(f64) -> f64) -> u64 {
    let [(below, rest), (above, share)] = split(x, step, node);
    let times = |share: f64, point: f64| whole(share * PARTS).wrapping_mul(hash(point));
    let sum = times(rest, below).wrapping_add(times(share, above));
    if x.is_nan() {
        0
    } else {
        sum
    }
}

/// The whole number next to a number from 0 to 2^52.
#[inline(always)]
fn whole(x: f64) -> u64 {
    // Added to this float, a number fills its last bits; a conversion would take longer.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    (x + WHOLE).to_bits() ^ WHOLE.to_bits()
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
