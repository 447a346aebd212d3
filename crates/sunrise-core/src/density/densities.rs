//! Log densities of the classes of a column: sums of kernels, smoothed by the density of all classes together.

use super::curve::Curve;
use super::finder::Finder;
use super::kernels::{Folds, KernelSums};
use super::lattice::{kernels_on_lattice, shares, Shares};
use super::removed::Removed;
use super::scaled::ScaledFloat;
use super::square;
use super::sum::RemovedPoint;
use crate::fault::Fault;
use crate::parallel::run;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Distance from all points, in bandwidths, up to which densities are tabulated.
const MARGIN: f64 = 10.0;
/// Largest position, in bandwidths, of a polynomial: beyond, the rounding of its nodes would count.
const FARTHEST: f64 = 1e5;
/// Values that a cheap curve takes to make.
const CHEAP: f64 = 32_768.0;
/// Mean weight of a point from which on a table of the points is better than a cheap curve, and than a dear one.
const OFTEN: f64 = 16.0;
const SOMETIMES: f64 = 4.0;
/// Most entries of a table.
const MOST_WHOLE: f64 = 4096.0;
/// Share of a total below which the rest of a subtraction is rounding.
const RESIDUE: f64 = 1.0 / (1u64 << 46) as f64;

/// Cells whose kernels are left out together: few, so that hardly any others are beside a cell with a large share.
const FEW_CELLS: usize = 64;

/// How the sums of a column become densities: (own sum + prior * common density) / total, class by class.
#[derive(Clone, Debug)]
pub struct Mixture {
    /// Factor of each sum in the common density of the column, columns x sums.
    pub common: Vec<f64>,
    /// Weight of the common density beside the own sum of a class, columns x classes.
    pub prior: Vec<f64>,
    /// The divisor of each density, the weight of its kernels and the prior, columns x classes.
    pub total: Vec<f64>,
    /// Log of the integral of one kernel, columns x sums.
    pub log_width: Vec<f64>,
    /// Distance between the nodes on which the points of a column lie; 0 if its points are the cells themselves.
    pub step: Vec<f64>,
    /// Number of classes.
    pub classes: usize,
}

/// How the log densities of a column are looked up.
#[derive(Debug)]
enum Table {
    /// They are evaluated for every cell.
    Exact,
    /// At the whole numbers from the first one on.
    Whole { first: f64, values: Vec<f64> },
    /// At the distinct points.
    Points { points: Vec<f64>, finder: Finder, values: Vec<f64> },
    /// As polynomials.
    Curve(Curve),
}

impl Table {
    /// The log densities of a cell, if the table has single cells and this one is among them.
    #[inline(always)]
    fn entry(&self, x: f64, classes: usize) -> Option<&[f64]> {
        match self {
            Table::Whole { first, values } => {
                let k = x - first;
                let entry = values.chunks_exact(classes).nth(k as usize);
                entry.filter(|_| k >= 0.0 && k.fract() == 0.0)
            }
            Table::Points { points, finder, values } => {
                finder.position(points, x).map(|at| &values[at * classes..][..classes])
            }
            Table::Exact | Table::Curve(_) => None,
        }
    }
}

/// The densities of all columns and classes, tabulated once enough rows have been scored to be worth it.
#[derive(Debug)]
pub struct Densities {
    kernels: Arc<KernelSums>,
    folds: Folds,
    mixture: Mixture,
    log_total: Vec<f64>,
    ranges: Vec<Option<Tabulated>>,
    tables: Vec<OnceLock<Table>>,
    /// Number of rows that have been scored so far.
    scored: AtomicUsize,
}

/// The range of the table of a column.
#[derive(Clone, Copy, Debug)]
struct Tabulated {
    low: f64,
    high: f64,
    /// The smallest bandwidth.
    width: f64,
    kind: Kind,
    /// About the number of values that the table takes to make.
    cost: f64,
}

/// The kind of a table.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Whole,
    Points,
    Curve,
}

impl Densities {
    /// Checks that sums and mixture fit together.
    pub fn new(kernels: Arc<KernelSums>, folds: Folds, mixture: Mixture) -> Result<Self, Fault> {
        let each = kernels.per_column;
        let columns = kernels.sums.len().checked_div(each).unwrap_or(0);
        let of_sums = [&mixture.common, &mixture.log_width].iter().all(|part| part.len() == columns * each);
        let of_classes = [&mixture.prior, &mixture.total]
            .iter()
            .all(|part| Some(part.len()) == columns.checked_mul(mixture.classes));
        let whole = kernels.sums.len() == columns * each && mixture.step.len() == columns;
        if !(whole && of_sums && of_classes && mixture.classes <= each && mixture.classes > 0) {
            return Err(Fault::shape("the kernels do not fit the classes and columns"));
        }
        let log_total = mixture.total.iter().map(|total| total.ln()).collect();
        let (ranges, tables, scored) = Default::default();
        let mut densities = Densities { kernels, folds, mixture, log_total, ranges, tables, scored };
        densities.ranges = (0..columns).map(|j| densities.range(j)).collect();
        densities.tables = (0..columns).map(|_| OnceLock::new()).collect();
        Ok(densities)
    }

