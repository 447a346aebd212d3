//! The log loss that calibration minimises, with its gradient; the Hessian is in `hessian.rs`.

use crate::fault::{self, Fault};
use crate::lanes::sum_of;
use crate::logarithm::ln_1p;
use crate::normalise::exp_of_negative;
use crate::parallel::{blocks, pieces, run};
use crate::vectorised;
use std::ops::Range;

/// The rows of a calibration.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationRows<'a> {
    /// Scores of columns minus those of the first class. Each part has rows x (classes - 1) x columns of its own.
    pub cells: &'a [&'a [f64]],
    /// Log prior of every row and class, rows x classes.
    pub prior: &'a [f64],
    /// The class of every row.
    pub labels: &'a [i32],
    /// The weight of every row.
    pub weight: &'a [f64],
}

/// Columns whose cells are in one array, and the first of them among the columns of all arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    cells: &'a [f64],
    pub(crate) first: usize,
    pub(crate) width: usize,
}

impl<'a> Part<'a> {
    /// The cells of the classes of a row, after the first class.
    #[inline(always)]
    pub(crate) fn lines(&self, r: usize, classes: usize) -> &'a [f64] {
        let row = (classes - 1) * self.width;
        &self.cells[r * row..][..row]
    }

    /// The numbers of the columns of this part.
    #[inline(always)]
    fn of<'b>(&self, numbers: &'b [f64]) -> &'b [f64] {
        &numbers[self.first..][..self.width]
    }
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

/// Cuts rows into tasks that threads can share evenly.
pub(crate) fn tasks(n: usize) -> Vec<Range<usize>> {
    pieces(n, 512, 64)
}

impl<'a> CalibrationRows<'a> {
    /// The parts of the columns, after checking all shapes.
    pub(crate) fn parts(&self, columns: usize, classes: usize) -> Result<Vec<Part<'a>>, Fault> {
        let n = self.labels.len();
        let lines = fault::cells(n, classes.saturating_sub(1))?;
        let mut parts = Vec::new();
        let mut first = 0;
        for &cells in self.cells {
            // Without rows or other classes, nobody can tell the columns of a part, and nobody needs to.
            let width = cells.len().checked_div(lines).unwrap_or(columns - first.min(columns));
            parts.push(Part { cells, first, width });
            first += width;
        }
        let fits = classes > 0
            && first == columns
            && parts.iter().all(|part| part.cells.len() == lines * part.width)
            && self.prior.len() == fault::cells(n, classes)?
            && self.weight.len() == n
            && self.labels.iter().all(|&y| y >= 0 && (y as usize) < classes);
        if fits {
            Ok(parts)
        } else {
            Err(Fault::shape("the cells, priors, labels and weights do not fit together"))
        }
    }

    /// Computes the scores of a row; returns the class of the largest.
    #[inline(always)]
    pub(crate) fn score(
        &self,
        r: usize,
        parts: &[Part],
        columns: &[f64],
        offsets: &[f64],
        scores: &mut [f64],
    ) -> usize {
        let classes = offsets.len();
        scores.copy_from_slice(&self.prior[r * classes..][..classes]);
        scores.iter_mut().zip(offsets).for_each(|(score, offset)| *score += offset);
        add_cells(r, parts, columns, scores);
        let mut best = 0;
        for c in 1..classes {
            if scores[c] > scores[best] {
                best = c;
            }
        }
        best
    }
}

/// Adds the weighted cells of a row to its scores.
#[inline(always)]
fn add_cells(r: usize, parts: &[Part], columns: &[f64], scores: &mut [f64]) {
    for part in parts.iter().filter(|part| part.width > 0) {
        let (lines, weights) = (part.lines(r, scores.len()).chunks_exact(part.width), part.of(columns));
        for (score, line) in scores[1..].iter_mut().zip(lines) {
            *score += sum_of::<4, 2>([line, weights], |[x, w]| x * w);
        }
    }
}

/// Cells of the rows that are scored together, which stay in cache, and the number of such rows.
const TOGETHER_CELLS: usize = 1 << 13;
const FEWEST_ROWS: usize = 4;
const MOST_ROWS: usize = 64;

/// Number of rows that are scored together: an exponential waits for its own steps, unless others are beside it.
fn rows_together(row: usize) -> usize {
    (TOGETHER_CELLS / row.max(1)).clamp(FEWEST_ROWS, MOST_ROWS)
}

