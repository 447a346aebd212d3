"""Word statistics per class: number of documents that contain a word, and the sum of its transformed counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Integers, Labels
from sunrise._common.stored import stored
from sunrise.statistics.base import NeverSeenError, clear_residue
from sunrise.statistics.counts import Counts
from sunrise.statistics.sums import Sums


@stored("words")
@dataclass(frozen=True)
class Words(Counts):
    """Statistics of one column of text: documents that contain each word, and sums of the word's transformed counts.

    The first level is the empty word "", which no document contains: its entries count all documents of a class.
    """

    @classmethod
    def of(cls, words: Labels | Callable[[], Labels], documents: Integers, sums: Floats) -> Words:
        """Build from sorted words and two arrays, classes x (1 + words), whose first column is for all documents.

        `words` may be a function that returns them: most models never need a hundred thousand Python strings.
        """
        parts = {"offsets": np.array([0, documents.shape[1]]), "rows": documents, "weight": sums}

        def codes() -> Labels:
            return np.concatenate([np.array([""], dtype=object), words() if callable(words) else words])

        return cls.deferred(parts, {"codes": codes})

    def without_empty(self) -> Counts:
        """Drop words without documents; the first level, which counts all documents, always stays."""
        keep = np.asarray(self.rows.any(axis=0))
        keep[:1] = True
        if keep.all():
            return self
        offsets = np.array([0, int(keep.sum())])
        rest = self.codes[keep], self.rows[:, keep], self.weight[:, keep]
        return Words(offsets, *rest)

    def without_rare(self, min_rows: int) -> Counts:
        """Drop words that fewer than `min_rows` documents contain, all classes together, as if they were unknown."""
        keep = np.asarray(self.rows.sum(axis=0) >= min_rows)
        keep[:1] = True
        return self._select_levels(keep)

    def with_levels_of(self, other: Counts) -> Counts:
        """Returns self: words counted with the vocabulary of `other` have its levels already."""
        return self

    def with_vocabulary(self, vocabulary: Any) -> Words:
        """Attach the vocabulary of the words, so that it need not be built again; returns self."""
        object.__setattr__(self, "_vocabulary", vocabulary)
        return self

    @property
    def vocabulary(self) -> Any:
        """The attached vocabulary, or None. Statistics computed from these (sums, differences, ...) have none."""
        return self.__dict__.get("_vocabulary")

    def as_counts(self, terms: Any, weight: Floats) -> Sums:
        """Sums of a block of counts: the words whose weight is not NaN, times their weights."""
        use = ~np.isnan(weight)
        sums = self.sums if use.all() else self.sums[:, use]
        if not (weight[use] == 1.0).all():
            sums = sums * weight[use]
        return Sums(self.rows[:, :1], self.weight[:, :1], sums)

    def __sub__(self, other: Counts | Sums) -> Counts:
        if not isinstance(other, Sums):
            return super().__sub__(other)
        # Leave-one-out subtracts one document as a row of counts over the same words.
        if other.x.shape[1] == 0:
            return self  # without words, nothing depends on the number of documents
        removed = np.concatenate([other.rows[:, :1], other.rows * (other.x > 0)], axis=1)
        sums = np.concatenate([other.observed_weight[:, :1], other.x], axis=1)
        rows = self.rows - removed
        if (rows < 0).any():
            raise NeverSeenError("there are more documents with a word than fitted ones")
        return replace(
            self, rows=rows, weight=np.where(rows > 0, clear_residue(self.weight - sums, self.weight), 0.0)
        )

    @property
    def words(self) -> Labels:
        """Words, sorted."""
        return self.codes[1:]

    @property
    def documents_with_word(self) -> Integers:
        """Number of documents that contain each word, classes x words."""
        return self.rows[:, 1:]

    @property
    def sums(self) -> Floats:
        """Sum of the transformed counts of each word, classes x words."""
        return self.weight[:, 1:]

    @property
    def documents(self) -> Integers:
        """Number of documents of every class."""
        return np.asarray(self.rows[:, :1].sum(axis=1))

    @property
    def observed(self) -> Integers:
        """Number of observed documents, as an array of one column."""
        return np.asarray(self.rows[:, :1].sum(axis=0))
