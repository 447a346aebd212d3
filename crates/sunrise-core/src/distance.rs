//! Scores that depend on the distance of a cell from an anchor, in a straight line or through a logarithm.

use crate::cells::Matrix;
use crate::fault::{self, afford, Fault};
use crate::logarithm::ln_1p;
use crate::parallel::blocks;
use crate::score::{step, Scorer};
use crate::vectorised;
use std::ops::Range;

/// A curve in three steps that are the same for every cell: of a distance, of two columns together, of their sum.
///
/// Columns with the same power are joined, log(1 + u) + log(1 + v) = log(1 + (u + v + u v)), so that they share one
/// logarithm. A step beyond the range of floats shows as a score that is not finite.
trait Steps: Copy {
    fn of(self, u: f64) -> f64;
    fn join(self, u: f64, v: f64) -> f64;
    fn total(self, u: f64) -> f64;
}

#[derive(Clone, Copy)]
struct LineSteps;

impl Steps for LineSteps {
    #[inline(always)]
    fn of(self, u: f64) -> f64 {
        u
    }
    #[inline(always)]
    fn join(self, u: f64, v: f64) -> f64 {
        u + v
    }
    #[inline(always)]
    fn total(self, u: f64) -> f64 {
        u
    }
}

#[derive(Clone, Copy)]
struct LogSteps<const SQUARE: bool>;

impl<const SQUARE: bool> Steps for LogSteps<SQUARE> {
    #[inline(always)]
    fn of(self, u: f64) -> f64 {
        if SQUARE {
            u * u
        } else {
            u
        }
    }
    #[inline(always)]
    fn join(self, u: f64, v: f64) -> f64 {
        u + v + u * v
    }
    #[inline(always)]
    fn total(self, u: f64) -> f64 {
        ln_1p(u)
    }
}

/// The function h of the scaled distance u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// u
    Line,
    /// log(1 + u)
    Log,
    /// log(1 + u^2)
    LogSquare,
}

impl Curve {
    /// The function where its steps may be beyond the range of floats.
    fn far(self, distance: f64, scale: f64) -> f64 {
        let log = || distance.ln() + scale.ln();
        match self {
            Curve::Line => scale * distance,
            Curve::Log if scale * distance == f64::INFINITY => log(),
            Curve::Log => (scale * distance).ln_1p(),
            Curve::LogSquare if scale * distance > 1e8 => 2.0 * log(),
            Curve::LogSquare => (scale * distance * scale * distance).ln_1p(),
        }
    }
}

/// The parts of the score, each classes x columns; a cell adds base + power h(scale |x - anchor|).
#[derive(Clone, Copy, Debug)]
pub struct Distances<'a> {
    /// The function h.
    pub curve: Curve,
    /// Number of classes.
    pub classes: usize,
    /// base, anchor, scale and power.
    pub parts: [&'a [f64]; 4],
}

/// Columns that are turned into rows of memory at a time, and columns that share a logarithm.
const STRIP: usize = 256;
const JOINED: usize = 4;

/// Dense cells scored by distances.
pub struct DenseDistances<'a> {
    cells: Box<dyn Matrix + 'a>,
    distances: Distances<'a>,
}

