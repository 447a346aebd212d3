//! Distinct words, numbered in order of first occurrence.
//!
//! The hash table is written here: it loads the slots of 32 words before it compares any of them, which hashbrown's
//! table does not offer. Learning the vocabulary of 20 Newsgroups takes 7 % longer with hashbrown.

use std::cmp::Ordering;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

/// Longest word that is stored in its entry.
pub const SHORT: usize = 16;

/// The first 16 bytes of a word as two numbers in the order of words.
pub type Rank = [u64; 2];

/// A word to look up, with its first bytes as numbers.
#[derive(Clone, Copy, Default)]
pub struct Key<'a> {
    head: [u64; 2],
    text: &'a [u8],
}

/// Masks of the first n bytes, for n up to [`SHORT`].
const KEPT: [[u64; 2]; SHORT + 1] = {
    let mut kept = [[0; 2]; SHORT + 1];
    let mut n = 1;
    while n <= SHORT {
        kept[n] = if n <= 8 { [u64::MAX >> (64 - 8 * n), 0] } else { [u64::MAX, u64::MAX >> (128 - 8 * n)] };
        n += 1;
    }
    kept
};

#[inline(always)]
fn halves(bytes: &[u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(*bytes);
    [whole as u64, (whole >> 64) as u64]
}

/// The first 16 bytes of a text, zeros where it is shorter.
#[inline(always)]
pub(crate) fn head(text: &[u8]) -> [u64; 2] {
    match text.first_chunk::<16>() {
        Some(first) => halves(first),
        None => {
            let mut first = [0; 16];
            first.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
            halves(&first)
        }
    }
}

impl<'a> Key<'a> {
    /// The key of a word.
    #[inline(always)]
    pub fn new(text: &'a [u8]) -> Self {
        Key { head: head(text), text }
    }

    /// The key of a word within a longer text; faster if at least 16 bytes follow its start.
    #[inline(always)]
    pub fn within(text: &'a [u8], start: usize, end: usize) -> Self {
        let word = text.get(start..end).unwrap_or(&[]);
        match (text.get(start..).and_then(|rest| rest.first_chunk::<16>()), KEPT.get(word.len())) {
            (Some(first), Some(kept)) => {
                let first = halves(first);
                Key { head: [first[0] & kept[0], first[1] & kept[1]], text: word }
            }
            _ => Key::new(word),
        }
    }

    /// The whole word.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }
}

/// One word: its first bytes and its length. A long word is in the store.
#[derive(Clone, Copy)]
struct Entry {
    /// The first 16 bytes; for a long word the first 8, and its position in the store.
    head: [u64; 2],
    length: usize,
}

/// Distinct words, numbered in order of first occurrence.
pub struct Words {
    /// For each slot 32 bits of a hash and the number of the word plus one. Made by the first look-up.
    slots: OnceLock<Vec<u64>>,
    entries: Vec<Entry>,
    store: Vec<u8>,
    /// Random for each table, so that nobody can prepare texts whose words all collide.
    seed: [u64; 2],
}

impl Default for Words {
    fn default() -> Self {
        let random = RandomState::new();
        let seed = [1, 2].map(|k: u64| {
            let mut hasher = random.build_hasher();
            hasher.write_u64(k);
            hasher.finish() | 1
        });
        Words { slots: OnceLock::new(), entries: Vec::new(), store: Vec::new(), seed }
    }
}

#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn slot(hash: u32, number: usize) -> u64 {
    u64::from(hash) << 32 | (number as u64 + 1)
}

