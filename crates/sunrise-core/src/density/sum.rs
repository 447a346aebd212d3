//! One sum of kernels of a common bandwidth, evaluated anywhere on the line.

use super::layout::{Interval, Layout, Segment, Series, DROPPED, FEW_POINTS, TOO_FAR};
use super::merge::merged;
use super::scaled::ScaledFloat;
use super::{square, FARTHEST};
use crate::fault::Fault;
use crate::lanes::{folded, LANES};
use crate::normalise::exp_of_negative;
use crate::parallel::run;
use crate::vectorised;
use std::ops::Range;

/// Smallest share of a sum that may be left after a subtraction; below, the rest is added up anew for its digits.
const ENOUGH_LEFT: f64 = 1e-2;

/// A weighted sum of kernels of one bandwidth about sorted points.
#[derive(Debug)]
pub struct KernelSum {
    points: Vec<f64>,
    weight: Vec<f64>,
    width: f64,
    /// Sum of the weights.
    total: f64,
    /// Where each interval begins; the first at -inf.
    starts: Vec<f64>,
    intervals: Vec<Interval>,
    series: Vec<Series>,
}

/// The square of the distance, in bandwidths, of the nearest point, in partial searches that fill vectors.
#[inline(always)]
fn nearest_square(points: &[f64], x: f64, width: f64) -> f64 {
    let least = |a: f64, b: f64| if b < a { b } else { a };
    let mut nearest = [FARTHEST; LANES];
    let some = points.chunks_exact(LANES);
    let rest = some.remainder();
    for some in some {
        for (nearest, v) in nearest.iter_mut().zip(some) {
            *nearest = least(*nearest, square(x - v, width));
        }
    }
    let rest = rest.iter().map(|v| square(x - v, width));
    nearest.into_iter().chain(rest).fold(FARTHEST, least)
}

/// A point to leave out of a sum, with the weight to leave out.
#[derive(Clone, Copy, Debug)]
pub struct RemovedPoint {
    #[allow(missing_docs)]
    pub point: f64,
    #[allow(missing_docs)]
    pub weight: f64,
}

impl KernelSum {
    /// KernelSums about points in rising order, with positive weights; cells are laid out on these threads.
    pub fn new(points: Vec<f64>, weight: Vec<f64>, width: f64, threads: usize) -> Result<KernelSum, Fault> {
        let rising = points.windows(2).all(|pair| pair[0] <= pair[1]);
        let finite = points.iter().all(|v| v.is_finite()) && weight.iter().all(|&w| w > 0.0 && w.is_finite());
        let sound = rising && finite && width > 0.0 && width.is_finite();
        if points.len() != weight.len() || !sound {
            return Err(Fault::shape(
                "kernels need finite points in order, positive weights and a bandwidth",
            ));
        }
        let total = weight.iter().sum();
        let (starts, intervals, series) = Default::default();
        let mut sum = KernelSum { points, weight, width, total, starts, intervals, series };
        sum.build_intervals(threads);
        Ok(sum)
    }

    fn build_intervals(&mut self, threads: usize) {
        let n = self.points.len();
        if n <= FEW_POINTS {
            self.starts.push(f64::NEG_INFINITY);
            self.intervals.push(Interval::Points(0, n));
            return;
        }
        let least = self.weight.iter().fold(f64::INFINITY, |least, &w| least.min(w));
        let cutoff = 2.0 * (self.total / least / DROPPED).ln();
        let merged = merged(&self.points, &self.weight, self.width);
        let merged = merged.as_ref().map(|(points, weight)| (points.as_slice(), weight.as_slice()));
        let (points, weight) = (&self.points, &self.weight);
        let layout = Layout { points, weight, merged, width: self.width, cutoff };
        let (low, high) = (self.points[0], self.points[n - 1]);
        // Outside the points: segments of doubling length, until only a few points matter.
        let mut before = Vec::new();
        let (mut at, mut step) = (low, self.width);
        let goes_on = |at: f64, next: f64| {
            layout.relevant(at, at).len() > FEW_POINTS
                && next.abs() < 1e300
                && next != at
                && layout.distance(at, at) < TOO_FAR * self.width
        };
        while goes_on(at, at - step) {
            before.push(Segment(at - step, at));
            at -= step;
            step *= 2.0;
        }
        let first = at;
        // Between the points: segments of equal length, shared among the threads.
        let span = (high - low).max(self.width);
        let mut segment = self.width * 64.0;
        while span / segment > 4096.0 {
            segment *= 2.0;
        }
        let mut segments: Vec<Segment> = before.into_iter().rev().collect();
        let (mut at, mut k) = (low, 0.0);
        while at < high {
            k += 1.0;
            let end = low + k * segment;
            if end <= at {
                break;
            }
            segments.push(Segment(at, end));
            at = end;
        }
        let mut step = self.width;
        while goes_on(at, at + step) {
            segments.push(Segment(at, at + step));
            at += step;
            step *= 2.0;
        }
        let last = at;
        let (below, above) = (layout.relevant(first, first), layout.relevant(last, last));
        let threads = if n < 4096 { 1 } else { threads };
        let parts = run(threads, segments, |segment| layout.divide(segment));
        self.starts.push(f64::NEG_INFINITY);
        self.intervals.push(Interval::Points(0, below.end));
        for (starts, intervals, series) in parts {
            let offset = self.series.len();
            self.starts.extend(starts);
            self.intervals.extend(intervals.into_iter().map(|interval| match interval {
                Interval::Series(k) => Interval::Series(offset + k),
                points => points,
            }));
            self.series.extend(series);
        }
        self.starts.push(last);
        self.intervals.push(Interval::Points(above.start, n));
    }

