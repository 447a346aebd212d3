//! Pairs of columns: their lift over independence, and how much a weight of it would improve a log-likelihood.

use crate::fault::{self, Fault};
use crate::lanes::folded;
use crate::parallel::run;
use crate::vectorised;

/// Additive smoothing of the probabilities of single columns.
const ALPHA: f64 = 1.0;
/// Pairs of a task, and rows of a task.
const TASK: usize = 8;
const ROWS: usize = 1024;
/// The classes of a table are padded to vectors of this length, unless there are two.
const VECTOR: usize = 4;
/// A table of at most this many cells is counted in four copies, because an addition waits for the one before to its cell.
const SMALL: usize = 4096;
/// Cells of the tables that are used together.
const TOGETHER: usize = 1 << 22;

/// The rows that are counted, and the level of every column in them; a negative level is a missing cell.
#[derive(Clone, Debug)]
pub struct PairRows<'a> {
    /// Levels of the columns.
    pub columns: Vec<&'a [i32]>,
    /// Number of levels of every column.
    pub sizes: Vec<usize>,
    /// The class of every row.
    pub labels: &'a [i32],
    /// The weight of every row.
    pub weight: &'a [f64],
}

impl PairRows<'_> {
    fn check(&self, pairs: &[[usize; 2]], classes: usize) -> Result<(), Fault> {
        let n = self.labels.len();
        let levels_fit =
            self.columns.iter().zip(&self.sizes).all(|(column, &size)| {
                column.len() == n && column.iter().all(|&x| x < 0 || (x as usize) < size)
            });
        let fits = classes > 0
            && self.columns.len() == self.sizes.len()
            && self.weight.len() == n
            && self.labels.iter().all(|&y| y >= 0 && (y as usize) < classes)
            && levels_fit
            && pairs.iter().flatten().all(|&j| j < self.columns.len());
        if !fits {
            return Err(Fault::shape("the levels, labels, weights, rows and pairs do not fit together"));
        }
        for pair in pairs {
            let cells = fault::cells(self.sizes[pair[0]], self.sizes[pair[1]])?;
            fault::afford(cells, padded(classes))?;
            if fault::cells(cells + 1, padded(classes))? > i32::MAX as usize {
                return Err(Fault::Memory);
            }
        }
        Ok(())
    }

    /// The weight of every row, if all are the same.
    fn same_weight(&self) -> Option<f64> {
        let first = *self.weight.first()?;
        self.weight.iter().all(|&w| w == first).then_some(first)
    }

    /// The place of the pair of every row in a table of its classes; rows with a missing cell come after all others.
    #[inline(always)]
    fn places(&self, [a, b]: [usize; 2], stride: usize) -> Vec<u32> {
        let (n_b, stride) = (self.sizes[b] as u32, stride as u32);
        let missing = self.sizes[a] as u32 * n_b * stride;
        let cells = self.columns[a].iter().zip(self.columns[b]);
        cells
            .map(|(&i, &j)| if (i | j) < 0 { missing } else { (i as u32 * n_b + j as u32) * stride })
            .collect()
    }
}

/// Number of places of the classes of a pair of levels.
fn padded(classes: usize) -> usize {
    if classes == 2 {
        2
    } else {
        classes.next_multiple_of(VECTOR)
    }
}

/// The rows that are judged: positions, predicted probabilities (rows x classes), and folds.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct JudgedRows<'a> {
    pub rows: &'a [i64],
    pub probabilities: &'a [f64],
    pub folds: &'a [i32],
}

/// Probabilities of the levels of both columns by class, without `removed` rows of the class.
struct Shares {
    removed: f64,
    first: Vec<f64>,
    second: Vec<f64>,
    /// What a count over the two probabilities is divided by.
    total: Vec<f64>,
}

