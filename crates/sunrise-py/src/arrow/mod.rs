//! Columns of the Arrow PyCapsule interface: kept in the memory of their producer and read in place.

mod import;
mod labels;
mod values;

use arrow_array::cast::AsArray;
use arrow_array::{make_array, Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, FieldRef};
use import::{read, unreadable};
use labels::Texts;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sunrise_core::columns::{Chunk, Column, View};
use sunrise_core::fault::Fault;
use values::{dictionary_values, is_text, keys, plain, value, values};

/// A column of Arrow data in one or more chunks.
#[pyclass(frozen, module = "sunrise._native")]
pub struct ArrowColumn {
    chunks: Vec<ArrayRef>,
    dtype: DataType,
}

/// The column of an Arrow array, chunked array or series.
#[pyfunction]
pub fn arrow_column(object: &Bound<'_, PyAny>) -> PyResult<ArrowColumn> {
    let (dtype, chunks) = read(object)?;
    Ok(ArrowColumn::new(dtype, chunks))
}

/// The names and columns of an Arrow table.
#[pyfunction]
pub fn arrow_table(object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, ArrowColumn)>> {
    let (dtype, chunks) = read(object)?;
    let DataType::Struct(fields) = dtype else {
        return Err(PyTypeError::new_err(format!(
            "the Arrow data is one column of type {dtype}, not a table; pass a table of it (to_frame())"
        )));
    };
    let column =
        |j: usize| chunks.iter().map(|chunk| child(chunk.as_struct(), j)).collect::<PyResult<Vec<_>>>();
    let named = |(j, field): (usize, &FieldRef)| {
        Ok((field.name().clone(), ArrowColumn::new(field.data_type().clone(), column(j)?)))
    };
    fields.iter().enumerate().map(named).collect()
}

/// A column of a struct array; a null of the struct is a null of the column.
fn child(parent: &StructArray, j: usize) -> PyResult<ArrayRef> {
    let column = parent.column(j);
    if parent.null_count() == 0 || column.data_type() == &DataType::Null {
        return Ok(column.clone());
    }
    let nulls = NullBuffer::union(parent.nulls(), column.nulls());
    let data = column.to_data().into_builder().nulls(nulls).build().map_err(unreadable)?;
    Ok(make_array(data))
}

impl ArrowColumn {
    fn new(dtype: DataType, chunks: Vec<ArrayRef>) -> Self {
        ArrowColumn { chunks: chunks.into_iter().map(plain).collect(), dtype }
    }

    /// The column for sunrise-core; a fault if it does not hold numbers.
    pub fn column(&self, view: View) -> Result<Column<'_>, Fault> {
        let chunk = |array| {
            let values =
                values(array).ok_or_else(|| Fault::shape("a column of this type holds no numbers"))?;
            match array.nulls() {
                Some(nulls) if nulls.null_count() > 0 => {
                    Chunk::masked(values, nulls.buffer().as_slice(), nulls.offset())
                }
                _ => Ok(Chunk::new(values)),
            }
        };
        let chunks: Result<Vec<Chunk>, Fault> = self.chunks.iter().map(chunk).collect();
        Ok(Column::new(chunks?, view))
    }

    /// The texts of the column; `None` if it holds anything else.
    pub fn texts(&self) -> Option<Texts<'_>> {
        let bytes = |dtype: &DataType| {
            is_text(dtype)
                || matches!(
                    dtype,
                    DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Null
                )
        };
        let texts = match &self.dtype {
            DataType::Dictionary(_, of) => bytes(of),
            dtype => bytes(dtype),
        };
        let values = || self.chunks.iter().map(dictionary_values).collect();
        texts.then(|| Texts { chunks: &self.chunks, values: values() })
    }
}

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// The kind of the column: number, bool, text (strings and categories), null, date, or the name of another type.
    #[getter]
    pub fn kind(&self) -> String {
        let number = |dtype: &DataType| {
            dtype.is_integer()
                || dtype.is_floating()
                || matches!(
                    dtype,
                    DataType::Duration(_)
                        | DataType::Decimal32(..)
                        | DataType::Decimal64(..)
                        | DataType::Decimal128(..)
                        | DataType::Decimal256(..)
                )
        };
        match &self.dtype {
            DataType::Boolean => "bool".into(),
            DataType::Null => "null".into(),
            DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(..)
            | DataType::Time32(_)
            | DataType::Time64(_) => "date".into(),
            DataType::Dictionary(_, of) if number(of) || is_text(of) || **of == DataType::Boolean => {
                "text".into()
            }
            dtype if is_text(dtype) => "text".into(),
            dtype if number(dtype) => "number".into(),
            other => other.to_string(),
        }
    }

    /// The name of the Arrow type.
    #[getter]
    fn dtype(&self) -> String {
        self.dtype.to_string()
    }

    /// The cells of the given rows as Python objects; None for a null.
    fn take<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let dictionaries: Vec<Option<(Vec<Option<usize>>, ArrayRef)>> = self
            .chunks
            .iter()
            .map(|chunk| Some((keys(chunk.as_any_dictionary_opt()?), dictionary_values(chunk)?)))
            .collect();
        let cell = |mut row: usize| {
            for (chunk, dictionary) in self.chunks.iter().zip(&dictionaries) {
                if row < chunk.len() {
                    return match dictionary {
                        None => value(py, chunk, row),
                        Some((keys, values)) => keys[row].map_or(Ok(None), |key| value(py, values, key)),
                    };
                }
                row -= chunk.len();
            }
            Err(PyValueError::new_err("a row index is out of range"))
        };
        rows.into_iter().map(cell).collect()
    }
}
