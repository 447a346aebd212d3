//! Sparse matrices (CSR) whose row offsets are valid.

use crate::cells::{Cell, Matrix, Reading};
use crate::fault::Fault;
use std::hint::black_box;
use std::ops::Range;

/// Bytes of a cache line, and rows whose cells are brought into cache together.
const LINE: usize = 64;
const FETCHED: usize = 16;

/// An integer type that may number columns.
pub trait Index: Copy + PartialOrd + Send + Sync {
    /// The index; a negative one becomes larger than any column.
    fn at(self) -> usize;
    /// Whether all are below a number of columns.
    fn all_below(indices: &[Self], columns: usize) -> bool;
    /// Whether each is above the one before; all are valid.
    #[inline(always)]
    fn ascending(indices: &[Self]) -> bool {
        // Without a way out of the loop, so that vectors compare them.
        indices.iter().zip(indices.iter().skip(1)).fold(true, |all, (a, b)| all & (a < b))
    }
}

impl Index for i32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as isize as usize
    }
    #[inline(always)]
    fn all_below(indices: &[Self], columns: usize) -> bool {
        // As unsigned numbers negative ones are the largest, and vectors can compare them.
        let top = indices.iter().fold(0, |top, &j| top.max(j as u32));
        indices.is_empty() || (top as usize) < columns.min(1 << 31)
    }
}

impl Index for i64 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
    #[inline(always)]
    fn all_below(indices: &[Self], columns: usize) -> bool {
        indices.iter().fold(true, |all, &j| all & ((j as usize) < columns))
    }
}

/// A sparse matrix; cells that are not stored are 0.
#[derive(Clone, Copy)]
pub struct Csr<'a, T, I> {
    data: &'a [T],
    indices: &'a [I],
    indptr: &'a [I],
    columns: usize,
}

impl<'a, T: Cell, I: Index> Csr<'a, T, I> {
    /// Checks that every row is within the arrays. Column indices are checked when they are read.
    pub fn new(data: &'a [T], indices: &'a [I], indptr: &'a [I], columns: usize) -> Result<Self, Fault> {
        let ends = indptr.windows(2).all(|p| p[0].at() <= p[1].at());
        let last = indptr.last().map_or(usize::MAX, |p| p.at());
        if !ends || last > indices.len() || last > data.len() {
            return Err(Fault::shape("the sparse matrix is broken: indptr does not lie within its data"));
        }
        Ok(Csr { data, indices, indptr, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored cells.
    pub fn stored(&self) -> usize {
        self.indices.len()
    }

    /// The stored columns and cells of a row.
    #[inline(always)]
    pub fn row(&self, r: usize) -> (&'a [I], &'a [T]) {
        let range = self.indptr[r].at()..self.indptr[r + 1].at();
        (&self.indices[range.clone()], &self.data[range])
    }

    /// Some rows in order, whose stored cells are brought into cache a few rows at a time: for rows that lie far apart.
    #[inline(always)]
    pub fn fetched<'r>(&'r self, rows: &'r [usize]) -> impl Iterator<Item = usize> + 'r {
        rows.chunks(FETCHED).flat_map(|few| {
            self.fetch(few);
            few.iter().copied()
        })
    }

    /// Reads one cell of every cache line of some rows.
    ///
    /// No read waits for another one, so memory serves many at a time. A loop that also computes with the cells would
    /// wait for the lines of one row after those of another.
    #[inline(always)]
    fn fetch(&self, rows: &[usize]) {
        let mut any = 0;
        for &r in rows {
            let (indices, cells) = self.row(r);
            any = indices.iter().step_by(LINE / size_of::<I>()).fold(any, |any, j| any | j.at() as u64);
            any = cells.iter().step_by(LINE / size_of::<T>()).fold(any, |any, x| any | x.number().to_bits());
        }
        black_box(any);
    }

    /// The stored cells of a row, each column once and in order, or a fault.
    #[inline(always)]
    pub fn canonical_row(&self, r: usize) -> Result<(&'a [I], &'a [T]), Fault> {
        let (indices, cells) = self.row(r);
        if !I::all_below(indices, self.columns) {
            return Err(self.outside());
        }
        if !I::ascending(indices) {
            return Err(Fault::NotCanonical);
        }
        Ok((indices, cells))
    }

    /// The fault of a column index outside the matrix.
    pub fn outside(&self) -> Fault {
        Fault::shape(format!("the sparse matrix is broken: a column index is not below {}", self.columns))
    }
}

/// Sparse rows read as dense ones, for scores that need every cell.
pub struct Unpacked<'a, T, I> {
    cells: Csr<'a, T, I>,
    reading: Reading,
}

impl<'a, T: Cell, I: Index> Unpacked<'a, T, I> {
    /// A sparse matrix with the reading of its cells.
    pub fn new(cells: Csr<'a, T, I>, reading: Reading) -> Self {
        Unpacked { cells, reading }
    }

    /// Fills `scratch` with the rows.
    fn unpack<U: Copy>(
        &self,
        rows: Range<usize>,
        scratch: &mut Vec<U>,
        zero: U,
        read: impl Fn(T, usize, usize) -> Result<U, Fault>,
    ) -> Result<(), Fault> {
        let columns = self.cells.columns();
        scratch.clear();
        scratch.resize(rows.len() * columns, zero);
        for (k, r) in rows.enumerate() {
            let (indices, cells) = self.cells.canonical_row(r)?;
            for (j, &cell) in indices.iter().zip(cells) {
                scratch[k * columns + j.at()] = read(cell, r, j.at())?;
            }
        }
        Ok(())
    }
}

impl<T: Cell, I: Index> Matrix for Unpacked<'_, T, I> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn columns(&self) -> usize {
        self.cells.columns()
    }

