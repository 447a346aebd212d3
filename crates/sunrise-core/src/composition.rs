//! Rows whose weights depend on what is missing: parameters theta that sum to 1 over the columns.
//!
//! A row with missing counts is scored with theta of its observed columns rescaled to a sum of 1. The weight of a count
//! is then log theta less the logarithm of their share, so a few sums over the observed columns are enough.

use crate::fault::{self, Fault};
use crate::gather;
use crate::lanes::{sum_of, LANES};
use std::sync::OnceLock;

/// The parameters of rows that sum to 1.
#[derive(Clone, Copy, Debug)]
pub struct Composition<'a> {
    /// log theta, classes x columns; a count of a column with theta 0 has weight 0.
    pub log_theta: &'a [f64],
    /// Factor of all weights.
    pub factor: f64,
    /// Whether weights are divided by their sum over the observed columns.
    pub normed: bool,
    /// Made at the first row with missing counts, because most data have none.
    pub tables: &'a OnceLock<Tables>,
}

/// Tables in the layout of the cells that are scored.
#[derive(Debug)]
pub struct Tables {
    /// Classes and columns.
    shape: (usize, usize),
    /// log theta; 0 where theta is 0.
    pub log_theta: Table,
    /// Theta itself.
    pub theta: Table,
    /// 1 where theta is not 0, else 0; `None` if it is 1 everywhere.
    pub positive: Option<Table>,
}

/// A number for each class and column.
#[derive(Debug)]
pub struct Table {
    /// The numbers.
    pub cells: Vec<f64>,
    /// Their sums over the columns, one for each class.
    pub total: Vec<f64>,
}

impl Tables {
    /// The tables of classes x columns, their cells brought into another layout.
    fn new(log_theta: &[f64], columns: usize, arrange: impl Fn(Vec<f64>) -> Vec<f64>) -> Self {
        let table = |of: &dyn Fn(f64) -> f64| {
            let cells: Vec<f64> = log_theta.iter().map(|&x| of(x)).collect();
            let classes = cells.chunks_exact(columns.max(1));
            let total = classes.map(|class| sum_of::<LANES, 1>([class], |[x]| x)).collect();
            Table { cells: arrange(cells), total }
        };
        Tables {
            shape: (log_theta.len() / columns.max(1), columns),
            log_theta: table(&|x| if x.is_finite() { x } else { 0.0 }),
            theta: table(&f64::exp),
            positive: log_theta
                .iter()
                .any(|x| !x.is_finite())
                .then(|| table(&|x| f64::from(u8::from(x.is_finite())))),
        }
    }
}

/// Sums over the observed columns of a row, for one class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// Counts times log theta.
    pub score: f64,
    /// Counts of the columns with a theta above 0.
    pub counts: f64,
    /// Theta.
    pub share: f64,
    /// Log theta; needed if weights are normed.
    pub weights: f64,
    /// Number of columns with a theta above 0; needed if weights are normed.
    pub columns: f64,
}

impl<'a> Composition<'a> {
    /// Checks that there is one theta for each class and column.
    pub fn check(&self, classes: usize, columns: usize) -> Result<(), Fault> {
        let made = self.tables.get().map_or((classes, columns), |tables| tables.shape);
        if self.log_theta.len() != fault::cells(classes, columns)? || made != (classes, columns) {
            return Err(Fault::shape("there is not one theta for each class and column"));
        }
        Ok(())
    }

    /// The tables of dense cells, classes x columns.
    pub fn by_class(&self, columns: usize) -> &'a Tables {
        self.tables.get_or_init(|| Tables::new(self.log_theta, columns, |cells| cells))
    }

    /// The tables of sparse cells, columns x classes, the classes padded as [`crate::gather`] wants them.
    pub fn by_column(&self, columns: usize) -> &'a Tables {
        let turn = |cells: Vec<f64>| {
            let stride = gather::stride(cells.len() / columns.max(1));
            let mut turned = vec![0.0; columns * stride];
            for (c, class) in cells.chunks_exact(columns.max(1)).enumerate() {
                for (j, x) in class.iter().enumerate() {
                    turned[j * stride + c] = *x;
                }
            }
            turned
        };
        self.tables.get_or_init(|| Tables::new(self.log_theta, columns, turn))
    }

    /// The score of a row for one class.
    #[inline(always)]
    pub fn score(&self, observed: Observed) -> f64 {
        let log_share = if observed.share > 0.0 { observed.share.ln() } else { 0.0 };
        let score = observed.score - log_share * observed.counts;
        if !self.normed {
            return self.factor * score;
        }
        let total = observed.weights - log_share * observed.columns;
        // A single observed column has probability 1: its weight is 0, up to rounding.
        if total.abs() > 1e-12 {
            self.factor * (score / total)
        } else {
            0.0
        }
    }

    /// Adds the scores of a sparse row with missing counts, of which `cells` has the stored columns.
    pub fn add_sparse(
        &self,
        cells: impl Iterator<Item = (usize, f64)> + Clone,
        columns: usize,
        scores: &mut [f64],
    ) {
        let (tables, stride) = (self.by_column(columns), gather::stride(scores.len()));
        let seen = cells.clone().filter(|(_, count)| !count.is_nan());
        let missing: Vec<usize> = cells.filter(|(_, count)| count.is_nan()).map(|(j, _)| j).collect();
        let picked = |table: &Table| {
            let mut sums = vec![0.0; stride];
            gather::add(&table.cells, seen.clone(), &mut sums);
            sums
        };
        let left = |table: &Table| {
            gather::sum_without(&table.cells, &table.total, &missing, (0..columns).map(|j| (j, 1.0)))
        };
        let score = picked(&tables.log_theta);
        let share = left(&tables.theta);
        let counts = match &tables.positive {
            Some(positive) => picked(positive),
            None => vec![seen.clone().map(|(_, count)| count).sum(); stride],
        };
        let (mut weights, mut number) = (Vec::new(), Vec::new());
        if self.normed {
            weights = left(&tables.log_theta);
            number = match &tables.positive {
                Some(positive) => left(positive),
                None => vec![(columns - missing.len()) as f64; stride],
            };
        }
        for (c, own) in scores.iter_mut().enumerate() {
            *own += self.score(Observed {
                score: score[c],
                counts: counts[c],
                share: share[c],
                weights: weights.get(c).copied().unwrap_or(0.0),
                columns: number.get(c).copied().unwrap_or(0.0),
            });
        }
    }
}
