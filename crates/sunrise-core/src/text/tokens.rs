//! Cuts texts into tokens: words, characters and n-grams of them.

use crate::text::alphabet::{decode, width, Alphabet};
use crate::text::fold::{Folded, PAD};
use crate::text::words::{Key, Words};

/// The items of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analyzer {
    /// Words of two characters or more.
    Words,
    /// Characters; a run of white space is one blank.
    Characters,
    /// Characters of single words, with a blank on either side.
    CharactersInWords,
}

/// The settings of a tokeniser.
pub struct Settings {
    /// The items of a text.
    pub analyzer: Analyzer,
    /// Smallest number of consecutive items in a token.
    pub lowest: usize,
    /// Largest number of consecutive items in a token.
    pub highest: usize,
    /// Whether texts are lower-cased first.
    pub lowercase: bool,
    /// Stop words, left out before n-grams are made.
    pub stop: Option<Words>,
}

/// One text.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// UTF-8; other bytes are read as U+FFFD, which is not a word character.
    pub bytes: &'a [u8],
    /// Whether the text is in lower case already.
    pub ready: bool,
}

/// Cuts texts into tokens.
pub struct Reader<'a> {
    settings: &'a Settings,
    alphabet: Option<&'a Alphabet>,
    folded: Folded,
    grams: Grams,
}

impl<'a> Reader<'a> {
    /// A reader; the alphabet may be absent where all texts are ASCII.
    pub fn new(settings: &'a Settings, alphabet: Option<&'a Alphabet>) -> Self {
        let grams = Grams::new(settings.lowest, settings.highest);
        Reader { settings, alphabet, folded: Folded::default(), grams }
    }

    /// Calls `put` with the tokens of a text, some at a time.
    #[inline(always)]
    pub fn read(&mut self, text: Text, put: impl FnMut(&[Key])) {
        match self.settings.analyzer {
            Analyzer::Words => self.words(text, put),
            Analyzer::Characters => self.characters(text, put),
            Analyzer::CharactersInWords => self.characters_in_words(text, put),
        }
    }

    #[inline(always)]
    fn words(&mut self, text: Text, mut put: impl FnMut(&[Key])) {
        let Reader { settings, alphabet, folded, grams } = self;
        let single = settings.highest == 1;
        grams.clear();
        for piece in pieces(text.bytes) {
            folded.read(piece, settings.lowercase && !text.ready, *alphabet);
            let held = folded.text();
            let (mut together, mut n) = ([Key::default(); Words::TOGETHER], 0);
            folded.runs(|start, end| {
                if end - start < 2 || held.get(start).is_some_and(|&first| width(first) == end - start) {
                    return; // one character
                }
                let word = Key::within(held, start, end);
                if settings.stop.as_ref().is_some_and(|stop| stop.find(word).is_some()) {
                    return;
                }
                if !single {
                    grams.push(word.text(), true);
                    return;
                }
                together[n] = word;
                n = (n + 1) % Words::TOGETHER;
                if n == 0 {
                    put(&together);
                }
            });
            put(&together[..n]);
            grams.read(&mut put);
        }
    }

    /// Calls `put` with every character and whether it is white space, and `pause` after every piece.
    fn each_character(
        &mut self,
        text: Text,
        mut put: impl FnMut(&mut Grams, &[u8], bool),
        mut pause: impl FnMut(&mut Grams),
    ) {
        let Reader { settings, alphabet, folded, grams } = self;
        for piece in pieces(text.bytes) {
            folded.read(piece, settings.lowercase && !text.ready, *alphabet);
            let mut rest = folded.text().get(..folded.length()).unwrap_or(&[]);
            while let [first, ..] = rest {
                let (character, behind) = rest.split_at(width(*first).min(rest.len()));
                rest = behind;
                let space = match first {
                    0..=0x7F => matches!(first, 9..=13 | 28..=32),
                    _ => alphabet.is_some_and(|alphabet| alphabet.is_space(decode(character).0)),
                };
                put(grams, character, space);
            }
            pause(grams);
        }
    }

    fn characters(&mut self, text: Text, mut put: impl FnMut(&[Key])) {
        self.grams.clear();
        // White space that is not counted yet: one character, or a blank for several.
        let mut waiting: Option<([u8; 4], usize)> = None;
        let character = |grams: &mut Grams, character: &[u8], space: bool| {
            if space {
                waiting = Some(match waiting {
                    Some(_) => ([b' ', 0, 0, 0], 1),
                    None => {
                        let mut held = [0; 4];
                        held.iter_mut().zip(character).for_each(|(to, from)| *to = *from);
                        (held, character.len())
                    }
                });
                return;
            }
            if let Some((held, n)) = waiting.take() {
                grams.push(held.get(..n).unwrap_or(&[]), false);
            }
            grams.push(character, false);
        };
        self.each_character(text, character, |grams| grams.read(&mut put));
        if let Some((held, n)) = waiting {
            self.grams.push(held.get(..n).unwrap_or(&[]), false);
            self.grams.read(&mut put);
        }
    }

    fn characters_in_words(&mut self, text: Text, mut put: impl FnMut(&[Key])) {
        let mut inside = false;
        let character = |grams: &mut Grams, character: &[u8], space: bool| {
            if space {
                if inside {
                    grams.close(&mut put);
                }
            } else {
                if !inside {
                    grams.clear();
                    grams.push(b" ", false);
                }
                grams.push(character, false);
            }
            inside = !space;
        };
        self.each_character(text, character, |_| ());
        if inside {
            self.grams.close(&mut put);
        }
    }
}

