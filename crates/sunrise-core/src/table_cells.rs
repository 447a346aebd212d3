//! Scores of levels as the input of calibration: looked up, each row without itself, as differences from the first class.

use crate::fault::{self, Fault};
use crate::parallel::run;

/// Rows of a task.
const ROWS: usize = 1024;

/// Columns of levels with their scores.
#[derive(Clone, Debug)]
pub struct LevelScores<'a> {
    /// The level of every row, for each column; a negative level is a missing cell.
    pub columns: Vec<&'a [i32]>,
    /// The entry of every level in the tables, for each column.
    pub entries: Vec<&'a [i64]>,
    /// Scores of the entries, entries x classes.
    pub values: &'a [f64],
    /// The same for the class of a row, without the row.
    pub own: &'a [f64],
    /// The class of every row.
    pub labels: &'a [i32],
    /// Number of classes.
    pub classes: usize,
}

impl LevelScores<'_> {
    fn check(&self, rows: &[i64]) -> Result<(), Fault> {
        let (n, classes) = (self.labels.len(), self.classes);
        let size = self.values.len().checked_div(classes).unwrap_or(0);
        let fits = classes > 0
            && self.values.len() == fault::cells(size, classes)?
            && self.own.len() == self.values.len()
            && self.labels.iter().all(|&y| y >= 0 && (y as usize) < classes)
            && self.columns.len() == self.entries.len()
            && self.columns.iter().zip(&self.entries).all(|(levels, entries)| {
                levels.len() == n
                    && levels.iter().all(|&k| k < 0 || (k as usize) < entries.len())
                    && entries.iter().all(|&entry| entry >= 0 && (entry as usize) < size)
            })
            && rows.iter().all(|&row| row >= 0 && (row as usize) < n);
        if fits {
            Ok(())
        } else {
            Err(Fault::shape("the levels, entries, scores, labels and rows do not fit together"))
        }
    }

    /// Writes the scores of some rows into columns of an array, rows x classes - 1 x `width`, from column `first` on.
    ///
    /// Returns true if all of them are finite.
    pub fn differences(
        &self,
        rows: &[i64],
        out: &mut [f64],
        width: usize,
        first: usize,
        threads: usize,
    ) -> Result<bool, Fault> {
        self.check(rows)?;
        let lines = self.classes - 1;
        let row = fault::cells(lines, width)?;
        if out.len() != fault::cells(rows.len(), row)? || first + self.columns.len() > width {
            return Err(Fault::shape("the array for the scores has another shape"));
        }
        let tasks = rows.chunks(ROWS).zip(out.chunks_mut((ROWS * row).max(1))).collect();
        let finite = run(threads, tasks, |(rows, out): (&[i64], &mut [f64])| {
            let mut sum = 0.0;
            for (&r, out) in rows.iter().zip(out.chunks_exact_mut(row.max(1))) {
                for (j, (levels, entries)) in self.columns.iter().zip(&self.entries).enumerate() {
                    let (level, y) = (levels[r as usize], self.labels[r as usize] as usize);
                    let column = out.iter_mut().skip(first + j).step_by(width);
                    if level < 0 {
                        column.for_each(|to| *to = 0.0);
                        continue;
                    }
                    let entry = entries[level as usize] as usize * self.classes;
                    let (x, own) = (&self.values[entry..][..self.classes], self.own[entry + y]);
                    let base = if y == 0 { own } else { x[0] };
                    sum += 0.0 * own;
                    for (c, (to, &x)) in column.zip(&x[1..]).enumerate() {
                        *to = if c + 1 == y { own } else { x } - base;
                        sum += 0.0 * *to;
                    }
                }
            }
            sum == 0.0
        });
        Ok(finite.into_iter().all(|finite| finite))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_differences_from_the_first_class_without_the_row() {
        let scores = LevelScores {
            columns: vec![&[1, -1, 0]],
            entries: vec![&[0, 1]],
            values: &[1.0, 2.0, 4.0, 8.0],
            own: &[f64::NAN, 3.0, 5.0, 9.0],
            labels: &[0, 1, 1],
            classes: 2,
        };
        let mut out = [7.0; 6];
        assert!(scores.differences(&[2, 1, 0], &mut out, 2, 1, 2).unwrap());
        assert_eq!(out, [7.0, 2.0, 7.0, 0.0, 7.0, 3.0]);
        let labels = LevelScores { labels: &[0, 1, 0], ..scores.clone() };
        assert!(!labels.differences(&[2, 1, 0], &mut out, 2, 1, 2).unwrap());
        assert!(scores.differences(&[2, 1, 3], &mut out, 2, 1, 1).is_err());
        assert!(scores.differences(&[2, 1], &mut out, 2, 1, 1).is_err());
    }
}
