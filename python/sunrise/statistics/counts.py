"""Counts of levels per class and column, and counts of counts of whole rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Floats, Integers, Labels, Mask, Positions
from sunrise.statistics.base import left_weight, reindex_classes


@dataclass(frozen=True)
class Counts:
    """Rows and weight of every level seen, per class; levels lie column after column, in order.

    A level is known by its code, a whole number, or by its name, a string.

    >>> import numpy as np
    >>> a = Counts(np.array([0, 1]), np.array([7]), np.array([[2]]), np.array([[2.0]]))
    >>> b = Counts(np.array([0, 1]), np.array([3]), np.array([[1]]), np.array([[1.0]]))
    >>> (a + b).codes, (a + b - b).codes
    (array([3, 7]), array([7]))
    """

    offsets: Integers
    codes: NDArray[Any]
    rows: Integers
    weight: Floats

    @property
    def is_named(self) -> bool:
        """Whether levels are known by name."""
        return self.codes.dtype == object

    @property
    def observed_weight(self) -> Floats:
        """The weight of every level, by its other name."""
        return self.weight

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the counts, not what was computed from them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.offsets) - 1

    @cached_property
    def column(self) -> Integers:
        """The column of every level."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.offsets))

    @property
    def top(self) -> Integers:
        """The largest code of every column; -1 where nothing was seen."""
        some = np.diff(self.offsets) > 0
        top = np.full(self.n_columns, -1)
        top[some] = self.codes[self.offsets[1:][some] - 1]
        return top

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.asarray(self.by_column(self.rows).sum(axis=0))

    def by_column(self, values: NDArray[Any], by: np.ufunc = np.add) -> NDArray[Any]:
        """Sum values of the levels, classes x levels, over each column; or put them together in another way."""
        found = np.zeros((len(values), self.n_columns), values.dtype)
        some = np.diff(self.offsets) > 0
        if some.any():
            found[:, some] = by.reduceat(values, self.offsets[:-1][some], axis=1)
        return found

    def _places(self, other: Counts) -> Positions | None:
        """Where the levels of another are among these, if all of them are."""
        if not self.is_named and len(other.codes):
            places = self.places(other.column, other.codes)
            return None if (places < 0).any() else places
        places = np.empty(len(other.codes), np.intp)
        for j in np.flatnonzero(np.diff(other.offsets)).tolist():
            mine, theirs = self.levels(j), other.levels(j)
            at = np.searchsorted(mine, theirs)
            if len(mine) == 0 or at.max() == len(mine) or not np.array_equal(mine[at], theirs):
                return None
            places[other.offsets[j] : other.offsets[j + 1]] = self.offsets[j] + at
        return places

    def places(self, column: Positions, codes: NDArray[Any]) -> Positions:
        """Where levels of these columns and codes are among these; -1 where they are not."""
        mine = np.stack([self.column, self.codes]).astype(np.int64)
        if len(self.codes) == 0 or len(codes) == 0:
            return np.full(len(codes), -1)
        wide = int(max(self.codes.max(), codes.max())) + 1
        if self.n_columns * wide < 2**62:
            keys, wanted = mine[0] * wide + mine[1], column * wide + codes
        else:  # too large to be told as one number
            _, numbers = np.unique(np.concatenate([self.codes, codes]), return_inverse=True)
            wide, n = int(numbers.max()) + 1, len(self.codes)
            keys, wanted = mine[0] * wide + numbers[:n], column * wide + numbers[n:]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, -1)

    def pooled(self) -> Counts:
        """Take all classes as one."""
        rows, weight = (a.sum(axis=0, keepdims=True) for a in (self.rows, self.weight))
        return replace(self, rows=rows, weight=weight)

    def __add__(self, other: Counts) -> Counts:
        if self.codes is other.codes and self.offsets is other.offsets:
            return replace(self, rows=self.rows + other.rows, weight=self.weight + other.weight)
        if (places := self._places(other)) is not None:  # nothing new: a small batch costs little
            rows, weight = self.rows.copy(), self.weight.copy()
            rows[:, places] += other.rows
            weight[:, places] += other.weight
            return replace(self, rows=rows, weight=weight)
        column = np.concatenate([self.column, other.column])
        codes = np.concatenate([self.codes, other.codes])
        order = np.lexsort((np.unique(codes, return_inverse=True)[1] if self.is_named else codes, column))
        column, codes = column[order], codes[order]
        new = np.ones(len(codes), bool)
        new[1:] = (column[1:] != column[:-1]) | (codes[1:] != codes[:-1])
        slot = np.empty(len(codes), np.intp)
        slot[order] = np.cumsum(new) - 1
        rows = np.zeros((len(self.rows), int(new.sum())), np.int64)
        weight = np.zeros(rows.shape)
        mine, theirs = slot[: len(self.codes)], slot[len(self.codes) :]
        rows[:, mine], weight[:, mine] = self.rows, self.weight
        rows[:, theirs] += other.rows
        weight[:, theirs] += other.weight
        offsets = np.searchsorted(column[new], np.arange(self.n_columns + 1))
        return replace(self, offsets=offsets, codes=codes[new], rows=rows, weight=weight)

    def __sub__(self, other: Counts) -> Counts:
        nothing = replace(other, rows=0 * other.rows, weight=0.0 * other.weight)
        before, taken = self + nothing, replace(self, rows=0 * self.rows, weight=0.0 * self.weight) + other
        rows, weight = left_weight(before, taken)
        return replace(before, rows=rows, weight=weight).without_empty()

    def without_empty(self) -> Counts:
        """Drop the levels without rows: a forgotten level leaves no trace."""
        keep = self.rows.any(axis=0)
        if keep.all():
            return self
        offsets = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        return replace(
            self,
            offsets=offsets,
            codes=self.codes[keep],
            rows=self.rows[:, keep],
            weight=self.weight[:, keep],
        )

    def keep_classes(self, position: Positions) -> Counts:
        """Keep these classes, and all levels."""
        return replace(self, rows=self.rows[position], weight=self.weight[position])

    def placed_like(self, other: Counts) -> Counts:
        """Return the counts with the levels of another, whose codes (or positions) these are."""
        n = len(self.rows)
        shape = n, len(other.codes)
        empty = replace(other, rows=np.zeros(shape, np.int64), weight=np.zeros(shape))
        if not other.is_named:
            return empty + self
        at = other.offsets[self.column] + self.codes
        empty.rows[:, at], empty.weight[:, at] = self.rows, self.weight
        return empty

    def with_shares(self, parts: list[Counts]) -> Counts:
        """Replace the weights by counts of one class each: shares of rows without a label."""
        return replace(self, weight=np.concatenate([part.placed_like(self).weight for part in parts]))

    def scaled(self, factor: Floats) -> Counts:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        scaled = replace(self, rows=np.where(f > 0, self.rows, 0), weight=self.weight * f)
        return scaled if (factor > 0).all() else scaled.without_empty()

    def reindexed(self, position: Positions, n_classes: int) -> Counts:
        """Lay the classes out among `n_classes`; the others are empty."""
        rows, weight = (reindex_classes(a, position, n_classes) for a in (self.rows, self.weight))
        return replace(self, rows=rows, weight=weight)

    def select_classes(self, position: Positions) -> Counts:
        """Keep these classes only."""
        return replace(self, rows=self.rows[position], weight=self.weight[position]).without_empty()

    def select_columns(self, columns: Positions) -> Counts:
        """Keep these columns, in this order."""
        levels = [np.arange(self.offsets[j], self.offsets[j + 1]) for j in columns]
        offsets = np.concatenate([[0], np.cumsum([len(places) for places in levels])])
        at = np.concatenate([np.empty(0, np.intp), *levels])
        return replace(
            self, offsets=offsets, codes=self.codes[at], rows=self.rows[:, at], weight=self.weight[:, at]
        )

    @staticmethod
    def concatenate(parts: list[Counts]) -> Counts:
        """Put the columns of several side by side."""
        widths = np.concatenate([np.diff(p.offsets) for p in parts])
        return Counts(
            np.concatenate([[0], np.cumsum(widths)]),
            np.concatenate([p.codes for p in parts]),
            np.concatenate([p.rows for p in parts], axis=1),
            np.concatenate([p.weight for p in parts], axis=1),
        )

    def named(self, names: tuple[Labels, ...]) -> Counts:
        """Replace the codes of the levels by their names, which are given for every column; sort by name."""
        codes = np.empty(len(self.codes), dtype=object)
        order = np.empty(len(self.codes), np.intp)
        for j, own in enumerate(names):
            here = slice(self.offsets[j], self.offsets[j + 1])
            codes[here] = own[self.codes[here]]
            order[here] = self.offsets[j] + np.argsort(codes[here])
        return Counts(self.offsets, codes[order], self.rows[:, order], self.weight[:, order])

    def with_levels(self, names: list[Labels]) -> Counts:
        """Add levels that were declared, a list for each column; they have no rows."""
        if not any(map(len, names)):
            return self
        names = [np.unique(column) for column in names]
        offsets = np.concatenate([[0], np.cumsum([len(column) for column in names])])
        none = len(self.rows), int(offsets[-1])
        return self + Counts(offsets, np.concatenate(names), np.zeros(none, np.int64), np.zeros(none))

    def levels(self, j: int) -> NDArray[Any]:
        """The levels of a column."""
        return self.codes[self.offsets[j] : self.offsets[j + 1]]


