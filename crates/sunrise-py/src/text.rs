//! Texts from Python: their UTF-8 is borrowed, and tokens are counted without the GIL.

use crate::arrow::ArrowColumn;
use crate::cells::{slice, slice_mut};
use crate::objects::MissingCells;
use crate::raise;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use sunrise_core::parallel::{pieces, run};
use sunrise_core::text::count::{count, Columns};
use sunrise_core::text::digest::digests;
use sunrise_core::text::hashed::Hashed;
use sunrise_core::text::scale::{move_columns, scale, stretch, Frequency, Scale, Size};
use sunrise_core::text::tokens::{Analyzer, Settings, Text};
use sunrise_core::text::{alphabet, words};

/// Bytes below which one thread is faster than starting a second.
const SMALL: usize = 1 << 16;

/// Python's tables of the characters beyond ASCII.
#[pyclass(frozen, module = "sunrise._native")]
pub struct Alphabet(alphabet::Alphabet);

#[pymethods]
impl Alphabet {
    /// Word characters as half-open ranges, white space, and the lower case of characters that have one.
    #[new]
    fn new(words: Vec<(u32, u32)>, spaces: Vec<u32>, lower: Vec<(u32, Vec<u32>)>) -> PyResult<Self> {
        alphabet::Alphabet::new(&words, &spaces, lower).map(Alphabet).map_err(raise)
    }
}

/// A string as UTF-8, without a copy where it is ASCII; lone surrogates take three bytes.
///
/// Python would keep the UTF-8 of other strings for as long as they live, so they are encoded apart. Types made
/// of str may answer as they like, so only str itself is asked.
fn utf8<'py>(text: Bound<'py, PyString>) -> PyResult<Held<'py>> {
    let py = text.py();
    if text.is_exact_instance_of::<PyString>() && text.call_method0(intern!(py, "isascii"))?.is_truthy()? {
        return Ok(Held::Ascii(text));
    }
    let bytes = match text.encode_utf8() {
        Ok(bytes) => bytes,
        Err(_) => {
            let arguments = (text, "utf-8", "surrogatepass");
            let encoded = py.get_type::<PyString>().call_method1(intern!(py, "encode"), arguments)?;
            encoded.cast_into::<PyBytes>()?
        }
    };
    Ok(Held::Bytes(bytes))
}

/// Decodes bytes; each sequence that is not UTF-8 becomes U+FFFD.
fn string<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(PyString::new(py, text));
    }
    let bytes = PyBytes::new(py, bytes);
    let decoded = match bytes.call_method1(intern!(py, "decode"), ("utf-8", "surrogatepass")) {
        Ok(decoded) => decoded,
        Err(_) => bytes.call_method1(intern!(py, "decode"), ("utf-8", "replace"))?,
    };
    Ok(decoded.cast_into::<PyString>()?)
}

/// One text, kept alive while it is read.
enum Held<'py> {
    Ascii(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
    /// UTF-8 of the text in lower case, prepared by Python.
    Ready(Bound<'py, PyBytes>),
    Missing,
}

impl Held<'_> {
    fn text(&self) -> PyResult<Text<'_>> {
        Ok(match self {
            Held::Ascii(text) => Text { bytes: text.to_str()?.as_bytes(), ready: false },
            Held::Bytes(bytes) => Text { bytes: bytes.as_bytes(), ready: false },
            Held::Ready(bytes) => Text { bytes: bytes.as_bytes(), ready: true },
            Held::Missing => Text { bytes: &[], ready: true },
        })
    }

    /// The UTF-8 of the text, if there is one.
    fn bytes(&self) -> PyResult<Option<&[u8]>> {
        Ok(if matches!(self, Held::Missing) { None } else { Some(self.text()?.bytes) })
    }
}

/// A list of distinct words that looks up their positions.
#[pyclass(frozen, module = "sunrise._native")]
pub struct Words(words::Words);

