"""Statistics of bursty words: in how many documents of a class a word stands once, twice and so on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Integers, Labels, Positions
from sunrise.statistics.counts import Counts, RowCounts


@dataclass(frozen=True)
class Bursts:
    """Words in order, and for each of them, and for the lengths of the documents, how often each count is there."""

    words: Labels
    counts: RowCounts
    #: The vocabulary of the words where it is at hand; what is made of these statistics has none.
    vocabulary: Any = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "vocabulary": None}

    @property
    def rows(self) -> Integers:
        """Documents of every class, classes x 1."""
        return np.asarray(self.documents[:, None])

    @property
    def weight(self) -> Floats:
        """The weight of these documents, classes x 1."""
        return np.asarray(self.counts.weight[:, self.counts.offsets[-2] :].sum(axis=1, keepdims=True))

    @property
    def documents(self) -> Integers:
        """Documents of every class."""
        return np.asarray(self.counts.rows[:, self.counts.offsets[-2] :].sum(axis=1))

    @property
    def found(self) -> Integers:
        """Documents with every word, classes x words."""
        return self.counts.by_column(self.counts.rows)[:, :-1]

    @property
    def observed(self) -> Integers:
        """Documents, as rows."""
        return np.array([self.documents.sum()])

    def as_counts(self, terms: Any, weight: Floats) -> RowCounts:
        """The words as a block of counts, none of which can be left out: lengths are known of all together."""
        return self.counts

    def _spread(self, words: Labels) -> RowCounts:
        """The counts among more words."""
        place = np.searchsorted(words, self.words)
        sizes = np.zeros(len(words) + 1, np.int64)
        sizes[place], sizes[-1] = np.diff(self.counts.offsets)[:-1], np.diff(self.counts.offsets)[-1]
        return replace(self.counts, offsets=np.concatenate([[0], np.cumsum(sizes)]))

    def _with(self, other: Bursts, combine: Any) -> Bursts:
        words = self.words
        if not np.array_equal(self.words, other.words):
            words = np.unique(np.concatenate([self.words, other.words]))
        return Bursts(words, combine(self._spread(words), other._spread(words)))

    def __add__(self, other: Bursts) -> Bursts:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Bursts | Counts) -> Bursts:
        if isinstance(other, Counts):  # one document, added up as a row of counts: words stay in their places
            return Bursts(self.words, self.counts - other)  # type: ignore[arg-type]
        return self._with(other, lambda a, b: a - b).without_empty()

    def without_empty(self) -> Bursts:
        """Drop words without documents: a forgotten word leaves no trace."""
        there = self.found.any(axis=0)
        if there.all():
            return self
        keep = np.append(there, True)
        sizes = np.diff(self.counts.offsets)[keep]
        # A word without documents has no levels, so only where words begin has to change.
        return Bursts(
            self.words[there], replace(self.counts, offsets=np.concatenate([[0], np.cumsum(sizes)]))
        )

    def keep_classes(self, position: Positions) -> Bursts:
        """Keep these classes, and all words."""
        return replace(self, counts=self.counts.keep_classes(position))  # type: ignore[arg-type]

    def placed_like(self, other: Bursts) -> Bursts:
        """Return the counts with the levels of another, whose words these are."""
        return replace(self, counts=self.counts.placed_like(other.counts))  # type: ignore[arg-type]

    def with_shares(self, parts: list[Bursts]) -> Bursts:
        """Replace the weights by counts of one class each: shares of documents without a label."""
        return replace(self, counts=self.counts.with_shares([part.counts for part in parts]))  # type: ignore[arg-type]

    def scaled(self, factor: Floats) -> Bursts:
        """Multiply the weight of every class by its factor."""
        scaled = Bursts(self.words, self.counts.scaled(factor))  # type: ignore[arg-type]
        return scaled if (factor > 0).all() else scaled.without_empty()

    def reindexed(self, position: Positions, n_classes: int) -> Bursts:
        """Lay the classes out among `n_classes`; the others are empty."""
        return replace(self, counts=self.counts.reindexed(position, n_classes))  # type: ignore[arg-type]

    def select_classes(self, position: Positions) -> Bursts:
        """Keep these classes only."""
        return Bursts(self.words, self.counts.select_classes(position)).without_empty()  # type: ignore[arg-type]

    def select_columns(self, columns: Positions) -> Bursts:
        """A column of text is one, as it is."""
        return self
