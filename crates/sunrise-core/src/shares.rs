//! Shares of counts: how much more of every count a class has than all other classes together.

use crate::cells::Cell;
use crate::csr::{Csr, Index};
use crate::fault::{afford, cells, Fault};
use crate::gather::GROUP;
use crate::rows::Rows;
use crate::vectorised;
use crate::work::{pieces, run};
use std::ops::Range;

/// Counts of every class and column, with what is added to each of them.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a> {
    /// Classes x columns.
    pub x: &'a [f64],
    #[allow(missing_docs)]
    pub classes: usize,
    /// Added to every count, more than 0.
    pub alpha: f64,
}

/// Columns whose classes are brought together at a time: what is read of one class are whole cache lines.
const TILE: usize = 32;

/// Below this, the logarithm of 1 - u is a short series.
const SMALL: f64 = 0.02;

/// Below this, it is one that is worth its while where many are asked for together.
const MIDDLE: f64 = 0.25;

impl Counts<'_> {
    fn columns(&self) -> Result<usize, Fault> {
        if self.classes == 0 || self.x.len() % self.classes != 0 {
            return Err(Fault::shape("the counts do not have one row for each class"));
        }
        afford(self.x.len() / self.classes + 1, self.classes.div_ceil(GROUP) * GROUP)?;
        Ok(self.x.len() / self.classes)
    }

    /// What all counts of every class are together, smoothed; and those of all other classes.
    fn totals(&self, columns: usize) -> (Vec<f64>, Vec<f64>) {
        let smooth = self.alpha * columns as f64;
        let own: Vec<f64> = self.x.chunks_exact(columns.max(1)).map(|row| row.iter().sum()).collect();
        let mut rest = vec![0.0; self.classes];
        others(&own, &mut rest);
        let smoothed = |sums: Vec<f64>| sums.into_iter().map(|sum| sum + smooth).collect();
        (smoothed(own), smoothed(rest))
    }

    /// The classes of some columns side by side, each row `width` long.
    fn gathered(&self, columns: usize, some: Range<usize>, width: usize, tile: &mut [f64]) {
        for (c, row) in self.x.chunks_exact(columns).enumerate() {
            for (x, to) in row[some.clone()].iter().zip(tile.chunks_exact_mut(width)) {
                to[c] = *x;
            }
        }
    }
}

/// The sums of all but one, without subtracting: what is not there leaves no dust.
#[inline(always)]
fn others(own: &[f64], rest: &mut [f64]) {
    let mut before = 0.0;
    for (x, to) in own.iter().zip(rest.iter_mut()) {
        *to = before;
        before += x;
    }
    let (all, mut after) = (before, 0.0);
    for (x, to) in own.iter().zip(rest.iter_mut()).rev() {
        // Classes that have nothing are alike, to the last bit.
        *to = if *x == 0.0 { all } else { *to + after };
        after += x;
    }
}

/// Fills a table of columns x classes, padded to whole groups of classes, tile by tile.
fn tiled(
    counts: Counts,
    columns: usize,
    threads: usize,
    fill: impl Fn(usize, &[f64], &mut [f64], &mut [f64]) + Sync,
) -> Vec<f64> {
    let width = counts.classes.div_ceil(GROUP) * GROUP;
    let mut table = vec![0.0; columns * width];
    let tasks: Vec<(usize, &mut [f64])> = table.chunks_mut(TILE * 64 * width).enumerate().collect();
    run(threads, tasks, |(k, part)| {
        vectorised(
            #[inline(always)]
            || {
                let (mut own, mut rest) = (vec![0.0; TILE * width], vec![0.0; counts.classes]);
                for (n, to) in part.chunks_mut(TILE * width).enumerate() {
                    let first = (k * 64 + n) * TILE;
                    let some = first..first + to.len() / width;
                    counts.gathered(columns, some, width, &mut own);
                    for (at, (own, to)) in own.chunks_exact(width).zip(to.chunks_exact_mut(width)).enumerate()
                    {
                        fill(first + at, &own[..counts.classes], &mut rest, &mut to[..counts.classes]);
                    }
                }
            },
        );
    });
    table
}

/// Log of the shares of every class over those of all others, columns x classes, rows padded to whole groups.
///
/// A class that has no others is scored by its own shares.
pub fn odds(counts: Counts, threads: usize) -> Result<Vec<f64>, Fault> {
    let columns = counts.columns()?;
    let (total, rest_total) = counts.totals(columns);
    let alone = counts.classes == 1;
    let scale: Vec<f64> =
        total.iter().zip(&rest_total).map(|(own, rest)| if alone { 1.0 / own } else { rest / own }).collect();
    Ok(tiled(counts, columns, threads, |_, own, rest, to| {
        others(own, rest);
        for (((own, rest), scale), to) in own.iter().zip(rest.iter()).zip(&scale).zip(to) {
            let below = if alone { 1.0 } else { rest + counts.alpha };
            *to = ((own + counts.alpha) / below * scale).ln();
        }
    }))
}

