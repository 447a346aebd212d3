//! A weight of every word for every class, on top of given scores: penalised logistic regression by L-BFGS.
//!
//! The loss is the sum over documents of -w log softmax(offset + Z v)[y], plus (penalty / 2) |v|^2. Two classes have one
//! column, the score of the second class against the first. Every gradient is a sum of documents, so the search keeps
//! all weights as v = Z' a, a coefficient of every document and class: there are fewer documents than words. A step
//! needs one product with Z' and one with Z; everything else is linear in vectors of documents.

mod counts;
mod history;

use std::borrow::Cow;

use crate::fault::{afford, cells, Fault};
use crate::in_fours;
use crate::normalise::exp_of_negative;
use crate::parallel::{pieces, run, with_threads};
use counts::{cut, Counts, LANES, PIECES};
use history::{combined, dots, History, Span};

/// Documents, the scores that they have already, and their classes.
#[derive(Clone, Copy, Debug)]
pub struct WordRows<'a> {
    #[allow(missing_docs)]
    pub indptr: &'a [i64],
    #[allow(missing_docs)]
    pub indices: &'a [i32],
    #[allow(missing_docs)]
    pub data: &'a [f32],
    /// Documents x classes; the class prior is part of them.
    pub offsets: &'a [f64],
    /// Class and weight of every document.
    pub y: &'a [i32],
    #[allow(missing_docs)]
    pub weight: &'a [f64],
    #[allow(missing_docs)]
    pub classes: usize,
    #[allow(missing_docs)]
    pub words: usize,
}

/// How a search ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Factor of half the squared weights.
    pub penalty: f64,
    /// Share of the loss without weights that a step must gain.
    pub tolerance: f64,
    /// Most steps.
    pub steps: usize,
}

/// Step sizes that are tried at the most, and the share of the first slope that ends the search for a step size.
const TRIES: usize = 8;
const FLAT: f64 = 0.2;

/// Loss, slope and curvature along a direction.
#[derive(Clone, Copy, Debug, Default)]
struct Along {
    loss: f64,
    slope: f64,
    bend: f64,
}

struct Problem<'a> {
    rows: WordRows<'a>,
    by_row: Counts<'a>,
    by_word: Counts<'a>,
    /// Columns of the weights: 1 for two classes; and the length of a row of weights or scores, in whole vectors.
    width: usize,
    stride: usize,
    threads: usize,
}

impl<'a> Problem<'a> {
    fn new(rows: WordRows<'a>, threads: usize) -> Result<Self, Fault> {
        let n = rows.y.len();
        let broken =
            || Fault::shape("the documents do not have the shapes of their words, scores and classes");
        let ends = rows.indptr.windows(2).all(|p| 0 <= p[0] && p[0] <= p[1]);
        let last = rows.indptr.last().map_or(usize::MAX, |&end| end as usize);
        if !ends || rows.indptr.len() != n + 1 || last > rows.indices.len() || last > rows.data.len() {
            return Err(broken());
        }
        let known = rows.indices.iter().all(|&j| j >= 0 && (j as usize) < rows.words);
        let labelled = rows.y.iter().all(|&c| c >= 0 && (c as usize) < rows.classes);
        if !known || !labelled || rows.classes < 2 || rows.weight.len() != n || n > i32::MAX as usize {
            return Err(broken());
        }
        if rows.offsets.len() != cells(n, rows.classes)? || rows.offsets.iter().any(|x| !x.is_finite()) {
            return Err(broken());
        }
        let width = if rows.classes == 2 { 1 } else { rows.classes };
        let stride = if width == 1 { 1 } else { width.div_ceil(LANES) * LANES };
        afford(rows.words + n, stride)?;
        let starts: Vec<usize> = rows.indptr.iter().map(|&p| p as usize).collect();
        let by_row = Counts::new(starts, Cow::Borrowed(rows.indices), Cow::Borrowed(rows.data));
        let by_word = by_row.transposed(rows.words, threads);
        Ok(Problem { rows, by_row, by_word, width, stride, threads })
    }

    /// Writes the weights Z' a, words x stride, and returns the scores that they give the documents, documents x stride.
    ///
    /// Every step needs other weights. In the same memory they take the system no time for new pages.
    fn scores_of(&self, a: &[f32], weights: &mut [f32]) -> Vec<f32> {
        self.by_word.times(a, self.stride, weights, self.threads);
        let mut scores = vec![0.0; a.len()];
        self.by_row.times(weights, self.stride, &mut scores, self.threads);
        scores
    }

