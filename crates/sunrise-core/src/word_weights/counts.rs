//! Products of word counts with tables, for the search for weights of words.

use std::borrow::Cow;
use std::ops::Range;

use crate::in_fours;
use crate::parallel::run;

/// Numbers in a vector: the rows of tables are padded to whole vectors.
pub const LANES: usize = 8;
/// Most pieces of a matrix.
pub const PIECES: usize = 64;

/// Documents by word counts (CSR), or the same counts as words by documents.
pub struct Counts<'a> {
    starts: Vec<usize>,
    at: Cow<'a, [i32]>,
    x: Cow<'a, [f32]>,
    /// Rows of the matrix with about as many cells in every piece.
    pieces: Vec<Range<usize>>,
}

impl<'a> Counts<'a> {
    /// Counts `x` of the columns `at`; those of row k begin at `starts[k]`.
    pub fn new(starts: Vec<usize>, at: Cow<'a, [i32]>, x: Cow<'a, [f32]>) -> Self {
        let pieces = equal_pieces(&starts, PIECES);
        Counts { starts, at, x, pieces }
    }

    /// Words by documents. Every thread reads all cells and keeps those of its own range of words.
    pub fn transposed<'b>(&self, words: usize, threads: usize) -> Counts<'b> {
        let mut starts = vec![0; words + 1];
        let stored = self.starts[0]..self.starts[self.starts.len() - 1];
        self.at[stored.clone()].iter().for_each(|&j| starts[j as usize + 1] += 1);
        for j in 0..words {
            starts[j + 1] += starts[j];
        }
        let (mut at, mut x) = (vec![0; stored.len()], vec![0.0; stored.len()]);
        let ranges = equal_pieces(&starts, threads);
        let cells: Vec<_> = ranges.iter().map(|words| starts[words.start]..starts[words.end]).collect();
        let tasks: Vec<_> =
            cut(&mut at, &cells, 1).into_iter().zip(cut(&mut x, &cells, 1)).zip(ranges).collect();
        run(threads, tasks, |(((cells, at), (_, x)), words)| {
            let mut next: Vec<usize> =
                starts[words.clone()].iter().map(|start| start - cells.start).collect();
            for (r, ends) in self.starts.windows(2).enumerate() {
                for (&j, &value) in self.at[ends[0]..ends[1]].iter().zip(&self.x[ends[0]..ends[1]]) {
                    if let Some(to) = (j as usize).checked_sub(words.start).and_then(|own| next.get_mut(own))
                    {
                        at[*to] = r as i32;
                        x[*to] = value;
                        *to += 1;
                    }
                }
            }
        });
        Counts::new(starts, Cow::Owned(at), Cow::Owned(x))
    }

    /// Writes the product with a table of `stride` numbers a row to `out`.
    pub fn times(&self, table: &[f32], stride: usize, out: &mut [f32], threads: usize) {
        run(threads, cut(out, &self.pieces, stride), |(piece, out)| {
            in_fours(
                #[inline(always)]
                || match stride / LANES {
                    0 => singles(self, piece.start, table, out),
                    1 => groups::<8>(self, piece.start, table, out),
                    2 => groups::<16>(self, piece.start, table, out),
                    3 => groups::<24>(self, piece.start, table, out),
                    4 => groups::<32>(self, piece.start, table, out),
                    _ => wide_groups(self, piece.start, table, out, stride),
                },
            )
        });
    }
}

/// Cuts the rows of a table, of `width` numbers each, into pieces.
pub fn cut<'a, T>(
    all: &'a mut [T],
    pieces: &[Range<usize>],
    width: usize,
) -> Vec<(Range<usize>, &'a mut [T])> {
    let mut rest = all;
    let mut part = |piece: &Range<usize>| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(piece.len() * width);
        rest = behind;
        (piece.clone(), part)
    };
    pieces.iter().map(&mut part).collect()
}

/// Cuts rows into `most` pieces or fewer with about the same number of cells, by the places where the cells of rows start.
fn equal_pieces(starts: &[usize], most: usize) -> Vec<Range<usize>> {
    let (n, first) = (starts.len() - 1, starts[0]);
    let stored = starts[n] - first;
    let end = |k: usize| match k == most {
        true => n,
        false => starts.partition_point(|&at| at - first < stored * k / most).min(n),
    };
    let ends: Vec<usize> = (0..=most).map(end).collect();
    ends.windows(2).filter(|p| p[0] < p[1]).map(|p| p[0]..p[1]).collect()
}

#[inline(always)]
fn singles(matrix: &Counts<'_>, first: usize, table: &[f32], out: &mut [f32]) {
    for (k, to) in out.iter_mut().enumerate() {
        let range = matrix.starts[first + k]..matrix.starts[first + k + 1];
        let picks = matrix.at[range.clone()].iter().zip(&matrix.x[range]);
        *to = picks.fold(0.0, |sum, (&j, &x)| sum + f64::from(x) * f64::from(table[j as usize])) as f32;
    }
}

/// Sums of rows of `W` numbers, which stay in registers.
#[inline(always)]
fn groups<const W: usize>(matrix: &Counts<'_>, first: usize, table: &[f32], out: &mut [f32]) {
    for (k, to) in out.chunks_exact_mut(W).enumerate() {
        let range = matrix.starts[first + k]..matrix.starts[first + k + 1];
        let mut sums = [0.0_f32; W];
        for (&j, &x) in matrix.at[range.clone()].iter().zip(&matrix.x[range]) {
            let from = &table[j as usize * W..(j as usize + 1) * W];
            for (sum, from) in sums.iter_mut().zip(from) {
                *sum += x * from;
            }
        }
        to.copy_from_slice(&sums);
    }
}

#[inline(always)]
fn wide_groups(matrix: &Counts<'_>, first: usize, table: &[f32], out: &mut [f32], width: usize) {
    for (k, to) in out.chunks_exact_mut(width).enumerate() {
        let range = matrix.starts[first + k]..matrix.starts[first + k + 1];
        to.fill(0.0);
        for (&j, &x) in matrix.at[range.clone()].iter().zip(&matrix.x[range]) {
            let from = &table[j as usize * width..][..width];
            to.iter_mut().zip(from).for_each(|(sum, v)| *sum += x * v);
        }
    }
}
