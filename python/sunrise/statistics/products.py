"""Sums of products of columns, per class: the statistics of a covariance matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise._common.stored import stored
from sunrise.statistics.base import Additive, reindex_classes, subtract_observed


@stored("products")
@dataclass(frozen=True)
class Products(Additive):
    """Sums of x_j and of x_j x_k over the rows of a class that have no missing cell in the block.

    `xx` has the products of all pairs of columns, row by row. Columns are standardised before, so the sums lose no
    digits that matter: a family adds at least a part of the total variance to every sum of squares.

    >>> x = np.array([[1.0, 2.0], [3.0, np.nan], [0.0, 1.0]])
    >>> Products.of(x, np.array([0, 0, 1]), np.ones(3), 2).squares[0]
    array([[1., 2.],
           [2., 4.]])
    """

    rows: Integers
    observed_weight: Floats
    x: Floats
    xx: Floats

    shapes = {
        "rows": ("classes", "one"),
        "observed_weight": ("classes", "one"),
        "x": ("classes", "columns"),
        "xx": ("classes", "squared columns"),
    }

    @classmethod
    def of(cls, x: Floats, codes: Codes, weight: Floats, n_classes: int) -> Products:
        """Add up rows with these classes and weights; rows of weight 0 and rows with a missing cell are left out."""
        use = ~np.isnan(x).any(axis=1) & (weight > 0)
        x, codes, weight = x[use], codes[use], weight[use]
        n = np.bincount(codes, minlength=n_classes)[:, None].astype(np.int64)
        total = np.bincount(codes, weight, n_classes)[:, None].astype(float)
        of_class = [(x[codes == c], weight[codes == c][:, None]) for c in range(n_classes)]
        sums = np.stack([(w * own).sum(axis=0) for own, w in of_class])
        squares = np.stack([((w * own).T @ own).ravel() for own, w in of_class])
        return cls(n, total, sums, squares)

    @property
    def squares(self) -> Floats:
        """Sums of products, classes x columns x columns."""
        n = self.x.shape[1]
        return self.xx.reshape(len(self.x), n, n)

    @property
    def known(self) -> Mask:
        """True for all columns if there is a row."""
        return np.full(self.x.shape[1], bool(self.rows.any()))

    @property
    def observed(self) -> Integers:
        """Number of rows without a missing cell, for every column."""
        return np.full(self.x.shape[1], self.rows.sum())

    def is_consistent(self, sizes: dict[str, int]) -> bool:
        """True if the sums of products belong to the columns; for model files."""
        return sizes.get("one", 1) == 1 and sizes.get("squared columns") == sizes.get("columns", 0) ** 2

    def pooled(self) -> Products:
        """Sum over the classes: statistics with one class."""
        return self._map_arrays(lambda a: a.sum(axis=0, keepdims=True))

    def __add__(self, other: Products) -> Products:
        return Products(
            self.rows + other.rows,
            self.observed_weight + other.observed_weight,
            self.x + other.x,
            self.xx + other.xx,
        )

    def subtract(self, other: Products, decayed: bool = False) -> Products:
        """Subtract other sums; `decayed` says that weights have been decayed, see `subtract_observed`."""
        rows, weight = subtract_observed(self, other, decayed)
        rest = (np.where(rows > 0, a, 0.0) for a in (self.x - other.x, self.xx - other.xx))
        return Products(rows, weight, *rest)

    def scaled(self, factor: Floats) -> Products:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        return Products(np.where(f > 0, self.rows, 0), self.observed_weight * f, self.x * f, self.xx * f)

    def _map_arrays(self, change: Any) -> Products:
        return Products(*(change(a) for a in (self.rows, self.observed_weight, self.x, self.xx)))

    def reindexed(self, position: Positions, n_classes: int) -> Products:
        """Move class k to position[k] of `n_classes` classes; the other classes are empty."""
        return self._map_arrays(lambda a: reindex_classes(a, position, n_classes))

    def select_classes(self, position: Positions) -> Products:
        """Keep only these classes."""
        return self._map_arrays(lambda a: a[position])

    def select_columns(self, columns: Positions) -> Products:
        """Keep only these columns; the rows are still those without a missing cell in any column of the block."""
        squares = self.squares[:, columns][:, :, columns].reshape(len(self.x), -1)
        return Products(self.rows, self.observed_weight, self.x[:, columns], squares)
