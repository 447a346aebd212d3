//! The scoring door: blocks of cells with their weights or tables, scored in one pass.

use crate::cells::{check_layout, dispatch, slice, Cells, Reading};
use crate::kernel::{FoldsOf, KernelSums};
use crate::raise;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1,
    PyReadwriteArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sunrise_core::fault::Fault;
use sunrise_core::kernel::{Folds, KernelScorer, Shares};
use sunrise_core::linear::{ColumnWeights, DenseLinear, SparseLinear, Weights};
use sunrise_core::loss::{curvature as bent, loss as log_loss, Told};
use sunrise_core::normalise::{normalise as normalise_rows, Output};
use sunrise_core::own::{own as own_scores, Removal};
use sunrise_core::polya::{DensePolya, SparsePolya, Urns};
use sunrise_core::score::{score as score_rows, Results, Scorer};
use sunrise_core::table::{DenseTable, Levels, SparseTable};

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Array<'py> = PyReadonlyArray2<'py, f64>;

/// A two-dimensional array as a slice, row by row.
fn flat<'a>(array: &'a Array<'_>) -> PyResult<&'a [f64]> {
    check_layout(array)?;
    check_row_by_row(array)?;
    array.as_slice().map_err(|_| PyValueError::new_err("the weights are not contiguous"))
}

/// Refuses Fortran order, whose slices run down the columns.
fn check_row_by_row<'py>(array: &Bound<'py, PyArray2<f64>>) -> PyResult<()> {
    if array.is_c_contiguous() {
        return Ok(());
    }
    Err(PyValueError::new_err("the array does not lie row by row"))
}

fn flat_option<'a>(array: &'a Option<Array<'_>>) -> PyResult<Option<&'a [f64]>> {
    array.as_ref().map(flat).transpose()
}

/// Linear weights of dense cells: ("dense", cells, reading, constant, base, x, x2, anchor, compositional).
#[derive(FromPyObject)]
pub struct DenseBlock<'py>(
    Cells<'py>,
    Reading,
    PyReadonlyArray1<'py, f64>,
    Option<Array<'py>>,
    Option<Array<'py>>,
    Option<Array<'py>>,
    Option<Array<'py>>,
    bool,
);

/// Linear weights of sparse cells: (cells, reading, constant, residue, zero, x, about, compositional).
#[derive(FromPyObject)]
pub struct SparseBlock<'py>(
    Cells<'py>,
    Reading,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    Option<Array<'py>>,
    Option<Array<'py>>,
    Option<[Array<'py>; 4]>,
    bool,
);

/// Scores by level: (cells, offsets, codes, sizes, values, classes, refuse_unseen).
#[derive(FromPyObject)]
pub struct TableBlock<'py>(
    Cells<'py>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    Array<'py>,
    usize,
    bool,
);

/// Polya urns: (cells, reading, table, total, known, weight, plain).
#[derive(FromPyObject)]
pub struct PolyaBlock<'py>(
    Cells<'py>,
    Reading,
    Array<'py>,
    PyReadonlyArray1<'py, f64>,
    Option<PyReadonlyArray1<'py, bool>>,
    f64,
    bool,
);

/// Kernels: (cells, reading, sums, folds, common, prior, log_total, log_width, weight, classes).
#[derive(FromPyObject)]
pub struct KernelParts<'py>(
    Cells<'py>,
    Reading,
    Bound<'py, KernelSums>,
    FoldsOf,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    usize,
);

/// The same with its folds ready to be borrowed.
pub struct KernelBlock<'py>(KernelParts<'py>, Folds);

pub enum Block<'py> {
    Kernel(KernelBlock<'py>),
    Dense(DenseBlock<'py>),
    Sparse(SparseBlock<'py>),
    Table(TableBlock<'py>),
    Polya(PolyaBlock<'py>),
}

impl<'py> FromPyObject<'_, 'py> for Block<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (kind, block): (String, Bound<'py, PyAny>) = object.extract()?;
        match kind.as_str() {
            "dense" => Ok(Block::Dense(block.extract()?)),
            "sparse" => Ok(Block::Sparse(block.extract()?)),
            "table" => Ok(Block::Table(block.extract()?)),
            "polya" => Ok(Block::Polya(block.extract()?)),
            "kernel" => {
                let parts: KernelParts = block.extract()?;
                let folds = parts.3.clone().folds();
                Ok(Block::Kernel(KernelBlock(parts, folds)))
            }
            _ => Err(PyValueError::new_err("a block is dense, sparse, table, polya or kernel")),
        }
    }
}

/// A scorer that borrows the arrays of its block.
type Boxed<'a> = Box<dyn Scorer + 'a>;

fn boxed<'a>(scorer: Result<impl Scorer + 'a, Fault>) -> Result<Boxed<'a>, Fault> {
    scorer.map(|scorer| Box::new(scorer) as Boxed<'a>)
}

