"""A look at a column: what there is to know of it before its family is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class ColumnProfile:
    """What a column looks like; rows count by their weight, but those that are there at least once.

    >>> ColumnProfile("number", cells=3, distinct=2, low=0.0, high=7.0, whole=True).counts
    True
    """

    #: "bool", "level", "number", or "sparse" for a sparse matrix as a whole.
    kind: str
    #: Observed cells.
    cells: float
    #: Different ones among them; for numbers, counted up to 21.
    distinct: int
    low: float = float("nan")
    high: float = float("nan")
    whole: bool = False
    #: Whole numbers, all different, that may be the numbers of the rows.
    numbering: bool = False
    #: Of levels: words and characters of a cell, on average.
    words: float = 0.0
    characters: float = 0.0
    #: Of levels: how many are called by a number.
    numbers: int = 0
    #: Of a sparse matrix: True if all cells are 0 or 1.
    is_binary: bool = False
    spread: Callable[[], tuple[float, float]] = field(default=lambda: (float("nan"),) * 2, repr=False)

    @property
    def traits(self) -> set[str]:
        """Traits by which families say for which columns they are candidates."""
        traits = {"number": True, "positive": self.low > 0, "count": self.counts and self.high <= 2.0**53}
        traits["few whole numbers"] = self.whole and self.distinct <= 20
        return {name for name, holds in traits.items() if holds}

    @property
    def counts(self) -> bool:
        """Whether it may be counts: whole numbers from 0."""
        return self.whole and self.low >= 0

    @cached_property
    def dispersion(self) -> tuple[float, float]:
        """Variance over mean, of the class where it is least and of that where it is most."""
        return self.spread()

    @property
    def numbers_text(self) -> str:
        """A hint where most of many levels are numbers that came as text."""
        if self.numbers <= 20 or self.numbers < 0.8 * self.distinct:
            return ""
        return f", {self.numbers} of them numbers written as text"

    @property
    def dispersion_text(self) -> str:
        """The same in words."""
        low, high = self.dispersion
        if np.isinf(low):
            return "of which no class has two"
        return f"with variance {low:.2g} to {high:.2g} times the mean"
