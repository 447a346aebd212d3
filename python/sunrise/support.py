"""Supports: which cells a family can take, declared as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sunrise.arrays import Floats


@dataclass(frozen=True)
class Support:
    """The cells a family can take, and how one is read.

    Drives validation, error texts and random test data.

    >>> COUNTS.lowest, COUNTS.highest
    (0.0, inf)
    """

    text: str
    lowest: float = -math.inf
    highest: float = math.inf
    #: Cells are level codes: whole numbers.
    whole: bool = False
    #: Where given, a cell is read as 1 if it is above this threshold, else as 0.
    above: float | None = None

    @property
    def reading(self) -> tuple[float | None, float, float]:
        """What the native kernels need to know to read a cell."""
        return self.above, self.lowest, self.highest

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw cells for tests: ordinary ones, with repeats and zeros."""
        if self.whole:
            return rng.integers(0, 4, shape).astype(float)
        if self.highest == 1.0:
            return rng.integers(0, 2, shape).astype(float)
        if self.lowest == 0.0:
            return rng.poisson(1.0, shape).astype(float)
        return np.round(rng.normal(0.0, 2.0, shape), 1)


REAL = Support("a finite number")
COUNTS = Support("a count, 0 or more", lowest=0.0)
BINARY = Support("between 0 and 1", lowest=0.0, highest=1.0)
LEVELS = Support("a level code: 0, 1, 2, ..., at most 2**53", lowest=0.0, highest=2.0**53, whole=True)