/// Runs an expression where it stands; stands in for the GIL release of the kernels, which comes later here.
struct Here;

impl Here {
    fn detach<R>(&self, run: impl FnOnce() -> R) -> R {
        run()
    }
}

impl Block<'_> {
    fn scorer(&self) -> PyResult<Result<Boxed<'_>, Fault>> {
        let misfit = || Fault::shape("these cells do not go with these weights");
        Ok(match self {
            Block::Dense(DenseBlock(cells, reading, constant, base, x, x2, anchor, compositional)) => {
                let weights = Weights {
                    constant: slice(constant)?,
                    base: flat_option(base)?,
                    x: flat_option(x)?,
                    x2: flat_option(x2)?,
                    anchor: flat_option(anchor)?,
                    compositional: *compositional,
                };
                dispatch!(cells, reading.0, Here,
                    dense => boxed(DenseLinear::new(dense, weights)),
                    _sparse => Err(misfit()))
            }
            Block::Sparse(SparseBlock(cells, reading, constant, residue, zero, x, about, compositional)) => {
                let about = match about {
                    Some([base, anchor, x, x2]) => Some([flat(base)?, flat(anchor)?, flat(x)?, flat(x2)?]),
                    None => None,
                };
                let weights = ColumnWeights {
                    constant: slice(constant)?,
                    residue: slice(residue)?,
                    zero: flat_option(zero)?,
                    x: flat_option(x)?,
                    about,
                    compositional: *compositional,
                };
                dispatch!(cells, reading.0, Here,
                    _dense => Err(misfit()),
                    sparse => boxed(SparseLinear::new(sparse, reading.0, weights)))
            }
            Block::Kernel(KernelBlock(parts, folds)) => {
                let KernelParts(
                    cells,
                    reading,
                    sums,
                    _,
                    common,
                    prior,
                    log_total,
                    log_width,
                    weight,
                    classes,
                ) = parts;
                let shares = Shares {
                    common: slice(common)?,
                    prior: slice(prior)?,
                    log_total: slice(log_total)?,
                    log_width: slice(log_width)?,
                    weight: slice(weight)?,
                };
                let kernels = &sums.get().0;
                dispatch!(cells, reading.0, Here,
                    dense => boxed(KernelScorer::new(dense, kernels, folds, shares, *classes)),
                    _sparse => Err(misfit()))
            }
            Block::Table(TableBlock(cells, offsets, codes, sizes, values, classes, refuse_unseen)) => {
                let levels = Levels {
                    offsets: slice(offsets)?,
                    codes: slice(codes)?,
                    sizes: slice(sizes)?,
                    values: flat(values)?,
                    classes: *classes,
                    refuse_unseen: *refuse_unseen,
                };
                dispatch!(cells, sunrise_core::cells::Reading::REAL, Here,
                    dense => boxed(DenseTable::new(dense, levels)),
                    sparse => boxed(SparseTable::new(sparse, levels)))
            }
            Block::Polya(PolyaBlock(cells, reading, table, total, known, weight, plain)) => {
                let urns = Urns {
                    table: flat(table)?,
                    total: slice(total)?,
                    known: known.as_ref().map(slice).transpose()?,
                    weight: *weight,
                    plain: *plain,
                };
                dispatch!(cells, reading.0, Here,
                    dense => boxed(DensePolya::new(dense, urns)),
                    sparse => boxed(SparsePolya::new(sparse, reading.0, urns)))
            }
        })
    }

    /// Number of classes, to check blocks against each other before any row is scored.
    fn classes(&self) -> usize {
        match self {
            Block::Dense(block) => block.2.as_array().len(),
            Block::Sparse(block) => block.2.as_array().len(),
            Block::Table(block) => block.5,
            Block::Polya(block) => block.3.as_array().len(),
            Block::Kernel(block) => block.0 .9,
        }
    }
}

fn output_named(name: &str) -> PyResult<Output> {
    match name {
        "joint" => Ok(Output::Joint),
        "log_proba" => Ok(Output::LogProba),
        "proba" => Ok(Output::Proba),
        _ => Err(PyValueError::new_err("the output is joint, log_proba or proba")),
    }
}

