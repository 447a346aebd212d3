//! Sums of Gaussian kernels about many points, in time that does not grow with the points.
//!
//! A [`Sum`] is S(x) = sum_i w_i exp(-z_i^2 / 2), z_i = (x - v_i) / h. The line is cut into cells. Points farther off than
//! R, R^2 = d^2 + 2 h^2 ln(W / (w e)) with d the distance of the nearest one, add less than a share e of S together
//! and are left out; x - R and x + R both grow with x, so the ends of a cell know the points that matter inside. Where
//! these are few they are added up one by one. Elsewhere, with x = m + s h and m the middle of the cell,
//!
//! S(x) = exp(s D - s^2 / 2) sum_i W_i exp(s (z_i - D)),   W_i = w_i exp(-z_i^2 / 2) at m, D the mean of z_i by W_i,
//!
//! and the sum is a Taylor series in s whose coefficients are moments about D. Its remainder is bounded from the same
//! moments, as a share of S: a cell in which it might be larger than allowed is halved. So every sum has a relative error
//! that is known, also far below the peak, for points that lie anyhow.

use crate::cells::Matrix;
use crate::fault::Fault;
use crate::normalise::exp_of_negative;
use crate::score::Scorer;
use crate::vectorised;
use crate::work::{blocks, run};
use std::ops::Range;

/// The share of a sum that may be left out by distance, and the one that may be left out by a series.
const BEYOND: f64 = 1e-11;
const REMAINDER: f64 = 1e-10;
/// Coefficients of a series; an even number, so that the moment after the last has no sign.
const TERMS: usize = 16;
/// Points that are added up one by one.
const FEW: usize = 48;
/// Squares of distances in units of the bandwidth are taken for no more than this.
const FAR: f64 = 1e300;
/// Of what is left of a sum without a point: below this share too few digits are known, so that it is added up anew.
const LEFT: f64 = 1e-2;
/// Bandwidths off all points from where densities, below exp(-1e16), are not worth a series.
const NOWHERE: f64 = 134_217_728.0;
/// How far a cell may reach, times how far its points do, in units of the bandwidth, to be worth a series.
const REACH: f64 = 5.0;

/// What a sum is in a cell.
#[derive(Clone, Copy, Debug)]
enum Cell {
    /// Of these points, one by one.
    Few(usize, usize),
    /// A series, by its place.
    Series(usize),
}

/// A series about the middle of a cell: S = exp(level + s mean - s^2 / 2) * sum_k terms[k] s^k.
#[derive(Clone, Copy, Debug)]
struct Series {
    middle: f64,
    mean: f64,
    level: f64,
    terms: [f64; TERMS],
}

/// Weighted kernels of one bandwidth about points in order.
#[derive(Debug)]
pub struct Sum {
    points: Vec<f64>,
    weight: Vec<f64>,
    width: f64,
    /// The weight of all points.
    total: f64,
    /// Where each cell begins; the first at -inf.
    starts: Vec<f64>,
    cells: Vec<Cell>,
    series: Vec<Series>,
}

/// A positive number, size * exp(level): sums far below the range of floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    #[allow(missing_docs)]
    pub size: f64,
    #[allow(missing_docs)]
    pub level: f64,
}

impl Scaled {
    /// Nothing at all.
    pub const NONE: Scaled = Scaled { size: 0.0, level: f64::NEG_INFINITY };

    /// The sum of two.
    #[inline(always)]
    pub fn and(self, other: Scaled) -> Scaled {
        if self.size <= 0.0 || other.size <= 0.0 {
            return if self.size > 0.0 { self } else { other };
        }
        let (high, low) = if self.level >= other.level { (self, other) } else { (other, self) };
        Scaled { size: high.size + low.size * exp_of_negative(low.level - high.level), level: high.level }
    }

    /// A multiple of it.
    #[inline(always)]
    fn times(self, factor: f64) -> Scaled {
        Scaled { size: self.size * factor, ..self }
    }

    /// Its logarithm.
    #[inline(always)]
    pub fn ln(self) -> f64 {
        self.level + self.size.ln()
    }
}

