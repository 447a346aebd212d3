"""The result of calibration: weights of the columns and offsets of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Labels, Positions


@dataclass(frozen=True)
class Calibration:
    """The calibrated score is (length + 1)^exponent times the weighted sum of the columns, plus prior and offset.

    `weights` and `exponents_of_columns` have one number per column; the columns of a joint block share theirs.
    `offsets` maps classes to offsets. `stale` is True if the statistics have changed since calibration.
    """

    kind: str
    weights: Floats
    exponents_of_columns: Floats
    offsets: dict[Any, float]
    stale: bool = False

    def offsets_of(self, classes: Labels) -> Floats:
        """Return the offsets of these classes; 0 for a class that is new since calibration."""
        return np.array([self.offsets.get(label, 0.0) for label in classes.tolist()])

    def mark_stale(self) -> Calibration:
        """Return the same calibration, marked as stale."""
        return replace(self, stale=True)

    def with_new_columns(self, new: list[int], old: list[int]) -> Calibration:
        """Return the calibration with the mean weight of the old columns for columns that are new since then."""
        weights = self.weights.copy()
        weights[new] = weights[old].mean() if old else 1.0
        return replace(self, weights=weights, stale=True)

    def select_columns(self, columns: Positions) -> Calibration:
        """Return the calibration of some columns, marked as stale: it was fitted with all columns."""
        weights, exponents = self.weights[columns], self.exponents_of_columns[columns]
        return replace(self, weights=weights, exponents_of_columns=exponents, stale=True)