/// Room for results: a matrix of scores, or a vector of best classes.
#[derive(FromPyObject)]
pub enum Room<'py> {
    Values(PyReadwriteArray2<'py, f64>),
    Best(PyReadwriteArray1<'py, i64>),
}

/// Scores rows through all blocks into `room`: (impossible rows, incomplete rows).
#[pyfunction]
#[pyo3(signature = (blocks, log_prior, fallback, room, output, threads, own=None))]
#[allow(clippy::too_many_arguments)]
pub fn score<'py>(
    py: Python<'py>,
    blocks: Vec<Block<'py>>,
    log_prior: PyReadonlyArray1<'py, f64>,
    fallback: PyReadonlyArray1<'py, f64>,
    mut room: Room<'py>,
    output: &str,
    threads: usize,
    own: Option<(PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f64>)>,
) -> PyResult<(usize, Vec<usize>)> {
    let output = output_named(output)?;
    let own = match &own {
        Some((labels, scores)) => Some((slice(labels)?, slice(scores)?)),
        None => None,
    };
    let (prior, fallback) = (slice(&log_prior)?, slice(&fallback)?);
    if blocks.iter().any(|block| block.classes() != prior.len()) {
        return Err(PyValueError::new_err("the blocks do not have one class for each prior"));
    }
    let mut scorers = Vec::with_capacity(blocks.len());
    for block in &blocks {
        scorers.push(block.scorer()?.map_err(raise)?);
    }
    let scorers: Vec<&dyn Scorer> = scorers.iter().map(|scorer| scorer.as_ref()).collect();
    let scattered = |_| PyValueError::new_err("the room for results is not contiguous");
    let (n, results) = match &mut room {
        Room::Values(values) => {
            check_row_by_row(values)?;
            (values.as_array().nrows(), Results::Values(values.as_slice_mut().map_err(scattered)?, output))
        }
        Room::Best(best) => (best.as_array().len(), Results::Best(best.as_slice_mut().map_err(scattered)?)),
    };
    let notes =
        py.detach(|| score_rows(n, &scorers, prior, fallback, own, results, threads)).map_err(raise)?;
    Ok((notes.impossible, notes.incomplete))
}

/// The score of every row for its own class once it is taken out; NaN where that has to be found in another way.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn own<'py>(
    py: Python<'py>,
    cells: Cells<'py>,
    reading: Reading,
    labels: PyReadonlyArray1<'py, i32>,
    constant: PyReadonlyArray1<'py, f64>,
    base: Array<'py>,
    anchor: Array<'py>,
    q: Array<'py>,
    p: Array<'py>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let labels = slice(&labels)?;
    let removal = Removal {
        constant: slice(&constant)?,
        base: flat(&base)?,
        anchor: flat(&anchor)?,
        q: flat(&q)?,
        p: flat(&p)?,
    };
    let found = dispatch!(&cells, reading.0, py,
        dense => own_scores(&*dense, labels, removal, threads),
        _sparse => Err(Fault::shape("sparse cells cannot be taken out one by one")));
    Ok(found.map_err(raise)?.into_pyarray(py))
}

/// What the columns say of rows, borrowed from Python's arrays.
fn told<'a>(
    cells: &'a PyReadonlyArray1<'_, f64>,
    prior: &'a Array<'_>,
    labels: &'a PyReadonlyArray1<'_, i32>,
    weight: &'a PyReadonlyArray1<'_, f64>,
) -> PyResult<Told<'a>> {
    Ok(Told { cells: slice(cells)?, prior: flat(prior)?, labels: slice(labels)?, weight: slice(weight)? })
}

/// The log loss of rows under weights of their columns and offsets of the classes, and its slopes in both.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn loss<'py>(
    py: Python<'py>,
    cells: PyReadonlyArray1<'py, f64>,
    prior: Array<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    columns: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<(f64, Floats<'py>, Floats<'py>)> {
    let told = told(&cells, &prior, &labels, &weight)?;
    let (columns, offsets) = (slice(&columns)?, slice(&offsets)?);
    let found = py.detach(|| log_loss(told, columns, offsets, threads)).map_err(raise)?;
    Ok((found.value, found.columns.into_pyarray(py), found.classes.into_pyarray(py)))
}

/// The curvature of that loss in weights and offsets together, row by row; 0 above the diagonal.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn curvature<'py>(
    py: Python<'py>,
    cells: PyReadonlyArray1<'py, f64>,
    prior: Array<'py>,
    labels: PyReadonlyArray1<'py, i32>,
    weight: PyReadonlyArray1<'py, f64>,
    columns: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Floats<'py>> {
    let told = told(&cells, &prior, &labels, &weight)?;
    let (columns, offsets) = (slice(&columns)?, slice(&offsets)?);
    let found = py.detach(|| bent(told, columns, offsets, threads)).map_err(raise)?;
    Ok(found.into_pyarray(py))
}

/// Turns joint log scores into probabilities in place; says how many rows were impossible.
#[pyfunction]
pub fn normalise<'py>(
    py: Python<'py>,
    mut scores: PyReadwriteArray2<'py, f64>,
    fallback: PyReadonlyArray1<'py, f64>,
    output: &str,
) -> PyResult<usize> {
    let (fallback, output) = (slice(&fallback)?, output_named(output)?);
    if fallback.is_empty() || fallback.len() != scores.as_array().ncols() {
        return Err(PyValueError::new_err("the scores do not have one class for each prior"));
    }
    check_row_by_row(&scores)?;
    let scores = scores.as_slice_mut().map_err(|_| PyValueError::new_err("the scores are not contiguous"))?;
    Ok(py.detach(|| normalise_rows(scores, fallback, output, &mut Vec::new())))
}