/// A point that is taken out of a sum, with its weight.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    #[allow(missing_docs)]
    pub point: f64,
    #[allow(missing_docs)]
    pub weight: f64,
}

/// Squared distance over squared bandwidth, within the range of floats.
#[inline(always)]
fn square(d: f64, width: f64) -> f64 {
    let z = d / width;
    (z * z).min(FAR)
}

/// Points and weights while the cells are laid out.
struct Layout<'a> {
    points: &'a [f64],
    weight: &'a [f64],
    width: f64,
    /// 2 ln(W / (w e)).
    room: f64,
}

impl Layout<'_> {
    /// How far from x the points that matter reach.
    fn radius(&self, x: f64) -> f64 {
        let at = self.points.partition_point(|&v| v < x);
        let above = self.points.get(at).map_or(f64::INFINITY, |&v| v - x);
        let below = if at > 0 { x - self.points[at - 1] } else { f64::INFINITY };
        above.min(below).hypot(self.width * self.room.sqrt())
    }

    /// How far the nearest point is from what lies between a and b.
    fn distance(&self, a: f64, b: f64) -> f64 {
        let at = self.points.partition_point(|&v| v < a);
        let above = self.points.get(at).map_or(f64::INFINITY, |&v| (v - b).max(0.0));
        let below = if at > 0 { a - self.points[at - 1] } else { f64::INFINITY };
        above.min(below)
    }

    /// The points that matter between a and b.
    fn matter(&self, a: f64, b: f64) -> Range<usize> {
        let (low, high) = (a - self.radius(a), b + self.radius(b));
        self.points.partition_point(|&v| v < low)..self.points.partition_point(|&v| v <= high)
    }

    /// The series of a cell, if its remainder is small enough.
    fn series(&self, a: f64, b: f64, some: Range<usize>, scratch: &mut [Vec<f64>; 2]) -> Option<Series> {
        let (middle, half) = (a + 0.5 * (b - a), 0.5 * (b - a) / self.width);
        let (points, weight) = (&self.points[some.clone()], &self.weight[some]);
        let [z, w] = scratch;
        vectorised(
            #[inline(always)]
            || {
                z.clear();
                z.extend(points.iter().map(|v| (v - middle) / self.width));
                let nearest = z.iter().fold(FAR, |least, z| if z * z < least { z * z } else { least });
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
                // Taylor's remainder of exp(s z), by its last term and what the exponential may grow to; since the mean
                // of z is 0 the sum is no less than the weights alone (Jensen).
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

const LANES: usize = 8;

/// Runs through pairs of numbers in partial sums.
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
fn folded(sums: [f64; LANES]) -> f64 {
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
}

/// Moments of z about the mean, by weight, of orders 0 to [`TERMS`].
#[inline(always)]
fn moments(z: &[f64], w: &[f64], mean: f64) -> [f64; TERMS + 1] {
    /// Partial sums that fit the registers.
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
    sums.map(|s| (s[0] + s[2]) + (s[1] + s[3]))
}

/// A stretch of the line whose cells are laid out apart from the others.
#[derive(Clone, Copy)]
struct Stretch(f64, f64);

impl Sum {
    /// Kernels about points in rising order, with positive weights; cells are laid out on these threads.
    pub fn new(points: Vec<f64>, weight: Vec<f64>, width: f64, threads: usize) -> Result<Sum, Fault> {
        let rising = points.windows(2).all(|pair| pair[0] <= pair[1]);
        let finite = points.iter().all(|v| v.is_finite()) && weight.iter().all(|&w| w > 0.0 && w.is_finite());
        let sound = rising && finite && width > 0.0 && width.is_finite();
        if points.len() != weight.len() || !sound {
            return Err(Fault::shape(
                "kernels need finite points in order, positive weights and a bandwidth",
            ));
        }
        let total = weight.iter().sum();
        let (starts, cells, series) = Default::default();
        let mut sum = Sum { points, weight, width, total, starts, cells, series };
        sum.lay_out(threads);
        Ok(sum)
    }

    fn lay_out(&mut self, threads: usize) {
        let n = self.points.len();
        if n <= FEW {
            self.starts.push(f64::NEG_INFINITY);
            self.cells.push(Cell::Few(0, n));
            return;
        }
        let least = self.weight.iter().fold(f64::INFINITY, |least, &w| least.min(w));
        let room = 2.0 * (self.total / least / BEYOND).ln();
        let layout = Layout { points: &self.points, weight: &self.weight, width: self.width, room };
        let (low, high) = (self.points[0], self.points[n - 1]);
        // Beyond the points: stretches of doubling length, until few of them matter.
        let mut before = Vec::new();
        let (mut at, mut step) = (low, self.width);
        let goes_on = |at: f64, next: f64| {
            layout.matter(at, at).len() > FEW
                && next.abs() < 1e300
                && next != at
                && layout.distance(at, at) < NOWHERE * self.width
        };
        while goes_on(at, at - step) {
            before.push(Stretch(at - step, at));
            at -= step;
            step *= 2.0;
        }
        let first = at;
        // Between them: stretches of equal length, to be shared out.
        let span = (high - low).max(self.width);
        let mut stretch = self.width * 64.0;
        while span / stretch > 4096.0 {
            stretch *= 2.0;
        }
        let mut stretches: Vec<Stretch> = before.into_iter().rev().collect();
        let (mut at, mut k) = (low, 0.0);
        while at < high {
            k += 1.0;
            let end = low + k * stretch;
            if end <= at {
                break;
            }
            stretches.push(Stretch(at, end));
            at = end;
        }
        let mut step = self.width;
        while goes_on(at, at + step) {
            stretches.push(Stretch(at, at + step));
            at += step;
            step *= 2.0;
        }
        let last = at;
        let (below, above) = (layout.matter(first, first), layout.matter(last, last));
        let threads = if n < 4096 { 1 } else { threads };
        let parts = run(threads, stretches, |stretch| layout.cut(stretch));
        self.starts.push(f64::NEG_INFINITY);
        self.cells.push(Cell::Few(0, below.end));
        for (starts, cells, series) in parts {
            let offset = self.series.len();
            self.starts.extend(starts);
            self.cells.extend(cells.into_iter().map(|cell| match cell {
                Cell::Series(k) => Cell::Series(offset + k),
                few => few,
            }));
            self.series.extend(series);
        }
        self.starts.push(last);
        self.cells.push(Cell::Few(above.start, n));
    }

    /// The sum at x.
    #[inline(always)]
    pub fn at(&self, x: f64) -> Scaled {
        let cell = self.starts.partition_point(|&start| start <= x).max(1) - 1;
        match self.cells[cell] {
            Cell::Few(from, to) => self.added(x, from..to),
            Cell::Series(k) => {
                let series = &self.series[k];
                let s = (x - series.middle) / self.width;
                let size = series.terms.iter().rev().fold(0.0, |sum, term| sum * s + term);
                Scaled { size, level: series.level + s * series.mean - 0.5 * s * s }
            }
        }
    }

    /// Some kernels at x, one by one.
    #[inline(always)]
    fn added(&self, x: f64, some: Range<usize>) -> Scaled {
        let (points, weight) = (&self.points[some.clone()], &self.weight[some]);
        if points.is_empty() {
            return Scaled::NONE;
        }
        let nearest = points.iter().fold(FAR, |least, v| least.min(square(x - v, self.width)));
        let mut size = 0.0;
        for (v, w) in points.iter().zip(weight) {
            size += w * exp_of_negative(0.5 * (nearest - square(x - v, self.width)));
        }
        Scaled { size, level: -0.5 * nearest }
    }

    /// The sum at x without some weight at two of its points; where little is left, the rest is added up one by one.
    pub fn without(&self, x: f64, taken: [Taken; 2]) -> Scaled {
        let whole = self.at(x);
        let own: f64 = taken
            .iter()
            .map(|t| t.weight * (-0.5 * square(x - t.point, self.width) - whole.level).min(700.0).exp())
            .sum();
        let rest = whole.size - own;
        if rest > LEFT * whole.size {
            return Scaled { size: rest, ..whole };
        }
        let left = |k: usize| {
            let (v, w) = (self.points[k], self.weight[k]);
            let rest = taken.iter().filter(|t| t.point == v).fold(w, |rest, t| rest - t.weight);
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
            return Scaled::NONE;
        }
        // Weights are at least those that the layout knew, or what is left of them.
        let known = above.map_or(f64::INFINITY, left).min(below.map_or(f64::INFINITY, left));
        let room = 2.0 * (self.total / known / BEYOND).ln();
        let mut size = 0.0;
        let mut add = |k: usize| {
            let z2 = square(self.points[k] - x, self.width);
            if z2 - nearest > room {
                return false;
            }
            // What is gone may be nearer than the nearest.
            let weight = left(k);
            if weight > 0.0 {
                size += weight * exp_of_negative(0.5 * (nearest - z2));
            }
            true
        };
        (at..self.points.len()).all(&mut add);
        (0..at).rev().all(&mut add);
        Scaled { size, level: -0.5 * nearest }
    }
}

type Cut = (Vec<f64>, Vec<Cell>, Vec<Series>);

impl Layout<'_> {
    /// Cuts a stretch into cells, halving those that are too wide.
    fn cut(&self, stretch: Stretch) -> Cut {
        let (mut starts, mut cells, mut series) = (Vec::new(), Vec::new(), Vec::new());
        let mut scratch = [Vec::new(), Vec::new()];
        // More cells than this are never needed where points can be told from each other.
        let most = 64 + 8 * self.matter(stretch.0, stretch.1).len();
        let mut todo = vec![stretch];
        while let Some(Stretch(a, b)) = todo.pop() {
            let some = self.matter(a, b);
            let middle = a + 0.5 * (b - a);
            let splits = middle > a && middle < b && cells.len() + todo.len() < most;
            if some.len() > FEW && self.distance(a, b) < NOWHERE * self.width {
                let reach = (self.points[some.end - 1] - self.points[some.start]) / self.width;
                let half = 0.5 * (b - a) / self.width;
                let found = (0.5 * reach * half <= REACH)
                    .then(|| self.series(a, b, some.clone(), &mut scratch))
                    .flatten();
                if let Some(found) = found {
                    starts.push(a);
                    cells.push(Cell::Series(series.len()));
                    series.push(found);
                    continue;
                }
                if splits {
                    todo.push(Stretch(middle, b));
                    todo.push(Stretch(a, middle));
                    continue;
                }
            }
            starts.push(a);
            cells.push(Cell::Few(some.start, some.end));
        }
        (starts, cells, series)
    }
}

/// How a cell becomes places on the line at which kernels are added up.
#[derive(Clone, Debug)]
pub struct Folds {
    /// Distances from a bound are taken as logarithms.
    pub log: bool,
    #[allow(missing_docs)]
    pub lower: f64,
    #[allow(missing_docs)]
    pub upper: f64,
    /// Images of a cell, sign * x + shift: itself first, then its reflections at the bounds.
    pub images: Vec<(f64, f64)>,
}

impl Folds {
    /// A cell on the scale of the points.
    #[inline(always)]
    fn scale(&self, x: f64) -> f64 {
        match (self.log, self.lower.is_finite(), self.upper.is_finite()) {
            (true, true, true) => (x - self.lower).ln() - (self.upper - x).ln(),
            (true, true, false) => (x - self.lower).ln(),
            (true, false, true) => -(self.upper - x).ln(),
            _ => x,
        }
    }
}

/// Sums of kernels for every column, those of its classes first.
#[derive(Debug)]
pub struct Kernels {
    /// Sums per column.
    pub per_column: usize,
    /// Column after column.
    pub sums: Vec<Sum>,
}

impl Kernels {
    /// One of the sums of a column, by the images of a cell.
    #[inline(always)]
    fn folded(&self, at: usize, u: f64, folds: &Folds) -> Scaled {
        let sum = &self.sums[at];
        if sum.points.is_empty() {
            return Scaled::NONE;
        }
        match folds.images.as_slice() {
            [_] => sum.at(u),
            images => images
                .iter()
                .map(|(sign, shift)| sum.at(sign * u + shift))
                .fold(Scaled::NONE, |all, one| all.and(one)),
        }
    }

    /// Log sums at places on the line, each of one sum, without some weight at two of its points.
    pub fn log_sums(
        &self,
        at: &[i64],
        x: &[f64],
        taken: Option<(&[f64], &[f64])>,
        folds: &Folds,
        threads: usize,
    ) -> Result<Vec<f64>, Fault> {
        let n = x.len();
        let known = |&k: &i64| usize::try_from(k).is_ok_and(|k| k < self.sums.len());
        let fits = taken.is_none_or(|(points, weights)| points.len() == 2 * n && weights.len() == 2 * n);
        if at.len() != n || !fits || !at.iter().all(known) {
            return Err(Fault::shape("there is not one sum of kernels for each cell"));
        }
        let parts = run(threads, blocks(0..n, 4096).collect(), |rows| {
            rows.map(|i| {
                let sum = at[i] as usize;
                match taken {
                    None => self.folded(sum, x[i], folds).ln(),
                    Some((points, weights)) => {
                        let own = |k: usize| Taken { point: points[2 * i + k], weight: weights[2 * i + k] };
                        let images = folds.images.iter();
                        let each = images.map(|(sign, shift)| {
                            self.sums[sum].without(sign * x[i] + shift, [own(0), own(1)])
                        });
                        each.fold(Scaled::NONE, |all, one| all.and(one)).ln()
                    }
                }
            })
            .collect::<Vec<f64>>()
        });
        Ok(parts.concat())
    }
}

/// How sums become the log density of each class: those of a class and a share of those of all.
#[derive(Clone, Copy, Debug)]
pub struct Shares<'a> {
    /// Factor of every sum of a column in the density that all classes share, columns x sums; 0 for none.
    pub common: &'a [f64],
    /// How often the common density is in that of a class, beside its own sum, columns x classes.
    pub prior: &'a [f64],
    /// Log of what the density of a class is divided by, columns x classes.
    pub log_total: &'a [f64],
    /// Log of what every sum has to be divided by to be one of densities, columns x sums.
    pub log_width: &'a [f64],
    /// What a column is multiplied by in the score; 0 where it says nothing.
    pub weight: &'a [f64],
}

/// Cells scored by kernels.
pub struct KernelScorer<'a> {
    cells: Box<dyn Matrix + 'a>,
    kernels: &'a Kernels,
    folds: &'a Folds,
    shares: Shares<'a>,
    classes: usize,
}

