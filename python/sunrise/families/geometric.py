"""Geometric family: failures before the first success, with a Beta prior on the probability of success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.priors import TwoParameterPrior, stack_draws
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.forms.rising import Rising, usual_counts
from sunrise.numerics.conjugate import Beta
from sunrise.numerics.quadrature import MOST_COUNTS
from sunrise.numerics.special import log
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import WHOLE_COUNTS, Support
from sunrise.statistics.terms import X


class GeometricParams(NamedTuple):
    """Log probability of success and of failure, for every class and column."""

    log_p: Floats
    log_q: Floats
    #: Columns that were observed; the others add nothing.
    known: Mask
    #: Posterior to integrate over, with estimate="predictive"; else None.
    posterior: Beta | None = None


@dataclass(frozen=True)
class Geometric(TwoParameterPrior, Conjugate, Candidate, Family):
    """Failures before the first success: P(x | c) = p (1 - p)^x, p ~ Beta(prior_a, prior_b).

    The prior counts as `prior_a` rows with `prior_b` failures in total. `prior` sets both: a Beta distribution, or
    "evidence" to choose them by marginal likelihood. A class without cells has the pooled probability of all classes.
    """

    name = "geometric"
    terms = (X,)
    prior_distribution = Beta
    complexity = 8  # one parameter
    trait = "count"
    prior_settings = ("prior_a", "prior_b")
    without_prior = {"prior_a": 0.0, "prior_b": 0.0}
    prior_a: Any = 1.0
    prior_b: Any = 1.0
    prior: Any = None

    def __post_init__(self) -> None:
        self.unpack_prior()

    @property
    def support(self) -> Support:
        """Whole counts."""
        return WHOLE_COUNTS

    def posterior(self, stats: Sums) -> Beta:
        """Beta(prior_a + rows, prior_b + failures): every row ends with one success."""
        return Beta(self.prior_a + stats.observed_weight, self.prior_b + stats.x)

    def prior_of_strength(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """A prior with prior_a + prior_b = strength, in the column's proportion of rows to failures."""
        pooled = stats.pooled()
        # A column of zeros would have a degenerate prior: one more row with one failure avoids it.
        mean = np.where(pooled.x > 0, pooled.mean, 1.0 / (pooled.observed_weight + 1.0))[0]
        return strength / (1.0 + mean), strength * mean / (1.0 + mean)

    def params(self, stats: Sums, class_weight: Floats) -> GeometricParams:
        """Probabilities of success; pooled over the classes for a class without cells."""
        p = self.pooled_where_unobserved(stats, self.point)
        predictive = p if self.estimate == "predictive" else None
        return GeometricParams(p.log_mean, p.log_mean_complement, stats.known, predictive)

    def form(self, params: GeometricParams) -> Form:
        """log p + x log(1 - p); the log probability of a beta-geometric with estimate="predictive"."""
        if (p := params.posterior) is not None:
            a, b = (np.where(params.known, part, 1.0) for part in (p.a, p.b))
            return Rising(
                base=np.log(a) - np.log(a + b),
                slope=np.zeros_like(a),
                shape=b,
                gap=a + 1.0,
                weight=params.known.astype(float),
                usual=usual_counts(b / a, 2.0 * b / a),
            )
        return Linear(
            base=np.where(params.known, params.log_p, 0.0), x=np.where(params.known, params.log_q, 0.0)
        )

    def outcomes(self, params: GeometricParams) -> list[Floats]:
        """Log probabilities of the numbers of failures up to a far tail; grouped in steps if there are very many."""
        columns = []
        for log_q in np.minimum(params.log_q, -1e-300).T:
            most = 40.0 / -log_q.max()
            step = max(1.0, np.ceil(most / MOST_COUNTS))
            x = np.arange(0.0, most + 2.0 * step, step)
            columns.append(x * log_q[:, None] + log(-np.expm1(step * log_q))[:, None])
        return columns

    def sample(self, params: GeometricParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Numbers of failures: trials until the first success, minus 1."""
        trials = rng.geometric(np.exp(params.log_p)[y]).astype(float)
        return np.minimum(trials - 1.0, self.support.highest)

    def sample_parameters(
        self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> GeometricParams:
        """Draw the probabilities from their Beta posterior."""
        p = stack_draws(self.pooled_where_unobserved(stats, self.posterior).sample(n, rng))
        return GeometricParams(log(p), log(1.0 - p), stats.known)

    def describe(self, params: GeometricParams) -> list[dict[str, Floats]]:
        """Return the probability of success of every column, per class."""
        return [{"p": np.exp(log_p)} for log_p in params.log_p.T]
