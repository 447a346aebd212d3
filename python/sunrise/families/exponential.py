"""Exponential family: waiting times, with a Gamma prior on the rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Conjugate
from sunrise.families.priors import SMALLEST_SUM, TwoParameterPrior, overflow_problem, stack_draws
from sunrise.forms.base import Form
from sunrise.forms.distance import Distance
from sunrise.forms.linear import Linear
from sunrise.numerics.conjugate import Gamma
from sunrise.numerics.quadrature import CUTS
from sunrise.numerics.special import log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import Support
from sunrise.statistics.terms import X


class ExponentialParams(NamedTuple):
    """Rate of every class and column."""

    rate: Floats
    #: Columns with cells above 0, or with a prior rate above 0; the others add nothing.
    known: Mask
    #: Posterior to integrate over, with estimate="predictive"; else None.
    posterior: Gamma | None = None


@dataclass(frozen=True)
class Exponential(TwoParameterPrior, Conjugate, Family):
    """Waiting times: x | c ~ Exponential(rate), rate ~ Gamma(prior_shape, prior_rate).

    The prior counts as `prior_shape` rows with the sum `prior_rate`. `prior_rate` defaults to the mean of the column,
    so that the units of the column do not matter. `prior` sets both: a Gamma distribution, or "evidence" to choose them
    by marginal likelihood.
    """

    name = "exponential"
    terms = (X,)
    prior_distribution = Gamma
    prior_settings = ("prior_shape", "prior_rate")
    without_prior = {"prior_shape": 0.0, "prior_rate": 0.0}
    prior_shape: Any = 1.0
    prior_rate: Any = None
    prior: Any = None

    def __post_init__(self) -> None:
        self.unpack_prior()

    @property
    def support(self) -> Support:
        """Numbers, 0 or more."""
        return Support("a number, 0 or more", lowest=0.0)

    def find_problem(self, stats: Sums) -> Problem | None:
        """Report a column whose sums overflow."""
        return overflow_problem(stats.x)

    def posterior(self, stats: Sums) -> Gamma:
        """Gamma(prior_shape + rows, prior_rate + sum)."""
        return Gamma(
            self.prior_shape + stats.observed_weight, np.maximum(self.prior_rate + stats.x, SMALLEST_SUM)
        )

    @property
    def pools_unobserved(self) -> bool:
        """True if the prior gives no positive rate to a class without cells."""
        least = 1.0 if self.estimate == "map" else 0.0
        return self.estimate == "mle" or bool((np.asarray(self.prior_shape) <= least).any())

    def prior_of_strength(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """A prior that counts as `strength` rows with the mean of the column."""
        return strength, strength * stats.pooled().mean[0]

    def resolve(self, stats: Sums, again: bool = False) -> Exponential:
        """Return the family with the parameters of its prior as numbers."""
        if self.prior is None and self.prior_rate is None:
            return self.with_settings(prior_rate=stats.pooled().mean[0])
        return super().resolve(stats)  # type: ignore[no-any-return]

    def log_evidence(self, stats: Sums, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood in closed form; 0 for columns that are not known, NaN for an improper prior."""
        proper = (np.asarray(self.prior_rate) > 0) & (np.asarray(self.prior_shape) > 0)
        evidence = np.where(proper, super().log_evidence(stats), np.nan)
        return np.where(self._known_columns(stats), evidence, 0.0)

    def _known_columns(self, stats: Sums) -> Mask:
        """Columns with cells above 0, or with a prior rate above 0."""
        has_prior = np.broadcast_to(self.prior_rate, stats.x.shape).any(axis=0)
        return np.asarray(((stats.pooled().x[0] > 0) | has_prior) & stats.known)

    def params(self, stats: Sums, class_weight: Floats) -> ExponentialParams:
        """Rates; the pooled rate for a class without cells and prior, 1 for columns that are not known."""
        known, point = self._known_columns(stats), self.point(stats)
        empty = known & ((stats.rows == 0) & (point.shape == 0))
        rate = np.where(empty, self.point(stats.pooled()).mean, point.mean)
        rate = np.where(known, rate, 1.0)
        return ExponentialParams(rate, known, point if self.estimate == "predictive" else None)

    def form(self, params: ExponentialParams) -> Form:
        """log rate - rate x; the log density of a Lomax distribution with estimate="predictive"."""
        if (rates := params.posterior) is not None:
            a, b = (np.where(params.known, part, 1.0) for part in (rates.shape, rates.rate))
            base = np.log(a) - np.log(b)
            return Distance.of_columns("log", base, np.array(0.0), 1.0 / b, -(a + 1.0), params.known)
        return Linear(
            base=np.where(params.known, log(params.rate), 0.0), x=np.where(params.known, -params.rate, 0.0)
        )

    def landmarks(self, params: ExponentialParams) -> Floats:
        """Quantiles."""
        return np.asarray(-np.log(1.0 - CUTS)[:, None, None] / params.rate)

    def sample(self, params: ExponentialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Exponential waiting times."""
        return rng.exponential(1.0 / params.rate[y])

    def sample_parameters(
        self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> ExponentialParams:
        """Draw the rates from their Gamma posterior."""
        known = self._known_columns(stats)
        return ExponentialParams(
            np.where(known, stack_draws(self.posterior(stats).sample(n, rng)), 1.0), known
        )

    def describe(self, params: ExponentialParams) -> list[dict[str, Floats]]:
        """Return the rate of every column, per class."""
        return [{"rate": rate} for rate in params.rate.T]
