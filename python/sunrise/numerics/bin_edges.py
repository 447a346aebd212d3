"""Bin edges of numeric columns.

Weights are frequencies: weight k is the same as k copies of the row. Equal cells share a bin, and a cell on an edge
belongs to the bin above. Edges between two neighbouring values are their midpoints, except for bins of equal width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise._common.stored import stored

#: Entries of a classes x blocks table per chunk, and the largest count in the x log x lookup table.
_CHUNK, _LARGEST_LOOKUP = 1 << 20, 1 << 20
#: Relative tolerance for the comparison of sums of weights.
_TOLERANCE = 1e-9


@stored("cuts")
@dataclass(frozen=True)
class Cuts:
    """Sorted bin edges of one column, with the range and the number of the cells that determined them.

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
    #: Smallest distance between two distinct cells: data on a lattice reach half of it beyond the outermost cells.
    gap: float = 0.0

    @property
    def n_bins(self) -> int:
        """Number of bins: one more than edges."""
        return len(self.edges) + 1

    def bins(self, x: Floats) -> Codes:
        """Bin of every cell; -1 for a missing cell."""
        return _native.bins(np.ascontiguousarray(x, np.float64), np.array(self.edges, np.float64))

    @property
    def names(self) -> list[str]:
        """Description of every bin, for example '1 to 2.5'."""
        if not self.edges:
            return ["any"]
        texts = [f"{edge:.6g}" for edge in self.edges]
        if len(set(texts)) < len(texts):
            texts = [repr(edge) for edge in self.edges]
        between = [f"{a} to {b}" for a, b in pairwise(texts)]
        return [f"below {texts[0]}", *between, f"{texts[-1]} and more"]

    def log_density_in_bin(self, x: Floats) -> Floats:
        """Log density of every cell within its bin; NaN for a missing cell.

        An inner bin is uniform. An outer bin is uniform over the range of the data and has an exponential tail beyond
        it. With m cells per bin, a cell of the bin lies beyond the range with probability 1 / (m + 1), and the range of
        an exponential tail with m cells is about log(m + 1) times its scale; both decide the tail.
        """
        m = max(self.cells / self.n_bins, 1.0)
        share = 1.0 / (m + 1.0)
        if not self.edges:
            return self._of_single_bin(x, share, m)
        edges, bins = np.array(self.edges), self.bins(x)
        inner = -np.log(np.diff(edges)) if len(edges) > 1 else np.empty(0)
        density = np.append(np.append(0.0, inner), 0.0)[bins]
        widths = (edges[-1] - edges[0], self.high - self.low, abs(edges[0]), 1.0)
        for is_outer, distance, extent in (
            (bins == 0, edges[0] - x, edges[0] - self.low),
            (bins == len(edges), x - edges[-1], self.high - edges[-1]),
        ):
            extent += 0.5 * self.gap
            if not extent > 0:  # no data: all of the bin is a tail
                scale = next(width for width in widths if width > 0)
                own = -distance / scale - np.log(scale)
            else:
                scale = extent / np.log1p(m)
                tail = np.log(share / scale) - (distance - extent) / scale
                own = np.where(distance <= extent, np.log((1.0 - share) / extent), tail)
            density = np.where(is_outer, own, density)
        return np.where(np.isnan(x), np.nan, density)

    def _of_single_bin(self, x: Floats, share: float, m: float) -> Floats:
        """Log density in a bin without edges: uniform over the range of the data, with a tail at both ends."""
        width = self.high - self.low + self.gap
        if not width > 0:
            return np.where(np.isnan(x), np.nan, 0.0)
        scale = width / np.log1p(m)
        beyond = np.abs(x - 0.5 * (self.low + self.high)) - 0.5 * width
        tail = np.log(0.5 * share / scale) - beyond / scale
        return np.asarray(np.where(beyond <= 0, np.log((1.0 - share) / width), tail))

    @property
    def bounds(self) -> Floats:
        """Edges with a finite bound at each end, for sampling cells within a bin.

        The bounds are the range of the data; an outer bin without data is as wide as its neighbour.
        """
        inner = np.array(self.edges)
        low, high = self.low, self.high
        if len(inner) == 0:
            return np.array([low, high])
        # With a single edge, a bin without data is as wide as the data on the other side of the edge, or of width 0.
        right = inner[1] if len(inner) > 1 else np.fmax(high, inner[0])
        left = inner[-2] if len(inner) > 1 else np.fmin(low, inner[-1])
        first = low if low < inner[0] else 2.0 * inner[0] - right
        last = high if high >= inner[-1] else 2.0 * inner[-1] - left
        return np.array([first, *inner, last])


