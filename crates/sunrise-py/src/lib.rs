//! The Python door to the kernels: match the dtype, borrow the arrays, release the GIL, map the faults.
//!
//! No arithmetic happens here. Nothing that Python can pass makes the kernels panic: whatever does not fit is
//! a `ValueError`.
#![deny(unsafe_code)]

mod arrow;
mod cells;
mod columns;
mod kernel;
mod objects;
mod score;
mod shares;
mod text;

use cells::{slice, Cells, Reading};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use sunrise_core::fault::{CellFault, Fault};
use sunrise_core::rows::Rows;
use sunrise_core::{counts, labels, moments, stored, sums};

create_exception!(_native, CellError, PyValueError, "One cell cannot be used: (why, row, column, value).");
create_exception!(_native, NotCanonical, PyValueError, "A sparse row names a column twice or out of order.");

/// The exception a fault becomes.
pub(crate) fn raise(fault: Fault) -> PyErr {
    match fault {
        Fault::Shape(text) => PyValueError::new_err(text),
        Fault::Memory => PyMemoryError::new_err("there is not enough memory for so many classes and columns"),
        Fault::NotCanonical => NotCanonical::new_err("sum_duplicates() first"),
        Fault::Cell { what, row, column, value } => {
            let what = match what {
                CellFault::Infinite => "infinite",
                CellFault::Below => "below",
                CellFault::Above => "above",
                CellFault::Fraction => "fraction",
                CellFault::Unseen => "unseen",
            };
            CellError::new_err((what, row, column, value))
        }
    }
}

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;
type Codes<'py> = Bound<'py, PyArray1<i32>>;

/// Labels that are integers of any width: the distinct ones in order, and a code for every row.
#[pyfunction]
fn encode_integers<'py>(py: Python<'py>, y: &Bound<'py, PyAny>) -> PyResult<(Integers<'py>, Codes<'py>)> {
    macro_rules! attempt {
        ($($t:ty),*) => {$(
            if let Ok(y) = y.extract::<PyReadonlyArray1<$t>>() {
                cells::check_layout(&y)?;
                let view = y.as_array();
                let (classes, codes) = py.detach(|| labels::integers(view.iter().map(|&v| v as i64)));
                return Ok((classes.into_pyarray(py), codes.into_pyarray(py)));
            }
        )*};
    }
    attempt!(i64, i32, i16, i8, u8, u16, u32);
    Err(PyTypeError::new_err("labels must be a one-dimensional array of integers"))
}

/// Labels of `width` bytes each: the rows where a new one first stands, and a code for every row.
#[pyfunction]
fn encode_strings<'py>(
    py: Python<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
    width: usize,
) -> PyResult<(Integers<'py>, Codes<'py>)> {
    let bytes = slice(&bytes)?;
    let (first, codes) = py.detach(|| labels::strings(bytes, width));
    let first: Vec<i64> = first.into_iter().map(|row| row as i64).collect();
    Ok((first.into_pyarray(py), codes.into_pyarray(py)))
}

/// Rows and weight of every class.
#[pyfunction]
fn totals<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
) -> PyResult<(Integers<'py>, Floats<'py>)> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let (rows, weight) = py.detach(|| rows.totals()).map_err(raise)?;
    Ok((rows.into_pyarray(py), weight.into_pyarray(py)))
}

type Missing<'py> = Option<(Integers<'py>, Floats<'py>)>;

/// Sums of the cells per class and column, and rows and weight of the missing ones.
#[pyfunction]
fn sums_of<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    reading: Reading,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<(Floats<'py>, Missing<'py>)> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let found = cells::dispatch!(&x, reading.0, py,
        dense => sums::dense(&*dense, rows, threads),
        sparse => sums::sparse(&sparse, reading.0, rows, threads));
    let sums = found.map_err(raise)?;
    let (rows, weight) = sums.missing;
    let missing = (!rows.is_empty()).then(|| (rows.into_pyarray(py), weight.into_pyarray(py)));
    Ok((sums.x.into_pyarray(py), missing))
}

type Moments<'py> = (Integers<'py>, Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>);

