//! Leave-one-out scores, and the log loss that calibration minimises.

use crate::cells::{slice, slice_mut, Cells, Reading};
use crate::weights::Matrix;
use crate::{raise, Floats};
use numpy::{
    IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use sunrise_core::cholesky;
use sunrise_core::hessian;
use sunrise_core::leave_one_out::{own_class_scores, Removal};
use sunrise_core::loss::{self, CalibrationRows};
use sunrise_core::pairs::{lifts, slopes, JudgedRows, PairRows};
use sunrise_core::table_cells::LevelScores;
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

/// Cells of rows in several arrays, each with some of the columns.
type Parts<'py> = Vec<PyReadonlyArray1<'py, f64>>;

/// The log loss of rows under column weights and class offsets, and its gradients in both.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn log_loss<'py>(
    py: Python<'py>,
    cells: Parts<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    column_weights: PyReadonlyArray1<'py, f64>,
    class_offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<(f64, Floats<'py>, Floats<'py>)> {
    let cells = cells.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
    let (prior, labels, weight) = (slice(&prior)?, slice(&labels)?, slice(&weight)?);
    let rows = CalibrationRows { cells: &cells, prior, labels, weight };
    let (columns, offsets) = (slice(&column_weights)?, slice(&class_offsets)?);
    let loss = py.detach(|| loss::log_loss(rows, columns, offsets, threads)).map_err(raise)?;
    Ok((loss.value, loss.columns.into_pyarray(py), loss.classes.into_pyarray(py)))
}

/// The Hessian of the log loss in weights and offsets together, row by row; zeros above the diagonal.
///
/// It is that of every row at a multiple of `step`, as if these rows had the weight of all.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (cells, prior, labels, weight, column_weights, class_offsets, threads, step=1))]
pub fn log_loss_hessian<'py>(
    py: Python<'py>,
    cells: Parts<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    column_weights: PyReadonlyArray1<'py, f64>,
    class_offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
    step: usize,
) -> PyResult<Floats<'py>> {
    let cells = cells.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
    let (prior, labels, weight) = (slice(&prior)?, slice(&labels)?, slice(&weight)?);
    let rows = CalibrationRows { cells: &cells, prior, labels, weight };
    let (columns, offsets) = (slice(&column_weights)?, slice(&class_offsets)?);
    let found = py.detach(|| hessian::hessian(rows, columns, offsets, step, threads)).map_err(raise)?;
    Ok(found.into_pyarray(py))
}

/// Class offsets plus weighted cells of every row, rows x classes.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn calibration_scores<'py>(
    py: Python<'py>,
    cells: Parts<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    column_weights: PyReadonlyArray1<'py, f64>,
    class_offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let cells = cells.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
    let (prior, labels, weight) = (slice(&prior)?, slice(&labels)?, slice(&weight)?);
    let rows = CalibrationRows { cells: &cells, prior, labels, weight };
    let (columns, offsets) = (slice(&column_weights)?, slice(&class_offsets)?);
    let scores = py.detach(|| loss::scores(rows, columns, offsets, threads)).map_err(raise)?;
    Ok(scores.into_pyarray(py))
}

/// The log loss of every row under several parameters, each the column weights and the class offsets: parameters x rows.
#[pyfunction]
pub fn row_losses<'py>(
    py: Python<'py>,
    cells: Parts<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    parameters: Vec<PyReadonlyArray1<'py, f64>>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let cells = cells.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
    let (prior, labels, weight) = (slice(&prior)?, slice(&labels)?, slice(&weight)?);
    let rows = CalibrationRows { cells: &cells, prior, labels, weight };
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

/// Leave-one-out log lifts of pairs of columns for some rows, minus the first class: rows x (classes - 1) x pairs.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn pair_lifts<'py>(
    py: Python<'py>,
    columns: Vec<PyReadonlyArray1<'py, i32>>,
    sizes: Vec<usize>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    rows: PyReadonlyArray1<'py, i64>,
    pairs: Vec<[usize; 2]>,
    n_classes: usize,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let columns = columns.iter().map(slice).collect::<PyResult<Vec<&[i32]>>>()?;
    let counted = PairRows { columns, sizes, labels: slice(&labels)?, weight: slice(&weight)? };
    let rows = slice(&rows)?;
    let found = py.detach(|| lifts(&counted, rows, &pairs, n_classes, threads)).map_err(raise)?;
    Ok(found.into_pyarray(py))
}

/// The solution of linear equations with a positive definite matrix; None if it is not positive definite.
#[pyfunction]
pub fn solve_positive<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
    right: PyReadonlyArray1<'py, f64>,
) -> PyResult<Option<Floats<'py>>> {
    let (matrix, right) = (slice(&matrix)?.to_vec(), slice(&right)?);
    let solution = py.detach(|| cholesky::solve(matrix, right)).map_err(raise)?;
    Ok(solution.map(|x| x.into_pyarray(py)))
}

/// Writes leave-one-out scores of levels into `out`, rows x classes - 1 x columns, from column `first` on, as differences
/// from the first class; returns false if some are not finite.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn level_differences<'py>(
    py: Python<'py>,
    columns: Vec<PyReadonlyArray1<'py, i32>>,
    entries: Vec<PyReadonlyArray1<'py, i64>>,
    values: PyReadonlyArray2<'py, f64>,
    own: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, i32>,
    rows: PyReadonlyArray1<'py, i64>,
    mut out: PyReadwriteArray3<'py, f64>,
    first: usize,
    threads: usize,
) -> PyResult<bool> {
    let scores = LevelScores {
        columns: columns.iter().map(slice).collect::<PyResult<Vec<&[i32]>>>()?,
        entries: entries.iter().map(slice).collect::<PyResult<Vec<&[i64]>>>()?,
        values: slice(&values)?,
        own: slice(&own)?,
        labels: slice(&labels)?,
        classes: values.shape()[1],
    };
    let (width, rows) = (out.shape()[2], slice(&rows)?);
    let out = slice_mut(&mut out)?;
    py.detach(|| scores.differences(rows, out, width, first, threads)).map_err(raise)
}

/// Numbers of single precision.
type Singles<'py> = Bound<'py, PyArray1<f32>>;

/// Weights of words that minimise the log loss of documents on top of given scores, their coefficients and the loss.
///
/// They are words x classes, or words x 1 for two classes: the score of the second class against the first. They are
/// sums of documents: `start` and the second result have the coefficients, documents x classes (or 1).
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
    words: usize,
    start: PyReadonlyArray2<'py, f32>,
    penalty: f64,
    tolerance: f64,
    steps: usize,
    threads: usize,
) -> PyResult<(Singles<'py>, Singles<'py>, f64)> {
    let rows = WordRows {
        indptr: slice(&indptr)?,
        indices: slice(&indices)?,
        data: slice(&data)?,
        offsets: slice(&offsets)?,
        y: slice(&y)?,
        weight: slice(&weight)?,
        classes: offsets.shape()[1],
        words,
    };
    let (mut a, limits) = (slice(&start)?.to_vec(), Limits { penalty, tolerance, steps });
    let (v, loss) = py.detach(|| fit(rows, limits, &mut a, threads)).map_err(raise)?;
    Ok((v.into_pyarray(py), a.into_pyarray(py), loss))
}
