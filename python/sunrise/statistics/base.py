"""Operations that all sufficient statistics share.

Statistics add, subtract and scale; classes are aligned by label, levels by code. Integer row counts decide whether
anything was observed at all, because weights may leave rounding residue (0.1 + 0.2 - 0.1 - 0.2 is not 0).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.statistics.deferred import Deferred

#: A weight below this counts as 0: the sums of its cells would leave the range of floats.
NEGLIGIBLE = 2.0**-500
#: After decay, a rest below this share of the weight before cannot be told from rounding error.
_INDISTINCT = 2.0**-40


class NeverSeenError(ValueError):
    """Raised when rows are subtracted from statistics that do not contain them."""


class Observed(Protocol):
    """Statistics with the number and the weight of their observed cells."""

    @property
    def rows(self) -> Integers:
        """Number of observed cells."""

    @property
    def observed_weight(self) -> Floats:
        """Total weight of the observed cells."""


def reindex_classes(a: NDArray[Any], position: Positions, n_classes: int) -> NDArray[Any]:
    """Copy row k of `a` to row position[k] of an array with `n_classes` rows; the other rows are 0."""
    if (position < 0).any():
        raise LookupError("the statistics have a class that the new list of classes does not contain")
    wide = np.zeros((n_classes, *a.shape[1:]), a.dtype)
    wide[position] = a
    return wide


def per_row(sums: Floats, stats: Observed) -> Floats:
    """Sums divided by the observed weight (a weighted mean); 0 where no cell was observed."""
    return np.divide(sums, stats.observed_weight, out=np.zeros(sums.shape), where=stats.rows > 0)


def subtract_weights(before: Floats, removed: Floats, rows: Integers, changed: Mask | bool = True) -> Floats:
    """Subtract weights or counts; clamp rounding residue to 0, raise if the result is negative.

    `rows` is the number of rows after the subtraction. Where it is 0, the result is exactly 0, except in entries that
    are not `changed`.
    """
    rest = before - removed
    if (rest < -1e-9 * before).any():
        raise NeverSeenError("their weights or counts exceed the fitted ones")
    return np.where((rows > 0) | ~np.asarray(changed), np.maximum(rest, 0.0), 0.0)


def clear_residue(rest: Floats, before: Floats) -> Floats:
    """Set sums after a subtraction to 0 where they are within rounding error of the sums before it."""
    return np.where(rest <= 2.0**-46 * before, 0.0, rest)  # a NaN stays


def complement_sum(per_class: Floats) -> Floats:
    """Sum over all classes but one, for every class; sums from both ends, because subtracting would leave residue."""
    zero = np.zeros((1, *per_class.shape[1:]))
    before = np.cumsum(np.concatenate([zero, per_class[:-1]]), axis=0)
    after = np.cumsum(np.concatenate([zero, per_class[:0:-1]]), axis=0)[::-1]
    return np.asarray(before + after)


def subtract_observed(before: Observed, removed: Observed, decayed: bool = False) -> tuple[Integers, Floats]:
    """Subtract row counts and weights; raise unless both reach 0 together.

    If the weights are `decayed`, old rows may weigh less than the rounding error of newer ones. Where only such rows
    remain, the entry is emptied, and the number of rows is 0.
    """
    rows = before.rows - removed.rows
    if (rows < 0).any():
        raise NeverSeenError("there are more of them than fitted rows")
    if decayed:
        rest = before.observed_weight - removed.observed_weight
        indistinct = (removed.rows > 0) & (np.abs(rest) <= _INDISTINCT * before.observed_weight)
        rows = np.where(indistinct, 0, rows)
    weight = subtract_weights(before.observed_weight, removed.observed_weight, rows, removed.rows > 0)
    residue = before.observed_weight - removed.observed_weight
    # Unlabelled rows add weight to classes without a row, so only entries that lose rows are checked.
    emptied = (rows == 0) & (removed.rows > 0)
    if ((rows > 0) & (weight == 0)).any() or (emptied & (residue > 1e-9 * before.observed_weight)).any():
        raise NeverSeenError("their weights differ from the fitted ones")
    return rows, weight


class Additive(Deferred):
    """Base of statistics of numeric columns, which have no levels, so their shape does not depend on the rows."""

    rows: Integers
    observed_weight: Floats

    @abstractmethod
    def subtract(self, other: Any, decayed: bool = False) -> Any:
        """Subtract other statistics; `decayed` says that weights have been decayed, see `subtract_observed`."""

    def __sub__(self, other: Any) -> Any:
        return self.subtract(other)

    @abstractmethod
    def scaled(self, factor: Floats) -> Any:
        """Multiply the weight of every class by its factor."""

    def decayed(self, factor: float) -> Any:
        """Multiply all weights by a factor; cells whose weight is negligible afterwards leave with their rows."""
        rest = self.scaled(np.full(len(self.rows), factor))
        gone = (self.rows > 0) & (rest.observed_weight < NEGLIGIBLE)
        if not gone.any():
            return rest
        arrays = {f.name: getattr(rest, f.name) for f in fields(rest)}
        return replace(rest, **{name: np.where(gone, 0, a) for name, a in arrays.items() if a is not None})

    def pruned(self, least: float) -> Any:
        """Drop levels of little weight: returns self, because numeric columns have no levels."""
        return self

    @abstractmethod
    def select_classes(self, position: Positions) -> Any:
        """Keep only these classes."""

    def with_cells(self, cells: Any, c: Codes) -> Any:
        """Replace one class of every column, c, by the statistics `cells` with a single class."""
        at = c, np.arange(len(c))

        def replaced(name: str) -> Any:
            wide, own = getattr(self, name), getattr(cells, name)
            if wide is None or own is None:
                return None
            wide = np.array(wide)
            wide[at] = own[0]
            return wide

        return replace(self, **{f.name: replaced(f.name) for f in fields(self)})  # type: ignore[type-var, arg-type]

    def without_empty(self) -> Any:
        """Drop levels without rows: returns self, because numeric columns have no levels."""
        return self

    def keep_classes(self, position: Positions) -> Any:
        """Keep only these classes, and all levels."""
        return self.select_classes(position)

    def with_levels_of(self, other: Any) -> Any:
        """Use the levels of other statistics: returns self, because numeric columns have no levels."""
        return self

    def with_shares(self, parts: list[Any]) -> Any:
        """Replace everything except the row counts by `parts`, one per class: EM's expected statistics of that class.

        In them, an unlabelled row counts with its posterior probability of the class.
        """
        names = [f.name for f in fields(self) if f.name != "rows"]  # type: ignore[arg-type]
        arrays = {name: [getattr(part, name) for part in parts] for name in names}
        wide = {
            name: np.concatenate(np.broadcast_arrays(*a)) for name, a in arrays.items() if a[0] is not None
        }
        rows = self.rows
        # A class that has only shares of unlabelled rows counts as observed.
        return replace(self, rows=np.where((rows == 0) & (wide["observed_weight"] > 0), 1, rows), **wide)  # type: ignore[type-var]
