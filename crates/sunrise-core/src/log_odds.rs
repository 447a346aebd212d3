//! Log odds: the log ratio of the share of a column in a class to its share in all other classes together.

use crate::fault::{afford, Fault};
use crate::gather;
use crate::lanes::{sum_of, LANES};
use crate::logarithm::ln;
use crate::parallel::run;
use crate::vectorised;

/// Counts of every class and column, with their smoothing.
#[derive(Clone, Copy, Debug)]
pub struct ClassCounts<'a> {
    /// For each class the counts of the columns, still to be multiplied by the factors of the columns.
    pub x: &'a [&'a [f64]],
    /// One for each column. A product of the whole table would take longer than to multiply what is read.
    pub factors: &'a [f64],
    /// Added to every count, more than 0.
    pub alpha: f64,
}

/// Columns that are computed together: each class contributes whole cache lines.
pub(crate) const TILE: usize = 32;

impl ClassCounts<'_> {
    pub(crate) fn columns(&self) -> Result<usize, Fault> {
        let columns = self.factors.len();
        if self.x.is_empty() || self.x.iter().any(|row| row.len() != columns) {
            return Err(Fault::shape(
                "the counts do not have one row for each class, and one factor for each column",
            ));
        }
        afford(columns + 1, gather::stride(self.classes()))?;
        Ok(columns)
    }

    pub(crate) fn classes(&self) -> usize {
        self.x.len()
    }

    /// The smoothed sum of the counts of every class, and of all other classes.
    pub(crate) fn totals(&self, columns: usize, threads: usize) -> (Vec<f64>, Vec<f64>) {
        let smooth = self.alpha * columns as f64;
        let own: Vec<f64> = run(threads, self.x.to_vec(), |row| {
            vectorised(
                #[inline(always)]
                || sum_of::<LANES, 2>([row, self.factors], |[x, f]| x * f),
            )
        });
        let mut rest = vec![0.0; self.classes()];
        others(&own, &mut rest);
        let smoothed = |sums: Vec<f64>| sums.into_iter().map(|sum| sum + smooth).collect();
        (smoothed(own), smoothed(rest))
    }
}

/// For each number the sum of all others, without subtraction and its rounding residue.
fn others(own: &[f64], rest: &mut [f64]) {
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
}

/// Columns that are computed together, side by side. A class has a row of `TILE` numbers, one for each column.
pub(crate) struct Tile<'a> {
    /// Counts of each class.
    pub(crate) own: &'a [[f64; TILE]],
    /// Counts of the others of each class.
    pub(crate) rest: &'a [[f64; TILE]],
}

/// [`others`] of the columns of a tile.
#[inline(always)]
fn others_of_tile(own: &[[f64; TILE]], rest: &mut [[f64; TILE]]) {
    let (mut before, mut after) = ([0.0; TILE], [0.0; TILE]);
    for (own, to) in own.iter().zip(rest.iter_mut()) {
        *to = before;
        before.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
    }
    for (own, to) in own.iter().zip(rest.iter_mut()).rev() {
        for k in 0..TILE {
            // A selection by bits: the compiler would turn a conditional into jumps.
            let (all, others) = (before[k].to_bits(), (to[k] + after[k]).to_bits());
            let is_none = u64::from(own[k] == 0.0).wrapping_neg();
            to[k] = f64::from_bits((all & is_none) | (others & !is_none));
            after[k] += own[k];
        }
    }
}

/// Fills a table of columns x `stride`, tile by tile; columns that are not `wanted` keep what they have.
///
/// `fill` computes `stride` numbers of each column of a tile. The caller allocates the table: large tables are fast only
/// in huge pages, which NumPy requests.
pub(crate) fn tiled(
    counts: ClassCounts,
    columns: usize,
    table: &mut [f64],
    stride: usize,
    threads: usize,
    wanted: impl Fn(usize) -> bool + Sync,
    fill: impl Fn(Tile, &mut [[f64; TILE]]) + Sync,
) -> Result<(), Fault> {
    if table.len() != columns * stride {
        return Err(Fault::shape("the table is not columns x classes, the classes padded"));
    }
    let tasks: Vec<(usize, &mut [f64])> = table.chunks_mut(TILE * 64 * stride).enumerate().collect();
    run(threads, tasks, |(k, part)| {
        vectorised(
            #[inline(always)]
            || {
                let zeros = [0.0; TILE];
                let (mut own, mut rest) = (vec![zeros; counts.classes()], vec![zeros; counts.classes()]);
                let mut filled = vec![zeros; stride];
                for (n, to) in part.chunks_mut(TILE * stride).enumerate() {
                    let first = (k * 64 + n) * TILE;
                    let width = to.len() / stride;
                    if !(first..first + width).any(&wanted) {
                        continue;
                    }
                    let factors = &counts.factors[first..first + width];
                    for (row, own) in counts.x.iter().zip(&mut own) {
                        let cells = row[first..first + width].iter().zip(factors);
                        own.iter_mut().zip(cells).for_each(|(to, (x, f))| *to = x * f);
                    }
                    others_of_tile(&own, &mut rest);
                    fill(Tile { own: &own, rest: &rest }, &mut filled);
                    for (j, to) in to.chunks_exact_mut(stride).enumerate() {
                        if wanted(first + j) {
                            to.iter_mut().zip(&filled).for_each(|(to, from)| *to = from[j]);
                        }
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
    let (alone, alpha) = (counts.classes() == 1, counts.alpha);
    let scale: Vec<f64> =
        total.iter().zip(&rest_total).map(|(own, rest)| if alone { 1.0 / own } else { rest / own }).collect();
    let stride = gather::stride(counts.classes());
    tiled(
        counts,
        columns,
        out,
        stride,
        threads,
        |_| true,
        #[inline(always)]
        |tile, to| {
            for (((own, rest), scale), to) in tile.own.iter().zip(tile.rest).zip(&scale).zip(to) {
                for k in 0..TILE {
                    let below = if alone { 1.0 } else { rest[k] + alpha };
                    to[k] = ln((own[k] + alpha) / below * scale);
                }
            }
        },
    )
}
