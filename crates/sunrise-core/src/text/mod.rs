//! From raw texts to sparse counts of their words.
//!
//! A text is bytes of UTF-8 in all steps. [`fold`] lower-cases it and marks the word characters, with the tables of
//! [`alphabet`] for characters beyond ASCII. [`tokens`] cuts it into words, characters or n-grams. [`words`] numbers the
//! distinct tokens, or [`hashed`] does without keeping them. [`tally`] counts the numbers of one text and [`mod@sort`]
//! sorts them. [`mod@count`] spreads the texts over threads and merges their words into one sorted vocabulary
//! ([`mod@merge`]). [`mod@digest`] hashes whole texts.
//!
//! Lone surrogates, which Python's strings may hold, are the three bytes that UTF-8 would give them.
//! The order of bytes is then the order of code points for every Python string.

pub mod alphabet;
pub mod count;
pub mod digest;
pub mod documents;
pub mod fold;
pub mod hashed;
pub mod merge;
pub mod scale;
pub mod sort;
pub mod tally;
pub mod tokens;
pub mod words;
