"""The profile of a column: the properties from which its family is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class ColumnProfile:
    """Properties of a column. Rows count by their weight; a row with a positive weight counts at least once.

    >>> ColumnProfile("number", cells=3, distinct=2, low=0.0, high=7.0, whole=True).counts
    True
    """

    #: "bool", "level", "number", or "sparse" for a sparse matrix as a whole.
    kind: str
    #: Number of observed cells.
    cells: float
    #: Number of distinct values; for numbers, counted up to 21.
    distinct: int
    low: float = float("nan")
    high: float = float("nan")
    whole: bool = False
    #: True for distinct whole numbers without large gaps, which may be row numbers.
    numbering: bool = False
    #: For levels: mean number of words and of characters of a cell.
    words: float = 0.0
    characters: float = 0.0
    #: For levels: how many level names are numbers.
    numbers: int = 0
    #: For levels of which most cells are numbers: the few other level names, and the number of their cells.
    tokens: tuple[str, ...] = ()
    token_cells: float = 0.0
    #: For a sparse matrix: True if all cells are 0 or 1.
    is_binary: bool = False
    #: Returns the least and the greatest ratio of variance to mean within a class; called only if a rule needs it.
    compute_dispersion: Callable[[], tuple[float, float]] = field(
        default=lambda: (float("nan"),) * 2, repr=False
    )

    @property
    def traits(self) -> set[str]:
        """Traits by which families say for which columns they are candidates."""
        traits = {"number": True, "positive": self.low > 0, "count": self.counts and self.high <= 2.0**53}
        traits["few whole numbers"] = self.has_few_values
        traits["binary"] = self.whole and self.distinct == 2 and self.low == 0 and self.high == 1
        return {name for name, holds in traits.items() if holds}

    @property
    def has_few_values(self) -> bool:
        """True for two whole numbers, or for up to 20, each of them in at least four cells on average."""
        return self.whole and (
            self.distinct <= 2 or (self.distinct <= 20 and 4 * self.distinct <= self.cells)
        )

    @property
    def counts(self) -> bool:
        """True if the column may hold counts: whole numbers from 0."""
        return self.whole and self.low >= 0

    @cached_property
    def dispersion(self) -> tuple[float, float]:
        """Least and greatest ratio of variance to mean among the classes."""
        return self.compute_dispersion()

    @property
    def numbers_text(self) -> str:
        """A hint for the reason of a choice if most cells, or more than 20 levels, are numbers stored as text."""
        if self.tokens:
            shown = ", ".join(map(repr, self.tokens))
            return (
                f", {self.numbers} of them numbers written as text beside {shown} in {self.token_cells:.0f} cells: "
                f"replace {shown} by None and convert the column to numbers"
            )
        if self.numbers <= 20 or self.numbers < 0.8 * self.distinct:
            return ""
        return f", {self.numbers} of them numbers written as text: convert the column to numbers"

    @property
    def dispersion_text(self) -> str:
        """The dispersion in words, for the reason of a choice."""
        low, high = self.dispersion
        if np.isinf(low):
            return "with fewer than two cells in every class"
        return f"with variance {low:.2g} to {high:.2g} times the mean"
