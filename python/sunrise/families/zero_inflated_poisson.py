"""Zero-inflated Poisson family: event counts with more zeros than a Poisson distribution has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate
from sunrise.families.pseudo_row import PseudoRowPrior
from sunrise.forms.base import side_by_side
from sunrise.forms.linear import Linear
from sunrise.numerics.quadrature import MOST_COUNTS
from sunrise.numerics.special import log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import Term, X

#: Shares and rates below this are within the rounding error.
SMALL = 1e-9

#: 1 for a zero, else 0.


def _is_zero(x: Any) -> Any:
    return np.where(np.isnan(x), np.nan, np.equal(x, 0.0))


IS_ZERO = Term("x = 0", _is_zero)


def rate_of(mean: Floats) -> Floats:
    """The rate of a Poisson distribution whose positive counts have this mean: rate / (1 - exp(-rate)) = mean.

    Newton's steps from a start that is exact for small and for large means; five have converged.
    """
    rate = np.where(mean < 2.0, 2.0 * (mean - 1.0), mean)
    for _ in range(8):
        gone = np.exp(-rate)
        positive = -np.expm1(-rate)
        value = rate / positive - mean
        slope = (positive - rate * gone) / positive**2
        rate = np.maximum(rate - value / np.maximum(slope, 1e-12), 0.5 * rate)
    return rate


class ZeroInflatedPoissonParams(NamedTuple):
    """Rate of the Poisson part and share of additional zeros, of every class and column."""

    rate: Floats
    zeros: Floats
    #: Columns that were observed; the others add nothing.
    known: Mask


@dataclass(frozen=True)
class ZeroInflatedPoisson(PseudoRowPrior, Candidate, Family):
    """Counts with additional zeros: x | c is 0 with probability `zeros`, else Poisson(rate).

    Maximum likelihood, with one more row of the column's mean terms (none with estimate="mle"). A column with fewer
    zeros than a Poisson distribution has gets zeros = 0. `prior` replaces the terms of this row: a mean of x and a
    share of zeros.

    >>> from sunrise import NaiveBayes
    >>> table = {"visits": [0, 0, 0, 4, 5, 0, 1, 2, 1, 3]}
    >>> model = NaiveBayes("zero_inflated_poisson", estimate="mle").fit(table, list("aaaaabbbbb"))
    >>> model.parameters_["visits"]["zeros"].round(2)
    array([0.6, 0. ])
    """

    name = "zero_inflated_poisson"
    terms = (X,)
    complexity = 46
    prior: Any = None

    def __post_init__(self) -> None:
        self.check_pseudo_row(2)

    @property
    def support(self) -> Support:
        """Whole counts, and whether they are 0."""
        return replace(WHOLE_COUNTS, views=(X, IS_ZERO))

    def is_attainable(self, stats: Sums) -> Mask:
        """Zeros are at most all cells, and every other cell adds at least 1 to the sum."""
        mean, zeros = stats.mean[0, ::2], stats.mean[0, 1::2]
        empty = np.broadcast_to(stats.rows, stats.x.shape)[0, ::2] == 0
        return np.asarray((zeros <= 1.0 + 1e-9) & (mean + zeros >= 1.0 - 1e-9) | empty)

    def params(self, stats: Sums, class_weight: Floats) -> ZeroInflatedPoissonParams:
        """The rate from the mean of the positive counts, the additional zeros from the share of all zeros."""
        joined = self.with_pseudo_row(stats)
        mean, positive = joined.mean[:, ::2], 1.0 - joined.mean[:, 1::2]
        some = positive > SMALL  # forgetting rows may leave rounding residue
        rate = rate_of(np.maximum(np.divide(mean, positive, out=np.ones_like(mean), where=some), 1.0 + 1e-9))
        rate = np.where(some, rate, 1.0)
        share = np.minimum(1.0 - np.where(some, positive, 0.0) / -np.expm1(-rate), 1.0 - SMALL)
        plain = share <= 0.0  # no more zeros than a Poisson distribution has
        rate = np.where(plain, np.maximum(mean, SMALL), rate)
        known = np.broadcast_to(stats.pooled().rows[0] > 0, stats.x.shape[1:])
        return ZeroInflatedPoissonParams(rate, np.where(plain, 0.0, share), np.asarray(known)[::2])

    def form(self, params: ZeroInflatedPoissonParams) -> Linear:
        """Return a form that is linear in x and in the indicator of a zero."""
        base = log(1.0 - params.zeros) - params.rate
        at_zero = np.logaddexp(log(params.zeros), base)
        parts = base, log(params.rate), at_zero - base
        base, x, zero = (np.where(params.known, part, 0.0) for part in parts)
        return Linear(base=side_by_side(base, np.zeros_like(base)), x=side_by_side(x, zero))

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x!"""
        return np.asarray(-special.gammaln(x + 1.0))

    def outcomes(self, params: ZeroInflatedPoissonParams) -> list[Floats]:
        """Every count within 40 standard deviations of a rate; in steps where there are very many."""
        columns = []
        for rate, zeros in zip(params.rate.T, params.zeros.T, strict=True):
            most = float((rate + 40.0 * np.sqrt(rate) + 40.0).max())
            step = max(1.0, np.ceil(most / MOST_COUNTS))
            x = np.arange(0.0, most, step)
            counts = (
                x * log(rate)[:, None] - rate[:, None] - special.gammaln(x + 1.0) + log(1.0 - zeros)[:, None]
            )
            counts += np.log(step)
            counts[:, 0] = np.logaddexp(counts[:, 0], log(zeros))
            columns.append(counts)
        return columns

    def sample(self, params: ZeroInflatedPoissonParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Poisson counts, some of them replaced by zeros."""
        counts = rng.poisson(params.rate[y]).astype(float)
        return np.where(rng.random(counts.shape) < params.zeros[y], 0.0, counts)

    def describe(self, params: ZeroInflatedPoissonParams) -> list[dict[str, Floats]]:
        """Return the rate and the share of additional zeros of every column, per class."""
        columns = zip(params.rate.T, params.zeros.T, strict=True)
        return [{"rate": rate, "zeros": zeros} for rate, zeros in columns]
