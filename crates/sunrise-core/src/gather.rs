//! Weighted sums of the rows of a table, for all classes at once: the scores of sparse cells and of levels.

use crate::in_fours;
use pulp::{Simd, WithSimd};

/// Classes are padded to a multiple of this many, so that a table's row is whole vectors.
pub const GROUP: usize = 4;

/// Length of a table's row for this many classes.
pub fn stride(classes: usize) -> usize {
    classes.div_ceil(GROUP) * GROUP
}

/// Adds the picked rows of the table, each times its factor, to the scores.
///
/// Scores are padded like the table. The sums stay in registers during the loop over the picks; products
/// are rounded before they are added, so the bits do not depend on the processor.
#[inline(always)]
pub fn add<P: Iterator<Item = (usize, f64)> + Clone>(table: &[f64], picks: P, scores: &mut [f64]) {
    in_fours(Add { table, picks, scores });
}

/// Adds the picked rows of the table to the scores, in two sums of every other pick: an addition waits for the one before.
#[inline(always)]
pub fn add_rows(table: &[f64], picks: &[usize], scores: &mut [f64]) {
    in_fours(AddRows { table, picks, scores });
}

/// The sum of the rows of a table without the `missing` ones, which are in order; `total` is the sum of all.
///
/// A difference keeps its digits while half of the total is left; otherwise the other rows are added up.
pub fn sum_without(
    table: &[f64],
    total: &[f64],
    missing: &[usize],
    all: impl Iterator<Item = (usize, f64)> + Clone,
) -> Vec<f64> {
    let mut sums = vec![0.0; stride(total.len())];
    add(table, missing.iter().map(|&row| (row, 1.0)), &mut sums);
    if total.iter().zip(&sums).all(|(total, gone)| 2.0 * gone.abs() <= total.abs()) {
        sums.iter_mut().zip(total).for_each(|(sum, total)| *sum = total - *sum);
    } else {
        sums.fill(0.0);
        add(table, all.filter(|(row, _)| missing.binary_search(row).is_err()), &mut sums);
    }
    sums
}

struct Add<'a, P> {
    table: &'a [f64],
    picks: P,
    scores: &'a mut [f64],
}

impl<P: Iterator<Item = (usize, f64)> + Clone> WithSimd for Add<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (rows, _) = S::as_simd_f64s(self.table);
        let (mut scores, _) = S::as_mut_simd_f64s(self.scores);
        let stride = scores.len();
        let mut first = 0;
        while !scores.is_empty() {
            let picks = self.picks.clone();
            let width = scores.len().min(6);
            let (some, rest) = scores.split_at_mut(width);
            match width {
                1 => vectors::<S, 1>(simd, rows, stride, first, picks, some),
                2 => vectors::<S, 2>(simd, rows, stride, first, picks, some),
                3 => vectors::<S, 3>(simd, rows, stride, first, picks, some),
                4 => vectors::<S, 4>(simd, rows, stride, first, picks, some),
                5 => vectors::<S, 5>(simd, rows, stride, first, picks, some),
                _ => vectors::<S, 6>(simd, rows, stride, first, picks, some),
            }
            scores = rest;
            first += width;
        }
    }
}

struct AddRows<'a> {
    table: &'a [f64],
    picks: &'a [usize],
    scores: &'a mut [f64],
}

impl WithSimd for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (rows, _) = S::as_simd_f64s(self.table);
        let (scores, _) = S::as_mut_simd_f64s(self.scores);
        match scores.len() {
            1 => sums::<S, 1>(simd, rows, self.picks, scores),
            2 => sums::<S, 2>(simd, rows, self.picks, scores),
            3 => sums::<S, 3>(simd, rows, self.picks, scores),
            4 => sums::<S, 4>(simd, rows, self.picks, scores),
            5 => sums::<S, 5>(simd, rows, self.picks, scores),
            _ => add(self.table, self.picks.iter().map(|&row| (row, 1.0)), self.scores),
        }
    }
}

/// Adds picked rows of `N` vectors.
#[inline(always)]
fn sums<S: Simd, const N: usize>(simd: S, rows: &[S::f64s], picks: &[usize], scores: &mut [S::f64s]) {
    let (rows, _) = pulp::as_arrays::<N, _>(rows);
    let mut sums = [[simd.splat_f64s(0.0); N]; 2];
    let (pairs, last) = pulp::as_arrays::<2, _>(picks);
    let mut add = |of: usize, row: usize| {
        if let Some(values) = rows.get(row) {
            sums[of].iter_mut().zip(values).for_each(|(sum, value)| *sum = simd.add_f64s(*sum, *value));
        }
    };
    for &[even, odd] in pairs {
        add(0, even);
        add(1, odd);
    }
    last.iter().for_each(|&row| add(0, row));
    for (score, (even, odd)) in scores.iter_mut().zip(sums[0].iter().zip(sums[1])) {
        *score = simd.add_f64s(*score, simd.add_f64s(*even, odd));
    }
}

/// Adds the vectors `first..first + N` of the picked rows.
#[inline(always)]
fn vectors<S: Simd, const N: usize>(
    simd: S,
    rows: &[S::f64s],
    stride: usize,
    first: usize,
    picks: impl Iterator<Item = (usize, f64)>,
    scores: &mut [S::f64s],
) {
    if stride == N {
        // Rows of a fixed length: few instructions for each pick, so that more of their cache misses overlap.
        let (rows, _) = pulp::as_arrays::<N, _>(rows);
        weighted(simd, |row| rows.get(row), picks, scores);
    } else {
        let part = |row| rows.get(row * stride + first..).and_then(|rest| rest.first_chunk());
        weighted::<S, N>(simd, part, picks, scores);
    }
}

#[inline(always)]
fn weighted<'a, S: Simd, const N: usize>(
    simd: S,
    part: impl Fn(usize) -> Option<&'a [S::f64s; N]>,
    picks: impl Iterator<Item = (usize, f64)>,
    scores: &mut [S::f64s],
) where
    S::f64s: 'a,
{
    let mut sums = [simd.splat_f64s(0.0); N];
    for (row, factor) in picks {
        if let Some(values) = part(row) {
            let factor = simd.splat_f64s(factor);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = simd.add_f64s(*sum, simd.mul_f64s(factor, *value));
            }
        }
    }
    for (score, sum) in scores.iter_mut().zip(sums) {
        *score = simd.add_f64s(*score, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picked_rows_are_added_for_any_number_of_classes() {
        for classes in 1..40 {
            let width = stride(classes);
            let table: Vec<f64> = (0..7 * width).map(|k| (k * k % 101) as f64).collect();
            for picks in [&[][..], &[3], &[6, 0], &[5, 5, 2], &[0, 1, 2, 3, 4]] {
                let mut scores = vec![0.5; width];
                add_rows(&table, picks, &mut scores);
                for (c, score) in scores.iter().enumerate() {
                    assert_eq!(*score, 0.5 + picks.iter().map(|row| table[row * width + c]).sum::<f64>());
                }
            }
        }
    }
}