#[pymethods]
impl Words {
    /// The words of a list; refuses a word that occurs twice.
    #[new]
    fn new(list: &Bound<'_, PyList>) -> PyResult<Self> {
        let mut made = words::Words::default();
        for (place, word) in list.iter().enumerate() {
            let text = word.cast_into::<PyString>().map_err(|error| {
                let kind = error.into_inner().get_type();
                PyTypeError::new_err(format!("word {place} of the vocabulary is a {kind}, no str"))
            })?;
            let held = utf8(text)?;
            if made.insert(words::Key::new(held.text()?.bytes)) as usize != place {
                return Err(PyValueError::new_err(format!(
                    "word {place} of the vocabulary, {}, stands in it twice; pass each word once",
                    list.get_item(place)?.repr()?
                )));
            }
        }
        if made.len() >= words::Words::MOST {
            return Err(raise(sunrise_core::fault::Fault::Memory));
        }
        Ok(Words(made))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The words as Python strings.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<Py<PyAny>>>> {
        let word = |k| Ok(string(py, self.0.get(k).bytes())?.into_any().unbind());
        let words: PyResult<Vec<Py<PyAny>>> = (0..self.0.len()).map(word).collect();
        Ok(words?.into_pyarray(py))
    }

    /// Number of words of every n-gram, or of characters unless they are `words`.
    fn n_items<'py>(&self, py: Python<'py>, words: bool) -> Bound<'py, PyArray1<u32>> {
        py.detach(|| self.0.n_items(words)).into_pyarray(py)
    }

    /// Some of the words, in the same order.
    fn select(&self, py: Python<'_>, keep: PyReadonlyArray1<'_, bool>) -> PyResult<Words> {
        let keep = slice(&keep)?;
        if keep.len() != self.0.len() {
            return Err(PyValueError::new_err("the mask does not have one element for each word"));
        }
        Ok(Words(py.detach(|| self.0.select(keep))))
    }

    /// The position of a word; -1 if it is not in the list.
    fn find(&self, word: Bound<'_, PyString>) -> PyResult<i64> {
        let held = utf8(word)?;
        Ok(self.0.find(words::Key::new(held.text()?.bytes)).map_or(-1, i64::from))
    }
}

/// Counts the tokens of texts.
#[pyclass(frozen, module = "sunrise._native")]
pub struct TextCounter {
    settings: Settings,
    binary: bool,
    hashed: Option<Hashed>,
    /// Returns the alphabet; called only if a text is not ASCII.
    alphabet: Py<PyAny>,
    /// Returns a text in lower case, and without accents if asked for.
    prepare: Py<PyAny>,
    /// Whether accents are removed, so that Python must prepare every text that is not ASCII.
    accents: bool,
}

/// Token counts of texts as a sparse matrix, a row for each text.
#[pyclass(frozen, get_all, module = "sunrise._native")]
pub struct TokenCounts {
    /// Where each row begins in `indices` and `data`, and where the last one ends.
    indptr: Py<PyArray1<i64>>,
    /// Columns of the counts, in ascending order within a row.
    indices: Py<PyArray1<i32>>,
    /// The counts.
    data: Py<PyArray1<f64>>,
    /// Number of tokens of each text, whether in the vocabulary or not.
    lengths: Py<PyArray1<i64>>,
    /// Which texts are missing.
    missing: Py<PyArray1<bool>>,
    /// The words of the columns, if no vocabulary was given.
    words: Option<Py<Words>>,
}

#[pymethods]
impl TextCounter {
    #[new]
    #[allow(clippy::too_many_arguments)] // one for each setting
    fn new(
        analyzer: &str,
        ngrams: (usize, usize),
        lowercase: bool,
        stop: Option<&Bound<'_, PyList>>,
        binary: bool,
        hash_bits: Option<u32>,
        alphabet: Py<PyAny>,
        prepare: Py<PyAny>,
        accents: bool,
    ) -> PyResult<Self> {
        let analyzer = match analyzer {
            "word" => Analyzer::Words,
            "char" => Analyzer::Characters,
            "char_wb" => Analyzer::CharactersInWords,
            _ => return Err(PyValueError::new_err("there is no such analyzer")),
        };
        let (lowest, highest) = ngrams;
        if lowest < 1 || highest < lowest || hash_bits.is_some_and(|bits| !(1..=31).contains(&bits)) {
            return Err(PyValueError::new_err("there are no such n-grams or hashes"));
        }
        let stop = stop.map(Words::new).transpose()?.map(|words| words.0);
        let settings = Settings { analyzer, lowest, highest, lowercase, stop };
        let hashed = hash_bits.map(Hashed::new);
        Ok(TextCounter { settings, binary, hashed, alphabet, prepare, accents })
    }

