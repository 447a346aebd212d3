//! The polynomials of a cell of the line: how long their intervals may be.
//!
//! The error has a proven bound. Let a density be a sum of Gaussian kernels of bandwidth 1 (wider kernels are sums of
//! kernels of bandwidth 1, too), z the distance of a kernel from the middle m of the interval, and E the mean by the
//! kernels' shares in the density at m. For complex s, l(m + s) = l(m) - s^2 / 2 + log E exp(-s z), so with
//! A = E cosh(2 r (z - D)) for the D that minimises it,
//!
//! A = exp( (l(m + 2r) + l(m - 2r)) / 2 - l(m) + (2r)^2 / 2 ),
//! |E exp(-s (z - D)) - 1| <= E cosh(r (z - D)) - 1 + E sinh(r |z - D|) <= q = sqrt((A + 1) / 2) - 1 + sqrt((A - 1) / 2)
//!
//! for |s| <= r (Jensen). If q < 1, l is a quadratic plus a function that is analytic and at most M = -log(1 - q) inside
//! this circle. By Cauchy's estimate its interpolation differs by at most 2 M (a / (2 (r - a)))^8. Three values of the
//! density so decide whether an interval is short enough.
//!
//! Most densities are smoother than three values can tell. A polynomial for several short intervals together is of the
//! same degree as the interpolations in each of them, so it differs from these by at most Lebesgue's constant, 2.4 for 8
//! nodes, times the largest difference at their nodes: where that is small enough, it takes their place.

use super::curve::TERMS;

/// The radius r of the circle divided by the half width a of the interval.
const RATIO: f64 = 9.5;
/// Largest difference of a longer polynomial at the nodes of the short intervals: times 2.4, the bound is 4e-10.
const TOLERANCE: f64 = 1.6e-10;
/// Largest A: the bound is 5e-10 for it.
const LARGEST: f64 = 1.815;
/// Width of an interval, in bandwidths, at which exp((2r)^2 / 2), the A of a flat density, is below [`LARGEST`].
pub(super) const FLAT: f64 = 0.1148;
/// Most intervals of a cell.
const MOST_INTERVALS: u32 = 4096;

/// Memory for the polynomials of one cell.
pub(super) struct Workspace {
    matrix: [[f64; TERMS]; TERMS],
    group: usize,
    /// Log densities at the nodes of an interval, and last in its middle.
    values: Vec<Vec<f64>>,
    /// Log densities at the nodes of all short intervals, one after the other.
    at_nodes: Vec<f64>,
    pub(super) coefficients: Vec<f64>,
}

