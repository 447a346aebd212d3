//! Texts to sparse counts.

use crate::fault::Fault;
use crate::parallel::run;
use crate::text::alphabet::Alphabet;
use crate::text::hashed::Hashed;
use crate::text::merge::merge;
use crate::text::sort::{bits, sort};
use crate::text::tally::Tally;
use crate::text::tokens::{Reader, Settings, Text};
use crate::text::words::{Key, Words};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The columns of the words.
pub enum Columns<'a> {
    /// All words of the texts, in the order of code points.
    Learned,
    /// A given vocabulary; other words count towards the lengths only.
    Known(&'a Words),
    /// A column for each hash value.
    Hashed(Hashed),
}

/// Counts of texts in the numbering of the workers, to be written as a sparse matrix.
pub struct Counted {
    parts: Vec<Part>,
    /// The column of each number, for each worker.
    to: Option<Vec<Vec<u32>>>,
    columns: usize,
    words: Option<Words>,
}

/// Row offsets of a sparse matrix, the number of tokens of each row, and the words of the columns.
pub type Rows = (Vec<i64>, Vec<i64>, Option<Words>);

/// Maps words to numbers.
trait Number: Send {
    /// Calls `put` with the numbers of the words that have one.
    fn numbers(&mut self, words: &[Key], put: impl FnMut(u32));
}

impl Number for Words {
    #[inline(always)]
    fn numbers(&mut self, words: &[Key], put: impl FnMut(u32)) {
        self.insert_all(words, put);
    }
}

impl Number for &Words {
    #[inline(always)]
    fn numbers(&mut self, words: &[Key], put: impl FnMut(u32)) {
        self.find_all(words, put);
    }
}

impl Number for Hashed {
    #[inline(always)]
    fn numbers(&mut self, words: &[Key], put: impl FnMut(u32)) {
        words.iter().map(|word| self.column(word.text())).for_each(put);
    }
}

/// The counts of consecutive rows.
struct Part {
    block: usize,
    worker: usize,
    counts: Vec<(u32, u32)>,
    ends: Vec<usize>,
    lengths: Vec<i64>,
}

/// Counts the tokens of texts, on up to `threads` threads.
///
/// Which worker counts which texts varies, but the result does not: words are sorted at the end,
/// and counts are whole numbers.
pub fn count(
    texts: &[Text],
    settings: &Settings,
    alphabet: Option<&Alphabet>,
    columns: &Columns,
    threads: usize,
) -> Result<Counted, Fault> {
    let blocks = blocks(texts);
    let workers = threads.clamp(1, blocks.len().max(1));
    let reader = || Reader::new(settings, alphabet);
    match columns {
        Columns::Learned => {
            let numbers = (0..workers).map(|_| Words::default()).collect();
            let (parts, vocabularies) = parts(texts, &blocks, reader, numbers, 0);
            if vocabularies.iter().any(|words| words.len() >= Words::MOST) {
                return Err(Fault::Memory);
            }
            let (words, to) = merge(&vocabularies, threads)?;
            Ok(Counted { parts, to: Some(to), columns: words.len(), words: Some(words) })
        }
        Columns::Known(words) => {
            let (parts, _) = parts(texts, &blocks, reader, vec![*words; workers], words.len());
            Ok(Counted { parts, to: None, columns: words.len(), words: None })
        }
        Columns::Hashed(hashed) => {
            let (parts, _) = parts(texts, &blocks, reader, vec![*hashed; workers], hashed.columns());
            Ok(Counted { parts, to: None, columns: hashed.columns(), words: None })
        }
    }
}