    /// Counts the tokens of a list of texts, or of an Arrow column.
    fn count<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        vocabulary: Option<&Bound<'py, Words>>,
        threads: usize,
    ) -> PyResult<TokenCounts> {
        if let Ok(column) = texts.cast::<ArrowColumn>() {
            return self.count_column(py, column.get(), vocabulary, threads);
        }
        let list = texts.cast::<PyList>()?;
        let mut held = Vec::with_capacity(list.len());
        for (row, object) in list.iter().enumerate() {
            held.push(self.hold(object).map_err(|error| named(py, error, row))?);
        }
        let texts: PyResult<Vec<Text>> = held.iter().map(Held::text).collect();
        let missing = held.iter().map(|held| matches!(held, Held::Missing)).collect();
        let ascii = held.iter().all(|held| matches!(held, Held::Ascii(_) | Held::Missing));
        self.counted(py, &texts?, ascii, missing, vocabulary, threads)
    }
}

/// The error of one text with its row added.
fn named(py: Python<'_>, error: PyErr, row: usize) -> PyErr {
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(format!("row {row}: {}", error.value(py)));
    }
    error
}

/// Whether a text holds the capital sigma, whose lower case depends on the characters around it.
fn has_sigma(bytes: &[u8]) -> bool {
    // Blocks without a branch, which the compiler can vectorise.
    const MANY: usize = 256;
    let behind = bytes.get(1..).unwrap_or(&[]);
    bytes.chunks(MANY).zip(behind.chunks(MANY)).any(|(first, second)| {
        let pairs = first.iter().zip(second);
        pairs.fold(0, |any, (a, b)| any | (u8::from(*a == 0xCE) & u8::from(*b == 0xA3))) != 0
    })
}

impl TextCounter {
    /// Whether Python must prepare a text that is not ASCII: to lower-case a sigma or to remove accents.
    fn needs_python(&self, bytes: &[u8]) -> bool {
        self.accents || (self.settings.lowercase && has_sigma(bytes))
    }

