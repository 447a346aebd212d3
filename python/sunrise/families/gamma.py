"""Positive numbers: x | c ~ Gamma(shape, rate)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv, gammaln

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate
from sunrise.families.priors import (
    LEAST,
    PooledRow,
    beyond,
    forgotten,
    rounding,
    same_cells,
    too_large,
    with_spread,
)
from sunrise.forms.base import side_by_side
from sunrise.forms.linear import Linear
from sunrise.numerics.quadrature import CUTS
from sunrise.numerics.special import digamma_lag, log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import POSITIVE, Support
from sunrise.statistics.terms import LOG, X


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


def _gap(mean: Floats, mean_log: Floats) -> Floats:
    """Log mean - mean log."""
    return log(mean) - mean_log


@dataclass(frozen=True)
class Gamma(PooledRow, Candidate, Family):
    """Positive numbers: x | c ~ Gamma(shape, rate), of maximum likelihood with one more row of the pooled terms.

    A `prior` of one's own is such a row: its mean of x and of log x.
    """

    name = "gamma"
    terms = (X,)
    complexity = 30
    trait = "positive"
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_row(2)

    @property
    def support(self) -> Support:
        """Numbers above 0, and their logarithms."""
        return replace(POSITIVE, views=(X, LOG))

    def find_problem(self, stats: Sums) -> Problem | None:
        """Refuse numbers whose sums leave the range of floats."""
        if complaint := too_large(stats.x, n_views=2):
            return complaint
        mean = stats.mean
        blur = rounding(stats)[:, ::2] * (1.0 + np.abs(mean[:, 1::2]))
        return same_cells(
            self, stats, _gap(np.where(stats.x[:, ::2] > 0, mean[:, ::2], 1.0), mean[:, 1::2]), blur
        )

    def is_attainable(self, stats: Sums) -> Mask:
        """No mean of terms is beyond what single cells have."""
        mean = np.where(stats.x[:, ::2] > 0, stats.mean[:, ::2], 1e-300)
        return beyond(stats, _gap(mean, stats.mean[:, 1::2]))

    def params(self, stats: Sums, class_weight: Floats) -> GammaParams:
        """Shape from log mean - mean log, rate from the mean."""
        pooled, joined, row = stats.pooled(), self.with_row(stats), self.row(stats).x
        lost, mean = forgotten(pooled), joined.mean
        blur = rounding(pooled)[:, ::2] * (1.0 + np.abs(row[:, 1::2])) + lost[:, 1::2]
        blur = blur + lost[:, ::2] / np.where(row[:, ::2] > 0, row[:, ::2], 1.0)
        gap = _gap(mean[:, ::2], mean[:, 1::2])
        gap, known = with_spread(gap, _gap(row[:, ::2], row[:, 1::2]), self.share(joined), blur)
        shape, mean = shape_of(gap), joined.mean[:, ::2]
        return GammaParams(shape, shape / np.maximum(np.where(mean > 0, mean, 1.0), LEAST), known)

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
        """Gamma numbers; what is too small for a float is the smallest one."""
        return np.maximum(rng.gamma(params.shape[y], 1.0 / params.rate[y]), self.support.lowest)

    def describe(self, params: GammaParams) -> list[dict[str, Floats]]:
        """Shapes and rates."""
        columns = zip(params.shape.T, params.rate.T, strict=True)
        return [{"shape": shape, "rate": rate} for shape, rate in columns]
