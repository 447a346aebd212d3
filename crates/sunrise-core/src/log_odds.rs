//! Log odds: the log ratio of the share of a column in a class to its share in all other classes together.
//!
//! This file is long because the scores without a row share the tables and series of the log odds, and are tested with
//! them.

use crate::cells::Cell;
use crate::csr::{Csr, Index};
use crate::fault::{afford, cells, Fault};
use crate::gather::{self, GROUP};
use crate::lanes::{sum_of, LANES};
use crate::parallel::{pieces, run};
use crate::rows::Rows;
use crate::vectorised;
use std::ops::Range;

/// Counts of every class and column, with their smoothing.
#[derive(Clone, Copy, Debug)]
pub struct ClassCounts<'a> {
    /// Classes x columns.
    pub x: &'a [f64],
    #[allow(missing_docs)]
    pub classes: usize,
    /// Added to every count, more than 0.
    pub alpha: f64,
}

/// Columns that are transposed at a time: each class contributes whole cache lines.
const TILE: usize = 32;

/// Below this, log(1 - u) is computed by a series of eight terms.
const SMALL: f64 = 0.02;

/// Below this, vectors of log(1 - u) are computed by a longer series.
const MIDDLE: f64 = 0.25;

/// Below this, four terms are enough.
const TINY: f64 = 0.0005;

impl ClassCounts<'_> {
    fn columns(&self) -> Result<usize, Fault> {
        if self.classes == 0 || self.x.len() % self.classes != 0 {
            return Err(Fault::shape("the counts do not have one row for each class"));
        }
        afford(self.x.len() / self.classes + 1, self.classes.div_ceil(GROUP) * GROUP)?;
        Ok(self.x.len() / self.classes)
    }

    /// The smoothed sum of the counts of every class, and of all other classes.
    fn totals(&self, columns: usize, threads: usize) -> (Vec<f64>, Vec<f64>) {
        let smooth = self.alpha * columns as f64;
        let classes: Vec<&[f64]> = self.x.chunks_exact(columns.max(1)).collect();
        let own: Vec<f64> = run(threads, classes, |row| {
            vectorised(
                #[inline(always)]
                || sum_of::<LANES, 1>([row], |[x]| x),
            )
        });
        let mut rest = vec![0.0; self.classes];
        _ = others(&own, &mut rest);
        let smoothed = |sums: Vec<f64>| sums.into_iter().map(|sum| sum + smooth).collect();
        (smoothed(own), smoothed(rest))
    }

    /// Transposes some columns into `tile`: a row of `width` numbers for each column.
    fn gathered(&self, columns: usize, some: Range<usize>, width: usize, tile: &mut [f64]) {
        for (c, row) in self.x.chunks_exact(columns).enumerate() {
            for (x, to) in row[some.clone()].iter().zip(tile.chunks_exact_mut(width)) {
                to[c] = *x;
            }
        }
    }
}

/// For each number the sum of all others, without subtraction and its rounding residue; returns the sum of all.
#[inline(always)]
fn others(own: &[f64], rest: &mut [f64]) -> f64 {
    let mut before = 0.0;
    for (x, to) in own.iter().zip(rest.iter_mut()) {
        *to = before;
        before += x;
    }
    let (all, mut after) = (before, 0.0);
    for (x, to) in own.iter().zip(rest.iter_mut()).rev() {
        // Classes without a count get the same bits.
        *to = if *x == 0.0 { all } else { *to + after };
        after += x;
    }
    all
}

