//! Encoding of labels as codes 0, 1, 2, ...

use crate::columns::Column;
use crate::fault::Fault;
use crate::parallel::run;
use crate::vectorised;
use hashbrown::HashMap;
use std::hash::Hash;

/// The distinct labels in ascending order, and the code of every row.
pub fn integers(y: impl Iterator<Item = i64> + Clone) -> (Vec<i64>, Vec<i32>) {
    let (low, high, n) =
        y.clone().fold((i64::MAX, i64::MIN, 0_usize), |(l, h, n), v| (l.min(v), h.max(v), n + 1));
    if n == 0 {
        return (Vec::new(), Vec::new());
    }
    let span = high.wrapping_sub(low) as u64;
    if span < (4 * n as u64).max(1024) {
        let mut code = vec![-1_i32; span as usize + 1];
        for v in y.clone() {
            code[(v - low) as usize] = 0;
        }
        let mut classes = Vec::new();
        for (k, code) in code.iter_mut().enumerate().filter(|(_, code)| **code == 0) {
            *code = classes.len() as i32;
            classes.push(low + k as i64);
        }
        let codes = y.map(|v| code[(v - low) as usize]).collect();
        return (classes, codes);
    }
    let mut code_of: HashMap<i64, i32> = y.clone().map(|v| (v, 0)).collect();
    let mut classes: Vec<i64> = code_of.keys().copied().collect();
    classes.sort_unstable();
    for (code, label) in classes.iter().enumerate() {
        code_of.insert(*label, code as i32);
    }
    let codes = y.map(|v| code_of.get(&v).copied().unwrap_or(-1)).collect();
    (classes, codes)
}

/// Encodes labels in order of first occurrence.
///
/// A missing label has code -1.
#[derive(Default)]
pub struct Numbering<K> {
    code_of: HashMap<K, i32>,
    first: Vec<usize>,
    codes: Vec<i32>,
}

impl<K: Hash + Eq> Numbering<K> {
    /// An empty encoding with capacity for `rows` rows.
    pub fn new(rows: usize) -> Self {
        Numbering { code_of: HashMap::new(), first: Vec::new(), codes: Vec::with_capacity(rows) }
    }

    /// The code of a label.
    #[inline(always)]
    pub fn code(&mut self, label: K) -> i32 {
        let Numbering { code_of, first, codes } = self;
        *code_of.entry(label).or_insert_with(|| {
            first.push(codes.len());
            first.len() as i32 - 1
        })
    }

    /// Encodes the label of the next row.
    #[inline(always)]
    pub fn push(&mut self, label: Option<K>) {
        let code = label.map_or(-1, |label| self.code(label));
        self.codes.push(code);
    }

    /// Gives the next row a code that [`Numbering::code`] returned before, or -1.
    #[inline(always)]
    pub fn push_code(&mut self, code: i32) {
        self.codes.push(code);
    }

    /// The rows where each distinct label first occurs, and the code of every row.
    pub fn finish(self) -> (Vec<usize>, Vec<i32>) {
        (self.first, self.codes)
    }

    /// Appends the rows of another part.
    fn append(&mut self, part: Numbering<K>) {
        let mut labels: Vec<(i32, K)> = part.code_of.into_iter().map(|(label, code)| (code, label)).collect();
        labels.sort_unstable_by_key(|(code, _)| *code);
        let offset = self.codes.len();
        let to: Vec<i32> = labels
            .into_iter()
            .zip(part.first)
            .map(|((_, label), row)| {
                let Numbering { code_of, first, .. } = self;
                *code_of.entry(label).or_insert_with(|| {
                    first.push(offset + row);
                    first.len() as i32 - 1
                })
            })
            .collect();
        self.codes.extend(part.codes.into_iter().map(|code| to.get(code as usize).copied().unwrap_or(-1)));
    }
}

/// Encodes the parts of a column on up to `threads` threads, with the result of one pass.
pub fn in_parts<T: Send, K: Hash + Eq + Send>(
    threads: usize,
    parts: Vec<T>,
    number: impl Fn(T) -> Numbering<K> + Sync,
) -> (Vec<usize>, Vec<i32>) {
    let mut parts = run(threads, parts, number).into_iter();
    let mut all = parts.next().unwrap_or_else(|| Numbering::new(0));
    parts.for_each(|part| all.append(part));
    all.finish()
}

/// Looks every code up in `to`; -1 and codes beyond its end become -1.
pub fn map_codes(codes: &[i32], to: &[i32]) -> Vec<i32> {
    codes.iter().map(|&code| to.get(code as usize).copied().unwrap_or(-1)).collect()
}

/// Codes of two columns, and a table with a row of `width` numbers for each of the first codes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct PairTable<'a> {
    pub first: &'a [i32],
    pub second: &'a [i32],
    pub to: &'a [i32],
    pub width: usize,
}