    /// Makes the tables that cost no more than these rows and those before: every user of densities calls it first.
    pub fn prepare(&self, rows: usize, threads: usize) {
        let rows = self.scored.fetch_add(rows, Ordering::Relaxed).saturating_add(rows);
        let is_due = |j: &usize| {
            let cost = self.ranges[*j].map_or(0.0, |range| range.cost);
            self.tables[*j].get().is_none() && cost <= rows as f64
        };
        let due: Vec<usize> = (0..self.columns()).filter(is_due).collect();
        run(threads, due, |j| {
            self.tables[j].get_or_init(|| self.tabulated(j));
        });
    }

    fn table(&self, j: usize) -> &Table {
        self.tables[j].get().unwrap_or(&Table::Exact)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.tables.len()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.mixture.classes
    }

    /// Whether a column has any kernels.
    pub fn is_known(&self, j: usize) -> bool {
        let each = self.kernels.per_column;
        self.kernels.sums[j * each..][..each].iter().any(|sum| !sum.is_empty())
    }

    /// The range of the table of a column; `None` if it can have none.
    fn range(&self, j: usize) -> Option<Tabulated> {
        let each = self.kernels.per_column;
        let sums = self.kernels.sums[j * each..][..each].iter().filter(|sum| !sum.is_empty());
        let (mut low, mut high, mut width, mut wide) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, 0.0);
        // Cells lie between the nodes of a grid, where a table of single points would not help.
        let is_grid = self.mixture.step[j] > 0.0;
        let mut is_whole = !self.folds.log && !is_grid;
        for sum in sums {
            let points = sum.points();
            low = low.min(points[0]);
            high = high.max(points[points.len() - 1]);
            (width, wide) = (sum.width().min(width), sum.width().max(wide));
            is_whole = is_whole && high - low < MOST_WHOLE && points.iter().all(|v| v.fract() == 0.0);
        }
        if low > high {
            return None;
        }
        (low, high) = (low - MARGIN * wide, high + MARGIN * wide);
        let range = |kind, cost| Some(Tabulated { low, high, width, kind, cost });
        if is_whole && high - low < MOST_WHOLE {
            return range(Kind::Whole, high - low);
        }
        let cost = Curve::cost(high - low, width);
        let is_near = low.abs().max(high.abs()) <= FARTHEST * width && (high - low).is_finite();
        let curve = is_near.then_some(cost);
        // Few values that occur often, or are far apart as in a column of codes: each of them gets an entry.
        let each_weight = if curve.is_some_and(|cost| cost <= CHEAP) { OFTEN } else { SOMETIMES };
        let weight: f64 = self.kernels.sums[j * each..][..each].iter().map(|sum| sum.total()).sum();
        let most = MOST_WHOLE.min(weight / each_weight).min(curve.unwrap_or(f64::INFINITY));
        if let Some(n) = self.number_of_points(j, most).filter(|_| !is_grid) {
            return range(Kind::Points, n);
        }
        curve.map(|cost| Tabulated { low, high, width, kind: Kind::Curve, cost })
    }

    /// The number of distinct points of a column, if it has some and at most `most`.
    fn number_of_points(&self, j: usize, most: f64) -> Option<f64> {
        let each = self.kernels.per_column;
        let of_sums = self.kernels.sums[j * each..][..each].iter().map(|sum| sum.points().len());
        // The points of one sum are distinct, so a long sum decides without a search.
        if self.folds.log || of_sums.max().unwrap_or(0) as f64 > most {
            return None;
        }
        let n = self.distinct(j).len() as f64;
        (n > 0.0 && n <= most).then_some(n)
    }

    /// The distinct points of a column, in rising order.
    fn distinct(&self, j: usize) -> Vec<f64> {
        let each = self.kernels.per_column;
        let sums = &self.kernels.sums[j * each..][..each];
        let mut points: Vec<f64> = sums.iter().flat_map(|sum| sum.points()).copied().collect();
        points.sort_by(f64::total_cmp);
        points.dedup();
        points
    }

    fn tabulated(&self, j: usize) -> Table {
        let Some(Tabulated { low, high, width, kind, .. }) = self.ranges[j] else { return Table::Exact };
        let (each, classes) = (self.kernels.per_column, self.mixture.classes);
        let mut found = vec![ScaledFloat::ZERO; each];
        let mut at = |cells: &mut dyn Iterator<Item = f64>| {
            let mut values = Vec::new();
            for x in cells {
                values.resize(values.len() + classes, 0.0);
                let first = values.len() - classes;
                self.exact(j, x, &mut found, &mut values[first..]);
            }
            values
        };
        match kind {
            Kind::Whole => {
                let (first, last) = (low.ceil(), high.floor());
                let values = at(&mut (0..=(last - first) as usize).map(|k| first + k as f64));
                return Table::Whole { first, values };
            }
            Kind::Points => {
                let points = self.distinct(j);
                let values = at(&mut points.iter().copied());
                return Table::Points { finder: Finder::new(&points), points, values };
            }
            Kind::Curve => {}
        }
        let sums = &self.kernels.sums[j * each..][..each];
        let count = |u| sums.iter().map(|sum| sum.points().partition_point(|&v| v < u)).sum();
        Curve::new(low, high, width, classes, count, |u, logs| self.exact(j, u, &mut found, logs))
            .map_or(Table::Exact, Table::Curve)
    }

    /// The common density of a column at a position; fills in the sums themselves.
    fn common(&self, j: usize, u: f64, found: &mut [ScaledFloat]) -> ScaledFloat {
        let first = j * self.kernels.per_column;
        let mut common = ScaledFloat::ZERO;
        for (k, found) in found.iter_mut().enumerate() {
            *found = self.kernels.folded(first + k, u, &self.folds);
            found.level -= self.mixture.log_width[first + k];
            common = common.plus(found.times(self.mixture.common[first + k]));
        }
        common
    }

    /// The log densities of a column at a position, from the kernels.
    fn exact(&self, j: usize, u: f64, found: &mut [ScaledFloat], logs: &mut [f64]) {
        let common = self.common(j, u, found);
        let at = j * self.mixture.classes;
        for (c, log) in logs.iter_mut().enumerate() {
            *log = found[c].plus(common.times(self.mixture.prior[at + c])).ln() - self.log_total[at + c];
        }
    }

    /// Passes the log densities of the cells of a column to `sink(row, first class, log densities)`.
    #[inline(always)]
    pub(super) fn each(
        &self,
        j: usize,
        cells: impl Iterator<Item = (usize, f64)>,
        mut sink: impl FnMut(usize, usize, &[f64]),
    ) {
        let classes = self.mixture.classes;
        let (mut found, mut logs) = (vec![ScaledFloat::ZERO; self.kernels.per_column], vec![0.0; classes]);
        let mut exact = |r: usize, x: f64, sink: &mut dyn FnMut(usize, usize, &[f64])| {
            self.exact(j, self.folds.scale(x), &mut found, &mut logs);
            sink(r, 0, &logs);
        };
        match self.table(j) {
            Table::Curve(curve) => cells.for_each(|(r, x)| match curve.place(self.folds.scale(x)) {
                None => exact(r, x, &mut sink),
                Some(place) => curve.groups(&place, |class, logs| {
                    sink(r, class, &logs[..logs.len().min(classes - class)]);
                }),
            }),
            table => cells.for_each(|(r, x)| match table.entry(x, classes) {
                Some(logs) => sink(r, 0, logs),
                None => exact(r, x, &mut sink),
            }),
        }
    }

    /// Adds the weighted log densities of a column of cells to rows of scores; a missing cell adds 0.
    #[inline(always)]
    pub(super) fn add(&self, j: usize, column: &[f64], weight: f64, scores: &mut [f64]) {
        let classes = self.mixture.classes;
        let Table::Curve(curve) = self.table(j) else {
            let cells = column.iter().copied().enumerate().filter(|(_, x)| !x.is_nan());
            return self.each(j, cells, |r, class, logs| {
                let scores = &mut scores[r * classes + class..][..logs.len()];
                scores.iter_mut().zip(logs).for_each(|(score, log)| *score += weight * log);
            });
        };
        let (mut left, mut scaled) = (Vec::new(), Vec::new());
        let positions = if self.folds.log {
            scaled.extend(column.iter().map(|&x| self.folds.scale(x)));
            &scaled
        } else {
            column
        };
        curve.add(positions, weight, scores, classes, &mut left);
        let (mut found, mut logs) = (vec![ScaledFloat::ZERO; self.kernels.per_column], vec![0.0; classes]);
        for r in left.into_iter().filter(|&r| !positions[r].is_nan()) {
            self.exact(j, positions[r], &mut found, &mut logs);
            scores[r * classes..].iter_mut().zip(&logs).for_each(|(score, log)| *score += weight * log);
        }
    }

    /// Fills in the log densities of cells of a column by one class; NaN where they are not in the table.
    #[inline(always)]
    fn own(&self, j: usize, c: usize, column: &[f64], logs: &mut [f64]) {
        match self.table(j) {
            Table::Curve(curve) => curve.own(column, c, logs),
            table => {
                for (log, &x) in logs.iter_mut().zip(column) {
                    *log = table.entry(x, self.mixture.classes).map_or(f64::NAN, |logs| logs[c]);
                }
            }
        }
    }

    /// Fills in the log densities of cells of column j by their class c, without the kernels of the cells.
    ///
    /// A kernel has this weight. The common density stays; a class without other kernels has the common density alone.
    /// 0 for a missing cell.
    #[inline(always)]
    pub(super) fn left_out(&self, j: usize, c: usize, column: &[f64], weight: f64, logs: &mut [f64]) {
        self.own(j, c, column, logs);
        let (sum, at) = (j * self.kernels.per_column + c, j * self.mixture.classes + c);
        let (total, prior) = (self.mixture.total[at], self.mixture.prior[at]);
        let rest = total - prior - weight;
        let removed = Removed {
            log_height: weight.ln() - self.mixture.log_width[sum] - total.ln(),
            log_gain: if rest <= RESIDUE * total { f64::NAN } else { (total / (rest + prior)).ln() },
        };
        let mut shares = [0.0; FEW_CELLS];
        for (cells, logs) in column.chunks(FEW_CELLS).zip(logs.chunks_mut(FEW_CELLS)) {
            let shares = &mut shares[..cells.len()];
            self.own_kernels(j, c, cells, shares);
            if removed.leave(logs, shares) {
                continue;
            }
            let mut found = vec![ScaledFloat::ZERO; self.kernels.per_column];
            for ((share, log), &x) in shares.iter().zip(logs).zip(cells) {
                // Too little would be left of the density, or it is not in the table: the other kernels are added up.
                if x.is_nan() {
                    *log = 0.0;
                } else if !(*share <= 0.5 && log.is_finite()) {
                    *log = self.left_out_exactly(j, c, x, weight, &mut found);
                }
            }
        }
    }

    /// The points that a cell of column j has added to its class, and the share of the cell in each.
    #[inline(always)]
    pub(super) fn shares(&self, j: usize, x: f64) -> Shares {
        shares(x, self.mixture.step[j], &self.folds)
    }

    /// Fills in the kernels of cells at the cells themselves, reflections included, in heights of a kernel.
    #[inline(always)]
    fn own_kernels(&self, j: usize, c: usize, column: &[f64], kernels: &mut [f64]) {
        let (step, sum) = (self.mixture.step[j], j * self.kernels.per_column + c);
        if self.folds.images.len() > 1 {
            for (kernel, &x) in kernels.iter_mut().zip(column) {
                *kernel = self.folded_kernel(sum, x, self.shares(j, x));
            }
        } else if step == 0.0 {
            kernels.fill(1.0);
        } else {
            let per_step = 1.0 / step;
            kernels.iter_mut().zip(column).for_each(|(kernel, x)| *kernel = x * per_step);
            kernels_on_lattice(kernels, step / self.kernels.sums[sum].width());
        }
    }

    /// The sum of the kernels of a cell and of its reflections at the cell.
    fn folded_kernel(&self, sum: usize, x: f64, shares: Shares) -> f64 {
        let width = self.kernels.sums[sum].width();
        let of_images = self.folds.images.iter().flat_map(|(sign, shift)| {
            shares
                .iter()
                .map(move |(point, share)| share * (-0.5 * square(sign * x + shift - point, width)).exp())
        });
        of_images.sum()
    }

    fn left_out_exactly(&self, j: usize, c: usize, x: f64, weight: f64, found: &mut [ScaledFloat]) -> f64 {
        let (sum, at) = (j * self.kernels.per_column + c, j * self.mixture.classes + c);
        let (u, total, prior) = (self.folds.scale(x), self.mixture.total[at], self.mixture.prior[at]);
        let rest = total - prior - weight;
        let common = self.common(j, u, found);
        if rest <= RESIDUE * total {
            return common.ln();
        }
        let removed = self.shares(j, u).map(|(point, share)| RemovedPoint { point, weight: weight * share });
        let mut own = self.kernels.folded_without(sum, u, removed, &self.folds);
        own.level -= self.mixture.log_width[sum];
        own.plus(common.times(prior)).ln() - (rest + prior).ln()
    }

    /// The distance between the nodes of a column; 0 if its points are the cells themselves.
    pub(super) fn step(&self, j: usize) -> f64 {
        self.mixture.step[j]
    }

    /// How cells become positions on the line.
    pub(super) fn folds(&self) -> &Folds {
        &self.folds
    }

    /// The points of class c in column j, and their weights.
    pub(super) fn points(&self, j: usize, c: usize) -> (&[f64], &[f64]) {
        let sum = &self.kernels.sums[j * self.kernels.per_column + c];
        (sum.points(), sum.weight())
    }
}
