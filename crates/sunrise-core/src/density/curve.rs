//! Log densities as piecewise polynomials: a look-up and a few multiplications, whatever the number of kernels.
//!
//! The line is cut into cells of equal width, a cell into equal intervals, a power of two of them. In an interval the log
//! density of a class is a polynomial of degree 7, whose error is bounded in [`super::polynomials`].

use super::polynomials::{intervals, Workspace, FLAT};
use crate::in_fours;
use pulp::{as_arrays, as_arrays_mut, Simd, WithSimd};

/// Coefficients of a polynomial.
pub(super) const TERMS: usize = 8;
/// Most cells of a column.
const MOST_CELLS: f64 = 4096.0;
/// Most values of the densities of a column, beside four for each point.
const MOST_VALUES: usize = 1 << 14;
/// Most coefficients of a column: 8 MB.
const MOST_NUMBERS: usize = 1 << 20;

/// A cell of the line. Its numbers are floats, because vectors of floats become indices fastest.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The middle of its first interval.
    middle: f64,
    /// Intervals per unit of length.
    scale: f64,
    /// Its first interval.
    first: f64,
    /// Number of its intervals after the first.
    others: f64,
}

impl Cell {
    /// A cell whose only interval is the first one, which has no polynomials.
    const EXACT: Cell = Cell { middle: 0.0, scale: 0.0, first: 0.0, others: 0.0 };
}

/// Positions whose polynomials are found together.
const SOME: usize = 256;

/// Adding it moves a whole number into the lowest bits of a float.
const TO_BITS: f64 = (1u64 << 52) as f64;

/// A whole number between 0 and 2^32 as an index.
#[inline(always)]
fn index(whole: f64) -> u32 {
    (whole + TO_BITS).to_bits() as u32
}

/// The log densities of all classes of a column.
#[derive(Debug)]
pub(super) struct Curve {
    low: f64,
    /// Cells per unit of length.
    per_unit: f64,
    /// The last one stands for all positions outside.
    cells: Vec<Cell>,
    /// Intervals x groups of classes x terms x classes of a group. The first interval is that of all cells where
    /// densities have to be evaluated exactly.
    coefficients: Vec<f64>,
    /// Coefficients of an interval.
    each: usize,
    /// Classes of a group.
    group: usize,
}

/// The place of a polynomial in the coefficients of a curve, and its argument, between -1/2 and 1/2.
pub(super) struct Place {
    first: usize,
    s: f64,
}

/// The functions to interpolate: fills in the log densities of all classes at a position.
pub(super) trait LogDensities: FnMut(f64, &mut [f64]) {}
impl<F: FnMut(f64, &mut [f64])> LogDensities for F {}

/// Classes that are evaluated together: they share a vector.
pub(super) fn group(classes: usize) -> usize {
    if classes <= 2 {
        2
    } else {
        4
    }
}

impl Curve {
    /// About the number of values of densities that a curve takes to make.
    pub(super) fn cost(span: f64, width: f64) -> f64 {
        // 8 nodes and 3 values to decide for each of 16 short intervals of a cell, and as much for longer ones.
        (span / (FLAT * width * 16.0)).min(MOST_CELLS) * 256.0
    }

