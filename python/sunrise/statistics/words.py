"""Counts of words per class: documents with a word, and the sum of its scaled counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Integers, Labels
from sunrise.statistics.base import NeverSeenError, without_dust
from sunrise.statistics.counts import Counts
from sunrise.statistics.sums import Sums


@dataclass(frozen=True)
class Words(Counts):
    """The words of one column of text: in how many documents of a class each is, and the sum of what it counts there.

    The empty word, which no document has, comes first and stands for the documents themselves.
    """

    @classmethod
    def of(cls, words: Labels | Callable[[], Labels], found: Integers, sums: Floats) -> Words:
        """From words in order and classes x (1 + words), the documents of the classes first.

        Words may be a function that gives them: most models never ask for a hundred thousand strings.
        """
        self = cls(np.array([0, found.shape[1]]), np.empty(0, object), found, sums)
        del self.__dict__["codes"]
        object.__setattr__(self, "_words", words if callable(words) else lambda: words)
        return self

    def __getattr__(self, name: str) -> Any:
        if name != "codes" or "_words" not in self.__dict__:
            raise AttributeError(name)
        codes = np.concatenate([np.array([""], dtype=object), self.__dict__["_words"]()])
        object.__setattr__(self, "codes", codes)
        return codes

    def without_empty(self) -> Counts:
        """Drop the words without documents; the documents themselves stay, if there are none, too."""
        keep = np.asarray(self.rows.any(axis=0))
        keep[:1] = True
        if keep.all():
            return self
        offsets = np.array([0, int(keep.sum())])
        rest = self.codes[keep], self.rows[:, keep], self.weight[:, keep]
        return Words(offsets, *rest)

    def placed_like(self, other: Counts) -> Counts:
        """Words that were counted by a vocabulary are in their places."""
        return self

    def known_by(self, vocabulary: Any) -> Words:
        """The same, with the vocabulary of its words, which need not be made again."""
        object.__setattr__(self, "_vocabulary", vocabulary)
        return self

    @property
    def vocabulary(self) -> Any:
        """The vocabulary of its words where it is at hand, else None. What is made of these statistics has none."""
        return self.__dict__.get("_vocabulary")

    def as_counts(self, terms: Any, weight: Floats) -> Sums:
        """The words that have a weight (NaN is none) as a block of counts, weighed."""
        use = ~np.isnan(weight)
        sums = self.sums if use.all() else self.sums[:, use]
        if not (weight[use] == 1.0).all():
            sums = sums * weight[use]
        return Sums(self.rows[:, :1], self.weight[:, :1], sums)

    def __sub__(self, other: Counts | Sums) -> Counts:
        if not isinstance(other, Sums):
            return super().__sub__(other)
        # One document, added up as a row of counts: its words stay in their places.
        taken = np.concatenate([other.rows[:, :1], other.rows * (other.x > 0)], axis=1)
        sums = np.concatenate([other.observed_weight[:, :1], other.x], axis=1)
        rows = self.rows - taken
        if (rows < 0).any():
            raise NeverSeenError("more documents are to be taken out than were seen")
        return replace(
            self, rows=rows, weight=np.where(rows > 0, without_dust(self.weight - sums, self.weight), 0.0)
        )

    @property
    def words(self) -> Labels:
        """The words, sorted."""
        return self.codes[1:]

    @property
    def found(self) -> Integers:
        """Documents with every word, classes x words."""
        return self.rows[:, 1:]

    @property
    def sums(self) -> Floats:
        """What every word counts, classes x words."""
        return self.weight[:, 1:]

    @property
    def documents(self) -> Integers:
        """Documents of every class."""
        return np.asarray(self.rows[:, :1].sum(axis=1))

    @property
    def observed(self) -> Integers:
        """Documents, as rows."""
        return np.asarray(self.rows[:, :1].sum(axis=0))
