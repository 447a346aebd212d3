//! The rows of a fit: which class each belongs to, and how much it weighs.

use crate::fault::{cells, Fault};
use std::ops::Range;

/// Label codes and weights, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    y: &'a [i32],
    w: Option<&'a [f64]>,
    /// Number of classes.
    pub classes: usize,
}

impl<'a> Rows<'a> {
    /// Checks that the codes are classes and that there is a weight for each row, or none at all.
    pub fn new(y: &'a [i32], w: Option<&'a [f64]>, classes: usize) -> Result<Self, Fault> {
        if w.is_some_and(|w| w.len() != y.len()) {
            return Err(Fault::shape(format!("the weights are not one for each of {} rows", y.len())));
        }
        let most = i32::try_from(classes).map_err(|_| Fault::Memory)?;
        if y.iter().fold(-1, |top, &c| top.max(c)) >= most {
            return Err(Fault::shape("a label code is not below the number of classes"));
        }
        Ok(Rows { y, w, classes })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Whether rows have weights of their own.
    pub fn weighted(&self) -> bool {
        self.w.is_some()
    }

    /// The weight of a row.
    #[inline(always)]
    pub fn weight(&self, r: usize) -> f64 {
        self.w.map_or(1.0, |w| w[r])
    }

    /// The class and weight of a row, or `None` where the row counts for nothing.
    #[inline(always)]
    pub fn class(&self, r: usize) -> Option<(usize, f64)> {
        let weight = self.weight(r);
        if self.y[r] < 0 || weight == 0.0 {
            None
        } else {
            Some((self.y[r] as usize, weight))
        }
    }

    /// Some of the rows.
    #[inline(always)]
    pub fn part(&self, rows: Range<usize>) -> Rows<'a> {
        Rows { y: &self.y[rows.clone()], w: self.w.map(|w| &w[rows]), classes: self.classes }
    }

    /// The cells of a table of this many columns, after checking that it has these rows and can be afforded.
    pub fn table(&self, rows: usize, columns: usize) -> Result<usize, Fault> {
        if rows != self.len() {
            return Err(Fault::shape(format!("{} label codes for {rows} rows", self.len())));
        }
        crate::fault::afford(self.classes.max(1), columns.max(1))?;
        cells(self.classes, columns)
    }

    /// Rows and weight of every class.
    pub fn totals(&self) -> Result<(Vec<i64>, Vec<f64>), Fault> {
        self.table(self.len(), 1)?;
        let (mut rows, mut weight) = (vec![0; self.classes], vec![0.0; self.classes]);
        for (c, w) in (0..self.len()).filter_map(|r| self.class(r)) {
            rows[c] += 1;
            weight[c] += w;
        }
        Ok((rows, weight))
    }

    /// Rows grouped by class in their order, with where each class begins; what counts for nothing is left out.
    pub fn by_class(&self) -> Grouped {
        let mut begin = vec![0; self.classes + 1];
        for (c, _) in (0..self.len()).filter_map(|r| self.class(r)) {
            begin[c + 1] += 1;
        }
        for c in 0..self.classes {
            begin[c + 1] += begin[c];
        }
        let mut at = begin.clone();
        let mut order = vec![0; begin[self.classes]];
        for r in 0..self.len() {
            if let Some((c, _)) = self.class(r) {
                order[at[c]] = r;
                at[c] += 1;
            }
        }
        Grouped { order, begin }
    }
}

/// Rows grouped by class.
pub struct Grouped {
    order: Vec<usize>,
    begin: Vec<usize>,
}

impl Grouped {
    /// The rows of a class.
    pub fn class(&self, c: usize) -> &[usize] {
        &self.order[self.begin[c]..self.begin[c + 1]]
    }
}
