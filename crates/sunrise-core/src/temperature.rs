//! The log loss of rows under a temperature, exponents of the row lengths and class offsets, with its derivatives.
//!
//! The score of a row for class c is its prior + the offset of c + the sum over blocks of t (length + 1)^g x its score
//! of the block. Rows are the inner dimension of all arrays: the processor computes the same step for several rows at
//! a time, and few classes do not leave its vectors half empty.

use crate::fault::{self, Fault};
use crate::lanes::{sum_of, LANES};
use crate::logarithm::ln_1p;
use crate::loss::probable;
use crate::normalise::exp_of_negative;
use crate::parallel::{blocks, run};
use crate::vectorised;
use std::ops::Range;

/// The rows that a temperature is fitted to.
#[derive(Clone, Copy, Debug)]
pub struct TemperatureRows<'a> {
    /// Scores of blocks of columns minus those of the first class, each (classes - 1) x rows; blocks with a length last.
    pub blocks: &'a [&'a [f64]],
    /// Log of (length + 1) for the blocks that have one: blocks x rows.
    pub lengths: &'a [f64],
    /// Log prior of every class and row, classes x rows.
    pub prior: &'a [f64],
    /// The class of every row.
    pub labels: &'a [i32],
    /// The weight of every row.
    pub weight: &'a [f64],
}

/// Parameters: the log of the temperature at length 0, the exponents of the lengths, and the offsets of the classes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Parameters<'a> {
    pub log_t: f64,
    pub exponents: &'a [f64],
    pub offsets: &'a [f64],
}

/// The log loss, and its derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Slopes {
    #[allow(missing_docs)]
    pub value: f64,
    /// By the log of the temperature, by each exponent, and the parts of the second derivatives by each exponent that
    /// are due to the second derivatives of the scores.
    pub scale: Vec<f64>,
    /// By the offsets of the classes.
    pub classes: Vec<f64>,
}

/// Rows that are scored together: their scores for some classes stay in the first-level cache.
const TOGETHER: usize = 64;

/// Rows of a task.
const TASK: usize = 512;

/// Scores that keep a thread busy for longer than it takes to start one.
const WORTH_A_THREAD: usize = 1 << 15;

impl TemperatureRows<'_> {
    fn n(&self) -> usize {
        self.labels.len()
    }

    fn check(&self, at: Parameters) -> Result<(), Fault> {
        let (n, classes) = (self.n(), at.offsets.len());
        let of_block = fault::cells(n, classes.saturating_sub(1))?;
        let fits = classes > 0
            && at.exponents.len() <= self.blocks.len()
            && self.blocks.iter().all(|block| block.len() == of_block)
            && self.lengths.len() == fault::cells(n, at.exponents.len())?
            && self.prior.len() == fault::cells(n, classes)?
            && self.weight.len() == n
            && self.labels.iter().all(|&y| y >= 0 && (y as usize) < classes);
        if fits {
            Ok(())
        } else {
            Err(Fault::shape("the scores, lengths, priors, labels and weights do not fit together"))
        }
    }

    /// Runs `work` on the rows of every task.
    fn tasks<R: Send>(
        &self,
        at: Parameters,
        threads: usize,
        work: impl Fn(Range<usize>) -> R + Sync,
    ) -> Vec<R> {
        let n = self.n();
        let most = (n * at.offsets.len() / WORTH_A_THREAD).max(1);
        run(threads.min(most), blocks(0..n, TASK).collect(), work)
    }

    /// The scores of a block for a class after the first.
    #[inline(always)]
    fn block(&self, b: usize, c: usize, some: &Range<usize>) -> &[f64] {
        &self.blocks[b][(c - 1) * self.n()..][some.clone()]
    }

    /// The log lengths of a block; none for blocks without lengths.
    #[inline(always)]
    fn length(&self, b: usize, at: Parameters, some: &Range<usize>) -> Option<&[f64]> {
        let k = b.checked_sub(self.blocks.len() - at.exponents.len())?;
        Some(&self.lengths[k * self.n()..][some.clone()])
    }
}

/// e^x, in operations that vectors have.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let small = exp_of_negative(-x.abs());
    if x > 0.0 {
        1.0 / small
    } else {
        small
    }
}

