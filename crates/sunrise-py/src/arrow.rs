//! Columns that come through the Arrow PyCapsule interface: held as they are, read in place.
//!
//! The only unsafe code of the project is here: taking over what a producer's C structures point to.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{from_ffi, FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::*;
use arrow_array::{
    make_array, AnyDictionaryArray, Array, ArrayRef, BinaryArray, BinaryViewArray, Float32Array,
    Float64Array, LargeBinaryArray, NullArray, StructArray,
};
use arrow_buffer::{i256, NullBuffer};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use numpy::ndarray::ArrayView1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use sunrise_core::columns::{Bits, Chunk, Column, Values, View};
use sunrise_core::fault::Fault;
use sunrise_core::labels::{in_parts, Numbering};
use sunrise_core::work::pieces;

/// A column in pieces, as some other library holds it.
#[pyclass(frozen, module = "sunrise._native")]
pub struct ArrowColumn {
    chunks: Vec<ArrayRef>,
    dtype: DataType,
}

fn broken(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the Arrow data cannot be read: {error}"))
}

/// What a capsule of this name points to, moved out of it.
#[allow(unsafe_code)]
fn taken<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr, empty: T) -> PyResult<T> {
    let pointer = capsule.pointer_checked(Some(name))?.cast::<T>().as_ptr();
    // SAFETY: the PyCapsule interface says that a capsule of this name holds this structure, and that the
    // consumer moves it out, leaving one that is marked as released.
    Ok(unsafe { std::ptr::replace(pointer, empty) })
}

/// The arrays of a stream, and their type.
#[allow(unsafe_code)]
fn read_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<(DataType, Vec<ArrayRef>)> {
    let mut stream = taken(capsule, c"arrow_array_stream", FFI_ArrowArrayStream::empty())?;
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(PyValueError::new_err("the Arrow stream was read before; pass it anew"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: these are the producer's callbacks, called as the C stream interface says.
    let status = unsafe { get_schema(&mut stream, &mut schema) };
    if status != 0 {
        return Err(broken(format!("its schema gave error {status}")));
    }
    let dtype = DataType::try_from(&schema).map_err(broken)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let status = unsafe { get_next(&mut stream, &mut array) };
        if status != 0 {
            return Err(broken(format!("a batch gave error {status}")));
        }
        if array.is_released() {
            return Ok((dtype, chunks));
        }
        chunks.push(import(array, &schema)?);
    }
}

#[allow(unsafe_code)]
fn import(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayRef> {
    if matches!(DataType::try_from(schema), Ok(DataType::Null)) {
        return Ok(Arc::new(NullArray::new(array.len()))); // some producers give it buffers, which Arrow does not
    }
    // SAFETY: the producer vouches for what its structures point to; the array keeps it alive.
    let mut data = unsafe { from_ffi(array, schema) }.map_err(broken)?;
    data.align_buffers();
    Ok(make_array(data))
}

/// The arrays behind an object: its stream, or its one array.
fn read(object: &Bound<'_, PyAny>) -> PyResult<(DataType, Vec<ArrayRef>)> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        return read_stream(capsule.cast::<PyCapsule>()?);
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<PyCapsule>, Bound<PyCapsule>) = pair.extract()?;
        let schema = taken(&schema, c"arrow_schema", FFI_ArrowSchema::empty())?;
        let array = taken(&array, c"arrow_array", FFI_ArrowArray::empty())?;
        let dtype = DataType::try_from(&schema).map_err(broken)?;
        return Ok((dtype, vec![import(array, &schema)?]));
    }
    Err(PyTypeError::new_err("the object has no Arrow PyCapsule interface"))
}

/// One column: a series, an array or a chunked array.
#[pyfunction]
pub fn arrow_column(object: &Bound<'_, PyAny>) -> PyResult<ArrowColumn> {
    let (dtype, chunks) = read(object)?;
    Ok(ArrowColumn::new(dtype, chunks))
}