/// Scores of rows by such odds where their own counts are taken out first, rows x classes.
///
/// Its own class has fewer counts, and so have the others of all other classes. Infinite where more would be taken
/// than there is. Rows have to be canonical; the odds are those of [`odds`], of so many classes padded.
pub fn left_out<T: Cell, I: Index>(
    x: &Csr<T, I>,
    rows: Rows,
    counts: Counts,
    odds: &[f64],
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let columns = counts.columns()?;
    rows.table(x.rows(), columns)?;
    let others = Others::of(counts, columns, threads);
    if columns != x.columns() || rows.classes != counts.classes || odds.len() != columns * others.width {
        return Err(Fault::shape("the rows do not have the columns and classes of the counts"));
    }
    let mut scores = vec![0.0; cells(x.rows(), counts.classes)?];
    let mut tasks = Vec::new();
    let mut room = &mut scores[..];
    for piece in pieces(x.rows(), 64, 64) {
        let (part, behind) = room.split_at_mut(piece.len() * counts.classes);
        room = behind;
        tasks.push((piece, part));
    }
    let done = run(threads, tasks, |(piece, room)| {
        vectorised(
            #[inline(always)]
            || {
                let (mut lost, mut taken) = (Lost::none(others.width), Vec::new());
                for (r, score) in piece.zip(room.chunks_exact_mut(counts.classes)) {
                    let (indices, values) = x.canonical_row(r)?;
                    taken.clear();
                    taken.extend(indices.iter().zip(values).map(|(j, value)| (j.at(), value.number())));
                    lost.begin(&taken, odds);
                    match rows.class(r) {
                        Some((y, w)) => others.score(counts, &taken, y, w, &mut lost, score),
                        None => score.copy_from_slice(&lost.plain[..counts.classes]),
                    }
                }
                Ok(())
            },
        )
    });
    done.into_iter().collect::<Result<(), Fault>>()?;
    Ok(scores)
}

/// The share of a sum that rounding may have left of nothing.
const DUST: f64 = 1.0 / (1_u64 << 46) as f64;

/// Counts of the others of every class, smoothed.
struct Others {
    /// One over them, columns x classes, rows padded to whole groups.
    inverse: Vec<f64>,
    width: usize,
    /// All counts of each class, and of its others.
    total: Vec<f64>,
    rest_total: Vec<f64>,
}

/// What a row scores as it is, and what it loses of the scores of the others: a sum for every class, and one that is
/// the same for all.
struct Lost {
    plain: Vec<f64>,
    by_class: Vec<f64>,
    share: Vec<f64>,
    same: f64,
}

impl Lost {
    fn none(width: usize) -> Self {
        Lost { plain: vec![0.0; width], by_class: vec![0.0; width], share: vec![0.0; width], same: 0.0 }
    }

    /// The score of another row as it is.
    #[inline(always)]
    fn begin(&mut self, row: &[(usize, f64)], odds: &[f64]) {
        let width = self.plain.len();
        self.plain.fill(0.0);
        self.by_class.fill(0.0);
        self.same = 0.0;
        for &(j, a) in row {
            let odds = &odds[j * width..][..width];
            self.plain.iter_mut().zip(odds).for_each(|(sum, odds)| *sum += a * odds);
        }
    }
}

impl Others {
    fn of(counts: Counts, columns: usize, threads: usize) -> Self {
        let (total, rest_total) = counts.totals(columns);
        let inverse = tiled(counts, columns, threads, |_, own, rest, to| {
            others(own, rest);
            rest.iter().zip(to).for_each(|(rest, to)| *to = 1.0 / (rest + counts.alpha));
        });
        Others { inverse, width: counts.classes.div_ceil(GROUP) * GROUP, total, rest_total }
    }