    /// The points, in rising order.
    pub(super) fn points(&self) -> &[f64] {
        &self.points
    }

    /// The weights of the points.
    pub(super) fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// The sum of the weights.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The bandwidth.
    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The sum at x.
    #[inline(always)]
    pub fn evaluate(&self, x: f64) -> ScaledFloat {
        let interval = self.starts.partition_point(|&start| start <= x).max(1) - 1;
        match self.intervals[interval] {
            Interval::Points(from, to) => self.sum_points(x, from..to),
            Interval::Series(k) => {
                let series = &self.series[k];
                let s = (x - series.middle) / self.width;
                let size = series.terms.iter().rev().fold(0.0, |sum, term| sum * s + term);
                ScaledFloat { size, level: series.level + s * series.mean - 0.5 * s * s }
            }
        }
    }

    /// The sum at x of the kernels of some points, added one by one.
    #[inline(always)]
    fn sum_points(&self, x: f64, some: Range<usize>) -> ScaledFloat {
        let (points, weight) = (&self.points[some.clone()], &self.weight[some]);
        if points.is_empty() {
            return ScaledFloat::ZERO;
        }
        let (size, nearest) = vectorised(
            #[inline(always)]
            || {
                let nearest = nearest_square(points, x, self.width);
                let mut sums = [0.0; LANES];
                let mut add = |points: &[f64], weight: &[f64]| {
                    for ((sum, v), w) in sums.iter_mut().zip(&points[..LANES]).zip(&weight[..LANES]) {
                        *sum += w * exp_of_negative(0.5 * (nearest - square(x - v, self.width)));
                    }
                };
                let (some, shares) = (points.chunks_exact(LANES), weight.chunks_exact(LANES));
                // The last points fill vectors, too, together with points of weight 0.
                let (mut last, mut share) = ([points[0]; LANES], [0.0; LANES]);
                last.iter_mut().zip(some.remainder()).for_each(|(to, v)| *to = *v);
                share.iter_mut().zip(shares.remainder()).for_each(|(to, w)| *to = *w);
                some.zip(shares).for_each(|(points, weight)| add(points, weight));
                add(&last, &share);
                (folded(sums), nearest)
            },
        );
        ScaledFloat { size, level: -0.5 * nearest }
    }

