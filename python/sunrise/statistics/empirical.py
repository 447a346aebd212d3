"""Statistics that keep the values themselves: the different ones of every class and column, and their times.

They lie one after the other, column by column, class by class, in rising order, so that a million values of
twenty classes take no table of twenty millions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.statistics.base import Additive, NeverSeenError, left_weight, reindex_classes

#: Shares of nodes are whole multiples of this, so that sums of them are exact.
_SHARE = 2.0**-30


class Run(NamedTuple):
    """Different values in rising order, the rows that hold each, and their weight."""

    x: Floats
    rows: Integers
    observed_weight: Floats

    @classmethod
    def of(cls, x: Floats, w: Floats | None) -> Run:
        """From values in any order, and their weights."""
        if w is None:
            x = np.sort(x)
        else:
            order = np.argsort(x, kind="stable")
            x, w = x[order], w[order]
        return cls._gathered(x, np.ones(len(x), np.int64), np.ones(len(x)) if w is None else w)

    @classmethod
    def _gathered(cls, x: Floats, rows: Integers, seen: Floats) -> Run:
        """From values in order, of which some may be the same."""
        new = np.empty(len(x), bool)
        new[:1] = True
        np.not_equal(x[1:], x[:-1], out=new[1:])
        if new.all():
            return cls(x, rows, seen)
        first = np.flatnonzero(new)
        return cls(x[first], np.add.reduceat(rows, first), np.add.reduceat(seen, first))

    def __add__(self, other: Run) -> Run:  # type: ignore[override]
        if len(self.x) == 0 or len(other.x) == 0:
            return self if len(other.x) == 0 else other
        x, rows, seen = (np.concatenate(pair) for pair in zip(self, other, strict=True))
        order = np.argsort(x, kind="stable")  # two runs in order: one pass
        return Run._gathered(x[order], rows[order], seen[order])

    def __sub__(self, other: Run) -> Run:
        if len(other.x) == 0:
            return self
        at = self.places(other.x)
        if (at < 0).any():
            raise NeverSeenError(f"the value {other.x[np.argmax(at < 0)]:g} was never seen")
        rows, seen = np.zeros_like(self.rows), np.zeros_like(self.observed_weight)
        rows[at], seen[at] = other.rows, other.observed_weight
        rows, seen = left_weight(self, Run(self.x, rows, seen))
        keep = rows > 0
        return Run(self.x[keep], rows[keep], seen[keep])

    def places(self, x: Floats) -> Positions:
        """Where values are among these; -1 for what is not."""
        if len(self.x) == 0:
            return np.full(len(x), -1)
        at = np.minimum(np.searchsorted(self.x, x), len(self.x) - 1)
        return np.where(self.x[at] == x, at, -1)


def on_grid(x: Floats, grid: tuple[float, float, int]) -> tuple[Positions, Floats]:
    """The node of a grid below each value, and the share of the next one: linear binning."""
    low, high, cells = grid
    step = (high - low) / cells
    at = np.clip(np.floor((x - low) / step), 0, cells - 1).astype(np.intp)
    share = (x - nodes(grid)[at]) / step
    return at, np.clip(np.round(share / _SHARE) * _SHARE, 0.0, 1.0)


def nodes(grid: tuple[float, float, int]) -> Floats:
    """The nodes of a grid."""
    return np.linspace(grid[0], grid[1], grid[2] + 1)


def _binned(x: Floats, w: Floats | None, grid: tuple[float, float, int]) -> Run:
    """Values as shares of the nodes of a grid."""
    at, share = on_grid(x, grid)
    weight = np.ones(len(x)) if w is None else w
    size = grid[2] + 1
    seen: Floats = np.bincount(at, weight * (1.0 - share), size) + np.bincount(at + 1, weight * share, size)  # type: ignore[assignment]
    rows = np.bincount(at, share < 1.0, size) + np.bincount(at + 1, share > 0.0, size)
    keep = rows > 0
    return Run(nodes(grid)[keep], rows[keep].astype(np.int64), seen[keep])


@dataclass(frozen=True, eq=False)
class Values(Additive):
    """The different values of every class and column.

    `rows` and `seen` count observed cells, classes x columns, as rows and by weight; `sizes` says how many different
    values there are. `x`, `times` and `weight` are those values, the rows that hold each and their weight.

    >>> import numpy as np
    >>> a = Values.of(np.array([[2.0], [1.0], [2.0]]), np.zeros(3, np.int32), None, 1)
    >>> a.x, (a + a).times, (a + a - a).weight
    (array([1., 2.]), array([2, 4]), array([1., 2.]))
    """

    rows: Integers
    observed_weight: Floats
    sizes: Integers
    x: Floats
    times: Integers
    weight: Floats

    @classmethod
    def of(
        cls,
        x: Floats,
        codes: Codes,
        weight: Floats | None,
        n_classes: int,
        grid: tuple[float, float, int] | None = None,
    ) -> Values:
        """The values of rows (rows x columns) of these classes; NaN is missing, a row of weight 0 is not there."""
        of_class = [np.flatnonzero(member) for member in _members(codes, weight, n_classes)]
        runs, rows, seen = [], [], []
        for column in x.T:
            for own in of_class:
                cells = column[own]
                there = ~np.isnan(cells)
                if not there.all():
                    own, cells = own[there], cells[there]
                w = None if weight is None else weight[own]
                runs.append(Run.of(cells, w) if grid is None else _binned(cells, w, grid))
                rows.append(len(own))
                seen.append(float(len(own)) if w is None else float(w.sum()))
        shape = x.shape[1], n_classes
        return cls._of_runs(np.array(rows, np.int64).reshape(shape).T, np.array(seen).reshape(shape).T, runs)

    @classmethod
    def _of_runs(cls, rows: Integers, seen: Floats, runs: list[Run]) -> Values:
        """From the runs of every column, class by class."""
        sizes = np.array([len(run.x) for run in runs], np.int64).reshape(rows.shape[::-1]).T
        if len(runs) == 1:
            return cls(rows, seen, sizes, *runs[0])
        none = Run(np.empty(0), np.empty(0, np.int64), np.empty(0))
        x, times, weight = (np.concatenate(parts) for parts in zip(none, *runs, strict=True))
        return cls(rows, seen, sizes, x, times, weight)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def known(self) -> Mask:
        """Columns that were observed at all."""
        return np.asarray(self.observed > 0)

    @property
    def observed(self) -> Integers:
        """Observed cells of every column, as rows."""
        return np.asarray(self.rows.sum(axis=0))

    @cached_property
    def offsets(self) -> Integers:
        """Where the values of each column and class begin, column by column."""
        return np.concatenate([[0], np.cumsum(self.sizes.T.ravel())]).astype(np.int64)

    def range_of_columns(self) -> tuple[Floats, Floats]:
        """The least and the greatest value of every column, whatever the class; +inf and -inf if there is none."""
        some = self.sizes.T > 0  # columns x classes
        low, high = np.full(some.shape, np.inf), np.full(some.shape, -np.inf)
        low[some] = self.x[self.offsets[:-1].reshape(some.shape)[some]]
        high[some] = self.x[self.offsets[1:].reshape(some.shape)[some] - 1]
        return low.min(axis=1), high.max(axis=1)

    def weight_at(self, x: Floats, c: Codes, j: Positions) -> Floats:
        """The weight of the training cells that hold each value x of class c and column j; 0 if none does."""
        weight = np.zeros(len(x))
        place = np.asarray(j) * len(self.rows) + c
        for at in np.unique(place).tolist():
            own = np.flatnonzero(place == at)
            first, last = self.offsets[at], self.offsets[at + 1]
            if first == last:
                continue
            found = first + np.minimum(np.searchsorted(self.x[first:last], x[own]), last - first - 1)
            weight[own] = np.where(self.x[found] == x[own], self.weight[found], 0.0)
        return weight

    def run(self, c: int, j: int) -> Run:
        """The values of a class and column."""
        at = j * self.n_classes + c
        some = slice(self.offsets[at], self.offsets[at + 1])
        return Run(self.x[some], self.times[some], self.weight[some])

    def of_column(self, j: int) -> list[Run]:
        """The values of a column, class by class."""
        return [self.run(c, j) for c in range(self.n_classes)]

    def column(self, j: int) -> Run:
        """The values of a column, of all classes together."""
        some = slice(self.offsets[j * self.n_classes], self.offsets[(j + 1) * self.n_classes])
        order = np.argsort(self.x[some], kind="stable")
        return Run._gathered(self.x[some][order], self.times[some][order], self.weight[some][order])

    @property
    def _runs(self) -> Iterator[Run]:
        return (run for j in range(self.n_columns) for run in self.of_column(j))

    def _with(self, other: Values, how: Callable[[Run, Run], Run], rows: Integers, seen: Floats) -> Values:
        runs = [how(mine, theirs) for mine, theirs in zip(self._runs, other._runs, strict=True)]
        return Values._of_runs(rows, seen, runs)

    def __add__(self, other: Values) -> Values:
        return self._with(
            other, Run.__add__, self.rows + other.rows, self.observed_weight + other.observed_weight
        )

    def __sub__(self, other: Values) -> Values:
        return self._with(other, Run.__sub__, *left_weight(self, other))

    def scaled(self, factor: Floats) -> Values:
        """Multiply the weight of every class by its factor; a class of factor 0 is left with nothing."""
        f = factor[:, None]
        by_value = np.repeat(np.broadcast_to(f, self.sizes.shape).T.ravel(), self.sizes.T.ravel())
        keep = by_value > 0
        return Values(
            np.where(f > 0, self.rows, 0),
            self.observed_weight * f,
            np.where(f > 0, self.sizes, 0),
            self.x[keep],
            self.times[keep],
            (self.weight * by_value)[keep],
        )

    def _classes(self, position: Positions, n_classes: int) -> Values:
        """Only these classes, the others empty."""
        place = {int(at): c for c, at in enumerate(position)}
        none = Run(self.x[:0], self.times[:0], self.weight[:0])
        runs = [
            self.run(place[c], j) if c in place else none
            for j in range(self.n_columns)
            for c in range(n_classes)
        ]
        rows, seen = (reindex_classes(a, position, n_classes) for a in (self.rows, self.observed_weight))
        return Values._of_runs(rows, seen, runs)

    def with_shares(self, parts: list[Any]) -> Values:
        """Values of rows without a label: a row is a value of every class that it may have."""
        n = len(parts)
        shares = [part.reindexed(np.array([c]), n) for c, part in enumerate(parts)]
        return sum(shares[1:], start=shares[0])  # type: ignore[no-any-return]

    def reindexed(self, position: Positions, n_classes: int) -> Values:
        """Lay the classes out among `n_classes`; the others are empty."""
        return self._classes(position, n_classes)

    def select_classes(self, position: Positions) -> Values:
        """Keep these classes only."""
        runs = [self.run(int(c), j) for j in range(self.n_columns) for c in position]
        return Values._of_runs(self.rows[position], self.observed_weight[position], runs)

    def select_columns(self, columns: Positions) -> Values:
        """Keep these columns, in this order."""
        columns = np.atleast_1d(columns)
        runs = [self.run(c, int(j)) for j in columns for c in range(self.n_classes)]
        return Values._of_runs(self.rows[:, columns], self.observed_weight[:, columns], runs)

    @staticmethod
    def concatenate(parts: list[Values]) -> Values:
        """Put the columns of several side by side."""
        tables = (
            np.concatenate([getattr(p, name) for p in parts], 1)
            for name in ("rows", "observed_weight", "sizes")
        )
        lists = (np.concatenate([getattr(p, name) for p in parts]) for name in ("x", "times", "weight"))
        return Values(*tables, *lists)

    def on_scale(self, scale: Callable[[Floats], Floats]) -> Values:
        """The same with a rising function of the values."""
        return replace(self, x=scale(self.x))


def _members(codes: Codes, weight: Floats | None, n_classes: int) -> Iterator[Mask]:
    """Which rows are of each class and have any weight."""
    for c in range(n_classes):
        own = codes == c
        yield own if weight is None else own & (weight > 0)


def given_grid(grid: Any) -> tuple[float, float, int]:
    """Check a grid that the user gave: its ends, and the number of cells between them."""
    try:
        low, high, cells = grid
        valid = math.isfinite(low) and math.isfinite(high) and low < high
        valid = valid and isinstance(cells, Integral) and int(cells) >= 1
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(f"grid is {grid!r}; it must be (low, high, cells), such as (0.0, 100.0, 1000).")
    return float(low), float(high), int(cells)
