"""Weights of words beyond their counts: a factor for each band of words, and a weight of every word and class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise._common import labels
from sunrise._common.arrays import Floats, Integers, Labels, Positions
from sunrise._common.stored import stored
from sunrise.families.documents_left_out import band_of
from sunrise.forms.linear import Linear
from sunrise.statistics.deferred import Deferred


class WordChoice(NamedTuple):
    """The weights of words that the folds chose: factors of bands or none, and the strength of the penalty or None."""

    bands: bool
    strength: float | None


@stored("word weights")
@dataclass(frozen=True, eq=False)
class WordWeights(Deferred):
    """The weight of word j for class c is bands[band of j] * (weight of the model) + (idf weight of j) * learned[j, c].

    `words` are the words that have learned weights; new words have none. `strength` is the factor of the penalty that
    the folds chose, None if no weights were learned; `bands` has one number if all words have the same factor.
    """

    words: Labels
    classes: Labels
    learned: NDArray[np.float32]
    bands: Floats
    strength: float | None = None

    shapes: ClassVar[dict[str, tuple[str, ...]]] = {
        "words": ("words",),
        "classes": ("classes",),
        "learned": ("words", "classes"),
    }

    @classmethod
    def of(
        cls,
        vocabulary: Any,
        positions: Positions,
        classes: Labels,
        learned: NDArray[np.float32],
        bands: Floats,
        strength: float | None,
    ) -> WordWeights:
        """Return the weights of the words at some positions of a vocabulary; strings are made at the first use."""
        # A copy: a model file would store an array that is shared in another order when it is saved again.
        given = {"classes": classes.copy(), "learned": learned, "bands": bands, "strength": strength}
        self = cls.deferred(given, {"words": lambda: vocabulary.words[positions]})
        self.__dict__["_place"] = vocabulary, positions
        return self

    @property
    def choice(self) -> WordChoice:
        """The settings that the folds chose."""
        return WordChoice(len(self.bands) > 1, self.strength)

    def _positions(self, stats: Any) -> Integers:
        """Return the positions of the words among the words of statistics; -1 for words that these do not have."""
        vocabulary, positions = self.__dict__.get("_place", (None, None))
        if vocabulary is not None and stats.vocabulary is vocabulary:
            return np.asarray(positions)
        place = {word: j for j, word in enumerate(stats.words.tolist())}
        return np.array([place.get(word, -1) for word in self.words.tolist()], np.int64)

    def learned_for(self, stats: Any, classes: Labels) -> Floats:
        """Return the learned weights of the words of statistics, classes x words; 0 for new words and classes."""
        at, position = self._positions(stats), labels.locate(classes, self.classes)
        out = np.zeros((len(stats.document_frequency), len(classes)))
        words, known = np.flatnonzero(at >= 0), np.flatnonzero(position >= 0)
        out[np.ix_(at[words], position[known])] = self.learned[np.ix_(words, known)]
        return out.T

    def factors_for(self, stats: Any) -> Floats:
        """Return the factors of the words of statistics."""
        if len(self.bands) == 1:
            return np.full(len(stats.document_frequency), self.bands[0])
        return np.asarray(self.bands[band_of(stats.document_frequency)])

    def apply(self, form: Any, family: Any, stats: Any, classes: Labels, weight: float) -> Linear:
        """Return the form of a text column with these weights; `weight` multiplies all of them."""
        scaled = form.times(weight * self.factors_for(stats))
        if self.strength is None:
            return scaled  # type: ignore[no-any-return]
        at, position = self._positions(stats), labels.locate(classes, self.classes)
        words, known = np.flatnonzero(at >= 0), np.flatnonzero(position >= 0)
        idf = np.nan_to_num(family.weight_to_apply)[at[words]]
        learned = np.zeros((len(words), len(classes)))
        learned[:, position[known]] = self.learned[np.ix_(words, known)]
        learned *= (weight * idf)[:, None]
        # The table of a million n-grams is large, so it is changed in place: `times` has made it.
        table = scaled.x.T
        for first in range(0, table.shape[1], len(classes)):  # draws have all classes several times
            table[at[words], first : first + len(classes)] += learned
        return Linear(scaled.base, scaled.x)

    def within(self, stats: Any) -> WordWeights:
        """Return the weights of the words that statistics still have: a forgotten word leaves no trace."""
        at = self._positions(stats)
        if (at >= 0).all():
            return self
        keep = at >= 0
        return replace(self, words=self.words[keep], learned=self.learned[keep])
