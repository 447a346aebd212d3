"""Distinct cells: a column is scored at each of its distinct values in each class, not at each row.

The leave-one-out score of a row under a single column depends only on the cell, the class and the weight of the row.
Columns with few distinct values therefore have few scores. They are arranged as a small table, in which a row holds one
value of every column for one class and one weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Positions
from sunrise.selection.density import frequent_values, lattice_gap

#: Columns with more distinct values than this share of the rows, and all columns of fewer rows, are scored row by row.
_FEW, _MANY_ROWS = 0.25, 500


@dataclass(frozen=True)
class DistinctValues:
    """The distinct values of a column in order (the last is NaN if cells are missing), and the value of each row."""

    values: Floats
    place: Positions

    @classmethod
    def of(cls, x: Floats) -> DistinctValues:
        """Return the distinct values of cells."""
        return cls(*np.unique(x, return_inverse=True))

    @cached_property
    def cells(self) -> Floats:
        """The cells of the rows."""
        return np.asarray(self.values[self.place])

    @property
    def is_few(self) -> bool:
        """True if the column is scored by distinct values."""
        return len(self.place) >= _MANY_ROWS and len(self.values) <= _FEW * len(self.place)

    @cached_property
    def observed(self) -> Floats:
        """The distinct values without NaN."""
        return self.values[:-1] if len(self.values) and np.isnan(self.values[-1]) else self.values

    @cached_property
    def gap(self) -> float:
        """The gap of the lattice of the values; 0 if there is none."""
        return lattice_gap(self.observed)

    @cached_property
    def frequent(self) -> Floats | None:
        """The values whose probability on the lattice is integrated."""
        times = np.bincount(self.place, minlength=len(self.values))[: len(self.observed)]
        return frequent_values(self.observed, times, self.gap)


@dataclass(frozen=True)
class Cells:
    """Cells of some columns to be scored: numbers, classes, weights of a row, and how often each cell occurs."""

    x: Floats
    y: Codes
    weight: Floats | None
    #: Rows x columns; None if every cell is one row.
    times: Floats | None = None

    @classmethod
    def distinct(cls, columns: Sequence[DistinctValues], y: Codes, weight: Floats | None) -> Cells:
        """Return every distinct pair of a value and a class (and a weight) once for each column."""
        if weight is None:
            groups, of_row = np.unique(y, return_inverse=True)
            classes, weights = groups, None
        else:
            kinds, first, of_row = np.unique(
                np.stack([y, weight]), axis=1, return_index=True, return_inverse=True
            )
            of_row, classes, weights = of_row.ravel(), y[first], weight[first]
            groups = kinds.T
        tables = [_count_pairs(of_row, column, len(groups)) for column in columns]
        sizes = np.max([(table > 0).sum(axis=1) for table in tables], axis=0)
        start = np.concatenate([[0], np.cumsum(sizes)])
        x = np.full((start[-1], len(columns)), np.nan)
        times = np.zeros_like(x)
        for j, (table, column) in enumerate(zip(tables, columns, strict=True)):
            group, value = np.nonzero(table)
            first_of_group = np.searchsorted(group, np.arange(len(groups)))
            at = start[group] + np.arange(len(group)) - first_of_group[group]
            x[at, j], times[at, j] = column.values[value], table[group, value]
        rows = np.repeat(np.arange(len(groups)), sizes)
        return cls(x, classes[rows], None if weights is None else weights[rows], times)

    def select(self, columns: list[int]) -> Cells:
        """Return the cells of some columns, which may repeat."""
        times = None if self.times is None else self.times[:, columns]
        return Cells(self.x[:, columns], self.y, self.weight, times)


def _count_pairs(group: Positions, column: DistinctValues, n_groups: int) -> Integers:
    """Return how many rows have each value, by group: groups x values."""
    n_values = len(column.values)
    counts = np.bincount(group * n_values + column.place, minlength=n_groups * n_values)
    return counts.reshape(n_groups, n_values)
