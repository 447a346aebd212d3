"""Positive numbers: x | c ~ Gamma(shape, rate)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import log
from sunrise.families.exponential import LEAST, too_large
from sunrise.family import Family
from sunrise.forms import Linear
from sunrise.stats import Sums
from sunrise.support import POSITIVE, Support
from sunrise.terms import LOG, X


def side_by_side(*views: Floats) -> Floats:
    """Arrays of classes x columns, one for each view, as one of classes x views."""
    return np.stack(views, axis=2).reshape(len(views[0]), -1)


def with_pooled_row(stats: Sums) -> Sums:
    """Add one row of the pooled means to every class: the prior of the families that have no conjugate one."""
    return Sums(stats.rows + 1, stats.seen + 1.0, stats.x + stats.pooled().mean)


def rounding(pooled: Sums) -> Floats:
    """What adding up may have done to a mean, relative to its terms; 1 x views."""
    return np.broadcast_to(2.0**-52 * (64.0 + pooled.rows), pooled.x.shape)


def with_spread(gap: Floats, pooled: Floats, weight: Floats, blur: Floats) -> tuple[Floats, Mask]:
    """Jensen's gap of every class as it is without rounding, and which columns have one.

    A gap is a concave function of the mean terms that is 0 for any one cell, so 0 to within `blur` where all are
    the same. With a row of the pooled terms among its `weight`, a class has at least that row's share of one.
    """
    spread = pooled > blur
    return np.where(spread, np.maximum(gap, pooled / weight), blur), spread[0]


#: log x - digamma(x) = 1 / 2x + these times 1 / x^2, 1 / x^4, ...
_SERIES = np.array([1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])
_SLOPES = _SERIES * np.arange(2, 16, 2)


def digamma_lag(x: Floats) -> tuple[Floats, Floats]:
    """Log x - digamma(x) and how fast it falls, both to full relative precision."""
    near, far = np.minimum(x, 10.0), 1.0 / np.maximum(x, 10.0)
    square = far * far
    lag = far / 2 + square * np.polynomial.polynomial.polyval(square, _SERIES)
    slope = square / 2 + far * square * np.polynomial.polynomial.polyval(square, _SLOPES)
    return (
        np.where(x < 10.0, np.log(near) - digamma(near), lag),
        np.where(x < 10.0, polygamma(1, near) - 1.0 / near, slope),
    )


def shape_of(gap: Floats) -> Floats:
    """The shape whose log mean exceeds the mean log by this, which is positive.

    Newton's steps on log gap over log shape, close to a straight line, from Minka's start; the third one has
    converged for gaps from 1e-13 to 1e3.
    """
    shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(4):
        lag, slope = digamma_lag(shape)
        shape = shape * np.exp(np.log(lag / gap) * lag / (shape * slope))
    return shape


class GammaParams(NamedTuple):
    """Shape and rate of every class and column."""

    shape: Floats
    rate: Floats
    #: Columns that have any spread; the others say nothing.
    known: Mask


def _gap(terms: Floats) -> Floats:
    """Log mean - mean log."""
    return log(terms[:, ::2]) - terms[:, 1::2]


@dataclass(frozen=True)
class Gamma(Family):
    """Positive numbers: x | c ~ Gamma(shape, rate), of maximum likelihood with one more row of the pooled terms."""

    name = "gamma"
    terms = (X,)

    @property
    def support(self) -> Support:
        """Numbers above 0, and their logarithms."""
        return replace(POSITIVE, views=(X, LOG))

    def complaint(self, stats: Sums) -> str | None:
        """Refuse numbers whose sums leave the range of floats."""
        return too_large(stats.x, n_views=2)

    def params(self, stats: Sums, class_weight: Floats) -> GammaParams:
        """Shape from log mean - mean log, rate from the mean."""
        pooled, joined = stats.pooled(), with_pooled_row(stats)
        weight = np.broadcast_to(joined.seen, joined.x.shape)[:, ::2]
        blur = rounding(pooled)[:, ::2] * (1.0 + np.abs(pooled.mean[:, 1::2]))
        gap, known = with_spread(_gap(joined.mean), _gap(pooled.mean), weight, blur)
        shape, mean = shape_of(gap), joined.mean[:, ::2]
        return GammaParams(shape, shape / np.maximum(np.where(mean > 0, mean, 1.0), LEAST), known)

    def form(self, params: GammaParams) -> Linear:
        """Shape log(rate) - log gamma(shape) + shape log x - rate x."""
        base = np.where(params.known, params.shape * np.log(params.rate) - gammaln(params.shape), 0.0)
        x, log_x = (np.where(params.known, weight, 0.0) for weight in (-params.rate, params.shape))
        return Linear(base=side_by_side(base, np.zeros_like(base)), x=side_by_side(x, log_x))

    def carrier(self, x: Floats) -> Floats:
        """- log x"""
        return np.asarray(-LOG.of(x))

    def sample(self, params: GammaParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Gamma numbers; what is too small for a float is the smallest one."""
        return np.maximum(rng.gamma(params.shape[y], 1.0 / params.rate[y]), self.support.lowest)

    def described(self, params: GammaParams) -> list[dict[str, Floats]]:
        """Shapes and rates."""
        columns = zip(params.shape.T, params.rate.T, strict=True)
        return [{"shape": shape, "rate": rate} for shape, rate in columns]
