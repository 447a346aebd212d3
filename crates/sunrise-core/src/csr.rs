//! Sparse matrices (CSR) whose row offsets are valid.

use crate::cells::Cell;
use crate::fault::Fault;

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
