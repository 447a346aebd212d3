//! Merges the vocabularies of several workers in the order of code points.

use crate::fault::Fault;
use crate::parallel::run;
use crate::text::words::Words;
use std::cmp::Ordering;

/// A word of a worker, with its first eight bytes as a number.
#[derive(Clone, Copy, Default)]
struct Place {
    rank: u64,
    worker: u32,
    number: u32,
}

/// All words in order, and for each worker the positions of its words among them.
pub fn merge(vocabularies: &[Words], threads: usize) -> Result<(Words, Vec<Vec<u32>>), Fault> {
    let word = |place: &Place| vocabularies[place.worker as usize].get(place.number as usize);
    let compare = |a: &Place, b: &Place| {
        // Equal first bytes do not mean equal words: a word may be longer, or end in a zero byte.
        a.rank.cmp(&b.rank).then_with(|| word(a).compare(&word(b)))
    };
    let workers: Vec<usize> = (0..vocabularies.len()).collect();
    let mut lists = run(threads, workers, |worker| {
        let words = &vocabularies[worker];
        let place = |k| Place { rank: words.rank(k), worker: worker as u32, number: k as u32 };
        let mut places: Vec<Place> = (0..words.len()).map(place).collect();
        // Sorted by the first eight bytes, then by the whole word where these are equal.
        places.sort_unstable_by_key(|place| place.rank);
        places.chunk_by_mut(|a, b| a.rank == b.rank).for_each(|equal| {
            if equal.len() > 1 {
                equal.sort_unstable_by(compare);
            }
        });
        places
    });
    while lists.len() > 1 {
        let mut pairs = Vec::new();
        let mut rest = lists.into_iter();
        while let Some(a) = rest.next() {
            pairs.push((a, rest.next().unwrap_or_default()));
        }
        lists = run(threads, pairs, |(a, b)| join(a, b, compare));
    }
    let mut to: Vec<Vec<u32>> = vocabularies.iter().map(|words| vec![0; words.len()]).collect();
    let mut all = Words::default();
    let mut last: Option<Place> = None;
    for place in lists.into_iter().next().unwrap_or_default() {
        if last.is_none_or(|last| compare(&last, &place) != Ordering::Equal) {
            all.push(word(&place).bytes());
            if all.len() >= Words::MOST {
                return Err(Fault::Memory);
            }
        }
        to[place.worker as usize][place.number as usize] = (all.len() - 1) as u32;
        last = Some(place);
    }
    Ok((all, to))
}

fn join(a: Vec<Place>, b: Vec<Place>, compare: impl Fn(&Place, &Place) -> Ordering) -> Vec<Place> {
    if b.is_empty() {
        return a;
    }
    let mut joined = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let second = compare(x, y) == Ordering::Greater;
        joined.push(if second { *y } else { *x });
        i += usize::from(!second);
        j += usize::from(second);
    }
    joined.extend_from_slice(&a[i..]);
    joined.extend_from_slice(&b[j..]);
    joined
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::words::Key;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn all_words_come_once_and_in_order(
            lists in prop::collection::vec(prop::collection::vec("[a-b\u{0}é]{0,20}", 0..20), 0..6),
        ) {
            let bytes = |list: &Vec<String>| {
                let mut words = Words::default();
                list.iter().for_each(|word| _ = words.insert(Key::new(word.as_bytes())));
                words
            };
            let vocabularies: Vec<Words> = lists.iter().map(bytes).collect();
            let (all, to) = merge(&vocabularies, 2).unwrap();
            let expected: Vec<&String> = lists.iter().flatten().collect::<BTreeSet<_>>().into_iter().collect();
            let words: Vec<Vec<u8>> = (0..all.len()).map(|k| all.get(k).bytes().to_vec()).collect();
            prop_assert_eq!(&words, &expected.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>());
            for (words_of, to) in vocabularies.iter().zip(to) {
                for (number, place) in to.into_iter().enumerate() {
                    prop_assert!(words_of.get(number).bytes() == &words[place as usize][..]);
                }
            }
        }
    }
}
