//! The Python module `sunrise._native`: matches dtypes, borrows arrays, releases the GIL, turns faults into exceptions.
//!
//! All arithmetic is in sunrise-core. No argument from Python can make a native function panic: arguments that do not
//! fit raise TypeError, ValueError, OverflowError or MemoryError.
#![deny(unsafe_code)]

mod accumulate;
mod arrow;
mod calibration;
mod cells;
mod columns;
mod curves;
mod density;
mod log_odds;
mod objects;
mod products;
mod score;
mod temperature;
mod text;
mod weights;

use cells::slice;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use sunrise_core::fault::{CellFault, Fault};
use sunrise_core::labels;

create_exception!(_native, CellError, PyValueError, "One cell cannot be used: (why, row, column, value).");
create_exception!(_native, NotCanonical, PyValueError, "A sparse row names a column twice or out of order.");

/// The exception of a fault.
pub(crate) fn raise(fault: Fault) -> PyErr {
    match fault {
        Fault::Shape(text) => PyValueError::new_err(text),
        Fault::Memory => PyMemoryError::new_err("there is not enough memory for so many classes and columns"),
        Fault::NotCanonical => NotCanonical::new_err("sum_duplicates() first"),
        Fault::Cell { what, row, column, value } => {
            let what = match what {
                CellFault::Infinite => "infinite",
                CellFault::Below => "below",
                CellFault::Above => "above",
                CellFault::Fraction => "fraction",
                CellFault::Unseen => "unseen",
            };
            CellError::new_err((what, row, column, value))
        }
    }
}

type Floats<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = Bound<'py, PyArray1<i64>>;
type Codes<'py> = Bound<'py, PyArray1<i32>>;

/// The distinct integer labels in ascending order, and the code of every row.
#[pyfunction]
fn encode_integers<'py>(py: Python<'py>, y: &Bound<'py, PyAny>) -> PyResult<(Integers<'py>, Codes<'py>)> {
    macro_rules! attempt {
        ($($t:ty),*) => {$(
            if let Ok(y) = y.extract::<PyReadonlyArray1<$t>>() {
                cells::check_layout(&y)?;
                let view = y.as_array();
                let (classes, codes) = py.detach(|| labels::integers(view.iter().map(|&v| v as i64)));
                return Ok((classes.into_pyarray(py), codes.into_pyarray(py)));
            }
        )*};
    }
    attempt!(i64, i32, i16, i8, u8, u16, u32);
    Err(PyTypeError::new_err("labels must be a one-dimensional array of integers"))
}

/// The rows where each distinct label of `width` bytes first occurs, and the code of every row.
#[pyfunction]
fn encode_strings<'py>(
    py: Python<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
    width: usize,
) -> PyResult<(Integers<'py>, Codes<'py>)> {
    let bytes = slice(&bytes)?;
    let (first, codes) = py.detach(|| labels::strings(bytes, width));
    let first: Vec<i64> = first.into_iter().map(|row| row as i64).collect();
    Ok((first.into_pyarray(py), codes.into_pyarray(py)))
}

/// The native functions of Sunrise.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("CellError", m.py().get_type::<CellError>())?;
    m.add("NotCanonical", m.py().get_type::<NotCanonical>())?;
    m.add("GROUP", sunrise_core::gather::GROUP)?;
    m.add_function(wrap_pyfunction!(encode_integers, m)?)?;
    m.add_function(wrap_pyfunction!(encode_strings, m)?)?;
    m.add_class::<arrow::ArrowColumn>()?;
    m.add_function(wrap_pyfunction!(arrow::arrow_column, m)?)?;
    m.add_function(wrap_pyfunction!(arrow::arrow_table, m)?)?;
    m.add_class::<columns::ColumnSummary>()?;
    m.add_function(wrap_pyfunction!(columns::summary, m)?)?;
    m.add_function(wrap_pyfunction!(columns::encode_column, m)?)?;
    m.add_function(wrap_pyfunction!(columns::encode_objects, m)?)?;
    m.add_function(wrap_pyfunction!(columns::few_values, m)?)?;
    m.add_function(wrap_pyfunction!(columns::map_codes, m)?)?;
    m.add_function(wrap_pyfunction!(columns::map_pairs, m)?)?;
    m.add_function(wrap_pyfunction!(columns::bins, m)?)?;
    m.add_function(wrap_pyfunction!(columns::take_numbers, m)?)?;
    m.add_class::<accumulate::MomentSums>()?;
    m.add_class::<accumulate::LevelCounts>()?;
    m.add_function(wrap_pyfunction!(accumulate::class_totals, m)?)?;
    m.add_function(wrap_pyfunction!(accumulate::column_ranges, m)?)?;
    m.add_function(wrap_pyfunction!(accumulate::accumulate_sums, m)?)?;
    m.add_function(wrap_pyfunction!(accumulate::accumulate_moments, m)?)?;
    m.add_function(wrap_pyfunction!(accumulate::count_levels, m)?)?;
    m.add_function(wrap_pyfunction!(accumulate::count_row_totals, m)?)?;
    m.add_function(wrap_pyfunction!(density::on_lattices, m)?)?;
    m.add_class::<density::KernelSums>()?;
    m.add_class::<density::KernelDensities>()?;
    m.add_class::<text::Alphabet>()?;
    m.add_class::<text::Words>()?;
    m.add_class::<text::TextCounter>()?;
    m.add_class::<text::TokenCounts>()?;
    m.add_function(wrap_pyfunction!(text::hash_texts, m)?)?;
    m.add_function(wrap_pyfunction!(text::scale_counts, m)?)?;
    m.add_function(wrap_pyfunction!(text::stretch_counts, m)?)?;
    m.add_function(wrap_pyfunction!(text::move_word_columns, m)?)?;
    m.add_function(wrap_pyfunction!(log_odds::count_documents, m)?)?;
    m.add_function(wrap_pyfunction!(log_odds::log_odds, m)?)?;
    m.add_function(wrap_pyfunction!(log_odds::log_odds_left_out, m)?)?;
    m.add_function(wrap_pyfunction!(log_odds::log_odds_left_out_bands, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::fit_word_weights, m)?)?;
    m.add_class::<weights::DenseWeights>()?;
    m.add_class::<weights::SparseWeights>()?;
    m.add_class::<weights::LevelScores>()?;
    m.add_class::<weights::PolyaWeights>()?;
    m.add_class::<weights::KernelWeights>()?;
    m.add_class::<curves::DistanceWeights>()?;
    m.add_class::<curves::StudentWeights>()?;
    m.add_class::<curves::FactorialWeights>()?;
    m.add_function(wrap_pyfunction!(score::score, m)?)?;
    m.add_function(wrap_pyfunction!(score::normalise, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::leave_one_out_scores, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::log_loss, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::log_loss_hessian, m)?)?;
    m.add_function(wrap_pyfunction!(temperature::temperature_loss, m)?)?;
    m.add_function(wrap_pyfunction!(temperature::temperature_curvature, m)?)?;
    m.add_function(wrap_pyfunction!(temperature::temperature_best, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::calibration_scores, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::row_losses, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::pair_slopes, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::pair_lifts, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::level_differences, m)?)?;
    m.add_function(wrap_pyfunction!(calibration::solve_positive, m)?)?;
    m.add_function(wrap_pyfunction!(products::accumulate_products, m)?)?;
    m.add_function(wrap_pyfunction!(products::squared_distances, m)?)?;
    m.add_function(wrap_pyfunction!(products::distances_from_two, m)?)?;
    Ok(())
}
