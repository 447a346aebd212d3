//! Summary of a column of numbers: enough to tell counts from measurements and identifiers.

use crate::columns::Column;
use crate::fault::{CellFault, Fault};
use crate::vectorised;

/// Summary of a column of numbers, over the rows with a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Observed cells, where a row counts as its weight, but at least once.
    pub cells: f64,
    /// Smallest cell; NaN without any.
    pub low: f64,
    /// Largest cell; NaN without any.
    pub high: f64,
    /// Whether every cell is a whole number.
    pub whole: bool,
    /// Number of different cells, counted up to one more than `most`.
    pub distinct: usize,
    /// Whether all cells are whole and different and their range is less than twice their number.
    pub numbering: bool,
}

/// Summarises a column; counts up to `most` + 1 distinct cells.
///
/// It stops as soon as the column is known to hold measurements.
pub fn summarise(column: &Column, w: Option<&[f64]>, most: usize) -> Result<Summary, Fault> {
    if w.is_some_and(|w| w.len() != column.rows()) {
        return Err(Fault::shape("the weights are not one for each row"));
    }
    let mut summary =
        Summary { cells: 0.0, low: f64::NAN, high: f64::NAN, whole: true, distinct: 0, numbering: false };
    let mut different = Different::new(most);
    let rows = column.rows();
    let mut cells = Vec::with_capacity(BLOCK);
    for start in (0..rows).step_by(BLOCK) {
        let block = start..rows.min(start + BLOCK);
        cells.clear();
        column.each_number(block.clone(), |_, x| cells.push(x));
        if let Some(w) = w {
            // A row of weight 0 is left out.
            for (x, &weight) in cells.iter_mut().zip(&w[block]) {
                *x = if weight == 0.0 { f64::NAN } else { *x };
                summary.cells += if x.is_nan() { 0.0 } else { weight.max(1.0) };
            }
        }
        let (low, high, whole, seen) = vectorised(
            #[inline(always)]
            || range_of(&cells),
        );
        if low == f64::NEG_INFINITY || high == f64::INFINITY {
            let (row, &value) = cells.iter().enumerate().find(|(_, x)| x.is_infinite()).unwrap_or((0, &high));
            return Err(Fault::Cell { what: CellFault::Infinite, row: start + row, column: 0, value });
        }
        if w.is_none() {
            summary.cells += seen;
        }
        (summary.low, summary.high) = (summary.low.min(low), summary.high.max(high));
        summary.whole &= whole;
        different.add(&cells);
        if !summary.whole && different.number() > 1 {
            break;
        }
    }
    summary.distinct = different.number();
    summary.numbering = summary.whole && summary.distinct > most && all_different(column, w, &summary);
    Ok(summary)
}

/// Smallest and largest cell (NaN without any), whether all are whole, and their number.
#[inline(always)]
fn range_of(cells: &[f64]) -> (f64, f64, bool, f64) {
    cells.iter().fold((f64::NAN, f64::NAN, true, 0.0), |(low, high, whole, seen), &x| {
        let there = !x.is_nan();
        (low.min(x), high.max(x), whole & (!there | (x.trunc() == x)), seen + f64::from(u8::from(there)))
    })
}

/// The distinct cells, up to one more than `most`.
struct Different {
    cells: Vec<f64>,
    most: usize,
    /// Which small whole numbers were met: faster than a search, and usual for columns with few values.
    small: [bool; 256],
}

impl Different {
    fn new(most: usize) -> Self {
        Different { cells: Vec::new(), most, small: [false; 256] }
    }

    fn number(&self) -> usize {
        self.cells.len()
    }

    fn add(&mut self, cells: &[f64]) {
        for &x in cells {
            if self.cells.len() > self.most {
                return;
            }
            let known = match self.small.get_mut(x as usize) {
                Some(known) if x >= 0.0 && x.trunc() == x => std::mem::replace(known, true),
                _ => x.is_nan() || self.cells.contains(&x),
            };
            if !known {
                self.cells.push(x);
            }
        }
    }
}

const BLOCK: usize = 4096;

/// Whether the whole numbers are distinct and their range is small enough to number the rows.
fn all_different(column: &Column, w: Option<&[f64]>, summary: &Summary) -> bool {
    let range = summary.high - summary.low;
    // Beyond 2^53 neighbours share a float and would look like repeats, but then the range is larger than this.
    if range >= 2.0 * summary.cells {
        return false;
    }
    let mut seen = vec![false; range as usize + 1];
    let mut different = true;
    column.each_number(0..column.rows(), |r, x| {
        let weight = w.map_or(1.0, |w| w[r]);
        if !x.is_nan() && weight != 0.0 {
            // A weight above 1 counts as a repeat.
            different &= weight <= 1.0 && !std::mem::replace(&mut seen[(x - summary.low) as usize], true);
        }
    });
    different
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columns::{Chunk, Values, View};
    use ndarray::aview1;

    fn look(cells: &[f64], w: Option<&[f64]>) -> Summary {
        let column = Column::new([Chunk::new(Values::F64(aview1(cells)))], View::Itself);
        summarise(&column, w, 3).unwrap()
    }

    #[test]
    fn counts_measurements_and_numberings() {
        let s = look(&[2.0, f64::NAN, 2.0, 5.0], None);
        assert_eq!(
            (s.cells, s.low, s.high, s.whole, s.distinct, s.numbering),
            (3.0, 2.0, 5.0, true, 2, false)
        );
        assert!(!look(&[0.5, 1.0], None).whole);
        assert!(look(&[4.0, 1.0, 2.0, 3.0, 6.0], None).numbering);
        assert!(!look(&[4.0, 1.0, 2.0, 3.0, 3.0], None).numbering);
        assert!(look(&[f64::NAN], None).low.is_nan());
    }

    #[test]
    fn weights_count_as_repeats_and_zero_as_no_row() {
        let cells = [4.0, 1.0, 2.0, 3.0, 9.5];
        assert!(!look(&cells[..4], Some(&[1.0, 2.0, 1.0, 1.0])).numbering);
        let s = look(&cells, Some(&[0.25, 1.0, 0.5, 1.0, 0.0]));
        assert!(s.whole && s.numbering && s.cells == 4.0);
    }

    #[test]
    fn infinity_is_found() {
        let column = Column::new([Chunk::new(Values::F64(aview1(&[1.0, f64::INFINITY])))], View::Itself);
        assert!(matches!(summarise(&column, None, 3), Err(Fault::Cell { row: 1, .. })));
    }
}