/// Some rows: their factors and probabilities. All rows of the arrays have `TOGETHER` elements.
struct Chunk {
    /// t (length + 1)^g, blocks x rows.
    factors: Vec<f64>,
    /// Scores, and then their exponentials relative to the largest of the row, classes x rows.
    scores: Vec<f64>,
    top: [f64; TOGETHER],
    /// The first class of the largest score, as a number that vectors can select.
    best: [f64; TOGETHER],
    /// The sum of the exponentials without the largest, 1, so that small ones keep their digits.
    rest: [f64; TOGETHER],
}

impl Chunk {
    fn new(blocks: usize, classes: usize) -> Self {
        Chunk {
            factors: vec![0.0; blocks * TOGETHER],
            scores: vec![0.0; classes * TOGETHER],
            top: [0.0; TOGETHER],
            best: [0.0; TOGETHER],
            rest: [0.0; TOGETHER],
        }
    }

    /// Computes the factors, the scores, and the largest score of each row.
    #[inline(always)]
    fn score(&mut self, rows: &TemperatureRows, at: Parameters, some: &Range<usize>) {
        let n = some.len();
        for (b, factors) in self.factors.chunks_exact_mut(TOGETHER).enumerate() {
            match rows.length(b, at, some) {
                None => factors.fill(at.log_t.exp()),
                Some(lengths) => {
                    let g = at.exponents[b + at.exponents.len() - rows.blocks.len()];
                    let pairs = factors.iter_mut().zip(lengths);
                    pairs.for_each(|(factor, length)| *factor = exp(at.log_t + g * length));
                }
            }
        }
        self.top[..n].fill(f64::NEG_INFINITY);
        self.best[..n].fill(0.0);
        for (c, scores) in self.scores.chunks_exact_mut(TOGETHER).enumerate() {
            let (scores, offset) = (&mut scores[..n], at.offsets[c]);
            let prior = &rows.prior[c * rows.n()..][some.clone()];
            scores.iter_mut().zip(prior).for_each(|(score, prior)| *score = prior + offset);
            if c > 0 {
                for (b, factors) in self.factors.chunks_exact(TOGETHER).enumerate() {
                    let cells = factors.iter().zip(rows.block(b, c, some));
                    scores.iter_mut().zip(cells).for_each(|(score, (f, x))| *score += f * x);
                }
            }
            let tops = self.top.iter_mut().zip(&mut self.best);
            for (score, (top, best)) in scores.iter().zip(tops) {
                let is_better = *score > *top;
                *top = if is_better { *score } else { *top };
                *best = if is_better { c as f64 } else { *best };
            }
        }
    }

    /// Turns the scores into exponentials.
    #[inline(always)]
    fn exponentiate(&mut self, n: usize) {
        self.rest[..n].fill(0.0);
        for (c, scores) in self.scores.chunks_exact_mut(TOGETHER).enumerate() {
            let scores = &mut scores[..n];
            scores.iter_mut().zip(&self.top).for_each(|(x, top)| *x = probable(exp_of_negative(*x - top)));
            let others = scores.iter().zip(&self.best).zip(&mut self.rest);
            others.for_each(|((x, best), rest)| *rest += if *best == c as f64 { 0.0 } else { *x });
        }
    }
}

/// The weighted sum of the log losses of all rows, with its derivatives.
pub fn loss(rows: TemperatureRows, at: Parameters, threads: usize) -> Result<Slopes, Fault> {
    rows.check(at)?;
    let (joint, classes) = (at.exponents.len(), at.offsets.len());
    let none = || Slopes { value: 0.0, scale: vec![0.0; 1 + 2 * joint], classes: vec![0.0; classes] };
    let parts = rows.tasks(at, threads, |task| {
        vectorised(
            #[inline(always)]
            || {
                let (mut sum, mut chunk) = (none(), Chunk::new(rows.blocks.len(), classes));
                for some in blocks(task, TOGETHER) {
                    add_slopes(&rows, at, &some, &mut chunk, &mut sum);
                }
                sum
            },
        )
    });
    let mut sum = none();
    for part in &parts {
        sum.value += part.value;
        sum.scale.iter_mut().zip(&part.scale).for_each(|(sum, x)| *sum += x);
        sum.classes.iter_mut().zip(&part.classes).for_each(|(sum, x)| *sum += x);
    }
    Ok(sum)
}

