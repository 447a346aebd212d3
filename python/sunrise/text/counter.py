"""Word counts of raw texts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Floats
from sunrise._common.stored import stored
from sunrise._common.threads import threads
from sunrise.text.alphabet import alphabet, normalise_text
from sunrise.text.texts import as_texts
from sunrise.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Counted:
    """Token counts: a sparse matrix (CSR) with a row per text and a column per word.

    Row i has the sorted, distinct columns `indices[indptr[i]:indptr[i + 1]]`; `data` holds their counts.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: Floats
    #: Number of tokens of every text, including tokens outside the vocabulary.
    lengths: NDArray[np.int64]
    #: True for missing texts (None, NaN, null); they have no tokens.
    missing: NDArray[np.bool_]
    #: Words of the columns; None if columns are hashes.
    vocabulary: Vocabulary | None = field(repr=False)
    n_columns: int
    _derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def derive(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return a value derived from the counts; `make` computes it once per key."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    @property
    def n_rows(self) -> int:
        """Number of texts."""
        return len(self.lengths)

    @property
    def words(self) -> NDArray[np.object_] | None:
        """Words of the columns; sorted by code point unless a vocabulary was given; None if columns are hashes."""
        return None if self.vocabulary is None else self.vocabulary.words

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Number of nonzero columns of every row."""
        return np.diff(self.indptr)

    def select_rows(self, rows: NDArray[Any]) -> Counted:
        """Counts of these rows, in this order; a row may be repeated."""
        matrix = self.matrix[rows]
        return replace(
            self,
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices,
            data=matrix.data,
            lengths=self.lengths[rows],
            missing=self.missing[rows],
        )

    def select_columns(self, keep: NDArray[np.bool_], vocabulary: Vocabulary) -> Counted:
        """Counts of some columns, which have these words; a text has the tokens of these columns only."""
        stored = keep[self.indices]
        ends = np.concatenate([[0], np.cumsum(stored)])[self.indptr]
        position = (np.cumsum(keep) - 1).astype(np.int32)
        data = self.data[stored]
        totals = np.concatenate([[0.0], np.cumsum(data)])[ends]
        return Counted(
            ends.astype(np.int64),
            position[self.indices[stored]],
            data,
            np.diff(totals).astype(np.int64),
            self.missing,
            vocabulary,
            len(vocabulary),
        )

    @property
    def matrix(self) -> Any:
        """Counts as a SciPy sparse array (`csr_array`)."""
        from scipy.sparse import csr_array

        small = len(self.data) <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32) if small else self.indptr
        matrix = csr_array((self.data, self.indices, indptr), shape=(self.n_rows, self.n_columns))
        matrix.has_canonical_format = True
        return matrix


@stored("word counter")
@dataclass(frozen=True)
class WordCounter:
    """Counts the words of raw texts; the defaults give the result of scikit-learn's CountVectorizer.

    - `analyzer`: the kind of token: "word" (two or more letters, digits or underscores), "char" (characters), or
      "char_wb" (characters within words, padded with a blank on both sides).
    - `ngram_range`: smallest and largest number of consecutive tokens that are counted together.
    - `lowercase`: convert texts to lower case first.
    - `strip_accents`: None, "unicode" (remove accents from letters) or "ascii" (also drop all other non-ASCII
      characters).
    - `stop_words`: words to remove before n-grams are formed; only for the analyzer "word".
    - `min_df`, `max_df`: drop words that occur in fewer or more texts than this: a number of texts, or a proportion
      of them as a float. `max_features`: keep only this many of the remaining words, the most frequent ones.
    - `binary`: count a word at most once per text.
    - `hash_bits`: use a hash of the token as its column instead of a vocabulary. Memory is then bounded, and batches
      of texts can be counted independently. The column is the lowest `hash_bits` bits of h ^ (h >> 32), where h is the
      64-bit FNV-1a hash of the token's UTF-8 bytes; it is the same on every machine and in every version.

    >>> counted = WordCounter().count(["The cat and the dog", "dog days"])
    >>> counted.words.tolist()
    ['and', 'cat', 'days', 'dog', 'the']
    >>> counted.matrix.toarray()
    array([[1., 1., 0., 1., 2.],
           [0., 0., 1., 1., 0.]])
    >>> known = WordCounter().count(["My dog has no cat"], counted.vocabulary)
    >>> known.indices, known.data, known.lengths
    (array([1, 3], dtype=int32), array([1., 1.]), array([5]))
    """

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: str | None = None
    stop_words: Collection[str] | None = None
    binary: bool = False
    hash_bits: int | None = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None

    def __post_init__(self) -> None:
        if self.analyzer not in ("word", "char", "char_wb"):
            raise ValueError(f"analyzer must be 'word', 'char' or 'char_wb', not {self.analyzer!r}")
        if self.strip_accents not in (None, "unicode", "ascii"):
            raise ValueError(f"strip_accents must be None, 'unicode' or 'ascii', not {self.strip_accents!r}")
        bounds = self.ngram_range
        if not isinstance(bounds, tuple | list) or len(bounds) != 2 or not all(map(_is_whole, bounds)):
            raise ValueError(f"ngram_range must be two whole numbers, not {bounds!r}")
        if not 1 <= bounds[0] <= bounds[1]:
            raise ValueError(f"ngram_range must be 1 <= lowest <= highest, not {bounds!r}")
        if self.hash_bits is not None and not (_is_whole(self.hash_bits) and 1 <= self.hash_bits <= 31):
            raise ValueError(f"hash_bits must be a whole number from 1 to 31, not {self.hash_bits!r}")
        for name in ("min_df", "max_df"):
            if not isinstance(getattr(self, name), int | float | np.number) or not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be a number, 0 or more, not {getattr(self, name)!r}")
        if self.max_features is not None and not (_is_whole(self.max_features) and self.max_features > 0):
            raise ValueError(f"max_features must be a whole number above 0, not {self.max_features!r}")
        if self.prunes and self.hash_bits is not None:
            raise ValueError(
                "with hash_bits there is no vocabulary to prune; remove min_df, max_df and max_features, or hash_bits"
            )
        object.__setattr__(self, "ngram_range", (int(bounds[0]), int(bounds[1])))
        if self.stop_words is not None:
            if isinstance(self.stop_words, str):
                raise ValueError(f"stop_words must be a list of words, not the str {self.stop_words!r}")
            object.__setattr__(self, "stop_words", frozenset(self.stop_words))

    @property
    def prunes(self) -> bool:
        """True if rare or frequent words are dropped."""
        return (self.min_df, self.max_df, self.max_features) != (1, 1.0, None)

    @cached_property
    def _native(self) -> _native.TextCounter:
        return _native.TextCounter(
            self.analyzer,
            (min(self.ngram_range[0], _MAX_NGRAM), min(self.ngram_range[1], _MAX_NGRAM)),
            bool(self.lowercase),
            None if self.stop_words is None else list(self.stop_words),
            bool(self.binary),
            None if self.hash_bits is None else int(self.hash_bits),
            alphabet,
            partial(normalise_text, lowercase=bool(self.lowercase), strip_accents=self.strip_accents),
            self.strip_accents is not None,
        )

    def __getstate__(self) -> dict[str, Any]:
        # The native object cannot be pickled; it is built again when needed.
        return {setting.name: getattr(self, setting.name) for setting in fields(self)}

    def count(self, texts: Any, vocabulary: Vocabulary | None = None, n_jobs: int | None = None) -> Counted:
        """Count the tokens of texts; with a vocabulary, only the tokens in it.

        `texts` is a list, a tuple or an array of str (or UTF-8 bytes), a column of pandas, polars or pyarrow (Arrow
        strings are read without a copy), or the path of a file with one text per line. None, NaN and null are missing
        texts.
        """
        if vocabulary is not None:
            if self.hash_bits is not None:
                raise ValueError("with hash_bits there is no vocabulary; pass one or the other")
            if not isinstance(vocabulary, Vocabulary):
                raise TypeError(
                    f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}; pass Vocabulary(words)"
                )
        return self._count(as_texts(texts), vocabulary, n_jobs)

    def shorten(self, counted: Counted, counter: WordCounter) -> Counted | None:
        """Return the counts of this counter, derived from those of a counter of longer n-grams; None if impossible.

        >>> longer, texts = WordCounter(ngram_range=(1, 2)), ["not good", "good"]
        >>> WordCounter().shorten(longer.count(texts), longer).words.tolist()
        ['good', 'not']
        """
        low, high = self.ngram_range
        if (
            counted.vocabulary is None
            or self.prunes
            or self.binary
            or low != 1
            or high >= counter.ngram_range[1]
            or replace(counter, ngram_range=self.ngram_range) != self
        ):
            return None
        keep = counted.vocabulary.n_items(self.analyzer) <= high
        return counted.select_columns(keep, counted.vocabulary.select(keep))

    def _count(self, texts: Any, vocabulary: Vocabulary | None, n_jobs: int | None) -> Counted:
        n_threads = (
            threads(n_jobs) if len(texts) > 1 else 1
        )  # only the native code knows the lengths of the texts
        words = None if vocabulary is None else vocabulary.native
        c = self._native.count(texts, words, n_threads)
        if c.words is not None:
            vocabulary = Vocabulary.of(c.words)
        n_columns = len(vocabulary) if vocabulary is not None else 1 << (self.hash_bits or 0)
        counted = Counted(c.indptr, c.indices, c.data, c.lengths, c.missing, vocabulary, n_columns)
        return self._prune(counted) if c.words is not None and self.prunes else counted

    def _prune(self, counted: Counted) -> Counted:
        """Drop words that are too rare or too frequent, by `min_df`, `max_df` and `max_features`."""
        n, n_texts = counted.n_rows, np.bincount(counted.indices, minlength=counted.n_columns)
        low, high = (
            limit if isinstance(limit, Integral) else limit * n for limit in (self.min_df, self.max_df)
        )
        keep = (n_texts >= low) & (n_texts <= high)
        if self.max_features is not None and keep.sum() > self.max_features:
            frequency = np.bincount(counted.indices, counted.data, counted.n_columns)
            order = np.argsort(-frequency[keep], kind="stable")
            keep[np.flatnonzero(keep)[order[self.max_features :]]] = False
        # The words stay native: strings of a million n-grams take longer to create than the counts.
        vocabulary = cast(Vocabulary, counted.vocabulary).select(keep)
        return replace(counted.select_columns(keep, vocabulary), lengths=counted.lengths)


#: More tokens than a text can have: a longer n-gram cannot occur, and this fits in 64 bits.
_MAX_NGRAM = 1 << 62


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
