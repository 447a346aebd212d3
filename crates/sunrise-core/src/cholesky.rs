//! Linear equations with a positive definite matrix: one thread and one order of additions, so that bits do not depend on a
//! library, and no threads of a library wait beside ours.

use crate::fault::{self, Fault};
use crate::lanes::row_sums;
use pulp::{Arch, Simd, WithSimd};

/// Solves `matrix` x = `right` by Cholesky's method; None if the matrix is not positive definite.
///
/// The matrix is square, row by row; only its part on and below the diagonal is read.
pub fn solve(mut matrix: Vec<f64>, right: &[f64]) -> Result<Option<Vec<f64>>, Fault> {
    let n = right.len();
    if matrix.len() != fault::cells(n, n)? {
        return Err(Fault::shape("the matrix is not square, or does not fit to the right side"));
    }
    let mut x = right.to_vec();
    if !factorise(&mut matrix, &mut x) {
        return Ok(None);
    }
    for i in (0..n).rev() {
        x[i] /= matrix[i * n + i];
        let known = x[i];
        x[..i].iter_mut().zip(&matrix[i * n..]).for_each(|(x, factor)| *x -= factor * known);
    }
    Ok(x.iter().all(|x| x.is_finite()).then_some(x))
}

/// Rows that are reduced together: a row above is read once for all of them, because a large matrix does not fit into a cache.
const TOGETHER: usize = 16;
/// Rows whose sums are computed side by side: an addition waits for the one before to its sum.
const BESIDE: usize = 4;

/// Replaces a matrix by its factor and the right side by the solution of the first half; false if a pivot is not positive.
pub(crate) fn factorise(matrix: &mut [f64], x: &mut [f64]) -> bool {
    Arch::new().dispatch(Factorise { matrix, x })
}

struct Factorise<'a> {
    matrix: &'a mut [f64],
    x: &'a mut [f64],
}

impl WithSimd for Factorise<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Factorise { matrix, x } = self;
        let n = x.len();
        for first in (0..n).step_by(TOGETHER) {
            let last = (first + TOGETHER).min(n);
            let (above, rows) = matrix.split_at_mut(first * n);
            for (j, other) in above.chunks_exact(n).enumerate() {
                for some in rows[..(last - first) * n].chunks_mut(BESIDE * n) {
                    if some.len() == BESIDE * n {
                        reduce::<S, BESIDE>(simd, some, other, j);
                    } else {
                        some.chunks_exact_mut(n).for_each(|row| reduce::<S, 1>(simd, row, other, j));
                    }
                }
            }
            for i in first..last {
                let (above, row) = rows.split_at_mut((i - first) * n);
                let others = above.chunks_exact(n).enumerate();
                others.for_each(|(k, other)| reduce::<S, 1>(simd, row, other, first + k));
                let [squares, product] =
                    row_sums(simd, [[&row[..i]], [&x[..i]]], [&row[..i]], |[a], [b]| simd.mul_f64s(a, b));
                let pivot = row[i] - squares;
                if pivot <= 0.0 || pivot.is_nan() {
                    return false;
                }
                row[i] = pivot.sqrt();
                x[i] = (x[i] - product) / row[i];
            }
        }
        true
    }
}

/// Replaces number j of some rows by that of the factor, whose row j is known.
#[inline(always)]
fn reduce<S: Simd, const R: usize>(simd: S, rows: &mut [f64], other: &[f64], j: usize) {
    let n = other.len();
    let known: [[&[f64]; 1]; R] = std::array::from_fn(|r| [&rows[r * n..][..j]]);
    let sums = row_sums(simd, known, [&other[..j]], |[a], [b]| simd.mul_f64s(a, b));
    for (row, sum) in rows.chunks_exact_mut(n).zip(sums) {
        row[j] = (row[j] - sum) / other[j];
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn solutions_solve_the_equations() {
        for n in [0, 1, 2, 7, 16, 40] {
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
