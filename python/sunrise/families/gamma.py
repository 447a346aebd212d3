"""Gamma family: positive numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate
from sunrise.families.priors import SMALLEST_SUM, missing_maximum_problem, overflow_problem
from sunrise.families.pseudo_row import PseudoRowPrior, is_gap_attainable
from sunrise.forms.base import side_by_side
from sunrise.forms.linear import Linear
from sunrise.numerics.quadrature import CUTS
from sunrise.numerics.special import digamma_lag, log1p_minus
from sunrise.statistics.moments import Moments
from sunrise.statistics.support import POSITIVE, Support
from sunrise.statistics.terms import LOG, X2, X


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


def _log_minus(a: Floats, b: Floats, difference: Floats) -> Floats:
    """log(a / b) - (a - b) / b, where the difference a - b is known to more digits than a and b."""
    ratio = difference / b
    a = np.where(a > 0, a, b)
    return np.where(
        np.abs(ratio) < 0.1, log1p_minus(np.clip(ratio, -0.1, 0.1)), np.log(a) - np.log(b) - ratio
    )


def _peak(shape: Floats) -> Floats:
    """Shape log(shape) - shape - log gamma(shape): the log density at the mean, times the mean."""
    far = np.maximum(shape, 1e6)
    near = np.minimum(shape, 1e6)
    stirling = 0.5 * np.log(far / (2.0 * np.pi)) - 1.0 / (12.0 * far)
    return np.where(shape > 1e6, stirling, near * np.log(near) - near - special.gammaln(near))


class GammaParams(NamedTuple):
    """Shape and rate of every class and column."""

    shape: Floats
    rate: Floats
    #: Columns with at least two distinct values; the others add nothing.
    known: Mask


#: Below this variance of log x, log mean - mean log is derived from variances, because its two terms cancel.
_TIGHT = 1e-7
#: Above this shape, the log density is written with squares about the mean, because its terms cancel.
_LARGE_SHAPE = 1e8
#: Means whose squares neither overflow nor vanish.
_LEAST_MEAN, _MOST_MEAN = 1e-140, 1e140


def _variances(stats: Moments) -> tuple[Floats, Floats]:
    """Variances of x and of log x, classes x columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = stats.variance
    return variance[:, ::2], variance[:, 1::2]


def jensen_gap(stats: Moments) -> Floats:
    """Log mean - mean log of every class and column; 0 where all cells are equal.

    The cumulants k_2, k_3, ... of log x give log mean - mean log = k_2/2 + k_3/6 + k_4/24 + ..., and
    log(1 + var x / mean^2) = k_2 + k_3 + 7/12 k_4 + ...: a third of the variance of log x and a sixth of this logarithm
    have the first two terms of the gap, and differ from it by k_4/18.
    """
    mean, mean_log = stats.mean[:, ::2], stats.mean[:, 1::2]
    of_x, of_log = _variances(stats)
    usual = (mean > _LEAST_MEAN) & (mean < _MOST_MEAN)
    ratio = np.where(usual, of_x, 0.0) / np.where(usual, mean, 1.0) ** 2
    tight = np.where(usual, of_log / 3.0 + np.log1p(ratio) / 6.0, of_log / 2.0)
    direct = np.log(np.where(mean > 0, mean, 1.0)) - mean_log
    gap = np.where(of_log < _TIGHT, tight, direct)
    return np.where((of_x == 0) & (of_log == 0), 0.0, np.maximum(gap, 0.0))


