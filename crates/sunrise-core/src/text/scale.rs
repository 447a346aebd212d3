//! Scales the counts of each document.

use crate::fault::Fault;
use crate::parallel::{pieces, run};

/// How the n occurrences of a word in a document are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// n.
    Count,
    /// log(1 + n).
    Log,
    /// 1.
    Once,
}

/// How documents are scaled.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// How occurrences are counted.
    pub frequency: Frequency,
    /// The power of its Euclidean length that a document is divided by.
    pub length: f64,
    /// The sum that the counts of a document are scaled to, if any.
    pub total: Option<f64>,
}

/// Documents of one task.
const MANY: usize = 256;

/// Scales the counts of documents; `factors`, if given, multiply the counts of each column first.
pub fn scale(
    counts: &[f64],
    indices: &[i32],
    indptr: &[i64],
    factors: Option<&[f64]>,
    how: Scale,
    scaled: &mut [f64],
    threads: usize,
) -> Result<(), Fault> {
    let ends = indptr.windows(2).all(|p| p[0] >= 0 && p[0] <= p[1]);
    let whole = indptr.first() == Some(&0) && indptr.last().is_some_and(|&end| end as usize == counts.len());
    if !ends || !whole || scaled.len() != counts.len() || (factors.is_some() && indices.len() != counts.len())
    {
        return Err(Fault::shape("the documents do not lie within their counts"));
    }
    if let Some(factors) = factors {
        if indices.iter().any(|&j| j < 0 || j as usize >= factors.len()) {
            return Err(Fault::shape("a word has no factor"));
        }
    }
    // Nearly all counts are small whole numbers.
    let logs: Vec<f64> = (0..256).map(|n| f64::from(n).ln_1p()).collect();
    let count = |n: f64| match how.frequency {
        Frequency::Count => n,
        Frequency::Once => f64::from(u8::from(n > 0.0)),
        Frequency::Log => match logs.get(n as usize) {
            Some(log) if n == (n as usize) as f64 => *log,
            _ => n.ln_1p(),
        },
    };
    let mut rest = scaled;
    let mut tasks = Vec::new();
    for ends in indptr.windows(2).map(|p| p[0] as usize..p[1] as usize).collect::<Vec<_>>().chunks(MANY) {
        let cells = ends.iter().map(ExactSizeIterator::len).sum();
        let (part, behind) = rest.split_at_mut(cells);
        rest = behind;
        tasks.push((ends.to_vec(), part));
    }
    run(threads, tasks, |(documents, mut part)| {
        for document in documents {
            let (to, behind) = part.split_at_mut(document.len());
            part = behind;
            to.iter_mut().zip(&counts[document.clone()]).for_each(|(to, &n)| *to = count(n));
            if let Some(factors) = factors {
                let columns = &indices[document];
                to.iter_mut().zip(columns).for_each(|(to, &j)| *to *= factors[j as usize]);
            }
            let mut factor = 1.0;
            if how.length != 0.0 {
                let square: f64 = to.iter().map(|x| x * x).sum();
                if square > 0.0 {
                    factor = square.powf(-0.5 * how.length);
                }
            }
            if let Some(total) = how.total {
                let sum: f64 = to.iter().sum();
                factor = if sum > 0.0 { total / sum } else { 1.0 };
            }
            to.iter_mut().for_each(|to| *to *= factor);
        }
    });
    Ok(())
}

/// How the size of a document is found: the power of the sum of its counts, or of their squares.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Whether counts are squared.
    pub squared: bool,
    #[allow(missing_docs)]
    pub power: f64,
}

/// The size of every document over the size of its `known` words only; 1 for documents that have none or are `whole`.
pub fn stretch(
    counts: &[f64],
    indices: &[i32],
    indptr: &[i64],
    known: &[bool],
    whole: &[bool],
    size: Size,
    threads: usize,
) -> Result<Vec<f64>, Fault> {
    let ends = indptr.windows(2).all(|p| p[0] >= 0 && p[0] <= p[1]);
    let within = indptr.last().is_some_and(|&end| end as usize <= counts.len());
    if !ends || !within || indices.len() != counts.len() || indptr.len() != whole.len() + 1 {
        return Err(Fault::shape("the documents do not lie within their counts"));
    }
    let done = run(threads, pieces(whole.len(), MANY, 64), |rows| {
        let mut found = Vec::with_capacity(rows.len());
        for r in rows {
            let cells = indptr[r] as usize..indptr[r + 1] as usize;
            let (mut full, mut rest) = (0.0, 0.0);
            for (x, &j) in counts[cells.clone()].iter().zip(&indices[cells]) {
                let x = if size.squared { x * x } else { *x };
                let is_known = usize::try_from(j).ok().and_then(|j| known.get(j));
                let Some(&is_known) = is_known else { return Err(Fault::shape("a word has no column")) };
                full += x;
                rest += if is_known | whole[r] { x } else { 0.0 };
            }
            found.push(if rest > 0.0 { (full / rest).powf(size.power) } else { 1.0 });
        }
        Ok(found)
    });
    Ok(done.into_iter().collect::<Result<Vec<_>, Fault>>()?.concat())
}

/// Documents with other columns: row offsets, columns and cells.
pub type Moved = (Vec<i64>, Vec<i32>, Vec<f32>);

