//! Columns from Python: a NumPy array, an Arrow column, or level codes; and what can be asked of one alone.

use crate::arrow::ArrowColumn;
use crate::cells::{check_layout, slice};
use crate::objects::MissingCells;
use crate::{raise, Codes, Integers};
use numpy::ndarray::Ix1;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use sunrise_core::columns::{Chunk, Column, Values, View};
use sunrise_core::fault::{CellFault, Fault};
use sunrise_core::labels::{self, Numbering};
use sunrise_core::summary::summarise;

macro_rules! column_types {
    ($($name:ident: $t:ty),*) => {
        /// Where the cells of a column are.
        pub enum Source<'py> {
            $(#[allow(missing_docs)] $name(PyReadonlyArray<'py, $t, Ix1>),)*
            /// In an Arrow column.
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

/// A column with what its terms are taken of: (cells, view), where the view "level" means codes, -1 missing.
pub struct Viewed<'py> {
    source: Source<'py>,
    view: Option<View>,
}

impl<'py> FromPyObject<'_, 'py> for Viewed<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (source, view): (Source<'py>, String) = object.extract()?;
        let view = match view.as_str() {
            "x" => Some(View::Itself),
            "log x" => Some(View::Log),
            "log(1 - x)" => Some(View::LogOneMinus),
            "log x!" => Some(View::LogFactorial),
            "cos x" => Some(View::Cos),
            "sin x" => Some(View::Sin),
            "level" => None,
            _ => return Err(PyValueError::new_err("there is no such view of a column")),
        };
        Ok(Viewed { source, view })
    }
}

impl Viewed<'_> {
    /// The column as the kernels read it.
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

type Look = (f64, f64, f64, bool, usize, bool);

/// A column of numbers at a glance: (cells, low, high, whole, distinct, numbering).
#[pyfunction]
pub fn summary<'py>(
    py: Python<'py>,
    column: Source<'py>,
    w: Option<PyReadonlyArray1<'py, f64>>,
    most: usize,
) -> PyResult<Look> {
    let w = w.as_ref().map(slice).transpose()?;
    let column = column.column(View::Itself).map_err(raise)?;
    let s = py.detach(|| summarise(&column, w, most)).map_err(raise)?;
    Ok((s.cells, s.low, s.high, s.whole, s.distinct, s.numbering))
}

fn numbered<'py>(py: Python<'py>, (first, codes): (Vec<usize>, Vec<i32>)) -> (Integers<'py>, Codes<'py>) {
    let first: Vec<i64> = first.into_iter().map(|row| row as i64).collect();
    (first.into_pyarray(py), codes.into_pyarray(py))
}

/// The rows where a new cell first stands, and a code for every row; -1 is missing.
#[pyfunction]
pub fn encode_column<'py>(
    py: Python<'py>,
    column: Source<'py>,
    threads: usize,
) -> PyResult<(Integers<'py>, Codes<'py>)> {
    if let Source::Arrow(arrow) = &column {
        let arrow = arrow.get();
        if let Some(found) = py.detach(|| arrow.number_labels(threads)) {
            return Ok(numbered(py, found));
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

/// Codes replaced by what they lead to; -1 stays.
#[pyfunction]
pub fn replaced<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray1<'py, i32>,
    to: PyReadonlyArray1<'py, i32>,
) -> PyResult<Codes<'py>> {
    let (codes, to) = (slice(&codes)?, slice(&to)?);
    Ok(py.detach(|| labels::replaced(codes, to)).into_pyarray(py))
}

/// The cells of some rows as floats; NaN is missing.
#[pyfunction]
pub fn numbers_of<'py>(
    py: Python<'py>,
    column: Source<'py>,
    rows: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (column, rows) = (column.column(View::Itself).map_err(raise)?, slice(&rows)?);
    if rows.iter().any(|&row| row < 0 || row as usize >= column.rows()) {
        return Err(PyValueError::new_err("there is no such row"));
    }
    let numbers: Vec<f64> = rows.iter().map(|&row| column.number(row as usize)).collect();
    Ok(numbers.into_pyarray(py))
}