/// The columns of a table, each with its name.
#[pyfunction]
pub fn arrow_table(object: &Bound<'_, PyAny>) -> PyResult<Vec<(String, ArrowColumn)>> {
    let (dtype, chunks) = read(object)?;
    let DataType::Struct(fields) = dtype else {
        return Err(PyTypeError::new_err(format!(
            "the Arrow data is one column of type {dtype}, no table; pass a table of it (to_frame())"
        )));
    };
    let column =
        |j: usize| chunks.iter().map(|chunk| child(chunk.as_struct(), j)).collect::<PyResult<Vec<_>>>();
    let named = |(j, field): (usize, &FieldRef)| {
        Ok((field.name().clone(), ArrowColumn::new(field.data_type().clone(), column(j)?)))
    };
    fields.iter().enumerate().map(named).collect()
}

/// A column of a struct; where the struct is null, so is the cell.
fn child(parent: &StructArray, j: usize) -> PyResult<ArrayRef> {
    let column = parent.column(j);
    if parent.null_count() == 0 || column.data_type() == &DataType::Null {
        return Ok(column.clone());
    }
    let nulls = NullBuffer::union(parent.nulls(), column.nulls());
    let data = column.to_data().into_builder().nulls(nulls).build().map_err(broken)?;
    Ok(make_array(data))
}

/// Decimals, half floats and durations have no kernel of their own: they become floats, durations as seconds.
fn plain(array: ArrayRef) -> ArrayRef {
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
        // Text is looked at as bytes: nobody has vouched for its being UTF-8.
        DataType::Utf8 => Arc::new(BinaryArray::from(array.as_string::<i32>().clone())),
        DataType::LargeUtf8 => Arc::new(LargeBinaryArray::from(array.as_string::<i64>().clone())),
        DataType::Utf8View => Arc::new(array.as_string_view().clone().to_binary_view()),
        _ => array,
    }
}

/// Runs an expression for each primitive type a column may have, with the kind of values it becomes.
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

fn values(array: &ArrayRef) -> Option<Values<'_>> {
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

/// Whether a column holds strings, spelt out or in a dictionary.
fn is_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, of) => is_text(of),
        _ => false,
    }
}

/// A cell to tell from others of its column; a short one is compared as a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label<'a> {
    Short(u128),
    Long(&'a [u8]),
}

impl Hash for Label<'_> {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Label::Short(view) => state.write_u64(*view as u64 ^ ((*view >> 64) as u64).rotate_left(21)),
            Label::Long(text) => state.write(text),
        }
    }
}