/// The number in a slot; larger than any number if the slot is empty.
#[inline(always)]
fn number(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

/// Number of slots for some words.
fn size(words: usize) -> usize {
    (2 * words).next_power_of_two().max(64)
}

/// A table of slots for words with these hashes. The first words, usually the frequent ones, get the best slots.
fn table(hashes: &[u32], order: impl Iterator<Item = u32>, size: usize) -> Vec<u64> {
    let mut slots = vec![0; size];
    for number in order {
        let number = number as usize;
        let hash = hashes[number];
        let mut at = hash as usize & (size - 1);
        while slots[at] != 0 {
            at = (at + 1) & (size - 1);
        }
        slots[at] = slot(hash, number);
    }
    slots
}

impl Words {
    /// Number of words that indices of 32 bits can distinguish.
    pub const MOST: usize = i32::MAX as usize;

    /// Words that are looked up together, so that their memory accesses overlap.
    pub const TOGETHER: usize = 32;

    /// Adds a new word with the next number.
    pub fn push(&mut self, word: &[u8]) {
        let mut head = head(word);
        if word.len() > SHORT {
            head[1] = self.store.len() as u64;
            self.store.extend_from_slice(word);
        }
        self.entries.push(Entry { head, length: word.len() });
        self.slots.take();
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A word by its number.
    pub fn get(&self, number: usize) -> Word<'_> {
        match self.entries.get(number) {
            None => Word { head: [0; 16], text: &[], length: 0 },
            Some(entry) if entry.length > SHORT => {
                Word { head: [0; 16], text: self.stored(entry), length: entry.length }
            }
            Some(entry) => {
                let mut head = [0; 16];
                head[..8].copy_from_slice(&entry.head[0].to_le_bytes());
                head[8..].copy_from_slice(&entry.head[1].to_le_bytes());
                Word { head, text: &[], length: entry.length }
            }
        }
    }

    /// Number of items of every n-gram: words with blanks between them, or characters.
    pub fn n_items(&self, words: bool) -> Vec<u32> {
        let counts = |byte: &u8| if words { *byte == b' ' } else { *byte & 0xC0 != 0x80 };
        let of = |number| self.get(number).bytes().iter().filter(|byte| counts(byte)).count() as u32;
        (0..self.len()).map(|number| of(number) + u32::from(words)).collect()
    }

    /// The words at which `keep` is true, in the same order.
    pub fn select(&self, keep: &[bool]) -> Words {
        let mut some = Words::default();
        let numbers = keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(number, _)| number);
        numbers.for_each(|number| some.push(self.get(number).bytes()));
        some
    }

    /// The text of a long word.
    fn stored(&self, entry: &Entry) -> &[u8] {
        let start = entry.head[1] as usize;
        self.store.get(start..start + entry.length).unwrap_or(&[])
    }

    #[inline(always)]
    fn hash(&self, key: &Key) -> u32 {
        let [a, b] = self.seed;
        let mut hash = fold(key.head[0] ^ a, key.head[1] ^ b);
        if key.text.len() > SHORT {
            for part in key.text[SHORT..].chunks(SHORT) {
                let [low, high] = head(part);
                hash = fold(low ^ hash ^ a, high ^ b).wrapping_add(hash);
            }
        }
        (fold(hash ^ key.text.len() as u64, b) >> 32) as u32
    }

    /// The table of slots.
    fn slots(&self) -> &[u64] {
        self.slots.get_or_init(|| {
            let hash = |number| self.hash(&Key::new(self.get(number).bytes()));
            let hashes: Vec<u32> = (0..self.len()).map(hash).collect();
            // Short words are the frequent ones, and the first words get the best slots.
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            order.sort_by_key(|&number| self.entries[number as usize].length);
            table(&hashes, order.into_iter(), size(self.len()))
        })
    }

    #[inline(always)]
    fn is(&self, number: u32, key: &Key) -> bool {
        let Some(entry) = self.entries.get(number as usize) else { return false };
        if entry.length != key.text.len() || entry.head[0] != key.head[0] {
            return false;
        }
        if entry.length <= SHORT {
            return entry.head[1] == key.head[1];
        }
        self.stored(entry) == key.text
    }

    /// The number of a word, or the free slot for it.
    #[inline(always)]
    fn look(&self, slots: &[u64], key: &Key, hash: u32) -> Result<u32, usize> {
        let mask = slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = slots[at & mask];
            if slot == 0 {
                return Err(at);
            }
            if (slot >> 32) as u32 == hash && self.is(number(slot), key) {
                return Ok(number(slot));
            }
            at = (at + 1) & mask;
        }
    }

    /// The hashes of words and the contents of their first slots, loaded together.
    #[inline(always)]
    fn first_look(&self, slots: &[u64], keys: &[Key]) -> [(u32, u64); Words::TOGETHER] {
        let mut looked = [(0, 0); Words::TOGETHER];
        let mask = slots.len() - 1;
        for (key, (hash, slot)) in keys.iter().zip(&mut looked) {
            *hash = self.hash(key);
            *slot = slots[*hash as usize & mask];
        }
        looked
    }

    /// The number of a word, if it is in the table.
    pub fn find(&self, key: Key) -> Option<u32> {
        self.look(self.slots(), &key, self.hash(&key)).ok()
    }

    /// Calls `put` with the numbers of the words that are in the table.
    #[inline(always)]
    pub fn find_all(&self, keys: &[Key], mut put: impl FnMut(u32)) {
        let slots = self.slots();
        for keys in keys.chunks(Words::TOGETHER) {
            let looked = self.first_look(slots, keys);
            for (key, (hash, slot)) in keys.iter().zip(looked) {
                if (slot >> 32) as u32 == hash && self.is(number(slot), key) {
                    put(number(slot));
                } else if slot != 0 {
                    self.look(slots, key, hash).into_iter().for_each(&mut put);
                }
            }
        }
    }

    /// The number of a word, which is added if it is new. Beyond [`Words::MOST`] words nothing is added.
    pub fn insert(&mut self, key: Key) -> u32 {
        let hash = self.hash(&key);
        self.insert_hashed(&key, hash)
    }

    /// Calls `put` with the numbers of words, which are added if they are new.
    #[inline(always)]
    pub fn insert_all(&mut self, keys: &[Key], mut put: impl FnMut(u32)) {
        for keys in keys.chunks(Words::TOGETHER) {
            let looked = self.first_look(self.slots(), keys);
            for (key, (hash, slot)) in keys.iter().zip(looked) {
                if (slot >> 32) as u32 == hash && self.is(number(slot), key) {
                    put(number(slot));
                } else {
                    put(self.insert_hashed(key, hash));
                }
            }
        }
    }

    #[inline(never)]
    fn insert_hashed(&mut self, key: &Key, hash: u32) -> u32 {
        let at = match self.look(self.slots(), key, hash) {
            Ok(number) => return number,
            Err(at) => at,
        };
        let number = self.entries.len();
        if number >= Words::MOST {
            return 0;
        }
        let slots = self.slots.take();
        self.push(key.text);
        let mut slots = slots.unwrap_or_default();
        slots[at] = slot(hash, number);
        if 2 * self.entries.len() > slots.len() {
            let mut hashes = vec![0; self.entries.len()];
            slots.iter().filter(|slot| **slot != 0).for_each(|&slot| {
                hashes[self::number(slot) as usize] = (slot >> 32) as u32;
            });
            slots = table(&hashes, 0..hashes.len() as u32, 2 * slots.len());
        }
        _ = self.slots.set(slots);
        number as u32
    }

    /// The first 16 bytes of a word as numbers with the same order, and its length if that is the whole word, else 0.
    #[inline(always)]
    pub fn rank(&self, number: usize) -> (Rank, usize) {
        let Some(entry) = self.entries.get(number) else { return ([0; 2], 0) };
        let (first, length) =
            if entry.length > SHORT { (head(self.stored(entry)), 0) } else { (entry.head, entry.length) };
        (first.map(u64::swap_bytes), length)
    }

    /// Adds new words behind all others.
    pub fn append(&mut self, other: Words) {
        if self.is_empty() {
            *self = other;
            return;
        }
        let before = self.store.len() as u64;
        self.entries.extend(other.entries.into_iter().map(|mut entry| {
            entry.head[1] += if entry.length > SHORT { before } else { 0 };
            entry
        }));
        self.store.extend_from_slice(&other.store);
        self.slots.take();
    }
}

