//! The log loss of rows whose classes are scored by weighted sums, and its slopes: what calibration minimises.

use crate::fault::{self, Fault};
use crate::vectorised;
use crate::work::run;

/// What the columns say of every row: rows x (classes - 1) x columns, as differences from the first class.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    #[allow(missing_docs)]
    pub cells: &'a [f64],
    /// Log prior of every row and class, rows x classes.
    pub prior: &'a [f64],
    /// The class of every row.
    pub labels: &'a [i32],
    /// The weight of every row.
    pub weight: &'a [f64],
}

/// The loss, and its slopes in the weights of the columns and in the offsets of the classes.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Loss {
    pub value: f64,
    pub columns: Vec<f64>,
    pub classes: Vec<f64>,
}

impl Loss {
    fn none(columns: usize, classes: usize) -> Self {
        Loss { value: 0.0, columns: vec![0.0; columns], classes: vec![0.0; classes] }
    }

    fn add(&mut self, other: &Loss) {
        self.value += other.value;
        self.columns.iter_mut().zip(&other.columns).for_each(|(sum, x)| *sum += x);
        self.classes.iter_mut().zip(&other.classes).for_each(|(sum, x)| *sum += x);
    }
}

const TASK: usize = 2048;

impl Told<'_> {
    /// Checks that everything fits these numbers of columns and classes; the cells of a row.
    fn check(&self, columns: usize, classes: usize) -> Result<usize, Fault> {
        let (n, row) = (self.labels.len(), fault::cells(classes.saturating_sub(1), columns)?);
        let fits = classes > 0
            && self.cells.len() == fault::cells(n, row)?
            && self.prior.len() == fault::cells(n, classes)?
            && self.weight.len() == n
            && self.labels.iter().all(|&y| y >= 0 && (y as usize) < classes);
        if fits {
            Ok(row)
        } else {
            Err(Fault::shape("the cells, priors, labels and weights do not fit together"))
        }
    }

    /// Scores of a row, and of the greatest of them.
    #[inline(always)]
    fn score(&self, r: usize, cells: &[f64], columns: &[f64], offsets: &[f64], scores: &mut [f64]) -> usize {
        let (width, classes) = (columns.len(), offsets.len());
        scores.copy_from_slice(&self.prior[r * classes..][..classes]);
        scores.iter_mut().zip(offsets).for_each(|(score, offset)| *score += offset);
        for (c, score) in scores.iter_mut().enumerate().skip(1) {
            *score += dot(&cells[(c - 1) * width..][..width], columns);
        }
        let mut best = 0;
        for c in 1..classes {
            if scores[c] > scores[best] {
                best = c;
            }
        }
        best
    }
}

/// From scores to exponentials beside the greatest, which is 1; their sum without it.
#[inline(always)]
fn exponentials(scores: &mut [f64], best: usize) -> f64 {
    let (most, mut rest) = (scores[best], 0.0);
    for (c, score) in scores.iter_mut().enumerate() {
        *score = if c == best { 1.0 } else { (*score - most).exp() };
        rest += if c == best { 0.0 } else { *score };
    }
    rest
}

