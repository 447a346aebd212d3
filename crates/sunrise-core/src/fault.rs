//! Errors of inputs.

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
    /// A level that is not known, if that is an error.
    Unseen,
}

/// Why a routine cannot return a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The shapes of the arrays do not match; the Python code checks this before.
    Shape(String),
    /// One cell is outside the support of the model.
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
    /// The tables do not fit into memory.
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

/// Number of cells of a table; a fault on overflow.
pub fn cells(rows: usize, columns: usize) -> Result<usize, Fault> {
    rows.checked_mul(columns).ok_or(Fault::Memory)
}

/// Refuses tables that do not fit into memory, before any work is done.
///
/// A failed allocation would end the process; a trial reservation takes a microsecond.
pub fn afford(rows: usize, columns: usize) -> Result<(), Fault> {
    /// Bytes per cell of all tables of a routine together.
    const BYTES: usize = 96;
    let bytes = cells(cells(rows, columns)?, BYTES)?;
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Fault::Memory)
}
