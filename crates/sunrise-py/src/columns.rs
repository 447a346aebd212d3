//! Columns from Python: NumPy arrays, Arrow columns or level codes; their summaries and their encoding as levels.

use crate::arrow::ArrowColumn;
use crate::cells::{check_layout, slice};
use crate::objects::MissingCells;
use crate::{raise, Codes, Floats, Integers};
use numpy::ndarray::Ix1;
use numpy::{
    IntoPyArray, PyArray1, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use sunrise_core::columns::{Chunk, Column, Values, View};
use sunrise_core::fault::{CellFault, Fault};
use sunrise_core::labels::{self, Numbering};
use sunrise_core::summary::summarise;

macro_rules! column_types {
    ($($name:ident: $t:ty),*) => {
        /// The array or Arrow column that holds the cells of a column.
        pub enum Source<'py> {
            $(#[allow(missing_docs)] $name(PyReadonlyArray<'py, $t, Ix1>),)*
            /// An Arrow column.
            Arrow(Bound<'py, ArrowColumn>),
        }

        impl<'py> FromPyObject<'_, 'py> for Source<'py> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                if let Ok(column) = object.cast::<ArrowColumn>() {
                    return Ok(Source::Arrow(column.to_owned()));
                }
                $(if let Ok(array) = object.extract::<PyReadonlyArray<$t, Ix1>>() {
                    check_layout(&array)?;
                    return Ok(Source::$name(array));
                })*
                Err(PyTypeError::new_err("a column must be a one-dimensional array of numbers"))
            }
        }

        impl Source<'_> {
            fn column(&self, view: View) -> Result<Column<'_>, Fault> {
                match self {
                    Source::Arrow(column) => column.get().column(view),
                    $(Source::$name(array) => Ok(Column::new([Chunk::new(Values::$name(array.as_array()))], view)),)*
                }
            }
        }
    };
}

column_types!(F64: f64, F32: f32, I64: i64, I32: i32, I16: i16, I8: i8, U8: u8, U16: u16, U32: u32, U64: u64);

/// A column and the function of its cells to use: (cells, view). The view "level" means codes, -1 missing.
pub struct Viewed<'py> {
    source: Source<'py>,
    view: Option<View>,
}

impl<'py> FromPyObject<'_, 'py> for Viewed<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok((source, name, centre, unit)) = object.extract::<(Source<'py>, String, f64, f64)>() {
            if name != "scaled" {
                return Err(PyValueError::new_err("the view of a column is not known"));
            }
            return Ok(Viewed { source, view: Some(View::Scaled { centre, unit }) });
        }
        let (source, view): (Source<'py>, String) = object.extract()?;
        let view = match view.as_str() {
            "x" => Some(View::Itself),
            "log x" => Some(View::Log),
            "log(1 - x)" => Some(View::LogOneMinus),
            "log x!" => Some(View::LogFactorial),
            "cos x" => Some(View::Cos),
            "sin x" => Some(View::Sin),
            "level" => None,
            _ => return Err(PyValueError::new_err("the view of a column is not known")),
        };
        Ok(Viewed { source, view })
    }
}

impl Viewed<'_> {
    /// The column for sunrise-core.
    pub fn column(&self) -> Result<Column<'_>, Fault> {
        match (self.view, &self.source) {
            (Some(view), source) => source.column(view),
            (None, Source::I32(codes)) => {
                Ok(Column::new([Chunk::new(Values::Codes(codes.as_array()))], View::Itself))
            }
            (None, _) => Err(Fault::shape("level codes must be int32")),
        }
    }
}

/// What the numbers of a column look like: enough to tell counts from measurements and names from numbers.
#[pyclass(frozen, get_all, module = "sunrise._native")]
pub struct ColumnSummary {
    /// Observed cells; a row counts as its weight, but at least once.
    cells: f64,
    /// Smallest cell; NaN without any.
    low: f64,
    /// Largest cell; NaN without any.
    high: f64,
    /// Whether all cells are whole numbers.
    whole: bool,
    /// Number of distinct cells, at most one more than was asked for.
    distinct: usize,
    /// Whether all cells are whole, distinct and within a range of twice their number.
    numbering: bool,
}

/// Summarises a column of numbers; counts up to `most` distinct cells.
#[pyfunction]
pub fn summary<'py>(
    py: Python<'py>,
    column: Source<'py>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    most: usize,
) -> PyResult<ColumnSummary> {
    let w = w.as_ref().map(slice).transpose()?;
    let column = column.column(View::Itself).map_err(raise)?;
    let s = py.detach(|| summarise(&column, w, most)).map_err(raise)?;
    let (cells, low, high) = (s.cells, s.low, s.high);
    Ok(ColumnSummary { cells, low, high, whole: s.whole, distinct: s.distinct, numbering: s.numbering })
}

