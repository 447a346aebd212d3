"""The form of kernel densities: the log of a sum of Gaussian kernels at the training values.

The readable formula adds up all kernels; `_native.KernelSums` computes the same sums by series, with an error below
1e-9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Mask
from sunrise._common.threads import threads
from sunrise.forms.base import apply_weight
from sunrise.numerics.special import log, log_sum_exp
from sunrise.statistics.bounds import Bounds
from sunrise.statistics.empirical import Values, grid_of
from sunrise.statistics.grids import Grid
from sunrise.statistics.support import REAL, Support

#: Maximum number of kernel values in memory for the readable formula.
_MOST_VALUES = 1 << 22
#: Maximum number of points between which the density of a class and column is integrated.
_MOST_POINTS = 4096
#: Distance from a value, in bandwidths, beyond which its kernel is neglected in the integral.
_REACH = 9

#: Native kernel sums and densities, created once for each form; forms that differ by weights share their sums.
_SUMS: WeakKeyDictionary[Sums, Any] = WeakKeyDictionary()
_DENSITIES: WeakKeyDictionary[Sums, Any] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Sums:
    """Kernel sums, one for each class and column; `width` holds the bandwidths (classes x columns)."""

    values: Values
    width: Floats
    bounds: Bounds
    #: Grids of the columns, whose nodes the values are; None where values are the cells themselves.
    grids: tuple[Grid | None, ...] = ()

    @property
    def steps(self) -> Floats:
        """Distance between the nodes of every column; 0 without a grid."""
        own = (grid_of(self.grids, j) for j in range(self.values.n_columns))
        return np.array([0.0 if grid is None else grid.step for grid in own])

    @cached_property
    def native_bounds(self) -> tuple[bool, float, float, list[tuple[float, float]]]:
        """The bounds as the native code expects them: log scale or not, lower, upper, reflections."""
        b, has_values = self.bounds, self.values.sizes > 0
        return b.log, b.lower, b.upper, b.images(float(self.width.max(where=has_values, initial=0.0)))

    @cached_property
    def log_width(self) -> Floats:
        """Log of the normalising constant of the kernels, sqrt(2 pi) times the bandwidth, classes x columns."""
        return np.asarray(np.log(self.width) + 0.5 * math.log(2.0 * math.pi))

    def native(self, n_threads: int | None = None) -> Any:
        """Return the native sums, which are created at the first call, by this many threads."""
        if self not in _SUMS:
            v = self.values
            widths = np.ascontiguousarray(self.width.T).ravel()
            x, w = (np.ascontiguousarray(a, dtype=np.float64) for a in (v.x, v.weight))
            n_threads = threads(None, 32 * len(v.x)) if n_threads is None else n_threads
            _SUMS[self] = _native.KernelSums(x, w, v.offsets, widths, v.n_classes, n_threads)
        return _SUMS[self]

    def log_sums(self, c: Any, j: Any, u: Floats, excluded: tuple[Floats, Floats] | None = None) -> Floats:
        """Return log kernel sums at places u, each for a class c and column j.

        `excluded` holds a point and its weight to leave out of each sum.
        """
        at = np.broadcast_to(np.asarray(j) * len(self.width) + c, u.shape).astype(np.int64)
        left_out = (
            None if excluded is None else tuple(np.ascontiguousarray(part).ravel() for part in excluded)
        )
        with np.errstate(divide="ignore"):
            log_sums = self.native().log_sums(
                at, np.ascontiguousarray(u), self._bounds_on_scale, threads(None, 16 * len(u)), left_out
            )
        return np.asarray(log_sums - self.log_width[c, j])

    @property
    def _bounds_on_scale(self) -> tuple[bool, float, float, list[tuple[float, float]]]:
        """The native bounds for places that are on the scale of the kernels already."""
        return False, *self.native_bounds[1:]

    def log_sums_by_formula(self, c: int, j: int, u: Floats) -> Floats:
        """Return log kernel sums at places u by the plain formula."""
        run = self.values.run(c, j)
        log_sums = np.full(len(u), -np.inf)
        if len(run.x) == 0:
            return log_sums
        step = max(1, _MOST_VALUES // len(run.x))
        for start in range(0, len(u), step):
            for sign, shift in self.native_bounds[3]:
                piece = slice(start, start + step)
                z = (sign * u[piece, None] + shift - run.x) / self.width[c, j]
                logs = np.log(run.observed_weight) - 0.5 * np.minimum(z * z, 1e300)
                log_sums[piece] = np.logaddexp(log_sums[piece], log_sum_exp(logs, axis=1))
        return np.asarray(log_sums - self.log_width[c, j])


@dataclass(frozen=True, eq=False)
class Density:
    """The score of a cell is the log of (kernel sum of the class + prior * common density) / total.

    A column has one kernel sum per class, and may have additional sums that only the common density uses. The common
    density is the average of all sums with weights `share` (columns x sums). `prior` and `total` are columns x classes.
    """

    sums: Sums
    share: Floats
    prior: Floats
    total: Floats
    known: Mask
    weight: Floats
    #: True to evaluate the plain formula.
    plain: bool = False

    kind: ClassVar[str] = "kernel"
    impossible = None

    @property
    def finite(self) -> Density:
        """The form itself: Gaussian kernels are positive everywhere."""
        return self

    @property
    def readable(self) -> Density:
        """The same form, evaluated by the plain formula."""
        return replace(self, plain=True)

    def common(self, j: Any, u: Floats) -> Floats:
        """Return the log of the common density at places u of the columns j."""
        share = log(self.share)
        n = self.share.shape[1]
        c = np.repeat(np.arange(n), len(u))
        logs = self.sums.log_sums(c, np.tile(j, n), np.tile(u, n)).reshape(n, -1) + share[j].T
        return log_sum_exp(np.where(np.isnan(logs), -np.inf, logs), axis=0)

    def _log_sums(self, c: int, j: int, u: Floats) -> Floats:
        return self.sums.log_sums_by_formula(c, j, u) if self.plain else self.sums.log_sums(c, j, u)

    def column(self, j: int, x: Floats) -> Floats:
        """Return log densities of cells of column j, rows x classes; NaN for a missing cell."""
        n_classes = self.prior.shape[1]
        observed = np.flatnonzero(~np.isnan(x))
        log_density = np.full((len(x), n_classes), np.nan)
        u = self.sums.bounds.to_scale(x[observed])
        logs = np.stack([self._log_sums(k, j, u) for k in range(self.share.shape[1])], axis=1)
        common = log_sum_exp(logs + log(self.share[j]), axis=1)[:, None]
        smoothed = np.logaddexp(logs[:, :n_classes], common + log(self.prior[j]))
        log_density[observed] = smoothed - np.log(self.total[j])
        return log_density

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        scores = np.zeros((len(x), self.prior.shape[1], x.shape[1]))
        if self.plain:
            for k in np.flatnonzero(self.known).tolist():
                scores[:, :, k] = np.where(np.isnan(x[:, k])[:, None], 0.0, self.column(k, x[:, k]))
            return apply_weight(scores, self.weight)
        n_threads = threads(None, 4 * x.size)
        cells = np.ascontiguousarray(x, dtype=np.float64)
        log_densities = self.native(len(x), n_threads).cells(cells, REAL, n_threads)
        return apply_weight(log_densities.reshape(scores.shape), np.where(self.known, self.weight, 0.0))

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: numbers are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Density:
        """Return the form with column scores multiplied by weights."""
        return replace(self, weight=self.weight * weight)

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Raise: the form is not linear."""
        raise ValueError('a kernel density has no linear form. Use families="auto-fast", or another family.')

    def features(self, x: Any, centre: Floats) -> Any:
        """Raise: the form is not linear."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """Return an empty list: the form is not linear."""
        return []

    def native(self, n_rows: int, n_threads: int) -> Any:
        """Return the native densities to score rows; they are tabulated once enough rows have been scored."""
        if self.sums not in _DENSITIES:
            tables = self.share, self.prior, self.total, self.sums.log_width.T, self.sums.steps
            common, prior, total, log_width, steps = (
                np.ascontiguousarray(table, dtype=np.float64).ravel() for table in tables
            )
            sums, n_classes = self.sums.native(n_threads), self.prior.shape[1]
            _DENSITIES[self.sums] = _native.KernelDensities(
                sums, self.sums.native_bounds, common, prior, total, log_width, steps, n_classes
            )
        densities = _DENSITIES[self.sums]
        densities.prepare(n_rows, n_threads)
        return densities


def integration_points(x: Floats, width: float, bounds: Bounds, support: Support) -> Floats:
    """Return points between which the density of one class and column is smooth, in increasing order.

    They are one bandwidth apart wherever the density is not negligible, and finer next to a bound.
    """
    if len(x) == 0:
        x = bounds.to_scale(np.array([min(max(1.0, support.lowest), support.highest)]))
    step = width
    while len(cells := np.unique(np.floor(x / step))) * 2 > _MOST_POINTS:
        step *= 2.0
    near = np.arange(-_REACH, _REACH + 2) if len(cells) * 8 < _MOST_POINTS else np.arange(2)
    points = np.unique(np.concatenate([cells + k for k in near])) * step
    if bounds.log:
        points = bounds.from_scale(points)
    fine = width * 10.0 ** -np.arange(0.0, 12.0)
    for bound, side in ((bounds.lower, 1.0), (bounds.upper, -1.0)):
        if math.isfinite(bound) and not bounds.log:
            points = np.concatenate([points, bound + side * fine])
    low, high = support.lowest, support.highest
    return np.sort(np.clip(points, low + (0.0 if low else 1e-12 * width), high))
