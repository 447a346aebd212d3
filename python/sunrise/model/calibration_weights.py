"""The result of calibration: weights of the columns and offsets of the classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats, Labels, Positions
from sunrise._common.stored import stored
from sunrise.model.word_weights import WordWeights
from sunrise.statistics.model import Stats


@stored("strengths")
class Strengths(NamedTuple):
    """The penalty is spread sum_j (w_j - m)^2 + J mean (m - 1)^2 + zero sum_j w_j^2, with m the mean of J weights."""

    spread: float
    mean: float
    zero: float


@stored("calibration")
@dataclass(frozen=True)
class Calibration:
    """The calibrated score is (length + 1)^exponent times the weighted sum of the columns, plus prior and offset.

    `weights` and `exponents_of_columns` have one number per column and then one per interaction; the columns of a joint
    block share theirs.
    `offsets` maps classes to offsets. `strengths` are those of the penalty on column weights. `stale` is True if the
    statistics have changed since calibration; at that time the rows had the weight `total_weight`.
    """

    kind: str
    weights: Floats
    exponents_of_columns: Floats
    offsets: dict[Any, float]
    strengths: Strengths | None = None
    stale: bool = False
    total_weight: float = float("inf")
    #: Weights of the words of a text column, with calibrate="words".
    words: WordWeights | None = None
    _warned: list[bool] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def none(cls, kind: str, n_summands: int, classes: Labels) -> Calibration:
        """Return the calibration of columns and interactions that changes nothing."""
        zeros = np.zeros(n_summands)
        return cls(kind, zeros + 1.0, zeros, dict.fromkeys(classes.tolist(), 0.0))

    def offsets_of(self, classes: Labels) -> Floats:
        """Return the offsets of these classes; 0 for a class that is new since calibration."""
        return np.array([self.offsets.get(label, 0.0) for label in classes.tolist()])

    @property
    def has_warned(self) -> bool:
        """True if a prediction has warned that the data have outgrown this calibration."""
        return bool(self._warned)

    def note_warning(self) -> None:
        """Remember that a prediction has warned; calibrations of later statistics remember it, too."""
        self._warned.append(True)

    def mark_stale(self, stats: Stats) -> Calibration:
        """Return the same calibration for other statistics, marked as stale."""
        words = (
            self.words if self.words is None or len(stats.blocks) != 1 else self.words.within(stats.blocks[0])
        )
        return replace(self, stale=True, words=words)

    def with_new_columns(self, new: list[int], old: list[int]) -> Calibration:
        """Return the calibration with the mean weight of the old columns for columns that are new since then."""
        weights = self.weights.copy()
        weights[new] = weights[old].mean() if old else 1.0
        return replace(self, weights=weights, stale=True)

    def select_columns(self, columns: Positions) -> Calibration:
        """Return the calibration of some columns, marked as stale: it was fitted with all columns."""
        return replace(self.select_summands(columns), stale=True)

    def select_summands(self, summands: Positions) -> Calibration:
        """Return the calibration of some columns and interactions; the others have the weight 0."""
        weights, exponents = self.weights[summands], self.exponents_of_columns[summands]
        return replace(self, weights=weights, exponents_of_columns=exponents)
