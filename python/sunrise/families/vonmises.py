"""Angles: x | c ~ von Mises(direction, concentration)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import i0e, i1e

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.priors import PooledRow, beyond, forgotten, rounding, same_cells, with_spread
from sunrise.forms.base import side_by_side
from sunrise.forms.linear import Linear
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import COS, SIN, X

#: 1 - I1(k) / I0(k) = 1 / 2k + 1 / 8k^2 + ...
_SERIES = np.array([0, 1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32, 1073 / 1024, 103 / 32, 375733 / 32768])
_SLOPES = _SERIES * np.arange(9)
#: From here on the series is the more precise.
_FAR = 100.0


def concentration_of(gap: Floats) -> Floats:
    """The concentration whose mean resultant length I1 / I0 is 1 - gap.

    Newton's steps from the start of Best and Fisher (1981); the third one has converged for gaps from 1e-13 to 1.
    """
    length = 1.0 - gap
    middle = -0.4 + 1.39 * length + 0.43 / gap
    high = 1.0 / (np.maximum(length, 0.5) * gap * (3.0 - length))
    low = length * (2.0 + length**2 * (1.0 + length**2 * 5.0 / 6.0))
    k = np.where(length < 0.53, low, np.where(length < 0.85, middle, high))
    for _ in range(4):
        near, far = np.minimum(k, _FAR), 1.0 / np.maximum(k, _FAR)
        ratio = i1e(near) / i0e(near)
        slope = 1.0 - ratio**2 - np.divide(ratio, near, out=np.full_like(k, 0.5), where=near > 0)
        rest = np.polynomial.polynomial.polyval(far, _SERIES)
        rest_slope = far * np.polynomial.polynomial.polyval(far, _SLOPES)
        k = k + np.where(k < _FAR, (length - ratio) / slope, (rest - gap) / rest_slope)
    return k


class VonMisesParams(NamedTuple):
    """Mean direction and concentration of every class and column."""

    direction: Floats
    concentration: Floats
    #: Columns that have any spread; the others say nothing.
    known: Mask


def _gap(terms: Floats) -> Floats:
    """1 - mean resultant length."""
    return np.asarray(1.0 - np.hypot(terms[:, ::2], terms[:, 1::2]))


@dataclass(frozen=True)
class VonMises(PooledRow, Family):
    """Angles in radians: x | c ~ von Mises(direction, concentration), with one more row of the pooled terms.

    A `prior` of one's own is such a row: its mean of cos x and of sin x.
    """

    name = "vonmises"
    terms = (X,)
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_row(2)

    @property
    def support(self) -> Support:
        """Any finite number, by its cosine and sine."""
        return replace(REAL, views=(COS, SIN))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Refuse angles that are all the same where there is no prior."""
        return same_cells(self, stats, _gap(stats.mean), rounding(stats)[:, ::2])

    def is_attainable(self, stats: Sums) -> Mask:
        """No mean of terms is beyond what single cells have."""
        return beyond(stats, _gap(stats.mean))

    def params(self, stats: Sums, class_weight: Floats) -> VonMisesParams:
        """Direction and concentration of maximum likelihood, from the mean cosine and sine."""
        pooled, joined = stats.pooled(), self.with_row(stats)
        lost = forgotten(pooled)
        blur = rounding(pooled)[:, ::2] + lost[:, ::2] + lost[:, 1::2]
        gap, spread = with_spread(_gap(joined.mean), _gap(self.row(stats).x), self.share(joined), blur)
        direction = np.arctan2(joined.x[:, 1::2], joined.x[:, ::2])
        return VonMisesParams(direction, concentration_of(gap), spread & stats.known[::2])

    def form(self, params: VonMisesParams) -> Linear:
        """Concentration cos(x - direction) - log(2 pi I0(concentration))."""
        k = np.where(params.known, params.concentration, 0.0)
        base = np.where(params.known, -np.log(2.0 * np.pi * i0e(k)) - k, 0.0)
        return Linear(
            base=side_by_side(base, np.zeros_like(base)),
            x=side_by_side(k * np.cos(params.direction), k * np.sin(params.direction)),
        )

    def landmarks(self, params: VonMisesParams) -> Floats:
        """All around the circle, and closer together about the directions."""
        near = np.linspace(-8.0, 8.0, 33)[:, None, None] / np.sqrt(np.maximum(params.concentration, 1.0))
        around = (params.direction + near + np.pi) % (2.0 * np.pi) - np.pi
        circle = np.linspace(-np.pi, np.pi, 33)[:, None, None] + 0.0 * params.direction
        return np.concatenate([around, circle])

    def sample(self, params: VonMisesParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Angles from -pi to pi."""
        return rng.vonmises(params.direction[y], params.concentration[y])

    def describe(self, params: VonMisesParams) -> list[dict[str, Floats]]:
        """Directions and concentrations."""
        columns = zip(params.direction.T, params.concentration.T, strict=True)
        return [{"direction": direction, "concentration": k} for direction, k in columns]
