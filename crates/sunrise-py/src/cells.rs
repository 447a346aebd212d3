//! Cells from Python: dense arrays of any number type, sparse matrices, and separate columns.

use crate::columns::Viewed;
use numpy::ndarray::{Dimension, Ix1, Ix2};
use numpy::{Element, PyArray, PyArrayMethods, PyReadonlyArray, PyReadwriteArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use sunrise_core::cells::{Cell, Dense, Matrix, Reading as CoreReading};
use sunrise_core::columns::Columns;
use sunrise_core::csr::{Csr, Index};
use sunrise_core::fault::Fault;

/// Refuses unaligned memory and strides that are not multiples of a cell; the callers copy these arrays first.
pub fn check_layout<T: Element, D: Dimension>(array: &Bound<'_, PyArray<T, D>>) -> PyResult<()> {
    let size = size_of::<T>() as isize;
    let aligned = (array.data() as usize).is_multiple_of(align_of::<T>());
    if !aligned || array.strides().iter().any(|stride| stride % size != 0) {
        return Err(PyValueError::new_err("the array is not aligned to its cells"));
    }
    Ok(())
}

/// Refuses any order but C order: a slice of a Fortran array would run down its columns.
fn check_c_order<T: Element, D: Dimension>(array: &Bound<'_, PyArray<T, D>>) -> PyResult<()> {
    check_layout(array)?;
    if array.is_c_contiguous() {
        return Ok(());
    }
    Err(PyValueError::new_err("the array is not contiguous, or not in C order"))
}

/// An array in C order as a slice.
pub fn slice<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    check_c_order(array)?;
    array.as_slice().map_err(|_| PyValueError::new_err("the array is not contiguous"))
}

/// The rows of an array as slices; there may be gaps between rows, but not between the cells of a row.
pub fn slices<'a, T: Element>(array: &'a PyReadonlyArray<'_, T, Ix2>) -> PyResult<Vec<&'a [T]>> {
    check_layout(array)?;
    let gaps = || PyValueError::new_err("the cells of a row do not lie one after the other");
    array.as_array().into_outer_iter().map(|row| row.to_slice().ok_or_else(gaps)).collect()
}

/// An array in C order as a slice that results are written to.
pub fn slice_mut<'a, T: Element, D: Dimension>(
    array: &'a mut PyReadwriteArray<'_, T, D>,
) -> PyResult<&'a mut [T]> {
    check_c_order(array)?;
    array.as_slice_mut().map_err(|_| PyValueError::new_err("the array for the results is not contiguous"))
}

/// How cells are read, from the attributes of a support object.
#[derive(Clone, Copy)]
pub struct Reading(CoreReading);

impl Reading {
    /// The same for sunrise-core.
    pub fn core(self) -> CoreReading {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Reading {
    type Error = PyErr;

    fn extract(support: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = support.py();
        let attribute = |name| {
            let missing =
                |_| PyTypeError::new_err("a support has the attributes above, lowest, highest and whole");
            support.getattr(name).map_err(missing)
        };
        Ok(Reading(CoreReading {
            above: attribute(intern!(py, "above"))?.extract()?,
            lowest: attribute(intern!(py, "lowest"))?.extract()?,
            highest: attribute(intern!(py, "highest"))?.extract()?,
            whole: attribute(intern!(py, "whole"))?.extract()?,
        }))
    }
}

macro_rules! dense_types {
    ($($name:ident: $t:ty),*) => {
        /// A dense matrix of any number type.
        pub enum DenseCells<'py> {
            $(#[allow(missing_docs)] $name(PyReadonlyArray<'py, $t, Ix2>)),*
        }

        impl<'py> FromPyObject<'_, 'py> for DenseCells<'py> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(array) = object.extract::<PyReadonlyArray<$t, Ix2>>() {
                    check_layout(&array)?;
                    return Ok(DenseCells::$name(array));
                })*
                Err(PyTypeError::new_err("cells must be a two-dimensional array of numbers"))
            }
        }

        impl DenseCells<'_> {
            fn matrix(&self, reading: CoreReading) -> Box<dyn Matrix + '_> {
                match self {
                    $(DenseCells::$name(array) => Box::new(Dense::new(array.as_array(), reading)),)*
                }
            }
        }
    };
}

dense_types!(F64: f64, F32: f32, I64: i64, I32: i32, I16: i16, I8: i8, U8: u8, U16: u16, U32: u32, U64: u64);

/// A sparse matrix: (data, indices, indptr, columns).
pub struct SparseCells<'py, T: Element, I: Element> {
    data: PyReadonlyArray<'py, T, Ix1>,
    indices: PyReadonlyArray<'py, I, Ix1>,
    indptr: PyReadonlyArray<'py, I, Ix1>,
    columns: usize,
}

impl<T: Element + Cell, I: Element + Index> SparseCells<'_, T, I> {
    /// The matrix, checked.
    pub fn csr(&self) -> PyResult<Result<Csr<'_, T, I>, Fault>> {
        let (data, indices, indptr) = (slice(&self.data)?, slice(&self.indices)?, slice(&self.indptr)?);
        Ok(Csr::new(data, indices, indptr, self.columns))
    }
}

impl<'py, T: Element, I: Element> FromPyObject<'_, 'py> for SparseCells<'py, T, I> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (data, indices, indptr, columns) = object.extract()?;
        Ok(SparseCells { data, indices, indptr, columns })
    }
}

/// The cells of a block of columns.
#[derive(FromPyObject)]
#[allow(missing_docs)]
pub enum Cells<'py> {
    Dense(DenseCells<'py>),
    // Tried in this order, the usual types first: making the error of a type that does not fit takes long.
    Narrow64(SparseCells<'py, f64, i32>),
    Wide64(SparseCells<'py, f64, i64>),
    Narrow32(SparseCells<'py, f32, i32>),
    Wide32(SparseCells<'py, f32, i64>),
    Columns(Vec<Viewed<'py>>),
}

impl Cells<'_> {
    /// The dense cells as a matrix; a fault where the cells are sparse.
    pub fn matrix(&self, reading: CoreReading) -> Result<Box<dyn Matrix + '_>, Fault> {
        match self {
            Cells::Dense(array) => Ok(array.matrix(reading)),
            Cells::Columns(list) => {
                let columns: Result<Vec<_>, Fault> = list.iter().map(|column| column.column()).collect();
                Ok(Box::new(Columns::new(columns?, reading)?))
            }
            _ => Err(Fault::shape("these cells are sparse")),
        }
    }
}

/// Runs one expression for dense cells, as a boxed `Matrix`, or another for sparse ones, without the GIL.
macro_rules! dispatch {
    ($cells:expr, $reading:expr, $py:expr, $dense:ident => $on_dense:expr, $sparse:ident => $on_sparse:expr) => {{
        use $crate::cells::Cells;
        macro_rules! sparse {
            ($held:expr) => {{
                match $held.csr()? {
                    Ok($sparse) => $py.detach(|| $on_sparse),
                    Err(fault) => Err(fault),
                }
            }};
        }
        match $cells {
            Cells::Narrow64(a) => sparse!(a),
            Cells::Wide64(a) => sparse!(a),
            Cells::Narrow32(a) => sparse!(a),
            Cells::Wide32(a) => sparse!(a),
            cells => match cells.matrix($reading) {
                Ok($dense) => $py.detach(|| $on_dense),
                Err(fault) => Err(fault),
            },
        }
    }};
}
pub(crate) use dispatch;
