"""Counts of levels per class and column, and frequencies of counts for rows of counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Floats, Integers, Labels, Mask, Positions
from sunrise._common.stored import stored
from sunrise.statistics.base import NEGLIGIBLE, reindex_classes, subtract_observed
from sunrise.statistics.deferred import Deferred


@stored("counts")
@dataclass(frozen=True)
class Counts(Deferred):
    """Number and weight of the rows with each observed level, per class.

    The arrays are classes x levels. Levels are sorted within a column, and columns follow each other: column j has the
    levels offsets[j] to offsets[j + 1] - 1. `codes` identifies a level by a whole number or by its name, a string.

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

    shapes = {
        "offsets": ("columns + 1",),
        "codes": ("levels",),
        "rows": ("classes", "levels"),
        "weight": ("classes", "levels"),
    }

    def is_consistent(self, sizes: dict[str, int]) -> bool:
        """True if the offsets divide the levels among the columns."""
        ends = self.offsets
        return bool(ends[0] == 0 and ends[-1] == sizes["levels"] and (np.diff(ends) >= 0).all())

    @property
    def is_named(self) -> bool:
        """True if levels are identified by name."""
        return self.codes.dtype == object

    @property
    def observed_weight(self) -> Floats:
        """Weight of every level, under the name that all statistics share."""
        return self.weight

    @cached_property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.offsets) - 1

    @cached_property
    def column(self) -> Integers:
        """Column of every level."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.offsets))

    @property
    def top(self) -> Integers:
        """Largest code of every column; -1 for a column without levels."""
        nonempty = np.diff(self.offsets) > 0
        top = np.full(self.n_columns, -1)
        top[nonempty] = self.codes[self.offsets[1:][nonempty] - 1]
        return top

    @property
    def observed(self) -> Integers:
        """Number of observed cells of every column."""
        return np.asarray(self.by_column(self.rows).sum(axis=0))

    def by_column(self, values: NDArray[Any], by: np.ufunc = np.add) -> NDArray[Any]:
        """Sum values (classes x levels) over the levels of each column, or reduce them with another ufunc."""
        reduced = np.zeros((len(values), self.n_columns), values.dtype)
        nonempty = np.diff(self.offsets) > 0
        if nonempty.any():
            reduced[:, nonempty] = by.reduceat(values, self.offsets[:-1][nonempty], axis=1)
        return reduced

    def _positions_of(self, other: Counts) -> Positions | None:
        """Positions of the levels of `other` in these levels; None if a level is missing here."""
        if not self.is_named and len(other.codes):
            places = self.positions(other.column, other.codes)
            return None if (places < 0).any() else places
        places = np.empty(len(other.codes), np.intp)
        for j in np.flatnonzero(np.diff(other.offsets)).tolist():
            mine, theirs = self.levels(j), other.levels(j)
            at = np.searchsorted(mine, theirs)
            if len(mine) == 0 or at.max() == len(mine) or not np.array_equal(mine[at], theirs):
                return None
            places[other.offsets[j] : other.offsets[j + 1]] = self.offsets[j] + at
        return places

    def positions(self, column: Positions, codes: NDArray[Any]) -> Positions:
        """Position of every (column, code) pair in these levels; -1 if absent."""
        mine = np.stack([self.column, self.codes]).astype(np.int64)
        if len(self.codes) == 0 or len(codes) == 0:
            return np.full(len(codes), -1)
        n_codes = int(max(self.codes.max(), codes.max())) + 1
        if self.n_columns * n_codes < 2**62:
            keys, wanted = mine[0] * n_codes + mine[1], column * n_codes + codes
        else:  # column * n_codes + code would overflow: replace codes by their ranks
            _, ranks = np.unique(np.concatenate([self.codes, codes]), return_inverse=True)
            n_codes, n = int(ranks.max()) + 1, len(self.codes)
            keys, wanted = mine[0] * n_codes + ranks[:n], column * n_codes + ranks[n:]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, at, -1)

    def pooled(self) -> Counts:
        """Sum over the classes: counts with one class."""
        rows, weight = (a.sum(axis=0, keepdims=True) for a in (self.rows, self.weight))
        return replace(self, rows=rows, weight=weight)

    def __add__(self, other: Counts) -> Counts:
        if self.codes is other.codes and self.offsets is other.offsets:
            return replace(self, rows=self.rows + other.rows, weight=self.weight + other.weight)
        if (places := self._positions_of(other)) is not None:  # no new level: skips the sorting below
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
        return self.subtract(other)

    def subtract(self, other: Counts, decayed: bool = False) -> Counts:
        """Subtract other counts; `decayed` says that weights have been decayed, see `subtract_observed`."""
        # Adding zero counts gives both operands the same levels.
        before, removed = self + other._zeros, self._zeros + other
        rows, weight = subtract_observed(before, removed, decayed)
        return before._with_rest(removed, rows, weight).without_empty()

    @property
    def _zeros(self) -> Counts:
        """The same levels without rows."""
        return replace(self, rows=0 * self.rows, weight=0.0 * self.weight)

    def _with_rest(self, removed: Counts, rows: Integers, weight: Floats) -> Counts:
        """Replace rows and weights by those after a subtraction of `removed`, which has the same levels."""
        return replace(self, rows=rows, weight=weight)

    def decayed(self, factor: float) -> Counts:
        """Multiply all weights by a factor; levels whose weight is negligible afterwards leave with their rows."""
        weight = self.weight * factor
        gone = (self.rows > 0) & (weight < NEGLIGIBLE)
        if not gone.any():
            return replace(self, weight=weight)
        rest = replace(self, rows=np.where(gone, 0, self.rows), weight=np.where(gone, 0.0, weight))
        return rest.without_empty()

    def pruned(self, least: float) -> Counts:
        """Drop levels that weigh less than `least` over all classes, with their rows."""
        return self._without_levels(self.weight.sum(axis=0) < least)

    def _without_levels(self, drop: Mask) -> Counts:
        """Drop levels with their rows."""
        if not drop.any():
            return self
        return replace(
            self, rows=np.where(drop, 0, self.rows), weight=np.where(drop, 0.0, self.weight)
        ).without_empty()

    def without_empty(self) -> Counts:
        """Drop levels without rows, so that forgetting all rows of a level restores the statistics without it."""
        return self._select_levels(np.asarray(self.rows.any(axis=0)))

    def without_rare(self, min_rows: int) -> Counts:
        """Drop levels that fewer than `min_rows` rows have, all classes together, as if these cells were missing."""
        return self._select_levels(np.asarray(self.rows.sum(axis=0) >= min_rows))

    def _select_levels(self, keep: Mask) -> Counts:
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
        """Keep only these classes, and all levels."""
        return self._map_arrays(lambda a: a[position])

    def with_levels_of(self, other: Counts) -> Counts:
        """Use the levels of `other`; where those have names, the codes of `self` are positions among them."""
        n = len(self.rows)
        shape = n, len(other.codes)
        empty = replace(other, rows=np.zeros(shape, np.int64), weight=np.zeros(shape))
        if not other.is_named:
            return empty + self
        at = other.offsets[self.column] + self.codes
        empty.rows[:, at], empty.weight[:, at] = self.rows, self.weight
        return empty

    def with_shares(self, parts: list[Counts]) -> Counts:
        """Replace the weights by those of `parts`, one per class: EM's expected counts of that class."""
        return replace(self, weight=np.concatenate([part.with_levels_of(self).weight for part in parts]))

    def scaled(self, factor: Floats) -> Counts:
        """Multiply the weight of every class by its factor."""
        f = factor[:, None]
        scaled = replace(self, rows=np.where(f > 0, self.rows, 0), weight=self.weight * f)
        return scaled if (factor > 0).all() else scaled.without_empty()

    def reindexed(self, position: Positions, n_classes: int) -> Counts:
        """Move class k to position[k] of `n_classes` classes; the other classes are empty."""
        return self._map_arrays(lambda a: reindex_classes(a, position, n_classes))

    def select_classes(self, position: Positions) -> Counts:
        """Keep only these classes, and the levels that they have."""
        return self._map_arrays(lambda a: a[position]).without_empty()

    def _map_arrays(self, change: Any) -> Counts:
        """Change the classes of all arrays."""
        return replace(self, rows=change(self.rows), weight=change(self.weight))

    def select_columns(self, columns: Positions) -> Counts:
        """Keep only these columns, in this order."""
        levels = [np.arange(self.offsets[j], self.offsets[j + 1]) for j in columns]
        offsets = np.concatenate([[0], np.cumsum([len(places) for places in levels])])
        at = np.concatenate([np.empty(0, np.intp), *levels])
        return replace(
            self, offsets=offsets, codes=self.codes[at], rows=self.rows[:, at], weight=self.weight[:, at]
        )

    @staticmethod
    def concatenate(parts: list[Counts]) -> Counts:
        """Concatenate the columns of several counts."""
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
        """Add declared levels without rows, one array of names per column."""
        if not any(map(len, names)):
            return self
        names = [np.unique(column) for column in names]
        offsets = np.concatenate([[0], np.cumsum([len(column) for column in names])])
        shape = len(self.rows), int(offsets[-1])
        return self + Counts(offsets, np.concatenate(names), np.zeros(shape, np.int64), np.zeros(shape))

    def levels(self, j: int) -> NDArray[Any]:
        """Levels of a column."""
        return self.codes[self.offsets[j] : self.offsets[j + 1]]


