//! Cells of Arrow arrays: as numbers for sunrise-core, as bytes of text, and as Python objects.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, BinaryArray, Float32Array, Float64Array, LargeBinaryArray,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use numpy::ndarray::ArrayView1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use sunrise_core::columns::{Bits, Values};

/// The array in one of the types that the native loops read: decimals, half floats and durations become floats.
///
/// Durations become seconds, and strings become bytes, because nothing guarantees that they are UTF-8.
pub fn plain(array: ArrayRef) -> ArrayRef {
    macro_rules! parts {
        ($t:ty, $unit:expr) => {{
            let parts = array.as_primitive::<$t>().iter();
            Arc::new(parts.map(|x| x.map(|x| x as f64 / $unit)).collect::<Float64Array>())
        }};
    }
    match array.data_type() {
        DataType::Duration(TimeUnit::Second) => parts!(DurationSecondType, 1.0),
        DataType::Duration(TimeUnit::Millisecond) => parts!(DurationMillisecondType, 1e3),
        DataType::Duration(TimeUnit::Microsecond) => parts!(DurationMicrosecondType, 1e6),
        DataType::Duration(TimeUnit::Nanosecond) => parts!(DurationNanosecondType, 1e9),
        DataType::Float16 => {
            let halves = array.as_primitive::<Float16Type>();
            Arc::new(halves.iter().map(|x| x.map(f32::from)).collect::<Float32Array>())
        }
        &DataType::Decimal32(_, scale) => parts!(Decimal32Type, 10_f64.powi(i32::from(scale))),
        &DataType::Decimal64(_, scale) => parts!(Decimal64Type, 10_f64.powi(i32::from(scale))),
        &DataType::Decimal128(_, scale) => parts!(Decimal128Type, 10_f64.powi(i32::from(scale))),
        &DataType::Decimal256(_, scale) => {
            let unit = 10_f64.powi(i32::from(scale));
            let decimals = array.as_primitive::<Decimal256Type>().iter();
            let number = |x: i256| x.to_string().parse().unwrap_or(f64::NAN) / unit;
            Arc::new(decimals.map(|x| x.map(number)).collect::<Float64Array>())
        }
        DataType::Utf8 => Arc::new(BinaryArray::from(array.as_string::<i32>().clone())),
        DataType::LargeUtf8 => Arc::new(LargeBinaryArray::from(array.as_string::<i64>().clone())),
        DataType::Utf8View => Arc::new(array.as_string_view().clone().to_binary_view()),
        _ => array,
    }
}

/// Matches the primitive types of Arrow with the kinds of values of sunrise-core.
macro_rules! primitive {
    ($array:expr, $($dtype:pat => $t:ty: $kind:ident),* $(,)?) => {
        match $array.data_type() {
            $($dtype => {
                let array = $array.as_primitive::<$t>();
                Some(Values::$kind(ArrayView1::from(array.values().as_ref())))
            })*
            DataType::Boolean => {
                let bits = $array.as_boolean().values();
                Bits::new(bits.values(), bits.offset(), bits.len()).ok().map(|b| Values::Bits(b, bits.len()))
            }
            _ => None,
        }
    };
}

/// The numbers of an array; `None` if it holds anything else.
pub fn values(array: &ArrayRef) -> Option<Values<'_>> {
    primitive!(array,
        DataType::Float64 => Float64Type: F64,
        DataType::Float32 => Float32Type: F32,
        DataType::Int64 => Int64Type: I64,
        DataType::Int32 => Int32Type: I32,
        DataType::Int16 => Int16Type: I16,
        DataType::Int8 => Int8Type: I8,
        DataType::UInt64 => UInt64Type: U64,
        DataType::UInt32 => UInt32Type: U32,
        DataType::UInt16 => UInt16Type: U16,
        DataType::UInt8 => UInt8Type: U8,
    )
}

/// Whether a type is that of strings, in place or in a dictionary.
pub fn is_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, of) => is_text(of),
        _ => false,
    }
}

/// The keys of a dictionary array; `None` for a null or a key without a value.
pub fn keys(dictionary: &dyn AnyDictionaryArray) -> Vec<Option<usize>> {
    let (keys, most) = (dictionary.keys(), dictionary.values().len());
    macro_rules! each {
        ($($dtype:ident => $t:ty),*) => {
            match keys.data_type() {
                $(DataType::$dtype => {
                    let keys = keys.as_primitive::<$t>().iter();
                    keys.map(|key| key.and_then(|key| usize::try_from(key).ok()).filter(|key| *key < most)).collect()
                })*
                _ => vec![None; keys.len()],
            }
        };
    }
    each!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)
}

/// The values of a dictionary array in a type that can be compared; `None` for any other array.
pub fn dictionary_values(array: &ArrayRef) -> Option<ArrayRef> {
    array.as_any_dictionary_opt().map(|dictionary| plain(dictionary.values().clone()))
}

/// One cell as a Python object; `None` for a null.
pub fn value<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(None);
    }
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.into_pyobject(py)?.into_any()),
        Err(_) => Err(PyValueError::new_err(format!("the text in row {row} is not UTF-8"))),
    };
    macro_rules! number {
        ($($dtype:pat => $t:ty),* $(,)?) => {
            match array.data_type() {
                $($dtype => array.as_primitive::<$t>().value(row).into_pyobject(py)?.into_any(),)*
                DataType::Boolean => array.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
                DataType::Binary => text(array.as_binary::<i32>().value(row))?,
                DataType::LargeBinary => text(array.as_binary::<i64>().value(row))?,
                DataType::BinaryView => text(array.as_binary_view().value(row))?,
                other => return Err(PyTypeError::new_err(format!("cells of type {other} cannot be used"))),
            }
        };
    }
    Ok(Some(number!(
        DataType::Float64 => Float64Type,
        DataType::Float32 => Float32Type,
        DataType::Int64 => Int64Type,
        DataType::Int32 => Int32Type,
        DataType::Int16 => Int16Type,
        DataType::Int8 => Int8Type,
        DataType::UInt64 => UInt64Type,
        DataType::UInt32 => UInt32Type,
        DataType::UInt16 => UInt16Type,
        DataType::UInt8 => UInt8Type,
    )))
}
