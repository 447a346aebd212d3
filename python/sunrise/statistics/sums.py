"""Sums of x per class and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise._common.stored import stored
from sunrise.statistics.base import (
    Additive,
    clear_residue,
    per_row,
    reindex_classes,
    subtract_observed,
    subtract_weights,
)


class Product(NamedTuple):
    """A table, and factors of its columns, by which whoever reads the table multiplies it."""

    table: Floats
    factors: Floats

    @property
    def numbers(self) -> Floats:
        """The table times the factors."""
        return self.table if (self.factors == 1.0).all() else self.table * self.factors


@stored("sums")
@dataclass(frozen=True)
class Sums(Additive):
    """Sums of x per class and column.

    `rows` is the number and `observed_weight` the weight of the observed cells. Both have a single column if no cell
    of the block was ever missing.

    >>> import numpy as np
    >>> a = Sums(np.array([[2]]), np.array([[2.0]]), np.array([[5.0]]))
    >>> (a + a - a).x
    array([[5.]])
    """

    rows: Integers
    observed_weight: Floats
    x: Floats
    #: Bound on the rounding error of x after subtractions; only for terms that can be negative, like log x.
    error: Floats | None = None

    shapes = {
        "rows": ("classes", "1 or columns"),
        "observed_weight": ("classes", "1 or columns"),
        "x": ("classes", "columns"),
        "error": ("classes", "columns"),
    }

    @classmethod
    def weighted(cls, rows: Integers, observed_weight: Floats, x: Product) -> Sums:
        """Build from a product that is computed when `x` is read: it may be as large as all other statistics."""
        parts = {"rows": rows, "observed_weight": observed_weight, "error": None, "_product": x}
        return cls.deferred(parts, {"x": lambda: x.numbers})

    @property
    def product(self) -> Product:
        """The sums as a product."""
        known: Product | None = self.__dict__.get("_product")
        return Product(self.x, np.ones(self.x.shape[1])) if known is None else known

    @property
    def mean(self) -> Floats:
        """Mean of the observed cells; 0 where no cell was observed."""
        return per_row(self.x, self)

    @property
    def known(self) -> Mask:
        """True for columns with at least one observed cell."""
        return np.broadcast_to(self.rows.sum(axis=0) > 0, self.product.factors.shape)

    @property
    def observed(self) -> Integers:
        """Number of observed cells of every column."""
        return np.broadcast_to(self.rows.sum(axis=0), self.product.factors.shape)

    def pooled(self) -> Sums:
        """Sum over the classes: statistics with one class."""
        return self._map_arrays(lambda a: a.sum(axis=0, keepdims=True))

    def __add__(self, other: Sums) -> Sums:
        error = None if self.error is None or other.error is None else self.error + other.error
        return Sums(
            self.rows + other.rows, self.observed_weight + other.observed_weight, self.x + other.x, error
        )

    def subtract(self, other: Sums, decayed: bool = False) -> Sums:
        """Subtract other sums; `decayed` says that weights have been decayed, see `subtract_observed`."""
        rows, weight = subtract_observed(self, other, decayed)
        if self.error is None or other.error is None:
            return Sums(rows, weight, subtract_weights(self.x, other.x, rows))
        magnitude = np.abs(self.x) + np.abs(other.x) + self.observed_weight
        error = self.error + other.error + 2.0**-52 * (64.0 + self.rows) * magnitude
        return Sums(rows, weight, *(np.where(rows > 0, a, 0.0) for a in (self.x - other.x, error)))

    def scaled(self, factor: Floats) -> Sums:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        error = None if self.error is None else self.error * f
        return Sums(np.where(f > 0, self.rows, 0), self.observed_weight * f, self.x * f, error)

    def _map_arrays(self, change: Any) -> Sums:
        error = None if self.error is None else change(self.error)
        return Sums(change(self.rows), change(self.observed_weight), change(self.x), error)

    def without_cells(self, x: Floats, c: Codes, j: Positions, w: Floats) -> Sums:
        """Subtract each cell separately: one class, with one column for each view of each cell; NaN if not fitted.

        `x` is cells x views; `c`, `j` and `w` are the classes, columns and weights of the cells.
        """
        n_views = x.shape[1]
        column = (j[:, None] * n_views + np.arange(n_views)).ravel()
        c, w, x = np.repeat(c, n_views), np.repeat(w, n_views), x.ravel()
        own = self._map_arrays(lambda a: np.broadcast_to(a, self.x.shape)[c, column])
        rows = own.rows - (w > 0)
        weight, rest = own.observed_weight - w, own.x - w * x
        valid = (rows >= 0) & ((weight > 0) | (rows == 0))
        if own.error is None:
            valid &= rest >= -1e-9 * own.x
            rest = clear_residue(rest, own.x)
        error = None if own.error is None else own.error[None]
        rest = np.where(valid, np.where(rows > 0, rest, 0.0), np.nan)
        return Sums(rows[None], np.where(rows > 0, weight, 0.0)[None], rest[None], error)

    def view(self, k: int, n_views: int) -> Sums:
        """Sums of view k, out of `n_views` adjacent views per column."""
        return self._map_arrays(lambda a: a if a.shape[1] == 1 else a[:, k::n_views])

    def reindexed(self, position: Positions, n_classes: int) -> Sums:
        """Move class k to position[k] of `n_classes` classes; the other classes are empty."""
        return self._map_arrays(lambda a: reindex_classes(a, position, n_classes))

    def select_classes(self, position: Positions) -> Sums:
        """Keep only these classes."""
        return self._map_arrays(lambda a: a[position])

    def select_columns(self, columns: Positions) -> Sums:
        """Keep only these columns, in this order."""
        shape = self.x.shape
        return self._map_arrays(lambda a: np.broadcast_to(a, shape)[:, columns])

    @staticmethod
    def interleave(parts: list[Sums]) -> Sums:
        """Combine views of the same columns, one `Sums` per view, so that the views of a column are adjacent.

        Only for non-negative views: the result has no `error`.
        """
        wide = [
            [np.broadcast_to(getattr(p, name), p.x.shape) for p in parts]
            for name in ("rows", "observed_weight", "x")
        ]
        return Sums(*(np.stack(arrays, axis=2).reshape(len(arrays[0]), -1) for arrays in wide))

    @staticmethod
    def concatenate(parts: list[Sums]) -> Sums:
        """Concatenate the columns of several statistics."""
        names = (
            ("rows", "observed_weight", "x")
            if parts[0].error is None
            else ("rows", "observed_weight", "x", "error")
        )
        wide = ([np.broadcast_to(getattr(p, name), p.x.shape) for p in parts] for name in names)
        return Sums(*(np.concatenate(arrays, axis=1) for arrays in wide))
