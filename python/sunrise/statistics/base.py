"""What all sufficient statistics share.

Statistics add, subtract and scale; classes are aligned by label, levels by code. Integer row counts decide whether
anything was observed at all, because weights may leave rounding residue (0.1 + 0.2 - 0.1 - 0.2 is not 0).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Floats, Integers, Mask, Positions


class NeverSeenError(ValueError):
    """Rows are to be forgotten that the statistics do not hold."""


class Observed(Protocol):
    """Statistics that know how many cells they are of."""

    @property
    def rows(self) -> Integers:
        """Observed cells, as rows."""

    @property
    def observed_weight(self) -> Floats:
        """Observed cells, by weight."""


def reindex_classes(a: NDArray[Any], position: Positions, n_classes: int) -> NDArray[Any]:
    """Lay rows out among `n_classes`, row k at position[k]; the others are 0."""
    if (position < 0).any():
        raise LookupError("a class is not among those it is to be laid out among")
    wide = np.zeros((n_classes, *a.shape[1:]), a.dtype)
    wide[position] = a
    return wide


def per_row(sums: Floats, of: Observed) -> Floats:
    """Sums divided by the weight they were made of; 0 where nothing was seen."""
    return np.divide(sums, of.observed_weight, out=np.zeros_like(sums), where=of.rows > 0)


def left(before: Floats, taken: Floats, rows: Integers, touched: Mask | bool = True) -> Floats:
    """What is left of weights or counts, free of dust; less than nothing is refused."""
    rest = before - taken
    if (rest < -1e-9 * before).any():
        raise NeverSeenError("more is to be forgotten than was seen")
    return np.where((rows > 0) | ~np.asarray(touched), np.maximum(rest, 0.0), 0.0)


def without_dust(rest: Floats, before: Floats) -> Floats:
    """What is left of sums once something is taken out, where what cannot be told from rounding is nothing."""
    return np.where(rest <= 2.0**-46 * before, 0.0, rest)  # a NaN stays


def others(per_class: Floats) -> Floats:
    """Sum over the other classes, without subtracting: what is not there leaves no dust."""
    zero = np.zeros((1, *per_class.shape[1:]))
    before = np.cumsum(np.concatenate([zero, per_class[:-1]]), axis=0)
    after = np.cumsum(np.concatenate([zero, per_class[:0:-1]]), axis=0)[::-1]
    return np.asarray(before + after)


def left_weight(before: Observed, taken: Observed) -> tuple[Integers, Floats]:
    """Rows and weight that are left; one cannot be used up without the other."""
    rows = before.rows - taken.rows
    if (rows < 0).any():
        raise NeverSeenError("more rows are to be forgotten than were seen")
    seen = left(before.observed_weight, taken.observed_weight, rows, taken.rows > 0)
    dust = before.observed_weight - taken.observed_weight
    # Rows without a label may leave weight where they are no rows; what nothing is taken from cannot be wrong.
    used_up = (rows == 0) & (taken.rows > 0)
    if ((rows > 0) & (seen == 0)).any() or (used_up & (dust > 1e-9 * before.observed_weight)).any():
        raise NeverSeenError("the rows do not have the weights they were fitted with")
    return rows, seen


class Additive:
    """Statistics of numbers, whose columns do not depend on the rows that were seen."""

    @abstractmethod
    def select_classes(self, position: Positions) -> Any:
        """Keep these classes only."""

    def without_empty(self) -> Any:
        """Drop levels without rows; numbers have no levels."""
        return self

    def keep_classes(self, position: Positions) -> Any:
        """Keep these classes, and all levels."""
        return self.select_classes(position)

    def placed_like(self, other: Any) -> Any:
        """Return the statistics with the levels of another; numbers have no levels."""
        return self

    def with_shares(self, parts: list[Any]) -> Any:
        """Replace everything but the row counts by statistics of one class each: shares of rows without a label."""
        names = [f.name for f in fields(self) if f.name != "rows"]  # type: ignore[arg-type]
        arrays = {name: [getattr(part, name) for part in parts] for name in names}
        wide = {
            name: np.concatenate(np.broadcast_arrays(*a)) for name, a in arrays.items() if a[0] is not None
        }
        rows = self.rows  # type: ignore[attr-defined]
        # A class that has nothing but shares of rows has seen something all the same.
        return replace(self, rows=np.where((rows == 0) & (wide["observed_weight"] > 0), 1, rows), **wide)  # type: ignore[type-var]