impl PairTable<'_> {
    fn check(&self) -> Result<(), Fault> {
        let n_first = self.to.len().checked_div(self.width).unwrap_or(0) as i32;
        // A maximum, unlike a search, is computed in vectors.
        let most = |codes: &[i32]| codes.iter().copied().fold(-1, i32::max);
        let fits = self.first.len() == self.second.len()
            && most(self.first) < n_first
            && usize::try_from(most(self.second)).map_or(true, |b| b < self.width);
        if fits {
            Ok(())
        } else {
            Err(Fault::shape("the codes and the table of their pairs do not fit together"))
        }
    }
}

/// Looks the pair of codes of every row up, for several pairs of columns; -1 if one of the codes is -1.
pub fn map_pairs(tables: &[PairTable], threads: usize) -> Result<Vec<Vec<i32>>, Fault> {
    const ROWS: usize = 1 << 14;
    tables.iter().try_for_each(|table| table.check())?;
    let mut all: Vec<Vec<i32>> = tables.iter().map(|table| vec![-1; table.first.len()]).collect();
    let mut tasks = Vec::new();
    for (table, out) in tables.iter().zip(&mut all) {
        let codes = table.first.chunks(ROWS).zip(table.second.chunks(ROWS));
        tasks.extend(out.chunks_mut(ROWS).zip(codes).map(|(out, codes)| (table, out, codes)));
    }
    run(threads, tasks, |(table, out, (first, second))| {
        for (out, (&a, &b)) in out.iter_mut().zip(first.iter().zip(second)) {
            if (a | b) >= 0 {
                *out = table.to[a as usize * table.width + b as usize];
            }
        }
    });
    Ok(all)
}

/// The number of edges that are not above each number; -1 for NaN. The edges are in ascending order.
pub fn bins(x: &[f64], edges: &[f64]) -> Vec<i32> {
    const FEW: usize = 32;
    vectorised(
        #[inline(always)]
        || {
            if edges.len() > FEW {
                let bin = |x: f64| edges.partition_point(|&edge| edge <= x) as i32;
                return x.iter().map(|&x| if x.is_nan() { -1 } else { bin(x) }).collect();
            }
            let mut out: Vec<i32> = x.iter().map(|x| -i32::from(x.is_nan())).collect();
            for edge in edges {
                out.iter_mut().zip(x).for_each(|(bin, x)| *bin += i32::from(x >= edge));
            }
            out
        },
    )
}

/// Encodes fixed-width strings of `width` bytes.
pub fn strings(bytes: &[u8], width: usize) -> (Vec<usize>, Vec<i32>) {
    let mut numbering = Numbering::new(bytes.len() / width.max(1));
    bytes.chunks_exact(width.max(1)).for_each(|label| numbering.push(Some(label)));
    numbering.finish()
}

/// Encodes the cells of a column.
pub fn cells(column: &Column) -> (Vec<usize>, Vec<i32>) {
    let mut numbering = Numbering::new(column.rows());
    column.each_key(|_, key| numbering.push(key));
    numbering.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_lead_back_to_the_labels(y in prop::collection::vec(prop::sample::select(
            vec![i64::MIN, -7, 0, 1, 2, 1_000_000, i64::MAX]), 0..50)) {
            let (classes, codes) = integers(y.iter().copied());
            prop_assert!(classes.windows(2).all(|p| p[0] < p[1]));
            let back: Vec<i64> = codes.iter().map(|&c| classes[c as usize]).collect();
            prop_assert_eq!(back, y);
        }
    }

    proptest! {
        #[test]
        fn parts_are_numbered_as_one(y in prop::collection::vec(0_u8..6, 0..40), cut in 0_usize..40) {
            let number = |part: &[u8]| {
                let mut numbering = Numbering::new(part.len());
                part.iter().for_each(|&label| numbering.push((label > 0).then_some(label)));
                numbering
            };
            let (left, right) = y.split_at(cut.min(y.len()));
            prop_assert_eq!(in_parts(2, vec![left, right], number), number(&y).finish());
        }
    }

    #[test]
    fn replacing_keeps_what_is_missing() {
        assert_eq!(map_codes(&[1, -1, 0, 5], &[7, 8]), [8, -1, 7, -1]);
        let (a, b, to) = ([1, -1, 0, 1], [0, 0, -1, 1], [5, 6, 7, 8]);
        let table = PairTable { first: &a, second: &b, to: &to, width: 2 };
        assert_eq!(map_pairs(&[table, table], 2), Ok(vec![vec![7, -1, -1, 8]; 2]));
        for width in [0, 1, 4] {
            assert!(map_pairs(&[PairTable { width, ..table }], 1).is_err());
        }
    }

    #[test]
    fn bins_begin_at_their_edges() {
        let x = [f64::NAN, -1.0, 0.0, 0.5, 1.0, f64::INFINITY];
        assert_eq!(bins(&x, &[0.0, 1.0]), [-1, 0, 1, 1, 2, 2]);
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(bins(&[f64::NAN, 7.5, 8.0, -1.0], &many), [-1, 8, 9, 0]);
    }

    #[test]
    fn strings_are_coded_as_they_come() {
        assert_eq!(strings(b"bbaabb", 2), (vec![0, 1], vec![0, 1, 0]));
    }
}