/// Scores of some rows, as exponentials relative to the largest of the row.
struct Scores {
    exponentials: Vec<f64>,
    best: [usize; MOST_ROWS],
    /// The sum of the exponentials of a row without the largest, 1, so that small ones keep their digits.
    rest: [f64; MOST_ROWS],
    /// How far the score of the class of a row is below the largest.
    ahead: [f64; MOST_ROWS],
}

impl Scores {
    fn new(classes: usize) -> Self {
        let exponentials = vec![0.0; MOST_ROWS * classes];
        Scores { exponentials, best: [0; MOST_ROWS], rest: [0.0; MOST_ROWS], ahead: [0.0; MOST_ROWS] }
    }

    #[inline(always)]
    fn compute(
        &mut self,
        rows: CalibrationRows,
        parts: &[Part],
        some: Range<usize>,
        columns: &[f64],
        offsets: &[f64],
    ) {
        let classes = offsets.len();
        let scores = &mut self.exponentials[..some.len() * classes];
        for (k, (r, scores)) in some.zip(scores.chunks_exact_mut(classes)).enumerate() {
            let best = rows.score(r, parts, columns, offsets, scores);
            let most = scores[best];
            (self.best[k], self.ahead[k]) = (best, most - scores[rows.labels[r] as usize]);
            scores.iter_mut().for_each(|score| *score -= most);
        }
        scores.iter_mut().for_each(|score| *score = probable(exp_of_negative(*score)));
        for (k, scores) in scores.chunks_exact_mut(classes).enumerate() {
            scores[self.best[k]] = 0.0;
            self.rest[k] = scores.iter().sum();
            scores[self.best[k]] = 1.0;
        }
    }

    /// The weighted loss of every row, and its weight divided by the sum of its exponentials.
    #[inline(always)]
    fn losses_and_shares(&self, weight: &[f64]) -> ([f64; MOST_ROWS], [f64; MOST_ROWS]) {
        let (mut losses, mut shares) = ([0.0; MOST_ROWS], [0.0; MOST_ROWS]);
        for (k, w) in weight.iter().enumerate() {
            losses[k] = w * (ln_1p(self.rest[k]) + self.ahead[k]);
            shares[k] = w / (1.0 + self.rest[k]);
        }
        (losses, shares)
    }
}

/// A probability, or 0 if it is tiny: processors multiply subnormal numbers a hundred times slower.
#[inline(always)]
pub(crate) fn probable(p: f64) -> f64 {
    if p > 1e-280 {
        p
    } else {
        0.0
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
    let columns_of = rows.parts(width, classes)?;
    let parts = run(threads, tasks(n), |all| {
        vectorised(
            #[inline(always)]
            || {
                let (mut sum, mut scores) = (Loss::none(width, classes), Scores::new(classes));
                for some in blocks(all, rows_together((classes - 1) * width)) {
                    scores.compute(rows, &columns_of, some.clone(), columns, offsets);
                    let (losses, shares) = scores.losses_and_shares(&rows.weight[some.clone()]);
                    for (k, r) in some.enumerate() {
                        let (y, w) = (rows.labels[r] as usize, rows.weight[r]);
                        sum.value += losses[k];
                        let slopes = &mut scores.exponentials[k * classes..][..classes];
                        slopes.iter_mut().for_each(|slope| *slope *= shares[k]);
                        slopes[y] -= w;
                        sum.classes.iter_mut().zip(&*slopes).for_each(|(sum, slope)| *sum += slope);
                        for part in columns_of.iter().filter(|part| part.width > 0) {
                            let sums = &mut sum.columns[part.first..][..part.width];
                            let lines = part.lines(r, classes).chunks_exact(part.width);
                            for (slope, line) in slopes[1..].iter().zip(lines) {
                                sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += slope * x);
                            }
                        }
                    }
                }
                sum
            },
        )
    });
    let mut sum = Loss::none(width, classes);
    parts.iter().for_each(|part| sum.add(part));
    Ok(sum)
}

/// Rows whose scores are one task.
const ROWS: usize = 512;