@stored("row counts")
@dataclass(frozen=True)
class RowCounts(Counts):
    """Frequencies of counts: how many rows have each count (1, 2, ...) in each column, and each row total.

    The last column holds the row totals, including 0. Zero counts of the other columns are not stored; there the code 0
    stands for a missing count.
    """

    @property
    def observed(self) -> Integers:
        """Number of observed cells of every column."""
        return np.asarray(self.rows[:, self.offsets[-2] :].sum() - self.missing)

    def pruned(self, least: float) -> Counts:
        """Drop counts that weigh less than `least` over all classes: their rows then count as rows with 0.

        Row totals and missing counts stay, because the number of rows follows from them.
        """
        stays = (self.codes == 0) | (self.column == self.n_columns - 1)
        return self._without_levels((self.weight.sum(axis=0) < least) & ~stays)

    @property
    def missing(self) -> Integers:
        """Number of missing counts of every column."""
        missing = self.rows.sum(axis=0) * (self.codes == 0)
        return np.asarray(self.by_column(missing[None])[0, :-1])

    @property
    def known(self) -> Mask:
        """True for columns with at least one positive count."""
        positive = self.rows.sum(axis=0) * (self.codes > 0)
        return np.asarray(self.by_column(positive[None])[0, :-1] > 0)

    def select_columns(self, columns: Positions) -> Counts:
        """Reorder the columns; raises if columns are dropped, because row totals of a subset are unknown."""
        if not np.array_equal(np.sort(columns), np.arange(self.n_columns - 1)):
            raise ValueError(
                "The stored row totals are sums over all columns of the block, so no column can be dropped or moved to "
                "another block. Fit again with the columns you want."
            )
        if np.array_equal(columns, np.arange(self.n_columns - 1)):
            return self
        return super().select_columns(np.append(columns, self.n_columns - 1))

    @staticmethod
    def concatenate(parts: list[Counts]) -> Counts:
        """Raises: the row totals of two blocks do not determine those of the combined block."""
        raise ValueError(
            "The row totals are stored per block, so blocks cannot be combined. Fit all their columns as one block."
        )