/// Bytes of a text that are read at once: the piece and its lower case fit into the first-level cache.
const PIECE: usize = 1 << 14;

/// Cuts a text after separators, so that words stay whole. A piece is longer than [`PIECE`] only without a separator.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut size = PIECE;
        while let Some(start) = rest.get(..size) {
            let separates = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'_';
            if let Some(at) = start.iter().rposition(separates) {
                let (piece, behind) = rest.split_at(at + 1);
                rest = behind;
                return Some(piece);
            }
            size = size.saturating_mul(2);
        }
        Some(std::mem::take(&mut rest))
    })
}

/// Runs of items.
struct Grams {
    lowest: usize,
    highest: usize,
    /// The items, one behind the other.
    text: Vec<u8>,
    items: Vec<(usize, usize)>,
    /// Items whose runs were read already.
    done: usize,
}

impl Grams {
    fn new(lowest: usize, highest: usize) -> Self {
        Grams { lowest: lowest.max(1), highest, text: Vec::new(), items: Vec::new(), done: 0 }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.items.clear();
        self.done = 0;
    }

    /// Takes the next item, with a blank before it where they are `apart`.
    #[inline(always)]
    fn push(&mut self, item: &[u8], apart: bool) {
        if apart && !self.items.is_empty() {
            self.text.push(b' ');
        }
        let start = self.text.len();
        self.text.extend_from_slice(item);
        self.items.push((start, self.text.len()));
    }

    /// Calls `put` with all runs that end in items which were not read before.
    fn read(&mut self, put: &mut impl FnMut(&[Key])) {
        let length = self.text.len();
        self.text.extend_from_slice(&[0; PAD]);
        let (mut together, mut n) = ([Key::default(); Words::TOGETHER], 0);
        for last in self.done..self.items.len() {
            let end = self.items[last].1;
            // From the longest run that ends here to the shortest.
            let first = (last + 1).saturating_sub(self.highest);
            let behind = (last + 2).saturating_sub(self.lowest);
            for &(start, _) in self.items.get(first..behind).unwrap_or(&[]) {
                together[n] = Key::within(&self.text, start, end);
                n = (n + 1) % Words::TOGETHER;
                if n == 0 {
                    put(&together);
                }
            }
        }
        put(&together[..n]);
        self.text.truncate(length);
        self.done = self.items.len();
        // Items that no further run reaches back to.
        let old = self.items.len().saturating_sub(self.highest);
        if let Some(&(first, _)) = self.items.get(old) {
            self.items.drain(..old);
            self.text.drain(..first);
            self.items.iter_mut().for_each(|(start, end)| (*start, *end) = (*start - first, *end - first));
            self.done -= old;
        }
    }

    /// Ends a word of characters with a blank; one that is too short for any run counts as a whole.
    fn close(&mut self, put: &mut impl FnMut(&[Key])) {
        self.push(b" ", false);
        if self.items.len() < self.lowest {
            put(&[Key::new(&self.text)]);
        } else {
            self.read(put);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::alphabet::tests::rust;

    fn tokens(text: &str, analyzer: Analyzer, lowest: usize, highest: usize) -> Vec<String> {
        let settings = Settings { analyzer, lowest, highest, lowercase: true, stop: None };
        let mut found = Vec::new();
        let text = Text { bytes: text.as_bytes(), ready: false };
        Reader::new(&settings, Some(rust())).read(text, |keys| {
            found.extend(keys.iter().map(|key| String::from_utf8_lossy(key.text()).into_owned()))
        });
        found
    }

    #[test]
    fn words_have_two_characters_or_more() {
        assert_eq!(tokens("A bc é ÉÉ _x 世 7 42", Analyzer::Words, 1, 1), ["bc", "éé", "_x", "42"]);
    }

    #[test]
    fn runs_of_words_have_one_blank_between_them() {
        assert_eq!(tokens("ab, cd\n\nef", Analyzer::Words, 2, 3), ["ab cd", "ab cd ef", "cd ef"]);
        assert_eq!(tokens("ab", Analyzer::Words, 2, 3), [""; 0]);
    }

    #[test]
    fn several_blanks_are_one_character_and_one_is_itself() {
        assert_eq!(tokens("a\tÉ \n b ", Analyzer::Characters, 1, 1), ["a", "\t", "é", " ", "b", " "]);
        assert_eq!(tokens("ab", Analyzer::Characters, 2, 9), ["ab"]);
    }

    #[test]
    fn short_words_count_once() {
        assert_eq!(tokens(" ab\n", Analyzer::CharactersInWords, 2, 3), [" a", " ab", "ab", "ab ", "b "]);
        assert_eq!(tokens("a b", Analyzer::CharactersInWords, 5, 6), [" a ", " b "]);
    }

    #[test]
    fn pieces_cut_no_word() {
        let text = format!("{} {}", "long".repeat(PIECE), "some words ".repeat(PIECE));
        assert!(pieces(text.as_bytes()).skip(1).all(|piece| piece.len() <= PIECE && piece.ends_with(b" ")));
        assert_eq!(pieces(text.as_bytes()).flatten().copied().collect::<Vec<u8>>(), text.as_bytes());
        assert_eq!(tokens(&text, Analyzer::Words, 1, 1).len(), 1 + 2 * PIECE);
        assert_eq!(tokens(&text, Analyzer::Words, 2, 3).len(), 4 * PIECE - 1);
        assert_eq!(tokens(&text, Analyzer::Characters, 3, 3).len(), text.len() - 2);
    }
}
