//! Counts of classes, and the rows they are made of.

use crate::cells::{dispatch, slice, Cells};
use crate::{raise, Floats};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sunrise_core::cells::Reading;
use sunrise_core::fault::Fault;
use sunrise_core::rows::Rows;
use sunrise_core::shares::{self, Counts};
use sunrise_core::text::documents::documents;

fn counts<'a>(x: &'a PyReadonlyArray2<'_, f64>, alpha: f64) -> PyResult<Counts<'a>> {
    let flat = x.as_slice().map_err(|_| PyValueError::new_err("the counts do not lie class by class"))?;
    if !x.as_array().is_standard_layout() {
        return Err(PyValueError::new_err("the counts do not lie class by class"));
    }
    Ok(Counts { x: flat, classes: x.as_array().nrows(), alpha })
}

fn dense() -> Fault {
    Fault::shape("these rows are not sparse")
}

fn scattered(_: numpy::AsSliceError) -> PyErr {
    PyValueError::new_err("the room is not contiguous")
}

/// Log of the shares of every class over those of all others, into room of columns x classes, padded to whole groups.
#[pyfunction]
pub fn odds<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    alpha: f64,
    mut room: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<()> {
    let (counts, room) = (counts(&x, alpha)?, room.as_slice_mut().map_err(scattered)?);
    py.detach(|| shares::odds(counts, room, threads)).map_err(raise)
}

/// Scores of rows by such odds where their own counts are taken out first, rows x classes; with as much room.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn odds_left_out<'py>(
    py: Python<'py>,
    rows: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    x: PyReadonlyArray2<'py, f64>,
    alpha: f64,
    odds: PyReadonlyArray2<'py, f64>,
    mut room: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let counts = counts(&x, alpha)?;
    let labelled = Rows::new(y, w, counts.classes).map_err(raise)?;
    let odds = odds.as_slice().map_err(|_| PyValueError::new_err("the odds do not lie column by column"))?;
    let room = room.as_slice_mut().map_err(scattered)?;
    let found = dispatch!(&rows, Reading::REAL, py,
        _dense => Err(dense()),
        sparse => shares::left_out(&sparse, labelled, counts, odds, room, threads));
    Ok(found.map_err(raise)?.into_pyarray(py))
}

/// Documents with every word and sums of what it counts, into room of classes x (1 + words): the first are the
/// documents themselves.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn documents_of<'py>(
    py: Python<'py>,
    rows: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    mut found: PyReadwriteArray2<'py, i64>,
    mut sums: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<()> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let labelled = Rows::new(y, w, classes).map_err(raise)?;
    let (found, sums) = (found.as_slice_mut().map_err(scattered)?, sums.as_slice_mut().map_err(scattered)?);
    let done = dispatch!(&rows, Reading::REAL, py,
        _dense => Err(dense()),
        sparse => documents(&sparse, labelled, found, sums, threads));
    done.map_err(raise)
}
