"""Empirical distributions: the distinct values of every class and column, and their frequencies.

They are stored in one flat array, column by column, class by class, in ascending order, so that a million values in
twenty classes need no table of twenty million entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise._common.stored import stored
from sunrise._common.threads import spread, threads
from sunrise.statistics.base import NeverSeenError, reindex_classes, subtract_observed
from sunrise.statistics.fading import FadingValues
from sunrise.statistics.grids import Grid

#: Number of cells that are sorted at once: more would take too much memory.
_AT_ONCE = 1 << 20


class Run(NamedTuple):
    """Distinct values in ascending order, with the number of rows and the weight of each."""

    x: Floats
    rows: Integers
    observed_weight: Floats

    @classmethod
    def of(cls, x: Floats, w: Floats | None) -> Run:
        """Build from values in any order, and their weights."""
        if w is None:
            x = np.sort(x)
        else:
            order = np.argsort(x, kind="stable")
            x, w = x[order], w[order]
        return cls._merge_equal(x, np.ones(len(x), np.int64), np.ones(len(x)) if w is None else w)

    @classmethod
    def _merge_equal(cls, x: Floats, rows: Integers, weight: Floats) -> Run:
        """Build from sorted values; equal values are merged."""
        new = np.empty(len(x), bool)
        new[:1] = True
        np.not_equal(x[1:], x[:-1], out=new[1:])
        if new.all():
            return cls(x, rows, weight)
        first = np.flatnonzero(new)
        return cls(x[first], np.add.reduceat(rows, first), np.add.reduceat(weight, first))

    def __add__(self, other: Run) -> Run:  # type: ignore[override]
        if len(self.x) == 0 or len(other.x) == 0:
            return self if len(other.x) == 0 else other
        x, rows, weight = (np.concatenate(pair) for pair in zip(self, other, strict=True))
        order = np.argsort(x, kind="stable")  # a stable sort merges two sorted runs in one pass
        return Run._merge_equal(x[order], rows[order], weight[order])

    def __sub__(self, other: Run) -> Run:
        return self.subtract(other)

    def subtract(self, other: Run, decayed: bool = False) -> Run:
        """Subtract other values; `decayed` says that weights have been decayed, see `subtract_observed`."""
        if len(other.x) == 0:
            return self
        at = self.positions(other.x)
        if (at < 0).any():
            raise NeverSeenError(f"the value {other.x[np.argmax(at < 0)]:g} was never fitted")
        rows, weight = np.zeros_like(self.rows), np.zeros_like(self.observed_weight)
        rows[at], weight[at] = other.rows, other.observed_weight
        rows, weight = subtract_observed(self, Run(self.x, rows, weight), decayed)
        keep = rows > 0
        return Run(self.x[keep], rows[keep], weight[keep])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw n values, each with a probability proportional to its weight."""
        up_to = np.cumsum(self.observed_weight)
        at = np.searchsorted(up_to, rng.random(n) * up_to[-1], side="right")
        return np.asarray(self.x[np.minimum(at, len(self.x) - 1)])

    def draw_kernels(self, width: float, n: int, rng: np.random.Generator) -> Floats:
        """Draw n numbers from a kernel density of the values: a value plus Gaussian noise."""
        return np.asarray(self.draw(n, rng) + width * rng.standard_normal(n))

    def on_grid(self, grid: Grid) -> Run:
        """Return a run of grid nodes: each value shares its weight between two nodes, and is a row of both."""
        lower, upper, share = grid.split(self.x)
        at_lower, at_upper = share < 1.0, share > 0.0
        x = np.concatenate([lower[at_lower], upper[at_upper]])
        rows = np.concatenate([self.rows[at_lower], self.rows[at_upper]])
        w = self.observed_weight
        weight = np.concatenate([(w * (1.0 - share))[at_lower], (w * share)[at_upper]])
        order = np.argsort(x, kind="stable")
        return Run._merge_equal(x[order], rows[order], weight[order])

    def positions(self, x: Floats) -> Positions:
        """Position of every value in this run; -1 if absent."""
        if len(self.x) == 0:
            return np.full(len(x), -1)
        at = np.minimum(np.searchsorted(self.x, x), len(self.x) - 1)
        return np.where(self.x[at] == x, at, -1)


