//! Sums of kernels, prepared once and kept by Rust.

use crate::cells::{slice, Cells, Reading};
use crate::raise;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;
use sunrise_core::density::{self, Densities, KernelSum, Mixture};
use sunrise_core::fault::Fault;
use sunrise_core::parallel::run;

/// How cells become positions on the line: (log, lower, upper, [(sign, shift), ...]).
pub struct Folds(density::Folds);

impl<'py> FromPyObject<'_, 'py> for Folds {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (log, lower, upper, images) = object.extract()?;
        Ok(Folds(density::Folds { log, lower, upper, images }))
    }
}

/// The sizes of some runs of values, and the values with the number and weight of their rows.
type Runs<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Puts runs of values in rising order on lattices: run k, between offsets k and k + 1, on multiples of step k.
///
/// A run with step 0 stays.
#[pyfunction]
pub fn on_lattices<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    rows: PyReadonlyArray1<'py, i64>,
    weight: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, i64>,
    steps: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Runs<'py>> {
    let (x, rows, weight) = (slice(&x)?, slice(&rows)?, slice(&weight)?);
    let (offsets, steps) = (slice(&offsets)?, slice(&steps)?);
    let found = py.detach(|| {
        let runs = density::on_lattices(x, rows, weight, offsets, steps, threads)?;
        let sizes = runs.iter().map(|run| run.x.len() as i64).collect::<Vec<_>>();
        let joined =
            |part: fn(&density::Values) -> &[f64]| runs.iter().map(part).collect::<Vec<_>>().concat();
        let rows = runs.iter().map(|run| run.rows.as_slice()).collect::<Vec<_>>().concat();
        Ok((sizes, joined(|run| &run.x), rows, joined(|run| &run.weight)))
    });
    let (sizes, x, rows, weight) = found.map_err(raise)?;
    Ok((sizes.into_pyarray(py), x.into_pyarray(py), rows.into_pyarray(py), weight.into_pyarray(py)))
}

/// Sums of Gaussian kernels about the points of every column, one for each class and any others of the column.
#[pyclass(frozen, module = "sunrise._native")]
pub struct KernelSums(Arc<density::KernelSums>);

#[pymethods]
impl KernelSums {
    /// Sum k has the points and weights between offsets k and k + 1; a column has `per_column` sums.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        points: PyReadonlyArray1<'py, f64>,
        weight: PyReadonlyArray1<'py, f64>,
        offsets: PyReadonlyArray1<'py, i64>,
        widths: PyReadonlyArray1<'py, f64>,
        per_column: usize,
        threads: usize,
    ) -> PyResult<Self> {
        let (points, weight) = (slice(&points)?, slice(&weight)?);
        let (offsets, widths) = (slice(&offsets)?, slice(&widths)?);
        let sums = py.detach(|| {
            let n = points.len();
            let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
            let inside = offsets.iter().all(|&k| usize::try_from(k).is_ok_and(|k| k <= n));
            if weight.len() != n || offsets.len() != widths.len() + 1 || !rising || !inside {
                return Err(Fault::shape("the points of the kernels do not fit their sums"));
            }
            // Threads share the sums where there are many, and the points of a sum where there are few.
            let tasks: Vec<usize> = (0..widths.len()).collect();
            let most = if n < 1 << 14 { 1 } else { threads };
            let (outer, inner) =
                if tasks.len() >= 4usize.saturating_mul(most) { (most, 1) } else { (1, most) };
            run(outer, tasks, |k| {
                let range = offsets[k] as usize..offsets[k + 1] as usize;
                KernelSum::new(points[range.clone()].to_vec(), weight[range].to_vec(), widths[k], inner)
            })
            .into_iter()
            .collect::<Result<Vec<KernelSum>, Fault>>()
        });
        Ok(KernelSums(Arc::new(density::KernelSums { per_column, sums: sums.map_err(raise)? })))
    }

    /// Logarithms of the sums `at` at positions x; `removed` has two points and weights per position to leave out.
    #[pyo3(signature = (at, x, folds, threads, removed=None))]
    fn log_sums<'py>(
        &self,
        py: Python<'py>,
        at: PyReadonlyArray1<'py, i64>,
        x: PyReadonlyArray1<'py, f64>,
        folds: Folds,
        threads: usize,
        removed: Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (at, x) = (slice(&at)?, slice(&x)?);
        let removed = match &removed {
            Some((points, weights)) => Some((slice(points)?, slice(weights)?)),
            None => None,
        };
        let logs = py.detach(|| self.0.log_sums(at, x, removed, &folds.0, threads)).map_err(raise)?;
        Ok(logs.into_pyarray(py))
    }
}

