//! Separate columns: each with its own number type, in one or more chunks, with or without a validity mask.

use crate::cells::{Cell, Matrix, Reading, MISSING};
use crate::fault::{CellFault, Fault};
use crate::gamma::log_factorial;
use crate::parallel::blocks;
use crate::transpose::transposed;
use ndarray::ArrayView1;
use std::ops::Range;

/// Consecutive bits, the lowest of a byte first.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    first: usize,
}

impl<'a> Bits<'a> {
    /// `len` bits, the first of them at `first`.
    pub fn new(bytes: &'a [u8], first: usize, len: usize) -> Result<Self, Fault> {
        match first.checked_add(len) {
            Some(end) if end.div_ceil(8) <= bytes.len() => Ok(Bits { bytes, first }),
            _ => Err(Fault::shape("there are fewer bits than rows")),
        }
    }

    /// The bit of a row.
    #[inline(always)]
    pub fn get(self, row: usize) -> bool {
        let at = self.first + row;
        self.bytes[at / 8] >> (at % 8) & 1 == 1
    }

    /// The bits of 64 rows, the first of them lowest; 0 beyond the end.
    #[inline(always)]
    fn word(self, row: usize) -> u64 {
        let (at, shift) = ((self.first + row) / 8, (self.first + row) % 8);
        let bytes = self.bytes.get(at..).unwrap_or_default();
        let low = match bytes.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        // Two shifts, because one by 64 is not defined.
        let high = bytes.get(8).map_or(0, |&byte| u64::from(byte) << 1 << (63 - shift));
        low >> shift | high
    }
}

/// Calls `put(row, whether it is valid)` for a range of rows, reading the mask by the word.
#[inline(always)]
fn each_valid(valid: Option<Bits>, rows: Range<usize>, mut put: impl FnMut(usize, bool)) {
    let Some(bits) = valid else { return rows.for_each(|r| put(r, true)) };
    for part in blocks(rows, 64) {
        let word = bits.word(part.start);
        if word.count_ones() == 64 {
            part.for_each(|r| put(r, true));
        } else {
            part.enumerate().for_each(|(k, r)| put(r, word >> k & 1 == 1));
        }
    }
}

