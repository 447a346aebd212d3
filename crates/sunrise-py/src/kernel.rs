//! Sums of kernels, held by Rust once they are laid out.

use crate::cells::slice;
use crate::raise;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sunrise_core::fault::Fault;
use sunrise_core::kernel::{Folds, Kernels, Sum};
use sunrise_core::work::run;

/// How cells become places on the line: (log, lower, upper, [(sign, shift), ...]).
#[derive(Clone, FromPyObject)]
pub struct FoldsOf(bool, f64, f64, Vec<(f64, f64)>);

impl FoldsOf {
    pub fn folds(self) -> Folds {
        let FoldsOf(log, lower, upper, images) = self;
        Folds { log, lower, upper, images }
    }
}

/// Kernels about the points of every column, for each of its sums.
#[pyclass(frozen)]
pub struct KernelSums(pub Kernels);

#[pymethods]
impl KernelSums {
    /// Points and weights of sum k lie between offsets k and k + 1; a column has `per_column` sums.
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
            // Large sums share their own work among threads; small ones are shared out.
            let tasks: Vec<usize> = (0..widths.len()).collect();
            let most = if n < 1 << 14 { 1 } else { threads };
            let (outer, inner) = if tasks.len() >= 4 * most { (most, 1) } else { (1, most) };
            run(outer, tasks, |k| {
                let some = offsets[k] as usize..offsets[k + 1] as usize;
                Sum::new(points[some.clone()].to_vec(), weight[some].to_vec(), widths[k], inner)
            })
            .into_iter()
            .collect::<Result<Vec<Sum>, Fault>>()
        });
        Ok(KernelSums(Kernels { per_column, sums: sums.map_err(raise)? }))
    }

    /// Log sums at places on the line, each of one sum; without weights at two of its points where these are given.
    #[pyo3(signature = (at, x, folds, threads, taken=None))]
    fn log_sums<'py>(
        &self,
        py: Python<'py>,
        at: PyReadonlyArray1<'py, i64>,
        x: PyReadonlyArray1<'py, f64>,
        folds: FoldsOf,
        threads: usize,
        taken: Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (at, x, folds) = (slice(&at)?, slice(&x)?, folds.folds());
        let taken = match &taken {
            Some((points, weights)) => Some((slice(points)?, slice(weights)?)),
            None => None,
        };
        let found = py.detach(|| self.0.log_sums(at, x, taken, &folds, threads)).map_err(raise)?;
        Ok(found.into_pyarray(py))
    }
}