/// Rows, weight, anchor and the sums of x - a and (x - a)^2 per class and column.
#[pyfunction]
fn moments_of<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    reading: Reading,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<Moments<'py>> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let found = cells::dispatch!(&x, reading.0, py,
        dense => moments::dense(&*dense, rows, threads),
        sparse => moments::sparse(&sparse, rows, threads));
    let m = found.map_err(raise)?;
    Ok((
        m.rows.into_pyarray(py),
        m.seen.into_pyarray(py),
        m.anchor.into_pyarray(py),
        m.x.into_pyarray(py),
        m.x2.into_pyarray(py),
    ))
}

type Counts<'py> = (Integers<'py>, Integers<'py>, Integers<'py>, Floats<'py>);

/// Where each column's levels begin, the levels, and their rows and weight per class.
#[pyfunction]
fn counts_of<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<Counts<'py>> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let found = cells::dispatch!(&x, sunrise_core::cells::Reading::REAL, py,
        dense => counts::dense(&*dense, rows, threads),
        sparse => counts::sparse(&sparse, rows, threads));
    let c = found.map_err(raise)?;
    Ok((
        c.offsets.into_pyarray(py),
        c.codes.into_pyarray(py),
        c.rows.into_pyarray(py),
        c.weight.into_pyarray(py),
    ))
}

/// The same of the counts from 1 of sparse rows, with the totals of the rows as one more column.
#[pyfunction]
fn stored_of<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<Counts<'py>> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let found = cells::dispatch!(&x, sunrise_core::cells::Reading::REAL, py,
        _dense => Err(Fault::shape("dense cells are all stored")),
        sparse => stored::sparse(&sparse, rows, threads));
    let c = found.map_err(raise)?;
    Ok((
        c.offsets.into_pyarray(py),
        c.codes.into_pyarray(py),
        c.rows.into_pyarray(py),
        c.weight.into_pyarray(py),
    ))
}

/// The native kernels of Sunrise.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("CellError", m.py().get_type::<CellError>())?;
    m.add("NotCanonical", m.py().get_type::<NotCanonical>())?;
    m.add("GROUP", sunrise_core::gather::GROUP)?;
    m.add_function(wrap_pyfunction!(encode_integers, m)?)?;
    m.add_function(wrap_pyfunction!(encode_strings, m)?)?;
    m.add_class::<arrow::ArrowColumn>()?;
    m.add_function(wrap_pyfunction!(arrow::arrow_column, m)?)?;
    m.add_function(wrap_pyfunction!(arrow::arrow_table, m)?)?;
    m.add_function(wrap_pyfunction!(columns::summary, m)?)?;
    m.add_function(wrap_pyfunction!(columns::encode_column, m)?)?;
    m.add_function(wrap_pyfunction!(columns::encode_objects, m)?)?;
    m.add_function(wrap_pyfunction!(columns::replaced, m)?)?;
    m.add_function(wrap_pyfunction!(columns::numbers_of, m)?)?;
    m.add_function(wrap_pyfunction!(totals, m)?)?;
    m.add_function(wrap_pyfunction!(sums_of, m)?)?;
    m.add_function(wrap_pyfunction!(moments_of, m)?)?;
    m.add_function(wrap_pyfunction!(counts_of, m)?)?;
    m.add_function(wrap_pyfunction!(stored_of, m)?)?;
    m.add_class::<kernel::KernelSums>()?;
    m.add_class::<text::Alphabet>()?;
    m.add_class::<text::Words>()?;
    m.add_class::<text::TextCounter>()?;
    m.add_function(wrap_pyfunction!(text::scaled, m)?)?;
    m.add_function(wrap_pyfunction!(shares::documents_of, m)?)?;
    m.add_function(wrap_pyfunction!(shares::odds, m)?)?;
    m.add_function(wrap_pyfunction!(shares::odds_left_out, m)?)?;
    m.add_function(wrap_pyfunction!(score::score, m)?)?;
    m.add_function(wrap_pyfunction!(score::normalise, m)?)?;
    m.add_function(wrap_pyfunction!(score::own, m)?)?;
    m.add_function(wrap_pyfunction!(score::loss, m)?)?;
    m.add_function(wrap_pyfunction!(score::curvature, m)?)?;
    Ok(())
}
