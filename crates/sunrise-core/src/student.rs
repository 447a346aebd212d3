//! Whole rows scored by one multivariate Student-t per class.

use crate::cells::Matrix;
use crate::fault::{self, afford, Fault};
use crate::logarithm::ln_1p;
use crate::normalise::exp_of_negative;
use crate::parallel::blocks;
use crate::score::{step, Scorer};
use crate::vectorised;
use crate::whitening::{apply, transpose, Beside, Distances, BESIDE};
use pulp::Arch;
use std::ops::Range;

/// The densities: class c has log density constant - half log(1 + distance^2 / freedom).
#[derive(Clone, Copy, Debug)]
pub struct Students<'a> {
    /// Centres, classes x columns.
    pub centres: &'a [f64],
    /// Inverse lower Cholesky factors of the scale matrices, classes x columns x columns.
    pub factors: &'a [f64],
    /// Log density at the centre of every class.
    pub constant: &'a [f64],
    /// Degrees of freedom of every class.
    pub freedom: &'a [f64],
    /// Factor of all scores.
    pub weight: f64,
    /// Share of the mean density of all classes in the density of each, which bounds the log-odds; 0 for none.
    pub share: f64,
}

/// Dense rows without a missing cell, scored by Student-t densities.
pub struct DenseStudents<'a> {
    cells: Box<dyn Matrix + 'a>,
    students: Students<'a>,
    /// Centres times the factors.
    shifts: Vec<f64>,
}

impl<'a> DenseStudents<'a> {
    /// Checks that cells and densities fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, students: Students<'a>) -> Result<Self, Fault> {
        let (classes, columns) = (students.constant.len(), cells.columns());
        let size = fault::cells(classes, columns)?;
        let fits = students.centres.len() == size
            && students.factors.len() == fault::cells(size, columns)?
            && students.freedom.len() == classes
            && (0.0..=1.0).contains(&students.share);
        if !fits {
            return Err(Fault::shape("the densities do not have one centre and factor for each class"));
        }
        afford(BESIDE, columns.max(classes))?;
        let mut shifts = vec![0.0; size];
        for (c, shift) in shifts.chunks_exact_mut(columns.max(1)).enumerate() {
            let factor = &students.factors[c * columns * columns..][..columns * columns];
            apply(factor, columns, &students.centres[c * columns..][..columns], shift);
        }
        Ok(DenseStudents { cells, students, shifts })
    }

    /// The log densities of 16 rows, class by class.
    #[inline(always)]
    fn log_densities(&self, rows: &[Beside], logs: &mut [Beside]) {
        let (columns, all) = (self.cells.columns(), &self.students);
        for (c, logs) in logs.iter_mut().enumerate() {
            let factor = &all.factors[c * columns * columns..][..columns * columns];
            let shift = &self.shifts[c * columns..][..columns];
            let [squares, ..] = Arch::new().dispatch(Distances { factor, shift, rows, other: None });
            let (half, constant) = (0.5 * (all.freedom[c] + columns as f64), all.constant[c]);
            let per_freedom = 1.0 / all.freedom[c];
            for (log, square) in logs.iter_mut().zip(squares) {
                *log = constant - half * ln_1p(square * per_freedom);
            }
        }
    }

    /// Mixes the mean density of all classes into each.
    #[inline(always)]
    fn bound(&self, logs: &mut [Beside]) {
        // A density is at least this much, relative to the largest of its row.
        let least = self.students.share / logs.len() as f64;
        let (mut top, mut total) = ([f64::NEG_INFINITY; BESIDE], [0.0; BESIDE]);
        for log in logs.iter() {
            top.iter_mut().zip(log).for_each(|(top, &log)| *top = if log > *top { log } else { *top });
        }
        for log in logs.iter_mut() {
            for r in 0..BESIDE {
                let e = exp_of_negative(log[r] - top[r]);
                total[r] += e;
                log[r] = e;
            }
        }
        let (own, floor) = ((1.0 - self.students.share) / least, least.ln());
        for log in logs.iter_mut() {
            for r in 0..BESIDE {
                // log(v) = log(least) + log(1 + (v / least - 1)), and v is at least `least`.
                let more = own * log[r] + (total[r] - 1.0);
                log[r] = top[r] + floor + ln_1p(if more > 0.0 { more } else { 0.0 });
            }
        }
    }
}