@dataclass(frozen=True)
class RowCounts(Counts):
    """Rows of counts: how often each count from 1 is in each column, and in a last column each total of the rows.

    Zeros are not kept, but for rows of nothing but zeros; in other columns the code 0 stands for missing counts.
    """

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.asarray(self.rows[:, self.offsets[-2] :].sum() - self.missing)

    @property
    def missing(self) -> Integers:
        """Missing counts of every column, as rows."""
        unknown = self.rows.sum(axis=0) * (self.codes == 0)
        return np.asarray(self.by_column(unknown[None])[0, :-1])

    @property
    def known(self) -> Mask:
        """Columns of which anything was ever counted."""
        some = self.rows.sum(axis=0) * (self.codes > 0)
        return np.asarray(self.by_column(some[None])[0, :-1] > 0)

    def select_columns(self, columns: Positions) -> Counts:
        """The columns in another order; totals of fewer of them are not known."""
        if not np.array_equal(np.sort(columns), np.arange(self.n_columns - 1)):
            raise ValueError(
                "The totals of rows are known of all columns of a block together, so none can be left out or moved to "
                "another block. Fit the columns that are wanted."
            )
        if np.array_equal(columns, np.arange(self.n_columns - 1)):
            return self
        return super().select_columns(np.append(columns, self.n_columns - 1))

    @staticmethod
    def concatenate(parts: list[Counts]) -> Counts:
        """Two blocks do not make one: the totals of their rows are not known together."""
        raise ValueError(
            "The totals of rows are known block by block, so blocks cannot be put together. Fit them together."
        )