/// The curvature of the loss in the weights of the columns and the offsets of the classes, together: a square matrix,
/// of which the part above the diagonal is left 0.
pub fn curvature(told: Told, columns: &[f64], offsets: &[f64], threads: usize) -> Result<Vec<f64>, Fault> {
    let (n, width, classes) = (told.labels.len(), columns.len(), offsets.len());
    let row = told.check(width, classes)?;
    let size = width + classes;
    let square = fault::cells(size, size)?;
    let tasks: Vec<usize> = (0..n).step_by(TASK).collect();
    let parts = run(threads, tasks, |start| {
        vectorised(
            #[inline(always)]
            || {
                let mut sum = vec![0.0; square];
                let (mut scores, mut mean, mut own) = (vec![0.0; classes], vec![0.0; size], vec![0.0; size]);
                for r in start..n.min(start + TASK) {
                    let cells = &told.cells[r * row..(r + 1) * row];
                    let best = told.score(r, cells, columns, offsets, &mut scores);
                    let total = 1.0 + exponentials(&mut scores, best);
                    mean.fill(0.0);
                    for (c, score) in scores.iter().enumerate() {
                        let p = score / total;
                        own.fill(0.0);
                        if c > 0 {
                            own[..width].copy_from_slice(&cells[(c - 1) * width..][..width]);
                        }
                        own[width + c] = 1.0;
                        add_square(&mut sum, &own, told.weight[r] * p);
                        mean.iter_mut().zip(&own).for_each(|(mean, x)| *mean += p * x);
                    }
                    add_square(&mut sum, &mean, -told.weight[r]);
                }
                sum
            },
        )
    });
    let mut sum = vec![0.0; square];
    for part in &parts {
        sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    Ok(sum)
}

/// Adds the products of all pairs, times a factor, below the diagonal and on it.
#[inline(always)]
fn add_square(sum: &mut [f64], x: &[f64], factor: f64) {
    for (i, &a) in x.iter().enumerate() {
        if a != 0.0 {
            let row = &mut sum[i * x.len()..][..i + 1];
            row.iter_mut().zip(x).for_each(|(sum, b)| *sum += factor * a * b);
        }
    }
}

/// The weighted sum of the log losses of all rows under these weights of columns and offsets of classes.
pub fn loss(told: Told, columns: &[f64], offsets: &[f64], threads: usize) -> Result<Loss, Fault> {
    let (n, width, classes) = (told.labels.len(), columns.len(), offsets.len());
    let row = told.check(width, classes)?;
    let tasks: Vec<usize> = (0..n).step_by(TASK).collect();
    let parts = run(threads, tasks, |start| {
        vectorised(
            #[inline(always)]
            || {
                let mut sum = Loss::none(width, classes);
                let mut scores = vec![0.0; classes];
                for r in start..n.min(start + TASK) {
                    let cells = &told.cells[r * row..(r + 1) * row];
                    add_row(told, r, cells, columns, offsets, &mut scores, &mut sum);
                }
                sum
            },
        )
    });
    let mut sum = Loss::none(width, classes);
    parts.iter().for_each(|part| sum.add(part));
    Ok(sum)
}

#[inline(always)]
fn add_row(
    told: Told,
    r: usize,
    cells: &[f64],
    columns: &[f64],
    offsets: &[f64],
    scores: &mut [f64],
    sum: &mut Loss,
) {
    let (width, y, w) = (columns.len(), told.labels[r] as usize, told.weight[r]);
    let best = told.score(r, cells, columns, offsets, scores);
    let ahead = scores[best] - scores[y];
    // Nothing is lost beside the exponential of the greatest, which is 1.
    let rest = exponentials(scores, best);
    let total = 1.0 + rest;
    sum.value += w * (rest.ln_1p() + ahead);
    for (c, score) in scores.iter().enumerate() {
        let slope = w * (score / total - f64::from(u8::from(c == y)));
        sum.classes[c] += slope;
        if c > 0 {
            let row = &cells[(c - 1) * width..][..width];
            sum.columns.iter_mut().zip(row).for_each(|(sum, x)| *sum += slope * x);
        }
    }
}

/// The sum of the products, in a fixed order of four partial sums.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (whole_a, whole_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = whole_a.remainder().iter().zip(whole_b.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in whole_a.zip(whole_b) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_loss_for_any_number_of_threads() {
        let (n, width, classes) = (5000, 5, 3);
        let cells: Vec<f64> = (0..n * 2 * width).map(|k| ((k * 37 % 101) as f64 - 50.0) / 40.0).collect();
        let prior: Vec<f64> = (0..n * classes).map(|k| -((k % 7) as f64) / 9.0).collect();
        let labels: Vec<i32> = (0..n).map(|k| (k % classes) as i32).collect();
        let weight: Vec<f64> = (0..n).map(|k| 1.0 + (k % 3) as f64).collect();
        let told = Told { cells: &cells, prior: &prior, labels: &labels, weight: &weight };
        let (w, d) = ([0.5, 1.0, 0.0, 0.25, 2.0], [0.1, -0.2, 0.0]);
        let found = loss(told, &w, &d, 1).unwrap();
        assert_eq!(found, loss(told, &w, &d, 3).unwrap());
        let step = 1e-6;
        for j in 0..width {
            let mut moved = w;
            moved[j] += step;
            let slope = (loss(told, &moved, &d, 1).unwrap().value - found.value) / step;
            assert!((slope - found.columns[j]).abs() < 1e-3 * found.value);
        }
        let bent = curvature(told, &w, &d, 1).unwrap();
        assert_eq!(bent, curvature(told, &w, &d, 3).unwrap());
        let mut moved = w;
        moved[1] += step;
        let slopes = loss(told, &moved, &d, 1).unwrap();
        let size = width + classes;
        assert!(
            ((slopes.columns[3] - found.columns[3]) / step - bent[3 * size + 1]).abs() < 1e-3 * found.value
        );
        assert!(
            ((slopes.classes[2] - found.classes[2]) / step - bent[(width + 2) * size + 1]).abs()
                < 1e-3 * found.value
        );
        for c in 0..classes {
            let mut moved = d;
            moved[c] += step;
            let slope = (loss(told, &w, &moved, 1).unwrap().value - found.value) / step;
            assert!((slope - found.classes[c]).abs() < 1e-3 * found.value);
        }
    }
}
