//! Properties of characters beyond ASCII. The tables come from Python, because Unicode
//! versions differ and the results must not.

use crate::fault::Fault;

/// Number of code points.
const ALL: usize = 0x11_0000;
/// The replacement character, for bytes that are not UTF-8.
const BROKEN: u32 = 0xFFFD;

const WORD: u32 = 1 << 31;
const SPACE: u32 = 1 << 30;
/// Set if lower-casing gives several characters; the rest of the entry is then an index into `several`.
const SEVERAL: u32 = 1 << 29;
const REST: u32 = SEVERAL - 1;

/// Which characters are word characters or white space, and their lower case.
pub struct Alphabet {
    /// For each code point its lower case and the flags above.
    table: Vec<u32>,
    several: Vec<Vec<u32>>,
}

impl Alphabet {
    /// Makes the tables from word characters (half-open ranges), white space and lower-case mappings.
    pub fn new(words: &[(u32, u32)], spaces: &[u32], lower: Vec<(u32, Vec<u32>)>) -> Result<Self, Fault> {
        let none = || Fault::shape("there is no such character");
        let mut table: Vec<u32> = (0..ALL as u32).collect();
        for &(start, end) in words {
            let range = table.get_mut(start as usize..end as usize).ok_or_else(none)?;
            range.iter_mut().for_each(|entry| *entry |= WORD);
        }
        for &space in spaces {
            *table.get_mut(space as usize).ok_or_else(none)? |= SPACE;
        }
        let mut several = Vec::new();
        for (from, to) in lower {
            if to.iter().any(|&to| to as usize >= ALL) {
                return Err(none());
            }
            let entry = table.get_mut(from as usize).ok_or_else(none)?;
            let marks = *entry & !REST;
            *entry = match to[..] {
                [to] => marks | to,
                _ => {
                    several.push(to);
                    marks | SEVERAL | (several.len() - 1) as u32
                }
            };
        }
        Ok(Alphabet { table, several })
    }

    #[inline(always)]
    fn entry(&self, character: u32) -> u32 {
        self.table.get(character as usize).copied().unwrap_or(0)
    }

    /// Whether a character is a word character.
    #[inline(always)]
    pub fn is_word(&self, character: u32) -> bool {
        self.entry(character) & WORD != 0
    }

    /// Whether a character is white space.
    #[inline(always)]
    pub fn is_space(&self, character: u32) -> bool {
        self.entry(character) & SPACE != 0
    }

    /// The lower case of a character: one, or several.
    #[inline(always)]
    pub fn lower(&self, character: u32) -> Result<u32, &[u32]> {
        let entry = self.entry(character);
        if entry & SEVERAL == 0 {
            return Ok(entry & REST);
        }
        Err(self.several.get((entry & REST) as usize).map_or(&[], |several| several))
    }
}

/// The first character of some bytes, and its length in bytes.
///
/// Bytes that are not UTF-8 give one U+FFFD for each maximal prefix of a character, as in Python's decoder;
/// surrogates are accepted.
#[inline(always)]
pub fn decode(bytes: &[u8]) -> (u32, usize) {
    if let [first @ 0xC2..=0xDF, second @ 0x80..=0xBF, ..] = *bytes {
        return (u32::from(first & 0x1F) << 6 | u32::from(second & 0x3F), 2);
    }
    let at = |k: usize| bytes.get(k).map_or(0, |&byte| u32::from(byte));
    let first = at(0);
    let (more, low, high) = match first {
        0..=0x7F => return (first, 1),
        0xC2..=0xDF => (1, 0x80, 0xBF),
        0xE0 => (2, 0xA0, 0xBF),
        0xE1..=0xEF => (2, 0x80, 0xBF),
        0xF0 => (3, 0x90, 0xBF),
        0xF1..=0xF3 => (3, 0x80, 0xBF),
        0xF4 => (3, 0x80, 0x8F),
        _ => return (BROKEN, 1),
    };
    let second = at(1);
    if second < low || second > high {
        return (BROKEN, 1);
    }
    let mut character = ((first & (0x3F >> more)) << 6) | (second & 0x3F);
    for k in 2..=more {
        let next = at(k);
        if next & 0xC0 != 0x80 {
            // Python does not count the first bytes of a surrogate as a prefix.
            return (BROKEN, if first == 0xED && second >= 0xA0 { 1 } else { k });
        }
        character = (character << 6) | (next & 0x3F);
    }
    (character, more + 1)
}

