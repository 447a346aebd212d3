//! Import of Arrow data through the PyCapsule interface: the only unsafe code of the project.
//!
//! A capsule holds a C structure that owns memory of its producer. [`consume`] moves the structure out of its capsule
//! into a Rust value, which releases the memory when it is dropped, and leaves a released structure behind; so nothing
//! is released twice, and a capsule that was consumed before is refused. No pointer into a capsule is kept.

use arrow_array::ffi::{from_ffi, FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{make_array, ArrayRef, NullArray};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::sync::Arc;

/// The exception of Arrow data that cannot be read.
pub fn unreadable(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the Arrow data cannot be read: {error}"))
}

/// A structure of the Arrow C interface that owns what it points to.
///
/// # Safety
///
/// `NAME` must be the name that the PyCapsule interface gives to capsules of exactly this structure.
#[allow(unsafe_code)]
unsafe trait Exported: Sized {
    const NAME: &'static CStr;

    /// A structure that owns nothing.
    fn released() -> Self;

    fn is_released(&self) -> bool;
}

// SAFETY: the PyCapsule interface calls capsules of struct ArrowSchema "arrow_schema".
#[allow(unsafe_code)]
unsafe impl Exported for FFI_ArrowSchema {
    const NAME: &'static CStr = c"arrow_schema";

    fn released() -> Self {
        FFI_ArrowSchema::empty()
    }

    fn is_released(&self) -> bool {
        self.format.is_null()
    }
}

// SAFETY: the PyCapsule interface calls capsules of struct ArrowArray "arrow_array".
#[allow(unsafe_code)]
unsafe impl Exported for FFI_ArrowArray {
    const NAME: &'static CStr = c"arrow_array";

    fn released() -> Self {
        FFI_ArrowArray::empty()
    }

    fn is_released(&self) -> bool {
        FFI_ArrowArray::is_released(self)
    }
}

// SAFETY: the PyCapsule interface calls capsules of struct ArrowArrayStream "arrow_array_stream".
#[allow(unsafe_code)]
unsafe impl Exported for FFI_ArrowArrayStream {
    const NAME: &'static CStr = c"arrow_array_stream";

    fn released() -> Self {
        FFI_ArrowArrayStream::empty()
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }
}

/// Moves the structure out of a capsule; refuses a capsule of another kind or one that was consumed before.
#[allow(unsafe_code)]
fn consume<T: Exported>(capsule: Bound<'_, PyCapsule>) -> PyResult<T> {
    let pointer = capsule.pointer_checked(Some(T::NAME))?.cast::<T>();
    // SAFETY: a capsule of this name holds a valid T, which the consumer moves out and replaces by a released one. The
    // GIL is held, so nobody else uses the structure meanwhile, and the capsule lives until the end of the function.
    let structure = unsafe { std::ptr::replace(pointer.as_ptr(), T::released()) };
    if structure.is_released() {
        return Err(PyValueError::new_err("the Arrow data was read before and is gone; pass it anew"));
    }
    Ok(structure)
}

/// A schema that is not released, with its type.
struct Schema {
    structure: FFI_ArrowSchema,
    dtype: DataType,
}

impl Schema {
    fn new(structure: FFI_ArrowSchema) -> PyResult<Self> {
        if Exported::is_released(&structure) {
            return Err(unreadable("its schema is empty"));
        }
        let dtype = DataType::try_from(&structure).map_err(unreadable)?;
        Ok(Schema { structure, dtype })
    }

    /// An array of this type, which owns the memory of the structure.
    #[allow(unsafe_code)]
    fn import(&self, array: FFI_ArrowArray) -> PyResult<ArrayRef> {
        if self.dtype == DataType::Null {
            // Some producers give null arrays buffers, which Arrow does not expect.
            return Ok(Arc::new(NullArray::new(array.len())));
        }
        // SAFETY: the producer vouches that array and schema describe the memory they point to. `array` is moved in,
        // and the result keeps it alive as long as any of its buffers.
        let mut data = unsafe { from_ffi(array, &self.structure) }.map_err(unreadable)?;
        data.align_buffers();
        Ok(make_array(data))
    }
}

/// A stream of arrays that is not released.
struct Stream(FFI_ArrowArrayStream);

impl Stream {
    #[allow(unsafe_code)]
    fn schema(&mut self) -> PyResult<Schema> {
        let mut schema = FFI_ArrowSchema::empty();
        let get_schema = self.0.get_schema.ok_or_else(|| unreadable("its stream has no schema"))?;
        // SAFETY: a stream that is not released has valid callbacks; both pointers are valid during the call, and the
        // callee initialises the schema or returns an error and leaves it released.
        match unsafe { get_schema(&mut self.0, &mut schema) } {
            0 => Schema::new(schema),
            status => Err(unreadable(format!("its schema gave error {status}"))),
        }
    }

    /// The next array; `None` at the end of the stream.
    #[allow(unsafe_code)]
    fn next(&mut self, schema: &Schema) -> PyResult<Option<ArrayRef>> {
        let mut array = FFI_ArrowArray::empty();
        let get_next = self.0.get_next.ok_or_else(|| unreadable("its stream has no arrays"))?;
        // SAFETY: as in `schema`; a released array marks the end of the stream.
        match unsafe { get_next(&mut self.0, &mut array) } {
            0 if array.is_released() => Ok(None),
            0 => schema.import(array).map(Some),
            status => Err(unreadable(format!("a batch gave error {status}"))),
        }
    }
}

/// The type and the arrays of an object with `__arrow_c_stream__` or `__arrow_c_array__`.
pub fn read(object: &Bound<'_, PyAny>) -> PyResult<(DataType, Vec<ArrayRef>)> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let mut stream = Stream(consume(capsule)?);
        let (schema, mut chunks) = (stream.schema()?, Vec::new());
        while let Some(array) = stream.next(&schema)? {
            chunks.push(array);
        }
        return Ok((schema.dtype, chunks));
    }
    if object.hasattr("__arrow_c_array__")? {
        let (schema, array) = object.call_method0("__arrow_c_array__")?.extract()?;
        let schema = Schema::new(consume(schema)?)?;
        let array = schema.import(consume(array)?)?;
        return Ok((schema.dtype, vec![array]));
    }
    Err(PyTypeError::new_err("the object has no Arrow PyCapsule interface"))
}
