//! Log odds of columns between each class and all others, and counts of documents.

use crate::cells::{dispatch, slice, slice_mut, slices, Cells};
use crate::{raise, Floats};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::prelude::*;
use sunrise_core::cells::Reading;
use sunrise_core::fault::Fault;
use sunrise_core::log_odds::{self as core, ClassCounts};
use sunrise_core::odds_left_out::{left_out_scores, Bands};
use sunrise_core::rows::Rows;
use sunrise_core::text::documents::documents as count_documents_of;

fn dense() -> Fault {
    Fault::shape("these rows are not sparse")
}

/// Writes the log odds of every column and class to `out`, columns x classes, the classes padded to whole groups.
///
/// Log odds are the log ratio of the share of a column in a class to its share in all other classes together. Counts
/// are multiplied by the factors of their columns first.
#[pyfunction]
pub fn log_odds<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    factors: PyReadonlyArray1<'py, f64>,
    alpha: f64,
    mut out: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<()> {
    let (x, out) = (slices(&x)?, slice_mut(&mut out)?);
    let counts = ClassCounts { x: &x, factors: slice(&factors)?, alpha };
    py.detach(|| core::log_odds(counts, out, threads)).map_err(raise)
}

/// Scores of rows by log odds after their own counts are subtracted, rows x classes.
///
/// `out` is scratch: a row and a group of classes more than `log_odds`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn log_odds_left_out<'py>(
    py: Python<'py>,
    rows: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    x: PyReadonlyArray2<'py, f64>,
    factors: PyReadonlyArray1<'py, f64>,
    alpha: f64,
    log_odds: PyReadonlyArray2<'py, f64>,
    mut out: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let x = slices(&x)?;
    let counts = ClassCounts { x: &x, factors: slice(&factors)?, alpha };
    let labelled = Rows::new(y, w, x.len()).map_err(raise)?;
    let log_odds = slice(&log_odds)?;
    let out = slice_mut(&mut out)?;
    let scores = dispatch!(&rows, Reading::REAL, py,
        _dense => Err(dense()),
        sparse => left_out_scores(&sparse, labelled, counts, log_odds, None, out, threads));
    Ok(scores.map_err(raise)?.into_pyarray(py))
}

/// The same with the scores of bands of columns apart, rows x bands x classes.
///
/// A column whose band is not below `count` is subtracted, but not scored.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn log_odds_left_out_bands<'py>(
    py: Python<'py>,
    rows: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    x: PyReadonlyArray2<'py, f64>,
    factors: PyReadonlyArray1<'py, f64>,
    alpha: f64,
    log_odds: PyReadonlyArray2<'py, f64>,
    of_column: PyReadonlyArray1<'py, u8>,
    count: usize,
    mut out: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let x = slices(&x)?;
    let counts = ClassCounts { x: &x, factors: slice(&factors)?, alpha };
    let labelled = Rows::new(y, w, x.len()).map_err(raise)?;
    let (log_odds, of_column) = (slice(&log_odds)?, slice(&of_column)?);
    let bands = Some(Bands { of_column, count });
    let out = slice_mut(&mut out)?;
    let scores = dispatch!(&rows, Reading::REAL, py,
        _dense => Err(dense()),
        sparse => left_out_scores(&sparse, labelled, counts, log_odds, bands, out, threads));
    Ok(scores.map_err(raise)?.into_pyarray(py))
}

/// Writes the number of documents with each word and the sums of its counts, classes x (1 + words).
///
/// The first column has the number and the weight of all documents.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn count_documents<'py>(
    py: Python<'py>,
    rows: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    mut documents: PyReadwriteArray2<'py, i64>,
    mut sums: PyReadwriteArray2<'py, f64>,
    threads: usize,
) -> PyResult<()> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let labelled = Rows::new(y, w, classes).map_err(raise)?;
    let (documents, sums) = (slice_mut(&mut documents)?, slice_mut(&mut sums)?);
    let done = dispatch!(&rows, Reading::REAL, py,
        _dense => Err(dense()),
        sparse => count_documents_of(&sparse, labelled, documents, sums, threads));
    done.map_err(raise)
}
