"""Shares: x | c ~ Beta(a, b)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, betaln

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.priors import LEAST, PooledRow, beyond, forgotten, rounding, same_cells, with_spread
from sunrise.forms.base import side_by_side
from sunrise.forms.linear import Linear
from sunrise.numerics.quadrature import CUTS
from sunrise.numerics.special import digamma_lag
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import BETWEEN, Support
from sunrise.statistics.terms import LOG, LOG_REST, X


def _gap(log_x: Floats, log_rest: Floats) -> Floats:
    """1 - exp(mean log x) - exp(mean log(1 - x)), precise also where all x are close to 0 or to 1."""
    return -np.expm1(np.maximum(log_x, log_rest)) - np.exp(np.minimum(log_x, log_rest))


def _gap_scale(log_x: Floats, log_rest: Floats) -> Floats:
    """What rounding of the terms is multiplied by in their gap."""
    low, high = np.minimum(log_x, log_rest), np.maximum(log_x, log_rest)
    return np.asarray(np.expm1(high) * (low - 1.0))


def shapes_of(log_x: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    """The a and b whose means of log x and log(1 - x) are these, which have a gap.

    Newton's steps on the logarithms of both equations digamma(a + b) - digamma(a) = -log_x over those of a and
    b, which are close to straight lines; the fifth one has converged for all shares that are floats.
    """
    log_gap = np.log(_gap(log_x, log_rest))
    a, b = (0.5 / np.logaddexp(0.0, log_gap - term) for term in (log_x, log_rest))
    for _ in range(6):
        (lag_a, slope_a), (lag_b, slope_b), (lag, slope) = map(digamma_lag, (a, b, a + b))
        rise_a, rise_b = LOG_REST.of(-b / a) + lag_a - lag, LOG_REST.of(-a / b) + lag_b - lag
        off_a, off_b = np.log(rise_a / -log_x) * rise_a, np.log(rise_b / -log_rest) * rise_b
        # Shares of a + b instead of the trigamma's own difference, which would vanish beside a large one.
        share_a, share_b = a / (a + b), b / (a + b)
        own_a, own_b = share_b + a * (slope_a - slope), share_a + b * (slope_b - slope)
        cross_a, cross_b = share_a + a * slope, share_b + b * slope
        det = own_a * own_b - cross_a * cross_b
        a = a * np.exp((own_b * off_a + cross_b * off_b) / det)
        b = b * np.exp((cross_a * off_a + own_a * off_b) / det)
    return a, b


class BetaParams(NamedTuple):
    """Both shapes of every class and column."""

    a: Floats
    b: Floats
    #: Columns that have any spread; the others say nothing.
    known: Mask


def _means(stats: Sums) -> tuple[Floats, Floats]:
    """Mean log x and mean log(1 - x), such that parameters stay in the range of floats; of 1/2 where unknown."""
    known = stats.x[:, ::2] < 0
    log_x, log_rest = (np.where(known, stats.mean[:, k::2], np.log(0.5)) for k in (0, 1))
    return np.maximum(log_x, np.log(LEAST)), np.minimum(log_rest, -LEAST)


@dataclass(frozen=True)
class Beta(PooledRow, Family):
    """Shares: x | c ~ Beta(a, b), of maximum likelihood with one more row of the pooled terms.

    A `prior` of one's own is such a row: its mean of log x and of log(1 - x).
    """

    name = "beta"
    terms = (X,)
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_row(2)

    @property
    def support(self) -> Support:
        """Numbers between 0 and 1, by the logarithms of both sides."""
        return replace(BETWEEN, views=(LOG, LOG_REST))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Refuse cells that are all the same where there is no prior."""
        means = _means(stats)
        return same_cells(self, stats, _gap(*means), rounding(stats)[:, ::2] * _gap_scale(*means))

    def is_attainable(self, stats: Sums) -> Mask:
        """No mean of terms is beyond what single cells have."""
        fine = (stats.x[:, ::2] <= 0) & (stats.x[:, 1::2] <= 0)
        return beyond(stats, np.where(fine, _gap(*_means(stats)), -1.0))

    def params(self, stats: Sums, class_weight: Floats) -> BetaParams:
        """Both shapes from both means; a gap within rounding is opened by moving them together."""
        pooled, joined = stats.pooled(), self.with_row(stats)
        overall, means = _means(self.row(stats)), _means(joined)
        lost = forgotten(pooled)
        blur = (rounding(pooled)[:, ::2] + lost[:, ::2] + lost[:, 1::2]) * _gap_scale(*overall)
        own = _gap(*means)
        gap, known = with_spread(own, _gap(*overall), self.share(joined), blur)
        move = np.maximum(gap, 2.0**-46 * _gap_scale(*means)) - own
        a, b = shapes_of(means[0] - move, means[1] - move)
        return BetaParams(a, b, known)

    def form(self, params: BetaParams) -> Linear:
        """a log x + b log(1 - x) - log B(a, b)."""
        base = np.where(params.known, -betaln(params.a, params.b), 0.0)
        a, b = (np.where(params.known, weight, 0.0) for weight in (params.a, params.b))
        return Linear(base=side_by_side(base, np.zeros_like(base)), x=side_by_side(a, b))

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x - log(1 - x)"""
        return np.asarray(-LOG.of(x) - LOG_REST.of(x))

    def landmarks(self, params: BetaParams) -> Floats:
        """Quantiles."""
        cut = betaincinv(params.a, params.b, CUTS[:, None, None])
        return np.asarray(np.clip(cut, self.support.lowest, self.support.highest))

    def sample(self, params: BetaParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Beta numbers; what is too close to 0 or 1 for a float is the closest one."""
        return np.clip(rng.beta(params.a[y], params.b[y]), self.support.lowest, self.support.highest)

    def describe(self, params: BetaParams) -> list[dict[str, Floats]]:
        """Both shapes."""
        return [{"a": a, "b": b} for a, b in zip(params.a.T, params.b.T, strict=True)]