impl Scorer for DenseStudents<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        let columns = self.cells.columns();
        columns * (columns + 1) / 4 + 8
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (columns, classes) = (self.cells.columns(), self.students.constant.len());
        let (mut scratch, mut done) = (Vec::new(), 0);
        let (mut beside, mut logs) = (vec![[0.0; BESIDE]; columns], vec![[0.0; BESIDE]; classes]);
        for some in blocks(rows, step(columns)) {
            let numbers = self.cells.numbers(some.clone(), &mut scratch)?;
            for here in blocks(0..some.len(), BESIDE) {
                vectorised(
                    #[inline(always)]
                    || {
                        transpose(&numbers[here.start * columns..here.end * columns], columns, &mut beside);
                        self.log_densities(&beside, &mut logs);
                        if self.students.share > 0.0 {
                            self.bound(&mut logs);
                        }
                        let to = &mut scores[(done + here.start) * classes..(done + here.end) * classes];
                        for (r, scores) in to.chunks_exact_mut(classes).enumerate() {
                            for (score, log) in scores.iter_mut().zip(&logs) {
                                *score += self.students.weight * log[r];
                            }
                        }
                    },
                );
            }
            done += some.len();
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
    use ndarray::ArrayView2;

    fn scores(x: &[f64], students: Students) -> Vec<f64> {
        let columns = students.centres.len() / students.constant.len();
        let view = ArrayView2::from_shape((x.len() / columns, columns), x).unwrap();
        let cells = Box::new(Dense::new(view, Reading::REAL));
        let n = x.len() / columns;
        joint(n, &DenseStudents::new(cells, students).unwrap(), &vec![0.0; students.constant.len()]).unwrap()
    }

    #[test]
    fn scores_are_those_of_the_density() {
        // The factor [[1, 0], [2, 3]] maps (1, 1) to (1, 5), at squared distance 1 + 25 from the centre (0, 0).
        let (factors, centres) = ([1.0, 0.0, 2.0, 3.0, 1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]);
        let students = Students {
            centres: &centres,
            factors: &factors,
            constant: &[-1.0, -2.0],
            freedom: &[4.0, 6.0],
            weight: 0.5,
            share: 0.0,
        };
        let rows: Vec<f64> = (0..21).flat_map(|_| [1.0, 1.0]).collect();
        let truth = [0.5 * (-1.0 - 3.0 * 7.5_f64.ln()), -1.0];
        for found in scores(&rows, students).chunks(2) {
            assert!((found[0] - truth[0]).abs() < 1e-14 && (found[1] - truth[1]).abs() < 1e-14);
        }
        let found = scores(&rows, Students { weight: 1.0, share: 0.01, ..students });
        let p = [(2.0 * truth[0]).exp(), (-2.0_f64).exp()];
        for (found, p) in found[..2].iter().zip([0, 1].map(|c| 0.99 * p[c] + 0.005 * (p[0] + p[1]))) {
            assert!((found - p.ln()).abs() < 1e-14);
        }
    }

    #[test]
    fn densities_that_do_not_fit_are_refused() {
        let view = ArrayView2::from_shape((1, 2), &[0.0, 0.0]).unwrap();
        let students = Students {
            centres: &[0.0; 2],
            factors: &[1.0; 3],
            constant: &[0.0],
            freedom: &[1.0],
            weight: 1.0,
            share: 0.0,
        };
        assert!(DenseStudents::new(Box::new(Dense::new(view, Reading::REAL)), students).is_err());
    }
}