    /// The loss at scores + step * direction, without the penalty; with `residual`, also its gradient by the scores.
    fn along(&self, scores: &[f32], direction: &[f32], step: f64, residual: Option<&mut [f32]>) -> Along {
        let (n, width) = (self.rows.y.len(), self.stride);
        let wanted = residual.is_some();
        let pieces = pieces(n, 64, PIECES);
        let tasks = match residual {
            Some(all) => cut(all, &pieces, width),
            None => pieces.into_iter().map(|piece| (piece, &mut [][..])).collect(),
        };
        let sums = run(self.threads, tasks, |(piece, out)| {
            in_fours(
                #[inline(always)]
                || {
                    let mut sum = Along::default();
                    let mut row = vec![0.0; self.rows.classes];
                    for (k, r) in piece.enumerate() {
                        let out = if wanted { Some(&mut out[k * width..(k + 1) * width]) } else { None };
                        self.row(r, scores, direction, step, &mut row, out, &mut sum);
                    }
                    sum
                },
            )
        });
        sums.into_iter().fold(Along::default(), |a, b| Along {
            loss: a.loss + b.loss,
            slope: a.slope + b.slope,
            bend: a.bend + b.bend,
        })
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn row(
        &self,
        r: usize,
        scores: &[f32],
        direction: &[f32],
        step: f64,
        row: &mut [f64],
        out: Option<&mut [f32]>,
        sum: &mut Along,
    ) {
        let (classes, width, w, y) =
            (self.rows.classes, self.width, self.rows.weight[r], self.rows.y[r] as usize);
        let offsets = &self.rows.offsets[r * classes..(r + 1) * classes];
        let here = r * self.stride..r * self.stride + width;
        let (s, d) = (&scores[here.clone()], &direction[here]);
        if width == 1 {
            // log(1 + e^-m) of the margin m of the own class.
            let sign = if y == 1 { 1.0 } else { -1.0 };
            let toward = f64::from(d[0]);
            let m = sign * (offsets[1] - offsets[0] + f64::from(s[0]) + step * toward);
            let e = exp_of_negative(-m.abs());
            let wrong = if m > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
            sum.loss += w * (e.ln_1p() + (-m).max(0.0));
            sum.slope -= w * wrong * sign * toward;
            sum.bend += w * wrong * (1.0 - wrong) * toward * toward;
            if let Some(out) = out {
                out[0] = (-w * wrong * sign) as f32;
            }
            return;
        }
        let mut top = f64::NEG_INFINITY;
        for (to, ((offset, s), d)) in row.iter_mut().zip(offsets.iter().zip(s).zip(d)) {
            *to = offset + f64::from(*s) + step * f64::from(*d);
            top = if *to > top { *to } else { top };
        }
        let own = row[y];
        row.iter_mut().for_each(|x| *x = exp_of_negative(*x - top));
        let total: f64 = row.iter().sum();
        let (mut first, mut second) = (0.0, 0.0);
        for (e, d) in row.iter().zip(d) {
            let (e, d) = (*e, f64::from(*d));
            first += e * d;
            second += e * d * d;
        }
        let (first, second) = (first / total, second / total);
        sum.loss += w * (total.ln() + top - own);
        sum.slope += w * (first - f64::from(d[y]));
        sum.bend += w * (second - first * first).max(0.0);
        if let Some(out) = out {
            out.iter_mut().zip(row.iter()).for_each(|(to, e)| *to = (w * e / total) as f32);
            out[y] = (w * (row[y] / total - 1.0)) as f32;
        }
    }
}

/// Finds weights, words x classes (words x 1 for two classes), and returns them with the final penalised loss.
///
/// `a` has the coefficients of the documents from which the search starts, documents x classes (or 1); it is replaced
/// by those of the weights that were found.
pub fn fit(rows: WordRows, limits: Limits, a: &mut [f32], threads: usize) -> Result<(Vec<f32>, f64), Fault> {
    let threads = threads.clamp(1, PIECES); // more would have nothing to do
    let problem = Problem::new(rows, threads)?;
    if a.len() != cells(rows.y.len(), problem.width)? {
        return Err(Fault::shape("the coefficients are not one for each document and class"));
    }
    let (width, stride) = (problem.width, problem.stride);
    let mut start = vec![0.0; rows.y.len() * stride];
    for (to, from) in start.chunks_exact_mut(stride).zip(a.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
    }
    let mut v = vec![0.0; cells(rows.words, stride)?];
    let (found, loss) = with_threads(threads, || descend(&problem, limits, start, &mut v));
    for (to, from) in a.chunks_exact_mut(width).zip(found.chunks_exact(stride)) {
        to.copy_from_slice(&from[..width]);
    }
    problem.by_word.times(&found, stride, &mut v, threads);
    if stride == width {
        return Ok((v, loss));
    }
    let mut packed = vec![0.0; rows.words * width];
    for (to, from) in packed.chunks_exact_mut(width).zip(v.chunks_exact(stride)) {
        to.copy_from_slice(&from[..width]);
    }
    Ok((packed, loss))
}

/// Returns the coefficients of the best weights, and their loss; `weights` is scratch memory, words x stride.
fn descend(problem: &Problem, limits: Limits, start: Vec<f32>, weights: &mut [f32]) -> (Vec<f32>, f64) {
    let (n, threads) = (start.len(), problem.threads);
    let (penalty, zeros) = (limits.penalty, vec![0.0; n]);
    let first = problem.along(&zeros, &zeros, 0.0, None).loss;
    let scores =
        if start.iter().any(|&x| x != 0.0) { problem.scores_of(&start, weights) } else { zeros.clone() };
    let mut v = Span { a: start, scores };
    let mut residual = vec![0.0; n];
    let mut squares = dots(threads, &v, &[&v])[0];
    let mut loss = problem.along(&v.scores, &zeros, 0.0, Some(&mut residual)).loss + 0.5 * penalty * squares;
    let mut gradient_of = |residual: &[f32], v: &Span| {
        let a: Vec<f32> = residual.iter().zip(&v.a).map(|(r, v)| r + penalty as f32 * v).collect();
        let scores = problem.scores_of(&a, weights);
        Span { a, scores }
    };
    let mut history = History::default();
    history.add(gradient_of(&residual, &v), threads);
    for _ in 0..limits.steps {
        let coefficients = history.direction();
        let direction = combined(threads, &history.basis, &coefficients);
        let newest = &history.basis[history.basis.len() - 1];
        let of_direction = dots(threads, &direction, &[&direction, &v, newest]);
        let (length, with_v, slope) = (of_direction[0], of_direction[1], of_direction[2]);
        if slope.is_nan() || slope >= 0.0 {
            break;
        }
        let at = |step: f64, sum: Along| Along {
            loss: sum.loss + 0.5 * penalty * (squares + 2.0 * step * with_v + step * step * length),
            slope: sum.slope + penalty * (with_v + step * length),
            bend: sum.bend + penalty * length,
        };
        // Newton's method in one dimension, within the bracket of the steps tried so far.
        let mut step = 1.0;
        if history.steps.is_empty() {
            let here = at(0.0, problem.along(&v.scores, &direction.scores, 0.0, None));
            step = -here.slope / here.bend;
        }
        let (mut low, mut high, mut best) = (0.0, f64::INFINITY, loss);
        let (mut chosen, mut last) = (0.0, 0.0);
        for _ in 0..TRIES {
            let here = at(step, problem.along(&v.scores, &direction.scores, step, Some(&mut residual)));
            last = step;
            if here.loss < best {
                (best, chosen) = (here.loss, step);
            }
            if here.slope.abs() <= FLAT * slope.abs() && here.loss <= loss {
                break;
            }
            if here.slope > 0.0 {
                high = step;
            } else {
                low = step;
            }
            let newton = step - here.slope / here.bend;
            let top = if high.is_finite() { high } else { 4.0 * step };
            step = if newton > low && newton < top { newton } else { 0.5 * (low + top) };
        }
        if chosen == 0.0 {
            break;
        }
        v.add(chosen, &direction);
        squares += 2.0 * chosen * with_v + chosen * chosen * length;
        let gain = loss - best;
        loss = best;
        if gain < limits.tolerance * first {
            break;
        }
        if chosen != last {
            _ = problem.along(&v.scores, &zeros, 0.0, Some(&mut residual));
        }
        history.add(gradient_of(&residual, &v), threads);
        history.remember(coefficients.into_iter().map(|c| chosen * c).collect(), threads);
    }
    (v.a, loss)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn gradient_is_small(classes: usize) {
        let (n, words) = (40_usize, 12_usize);
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let (mut data, mut indices, mut indptr) = (vec![], vec![], vec![0_i64]);
        for _ in 0..n {
            for j in 0..words {
                if draw() < 0.4 {
                    indices.push(j as i32);
                    data.push(draw() as f32);
                }
            }
            indptr.push(data.len() as i64);
        }
        let y: Vec<i32> = (0..n).map(|_| (draw() * classes as f64) as i32).collect();
        let offsets: Vec<f64> = (0..n * classes).map(|_| draw() - 0.5).collect();
        let weight: Vec<f64> = (0..n).map(|_| 0.5 + draw()).collect();
        let rows = WordRows {
            indptr: &indptr,
            indices: &indices,
            data: &data,
            offsets: &offsets,
            y: &y,
            weight: &weight,
            classes,
            words,
        };
        let width = if classes == 2 { 1 } else { classes };
        let limits = Limits { penalty: 0.3, tolerance: 1e-12, steps: 200 };
        let mut a = vec![0.0; n * width];
        let (v, loss) = fit(rows, limits, &mut a, 2).unwrap();
        // The same loss in plain arithmetic, and no better neighbour.
        let plain = |v: &[f32]| {
            let mut total = 0.15 * v.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
            for r in 0..n {
                let mut s = offsets[r * classes..(r + 1) * classes].to_vec();
                for k in indptr[r] as usize..indptr[r + 1] as usize {
                    for c in 0..width {
                        let to = if classes == 2 { 1 } else { c };
                        s[to] += f64::from(data[k]) * f64::from(v[indices[k] as usize * width + c]);
                    }
                }
                let sum: f64 = s.iter().map(|x| x.exp()).sum();
                total += weight[r] * (sum.ln() - s[y[r] as usize]);
            }
            total
        };
        assert!((plain(&v) - loss).abs() < 1e-4 * loss);
        for k in 0..v.len() {
            for step in [-0.02, 0.02] {
                let mut other = v.clone();
                other[k] += step;
                assert!(plain(&other) > plain(&v) - 1e-6);
            }
        }
        let mut other = vec![0.0; n * width];
        assert_eq!(fit(rows, limits, &mut other, 1).unwrap(), (v.clone(), loss));
        assert_eq!(a, other);
        // A search starts at the given coefficients.
        let (begin, same) = fit(rows, Limits { steps: 0, ..limits }, &mut a, 1).unwrap();
        assert_eq!(begin, v);
        assert!((same - loss).abs() < 1e-5 * loss);
    }

    #[test]
    fn the_minimum_is_found_for_two_classes_and_for_more() {
        gradient_is_small(2);
        gradient_is_small(5);
    }

    #[test]
    fn a_search_that_forgets_old_gradients_ends_at_the_minimum() {
        let n = 60_usize;
        let indices: Vec<i32> = (0..n).flat_map(|k| [k as i32, (k + 1) as i32]).collect();
        let data: Vec<f32> = (0..n).flat_map(|k| [1.0, 0.1 * k as f32]).collect();
        let indptr: Vec<i64> = (0..=n).map(|k| 2 * k as i64).collect();
        let y: Vec<i32> = (0..n).map(|k| i32::from(k % 7 < 3)).collect();
        let weight: Vec<f64> = (0..n).map(|k| 1.0 + (k % 5) as f64).collect();
        let offsets = vec![0.0; 2 * n];
        let rows = WordRows {
            indptr: &indptr,
            indices: &indices,
            data: &data,
            offsets: &offsets,
            y: &y,
            weight: &weight,
            classes: 2,
            words: n + 1,
        };
        let penalty = 1e-3;
        let search = |steps: usize| {
            let (v, loss) =
                fit(rows, Limits { penalty, tolerance: 0.0, steps }, &mut vec![0.0; n], 1).unwrap();
            // The gradient of the penalised loss, in plain arithmetic.
            let mut slope: Vec<f64> = v.iter().map(|&x| penalty * f64::from(x)).collect();
            for k in 0..n {
                let score = f64::from(v[k]) + 0.1 * k as f64 * f64::from(v[k + 1]);
                let wrong = weight[k] * (1.0 / (1.0 + (-score).exp()) - f64::from(y[k]));
                slope[k] += wrong;
                slope[k + 1] += 0.1 * k as f64 * wrong;
            }
            (loss, slope.iter().map(|x| x * x).sum::<f64>().sqrt())
        };
        let (early, steep) = search(history::MEMORY - 2);
        let (late, flat) = search(5 * history::MEMORY);
        assert!(late < early && flat < 0.03 * steep, "{early} {late} {steep} {flat}");
    }

    #[test]
    fn broken_documents_are_refused() {
        let rows = WordRows {
            indptr: &[0, 1],
            indices: &[3],
            data: &[1.0],
            offsets: &[0.0, 0.0],
            y: &[0],
            weight: &[1.0],
            classes: 2,
            words: 3,
        };
        let limits = Limits { penalty: 1.0, tolerance: 1e-5, steps: 9 };
        assert!(fit(rows, limits, &mut [0.0; 1], 1).is_err());
        assert!(fit(WordRows { indices: &[2], ..rows }, limits, &mut [0.0; 2], 1).is_err());
        assert!(fit(WordRows { indices: &[2], y: &[2], ..rows }, limits, &mut [0.0; 1], 1).is_err());
        assert!(fit(WordRows { indices: &[2], ..rows }, limits, &mut [0.0; 1], 1).is_ok());
    }
}
