//! Scores looked up by level.

use crate::cells::{Cell, Matrix, MISSING};
use crate::csr::{Csr, Index};
use crate::fault::{afford, cells, CellFault, Fault};
use crate::gather;
use crate::score::{Scorer, PART};
use crate::vectorised;
use std::ops::Range;

/// Scores of the levels of every column.
///
/// A column with k observed levels has k + 2 entries: these levels in order, then any other code below its size
/// (possible, not observed), then any code beyond (unknown). After all columns comes the entry of a missing cell.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a> {
    /// Where each column's levels begin in `codes`, and where the last column's end.
    pub offsets: &'a [i64],
    /// The level codes, in order within a column.
    pub codes: &'a [i64],
    /// Size of each column: codes below it are possible.
    pub sizes: &'a [i64],
    /// The scores, entries x classes, the classes padded as [`crate::gather`] wants them.
    pub values: &'a [f64],
    /// Number of classes.
    pub classes: usize,
    /// Whether an unknown level is a fault.
    pub refuse_unseen: bool,
}

/// One column ready for look-up.
struct Column<'a> {
    codes: &'a [i64],
    size: i64,
    /// Entry of the column's first level.
    first: usize,
    /// Entry of every small code, if a table pays.
    direct: Vec<u32>,
}

impl Column<'_> {
    #[inline(always)]
    fn entry(&self, code: i64) -> usize {
        match self.direct.get(code as u64 as usize) {
            Some(&entry) => entry as usize,
            None => self.search(code),
        }
    }

    fn search(&self, code: i64) -> usize {
        let levels = self.codes.len();
        self.first
            + match self.codes.binary_search(&code) {
                Ok(level) => level,
                Err(_) if code < self.size => levels,
                Err(_) => levels + 1,
            }
    }
}

/// Level codes with their scores.
pub struct Table<'a> {
    columns: Vec<Column<'a>>,
    /// Entry of the first level of every column, and the number of its levels if these are 0, 1, 2, ..., else 0.
    firsts: Vec<i64>,
    in_order: Vec<i64>,
    levels: Levels<'a>,
}

impl<'a> Table<'a> {
    /// Checks the levels and prepares the look-up for about `rows` rows.
    pub fn new(levels: Levels<'a>, rows: usize) -> Result<Self, Fault> {
        let columns = levels.sizes.len();
        afford(PART, columns)?;
        let inside = levels.offsets.windows(2).all(|p| 0 <= p[0] && p[0] <= p[1])
            && levels.offsets.first() == Some(&0)
            && levels.offsets.last() == Some(&(levels.codes.len() as i64));
        let entries = levels.codes.len() + 2 * columns + 1;
        if !inside
            || levels.offsets.len() != columns + 1
            || levels.values.len() != cells(entries, gather::stride(levels.classes))?
        {
            return Err(Fault::shape("the levels and their scores do not fit together"));
        }
        let columns: Vec<Column> = (0..columns)
            .map(|j| {
                let range = levels.offsets[j] as usize..levels.offsets[j + 1] as usize;
                let first = range.start + 2 * j;
                let mut column =
                    Column { codes: &levels.codes[range], size: levels.sizes[j], first, direct: Vec::new() };
                let small = column.codes.last().map_or(0, |&top| top.clamp(0, 1 << 16) as usize + 1);
                if small <= 4 * rows + 64 {
                    column.direct = (0..small as i64).map(|code| column.search(code) as u32).collect();
                }
                column
            })
            .collect();
        let firsts = columns.iter().map(|column| column.first as i64).collect();
        let in_order = |codes: &[i64]| codes.iter().zip(0..).all(|(&code, k)| code == k);
        let in_order = columns.iter().map(|own| if in_order(own.codes) { own.codes.len() as i64 } else { 0 });
        Ok(Table { in_order: in_order.collect(), firsts, columns, levels })
    }

    /// The fault of a code, if any.
    #[inline(always)]
    fn fault(&self, j: usize, code: i64) -> Option<CellFault> {
        if code == MISSING {
            None
        } else if code < 0 {
            Some(CellFault::Below)
        } else if self.levels.refuse_unseen
            && code >= self.columns[j].size
            && self.columns[j].codes.binary_search(&code).is_err()
        {
            Some(CellFault::Unseen)
        } else {
            None
        }
    }

    /// The entry of a code.
    #[inline(always)]
    fn entry(&self, j: usize, code: i64) -> Result<usize, CellFault> {
        if code < 0 || self.levels.refuse_unseen {
            if let Some(what) = self.fault(j, code) {
                return Err(what);
            }
            if code == MISSING {
                return Ok(self.levels.codes.len() + 2 * self.columns.len());
            }
        }
        Ok(self.columns[j].entry(code))
    }

    /// Scratch memory for the entries of a row and its padded scores.
    fn space(&self) -> (Vec<usize>, Vec<f64>) {
        (vec![0; self.columns.len()], vec![0.0; gather::stride(self.levels.classes)])
    }

