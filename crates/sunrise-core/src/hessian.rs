//! The Hessian of the log loss that calibration minimises.

use crate::fault::{self, Fault};
use crate::lanes::sum_of;
use crate::loss::{probable, tasks, CalibrationRows, Part};
use crate::normalise::exp_of_negative;
use crate::parallel::run;
use crate::vectorised;
use pulp::{Arch, Simd, WithSimd};

/// The Hessian of the loss in column weights and class offsets together: a square matrix,
/// with zeros above the diagonal.
///
/// It is that of every row at a multiple of `step`, as if these rows had the weight of all.
pub fn hessian(
    rows: CalibrationRows,
    columns: &[f64],
    offsets: &[f64],
    step: usize,
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let (n, width, classes) = (rows.labels.len(), columns.len(), offsets.len());
    let columns_of = rows.parts(width, classes)?;
    if step == 0 {
        return Err(Fault::shape("the distance between rows is 0"));
    }
    let share = rows.weight.iter().step_by(step).sum::<f64>() / rows.weight.iter().sum::<f64>();
    let size = width + classes;
    let square = fault::cells(size, size)?;
    let parts = run(threads, tasks(n), |rows_of_task| {
        vectorised(
            #[inline(always)]
            || {
                let (mut squares, mut sum) = (Squares::new(width), vec![0.0; square]);
                let (mut p, mut mean) = (vec![0.0; classes], vec![0.0; width]);
                let mut joined = vec![0.0; (classes - 1) * width];
                for r in (rows_of_task.start.next_multiple_of(step)..rows_of_task.end).step_by(step) {
                    let w = rows.weight[r] / share;
                    let cells = join(&columns_of, r, width, classes, &mut joined);
                    let best = rows.score(r, &columns_of, columns, offsets, &mut p);
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
                            // Usual where the model is sure: the class adds less than the penalty by far.
                            if p * sum_of::<4, 1>([x], |[x]| x * x) > NEGLIGIBLE {
                                squares.add(x, w * p);
                            }
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

/// The cells of all parts of a row, (classes - 1) x columns.
#[inline(always)]
fn join<'a>(parts: &[Part<'a>], r: usize, width: usize, classes: usize, joined: &'a mut [f64]) -> &'a [f64] {
    if let [part] = parts {
        return part.lines(r, classes);
    }
    for part in parts.iter().filter(|part| part.width > 0) {
        let lines = part.lines(r, classes).chunks_exact(part.width);
        for (to, line) in joined.chunks_exact_mut(width).zip(lines) {
            to[part.first..][..part.width].copy_from_slice(line);
        }
    }
    joined
}

/// Curvature that a class of a row may have without being added. The penalty of n rows has a curvature of 2 / n.
const NEGLIGIBLE: f64 = 1e-8;

/// Number of vectors whose squares are added at a time: the sum is read and written once for all of them.
const TOGETHER: usize = 8;
/// Rows of the sum have whole vectors of this many numbers.
const VECTOR: usize = 8;

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
        self.waiting[self.number * self.stride..][..self.width].copy_from_slice(x);
        self.factors[self.number] = factor;
        self.number += 1;
        if self.number == TOGETHER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        Arch::new().dispatch(&mut *self);
        (self.factors, self.number) = ([0.0; TOGETHER], 0);
    }

    /// Writes the part on and below the diagonal into the leading block of a square matrix.
    fn finish(mut self, size: usize, into: &mut [f64]) {
        self.flush();
        for i in 0..self.width {
            into[i * size..][..i + 1].copy_from_slice(&self.sum[i * self.stride..][..i + 1]);
        }
    }
}

impl WithSimd for &mut Squares {
    type Output = ();

    /// Adds the squares of the waiting vectors.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (stride, lanes) = (self.stride, self.stride / S::F64_LANES);
        let (x, _) = S::as_simd_f64s(&self.waiting);
        let (sum, _) = S::as_mut_simd_f64s(&mut self.sum);
        for i in 0..self.width {
            let mut a = [simd.splat_f64s(0.0); TOGETHER];
            for (k, a) in a.iter_mut().enumerate() {
                *a = simd.splat_f64s(self.factors[k] * self.waiting[k * stride + i]);
            }
            let end = (i + 1).next_multiple_of(VECTOR) / S::F64_LANES;
            let row = &mut sum[i * lanes..][..end];
            let mut b = [&x[..end]; TOGETHER];
            for (k, b) in b.iter_mut().enumerate() {
                *b = &x[k * lanes..][..end];
            }
            for (at, sum) in row.iter_mut().enumerate() {
                // Two chains of additions, so that the processor need not wait for the last one.
                let mut totals = [*sum, simd.splat_f64s(0.0)];
                for k in 0..TOGETHER {
                    totals[k % 2] = simd.mul_add_e_f64s(a[k], b[k][at], totals[k % 2]);
                }
                *sum = simd.add_f64s(totals[0], totals[1]);
            }
        }
    }
}

/// Turns scores into exponentials relative to the largest; returns their sum without the largest.
#[inline(always)]
fn exponentials(scores: &mut [f64], best: usize) -> f64 {
    let most = scores[best];
    scores.iter_mut().for_each(|score| *score = probable(exp_of_negative(*score - most)));
    scores[best] = 0.0;
    let rest = scores.iter().sum();
    scores[best] = 1.0;
    rest
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::log_loss;

    #[test]
    fn hessians_of_two_classes_are_the_changes_of_the_slopes() {
        let (n, width, step) = (300, 11, 1e-6);
        let cells: Vec<f64> = (0..n * width).map(|k| ((k * 53 % 97) as f64 - 48.0) / 50.0).collect();
        let (prior, weight) = (vec![0.0; n * 2], vec![1.0; n]);
        let labels: Vec<i32> = (0..n).map(|k| (k % 2) as i32).collect();
        let rows = CalibrationRows { cells: &[&cells], prior: &prior, labels: &labels, weight: &weight };
        let (w, d) = (vec![0.3; width], [0.1, -0.1]);
        let (found, size) = (hessian(rows, &w, &d, 1, 2).unwrap(), width + 2);
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
