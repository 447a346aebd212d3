//! Counts of the positive cells of sparse rows by column, and of the totals of the rows.

use crate::cells::{Cell, MISSING};
use crate::counts::Counts;
use crate::csr::{Csr, Index};
use crate::fault::{afford, Fault};
use crate::parallel::run;
use crate::rows::Rows;

/// A cell value of a column, with the number and weight of the rows of one class that have it.
struct Level {
    column: usize,
    code: i64,
    rows: i64,
    weight: f64,
}

/// The code of missing cells in the result: zeros are not counted, so it is free.
const NOTED: i64 = 0;

/// The values of one class, ordered by column and code.
fn of_class<T: Cell, I: Index>(x: &Csr<T, I>, rows: Rows, class: &[usize]) -> Result<Vec<Level>, Fault> {
    let columns = x.columns();
    // Most cells are 1: they are counted in a table, all others are sorted.
    let mut once: Vec<(i64, f64)> = vec![(0, 0.0); columns];
    let mut others: Vec<(usize, i64, f64)> = Vec::new();
    for &r in class {
        let weight = rows.weight(r);
        let (indices, cells) = x.canonical_row(r)?;
        let mut total = 0_i64;
        for (j, cell) in indices.iter().map(|j| j.at()).zip(cells) {
            let code =
                cell.code().map_err(|what| Fault::Cell { what, row: r, column: j, value: cell.number() })?;
            match code {
                0 => {}
                1 => {
                    total = total.saturating_add(1);
                    once[j].0 += 1;
                    once[j].1 += weight;
                }
                MISSING => others.push((j, NOTED, weight)),
                _ => {
                    total = total.saturating_add(code);
                    others.push((j, code, weight));
                }
            }
        }
        others.push((columns, total, weight));
    }
    others.sort_by_key(|&(j, code, _)| (j, code)); // stable: weights are added in the order of the rows
    let mut levels: Vec<Level> = Vec::with_capacity(others.len());
    let mut rest = others.into_iter().peekable();
    let push = |levels: &mut Vec<Level>, column, code, weight| match levels.last_mut() {
        Some(last) if last.column == column && last.code == code => {
            last.rows += 1;
            last.weight += weight;
        }
        _ => levels.push(Level { column, code, rows: 1, weight }),
    };
    for (j, (n, total)) in once.into_iter().enumerate() {
        while let Some((_, code, weight)) = rest.next_if(|&(column, code, _)| column == j && code == NOTED) {
            push(&mut levels, j, code, weight);
        }
        if n > 0 {
            levels.push(Level { column: j, code: 1, rows: n, weight: total });
        }
        while let Some((_, code, weight)) = rest.next_if(|&(column, _, _)| column == j) {
            push(&mut levels, j, code, weight);
        }
    }
    for (column, code, weight) in rest {
        push(&mut levels, column, code, weight);
    }
    Ok(levels)
}

/// Counts of the positive cells of every column, and of the row totals as one more column; code 0 counts missing cells.
pub fn sparse<T: Cell, I: Index>(x: &Csr<T, I>, rows: Rows, threads: usize) -> Result<Counts, Fault> {
    rows.table(x.rows(), x.columns())?;
    let grouped = rows.by_class();
    let parts = run(threads, (0..rows.classes).collect(), |c: usize| of_class(x, rows, grouped.class(c)));
    let mut classes = Vec::with_capacity(parts.len());
    for part in parts {
        classes.push(part?);
    }
    // The codes of all classes together, in order.
    let width = x.columns() + 1;
    let (mut ones, mut others) = (vec![false; width], Vec::new());
    for level in classes.iter().flatten() {
        match level.code {
            1 => ones[level.column] = true,
            code => others.push((level.column, code)),
        }
    }
    others.sort_unstable();
    others.dedup();
    let mut counts = Counts { offsets: vec![0], ..Counts::default() };
    let mut rest = others.into_iter().peekable();
    for (j, one) in ones.into_iter().enumerate() {
        counts.codes.extend(std::iter::from_fn(|| rest.next_if(|&key| key == (j, NOTED))).map(|key| key.1));
        counts.codes.extend(one.then_some(1));
        counts.codes.extend(std::iter::from_fn(|| rest.next_if(|key| key.0 == j)).map(|key| key.1));
        counts.offsets.push(counts.codes.len() as i64);
    }
    let size = counts.codes.len();
    afford(rows.classes.max(1), size.max(1))?;
    (counts.rows, counts.weight) = (vec![0; rows.classes * size], vec![0.0; rows.classes * size]);
    for (c, levels) in classes.into_iter().enumerate() {
        let (mut at, own) = (0, c * size);
        for level in levels {
            at = at.max(counts.offsets[level.column] as usize);
            while counts.codes[at] != level.code {
                at += 1;
            }
            counts.rows[own + at] = level.rows;
            counts.weight[own + at] = level.weight;
        }
    }
    Ok(counts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_totals_are_counted_without_zeros() {
        // Rows [2, 0, 1], [0, missing, 0], [2, 0, 0] and [0, 0, 3], the last of another class.
        let csr =
            Csr::new(&[2.0, 1.0, f64::NAN, 2.0, 3.0], &[0_i32, 2, 1, 0, 2], &[0, 2, 3, 4, 5], 3).unwrap();
        let counts = sparse(&csr, Rows::new(&[0, 0, 0, 1], None, 2).unwrap(), 1).unwrap();
        assert_eq!(counts.offsets, [0, 1, 2, 4, 7]);
        assert_eq!(counts.codes, [2, 0, 1, 3, 0, 2, 3]);
        assert_eq!(counts.rows, [2, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
        assert_eq!(sparse(&csr, Rows::new(&[0, 0, 0, 1], None, 2).unwrap(), 3).unwrap(), counts);
    }
}
