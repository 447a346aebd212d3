"""Sums of x per class and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.statistics.base import (
    Additive,
    left,
    left_weight,
    per_row,
    reindex_classes,
    without_dust,
)


@dataclass(frozen=True)
class Sums(Additive):
    """Sums of x per class and column.

    `rows` and `seen` count observed cells, as rows and by weight; they have one column where no cell of the
    block was ever missing.

    >>> import numpy as np
    >>> a = Sums(np.array([[2]]), np.array([[2.0]]), np.array([[5.0]]))
    >>> (a + a - a).x
    array([[5.]])
    """

    rows: Integers
    observed_weight: Floats
    x: Floats
    #: Where what is added up may be negative (a logarithm, for one): a bound on what forgetting did to x.
    error: Floats | None = None

    @property
    def mean(self) -> Floats:
        """Mean of the observed cells; 0 where nothing was seen."""
        return per_row(self.x, self)

    @property
    def known(self) -> Mask:
        """Columns that were observed at all."""
        return np.broadcast_to(self.rows.sum(axis=0) > 0, self.x.shape[1:])

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.broadcast_to(self.rows.sum(axis=0), self.x.shape[1:])

    def pooled(self) -> Sums:
        """Take all classes as one."""
        return self._each(lambda a: a.sum(axis=0, keepdims=True))

    def __add__(self, other: Sums) -> Sums:
        error = None if self.error is None or other.error is None else self.error + other.error
        return Sums(
            self.rows + other.rows, self.observed_weight + other.observed_weight, self.x + other.x, error
        )

    def __sub__(self, other: Sums) -> Sums:
        rows, seen = left_weight(self, other)
        if self.error is None or other.error is None:
            return Sums(rows, seen, left(self.x, other.x, rows))
        size = np.abs(self.x) + np.abs(other.x) + self.observed_weight
        error = self.error + other.error + 2.0**-52 * (64.0 + self.rows) * size
        return Sums(rows, seen, *(np.where(rows > 0, a, 0.0) for a in (self.x - other.x, error)))

    def scaled(self, factor: Floats) -> Sums:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        error = None if self.error is None else self.error * f
        return Sums(np.where(f > 0, self.rows, 0), self.observed_weight * f, self.x * f, error)

    def _each(self, change: Any) -> Sums:
        error = None if self.error is None else change(self.error)
        return Sums(change(self.rows), change(self.observed_weight), change(self.x), error)

    def without_cells(self, x: Floats, c: Codes, j: Positions, w: Floats) -> Sums:
        """What is left for each of some cells without itself, as a column of its own; NaN where it was never there.

        `x` is cells x views, `c` and `j` are their classes and columns, `w` their weights.
        """
        n = x.shape[1]
        at = (j[:, None] * n + np.arange(n)).ravel()
        c, w, x = np.repeat(c, n), np.repeat(w, n), x.ravel()
        own = self._each(lambda a: np.broadcast_to(a, self.x.shape)[c, at])
        rows = own.rows - (w > 0)
        seen, rest = own.observed_weight - w, own.x - w * x
        sound = (rows >= 0) & ((seen > 0) | (rows == 0))
        if own.error is None:
            sound &= rest >= -1e-9 * own.x
            rest = without_dust(rest, own.x)
        error = None if own.error is None else own.error[None]
        rest = np.where(sound, np.where(rows > 0, rest, 0.0), np.nan)
        return Sums(rows[None], np.where(rows > 0, seen, 0.0)[None], rest[None], error)

    def view(self, k: int, n_views: int) -> Sums:
        """The sums of one view of the cells, of those that lie side by side."""
        return self._each(lambda a: a if a.shape[1] == 1 else a[:, k::n_views])

    def reindexed(self, position: Positions, n_classes: int) -> Sums:
        """Lay the classes out among `n_classes`; the others are empty."""
        return self._each(lambda a: reindex_classes(a, position, n_classes))

    def select_classes(self, position: Positions) -> Sums:
        """Keep these classes only."""
        return self._each(lambda a: a[position])

    def select_columns(self, columns: Positions) -> Sums:
        """Keep these columns, in this order."""
        shape = self.x.shape
        return self._each(lambda a: np.broadcast_to(a, shape)[:, columns])

    @staticmethod
    def interleave(parts: list[Sums]) -> Sums:
        """Put the views of every column side by side; none of them is ever negative."""
        wide = [
            [np.broadcast_to(getattr(p, name), p.x.shape) for p in parts]
            for name in ("rows", "observed_weight", "x")
        ]
        return Sums(*(np.stack(arrays, axis=2).reshape(len(arrays[0]), -1) for arrays in wide))

    @staticmethod
    def concatenate(parts: list[Sums]) -> Sums:
        """Put the columns of several side by side."""
        names = (
            ("rows", "observed_weight", "x")
            if parts[0].error is None
            else ("rows", "observed_weight", "x", "error")
        )
        wide = ([np.broadcast_to(getattr(p, name), p.x.shape) for p in parts] for name in names)
        return Sums(*(np.concatenate(arrays, axis=1) for arrays in wide))
