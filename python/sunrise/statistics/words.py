"""Word statistics per class: number of documents that contain a word, and the sum of its transformed counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Integers, Labels
from sunrise._common.stored import stored
from sunrise.statistics.base import NeverSeenError, clear_residue
from sunrise.statistics.counts import Counts
from sunrise.statistics.sums import Product, Sums


@stored("words")
@dataclass(frozen=True)
class Words(Counts):
    """Statistics of one column of text: documents that contain each word, and sums of the word's transformed counts.

    The first level is the empty word "", which no document contains: its entries count all documents of a class.

    `decayed_rows` is None until weights are decayed. From then on it has the number of documents, each multiplied by
    the decays since it was added, because document frequencies count documents without their sample weights.
    """

    decayed_rows: Floats | None = None

    shapes = {**Counts.shapes, "decayed_rows": ("classes", "levels")}

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
        keep = np.concatenate([[True], self.document_frequency > 0])
        if keep.all():
            return self
        offsets = np.array([0, int(keep.sum())])
        rest = self.codes[keep], self.rows[:, keep], self.weight[:, keep]
        return Words(
            offsets, *rest, decayed_rows=None if self.decayed_rows is None else self.decayed_rows[:, keep]
        )

    # Decayed document counts go through the same operations as the weights.

    @property
    def effective_rows(self) -> Floats:
        """Number of documents with each word, every document multiplied by the decays since it was added."""
        return self.rows.astype(float) if self.decayed_rows is None else self.decayed_rows

    def __add__(self, other: Counts) -> Counts:
        total = super().__add__(other)
        if not isinstance(other, Words) or (self.decayed_rows is None and other.decayed_rows is None):
            return total
        mine, theirs = (replace(w, weight=w.effective_rows, decayed_rows=None) for w in (self, other))
        return replace(total, decayed_rows=(mine + theirs).weight)  # type: ignore[call-arg]

    @property
    def _zeros(self) -> Counts:
        return replace(self, rows=0 * self.rows, weight=0.0 * self.weight, decayed_rows=None)

    def _with_rest(self, removed: Any, rows: Integers, weight: Floats) -> Counts:
        if self.decayed_rows is None and removed.decayed_rows is None:
            return replace(self, rows=rows, weight=weight)
        rest = np.where(rows > 0, np.maximum(self.effective_rows - removed.effective_rows, 0.0), 0.0)
        return replace(self, rows=rows, weight=weight, decayed_rows=rest)

    def _map_arrays(self, change: Any) -> Counts:
        decayed = None if self.decayed_rows is None else change(self.decayed_rows)
        return replace(self, rows=change(self.rows), weight=change(self.weight), decayed_rows=decayed)

    def decayed(self, factor: float) -> Counts:
        """Multiply all weights by a factor; words whose weight is negligible afterwards leave."""
        rest = replace(self, decayed_rows=factor * self.effective_rows)
        vocabulary, rest = self.vocabulary, super(Words, rest).decayed(factor)  # type: ignore[assignment]
        return rest.with_vocabulary(vocabulary) if len(rest.codes) == len(self.codes) else rest

    def pruned(self, least: float) -> Counts:
        """Drop words whose documents count less than `least` over all classes, by `effective_rows`."""
        drop = self.effective_rows.sum(axis=0) < least
        drop[:1] = False  # all documents
        return self._without_levels(drop)

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
        # In C order, unlike `sums[:, use]`: engines would copy the table again for every call.
        sums = self.sums if use.all() else self.sums.compress(use, axis=1)
        return Sums.weighted(self.rows[:, :1], self.weight[:, :1], Product(sums, weight[use]))

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

    @cached_property
    def document_frequency(self) -> Integers:
        """Number of documents that contain each word, all classes together."""
        return np.asarray(self.documents_with_word.sum(axis=0))

    @property
    def decayed_document_frequency(self) -> Floats:
        """The same, with every document multiplied by the decays since it was added."""
        if self.decayed_rows is None:
            return self.document_frequency.astype(float)
        return np.asarray(self.decayed_rows[:, 1:].sum(axis=0))

    @property
    def decayed_documents(self) -> Floats:
        """Number of documents of every class, each multiplied by the decays since it was added."""
        rows = self.rows if self.decayed_rows is None else self.decayed_rows
        return np.asarray(rows[:, 0], float)

    @property
    def decayed_documents_with_word(self) -> Floats:
        """Number of documents that contain each word, multiplied by their decays, classes x words."""
        return self.effective_rows[:, 1:]

    @property
    def observed(self) -> Integers:
        """Number of observed documents, as an array of one column."""
        return np.asarray(self.rows[:, :1].sum(axis=0))