/// The cells of a chunk of a column.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Values<'a> {
    F64(ArrayView1<'a, f64>),
    F32(ArrayView1<'a, f32>),
    I64(ArrayView1<'a, i64>),
    I32(ArrayView1<'a, i32>),
    I16(ArrayView1<'a, i16>),
    I8(ArrayView1<'a, i8>),
    U64(ArrayView1<'a, u64>),
    U32(ArrayView1<'a, u32>),
    U16(ArrayView1<'a, u16>),
    U8(ArrayView1<'a, u8>),
    /// Booleans, a bit each.
    Bits(Bits<'a>, usize),
    /// Level codes; -1 is missing.
    Codes(ArrayView1<'a, i32>),
}

/// Runs an expression for the cells of whatever type they are, as an iterable of `Cell`s at given rows.
macro_rules! each_type {
    ($values:expr, $cells:ident => $run:expr, $bits:ident => $on_bits:expr, $codes:ident => $on_codes:expr) => {
        match $values {
            Values::F64($cells) => $run,
            Values::F32($cells) => $run,
            Values::I64($cells) => $run,
            Values::I32($cells) => $run,
            Values::I16($cells) => $run,
            Values::I8($cells) => $run,
            Values::U64($cells) => $run,
            Values::U32($cells) => $run,
            Values::U16($cells) => $run,
            Values::U8($cells) => $run,
            Values::Bits($bits, _) => $on_bits,
            Values::Codes($codes) => $on_codes,
        }
    };
}

/// A number that is different for different cells of a column.
trait Key: Cell {
    fn key(self) -> u64;
}

macro_rules! integer_keys {
    ($($t:ty),*) => {$(impl Key for $t {
        #[inline(always)]
        fn key(self) -> u64 {
            self as u64
        }
    })*};
}

integer_keys!(i64, i32, i16, i8, u64, u32, u16, u8);

impl Key for f64 {
    #[inline(always)]
    fn key(self) -> u64 {
        (self + 0.0).to_bits() // 0 and -0 are one
    }
}

impl Key for f32 {
    #[inline(always)]
    fn key(self) -> u64 {
        f64::from(self).key()
    }
}

/// A code of a level; -1 is missing.
#[inline(always)]
fn level(code: i32) -> i64 {
    if code < 0 {
        MISSING
    } else {
        i64::from(code)
    }
}

impl Values<'_> {
    fn len(&self) -> usize {
        each_type!(self, cells => cells.len(), _bits => match self {
            Values::Bits(_, len) => *len,
            _ => 0,
        }, codes => codes.len())
    }
}

/// A chunk of a column: its cells and their validity mask.
#[derive(Clone, Copy)]
pub struct Chunk<'a> {
    values: Values<'a>,
    valid: Option<Bits<'a>>,
}

impl<'a> Chunk<'a> {
    /// Cells without a mask.
    pub fn new(values: Values<'a>) -> Self {
        Chunk { values, valid: None }
    }

    /// Cells with a mask; a cell is missing if its bit is not set.
    pub fn masked(values: Values<'a>, bytes: &'a [u8], first: usize) -> Result<Self, Fault> {
        Ok(Chunk { values, valid: Some(Bits::new(bytes, first, values.len())?) })
    }

    /// Calls `put(row, number)` for a range of rows; a missing cell is NaN.
    #[inline(always)]
    fn numbers(&self, rows: Range<usize>, mut put: impl FnMut(usize, f64)) {
        each_type!(self.values,
        cells => each_valid(self.valid, rows, |r, valid| {
            let x = cells[r].number();
            put(r, if valid { x } else { f64::NAN });
        }),
        bits => each_valid(self.valid, rows, |r, valid| {
            put(r, if valid { f64::from(u8::from(bits.get(r))) } else { f64::NAN });
        }),
        codes => for r in rows {
            let code = codes[r];
            put(r, if code < 0 { f64::NAN } else { f64::from(code) });
        })
    }

    /// Calls `put(row, code)` for a range of rows.
    #[inline(always)]
    fn codes(&self, rows: Range<usize>, mut put: impl FnMut(usize, Result<i64, CellFault>)) {
        each_type!(self.values,
        cells => each_valid(self.valid, rows, |r, valid| {
            put(r, if valid { cells[r].code() } else { Ok(MISSING) });
        }),
        bits => each_valid(self.valid, rows, |r, valid| {
            put(r, Ok(if valid { i64::from(bits.get(r)) } else { MISSING }));
        }),
        codes => for r in rows {
            put(r, Ok(level(codes[r])));
        })
    }

    /// Calls `put(row, key)` for a range of rows; distinct cells have distinct keys, a missing cell has `None`.
    fn keys(&self, rows: Range<usize>, mut put: impl FnMut(usize, Option<u64>)) {
        each_type!(self.values,
        cells => each_valid(self.valid, rows, |r, valid| {
            let cell = cells[r];
            put(r, (valid && !cell.number().is_nan()).then(|| cell.key()));
        }),
        bits => each_valid(self.valid, rows, |r, valid| {
            put(r, valid.then(|| u64::from(bits.get(r))));
        }),
        codes => for r in rows {
            put(r, (codes[r] >= 0).then_some(codes[r] as u64));
        })
    }
}

/// The function of a cell that terms are computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum View {
    Itself,
    Log,
    LogOneMinus,
    /// log x! of a count.
    LogFactorial,
    Cos,
    Sin,
    /// (x - centre) / unit.
    Scaled {
        centre: f64,
        unit: f64,
    },
}

impl View {
    #[inline(always)]
    fn of(self, x: f64) -> f64 {
        match self {
            View::Itself => x,
            View::Log => x.ln(),
            View::LogOneMinus => (-x).ln_1p(),
            View::LogFactorial => log_factorial(x),
            View::Cos => x.cos(),
            View::Sin => x.sin(),
            View::Scaled { centre, unit } => (x - centre) / unit,
        }
    }
}

/// A column of a table.
#[derive(Clone)]
pub struct Column<'a> {
    /// Chunks, each with its first row.
    chunks: Vec<(usize, Chunk<'a>)>,
    rows: usize,
    view: View,
}

impl<'a> Column<'a> {
    /// A column of one or more chunks.
    pub fn new(pieces: impl IntoIterator<Item = Chunk<'a>>, view: View) -> Self {
        let mut rows = 0;
        let chunks = pieces
            .into_iter()
            .map(|chunk| {
                let start = rows;
                rows += chunk.values.len();
                (start, chunk)
            })
            .collect();
        Column { chunks, rows, view }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The chunks of a range of rows: the first row of each, the chunk, and the rows within it.
    #[inline(always)]
    fn pieces(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, &Chunk<'a>, Range<usize>)> {
        let from = self.chunks.partition_point(|(start, _)| *start <= rows.start).saturating_sub(1);
        let Range { start: first, end } = rows;
        self.chunks[from..].iter().take_while(move |(start, _)| *start < end).map(move |(start, chunk)| {
            let stop = (end - start).min(chunk.values.len());
            (*start, chunk, first.saturating_sub(*start).min(stop)..stop)
        })
    }

    /// The cells themselves, if they are one chunk of contiguous floats.
    #[inline(always)]
    fn in_place(&self, rows: Range<usize>) -> Option<&[f64]> {
        match self.chunks.as_slice() {
            [(_, Chunk { values: Values::F64(cells), valid: None })] => {
                cells.to_slice().map(|all| &all[rows])
            }
            _ => None,
        }
    }

    /// Calls `put(row, number)` for a range of rows, before any threshold; a missing cell is NaN.
    pub fn each_number(&self, rows: Range<usize>, mut put: impl FnMut(usize, f64)) {
        for (start, chunk, part) in self.pieces(rows) {
            chunk.numbers(part, |r, x| put(start + r, x));
        }
    }

    /// Calls `put(row, key)` for every row; distinct cells have distinct keys, `None` is missing.
    pub fn each_key(&self, mut put: impl FnMut(usize, Option<u64>)) {
        for (start, chunk, part) in self.pieces(0..self.rows) {
            chunk.keys(part, |r, key| put(start + r, key));
        }
    }

    /// The cell of a row, before any threshold.
    pub fn number(&self, row: usize) -> f64 {
        let mut found = f64::NAN;
        self.each_number(row..row + 1, |_, x| found = x);
        found
    }
}

/// Columns of equal length with one reading.
pub struct Columns<'a> {
    columns: Vec<Column<'a>>,
    rows: usize,
    reading: Reading,
}

impl<'a> Columns<'a> {
    /// Checks that the columns have one length.
    pub fn new(columns: Vec<Column<'a>>, reading: Reading) -> Result<Self, Fault> {
        let rows = columns.first().map_or(0, Column::rows);
        if columns.iter().any(|column| column.rows() != rows) {
            return Err(Fault::shape("the columns do not have one length"));
        }
        Ok(Columns { columns, rows, reading })
    }
}

impl Matrix for Columns<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Bounds are checked when cells are copied: a refused cell becomes infinity.
    fn reading(&self) -> Reading {
        Reading::REAL
    }

    fn number(&self, r: usize, j: usize) -> f64 {
        self.columns[j].number(r)
    }

    fn find_fault(&self, rows: Range<usize>) -> Result<(), Fault> {
        for row in rows {
            for (column, cells) in self.columns.iter().enumerate() {
                let value = cells.number(row);
                if let Some(what) = self.reading.fault(value) {
                    return Err(Fault::Cell { what, row, column, value });
                }
            }
        }
        Ok(())
    }

    fn numbers<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<f64>) -> Result<&'s [f64], Fault> {
        let (reading, width) = (self.reading, self.columns.len());
        if let ([column], false) = (self.columns.as_slice(), reading.looks()) {
            if let (View::Itself, Some(cells)) = (column.view, column.in_place(rows.clone())) {
                return Ok(cells);
            }
        }
        scratch.clear();
        scratch.resize(rows.len() * width, 0.0);
        transposed(scratch, width, 0.0, |j, cells| {
            let (column, first) = (&self.columns[j], rows.start);
            match (column.view, column.in_place(rows.clone())) {
                (View::Itself, Some(own)) if !reading.looks() => cells.copy_from_slice(own),
                (View::Scaled { centre, unit }, _) if !reading.looks() => {
                    column.each_number(rows.clone(), |r, x| cells[r - first] = (x - centre) / unit);
                }
                (View::Itself, _) if !reading.looks() => {
                    column.each_number(rows.clone(), |r, x| cells[r - first] = x);
                }
                (view, _) => column.each_number(rows.clone(), |r, x| {
                    let refused = reading.fault(x).is_some();
                    cells[r - first] = if refused { f64::INFINITY } else { view.of(reading.read(x)) };
                }),
            }
            Ok(())
        })?;
        Ok(scratch)
    }

    fn codes<'s>(&'s self, rows: Range<usize>, scratch: &'s mut Vec<i64>) -> Result<&'s [i64], Fault> {
        let width = self.columns.len();
        scratch.clear();
        scratch.resize(rows.len() * width, MISSING);
        transposed(scratch, width, MISSING, |j, cells| {
            let (column, mut fault) = (&self.columns[j], None);
            for (start, chunk, part) in column.pieces(rows.clone()) {
                chunk.codes(part, |r, code| match code {
                    Ok(code) => cells[start + r - rows.start] = code,
                    Err(what) => fault = fault.or(Some((what, start + r))),
                });
            }
            match fault {
                Some((what, row)) => Err(Fault::Cell { what, row, column: j, value: column.number(row) }),
                None => Ok(()),
            }
        })?;
        Ok(scratch)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ndarray::aview1;

    fn pieces() -> Column<'static> {
        let some = Chunk::masked(Values::I32(aview1(&[7, 8, 9])), &[0b101], 0).unwrap();
        Column::new([some, Chunk::new(Values::F64(aview1(&[0.5, f64::NAN])))], View::Itself)
    }

    #[test]
    fn pieces_and_masks_read_as_one_column() {
        let columns = Columns::new(vec![pieces()], Reading::REAL).unwrap();
        let mut scratch = Vec::new();
        for (rows, expected) in
            [(0..5, vec![7.0, -1.0, 9.0, 0.5, -1.0]), (2..4, vec![9.0, 0.5]), (4..4, vec![])]
        {
            let read = columns.numbers(rows, &mut scratch).unwrap();
            let shown: Vec<f64> = read.iter().map(|x| if x.is_nan() { -1.0 } else { *x }).collect();
            assert_eq!(shown, expected);
        }
        assert_eq!(columns.number(2, 0), 9.0);
    }

    #[test]
    fn masks_read_by_the_word_have_the_bits_of_single_rows() {
        let bytes: Vec<u8> = (0..40).map(|k| if k % 3 == 0 { 255 } else { (k * 37) as u8 }).collect();
        let cells: Vec<f64> = (0..300).map(f64::from).collect();
        for first in 0..20 {
            let bits = Bits::new(&bytes, first, 300).unwrap();
            let chunk = Chunk::masked(Values::F64(aview1(&cells)), &bytes, first).unwrap();
            for rows in [0..300, 5..6, 63..300, 130..259] {
                let mut found = Vec::new();
                chunk.numbers(rows.clone(), |r, x| found.push((r, x.is_nan())));
                assert_eq!(found, rows.map(|r| (r, !bits.get(r))).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn refused_cells_show_as_infinity_and_are_found() {
        let reading = Reading { lowest: 1.0, whole: true, ..Reading::REAL };
        let columns = Columns::new(vec![pieces()], reading).unwrap();
        let mut scratch = Vec::new();
        assert_eq!(columns.numbers(3..4, &mut scratch).unwrap(), [f64::INFINITY]);
        let fault = columns.find_fault(0..5);
        assert_eq!(fault, Err(Fault::Cell { what: CellFault::Below, row: 3, column: 0, value: 0.5 }));
    }

    #[test]
    fn keys_tell_cells_apart_and_zeros_together() {
        let column = Column::new([Chunk::new(Values::F64(aview1(&[0.0, -0.0, 1.5, f64::NAN])))], View::Log);
        let mut keys = Vec::new();
        column.each_key(|_, key| keys.push(key));
        assert_eq!(keys[0], keys[1]);
        assert!(keys[2].is_some() && keys[2] != keys[0] && keys[3].is_none());
    }
}
