"""Negative binomial family: event counts whose variance exceeds their mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate
from sunrise.families.pseudo_row import PseudoRowPrior
from sunrise.forms.base import Form
from sunrise.forms.rising import Rising, usual_counts
from sunrise.numerics.quadrature import MOST_COUNTS
from sunrise.numerics.special import log_rising
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import Term, X

SQUARE = Term("x squared", np.square)

#: Means and relative differences below this are within the rounding error.
SMALL = 1e-9

#: With a larger size the distribution is a Poisson distribution within the rounding error.
MOST_SIZE = 1e8


class NegativeBinomialParams(NamedTuple):
    """Mean and size of every class and column: the variance is mean + mean^2 / size."""

    mean: Floats
    size: Floats
    #: Columns that were observed; the others add nothing.
    known: Mask


def log_probability(x: Floats, mean: Floats, size: Floats) -> Floats:
    """Log probability of counts, without the - log x! that all classes share."""
    return np.asarray(
        log_rising(size, x) + x * (np.log(mean) - np.log(size + mean)) - size * np.log1p(mean / size)
    )


@dataclass(frozen=True)
class NegativeBinomial(PseudoRowPrior, Candidate, Family):
    """Over-dispersed counts: x | c has a mean, and the variance mean + mean^2 / size.

    Mean and size are estimated by the method of moments, from sums of x and x^2 with one more row of the column's mean
    terms (none with estimate="mle"). A variance of no more than the mean gives the Poisson distribution. `prior`
    replaces the terms of this row: a mean of x and a mean of x^2.

    >>> from sunrise import NaiveBayes
    >>> table = {"claims": [0, 1, 0, 9, 0, 2, 4, 3, 5, 4]}
    >>> model = NaiveBayes("negative_binomial").fit(table, list("aaaaabbbbb"))
    >>> model.parameters_["claims"]["size"].round(1).tolist()
    [0.5, 100000000.0]
    """

    name = "negative_binomial"
    terms = (X,)
    complexity = 45
    trait = "count"
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_pseudo_row(2)

    @property
    def support(self) -> Support:
        """Whole counts."""
        return WHOLE_COUNTS

    @property
    def fit_support(self) -> Support:
        """Counts and their squares."""
        return replace(WHOLE_COUNTS, views=(X, SQUARE))

    def is_attainable(self, stats: Sums) -> Mask:
        """A mean of squares is at least the mean (counts are whole), and at least the square of the mean."""
        mean, square = stats.mean[0, ::2], stats.mean[0, 1::2]
        slack = 1e-9 * (1.0 + square)
        return np.asarray((square >= mean - slack) & (square >= mean * mean - slack))

    def params(self, stats: Sums, class_weight: Floats) -> NegativeBinomialParams:
        """Mean, and size from the variance in excess of the mean."""
        joined = self.with_pseudo_row(stats)
        mean = np.maximum(joined.mean[:, ::2], SMALL)  # forgetting rows may leave rounding residue
        square = joined.mean[:, 1::2]
        excess = square - mean * mean - mean
        over = excess > SMALL * (square + SMALL)
        size = np.minimum(mean * mean / np.where(over, excess, 1.0), MOST_SIZE)
        size = np.where(over, size, MOST_SIZE)
        known = np.broadcast_to(stats.pooled().rows[0] > 0, stats.x.shape[1:])
        return NegativeBinomialParams(mean, np.maximum(size, 1.0 / MOST_SIZE), np.asarray(known)[::2])

    def form(self, params: NegativeBinomialParams) -> Form:
        """Return the log probability of a count as a form."""
        mean, size, known = params
        return Rising(
            base=-size * np.log1p(mean / size),
            slope=np.log(mean) - np.log(size + mean),
            shape=size,
            weight=known.astype(float),
            usual=usual_counts(mean, np.sqrt(mean + mean * mean / size)),
        )

    def log_prior_density(self, stats: Sums, class_weight: Floats) -> float:
        """Unknown: estimates by the method of moments do not maximise a likelihood."""
        return float("nan")

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x!"""
        return np.asarray(-special.gammaln(x + 1.0))

    def outcomes(self, params: NegativeBinomialParams) -> list[Floats]:
        """Every count up to a far tail; in steps where there are very many."""
        columns = []
        for mean, size in zip(params.mean.T, params.size.T, strict=True):
            spread = np.sqrt(mean + mean * mean / size)
            most = float((mean + 40.0 * spread + 40.0 * mean / size + 40.0).max())
            step = max(1.0, np.ceil(most / MOST_COUNTS))
            x = np.arange(0.0, most, step)
            log_p = log_probability(x, mean[:, None], size[:, None]) - special.gammaln(x + 1.0)
            columns.append(log_p + np.log(step))
        return columns

    def sample(self, params: NegativeBinomialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Poisson counts whose rates are gamma distributed."""
        rate = rng.gamma(params.size[y]) * (params.mean / params.size)[y]
        return rng.poisson(rate).astype(float)

    def describe(self, params: NegativeBinomialParams) -> list[dict[str, Floats]]:
        """Return mean and size of every column, per class."""
        columns = zip(params.mean.T, params.size.T, strict=True)
        return [{"mean": mean, "size": size} for mean, size in columns]