/// The log lifts of a pair of columns: of rows in general, and of a row without itself.
struct Lifts {
    stride: usize,
    classes: usize,
    second_levels: usize,
    strength: f64,
    both: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    total: Vec<f64>,
    levels: [f64; 2],
    shares: Shares,
    /// The same without a row, if all rows weigh the same.
    without_row: Option<Shares>,
    place: Vec<u32>,
    /// Lifts that are known, with those without a row: a table may have more cells than there are rows.
    known: Vec<bool>,
    lift: Vec<f64>,
    own: Vec<f64>,
}

impl Lifts {
    #[inline(always)]
    fn of(rows: &PairRows<'_>, pair: [usize; 2], classes: usize, same: Option<f64>) -> Self {
        let (stride, [n_a, n_b]) = (padded(classes), pair.map(|j| rows.sizes[j]));
        let place = rows.places(pair, stride);
        let both = counted(rows, &place, n_a * n_b * stride, stride, same);
        let (mut first, mut second) = (vec![0.0; n_a * stride], vec![0.0; n_b * stride]);
        let mut total = vec![0.0; stride];
        for (i, of_first) in both.chunks_exact(n_b * stride).enumerate() {
            let first = &mut first[i * stride..][..stride];
            for (of_pair, second) in of_first.chunks_exact(stride).zip(second.chunks_exact_mut(stride)) {
                for (c, &n) in of_pair.iter().enumerate() {
                    first[c] += n;
                    second[c] += n;
                    total[c] += n;
                }
            }
        }
        let levels = [&first, &second]
            .map(|side| side.chunks(stride).filter(|n| n.iter().any(|&x| x > 0.0)).count() as f64);
        let strength = ((levels[0] - 1.0) * (levels[1] - 1.0)).max(1.0);
        let empty = Shares { removed: 0.0, first: vec![], second: vec![], total: vec![] };
        let mut new = Lifts {
            stride,
            classes,
            second_levels: n_b,
            strength,
            known: vec![false; n_a * n_b],
            lift: vec![0.0; both.len()],
            own: vec![0.0; both.len()],
            both,
            first,
            second,
            total,
            levels,
            shares: empty,
            without_row: None,
            place,
        };
        new.shares = new.shares_without(0.0);
        new.without_row = same.map(|w| new.shares_without(w));
        new
    }

    fn shares_without(&self, removed: f64) -> Shares {
        let share = |side: &[f64], levels: f64| {
            let total = self.total.iter().cycle();
            let of = |(n, total)| (n - removed + ALPHA) / (total - removed + levels * ALPHA);
            side.iter().zip(total).map(of).collect()
        };
        let [n_first, n_second] = self.levels;
        let (first, second) = (share(&self.first, n_first), share(&self.second, n_second));
        let total = self.total.iter().map(|total| (total - removed).max(0.0) + self.strength).collect();
        Shares { removed, first, second, total }
    }

    /// The log lift of the pair at a place, in class c.
    #[inline(always)]
    fn log_lift(&self, place: usize, c: usize, shares: &Shares) -> f64 {
        let (i, j) = self.levels_at(place);
        let share = shares.first[i * self.stride + c] * shares.second[j * self.stride + c];
        let both = (self.both[place + c] - shares.removed).max(0.0);
        ((both / share + self.strength) / shares.total[c]).ln()
    }

    fn levels_at(&self, place: usize) -> (usize, usize) {
        let pair = place / self.stride;
        (pair / self.second_levels, pair % self.second_levels)
    }

    /// The place of the pair of a row, whose lifts are known then; none if a cell is missing.
    #[inline(always)]
    fn find(&mut self, row: usize) -> Option<usize> {
        let place = self.place[row] as usize;
        if place == self.both.len() {
            return None;
        }
        if !self.known[place / self.stride] {
            self.known[place / self.stride] = true;
            for c in 0..self.classes {
                self.lift[place + c] = self.log_lift(place, c, &self.shares);
                if let (Some(shares), true) = (&self.without_row, self.both[place + c] > 0.0) {
                    self.own[place + c] = self.log_lift(place, c, shares);
                }
            }
        }
        Some(place)
    }