impl<'a> DenseDistances<'a> {
    /// Checks that cells and parts fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, distances: Distances<'a>) -> Result<Self, Fault> {
        let size = fault::cells(distances.classes, cells.columns())?;
        if distances.parts.iter().any(|part| part.len() != size) {
            return Err(Fault::shape("the distances do not have one cell for each class and column"));
        }
        afford(1, cells.columns())?;
        Ok(DenseDistances { cells, distances })
    }

    #[inline(always)]
    fn add_rows(&self, rows: Range<usize>, scores: &mut [f64], steps: impl Steps) -> Result<(), Fault> {
        let (classes, columns, n) = (self.distances.classes, self.cells.columns(), rows.len());
        let mut scratch = Vec::new();
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        let reading = self.cells.reading();
        if !numbers.iter().fold(true, |all, &x| all & (x.is_nan() | reading.accepts(x))) {
            self.cells.find_fault(rows)?;
        }
        // Vectors run down the rows, so that a column has one anchor, one scale and one power for a vector.
        let (mut strip, mut sums) = (vec![0.0; n * STRIP.min(columns)], vec![0.0; n * classes]);
        for first in (0..columns).step_by(STRIP) {
            let width = STRIP.min(columns - first);
            for (r, row) in numbers.chunks_exact(columns).enumerate() {
                row[first..][..width].iter().enumerate().for_each(|(j, &x)| strip[j * n + r] = x);
            }
            for (c, sums) in sums.chunks_exact_mut(n).enumerate() {
                for at in (0..width).step_by(JOINED) {
                    let columns = &strip[at * n..][..n * JOINED.min(width - at)];
                    let place = c * self.cells.columns() + first + at;
                    self.add_columns(columns, place, sums, steps);
                }
            }
        }
        for (r, scores) in scores.chunks_exact_mut(classes).enumerate() {
            for (c, score) in scores.iter_mut().enumerate() {
                let own = sums[c * n + r];
                *score += if own.is_finite() { own } else { self.far(&numbers[r * columns..][..columns], c) };
            }
        }
        Ok(())
    }

    /// Adds some columns to the sums of one class; `place` is where their parts begin.
    #[inline(always)]
    fn add_columns(&self, columns: &[f64], place: usize, sums: &mut [f64], steps: impl Steps) {
        let n = sums.len();
        let part = |k: usize| self.distances.parts.map(|part| part[place + k]);
        if columns.len() == JOINED * n && (1..JOINED).all(|k| part(k)[3] == part(0)[3]) {
            let [a, b, c, d] = [part(0), part(1), part(2), part(3)];
            let (first, second) = columns.split_at(2 * n);
            let ((p, q), (s, t)) = (first.split_at(n), second.split_at(n));
            for ((sum, (&p, &q)), (&s, &t)) in sums.iter_mut().zip(p.iter().zip(q)).zip(s.iter().zip(t)) {
                let [(p, base_p), (q, base_q), (s, base_s), (t, base_t)] = [(p, a), (q, b), (s, c), (t, d)]
                    .map(
                        #[inline(always)]
                        |(x, part)| observed(x, part, steps),
                    );
                let total = steps.total(steps.join(steps.join(p, q), steps.join(s, t)));
                *sum += ((base_p + base_q) + (base_s + base_t)) + a[3] * total;
            }
            return;
        }
        for (k, cells) in columns.chunks_exact(n).enumerate() {
            let part = part(k);
            for (sum, &x) in sums.iter_mut().zip(cells) {
                let (u, base) = observed(x, part, steps);
                *sum += base + part[3] * steps.total(u);
            }
        }
    }

    /// The score of a row for one class, cell by cell.
    #[cold]
    fn far(&self, row: &[f64], c: usize) -> f64 {
        let cells = row.iter().enumerate().filter(|(_, x)| !x.is_nan());
        let score = cells.map(|(j, x)| {
            let [base, anchor, scale, power] = self.distances.parts.map(|part| part[c * row.len() + j]);
            // A power of 0 hides a logarithm that is not finite.
            let curve =
                if power == 0.0 { 0.0 } else { power * self.distances.curve.far((x - anchor).abs(), scale) };
            base + curve
        });
        score.sum()
    }
}

/// The curved distance of a cell and its base; both 0 if the cell is missing.
#[inline(always)]
fn observed(x: f64, [base, anchor, scale, _]: [f64; 4], steps: impl Steps) -> (f64, f64) {
    let u = steps.of(scale * (x - anchor).abs());
    if x.is_nan() {
        (0.0, 0.0)
    } else {
        (u, base)
    }
}

impl Scorer for DenseDistances<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        4 * self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let step = step(self.cells.columns());
        for (rows, scores) in blocks(rows, step).zip(scores.chunks_mut(step * self.distances.classes)) {
            vectorised(
                #[inline(always)]
                || match self.distances.curve {
                    Curve::Line => self.add_rows(rows, scores, LineSteps),
                    Curve::Log => self.add_rows(rows, scores, LogSteps::<false>),
                    Curve::LogSquare => self.add_rows(rows, scores, LogSteps::<true>),
                },
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use crate::score::joint;
    use ndarray::Array2;

    fn score(x: &Array2<f64>, curve: Curve, reading: Reading) -> Result<Vec<f64>, Fault> {
        let columns = x.ncols();
        let parts = [-1.0, 3.0, 0.5, -2.0].map(|part| vec![part; 2 * columns]);
        let distances = Distances { curve, classes: 2, parts: parts.each_ref().map(|part| &part[..]) };
        let block = DenseDistances::new(Box::new(Dense::new(x.view(), reading)), distances)?;
        joint(x.nrows(), &block, &[0.0, 0.5])
    }

    #[test]
    fn every_curve_adds_up_for_any_number_of_columns_and_missing_cells_do_not_count() {
        for columns in 1..20 {
            // Cells are four away from the anchor, so u is 2; one cell is missing.
            let mut x = Array2::from_elem((1, columns), -1.0);
            x[(0, columns / 2)] = f64::NAN;
            for (curve, h) in
                [(Curve::Line, 2.0), (Curve::Log, 3.0_f64.ln()), (Curve::LogSquare, 5.0_f64.ln())]
            {
                let expected = (columns - 1) as f64 * (-1.0 - 2.0 * h);
                let found = score(&x, curve, Reading::REAL).unwrap();
                assert!((found[0] - expected).abs() < 1e-13 && (found[1] - expected - 0.5).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn cells_far_away_have_finite_logarithms_and_refused_cells_are_faults() {
        let far = Array2::from_elem((1, 1), 1e300);
        let found = score(&far, Curve::LogSquare, Reading::REAL).unwrap();
        assert!((found[0] - (-1.0 - 4.0 * 0.5e300_f64.ln())).abs() < 1e-10);
        let infinite = Array2::from_elem((1, 9), f64::INFINITY);
        assert!(matches!(score(&infinite, Curve::Log, Reading::REAL), Err(Fault::Cell { row: 0, .. })));
        let positive = Reading { lowest: 0.0, ..Reading::REAL };
        let below = Array2::from_elem((1, 9), -1.0);
        assert!(matches!(score(&below, Curve::Log, positive), Err(Fault::Cell { row: 0, .. })));
    }
}
