//! Scoring: rows go through all blocks of columns in one pass.

use crate::cells::{slice, slice_mut};
use crate::raise;
use crate::weights::Block;
use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sunrise_core::normalise::{normalise as normalise_rows, Output};
use sunrise_core::score::{score as score_rows, Results, Scorer};

fn output_named(name: &str) -> PyResult<Output> {
    match name {
        "joint" => Ok(Output::Joint),
        "log_proba" => Ok(Output::LogProba),
        "proba" => Ok(Output::Proba),
        _ => Err(PyValueError::new_err("the output is joint, log_proba or proba")),
    }
}

/// The array that results are written to: a matrix of scores, or a vector of the best classes.
#[derive(FromPyObject)]
pub enum OutputArray<'py> {
    Values(PyReadwriteArray2<'py, f64>),
    Best(PyReadwriteArray1<'py, i64>),
}

/// Scores rows through all blocks into `out`; returns the number of impossible rows.
///
/// A block is (cells, support, weights). `own` replaces the score of every row for one class, its own.
#[pyfunction]
#[pyo3(signature = (blocks, log_prior, fallback, out, output, threads, own=None))]
#[allow(clippy::too_many_arguments)]
pub fn score<'py>(
    py: Python<'py>,
    blocks: Vec<Block<'py>>,
    log_prior: PyReadonlyArray1<'py, f64>,
    fallback: PyReadonlyArray1<'py, f64>,
    mut out: OutputArray<'py>,
    output: &str,
    threads: usize,
    own: Option<(PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f64>)>,
) -> PyResult<usize> {
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
    let (n, results) = match &mut out {
        OutputArray::Values(values) => (values.shape()[0], Results::Values(slice_mut(values)?, output)),
        OutputArray::Best(best) => (best.len(), Results::Best(slice_mut(best)?)),
    };
    py.detach(|| score_rows(n, &scorers, prior, fallback, own, results, threads)).map_err(raise)
}

/// Turns joint log scores into (log-)probabilities in place; returns the number of impossible rows.
#[pyfunction]
pub fn normalise<'py>(
    py: Python<'py>,
    mut scores: PyReadwriteArray2<'py, f64>,
    fallback: PyReadonlyArray1<'py, f64>,
    output: &str,
) -> PyResult<usize> {
    let (fallback, output) = (slice(&fallback)?, output_named(output)?);
    if fallback.is_empty() || fallback.len() != scores.shape()[1] {
        return Err(PyValueError::new_err("the scores do not have one class for each prior"));
    }
    let scores = slice_mut(&mut scores)?;
    Ok(py.detach(|| normalise_rows(scores, fallback, output, &mut Vec::new())))
}
