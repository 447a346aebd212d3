//! Products of the columns of dense rows: their sums per class, and squared Mahalanobis distances.

use crate::fault::{self, Fault};
use crate::parallel::{blocks, pieces, run};
use crate::rows::Rows;
use crate::vectorised;
use crate::whitening::{apply, transpose, Distances, BESIDE};
use pulp::Arch;

/// Fewest rows of a task, and most tasks.
const SMALLEST: usize = 1024;
const MOST: usize = 64;
/// Rows that pass through the matrix of a class while it is in cache.
const BLOCK: usize = 64;

/// Number and weight of the complete rows, sums of the columns and sums of their products, per class.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct ProductSums {
    pub rows: Vec<i64>,
    pub weight: Vec<f64>,
    pub x: Vec<f64>,
    pub xx: Vec<f64>,
}

impl ProductSums {
    fn new(classes: usize, columns: usize) -> Self {
        ProductSums {
            rows: vec![0; classes],
            weight: vec![0.0; classes],
            x: vec![0.0; classes * columns],
            xx: vec![0.0; classes * columns * columns],
        }
    }

    fn add(&mut self, other: &ProductSums) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a += b);
        self.weight.iter_mut().zip(&other.weight).for_each(|(a, b)| *a += b);
        self.x.iter_mut().zip(&other.x).for_each(|(a, b)| *a += b);
        self.xx.iter_mut().zip(&other.xx).for_each(|(a, b)| *a += b);
    }
}

fn check(x: &[f64], columns: usize, rows: usize) -> Result<(), Fault> {
    if x.len() != fault::cells(rows, columns)? {
        return Err(Fault::shape("the cells are not rows x columns"));
    }
    Ok(())
}

/// Adds up the rows that have no missing cell (NaN), a class and a weight above 0.
pub fn accumulate(x: &[f64], columns: usize, rows: Rows<'_>, threads: usize) -> Result<ProductSums, Fault> {
    let (classes, n) = (rows.classes, rows.len());
    check(x, columns, n)?;
    fault::afford(fault::cells(classes, columns)?, columns)?;
    // Sums of many classes and columns cost more to merge than the rows of a small task cost to add up.
    let smallest = SMALLEST.max(fault::cells(classes, columns)?);
    let parts = run(threads, pieces(n, smallest, MOST), |part| {
        let mut sums = ProductSums::new(classes, columns);
        vectorised(|| {
            for i in part {
                let row = &x[i * columns..(i + 1) * columns];
                if let Some((class, w)) = rows.class(i).filter(|_| !row.iter().any(|v| v.is_nan())) {
                    add_row(&mut sums, row, class, w);
                }
            }
        });
        sums
    });
    let mut total = ProductSums::new(classes, columns);
    for part in &parts {
        total.add(part);
    }
    for square in total.xx.chunks_mut((columns * columns).max(1)) {
        for a in 0..columns {
            for b in 0..a {
                square[a * columns + b] = square[b * columns + a];
            }
        }
    }
    Ok(total)
}

/// Adds a row to the sums of its class; of the products, only those of column a with the columns from a on.
#[inline(always)]
fn add_row(sums: &mut ProductSums, row: &[f64], class: usize, w: f64) {
    let n = row.len();
    sums.rows[class] += 1;
    sums.weight[class] += w;
    let square = &mut sums.xx[class * n * n..(class + 1) * n * n];
    for (a, (&v, sum)) in row.iter().zip(&mut sums.x[class * n..(class + 1) * n]).enumerate() {
        let weighted = w * v;
        *sum += weighted;
        let products = &mut square[a * n + a..(a + 1) * n];
        products.iter_mut().zip(&row[a..]).for_each(|(sum, &other)| *sum += weighted * other);
    }
}

