//! Number of documents of each class with each word, and sums of its counts.

use crate::cells::Cell;
use crate::csr::{Csr, Index};
use crate::fault::Fault;
use crate::parallel::run;
use crate::rows::Rows;

/// Writes the number of documents with each word and the sums of its counts, classes x (1 + words).
///
/// The first column has the number and the weight of all documents.
pub fn documents<T: Cell, I: Index>(
    x: &Csr<T, I>,
    rows: Rows,
    n_documents: &mut [i64],
    sums: &mut [f64],
    threads: usize,
) -> Result<(), Fault> {
    let width = x.columns() + 1;
    let cells = rows.table(x.rows(), width)?;
    if n_documents.len() != cells || sums.len() != cells {
        return Err(Fault::shape("the arrays for the results are not classes x (1 + words)"));
    }
    let grouped = rows.by_class();
    let tasks: Vec<_> =
        n_documents.chunks_exact_mut(width).zip(sums.chunks_exact_mut(width)).enumerate().collect();
    let done = run(threads, tasks, |(c, (n_documents, sums))| {
        n_documents.fill(0);
        sums.fill(0.0);
        for r in x.fetched(grouped.class(c)) {
            let weight = rows.weight(r);
            let (indices, values) = x.canonical_row(r)?;
            n_documents[0] += 1;
            sums[0] += weight;
            for (j, value) in indices.iter().zip(values) {
                n_documents[j.at() + 1] += 1;
                sums[j.at() + 1] += weight * value.number();
            }
        }
        Ok(())
    });
    done.into_iter().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_are_added_up_by_class() {
        let csr = Csr::new(&[1.0, 2.0, 4.0], &[0_i32, 1, 1], &[0, 2, 3, 3], 2).unwrap();
        let rows = Rows::new(&[0, 1, 1], Some(&[1.0, 0.5, 2.0]), 2).unwrap();
        let (mut n_documents, mut sums) = ([7; 6], [7.0; 6]);
        documents(&csr, rows, &mut n_documents, &mut sums, 2).unwrap();
        assert_eq!(n_documents, [1, 1, 1, 2, 0, 1]);
        assert_eq!(sums, [1.0, 1.0, 2.0, 2.5, 0.0, 2.0]);
    }
}
