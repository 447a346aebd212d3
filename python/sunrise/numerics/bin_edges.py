"""Edges: where a column of numbers is cut into bins.

Rows count by their weight: weight k is the row k times. Equal cells are never parted, and what is cut between two cells
is cut halfway. A cell that lies on an edge is above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions

#: Up to so many edges comparing with each is faster than looking them up.
FEW_EDGES = 20
#: Numbers of a class by bins table that are worked on at a time, and the most x log x that are kept.
_PIECE, _LARGEST_LOOKUP = 1 << 20, 1 << 20
#: What two sums of weights may differ by and still be the same.
_SLACK = 1e-9


@dataclass(frozen=True)
class Cuts:
    """The edges of one column, in order; the range of the data that decided, and how many cells these were.

    >>> cuts = Cuts((1.0, 2.5), 0.0, 9.0)
    >>> cuts.bins(np.array([0.5, 1.0, 2.0, 99.0, np.nan]))
    array([ 0,  1,  1,  2, -1], dtype=int32)
    >>> cuts.names
    ['below 1', '1 to 2.5', '2.5 and more']
    """

    edges: tuple[float, ...]
    low: float = np.nan
    high: float = np.nan
    cells: float = 0.0

    @property
    def n_bins(self) -> int:
        """One more than there are edges."""
        return len(self.edges) + 1

    def bins(self, x: Floats) -> Codes:
        """The bin of every cell; -1 is missing."""
        if len(self.edges) > FEW_EDGES:
            found = np.searchsorted(np.array(self.edges), x, side="right").astype(np.int32)
        else:
            above = np.zeros(len(x), np.uint8)
            for edge in self.edges:
                above += x >= edge
            found = above.astype(np.int32)
        found[np.isnan(x)] = -1
        return found

    @property
    def names(self) -> list[str]:
        """The bins in words."""
        if not self.edges:
            return ["any"]
        told = [f"{edge:.6g}" for edge in self.edges]
        if len(set(told)) < len(told):
            told = [repr(edge) for edge in self.edges]
        between = [f"{a} to {b}" for a, b in pairwise(told)]
        return [f"below {told[0]}", *between, f"{told[-1]} and more"]

    @property
    def bounds(self) -> Floats:
        """The edges with an end on either side, to draw cells between.

        The ends are those of the data; a bin beyond them is as wide as its neighbour.
        """
        inner = np.array(self.edges)
        low, high = self.low, self.high
        if len(inner) == 0:
            return np.array([low, high])
        # Of one edge, the data on one side of it say how wide the other is; without any, it has no width.
        right = inner[1] if len(inner) > 1 else np.fmax(high, inner[0])
        left = inner[-2] if len(inner) > 1 else np.fmin(low, inner[-1])
        first = low if low < inner[0] else 2.0 * inner[0] - right
        last = high if high >= inner[-1] else 2.0 * inner[-1] - left
        return np.array([first, *inner, last])


class Tally(NamedTuple):
    """The different cells of a column in order and their weights; the rows in this order, and the places of theirs."""

    values: Floats
    weight: Floats
    n_rows: int
    order: Positions
    place: Positions

    @classmethod
    def of(cls, x: Floats, weight: Floats | None, by_row: bool = True) -> Tally:
        """Missing cells and rows of weight 0 are not there; without rows it is several times as fast."""
        there = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)
        order = np.flatnonzero(there) if by_row or weight is not None else np.empty(0, np.intp)
        order = order[np.argsort(x[order], kind="stable")]
        cells = x[order] if len(order) else np.sort(x[there])
        new = np.ones(len(cells), bool)
        new[1:] = cells[1:] != cells[:-1]
        if len(order) == 0:
            times = np.diff(np.flatnonzero(new), append=len(cells)).astype(float)
            return cls(cells[new], times, len(cells), order, order)
        place = np.cumsum(new) - 1
        weights = np.bincount(place, None if weight is None else weight[order]).astype(float)
        return cls(cells[new], weights, len(cells), order, place)


def halfway(below: Floats, above: Floats) -> Floats:
    """The middle between cells, such that the lower one is below it and the upper one is not."""
    middle = below / 2.0 + above / 2.0
    return np.where((middle > below) & (middle <= above), middle, above)


def equal_width(tally: Tally, bins: int) -> Floats:
    """Bins of the same width from the least cell to the greatest."""
    values = tally.values
    if len(values) < 2:
        return np.empty(0)
    share = np.arange(1, bins) / bins
    edges = values[0] * (1.0 - share) + values[-1] * share
    # A cell that lies on an edge but for rounding is the edge, so that other units change nothing.
    near = values[np.clip(np.searchsorted(values, edges), 1, len(values) - 1)[None] - [[0], [1]]]
    rounding = 4.0 * np.spacing(max(abs(values[0]), abs(values[-1])))
    close = np.abs(near - edges) <= max(1e-12 * (values[-1] - values[0]), rounding)
    edges = np.where(close[0], near[0], np.where(close[1], near[1], edges))
    edges = np.unique(edges)
    return np.asarray(edges[(edges > values[0]) & (edges <= values[-1])])


def equal_frequency(tally: Tally, bins: int) -> Floats:
    """Bins of the same weight, as far as equal cells stay together: cuts as near to the quantiles as can be."""
    values = tally.values
    if len(values) < 2 or bins < 2:
        return np.empty(0)
    up_to = np.cumsum(tally.weight)
    total = up_to[-1]
    wanted = total * np.arange(1, bins) / bins
    upper = np.clip(np.searchsorted(up_to, wanted - _SLACK * total), 0, len(values) - 2)
    lower = np.maximum(upper - 1, 0)
    nearer = np.abs(up_to[lower] - wanted) <= np.abs(up_to[upper] - wanted) + _SLACK * total
    after = np.unique(np.where(nearer, lower, upper))
    return halfway(values[after], values[after + 1])


def proportional(tally: Tally) -> Floats:
    """As many bins as rows in each: the square root of their number (Yang and Webb 2009)."""
    return equal_frequency(tally, max(1, int(np.sqrt(tally.weight.sum() * (1.0 + _SLACK)))))


def least_description(tally: Tally, codes: Codes, weight: Floats | None) -> Floats:
    """Cuts that tell most of the class, as long as they tell more than it takes to describe them.

    Fayyad and Irani (1993): the cut that leaves least entropy, then the same on either side of it, until the gain is no
    more than the length of the description of the cut. The best cut never parts neighbours of one and the same class.
    """
    if len(tally.values) < 2:
        return np.empty(0)
    classes, y = np.unique(codes[tally.order], return_inverse=True)
    first = np.flatnonzero(np.diff(tally.place, prepend=-1))
    least, most = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
    parted = (least[1:] != least[:-1]) | (most[1:] != most[:-1]) | (least[1:] != most[1:])
    block = np.concatenate([[0], np.cumsum(parted)])  # neighbours of one class are one block
    ends = np.append(np.flatnonzero(parted), len(tally.values) - 1)
    slot, n_slots = y * len(ends) + block[tally.place], len(classes) * len(ends)
    rows = _up_to(np.bincount(slot, minlength=n_slots).reshape(len(classes), -1))
    sums: Any = rows
    if weight is not None:
        sums = _up_to(np.bincount(slot, weight[tally.order], n_slots).reshape(len(classes), -1))
    cut = _description_cuts(rows, sums)
    return halfway(tally.values[ends[cut]], tally.values[ends[cut] + 1])


def _up_to(counts: NDArray[Any]) -> NDArray[Any]:
    """Counts of classes x blocks, of all blocks before each."""
    return np.concatenate([np.zeros((len(counts), 1), counts.dtype), np.cumsum(counts, axis=1)], axis=1)


def _description_cuts(rows: Integers, sums: NDArray[Any]) -> Positions:
    """The blocks after which to cut, from rows and weights of classes x blocks up to each."""
    spread = _spread_by(sums)
    found: list[int] = []
    open_ = [(0, rows.shape[1] - 1)]
    while open_:
        start, end = open_.pop()
        total = sums[:, end] - sums[:, start]
        if end - start < 2 or total.sum() < 2:
            continue
        at = start + 1 + _best(spread, sums[:, start + 1 : end], sums[:, start], sums[:, end])
        if _is_worth_it(rows[:, [start, at, end]], sums[:, [start, at, end]].astype(float)):
            found.append(at - 1)
            open_ += [(start, at), (at, end)]
    return np.sort(np.array(found, np.intp))


def _spread_by(sums: NDArray[Any]) -> Callable[[NDArray[Any]], Floats]:
    """x log x of whole numbers from a table, of others as it is."""
    total = sums[:, -1].sum()
    if total <= _LARGEST_LOOKUP and (sums.dtype.kind == "i" or (sums == np.rint(sums)).all()):
        known = _spread(np.arange(int(total) + 1, dtype=float))
        return lambda counts: known[counts.astype(np.int64, copy=False)]
    return _spread


def _spread(x: Floats) -> Floats:
    x = np.maximum(x, 0.0)  # what is left of weights may be dust
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))


def _best(
    spread: Callable[[NDArray[Any]], Floats], up_to: NDArray[Any], before: NDArray[Any], after: NDArray[Any]
) -> int:
    """The cut that leaves least entropy, the first of equal ones."""
    left = np.zeros(up_to.shape[1], up_to.dtype)
    told = np.zeros(up_to.shape[1])
    step = max(1, _PIECE // up_to.shape[1])
    for first in range(0, len(up_to), step):
        some = slice(first, first + step)
        below, above = up_to[some] - before[some, None], after[some, None] - up_to[some]
        told += spread(below).sum(axis=0) + spread(above).sum(axis=0)
        left += below.sum(axis=0)
    total = (after - before).sum()
    within = spread(left) + spread(total - left) - told
    return int(np.argmax(within <= within.min() + 1e-10 * _spread(np.array(float(total)))))


def _is_worth_it(rows: Integers, sums: Floats) -> bool:
    """Whether a cut tells more than it takes to describe it, in bits; classes x (start, cut, end)."""
    parts = [sums[:, 2] - sums[:, 0], sums[:, 1] - sums[:, 0], sums[:, 2] - sums[:, 1]]
    there = [rows[:, 2] > rows[:, 0], rows[:, 1] > rows[:, 0], rows[:, 2] > rows[:, 1]]
    n, n_left, n_right = (float(part.sum()) for part in parts)
    whole, left, right = (_entropy(part, some) for part, some in zip(parts, there, strict=True))
    k, k_left, k_right = (int(some.sum()) for some in there)
    gain = n * whole - n_left * left - n_right * right
    delta = np.log2(3.0**k - 2.0) if k < 600 else k * np.log2(3.0)
    delta -= k * whole - k_left * left - k_right * right
    return bool(gain > np.log2(n - 1.0) + delta)


def _entropy(counts: Floats, there: Mask) -> float:
    """Entropy of the classes that are there, in bits."""
    p = counts[there] / counts[there].sum()
    return float(-(p * np.log2(p)).sum())


#: Every way to find edges: of the cells, the classes, the weights and the number of bins that is asked for.
WAYS: dict[str, Callable[[Tally, Codes, Floats | None, int], Floats]] = {
    "frequency": lambda tally, codes, weight, bins: equal_frequency(tally, bins),
    "width": lambda tally, codes, weight, bins: equal_width(tally, bins),
    "mdl": lambda tally, codes, weight, bins: least_description(tally, codes, weight),
    "proportional": lambda tally, codes, weight, bins: proportional(tally),
}


def cuts_of(how: str | tuple[float, ...], x: Floats, codes: Codes, weight: Floats | None, bins: int) -> Cuts:
    """The edges of a column by one of the WAYS, or the given ones, with the range of its cells.

    >>> cuts_of("mdl", np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0] * 3), np.array([0, 0, 0, 1, 1, 1] * 3), None, 10).edges
    (5.0,)
    """
    if how == "mdl" and (codes < 0).any():
        x = np.where(codes < 0, np.nan, x)  # rows without a class say nothing of it
    tally = Tally.of(x, weight, by_row=how == "mdl")
    edges = WAYS[how](tally, codes, weight, bins).tolist() if isinstance(how, str) else how
    ends = (tally.values[0], tally.values[-1]) if len(tally.values) else (np.nan, np.nan)
    cells = max(float(tally.n_rows), float(tally.weight.sum()))
    return Cuts(tuple(edges), float(ends[0]), float(ends[1]), cells)