    /// Adds the scores of the codes of a row; the error has the column.
    #[inline(always)]
    fn add_row(
        &self,
        codes: &[i64],
        (entries, own): &mut (Vec<usize>, Vec<f64>),
        scores: &mut [f64],
    ) -> Result<(), (CellFault, usize)> {
        let usual = codes.iter().zip(&self.in_order);
        if usual.fold(true, |all, (&code, &levels)| all & ((code as u64) < levels as u64)) {
            let places = codes.iter().zip(&self.firsts);
            entries
                .iter_mut()
                .zip(places)
                .for_each(|(entry, (code, first))| *entry = (code + first) as usize);
        } else {
            for (j, (&code, entry)) in codes.iter().zip(entries.iter_mut()).enumerate() {
                *entry = self.entry(j, code).map_err(|what| (what, j))?;
            }
        }
        own.fill(0.0);
        gather::add_rows(self.levels.values, entries, own);
        scores.iter_mut().zip(own).for_each(|(score, own)| *score += *own);
        Ok(())
    }
}

/// Dense level codes with their scores.
pub struct DenseTable<'a> {
    cells: Box<dyn Matrix + 'a>,
    table: Table<'a>,
}

impl<'a> DenseTable<'a> {
    /// Checks that cells and levels fit together.
    pub fn new(cells: Box<dyn Matrix + 'a>, levels: Levels<'a>) -> Result<Self, Fault> {
        if cells.columns() != levels.sizes.len() {
            return Err(Fault::shape("the levels are not those of the columns"));
        }
        let table = Table::new(levels, cells.rows())?;
        Ok(DenseTable { cells, table })
    }
}

impl Scorer for DenseTable<'_> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (classes, columns) = (self.table.levels.classes, self.cells.columns());
        let (mut scratch, mut space) = (Vec::new(), self.table.space());
        vectorised(
            #[inline(always)]
            || {
                let codes = self.cells.codes(rows.clone(), &mut scratch)?;
                for ((r, scores), codes) in
                    rows.zip(scores.chunks_exact_mut(classes)).zip(codes.chunks_exact(columns.max(1)))
                {
                    self.table.add_row(codes, &mut space, scores).map_err(|(what, column)| Fault::Cell {
                        what,
                        row: r,
                        column,
                        value: self.cells.number(r, column),
                    })?;
                }
                Ok(())
            },
        )
    }
}

/// Sparse level codes with their scores; a cell that is not stored has code 0.
pub struct SparseTable<'a, T, I> {
    cells: Csr<'a, T, I>,
    table: Table<'a>,
}

impl<'a, T: Cell, I: Index> SparseTable<'a, T, I> {
    /// Checks that cells and levels fit together.
    pub fn new(cells: Csr<'a, T, I>, levels: Levels<'a>) -> Result<Self, Fault> {
        if cells.columns() != levels.sizes.len() {
            return Err(Fault::shape("the levels are not those of the columns"));
        }
        let table = Table::new(levels, cells.rows())?;
        Ok(SparseTable { cells, table })
    }
}

impl<T: Cell, I: Index> Scorer for SparseTable<'_, T, I> {
    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn cost(&self) -> usize {
        self.cells.columns()
    }

    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault> {
        let (mut codes, mut space) = (vec![0; self.cells.columns()], self.table.space());
        for (r, scores) in rows.zip(scores.chunks_exact_mut(self.table.levels.classes)) {
            let (indices, cells) = self.cells.canonical_row(r)?;
            let fault = |what, column, value| Fault::Cell { what, row: r, column, value };
            for (j, cell) in indices.iter().map(|j| j.at()).zip(cells) {
                codes[j] = cell.code().map_err(|what| fault(what, j, cell.number()))?;
            }
            let added = vectorised(
                #[inline(always)]
                || self.table.add_row(&codes, &mut space, scores),
            );
            added.map_err(|(what, j)| fault(what, j, codes[j] as f64))?;
            indices.iter().for_each(|j| codes[j.at()] = 0);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cells::{Dense, Reading};
    use crate::score::joint;
    use ndarray::{array, Array2};

    #[test]
    fn seen_possible_unseen_and_missing_levels() {
        let levels = Levels {
            offsets: &[0, 2],
            codes: &[1, 3],
            sizes: &[4],
            values: &[[10.0, 0.0, 0.0, 0.0], [30.0, 0.0, 0.0, 0.0], [-1.0; 4], [-9.0; 4], [0.0; 4]].concat(),
            classes: 1,
            refuse_unseen: false,
        };
        let run = |x: &Array2<f64>, levels| {
            let block = DenseTable::new(Box::new(Dense::new(x.view(), Reading::REAL)), levels)?;
            joint(5, &block, &[0.0])
        };
        let x = array![[1.0], [3.0], [2.0], [99.0], [f64::NAN]];
        assert_eq!(run(&x, levels), Ok(vec![10.0, 30.0, -1.0, -9.0, 0.0]));
        let fault = run(&x, Levels { refuse_unseen: true, ..levels });
        assert!(matches!(fault, Err(Fault::Cell { what: CellFault::Unseen, row: 3, .. })));
    }
}
