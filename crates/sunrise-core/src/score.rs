//! Scoring: a block of rows goes through every column block while it is in cache, then is normalised.

use crate::fault::Fault;
use crate::normalise::{best, normalise, Output};
use crate::work::run;
use std::ops::Range;

/// Columns that add to the score of a row.
pub trait Scorer: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Work per row, in cells: decides whether threads are worth starting.
    fn cost(&self) -> usize;
    /// Adds to the scores of these rows; rows whose score needs more than their cells go to `incomplete`.
    fn add(&self, rows: Range<usize>, scores: &mut [f64], incomplete: &mut Vec<usize>) -> Result<(), Fault>;
}

/// The scores of all rows.
#[derive(Debug, Default)]
pub struct Scores {
    /// Rows x classes; empty where only the best classes were wanted.
    pub values: Vec<f64>,
    /// The best class of every row; empty where the scores were wanted.
    pub best: Vec<i64>,
    /// How many rows were impossible under every class.
    pub impossible: usize,
    /// Rows with missing cells in a block whose score is not a sum over cells.
    pub incomplete: Vec<usize>,
}

/// Rows of a task, and of the part of it that stays in the first-level cache.
const TASK: usize = 4096;
const PART: usize = 64;

/// Work below which starting a thread costs more than it saves.
const SMALL: usize = 1 << 18;

/// Scores `n` rows; `None` for the output asks for the best class only.
pub fn score(
    n: usize,
    blocks: &[&dyn Scorer],
    log_prior: &[f64],
    fallback: &[f64],
    output: Option<Output>,
    threads: usize,
) -> Result<Scores, Fault> {
    let classes = log_prior.len();
    if classes == 0 || fallback.len() != classes || blocks.iter().any(|block| block.rows() != n) {
        return Err(Fault::shape("the blocks, priors and rows to score do not fit together"));
    }
    let cost = n * classes * blocks.iter().map(|block| block.cost()).sum::<usize>();
    let threads = if cost < SMALL { 1 } else { threads };
    let mut scores = Scores::default();
    let width = match output {
        Some(_) => {
            scores.values = vec![0.0; n * classes];
            classes
        }
        None => {
            scores.best = vec![0; n];
            0
        }
    };
    let mut tasks = Vec::new();
    let (mut values, mut labels) = (&mut scores.values[..], &mut scores.best[..]);
    for start in (0..n).step_by(TASK) {
        let rows = start..n.min(start + TASK);
        let (value, rest) = values.split_at_mut(rows.len() * width);
        values = rest;
        let (label, rest) = labels.split_at_mut(if width == 0 { rows.len() } else { 0 });
        labels = rest;
        tasks.push((rows, value, label));
    }
    let parts = run(threads, tasks, |(rows, values, labels): (Range<usize>, &mut [f64], &mut [i64])| {
        let mut own = vec![0.0; if width == 0 { PART * classes } else { 0 }];
        let mut incomplete = Vec::new();
        let mut impossible = 0;
        for start in (0..rows.len()).step_by(PART) {
            let part = start..rows.len().min(start + PART);
            let scores = match width {
                0 => &mut own[..part.len() * classes],
                _ => &mut values[part.start * classes..part.end * classes],
            };
            for row in scores.chunks_exact_mut(classes) {
                row.copy_from_slice(log_prior);
            }
            for block in blocks {
                block.add(rows.start + part.start..rows.start + part.end, scores, &mut incomplete)?;
            }
            for (r, row) in scores.chunks_exact_mut(classes).enumerate() {
                if let Some(output) = output {
                    impossible += usize::from(!normalise(row, fallback, output));
                } else {
                    let possible = row.iter().any(|&s| s > f64::NEG_INFINITY);
                    impossible += usize::from(!possible);
                    labels[part.start + r] = best(if possible { row } else { fallback }) as i64;
                }
            }
        }
        Ok((impossible, incomplete))
    });
    for part in parts {
        let (impossible, incomplete) = part?;
        scores.impossible += impossible;
        scores.incomplete.extend(incomplete);
    }
    scores.incomplete.sort_unstable();
    scores.incomplete.dedup();
    Ok(scores)
}
