//! Counts of the levels of every column, class by class.

use crate::cells::{Cell, Matrix, MISSING};
use crate::csr::{Csr, Index};
use crate::fault::{afford, CellFault, Fault};
use crate::parallel::{blocks, pieces, run};
use crate::rows::Rows;
use crate::vectorised;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Rows and weight of the observed levels, column after column, levels in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Where each column's levels begin, and where the last column's end.
    pub offsets: Vec<i64>,
    /// The level codes.
    pub codes: Vec<i64>,
    /// Rows, classes x levels.
    pub rows: Vec<i64>,
    /// Weight, classes x levels.
    pub weight: Vec<f64>,
}

/// Rows and weight of one level in one class.
type Tally = (i64, f64);

/// Counts in the order of (column, code, class).
type Sorted = BTreeMap<(usize, i64, usize), Tally>;

fn finish(columns: usize, classes: usize, sorted: Sorted) -> Result<Counts, Fault> {
    let mut counts = Counts { offsets: vec![0; columns + 1], ..Counts::default() };
    let mut column = None;
    for &(j, code, _) in sorted.keys() {
        if column != Some((j, code)) {
            column = Some((j, code));
            counts.codes.push(code);
            counts.offsets[j + 1] = counts.codes.len() as i64;
        }
    }
    for j in 0..columns {
        counts.offsets[j + 1] = counts.offsets[j + 1].max(counts.offsets[j]);
    }
    let levels = counts.codes.len();
    afford(classes, levels)?;
    (counts.rows, counts.weight) = (vec![0; classes * levels], vec![0.0; classes * levels]);
    let (mut level, mut key) = (0, None);
    for ((j, code, c), (rows, weight)) in sorted {
        level += usize::from(key.is_some_and(|key| key != (j, code)));
        key = Some((j, code));
        counts.rows[c * levels + level] = rows;
        counts.weight[c * levels + level] = weight;
    }
    Ok(counts)
}

/// Counts of one piece: small codes in a table, all others in a map.
struct Tallies {
    classes: usize,
    columns: usize,
    /// Number of codes in the table, for every column.
    capacity: usize,
    /// Number of rows, an upper bound of every counter.
    counted: usize,
    rows: Vec<u32>,
    /// Weights, where they are not all 1.
    weight: Option<Vec<f64>>,
    large: HashMap<(usize, i64, usize), Tally>,
}

/// Largest number of cells of a table.
const TABLE: usize = 1 << 20;

impl Tallies {
    fn new(classes: usize, columns: usize, weighted: bool) -> Self {
        let mut tallies = Tallies {
            classes,
            columns,
            capacity: 0,
            counted: 0,
            rows: Vec::new(),
            weight: weighted.then(Vec::new),
            large: HashMap::new(),
        };
        tallies.grow(8);
        tallies
    }

    /// Extends the table to more codes, up to its largest size.
    fn grow(&mut self, capacity: usize) {
        let cells = self.classes * self.columns * capacity;
        if capacity <= self.capacity || cells > TABLE {
            return;
        }
        fn widen<T: Copy + Default>(table: &[T], from: usize, to: usize, cells: usize) -> Vec<T> {
            let mut wide = vec![T::default(); cells];
            if from > 0 {
                for (old, new) in table.chunks_exact(from).zip(wide.chunks_exact_mut(to)) {
                    new[..from].copy_from_slice(old);
                }
            }
            wide
        }
        self.rows = widen(&self.rows, self.capacity, capacity, cells);
        self.weight = self.weight.as_ref().map(|weight| widen(weight, self.capacity, capacity, cells));
        self.capacity = capacity;
    }

    /// Counts a block of rows; the error is the (row, column) of a negative code.
    #[inline(always)]
    fn add(&mut self, codes: &[i64], rows: Rows) -> Result<(), (usize, usize)> {
        match self.columns {
            1 => self.add_rows(codes, 1, rows), // compiled apart: no loop over the columns of a row
            columns => self.add_rows(codes, columns, rows),
        }
    }

