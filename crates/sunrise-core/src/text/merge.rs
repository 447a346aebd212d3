//! Merges the vocabularies of several workers in the order of code points.
//!
//! Each worker's words are sorted. The range of all words is then cut into pieces, and the words of all workers in one
//! piece are merged by one thread: what a single thread does in the end is no more than copying.

use crate::fault::Fault;
use crate::parallel::run;
use crate::text::words::{Rank, Words};
use std::cmp::Ordering;

/// A word of a worker, with its first 16 bytes as numbers.
#[derive(Clone, Copy)]
struct Place {
    rank: Rank,
    number: u32,
    /// The worker, and the length of a word that the rank holds, 0 for longer words. Together they take four bytes, so
    /// that a place has 24: sorting is mostly moving them.
    worker: u32,
}

/// Bits of the length beside the worker.
const BITS: u32 = 5;

impl Place {
    #[inline(always)]
    fn worker(&self) -> usize {
        (self.worker >> BITS) as usize
    }

    #[inline(always)]
    fn length(&self) -> u32 {
        self.worker & ((1 << BITS) - 1)
    }
}

/// Words of one piece in order, and for each worker its words in it: their numbers, and their positions in the piece.
struct Piece {
    words: Words,
    places: Vec<Vec<(u32, u32)>>,
}

/// Fewest words that are worth a thread.
const WORTH_A_THREAD: usize = 1 << 12;

/// Words of every list that are looked at to cut the range of words into one piece.
const SAMPLED: usize = 16;

/// All words in order, and for each worker the positions of its words among them.
pub fn merge(vocabularies: &[Words], threads: usize) -> Result<(Words, Vec<Vec<u32>>), Fault> {
    let compare = |a: &Place, b: &Place| {
        let text = |place: &Place| vocabularies[place.worker()].get(place.number as usize);
        a.rank.cmp(&b.rank).then_with(|| match (a.length(), b.length()) {
            // Equal first bytes do not mean equal words: a word may be longer, or end in a zero byte.
            (0, _) | (_, 0) => text(a).compare(&text(b)),
            (a, b) => a.cmp(&b),
        })
    };
    let workers: Vec<usize> = (0..vocabularies.len()).collect();
    let lists = run(threads, workers.clone(), |worker| sorted(&vocabularies[worker], worker as u32, compare));
    let total: usize = lists.iter().map(Vec::len).sum();
    let pieces = threads.min(total / WORTH_A_THREAD).max(1);
    let splitters = splitters(&lists, pieces);
    let cuts: Vec<Vec<usize>> = lists.iter().map(|list| ends(list, &splitters)).collect();
    let merged = run(threads, (0..pieces).collect(), |piece| {
        let part = |worker: &usize| &lists[*worker][cuts[*worker][piece]..cuts[*worker][piece + 1]];
        let mut places: Vec<Vec<(u32, u32)>> =
            workers.iter().map(|worker| Vec::with_capacity(part(worker).len())).collect();
        let mut words = Words::default();
        let mut last: Option<&Place> = None;
        let joined;
        let all = if let [worker] = &workers[..] {
            part(worker)
        } else {
            joined = join(workers.iter().map(part).collect(), compare);
            &joined
        };
        for place in all {
            // The words of one worker are distinct.
            if workers.len() == 1 || last.is_none_or(|last| compare(last, place) != Ordering::Equal) {
                words.push(vocabularies[place.worker()].get(place.number as usize).bytes());
            }
            places[place.worker()].push((place.number, (words.len() - 1) as u32));
            last = Some(place);
        }
        Piece { words, places }
    });
    let mut firsts = Vec::with_capacity(pieces);
    let mut count = 0;
    for piece in &merged {
        firsts.push(count);
        count += piece.words.len();
        if count >= Words::MOST {
            return Err(Fault::Memory);
        }
    }
    let to = run(threads, workers, |worker| {
        let mut to = vec![0; vocabularies[worker].len()];
        for (piece, first) in merged.iter().zip(&firsts) {
            for &(number, place) in &piece.places[worker] {
                to[number as usize] = *first as u32 + place;
            }
        }
        to
    });
    let mut all = Words::default();
    merged.into_iter().for_each(|piece| all.append(piece.words));
    Ok((all, to))
}

/// The words of a worker in order.
fn sorted(words: &Words, worker: u32, compare: impl Fn(&Place, &Place) -> Ordering) -> Vec<Place> {
    let place = |number: usize| {
        let (rank, length) = words.rank(number);
        Place { rank, number: number as u32, worker: worker << BITS | length as u32 }
    };
    let mut places: Vec<Place> = (0..words.len()).map(place).collect();
    // Sorted by the first eight bytes, then by the whole word where these are equal.
    places.sort_unstable_by_key(|place| place.rank[0]);
    places.chunk_by_mut(|a, b| a.rank[0] == b.rank[0]).for_each(|equal| {
        if equal.len() > 1 {
            equal.sort_unstable_by(&compare);
        }
    });
    places
}

/// Sorted lists as one.
fn join(parts: Vec<&[Place]>, compare: impl Fn(&Place, &Place) -> Ordering) -> Vec<Place> {
    let mut all = parts.concat();
    all.sort_by(compare); // a stable sort finds the sorted parts and merges them
    all
}

/// Ranks that cut the words of all lists into pieces of about equal sizes.
fn splitters(lists: &[Vec<Place>], pieces: usize) -> Vec<Rank> {
    let total: usize = lists.iter().map(Vec::len).sum();
    let step = (total / (pieces * SAMPLED)).max(1);
    let mut ranks: Vec<Rank> = lists
        .iter()
        .flat_map(|list| list.iter().skip(step / 2).step_by(step))
        .map(|place| place.rank)
        .collect();
    ranks.sort_unstable();
    (1..pieces).filter_map(|k| ranks.get(k * ranks.len() / pieces).copied()).collect()
}

/// Where the pieces of a sorted list begin, and its end.
fn ends(list: &[Place], splitters: &[Rank]) -> Vec<usize> {
    let cut = |splitter: &Rank| list.partition_point(|place| place.rank < *splitter);
    [0].into_iter().chain(splitters.iter().map(cut)).chain([list.len()]).collect()
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

    #[test]
    fn many_words_are_merged_by_several_threads() {
        let of = |worker: usize| {
            let mut words = Words::default();
            for k in 0..9000 {
                let word = format!("{}{}", k * (worker + 3) % 20_011, "-and-a-long-end".repeat(k % 3));
                words.insert(Key::new(word.as_bytes()));
            }
            words
        };
        let vocabularies: Vec<Words> = (0..5).map(of).collect();
        let (all, to) = merge(&vocabularies, 1).unwrap();
        assert!((1..all.len()).all(|k| all.get(k - 1).bytes() < all.get(k).bytes()));
        for threads in [2, 3, 16] {
            let (more, again) = merge(&vocabularies, threads).unwrap();
            assert_eq!(again, to);
            assert!((0..all.len()).all(|k| all.get(k).bytes() == more.get(k).bytes()));
        }
    }
}