    fn prepared<'py>(&self, text: Bound<'py, PyString>) -> PyResult<Held<'py>> {
        let made = self.prepare.bind(text.py()).call1((text,))?.cast_into::<PyString>()?;
        Ok(match utf8(made)? {
            Held::Ascii(text) => Held::Ready(text.encode_utf8()?),
            Held::Bytes(bytes) => Held::Ready(bytes),
            other => other,
        })
    }

    /// A text of a list, ready to be read.
    fn hold<'py>(&self, object: Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        let py = object.py();
        let object = match object.cast_into::<PyString>() {
            Ok(text) => {
                return match utf8(text.clone())? {
                    Held::Bytes(bytes) if self.needs_python(bytes.as_bytes()) => self.prepared(text),
                    held => Ok(held),
                };
            }
            Err(error) => error.into_inner(),
        };
        if MissingCells::default().contains(&object)? {
            return Ok(Held::Missing);
        }
        let object = match object.cast_into::<PyBytes>() {
            Ok(bytes) => {
                let plain = bytes.as_bytes().is_ascii() || !self.needs_python(bytes.as_bytes());
                return if plain {
                    Ok(Held::Bytes(bytes))
                } else {
                    self.prepared(string(py, bytes.as_bytes())?)
                };
            }
            Err(error) => error.into_inner(),
        };
        let kind = object.get_type().name()?.to_string();
        Err(PyTypeError::new_err(format!(
            "a text must be a str, or None where it is missing, and this is of type {kind}; \
             convert it with str(...) or leave it out"
        )))
    }

    fn count_column<'py>(
        &self,
        py: Python<'py>,
        column: &ArrowColumn,
        vocabulary: Option<&Bound<'py, Words>>,
        threads: usize,
    ) -> PyResult<TokenCounts> {
        let Some(texts) = column.texts() else {
            return Err(PyTypeError::new_err(format!(
                "texts must be strings, and this column is of type {}; convert it to strings first",
                column.kind()
            )));
        };
        let rows = texts.rows();
        let bytes: usize = rows.iter().flatten().map(|text| text.len()).sum();
        let threads = if bytes < SMALL { 1 } else { threads };
        // Which texts are not ASCII, and which of them Python must prepare.
        let look = |range: std::ops::Range<usize>| {
            let foreign = |row: &usize| rows[*row].is_some_and(|text| !text.is_ascii());
            let foreign: Vec<usize> = range.filter(foreign).collect();
            let python = |row: &usize| rows[*row].is_some_and(|text| self.needs_python(text));
            let python: Vec<usize> = foreign.iter().copied().filter(python).collect();
            (!foreign.is_empty(), python)
        };
        let looked = py.detach(|| run(threads, pieces(rows.len(), 64, 64), look));
        let ascii = !looked.iter().any(|(foreign, _)| *foreign);
        let prepare = |row: usize| {
            let text = string(py, rows[row].unwrap_or(&[]))?;
            Ok((row, self.prepared(text)?))
        };
        let prepared: PyResult<Vec<(usize, Held)>> =
            looked.into_iter().flat_map(|(_, python)| python).map(prepare).collect();
        let prepared = prepared?;
        let text = |bytes: Option<_>| Text { bytes: bytes.unwrap_or_default(), ready: false };
        let mut texts: Vec<Text> = rows.iter().copied().map(text).collect();
        for (row, held) in &prepared {
            texts[*row] = held.text()?;
        }
        let missing = rows.iter().map(Option::is_none).collect();
        self.counted(py, &texts, ascii, missing, vocabulary, threads)
    }

    fn counted<'py>(
        &self,
        py: Python<'py>,
        texts: &[Text],
        ascii: bool,
        missing: Vec<bool>,
        vocabulary: Option<&Bound<'py, Words>>,
        threads: usize,
    ) -> PyResult<TokenCounts> {
        let alphabet = if ascii { None } else { Some(self.alphabet.bind(py).call0()?) };
        let alphabet = alphabet.as_ref().map(|alphabet| alphabet.cast::<Alphabet>()).transpose()?;
        let alphabet = alphabet.map(|alphabet| &alphabet.get().0);
        let columns = match (self.hashed, vocabulary) {
            (Some(hashed), _) => Columns::Hashed(hashed),
            (None, Some(words)) => Columns::Known(&words.get().0),
            (None, None) => Columns::Learned,
        };
        let bytes: usize = texts.iter().map(|text| text.bytes.len()).sum();
        let threads = if bytes < SMALL { 1 } else { threads };
        let settings = &self.settings;
        let binary = self.binary;
        let counted = py.detach(|| count(texts, settings, alphabet, &columns, threads)).map_err(raise)?;
        // NumPy requests huge pages, which halve the time of writing large arrays.
        let empty = |dtype| py.import("numpy")?.call_method1(intern!(py, "empty"), (counted.cells(), dtype));
        let indices = empty("int32")?.cast_into::<PyArray1<i32>>()?;
        let data = empty("float64")?.cast_into::<PyArray1<f64>>()?;
        let (indptr, lengths, words) = {
            let (mut i, mut d) = (indices.try_readwrite()?, data.try_readwrite()?);
            let (i, d) = (slice_mut(&mut i)?, slice_mut(&mut d)?);
            py.detach(|| counted.into_rows(i, d, binary, threads)).map_err(raise)?
        };
        Ok(TokenCounts {
            indptr: indptr.into_pyarray(py).unbind(),
            indices: indices.unbind(),
            data: data.unbind(),
            lengths: lengths.into_pyarray(py).unbind(),
            missing: missing.into_pyarray(py).unbind(),
            words: words.map(|words| Py::new(py, Words(words))).transpose()?,
        })
    }
}

