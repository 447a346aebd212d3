"""Vocabulary: the mapping from words to columns."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import _native


class Vocabulary:
    """Mapping from words to columns: word k of the list has column k.

    Build it once and use it for any number of texts; a lookup takes constant time.

    >>> vocabulary = Vocabulary(["cat", "dog"])
    >>> len(vocabulary), "dog" in vocabulary, vocabulary.column("dog")
    (2, True, 1)
    """

    def __init__(self, words: Iterable[str]) -> None:
        if isinstance(words, str):
            raise TypeError("a vocabulary is a list of words, and this is one str; pass [word]")
        self.native = _native.Words(words.tolist() if isinstance(words, np.ndarray) else list(words))

    @classmethod
    def of(cls, native: _native.Words) -> Vocabulary:
        """Wrap a vocabulary that the native code built."""
        self = cls.__new__(cls)
        self.native = native
        return self

    @cached_property
    def words(self) -> NDArray[np.object_]:
        """Words, in the order of their columns."""
        return self.native.words()

    def n_items(self, analyzer: str) -> NDArray[np.uint32]:
        """Number of words (with the analyzer "word") or characters of every n-gram.

        >>> Vocabulary(["not", "not good"]).n_items("word")
        array([1, 2], dtype=uint32)
        """
        return self.native.n_items(analyzer == "word")

    def select(self, keep: NDArray[np.bool_]) -> Vocabulary:
        """Return some of the words, in the same order."""
        return Vocabulary.of(self.native.select(keep))

    def column(self, word: str) -> int:
        """Column of a word; -1 if the word is unknown."""
        return self.native.find(word)

    def __len__(self) -> int:
        return len(self.native)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.native.find(word) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.native is other.native or np.array_equal(self.words, other.words)

    def __hash__(self) -> int:
        return hash(len(self))

    def __reduce__(self) -> Any:
        return Vocabulary, (self.words.tolist(),)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} words"
