//! Scores of rows by log odds after their own counts are subtracted.
//!
//! A row takes part in the counts of its own class and, for every other class, in the counts of its others. The second
//! changes the log odds of column j by -log(1 - u), where u is what the row takes away over the counts of the others.
//! Series of a few terms give these logarithms for all classes at once: for most cells u is small.

use crate::cells::Cell;
use crate::csr::{Csr, Index};
use crate::fault::{afford, cells, Fault};
use crate::gather::{self, GROUP};
use crate::in_fours;
use crate::log_odds::{tiled, ClassCounts, Tile, TILE};
use crate::log_rest::{log_rest, middle_series, small_series, tiny_series, MIDDLE, SMALL, TINY};
use crate::logarithm::ln_1p;
use crate::parallel::{pieces, run};
use crate::rows::Rows;

/// Largest share of a sum that counts as rounding residue.
const DUST: f64 = 1.0 / (1_u64 << 46) as f64;

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
/// Without bands the scores are rows x classes. Scores are infinite if a count would become negative. Rows must be
/// canonical; `odds` is the result of [`crate::log_odds::log_odds`], and `out` is scratch memory for one more row and one
/// more group of classes.
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
    if bands.is_some_and(|bands| bands.of_column.len() != columns || bands.count == 0) {
        return Err(Fault::shape("the bands are not one for each column"));
    }
    let subtracts = (0..x.rows()).any(|r| rows.class(r).is_some());
    let scorer = Scorer::new(counts, odds, bands, columns, subtracts, out, threads)?;
    if columns != x.columns() || rows.classes != counts.classes() || odds.len() != columns * scorer.width {
        return Err(Fault::shape("the rows do not have the columns and classes of the counts"));
    }
    let width = cells(counts.classes(), bands.map_or(1, |bands| bands.count))?;
    afford(x.rows(), width)?;
    let mut scores = vec![0.0; cells(x.rows(), width)?];
    // Rows of one class one after the other: the counts of one class fit into the cache.
    let mut order: Vec<(usize, &mut [f64])> = scores.chunks_exact_mut(width).enumerate().collect();
    order.sort_by_key(|(r, _)| rows.class(*r).map(|(y, _)| y));
    let mut order = order.into_iter();
    let tasks: Vec<Vec<(usize, &mut [f64])>> = pieces(x.rows(), 64, 64)
        .into_iter()
        .map(|piece| order.by_ref().take(piece.len()).collect())
        .collect();
    let done = run(threads, tasks, |piece| {
        in_fours(
            #[inline(always)]
            || {
                let mut row = Row::new(scorer.width);
                let mut parts = vec![Vec::new(); bands.map_or(1, |bands| bands.count) + 1];
                for (r, score) in piece {
                    let (indices, values) = x.canonical_row(r)?;
                    let picks = indices.iter().zip(values).map(|(j, value)| (j.at(), value.number()));
                    scorer.score(picks, rows.class(r), &mut row, &mut parts, score);
                }
                Ok(())
            },
        )
    });
    done.into_iter().collect::<Result<(), Fault>>()?;
    Ok(scores)
}

/// Log odds of the columns, and the smoothed counts of the others of every class.
struct Scorer<'a> {
    counts: ClassCounts<'a>,
    columns: usize,
    odds: &'a [f64],
    bands: Option<Bands<'a>>,
    /// For each column one over the counts of the others, for all classes, padded to whole groups, and then a group of
    /// four: the largest and the next largest, whose the largest is, and that of classes which have no count.
    table: &'a [f64],
    /// Length of the classes in a row of the table, and of the whole row.
    width: usize,
    stride: usize,
    /// All counts of each class, and of its others.
    total: Vec<f64>,
    rest_total: Vec<f64>,
}

/// What a row takes away from the counts of a column.
#[derive(Clone, Copy)]
struct Taken {
    column: usize,
    /// The cell, and the cell times the weight of the row.
    a: f64,
    taken: f64,
}

/// Scratch memory for a row.
struct Row {
    /// Scores, but for a sum that is the same for all classes.
    sums: Vec<f64>,
    same: f64,
    /// Change of the log total of each class's others (of the own class itself) without the row.
    shifts: Vec<f64>,
    /// The cells, by the series that their logarithms need.
    cells: [Vec<Taken>; 4],
    /// For every cell, its number and what it takes away from its own class, over what is left.
    own: Vec<(f64, f64)>,
}

