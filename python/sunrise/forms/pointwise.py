"""Pointwise forms: the score of a cell is an arbitrary function of the cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import NotLinear, Readable, apply_weight


@dataclass(frozen=True, eq=False)
class Pointwise(NotLinear, Readable):
    """The score of a cell is `of(x)`, a function from rows x 1 x columns to rows x classes x columns.

    Evaluated in Python, so that a new distribution needs no native code.
    """

    of: Callable[[Floats], Floats]
    weight: Floats | float = 1.0

    kind: ClassVar[str] = "pointwise"
    impossible = None

    @property
    def finite(self) -> Pointwise:
        """The form itself: the function has no infinite values."""
        return self

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        return np.where(np.isnan(x)[:, None, :], 0.0, apply_weight(self.of(x[:, None, :]), self.weight))

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: numbers are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Pointwise:
        """Return the form with column scores multiplied by weights."""
        return replace(self, weight=self.weight * weight)
