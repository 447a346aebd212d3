"""Beta family: shares between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.families.base import Family, Problem
from sunrise.families.priors import SMALLEST_SUM
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
from sunrise.numerics.quadrature import CUTS
from sunrise.numerics.special import digamma_lag
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import BETWEEN, Support
from sunrise.statistics.terms import LOG, LOG_REST, X


def _jensen_gap(log_x: Floats, log_rest: Floats) -> Floats:
    """1 - exp(mean log x) - exp(mean log(1 - x)), accurate also if all x are close to 0 or to 1."""
    return -np.expm1(np.maximum(log_x, log_rest)) - np.exp(np.minimum(log_x, log_rest))


def _error_amplification(log_x: Floats, log_rest: Floats) -> Floats:
    """Factor by which the relative rounding error of the terms grows in the gap."""
    low, high = np.minimum(log_x, log_rest), np.maximum(log_x, log_rest)
    return np.asarray(np.expm1(high) * (low - 1.0))


def shapes_of(log_x: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    """Return the a and b of a Beta distribution with these means of log x and log(1 - x); their gap is positive.

    Newton's method for digamma(a + b) - digamma(a) = -log_x, and the same for b and log_rest. On a log-log scale the
    equations are almost linear, so five steps converge for all floats between 0 and 1.
    """
    log_gap = np.log(_jensen_gap(log_x, log_rest))
    a, b = (0.5 / np.logaddexp(0.0, log_gap - term) for term in (log_x, log_rest))
    for _ in range(6):
        (lag_a, slope_a), (lag_b, slope_b), (lag, slope) = map(digamma_lag, (a, b, a + b))
        value_a, value_b = LOG_REST.of(-b / a) + lag_a - lag, LOG_REST.of(-a / b) + lag_b - lag
        error_a, error_b = np.log(value_a / -log_x) * value_a, np.log(value_b / -log_rest) * value_b
        # Written with shares of a + b, because the difference of trigamma functions cancels for large arguments.
        share_a, share_b = a / (a + b), b / (a + b)
        own_a, own_b = share_b + a * (slope_a - slope), share_a + b * (slope_b - slope)
        cross_a, cross_b = share_a + a * slope, share_b + b * slope
        det = own_a * own_b - cross_a * cross_b
        a = a * np.exp((own_b * error_a + cross_b * error_b) / det)
        b = b * np.exp((cross_a * error_a + own_a * error_b) / det)
    return a, b


class BetaParams(NamedTuple):
    """Both shapes of every class and column."""

    a: Floats
    b: Floats
    #: Columns with at least two distinct values; the others add nothing.
    known: Mask


def _means(stats: Sums) -> tuple[Floats, Floats]:
    """Mean log x and mean log(1 - x), limited so that parameters do not overflow; log(1/2) without cells."""
    known = stats.x[:, ::2] < 0
    log_x, log_rest = (np.where(known, stats.mean[:, k::2], np.log(0.5)) for k in (0, 1))
    return np.maximum(log_x, np.log(SMALLEST_SUM)), np.minimum(log_rest, -SMALLEST_SUM)


@dataclass(frozen=True)
class Beta(PseudoRowPrior, Family):
    """Shares: x | c ~ Beta(a, b).

    Maximum likelihood, with one more row of the column's mean terms (none with estimate="mle"). `prior` replaces the
    terms of this row: a mean of log x and a mean of log(1 - x).
    """

    name = "beta"
    terms = (X,)
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_pseudo_row(2)

    @property
    def support(self) -> Support:
        """Numbers between 0 and 1; the views are log x and log(1 - x)."""
        return replace(BETWEEN, views=(LOG, LOG_REST))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Report a class whose cells are all equal, if there is no prior."""
        means = _means(stats)
        tolerance = rounding_error(stats)[:, ::2] * _error_amplification(*means)
        return constant_cells_problem(self, stats, _jensen_gap(*means), tolerance)

    def is_attainable(self, stats: Sums) -> Mask:
        """True where the means of both logarithms are not positive and Jensen's gap is not negative."""
        valid = (stats.x[:, ::2] <= 0) & (stats.x[:, 1::2] <= 0)
        return is_gap_attainable(stats, np.where(valid, _jensen_gap(*_means(stats)), -1.0))

    def params(self, stats: Sums, class_weight: Floats) -> BetaParams:
        """Both shapes from both means; where the gap is within rounding, both means are lowered to widen it."""
        pooled, joined = stats.pooled(), self.with_pseudo_row(stats)
        overall, means = _means(self.pseudo_row(stats)), _means(joined)
        forget_error = forgetting_error(pooled)
        tolerance = rounding_error(pooled)[:, ::2] + forget_error[:, ::2] + forget_error[:, 1::2]
        tolerance = tolerance * _error_amplification(*overall)
        class_gap = _jensen_gap(*means)
        gap, known = floor_jensen_gap(
            class_gap, _jensen_gap(*overall), self.pseudo_row_share(joined), tolerance
        )
        shift = np.maximum(gap, 2.0**-46 * _error_amplification(*means)) - class_gap
        a, b = shapes_of(means[0] - shift, means[1] - shift)
        return BetaParams(a, b, known)

    def form(self, params: BetaParams) -> Linear:
        """Return the log density a log x + b log(1 - x) - log B(a, b) as a form."""
        base = np.where(params.known, -special.betaln(params.a, params.b), 0.0)
        a, b = (np.where(params.known, weight, 0.0) for weight in (params.a, params.b))
        return Linear(base=side_by_side(base, np.zeros_like(base)), x=side_by_side(a, b))

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x - log(1 - x)"""
        return np.asarray(-LOG.of(x) - LOG_REST.of(x))

    def landmarks(self, params: BetaParams) -> Floats:
        """Quantiles."""
        cut = special.betaincinv(params.a, params.b, CUTS[:, None, None])
        return np.asarray(np.clip(cut, self.support.lowest, self.support.highest))

    def sample(self, params: BetaParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Beta numbers, clipped to the floats strictly between 0 and 1."""
        return np.clip(rng.beta(params.a[y], params.b[y]), self.support.lowest, self.support.highest)

    def describe(self, params: BetaParams) -> list[dict[str, Floats]]:
        """Return the shape parameters a and b of every column, per class."""
        return [{"a": a, "b": b} for a, b in zip(params.a.T, params.b.T, strict=True)]
