"""Moments: sums of x and x^2 per class and column, about an anchor, with a bound on their rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Positions
from sunrise._common.warnings import LostPrecisionWarning, alert
from sunrise.statistics.base import Additive, NeverSeenError, left_weight, per_row, reindex_classes

#: Rounding of one operation, relative to its largest operand.
_ROUNDING = 2.0**-51


@dataclass(frozen=True)
class Moments(Additive):
    """Sums of x - anchor and of its square, per class and column.

    The anchor is a float close to the class mean, and the sum of x - anchor is kept beside it: the mean is
    known beyond the precision of one float, so nothing is lost when statistics move to another anchor.
    `error` bounds what rounding has done to the squares; a spread within it is none.

    >>> import numpy as np
    >>> one, two = (Moments.about_mean(np.array([[2]]), np.array([[2.0]]), np.array([[m]]), np.array([[0.5]]))
    ...             for m in (3.0, 5.0))
    >>> (one + two).mean, (one + two).squared_error, (one + two - two).squared_error
    (array([[4.]]), array([[5.]]), array([[0.5]]))
    """

    rows: Integers
    observed_weight: Floats
    x: Floats
    x2: Floats
    anchor: Floats
    error: Floats

    @classmethod
    def of(cls, rows: Integers, seen: Floats, x: Floats, x2: Floats, anchor: Floats) -> Moments:
        """Moments fresh from an engine.

        Floats next to each other differ by about 2**-52 of their size; what is far less than the square of that
        is no difference of cells but the rounding of their mean.
        """
        step = 2.0**-52 * anchor
        with np.errstate(over="ignore"):  # complained of by the family
            error = _ROUNDING * x2 + 2.0**-40 * seen * step * step
        return cls(rows, seen, x, x2, anchor, error)

    @classmethod
    def about_mean(cls, rows: Integers, seen: Floats, mean: Floats, squared_error: Floats) -> Moments:
        """Moments whose mean and sum of squares about it are known."""
        return cls.of(rows, seen, np.zeros_like(mean), squared_error, mean)

    @property
    def offset(self) -> Floats:
        """The mean less the anchor; 0 where nothing was seen."""
        return per_row(self.x, self)

    @property
    def mean(self) -> Floats:
        """Mean of the observed cells; 0 where nothing was seen."""
        return self.anchor + self.offset

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.broadcast_to(self.rows.sum(axis=0), self.x.shape[1:])

    @property
    def _spread(self) -> Floats:
        return self.x2 - self.x * self.offset

    @property
    def squared_error(self) -> Floats:
        """Sum of squares about the mean; what cannot be told from rounding is 0."""
        spread = self._spread
        return np.where(spread <= self.error, 0.0, spread)

    def about(self, anchor: Floats) -> Moments:
        """Move the squares to another anchor."""
        shift = self.anchor - anchor
        moved = self.observed_weight * shift
        with np.errstate(over="ignore", invalid="ignore"):  # complained of by the family
            change = shift * (2 * self.x + moved)
        error = self.error + _ROUNDING * np.abs(change)
        return Moments(
            self.rows, self.observed_weight, self.x + moved, self.x2 + change, anchor + 0.0 * self.x, error
        )

    def pooled(self) -> Moments:
        """Take all classes as one."""
        return self._pooled

    @cached_property
    def _pooled(self) -> Moments:
        first = self.anchor[:1]
        rows, seen = (a.sum(axis=0, keepdims=True) for a in (self.rows, self.observed_weight))
        moved = (self.x + self.observed_weight * (self.anchor - first)).sum(axis=0, keepdims=True)
        joint = first + np.divide(moved, seen, out=np.zeros_like(moved), where=rows > 0)
        here = self.about(joint)
        x, x2, error = (a.sum(axis=0, keepdims=True) for a in (here.x, here.x2, here.error))
        return Moments(rows, seen, x, x2, joint, error)

    def __add__(self, other: Moments) -> Moments:
        rows, seen = self.rows + other.rows, self.observed_weight + other.observed_weight
        moved = (other.anchor - self.anchor) * other.observed_weight + (self.x + other.x)
        joint = self.anchor + np.divide(moved, seen, out=np.zeros_like(moved), where=rows > 0)
        a, b = self.about(joint), other.about(joint)
        x2 = a.x2 + b.x2
        return Moments(rows, seen, a.x + b.x, x2, joint, a.error + b.error + _ROUNDING * x2)

    def __sub__(self, other: Moments) -> Moments:
        rows, seen = left_weight(self, other)
        left, taken = rows > 0, other.about(self.anchor)
        x, x2 = np.where(left, self.x - taken.x, 0.0), np.where(left, self.x2 - taken.x2, 0.0)
        error = self.error + taken.error + _ROUNDING * (self.x2 + taken.x2)
        rest = Moments(rows, seen, x, x2, self.anchor, error)
        if (rest._spread < -4 * error).any():
            raise NeverSeenError("the spread of what is left would be negative")
        rest._warn_of_lost_precision()
        # No row has no anchor, and one row has no spread.
        rest, several = rest.about(np.where(left, rest.mean, 0.0)), rows > 1
        x2 = np.where(several, rest.x2, rest.x * rest.offset)
        return replace(rest, x2=x2, error=np.where(several, rest.error, _ROUNDING * x2))

    def _warn_of_lost_precision(self) -> None:
        """Warn where rounding may be most of what is left, unless it is nothing beside the column itself."""
        pooled = self.pooled()
        overall = per_row(pooled.squared_error, pooled)
        # Rounding that moved the squares by `error` moved the mean by this; within it a column of zeros has no size.
        blur = 64.0 * np.sqrt(2.0**-52 * per_row(self.error, self))
        size = overall + np.where(np.abs(self.mean) > blur, self.mean**2, 0.0)
        matters = (size > 0) & (self.error > 1e-10 * self.observed_weight * size)
        uncertain = (self.rows > 1) & (self._spread < 1e3 * self.error) & matters
        if uncertain.any():
            alert(
                f"The rows that were forgotten held almost all the spread of {int(uncertain.sum())} class-columns: "
                "the variance of what is left is known to fewer than 3 digits. Fit anew to have it exactly.",
                LostPrecisionWarning,
            )

    def without_cells(self, x: Floats, c: Codes, j: Positions, w: Floats) -> Moments:
        """What is left for each of some cells without itself, as a column of its own; NaN where it was never there.

        `x` is cells x 1, `c` and `j` are their classes and columns, `w` their weights.
        """
        own, d = self._each(lambda a: np.broadcast_to(a, self.x.shape)[c, j]), x[:, 0] - self.anchor[c, j]
        rows, seen = own.rows - (w > 0), own.observed_weight - w
        some = rows > 0
        moved = np.where(some, own.x - w * d, 0.0)
        x2 = np.where(some, own.x2 - w * d * d, 0.0)
        error = own.error + _ROUNDING * (own.x2 + w * d * d)
        offset = np.divide(moved, seen, out=np.zeros_like(moved), where=some)
        x2 = np.where(rows == 1, moved * offset, x2)  # one cell has no spread
        sound = (rows >= 0) & ((seen > 0) | (rows == 0)) & (x2 - moved * offset >= -4 * error)
        x2 = np.where(sound, x2, np.nan)
        seen = np.where(some, seen, 0.0)
        return Moments(rows[None], seen[None], moved[None], x2[None], own.anchor[None], error[None])

    def scaled(self, factor: Floats) -> Moments:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        rows = np.where(f > 0, self.rows, 0)
        return Moments(rows, self.observed_weight * f, self.x * f, self.x2 * f, self.anchor, self.error * f)

    def _each(self, change: Any) -> Moments:
        return Moments(
            *(change(a) for a in (self.rows, self.observed_weight, self.x, self.x2, self.anchor, self.error))
        )

    def reindexed(self, position: Positions, n_classes: int) -> Moments:
        """Lay the classes out among `n_classes`; the others are empty."""
        return self._each(lambda a: reindex_classes(a, position, n_classes))

    def select_classes(self, position: Positions) -> Moments:
        """Keep these classes only."""
        return self._each(lambda a: a[position])

    def select_columns(self, columns: Positions) -> Moments:
        """Keep these columns, in this order."""
        shape = self.x.shape
        return self._each(lambda a: np.broadcast_to(a, shape)[:, columns])

    @staticmethod
    def concatenate(parts: list[Moments]) -> Moments:
        """Put the columns of several side by side."""
        names = ("rows", "observed_weight", "x", "x2", "anchor", "error")
        wide = ([np.broadcast_to(getattr(p, name), p.x.shape) for p in parts] for name in names)
        return Moments(*(np.concatenate(arrays, axis=1) for arrays in wide))