    /// The log lift of a row of class y and weight w, without the row.
    #[inline(always)]
    fn own(&self, place: usize, y: usize, w: f64) -> f64 {
        if self.without_row.is_some() {
            return self.own[place + y];
        }
        let ((i, j), total) = (self.levels_at(place), self.total[y] - w);
        let p = (self.first[i * self.stride + y] - w + ALPHA) / (total + self.levels[0] * ALPHA);
        let q = (self.second[j * self.stride + y] - w + ALPHA) / (total + self.levels[1] * ALPHA);
        let both = (self.both[place + y] - w).max(0.0);
        ((both / (p * q) + self.strength) / (total.max(0.0) + self.strength)).ln()
    }
}

/// The weights of the rows of every place and class.
#[inline(always)]
fn counted(rows: &PairRows<'_>, place: &[u32], size: usize, stride: usize, same: Option<f64>) -> Vec<f64> {
    // Rows with a missing cell are counted, too, behind the table.
    let end = size + stride;
    let Some(same) = same else {
        let mut both = vec![0.0; end];
        for ((&place, &y), &w) in place.iter().zip(rows.labels).zip(rows.weight) {
            both[place as usize + y as usize] += w;
        }
        both.truncate(size);
        return both;
    };
    let copies = if size <= SMALL { 4 } else { 1 };
    let mut numbers = vec![0_u32; copies * end];
    for (place, y) in place.chunks(copies).zip(rows.labels.chunks(copies)) {
        for (k, (&place, &y)) in place.iter().zip(y).enumerate() {
            numbers[k * end + place as usize + y as usize] += 1;
        }
    }
    let sum = |at: usize| numbers[at..].iter().step_by(end).map(|&n| f64::from(n)).sum::<f64>();
    (0..size).map(|at| same * sum(at)).collect()
}

/// Returns the first and second derivative of the log-likelihood of the judged rows by the weight of the lift of every pair,
/// at weight 0: pairs x folds each. Each row is judged without itself.
pub fn slopes(
    rows: &PairRows<'_>,
    judged: JudgedRows<'_>,
    pairs: &[[usize; 2]],
    folds: usize,
    classes: usize,
    threads: usize,
) -> Result<(Vec<f64>, Vec<f64>), Fault> {
    rows.check(pairs, classes)?;
    let (n, m) = (rows.labels.len(), judged.rows.len());
    let fits = folds > 0
        && judged.probabilities.len() == fault::cells(m, classes)?
        && judged.folds.len() == m
        && judged.folds.iter().all(|&k| k >= 0 && (k as usize) < folds)
        && judged.rows.iter().all(|&i| i >= 0 && (i as usize) < n);
    if !fits {
        return Err(Fault::shape("the judged rows, probabilities and folds do not fit together"));
    }
    fault::afford(pairs.len(), folds)?;
    let (same, stride) = (rows.same_weight(), padded(classes));
    let mut wide = vec![0.0; fault::cells(m, stride)?];
    for (to, p) in wide.chunks_exact_mut(stride).zip(judged.probabilities.chunks_exact(classes)) {
        to[..classes].copy_from_slice(p);
    }
    let judged = JudgedRows { probabilities: &wide, ..judged };
    let tasks: Vec<&[[usize; 2]]> = pairs.chunks(TASK).collect();
    let done = run(threads, tasks, |some| {
        vectorised(
            #[inline(always)]
            || {
                let mut found = vec![0.0; 2 * folds * some.len()];
                for (pair, out) in some.iter().zip(found.chunks_mut(2 * folds)) {
                    let lifts = Lifts::of(rows, *pair, classes, same);
                    if classes == 2 {
                        add_slopes_of_two(rows, judged, lifts, out);
                    } else {
                        add_slopes(rows, judged, lifts, out);
                    }
                }
                found
            },
        )
    });
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for out in done.iter().flat_map(|task| task.chunks(2 * folds)) {
        first.extend_from_slice(&out[..folds]);
        second.extend_from_slice(&out[folds..]);
    }
    Ok((first, second))
}