    fn reading(&self) -> Reading {
        self.reading
    }

    fn number(&self, r: usize, j: usize) -> f64 {
        let (indices, cells) = self.cells.row(r);
        indices.iter().position(|k| k.at() == j).map_or(0.0, |at| cells[at].number())
    }

    fn find_fault(&self, rows: Range<usize>) -> Result<(), Fault> {
        for row in rows {
            for column in 0..self.columns() {
                let value = self.number(row, column);
                if let Some(what) = self.reading.fault(value) {
                    return Err(Fault::Cell { what, row, column, value });
                }
            }
        }
        Ok(())
    }

    fn numbers<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<f64>) -> Result<&'s [f64], Fault> {
        let zero = self.reading.read(0.0);
        self.unpack(rows, scratch, zero, |cell, _, _| Ok(self.reading.read(cell.number())))?;
        Ok(scratch)
    }

    fn codes<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<i64>) -> Result<&'s [i64], Fault> {
        self.unpack(rows, scratch, 0, |cell, row, column| {
            cell.code().map_err(|what| Fault::Cell { what, row, column, value: cell.number() })
        })?;
        Ok(scratch)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fault::CellFault;

    #[test]
    fn unpacked_rows_hold_their_zeros_and_refuse_cells_outside_the_support() {
        let csr = Csr::new(&[2.0, f64::NAN, -3.0], &[1_i32, 0, 2], &[0, 1, 3], 3).unwrap();
        let rows = Unpacked::new(csr, Reading { lowest: 0.0, ..Reading::REAL });
        let mut scratch = Vec::new();
        let numbers = rows.numbers(0..2, &mut scratch).unwrap();
        assert_eq!(numbers[..3], [0.0, 2.0, 0.0]);
        assert!(numbers[3].is_nan() && numbers[4..] == [0.0, -3.0]);
        assert_eq!(rows.find_fault(0..1), Ok(()));
        let fault = Fault::Cell { what: CellFault::Below, row: 1, column: 2, value: -3.0 };
        assert_eq!(rows.find_fault(0..2), Err(fault));
        assert_eq!(rows.codes(0..1, &mut Vec::new()).unwrap(), [0, 2, 0]);
    }
}
