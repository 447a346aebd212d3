"""Statistics of numeric columns as SQL aggregates: count, sum and sum of squares per class.

The engine of a lazy table (DuckDB, polars, Spark, ...) computes sums of d = x - anchor and of d^2, grouped by label.
Variances from these sums lose no digits if the anchor is close to the mean of the class. The first anchors come from a
sample of the rows. If an anchor is far from the mean that a query found, the next query sums the column about this
mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import Support
from sunrise.statistics.terms import LOG
from sunrise.streams.expressions import can_be_nan, logarithms, number, views
from sunrise.streams.grouped import WEIGHT, Grouped

#: Bound on the rounding error of a sum of n floats, relative to the sum of their sizes. Engines add one by one, so
#: errors grow with the root of n; the largest error that was measured was 3 times 2**-52 times this root.
SQL_ROUNDING, PER_ROOT = 1e-13, 2.0**-48
#: An anchor is close if squares about it are at most this many times those about the mean.
CLOSE = 64.0
#: Classes with an anchor of their own: each is a branch of an expression.
MOST_ANCHORS = 32
#: How often a column is summed: about the anchors of the sample, about the means, and once more for safety.
ROUNDS = 4


@dataclass(frozen=True)
class Target:
    """A numeric column to sum: its name and narwhals type, and the sums that its family needs."""

    name: str
    dtype: Any
    support: Support
    #: True if squares are summed, too.
    squares: bool
    #: Anchors, classes x views; 0 where only x is summed.
    anchor: Floats
    #: True if NaN has to be excluded.
    without_nan: bool = False

    def cells(self) -> Any:
        """Return the narwhals expression of the cells as floats."""
        # A comparison with a threshold would hide NaN.
        return number(self.name, self.dtype, self.without_nan or self.support.above is not None)


def sum_columns(grouped: Grouped, targets: Sequence[Target]) -> dict[str, Sums | Moments]:
    """Return the statistics of the columns by name: `Moments` if squares are summed, else `Sums`.

    A column is absent from the result, and has to be read in batches, if it has infinite cells or cells outside its
    support, or if its classes need more than `MOST_ANCHORS` anchors.
    """
    done: dict[str, Sums | Moments] = {}
    waiting = [t for t in targets if len(_distinct(t.anchor)) <= MOST_ANCHORS]
    for last in [False] * (ROUNDS - 1) + [True]:
        again: list[Target] = []
        at_once = grouped.columns_per_query
        for start in range(0, len(waiting), at_once):
            some = waiting[start : start + at_once]
            found = _query(grouped, some)
            for k, target in enumerate(some):
                retry = _judge(target, _Found(found, k), done, last)
                if retry is not None and len(_distinct(retry.anchor)) <= MOST_ANCHORS:
                    again.append(retry)
        waiting = again
    return done


class _Found:
    """The results of one query for its k-th column."""

    def __init__(self, found: dict[str, Floats], k: int) -> None:
        self._found, self._k = found, k

    def __call__(self, what: str, n_views: int = 1) -> Floats:
        """Return one kind of result ("rows", "weight", "x", "x2", "low", ...), classes x views."""
        return np.stack([self._found[f"{what} {self._k} {v}"] for v in range(n_views)], axis=1)

    def has(self, what: str) -> bool:
        """True if the query computed this kind of result."""
        return f"{what} {self._k} 0" in self._found


def _query(grouped: Grouped, targets: Sequence[Target]) -> dict[str, Floats]:
    """Sum some columns in one query; return arrays of one number per class by name.

    The name "x2 3 0" stands for the squares of view 0 of the column at position 3 of `targets`.
    """
    import narwhals.stable.v2 as nw

    cells = [] if grouped.weight is None else [grouped.weight_cells()]
    logs: dict[str, tuple[str, bool]] = {}
    sums = []
    for k, target in enumerate(targets):
        x = target.cells()
        if target.support.bounded:
            cells.append(x.alias(f"x {k}"))
            own = nw.col(f"x {k}")
            sums += [own.min().alias(f"low {k} 0"), own.max().alias(f"high {k} 0")]
            if target.support.whole and can_be_nan(target.dtype):
                sums.append((own - own.floor()).abs().sum().alias(f"fraction {k} 0"))
        if LOG in target.support.views:
            logs[f"log {k}"] = target.name, target.without_nan
        for v, view in enumerate(views(x, target.support, f"log {k}")):
            d = f"d {k} {v}"
            cells.append((view - _anchor(grouped, target.anchor[:, v])).alias(d))
            sums += _sums_of(nw, d, f"{k} {v}", grouped.weight is not None, target.squares)
    frame = logarithms(grouped.relation, grouped.frame, logs)
    frame = frame.select(nw.col(grouped.label), *cells)
    return grouped.sums(frame, sums)  # type: ignore[no-any-return]


def _sums_of(nw: Any, name: str, at: str, weighted: bool, squares: bool) -> list[Any]:
    """Return the aggregates of a column of distances d, as narwhals expressions whose names end in `at`."""
    d = nw.col(name)
    w = nw.col(WEIGHT)
    sums = [d.count().alias(f"rows {at}"), ((w * d) if weighted else d).sum().alias(f"x {at}")]
    if squares:
        sums.append((w * d * d if weighted else d * d).sum().alias(f"x2 {at}"))
    if weighted:
        sums.append(nw.when(~d.is_null()).then(w).sum().alias(f"weight {at}"))
    return sums


def _distinct(anchor: Floats) -> Floats:
    """Return the distinct rows of anchors."""
    return np.unique(anchor, axis=0)


def _anchor(grouped: Grouped, anchor: Floats) -> Any:
    """Return a narwhals expression of the anchor of the class of each row."""
    import narwhals.stable.v2 as nw

    values, first = np.unique(anchor, return_counts=True)
    common = float(values[np.argmax(first)])
    expression = nw.lit(common)
    for label, own in zip(grouped.classes.tolist(), anchor.tolist(), strict=True):
        if own != common:
            expression = nw.when(nw.col(grouped.label) == label).then(nw.lit(own)).otherwise(expression)
    return expression


def _judge(target: Target, found: _Found, done: dict[str, Any], last: bool) -> Target | None:
    """Store the statistics of a column in `done`, or return the target to sum again: without NaN, or about the means.

    Return None without storing if the column has to be read in batches. The `last` round accepts any anchor.
    """
    n_views = len(target.support.views)
    rows = np.rint(found("rows", n_views)).astype(np.int64)
    weight = found("weight", n_views) if found.has("weight") else rows.astype(float)
    x = found("x", n_views)
    x2 = found("x2", n_views) if target.squares else x
    some = rows > 0
    x, x2 = np.where(some, x, 0.0), np.where(some, x2, 0.0)
    is_inside = not target.support.bounded or _is_inside(target.support, found, np.asarray(some.any(axis=1)))
    if not (np.isfinite(x).all() and np.isfinite(x2).all() and is_inside):
        if target.without_nan or not can_be_nan(target.dtype):
            return None
        return replace(target, without_nan=True)
    size = np.maximum(SQL_ROUNDING, PER_ROOT * np.sqrt(rows))
    if not target.squares:
        error = size * (np.abs(x) + weight) if target.support.signed else None
        done[target.name] = Sums(rows, weight, x, error)
        return None
    moments = Moments.of(rows, weight, x, x2, np.where(some, target.anchor, 0.0))
    moments = replace(moments, error=moments.error + size * x2)
    mean, squares = moments.mean_and_squared_error
    if last or _is_close(x2, squares, mean, target.anchor, some).all():
        done[target.name] = moments
        return None
    return replace(target, anchor=np.where(some, mean, target.anchor))


def _is_close(x2: Floats, squares: Floats, mean: Floats, anchor: Floats, some: Mask) -> Mask:
    """True where the anchor is close to the mean: relative to the deviation, or as close as floats are."""
    return ~some | (x2 <= CLOSE * squares) | (np.abs(mean - anchor) <= 2.0**-50 * np.abs(mean))


def _is_inside(support: Support, found: _Found, some: Mask) -> bool:
    """True if all cells are in the support, by the least and the largest cell of every class with rows (`some`)."""
    low, high = found("low")[some, 0], found("high")[some, 0]
    inside = (low >= support.lowest) & (high <= support.highest)
    if found.has("fraction"):
        inside &= found("fraction")[some, 0] == 0
    return bool(inside.all())
