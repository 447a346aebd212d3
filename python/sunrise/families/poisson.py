"""Poisson family: event counts, with a Gamma prior on the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.priors import TwoParameterPrior, stack_draws
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.forms.rising import Rising, usual_counts
from sunrise.numerics.conjugate import Gamma
from sunrise.numerics.quadrature import MOST_COUNTS
from sunrise.numerics.special import log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import LOG_FACTORIAL, X


class PoissonParams(NamedTuple):
    """Rate of every class and column."""

    rate: Floats
    #: Columns that were observed; the others add nothing.
    known: Mask
    #: Posterior to integrate over, with estimate="predictive"; else None.
    posterior: Gamma | None = None


@dataclass(frozen=True)
class Poisson(TwoParameterPrior, Conjugate, Candidate, Family):
    """Counts: x | c ~ Poisson(rate), rate ~ Gamma(prior_shape, prior_rate).

    The prior counts as `prior_rate` rows with the sum `prior_shape`. `prior` sets both: a Gamma distribution, or
    "evidence" to choose them by marginal likelihood. A class without cells has the pooled rate of all classes.
    """

    name = "poisson"
    terms = (X,)
    prior_distribution = Gamma
    complexity = 7  # one parameter
    trait = "count"
    rule_order = 3
    prior_settings = ("prior_shape", "prior_rate")
    without_prior = {"prior_shape": 0.0, "prior_rate": 0.0}
    prior_shape: Any = 1.0
    prior_rate: Any = 1.0
    prior: Any = None

    def __post_init__(self) -> None:
        self.unpack_prior()

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Reason for counts whose variance is about their mean in every class."""
        if (
            profile.kind == "number"
            and profile.counts
            and 0.5 <= profile.dispersion[0] <= profile.dispersion[1] <= 2.0
        ):
            return f"counts {profile.dispersion_text}"
        return None

    @property
    def support(self) -> Support:
        """Whole counts."""
        return WHOLE_COUNTS

    @property
    def fit_support(self) -> Support:
        """Counts and log x!, which the marginal likelihood needs."""
        return replace(WHOLE_COUNTS, views=(X, LOG_FACTORIAL))

    def posterior(self, stats: Sums) -> Gamma:
        """Gamma(prior_shape + counts, prior_rate + rows)."""
        counts = stats.view(0, 2)
        return Gamma(self.prior_shape + counts.x, self.prior_rate + counts.observed_weight)

    def prior_of_strength(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """A prior that counts as `strength` rows with the mean of the column."""
        pooled = stats.view(0, 2).pooled()
        # A column of zeros would have a degenerate prior: one more row with one count avoids it.
        mean = np.where(pooled.x > 0, pooled.mean, 1.0 / (pooled.observed_weight + 1.0))
        return strength * mean[0], strength

    def log_measure(self, stats: Sums) -> Floats:
        """Sum of - log x! over the cells."""
        return -stats.x[:, 1::2]

    def params(self, stats: Sums, class_weight: Floats) -> PoissonParams:
        """Rates; the pooled rate for a class without cells."""
        point = self.pooled_where_unobserved(stats, self.point)
        predictive = point if self.estimate == "predictive" else None
        return PoissonParams(point.mean, stats.view(0, 2).known, predictive)

    def form(self, params: PoissonParams) -> Form:
        """x log rate - rate; the log probability of a negative binomial with estimate="predictive"."""
        if (rates := params.posterior) is not None:
            a, b = (np.where(params.known, part, 1.0) for part in (rates.shape, rates.rate))
            spread = np.sqrt(a / b * (1.0 + 1.0 / b))
            return Rising(
                base=-a * np.log1p(1.0 / b),
                slope=-np.log1p(b),
                shape=a,
                weight=params.known.astype(float),
                usual=usual_counts(a / b, spread),
            )
        return Linear(
            base=np.where(params.known, -params.rate, 0.0), x=np.where(params.known, log(params.rate), 0.0)
        )

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x!"""
        return np.asarray(-special.gammaln(x + 1.0))

    def outcomes(self, params: PoissonParams) -> list[Floats]:
        """Log probabilities of counts within 40 standard deviations of a rate; grouped in steps if very many."""
        columns = []
        for rate in np.maximum(params.rate, 1e-300).T:
            reach = 40.0 * np.sqrt(rate) + 40.0
            ranges = zip(np.floor(np.maximum(rate - reach, 0.0)), np.ceil(rate + reach), strict=True)
            steps = max(1.0, np.ceil(2.0 * reach.max() / MOST_COUNTS))
            x = np.unique(np.concatenate([np.arange(low - low % steps, high, steps) for low, high in ranges]))
            columns.append(x * log(rate)[:, None] - rate[:, None] - special.gammaln(x + 1.0) + np.log(steps))
        return columns

    def sample(self, params: PoissonParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Poisson counts."""
        return rng.poisson(params.rate[y]).astype(float)

    def sample_parameters(
        self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> PoissonParams:
        """Draw the rates from their Gamma posterior."""
        return PoissonParams(
            stack_draws(self.pooled_where_unobserved(stats, self.posterior).sample(n, rng)),
            stats.view(0, 2).known,
        )

    def describe(self, params: PoissonParams) -> list[dict[str, Floats]]:
        """Return the rate of every column, per class."""
        return [{"rate": rate} for rate in params.rate.T]
