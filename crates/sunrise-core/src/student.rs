//! Whole rows scored by one multivariate Student-t per class; missing and infinite cells are integrated out.

use crate::cells::Matrix;
use crate::cholesky::factorise;
use crate::fault::{self, afford, Fault};
use crate::gamma::log_rising;
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

/// Dense rows scored by Student-t densities.
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

    /// The log density of the observed cells of a row by class c.
    ///
    /// Let z be the factor W times the row, with the centre in place of missing cells, and W_m the columns of W that
    /// belong to missing cells. The precision of these cells, given the others, is A = W_m' W_m. The squared distance
    /// of the others is |z|^2 - v' A^-1 v with v = W_m' z, and their determinant is that of all times that of A.
    fn marginal(&self, row: &[f64], missing: &[usize], c: usize) -> f64 {
        let (columns, lost) = (row.len(), missing.len());
        if lost == columns {
            return 0.0;
        }
        let all = &self.students;
        let centre = &all.centres[c * columns..][..columns];
        let factor = &all.factors[c * columns * columns..][..columns * columns];
        let difference: Vec<f64> =
            row.iter().zip(centre).map(|(x, m)| if x.is_finite() { x - m } else { 0.0 }).collect();
        let mut z = vec![0.0; columns];
        apply(factor, columns, &difference, &mut z);
        // Below the diagonal, the columns of W begin with their own row.
        let product = |m: usize, other: &dyn Fn(usize) -> f64| -> f64 {
            (m..columns).map(|k| factor[k * columns + m] * other(k)).sum()
        };
        let mut precision = vec![0.0; lost * lost];
        for (a, &m) in missing.iter().enumerate() {
            for (b, &other) in missing[..=a].iter().enumerate() {
                precision[a * lost + b] = product(m, &|k| factor[k * columns + other]);
            }
        }
        let mut v: Vec<f64> = missing.iter().map(|&m| product(m, &|k| z[k])).collect();
        if !factorise(&mut precision, &mut v) {
            return f64::NAN;
        }
        let squares = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>();
        let log_root: f64 = (0..lost).map(|a| precision[a * lost + a].ln()).sum();
        let (freedom, gone) = (all.freedom[c], 0.5 * lost as f64);
        let half = 0.5 * (freedom + (columns - lost) as f64);
        let constant = all.constant[c] - log_rising(half, gone) - log_root
            + gone * (std::f64::consts::PI * freedom).ln();
        constant - half * ln_1p((squares(&z) - squares(&v)).max(0.0) / freedom)
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

/// Some of the rows of a matrix.
#[inline(always)]
fn rows_of(numbers: &[f64], rows: Range<usize>, columns: usize) -> impl Iterator<Item = &[f64]> {
    numbers[rows.start * columns..rows.end * columns].chunks_exact(columns.max(1))
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
                        for (r, row) in rows_of(numbers, here.clone(), columns).enumerate() {
                            if row.iter().fold(true, |all, x| all & x.is_finite()) {
                                continue;
                            }
                            let missing: Vec<usize> = (0..columns).filter(|&j| !row[j].is_finite()).collect();
                            for (c, logs) in logs.iter_mut().enumerate() {
                                logs[r] = self.marginal(row, &missing, c);
                            }
                        }
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
    fn missing_cells_are_integrated_out() {
        // Scale matrix [[4, 2], [2, 10]]: its Cholesky factor is [[2, 0], [1, 3]], with inverse [[1/2, 0], [-1/6, 1/3]].
        let freedom = 5.0_f64;
        let constant = |n: f64, log_determinant: f64| {
            log_rising(0.5 * freedom, 0.5 * n)
                - 0.5 * log_determinant
                - 0.5 * n * (std::f64::consts::PI * freedom).ln()
        };
        let students = Students {
            centres: &[1.0, -1.0],
            factors: &[0.5, 0.0, -1.0 / 6.0, 1.0 / 3.0],
            constant: &[constant(2.0, 36.0_f64.ln())],
            freedom: &[freedom],
            weight: 1.0,
            share: 0.0,
        };
        let found = scores(&[2.5, f64::NAN, f64::INFINITY, 3.0, f64::NAN, f64::NAN], students);
        for (found, (difference, variance)) in found.iter().zip([(1.5, 4.0), (4.0, 10.0)]) {
            let truth = constant(1.0, f64::ln(variance))
                - 3.0 * f64::ln_1p(difference * difference / variance / freedom);
            assert!((found - truth).abs() < 1e-13, "{found} {truth}");
        }
        assert_eq!(found[2], 0.0);
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