    /// The curve between two positions for kernels of at least this bandwidth.
    ///
    /// `count` has the number of points before a position. Cells with most points come first, because the time is
    /// limited: next to lonely points a curve may need many intervals for few cells.
    pub(super) fn new(
        low: f64,
        high: f64,
        width: f64,
        classes: usize,
        count: impl Fn(f64) -> usize,
        mut log_densities: impl LogDensities,
    ) -> Option<Curve> {
        let mut size = FLAT * width * 16.0;
        while (high - low) / size > MOST_CELLS {
            size *= 2.0;
        }
        let n = ((high - low) / size).ceil();
        // Next to very large numbers cells are as narrow as the distance between floats.
        if !(n >= 1.0 && n.is_finite() && low + size > low && high - size < high) {
            return None;
        }
        let group = group(classes);
        let each = classes.next_multiple_of(group) * TERMS;
        let (cells, coefficients) = (vec![Cell::EXACT; n as usize + 1], vec![0.0; each]);
        let mut curve = Curve { low, per_unit: 1.0 / size, cells, coefficients, each, group };
        let start = |k: usize| low + k as f64 * size;
        let counts: Vec<usize> = (0..=n as usize).map(|k| count(start(k))).collect();
        let mut order: Vec<usize> = (0..n as usize).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(counts[k + 1] - counts[k]));
        let (mut space, mut left) = (Workspace::new(classes, group), MOST_VALUES + 4 * count(high));
        let mut counted = |u: f64, logs: &mut [f64]| {
            left = left.saturating_sub(1);
            log_densities(u, logs);
            left
        };
        for k in order {
            let room = MOST_NUMBERS.saturating_sub(curve.coefficients.len()) / each;
            let short = intervals(start(k), size, width, &mut space, &mut counted);
            let Some(n) = short.and_then(|n| space.fit(start(k), size, n, room, &mut counted)) else {
                continue;
            };
            let first = (curve.coefficients.len() / each) as f64;
            let (scale, others) = (f64::from(n) / size, f64::from(n) - 1.0);
            curve.cells[k] = Cell { middle: start(k) + 0.5 / scale, scale, first, others };
            curve.coefficients.extend_from_slice(&space.coefficients[..n as usize * each]);
        }
        Some(curve)
    }

    /// The number of the cell of a position, the last one outside and for NaN.
    #[inline(always)]
    fn cell(&self, u: f64) -> f64 {
        let (t, outside) = ((u - self.low) * self.per_unit, self.cells.len() as f64 - 1.0);
        let is_inside = (t >= 0.0) & (t < outside);
        if is_inside {
            t.floor()
        } else {
            outside
        }
    }

    /// The number of the interval of a position in its cell, and the argument of the polynomial, from -1/2 to 1/2.
    #[inline(always)]
    fn interval(&self, u: f64, cell: Cell) -> (f64, f64) {
        let t = (u - cell.middle) * cell.scale;
        // Rounding may put a position just outside its cell, and the end of an interval into the next one.
        // Comparisons become one instruction each; `f64::min` and `f64::max` take care of NaN besides.
        let part = t.round_ties_even();
        let part = if part > 0.0 { part } else { 0.0 };
        let part = if part < cell.others { part } else { cell.others };
        (cell.first + part, t - part)
    }

    /// The polynomial at a position; `None` if densities have to be evaluated exactly there, and for NaN.
    #[inline(always)]
    pub(super) fn place(&self, u: f64) -> Option<Place> {
        let (interval, s) = self.interval(u, self.cells[index(self.cell(u)) as usize]);
        (interval > 0.0).then_some(Place { first: interval as usize * self.each, s })
    }

    /// Fills in the intervals of positions, 0 without a polynomial, and the arguments.
    #[inline(always)]
    fn places(&self, positions: &[f64], at: &mut [u32], arguments: &mut [f64]) {
        // Short loops: this one fills vectors.
        for (at, &u) in at.iter_mut().zip(positions) {
            *at = index(self.cell(u));
        }
        let cells = self.cells.as_slice();
        for ((at, argument), &u) in at.iter_mut().zip(arguments).zip(positions) {
            let (interval, s) = self.interval(u, cells[*at as usize]);
            // 0 times NaN is not 0: without a polynomial, the argument of a missing or infinite cell is 0.
            (*at, *argument) = (index(interval), if interval > 0.0 { s } else { 0.0 });
        }
    }

    /// Fills in the log densities of positions by one class; NaN without a polynomial.
    #[inline(always)]
    pub(super) fn own(&self, positions: &[f64], class: usize, logs: &mut [f64]) {
        let (mut at, mut arguments) = ([0; SOME], [0.0; SOME]);
        for (positions, logs) in positions.chunks(SOME).zip(logs.chunks_mut(SOME)) {
            self.places(positions, &mut at, &mut arguments);
            if self.group == 2 {
                let (terms, _) = as_arrays(&self.coefficients);
                in_fours(OwnOfPairs { terms, at: &at, arguments: &arguments, class, logs });
            } else {
                for ((log, &at), &s) in logs.iter_mut().zip(&at).zip(&arguments) {
                    *log = self.class(&Place { first: at as usize * self.each, s }, class);
                }
            }
            for (log, &at) in logs.iter_mut().zip(&at) {
                *log = if at > 0 { *log } else { f64::NAN };
            }
        }
    }

    /// Adds weighted log densities to rows of scores; rows without a polynomial go to `left`.
    #[inline(always)]
    pub(super) fn add(
        &self,
        positions: &[f64],
        weight: f64,
        scores: &mut [f64],
        classes: usize,
        left: &mut Vec<usize>,
    ) {
        let (mut at, mut arguments) = ([0; SOME], [0.0; SOME]);
        let parts = positions.chunks(SOME).zip(scores.chunks_mut(SOME * classes));
        for (k, (positions, scores)) in parts.enumerate() {
            self.places(positions, &mut at, &mut arguments);
            let at = &at[..positions.len()];
            if at.iter().fold(false, |any, &at| any | (at == 0)) {
                left.extend(at.iter().enumerate().filter(|(_, &at)| at == 0).map(|(r, _)| SOME * k + r));
            }
            // The first interval, that of rows without a polynomial, has zeros.
            if classes == 2 {
                let ((terms, _), (scores, _)) = (as_arrays(&self.coefficients), as_arrays_mut(scores));
                in_fours(AddPairs { terms, at, arguments: &arguments, weight, scores });
                continue;
            }
            for ((scores, &at), &s) in scores.chunks_exact_mut(classes).zip(at).zip(&arguments) {
                self.groups(&Place { first: at as usize * self.each, s }, |class, logs| {
                    scores[class..].iter_mut().zip(logs).for_each(|(score, log)| *score += weight * log);
                });
            }
        }
    }

    /// Passes the log densities of each group of classes to `sink(first class, log densities)`.
    #[inline(always)]
    pub(super) fn groups(&self, place: &Place, mut sink: impl FnMut(usize, &[f64])) {
        let terms = self.coefficients[place.first..][..self.each].chunks_exact(TERMS * self.group);
        for (k, terms) in terms.enumerate() {
            if self.group == 2 {
                sink(2 * k, &evaluate::<2>(terms, place.s));
            } else {
                sink(4 * k, &evaluate::<4>(terms, place.s));
            }
        }
    }

    /// The log density of one class, if a group has four.
    #[inline(always)]
    fn class(&self, place: &Place, c: usize) -> f64 {
        // The size of a group is written out, because a division by a variable takes long.
        let terms = &self.coefficients[place.first + c / 4 * (4 * TERMS)..][..4 * TERMS];
        let mut coefficients = [[0.0]; TERMS];
        for (coefficient, terms) in coefficients.iter_mut().zip(as_arrays::<4, _>(terms).0) {
            coefficient[0] = terms[c % 4];
        }
        polynomials(&coefficients, [place.s])[0]
    }
}