/// The scores of all rows: class offsets plus weighted cells, without the prior, rows x classes.
pub fn scores(
    rows: CalibrationRows,
    columns: &[f64],
    offsets: &[f64],
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let (n, width, classes) = (rows.labels.len(), columns.len(), offsets.len());
    let columns_of = rows.parts(width, classes)?;
    let mut scores = vec![0.0; fault::cells(n, classes)?];
    let tasks: Vec<(usize, &mut [f64])> = scores.chunks_mut(ROWS * classes).enumerate().collect();
    run(threads, tasks, |(k, scores)| {
        vectorised(
            #[inline(always)]
            || {
                for (r, scores) in scores.chunks_exact_mut(classes).enumerate() {
                    scores.copy_from_slice(offsets);
                    add_cells(k * ROWS + r, &columns_of, columns, scores);
                }
            },
        );
    });
    Ok(scores)
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
    let columns_of = if n == 0 { vec![] } else { rows.parts(width, classes)? };
    if parameters.iter().any(|one| one.len() != width + classes) {
        return Err(Fault::shape("the parameters have different lengths"));
    }
    let parts = run(threads, tasks(n), |all| {
        vectorised(
            #[inline(always)]
            || {
                let (mut losses, mut scores) =
                    (vec![0.0; parameters.len() * all.len()], Scores::new(classes));
                for some in blocks(all.clone(), rows_together(classes.saturating_sub(1) * width)) {
                    for (k, one) in parameters.iter().enumerate() {
                        scores.compute(rows, &columns_of, some.clone(), &one[..width], &one[width..]);
                        let to = &mut losses[k * all.len() + some.start - all.start..][..some.len()];
                        for (to, (rest, ahead)) in to.iter_mut().zip(scores.rest.iter().zip(&scores.ahead)) {
                            *to = ln_1p(*rest) + ahead;
                        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::hessian::hessian;

    #[test]
    fn slopes_are_those_of_the_loss_for_any_number_of_threads() {
        let (n, width, classes) = (5000, 5, 3);
        let cells: Vec<f64> = (0..n * 2 * width).map(|k| ((k * 37 % 101) as f64 - 50.0) / 40.0).collect();
        let prior: Vec<f64> = (0..n * classes).map(|k| -((k % 7) as f64) / 9.0).collect();
        let labels: Vec<i32> = (0..n).map(|k| (k % classes) as i32).collect();
        let weight: Vec<f64> = (0..n).map(|k| 1.0 + (k % 3) as f64).collect();
        let rows = CalibrationRows { cells: &[&cells], prior: &prior, labels: &labels, weight: &weight };
        let (w, d) = ([0.5, 1.0, 0.0, 0.25, 2.0], [0.1, -0.2, 0.0]);
        let found = log_loss(rows, &w, &d, 1).unwrap();
        assert_eq!(found, log_loss(rows, &w, &d, 3).unwrap());
        let take = |from: usize, to: usize| -> Vec<f64> {
            cells.chunks_exact(width).flat_map(|line| line[from..to].iter().copied()).collect()
        };
        let (one, two) = (take(0, 2), take(2, width));
        let apart = CalibrationRows { cells: &[&one, &two], ..rows };
        let other = log_loss(apart, &w, &d, 1).unwrap();
        assert!((other.value - found.value).abs() < 1e-9 * found.value);
        assert!(other.columns.iter().zip(&found.columns).all(|(a, b)| (a - b).abs() < 1e-9 * found.value));
        let (whole, joint) = (hessian(rows, &w, &d, 1, 1).unwrap(), hessian(apart, &w, &d, 1, 1).unwrap());
        assert!(whole.iter().zip(&joint).all(|(a, b)| (a - b).abs() < 1e-9 * found.value));
        assert!(log_loss(CalibrationRows { cells: &[&one], ..rows }, &w, &d, 1).is_err());
        let all = scores(apart, &w, &d, 2).unwrap();
        let line = &cells[3 * 2 * width + width..][..width];
        let truth = d[2] + line.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>();
        assert!((all[3 * classes + 2] - truth).abs() < 1e-12 && all[3 * classes] == d[0]);
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
        let hessian_ = hessian(rows, &w, &d, 1, 1).unwrap();
        assert_eq!(hessian_, hessian(rows, &w, &d, 1, 3).unwrap());
        let of_few = hessian(rows, &w, &d, 3, 2).unwrap();
        assert_eq!(of_few, hessian(rows, &w, &d, 3, 1).unwrap());
        assert!(of_few.iter().zip(&hessian_).all(|(few, all)| (few - all).abs() < 0.1 * found.value));
        assert!(hessian(rows, &w, &d, 0, 1).is_err());
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
}