/// Fills a table of columns x `stride`, tile by tile; the classes come first in its rows, and zeros behind them.
///
/// The caller allocates the table: large tables are fast only in huge pages, which NumPy requests.
fn tiled(
    counts: ClassCounts,
    columns: usize,
    table: &mut [f64],
    stride: usize,
    threads: usize,
    fill: impl Fn(&[f64], &mut [f64], &mut [f64]) + Sync,
) -> Result<(), Fault> {
    if table.len() != columns * stride {
        return Err(Fault::shape("the table is not columns x classes, the classes padded"));
    }
    let tasks: Vec<(usize, &mut [f64])> = table.chunks_mut(TILE * 64 * stride).enumerate().collect();
    run(threads, tasks, |(k, part)| {
        vectorised(
            #[inline(always)]
            || {
                let width = counts.classes;
                let (mut own, mut rest) = (vec![0.0; TILE * width], vec![0.0; width]);
                for (n, to) in part.chunks_mut(TILE * stride).enumerate() {
                    let first = (k * 64 + n) * TILE;
                    let some = first..first + to.len() / stride;
                    counts.gathered(columns, some, width, &mut own);
                    for (own, to) in own.chunks_exact(width).zip(to.chunks_exact_mut(stride)) {
                        to[width..].fill(0.0);
                        fill(own, &mut rest, to);
                    }
                }
            },
        );
    });
    Ok(())
}

/// Log of the shares of every class over those of all others, columns x classes, rows padded to whole groups.
///
/// A class that has no others is scored by its own shares.
pub fn log_odds(counts: ClassCounts, out: &mut [f64], threads: usize) -> Result<(), Fault> {
    let columns = counts.columns()?;
    let (total, rest_total) = counts.totals(columns, threads);
    let alone = counts.classes == 1;
    let scale: Vec<f64> =
        total.iter().zip(&rest_total).map(|(own, rest)| if alone { 1.0 / own } else { rest / own }).collect();
    let log_scale: Vec<f64> = scale.iter().map(|scale| scale.ln()).collect();
    tiled(counts, columns, out, gather::stride(counts.classes), threads, |own, rest, to| {
        let all = others(own, rest);
        // Most classes have none of most columns, and all of those have the same to say.
        let nothing = (counts.alpha / if alone { 1.0 } else { all + counts.alpha }).ln();
        for (c, to) in to[..counts.classes].iter_mut().enumerate() {
            *to = if own[c] == 0.0 {
                nothing + log_scale[c]
            } else {
                let below = if alone { 1.0 } else { rest[c] + counts.alpha };
                ((own[c] + counts.alpha) / below * scale[c]).ln()
            };
        }
    })
}

/// Parts of the scores: each column belongs to one of `count` bands, whose scores are summed apart.
///
/// A column whose band is not below `count` is subtracted with the row, but not scored.
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// The band of every column.
    pub of_column: &'a [u8],
    #[allow(missing_docs)]
    pub count: usize,
}