#[inline(always)]
fn add_slopes(
    rows: &TemperatureRows,
    at: Parameters,
    some: &Range<usize>,
    chunk: &mut Chunk,
    sum: &mut Slopes,
) {
    let (n, joint) = (some.len(), at.exponents.len());
    let (labels, weight) = (&rows.labels[some.clone()], &rows.weight[some.clone()]);
    chunk.score(rows, at, some);
    let mut losses = [0.0; TOGETHER];
    for (r, y) in labels.iter().enumerate() {
        losses[r] = chunk.top[r] - chunk.scores[*y as usize * TOGETHER + r];
    }
    chunk.exponentiate(n);
    let mut shares = [0.0; TOGETHER];
    for (r, w) in weight.iter().enumerate() {
        losses[r] += ln_1p(chunk.rest[r]);
        shares[r] = w / (1.0 + chunk.rest[r]);
    }
    sum.value += sum_of::<LANES, 2>([weight, &losses[..n]], |[w, x]| w * x);
    for slopes in chunk.scores.chunks_exact_mut(TOGETHER) {
        slopes.iter_mut().zip(&shares).for_each(|(slope, share)| *slope *= share);
    }
    for (r, (y, w)) in labels.iter().zip(weight).enumerate() {
        chunk.scores[*y as usize * TOGETHER + r] -= w;
    }
    for (slopes, sum) in chunk.scores.chunks_exact(TOGETHER).zip(&mut sum.classes) {
        *sum += sum_of::<LANES, 1>([&slopes[..n]], |[x]| x);
    }
    for (b, factors) in chunk.factors.chunks_exact(TOGETHER).enumerate() {
        let mut by_row = [0.0; TOGETHER];
        for (c, slopes) in chunk.scores.chunks_exact(TOGETHER).enumerate().skip(1) {
            let cells = slopes.iter().zip(rows.block(b, c, some));
            by_row.iter_mut().zip(cells).for_each(|(sum, (slope, x))| *sum += slope * x);
        }
        by_row.iter_mut().zip(factors).for_each(|(sum, factor)| *sum *= factor);
        let by_row = &by_row[..n];
        sum.scale[0] += sum_of::<LANES, 1>([by_row], |[x]| x);
        if let Some(lengths) = rows.length(b, at, some) {
            let k = 1 + b + joint - rows.blocks.len();
            sum.scale[k] += sum_of::<LANES, 2>([by_row, lengths], |[x, l]| x * l);
            sum.scale[k + joint] += sum_of::<LANES, 2>([by_row, lengths], |[x, l]| x * l * l);
        }
    }
}

