//! The log loss of rows whose classes are scored by weighted sums, and its slopes: what calibration minimises.

use crate::fault::{self, Fault};
use crate::normalise::exp_of_negative;
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
    let most = scores[best];
    scores.iter_mut().for_each(|score| *score = exp_of_negative(*score - most));
    scores[best] = 0.0;
    let rest = scores.iter().sum();
    scores[best] = 1.0;
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
                let (mut p, mut mean) = (vec![0.0; classes], vec![0.0; width]);
                for r in start..n.min(start + TASK) {
                    let (cells, w) = (&told.cells[r * row..(r + 1) * row], told.weight[r]);
                    let best = told.score(r, cells, columns, offsets, &mut p);
                    let total = 1.0 + exponentials(&mut p, best);
                    p.iter_mut().for_each(|p| *p /= total);
                    mean.fill(0.0);
                    for (p, x) in p[1..].iter().zip(cells.chunks_exact(width.max(1))) {
                        mean.iter_mut().zip(x).for_each(|(mean, x)| *mean += p * x);
                        add_square(&mut sum, size, x, w * p);
                    }
                    add_square(&mut sum, size, &mean, -w);
                    for c in 0..classes {
                        let below = &mut sum[(width + c) * size..][..width + c + 1];
                        let (mixed, pairs) = below.split_at_mut(width);
                        // The cells of the first class are 0: the others are differences from it.
                        let x = if c == 0 { &[][..] } else { &cells[(c - 1) * width..][..width] };
                        mixed.iter_mut().zip(x).for_each(|(sum, x)| *sum += w * p[c] * x);
                        mixed.iter_mut().zip(&mean).for_each(|(sum, mean)| *sum -= w * p[c] * mean);
                        pairs.iter_mut().zip(&p).for_each(|(sum, q)| *sum -= w * p[c] * q);
                        pairs[c] += w * p[c];
                    }
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

/// Adds the products of all pairs, times a factor, below the diagonal and on it, to the first rows of a square.
#[inline(always)]
fn add_square(sum: &mut [f64], size: usize, x: &[f64], factor: f64) {
    for (i, &a) in x.iter().enumerate() {
        let row = &mut sum[i * size..][..i + 1];
        row.iter_mut().zip(x).for_each(|(sum, b)| *sum += factor * a * b);
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
