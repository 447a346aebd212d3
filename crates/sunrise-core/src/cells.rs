//! Dense cells of any number type, read a block of rows at a time.

use crate::fault::{CellFault, Fault};
use crate::rows::Rows;
use crate::vectorised;
use ndarray::{ArrayView2, Axis};
use std::ops::Range;

/// The code of a missing level inside this crate; a missing number is NaN.
pub const MISSING: i64 = i64::MIN;

/// The largest level code: floats represent all whole numbers up to it.
pub const LARGEST: i64 = 1 << 53;

/// A number type of the cells.
pub trait Cell: Copy + Send + Sync {
    /// The cell as a number; NaN is missing.
    fn number(self) -> f64;
    /// The cell as a level code, or the reason why it is not one; [`MISSING`] is missing.
    fn code(self) -> Result<i64, CellFault>;
    /// The cells themselves, if they are f64.
    fn as_numbers(_: &[Self]) -> Option<&[f64]> {
        None
    }
    /// The cells themselves, if they are i64; the caller refuses negative codes.
    fn as_codes(_: &[Self]) -> Option<&[i64]> {
        None
    }
}

/// A float as a level code.
#[inline(always)]
fn float_code(x: f64) -> Result<i64, CellFault> {
    if x.is_nan() {
        Ok(MISSING)
    } else if x.is_infinite() {
        Err(CellFault::Infinite)
    } else if x < 0.0 {
        Err(CellFault::Below)
    } else if x.fract() != 0.0 {
        Err(CellFault::Fraction)
    } else if x > LARGEST as f64 {
        Err(CellFault::Above)
    } else {
        Ok(x as i64)
    }
}

macro_rules! float_cell {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            #[inline(always)]
            fn number(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn code(self) -> Result<i64, CellFault> {
                float_code(f64::from(self))
            }
        }
    )*};
}

