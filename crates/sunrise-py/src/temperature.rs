//! The log loss that a temperature minimises, and its derivatives.

use crate::cells::slice;
use crate::weights::Matrix;
use crate::{raise, Floats};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sunrise_core::fault::Fault;
use sunrise_core::temperature::{self as core, Parameters, TemperatureRows};

/// Runs `f` on borrowed arrays without the GIL.
#[allow(clippy::too_many_arguments)]
fn with<R: Send>(
    py: Python<'_>,
    blocks: &[Matrix<'_>],
    lengths: &Matrix<'_>,
    prior: &Matrix<'_>,
    labels: &PyReadonlyArray1<'_, i32>,
    weight: &PyReadonlyArray1<'_, f64>,
    log_t: f64,
    exponents: &PyReadonlyArray1<'_, f64>,
    offsets: &PyReadonlyArray1<'_, f64>,
    f: impl FnOnce(TemperatureRows, Parameters) -> Result<R, Fault> + Send,
) -> PyResult<R> {
    let blocks = blocks.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
    let (lengths, prior) = (slice(lengths)?, slice(prior)?);
    let (labels, weight) = (slice(labels)?, slice(weight)?);
    let rows = TemperatureRows { blocks: &blocks, lengths, prior, labels, weight };
    let at = Parameters { log_t, exponents: slice(exponents)?, offsets: slice(offsets)? };
    py.detach(|| f(rows, at)).map_err(raise)
}

/// The log loss of rows, its gradient in the log of the temperature and the exponents, followed by parts of second
/// derivatives, and its gradient in the class offsets.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn temperature_loss<'py>(
    py: Python<'py>,
    blocks: Vec<Matrix<'py>>,
    lengths: Matrix<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    log_t: f64,
    exponents: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<(f64, Floats<'py>, Floats<'py>)> {
    let f = |rows: TemperatureRows, at: Parameters| core::loss(rows, at, threads);
    let found = with(py, &blocks, &lengths, &prior, &labels, &weight, log_t, &exponents, &offsets, f)?;
    Ok((found.value, found.scale.into_pyarray(py), found.classes.into_pyarray(py)))
}

/// The Gauss-Newton part of the Hessian of the loss in the log of the temperature, the exponents and the offsets.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn temperature_curvature<'py>(
    py: Python<'py>,
    blocks: Vec<Matrix<'py>>,
    lengths: Matrix<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    log_t: f64,
    exponents: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let f = |rows: TemperatureRows, at: Parameters| core::curvature(rows, at, threads);
    let found = with(py, &blocks, &lengths, &prior, &labels, &weight, log_t, &exponents, &offsets, f)?;
    Ok(found.into_pyarray(py))
}

/// The first class of the largest score of every row.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn temperature_best<'py>(
    py: Python<'py>,
    blocks: Vec<Matrix<'py>>,
    lengths: Matrix<'py>,
    prior: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    log_t: f64,
    exponents: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let f = |rows: TemperatureRows, at: Parameters| core::best_classes(rows, at, threads);
    let found = with(py, &blocks, &lengths, &prior, &labels, &weight, log_t, &exponents, &offsets, f)?;
    Ok(found.into_pyarray(py))
}
