"""Gamma family: positive numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv, gammaln

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate
from sunrise.families.priors import SMALLEST_SUM, overflow_problem
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
from sunrise.numerics.special import digamma_lag, log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import POSITIVE, Support
from sunrise.statistics.terms import LOG, X


def shape_of(gap: Floats) -> Floats:
    """Return the shape for which log mean - mean log is `gap` > 0.

    Newton's method for log gap as a function of log shape, which is almost linear, from Minka's starting value; three
    steps converge for gaps from 1e-13 to 1e3.
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
    #: Columns with at least two distinct values; the others add nothing.
    known: Mask


def _jensen_gap(mean: Floats, mean_log: Floats) -> Floats:
    """Log mean - mean log."""
    return log(mean) - mean_log


@dataclass(frozen=True)
class Gamma(PseudoRowPrior, Candidate, Family):
    """Positive numbers: x | c ~ Gamma(shape, rate).

    Maximum likelihood, with one more row of the column's mean terms (none with estimate="mle"). `prior` replaces the
    terms of this row: a mean of x and a mean of log x.
    """

    name = "gamma"
    terms = (X,)
    complexity = 30
    trait = "positive"
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_pseudo_row(2)

    @property
    def support(self) -> Support:
        """Numbers above 0; the views are x and log x."""
        return replace(POSITIVE, views=(X, LOG))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Report a column whose sums overflow, or a class whose cells are all equal if there is no prior."""
        if problem := overflow_problem(stats.x, n_views=2):
            return problem
        mean = stats.mean
        tolerance = rounding_error(stats)[:, ::2] * (1.0 + np.abs(mean[:, 1::2]))
        return constant_cells_problem(
            self,
            stats,
            _jensen_gap(np.where(stats.x[:, ::2] > 0, mean[:, ::2], 1.0), mean[:, 1::2]),
            tolerance,
        )

    def is_attainable(self, stats: Sums) -> Mask:
        """True where the log of the mean is at least the mean of the logs (Jensen's inequality)."""
        mean = np.where(stats.x[:, ::2] > 0, stats.mean[:, ::2], 1e-300)
        return is_gap_attainable(stats, _jensen_gap(mean, stats.mean[:, 1::2]))

    def params(self, stats: Sums, class_weight: Floats) -> GammaParams:
        """Shape from log mean - mean log, rate from the mean."""
        pooled, joined, row = stats.pooled(), self.with_pseudo_row(stats), self.pseudo_row(stats).x
        forget_error, mean = forgetting_error(pooled), joined.mean
        tolerance = rounding_error(pooled)[:, ::2] * (1.0 + np.abs(row[:, 1::2])) + forget_error[:, 1::2]
        tolerance = tolerance + forget_error[:, ::2] / np.where(row[:, ::2] > 0, row[:, ::2], 1.0)
        class_gap, row_gap = (_jensen_gap(terms[:, ::2], terms[:, 1::2]) for terms in (mean, row))
        gap, known = floor_jensen_gap(class_gap, row_gap, self.pseudo_row_share(joined), tolerance)
        shape, mean = shape_of(gap), joined.mean[:, ::2]
        return GammaParams(shape, shape / np.maximum(np.where(mean > 0, mean, 1.0), SMALLEST_SUM), known)

    def form(self, params: GammaParams) -> Linear:
        """Shape log(rate) - log gamma(shape) + shape log x - rate x."""
        base = np.where(params.known, params.shape * np.log(params.rate) - gammaln(params.shape), 0.0)
        x, log_x = (np.where(params.known, weight, 0.0) for weight in (-params.rate, params.shape))
        return Linear(base=side_by_side(base, np.zeros_like(base)), x=side_by_side(x, log_x))

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x"""
        return np.asarray(-LOG.of(x))

    def landmarks(self, params: GammaParams) -> Floats:
        """Quantiles."""
        cut = gammaincinv(params.shape, CUTS[:, None, None]) / params.rate
        return np.asarray(np.maximum(cut, self.support.lowest))

    def sample(self, params: GammaParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Gamma numbers, at least the smallest positive float."""
        return np.maximum(rng.gamma(params.shape[y], 1.0 / params.rate[y]), self.support.lowest)

    def describe(self, params: GammaParams) -> list[dict[str, Floats]]:
        """Shapes and rates."""
        columns = zip(params.shape.T, params.rate.T, strict=True)
        return [{"shape": shape, "rate": rate} for shape, rate in columns]
