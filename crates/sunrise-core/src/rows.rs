//! The rows of a fit: their classes and weights.

use crate::fault::{cells, Fault};
use std::ops::Range;

/// Label codes and weights of rows.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    y: &'a [i32],
    w: Option<&'a [f64]>,
    /// Number of classes.
    pub classes: usize,
}

impl<'a> Rows<'a> {
    /// Checks that the codes are below the number of classes, and that each row or none has a weight.
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

    /// Whether the number of rows is 0.
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

    /// The class and weight of a row; `None` without a class or with weight 0.
    #[inline(always)]
    pub fn class(&self, r: usize) -> Option<(usize, f64)> {
        let weight = self.weight(r);
        if self.y[r] < 0 || weight == 0.0 {
            None
        } else {
            Some((self.y[r] as usize, weight))
        }
    }

    /// A range of the rows.
    #[inline(always)]
    pub fn part(&self, rows: Range<usize>) -> Rows<'a> {
        Rows { y: &self.y[rows.clone()], w: self.w.map(|w| &w[rows]), classes: self.classes }
    }

    /// Number of cells of classes x columns, after checking the number of rows and the memory.
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

    /// Rows grouped by class, in their order; without those that have no class or weight 0.
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
    /// All rows, class after class.
    pub fn rows(&self) -> &[usize] {
        &self.order
    }

    /// The classes that have rows, each with the range of its rows among all.
    pub fn runs(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let ranges = self.begin.windows(2).map(|ends| ends[0]..ends[1]).enumerate();
        ranges.filter(|(_, rows)| !rows.is_empty())
    }

    /// The rows of a class.
    pub fn class(&self, c: usize) -> &[usize] {
        &self.order[self.begin[c]..self.begin[c + 1]]
    }
}
