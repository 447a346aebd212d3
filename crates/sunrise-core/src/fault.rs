//! What can be wrong with an input, said once for all kernels.

/// Why a cell cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFault {
    /// Plus or minus infinity.
    Infinite,
    /// Below the support of the distribution.
    Below,
    /// Above the support of the distribution.
    Above,
    /// A level code with a fraction.
    Fraction,
    /// A level that was never seen, where that is an error.
    Unseen,
}

/// Why a kernel gave up. Nothing was changed when one is returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The arrays do not fit together; only a caller that bypassed the Python checks sees this.
    Shape(String),
    /// One cell is outside what the model can take.
    Cell {
        /// Why.
        what: CellFault,
        /// Row of the cell.
        row: usize,
        /// Column of the cell.
        column: usize,
        /// The cell itself.
        value: f64,
    },
    /// There is not enough memory for the tables that were asked for.
    Memory,
    /// A sparse row names a column twice, or out of order, where the terms are not linear in the cell.
    NotCanonical,
}

impl Fault {
    /// A fault of the arrays' shapes.
    pub fn shape(text: impl Into<String>) -> Self {
        Fault::Shape(text.into())
    }
}

/// The cells of a table, where they can be counted at all.
pub fn cells(rows: usize, columns: usize) -> Result<usize, Fault> {
    rows.checked_mul(columns).ok_or(Fault::Memory)
}

/// Refuses work whose tables would not fit into memory, before any of it is begun.
///
/// An allocation that fails midway would end the process; asking first costs a microsecond.
pub fn afford(rows: usize, columns: usize) -> Result<(), Fault> {
    /// Bytes that a kernel holds per cell, all its tables together.
    const BYTES: usize = 96;
    let bytes = cells(cells(rows, columns)?, BYTES)?;
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Fault::Memory)
}