class Tally(NamedTuple):
    """Distinct values of a column in ascending order and their weights.

    `order` sorts the observed rows by value; `place` is the index into `values` of every row in this order.
    """

    values: Floats
    weight: Floats
    n_rows: int
    order: Positions
    place: Positions

    @classmethod
    def of(cls, x: Floats, weight: Floats | None, by_row: bool = True) -> Tally:
        """Build from cells and weights, without NaN and weight 0; several times faster without `by_row` and weights."""
        observed = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)
        order = np.flatnonzero(observed) if by_row or weight is not None else np.empty(0, np.intp)
        order = order[np.argsort(x[order], kind="stable")]
        cells = x[order] if len(order) else np.sort(x[observed])
        new = np.ones(len(cells), bool)
        new[1:] = cells[1:] != cells[:-1]
        if len(order) == 0:
            frequency = np.diff(np.flatnonzero(new), append=len(cells)).astype(float)
            return cls(cells[new], frequency, len(cells), order, order)
        place = np.cumsum(new) - 1
        weights = np.bincount(place, None if weight is None else weight[order]).astype(float)
        return cls(cells[new], weights, len(cells), order, place)


def halfway(below: Floats, above: Floats) -> Floats:
    """Midpoints m with below < m <= above, also where rounding would violate this."""
    middle = below / 2.0 + above / 2.0
    return np.where((middle > below) & (middle <= above), middle, above)


def equal_width(tally: Tally, bins: int) -> Floats:
    """Edges of bins of equal width between the smallest and the largest cell."""
    values = tally.values
    if len(values) < 2:
        return np.empty(0)
    fraction = np.arange(1, bins) / bins
    edges = values[0] * (1.0 - fraction) + values[-1] * fraction
    # Move an edge to a cell within rounding error, so that the bins do not depend on the units of the column.
    near = values[np.clip(np.searchsorted(values, edges), 1, len(values) - 1)[None] - [[0], [1]]]
    rounding = 4.0 * np.spacing(max(abs(values[0]), abs(values[-1])))
    close = np.abs(near - edges) <= max(1e-12 * (values[-1] - values[0]), rounding)
    edges = np.where(close[0], near[0], np.where(close[1], near[1], edges))
    edges = np.unique(edges)
    return np.asarray(edges[(edges > values[0]) & (edges <= values[-1])])


def equal_frequency(tally: Tally, bins: int) -> Floats:
    """Edges of bins of nearly equal weight: the cuts between distinct values that are nearest to the quantiles."""
    values = tally.values
    if len(values) < 2 or bins < 2:
        return np.empty(0)
    cumulative = np.cumsum(tally.weight)
    total = cumulative[-1]
    target = total * np.arange(1, bins) / bins
    upper = np.clip(np.searchsorted(cumulative, target - _TOLERANCE * total), 0, len(values) - 2)
    lower = np.maximum(upper - 1, 0)
    nearer = np.abs(cumulative[lower] - target) <= np.abs(cumulative[upper] - target) + _TOLERANCE * total
    after = np.unique(np.where(nearer, lower, upper))
    return halfway(values[after], values[after + 1])


def proportional(tally: Tally) -> Floats:
    """Equal-frequency edges with sqrt(n) bins of sqrt(n) rows each (Yang and Webb 2009)."""
    return equal_frequency(tally, max(1, int(np.sqrt(tally.weight.sum() * (1.0 + _TOLERANCE)))))


def minimum_description_length(tally: Tally, codes: Codes, weight: Floats | None) -> Floats:
    """Edges of greatest information gain about the class, with a minimum description length criterion.

    Fayyad and Irani (1993): choose the cut of least class entropy, then recurse on both sides, until the gain does not
    exceed the description length of the cut. An optimal cut never separates neighbours of the same class.
    """
    if len(tally.values) < 2:
        return np.empty(0)
    classes, y = np.unique(codes[tally.order], return_inverse=True)
    first = np.flatnonzero(np.diff(tally.place, prepend=-1))
    low, high = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
    candidate = (low[1:] != low[:-1]) | (high[1:] != high[:-1]) | (low[1:] != high[1:])
    block = np.concatenate([[0], np.cumsum(candidate)])  # neighbours of one class form a block
    ends = np.append(np.flatnonzero(candidate), len(tally.values) - 1)
    slot, n_slots = y * len(ends) + block[tally.place], len(classes) * len(ends)
    rows = _cumulative(np.bincount(slot, minlength=n_slots).reshape(len(classes), -1))
    sums: Any = rows
    if weight is not None:
        sums = _cumulative(np.bincount(slot, weight[tally.order], n_slots).reshape(len(classes), -1))
    cut = _mdl_cuts(rows, sums)
    return halfway(tally.values[ends[cut]], tally.values[ends[cut] + 1])


def _cumulative(counts: NDArray[Any]) -> NDArray[Any]:
    """Cumulative counts, classes x (blocks + 1): entry j sums the blocks before j."""
    return np.concatenate([np.zeros((len(counts), 1), counts.dtype), np.cumsum(counts, axis=1)], axis=1)