/// The cells of documents times the factor of the document and of the word, in the columns at the `place` of their words.
///
/// Words whose place is negative are dropped; places ascend.
pub fn move_columns(
    counts: &[f64],
    indices: &[i32],
    indptr: &[i64],
    place: &[i32],
    of_word: &[f64],
    of_document: &[f64],
    threads: usize,
) -> Result<Moved, Fault> {
    let ends = indptr.windows(2).all(|p| p[0] >= 0 && p[0] <= p[1]);
    let within = indptr.last().is_some_and(|&end| end as usize <= counts.len());
    let known = indices.iter().all(|&j| j >= 0 && (j as usize) < place.len());
    let shapes = indices.len() == counts.len() && indptr.len() == of_document.len() + 1;
    if !ends || !within || !known || !shapes || place.len() != of_word.len() {
        return Err(Fault::shape("the documents do not lie within their counts"));
    }
    let cells = |r: usize| indptr[r] as usize..indptr[r + 1] as usize;
    let rows = pieces(of_document.len(), MANY, 64);
    let is_kept = |j: &&i32| place[**j as usize] >= 0;
    let kept = run(threads, rows.clone(), |rows| {
        rows.map(|r| indices[cells(r)].iter().filter(is_kept).count() as i64).collect::<Vec<i64>>()
    });
    let mut starts = Vec::with_capacity(indptr.len());
    starts.push(0);
    let mut total = 0;
    for kept in kept.iter().flatten() {
        total += kept;
        starts.push(total);
    }
    let (mut columns, mut data) = (vec![0; total as usize], vec![0.0; total as usize]);
    let (mut rest_columns, mut rest_data) = (&mut columns[..], &mut data[..]);
    let mut tasks = Vec::with_capacity(rows.len());
    for (rows, kept) in rows.into_iter().zip(&kept) {
        let n = kept.iter().sum::<i64>() as usize;
        let (columns, behind) = rest_columns.split_at_mut(n);
        rest_columns = behind;
        let (data, behind) = rest_data.split_at_mut(n);
        rest_data = behind;
        tasks.push((rows, columns, data));
    }
    run(threads, tasks, |(rows, columns, data)| {
        let mut to = columns.iter_mut().zip(data);
        for r in rows {
            let factor = of_document[r];
            for (x, j) in counts[cells(r)].iter().zip(&indices[cells(r)]).filter(|(_, j)| is_kept(j)) {
                let Some((column, cell)) = to.next() else { return };
                *column = place[*j as usize];
                *cell = (x * factor * of_word[*j as usize]) as f32;
            }
        }
    });
    Ok((starts, columns, data))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn scaled(
        counts: &[f64],
        indices: &[i32],
        indptr: &[i64],
        factors: Option<&[f64]>,
        how: Scale,
    ) -> Option<Vec<f64>> {
        let mut room = vec![0.0; counts.len()];
        scale(counts, indices, indptr, factors, how, &mut room, 2).ok()?;
        Some(room)
    }

    #[test]
    fn documents_are_scaled_by_themselves() {
        let how = Scale { frequency: Frequency::Log, length: 1.0, total: None };
        let found = scaled(&[1.0, 3.0, 500.0], &[0, 1, 0], &[0, 2, 2, 3], None, how).unwrap();
        let (a, b) = (2_f64.ln(), 4_f64.ln());
        assert!((found[0] - a / a.hypot(b)).abs() < 1e-15 && (found[2] - 1.0).abs() < 1e-15);
        let how = Scale { frequency: Frequency::Count, length: 0.0, total: Some(20.0) };
        assert_eq!(scaled(&[1.0, 3.0], &[0, 1], &[0, 2], None, how).unwrap(), [5.0, 15.0]);
        let plain = Scale { total: None, ..how };
        assert_eq!(scaled(&[1.0, 3.0], &[0, 1], &[0, 2], Some(&[2.0, 0.5]), plain).unwrap(), [2.0, 1.5]);
        assert!(scaled(&[1.0], &[0], &[0, 2], None, how).is_none());
        assert!(scaled(&[1.0], &[2], &[0, 1], Some(&[1.0]), how).is_none());
    }

    #[test]
    fn documents_are_stretched_to_their_known_words() {
        let (counts, indices, indptr) = ([3.0, 4.0, 2.0, 1.0], [0, 1, 1, 0], [0, 2, 3, 4]);
        let size = Size { squared: true, power: 0.5 };
        let of = |known: &[bool], whole: &[bool], size| {
            stretch(&counts, &indices, &indptr, known, whole, size, 2).ok()
        };
        assert_eq!(of(&[true, false], &[false; 3], size), Some(vec![5.0 / 3.0, 1.0, 1.0]));
        assert_eq!(of(&[true, false], &[true; 3], size), Some(vec![1.0; 3]));
        let sum = Size { squared: false, power: 1.0 };
        assert_eq!(of(&[false, true], &[false; 3], sum), Some(vec![1.75, 1.0, 1.0]));
        assert!(of(&[true], &[false; 3], size).is_none());
        assert!(of(&[true, false], &[false; 2], size).is_none());
    }

    #[test]
    fn columns_are_dropped_and_moved() {
        let (counts, indices, indptr) = ([3.0, 4.0, 2.0, 1.0], [0, 2, 1, 2], [0, 2, 3, 3, 4]);
        let of = |place: &[i32], of_document: &[f64]| {
            move_columns(&counts, &indices, &indptr, place, &[2.0, f64::NAN, 0.5], of_document, 2).ok()
        };
        let found = of(&[0, -1, 1], &[1.0, 1.0, 1.0, 10.0]).unwrap();
        assert_eq!(found, (vec![0, 2, 2, 2, 3], vec![0, 1, 1], vec![6.0, 2.0, 5.0]));
        assert!(of(&[0, -1], &[1.0; 4]).is_none() && of(&[0, -1, 1], &[1.0; 3]).is_none());
    }
}