/// Scores of rows by log odds after their own counts are subtracted, rows x bands x classes.
///
/// Without bands the scores are rows x classes. The subtraction changes the counts of the own class, and for every other class the counts of its others. Scores are
/// infinite if a count would become negative. Rows must be canonical; `odds` is the result of [`log_odds`], and `out` is
/// scratch memory for one more row and one more group of classes.
pub fn left_out_scores<T: Cell, I: Index>(
    x: &Csr<T, I>,
    rows: Rows,
    counts: ClassCounts,
    odds: &[f64],
    bands: Option<Bands>,
    out: &mut [f64],
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let columns = counts.columns()?;
    rows.table(x.rows(), columns)?;
    let others = Others::of(counts, columns, out, threads)?;
    if columns != x.columns() || rows.classes != counts.classes || odds.len() != columns * others.width {
        return Err(Fault::shape("the rows do not have the columns and classes of the counts"));
    }
    if bands.is_some_and(|bands| bands.of_column.len() != columns || bands.count == 0) {
        return Err(Fault::shape("the bands are not one for each column"));
    }
    let width = cells(counts.classes, bands.map_or(1, |bands| bands.count))?;
    afford(x.rows(), width)?;
    let mut scores = vec![0.0; cells(x.rows(), width)?];
    let mut tasks = Vec::new();
    let mut out = &mut scores[..];
    for piece in pieces(x.rows(), 64, 64) {
        let (part, behind) = out.split_at_mut(piece.len() * width);
        out = behind;
        tasks.push((piece, part));
    }
    let done = run(threads, tasks, |(piece, out)| {
        vectorised(
            #[inline(always)]
            || {
                let mut row = Row::new(others.width);
                let mut parts: Vec<Vec<(usize, f64)>> =
                    vec![Vec::new(); bands.map_or(0, |bands| bands.count + 1)];
                for (r, score) in piece.zip(out.chunks_exact_mut(width)) {
                    let (indices, values) = x.canonical_row(r)?;
                    let picks = indices.iter().zip(values).map(|(j, value)| (j.at(), value.number()));
                    let class = rows.class(r);
                    if let Some((y, w)) = class {
                        let length = picks.clone().fold(0.0, |sum, (_, a)| sum + a);
                        others.without(y, w * length, &mut row.shifts);
                    }
                    let Some(bands) = bands else {
                        others.score(counts, odds, picks, class, &mut row, score);
                        continue;
                    };
                    parts.iter_mut().for_each(Vec::clear);
                    for (j, a) in picks {
                        let band = usize::from(bands.of_column[j]);
                        // A row that is not subtracted knows all columns.
                        let known = if class.is_none() && band >= bands.count { 0 } else { band };
                        parts[known.min(bands.count)].push((j, a));
                    }
                    let mut enough = true;
                    for (part, score) in parts.iter().zip(score.chunks_exact_mut(counts.classes)) {
                        if !part.is_empty() {
                            enough &=
                                others.score(counts, odds, part.iter().copied(), class, &mut row, score);
                        }
                    }
                    if let Some((y, w)) = class {
                        let mine = &counts.x[y * columns..];
                        enough &= parts[bands.count].iter().all(|&(j, a)| mine[j] - w * a >= -1e-9 * mine[j]);
                    }
                    if !enough {
                        score.fill(f64::INFINITY);
                    }
                }
                Ok(())
            },
        )
    });
    done.into_iter().collect::<Result<(), Fault>>()?;
    Ok(scores)
}

/// Largest share of a sum that counts as rounding residue.
const DUST: f64 = 1.0 / (1_u64 << 46) as f64;

/// ClassCounts of the others of every class, smoothed.
struct Others<'a> {
    /// For each column one over them, for all classes, padded to whole groups, and then a group of four: the largest
    /// and the next largest, whose the largest is, and that of classes which have no count.
    table: &'a [f64],
    /// Length of the classes in a row of the table, and of the whole row.
    width: usize,
    stride: usize,
    /// All counts of each class, and of its others.
    total: Vec<f64>,
    rest_total: Vec<f64>,
}

/// What a row takes away from the counts of a column.
#[derive(Clone, Copy, Default)]
struct Taken {
    column: usize,
    /// The cell, and the cell times the weight of the row.
    a: f64,
    taken: f64,
    /// The count of the row's own class.
    had: f64,
    /// One over the others of classes that have no count.
    common: f64,
}

/// A row: what it scores as it is, and what it loses of the scores of the others, as a sum for every class and one
/// that is the same for all.
struct Row {
    plain: Vec<f64>,
    /// Change of the log total of each class's others (of the own class itself) without the row.
    shifts: Vec<f64>,
    by_class: Vec<f64>,
    same: f64,
    /// The cells, by the series that their logarithms need.
    cells: [Vec<Taken>; 4],
}

impl Row {
    fn new(width: usize) -> Self {
        let cells = Default::default();
        Row {
            plain: vec![0.0; width],
            shifts: vec![0.0; width],
            by_class: vec![0.0; width],
            same: 0.0,
            cells,
        }
    }

    /// Adds a log(1 - taken / others) for every class, for the cells of one series.
    #[inline(always)]
    fn add_series(&mut self, which: usize, others: &Others, series: impl Fn(f64) -> f64) {
        for cell in &self.cells[which] {
            let inverse = others.inverse(cell.column);
            // Groups of a fixed size are compiled to vectors.
            for (sums, inverse) in self.by_class.chunks_exact_mut(GROUP).zip(inverse.chunks_exact(GROUP)) {
                let pairs = sums.iter_mut().zip(inverse);
                pairs.for_each(|(sum, inverse)| *sum += cell.a * series(cell.taken * inverse));
            }
        }
    }

