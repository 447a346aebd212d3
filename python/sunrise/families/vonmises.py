"""Von Mises family: angles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.families.base import Family, Problem
from sunrise.families.pseudo_row import (
    PseudoRowPrior,
    constant_cells_problem,
    floor_jensen_gap,
    forgetting_error,
    is_gap_attainable,
    rounding_error,
)
from sunrise.forms.base import side_by_side
from sunrise.forms.linear import Linear
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import COS, SIN, X

#: Coefficients of the asymptotic series 1 - I1(k) / I0(k) = 1 / 2k + 1 / 8k^2 + ...
_SERIES = np.array([0, 1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32, 1073 / 1024, 103 / 32, 375733 / 32768])
_SLOPES = _SERIES * np.arange(9)
#: From this k on the series is more accurate than the ratio of Bessel functions.
_FAR = 100.0


def concentration_of(gap: Floats) -> Floats:
    """Return the concentration whose mean resultant length I1 / I0 is 1 - gap.

    Newton's method from the starting value of Best and Fisher (1981); three steps converge for gaps from 1e-13 to 1.
    """
    length = 1.0 - gap
    middle = -0.4 + 1.39 * length + 0.43 / gap
    high = 1.0 / (np.maximum(length, 0.5) * gap * (3.0 - length))
    low = length * (2.0 + length**2 * (1.0 + length**2 * 5.0 / 6.0))
    k = np.where(length < 0.53, low, np.where(length < 0.85, middle, high))
    for _ in range(4):
        near, far = np.minimum(k, _FAR), 1.0 / np.maximum(k, _FAR)
        ratio = special.i1e(near) / special.i0e(near)
        slope = 1.0 - ratio**2 - np.divide(ratio, near, out=np.full_like(k, 0.5), where=near > 0)
        rest = np.polynomial.polynomial.polyval(far, _SERIES)
        rest_slope = far * np.polynomial.polynomial.polyval(far, _SLOPES)
        k = k + np.where(k < _FAR, (length - ratio) / slope, (rest - gap) / rest_slope)
    return k


class VonMisesParams(NamedTuple):
    """Mean direction and concentration of every class and column."""

    direction: Floats
    concentration: Floats
    #: Columns with at least two distinct values; the others add nothing.
    known: Mask


def _jensen_gap(terms: Floats) -> Floats:
    """1 - mean resultant length."""
    return np.asarray(1.0 - np.hypot(terms[:, ::2], terms[:, 1::2]))


@dataclass(frozen=True)
class VonMises(PseudoRowPrior, Family):
    """Angles in radians: x | c ~ von Mises(direction, concentration).

    Maximum likelihood, with one more row of the column's mean terms (none with estimate="mle"). `prior` replaces the
    terms of this row: a mean of cos x and a mean of sin x.
    """

    name = "vonmises"
    terms = (X,)
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_pseudo_row(2)

    @property
    def support(self) -> Support:
        """Any finite number; the views are cos x and sin x."""
        return replace(REAL, views=(COS, SIN))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Report a class whose angles are all equal, if there is no prior."""
        return constant_cells_problem(self, stats, _jensen_gap(stats.mean), rounding_error(stats)[:, ::2])

    def is_attainable(self, stats: Sums) -> Mask:
        """True where the mean resultant length is at most 1."""
        return is_gap_attainable(stats, _jensen_gap(stats.mean))

    def params(self, stats: Sums, class_weight: Floats) -> VonMisesParams:
        """Maximum likelihood direction and concentration, from the mean cosine and sine."""
        pooled, joined = stats.pooled(), self.with_pseudo_row(stats)
        forget_error = forgetting_error(pooled)
        tolerance = rounding_error(pooled)[:, ::2] + forget_error[:, ::2] + forget_error[:, 1::2]
        class_gap, row_gap = _jensen_gap(joined.mean), _jensen_gap(self.pseudo_row(stats).x)
        gap, varies = floor_jensen_gap(class_gap, row_gap, self.pseudo_row_share(joined), tolerance)
        direction = np.arctan2(joined.x[:, 1::2], joined.x[:, ::2])
        return VonMisesParams(direction, concentration_of(gap), varies & stats.known[::2])

    def form(self, params: VonMisesParams) -> Linear:
        """Return the log density concentration cos(x - direction) - log(2 pi I0(concentration)) as a form."""
        k = np.where(params.known, params.concentration, 0.0)
        base = np.where(params.known, -np.log(2.0 * np.pi * special.i0e(k)) - k, 0.0)
        return Linear(
            base=side_by_side(base, np.zeros_like(base)),
            x=side_by_side(k * np.cos(params.direction), k * np.sin(params.direction)),
        )

    def landmarks(self, params: VonMisesParams) -> Floats:
        """Points around the whole circle, and a finer grid about the mean directions."""
        near = np.linspace(-8.0, 8.0, 33)[:, None, None] / np.sqrt(np.maximum(params.concentration, 1.0))
        around = (params.direction + near + np.pi) % (2.0 * np.pi) - np.pi
        circle = np.linspace(-np.pi, np.pi, 33)[:, None, None] + 0.0 * params.direction
        return np.concatenate([around, circle])

    def sample(self, params: VonMisesParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Angles from -pi to pi."""
        return rng.vonmises(params.direction[y], params.concentration[y])

    def describe(self, params: VonMisesParams) -> list[dict[str, Floats]]:
        """Return direction and concentration of every column, per class."""
        columns = zip(params.direction.T, params.concentration.T, strict=True)
        return [{"direction": direction, "concentration": k} for direction, k in columns]
