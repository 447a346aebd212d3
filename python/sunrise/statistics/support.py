"""Supports: the cells that a family accepts, declared as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.statistics.grids import Grid
from sunrise.statistics.terms import Term, X


@dataclass(frozen=True)
class Support:
    """The cells that a family accepts, and how a cell is converted before it is summed.

    Validation, error messages and random test data all follow from it.

    >>> COUNTS.lowest, COUNTS.highest
    (0.0, inf)
    """

    text: str
    lowest: float = -math.inf
    highest: float = math.inf
    #: True if cells must be whole numbers.
    whole: bool = False
    #: Optional threshold: a cell is read as 1 if it is greater, otherwise as 0.
    above: float | None = None
    #: Functions of a cell to sum: x itself, log x, ... Every function is one view, a column of its own in the sums.
    views: tuple[Term, ...] = (X,)
    #: Grids, one for every column or one for all: a value is stored as weights of the two grid nodes around it.
    grids: tuple[Grid | None, ...] = ()

    @property
    def plain(self) -> bool:
        """True if the only view is x itself."""
        return self.views == (X,)

    @property
    def bounded(self) -> bool:
        """True if some numbers are not in the support."""
        return self.whole or math.isfinite(self.lowest) or math.isfinite(self.highest)

    @property
    def signed(self) -> bool:
        """True if a view of a cell can be negative."""
        return self.above is None and (self.lowest < 0 or any(view.signed for view in self.views))

    def read(self, x: Floats) -> Floats:
        """Cells unchanged, or 1 and 0 for cells above and not above the threshold; NaN stays NaN."""
        return x if self.above is None else np.where(np.isnan(x), x, (x > self.above).astype(float))

    def views_of(self, x: Floats) -> Floats:
        """Views of cells, rows x (columns * views): the views of one column are adjacent."""
        if self.plain:
            return x
        return np.stack([view.of(x) for view in self.views], axis=2).reshape(
            len(x), x.shape[1] * len(self.views)
        )

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw random cells of the support for tests, with ties and, where allowed, zeros."""
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