    /// The same for cells that take much of a rare column away. Most classes have no count of it, and so the same sum
    /// of the others.
    fn add_logarithms(&mut self, which: usize, others: &Others) {
        for cell in &self.cells[which] {
            let logged = log_rest(cell.taken * cell.common);
            self.same += cell.a * logged;
            let inverse = others.inverse(cell.column);
            for (sums, inverse) in self.by_class.chunks_exact_mut(GROUP).zip(inverse.chunks_exact(GROUP)) {
                if inverse.iter().fold(true, |all, &x| all & (x == cell.common)) {
                    continue;
                }
                for (sum, &x) in sums.iter_mut().zip(inverse).filter(|(_, &x)| x != cell.common) {
                    *sum += cell.a * (log_rest(cell.taken * x) - logged);
                }
            }
        }
    }
}

impl<'a> Others<'a> {
    fn of(counts: ClassCounts, columns: usize, out: &'a mut [f64], threads: usize) -> Result<Self, Fault> {
        let (total, rest_total) = counts.totals(columns, threads);
        let width = gather::stride(counts.classes);
        let stride = width + GROUP;
        // Rows that begin on a cache line touch the fewest of them.
        let start = out.as_ptr().align_offset(64);
        let Some(table) = out.get_mut(start..).and_then(|rest| rest.get_mut(..columns * stride)) else {
            return Err(Fault::shape("the scratch memory is too small"));
        };
        tiled(counts, columns, table, stride, threads, |own, rest, to| {
            _ = others(own, rest);
            let (inverse, group) = to.split_at_mut(width);
            rest.iter().zip(&mut *inverse).for_each(|(rest, to)| *to = 1.0 / (rest + counts.alpha));
            group.copy_from_slice(&extremes(&inverse[..counts.classes]));
        })?;
        Ok(Others { table, width, stride, total, rest_total })
    }

    #[inline(always)]
    fn inverse(&self, column: usize) -> &[f64] {
        &self.table[column * self.stride..][..self.width]
    }

    /// Writes the changes of the log totals without a row of class y that has this mass.
    #[inline(always)]
    fn without(&self, y: usize, mass: f64, shifts: &mut [f64]) {
        for (shift, rest) in shifts.iter_mut().zip(&self.rest_total) {
            *shift = (-mass / rest).ln_1p();
        }
        shifts[y] = (-mass / self.total[y]).ln_1p();
    }

