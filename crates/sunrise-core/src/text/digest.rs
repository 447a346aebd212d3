//! A hash of whole texts, the same on every machine: folds of texts depend on it.

use crate::parallel::{pieces, run};
use crate::text::words::{fold, head, SHORT};

/// Odd numbers without a pattern: the fractional parts of the golden ratio and of the root of 2.
const KEYS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0x6A09_E667_F3BC_C909];

/// The hash of a text.
pub fn digest(text: &[u8]) -> u64 {
    let [a, b] = KEYS;
    // Not a, which would cancel below: a product with 0 forgets the other factor.
    let mut hash = b;
    for part in text.chunks(SHORT) {
        let [low, high] = head(part);
        hash = fold(low ^ hash ^ a, high ^ b).wrapping_add(hash.rotate_left(23));
    }
    // The last part is filled up with zeros, so the length tells texts apart that end in zeros.
    fold(hash ^ text.len() as u64, b) ^ hash
}

/// The hashes of texts; `missing` for those that are missing.
pub fn digests(texts: &[Option<&[u8]>], missing: u64, threads: usize) -> Vec<u64> {
    let parts = run(threads, pieces(texts.len(), 64, 64), |rows| {
        texts[rows].iter().map(|text| text.map_or(missing, digest)).collect::<Vec<u64>>()
    });
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn texts_that_differ_anywhere_have_different_hashes() {
        let mut seen = HashSet::new();
        for length in 0..70 {
            assert!(seen.insert(digest(&vec![0; length])));
            for at in 0..length {
                for bit in 0..8 {
                    let mut text = vec![0; length];
                    text[at] = 1 << bit;
                    assert!(seen.insert(digest(&text)));
                }
            }
        }
    }

    #[test]
    fn one_bit_of_a_text_changes_half_of_the_hash() {
        let text = b"The quick brown fox jumps over the lazy dog";
        let mut flips = 0;
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut other = *text;
                other[at] ^= 1 << bit;
                flips += (digest(text) ^ digest(&other)).count_ones();
            }
        }
        let mean = f64::from(flips) / (8 * text.len()) as f64;
        assert!((30.0..34.0).contains(&mean), "{mean}");
    }

    #[test]
    fn threads_change_nothing() {
        let texts: Vec<String> = (0..500).map(|k| format!("text {k}")).collect();
        let texts: Vec<Option<&[u8]>> =
            texts.iter().enumerate().map(|(k, text)| (k % 7 > 0).then_some(text.as_bytes())).collect();
        assert_eq!(digests(&texts, 5, 1), digests(&texts, 5, 4));
        assert_eq!(digests(&texts, 5, 2)[7], 5);
    }
}
