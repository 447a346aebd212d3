"""The form of kernel densities: the log of a sum of Gaussians about every value that was seen.

The readable formula adds up all of them; `_native.KernelSums` has the same sums by series, with an error below 1e-9.
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
from sunrise.forms.base import weighed
from sunrise.numerics.special import log, log_sum_exp
from sunrise.statistics.empirical import Values

#: Numbers that the readable formula holds at a time.
_PIECE = 1 << 22

#: What an image of a value may be off, in bandwidths, to matter: exp(-x^2 / 2) is 1e-20 there.
_FAR = 9.6


@dataclass(frozen=True)
class Bounds:
    """Between which numbers cells lie, and what happens to kernels there.

    They are reflected, or cells are taken on a scale without bounds: log(x - lower), -log(upper - x), or the
    difference of both logarithms.
    """

    lower: float = -math.inf
    upper: float = math.inf
    log: bool = False

    @property
    def span(self) -> float:
        """From one bound to the other."""
        return self.upper - self.lower

    def scale(self, x: Floats) -> Floats:
        """Cells on the scale on which kernels are put about them."""
        if not self.log:
            return x
        low = np.log(x - self.lower) if math.isfinite(self.lower) else 0.0
        high = np.log(self.upper - x) if math.isfinite(self.upper) else 0.0
        return np.asarray(low - high)

    def back(self, u: Floats) -> Floats:
        """Cells from that scale, inside the bounds: what is beyond one is reflected."""
        if not self.log:
            return self._reflected(u)
        with np.errstate(over="ignore"):
            if not math.isfinite(self.upper):
                return self.lower + np.exp(u)
            if not math.isfinite(self.lower):
                return self.upper - np.exp(-u)
            return self.lower + self.span / (1.0 + np.exp(-u))

    def _reflected(self, x: Floats) -> Floats:
        if math.isfinite(self.span):
            turns = np.mod(x - self.lower, 2.0 * self.span)
            return self.lower + np.minimum(turns, 2.0 * self.span - turns)
        if math.isfinite(self.lower):
            return self.lower + np.abs(x - self.lower)
        return self.upper - np.abs(self.upper - x) if math.isfinite(self.upper) else x

    def log_stretch(self, x: Floats) -> Floats:
        """Log of how fast the scale grows with x."""
        if not self.log:
            return np.zeros_like(x)
        low = -np.log(x - self.lower) if math.isfinite(self.lower) else 0.0
        high = -np.log(self.upper - x) if math.isfinite(self.upper) else 0.0
        return np.asarray(low + high + (math.log(self.span) if math.isfinite(self.span) else 0.0))

    def images(self, width: float) -> list[tuple[float, float]]:
        """A cell and its reflections, (sign, shift) each, as far as kernels of this width reach."""
        if self.log or not (math.isfinite(self.lower) or math.isfinite(self.upper)):
            return [(1.0, 0.0)]
        if not math.isfinite(self.span):
            return [(1.0, 0.0), (-1.0, 2.0 * (self.lower if math.isfinite(self.lower) else self.upper))]
        turns = math.ceil(_FAR * width / (2.0 * self.span))
        shifts = [2.0 * k * self.span for k in range(-turns, turns + 1)]
        return [(1.0, s) for s in shifts] + [
            (-1.0, 2.0 * self.lower + s) for s in [*shifts, shifts[-1] + 2.0 * self.span]
        ]


#: Kernels as the native code holds them, made once for each form.
_SUMS: WeakKeyDictionary[Sums, Any] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of kernels about values, one for each class and column, with its bandwidth (classes x columns)."""

    values: Values
    width: Floats
    bounds: Bounds

    @cached_property
    def folds(self) -> tuple[bool, float, float, list[tuple[float, float]]]:
        """What the native code needs to know of the bounds."""
        b, some = self.bounds, self.values.sizes > 0
        return b.log, b.lower, b.upper, b.images(float(self.width.max(where=some, initial=0.0)))

    @cached_property
    def log_width(self) -> Floats:
        """Log of what kernels of height 1 are divided by to be densities, classes x columns."""
        return np.asarray(np.log(self.width) + 0.5 * math.log(2.0 * math.pi))

    def native(self, n_threads: int | None = None) -> Any:
        """The sums by series, laid out by this many threads when first asked for."""
        if self not in _SUMS:
            v = self.values
            widths = np.ascontiguousarray(self.width.T).ravel()
            x, w = (np.ascontiguousarray(a, dtype=np.float64) for a in (v.x, v.weight))
            n_threads = threads(None, 32 * len(v.x)) if n_threads is None else n_threads
            _SUMS[self] = _native.KernelSums(x, w, v.offsets, widths, v.n_classes, n_threads)
        return _SUMS[self]

    def log_sums(self, c: Any, j: Any, u: Floats, taken: tuple[Floats, Floats] | None = None) -> Floats:
        """Log sums at places on the scale, of a class and column each; `taken` has points and weights to leave out."""
        at = np.broadcast_to(np.asarray(j) * len(self.width) + c, u.shape).astype(np.int64)
        out = None if taken is None else tuple(np.ascontiguousarray(part).ravel() for part in taken)
        with np.errstate(divide="ignore"):
            found = self.native().log_sums(
                at, np.ascontiguousarray(u), self._at_places, threads(None, 16 * len(u)), out
            )
        return np.asarray(found - self.log_width[c, j])

    @property
    def _at_places(self) -> tuple[bool, float, float, list[tuple[float, float]]]:
        """Cells that are on the scale already."""
        return False, *self.folds[1:]

    def plainly(self, c: int, j: int, u: Floats) -> Floats:
        """The same by the formula itself."""
        run = self.values.run(c, j)
        found = np.full(len(u), -np.inf)
        if len(run.x) == 0:
            return found
        step = max(1, _PIECE // len(run.x))
        for start in range(0, len(u), step):
            for sign, shift in self.folds[3]:
                some = slice(start, start + step)
                z = (sign * u[some, None] + shift - run.x) / self.width[c, j]
                logs = np.log(run.observed_weight) - 0.5 * np.minimum(z * z, 1e300)
                found[some] = np.logaddexp(found[some], log_sum_exp(logs, axis=1))
        return np.asarray(found - self.log_width[c, j])


@dataclass(frozen=True, eq=False)
class Density:
    """A cell adds the log of (its class's sum of kernels + prior * common density) / total.

    The sums of a column are those of its classes, then others where the common density has some of its own; that has
    the `share` (columns x sums) of each. `prior` and `total` are columns x classes.
    """

    sums: Sums
    share: Floats
    prior: Floats
    total: Floats
    known: Mask
    weight: Floats
    #: Whether it is scored by the formula itself.
    plain: bool = False

    kind: ClassVar[str] = "kernel"
    compositional = False
    impossible = None

    @property
    def finite(self) -> Density:
        """Nothing is infinite: kernels reach everywhere."""
        return self

    @property
    def readable(self) -> Density:
        """The same form by its formula."""
        return replace(self, plain=True)

    def common(self, j: Any, u: Floats) -> Floats:
        """Log of the common density at places u of the columns j."""
        share = log(self.share)
        sums = range(self.share.shape[1])
        logs = np.stack([self.sums.log_sums(np.full(len(u), c), j, u) + share[j, c] for c in sums])
        return log_sum_exp(np.where(np.isnan(logs), -np.inf, logs), axis=0)

    def _log_sums(self, c: int, j: int, u: Floats) -> Floats:
        return self.sums.plainly(c, j, u) if self.plain else self.sums.log_sums(c, j, u)

    def column(self, j: int, x: Floats) -> Floats:
        """Log densities of cells of column j, rows x classes; a missing cell has NaN."""
        n_classes = self.prior.shape[1]
        seen = np.flatnonzero(~np.isnan(x))
        found = np.full((len(x), n_classes), np.nan)
        u = self.sums.bounds.scale(x[seen])
        logs = np.stack([self._log_sums(k, j, u) for k in range(self.share.shape[1])], axis=1)
        common = log_sum_exp(logs + log(self.share[j]), axis=1)[:, None]
        own = np.logaddexp(logs[:, :n_classes], common + log(self.prior[j]))
        found[seen] = own - np.log(self.total[j])
        return found

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        found = np.zeros((len(x), self.prior.shape[1], x.shape[1]))
        for j in np.flatnonzero(self.known):
            found[:, :, j] = np.where(np.isnan(x[:, j])[:, None], 0.0, self.column(int(j), x[:, j]))
        return weighed(found, self.weight)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Density:
        """The form with its columns weighed."""
        return replace(self, weight=self.weight * weight)

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """There are none."""
        raise ValueError(
            'a kernel density is not linear in any features of its cells. Use families="auto-fast", or another family.'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """There are none."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """There are none."""
        return []

    def native(self) -> tuple[Any, ...]:
        """Everything but the cells, as the native scorer takes it."""
        log_width = np.ascontiguousarray(self.sums.log_width.T)
        tables = self.share, self.prior, np.log(self.total), log_width, np.where(self.known, self.weight, 0.0)
        flat = (np.ascontiguousarray(table, dtype=np.float64).ravel() for table in tables)
        return self.sums.native(), self.sums.folds, *flat, self.prior.shape[1]
