"""Kept values that fade: decay of their weights, and removal of values that weigh too little."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Integers, Mask
from sunrise.statistics.base import NEGLIGIBLE, Additive


class FadingValues(Additive):
    """Base of statistics that keep the values of every column and class in flat arrays, column by column."""

    sizes: Integers
    x: Floats
    times: Integers
    weight: Floats

    def decayed(self, factor: float) -> Any:
        """Multiply all weights by a factor; values whose weight is negligible afterwards leave with their rows."""
        rest = self.scaled(np.full(len(self.rows), factor))
        return rest.without_values(rest.weight < NEGLIGIBLE)

    def pruned(self, least: float) -> Any:
        """Drop values that weigh less than `least` over all classes, with their rows.

        The nodes of a grid stay: their number is bounded, and rows are shared between them.
        """
        # Equal values of a column form one group, whatever the class.
        column = self._place // max(len(self.rows), 1)
        order = np.lexsort((self.x, column))
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(self.x[order]) != 0) | (np.diff(column[order]) != 0)
        group = np.empty(len(order), np.intp)
        group[order] = np.cumsum(new) - 1
        total = np.bincount(group, self.weight)
        return self.without_values((total[group] < least) & ~np.asarray(self._is_shared.any(axis=0))[column])

    def without_values(self, drop: Mask) -> Any:
        """Drop values with their rows; a class and column without values is empty."""
        empty = (self.rows == 0) != (self.sizes == 0)
        if not drop.any() and not empty.any():
            return self
        keep = ~drop & ~empty.T.ravel()[self._place]
        changed = self._per_place(~keep) > 0
        rows = np.where(changed & ~self._is_shared, self._per_place(keep * self.times), self.rows)
        weight = np.where(changed, self._per_place(keep * self.weight), self.observed_weight)
        sizes = self._per_place(keep).astype(np.int64)
        return replace(
            self,  # type: ignore[type-var]
            rows=np.where(sizes > 0, rows, 0).astype(np.int64),
            observed_weight=np.where(sizes > 0, weight, 0.0),
            sizes=sizes,
            x=self.x[keep],
            times=self.times[keep],
            weight=self.weight[keep],
        )

    def with_rows_of_values(self, is_shared: Mask) -> Any:
        """Set the number of rows to that of the values, except where values share rows; drop values without rows."""
        rows = np.where(is_shared | (self.rows == 0), self.rows, self._per_place(self.times))
        return replace(self, rows=rows.astype(np.int64)).without_values(np.zeros(len(self.x), bool))  # type: ignore[type-var]

    @property
    def _place(self) -> Integers:
        """For every value, column * number of classes + class."""
        return np.repeat(np.arange(self.sizes.size), self.sizes.T.ravel())

    def _per_place(self, values: Any) -> Floats:
        """Sum values over each class and column, classes x columns."""
        sums: Any = np.bincount(self._place, values, self.sizes.size)
        return np.asarray(sums.reshape(self.sizes.shape[::-1]).T)

    @property
    def _is_shared(self) -> Mask:
        """True for classes and columns whose rows are shared between values, as between the nodes of a grid."""
        return np.asarray(self._per_place(self.times) != self.rows)