def _mdl_cuts(rows: Integers, sums: NDArray[Any]) -> Positions:
    """Blocks after which to cut, from the cumulative row counts and weights, classes x (blocks + 1)."""
    x_log_x = _x_log_x_for(sums)
    accepted: list[int] = []
    pending = [(0, rows.shape[1] - 1)]
    while pending:
        start, end = pending.pop()
        total = sums[:, end] - sums[:, start]
        if end - start < 2 or total.sum() < 2:
            continue
        at = start + 1 + _best_cut(x_log_x, sums[:, start + 1 : end], sums[:, start], sums[:, end])
        if _passes_mdl_test(rows[:, [start, at, end]], sums[:, [start, at, end]].astype(float)):
            accepted.append(at - 1)
            pending += [(start, at), (at, end)]
    return np.sort(np.array(accepted, np.intp))


def _x_log_x_for(sums: NDArray[Any]) -> Callable[[NDArray[Any]], Floats]:
    """Function x log x for these sums: a lookup table for whole numbers, otherwise `_x_log_x`."""
    total = sums[:, -1].sum()
    if total <= _LARGEST_LOOKUP and (sums.dtype.kind == "i" or (sums == np.rint(sums)).all()):
        table = _x_log_x(np.arange(int(total) + 1, dtype=float))
        return lambda counts: table[counts.astype(np.int64, copy=False)]
    return _x_log_x


def _x_log_x(x: Floats) -> Floats:
    x = np.maximum(x, 0.0)  # differences of weights may be slightly negative
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))


def _best_cut(
    x_log_x: Callable[[NDArray[Any]], Floats],
    cumulative: NDArray[Any],
    start: NDArray[Any],
    end: NDArray[Any],
) -> int:
    """Index of the cut with the least class entropy; the first one of a tie.

    `cumulative` (classes x cuts), `start` and `end` are cumulative sums at the cuts and at both ends of the interval.
    """
    weight_below = np.zeros(cumulative.shape[1], cumulative.dtype)
    class_terms = np.zeros(cumulative.shape[1])
    step = max(1, _CHUNK // cumulative.shape[1])
    for first in range(0, len(cumulative), step):
        chunk = slice(first, first + step)
        below, above = cumulative[chunk] - start[chunk, None], end[chunk, None] - cumulative[chunk]
        class_terms += x_log_x(below).sum(axis=0) + x_log_x(above).sum(axis=0)
        weight_below += below.sum(axis=0)
    total = (end - start).sum()
    entropy = x_log_x(weight_below) + x_log_x(total - weight_below) - class_terms
    return int(np.argmax(entropy <= entropy.min() + 1e-10 * _x_log_x(np.array(float(total)))))


def _passes_mdl_test(rows: Integers, sums: Floats) -> bool:
    """True if the information gain of a cut exceeds its description length, in bits.

    Both arguments are cumulative, classes x (start, cut, end).
    """
    parts = [sums[:, 2] - sums[:, 0], sums[:, 1] - sums[:, 0], sums[:, 2] - sums[:, 1]]
    present = [rows[:, 2] > rows[:, 0], rows[:, 1] > rows[:, 0], rows[:, 2] > rows[:, 1]]
    n, n_left, n_right = (float(part.sum()) for part in parts)
    whole, left, right = (_entropy(part, mask) for part, mask in zip(parts, present, strict=True))
    k, k_left, k_right = (int(mask.sum()) for mask in present)
    gain = n * whole - n_left * left - n_right * right
    delta = np.log2(3.0**k - 2.0) if k < 600 else k * np.log2(3.0)
    delta -= k * whole - k_left * left - k_right * right
    return bool(gain > np.log2(n - 1.0) + delta)


def _entropy(counts: Floats, present: Mask) -> float:
    """Entropy in bits of the classes that are present."""
    p = counts[present] / counts[present].sum()
    return float(-(p * np.log2(p)).sum())


#: Binning methods by name: functions of the cells, the class codes, the weights and the requested number of bins.
METHODS: dict[str, Callable[[Tally, Codes, Floats | None, int], Floats]] = {
    "frequency": lambda tally, codes, weight, bins: equal_frequency(tally, bins),
    "width": lambda tally, codes, weight, bins: equal_width(tally, bins),
    "mdl": lambda tally, codes, weight, bins: minimum_description_length(tally, codes, weight),
    "proportional": lambda tally, codes, weight, bins: proportional(tally),
}


def find_cuts(
    method: str | tuple[float, ...], x: Floats, codes: Codes, weight: Floats | None, bins: int
) -> Cuts:
    """Edges of a column by one of the METHODS, or the given edges, with the range of its cells.

    >>> find_cuts("mdl", np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0] * 3), np.array([0, 0, 0, 1, 1, 1] * 3), None, 10).edges
    (5.0,)
    """
    if method == "mdl" and (codes < 0).any():
        x = np.where(codes < 0, np.nan, x)  # rows without a class do not count
    tally = Tally.of(x, weight, by_row=method == "mdl")
    edges = METHODS[method](tally, codes, weight, bins).tolist() if isinstance(method, str) else method
    ends = (tally.values[0], tally.values[-1]) if len(tally.values) else (np.nan, np.nan)
    cells = max(float(tally.n_rows), float(tally.weight.sum()))
    gap = float(np.diff(tally.values).min(initial=np.inf))
    return Cuts(tuple(edges), float(ends[0]), float(ends[1]), cells, gap if gap < np.inf else 0.0)
