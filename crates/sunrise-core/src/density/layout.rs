//! How the line is divided into intervals, each with a series or a few points.

use super::merge::NEAR;
use super::FARTHEST;
use crate::lanes::{folded, LANES};
use crate::normalise::exp_of_negative;
use crate::vectorised;
use std::ops::Range;

/// Largest share of a sum that the points beyond the radius may add.
pub(super) const DROPPED: f64 = 1e-11;
/// Largest relative remainder of a series.
const REMAINDER: f64 = 1e-10;
/// Coefficients of a series: an even number, so that the moment after the last one is never negative.
const TERMS: usize = 16;
/// Number of points up to which adding their kernels one by one is faster than a series.
pub(super) const FEW_POINTS: usize = 48;
/// Bandwidths from all points beyond which densities, below exp(-1e16), need no series.
pub(super) const TOO_FAR: f64 = 134_217_728.0;
/// Largest product of half the width of an interval and half the extent of its points, in bandwidths, to try a series.
const MOST_REACH: f64 = 5.0;

/// How a sum is evaluated inside an interval.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interval {
    /// By adding the kernels of the points between two indices.
    Points(usize, usize),
    /// By the series of this index.
    Series(usize),
}

/// A series about the middle of an interval: S = exp(level + s mean - s^2 / 2) * sum_k terms[k] s^k.
#[derive(Clone, Copy, Debug)]
pub(super) struct Series {
    pub(super) middle: f64,
    pub(super) mean: f64,
    pub(super) level: f64,
    pub(super) terms: [f64; TERMS],
}

/// Points, weights and bandwidth while the line is divided.
pub(super) struct Layout<'a> {
    pub(super) points: &'a [f64],
    pub(super) weight: &'a [f64],
    /// Fewer points with their weights that stand for all points nearby, if there are any.
    pub(super) merged: Option<(&'a [f64], &'a [f64])>,
    pub(super) width: f64,
    /// 2 ln(W / (w e)), in the notation of the module.
    pub(super) cutoff: f64,
}

impl Layout<'_> {
    /// The distance from x beyond which points add too little.
    fn radius(&self, x: f64) -> f64 {
        let at = self.points.partition_point(|&v| v < x);
        let above = self.points.get(at).map_or(f64::INFINITY, |&v| v - x);
        let below = if at > 0 { x - self.points[at - 1] } else { f64::INFINITY };
        above.min(below).hypot(self.width * self.cutoff.sqrt())
    }

    /// The distance of the nearest point from the interval [a, b].
    pub(super) fn distance(&self, a: f64, b: f64) -> f64 {
        let at = self.points.partition_point(|&v| v < a);
        let above = self.points.get(at).map_or(f64::INFINITY, |&v| (v - b).max(0.0));
        let below = if at > 0 { a - self.points[at - 1] } else { f64::INFINITY };
        above.min(below)
    }

    /// The range of points within the radius of some x in [a, b].
    pub(super) fn relevant(&self, a: f64, b: f64) -> Range<usize> {
        let (low, high) = (a - self.radius(a), b + self.radius(b));
        self.points.partition_point(|&v| v < low)..self.points.partition_point(|&v| v <= high)
    }

    /// The series of an interval; `None` if its remainder may be too large.
    fn series(&self, a: f64, b: f64, some: Range<usize>, scratch: &mut [Vec<f64>; 2]) -> Option<Series> {
        let (middle, half) = (a + 0.5 * (b - a), 0.5 * (b - a) / self.width);
        let (points, weight) = match self.merged {
            Some((points, weight)) if self.distance(a, a).max(self.distance(b, b)) < NEAR * self.width => {
                let (low, high) = (self.points[some.start], self.points[some.end - 1]);
                let near = points.partition_point(|&v| v < low)..points.partition_point(|&v| v <= high);
                (&points[near.clone()], &weight[near])
            }
            _ => (&self.points[some.clone()], &self.weight[some]),
        };
        let [z, w] = scratch;
        vectorised(
            #[inline(always)]
            || {
                z.clear();
                z.extend(points.iter().map(|v| (v - middle) / self.width));
                let nearest = z.iter().fold(FARTHEST, |least, z| if z * z < least { z * z } else { least });
                w.clear();
                w.extend(z.iter().map(|z| exp_of_negative(0.5 * (nearest - z * z))));
                w.iter_mut().zip(weight).for_each(|(w, weight)| *w *= weight);
                let (mut total, mut first) = ([0.0; LANES], [0.0; LANES]);
                lanes(z, w, |k, z, w| {
                    total[k] += w;
                    first[k] += w * z;
                });
                let total = folded(total);
                let mean = folded(first) / total;
                let moments = moments(z, w, mean);
                let farthest = z.iter().fold(0.0, |most: f64, z| most.max((z - mean).abs()));
                // The remainder of Taylor's series of exp(s z) is bounded by its next term times the largest
                // exponential. As the mean of z is 0, the sum is at least the sum of the weights (Jensen).
                let mut scale = 1.0;
                let mut terms = [0.0; TERMS];
                for k in 0..TERMS {
                    terms[k] = moments[k] / scale;
                    scale *= (k + 1) as f64;
                }
                let bound =
                    moments[TERMS] / total / scale * half.powi(TERMS as i32) * (half * farthest).exp();
                (bound <= REMAINDER).then_some(Series { middle, mean, level: -0.5 * nearest, terms })
            },
        )
    }
}

