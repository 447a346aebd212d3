//! Leave-one-out scores, and the log loss that calibration minimises.

use crate::cells::{slice, Cells, Reading};
use crate::weights::Matrix;
use crate::{raise, Floats};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use sunrise_core::leave_one_out::{own_class_scores, Removal};
use sunrise_core::loss::{self, CalibrationRows};
use sunrise_core::pairs::{slopes, JudgedRows, PairRows};
use sunrise_core::word_weights::{fit, Limits, WordRows};

/// The score of every row for its own class after the row is subtracted; NaN if that leaves no variance.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn leave_one_out_scores<'py>(
    py: Python<'py>,
    cells: Cells<'py>,
    support: Reading,
    labels: PyReadonlyArray1<'py, i32>,
    constant: PyReadonlyArray1<'py, f64>,
    base: Matrix<'py>,
    anchor: Matrix<'py>,
    q: Matrix<'py>,
    p: Matrix<'py>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let labels = slice(&labels)?;
    let removal = Removal {
        constant: slice(&constant)?,
        base: slice(&base)?,
        anchor: slice(&anchor)?,
        q: slice(&q)?,
        p: slice(&p)?,
    };
    let cells = cells.matrix(support.core()).map_err(raise)?;
    let scores = py.detach(|| own_class_scores(&*cells, labels, removal, threads)).map_err(raise)?;
    Ok(scores.into_pyarray(py))
}

fn calibration_rows<'a>(
    cells: &'a PyReadonlyArray1<'_, f64>,
    prior: &'a Matrix<'_>,
    labels: &'a PyReadonlyArray1<'_, i32>,
    weight: &'a PyReadonlyArray1<'_, f64>,
) -> PyResult<CalibrationRows<'a>> {
    let (cells, prior) = (slice(cells)?, slice(prior)?);
    Ok(CalibrationRows { cells, prior, labels: slice(labels)?, weight: slice(weight)? })
}

/// The log loss of rows under column weights and class offsets, and its gradients in both.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn log_loss<'py>(
    py: Python<'py>,
    cells: PyReadonlyArray1<'py, f64>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    column_weights: PyReadonlyArray1<'py, f64>,
    class_offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<(f64, Floats<'py>, Floats<'py>)> {
    let rows = calibration_rows(&cells, &prior, &labels, &weight)?;
    let (columns, offsets) = (slice(&column_weights)?, slice(&class_offsets)?);
    let loss = py.detach(|| loss::log_loss(rows, columns, offsets, threads)).map_err(raise)?;
    Ok((loss.value, loss.columns.into_pyarray(py), loss.classes.into_pyarray(py)))
}

/// The Hessian of the log loss in weights and offsets together, row by row; zeros above the diagonal.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn log_loss_hessian<'py>(
    py: Python<'py>,
    cells: PyReadonlyArray1<'py, f64>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    column_weights: PyReadonlyArray1<'py, f64>,
    class_offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let rows = calibration_rows(&cells, &prior, &labels, &weight)?;
    let (columns, offsets) = (slice(&column_weights)?, slice(&class_offsets)?);
    let hessian = py.detach(|| loss::hessian(rows, columns, offsets, threads)).map_err(raise)?;
    Ok(hessian.into_pyarray(py))
}

/// The log loss of every row under several parameters, each the column weights and the class offsets: parameters x rows.
#[pyfunction]
pub fn row_losses<'py>(
    py: Python<'py>,
    cells: PyReadonlyArray1<'py, f64>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    parameters: Vec<PyReadonlyArray1<'py, f64>>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let rows = calibration_rows(&cells, &prior, &labels, &weight)?;
    let parameters = parameters.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
    let losses = py.detach(|| loss::row_losses(rows, &parameters, threads)).map_err(raise)?;
    Ok(losses.into_pyarray(py))
}

/// First and second derivatives of the log-likelihood of some rows by the weights of pairs of columns: pairs x folds.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn pair_slopes<'py>(
    py: Python<'py>,
    columns: Vec<PyReadonlyArray1<'py, i32>>,
    sizes: Vec<usize>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    rows: PyReadonlyArray1<'py, i64>,
    probabilities: Matrix<'py>,
    folds: PyReadonlyArray1<'py, i32>,
    pairs: Vec<[usize; 2]>,
    n_folds: usize,
    n_classes: usize,
    threads: usize,
) -> PyResult<(Floats<'py>, Floats<'py>)> {
    let columns = columns.iter().map(slice).collect::<PyResult<Vec<&[i32]>>>()?;
    let counted = PairRows { columns, sizes, labels: slice(&labels)?, weight: slice(&weight)? };
    let judged =
        JudgedRows { rows: slice(&rows)?, probabilities: slice(&probabilities)?, folds: slice(&folds)? };
    let (first, second) =
        py.detach(|| slopes(&counted, judged, &pairs, n_folds, n_classes, threads)).map_err(raise)?;
    Ok((first.into_pyarray(py), second.into_pyarray(py)))
}

/// Weights of words that minimise the log loss of documents on top of given scores, and the loss.
///
/// They are words x classes, or words x 1 for two classes: the score of the second class against the first.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit_word_weights<'py>(
    py: Python<'py>,
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, i32>,
    data: PyReadonlyArray1<'py, f32>,
    offsets: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    start: PyReadonlyArray2<'py, f32>,
    penalty: f64,
    tolerance: f64,
    steps: usize,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray1<f32>>, f64)> {
    let rows = WordRows {
        indptr: slice(&indptr)?,
        indices: slice(&indices)?,
        data: slice(&data)?,
        offsets: slice(&offsets)?,
        y: slice(&y)?,
        weight: slice(&weight)?,
        classes: offsets.shape()[1],
        words: start.shape()[0],
    };
    let (mut v, limits) = (slice(&start)?.to_vec(), Limits { penalty, tolerance, steps });
    let loss = py.detach(|| fit(rows, limits, &mut v, threads)).map_err(raise)?;
    Ok((v.into_pyarray(py), loss))
}
