//! Scores of dense cells that are weighted sums of the terms x and x^2, about an anchor.
//!
//! Four rows are scored together, so that a weight is loaded once for all of them. Rows with missing cells are scored
//! in groups of their own: there, a mask replaces the base and terms of a missing cell by 0.

use crate::cells::Matrix;
use crate::composition::{Composition, Observed};
use crate::fault::{self, afford, Fault};
use crate::lanes::row_sums;
use crate::score::{Scorer, PART};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// The weights of a linear score, each classes x columns; a cell adds base + x (x - a) + x2 (x - a)^2.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// The base summed over the columns, one per class.
    pub constant: &'a [f64],
    /// Added by every observed cell.
    pub base: Option<&'a [f64]>,
    /// Weight of x - a.
    pub x: Option<&'a [f64]>,
    /// Weight of (x - a)^2.
    pub x2: Option<&'a [f64]>,
    /// The anchor a; 0 where it is not given.
    pub anchor: Option<&'a [f64]>,
    /// The weights of rows with missing cells, if those change the weights of the others.
    pub composition: Option<Composition<'a>>,
}

impl Weights<'_> {
    fn check(&self, columns: usize) -> Result<(), Fault> {
        let cells = fault::cells(self.constant.len(), columns)?;
        if [self.base, self.x, self.x2, self.anchor].iter().flatten().any(|part| part.len() != cells) {
            return Err(Fault::shape("the weights do not have one cell for each class and column"));
        }
        self.composition.map_or(Ok(()), |composition| composition.check(self.constant.len(), columns))
    }
}

/// Rows that are scored together.
const GROUP: usize = 4;

/// Positions of rows that wait until there are enough to score them together.
#[derive(Default)]
struct Waiting {
    at: [usize; GROUP],
    len: usize,
}

impl Waiting {
    /// Adds a row; returns the positions if there are enough now.
    #[inline(always)]
    fn push(&mut self, row: usize) -> Option<[usize; GROUP]> {
        self.at[self.len] = row;
        self.len = (self.len + 1) % GROUP;
        (self.len == 0).then_some(self.at)
    }
}

/// Rows with missing cells that wait.
#[derive(Default)]
struct Group {
    waiting: Waiting,
    /// The cells of the rows, 0 where they are missing, then masks of the observed ones.
    cells: Vec<f64>,
}

impl Group {
    /// Writes a row behind the rows that wait; returns the sum of its observed cells.
    #[inline(always)]
    fn write<S: Simd>(&mut self, simd: S, row: &[f64]) -> f64 {
        self.cells.resize(2 * GROUP * row.len(), 0.0);
        let to = &mut self.cells[2 * self.waiting.len * row.len()..][..2 * row.len()];
        let (cells, masks) = to.split_at_mut(row.len());
        let (row, row_rest) = S::as_simd_f64s(row);
        let (cells, cells_rest) = S::as_mut_simd_f64s(cells);
        let (masks, masks_rest) = S::as_mut_simd_f64s(masks);
        let (zero, ones) = (simd.splat_f64s(0.0), simd.splat_f64s(f64::from_bits(u64::MAX)));
        let mut sum = zero;
        for ((&x, cell), mask) in row.iter().zip(cells).zip(masks) {
            let seen = simd.equal_f64s(x, x);
            *cell = simd.select_f64s(seen, x, zero);
            *mask = simd.select_f64s(seen, ones, zero);
            sum = simd.add_f64s(sum, *cell);
        }
        let mut sum = simd.reduce_sum_f64s(sum);
        for ((&x, cell), mask) in row_rest.iter().zip(cells_rest).zip(masks_rest) {
            *cell = if x.is_nan() { 0.0 } else { x };
            *mask = f64::from_bits(if x.is_nan() { 0 } else { u64::MAX });
            sum += *cell;
        }
        sum
    }

    /// The cells and the masks of a row.
    #[inline(always)]
    fn row(&self, k: usize, columns: usize) -> [&[f64]; 2] {
        let (cells, masks) = self.cells[2 * k * columns..][..2 * columns].split_at(columns);
        [cells, masks]
    }
}

/// Dense cells with linear weights.
pub struct DenseLinear<'a> {
    cells: Box<dyn Matrix + 'a>,
    weights: Weights<'a>,
    /// The weights of one class in a part that is not given.
    zeros: Vec<f64>,
}