fn numbered<'py>(py: Python<'py>, (first, codes): (Vec<usize>, Vec<i32>)) -> (Integers<'py>, Codes<'py>) {
    let first: Vec<i64> = first.into_iter().map(|row| row as i64).collect();
    (first.into_pyarray(py), codes.into_pyarray(py))
}

/// The rows where each distinct cell first occurs, and the code of every row; -1 is missing.
#[pyfunction]
pub fn encode_column<'py>(
    py: Python<'py>,
    column: Source<'py>,
    threads: usize,
) -> PyResult<(Integers<'py>, Codes<'py>)> {
    if let Source::Arrow(arrow) = &column {
        let arrow = arrow.get();
        if let Some(encoded) = py.detach(|| arrow.number_labels(threads)) {
            return Ok(numbered(py, encoded));
        }
    }
    let column = column.column(View::Itself).map_err(raise)?;
    let (first, codes) = py.detach(|| labels::cells(&column));
    match first.iter().map(|&row| (row, column.number(row))).find(|(_, value)| value.is_infinite()) {
        None => Ok(numbered(py, (first, codes))),
        Some((row, value)) => Err(raise(Fault::Cell { what: CellFault::Infinite, row, column: 0, value })),
    }
}

/// Codes of Python strings in order of first appearance, -1 for a missing cell; None if any other object is among them.
#[pyfunction]
pub fn encode_objects<'py>(
    py: Python<'py>,
    objects: PyReadonlyArray1<'py, Py<PyAny>>,
) -> PyResult<Option<(Integers<'py>, Codes<'py>)>> {
    check_layout(&objects)?;
    let objects = objects.as_array();
    let mut numbering = Numbering::new(objects.len());
    let mut missing = MissingCells::default();
    for object in objects {
        let object = object.bind(py);
        let text = match object.cast::<PyString>() {
            Ok(text) => match text.to_str() {
                Ok(text) => Some(text),
                Err(_) => return Ok(None), // lone surrogates
            },
            Err(_) if missing.contains(object)? => None,
            Err(_) => return Ok(None),
        };
        numbering.push(text);
    }
    Ok(Some(numbered(py, numbering.finish())))
}

/// Looks every code up in `to`; -1 and codes beyond its end become -1.
#[pyfunction]
pub fn map_codes<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray1<'py, i32>,
    to: PyReadonlyArray1<'py, i32>,
) -> PyResult<Codes<'py>> {
    let (codes, to) = (slice(&codes)?, slice(&to)?);
    Ok(py.detach(|| labels::map_codes(codes, to)).into_pyarray(py))
}

/// The distinct values in order, and the position of every number among them, -1 for NaN; None if there are too many.
#[pyfunction]
pub fn few_values<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    most: usize,
) -> PyResult<Option<(Floats<'py>, Codes<'py>)>> {
    let x = slice(&x)?;
    let found = py.detach(|| sunrise_core::few_values::few_values(x, most));
    Ok(found.map(|(values, codes)| (values.into_pyarray(py), codes.into_pyarray(py))))
}

/// The number of edges, in ascending order, that are not above each number; -1 for NaN.
#[pyfunction]
pub fn bins<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    edges: PyReadonlyArray1<'py, f64>,
) -> PyResult<Codes<'py>> {
    let (x, edges) = (slice(&x)?, slice(&edges)?);
    Ok(py.detach(|| labels::bins(x, edges)).into_pyarray(py))
}

/// Codes of two columns, and a table with a row for each of the first codes.
type PairOfCodes<'py> = (PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, i32>, PyReadonlyArray2<'py, i32>);

/// Looks the pairs of codes of every row up in the table, for several pairs of columns; -1 if a code is -1.
#[pyfunction]
pub fn map_pairs<'py>(
    py: Python<'py>,
    pairs: Vec<PairOfCodes<'py>>,
    threads: usize,
) -> PyResult<Vec<Codes<'py>>> {
    let mut tables = Vec::with_capacity(pairs.len());
    for (first, second, to) in &pairs {
        tables.push(labels::PairTable {
            first: slice(first)?,
            second: slice(second)?,
            to: slice(to)?,
            width: to.shape()[1],
        });
    }
    let codes = py.detach(|| labels::map_pairs(&tables, threads)).map_err(raise)?;
    Ok(codes.into_iter().map(|codes| codes.into_pyarray(py)).collect())
}

/// The cells of the given rows as floats; NaN is missing.
#[pyfunction]
pub fn take_numbers<'py>(
    py: Python<'py>,
    column: Source<'py>,
    rows: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (column, rows) = (column.column(View::Itself).map_err(raise)?, slice(&rows)?);
    if rows.iter().any(|&row| row < 0 || row as usize >= column.rows()) {
        return Err(PyValueError::new_err("a row index is out of range"));
    }
    let numbers: Vec<f64> = rows.iter().map(|&row| column.number(row as usize)).collect();
    Ok(numbers.into_pyarray(py))
}