/// Squared distances of complete rows from the centre of every class, with the matrix of the class: rows x classes.
///
/// With `labels`, rows x classes x 3: these, the squared distances from the centre of the row's own class, and the
/// inner products of both differences.
pub fn distances(
    x: &[f64],
    labels: Option<&[i32]>,
    centres: &[f64],
    factors: &[f64],
    columns: usize,
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let classes = centres.len().checked_div(columns).unwrap_or(0);
    let n = x.len().checked_div(columns).unwrap_or(0);
    check(x, columns, n)?;
    let width = if labels.is_some() { 3 } else { 1 };
    let sized = centres.len() == classes * columns && factors.len() == classes * columns * columns;
    let known =
        labels.is_none_or(|y| y.len() == n && y.iter().all(|&c| (0..classes as i64).contains(&i64::from(c))));
    if !sized || !known {
        return Err(Fault::shape("centres, factors or labels do not fit the rows"));
    }
    fault::afford(n, classes * width)?;
    // The centre of class k, multiplied by the factor of class c: of all classes k with labels, else of c itself.
    let others = if labels.is_some() { classes } else { 1 };
    fault::afford(fault::cells(classes, others)?, columns)?;
    let mut shifts = vec![0.0; classes * others * columns];
    let factor = |c: usize| &factors[c * columns * columns..][..columns * columns];
    for c in 0..classes {
        for k in 0..others {
            let (at, from) = ((c * others + k) * columns, if labels.is_some() { k } else { c });
            apply(factor(c), columns, &centres[from * columns..][..columns], &mut shifts[at..at + columns]);
        }
    }
    let parts = run(threads, pieces(n, SMALLEST, MOST), |part| {
        let mut out = vec![0.0; part.len() * classes * width];
        let (mut beside, mut own) =
            (vec![vec![[0.0; BESIDE]; columns]; BLOCK / BESIDE], vec![[0.0; BESIDE]; columns]);
        for some in blocks(part.clone(), BLOCK) {
            for (rows, beside) in blocks(some.clone(), BESIDE).zip(&mut beside) {
                transpose(&x[rows.start * columns..rows.end * columns], columns, beside);
            }
            for c in 0..classes {
                let shift = |k: usize| &shifts[(c * others + k) * columns..][..columns];
                for (rows, beside) in blocks(some.clone(), BESIDE).zip(&beside) {
                    if let Some(labels) = labels {
                        for (r, &y) in labels[rows.clone()].iter().enumerate() {
                            own.iter_mut().zip(shift(y as usize)).for_each(|(to, &v)| to[r] = v);
                        }
                    }
                    let found = Arch::new().dispatch(Distances {
                        factor: factor(c),
                        shift: shift(if labels.is_some() { c } else { 0 }),
                        rows: beside,
                        other: labels.map(|_| own.as_slice()),
                    });
                    for (r, i) in rows.enumerate() {
                        let at = ((i - part.start) * classes + c) * width;
                        out[at..at + width].iter_mut().zip(&found).for_each(|(to, from)| *to = from[r]);
                    }
                }
            }
        }
        out
    });
    Ok(parts.concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_missing_cell_are_left_out() {
        let x = [1.0, 2.0, 3.0, f64::NAN, 0.5, -1.0];
        let rows = Rows::new(&[0, 0, 0], Some(&[1.0, 1.0, 2.0]), 1).unwrap();
        let sums = accumulate(&x, 2, rows, 2).unwrap();
        assert_eq!((sums.rows, sums.weight), (vec![2], vec![3.0]));
        assert_eq!((sums.x, sums.xx), (vec![2.0, 0.0], vec![1.5, 1.0, 1.0, 6.0]));
    }

    #[test]
    fn distances_are_those_of_the_factors() {
        // The factor [[1, 0], [2, 3]] maps (1, 1) to (1, 5).
        let (factors, centres) = ([1.0, 0.0, 2.0, 3.0], [0.0, 0.0]);
        assert_eq!(distances(&[1.0, 1.0], None, &centres, &factors, 2, 1).unwrap(), vec![26.0]);
        let two = distances(&[1.0, 1.0], Some(&[0]), &centres, &factors, 2, 1).unwrap();
        assert_eq!(two, vec![26.0, 26.0, 26.0]);
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        assert!(distances(&[1.0, 1.0], Some(&[1]), &[0.0, 0.0], &[1.0; 4], 2, 1).is_err());
        assert!(accumulate(&[1.0], 2, Rows::new(&[0], None, 1).unwrap(), 1).is_err());
    }
}