/// Calls `put` with the texts of some rows, `None` where one is null.
fn each_text<'a>(array: &'a dyn Array, rows: Range<usize>, mut put: impl FnMut(Option<Label<'a>>)) {
    macro_rules! each {
        ($array:expr, $text:expr) => {{
            let array = $array;
            match array.nulls() {
                None => rows.for_each(|row| put(Some($text(array, row)))),
                Some(nulls) => rows.for_each(|row| put(nulls.is_valid(row).then(|| $text(array, row)))),
            }
        }};
    }
    /// Views hold texts up to this many bytes themselves, after their length.
    const INLINE: u32 = 12;
    match array.data_type() {
        DataType::Binary => {
            each!(array.as_binary::<i32>(), |a: &'a BinaryArray, row| Label::Long(a.value(row)));
        }
        DataType::LargeBinary => {
            each!(array.as_binary::<i64>(), |a: &'a LargeBinaryArray, row| Label::Long(a.value(row)));
        }
        DataType::BinaryView => each!(array.as_binary_view(), |a: &'a BinaryViewArray, row: usize| {
            let view = a.views()[row];
            if view as u32 <= INLINE {
                Label::Short(view)
            } else {
                Label::Long(a.value(row))
            }
        }),
        _ => (),
    }
}

/// The keys of a dictionary array, `None` where there is no value.
fn keys(dictionary: &dyn AnyDictionaryArray) -> Vec<Option<usize>> {
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

impl ArrowColumn {
    fn new(dtype: DataType, chunks: Vec<ArrayRef>) -> Self {
        ArrowColumn { chunks: chunks.into_iter().map(plain).collect(), dtype }
    }

    /// The column as the kernels read it.
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

    /// The column as texts; `None` where it holds something else.
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

    /// The rows where a new label first stands, and a code for every row; `None` where these are plain numbers.
    pub fn number_labels(&self, threads: usize) -> Option<(Vec<usize>, Vec<i32>)> {
        if !is_text(&self.dtype) && !matches!(self.dtype, DataType::Dictionary(..)) {
            return None;
        }
        let values: Vec<Option<ArrayRef>> = self.chunks.iter().map(dictionary_values).collect();
        let parts = self.chunks.iter().zip(&values).flat_map(|(chunk, values)| {
            // A dictionary is numbered once for all its rows.
            let most = if values.is_some() { 1 } else { 16 };
            pieces(chunk.len(), 16_384, most).into_iter().map(move |rows| (chunk, values, rows))
        });
        Some(in_parts(threads, parts.collect(), |(chunk, values, rows)| {
            let mut numbering = Numbering::new(rows.len());
            match (chunk.as_any_dictionary_opt(), values) {
                (Some(dictionary), Some(values)) => {
                    let mut codes: Vec<(Option<Label>, Option<i32>)> = Vec::with_capacity(values.len());
                    each_label(values, |label| codes.push((label, None)));
                    for key in keys(dictionary) {
                        let code = match key.and_then(|key| codes.get_mut(key)) {
                            Some((Some(label), code)) => *code.get_or_insert_with(|| numbering.code(*label)),
                            _ => -1,
                        };
                        numbering.push_code(code);
                    }
                }
                _ => each_text(chunk, rows, |text| numbering.push(text)),
            }
            numbering
        }))
    }
}

/// The texts of a column where they lie, with what must be held meanwhile.
pub struct Texts<'a> {
    chunks: &'a [ArrayRef],
    /// Of chunks that are dictionaries.
    values: Vec<Option<ArrayRef>>,
}

impl Texts<'_> {
    /// The bytes of every row; `None` where it is null.
    pub fn rows(&self) -> Vec<Option<&[u8]>> {
        let mut rows = Vec::with_capacity(self.chunks.iter().map(|chunk| chunk.len()).sum());
        for (chunk, values) in self.chunks.iter().zip(&self.values) {
            match (chunk.as_any_dictionary_opt(), values) {
                (Some(dictionary), Some(values)) => {
                    let mut texts = Vec::with_capacity(values.len());
                    each_bytes(values, |text| texts.push(text));
                    let text = |key: Option<usize>| key.and_then(|key| texts.get(key).copied().flatten());
                    rows.extend(keys(dictionary).into_iter().map(text));
                }
                _ => each_bytes(chunk, |text| rows.push(text)),
            }
        }
        rows
    }
}

/// Calls `put` with the bytes of every row; all are null where the array holds no text.
fn each_bytes<'a>(array: &'a ArrayRef, put: impl FnMut(Option<&'a [u8]>)) {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().iter().for_each(put),
        DataType::LargeBinary => array.as_binary::<i64>().iter().for_each(put),
        DataType::BinaryView => array.as_binary_view().iter().for_each(put),
        _ => std::iter::repeat_n(None, array.len()).for_each(put),
    }
}

/// The values of a dictionary array, as they are compared; `None` for any other array.
fn dictionary_values(array: &ArrayRef) -> Option<ArrayRef> {
    array.as_any_dictionary_opt().map(|dictionary| plain(dictionary.values().clone()))
}

/// Calls `put` with every value of a dictionary, text or number.
fn each_label<'a>(values: &'a ArrayRef, mut put: impl FnMut(Option<Label<'a>>)) {
    match self::values(values) {
        None => each_text(values, 0..values.len(), put),
        Some(numbers) => {
            let nulls = values.nulls();
            Column::new([Chunk::new(numbers)], View::Itself).each_key(|row, key| {
                let there = nulls.is_none_or(|nulls| nulls.is_valid(row));
                put(key.filter(|_| there).map(|key| Label::Short(u128::from(key))));
            });
        }
    }
}

#[pymethods]
impl ArrowColumn {
    fn __len__(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// What the column holds: number, bool, text (or other categories), null, date, or the type that cannot be used.
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

    /// The type as Arrow calls it.
    #[getter]
    fn dtype(&self) -> String {
        self.dtype.to_string()
    }

    /// The cells of some rows as Python's own values; a null is None.
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
            Err(PyValueError::new_err("there is no such row"))
        };
        rows.into_iter().map(cell).collect()
    }
}

/// One cell as Python's own value.
fn value<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
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