/// The bytes of a character, and their number; a surrogate has three.
#[inline(always)]
pub fn encode(character: u32) -> ([u8; 4], usize) {
    let tail = |shift: u32| 0x80 | ((character >> shift) & 0x3F) as u8;
    match character {
        0..=0x7F => ([character as u8, 0, 0, 0], 1),
        0x80..=0x7FF => ([0xC0 | (character >> 6) as u8, tail(0), 0, 0], 2),
        0x800..=0xFFFF => ([0xE0 | (character >> 12) as u8, tail(6), tail(0), 0], 3),
        _ => ([0xF0 | (character >> 18) as u8 & 7, tail(12), tail(6), tail(0)], 4),
    }
}

/// Length of the character with this first byte, in bytes from [`encode`].
#[inline(always)]
pub fn width(first: u8) -> usize {
    match first {
        0..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// Rust's own tables, which are close enough for tests.
    pub(crate) fn rust() -> &'static Alphabet {
        static KNOWN: LazyLock<Alphabet> = LazyLock::new(|| {
            let each = || (0..ALL as u32).filter_map(|c| char::from_u32(c).map(|character| (c, character)));
            let words = each().filter(|(_, x)| x.is_alphanumeric() || *x == '_').map(|(c, _)| (c, c + 1));
            let words: Vec<(u32, u32)> = words.collect();
            let spaces: Vec<u32> = each().filter(|(_, x)| x.is_whitespace()).map(|(c, _)| c).collect();
            let lower = each().map(|(c, x)| (c, x.to_lowercase().map(u32::from).collect::<Vec<u32>>()));
            let lower = lower.filter(|(c, to)| to != &[*c]).collect();
            Alphabet::new(&words, &spaces, lower).unwrap_or_else(|fault| panic!("{fault:?}"))
        });
        &KNOWN
    }

    #[test]
    fn every_character_survives_the_way_to_bytes_and_back() {
        for character in 0..ALL as u32 {
            let (bytes, n) = encode(character);
            assert_eq!(decode(&bytes[..n]), (character, n));
            assert_eq!(width(bytes[0]), n);
            if let Some(known) = char::from_u32(character) {
                assert_eq!(known.encode_utf8(&mut [0; 4]).as_bytes(), &bytes[..n]);
            }
        }
    }

    proptest! {
        #[test]
        fn broken_bytes_are_read_as_rust_reads_them(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut rest = &bytes[..];
            let mut found = Vec::new();
            while !rest.is_empty() {
                let (character, n) = decode(rest);
                found.push(character);
                rest = &rest[n..];
            }
            if !found.iter().any(|c| (0xD800..0xE000).contains(c)) {
                let expected: Vec<u32> = String::from_utf8_lossy(&bytes).chars().map(u32::from).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn what_is_no_character_is_refused() {
        assert!(Alphabet::new(&[(0, ALL as u32 + 1)], &[], vec![]).is_err());
        assert!(Alphabet::new(&[(7, 3)], &[], vec![]).is_err());
        assert!(Alphabet::new(&[], &[ALL as u32], vec![]).is_err());
        assert!(Alphabet::new(&[], &[], vec![(ALL as u32, vec![1])]).is_err());
        assert!(Alphabet::new(&[], &[], vec![(1, vec![ALL as u32])]).is_err());
    }
}
