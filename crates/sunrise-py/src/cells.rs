//! Arrays from Python: which dtype they hold, and that their memory is laid out as Rust needs it.

use crate::columns::Viewed;
use numpy::ndarray::{Dimension, Ix1, Ix2};
use numpy::{Element, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sunrise_core::cells::{Cell, Dense, Matrix, Reading as CoreReading};
use sunrise_core::columns::Columns;
use sunrise_core::csr::{Csr, Index};
use sunrise_core::fault::Fault;

/// Refuses memory that is not aligned, or strides that are not whole cells: Python copies such arrays first.
pub fn check_layout<T: Element, D: Dimension>(array: &PyReadonlyArray<'_, T, D>) -> PyResult<()> {
    let size = size_of::<T>() as isize;
    let aligned = array.data() as usize % align_of::<T>() == 0;
    if !aligned || array.strides().iter().any(|stride| stride % size != 0) {
        return Err(PyValueError::new_err("the array is not aligned to its cells"));
    }
    Ok(())
}

/// A contiguous one-dimensional array as a slice.
pub fn slice<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    check_layout(array)?;
    array.as_slice().map_err(|_| PyValueError::new_err("the array is not contiguous"))
}

/// How cells are read: (threshold or None, smallest, largest, whether they must be whole).
#[derive(Clone, Copy)]
pub struct Reading(pub CoreReading);

impl<'py> FromPyObject<'_, 'py> for Reading {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (above, lowest, highest, whole) = object.extract()?;
        Ok(Reading(CoreReading { above, lowest, highest, whole }))
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
    /// The matrix as the kernels see it.
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
    // Tried in this order, the usual ones first: Python takes long to say why one does not fit.
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