@stored("values")
@dataclass(frozen=True, eq=False)
class Values(FadingValues):
    """Distinct values of every class and column, and their frequencies.

    `rows` and `observed_weight` are the number and the weight of the observed cells, `sizes` the number of distinct
    values, all classes x columns. `x`, `times` and `weight` are the values, and the number and weight of the rows with
    each value. On a grid, the values are nodes, and `times` counts a row at both nodes that it is split between.

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

    shapes = {
        **dict.fromkeys(("rows", "observed_weight", "sizes"), ("classes", "columns")),
        **dict.fromkeys(("x", "times", "weight"), ("values",)),
    }

    def is_consistent(self, sizes: dict[str, int]) -> bool:
        """True if the classes and columns have as many values as there are."""
        return bool((self.sizes >= 0).all() and self.sizes.sum() == sizes["values"])

    @classmethod
    def of(
        cls,
        x: Floats,
        codes: Codes,
        weight: Floats | None,
        n_classes: int,
        grids: Sequence[Grid | None] = (),
    ) -> Values:
        """Build from cells, rows x columns, and the class codes of the rows; skips NaN and rows of weight 0.

        `grids` has one grid for every column, or one for all; None keeps the values of a column.
        """
        if weight is None and not any(grids) and x.size <= _AT_ONCE and codes.min(initial=0) >= 0:
            return cls._of_equal_rows(x, codes, n_classes)
        rows_of_class = [np.flatnonzero(member) for member in _members(codes, weight, n_classes)]

        def of_column(column: Floats) -> list[tuple[Run, int, float]]:
            return [_run_of(column, own, weight) for own in rows_of_class]

        parts = [part for own in spread(of_column, x.T, threads(None, 16 * x.size)) for part in own]
        n_rows = np.array([n for _, n, _ in parts], np.int64).reshape(x.shape[1], n_classes).T
        total = np.array([w for _, _, w in parts], np.float64).reshape(x.shape[1], n_classes).T
        values = cls._of_runs(n_rows, total, [run for run, _, _ in parts])
        return values.on_grids(grids) if any(grids) else values

    @classmethod
    def _of_equal_rows(cls, x: Floats, codes: Codes, n_classes: int) -> Values:
        """Build from rows of weight 1; all columns at once, because tables may have many short runs."""
        (n, n_columns), order = x.shape, np.argsort(codes, kind="stable")
        cells, codes = np.ascontiguousarray(x[order].T), codes[order]
        starts = np.searchsorted(codes, np.arange(n_classes + 1))
        for c in range(n_classes):
            cells[:, starts[c] : starts[c + 1]].sort(axis=1)
        is_new = np.ones(cells.shape, bool)
        np.not_equal(cells[:, 1:], cells[:, :-1], out=is_new[:, 1:])
        is_new[:, starts[starts < n]] = True
        first = np.flatnonzero(is_new)
        values, times = cells.ravel()[first], np.diff(first, append=is_new.size).astype(np.int64)
        known = ~np.isnan(values)
        first, values, times = first[known], values[known], times[known]
        run, shape = first // max(n, 1) * n_classes + codes[first % max(n, 1)], (n_columns, n_classes)
        rows, sizes = (np.bincount(run, w, n_columns * n_classes).reshape(shape).T for w in (times, None))
        weights = rows.astype(np.float64), sizes, values, times, times.astype(np.float64)
        return cls(rows.astype(np.int64), *weights)

    @classmethod
    def _of_runs(cls, rows: Integers, observed_weight: Floats, runs: list[Run]) -> Values:
        """Build from one run per column and class, column by column."""
        sizes = np.array([len(run.x) for run in runs], np.int64).reshape(rows.shape[::-1]).T
        if len(runs) == 1:
            return cls(rows, observed_weight, sizes, *runs[0])
        empty = Run(np.empty(0), np.empty(0, np.int64), np.empty(0))
        x, times, weight = (np.concatenate(parts) for parts in zip(empty, *runs, strict=True))
        return cls(rows, observed_weight, sizes, x, times, weight)

    def on_grids(self, grids: Sequence[Grid | None]) -> Values:
        """Put the values of every column on its grid; a column whose grid is None keeps its values."""
        own = [grid_of(grids, j) for j in range(self.n_columns)]
        if all(grid is None or grid.is_plain for grid in own):
            steps = np.repeat([0.0 if grid is None else float(grid.step) for grid in own], self.n_classes)
            values, n_threads = (self.x, self.times, self.weight), threads(None, 4 * len(self.x))
            sizes, x, times, w = _native.on_lattices(*values, self.offsets, steps, n_threads)
            sizes = sizes.reshape(self.sizes.T.shape).T
            return Values(self.rows, self.observed_weight, sizes, x, times, w)
        runs = [
            run if grid is None else run.on_grid(grid)
            for j, grid in enumerate(own)
            for run in self.of_column(j)
        ]
        return Values._of_runs(self.rows, self.observed_weight, runs)

    def number_of_nodes(self, grid: Grid, j: int) -> int:
        """Return how many nodes of a grid column j would have, all classes together."""
        return len(self.select_columns(np.array([j])).on_grids((grid,)).x)

    def points_of_cells(
        self, grids: Sequence[Grid | None], x: Floats, c: Codes, j: Positions, w: Floats
    ) -> tuple[Floats, Floats, Mask]:
        """Return the two points, and their weights, that cells x of class c, column j and weight w added: cells x 2.

        The mask is True where both weights were fitted.
        """
        points, weights = (np.asarray(np.stack(pair, axis=1)) for pair in ((x, x), (w, 0.0 * w)))
        for column in np.unique(j).tolist():
            if (grid := grid_of(grids, column)) is not None:
                own = np.flatnonzero(np.asarray(j) == column)
                lower, upper, share = grid.split(x[own])
                points[own, 0], points[own, 1] = lower, upper
                weights[own, 0], weights[own, 1] = w[own] * (1.0 - share), w[own] * share
        at = np.stack([self.weight_at(points[:, k], c, j) for k in (0, 1)], axis=1)
        return points, weights, np.asarray((at >= (1.0 - 1e-9) * weights).all(axis=1))

    def has_values_of(self, other: Values) -> bool:
        """True if both hold the same values with the same weights."""
        pairs = ((self.sizes, other.sizes), (self.x, other.x), (self.weight, other.weight))
        return all(np.array_equal(a, b) for a, b in pairs)

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
        """True for columns with at least one observed cell."""
        return np.asarray(self.observed > 0)

    @property
    def observed(self) -> Integers:
        """Number of observed cells of every column."""
        return np.asarray(self.rows.sum(axis=0))

    @cached_property
    def offsets(self) -> Integers:
        """Index of the first value of each column and class, column by column; the last entry is the total."""
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
        """Values of class c in column j."""
        at = j * self.n_classes + c
        part = slice(self.offsets[at], self.offsets[at + 1])
        return Run(self.x[part], self.times[part], self.weight[part])

    def of_column(self, j: int) -> list[Run]:
        """The values of a column, class by class."""
        return [self.run(c, j) for c in range(self.n_classes)]

    def column(self, j: int) -> Run:
        """Values of column j in all classes together."""
        part = slice(self.offsets[j * self.n_classes], self.offsets[(j + 1) * self.n_classes])
        order = np.argsort(self.x[part], kind="stable")
        return Run._merge_equal(self.x[part][order], self.times[part][order], self.weight[part][order])

    @property
    def _runs(self) -> Iterator[Run]:
        return (run for j in range(self.n_columns) for run in self.of_column(j))

    def _combine(
        self, other: Values, operation: Callable[[Run, Run], Run], rows: Integers, weight: Floats
    ) -> Values:
        runs = [operation(mine, theirs) for mine, theirs in zip(self._runs, other._runs, strict=True)]
        return Values._of_runs(rows, weight, runs)

    def __add__(self, other: Values) -> Values:
        return self._combine(
            other, Run.__add__, self.rows + other.rows, self.observed_weight + other.observed_weight
        )

    def subtract(self, other: Values, decayed: bool = False) -> Values:
        """Subtract other values; `decayed` says that weights have been decayed, see `subtract_observed`."""
        rest = self._combine(
            other, partial(Run.subtract, decayed=decayed), *subtract_observed(self, other, decayed)
        )
        return rest.with_rows_of_values(self._is_shared) if decayed else rest

    def scaled(self, factor: Floats) -> Values:
        """Multiply the weight of every class by its factor; factor 0 empties the class."""
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

    def reindexed(self, position: Positions, n_classes: int) -> Values:
        """Move class k to position[k] of `n_classes` classes; the other classes are empty."""
        old_class = {int(at): c for c, at in enumerate(position)}
        empty = Run(self.x[:0], self.times[:0], self.weight[:0])
        runs = [
            self.run(old_class[c], j) if c in old_class else empty
            for j in range(self.n_columns)
            for c in range(n_classes)
        ]
        rows, weight = (reindex_classes(a, position, n_classes) for a in (self.rows, self.observed_weight))
        return Values._of_runs(rows, weight, runs)

    def with_shares(self, parts: list[Any]) -> Values:
        """Values of `parts`, one per class: an unlabelled row adds its value, weighted, to every possible class."""
        n = len(parts)
        shares = [part.reindexed(np.array([c]), n) for c, part in enumerate(parts)]
        return sum(shares[1:], start=shares[0])  # type: ignore[no-any-return]

    def select_classes(self, position: Positions) -> Values:
        """Keep only these classes."""
        runs = [self.run(int(c), j) for j in range(self.n_columns) for c in position]
        return Values._of_runs(self.rows[position], self.observed_weight[position], runs)

    def select_columns(self, columns: Positions) -> Values:
        """Keep only these columns, in this order."""
        columns = np.atleast_1d(columns)
        runs = [self.run(c, int(j)) for j in columns for c in range(self.n_classes)]
        return Values._of_runs(self.rows[:, columns], self.observed_weight[:, columns], runs)

    @staticmethod
    def concatenate(parts: list[Values]) -> Values:
        """Concatenate the columns of several statistics."""
        tables = (
            np.concatenate([getattr(p, name) for p in parts], 1)
            for name in ("rows", "observed_weight", "sizes")
        )
        lists = (np.concatenate([getattr(p, name) for p in parts]) for name in ("x", "times", "weight"))
        return Values(*tables, *lists)

    def transform_values(self, function: Callable[[Floats], Floats]) -> Values:
        """Replace every value x by function(x), which must be increasing."""
        return replace(self, x=function(self.x))


def _members(codes: Codes, weight: Floats | None, n_classes: int) -> Iterator[Mask]:
    """Iterate over the classes: a mask of the rows of the class that have positive weight."""
    for c in range(n_classes):
        own = codes == c
        yield own if weight is None else own & (weight > 0)


def _run_of(column: Floats, rows: Positions, weight: Floats | None) -> tuple[Run, int, float]:
    """Return the run of some rows of a column, the number of its observed cells and their weight."""
    cells = column[rows]
    observed = ~np.isnan(cells)
    if not observed.all():
        rows, cells = rows[observed], cells[observed]
    w = None if weight is None else weight[rows]
    return Run.of(cells, w), len(rows), float(len(rows)) if w is None else float(w.sum())


def grid_of(grids: Sequence[Grid | None], j: int) -> Grid | None:
    """Return the grid of column j; one grid may be given for all columns."""
    return None if len(grids) == 0 else grids[j if len(grids) > 1 else 0]