impl Row {
    fn new(width: usize) -> Self {
        let (sums, shifts) = (vec![0.0; width], vec![0.0; width]);
        Row { sums, same: 0.0, shifts, cells: Default::default(), own: Vec::new() }
    }
}

impl<'a> Scorer<'a> {
    fn new(
        counts: ClassCounts<'a>,
        odds: &'a [f64],
        bands: Option<Bands<'a>>,
        columns: usize,
        subtracts: bool,
        out: &'a mut [f64],
        threads: usize,
    ) -> Result<Self, Fault> {
        let (total, rest_total) = counts.totals(columns, threads);
        let width = gather::stride(counts.classes());
        let stride = width + GROUP;
        // Rows that begin on a cache line touch the fewest of them.
        let start = out.as_ptr().align_offset(64);
        let Some(table) = out.get_mut(start..).and_then(|rest| rest.get_mut(..columns * stride)) else {
            return Err(Fault::shape("the scratch memory is too small"));
        };
        // Without rows to subtract, nobody asks for the others.
        let is_scored =
            |j: usize| subtracts && bands.is_none_or(|bands| usize::from(bands.of_column[j]) < bands.count);
        tiled(
            counts,
            columns,
            table,
            stride,
            threads,
            is_scored,
            #[inline(always)]
            |tile, to| fill_others(tile, counts.alpha, width, to),
        )?;
        Ok(Scorer { counts, columns, odds, bands, table, width, stride, total, rest_total })
    }