    /// Writes the scores of all classes without a row of a class and weight; false if it was never fitted.
    ///
    /// Cells are sorted by their series first: a loop without branches has many cache misses under way.
    #[inline(always)]
    fn score(
        &self,
        counts: ClassCounts,
        odds: &[f64],
        picks: impl Iterator<Item = (usize, f64)> + Clone,
        class: Option<(usize, f64)>,
        row: &mut Row,
        score: &mut [f64],
    ) -> bool {
        row.plain.fill(0.0);
        gather::add(odds, picks.clone(), &mut row.plain);
        let Some((y, w)) = class else {
            score.copy_from_slice(&row.plain[..counts.classes]);
            return true;
        };
        let mine = &counts.x[y * (counts.x.len() / counts.classes)..];
        row.cells.iter_mut().for_each(Vec::clear);
        let mut touched = 0.0;
        for (column, a) in picks {
            let taken = w * a;
            let row_of_table = &self.table[column * self.stride..][..self.stride];
            // Numbers of a later loop, which has too much to compute for misses to overlap.
            touched = row_of_table.iter().step_by(8).fold(touched, |top, &x| f64::max(top, x));
            let [most, next, whose, common] = row_of_table[self.width..] else { continue };
            let most = taken * if whose == y as f64 { next } else { most };
            let series = usize::from(most >= TINY) + usize::from(most >= SMALL) + usize::from(most >= MIDDLE);
            row.cells[series].push(Taken { column, a, taken, had: mine[column], common });
        }
        std::hint::black_box(touched);
        let (mut own, mut length, mut enough) = (0.0, 0.0, true);
        for &Taken { a, taken, had, .. } in row.cells.iter().flatten() {
            length += a;
            enough &= had - taken >= -1e-9 * had;
            // Rounding residue counts as 0.
            let gone = if had - taken <= had * DUST { had } else { taken };
            own += a * log_rest(gone / (had + counts.alpha));
        }
        // The sum of the own class may be anything: it is not asked for.
        row.by_class.fill(0.0);
        row.same = 0.0;
        row.add_series(0, self, short_series);
        row.add_series(1, self, series);
        row.add_series(2, self, long_series);
        row.add_logarithms(3, self);
        let parts = row.plain.iter().zip(&row.by_class).zip(&row.shifts);
        for (to, ((plain, sum), shift)) in score.iter_mut().zip(parts) {
            *to = plain + (length * shift - (sum + row.same));
        }
        score[y] = row.plain[y] + (own - length * row.shifts[y]);
        if !enough {
            score.fill(f64::INFINITY);
        }
        enough
    }
}

/// The largest number and the next largest, where the largest is, and the smallest.
#[inline(always)]
fn extremes(row: &[f64]) -> [f64; GROUP] {
    let (mut most, mut next, mut whose, mut least) = (0.0, 0.0, 0, f64::INFINITY);
    for (c, &x) in row.iter().enumerate() {
        least = if x < least { x } else { least };
        if x > most {
            (most, next, whose) = (x, most, c);
        } else if x > next {
            next = x;
        }
    }
    [most, next, whose as f64, least]
}

/// log(1 - u).
#[inline(always)]
fn log_rest(u: f64) -> f64 {
    if u < SMALL {
        series(u)
    } else {
        (1.0 - u.min(1.0)).ln()
    }
}

/// log(1 - u) of a small u.
#[inline(always)]
fn series(u: f64) -> f64 {
    let rest = 1.0 / 5.0 + u * (1.0 / 6.0 + u * (1.0 / 7.0 + u * (1.0 / 8.0)));
    -u * (1.0 + u * (1.0 / 2.0 + u * (1.0 / 3.0 + u * (1.0 / 4.0 + u * rest))))
}

/// log(1 - u) of a u below [`MIDDLE`]: twice the inverse hyperbolic tangent of -u / (2 - u).
#[inline(always)]
fn long_series(u: f64) -> f64 {
    let s = u / (2.0 - u);
    let s2 = s * s;
    let rest = 1.0 / 9.0 + s2 * (1.0 / 11.0 + s2 * (1.0 / 13.0 + s2 * (1.0 / 15.0)));
    -2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0 + s2 * rest))))
}

