//! Text in lower case, with a bit for every byte that belongs to a word.

use crate::text::alphabet::{decode, encode, Alphabet};

const HIGH: u64 = 0x8080_8080_8080_8080;
/// Readable bytes after the end, so that a word can be loaded in one step.
pub const PAD: usize = 16;

/// One byte eight times.
const fn all(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The high bit of each byte that is `byte` or more, where all are below 0x80.
#[inline(always)]
fn at_least(eight: u64, byte: u8) -> u64 {
    eight.wrapping_add(all(0x80 - byte))
}

/// Eight ASCII characters in lower case, and a bit for each that belongs to a word.
#[inline(always)]
fn eight(x: u64, lower: bool) -> (u64, u64) {
    let letter = x | all(0x20);
    let letter = at_least(letter, b'a') & !at_least(letter, b'z' + 1) & HIGH;
    let digit = at_least(x, b'0') & !at_least(x, b'9' + 1);
    let underscore = !(x ^ all(b'_')).wrapping_add(all(0x7F));
    let word = (letter | digit | underscore) & HIGH;
    // The multiplication brings the eight high bits together.
    let bits = (word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    (if lower { x | (letter >> 2) } else { x }, bits)
}

/// A piece of text in lower case, with a bit for every byte that belongs to a word.
#[derive(Default)]
pub struct Folded {
    /// The text, and padding after it.
    text: Vec<u8>,
    /// A bit for every byte of it.
    words: Vec<u64>,
    length: usize,
}

impl Folded {
    /// The text, and at least [`PAD`] bytes of padding after it.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Length of the text without the padding.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Replaces the text by a new piece. Without an alphabet, characters beyond ASCII are
    /// not word characters and are not lower-cased.
    pub fn read(&mut self, bytes: &[u8], lower: bool, alphabet: Option<&Alphabet>) {
        let used = (self.length / 64 + 2).min(self.words.len());
        self.words[..used].fill(0);
        self.length = 0;
        self.reserve(bytes.len());
        let mut rest = bytes;
        while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
            let x = u64::from_le_bytes(*chunk);
            if x & HIGH == 0 {
                self.put_eight(x, 8, lower);
                rest = behind;
            } else {
                rest = self.put_mixed(x, 8, rest, lower, alphabet);
            }
        }
        while !rest.is_empty() {
            let mut last = [0; 8];
            last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            rest = self.put_mixed(u64::from_le_bytes(last), rest.len().min(8), rest, lower, alphabet);
        }
    }

    #[inline(always)]
    fn reserve(&mut self, bytes: usize) {
        let needed = self.length + bytes + 2 * PAD;
        if self.text.len() < needed {
            self.grow(needed);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        self.text.resize(needed + needed / 4, 0);
        self.words.resize(self.text.len() / 64 + 2, 0);
    }

    /// Appends the first `n` of eight ASCII characters.
    #[inline(always)]
    fn put_eight(&mut self, x: u64, n: usize, lower: bool) {
        let (x, bits) = eight(x, lower);
        if let Some(space) = self.text.get_mut(self.length..self.length + 8) {
            space.copy_from_slice(&x.to_le_bytes());
        }
        self.mark(bits & ((1_u64 << n) - 1), n);
    }

    /// Appends `n` marks.
    #[inline(always)]
    fn mark(&mut self, bits: u64, n: usize) {
        let (place, shift) = (self.length / 64, self.length % 64);
        if let Some(mark) = self.words.get_mut(place) {
            *mark |= bits << shift;
        }
        if shift + n > 64 {
            if let Some(mark) = self.words.get_mut(place + 1) {
                *mark |= bits >> (64 - shift);
            }
        }
        self.length += n;
    }

    /// Appends the ASCII characters among `n` that come first, and the others that follow them.
    fn put_mixed<'a>(
        &mut self,
        x: u64,
        n: usize,
        rest: &'a [u8],
        lower: bool,
        alphabet: Option<&Alphabet>,
    ) -> &'a [u8] {
        let ascii = ((x & HIGH).trailing_zeros() as usize / 8).min(n);
        self.put_eight(x & !HIGH, ascii, lower);
        let rest = rest.get(ascii..).unwrap_or(&[]);
        if ascii == n {
            return rest;
        }
        let mut rest = rest;
        while rest.first().is_some_and(|first| !first.is_ascii()) {
            let (character, width) = decode(rest);
            rest = rest.get(width..).unwrap_or(&[]);
            let Some(alphabet) = alphabet else {
                self.put(character, false, rest);
                continue;
            };
            match if lower { alphabet.lower(character) } else { Ok(character) } {
                Ok(one) => self.put(one, alphabet.is_word(one), rest),
                Err(several) => {
                    several.iter().for_each(|&one| self.put(one, alphabet.is_word(one), rest));
                }
            }
        }
        rest
    }

    /// Appends one character and reserves space for the `rest`.
    #[inline(always)]
    fn put(&mut self, character: u32, word: bool, rest: &[u8]) {
        self.reserve(rest.len());
        let (bytes, n) = encode(character);
        if let Some(space) = self.text.get_mut(self.length..self.length + 4) {
            space.copy_from_slice(&bytes);
        }
        self.mark(if word { (1 << n) - 1 } else { 0 }, n);
    }

    /// Calls `put` with the start and end of every maximal run of word characters.
    #[inline(always)]
    pub fn runs(&self, mut put: impl FnMut(usize, usize)) {
        let (mut before, mut start, mut inside) = (0, 0, false);
        // One element more, so that the last run ends.
        for (k, &word) in self.words.iter().take(self.length / 64 + 1).enumerate() {
            let mut edges = word ^ ((word << 1) | before);
            before = word >> 63;
            while edges != 0 {
                let edge = 64 * k + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                if inside {
                    put(start, edge);
                } else {
                    start = edge;
                }
                inside = !inside;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::alphabet::tests::rust;
    use proptest::prelude::*;

    fn runs(folded: &Folded) -> Vec<String> {
        let mut found = Vec::new();
        folded.runs(|start, end| {
            found.push(String::from_utf8_lossy(&folded.text()[start..end]).into_owned());
        });
        found
    }

    fn expected(text: &str, lower: bool) -> Vec<String> {
        let text: String =
            if lower { text.chars().flat_map(char::to_lowercase).collect() } else { text.into() };
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| !word.is_empty()).map(String::from).collect()
    }

    proptest! {
        #[test]
        fn runs_of_word_characters_are_found(
            texts in prop::collection::vec("[A-Za-z0-9_ .@`\\[\\{/:éÉİẞßΣﬁ世١\u{0}\u{300}\u{1F600}]{0,200}", 1..4),
            lower in any::<bool>(),
        ) {
            let mut folded = Folded::default();
            for text in texts {
                folded.read(text.as_bytes(), lower, Some(rust()));
                prop_assert_eq!(runs(&folded), expected(&text, lower));
            }
        }
    }

    #[test]
    fn every_ascii_character_is_known() {
        let mut folded = Folded::default();
        for byte in 0..0x80_u8 {
            let text: String = std::iter::repeat_n(char::from(byte), 65).collect();
            for lower in [false, true] {
                folded.read(text.as_bytes(), lower, None);
                assert_eq!(runs(&folded), expected(&text, lower));
            }
        }
    }

    #[test]
    fn text_may_grow_in_lower_case() {
        let text = "Ⱥ".repeat(1000);
        let mut folded = Folded::default();
        folded.read(text.as_bytes(), true, Some(rust()));
        assert_eq!(runs(&folded), ["ⱥ".repeat(1000)]);
    }
}
