//! Linear equations with a positive definite matrix: one thread and one order of additions, so that bits do not depend on a
//! library, and no threads of a library wait beside ours.

use crate::fault::{self, Fault};
use crate::lanes::sum_of;
use crate::vectorised;

/// Solves `matrix` x = `right` by Cholesky's method; None if the matrix is not positive definite.
///
/// The matrix is square, row by row; only its part on and below the diagonal is read.
pub fn solve(mut matrix: Vec<f64>, right: &[f64]) -> Result<Option<Vec<f64>>, Fault> {
    let n = right.len();
    if matrix.len() != fault::cells(n, n)? {
        return Err(Fault::shape("the matrix is not square, or does not fit to the right side"));
    }
    let mut x = right.to_vec();
    let is_definite = vectorised(
        #[inline(always)]
        || factorise(&mut matrix, &mut x),
    );
    if !is_definite {
        return Ok(None);
    }
    for i in (0..n).rev() {
        x[i] /= matrix[i * n + i];
        let known = x[i];
        x[..i].iter_mut().zip(&matrix[i * n..]).for_each(|(x, factor)| *x -= factor * known);
    }
    Ok(x.iter().all(|x| x.is_finite()).then_some(x))
}

/// Replaces a matrix by its factor and the right side by the solution of the first half; false if a pivot is not positive.
#[inline(always)]
pub(crate) fn factorise(matrix: &mut [f64], x: &mut [f64]) -> bool {
    let n = x.len();
    for i in 0..n {
        let (above, row) = matrix.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..][..j + 1];
            row[j] = (row[j] - sum_of::<8, 2>([&row[..j], &other[..j]], |[a, b]| a * b)) / other[j];
        }
        let pivot = row[i] - sum_of::<8, 1>([&row[..i]], |[a]| a * a);
        if pivot <= 0.0 || pivot.is_nan() {
            return false;
        }
        row[i] = pivot.sqrt();
        x[i] = (x[i] - sum_of::<8, 2>([&row[..i], &x[..i]], |[a, b]| a * b)) / row[i];
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn solutions_solve_the_equations() {
        for n in [0, 1, 2, 7, 40] {
            let a: Vec<f64> = (0..n * n).map(|k| ((k * 37 % 101) as f64 - 50.0) / 50.0).collect();
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n).map(|k| a[i * n + k] * a[j * n + k]).sum();
                    matrix[i * n + j] = product + f64::from(u8::from(i == j));
                }
            }
            let right: Vec<f64> = (0..n).map(|k| k as f64 - 3.0).collect();
            let x = solve(matrix.clone(), &right).unwrap().unwrap();
            for i in 0..n {
                let left: f64 = (0..n).map(|j| matrix[i * n + j] * x[j]).sum();
                assert!((left - right[i]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn matrices_that_are_not_definite_have_no_solution() {
        assert_eq!(solve(vec![1.0, 2.0, 2.0, 1.0], &[1.0, 1.0]), Ok(None));
        assert_eq!(solve(vec![f64::NAN], &[1.0]), Ok(None));
        assert!(solve(vec![1.0; 3], &[1.0, 1.0]).is_err());
    }
}
