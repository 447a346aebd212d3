//! Leave-one-out scores of rows for their own class, for squares about an anchor: subtracting a row changes both the
//! mean and the variance.

use crate::cells::Matrix;
use crate::fault::{self, afford, Fault};
use crate::lanes::{folded, sum_of, LANES};
use crate::parallel::{blocks, run};
use crate::score::PART;
use crate::vectorised;
use std::ops::Range;

/// A cell adds base - log(1 - q u) / 2 - p u / (1 - q u) for its own class, with u = (x - anchor)^2.
///
/// All are classes x columns; 1 - q u is the share of the variance that is left without the cell.
#[derive(Clone, Copy, Debug)]
pub struct Removal<'a> {
    /// Sum of the base over the columns, one per class.
    pub constant: &'a [f64],
    #[allow(missing_docs)]
    pub base: &'a [f64],
    #[allow(missing_docs)]
    pub anchor: &'a [f64],
    #[allow(missing_docs)]
    pub q: &'a [f64],
    #[allow(missing_docs)]
    pub p: &'a [f64],
}

/// Smallest share of a variance with enough known digits.
const LEAST: f64 = 1e-6;
/// Four products above this can be multiplied without underflow.
const SAFE: f64 = 1e-70;
/// Columns after which the logarithm of the products is taken: before, none can leave the range of floats.
const FLUSH: usize = 16 * LANES;

const TASK: usize = 4096;

impl Removal<'_> {
    /// The score of a row; NaN if a variance would vanish. `MISSING` says whether cells of it are missing.
    #[inline(always)]
    fn score<const MISSING: bool>(&self, row: &[f64], c: usize) -> f64 {
        let columns = row.len();
        let class =
            |part: &'_ [f64], at: usize, n: usize| c * columns + at..(c * columns + at + n).min(part.len());
        let (mut sum, mut logs, mut bases, mut start) = (0.0, 0.0, 0.0, 0);
        // A missing cell takes nothing out: its square counts as 0, without a branch.
        let square = |x: f64, a: f64| {
            if MISSING && x.is_nan() {
                0.0
            } else {
                (x - a) * (x - a)
            }
        };
        while start < columns {
            let n = FLUSH.min(columns - start);
            let part = &row[start..start + n];
            let range = class(self.q, start, n);
            let (a, q, p) = (&self.anchor[range.clone()], &self.q[range.clone()], &self.p[range.clone()]);
            let whole = n - n % LANES;
            let (mut product, mut sums, mut positive) = ([1.0; LANES], [0.0; LANES], true);
            for at in (0..whole).step_by(LANES) {
                let (x, a) = (&part[at..at + LANES], &a[at..at + LANES]);
                let (q, p) = (&q[at..at + LANES], &p[at..at + LANES]);
                for k in 0..LANES {
                    let u = square(x[k], a[k]);
                    let left = 1.0 - q[k] * u;
                    positive &= left > LEAST;
                    product[k] *= left;
                    sums[k] += p[k] * u / left;
                }
            }
            for at in whole..n {
                let u = square(part[at], a[at]);
                let left = 1.0 - q[at] * u;
                positive &= left > LEAST;
                product[at - whole] *= left;
                sums[at - whole] += p[at] * u / left;
            }
            if MISSING {
                let seen = |[x, base]: [f64; 2]| if x.is_nan() { 0.0 } else { base };
                bases += sum_of::<LANES, 2>([part, &self.base[range]], seen);
            }
            if !positive {
                return f64::NAN;
            }
            let least = product.iter().fold(1.0, |least: f64, &x| least.min(x));
            logs += if least > SAFE {
                ((product[0] * product[1]) * (product[2] * product[3])).ln()
                    + ((product[4] * product[5]) * (product[6] * product[7])).ln()
            } else {
                product.iter().map(|x| x.ln()).sum::<f64>()
            };
            sum += folded(sums);
            start += n;
        }
        (if MISSING { bases } else { self.constant[c] }) - 0.5 * logs - sum
    }
}

/// The score of every row for its own class after the row is subtracted; NaN if a variance would vanish.
pub fn own_class_scores(
    cells: &dyn Matrix,
    labels: &[i32],
    removal: Removal,
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let (n, columns, classes) = (cells.rows(), cells.columns(), removal.constant.len());
    let size = fault::cells(classes, columns)?;
    let misfit = [removal.base, removal.anchor, removal.q, removal.p].iter().any(|part| part.len() != size);
    if misfit || labels.len() != n || labels.iter().any(|&y| y < 0 || y as usize >= classes) {
        return Err(Fault::shape("the cells, labels and what is taken out do not fit together"));
    }
    afford(PART, columns)?;
    let mut scores = vec![0.0; n];
    let tasks: Vec<(usize, &mut [f64])> =
        scores.chunks_mut(TASK).enumerate().map(|(k, part)| (k * TASK, part)).collect();
    let fill = |rows: Range<usize>, scores: &mut [f64]| {
        let mut scratch = Vec::new();
        let numbers = cells.numbers(rows.clone(), &mut scratch)?;
        for (k, (r, score)) in rows.zip(scores).enumerate() {
            let (row, c) = (&numbers[k * columns..][..columns], labels[r] as usize);
            // A sum shows missing cells in one operation per cell.
            let missing = sum_of::<LANES, 1>([row], |[x]| x).is_nan();
            *score = if missing { removal.score::<true>(row, c) } else { removal.score::<false>(row, c) };
        }
        Ok(())
    };
    let done = run(threads, tasks, |(start, scores)| {
        vectorised(
            #[inline(always)]
            || {
                for rows in blocks(0..scores.len(), PART) {
                    fill(start + rows.start..start + rows.end, &mut scores[rows])?;
                }
                Ok(())
            },
        )
    });
    done.into_iter().collect::<Result<Vec<()>, Fault>>()?;
    Ok(scores)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use ndarray::Array2;

    #[test]
    fn products_and_single_logarithms_agree_whatever_the_width() {
        for columns in [1, 7, 8, 9, 40, 300] {
            let base = vec![0.25; columns];
            let (anchor, q, p) = (vec![1.0; columns], vec![0.125; columns], vec![0.5; columns]);
            let constant = [0.25 * columns as f64];
            let removal = Removal { constant: &constant, base: &base, anchor: &anchor, q: &q, p: &p };
            let one = |cells: &Array2<f64>, row: usize| {
                let dense = Dense::new(cells.view(), Reading::REAL);
                own_class_scores(&dense, &vec![0; cells.nrows()], removal, 2).unwrap()[row]
            };
            let whole = Array2::from_elem((2, columns), 3.0);
            let cell = 0.25 - 0.5 * 0.5_f64.ln() - 0.5 * 4.0 / 0.5;
            assert!((one(&whole, 0) - cell * columns as f64).abs() < 1e-10 * columns as f64);
            let mut holes = whole.clone();
            holes[(0, 0)] = f64::NAN;
            assert!((one(&holes, 0) - cell * (columns - 1) as f64).abs() < 1e-10 * columns as f64);
            let mut beyond = whole.clone();
            beyond[(1, columns - 1)] = 5.0; // its square is 16: the variance would vanish
            assert!(one(&beyond, 1).is_nan());
        }
    }
}