    /// The sum at x without some weight at two of its points.
    ///
    /// If subtraction leaves too few digits, the remaining kernels are added one by one.
    pub fn without(&self, x: f64, removed: [RemovedPoint; 2]) -> ScaledFloat {
        let whole = self.evaluate(x);
        let own: f64 = removed
            .iter()
            .map(|t| t.weight * (-0.5 * square(x - t.point, self.width) - whole.level).min(700.0).exp())
            .sum();
        let rest = whole.size - own;
        if rest > ENOUGH_LEFT * whole.size {
            return ScaledFloat { size: rest, ..whole };
        }
        let left = |k: usize| {
            let (v, w) = (self.points[k], self.weight[k]);
            let rest = removed.iter().filter(|t| t.point == v).fold(w, |rest, t| rest - t.weight);
            if rest > w * 2f64.powi(-46) {
                rest
            } else {
                0.0
            }
        };
        let at = self.points.partition_point(|&v| v < x);
        let above = (at..self.points.len()).find(|&k| left(k) > 0.0);
        let below = (0..at).rev().find(|&k| left(k) > 0.0);
        let near = |k: Option<usize>| k.map_or(f64::INFINITY, |k| square(self.points[k] - x, self.width));
        let nearest = near(above).min(near(below));
        if nearest == f64::INFINITY {
            return ScaledFloat::ZERO;
        }
        // The nearest weight that is left bounds the sum from below.
        let known = above.map_or(f64::INFINITY, left).min(below.map_or(f64::INFINITY, left));
        let cutoff = 2.0 * (self.total / known / DROPPED).ln();
        let mut size = 0.0;
        let mut add = |k: usize| {
            let z2 = square(self.points[k] - x, self.width);
            if z2 - nearest > cutoff {
                return false;
            }
            // A removed point may be nearer than the nearest one that is left; it adds nothing.
            let weight = left(k);
            if weight > 0.0 {
                size += weight * exp_of_negative(0.5 * (nearest - z2));
            }
            true
        };
        (at..self.points.len()).all(&mut add);
        (0..at).rev().all(&mut add);
        ScaledFloat { size, level: -0.5 * nearest }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Pseudo-random numbers between 0 and 1.
    fn draws(n: usize, mut seed: u64) -> Vec<f64> {
        (0..n)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 11) as f64 / (1u64 << 53) as f64
            })
            .collect()
    }

    fn plain(points: &[f64], weight: &[f64], width: f64, x: f64) -> f64 {
        let logs: Vec<f64> =
            points.iter().zip(weight).map(|(v, w)| w.ln() - 0.5 * ((x - v) / width).powi(2)).collect();
        let top = logs.iter().fold(f64::NEG_INFINITY, |top, &x| top.max(x));
        top + logs.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
    }

    #[test]
    fn sums_equal_those_of_all_points_added_one_by_one() {
        let uniform = draws(5000, 1);
        let cauchy: Vec<f64> = uniform.iter().map(|u| (std::f64::consts::PI * (u - 0.5)).tan()).collect();
        let spiky: Vec<f64> = uniform.iter().map(|u| (u * 7.0).floor() + 1e-7 * u).collect();
        for (mut points, widths) in [
            (uniform.clone(), [0.03, 2.0]),
            (cauchy, [0.1, 3.0]),
            (spiky, [0.02, 1e-7]),
            (vec![3.0; 200], [0.1, 9.0]),
        ] {
            points.sort_by(f64::total_cmp);
            let weight: Vec<f64> = draws(points.len(), 2).iter().map(|u| 0.1 + 3.0 * u).collect();
            for width in widths {
                let sum = KernelSum::new(points.clone(), weight.clone(), width, 2).unwrap();
                let around = draws(400, 3).into_iter().map(|u| -3.0 + 12.0 * u);
                let beyond = (0..40).map(|k| points[points.len() - 1] + width * 1.3f64.powi(k));
                for x in around.chain(beyond).chain(points.iter().step_by(50).copied()) {
                    let (fast, slow) = (sum.evaluate(x).ln(), plain(&points, &weight, width, x));
                    assert!((fast - slow).abs() <= 1e-9 + 1e-13 * slow.abs(), "{x} {width}: {fast} {slow}");
                }
            }
        }
    }

    #[test]
    fn crowded_parts_of_the_range_are_divided_finely() {
        let mut points = draws(20_000, 1);
        points.extend([-1e6, 1e6]);
        points.sort_by(f64::total_cmp);
        let sum = KernelSum::new(points.clone(), vec![1.0; points.len()], 1e-3, 1).unwrap();
        let few = sum
            .intervals
            .iter()
            .all(|interval| !matches!(interval, Interval::Points(from, to) if to - from > FEW_POINTS));
        assert!(few && sum.series.len() > 900);
    }

    #[test]
    fn a_point_can_be_taken_out() {
        let points = vec![0.0, 1.0, 1.5, 400.0];
        let weight = vec![1.0, 2.0, 1.0, 1.0];
        let sum = KernelSum::new(points, weight, 0.1, 1).unwrap();
        let none = RemovedPoint { point: 0.0, weight: 0.0 };
        let alone = sum.without(400.0, [RemovedPoint { point: 400.0, weight: 1.0 }, none]).ln();
        assert!((alone - -0.5 * (398.5f64 / 0.1).powi(2)).abs() < 1e-6);
        let twin = sum.without(1.0, [RemovedPoint { point: 1.0, weight: 1.0 }, none]).ln();
        assert!((twin - 3.7266531720786e-6f64.ln_1p()).abs() < 1e-12);
    }

    #[test]
    fn invalid_points_are_refused() {
        for (points, weight, width) in [
            (vec![1.0, 0.0], vec![1.0, 1.0], 1.0),
            (vec![f64::NAN], vec![1.0], 1.0),
            (vec![0.0], vec![0.0], 1.0),
            (vec![0.0], vec![1.0], 0.0),
            (vec![0.0], vec![], 1.0),
        ] {
            assert!(KernelSum::new(points, weight, width, 1).is_err());
        }
        assert_eq!(KernelSum::new(vec![], vec![], 1.0, 1).unwrap().evaluate(0.0), ScaledFloat::ZERO);
    }
}
