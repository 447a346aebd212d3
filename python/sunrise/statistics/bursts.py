"""Statistics of bursty words: number of documents of a class in which a word occurs once, twice, ..."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Integers, Labels, Positions
from sunrise._common.stored import stored
from sunrise.statistics.counts import Counts, RowCounts
from sunrise.statistics.deferred import Deferred


@stored("bursts")
@dataclass(frozen=True)
class Bursts(Deferred):
    """Frequencies of the counts of each word and of the document lengths, per class; `words` is sorted."""

    words: Labels
    counts: RowCounts
    #: Vocabulary of the words, or None. Statistics computed from these have None.
    vocabulary: Any = field(default=None, repr=False, compare=False, metadata={"stored": False})

    shapes = {"words": ("words",)}

    def is_consistent(self, sizes: dict[str, int]) -> bool:
        """True if there is one column of counts for every word, and one for the document lengths."""
        return self.counts.n_columns == sizes["words"] + 1

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "vocabulary": None}

    @property
    def rows(self) -> Integers:
        """Number of documents of every class, classes x 1."""
        return np.asarray(self.documents[:, None])

    @property
    def weight(self) -> Floats:
        """Weight of the documents of every class, classes x 1."""
        return np.asarray(self.counts.weight[:, self.counts.offsets[-2] :].sum(axis=1, keepdims=True))

    @property
    def documents(self) -> Integers:
        """Number of documents of every class."""
        return np.asarray(self.counts.rows[:, self.counts.offsets[-2] :].sum(axis=1))

    @property
    def documents_with_word(self) -> Integers:
        """Number of documents that contain each word, classes x words."""
        return self.counts.by_column(self.counts.rows)[:, :-1]

    @property
    def document_frequency(self) -> Integers:
        """Number of documents that contain each word, all classes together."""
        return np.asarray(self.documents_with_word.sum(axis=0))

    @property
    def decayed_document_frequency(self) -> Floats:
        """Weight of the documents that contain each word, all classes together."""
        return np.asarray(self.decayed_documents_with_word.sum(axis=0))

    @property
    def decayed_documents(self) -> Floats:
        """Weight of the documents of every class."""
        return np.asarray(self.weight[:, 0])

    @property
    def decayed_documents_with_word(self) -> Floats:
        """Weight of the documents that contain each word, classes x words."""
        return self.counts.by_column(self.counts.weight)[:, :-1]

    @property
    def observed(self) -> Integers:
        """Number of observed documents, as an array of one column."""
        return np.array([self.documents.sum()])

    def as_counts(self, terms: Any, weight: Floats) -> RowCounts:
        """Statistics of a block of counts with all words: document lengths of a subset of words are unknown."""
        return self.counts

    def _reindex_words(self, words: Labels) -> RowCounts:
        """Counts with one column per word of a larger sorted list; new words have no levels."""
        position = np.searchsorted(words, self.words)
        sizes = np.zeros(len(words) + 1, np.int64)
        sizes[position], sizes[-1] = np.diff(self.counts.offsets)[:-1], np.diff(self.counts.offsets)[-1]
        return replace(self.counts, offsets=np.concatenate([[0], np.cumsum(sizes)]))

    def _combine(self, other: Bursts, combine: Any) -> Bursts:
        words = self.words
        if not np.array_equal(self.words, other.words):
            words = np.unique(np.concatenate([self.words, other.words]))
        return Bursts(words, combine(self._reindex_words(words), other._reindex_words(words)))

    def __add__(self, other: Bursts) -> Bursts:
        return self._combine(other, lambda a, b: a + b)

    def __sub__(self, other: Bursts | Counts) -> Bursts:
        if isinstance(other, Counts):  # leave-one-out subtracts one row of counts over the same words
            return Bursts(self.words, self.counts - other)  # type: ignore[arg-type]
        return self.subtract(other)

    def subtract(self, other: Bursts, decayed: bool = False) -> Bursts:
        """Subtract other statistics; `decayed` says that weights have been decayed, see `subtract_observed`."""
        return self._combine(other, lambda a, b: a.subtract(b, decayed)).without_empty()

    def decayed(self, factor: float) -> Bursts:
        """Multiply all weights by a factor; words whose weight is negligible afterwards leave."""
        return Bursts(self.words, self.counts.decayed(factor)).without_empty()  # type: ignore[arg-type]

    def pruned(self, least: float) -> Bursts:
        """Drop words whose documents weigh less than `least` over all classes; the document lengths stay."""
        of_words = self.counts.by_column(self.counts.weight).sum(axis=0) < least
        of_words[-1] = False  # the document lengths
        return Bursts(self.words, self.counts._without_levels(of_words[self.counts.column])).without_empty()  # type: ignore[arg-type]

    def without_empty(self) -> Bursts:
        """Drop words without documents, so that forgetting all of them restores the statistics without the word."""
        occurs = self.documents_with_word.any(axis=0)
        if occurs.all():
            return self
        keep = np.append(occurs, True)
        sizes = np.diff(self.counts.offsets)[keep]
        # A word without documents has no levels, so only the offsets change.
        return Bursts(
            self.words[occurs], replace(self.counts, offsets=np.concatenate([[0], np.cumsum(sizes)]))
        )

    def without_rare(self, min_rows: int) -> Bursts:
        """Drop words that fewer than `min_rows` documents contain, all classes together.

        The lengths of the documents still include these words, because the documents themselves are not known.
        """
        often = self.documents_with_word.sum(axis=0) >= min_rows
        if often.all():
            return self
        keep = np.append(often, True)
        of_level = keep[self.counts.column]
        rest = replace(
            self.counts,
            offsets=np.concatenate([[0], np.cumsum(np.diff(self.counts.offsets)[keep])]),
            codes=self.counts.codes[of_level],
            rows=self.counts.rows[:, of_level],
            weight=self.counts.weight[:, of_level],
        )
        return Bursts(self.words[often], rest)

    def keep_classes(self, position: Positions) -> Bursts:
        """Keep only these classes, and all words."""
        return replace(self, counts=self.counts.keep_classes(position))  # type: ignore[arg-type]

    def with_levels_of(self, other: Bursts) -> Bursts:
        """Use the levels of `other`, which has the same words."""
        return replace(self, counts=self.counts.with_levels_of(other.counts))  # type: ignore[arg-type]

    def with_shares(self, parts: list[Bursts]) -> Bursts:
        """Replace the weights by those of `parts`, one per class: EM's expected counts of that class."""
        return replace(self, counts=self.counts.with_shares([part.counts for part in parts]))  # type: ignore[arg-type]

    def scaled(self, factor: Floats) -> Bursts:
        """Multiply the weight of every class by its factor."""
        scaled = Bursts(self.words, self.counts.scaled(factor))  # type: ignore[arg-type]
        return scaled if (factor > 0).all() else scaled.without_empty()

    def reindexed(self, position: Positions, n_classes: int) -> Bursts:
        """Move class k to position[k] of `n_classes` classes; the other classes are empty."""
        return replace(self, counts=self.counts.reindexed(position, n_classes))  # type: ignore[arg-type]

    def select_classes(self, position: Positions) -> Bursts:
        """Keep only these classes."""
        return Bursts(self.words, self.counts.select_classes(position)).without_empty()  # type: ignore[arg-type]

    def select_columns(self, columns: Positions) -> Bursts:
        """Returns self: a block of text has a single column."""
        return self
