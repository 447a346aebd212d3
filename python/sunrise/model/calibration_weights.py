"""What calibration has found: weights of the columns and offsets of the classes, apart from the statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Labels, Positions


@dataclass(frozen=True)
class Calibration:
    """The calibrated score is (length + 1)^exponent times the weighted sum of the columns, plus prior and offset.

    `weights` and `exponents` have a number for every column; those of a joint block are the same. `offsets` are by
    class. It is stale once the statistics have changed, and keeps its numbers.
    """

    kind: str
    weights: Floats
    exponents_of_columns: Floats
    offsets: dict[Any, float]
    stale: bool = False

    def offsets_of(self, classes: Labels) -> Floats:
        """The offsets of these classes; 0 for one that was not there."""
        return np.array([self.offsets.get(label, 0.0) for label in classes.tolist()])

    def stale_now(self) -> Calibration:
        """The same, of statistics that have changed since."""
        return replace(self, stale=True)

    def of(self, columns: Positions) -> Calibration:
        """That of some columns, of which it was not made."""
        weights, exponents = self.weights[columns], self.exponents_of_columns[columns]
        return replace(self, weights=weights, exponents_of_columns=exponents, stale=True)