macro_rules! integer_cell {
    ($($t:ty),*) => {$(
        impl Cell for $t {
            #[inline(always)]
            fn number(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn code(self) -> Result<i64, CellFault> {
                if self < 0 {
                    Err(CellFault::Below)
                } else {
                    i64::try_from(self).ok().filter(|&code| code <= LARGEST).ok_or(CellFault::Above)
                }
            }
        }
    )*};
}

float_cell!(f32);
integer_cell!(i8, i16, i32, u8, u16, u32, u64);

impl Cell for f64 {
    #[inline(always)]
    fn number(self) -> f64 {
        self
    }
    #[inline(always)]
    fn code(self) -> Result<i64, CellFault> {
        float_code(self)
    }
    fn as_numbers(cells: &[f64]) -> Option<&[f64]> {
        Some(cells)
    }
}

impl Cell for i64 {
    #[inline(always)]
    fn number(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn code(self) -> Result<i64, CellFault> {
        if self < 0 {
            Err(CellFault::Below)
        } else if self > LARGEST {
            Err(CellFault::Above)
        } else {
            Ok(self)
        }
    }
    fn as_codes(cells: &[i64]) -> Option<&[i64]> {
        Some(cells)
    }
}

/// Which cells are accepted, and whether they are compared with a threshold.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Read as 1 if above this threshold, else 0.
    pub above: Option<f64>,
    /// Smallest accepted cell.
    pub lowest: f64,
    /// Largest accepted cell.
    pub highest: f64,
    /// Whether cells must be whole numbers.
    pub whole: bool,
}

impl Reading {
    /// All finite numbers, unchanged.
    pub const REAL: Reading =
        Reading { above: None, lowest: f64::NEG_INFINITY, highest: f64::INFINITY, whole: false };

    /// The cell, or 0 or 1 if there is a threshold; NaN stays NaN.
    #[inline(always)]
    pub fn read(self, x: f64) -> f64 {
        match self.above {
            Some(threshold) if !x.is_nan() => f64::from(u8::from(x > threshold)),
            _ => x,
        }
    }

    /// Whether some finite cells are refused.
    #[inline(always)]
    pub fn bounded(self) -> bool {
        self.lowest > f64::NEG_INFINITY || self.highest < f64::INFINITY || self.whole
    }

    /// Whether a cell is not missing, finite and within the support.
    #[inline(always)]
    pub fn accepts(self, x: f64) -> bool {
        // Compared with the largest floats, infinities are refused too; NaN fails both comparisons.
        let inside = (x >= self.lowest.max(f64::MIN)) & (x <= self.highest.min(f64::MAX));
        // Some processors have no instruction that truncates, so only if asked for.
        if self.whole {
            inside & (x.trunc() == x)
        } else {
            inside
        }
    }

    /// Whether a cell is infinite or outside the support; a missing cell is not refused.
    #[inline(always)]
    pub fn refuses(self, x: f64) -> bool {
        let outside = (x < self.lowest.max(f64::MIN)) | (x > self.highest.min(f64::MAX));
        if self.whole {
            outside | ((x - x.trunc()).abs() > 0.0)
        } else {
            outside
        }
    }

    /// Why a cell is refused, if it is.
    #[inline(always)]
    pub fn fault(self, x: f64) -> Option<CellFault> {
        if x.is_infinite() {
            Some(CellFault::Infinite)
        } else if x < self.lowest {
            Some(CellFault::Below)
        } else if x > self.highest {
            Some(CellFault::Above)
        } else if self.whole && x.fract() != 0.0 && !x.is_nan() {
            Some(CellFault::Fraction)
        } else {
            None
        }
    }

    /// Whether cells must be checked or compared before use.
    #[inline(always)]
    pub fn looks(self) -> bool {
        self.bounded() || self.above.is_some()
    }
}

/// A dense table of cells, read a block of rows at a time.
pub trait Matrix: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// How cells are read, with the bounds that the caller still has to check.
    fn reading(&self) -> Reading;

    /// The cell in row `r`, column `j`, before any threshold.
    fn number(&self, r: usize, j: usize) -> f64;

    /// The first refused cell of these rows, if any.
    fn find_fault(&self, rows: Range<usize>) -> Result<(), Fault>;

    /// The first refused cell of the rows with a class and a weight, if any; `part` has the indices of `rows`.
    fn find_fault_in(&self, part: Range<usize>, rows: Rows) -> Result<(), Fault> {
        part.enumerate()
            .filter(|(r, _)| rows.class(*r).is_some())
            .try_for_each(|(_, row)| self.find_fault(row..row + 1))
    }

    /// These rows as numbers, row by row: in place if they are contiguous floats, else copied to `scratch`.
    fn numbers<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<f64>) -> Result<&'s [f64], Fault>;

    /// These rows as level codes; [`MISSING`] is missing, and the caller refuses other negative codes.
    fn codes<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<i64>) -> Result<&'s [i64], Fault>;
}

/// A dense matrix of cells, with any strides.
#[derive(Clone, Copy)]
pub struct Dense<'a, T> {
    view: ArrayView2<'a, T>,
    reading: Reading,
}

impl<'a, T: Cell> Dense<'a, T> {
    /// A matrix with the reading of its cells.
    pub fn new(view: ArrayView2<'a, T>, reading: Reading) -> Self {
        Dense { view, reading }
    }

