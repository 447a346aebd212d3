"""Rows of counts with missing cells, scored without themselves: all rows at once, class by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.statistics.base import clear_residue
from sunrise.statistics.sums import Sums


def every_column(stats: Sums) -> Sums:
    """Sums whose rows and weights have a number for every column."""
    rows, weight = (
        np.broadcast_to(stats.rows, stats.x.shape),
        np.broadcast_to(stats.observed_weight, stats.x.shape),
    )
    return Sums(rows, weight, stats.x)


class CountsWithoutRows:
    """The counts of every class, each time without one of the rows x (rows x columns) of classes y and weights w."""

    def __init__(self, stats: Sums, x: Floats, y: Codes, w: Floats) -> None:
        self.observed, self.cells = ~np.isnan(x), np.nan_to_num(x) * w[:, None]
        self.x, self.w = x, w
        wide = every_column(stats)
        self.own = wide.select_classes(np.asarray(y, np.intp))
        rest = self._subtract(wide.pooled(), np.ones(len(y), bool))
        #: Mean of all classes without the row.
        self.pooled_mean = rest.mean
        self._changes_known = ((rest.rows == 0) & self.observed).any(axis=1)

    def _subtract(self, before: Sums, removed: Mask) -> Sums:
        """Subtract each row that is `removed` from sums: rows x columns."""
        gone = removed[:, None] & self.observed
        rows = before.rows - (gone & (self.w[:, None] > 0))
        weight = np.where(rows > 0, before.observed_weight - gone * self.w[:, None], 0.0)
        x = np.where(rows > 0, clear_residue(before.x - gone * self.cells, before.x), 0.0)
        return Sums(rows, np.where(weight > 0, weight, 0.0), x)

    @property
    def is_unknown(self) -> Mask:
        """Mask of rows that were never fitted, or without which a column is not known any more."""
        own, taken = self.own, self.observed & (self.w[:, None] > 0)
        rows, weight = own.rows - taken, own.observed_weight - taken * self.w[:, None]
        slack = 1e-9 * own.observed_weight
        wrong = (rows < 0) | (own.x - taken * self.cells < -1e-9 * own.x)
        wrong |= taken & np.where(rows > 0, weight <= 0, np.abs(weight) > slack)
        return np.asarray(wrong.any(axis=1) | self._changes_known)

    def of_class(self, stats: Sums, class_weight: Floats, k: int, removed: Mask) -> Floats:
        """Expected counts of class k if no cell had been missing, rows x columns, without the rows `removed` from it.

        See `complete_counts` of the multinomial family.
        """
        rest = self._subtract(every_column(stats).select_classes(np.array([k])), removed)
        if stats.observed_weight.shape[1] == 1:
            return rest.x
        weight = (class_weight[k] - self.w * removed)[:, None]
        expected = np.where(rest.rows > 0, rest.mean, self.pooled_mean) * weight
        return np.where(rest.observed_weight == weight, rest.x, expected)

    def scores(self, n_classes: int, form_of: Callable[[int], Any]) -> tuple[Floats, Floats]:
        """Score every row by class k under row i of form k, and count its impossible cells: rows x classes each.

        Scores of rows that are unknown are NaN.
        """
        scores, impossible = np.empty((len(self.x), n_classes)), np.zeros((len(self.x), n_classes))
        for k in range(n_classes):
            form = form_of(k).paired()
            scores[:, k] = form.finite.cells(self.x).sum(axis=(1, 2))
            if form.impossible is not None:
                impossible[:, k] = form.impossible.cells(self.x).sum(axis=(1, 2))
        return np.where(self.is_unknown[:, None], np.nan, scores), impossible