#[inline(always)]
fn add_slopes(rows: &PairRows<'_>, judged: JudgedRows<'_>, mut lifts: Lifts, out: &mut [f64]) {
    let (folds, stride) = (out.len() / 2, lifts.stride);
    let probabilities = judged.probabilities.chunks_exact(stride);
    for ((&row, p), &fold) in judged.rows.iter().zip(probabilities).zip(judged.folds) {
        let (row, fold) = (row as usize, fold as usize);
        let Some(place) = lifts.find(row) else { continue };
        let (y, w) = (rows.labels[row] as usize, rows.weight[row]);
        let x = &lifts.lift[place..][..stride];
        let (mut mean, mut square) = ([0.0; VECTOR], [0.0; VECTOR]);
        for (p, x) in p.chunks_exact(VECTOR).zip(x.chunks_exact(VECTOR)) {
            for k in 0..VECTOR {
                let product = p[k] * x[k];
                mean[k] += product;
                square[k] += product * x[k];
            }
        }
        let (own, other) = (lifts.own(place, y, w), x[y]);
        let mean = folded(mean) + p[y] * (own - other);
        let square = folded(square) + p[y] * (own * own - other * other);
        out[fold] += w * (own - mean);
        out[folds + fold] += w * (square - mean * mean);
    }
}

/// With two classes, only the difference of their lifts matters.
#[inline(always)]
fn add_slopes_of_two(rows: &PairRows<'_>, judged: JudgedRows<'_>, mut lifts: Lifts, out: &mut [f64]) {
    let folds = out.len() / 2;
    let probabilities = judged.probabilities.chunks_exact(2);
    for ((&row, p), &fold) in judged.rows.iter().zip(probabilities).zip(judged.folds) {
        let (row, fold) = (row as usize, fold as usize);
        let Some(place) = lifts.find(row) else { continue };
        let (y, w) = (rows.labels[row] as usize, rows.weight[row]);
        let difference = lifts.own(place, y, w) - lifts.lift[place + 1 - y];
        let slope = w * p[1 - y] * difference;
        out[fold] += slope;
        out[folds + fold] += slope * p[y] * difference;
    }
}

/// Returns the log lifts of pairs for some of the rows, rows x (classes - 1) x pairs: each row without itself, as
/// differences from the first class, and 0 where a cell is missing.
pub fn lifts(
    rows: &PairRows<'_>,
    some_rows: &[i64],
    pairs: &[[usize; 2]],
    classes: usize,
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    rows.check(pairs, classes)?;
    let (lines, wide, same) = (fault::cells(some_rows.len(), classes - 1)?, pairs.len(), rows.same_weight());
    if !some_rows.iter().all(|&r| r >= 0 && (r as usize) < rows.labels.len()) {
        return Err(Fault::shape("the positions of rows are not among the rows"));
    }
    fault::afford(lines, wide)?;
    let mut out = vec![0.0; fault::cells(lines, wide)?];
    let mut first = 0;
    for some in groups(rows, pairs, padded(classes)) {
        let mut tables = run(threads, some.to_vec(), |pair| {
            let mut lifts = Lifts::of(rows, pair, classes, same);
            for &row in some_rows {
                lifts.find(row as usize);
            }
            lifts
        });
        tables.iter_mut().for_each(|lifts| lifts.known = vec![]);
        let row = (classes - 1) * wide;
        let tasks: Vec<(usize, &mut [f64])> = out.chunks_mut((ROWS * row).max(1)).enumerate().collect();
        run(threads, tasks, |(k, out)| {
            for (r, out) in out.chunks_mut(row.max(1)).enumerate() {
                let r = some_rows[k * ROWS + r] as usize;
                for (j, lifts) in tables.iter().enumerate() {
                    lifts.write(r, rows.labels[r] as usize, rows.weight[r], out, wide, first + j);
                }
            }
        });
        first += some.len();
    }
    Ok(out)
}

