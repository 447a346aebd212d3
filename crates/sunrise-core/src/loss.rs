//! The log loss that calibration minimises, with gradient and Hessian.

use crate::fault::{self, Fault};
use crate::lanes::sum_of;
use crate::normalise::exp_of_negative;
use crate::parallel::run;
use crate::vectorised;

/// The rows of a calibration.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationRows<'a> {
    #[allow(missing_docs)]
    pub cells: &'a [f64],
    /// Log prior of every row and class, rows x classes.
    pub prior: &'a [f64],
    /// The class of every row.
    pub labels: &'a [i32],
    /// The weight of every row.
    pub weight: &'a [f64],
}

/// The log loss, and its gradients in the column weights and the class offsets.
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

impl CalibrationRows<'_> {
    /// Number of cells of a row, after checking all shapes.
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

    /// Computes the scores of a row; returns the class of the largest.
    #[inline(always)]
    fn score(&self, r: usize, cells: &[f64], columns: &[f64], offsets: &[f64], scores: &mut [f64]) -> usize {
        let (width, classes) = (columns.len(), offsets.len());
        scores.copy_from_slice(&self.prior[r * classes..][..classes]);
        scores.iter_mut().zip(offsets).for_each(|(score, offset)| *score += offset);
        for (c, score) in scores.iter_mut().enumerate().skip(1) {
            *score += sum_of::<4, 2>([&cells[(c - 1) * width..][..width], columns], |[x, w]| x * w);
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

/// Turns scores into exponentials relative to the largest; returns their sum without the largest.
#[inline(always)]
fn exponentials(scores: &mut [f64], best: usize) -> f64 {
    let most = scores[best];
    scores.iter_mut().for_each(|score| *score = exp_of_negative(*score - most));
    scores[best] = 0.0;
    let rest = scores.iter().sum();
    scores[best] = 1.0;
    rest
}

/// The Hessian of the loss in column weights and class offsets together: a square matrix,
/// with zeros above the diagonal.
pub fn hessian(
    rows: CalibrationRows,
    columns: &[f64],
    offsets: &[f64],
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let (n, width, classes) = (rows.labels.len(), columns.len(), offsets.len());
    let row = rows.check(width, classes)?;
    let size = width + classes;
    let square = fault::cells(size, size)?;
    let tasks: Vec<usize> = (0..n).step_by(TASK).collect();
    let parts = run(threads, tasks, |start| {
        vectorised(
            #[inline(always)]
            || {
                let (mut squares, mut sum) = (Squares::new(width), vec![0.0; square]);
                let (mut p, mut mean) = (vec![0.0; classes], vec![0.0; width]);
                for r in start..n.min(start + TASK) {
                    let (cells, w) = (&rows.cells[r * row..(r + 1) * row], rows.weight[r]);
                    let best = rows.score(r, cells, columns, offsets, &mut p);
                    let total = 1.0 + exponentials(&mut p, best);
                    p.iter_mut().for_each(|p| *p /= total);
                    mean.fill(0.0);
                    for (p, x) in p[1..].iter().zip(cells.chunks_exact(width.max(1))) {
                        mean.iter_mut().zip(x).for_each(|(mean, x)| *mean += p * x);
                    }
                    if classes == 2 {
                        squares.add(cells, w * p[0] * p[1]);
                    } else {
                        for (p, x) in p[1..].iter().zip(cells.chunks_exact(width.max(1))) {
                            squares.add(x, w * p);
                        }
                        squares.add(&mean, -w);
                    }
                    for c in 0..classes {
                        let (below, share) = (&mut sum[(width + c) * size..][..width + c + 1], w * p[c]);
                        let (mixed, pairs) = below.split_at_mut(width);
                        if c == 0 {
                            // The cells of the first class are 0: the others are differences from it.
                            mixed.iter_mut().zip(&mean).for_each(|(sum, mean)| *sum -= share * mean);
                        } else {
                            let x = cells[(c - 1) * width..][..width].iter().zip(&mean);
                            mixed.iter_mut().zip(x).for_each(|(sum, (x, mean))| *sum += share * (x - mean));
                        }
                        pairs.iter_mut().zip(&p).for_each(|(sum, q)| *sum -= share * q);
                        pairs[c] += share;
                    }
                }
                squares.finish(size, &mut sum);
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

/// Number of vectors whose squares are added at a time: the sum is read and written once for all of them.
const TOGETHER: usize = 8;
/// Rows of the sum have whole vectors of this many numbers.
const VECTOR: usize = 4;

/// The sum of factor * x x^T over vectors x: on and below the diagonal, and beyond as far as vectors reach.
struct Squares {
    sum: Vec<f64>,
    width: usize,
    /// The width rounded up to whole vectors.
    stride: usize,
    /// Vectors that are not added yet, one after the other, with their factors and their number.
    waiting: Vec<f64>,
    factors: [f64; TOGETHER],
    number: usize,
}

impl Squares {
    fn new(width: usize) -> Self {
        let stride = width.next_multiple_of(VECTOR);
        let (sum, waiting) = (vec![0.0; width * stride], vec![0.0; TOGETHER * stride]);
        Squares { sum, width, stride, waiting, factors: [0.0; TOGETHER], number: 0 }
    }

    #[inline(always)]
    fn add(&mut self, x: &[f64], factor: f64) {
        // A class of probability 0 adds nothing: common where the model is sure.
        if factor == 0.0 {
            return;
        }
        self.waiting[self.number * self.stride..][..self.width].copy_from_slice(x);
        self.factors[self.number] = factor;
        self.number += 1;
        if self.number == TOGETHER {
            self.flush();
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        let stride = self.stride;
        let x: [&[f64]; TOGETHER] = std::array::from_fn(|k| &self.waiting[k * stride..][..stride]);
        for i in 0..self.width {
            let a: [f64; TOGETHER] = std::array::from_fn(|k| self.factors[k] * x[k][i]);
            let end = (i + 1).next_multiple_of(VECTOR);
            let row = &mut self.sum[i * stride..][..end];
            let b: [&[f64]; TOGETHER] = std::array::from_fn(|k| &x[k][..end]);
            for at in (0..end).step_by(VECTOR) {
                let mut total = [0.0; VECTOR];
                for k in 0..TOGETHER {
                    let b = &b[k][at..at + VECTOR];
                    (0..VECTOR).for_each(|j| total[j] += a[k] * b[j]);
                }
                row[at..at + VECTOR].iter_mut().zip(total).for_each(|(sum, total)| *sum += total);
            }
        }
        (self.factors, self.number) = ([0.0; TOGETHER], 0);
    }

    /// Writes the part on and below the diagonal into the leading block of a square matrix.
    #[inline(always)]
    fn finish(mut self, size: usize, into: &mut [f64]) {
        self.flush();
        for i in 0..self.width {
            into[i * size..][..i + 1].copy_from_slice(&self.sum[i * self.stride..][..i + 1]);
        }
    }
}

/// The weighted sum of the log losses of all rows, with its gradients.
pub fn log_loss(
    rows: CalibrationRows,
    columns: &[f64],
    offsets: &[f64],
    threads: usize,
) -> Result<Loss, Fault> {
    let (n, width, classes) = (rows.labels.len(), columns.len(), offsets.len());
    let row = rows.check(width, classes)?;
    let tasks: Vec<usize> = (0..n).step_by(TASK).collect();
    let parts = run(threads, tasks, |start| {
        vectorised(
            #[inline(always)]
            || {
                let mut sum = Loss::none(width, classes);
                let mut scores = vec![0.0; classes];
                for r in start..n.min(start + TASK) {
                    let cells = &rows.cells[r * row..(r + 1) * row];
                    add_row(rows, r, cells, columns, offsets, &mut scores, &mut sum);
                }
                sum
            },
        )
    });
    let mut sum = Loss::none(width, classes);
    parts.iter().for_each(|part| sum.add(part));
    Ok(sum)
}

/// The log loss of every row under several vectors of column weights followed by class offsets: vectors x rows.
///
/// All vectors are used while the cells of a row are in cache.
pub fn row_losses(rows: CalibrationRows, parameters: &[&[f64]], threads: usize) -> Result<Vec<f64>, Fault> {
    let n = rows.labels.len();
    let classes = rows.prior.len().checked_div(n).unwrap_or(0);
    let Some(width) = parameters.first().and_then(|first| first.len().checked_sub(classes)) else {
        return Err(Fault::shape("there are no parameters, or fewer than classes"));
    };
    let row = if n == 0 { 0 } else { rows.check(width, classes)? };
    if parameters.iter().any(|one| one.len() != width + classes) {
        return Err(Fault::shape("the parameters have different lengths"));
    }
    let tasks: Vec<usize> = (0..n).step_by(TASK).collect();
    let parts = run(threads, tasks, |start| {
        vectorised(
            #[inline(always)]
            || {
                let some = start..n.min(start + TASK);
                let (mut losses, mut scores) = (vec![0.0; parameters.len() * some.len()], vec![0.0; classes]);
                for r in some.clone() {
                    let (cells, y) = (&rows.cells[r * row..(r + 1) * row], rows.labels[r] as usize);
                    for (k, one) in parameters.iter().enumerate() {
                        let best = rows.score(r, cells, &one[..width], &one[width..], &mut scores);
                        let ahead = scores[best] - scores[y];
                        losses[k * some.len() + r - start] = exponentials(&mut scores, best).ln_1p() + ahead;
                    }
                }
                losses
            },
        )
    });
    let mut losses = Vec::with_capacity(fault::cells(parameters.len(), n)?);
    for k in 0..parameters.len() {
        for part in &parts {
            let each = part.len() / parameters.len();
            losses.extend_from_slice(&part[k * each..][..each]);
        }
    }
    Ok(losses)
}

#[inline(always)]
fn add_row(
    rows: CalibrationRows,
    r: usize,
    cells: &[f64],
    columns: &[f64],
    offsets: &[f64],
    scores: &mut [f64],
    sum: &mut Loss,
) {
    let (width, y, w) = (columns.len(), rows.labels[r] as usize, rows.weight[r]);
    let best = rows.score(r, cells, columns, offsets, scores);
    let ahead = scores[best] - scores[y];
    // The largest exponential, 1, is left out of the sum, so that small ones keep their digits.
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
        let rows = CalibrationRows { cells: &cells, prior: &prior, labels: &labels, weight: &weight };
        let (w, d) = ([0.5, 1.0, 0.0, 0.25, 2.0], [0.1, -0.2, 0.0]);
        let found = log_loss(rows, &w, &d, 1).unwrap();
        assert_eq!(found, log_loss(rows, &w, &d, 3).unwrap());
        let step = 1e-6;
        for j in 0..width {
            let mut moved = w;
            moved[j] += step;
            let slope = (log_loss(rows, &moved, &d, 1).unwrap().value - found.value) / step;
            assert!((slope - found.columns[j]).abs() < 1e-3 * found.value);
        }
        let (all, zeros) = ([&w[..], &d[..]].concat(), [0.0; 8]);
        let losses = row_losses(rows, &[&zeros, &all], 1).unwrap();
        assert_eq!(losses, row_losses(rows, &[&zeros, &all], 3).unwrap());
        let total: f64 = losses[n..].iter().zip(&weight).map(|(loss, weight)| loss * weight).sum();
        assert!((total - found.value).abs() < 1e-12 * found.value);
        assert!(row_losses(rows, &[], 1).is_err() && row_losses(rows, &[&all, &w], 1).is_err());
        let hessian_ = hessian(rows, &w, &d, 1).unwrap();
        assert_eq!(hessian_, hessian(rows, &w, &d, 3).unwrap());
        let mut moved = w;
        moved[1] += step;
        let slopes = log_loss(rows, &moved, &d, 1).unwrap();
        let size = width + classes;
        assert!(
            ((slopes.columns[3] - found.columns[3]) / step - hessian_[3 * size + 1]).abs()
                < 1e-3 * found.value
        );
        assert!(
            ((slopes.classes[2] - found.classes[2]) / step - hessian_[(width + 2) * size + 1]).abs()
                < 1e-3 * found.value
        );
        for c in 0..classes {
            let mut moved = d;
            moved[c] += step;
            let slope = (log_loss(rows, &w, &moved, 1).unwrap().value - found.value) / step;
            assert!((slope - found.classes[c]).abs() < 1e-3 * found.value);
        }
    }

    #[test]
    fn hessians_of_two_classes_are_the_changes_of_the_slopes() {
        let (n, width, step) = (300, 11, 1e-6);
        let cells: Vec<f64> = (0..n * width).map(|k| ((k * 53 % 97) as f64 - 48.0) / 50.0).collect();
        let (prior, weight) = (vec![0.0; n * 2], vec![1.0; n]);
        let labels: Vec<i32> = (0..n).map(|k| (k % 2) as i32).collect();
        let rows = CalibrationRows { cells: &cells, prior: &prior, labels: &labels, weight: &weight };
        let (w, d) = (vec![0.3; width], [0.1, -0.1]);
        let (found, size) = (hessian(rows, &w, &d, 2).unwrap(), width + 2);
        for j in 0..width {
            let slopes = [-step, step].map(|step| {
                let mut moved = w.clone();
                moved[j] += step;
                log_loss(rows, &moved, &d, 1).unwrap()
            });
            for i in j..width {
                let change = (slopes[1].columns[i] - slopes[0].columns[i]) / (2.0 * step);
                assert!((change - found[i * size + j]).abs() < 1e-5);
            }
        }
    }
}