/// Adds weighted log densities of two classes to rows of scores.
struct AddPairs<'a> {
    terms: &'a [[f64; 2 * TERMS]],
    at: &'a [u32],
    arguments: &'a [f64],
    weight: f64,
    scores: &'a mut [[f64; 2]],
}

impl WithSimd for AddPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for ((scores, &at), &s) in self.scores.iter_mut().zip(self.at).zip(self.arguments) {
            let sums = pair(simd, &self.terms[at as usize], s);
            (0..2).for_each(|k| scores[k] += self.weight * (sums[k] + s * sums[2 + k]));
        }
    }
}

/// Fills in the log densities of one of two classes.
struct OwnOfPairs<'a> {
    terms: &'a [[f64; 2 * TERMS]],
    at: &'a [u32],
    arguments: &'a [f64],
    class: usize,
    logs: &'a mut [f64],
}

impl WithSimd for OwnOfPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for ((log, &at), &s) in self.logs.iter_mut().zip(self.at).zip(self.arguments) {
            let sums = pair(simd, &self.terms[at as usize], s);
            *log = sums[self.class % 2] + s * sums[2 + self.class % 2];
        }
    }
}

/// The polynomials of a group of two classes: sums of the even powers of both, and of the odd ones without a factor s.
#[inline(always)]
fn pair<S: Simd>(simd: S, terms: &[f64; 2 * TERMS], s: f64) -> [f64; 4] {
    // A vector has two neighbouring powers of both classes, so both sums are computed side by side.
    let mut sums = [0.0; 4];
    let ([a, b, c, d], [sum]) = (S::as_simd_f64s(terms).0, S::as_mut_simd_f64s(&mut sums).0) else {
        let [first, second] = evaluate::<2>(terms, s);
        return [first, second, 0.0, 0.0];
    };
    let square = simd.splat_f64s(s * s);
    let upper = simd.mul_add_e_f64s(square, *d, *c);
    let upper = simd.mul_add_e_f64s(square, upper, *b);
    *sum = simd.mul_add_e_f64s(square, upper, *a);
    sums
}