    /// The scores of all classes without a row of class y and weight w.
    #[inline(always)]
    fn score(
        &self,
        counts: Counts,
        row: &[(usize, f64)],
        y: usize,
        w: f64,
        lost: &mut Lost,
        score: &mut [f64],
    ) {
        let mine = &counts.x[y * (counts.x.len() / counts.classes)..];
        let (mut own, mut length, mut enough) = (0.0, 0.0, true);
        for &(j, a) in row {
            let taken = w * a;
            length += a;
            let (had, smoothed) = (mine[j], mine[j] + counts.alpha);
            enough &= had - taken >= -1e-9 * had;
            // What cannot be told from rounding is nothing.
            let gone = if had - taken <= had * DUST { had } else { taken };
            own += a * log_rest(gone / smoothed);
            lost.add(&self.inverse[j * self.width..][..self.width], y, a, taken);
        }
        let all = w * length;
        let parts = lost.plain.iter().zip(&lost.by_class).zip(&self.rest_total);
        for (to, ((plain, sum), rest)) in score.iter_mut().zip(parts) {
            *to = plain + (length * (-all / rest).ln_1p() - (sum + lost.same));
        }
        score[y] = lost.plain[y] + (own - length * (-all / self.total[y]).ln_1p());
        if !enough {
            score.fill(f64::INFINITY);
        }
    }
}

impl Lost {
    /// Adds a log(1 - taken / others) for every class but y.
    #[inline(always)]
    fn add(&mut self, inverse: &[f64], y: usize, a: f64, taken: f64) {
        for (u, inverse) in self.share.iter_mut().zip(inverse) {
            *u = taken * inverse;
        }
        self.share[y] = 0.0;
        let mut most = [0.0; GROUP];
        for shares in self.share.chunks_exact(GROUP) {
            for (most, &u) in most.iter_mut().zip(shares) {
                *most = if u > *most { u } else { *most };
            }
        }
        let most = most.iter().fold(0.0, |most: f64, &u| most.max(u));
        let pairs = self.by_class.iter_mut().zip(&self.share);
        if most < SMALL {
            pairs.for_each(|(sum, &u)| *sum += a * series(u));
        } else if most < MIDDLE {
            pairs.for_each(|(sum, &u)| *sum += a * longer_series(u));
        } else {
            self.add_rare(a);
        }
    }

    /// Most classes have none of what is rare, and the same others.
    #[inline(always)]
    fn add_rare(&mut self, a: f64) {
        let common = self
            .share
            .iter()
            .fold(f64::INFINITY, |least: f64, &u| if u > 0.0 && u < least { u } else { least });
        let logged = log_rest(common);
        self.same += a * logged;
        for (sums, shares) in self.by_class.chunks_exact_mut(GROUP).zip(self.share.chunks_exact(GROUP)) {
            if shares.iter().fold(true, |all, &u| all & (u == common)) {
                continue;
            }
            for (sum, &u) in sums.iter_mut().zip(shares).filter(|(_, &u)| u != common) {
                *sum += a * (log_rest(u) - logged);
            }
        }
    }
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
fn longer_series(u: f64) -> f64 {
    let s = u / (2.0 - u);
    let s2 = s * s;
    let rest = 1.0 / 9.0 + s2 * (1.0 / 11.0 + s2 * (1.0 / 13.0 + s2 * (1.0 / 15.0 + s2 * (1.0 / 17.0))));
    -2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0 + s2 * rest))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log_odds(x: &[Vec<f64>], alpha: f64, c: usize, j: usize) -> f64 {
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
            let counts = Counts { x: &flat, classes, alpha: 0.3 };
            let csr = Csr::new(&data, &indices, &indptr, 7).unwrap();
            let told = odds(counts, threads).unwrap();
            let found = left_out(&csr, Rows::new(&y, None, classes).unwrap(), counts, &told, threads).unwrap();
            for (r, (row, c)) in table.iter().enumerate() {
                let mut rest = x.clone();
                row.iter().enumerate().for_each(|(j, &n)| rest[*c as usize][j] -= f64::from(n));
                for k in 0..classes {
                    let wanted: f64 =
                        row.iter().enumerate().map(|(j, &n)| f64::from(n) * log_odds(&rest, 0.3, k, j)).sum();
                    prop_assert!((found[r * classes + k] - wanted).abs() < 1e-11 * (1.0 + wanted.abs()));
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
            assert!((longer_series(u) - (-u).ln_1p()).abs() <= 5e-15 * u);
        }
    }

    #[test]
    fn more_than_there_is_cannot_be_taken() {
        let csr = Csr::new(&[2.0], &[0_i32], &[0, 1], 2).unwrap();
        let counts = Counts { x: &[1.0, 0.0, 0.0, 1.0], classes: 2, alpha: 1.0 };
        let told = odds(counts, 1).unwrap();
        let found = left_out(&csr, Rows::new(&[0], None, 2).unwrap(), counts, &told, 1).unwrap();
        assert!(found.iter().all(|x| x.is_infinite()));
        assert!(odds(Counts { x: &[1.0], classes: 0, alpha: 1.0 }, 1).is_err());
    }
}