    #[inline(always)]
    fn add_rows(&mut self, codes: &[i64], columns: usize, rows: Rows) -> Result<(), (usize, usize)> {
        let largest = codes.iter().fold(0, |top, &code| top.max(code));
        if largest >= self.capacity as i64 && largest < (1 << 16) {
            self.grow((largest as usize + 1).next_power_of_two());
        }
        self.counted += rows.len();
        let capacity = self.capacity;
        for r in 0..rows.len() {
            let Some((c, w)) = rows.class(r) else { continue };
            let row = &codes[r * columns..][..columns];
            let class = c * columns * capacity..(c + 1) * columns * capacity;
            let mut odd = false;
            // As unsigned numbers, large, negative and missing codes are all beyond the table.
            for (&code, cells) in row.iter().zip(self.rows[class.clone()].chunks_exact_mut(capacity.max(1))) {
                match cells.get_mut(code as u64 as usize) {
                    Some(cell) => *cell += 1,
                    None => odd = true,
                }
            }
            if let Some(weight) = &mut self.weight {
                for (&code, cells) in row.iter().zip(weight[class].chunks_exact_mut(capacity.max(1))) {
                    if let Some(cell) = cells.get_mut(code as u64 as usize) {
                        *cell += w;
                    }
                }
            }
            if odd {
                self.add_odd(r, c, w, row)?;
            }
        }
        Ok(())
    }

    /// Counts the codes of a row that are beyond the table.
    #[cold]
    fn add_odd(&mut self, r: usize, c: usize, w: f64, row: &[i64]) -> Result<(), (usize, usize)> {
        for (j, &code) in row.iter().enumerate() {
            if code >= self.capacity as i64 {
                let tally = self.large.entry((j, code, c)).or_default();
                tally.0 += 1;
                tally.1 += w;
            } else if code < 0 && code != MISSING {
                return Err((r, j));
            }
        }
        Ok(())
    }

    /// Adds the counts to the sorted levels.
    fn join(self, sorted: &mut Sorted) {
        let mut put = |key, (rows, weight): Tally| {
            let tally: &mut Tally = sorted.entry(key).or_default();
            tally.0 += rows;
            tally.1 += weight;
        };
        for (at, &rows) in self.rows.iter().enumerate().filter(|(_, &rows)| rows > 0) {
            let (cell, code) = (at / self.capacity, at % self.capacity);
            let rows = i64::from(rows);
            let weight = self.weight.as_ref().map_or(rows as f64, |weight| weight[at]);
            put((cell % self.columns, code as i64, cell / self.columns), (rows, weight));
        }
        self.large.into_iter().for_each(|(key, tally)| put(key, tally));
    }

    /// Adds the table of another piece, if both have the same size and no counter can overflow.
    fn absorb(&mut self, other: &mut Tallies) {
        if self.capacity != other.capacity || self.counted.saturating_add(other.counted) > u32::MAX as usize {
            return;
        }
        self.counted += other.counted;
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a += b);
        if let (Some(a), Some(b)) = (&mut self.weight, &other.weight) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
        other.rows.clear();
    }
}

/// Counts of a dense matrix of level codes.
pub fn dense(x: &dyn Matrix, rows: Rows, threads: usize) -> Result<Counts, Fault> {
    let columns = x.columns();
    if rows.table(x.rows(), columns)? == 0 {
        return finish(columns, rows.classes, Sorted::new());
    }
    // A piece's counters are 32 bits wide, so it has fewer rows than they can count.
    let most = 16.max(x.rows() >> 31);
    let tasks = pieces(x.rows(), (8 * rows.classes).max(4096), most);
    let parts = run(threads, tasks, |piece: Range<usize>| {
        let mut tallies = Tallies::new(rows.classes, columns, rows.weighted());
        let mut scratch = Vec::new();
        vectorised(
            #[inline(always)]
            || {
                for part in blocks(piece, (65_536 / columns).clamp(16, 1024)) {
                    let codes = x.codes(part.clone(), &mut scratch)?;
                    tallies.add(codes, rows.part(part.clone())).map_err(|(r, column)| {
                        let row = part.start + r;
                        Fault::Cell { what: CellFault::Below, row, column, value: x.number(row, column) }
                    })?;
                }
                Ok(())
            },
        )?;
        Ok(tallies)
    });
    // Tables of one size are added as tables; only the sums are sorted.
    let mut all: Vec<Tallies> = Vec::new();
    for part in parts {
        let mut part = part?;
        if let Some(first) = all.first_mut() {
            first.absorb(&mut part);
        }
        all.push(part);
    }
    let mut sorted = Sorted::new();
    all.into_iter().for_each(|tallies| tallies.join(&mut sorted));
    finish(columns, rows.classes, sorted)
}