/// A stored word.
pub struct Word<'a> {
    head: [u8; 16],
    text: &'a [u8],
    length: usize,
}

impl Word<'_> {
    /// The bytes of the word.
    pub fn bytes(&self) -> &[u8] {
        if self.length > SHORT {
            self.text
        } else {
            self.head.get(..self.length).unwrap_or(&[])
        }
    }

    /// Compares two words by code points.
    pub fn compare(&self, other: &Word) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, HashMap};

    fn some_words() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let letter = prop::sample::select(vec![b'a', b'b', 0, 0xC3]);
        prop::collection::vec(prop::collection::vec(letter, 0..40), 0..300)
    }

    proptest! {
        #[test]
        fn words_are_numbered_as_they_come(list in some_words()) {
            let (mut words, mut together) = (Words::default(), Words::default());
            let mut expected: HashMap<&[u8], u32> = HashMap::new();
            let mut numbers = Vec::new();
            for word in &list {
                let next = expected.len() as u32;
                let number = *expected.entry(word).or_insert(next);
                numbers.push(number);
                prop_assert_eq!(words.insert(Key::new(word)), number);
                prop_assert!(words.get(number as usize).bytes() == &word[..]);
            }
            prop_assert_eq!(words.len(), expected.len());
            let keys: Vec<Key> = list.iter().map(|word| Key::new(word)).collect();
            let mut found = Vec::new();
            together.insert_all(&keys, |number| found.push(number));
            prop_assert_eq!(&found, &numbers);
            found.clear();
            together.find_all(&keys, |number| found.push(number));
            prop_assert_eq!(&found, &numbers);
            Words::default().find_all(&keys, |_| panic!("there are no words"));
            for word in &list {
                let longer = [&b"xy"[..], word, &b"0123456789abcdefgh"[..]].concat();
                let key = Key::within(&longer, 2, 2 + word.len());
                prop_assert_eq!(words.find(key), expected.get(&word[..]).copied());
            }
            prop_assert_eq!(words.find(Key::new(b"never")), None);
        }

        #[test]
        fn words_that_are_known_to_be_new_are_found_later(list in some_words()) {
            let distinct: BTreeSet<&Vec<u8>> = list.iter().collect();
            let mut words = Words::default();
            for (number, word) in distinct.iter().enumerate() {
                words.push(word);
                prop_assert_eq!(words.find(Key::new(word)), Some(number as u32));
            }
            for a in 1..words.len() {
                prop_assert!(words.rank(a - 1).0 <= words.rank(a).0);
            }
        }
    }

    #[test]
    fn ngrams_are_selected_by_their_number_of_items() {
        let mut words = Words::default();
        let list = ["ab", "ab a longer second word", "é", "éa b"];
        list.iter().for_each(|word| words.push(word.as_bytes()));
        assert_eq!(words.n_items(true), [1, 5, 1, 2]);
        assert_eq!(words.n_items(false), [2, 23, 1, 4]);
        let some = words.select(&[false, true, true, false]);
        assert_eq!((some.len(), some.get(0).bytes()), (2, list[1].as_bytes()));
        assert_eq!(some.find(Key::new("é".as_bytes())), Some(1));
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        assert_eq!(Words::default().find(Key::new(b"word")), None);
        assert!(Words::default().is_empty());
    }
}