impl<'a> DenseLinear<'a> {
    /// Checks that cells and weights fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, weights: Weights<'a>) -> Result<Self, Fault> {
        let columns = cells.columns();
        weights.check(columns)?;
        afford(PART, columns)?;
        Ok(DenseLinear { cells, weights, zeros: vec![0.0; columns] })
    }

    /// The part of some weights for one class.
    #[inline(always)]
    fn class<'b>(&self, part: &'b [f64], c: usize) -> &'b [f64] {
        &part[c * self.zeros.len()..][..self.zeros.len()]
    }

    /// The scores of complete rows for one class.
    #[inline(always)]
    fn complete<S: Simd, const R: usize>(&self, simd: S, rows: [[&[f64]; 1]; R], c: usize) -> [f64; R] {
        let w = &self.weights;
        let class = |part: &'a [f64]| self.class(part, c);
        let sums = match (w.x.map(class), w.x2.map(class), w.anchor.map(class)) {
            (Some(x), None, None) => row_sums(simd, rows, [x], |[v], [x]| simd.mul_f64s(v, x)),
            (None, Some(x2), Some(a)) => row_sums(simd, rows, [x2, a], |[v], [x2, a]| {
                let d = simd.sub_f64s(v, a);
                simd.mul_f64s(simd.mul_f64s(d, d), x2)
            }),
            parts => {
                let parts = <[_; 3]>::from(parts).map(|part| part.unwrap_or(&self.zeros));
                row_sums(simd, rows, parts, |[v], [x, x2, a]| {
                    let d = simd.sub_f64s(v, a);
                    simd.mul_f64s(d, simd.add_f64s(x, simd.mul_f64s(d, x2)))
                })
            }
        };
        sums.map(|sum| w.constant[c] + sum)
    }

    /// The scores of rows with missing cells for one class; a row has cells and masks.
    #[inline(always)]
    fn masked<S: Simd, const R: usize>(&self, simd: S, rows: [[&[f64]; 2]; R], c: usize) -> [f64; R] {
        let w = &self.weights;
        let class = |part: &'a [f64]| self.class(part, c);
        let base = w.base.map_or(&*self.zeros, class);
        match (w.x.map(class), w.x2.map(class), w.anchor.map(class)) {
            (Some(x), None, None) => row_sums(simd, rows, [x, base], |[v, seen], [x, base]| {
                simd.and_f64s(seen, simd.add_f64s(base, simd.mul_f64s(v, x)))
            }),
            (None, Some(x2), Some(a)) => row_sums(simd, rows, [x2, a, base], |[v, seen], [x2, a, base]| {
                let d = simd.sub_f64s(v, a);
                simd.and_f64s(seen, simd.add_f64s(base, simd.mul_f64s(simd.mul_f64s(d, d), x2)))
            }),
            parts => {
                let [x, x2, a] = <[_; 3]>::from(parts).map(|part| part.unwrap_or(&self.zeros));
                row_sums(simd, rows, [x, x2, a, base], |[v, seen], [x, x2, a, base]| {
                    let d = simd.sub_f64s(v, a);
                    let terms = simd.mul_f64s(d, simd.add_f64s(x, simd.mul_f64s(d, x2)));
                    simd.and_f64s(seen, simd.add_f64s(base, terms))
                })
            }
        }
    }

    /// The sums of cells times the weights of a class.
    #[inline(always)]
    fn dot<S: Simd, const R: usize>(
        &self,
        simd: S,
        cells: [[&[f64]; 1]; R],
        part: &[f64],
        c: usize,
    ) -> [f64; R] {
        row_sums(simd, cells, [self.class(part, c)], |[v], [x]| simd.mul_f64s(v, x))
    }

    /// The sums of the weights of a class over the observed columns.
    #[inline(always)]
    fn sum_seen<S: Simd, const R: usize>(
        &self,
        simd: S,
        masks: [[&[f64]; 1]; R],
        part: &[f64],
        c: usize,
    ) -> [f64; R] {
        row_sums(simd, masks, [self.class(part, c)], |[seen], [x]| simd.and_f64s(seen, x))
    }

    /// The scores of rows with missing cells for one class, if these change the weights of the others.
    #[inline(always)]
    fn rescaled<S: Simd, const R: usize>(
        &self,
        simd: S,
        composition: &Composition,
        rows: [[&[f64]; 2]; R],
        c: usize,
    ) -> [f64; R] {
        let tables = composition.by_class(self.zeros.len());
        let (values, masks) = (rows.map(|[values, _]| [values]), rows.map(|[_, masks]| [masks]));
        let score = self.dot(simd, values, &tables.log_theta.cells, c);
        let share = self.sum_seen(simd, masks, &tables.theta.cells, c);
        let counts = match &tables.positive {
            Some(positive) => self.dot(simd, values, &positive.cells, c),
            None => row_sums(simd, values, [], |[v], []| v),
        };
        let (mut weights, mut columns) = ([0.0; R], [0.0; R]);
        if composition.normed {
            weights = self.sum_seen(simd, masks, &tables.log_theta.cells, c);
            columns = match &tables.positive {
                Some(positive) => self.sum_seen(simd, masks, &positive.cells, c),
                None => {
                    let one = simd.splat_f64s(1.0);
                    row_sums(simd, masks, [], |[seen], []| simd.and_f64s(seen, one))
                }
            };
        }
        std::array::from_fn(|k| {
            composition.score(Observed {
                score: score[k],
                counts: counts[k],
                share: share[k],
                weights: weights[k],
                columns: columns[k],
            })
        })
    }

    /// Adds the scores of the complete rows at some positions.
    #[inline(always)]
    fn add_complete<S: Simd, const R: usize>(
        &self,
        simd: S,
        at: [usize; R],
        numbers: &[f64],
        scores: &mut [f64],
    ) {
        let (classes, columns) = (self.weights.constant.len(), self.zeros.len());
        let rows = at.map(|k| [&numbers[k * columns..][..columns]]);
        for c in 0..classes {
            let sums = self.complete(simd, rows, c);
            at.iter().zip(sums).for_each(|(k, sum)| scores[k * classes + c] += sum);
        }
    }

    /// Adds the scores of the rows of a group at some positions, from its row `first` on.
    #[inline(always)]
    fn add_masked<S: Simd, const R: usize>(
        &self,
        simd: S,
        at: [usize; R],
        group: &Group,
        first: usize,
        scores: &mut [f64],
    ) {
        let (classes, columns) = (self.weights.constant.len(), self.zeros.len());
        let rows = std::array::from_fn::<_, R, _>(|k| group.row(first + k, columns));
        for c in 0..classes {
            let sums = match &self.weights.composition {
                None => self.masked(simd, rows, c),
                Some(composition) => self.rescaled(simd, composition, rows, c),
            };
            at.iter().zip(sums).for_each(|(k, sum)| scores[k * classes + c] += sum);
        }
    }

    #[inline(always)]
    fn add_rows<S: Simd>(&self, simd: S, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (n, columns, reading) = (rows.len(), self.cells.columns(), self.cells.reading());
        let mut scratch = Vec::new();
        let numbers = self.cells.numbers(rows.clone(), &mut scratch)?;
        let row = |k: usize| &numbers[k * columns..][..columns];
        let (mut waiting, mut group) = (Waiting::default(), Group::default());
        for first in (0..n).step_by(GROUP) {
            // The rows beyond the end are the last one again.
            let four = std::array::from_fn::<_, GROUP, _>(|k| [row((first + k).min(n - 1))]);
            // A sum shows missing and infinite cells, in one operation per cell.
            let sums = row_sums(simd, four, [], |[v], []| v);
            for (k, sum) in (first..n).zip(sums) {
                if reading.bounded() && row(k).iter().fold(false, |any, &x| any | reading.refuses(x)) {
                    self.cells.find_fault(rows.start + k..rows.start + k + 1)?;
                }
                let mut missing = !sum.is_finite();
                if missing && !group.write(simd, row(k)).is_finite() {
                    // Infinite cells, or a sum that is too large.
                    self.cells.find_fault(rows.start + k..rows.start + k + 1)?;
                    missing = row(k).iter().any(|x| x.is_nan());
                }
                if !missing {
                    if let Some(at) = waiting.push(k) {
                        self.add_complete(simd, at, numbers, scores);
                    }
                } else if let Some(at) = group.waiting.push(k) {
                    self.add_masked(simd, at, &group, 0, scores);
                }
            }
        }
        for &k in &waiting.at[..waiting.len] {
            self.add_complete(simd, [k], numbers, scores);
        }
        for (first, &k) in group.waiting.at[..group.waiting.len].iter().enumerate() {
            self.add_masked(simd, [k], &group, first, scores);
        }
        Ok(())
    }
}

