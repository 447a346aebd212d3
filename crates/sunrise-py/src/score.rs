//! The scoring door: blocks of cells with their weights or tables, scored in one pass.

use crate::cells::{check_layout, dispatch, slice, Cells, Reading};
use crate::raise;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sunrise_core::fault::Fault;
use sunrise_core::linear::{ColumnWeights, DenseLinear, SparseLinear, Weights};
use sunrise_core::normalise::{normalise as normalise_row, Output};
use sunrise_core::score::{score as score_rows, Scorer};
use sunrise_core::table::{DenseTable, Levels, SparseTable};

type Array<'py> = PyReadonlyArray2<'py, f64>;

/// A two-dimensional array as a slice, row by row.
fn flat<'a>(array: &'a Array<'_>) -> PyResult<&'a [f64]> {
    check_layout(array)?;
    array.as_slice().map_err(|_| PyValueError::new_err("the weights are not contiguous"))
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

/// Scores by level: (cells, offsets, codes, sizes, values, refuse_unseen).
#[derive(FromPyObject)]
pub struct TableBlock<'py>(
    Cells<'py>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    Array<'py>,
    bool,
);

pub enum Block<'py> {
    Dense(DenseBlock<'py>),
    Sparse(SparseBlock<'py>),
    Table(TableBlock<'py>),
}

impl<'py> FromPyObject<'_, 'py> for Block<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (kind, block): (String, Bound<'py, PyAny>) = object.extract()?;
        match kind.as_str() {
            "dense" => Ok(Block::Dense(block.extract()?)),
            "sparse" => Ok(Block::Sparse(block.extract()?)),
            "table" => Ok(Block::Table(block.extract()?)),
            _ => Err(PyValueError::new_err("a block is dense, sparse or table")),
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
            Block::Table(TableBlock(cells, offsets, codes, sizes, values, refuse_unseen)) => {
                let levels = Levels {
                    offsets: slice(offsets)?,
                    codes: slice(codes)?,
                    sizes: slice(sizes)?,
                    values: flat(values)?,
                    classes: values.as_array().ncols(),
                    refuse_unseen: *refuse_unseen,
                };
                dispatch!(cells, sunrise_core::cells::Reading::REAL, Here,
                    dense => boxed(DenseTable::new(dense, levels)),
                    sparse => boxed(SparseTable::new(sparse, levels)))
            }
        })
    }

    /// Number of classes, to check blocks against each other before any row is scored.
    fn classes(&self) -> usize {
        match self {
            Block::Dense(block) => block.2.as_array().len(),
            Block::Sparse(block) => block.2.as_array().len(),
            Block::Table(block) => block.4.as_array().ncols(),
        }
    }
}

fn output_named(name: Option<&str>) -> PyResult<Option<Output>> {
    match name {
        None => Ok(None),
        Some("joint") => Ok(Some(Output::Joint)),
        Some("log_proba") => Ok(Some(Output::LogProba)),
        Some("proba") => Ok(Some(Output::Proba)),
        Some(_) => Err(PyValueError::new_err("the output is joint, log_proba, proba or None")),
    }
}

/// Scores rows through all blocks: (rows x classes or best classes, impossible rows, incomplete rows).
#[pyfunction]
pub fn score<'py>(
    py: Python<'py>,
    n: usize,
    blocks: Vec<Block<'py>>,
    log_prior: PyReadonlyArray1<'py, f64>,
    fallback: PyReadonlyArray1<'py, f64>,
    output: Option<&str>,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, usize, Vec<usize>)> {
    let output = output_named(output)?;
    let (prior, fallback) = (slice(&log_prior)?, slice(&fallback)?);
    if blocks.iter().any(|block| block.classes() != prior.len()) {
        return Err(PyValueError::new_err("the blocks do not have one class for each prior"));
    }
    let mut scorers = Vec::with_capacity(blocks.len());
    for block in &blocks {
        scorers.push(block.scorer()?.map_err(raise)?);
    }
    let scorers: Vec<&dyn Scorer> = scorers.iter().map(|scorer| scorer.as_ref()).collect();
    let found = py.detach(|| score_rows(n, &scorers, prior, fallback, output, threads)).map_err(raise)?;
    let values = match output {
        Some(_) => found.values.into_pyarray(py).reshape([n, prior.len()])?.into_any(),
        None => found.best.into_pyarray(py).into_any(),
    };
    Ok((values, found.impossible, found.incomplete))
}

/// Turns joint log scores into probabilities: (rows x classes, impossible rows).
#[pyfunction]
pub fn normalise<'py>(
    py: Python<'py>,
    scores: Array<'py>,
    fallback: PyReadonlyArray1<'py, f64>,
    output: &str,
) -> PyResult<(Bound<'py, PyArray2<f64>>, usize)> {
    let fallback = slice(&fallback)?;
    let (n, classes) = scores.as_array().dim();
    let Some(output) = output_named(Some(output))? else { return Err(PyValueError::new_err("no output")) };
    if classes == 0 || fallback.len() != classes {
        return Err(PyValueError::new_err("the scores do not have one class for each prior"));
    }
    let mut values = flat(&scores)?.to_vec();
    let impossible = py.detach(|| {
        values
            .chunks_exact_mut(classes)
            .filter_map(|row| (!normalise_row(row, fallback, output)).then_some(()))
            .count()
    });
    let values: Bound<'py, PyArray1<f64>> = values.into_pyarray(py);
    Ok((values.reshape([n, classes])?, impossible))
}