impl<'a> KernelScorer<'a> {
    /// Cells with as many columns as there are kernels for.
    pub fn new(
        cells: Box<dyn Matrix + 'a>,
        kernels: &'a Kernels,
        folds: &'a Folds,
        shares: Shares<'a>,
        classes: usize,
    ) -> Result<Self, Fault> {
        let (columns, each) = (cells.columns(), kernels.per_column);
        let fits = kernels.sums.len() == columns * each
            && classes <= each
            && [shares.common, shares.log_width].iter().all(|part| part.len() == columns * each)
            && [shares.prior, shares.log_total].iter().all(|part| part.len() == columns * classes)
            && shares.weight.len() == columns;
        if !fits {
            return Err(Fault::shape("the kernels do not fit the cells"));
        }
        Ok(KernelScorer { cells, kernels, folds, shares, classes })
    }

    /// Adds the log densities of one cell to the scores of its row.
    #[inline(always)]
    fn add_cell(&self, j: usize, x: f64, found: &mut [Scaled], scores: &mut [f64]) {
        let each = self.kernels.per_column;
        let u = self.folds.scale(x);
        for (k, found) in found.iter_mut().enumerate() {
            *found = self.kernels.folded(j * each + k, u, self.folds);
            found.level -= self.shares.log_width[j * each + k];
        }
        let shares = found.iter().zip(&self.shares.common[j * each..]);
        let common = shares.fold(Scaled::NONE, |all, (one, share)| all.and(one.times(*share)));
        let (prior, log_total) =
            (&self.shares.prior[j * self.classes..], &self.shares.log_total[j * self.classes..]);
        for (c, score) in scores.iter_mut().enumerate() {
            let density = found[c].and(common.times(prior[c])).ln();
            *score += self.shares.weight[j] * (density - log_total[c]);
        }
    }
}