/// log(1 - u) of a u below [`TINY`].
#[inline(always)]
fn short_series(u: f64) -> f64 {
    -u * (1.0 + u * (1.0 / 2.0 + u * (1.0 / 3.0 + u * (1.0 / 4.0))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected_log_odds(x: &[Vec<f64>], alpha: f64, c: usize, j: usize) -> f64 {
        let share = |which: &dyn Fn(usize) -> bool| {
            let of = |j: usize| (0..x.len()).filter(|&k| which(k)).map(|k| x[k][j]).sum::<f64>() + alpha;
            of(j) / (0..x[0].len()).map(of).sum::<f64>()
        };
        let own = share(&|k| k == c);
        if x.len() == 1 {
            own.ln()
        } else {
            (own / share(&|k| k != c)).ln()
        }
    }

    proptest! {
        #[test]
        fn rows_are_scored_as_if_they_had_never_been_there(
            table in prop::collection::vec((prop::collection::vec(0_u8..4, 7), 0_i32..3), 1..30),
            classes in 3_usize..6,
            threads in 1_usize..4,
        ) {
            let mut x = vec![vec![0.0; 7]; classes];
            let (mut data, mut indices, mut indptr) = (vec![], vec![], vec![0_i32]);
            for (row, c) in &table {
                for (j, &n) in row.iter().enumerate().filter(|(_, &n)| n > 0) {
                    x[*c as usize][j] += f64::from(n);
                    data.push(f64::from(n));
                    indices.push(j as i32);
                }
                indptr.push(data.len() as i32);
            }
            let y: Vec<i32> = table.iter().map(|(_, c)| *c).collect();
            let flat: Vec<f64> = x.iter().flatten().copied().collect();
            let counts = ClassCounts { x: &flat, classes, alpha: 0.3 };
            let csr = Csr::new(&data, &indices, &indptr, 7).unwrap();
            let mut by_column = vec![f64::NAN; 7 * classes.div_ceil(GROUP) * GROUP];
            log_odds(counts, &mut by_column, threads).unwrap();
            let labelled = Rows::new(&y, None, classes).unwrap();
            let found = left_out_scores(&csr, labelled, counts, &by_column, None, &mut vec![f64::NAN; 200], threads).unwrap();
            let of_column = [0, 1, 7, 0, 1, 1, 0];
            let bands = Some(Bands { of_column: &of_column, count: 2 });
            let apart = left_out_scores(&csr, labelled, counts, &by_column, bands, &mut vec![f64::NAN; 200], threads).unwrap();
            for (r, (row, c)) in table.iter().enumerate() {
                let mut rest = x.clone();
                row.iter().enumerate().for_each(|(j, &n)| rest[*c as usize][j] -= f64::from(n));
                for k in 0..classes {
                    let wanted: f64 =
                        row.iter().enumerate().map(|(j, &n)| f64::from(n) * expected_log_odds(&rest, 0.3, k, j)).sum();
                    prop_assert!((found[r * classes + k] - wanted).abs() < 1e-11 * (1.0 + wanted.abs()));
                    for band in 0..2 {
                        let wanted: f64 = row.iter().enumerate().filter(|(j, _)| of_column[*j] == band)
                            .map(|(j, &n)| f64::from(n) * expected_log_odds(&rest, 0.3, k, j)).sum();
                        let found = apart[(r * 2 + usize::from(band)) * classes + k];
                        prop_assert!((found - wanted).abs() < 1e-11 * (1.0 + wanted.abs()));
                    }
                }
            }
        }
    }

    #[test]
    fn a_short_series_is_enough() {
        for k in 0..200 {
            let u = SMALL * f64::from(k) / 200.0;
            assert!((series(u) - (-u).ln_1p()).abs() <= 5e-15 * u);
            let u = MIDDLE * f64::from(k) / 200.0;
            assert!((long_series(u) - (-u).ln_1p()).abs() <= 5e-15 * u);
            let u = TINY * f64::from(k) / 200.0;
            assert!((short_series(u) - (-u).ln_1p()).abs() <= 2e-14 * u);
        }
    }

    #[test]
    fn more_than_there_is_cannot_be_taken() {
        let csr = Csr::new(&[2.0], &[0_i32], &[0, 1], 2).unwrap();
        let counts = ClassCounts { x: &[1.0, 0.0, 0.0, 1.0], classes: 2, alpha: 1.0 };
        let mut table = [0.0; 8];
        log_odds(counts, &mut table, 1).unwrap();
        let found =
            left_out_scores(&csr, Rows::new(&[0], None, 2).unwrap(), counts, &table, None, &mut [0.0; 24], 1)
                .unwrap();
        assert!(found.iter().all(|x| x.is_infinite()));
        assert!(log_odds(ClassCounts { x: &[1.0], classes: 0, alpha: 1.0 }, &mut [], 1).is_err());
        assert!(log_odds(counts, &mut [0.0; 7], 1).is_err());
    }
}