/// Cuts texts into blocks of about equal numbers of bytes.
fn blocks(texts: &[Text]) -> Vec<Range<usize>> {
    const BYTES: usize = 1 << 17;
    let (mut ranges, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (row, text) in texts.iter().enumerate() {
        bytes += text.bytes.len() + 16; // an empty text takes some time too
        if bytes >= BYTES {
            ranges.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    if start < texts.len() {
        ranges.push(start..texts.len());
    }
    ranges
}

/// The counts of all blocks in order, and the numberings of the workers.
fn parts<'a, N: Number>(
    texts: &[Text],
    blocks: &[Range<usize>],
    reader: impl Fn() -> Reader<'a> + Sync,
    numbers: Vec<N>,
    columns: usize,
) -> (Vec<Part>, Vec<N>) {
    let bytes: usize = texts.iter().map(|text| text.bytes.len()).sum();
    let next = AtomicUsize::new(0);
    let tasks: Vec<(usize, N)> = numbers.into_iter().enumerate().collect();
    let done = run(tasks.len(), tasks, |(worker, mut numbers)| {
        let mut reader = reader();
        // A token takes about six bytes: a table longer than the number of tokens does not pay.
        let mut tally = Tally::new(columns, bytes / 8);
        let mut parts = Vec::new();
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            let Some(rows) = blocks.get(block) else { break };
            let mut part = Part { block, worker, counts: Vec::new(), ends: Vec::new(), lengths: Vec::new() };
            for text in &texts[rows.clone()] {
                let mut length = 0;
                reader.read(*text, |words| {
                    length += words.len() as i64;
                    let (mut known, mut n) = ([0; Words::TOGETHER], 0);
                    numbers.numbers(words, |number| {
                        known[n] = number;
                        n += 1;
                    });
                    tally.add(&known[..n]);
                });
                tally.take(&mut part.counts);
                part.ends.push(part.counts.len());
                part.lengths.push(length);
            }
            parts.push(part);
        }
        (parts, numbers)
    });
    let (parts, numbers): (Vec<Vec<Part>>, Vec<N>) = done.into_iter().unzip();
    let mut parts: Vec<Part> = parts.into_iter().flatten().collect();
    parts.sort_unstable_by_key(|part| part.block);
    (parts, numbers)
}

impl Counted {
    /// Number of stored cells.
    pub fn cells(&self) -> usize {
        self.parts.iter().map(|part| part.counts.len()).sum()
    }

    /// Writes the sparse matrix: columns in ascending order within a row, and counts, or 1 if `binary`.
    pub fn into_rows(
        self,
        indices: &mut [i32],
        data: &mut [f64],
        binary: bool,
        threads: usize,
    ) -> Result<Rows, Fault> {
        if indices.len() != self.cells() || data.len() != self.cells() {
            return Err(Fault::shape("the arrays do not have one element for each stored cell"));
        }
        let Counted { parts, to, columns, words } = self;
        let (bits, to) = (bits(columns), to.as_deref());
        let rows: usize = parts.iter().map(|part| part.ends.len()).sum();
        let (mut indptr, mut lengths) = (Vec::with_capacity(rows + 1), Vec::with_capacity(rows));
        indptr.push(0);
        let mut before = 0;
        for part in &parts {
            indptr.extend(part.ends.iter().map(|end| (before + end) as i64));
            lengths.extend_from_slice(&part.lengths);
            before += part.counts.len();
        }
        let (mut rest_indices, mut rest_data) = (indices, data);
        let mut tasks = Vec::with_capacity(parts.len());
        for part in parts {
            let (indices, behind) = rest_indices.split_at_mut(part.counts.len());
            rest_indices = behind;
            let (data, behind) = rest_data.split_at_mut(part.counts.len());
            rest_data = behind;
            tasks.push((part, indices, data));
        }
        run(threads, tasks, |(part, indices, data)| {
            let to = to.and_then(|to| to.get(part.worker));
            let (mut keys, mut spare) = (Vec::new(), Vec::new());
            let mut start = 0;
            for end in part.ends {
                let row = &part.counts[start..end];
                keys.clear();
                match to {
                    Some(to) => keys.extend(row.iter().map(|&(k, n)| pair(to[k as usize], n))),
                    None => keys.extend(row.iter().map(|&(k, n)| pair(k, n))),
                }
                sort(&mut keys, &mut spare, bits);
                let cells = indices[start..end].iter_mut().zip(&mut data[start..end]);
                for (key, (index, cell)) in keys.iter().zip(cells) {
                    *index = (key >> 32) as i32;
                    *cell = if binary { 1.0 } else { f64::from(*key as u32) };
                }
                start = end;
            }
        });
        Ok((indptr, lengths, words))
    }
}

#[inline(always)]
fn pair(column: u32, count: u32) -> u64 {
    u64::from(column) << 32 | u64::from(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::tokens::Analyzer;

    const SETTINGS: Settings =
        Settings { analyzer: Analyzer::Words, lowest: 1, highest: 1, lowercase: true, stop: None };

    struct Found {
        indptr: Vec<i64>,
        indices: Vec<i32>,
        data: Vec<f64>,
        lengths: Vec<i64>,
        words: Option<Words>,
    }

    fn counted(texts: &[String], columns: &Columns, threads: usize) -> Found {
        let texts: Vec<Text> =
            texts.iter().map(|text| Text { bytes: text.as_bytes(), ready: false }).collect();
        let found = count(&texts, &SETTINGS, None, columns, threads).unwrap();
        let (mut indices, mut data) = (vec![0; found.cells()], vec![0.0; found.cells()]);
        let (indptr, lengths, words) = found.into_rows(&mut indices, &mut data, false, threads).unwrap();
        Found { indptr, indices, data, lengths, words }
    }

    #[test]
    fn words_are_counted_in_order() {
        let texts = ["The cat and the dog".to_string(), String::new(), "dog, dog!".to_string()];
        let found = counted(&texts, &Columns::Learned, 1);
        assert_eq!(found.indptr, [0, 4, 4, 5]);
        assert_eq!(found.indices, [0, 1, 2, 3, 2]);
        assert_eq!(found.data, [1.0, 1.0, 1.0, 2.0, 2.0]);
        assert_eq!(found.lengths, [5, 0, 2]);
        let words = found.words.unwrap();
        assert_eq!(words.get(3).bytes(), b"the");
        let known = counted(&["a dog or the dog".to_string()], &Columns::Known(&words), 1);
        assert_eq!((known.indices, known.data), (vec![2, 3], vec![2.0, 1.0]));
        assert_eq!(known.lengths, [4]);
    }

    #[test]
    fn threads_change_nothing() {
        let text = |k: u64| (0..300).map(|j| format!("w{} ", (k * 7919 + j * j) % 977)).collect::<String>();
        let texts: Vec<String> = (0..900).map(text).collect();
        let one = counted(&texts, &Columns::Learned, 1);
        for threads in [2, 3, 8] {
            let more = counted(&texts, &Columns::Learned, threads);
            assert_eq!((&more.indptr, &more.indices), (&one.indptr, &one.indices));
            assert_eq!((&more.data, &more.lengths), (&one.data, &one.lengths));
            let hashed = counted(&texts, &Columns::Hashed(Hashed::new(20)), threads);
            assert_eq!(hashed.lengths, one.lengths);
        }
    }
}