@dataclass(frozen=True)
class Gamma(PseudoRowPrior, Candidate, Family):
    """Positive numbers: x | c ~ Gamma(shape, rate).

    Maximum likelihood, with one more row of the column's mean terms (none with estimate="mle"). `prior` replaces the
    terms of this row: a mean of x and a mean of log x. Variances of x and of log x are summed, too: where the mean is
    thousands of standard deviations, only they tell log mean - mean log, which determines the shape.
    """

    name = "gamma"
    terms = (X, X2)
    complexity = 30
    trait = "positive"
    prior: Any = None
    #: Log mean - mean log of the row that is added, if it was derived from the data.
    row_gap: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.check_pseudo_row(2)

    @property
    def support(self) -> Support:
        """Numbers above 0; the views are x and log x."""
        return replace(POSITIVE, views=(X, LOG))

    def find_problem(self, stats: Moments) -> Problem | None:
        """Report a column whose sums overflow, or a class whose cells are all equal if there is no prior."""
        with np.errstate(over="ignore", invalid="ignore"):
            if problem := overflow_problem(stats.mean * stats.observed_weight, n_views=2):
                return problem
        if self.estimate != "mle":
            return None
        of_x, of_log = _variances(stats)
        rows = np.broadcast_to(stats.rows, stats.x.shape)[:, ::2]
        return missing_maximum_problem(self, (rows > 0) & (of_x == 0) & (of_log == 0))

    def is_attainable(self, stats: Moments) -> Mask:
        """True where the log of the mean is at least the mean of the logs (Jensen's inequality)."""
        mean = np.where(stats.mean[:, ::2] > 0, stats.mean[:, ::2], 1e-300)
        attainable = is_gap_attainable(stats, np.log(mean) - stats.mean[:, 1::2])
        return np.asarray(attainable & ~np.isnan(stats.x2[0, 1::2]))

    def resolve(self, stats: Moments, again: bool = False) -> Gamma:
        """Return the family with the terms of its pseudo-row as numbers."""
        if self.prior is not None:
            return self
        pooled = stats.pooled()
        prior = pooled.mean[0, ::2], pooled.mean[0, 1::2]
        return self.with_settings(prior=prior, row_gap=jensen_gap(pooled)[0])

    def params(self, stats: Moments, class_weight: Floats) -> GammaParams:
        """Shape from log mean - mean log, rate from the mean."""
        n, rows = (np.broadcast_to(a, stats.x.shape)[:, ::2] for a in (stats.observed_weight, stats.rows))
        row_mean, row_log = (np.broadcast_to(term, n.shape) for term in self.prior)
        # Equal cells have a gap of 0 up to this rounding error.
        rounding = 2.0**-52 * (64.0 + rows.sum(axis=0)) * (1.0 + np.abs(row_log))
        if self.row_gap is None:
            row_gap = np.log(np.where(row_mean > 0, row_mean, 1.0)) - row_log
            known = (row_gap > rounding).all(axis=0)
        else:
            row_gap = np.broadcast_to(self.row_gap, n.shape)
            known = (row_gap > 0).all(axis=0)
        mean = np.where(rows > 0, stats.mean[:, ::2], row_mean)
        gap = np.where(rows > 0, jensen_gap(stats), row_gap)
        if self.estimate != "mle":
            # Of two groups of rows, the gap is the mean of their gaps and the gap of their means.
            step = (row_mean - mean) / (n + 1.0)
            joined = np.maximum(np.where(mean + step > 0, mean + step, 1.0), SMALLEST_SUM)
            parts = n * _log_minus(mean, joined, -step), _log_minus(row_mean, joined, n * step)
            between = -(parts[0] + parts[1]) / (n + 1.0)
            mean, gap = joined, (n * gap + row_gap) / (n + 1.0) + between
        shape = shape_of(np.where(known & (gap > 0) | np.isnan(gap), gap, rounding))
        return GammaParams(shape, shape / np.maximum(np.where(mean > 0, mean, 1.0), SMALLEST_SUM), known)

    def form(self, params: GammaParams) -> Linear:
        """Shape log(rate) - log gamma(shape) + shape log x - rate x.

        A large shape multiplies log x - log mean - (x - mean) / mean: the first two powers of log x - log mean in it
        are those of minus a third of its square and a sixth of the square of (x - mean) / mean.
        """
        shape, known = params.shape, params.known
        with np.errstate(over="ignore"):
            mean = shape / params.rate
        large = known & (shape > _LARGE_SHAPE) & (mean > _LEAST_MEAN) & (mean < _MOST_MEAN)
        usual = known & ~large
        base = np.where(usual, shape * np.log(params.rate) - special.gammaln(shape), 0.0)
        base = np.where(large, _peak(np.where(large, shape, 1.0)), base)
        x, log_x = (np.where(usual, weight, 0.0) for weight in (-params.rate, shape))
        linear = Linear(base=side_by_side(base, np.zeros_like(base)), x=side_by_side(x, log_x))
        if not large.any():
            return linear
        mean = np.where(large, mean, 1.0)
        squares = (np.where(large, weight, 0.0) for weight in (-shape / 6.0 / mean**2, -shape / 3.0))
        anchors = (np.where(large, anchor, 0.0) for anchor in (mean, np.log(mean)))
        return replace(linear, x2=side_by_side(*squares), anchor=side_by_side(*anchors))

    def log_prior_density(self, stats: Moments, class_weight: Floats) -> float:
        """Log-likelihood of the pseudo-row, summed over the classes."""
        if self.estimate == "mle":
            return 0.0
        shape, rate, known = self.params(stats, class_weight)
        row_mean, row_log = (np.broadcast_to(term, shape.shape) for term in self.prior)
        row_gap = (
            np.log(np.where(row_mean > 0, row_mean, 1.0)) - row_log if self.row_gap is None else self.row_gap
        )
        mean = shape / rate
        value = _peak(shape) + shape * (_log_minus(row_mean, mean, row_mean - mean) - row_gap)
        return float(np.where(known, value, 0.0).sum())

    def centre(self, stats: Moments) -> Floats:
        """The means of x and log x of columns far from 0, whose squares about 0 would cancel; 0 for others."""
        pooled = stats.pooled()
        tight = np.repeat(_variances(pooled)[1][0] < _TIGHT, 2)
        return np.where(tight, pooled.mean[0], 0.0)

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x"""
        return np.asarray(-LOG.of(x))

    def landmarks(self, params: GammaParams) -> Floats:
        """Quantiles."""
        cut = special.gammaincinv(params.shape, CUTS[:, None, None]) / params.rate
        return np.asarray(np.maximum(cut, self.support.lowest))

    def sample(self, params: GammaParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Gamma numbers, at least the smallest positive float."""
        return np.maximum(rng.gamma(params.shape[y], 1.0 / params.rate[y]), self.support.lowest)

    def describe(self, params: GammaParams) -> list[dict[str, Floats]]:
        """Return shape and rate of every column, per class."""
        columns = zip(params.shape.T, params.rate.T, strict=True)
        return [{"shape": shape, "rate": rate} for shape, rate in columns]
