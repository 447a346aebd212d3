"""Bounds of the cells of a column, and the scale on which its kernels are Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sunrise._common.arrays import Floats

#: Distance, in bandwidths, beyond which a reflected kernel is negligible: exp(-x^2 / 2) is 1e-20 there.
_REACH = 9.6


@dataclass(frozen=True)
class Bounds:
    """Bounds of the cells, and the treatment of kernels at the bounds.

    Kernels are reflected at the bounds, or, if `log` is True, cells are transformed to an unbounded scale:
    log(x - lower), -log(upper - x), or log(x - lower) - log(upper - x).
    """

    lower: float = -math.inf
    upper: float = math.inf
    log: bool = False

    @property
    def span(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    def to_scale(self, x: Floats) -> Floats:
        """Transform cells to the scale of the kernels."""
        if not self.log:
            return x
        low = np.log(x - self.lower) if math.isfinite(self.lower) else 0.0
        high = np.log(self.upper - x) if math.isfinite(self.upper) else 0.0
        return np.asarray(low - high)

    def from_scale(self, u: Floats) -> Floats:
        """Transform places on the scale of the kernels to cells; places outside the bounds are reflected."""
        if not self.log:
            return self._reflect(u)
        with np.errstate(over="ignore"):
            if not math.isfinite(self.upper):
                return self.lower + np.exp(u)
            if not math.isfinite(self.lower):
                return self.upper - np.exp(-u)
            return self.lower + self.span / (1.0 + np.exp(-u))

    def _reflect(self, x: Floats) -> Floats:
        if math.isfinite(self.span):
            distance = np.mod(x - self.lower, 2.0 * self.span)
            return self.lower + np.minimum(distance, 2.0 * self.span - distance)
        if math.isfinite(self.lower):
            return self.lower + np.abs(x - self.lower)
        return self.upper - np.abs(self.upper - x) if math.isfinite(self.upper) else x

    def log_derivative(self, x: Floats) -> Floats:
        """Return the log of the derivative of `to_scale`."""
        if not self.log:
            return np.zeros_like(x)
        low = -np.log(x - self.lower) if math.isfinite(self.lower) else 0.0
        high = -np.log(self.upper - x) if math.isfinite(self.upper) else 0.0
        return np.asarray(low + high + (math.log(self.span) if math.isfinite(self.span) else 0.0))

    def images(self, width: float) -> list[tuple[float, float]]:
        """Return (sign, shift) of a cell and of its reflections within the reach of kernels of this width."""
        if self.log or not (math.isfinite(self.lower) or math.isfinite(self.upper)):
            return [(1.0, 0.0)]
        if not math.isfinite(self.span):
            return [(1.0, 0.0), (-1.0, 2.0 * (self.lower if math.isfinite(self.lower) else self.upper))]
        n_reflections = math.ceil(_REACH * width / (2.0 * self.span))
        shifts = [2.0 * k * self.span for k in range(-n_reflections, n_reflections + 1)]
        return [(1.0, s) for s in shifts] + [
            (-1.0, 2.0 * self.lower + s) for s in [*shifts, shifts[-1] + 2.0 * self.span]
        ]
