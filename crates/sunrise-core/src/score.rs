//! Scoring: rows go through all blocks of columns while they are in cache, and are then normalised.

use crate::fault::Fault;
use crate::normalise::{best, normalise, Output};
use crate::parallel::run;
use std::ops::Range;

/// A block of columns that adds to the scores of rows.
pub trait Scorer: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Cost of a row in cells: decides whether threads are started.
    fn cost(&self) -> usize;
    /// Number of rows to add at a time, if there are few columns.
    fn part(&self) -> usize {
        PART
    }
    /// Adds to the scores of these rows.
    fn add(&self, rows: Range<usize>, scores: &mut [f64]) -> Result<(), Fault>;
}

/// The memory for the results of all rows.
pub enum Results<'a> {
    /// Scores or probabilities, rows x classes.
    Values(&'a mut [f64], Output),
    /// The best class of every row.
    Best(&'a mut [i64]),
}

/// Fewest and most rows of a task, the usual number of tasks, and the rows that stay in the first-level cache.
const SMALL_TASK: usize = 256;
const LARGE_TASK: usize = 4096;
const TASKS: usize = 32;
pub(crate) const PART: usize = 64;

/// Cells and scores of the rows that are added at a time.
const CACHED: usize = 1 << 17;

/// Rows that are read at a time, so that wide sparse rows need little memory as dense ones.
pub(crate) fn step(columns: usize) -> usize {
    ((1 << 20) / columns.max(1)).clamp(1, PART)
}

/// Work below which starting a thread costs more than it saves.
const SMALL: usize = 1 << 18;

/// Scores `n` rows; returns the number of rows that are impossible under every class.
///
/// `own` replaces the score of every row for one class, its own.
pub fn score(
    n: usize,
    blocks: &[&dyn Scorer],
    log_prior: &[f64],
    fallback: &[f64],
    own: Option<(&[i32], &[f64])>,
    results: Results,
    threads: usize,
) -> Result<usize, Fault> {
    let classes = log_prior.len();
    let fits = |(labels, scores): (&[i32], &[f64])| {
        labels.len() == n && scores.len() == n && labels.iter().all(|&y| y >= 0 && (y as usize) < classes)
    };
    if !own.is_none_or(fits) {
        return Err(Fault::shape("there is not one own class and score for each row"));
    }
    let room = match &results {
        Results::Values(values, _) => values.len() == n * classes,
        Results::Best(best) => best.len() == n,
    };
    if classes == 0 || !room || fallback.len() != classes || blocks.iter().any(|block| block.rows() != n) {
        return Err(Fault::shape("the blocks, priors, results and rows to score do not fit together"));
    }
    let cost = blocks.iter().map(|block| block.cost()).sum::<usize>();
    let threads = if n * classes * cost < SMALL { 1 } else { threads };
    let task = (n / TASKS).next_multiple_of(PART).clamp(SMALL_TASK, LARGE_TASK);
    let most = (CACHED / (cost + classes)).clamp(PART, task);
    let part = blocks.iter().map(|block| block.part()).fold(PART, usize::max).min(most);
    let starts = (0..n).step_by(task);
    let tasks: Vec<(usize, Results)> = match results {
        Results::Values(values, output) => {
            let parts = values.chunks_mut(task * classes);
            starts.zip(parts).map(|(start, part)| (start, Results::Values(part, output))).collect()
        }
        Results::Best(best) => {
            starts.zip(best.chunks_mut(task)).map(|(start, part)| (start, Results::Best(part))).collect()
        }
    };
    let add_all = |rows: Range<usize>, scores: &mut [f64]| {
        for row in scores.chunks_exact_mut(classes) {
            row.copy_from_slice(log_prior);
        }
        blocks.iter().try_for_each(|block| block.add(rows.clone(), scores))?;
        if let Some((labels, values)) = own {
            for (r, row) in rows.zip(scores.chunks_exact_mut(classes)) {
                row[labels[r] as usize] = values[r];
            }
        }
        Ok(())
    };
    let parts = run(threads, tasks, |(mut start, results)| {
        let (mut impossible, mut scratch) = (0, Vec::new());
        match results {
            Results::Values(values, output) => {
                for scores in values.chunks_mut(part * classes) {
                    let rows = start..start + scores.len() / classes;
                    start = rows.end;
                    add_all(rows, scores)?;
                    impossible += normalise(scores, fallback, output, &mut scratch);
                }
            }
            Results::Best(labels) => {
                for labels in labels.chunks_mut(part) {
                    let rows = start..start + labels.len();
                    start = rows.end;
                    scratch.resize(labels.len() * classes, 0.0);
                    add_all(rows, &mut scratch)?;
                    for (row, label) in scratch.chunks_exact(classes).zip(labels) {
                        let possible = row.iter().any(|&s| s > f64::NEG_INFINITY);
                        impossible += usize::from(!possible);
                        *label = best(if possible { row } else { fallback }) as i64;
                    }
                }
            }
        }
        Ok(impossible)
    });
    parts.into_iter().sum()
}

/// The joint log scores of all rows, for tests.
#[cfg(test)]
pub(crate) fn joint(n: usize, block: &dyn Scorer, log_prior: &[f64]) -> Result<Vec<f64>, Fault> {
    let mut values = vec![0.0; n * log_prior.len()];
    score(n, &[block], log_prior, log_prior, None, Results::Values(&mut values, Output::Joint), 1)?;
    Ok(values)
}