    /// A range of the rows.
    #[inline(always)]
    fn part(&self, rows: Range<usize>) -> ArrayView2<'a, T> {
        self.view.split_at(Axis(0), rows.end).0.split_at(Axis(0), rows.start).1
    }

    /// The fault of rows that hold a cell that is not a level code.
    ///
    /// A negative code is reported before any fraction: it explains more.
    #[cold]
    fn code_fault(&self, rows: Range<usize>) -> Fault {
        let cells = || rows.clone().flat_map(|row| (0..self.columns()).map(move |column| (row, column)));
        let fault = |(row, column): (usize, usize)| {
            let cell = self.view[(row, column)];
            Some(Fault::Cell { what: cell.code().err()?, row, column, value: cell.number() })
        };
        let below = |fault: &Fault| matches!(fault, Fault::Cell { what: CellFault::Below, .. });
        let negative = cells().filter_map(fault).find(below);
        negative.or_else(|| cells().find_map(fault)).unwrap_or(Fault::NotCanonical)
    }

    /// Copies rows into `scratch`, in the order of memory.
    #[inline(always)]
    fn gather<U: Copy>(
        &self,
        rows: Range<usize>,
        scratch: &mut Vec<U>,
        zero: U,
        mut read: impl FnMut(T) -> U,
    ) {
        let columns = self.columns();
        scratch.clear();
        scratch.resize(rows.len() * columns, zero);
        let part = self.part(rows);
        let strides = part.strides();
        if strides[0].unsigned_abs() < strides[1].unsigned_abs() {
            for (j, column) in part.columns().into_iter().enumerate() {
                for (r, &cell) in column.iter().enumerate() {
                    scratch[r * columns + j] = read(cell);
                }
            }
        } else {
            for (to, &cell) in scratch.iter_mut().zip(part.iter()) {
                *to = read(cell);
            }
        }
    }
}

impl<T: Cell> Matrix for Dense<'_, T> {
    fn rows(&self) -> usize {
        self.view.nrows()
    }

    fn columns(&self) -> usize {
        self.view.ncols()
    }

    fn reading(&self) -> Reading {
        self.reading
    }

    fn number(&self, r: usize, j: usize) -> f64 {
        self.view[(r, j)].number()
    }

    fn find_fault(&self, rows: Range<usize>) -> Result<(), Fault> {
        for row in rows {
            for (column, cell) in self.view.row(row).iter().enumerate() {
                let value = cell.number();
                if let Some(what) = self.reading.fault(value) {
                    return Err(Fault::Cell { what, row, column, value });
                }
            }
        }
        Ok(())
    }

    /// Copied cells are checked for infinity here, because reading them as 0 or 1 would hide one.
    fn numbers<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<f64>) -> Result<&'s [f64], Fault> {
        if self.reading.above.is_none() {
            if let Some(cells) = self.part(rows.clone()).to_slice().and_then(T::as_numbers) {
                return Ok(cells);
            }
        }
        let finite = vectorised(
            #[inline(always)]
            || {
                let mut finite = true;
                // Compiled apart, so that the common case has no comparison with a threshold.
                match self.reading.above {
                    None => self.gather(rows.clone(), scratch, 0.0, |cell| {
                        let x = cell.number();
                        finite &= !x.is_infinite();
                        x
                    }),
                    Some(threshold) => self.gather(rows.clone(), scratch, 0.0, |cell| {
                        let x = cell.number();
                        finite &= !x.is_infinite();
                        let above = f64::from(u8::from(x > threshold));
                        if x.is_nan() {
                            x
                        } else {
                            above
                        }
                    }),
                }
                finite
            },
        );
        if !finite {
            self.find_fault(rows)?;
        }
        Ok(scratch)
    }

    fn codes<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<i64>) -> Result<&'s [i64], Fault> {
        if let Some(cells) = self.part(rows.clone()).to_slice().and_then(T::as_codes) {
            // MISSING is a code of this crate only: an array that holds it holds a negative code.
            let known = vectorised(
                #[inline(always)]
                || cells.iter().fold(true, |known, &code| known & (code != MISSING) & (code <= LARGEST)),
            );
            if known {
                return Ok(cells);
            }
        }
        let valid = vectorised(
            #[inline(always)]
            || {
                let mut valid = true;
                self.gather(rows.clone(), scratch, 0, |cell| {
                    cell.code().unwrap_or_else(|_| {
                        valid = false;
                        MISSING
                    })
                });
                valid
            },
        );
        if !valid {
            return Err(self.code_fault(rows));
        }
        Ok(scratch)
    }
}