impl Scorer for KernelScorer<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        16 * self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64], _: &mut Vec<usize>) -> Result<(), Fault> {
        let (columns, reading) = (self.cells.columns(), self.cells.reading());
        let mut scratch = Vec::new();
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        let mut found = vec![Scaled::NONE; self.kernels.per_column];
        for (r, scores) in scores.chunks_exact_mut(self.classes).enumerate() {
            for j in 0..columns {
                let x = numbers[r * columns + j];
                if x.is_nan() {
                    continue;
                }
                if !reading.accepts(x) {
                    self.cells.find_fault(rows.start + r..rows.start + r + 1)?;
                    continue;
                }
                if self.shares.weight[j] != 0.0 {
                    self.add_cell(j, x, &mut found, scores);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Numbers that look random.
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
    fn sums_are_those_of_all_points_one_by_one() {
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
                let sum = Sum::new(points.clone(), weight.clone(), width, 2).unwrap();
                let around = draws(400, 3).into_iter().map(|u| -3.0 + 12.0 * u);
                let beyond = (0..40).map(|k| points[points.len() - 1] + width * 1.3f64.powi(k));
                for x in around.chain(beyond).chain(points.iter().step_by(50).copied()) {
                    let (fast, slow) = (sum.at(x).ln(), plain(&points, &weight, width, x));
                    assert!((fast - slow).abs() <= 1e-9 + 1e-13 * slow.abs(), "{x} {width}: {fast} {slow}");
                }
            }
        }
    }

    #[test]
    fn most_points_in_a_small_part_of_the_range_are_cut_finely() {
        let mut points = draws(20_000, 1);
        points.extend([-1e6, 1e6]);
        points.sort_by(f64::total_cmp);
        let sum = Sum::new(points.clone(), vec![1.0; points.len()], 1e-3, 1).unwrap();
        let few = sum.cells.iter().all(|cell| !matches!(cell, Cell::Few(from, to) if to - from > FEW));
        assert!(few && sum.series.len() > 900);
    }

    #[test]
    fn a_point_can_be_taken_out() {
        let points = vec![0.0, 1.0, 1.5, 400.0];
        let weight = vec![1.0, 2.0, 1.0, 1.0];
        let sum = Sum::new(points, weight, 0.1, 1).unwrap();
        let none = Taken { point: 0.0, weight: 0.0 };
        let alone = sum.without(400.0, [Taken { point: 400.0, weight: 1.0 }, none]).ln();
        assert!((alone - -0.5 * (398.5f64 / 0.1).powi(2)).abs() < 1e-6);
        let twin = sum.without(1.0, [Taken { point: 1.0, weight: 1.0 }, none]).ln();
        assert!((twin - 3.7266531720786e-6f64.ln_1p()).abs() < 1e-12);
    }

    #[test]
    fn strange_points_are_refused() {
        for (points, weight, width) in [
            (vec![1.0, 0.0], vec![1.0, 1.0], 1.0),
            (vec![f64::NAN], vec![1.0], 1.0),
            (vec![0.0], vec![0.0], 1.0),
            (vec![0.0], vec![1.0], 0.0),
            (vec![0.0], vec![], 1.0),
        ] {
            assert!(Sum::new(points, weight, width, 1).is_err());
        }
        assert_eq!(Sum::new(vec![], vec![], 1.0, 1).unwrap().at(0.0), Scaled::NONE);
    }
}
