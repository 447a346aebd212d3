"""Supports: which cells a family can take, declared as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.statistics.terms import Term, X


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
    #: Cells are whole numbers.
    whole: bool = False
    #: Where given, a cell is read as 1 if it is above this threshold, else as 0.
    above: float | None = None
    #: What of a cell is added up and weighed: itself, its logarithm, ... A column has as many views.
    views: tuple[Term, ...] = (X,)
    #: Where given, (low, high, cells): a value is kept as shares of the two nodes of this grid about it.
    grid: tuple[float, float, int] | None = None

    @property
    def plain(self) -> bool:
        """Whether the one view of a cell is the cell itself."""
        return self.views == (X,)

    @property
    def signed(self) -> bool:
        """Whether what is added up may be negative."""
        return self.above is None and (self.lowest < 0 or any(view.signed for view in self.views))

    def read(self, x: Floats) -> Floats:
        """Cells as they are, or above and not above the threshold."""
        return x if self.above is None else np.where(np.isnan(x), x, (x > self.above).astype(float))

    def views_of(self, x: Floats) -> Floats:
        """The views of cells (rows x columns), those of a column side by side."""
        if self.plain:
            return x
        return np.stack([view.of(x) for view in self.views], axis=2).reshape(
            len(x), x.shape[1] * len(self.views)
        )

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw cells for tests: ordinary ones, with repeats and zeros."""
        if self.whole:
            return rng.integers(0, 4, shape).astype(float)
        if self.highest == 1.0:
            return rng.integers(0, 2, shape).astype(float)
        if self.highest < 1.0:
            return np.round(rng.beta(2.0, 3.0, shape), 2) * 0.98 + 0.01
        if self.lowest == 0.0:
            return rng.poisson(1.0, shape).astype(float)
        if self.lowest > 0.0:
            return np.round(rng.gamma(2.0, 2.0, shape), 1) + 0.1
        return np.round(rng.normal(0.0, 2.0, shape), 1)


REAL = Support("a finite number")
COUNTS = Support("a count, 0 or more", lowest=0.0)
WHOLE_COUNTS = Support("a whole count: 0, 1, 2, ...", lowest=0.0, highest=2.0**53, whole=True)
#: The smallest float above 0.
_TINY = 5e-324
POSITIVE = Support("a number above 0", lowest=_TINY)
BETWEEN = Support("a number between 0 and 1, both excluded", lowest=_TINY, highest=1.0 - 2.0**-53)
BINARY = Support("between 0 and 1", lowest=0.0, highest=1.0)
LEVELS = Support("a level code: 0, 1, 2, ..., at most 2**53", lowest=0.0, highest=2.0**53, whole=True)
