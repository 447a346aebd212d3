//! Sums of products of columns, and squared Mahalanobis distances.

use crate::cells::slice;
use crate::weights::Matrix;
use crate::{raise, Floats, Integers};
use numpy::{IntoPyArray, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use sunrise_core::products::{accumulate, distances};
use sunrise_core::rows::Rows;

type Sums<'py> = (Integers<'py>, Floats<'py>, Floats<'py>, Floats<'py>);

/// Number and weight of the rows without a missing cell, sums of the columns and of their products, per class.
#[pyfunction]
pub fn accumulate_products<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<Sums<'py>> {
    let (y, w, columns) = (slice(&y)?, w.as_ref().map(slice).transpose()?, x.shape()[1]);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let x = slice(&x)?;
    let sums = py.detach(|| accumulate(x, columns, rows, threads)).map_err(raise)?;
    Ok((
        sums.rows.into_pyarray(py),
        sums.weight.into_pyarray(py),
        sums.x.into_pyarray(py),
        sums.xx.into_pyarray(py),
    ))
}

/// Squared distances of rows from the centre of every class, rows x classes; see `sunrise_core::products::distances`.
#[pyfunction]
pub fn squared_distances<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    centres: PyReadonlyArray1<'py, f64>,
    factors: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let (columns, centres, factors) = (x.shape()[1], slice(&centres)?, slice(&factors)?);
    let x = slice(&x)?;
    let found = py.detach(|| distances(x, None, centres, factors, columns, threads)).map_err(raise)?;
    Ok(found.into_pyarray(py))
}

/// The same from the centres of every class and of the class of the row, with inner products: rows x classes x 3.
#[pyfunction]
pub fn distances_from_two<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    centres: PyReadonlyArray1<'py, f64>,
    factors: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let (columns, centres, factors) = (x.shape()[1], slice(&centres)?, slice(&factors)?);
    let (x, labels) = (slice(&x)?, slice(&labels)?);
    let found =
        py.detach(|| distances(x, Some(labels), centres, factors, columns, threads)).map_err(raise)?;
    Ok(found.into_pyarray(py))
}
