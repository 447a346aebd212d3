//! Scores that depend on the distance of a cell from an anchor, in a straight line or through a logarithm.

use crate::cells::Matrix;
use crate::fault::{self, afford, Fault};
use crate::lanes::{folded, LANES};
use crate::logarithm::ln_1p;
use crate::parallel::blocks;
use crate::score::{step, Scorer};
use crate::vectorised;
use std::ops::Range;

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

    /// The score of a row for one class; not finite if a step is beyond the range of floats.
    #[inline(always)]
    fn class(&self, row: &[f64], c: usize, curve: impl Fn(f64) -> f64) -> f64 {
        let columns = row.len();
        let [base, anchor, scale, power] = self.distances.parts.map(|part| &part[c * columns..][..columns]);
        let whole = columns - columns % LANES;
        let mut sums = [0.0; LANES];
        let mut add = |[x, base, anchor, scale, power]: [&[f64; LANES]; 5]| {
            for (k, sum) in sums.iter_mut().enumerate() {
                let u = scale[k] * (x[k] - anchor[k]).abs();
                let cell = base[k] + power[k] * curve(u);
                *sum += if x[k].is_nan() { 0.0 } else { cell };
            }
        };
        let parts = [row, base, anchor, scale, power];
        for at in (0..whole).step_by(LANES) {
            let lanes = parts.map(|part| part[at..].first_chunk::<LANES>());
            if let [Some(x), Some(base), Some(anchor), Some(scale), Some(power)] = lanes {
                add([x, base, anchor, scale, power]);
            }
        }
        if whole < columns {
            // The last cells are filled up with missing ones: a vector costs less than single logarithms.
            let rest = parts.map(|part| {
                let mut rest = [f64::NAN; LANES];
                rest[..columns - whole].copy_from_slice(&part[whole..]);
                rest
            });
            add(rest.each_ref());
        }
        folded(sums)
    }

    #[inline(always)]
    fn add_rows(
        &self,
        rows: Range<usize>,
        scores: &mut [f64],
        curve: impl Fn(f64) -> f64 + Copy,
    ) -> Result<(), Fault> {
        let (classes, columns, reading) =
            (self.distances.classes, self.cells.columns(), self.cells.reading());
        let mut scratch = Vec::new();
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        for (k, (r, scores)) in rows.zip(scores.chunks_exact_mut(classes)).enumerate() {
            let row = &numbers[k * columns..][..columns];
            if !row.iter().fold(true, |all, &x| all & (x.is_nan() | reading.accepts(x))) {
                self.cells.find_fault(r..r + 1)?;
            }
            for (c, score) in scores.iter_mut().enumerate() {
                let own = self.class(row, c, curve);
                *score += if own.is_finite() { own } else { self.far(row, c) };
            }
        }
        Ok(())
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

impl Scorer for DenseDistances<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        4 * self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64], _: &mut Vec<usize>) -> Result<(), Fault> {
        let step = step(self.cells.columns());
        for (rows, scores) in blocks(rows, step).zip(scores.chunks_mut(step * self.distances.classes)) {
            vectorised(
                #[inline(always)]
                || match self.distances.curve {
                    Curve::Line => self.add_rows(rows, scores, |u| u),
                    Curve::Log => self.add_rows(rows, scores, ln_1p),
                    Curve::LogSquare => self.add_rows(rows, scores, |u| ln_1p(u * u)),
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