/// The polynomials of a group of `G` classes.
#[inline(always)]
fn evaluate<const G: usize>(terms: &[f64], s: f64) -> [f64; G] {
    let terms = &terms[..TERMS * G];
    let mut coefficients = [[0.0; G]; TERMS];
    for (power, coefficients) in coefficients.iter_mut().enumerate() {
        coefficients.copy_from_slice(&terms[power * G..][..G]);
    }
    polynomials(&coefficients, [s; G])
}

/// `N` polynomials at `N` arguments, in an order that lets a processor compute several powers at the same time.
#[inline(always)]
fn polynomials<const N: usize>(coefficients: &[[f64; N]; TERMS], s: [f64; N]) -> [f64; N] {
    let mut values = [0.0; N];
    for k in 0..N {
        let (c, s, s2) = (coefficients, s[k], s[k] * s[k]);
        let low = (c[0][k] + c[1][k] * s) + (c[2][k] + c[3][k] * s) * s2;
        let high = (c[4][k] + c[5][k] * s) + (c[6][k] + c[7][k] * s) * s2;
        values[k] = low + high * (s2 * s2);
    }
    values
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Log of the sum of kernels of bandwidth 1 about points, for two classes that share the points unequally.
    fn densities(points: &[f64], u: f64, out: &mut [f64]) {
        for (c, out) in out.iter_mut().enumerate() {
            let logs: Vec<f64> = points
                .iter()
                .enumerate()
                .map(|(k, v)| if k % 2 == c { 0.0 } else { -5.0 } - 0.5 * (u - v) * (u - v))
                .collect();
            let top = logs.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            *out = top + logs.iter().map(|l| (l - top).exp()).sum::<f64>().ln();
        }
    }

    #[test]
    fn curves_are_within_their_bound() {
        let flat: Vec<f64> = (0..200).map(|k| 0.1 * f64::from(k)).collect();
        for points in [vec![0.0], vec![0.0, 3.0, 4.0, 11.0], vec![0.0, 30.0], flat] {
            let (low, high) = (points[0] - 10.0, points[points.len() - 1] + 10.0);
            let curve = Curve::new(low, high, 1.0, 2, |_| 9, |u, out| densities(&points, u, out)).unwrap();
            let (mut exact, mut far) = ([0.0; 2], 0);
            for k in 0..=20_000 {
                let u = low + (high - low) * f64::from(k) / 20_001.0;
                densities(&points, u, &mut exact);
                match curve.place(u) {
                    None => far += 1,
                    Some(place) => {
                        curve.groups(&place, |_, found| {
                            assert!(
                                (0..2).all(|c| (found[c] - exact[c]).abs() < 1e-9),
                                "{u} {found:?} {exact:?}"
                            );
                            let mut own = [0.0];
                            assert!((0..2).all(|c| {
                                curve.own(&[u], c, &mut own);
                                (found[c] - own[0]).abs() < 1e-13
                            }));
                        });
                    }
                }
            }
            assert!(far < 300, "{far} positions of {points:?} have no polynomial");
        }
    }

    #[test]
    fn a_long_line_has_few_cells_and_its_ends_have_none() {
        let points = [0.0, 1e6];
        let curve =
            Curve::new(-10.0, 1e6 + 10.0, 1.0, 2, |_| 2, |u, out| densities(&points, u, out)).unwrap();
        assert!(curve.cells.len() <= 4097 && curve.coefficients.len() <= MOST_NUMBERS + 16);
        for u in [-11.0, 1e6 + 600.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(curve.place(u).is_none());
        }
        assert!(Curve::new(1e300, 1e300, 1.0, 2, |_| 0, |_, _| ()).is_none());
    }

    #[test]
    fn rows_without_a_polynomial_keep_their_scores() {
        let positions = [f64::NAN, 1.0, f64::INFINITY, f64::NEG_INFINITY, 1e9];
        for classes in [2, 3, 5] {
            let flat = |_: f64, out: &mut [f64]| out.fill(-1.0);
            let curve = Curve::new(0.0, 2.0, 1.0, classes, |_| 9, flat).unwrap();
            let (mut scores, mut left) = (vec![0.5; 5 * classes], Vec::new());
            curve.add(&positions, 2.0, &mut scores, classes, &mut left);
            assert_eq!(left, [0, 2, 3, 4]);
            for (r, scores) in scores.chunks(classes).enumerate() {
                assert!(scores.iter().all(|&s| s == if r == 1 { -1.5 } else { 0.5 }), "{r} {scores:?}");
            }
        }
    }
}
