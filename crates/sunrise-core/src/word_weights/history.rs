//! The memory of the search for weights of words (L-BFGS), as sums of the gradients so far.
//!
//! Directions, steps and changes of the gradient are sums of the gradients. Only their coefficients and the inner products
//! of the gradients are kept, so a step reads every gradient twice.

use crate::in_fours;
use crate::parallel::{blocks, run};

/// Vectors that are remembered, and pairs of steps and changes that are kept when there are more.
pub const MEMORY: usize = 21;
const KEPT_PAIRS: usize = 5;
/// Numbers that one task of a vector operation has.
const BLOCK: usize = 1 << 12;

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 8];
    let (eights, others) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 =
        eights.remainder().iter().zip(others.remainder()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    for (a, b) in eights.zip(others) {
        for k in 0..8 {
            sums[k] += f64::from(a[k]) * f64::from(b[k]);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Weights that are sums of documents: v = Z' a, with the scores Z v that they give the documents.
///
/// Both are documents x stride. Inner products of weights are inner products of `a` with the scores of the other.
pub struct Span {
    pub a: Vec<f32>,
    pub scores: Vec<f32>,
}

impl Span {
    /// Adds other weights times a factor.
    pub fn add(&mut self, factor: f64, other: &Span) {
        for (all, more) in [(&mut self.a, &other.a), (&mut self.scores, &other.scores)] {
            all.iter_mut().zip(more).for_each(|(to, x)| *to += factor as f32 * x);
        }
    }
}

/// Inner products of some weights with others.
pub fn dots(threads: usize, one: &Span, others: &[&Span]) -> Vec<f64> {
    let blocks: Vec<_> = blocks(0..one.a.len(), BLOCK).collect();
    let sums = run(threads, blocks, |block| {
        in_fours(
            #[inline(always)]
            || {
                let a = &one.a[block.clone()];
                others.iter().map(|v| dot(a, &v.scores[block.clone()])).collect::<Vec<f64>>()
            },
        )
    });
    let mut totals = vec![0.0; others.len()];
    for sum in sums {
        totals.iter_mut().zip(sum).for_each(|(total, part)| *total += part);
    }
    totals
}

/// The sum of weights times coefficients.
pub fn combined(threads: usize, vectors: &[Span], coefficients: &[f64]) -> Span {
    let length = vectors.first().map_or(0, |v| v.a.len());
    let (mut a, mut scores) = (vec![0.0; length], vec![0.0; length]);
    let tasks: Vec<_> = a.chunks_mut(BLOCK).zip(scores.chunks_mut(BLOCK)).enumerate().collect();
    run(threads, tasks, |(k, (a, scores))| {
        in_fours(
            #[inline(always)]
            || {
                for (v, &c) in vectors.iter().zip(coefficients) {
                    let here = k * BLOCK..k * BLOCK + a.len();
                    a.iter_mut().zip(&v.a[here.clone()]).for_each(|(to, x)| *to += c as f32 * x);
                    scores.iter_mut().zip(&v.scores[here]).for_each(|(to, x)| *to += c as f32 * x);
                }
            },
        )
    });
    Span { a, scores }
}

/// The gradients so far, with their inner products; the steps and changes of the gradient are sums of them.
#[derive(Default)]
pub struct History {
    pub basis: Vec<Span>,
    /// Inner products of the basis with itself.
    products: Vec<Vec<f64>>,
    /// Coefficients of the basis for every step, and for the change of the gradient along it.
    pub steps: Vec<Vec<f64>>,
    changes: Vec<Vec<f64>>,
}

impl History {
    /// Adds a gradient to the basis.
    pub fn add(&mut self, gradient: Span, threads: usize) {
        self.basis.push(gradient);
        let all: Vec<&Span> = self.basis.iter().collect();
        let new = dots(threads, all[all.len() - 1], &all);
        self.products.iter_mut().zip(&new).for_each(|(row, &product)| row.push(product));
        self.products.push(new);
    }

    /// Replaces the basis by the newest steps and changes and the newest gradient.
    fn shorten(&mut self, threads: usize) {
        let first = self.steps.len().saturating_sub(KEPT_PAIRS);
        let (steps, changes) = (self.steps.split_off(first), self.changes.split_off(first));
        let count = steps.len();
        let kept: Vec<Vec<f64>> =
            steps.into_iter().chain(changes).chain([unit(self.basis.len() - 1, 1.0)]).collect();
        self.products = kept.iter().map(|a| kept.iter().map(|b| self.product(a, b)).collect()).collect();
        self.basis = kept.iter().map(|c| combined(threads, &self.basis, c)).collect();
        self.steps = (0..count).map(|k| unit(k, 1.0)).collect();
        self.changes = (count..2 * count).map(|k| unit(k, 1.0)).collect();
    }

    /// The inner product of two sums over the basis; coefficients that are not given are 0.
    fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        let with_b = |row: &Vec<f64>| row.iter().zip(b).map(|(x, b)| x * b).sum::<f64>();
        self.products.iter().zip(a).filter(|(_, &a)| a != 0.0).map(|(row, a)| a * with_b(row)).sum()
    }

    /// Remembers a step to the newest gradient from the one before, unless the slope fell along it.
    pub fn remember(&mut self, step: Vec<f64>, threads: usize) {
        let newest = self.basis.len() - 1;
        let mut change = unit(newest, 1.0);
        change[newest - 1] = -1.0;
        if self.product(&step, &change) > 0.0 {
            self.steps.push(step);
            self.changes.push(change);
        }
        if self.basis.len() == MEMORY {
            self.shorten(threads);
        }
    }

    /// Coefficients of the direction from the newest gradient.
    pub fn direction(&self) -> Vec<f64> {
        let mut c = unit(self.basis.len() - 1, -1.0);
        let pairs: Vec<_> =
            self.steps.iter().zip(&self.changes).map(|(s, y)| (s, y, self.product(s, y))).collect();
        let mut alphas = Vec::new();
        for (step, change, both) in pairs.iter().rev() {
            let alpha = self.product(step, &c) / both;
            add_to(&mut c, -alpha, change);
            alphas.push(alpha);
        }
        if let Some((_, change, both)) = pairs.last() {
            let scale = both / self.product(change, change);
            c.iter_mut().for_each(|x| *x *= scale);
        }
        for ((step, change, both), alpha) in pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = self.product(change, &c) / both;
            add_to(&mut c, alpha - beta, step);
        }
        c
    }
}

/// Coefficients of one vector of a basis.
fn unit(at: usize, value: f64) -> Vec<f64> {
    let mut c = vec![0.0; at + 1];
    c[at] = value;
    c
}

/// Adds a multiple of coefficients to others, which are at least as many.
fn add_to(c: &mut [f64], factor: f64, other: &[f64]) {
    c.iter_mut().zip(other).for_each(|(to, x)| *to += factor * x);
}