/// Calls `add(lane, z, w)` for pairs of numbers, spread over the partial sums.
#[inline(always)]
fn lanes(z: &[f64], w: &[f64], mut add: impl FnMut(usize, f64, f64)) {
    let whole = z.len() - z.len() % LANES;
    for (z, w) in z[..whole].chunks_exact(LANES).zip(w.chunks_exact(LANES)) {
        for k in 0..LANES {
            add(k, z[k], w[k]);
        }
    }
    for (k, (&z, &w)) in z[whole..].iter().zip(&w[whole..]).enumerate() {
        add(k, z, w);
    }
}

#[inline(always)]
fn moments(z: &[f64], w: &[f64], mean: f64) -> [f64; TERMS + 1] {
    /// Partial sums of every order that fit into registers together.
    const N: usize = 4;
    let mut sums = [[0.0; N]; TERMS + 1];
    let whole = z.len() - z.len() % N;
    let mut add = |z: [f64; N], mut power: [f64; N]| {
        for sum in &mut sums {
            for k in 0..N {
                sum[k] += power[k];
                power[k] *= z[k];
            }
        }
    };
    for (z, w) in z[..whole].chunks_exact(N).zip(w.chunks_exact(N)) {
        add([z[0] - mean, z[1] - mean, z[2] - mean, z[3] - mean], [w[0], w[1], w[2], w[3]]);
    }
    for (&z, &w) in z[whole..].iter().zip(&w[whole..]) {
        add([z - mean, 0.0, 0.0, 0.0], [w, 0.0, 0.0, 0.0]);
    }
    sums.map(folded)
}

/// A part of the line, from its start to its end, that is divided by itself.
#[derive(Clone, Copy)]
pub(super) struct Segment(pub(super) f64, pub(super) f64);

/// Where the intervals of a segment begin, the intervals, and their series.
pub(super) type Division = (Vec<f64>, Vec<Interval>, Vec<Series>);

impl Layout<'_> {
    /// Divides a segment into intervals, halving those whose series is not good enough.
    pub(super) fn divide(&self, segment: Segment) -> Division {
        let (mut starts, mut intervals, mut series) = (Vec::new(), Vec::new(), Vec::new());
        let mut scratch = [Vec::new(), Vec::new()];
        // Distinct points never need more intervals than this; the limit ends the halving about equal ones.
        let most = 64 + 8 * self.relevant(segment.0, segment.1).len();
        let mut todo = vec![segment];
        while let Some(Segment(a, b)) = todo.pop() {
            let some = self.relevant(a, b);
            let middle = a + 0.5 * (b - a);
            let splits = middle > a && middle < b && intervals.len() + todo.len() < most;
            if some.len() > FEW_POINTS && self.distance(a, b) < TOO_FAR * self.width {
                let reach = (self.points[some.end - 1] - self.points[some.start]) / self.width;
                let half = 0.5 * (b - a) / self.width;
                let found = (0.5 * reach * half <= MOST_REACH)
                    .then(|| self.series(a, b, some.clone(), &mut scratch))
                    .flatten();
                if let Some(found) = found {
                    starts.push(a);
                    intervals.push(Interval::Series(series.len()));
                    series.push(found);
                    continue;
                }
                if splits {
                    todo.push(Segment(middle, b));
                    todo.push(Segment(a, middle));
                    continue;
                }
            }
            starts.push(a);
            intervals.push(Interval::Points(some.start, some.end));
        }
        (starts, intervals, series)
    }
}
