//! Pairs of columns: how much a weight of their lift over independence would improve a log-likelihood.

use crate::fault::{self, Fault};
use crate::parallel::run;

/// Additive smoothing of the probabilities of single columns.
const ALPHA: f64 = 1.0;
/// Pairs of a task.
const TASK: usize = 8;

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

/// The rows that are judged: positions, predicted probabilities (rows x classes), and folds.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct JudgedRows<'a> {
    pub rows: &'a [i64],
    pub probabilities: &'a [f64],
    pub folds: &'a [i32],
}

/// Counts of a pair by class, and those of its columns alone.
struct Counts {
    classes: usize,
    second_levels: usize,
    both: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    total: Vec<f64>,
    n_first: f64,
    n_second: f64,
    strength: f64,
}

impl Counts {
    fn of(rows: &PairRows<'_>, a: usize, b: usize, classes: usize) -> Self {
        let (n_a, n_b) = (rows.sizes[a], rows.sizes[b]);
        let mut both = vec![0.0; n_a * n_b * classes];
        let cells = rows.columns[a].iter().zip(rows.columns[b]);
        for ((&i, &j), (&y, &w)) in cells.zip(rows.labels.iter().zip(rows.weight)) {
            if i >= 0 && j >= 0 {
                both[(i as usize * n_b + j as usize) * classes + y as usize] += w;
            }
        }
        let (mut first, mut second) = (vec![0.0; n_a * classes], vec![0.0; n_b * classes]);
        let mut total = vec![0.0; classes];
        for i in 0..n_a {
            for j in 0..n_b {
                for c in 0..classes {
                    let n = both[(i * n_b + j) * classes + c];
                    first[i * classes + c] += n;
                    second[j * classes + c] += n;
                    total[c] += n;
                }
            }
        }
        let levels =
            |side: &[f64]| side.chunks(classes).filter(|n| n.iter().any(|&x| x > 0.0)).count() as f64;
        let (n_first, n_second) = (levels(&first), levels(&second));
        let strength = ((n_first - 1.0) * (n_second - 1.0)).max(1.0);
        Counts { classes, second_levels: n_b, both, first, second, total, n_first, n_second, strength }
    }

    /// The log lift of levels (i, j) in class c, without `removed` rows of this pair.
    fn log_lift(&self, i: usize, j: usize, c: usize, removed: f64) -> f64 {
        let (k, total) = (self.classes, self.total[c] - removed);
        let p = (self.first[i * k + c] - removed + ALPHA) / (total + self.n_first * ALPHA);
        let q = (self.second[j * k + c] - removed + ALPHA) / (total + self.n_second * ALPHA);
        let both = (self.both[(i * self.second_levels + j) * k + c] - removed).max(0.0);
        ((both / (p * q) + self.strength) / (total.max(0.0) + self.strength)).ln()
    }
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
    check(rows, judged, pairs, folds, classes)?;
    let tasks: Vec<&[[usize; 2]]> = pairs.chunks(TASK).collect();
    let done = run(threads, tasks, |some| {
        let mut found = vec![0.0; 2 * folds * some.len()];
        for (pair, out) in some.iter().zip(found.chunks_mut(2 * folds)) {
            add_slopes(rows, judged, *pair, classes, out);
        }
        found
    });
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for out in done.iter().flat_map(|task| task.chunks(2 * folds)) {
        first.extend_from_slice(&out[..folds]);
        second.extend_from_slice(&out[folds..]);
    }
    Ok((first, second))
}

fn check(
    rows: &PairRows<'_>,
    judged: JudgedRows<'_>,
    pairs: &[[usize; 2]],
    folds: usize,
    classes: usize,
) -> Result<(), Fault> {
    let (n, m) = (rows.labels.len(), judged.rows.len());
    let levels_fit = rows
        .columns
        .iter()
        .zip(&rows.sizes)
        .all(|(column, &size)| column.len() == n && column.iter().all(|&x| x < 0 || (x as usize) < size));
    let fits = folds > 0
        && classes > 0
        && rows.columns.len() == rows.sizes.len()
        && rows.weight.len() == n
        && rows.labels.iter().all(|&y| y >= 0 && (y as usize) < classes)
        && levels_fit
        && judged.probabilities.len() == fault::cells(m, classes)?
        && judged.folds.len() == m
        && judged.folds.iter().all(|&k| k >= 0 && (k as usize) < folds)
        && judged.rows.iter().all(|&i| i >= 0 && (i as usize) < n)
        && pairs.iter().flatten().all(|&j| j < rows.columns.len());
    if !fits {
        return Err(Fault::shape("the levels, labels, weights, rows and pairs do not fit together"));
    }
    for pair in pairs {
        fault::afford(fault::cells(rows.sizes[pair[0]], rows.sizes[pair[1]])?, classes)?;
    }
    fault::afford(pairs.len(), folds)
}

fn add_slopes(
    rows: &PairRows<'_>,
    judged: JudgedRows<'_>,
    pair: [usize; 2],
    classes: usize,
    out: &mut [f64],
) {
    let [a, b] = pair;
    let counts = Counts::of(rows, a, b, classes);
    let folds = out.len() / 2;
    // Lifts are computed when they are first used: a table may have more cells than there are rows.
    let mut known = vec![f64::NAN; counts.both.len()];
    let mut lifts = vec![0.0; classes];
    for (at, &row) in judged.rows.iter().enumerate() {
        let row = row as usize;
        let (i, j) = (rows.columns[a][row], rows.columns[b][row]);
        if i < 0 || j < 0 {
            continue;
        }
        let (i, j, y, w) = (i as usize, j as usize, rows.labels[row] as usize, rows.weight[row]);
        let place = (i * counts.second_levels + j) * classes;
        for (c, lift) in lifts.iter_mut().enumerate() {
            if c == y {
                *lift = counts.log_lift(i, j, c, w);
                continue;
            }
            if known[place + c].is_nan() {
                known[place + c] = counts.log_lift(i, j, c, 0.0);
            }
            *lift = known[place + c];
        }
        let p = &judged.probabilities[at * classes..(at + 1) * classes];
        let mean: f64 = p.iter().zip(&lifts).map(|(p, x)| p * x).sum();
        let square: f64 = p.iter().zip(&lifts).map(|(p, x)| p * x * x).sum();
        let fold = judged.folds[at] as usize;
        out[fold] += w * (lifts[y] - mean);
        out[folds + fold] += w * (square - mean * mean);
    }
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
    fn wrong_shapes_are_faults() {
        let (a, labels, weight) = ([0, 5], [0, 1], [1.0; 2]);
        let rows = PairRows { columns: vec![&a], sizes: vec![2], labels: &labels, weight: &weight };
        let judged = JudgedRows { rows: &[0], probabilities: &[0.5, 0.5], folds: &[0] };
        assert!(slopes(&rows, judged, &[[0, 0]], 1, 2, 1).is_err());
    }
}
