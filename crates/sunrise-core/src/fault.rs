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

/// Checks the shape of the work, the label codes and the weights.
pub fn check_rows(
    rows: usize,
    columns: usize,
    classes: usize,
    y: &[i32],
    w: Option<&[f64]>,
) -> Result<(), Fault> {
    afford(classes.max(1), columns.max(1))?;
    if y.len() != rows {
        return Err(Fault::shape(format!("{} label codes for {rows} rows", y.len())));
    }
    if w.is_some_and(|w| w.len() != rows) {
        return Err(Fault::shape(format!("the weights are not one for each of {rows} rows")));
    }
    let classes = i32::try_from(classes).map_err(|_| Fault::shape("too many classes"))?;
    if y.iter().fold(-1, |top, &c| top.max(c)) >= classes {
        return Err(Fault::shape("a label code is not below the number of classes"));
    }
    Ok(())
}

/// The class and weight of a row, or `None` where the row counts for nothing.
#[inline(always)]
pub fn row_class(r: usize, y: &[i32], w: Option<&[f64]>) -> Option<(usize, f64)> {
    let weight = w.map_or(1.0, |w| w[r]);
    if y[r] < 0 || weight == 0.0 {
        None
    } else {
        Some((y[r] as usize, weight))
    }
}
