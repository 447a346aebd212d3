"""Failures before the first success: x | c ~ Geometric(p), p ~ Beta(a, b)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.priors import TwoNumbers, as_classes
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.forms.pointwise import Pointwise
from sunrise.numerics.conjugate import Beta
from sunrise.numerics.quadrature import MOST_COUNTS
from sunrise.numerics.special import log, log_rising
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import X


class GeometricParams(NamedTuple):
    """Log-probability of success and of failure, of every class and column."""

    log_p: Floats
    log_q: Floats
    #: Columns that were observed at all; the others say nothing.
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: Beta | None = None


@dataclass(frozen=True)
class Geometric(TwoNumbers, Conjugate, Candidate, Family):
    """Failures before the first success: P(x | c) = p (1 - p)^x, p ~ Beta(prior_a, prior_b).

    The prior is worth `prior_a` rows that hold `prior_b` failures together; `prior` may give both, as a Beta, or
    "evidence" to have them chosen. A class of which nothing was observed has the probability of all classes together.
    """

    name = "geometric"
    terms = (X,)
    conjugate = Beta
    complexity = 50
    trait = "count"
    numbers = ("prior_a", "prior_b")
    without_prior = {"prior_a": 0.0, "prior_b": 0.0}
    prior_a: Any = 1.0
    prior_b: Any = 1.0
    prior: Any = None

    def __post_init__(self) -> None:
        self.read_prior()

    @property
    def support(self) -> Support:
        """Whole counts."""
        return WHOLE_COUNTS

    def posterior(self, stats: Sums) -> Beta:
        """Beta(a + rows, b + failures): every row ends with one success."""
        return Beta(self.prior_a + stats.observed_weight, self.prior_b + stats.x)

    def scaled_prior(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """As many rows and failures as its strength, in the column's proportion."""
        pooled = stats.pooled()
        # Of a column of zeros: as if there were one failure in one more row.
        mean = np.where(pooled.x > 0, pooled.mean, 1.0 / (pooled.observed_weight + 1.0))[0]
        return strength / (1.0 + mean), strength * mean / (1.0 + mean)

    def params(self, stats: Sums, class_weight: Floats) -> GeometricParams:
        """Probabilities by the estimate; those of all classes where a class saw nothing."""
        p = self.or_pooled(stats, self.point)
        predictive = p if self.estimate == "predictive" else None
        return GeometricParams(p.log_mean, p.log_mean_complement, stats.known, predictive)

    def form(self, params: GeometricParams) -> Form:
        """Log p + x log(1 - p); of the predictive distribution that of a beta-geometric."""
        if (p := params.posterior) is not None:
            a, b = (np.where(params.known, part, 1.0) for part in (p.a, p.b))

            def beta_geometric(x: Floats) -> Floats:
                # Two ways to write one ratio of gamma functions: each keeps its digits where the other loses them.
                short = log_rising(b, x) - log_rising(a + b, x + 1.0)
                long = log_rising(b, a) - log_rising(b + x, a + 1.0)
                return np.where(params.known, np.log(a) + np.where(x <= a, short, long), 0.0)

            return Pointwise(beta_geometric)
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

    def sample_parameters(
        self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> GeometricParams:
        """Probabilities from their posterior."""
        p = as_classes(self.or_pooled(stats, self.posterior).sample(n, rng))
        return GeometricParams(log(p), log(1.0 - p), stats.known)

    def describe(self, params: GeometricParams) -> list[dict[str, Floats]]:
        """The probabilities of success."""
        return [{"p": np.exp(log_p)} for log_p in params.log_p.T]