impl Lifts {
    /// Writes the lifts of a row into a column of the lines of its classes.
    #[inline(always)]
    fn write(&self, row: usize, y: usize, w: f64, out: &mut [f64], wide: usize, column: usize) {
        let place = self.place[row] as usize;
        if place == self.both.len() {
            return;
        }
        let (x, own) = (&self.lift[place..][..self.classes], self.own(place, y, w));
        let base = if y == 0 { own } else { x[0] };
        for (c, line) in out.chunks_mut(wide).enumerate() {
            line[column] = if c + 1 == y { own } else { x[c + 1] } - base;
        }
    }
}

/// Pairs in their order, as many at a time as have tables of a moderate size; at least one.
fn groups<'a>(rows: &PairRows<'_>, pairs: &'a [[usize; 2]], stride: usize) -> Vec<&'a [[usize; 2]]> {
    let (mut groups, mut start, mut total) = (Vec::new(), 0, 0);
    for (k, pair) in pairs.iter().enumerate() {
        let size = rows.sizes[pair[0]] * rows.sizes[pair[1]] * stride + rows.labels.len();
        if k > start && total + size > TOGETHER {
            groups.push(&pairs[start..k]);
            (start, total) = (k, 0);
        }
        total += size;
    }
    groups.push(&pairs[start..]);
    groups
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_a_table_by_hand() {
        let (a, b, labels) = ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]);
        let weight = [1.0; 4];
        let rows = PairRows { columns: vec![&a, &b], sizes: vec![2, 2], labels: &labels, weight: &weight };
        let judged = JudgedRows { rows: &[0], probabilities: &[0.5, 0.5], folds: &[0] };
        let (first, second) = slopes(&rows, judged, &[[0, 1]], 1, 2, 1).unwrap();
        // Without row 0, class 0 has one row (1, 1): p = q = 1/3, no pair. Class 1: p = q = 1/2, no pair (0, 0).
        let own = (1.0_f64 / 2.0).ln();
        let other = (1.0_f64 / 3.0).ln();
        let mean = 0.5 * (own + other);
        assert!((first[0] - (own - mean)).abs() < 1e-15);
        assert!((second[0] - (0.5 * (own * own + other * other) - mean * mean)).abs() < 1e-15);
    }

    #[test]
    fn lifts_are_differences_from_the_first_class() {
        let (a, b, labels) = ([0, 0, 1, 1, -1], [0, 1, 0, 1, 0], [0, 1, 1, 0, 1]);
        for w in [[1.0; 5], [1.0, 1.0, 1.0, 1.0, 2.0]] {
            let rows = PairRows { columns: vec![&a, &b], sizes: vec![2, 2], labels: &labels, weight: &w };
            let cells = lifts(&rows, &[4, 0], &[[0, 1], [0, 1]], 2, 2).unwrap();
            assert!((cells[2] - ((1.0_f64 / 3.0).ln() - (1.0_f64 / 2.0).ln())).abs() < 1e-15);
            assert_eq!((cells[0], cells[1], cells[2]), (0.0, 0.0, cells[3]));
            assert!(lifts(&rows, &[5], &[[0, 1]], 2, 2).is_err());
        }
    }

    #[test]
    fn wrong_shapes_are_faults() {
        let (a, labels, weight) = ([0, 5], [0, 1], [1.0; 2]);
        let rows = PairRows { columns: vec![&a], sizes: vec![2], labels: &labels, weight: &weight };
        let judged = JudgedRows { rows: &[0], probabilities: &[0.5, 0.5], folds: &[0] };
        assert!(slopes(&rows, judged, &[[0, 0]], 1, 2, 1).is_err());
    }
}
