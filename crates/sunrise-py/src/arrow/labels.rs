//! Texts of Arrow columns: their bytes in place, and codes for the distinct ones.

use super::values::{dictionary_values, is_text, keys, values as values_of};
use super::ArrowColumn;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray};
use arrow_schema::DataType;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use sunrise_core::columns::{Chunk, Column, View};
use sunrise_core::labels::{in_parts, Numbering};
use sunrise_core::parallel::pieces;

/// A label to compare with others of its column; a short one is compared as a number.
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

/// Calls `put` with the text of each row in a range, `None` for a null.
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
    /// Longest text that a view holds in place, after its length.
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

/// Calls `put` with every value of a dictionary, text or number; `None` for a null.
fn each_label<'a>(values: &'a ArrayRef, mut put: impl FnMut(Option<Label<'a>>)) {
    match values_of(values) {
        None => each_text(values, 0..values.len(), put),
        Some(numbers) => {
            let nulls = values.nulls();
            Column::new([Chunk::new(numbers)], View::Itself).each_key(|row, key| {
                let valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
                put(key.filter(|_| valid).map(|key| Label::Short(u128::from(key))));
            });
        }
    }
}

impl ArrowColumn {
    /// The rows where each distinct label first occurs, and the code of every row; `None` if the cells are numbers.
    pub fn number_labels(&self, threads: usize) -> Option<(Vec<usize>, Vec<i32>)> {
        if !is_text(&self.dtype) && !matches!(self.dtype, DataType::Dictionary(..)) {
            return None;
        }
        let values: Vec<Option<ArrayRef>> = self.chunks.iter().map(dictionary_values).collect();
        let parts = self.chunks.iter().zip(&values).flat_map(|(chunk, values)| {
            // A dictionary is encoded in one piece, so that each of its values is looked up once.
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

/// The texts of a column, read in place.
pub struct Texts<'a> {
    pub(super) chunks: &'a [ArrayRef],
    /// The values of the chunks that are dictionaries.
    pub(super) values: Vec<Option<ArrayRef>>,
}

impl Texts<'_> {
    /// The bytes of every row; `None` for a null.
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

/// Calls `put` with the bytes of every row; `None` for a null and for all rows of an array without texts.
fn each_bytes<'a>(array: &'a ArrayRef, put: impl FnMut(Option<&'a [u8]>)) {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().iter().for_each(put),
        DataType::LargeBinary => array.as_binary::<i64>().iter().for_each(put),
        DataType::BinaryView => array.as_binary_view().iter().for_each(put),
        _ => std::iter::repeat_n(None, array.len()).for_each(put),
    }
}