impl Scorer for DenseLinear<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        Arch::new().dispatch(Add { block: self, rows, scores })
    }
}

/// A call of [`Scorer::add`], compiled for the widest vectors of the processor.
struct Add<'a, 'b> {
    block: &'b DenseLinear<'a>,
    rows: Range<usize>,
    scores: &'b mut [f64],
}

impl WithSimd for Add<'_, '_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        self.block.add_rows(simd, self.rows, self.scores)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use crate::score::joint;
    use ndarray::Array2;

    fn weights<'a>(constant: &'a [f64], x2: &'a [f64], anchor: &'a [f64]) -> Weights<'a> {
        Weights {
            constant,
            base: Some(&[-1.0; 22]),
            x: None,
            x2: Some(x2),
            anchor: Some(anchor),
            composition: None,
        }
    }

    #[test]
    fn squares_about_an_anchor_add_up_and_missing_cells_do_not() {
        // 11 columns of cells one above the anchor, weight -2: each adds -1 - 2.
        let mut x = Array2::from_elem((1, 11), 4.0);
        let (x2, anchor) = ([-2.0; 22], [3.0; 22]);
        let constant = [-11.0, -11.0];
        let linear = |x: &Array2<f64>| {
            let dense = Dense::new(x.view(), Reading::REAL);
            let block = DenseLinear::new(Box::new(dense), weights(&constant, &x2, &anchor)).unwrap();
            joint(1, &block, &[0.0, 0.5]).unwrap()
        };
        assert_eq!(linear(&x), [-33.0, -32.5]);
        x[(0, 10)] = f64::NAN;
        x[(0, 0)] = f64::NAN;
        assert_eq!(linear(&x), [-27.0, -26.5]);
    }
}
