"""Grids: a value shares its weight between the two nodes around it, so that statistics hold nodes, not values.

Splitting keeps the total weight and the mean. It depends on the value alone, so weights on a grid are additive like
counts: they can be added, subtracted and scaled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.statistics.bounds import Bounds

#: Shares of the upper node are rounded to multiples of this, so that their sums are exact.
_SHARE_STEP, _LATTICE_SHARE_STEP = 2.0**-30, 2.0**-6


class Split(NamedTuple):
    """The node below and the node above each value, and the share of the node above; the lower node gets the rest."""

    lower: Floats
    upper: Floats
    share: Floats


class Grid(Protocol):
    """Nodes between which values are split."""

    @property
    def step(self) -> float:
        """Distance between two nodes."""

    @property
    def is_plain(self) -> bool:
        """True if the nodes are all multiples of the step."""

    def split(self, x: Floats) -> Split:
        """Return the two nodes around each value, and the share of the upper one."""


@dataclass(frozen=True)
class EvenGrid:
    """The cells + 1 equidistant nodes from low to high.

    >>> EvenGrid(0.0, 1.0, 4).split(np.array([0.3])).lower
    array([0.25])
    """

    low: float
    high: float
    cells: int

    is_plain: ClassVar[bool] = False

    @property
    def step(self) -> float:
        """Distance between two nodes."""
        return (self.high - self.low) / self.cells

    def split(self, x: Floats) -> Split:
        """Return the two nodes around each value, which must lie on the grid, and the share of the upper one."""
        nodes = np.linspace(self.low, self.high, self.cells + 1)
        at = np.clip(np.floor((x - self.low) / self.step), 0, self.cells - 1).astype(np.intp)
        return Split(nodes[at], nodes[at + 1], _rounded((x - nodes[at]) / self.step, _SHARE_STEP))


@dataclass(frozen=True)
class Lattice:
    """All multiples of a step, which is a power of two: exact floats, without a first or last node.

    With bounds, nodes are multiples of the step on the scale of the kernels. A node beyond a bound is replaced by its
    mirror image, whose reflected kernels are the same.

    >>> Lattice(0.25).split(np.array([0.3125, 7.0]))
    Split(lower=array([0.25, 7.  ]), upper=array([0.5 , 7.25]), share=array([0.25, 0.  ]))
    """

    step: float
    bounds: Bounds = Bounds()

    @classmethod
    def finer_than(cls, width: float, bounds: Bounds = Bounds()) -> Lattice:  # noqa: B008
        """Return the lattice with the largest step that is not above `width`."""
        return cls(2.0 ** math.floor(math.log2(width)), bounds)

    @property
    def is_plain(self) -> bool:
        """True without bounds."""
        return self.bounds == Bounds()

    @property
    def coarser(self) -> Lattice:
        """The lattice of every second node."""
        return Lattice(2.0 * self.step, self.bounds)

    def split(self, x: Floats) -> Split:
        """Return the two nodes around each value, and the share of the upper one."""
        place = self.bounds.to_scale(x) / self.step
        below = np.floor(place)
        return Split(self._node(below), self._node(below + 1.0), _rounded(place - below, _LATTICE_SHARE_STEP))

    def _node(self, k: Floats) -> Floats:
        x = self.bounds.from_scale(k * self.step)
        # The logarithmic scale excludes the bounds themselves, which far nodes would be rounded to.
        inside = (np.nextafter(self.bounds.lower, np.inf), np.nextafter(self.bounds.upper, -np.inf))
        return np.clip(x, *inside) if self.bounds.log else x


def _rounded(share: Floats, unit: float) -> Floats:
    return np.clip(np.round(share / unit) * unit, 0.0, 1.0)


def split_error(step: float, width: float, has_bound: bool) -> float:
    """Bound on the change of a density by a lattice, in units of the height of a kernel of this bandwidth.

    A kernel k is replaced by the line between two of its values, at most step^2 / 8 max |k''| away, and is moved by the
    rounding of shares, by at most half a unit times max |k'|. A reflected kernel adds as much next to a bound.

    >>> round(split_error(0.125, 1.0, False), 5)
    0.00255
    """
    ratio = step / width
    error = ratio * ratio / 8.0 + math.exp(-0.5) * 0.5 * _LATTICE_SHARE_STEP * ratio
    return (2.0 if has_bound else 1.0) * error


def given_grid(grid: Any) -> tuple[float, float, int]:
    """Check the `grid` setting (low, high, cells) and return it as plain numbers."""
    try:
        low, high, cells = grid
        valid = math.isfinite(low) and math.isfinite(high) and low < high
        valid = valid and isinstance(cells, Integral) and int(cells) >= 1
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(f"grid is {grid!r}; it must be (low, high, cells), for example (0.0, 100.0, 1000).")
    return float(low), float(high), int(cells)