impl Workspace {
    pub(super) fn new(classes: usize, group: usize) -> Self {
        Workspace {
            matrix: interpolation(),
            group,
            values: vec![vec![0.0; classes]; TERMS + 1],
            at_nodes: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    /// Fills in the coefficients of as few intervals as possible, at most `most`; returns their number.
    pub(super) fn fit(
        &mut self,
        start: f64,
        size: f64,
        short: u32,
        most: usize,
        log_densities: &mut impl FnMut(f64, &mut [f64]) -> usize,
    ) -> Option<u32> {
        let classes = self.values[0].len();
        self.at_nodes.clear();
        for part in 0..short {
            for node in nodes() {
                log_densities(
                    start + size * (f64::from(part) + 0.5 + node) / f64::from(short),
                    &mut self.values[0],
                );
                self.at_nodes.extend_from_slice(&self.values[0]);
            }
        }
        let counts = (0..).map(|k| 1u32 << k).take_while(|&n| n <= short && n as usize <= most);
        counts.into_iter().find(|&n| {
            self.coefficients.clear();
            (0..n).all(|part| {
                let middle = start + size * (f64::from(part) + 0.5) / f64::from(n);
                log_densities(middle, &mut self.values[TERMS]);
                for (node, values) in nodes().zip(&mut self.values) {
                    log_densities(middle + size * node / f64::from(n), values);
                }
                self.append();
                let (each, first) = ((short / n) as usize, (part * (short / n)) as usize);
                let own = &self.at_nodes[first * TERMS * classes..][..each * TERMS * classes];
                n == short || self.is_close(own, each)
            })
        })
    }

    /// Appends the polynomials of an interval from the values at its nodes and in its middle.
    fn append(&mut self) {
        let middle = &self.values[TERMS];
        for first in (0..middle.len()).step_by(self.group) {
            for (power, row) in self.matrix.iter().enumerate() {
                for c in first..first + self.group {
                    let term = middle.get(c).map_or(0.0, |middle| {
                        let sum: f64 = row.iter().zip(&self.values).map(|(m, at)| m * (at[c] - middle)).sum();
                        if power == 0 {
                            middle + sum
                        } else {
                            sum
                        }
                    });
                    self.coefficients.push(term);
                }
            }
        }
    }

    /// Whether the last polynomials equal log densities at the nodes of `each` short intervals.
    fn is_close(&self, values: &[f64], each: usize) -> bool {
        let (classes, group) = (self.values[0].len(), self.group);
        let size = classes.next_multiple_of(group) * TERMS;
        let terms = &self.coefficients[self.coefficients.len() - size..];
        let places =
            (0..each).flat_map(|k| nodes().map(move |node| (k as f64 + 0.5 + node) / each as f64 - 0.5));
        places.zip(values.chunks_exact(classes)).all(|(s, values)| {
            (0..classes).all(|c| {
                let terms = terms[c / group * TERMS * group + c % group..].iter().step_by(group).take(TERMS);
                (terms.rev().fold(0.0, |sum, term| sum * s + term) - values[c]).abs() <= TOLERANCE
            })
        })
    }
}

/// The smallest number of intervals of a cell whose bounds hold; `None` if there are too many.
pub(super) fn intervals(
    start: f64,
    size: f64,
    width: f64,
    space: &mut Workspace,
    log_densities: &mut impl FnMut(f64, &mut [f64]) -> usize,
) -> Option<u32> {
    let [middle, before, after, ..] = &mut space.values[..] else { return None };
    let mut is_short = |at: f64, reach: f64| {
        log_densities(at, middle);
        log_densities(at - reach, before);
        // No values are left: the interval counts as too long, and so do all shorter ones.
        if log_densities(at + reach, after) == 0 {
            return false;
        }
        let rise = 0.5 * (reach / width).powi(2);
        let around = before.iter().zip(after.iter());
        middle.iter().zip(around).all(|(m, (b, a))| m.is_finite() && 0.5 * (a + b) - m + rise <= LARGEST.ln())
    };
    let halvings = (0..).map(|k| 1 << k).take_while(|&n| n <= MOST_INTERVALS);
    halvings.into_iter().find(|&intervals: &u32| {
        let half = 0.5 * size / f64::from(intervals);
        (0..intervals).all(|part| is_short(start + (2.0 * f64::from(part) + 1.0) * half, 2.0 * RATIO * half))
    })
}

/// Chebyshev nodes between -1/2 and 1/2.
fn nodes() -> impl Iterator<Item = f64> {
    (0..TERMS).map(|k| 0.5 * angle(k).cos())
}

fn angle(k: usize) -> f64 {
    (2 * k + 1) as f64 * std::f64::consts::PI / (2 * TERMS) as f64
}

/// The coefficients of a polynomial, row by row, as weights of its values at the nodes.
fn interpolation() -> [[f64; TERMS]; TERMS] {
    let mut matrix = [[0.0; TERMS]; TERMS];
    // Chebyshev's polynomials of 2s, in powers of s: T_0 = 1, T_1 = 2s, T_n = 4s T_(n - 1) - T_(n - 2).
    let mut chebyshev = [[0.0; TERMS]; TERMS];
    chebyshev[0][0] = 1.0;
    chebyshev[1][1] = 2.0;
    for n in 2..TERMS {
        for power in 0..TERMS {
            let shifted = if power > 0 { 4.0 * chebyshev[n - 1][power - 1] } else { 0.0 };
            chebyshev[n][power] = shifted - chebyshev[n - 2][power];
        }
    }
    for (power, row) in matrix.iter_mut().enumerate() {
        for (k, weight) in row.iter_mut().enumerate() {
            for (n, polynomial) in chebyshev.iter().enumerate() {
                let share = if n == 0 { 1.0 } else { 2.0 } / TERMS as f64;
                *weight += share * (n as f64 * angle(k)).cos() * polynomial[power];
            }
        }
    }
    matrix
}
