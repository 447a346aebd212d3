//! From raw texts to sparse counts of their words.
//!
//! A text is bytes of UTF-8 on its way through: [`fold`] lower-cases it and marks the word characters, by what
//! [`alphabet`] knows of characters beyond ASCII; [`tokens`] cuts it into words, characters or runs of them;
//! [`words`] gives every distinct token a number (or [`hashed`] does, without keeping it); [`tally`] adds up the numbers of one text, which
//! [`order`] sorts; [`count`] spreads
//! the texts over threads and brings what they found into one sorted vocabulary ([`merge`]).
//!
//! Lone surrogates, which Python's strings may hold, travel as the three bytes that UTF-8 would give them.
//! The order of bytes is then the order of code points for every Python string.

pub mod alphabet;
pub mod count;
pub mod documents;
pub mod fold;
pub mod hashed;
pub mod merge;
pub mod order;
pub mod scale;
pub mod tally;
pub mod tokens;
pub mod words;