/// The log densities of columns by class: sums of kernels, and the vectors that mix them.
///
/// `common`, `log_width` have a number for each column and sum, `prior`, `total` for each column and class. `step` is
/// the distance between the nodes of each column, 0 if its points are the cells themselves.
#[pyclass(frozen, module = "sunrise._native")]
pub struct KernelDensities(Densities);

impl KernelDensities {
    pub fn core(&self) -> &Densities {
        &self.0
    }
}

#[pymethods]
impl KernelDensities {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new<'py>(
        sums: &KernelSums,
        folds: Folds,
        common: PyReadonlyArray1<'py, f64>,
        prior: PyReadonlyArray1<'py, f64>,
        total: PyReadonlyArray1<'py, f64>,
        log_width: PyReadonlyArray1<'py, f64>,
        step: PyReadonlyArray1<'py, f64>,
        classes: usize,
    ) -> PyResult<Self> {
        let mixture = Mixture {
            common: slice(&common)?.to_vec(),
            prior: slice(&prior)?.to_vec(),
            total: slice(&total)?.to_vec(),
            log_width: slice(&log_width)?.to_vec(),
            step: slice(&step)?.to_vec(),
            classes,
        };
        let sums = sums.0.clone();
        Ok(KernelDensities(Densities::new(sums, folds.0, mixture).map_err(raise)?))
    }

    /// Makes the tables that cost no more than these rows and those before.
    fn prepare(&self, py: Python<'_>, rows: usize, threads: usize) {
        py.detach(|| self.0.prepare(rows, threads));
    }

    /// The log density of every cell by every class, rows x classes x columns; 0 if missing.
    fn cells<'py>(
        &self,
        py: Python<'py>,
        cells: Cells<'py>,
        support: Reading,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let matrix = cells.matrix(support.core()).map_err(raise)?;
        let logs = py.detach(|| self.0.cells(matrix.as_ref(), threads)).map_err(raise)?;
        Ok(logs.into_pyarray(py))
    }

    /// Whether some rows are all the rows that the kernels came from, but for their order.
    fn holds<'py>(
        &self,
        py: Python<'py>,
        cells: Cells<'py>,
        support: Reading,
        y: PyReadonlyArray1<'py, i32>,
        row_weight: PyReadonlyArray1<'py, f64>,
        threads: usize,
    ) -> PyResult<bool> {
        let matrix = cells.matrix(support.core()).map_err(raise)?;
        let (y, row_weight) = (slice(&y)?, slice(&row_weight)?);
        py.detach(|| self.0.holds(matrix.as_ref(), y, row_weight, threads)).map_err(raise)
    }

    /// The log density of every cell by its own class, without the kernel of the cell itself.
    ///
    /// `row_weight` has the weight of a row of each class. With `weight`, the weighted sum over the columns of a row.
    /// With `check`, a cell that was not fitted is NaN.
    #[allow(clippy::too_many_arguments)]
    fn left_out<'py>(
        &self,
        py: Python<'py>,
        cells: Cells<'py>,
        support: Reading,
        y: PyReadonlyArray1<'py, i32>,
        row_weight: PyReadonlyArray1<'py, f64>,
        weight: Option<PyReadonlyArray1<'py, f64>>,
        check: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let matrix = cells.matrix(support.core()).map_err(raise)?;
        let (y, row_weight) = (slice(&y)?, slice(&row_weight)?);
        let weight = weight.as_ref().map(slice).transpose()?;
        let logs = py
            .detach(|| self.0.left_out_cells(matrix.as_ref(), y, row_weight, weight, check, threads))
            .map_err(raise)?;
        Ok(logs.into_pyarray(py))
    }
}