/// Hashes of texts, the same on every machine; `missing` for everything that is neither str nor bytes.
#[pyfunction]
pub fn hash_texts<'py>(
    texts: &Bound<'py, PyList>,
    missing: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let py = texts.py();
    let held = texts.iter().map(|object| match object.cast_into::<PyString>() {
        Ok(text) => utf8(text),
        Err(error) => Ok(error.into_inner().cast_into::<PyBytes>().map_or(Held::Missing, Held::Bytes)),
    });
    let held = held.collect::<PyResult<Vec<Held>>>()?;
    let texts = held.iter().map(Held::bytes).collect::<PyResult<Vec<Option<&[u8]>>>>()?;
    Ok(py.detach(|| digests(&texts, missing, threads)).into_pyarray(py))
}

/// Writes the scaled counts of documents to `out`; `factors` multiply the counts of each word first.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn scale_counts<'py>(
    py: Python<'py>,
    counts: PyReadonlyArray1<'py, f64>,
    indices: PyReadonlyArray1<'py, i32>,
    indptr: PyReadonlyArray1<'py, i64>,
    factors: Option<PyReadonlyArray1<'py, f64>>,
    frequency: &str,
    length: f64,
    total: Option<f64>,
    mut out: PyReadwriteArray1<'py, f64>,
    threads: usize,
) -> PyResult<()> {
    let frequency = match frequency {
        "count" => Frequency::Count,
        "log" => Frequency::Log,
        "binary" => Frequency::Once,
        _ => return Err(PyValueError::new_err("a word counts by count, log or binary")),
    };
    let (counts, indices, indptr) = (slice(&counts)?, slice(&indices)?, slice(&indptr)?);
    let factors = factors.as_ref().map(slice).transpose()?;
    let how = Scale { frequency, length, total };
    let out = slice_mut(&mut out)?;
    py.detach(|| scale(counts, indices, indptr, factors, how, out, threads)).map_err(raise)
}

/// The size of every document over the size of its known words only: a power of the sum of counts or their squares.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn stretch_counts<'py>(
    py: Python<'py>,
    counts: PyReadonlyArray1<'py, f64>,
    indices: PyReadonlyArray1<'py, i32>,
    indptr: PyReadonlyArray1<'py, i64>,
    known: PyReadonlyArray1<'py, bool>,
    whole: PyReadonlyArray1<'py, bool>,
    squared: bool,
    power: f64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (counts, indices, indptr) = (slice(&counts)?, slice(&indices)?, slice(&indptr)?);
    let (known, whole) = (slice(&known)?, slice(&whole)?);
    let size = Size { squared, power };
    let found = py.detach(|| stretch(counts, indices, indptr, known, whole, size, threads));
    Ok(found.map_err(raise)?.into_pyarray(py))
}

/// Row offsets, columns and cells of documents with other columns, times the factors of words and documents.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
pub fn move_word_columns<'py>(
    py: Python<'py>,
    counts: PyReadonlyArray1<'py, f64>,
    indices: PyReadonlyArray1<'py, i32>,
    indptr: PyReadonlyArray1<'py, i64>,
    place: PyReadonlyArray1<'py, i32>,
    of_word: PyReadonlyArray1<'py, f64>,
    of_document: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>)> {
    let (counts, indices, indptr) = (slice(&counts)?, slice(&indices)?, slice(&indptr)?);
    let (place, of_word, of_document) = (slice(&place)?, slice(&of_word)?, slice(&of_document)?);
    let found = py.detach(|| move_columns(counts, indices, indptr, place, of_word, of_document, threads));
    let (indptr, indices, data) = found.map_err(raise)?;
    Ok((indptr.into_pyarray(py), indices.into_pyarray(py), data.into_pyarray(py)))
}
