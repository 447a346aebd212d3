"""Tokenisation: raw texts to sparse word counts, with a vocabulary or with hashing."""

from sunrise.text.counter import Counted, WordCounter
from sunrise.text.vocabulary import Vocabulary

__all__ = ["Counted", "Vocabulary", "WordCounter"]
