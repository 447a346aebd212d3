"""Moments: sums of x and x^2 about an anchor, per class and column, with a bound on their rounding error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Positions
from sunrise._common.stored import stored
from sunrise._common.warnings import LostPrecisionWarning, alert
from sunrise.statistics.base import Additive, NeverSeenError, per_row, reindex_classes, subtract_observed

#: Bound on the rounding error of one operation, relative to its largest operand.
_ROUNDING = 2.0**-51
#: The smallest float above 0. It stands for the weight of no cell in divisions: the sums over no cell are exactly 0.
_TINY = 5e-324


@stored("moments")
@dataclass(frozen=True)
class Moments(Additive):
    """Sums of x - anchor and of its square, per class and column.

    The anchor is a float close to the class mean. Together with the sum of x - anchor, it determines the mean to more
    than the precision of one float, so changing the anchor loses no digits. `error` bounds the rounding error of the
    squares; a sum of squares about the mean within this bound counts as 0.

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

    shapes = {
        "rows": ("classes", "1 or columns"),
        "observed_weight": ("classes", "1 or columns"),
        **dict.fromkeys(("x", "x2", "anchor", "error"), ("classes", "columns")),
    }

    @classmethod
    def of(cls, rows: Integers, weight: Floats, x: Floats, x2: Floats, anchor: Floats) -> Moments:
        """Moments from sums with their rounding error, as the native engine computes it.

        Neighbouring floats differ by about 2**-52 of their size. Squared deviations far below the square of this
        spacing, by 2**-40, come from the rounding of the mean, not from different cells.
        """
        # Engines add up to 1,024 cells one after the other, then sums of about 64 cells. Equal cells can make every
        # addition round in the same direction.
        additions = 16.0 + np.minimum(rows, 1024) + rows / 64.0
        with np.errstate(over="ignore"):  # the family reports values that are too large
            error = 2.0**-55 * additions * x2 + weight * (2.0**-72 * anchor) ** 2
        return cls(rows, weight, x, x2, anchor, error)

    @classmethod
    def about_mean(cls, rows: Integers, weight: Floats, mean: Floats, squared_error: Floats) -> Moments:
        """Moments from a mean and the sum of squares about it."""
        return cls.of(rows, weight, np.zeros_like(mean), squared_error, mean)

    @property
    def offset(self) -> Floats:
        """Mean minus anchor; 0 where no cell was observed."""
        return self.x / np.maximum(self.observed_weight, _TINY)

    @property
    def mean(self) -> Floats:
        """Mean of the observed cells; 0 where no cell was observed."""
        return self.anchor + self.offset

    @property
    def observed(self) -> Integers:
        """Number of observed cells of every column."""
        rows: Integers = np.add.reduce(self.rows)
        return rows if len(rows) == self.x.shape[1] else np.repeat(rows, self.x.shape[1])

    @property
    def _unclamped_squared_error(self) -> Floats:
        return self.x2 - self.x * self.offset

    @property
    def squared_error(self) -> Floats:
        """Sum of squares about the mean; 0 where it does not exceed the rounding error."""
        return self.mean_and_squared_error[1]

    @property
    def mean_and_squared_error(self) -> tuple[Floats, Floats]:
        """The mean, and the sum of squares about it."""
        offset = self.offset
        squares = self.x2 - self.x * offset
        squares[squares <= self.error] = 0.0
        return self.anchor + offset, squares

    @property
    def variance(self) -> Floats:
        """Mean square about the mean; 0 where no cell was observed."""
        return self.squared_error / np.maximum(self.observed_weight, _TINY)

    def about(self, anchor: Floats) -> Moments:
        """Moments about another anchor."""
        x, x2, error = self._sums_about(anchor)
        return Moments(self.rows, self.observed_weight, x, x2, anchor + 0.0 * self.x, error)

    def _sums_about(self, anchor: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums of x and x^2 about another anchor, and the rounding error of the squares."""
        shift = self.anchor - anchor
        x = self.x + self.observed_weight * shift
        with np.errstate(over="ignore", invalid="ignore"):  # the family reports values that are too large
            x2_shift = shift * (self.x + x)
        return x, self.x2 + x2_shift, self.error + _ROUNDING * np.abs(x2_shift)

    def pooled(self) -> Moments:
        """Moments of all classes together: statistics with one class."""
        return self._pooled

    @cached_property
    def _pooled(self) -> Moments:
        total, first = np.add.reduce, self.anchor[0]
        rows, weight = total(self.rows), total(self.observed_weight)
        x = total(self.x + self.observed_weight * (self.anchor - first))
        mean = first + x / np.maximum(weight, _TINY)
        x, x2, error = map(total, self._sums_about(mean))
        return Moments(rows[None], weight[None], x[None], x2[None], mean[None], error[None])

    def __add__(self, other: Moments) -> Moments:
        rows, weight = self.rows + other.rows, self.observed_weight + other.observed_weight
        x_sum = (other.anchor - self.anchor) * other.observed_weight + (self.x + other.x)
        mean = self.anchor + np.divide(x_sum, weight, out=np.zeros_like(x_sum), where=rows > 0)
        a, b = self.about(mean), other.about(mean)
        x2 = a.x2 + b.x2
        return Moments(rows, weight, a.x + b.x, x2, mean, a.error + b.error + _ROUNDING * x2)

    def subtract(self, other: Moments, decayed: bool = False) -> Moments:
        """Subtract other moments; `decayed` says that weights have been decayed, see `subtract_observed`."""
        rows, weight = subtract_observed(self, other, decayed)
        nonempty, removed = rows > 0, other.about(self.anchor)
        x, x2 = np.where(nonempty, self.x - removed.x, 0.0), np.where(nonempty, self.x2 - removed.x2, 0.0)
        error = self.error + removed.error + _ROUNDING * (self.x2 + removed.x2)
        rest = Moments(rows, weight, x, x2, self.anchor, error)
        if (rest._unclamped_squared_error < -4 * error).any():
            raise NeverSeenError("the variance of the remaining rows would be negative")
        rest._warn_of_lost_precision()
        # Without rows the anchor is 0, and a single row has variance 0: clear the residue of both.
        rest, several = rest.about(np.where(nonempty, rest.mean, 0.0)), rows > 1
        x2 = np.where(several, rest.x2, rest.x * rest.offset)
        return replace(rest, x2=x2, error=np.where(several, rest.error, _ROUNDING * x2))

    def _warn_of_lost_precision(self) -> None:
        """Warn where rounding error may dominate a variance, unless the error is tiny relative to the whole column."""
        overall = self.pooled().variance
        # Bound on the error of the mean that goes with `error` in the squares: a smaller mean counts as 0.
        mean_error = 64.0 * np.sqrt(2.0**-52 * per_row(self.error, self))
        size = overall + np.where(np.abs(self.mean) > mean_error, self.mean**2, 0.0)
        matters = (size > 0) & (self.error > 1e-10 * self.observed_weight * size)
        uncertain = (self.rows > 1) & (self._unclamped_squared_error < 1e3 * self.error) & matters
        if uncertain.any():
            alert(
                f"The forgotten rows had almost all of the variance in {int(uncertain.sum())} class-columns: the "
                "remaining variance is accurate to fewer than 3 digits. Fit again to compute it exactly.",
                LostPrecisionWarning,
            )

    def without_cells(self, x: Floats, c: Codes, j: Positions, w: Floats) -> Moments:
        """Subtract each cell separately: one class, with one column for each view of each cell; NaN if not fitted.

        `x` is cells x views; `c`, `j` and `w` are the classes, columns and weights of the cells.
        """
        n_views = x.shape[1]
        column = (j[:, None] * n_views + np.arange(n_views)).ravel()
        c, w, x = np.repeat(c, n_views), np.repeat(w, n_views), x.ravel()
        own = self._map_arrays(lambda a: np.broadcast_to(a, self.x.shape)[c, column])
        d = x - own.anchor
        rows, weight = own.rows - (w > 0), own.observed_weight - w
        nonempty = (rows > 0) & (weight > 0)
        x_sum = np.where(nonempty, own.x - w * d, 0.0)
        x2 = np.where(nonempty, own.x2 - w * d * d, 0.0)
        error = own.error + _ROUNDING * (own.x2 + w * d * d)
        offset = np.divide(x_sum, weight, out=np.zeros_like(x_sum), where=nonempty)
        x2 = np.where(rows == 1, x_sum * offset, x2)  # a single cell has variance 0
        valid = (rows >= 0) & ((weight > 0) | (rows == 0)) & (x2 - x_sum * offset >= -4 * error)
        x2 = np.where(valid, x2, np.nan)
        weight = np.where(nonempty, weight, 0.0)
        return Moments(rows[None], weight[None], x_sum[None], x2[None], own.anchor[None], error[None])

    def scaled(self, factor: Floats) -> Moments:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        rows = np.where(f > 0, self.rows, 0)
        return Moments(rows, self.observed_weight * f, self.x * f, self.x2 * f, self.anchor, self.error * f)

    def _map_arrays(self, change: Any) -> Moments:
        return Moments(
            *(change(a) for a in (self.rows, self.observed_weight, self.x, self.x2, self.anchor, self.error))
        )

    def reindexed(self, position: Positions, n_classes: int) -> Moments:
        """Move class k to position[k] of `n_classes` classes; the other classes are empty."""
        return self._map_arrays(lambda a: reindex_classes(a, position, n_classes))

    def select_classes(self, position: Positions) -> Moments:
        """Keep only these classes."""
        return self._map_arrays(lambda a: a[position])

    def select_columns(self, columns: Positions) -> Moments:
        """Keep only these columns, in this order."""
        shape = self.x.shape
        return self._map_arrays(lambda a: np.broadcast_to(a, shape)[:, columns])

    @staticmethod
    def concatenate(parts: list[Moments]) -> Moments:
        """Concatenate the columns of several moments."""
        names = ("rows", "observed_weight", "x", "x2", "anchor", "error")
        wide = ([np.broadcast_to(getattr(p, name), p.x.shape) for p in parts] for name in names)
        return Moments(*(np.concatenate(arrays, axis=1) for arrays in wide))