/// Counts of a sparse matrix of level codes; a cell that is not stored has code 0.
pub fn sparse<T: Cell, I: Index>(x: &Csr<T, I>, rows: Rows, threads: usize) -> Result<Counts, Fault> {
    rows.table(x.rows(), x.columns())?;
    let grouped = rows.by_class();
    let parts = run(threads, (0..rows.classes).collect(), |c: usize| {
        let class = grouped.class(c);
        let mut levels: HashMap<(usize, i64), Tally> = HashMap::new();
        // Rows without a stored or missing cell have code 0.
        let total: f64 = class.iter().map(|&r| rows.weight(r)).sum();
        let mut zeros = vec![(class.len() as i64, total); x.columns()];
        for &r in class {
            let weight = rows.weight(r);
            let (indices, cells) = x.canonical_row(r)?;
            for (j, cell) in indices.iter().map(|j| j.at()).zip(cells) {
                let refused = |what| Fault::Cell { what, row: r, column: j, value: cell.number() };
                let code = cell.code().map_err(refused)?;
                if code == 0 {
                    continue;
                }
                zeros[j].0 -= 1;
                zeros[j].1 -= weight;
                if code != MISSING {
                    let tally = levels.entry((j, code)).or_default();
                    tally.0 += 1;
                    tally.1 += weight;
                }
            }
        }
        let zeros = zeros.into_iter().enumerate().filter(|(_, tally)| tally.0 > 0);
        levels.extend(zeros.map(|(j, tally)| ((j, 0), tally)));
        Ok(levels)
    });
    let mut sorted = Sorted::new();
    for (c, part) in parts.into_iter().enumerate() {
        sorted.extend(part?.into_iter().map(|((j, code), tally)| ((j, code, c), tally)));
    }
    finish(x.columns(), rows.classes, sorted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::Dense;
    use crate::cells::Reading;
    use ndarray::array;

    #[test]
    fn small_and_huge_codes_are_counted_without_a_cell_for_each() {
        let x = array![[0_i64, 1_000_000_000], [3, 5], [3, 1_000_000_000]];
        let counts =
            dense(&Dense::new(x.view(), Reading::REAL), Rows::new(&[0, 1, 1], None, 2).unwrap(), 1).unwrap();
        assert_eq!(counts.offsets, [0, 2, 4]);
        assert_eq!(counts.codes, [0, 3, 5, 1_000_000_000]);
        assert_eq!(counts.rows, [1, 0, 0, 1, 0, 2, 1, 1]);
    }

    #[test]
    fn sparse_means_code_zero() {
        let csr = Csr::new(&[2.0, f64::NAN], &[1_i32, 0], &[0, 1, 2, 2], 2).unwrap();
        let counts = sparse(&csr, Rows::new(&[0, 0, 0], None, 1).unwrap(), 1).unwrap();
        assert_eq!((counts.codes, counts.rows), (vec![0, 0, 2], vec![2, 2, 1]));
    }

    #[test]
    fn negative_and_fractional_codes_are_refused() {
        let x = array![[0_i64, -2]];
        let fault =
            dense(&Dense::new(x.view(), Reading::REAL), Rows::new(&[0], None, 1).unwrap(), 1).unwrap_err();
        assert!(matches!(fault, Fault::Cell { what: CellFault::Below, row: 0, column: 1, .. }));
        let x = array![[0.5_f32]];
        let fault =
            dense(&Dense::new(x.view(), Reading::REAL), Rows::new(&[0], None, 1).unwrap(), 1).unwrap_err();
        assert!(matches!(fault, Fault::Cell { what: CellFault::Fraction, .. }));
    }
}