    /// The counts of a class by column.
    #[inline(always)]
    fn own(&self, y: usize) -> impl Fn(usize) -> f64 + use<'a> {
        let (mine, factors) = (&self.counts.x[y][..self.columns], &self.counts.factors[..self.columns]);
        move |column| mine[column] * factors[column]
    }

    /// Writes the changes of the log totals without a row of class y that has this mass.
    #[inline(always)]
    fn shift(&self, y: usize, mass: f64, shifts: &mut [f64]) {
        for (shift, rest) in shifts.iter_mut().zip(&self.rest_total) {
            *shift = (-mass / rest).ln_1p();
        }
        shifts[y] = (-mass / self.total[y]).ln_1p();
    }

    /// Writes the scores of a row; `parts` are scratch memory for the cells of each band and those that are not scored.
    #[inline(always)]
    fn score(
        &self,
        picks: impl Iterator<Item = (usize, f64)> + Clone,
        class: Option<(usize, f64)>,
        row: &mut Row,
        parts: &mut [Vec<(usize, f64)>],
        score: &mut [f64],
    ) {
        let Some((y, w)) = class else {
            return self.score_whole(picks, row, parts, score);
        };
        self.shift(y, w * picks.clone().fold(0.0, |sum, (_, a)| sum + a), &mut row.shifts);
        let Some(bands) = self.bands else {
            if !self.score_without(picks, y, w, row, score) {
                score.fill(f64::INFINITY);
            }
            return;
        };
        self.split(bands, picks, false, parts);
        let mut enough = true;
        for (part, score) in parts.iter().zip(score.chunks_exact_mut(self.counts.classes())) {
            if !part.is_empty() {
                enough &= self.score_without(part.iter().copied(), y, w, row, score);
            }
        }
        let mine = self.own(y);
        enough &= parts[bands.count].iter().all(|&(j, a)| mine(j) - w * a >= -1e-9 * mine(j));
        if !enough {
            score.fill(f64::INFINITY);
        }
    }

    /// Sorts cells by band. A row that is not subtracted knows `all` columns.
    #[inline(always)]
    fn split(
        &self,
        bands: Bands,
        picks: impl Iterator<Item = (usize, f64)>,
        all: bool,
        parts: &mut [Vec<(usize, f64)>],
    ) {
        parts.iter_mut().for_each(Vec::clear);
        for (j, a) in picks {
            let band = usize::from(bands.of_column[j]).min(bands.count);
            parts[if all && band == bands.count { 0 } else { band }].push((j, a));
        }
    }

    /// Writes the scores of a row that is not subtracted.
    #[inline(always)]
    fn score_whole(
        &self,
        picks: impl Iterator<Item = (usize, f64)> + Clone,
        row: &mut Row,
        parts: &mut [Vec<(usize, f64)>],
        score: &mut [f64],
    ) {
        match self.bands {
            None => {
                parts[0].clear();
                parts[0].extend(picks);
            }
            Some(bands) => self.split(bands, picks, true, parts),
        }
        for (part, score) in parts.iter().zip(score.chunks_exact_mut(self.counts.classes())) {
            row.sums.fill(0.0);
            gather::add(self.odds, part.iter().copied(), &mut row.sums);
            score.copy_from_slice(&row.sums[..score.len()]);
        }
    }

    /// Writes the scores of some cells of a row of class y without it; false if it was never fitted.
    ///
    /// Cells are sorted by their series first: a loop without branches has many cache misses under way.
    #[inline(always)]
    fn score_without(
        &self,
        picks: impl Iterator<Item = (usize, f64)>,
        y: usize,
        w: f64,
        row: &mut Row,
        score: &mut [f64],
    ) -> bool {
        let mine = self.own(y);
        row.cells.iter_mut().for_each(Vec::clear);
        row.own.clear();
        let (mut touched, mut plain, mut length, mut enough) = (0, 0.0, 0.0, true);
        for (column, a) in picks {
            let taken = w * a;
            let others = &self.table[column * self.stride..][..self.stride];
            // Numbers of a later loop, which has too much to compute for misses to overlap.
            touched = others.iter().step_by(8).fold(touched, |bits, x| bits ^ x.to_bits());
            let [most, next, whose, _] = others[self.width..] else { continue };
            let most = taken * if whose == y as f64 { next } else { most };
            let series = usize::from(most >= TINY) + usize::from(most >= SMALL) + usize::from(most >= MIDDLE);
            row.cells[series].push(Taken { column, a, taken });
            plain += a * self.odds[column * self.width + y];
            length += a;
            let had = mine(column);
            enough &= had - taken >= -1e-9 * had;
            // Rounding residue counts as 0.
            let left = if had - taken <= had * DUST { 0.0 } else { had - taken };
            row.own.push((a, (had - left) / (left + self.counts.alpha)));
        }
        std::hint::black_box(touched);
        // log(left) - log(had) of the smoothed counts is -log(1 + (had - left) / left).
        let mut own = [0.0; GROUP];
        for some in row.own.chunks(GROUP) {
            own.iter_mut().zip(some).for_each(|(sum, (a, ratio))| *sum += a * ln_1p(*ratio));
        }
        let own: f64 = own.iter().sum();
        // The sum of the own class may be anything: it is replaced.
        row.sums.fill(0.0);
        let [tiny, small, middle, large] = &row.cells;
        self.add_series(tiny, &mut row.sums, tiny_series);
        self.add_series(small, &mut row.sums, small_series);
        self.add_series(middle, &mut row.sums, middle_series);
        row.same = self.add_logarithms(large, &mut row.sums);
        for ((to, sum), shift) in score.iter_mut().zip(&row.sums).zip(&row.shifts) {
            *to = (sum - row.same) + length * shift;
        }
        score[y] = plain - (own + length * row.shifts[y]);
        enough
    }

    /// Adds a (log odds - log(1 - taken / others)) for every class, for the cells of one series.
    #[inline(always)]
    fn add_series(&self, cells: &[Taken], sums: &mut [f64], series: impl Fn(f64) -> f64 + Copy) {
        let mut first = 0;
        for sums in sums.chunks_mut(6 * GROUP) {
            match sums.len() / GROUP {
                1 => self.add_groups::<1>(cells, first, sums, series),
                2 => self.add_groups::<2>(cells, first, sums, series),
                3 => self.add_groups::<3>(cells, first, sums, series),
                4 => self.add_groups::<4>(cells, first, sums, series),
                5 => self.add_groups::<5>(cells, first, sums, series),
                _ => self.add_groups::<6>(cells, first, sums, series),
            }
            first += sums.len();
        }
    }

    /// The same for `N` groups of classes, whose sums stay in registers.
    #[inline(always)]
    fn add_groups<const N: usize>(
        &self,
        cells: &[Taken],
        first: usize,
        sums: &mut [f64],
        series: impl Fn(f64) -> f64,
    ) {
        let mut total = [[0.0; GROUP]; N];
        for cell in cells {
            let odds = &self.odds[cell.column * self.width + first..][..N * GROUP];
            let inverse = &self.table[cell.column * self.stride + first..][..N * GROUP];
            for (g, total) in total.iter_mut().enumerate() {
                for (k, sum) in total.iter_mut().enumerate() {
                    let at = g * GROUP + k;
                    *sum += cell.a * (odds[at] + series(cell.taken * inverse[at]));
                }
            }
        }
        sums.iter_mut().zip(total.as_flattened()).for_each(|(sum, x)| *sum += x);
    }

    /// The same for cells that take much of a rare column away. Most classes have no count of it, and so the same sum
    /// of the others; the result is the sum of their logarithms.
    fn add_logarithms(&self, cells: &[Taken], sums: &mut [f64]) -> f64 {
        gather::add(self.odds, cells.iter().map(|cell| (cell.column, cell.a)), sums);
        let mut same = 0.0;
        for cell in cells {
            let others = &self.table[cell.column * self.stride..][..self.stride];
            let (inverse, common) = (&others[..self.width], others[self.width + 3]);
            let logged = log_rest(cell.taken * common);
            same += cell.a * logged;
            for (sums, inverse) in sums.chunks_exact_mut(GROUP).zip(inverse.chunks_exact(GROUP)) {
                if inverse.iter().fold(true, |all, &x| all & (x == common)) {
                    continue;
                }
                for (sum, &x) in sums.iter_mut().zip(inverse).filter(|(_, &x)| x != common) {
                    *sum -= cell.a * (log_rest(cell.taken * x) - logged);
                }
            }
        }
        same
    }
}