/// The Gauss-Newton part of the Hessian of the loss in the log of the temperature, the exponents and the offsets.
pub fn curvature(rows: TemperatureRows, at: Parameters, threads: usize) -> Result<Vec<f64>, Fault> {
    rows.check(at)?;
    let (scale, classes) = (1 + at.exponents.len(), at.offsets.len());
    let size = scale + classes;
    let square = fault::cells(size, size)?;
    let parts = rows.tasks(at, threads, |task| {
        vectorised(
            #[inline(always)]
            || {
                let mut sum = vec![0.0; square];
                let mut chunk = Chunk::new(rows.blocks.len(), classes);
                let mut changes = vec![0.0; scale * classes * TOGETHER];
                for some in blocks(task, TOGETHER) {
                    chunk.score(&rows, at, &some);
                    chunk.exponentiate(some.len());
                    find_changes(&rows, at, &some, &chunk, &mut changes);
                    add_curvature(&rows.weight[some], &mut chunk, &mut changes, scale, &mut sum);
                }
                sum
            },
        )
    });
    let mut sum = vec![0.0; square];
    for part in &parts {
        sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    for k in 0..size {
        for l in 0..k {
            sum[l * size + k] = sum[k * size + l];
        }
    }
    Ok(sum)
}

/// Writes the derivatives of the scores by the log of the temperature and by the exponents, each classes x rows.
#[inline(always)]
fn find_changes(
    rows: &TemperatureRows,
    at: Parameters,
    some: &Range<usize>,
    chunk: &Chunk,
    changes: &mut [f64],
) {
    let of_one = chunk.scores.len();
    changes.fill(0.0);
    for (b, factors) in chunk.factors.chunks_exact(TOGETHER).enumerate() {
        let (whole, others) = changes.split_at_mut(of_one);
        for (c, to) in whole.chunks_exact_mut(TOGETHER).enumerate().skip(1) {
            let cells = factors.iter().zip(rows.block(b, c, some));
            to.iter_mut().zip(cells).for_each(|(to, (f, x))| *to += f * x);
        }
        let Some(lengths) = rows.length(b, at, some) else { continue };
        let own = &mut others[(b + at.exponents.len() - rows.blocks.len()) * of_one..][..of_one];
        for (c, to) in own.chunks_exact_mut(TOGETHER).enumerate().skip(1) {
            let cells = factors.iter().zip(lengths).zip(rows.block(b, c, some));
            to.iter_mut().zip(cells).for_each(|(to, ((f, l), x))| *to = f * l * x);
        }
    }
}

/// Adds the curvature of some rows, below the diagonal: the covariance of the derivatives under the probabilities.
#[inline(always)]
fn add_curvature(weight: &[f64], chunk: &mut Chunk, changes: &mut [f64], scale: usize, sum: &mut [f64]) {
    let (n, of_one) = (weight.len(), chunk.scores.len());
    let (classes, size) = (of_one / TOGETHER, scale + of_one / TOGETHER);
    for p in chunk.scores.chunks_exact_mut(TOGETHER) {
        p.iter_mut().zip(&chunk.rest).for_each(|(p, rest)| *p /= 1.0 + rest);
    }
    for change in changes.chunks_exact_mut(of_one) {
        let mut mean = [0.0; TOGETHER];
        for (p, x) in chunk.scores.chunks_exact(TOGETHER).zip(change.chunks_exact(TOGETHER)) {
            mean.iter_mut().zip(p.iter().zip(x)).for_each(|(mean, (p, x))| *mean += p * x);
        }
        for x in change.chunks_exact_mut(TOGETHER) {
            x.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
    }
    let mut weighted = [0.0; TOGETHER];
    for c in 0..classes {
        let p = &chunk.scores[c * TOGETHER..][..n];
        weighted.iter_mut().zip(p.iter().zip(weight)).for_each(|(to, (p, w))| *to = p * w);
        let weighted = &weighted[..n];
        let row = scale + c;
        for k in 0..scale {
            let x = &changes[k * of_one + c * TOGETHER..][..n];
            for l in 0..=k {
                let y = &changes[l * of_one + c * TOGETHER..][..n];
                sum[k * size + l] += sum_of::<LANES, 3>([weighted, x, y], |[w, x, y]| w * x * y);
            }
            sum[row * size + k] += sum_of::<LANES, 2>([weighted, x], |[w, x]| w * x);
        }
        for k in 0..=c {
            let other = &chunk.scores[k * TOGETHER..][..n];
            sum[row * size + scale + k] -= sum_of::<LANES, 2>([weighted, other], |[w, p]| w * p);
        }
        sum[row * size + row] += sum_of::<LANES, 1>([weighted], |[w]| w);
    }
}

/// The first class of the largest score of every row.
pub fn best_classes(rows: TemperatureRows, at: Parameters, threads: usize) -> Result<Vec<i32>, Fault> {
    rows.check(at)?;
    let parts = rows.tasks(at, threads, |task| {
        vectorised(
            #[inline(always)]
            || {
                let mut chunk = Chunk::new(rows.blocks.len(), at.offsets.len());
                let mut found = Vec::with_capacity(task.len());
                for some in blocks(task, TOGETHER) {
                    chunk.score(&rows, at, &some);
                    found.extend(chunk.best[..some.len()].iter().map(|&best| best as i32));
                }
                found
            },
        )
    });
    Ok(parts.concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::{log_loss, CalibrationRows};

    const N: usize = 1300;
    const CLASSES: usize = 5;

    fn moved(v: &[f64], k: usize, step: f64) -> Vec<f64> {
        let mut moved = v.to_vec();
        moved[k] += step;
        moved
    }

    #[test]
    fn derivatives_are_those_of_the_loss_for_any_number_of_threads() {
        let numbers = |step: usize| -> Vec<f64> {
            (0..N * (CLASSES - 1)).map(|k| ((k * step % 101) as f64 - 50.0) / 20.0).collect()
        };
        let (first, second) = (numbers(37), numbers(53));
        let lengths: Vec<f64> = (0..N).map(|r| f64::from(r as u32 % 90).ln_1p()).collect();
        let prior: Vec<f64> = (0..N * CLASSES).map(|k| -((k % 7) as f64) / 9.0).collect();
        let labels: Vec<i32> = (0..N).map(|r| (r * r % CLASSES) as i32).collect();
        let weight: Vec<f64> = (0..N).map(|r| 1.0 + (r % 3) as f64).collect();
        let blocks: [&[f64]; 2] = [&first, &second];
        let (lengths, prior, labels, weight) = (&lengths[..], &prior[..], &labels[..], &weight[..]);
        let rows = TemperatureRows { blocks: &blocks, lengths, prior, labels, weight };
        let v = [-0.4, -0.3, 0.1, -0.2, 0.0, 0.3, 0.5];
        let of = |v: &[f64], threads| {
            loss(rows, Parameters { log_t: v[0], exponents: &v[1..2], offsets: &v[2..] }, threads).unwrap()
        };
        let found = of(&v, 1);
        assert_eq!(found, of(&v, 3));
        // The same loss by another routine, from the scores of every row.
        let cells: Vec<f64> = (0..N * (CLASSES - 1))
            .map(|k| {
                let (r, c) = (k / (CLASSES - 1), k % (CLASSES - 1));
                let factor = (v[0] + v[1] * lengths[r]).exp();
                v[0].exp() * first[c * N + r] + factor * second[c * N + r]
            })
            .collect();
        let across: Vec<f64> = (0..N * CLASSES).map(|k| prior[k % CLASSES * N + k / CLASSES]).collect();
        let by_row = CalibrationRows { cells: &[&cells], prior: &across, labels, weight };
        let expected = log_loss(by_row, &[1.0], &v[2..], 1).unwrap();
        assert!((found.value - expected.value).abs() < 1e-12 * expected.value);
        let slopes = [&found.scale[..2], &found.classes].concat();
        let step = 1e-6;
        for (k, slope) in slopes.iter().enumerate() {
            let change = of(&moved(&v, k, step), 1).value - of(&moved(&v, k, -step), 1).value;
            assert!((change / (2.0 * step) - slope).abs() < 1e-6 * found.value);
        }
        let at = Parameters { log_t: v[0], exponents: &v[1..2], offsets: &v[2..] };
        let hessian = curvature(rows, at, 1).unwrap();
        assert_eq!(hessian, curvature(rows, at, 2).unwrap());
        for k in 0..v.len() {
            let (high, low) = (of(&moved(&v, k, step), 1), of(&moved(&v, k, -step), 1));
            let slopes = |of: Slopes| [&of.scale[..2], &of.classes].concat();
            for (l, (high, low)) in slopes(high).iter().zip(slopes(low)).enumerate() {
                // The scores themselves bend in the temperature and the exponent.
                let bend = match (k, l) {
                    (0, 0) => found.scale[0],
                    (0, 1) | (1, 0) => found.scale[1],
                    (1, 1) => found.scale[2],
                    _ => 0.0,
                };
                let expected = (high - low) / (2.0 * step) - bend;
                assert!((hessian[k * v.len() + l] - expected).abs() < 1e-5 * found.value);
            }
        }
        let best = best_classes(rows, at, 2).unwrap();
        for (r, best) in best.iter().enumerate() {
            let score = |c: usize| {
                let own = if c == 0 { 0.0 } else { cells[r * (CLASSES - 1) + c - 1] };
                prior[c * N + r] + v[2 + c] + own
            };
            assert!((0..CLASSES).all(|c| score(c) <= score(*best as usize) + 1e-12));
        }
    }

    #[test]
    fn shapes_are_checked() {
        let rows = TemperatureRows {
            blocks: &[&[1.0, 2.0]],
            lengths: &[0.5, 0.6],
            prior: &[0.0; 4],
            labels: &[0, 1],
            weight: &[1.0, 1.0],
        };
        let at = Parameters { log_t: 0.0, exponents: &[0.1], offsets: &[0.0, 0.0] };
        assert!(loss(rows, at, 1).is_ok());
        assert!(loss(TemperatureRows { labels: &[0, 2], ..rows }, at, 1).is_err());
        assert!(loss(TemperatureRows { blocks: &[], ..rows }, at, 1).is_err());
        assert!(curvature(TemperatureRows { prior: &[0.0; 3], ..rows }, at, 1).is_err());
        assert!(best_classes(TemperatureRows { weight: &[1.0], ..rows }, at, 1).is_err());
        assert!(loss(rows, Parameters { exponents: &[0.1, 0.1], ..at }, 1).is_err());
        assert!(loss(rows, Parameters { offsets: &[], ..at }, 1).is_err());
    }
}
