//! The least and the greatest number of every column, in one pass over the rows.

use crate::cells::Matrix;
use crate::fault::{afford, Fault};
use crate::parallel::{blocks, pieces, run};
use crate::vectorised;

/// Fewest rows of a task, most tasks, and rows that are read at a time.
const SMALLEST: usize = 4096;
const MOST: usize = 64;
const BLOCK: usize = 256;

/// The least and the greatest cell of every column in rows with a weight above 0; infinity and -infinity without cells.
pub fn ranges(x: &dyn Matrix, weight: Option<&[f64]>, threads: usize) -> Result<(Vec<f64>, Vec<f64>), Fault> {
    let (n, columns) = (x.rows(), x.columns());
    if weight.is_some_and(|weight| weight.len() != n) {
        return Err(Fault::shape("there is not one weight for each row"));
    }
    afford(BLOCK, columns)?;
    let none = || (vec![f64::INFINITY; columns], vec![f64::NEG_INFINITY; columns]);
    let parts = run(threads, pieces(n, SMALLEST, MOST), |part| {
        let ((mut low, mut high), mut scratch) = (none(), Vec::new());
        for some in blocks(part, BLOCK) {
            let numbers = x.numbers(some.clone(), &mut scratch)?;
            vectorised(
                #[inline(always)]
                || {
                    for (r, row) in some.zip(numbers.chunks_exact(columns.max(1))) {
                        if weight.is_none_or(|weight| weight[r] > 0.0) {
                            // Comparisons with a missing cell are false.
                            low.iter_mut()
                                .zip(row)
                                .for_each(|(low, x)| *low = if x < low { *x } else { *low });
                            high.iter_mut()
                                .zip(row)
                                .for_each(|(high, x)| *high = if x > high { *x } else { *high });
                        }
                    }
                },
            );
        }
        Ok((low, high))
    });
    let (mut low, mut high) = none();
    for part in parts {
        let own = part?;
        low.iter_mut().zip(&own.0).for_each(|(low, x)| *low = low.min(*x));
        high.iter_mut().zip(&own.1).for_each(|(high, x)| *high = high.max(*x));
    }
    Ok((low, high))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use ndarray::array;

    #[test]
    fn missing_cells_and_rows_without_weight_do_not_count() {
        let x = array![[1.0, f64::NAN], [-2.0, 7.0], [9.0, 8.0]];
        let x = Dense::new(x.view(), Reading::REAL);
        assert_eq!(ranges(&x, None, 2).unwrap(), (vec![-2.0, 7.0], vec![9.0, 8.0]));
        let some = ranges(&x, Some(&[1.0, 0.0, 0.0]), 1).unwrap();
        assert_eq!(some, (vec![1.0, f64::INFINITY], vec![1.0, f64::NEG_INFINITY]));
        assert!(ranges(&x, Some(&[1.0]), 1).is_err());
    }
}
