"""Waiting times: x | c ~ Exponential(rate), rate ~ Gamma(shape, rate)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Conjugate
from sunrise.families.priors import LEAST, TwoNumbers, as_classes, too_large
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.forms.pointwise import Pointwise
from sunrise.numerics.conjugate import Gamma
from sunrise.numerics.quadrature import CUTS
from sunrise.numerics.special import log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import Support
from sunrise.statistics.terms import X


class ExponentialParams(NamedTuple):
    """Rate of every class and column."""

    rate: Floats
    #: Columns in which anything but 0 was observed; the others say nothing.
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: Gamma | None = None


@dataclass(frozen=True)
class Exponential(TwoNumbers, Conjugate, Family):
    """Waiting times: x | c ~ Exponential(rate), rate ~ Gamma(prior_shape, prior_rate).

    The prior is worth `prior_shape` rows that add up to `prior_rate`, which is the column's mean unless given: so the
    posterior is the same in every unit. `prior` may give both, as a Gamma, or "evidence" to have them chosen.
    """

    name = "exponential"
    terms = (X,)
    conjugate = Gamma
    numbers = ("prior_shape", "prior_rate")
    without_prior = {"prior_shape": 0.0, "prior_rate": 0.0}
    prior_shape: Any = 1.0
    prior_rate: Any = None
    prior: Any = None

    def __post_init__(self) -> None:
        self.read_prior()

    @property
    def support(self) -> Support:
        """Numbers from 0."""
        return Support("a number, 0 or more", lowest=0.0)

    def find_problem(self, stats: Sums) -> Problem | None:
        """Refuse numbers whose sums leave the range of floats."""
        return too_large(stats.x)

    def posterior(self, stats: Sums) -> Gamma:
        """Gamma(shape + rows, rate + sum)."""
        return Gamma(self.prior_shape + stats.observed_weight, np.maximum(self.prior_rate + stats.x, LEAST))

    @property
    def pools_unobserved(self) -> bool:
        """True unless there is a prior whose estimate is a rate."""
        least = 1.0 if self.estimate == "map" else 0.0
        return self.estimate == "mle" or bool((np.asarray(self.prior_shape) <= least).any())

    def scaled_prior(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """As many rows as its strength, of the column's mean."""
        return strength, strength * stats.pooled().mean[0]

    def resolve(self, stats: Sums, again: bool = False) -> Exponential:
        """The family with the numbers of its prior."""
        if self.prior is None and self.prior_rate is None:
            return self.with_settings(prior_rate=stats.pooled().mean[0])
        return super().resolve(stats)  # type: ignore[no-any-return]

    def log_evidence(self, stats: Sums, class_weight: Floats | None = None) -> Floats:
        """Closed form; a column that says nothing adds nothing."""
        proper = (np.asarray(self.prior_rate) > 0) & (np.asarray(self.prior_shape) > 0)
        found = np.where(proper, super().log_evidence(stats), np.nan)
        return np.where(self._known(stats), found, 0.0)

    def _known(self, stats: Sums) -> Mask:
        """Columns in which anything but 0 was observed, or is expected."""
        expected = np.broadcast_to(self.prior_rate, stats.x.shape).any(axis=0)
        return np.asarray(((stats.pooled().x[0] > 0) | expected) & stats.known)

    def params(self, stats: Sums, class_weight: Floats) -> ExponentialParams:
        """Rates by the estimate; 1 where nothing is known, those of all classes where a class saw nothing."""
        known, point = self._known(stats), self.point(stats)
        blind = known & ((stats.rows == 0) & (point.shape == 0))
        rate = np.where(blind, self.point(stats.pooled()).mean, point.mean)
        rate = np.where(known, rate, 1.0)
        return ExponentialParams(rate, known, point if self.estimate == "predictive" else None)

    def form(self, params: ExponentialParams) -> Form:
        """Log rate - rate x; of the predictive distribution that of a Lomax."""
        if (rates := params.posterior) is not None:
            a, b = (np.where(params.known, part, 1.0) for part in (rates.shape, rates.rate))

            def lomax(x: Floats) -> Floats:
                with np.errstate(over="ignore"):
                    ratio = x / b
                far = np.isinf(ratio)  # 1 is nothing beside it
                rise = np.where(
                    far, np.log(np.where(far, x, 1.0)) - np.log(b), np.log1p(np.where(far, 1.0, ratio))
                )
                return np.where(params.known, np.log(a) - np.log(b) - (a + 1.0) * rise, 0.0)

            return Pointwise(lomax)
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
        """Rates from their posterior."""
        known = self._known(stats)
        return ExponentialParams(
            np.where(known, as_classes(self.posterior(stats).sample(n, rng)), 1.0), known
        )

    def describe(self, params: ExponentialParams) -> list[dict[str, Floats]]:
        """The rates."""
        return [{"rate": rate} for rate in params.rate.T]
