"""Waiting times: x | c ~ Exponential(rate), rate ~ Gamma(shape, rate)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import Gamma
from sunrise.family import Family
from sunrise.forms import Linear
from sunrise.information import CUTS
from sunrise.priors import LEAST, check_priors, too_large
from sunrise.stats import Sums
from sunrise.support import Support
from sunrise.terms import X


class ExponentialParams(NamedTuple):
    """Rate of every class and column."""

    rate: Floats
    #: Columns in which anything but 0 was observed; the others say nothing.
    known: Mask


@dataclass(frozen=True)
class Exponential(Family):
    """Waiting times: x | c ~ Exponential(rate), rate ~ Gamma(prior_shape, prior_rate).

    The prior is worth `prior_shape` rows that add up to `prior_rate`, which is the column's mean unless given:
    so the posterior is the same in every unit.
    """

    name = "exponential"
    terms = (X,)
    prior_shape: float = 1.0
    prior_rate: float | None = None

    def __post_init__(self) -> None:
        check_priors(self, prior_shape=self.prior_shape, prior_rate=self.prior_rate)

    @property
    def support(self) -> Support:
        """Numbers from 0."""
        return Support("a number, 0 or more", lowest=0.0)

    def complaint(self, stats: Sums) -> tuple[int, str] | None:
        """Refuse numbers whose sums leave the range of floats."""
        return too_large(stats.x)

    def posterior(self, stats: Sums) -> Gamma:
        """Gamma(shape + rows, rate + sum)."""
        rate = stats.pooled().mean if self.prior_rate is None else self.prior_rate
        return Gamma(self.prior_shape + stats.seen, np.maximum(rate + stats.x, LEAST))

    def prior_of(self, stats: Sums, j: int) -> Gamma:
        """Gamma(shape, rate)."""
        rate = stats.pooled().mean[0, j] if self.prior_rate is None else self.prior_rate
        return Gamma(np.asarray(self.prior_shape), np.asarray(rate))

    def params(self, stats: Sums, class_weight: Floats) -> ExponentialParams:
        """Posterior mean rates; 1 where nothing is known."""
        known = stats.pooled().x[0] > 0
        return ExponentialParams(np.where(known, self.posterior(stats).mean, 1.0), known)

    def form(self, params: ExponentialParams) -> Linear:
        """Log rate - rate x."""
        return Linear(
            base=np.where(params.known, np.log(params.rate), 0.0), x=np.where(params.known, -params.rate, 0.0)
        )

    def landmarks(self, params: ExponentialParams) -> Floats:
        """Quantiles."""
        return np.asarray(-np.log(1.0 - CUTS)[:, None, None] / params.rate)

    def sample(self, params: ExponentialParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Exponential waiting times."""
        return rng.exponential(1.0 / params.rate[y])

    def described(self, params: ExponentialParams) -> list[dict[str, Floats]]:
        """The rates."""
        return [{"rate": rate} for rate in params.rate.T]
