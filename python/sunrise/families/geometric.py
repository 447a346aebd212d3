"""Failures before the first success: x | c ~ Geometric(p), p ~ Beta(a, b)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import Beta, log
from sunrise.family import Family
from sunrise.forms import Linear
from sunrise.information import MOST_COUNTS
from sunrise.priors import check_priors
from sunrise.stats import Sums
from sunrise.support import WHOLE_COUNTS, Support
from sunrise.terms import X


class GeometricParams(NamedTuple):
    """Log-probability of success and of failure, of every class and column."""

    log_p: Floats
    log_q: Floats
    #: Columns that were observed at all; the others say nothing.
    known: Mask


@dataclass(frozen=True)
class Geometric(Family):
    """Failures before the first success: P(x | c) = p (1 - p)^x, p ~ Beta(prior_a, prior_b).

    The prior is worth `prior_a` rows that hold `prior_b` failures together. A class of which nothing was observed
    has the probability of all classes together.
    """

    name = "geometric"
    terms = (X,)
    prior_a: float = 1.0
    prior_b: float = 1.0

    def __post_init__(self) -> None:
        check_priors(self, prior_a=self.prior_a, prior_b=self.prior_b)

    @property
    def support(self) -> Support:
        """Whole counts."""
        return WHOLE_COUNTS

    def posterior(self, stats: Sums) -> Beta:
        """Beta(a + rows, b + failures): every row ends with one success."""
        return Beta(self.prior_a + stats.seen, self.prior_b + stats.x)

    def prior_of(self, stats: Sums, j: int) -> Beta:
        """Beta(a, b)."""
        return Beta(np.asarray(self.prior_a), np.asarray(self.prior_b))

    def params(self, stats: Sums, class_weight: Floats) -> GeometricParams:
        """Posterior means."""
        own, all_together = self.posterior(stats), self.posterior(stats.pooled())
        log_p, log_rest = (
            np.where(stats.rows > 0, getattr(own, name), getattr(all_together, name))
            for name in ("log_mean", "log_mean_complement")
        )
        return GeometricParams(log_p, log_rest, stats.known)

    def form(self, params: GeometricParams) -> Linear:
        """Log p + x log(1 - p)."""
        return Linear(
            base=np.where(params.known, params.log_p, 0.0), x=np.where(params.known, params.log_q, 0.0)
        )

    def outcomes(self, params: GeometricParams) -> list[Floats]:
        """Every number of failures up to where nothing is left; in steps where there are very many."""
        found = []
        for log_q in np.minimum(params.log_q, -1e-300).T:
            most = 40.0 / -log_q.max()
            step = max(1.0, np.ceil(most / MOST_COUNTS))
            x = np.arange(0.0, most + 2.0 * step, step)
            found.append(x * log_q[:, None] + log(-np.expm1(step * log_q))[:, None])
        return found

    def sample(self, params: GeometricParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Trials up to the first success, less that one."""
        trials = rng.geometric(np.exp(params.log_p)[y]).astype(float)
        return np.minimum(trials - 1.0, self.support.highest)

    def described(self, params: GeometricParams) -> list[dict[str, Floats]]:
        """The probabilities of success."""
        return [{"p": np.exp(log_p)} for log_p in params.log_p.T]
