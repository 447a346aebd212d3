//! Accumulation: sums, moments and counts of the cells of every class and column.

use crate::cells::{dispatch, slice, Cells, Reading};
use crate::{raise, Floats, Integers};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use sunrise_core::csr::Unpacked;
use sunrise_core::fault::Fault;
use sunrise_core::rows::Rows;
use sunrise_core::{cells, counts, moments, ranges, row_counts, sums};

/// Number of rows and sum of weights of every class.
#[pyfunction]
pub fn class_totals<'py>(
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

/// The least and the greatest cell of every column, in rows with a weight above 0.
#[pyfunction]
pub fn column_ranges<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    support: Reading,
    w: Option<PyReadonlyArray1<'py, f64>>,
    threads: usize,
) -> PyResult<(Floats<'py>, Floats<'py>)> {
    let w = w.as_ref().map(slice).transpose()?;
    let found = dispatch!(&x, support.core(), py,
        dense => ranges::ranges(&*dense, w, threads),
        sparse => ranges::ranges(&Unpacked::new(sparse, support.core()), w, threads));
    let (low, high) = found.map_err(raise)?;
    Ok((low.into_pyarray(py), high.into_pyarray(py)))
}

type Missing<'py> = Option<(Integers<'py>, Floats<'py>)>;

/// Sums of the cells per class and column, and the rows and weight of missing cells (None if there are none).
#[pyfunction]
pub fn accumulate_sums<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    support: Reading,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<(Floats<'py>, Missing<'py>)> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let sums = dispatch!(&x, support.core(), py,
        dense => sums::dense(&*dense, rows, threads),
        sparse => sums::sparse(&sparse, support.core(), rows, threads));
    let sums = sums.map_err(raise)?;
    let (rows, weight) = sums.missing;
    let missing = (!rows.is_empty()).then(|| (rows.into_pyarray(py), weight.into_pyarray(py)));
    Ok((sums.x.into_pyarray(py), missing))
}

/// An array classes x columns of the numbers of all classes, one class after the other.
fn by_class<T: Element>(py: Python<'_>, numbers: Vec<T>, classes: usize) -> PyResult<Py<PyArray2<T>>> {
    let shape = [classes, numbers.len() / classes.max(1)];
    Ok(numbers.into_pyarray(py).reshape(shape)?.unbind())
}

/// Moments about an anchor close to the class mean; every array is classes x columns.
#[pyclass(frozen, get_all, module = "sunrise._native")]
pub struct MomentSums {
    /// Observed rows.
    rows: Py<PyArray2<i64>>,
    /// Observed weight.
    weight: Py<PyArray2<f64>>,
    /// Weighted sum of x - a.
    x: Py<PyArray2<f64>>,
    /// Weighted sum of (x - a)^2.
    x2: Py<PyArray2<f64>>,
    /// The anchor a.
    anchor: Py<PyArray2<f64>>,
    /// Bound on the rounding error of `x2`.
    error: Py<PyArray2<f64>>,
}

/// Moments of the cells per class and column.
#[pyfunction]
pub fn accumulate_moments<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    support: Reading,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<MomentSums> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let moments = dispatch!(&x, support.core(), py,
        dense => moments::dense(&*dense, rows, threads),
        sparse => moments::sparse(&sparse, rows, threads));
    let moments = moments.map_err(raise)?;
    let error = moments.error();
    Ok(MomentSums {
        rows: by_class(py, moments.rows, classes)?,
        weight: by_class(py, moments.weight, classes)?,
        x: by_class(py, moments.x, classes)?,
        x2: by_class(py, moments.x2, classes)?,
        anchor: by_class(py, moments.anchor, classes)?,
        error: by_class(py, error, classes)?,
    })
}

/// Counts of levels: column j has the codes `codes[offsets[j]:offsets[j + 1]]`, in ascending order.
#[pyclass(frozen, get_all, module = "sunrise._native")]
pub struct LevelCounts {
    /// Where the levels of each column begin, and the number of all levels.
    offsets: Py<PyArray1<i64>>,
    /// Codes of the levels.
    codes: Py<PyArray1<i64>>,
    /// Number of rows, for each class and level.
    rows: Py<PyArray1<i64>>,
    /// Weight of the rows, for each class and level.
    weight: Py<PyArray1<f64>>,
}

impl LevelCounts {
    fn new(py: Python<'_>, counts: counts::Counts) -> Self {
        LevelCounts {
            offsets: counts.offsets.into_pyarray(py).unbind(),
            codes: counts.codes.into_pyarray(py).unbind(),
            rows: counts.rows.into_pyarray(py).unbind(),
            weight: counts.weight.into_pyarray(py).unbind(),
        }
    }
}

/// Counts of the level codes per class and column.
#[pyfunction]
pub fn count_levels<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<LevelCounts> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let counts = dispatch!(&x, cells::Reading::REAL, py,
        dense => counts::dense(&*dense, rows, threads),
        sparse => counts::sparse(&sparse, rows, threads));
    Ok(LevelCounts::new(py, counts.map_err(raise)?))
}

/// Counts of the positive cells of sparse rows, with the totals of the rows as one more column.
#[pyfunction]
pub fn count_row_totals<'py>(
    py: Python<'py>,
    x: Cells<'py>,
    y: PyReadonlyArray1<'py, i32>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    classes: usize,
    threads: usize,
) -> PyResult<LevelCounts> {
    let (y, w) = (slice(&y)?, w.as_ref().map(slice).transpose()?);
    let rows = Rows::new(y, w, classes).map_err(raise)?;
    let counts = dispatch!(&x, cells::Reading::REAL, py,
        _dense => Err(Fault::shape("the rows are not sparse")),
        sparse => row_counts::sparse(&sparse, rows, threads));
    Ok(LevelCounts::new(py, counts.map_err(raise)?))
}