/// Fills the table of the others for the columns of a tile.
#[inline(always)]
fn fill_others(tile: Tile, alpha: f64, width: usize, to: &mut [[f64; TILE]]) {
    let (inverse, group) = to.split_at_mut(width);
    let [most, next, whose, least] = group else { return };
    (*most, *next, *whose, *least) = ([0.0; TILE], [0.0; TILE], [0.0; TILE], [f64::INFINITY; TILE]);
    for (c, (rest, to)) in tile.rest.iter().zip(inverse).enumerate() {
        for k in 0..TILE {
            let x = 1.0 / (rest[k] + alpha);
            to[k] = x;
            least[k] = if x < least[k] { x } else { least[k] };
            let is_most = x > most[k];
            let second = if x > next[k] { x } else { next[k] };
            next[k] = if is_most { most[k] } else { second };
            whose[k] = if is_most { c as f64 } else { whose[k] };
            most[k] = if is_most { x } else { most[k] };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::log_odds::log_odds;
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
            // What is given is the count over the factor of its column, all powers of 2.
            let factors = [1.0, 2.0, 0.5, 4.0, 1.0, 0.25, 8.0];
            let given: Vec<Vec<f64>> =
                x.iter().map(|row| row.iter().zip(factors).map(|(x, f)| x / f).collect()).collect();
            let given: Vec<&[f64]> = given.iter().map(Vec::as_slice).collect();
            let counts = ClassCounts { x: &given, factors: &factors, alpha: 0.3 };
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
    fn more_than_there_is_cannot_be_taken() {
        let csr = Csr::new(&[2.0], &[0_i32], &[0, 1], 2).unwrap();
        let counts = ClassCounts { x: &[&[1.0, 0.0], &[0.0, 1.0]], factors: &[1.0, 1.0], alpha: 1.0 };
        let mut table = [0.0; 8];
        log_odds(counts, &mut table, 1).unwrap();
        let found =
            left_out_scores(&csr, Rows::new(&[0], None, 2).unwrap(), counts, &table, None, &mut [0.0; 24], 1)
                .unwrap();
        assert!(found.iter().all(|x| x.is_infinite()));
        assert!(log_odds(ClassCounts { x: &[], factors: &[], alpha: 1.0 }, &mut [], 1).is_err());
        assert!(log_odds(ClassCounts { factors: &[1.0], ..counts }, &mut table, 1).is_err());
        assert!(log_odds(counts, &mut [0.0; 7], 1).is_err());
    }
}
