"""Counts: x | c ~ Poisson(rate), rate ~ Gamma(shape, rate), and the estimator PoissonNB."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import Gamma, log
from sunrise.derived import Fitted, Settings
from sunrise.estimator import COMMON_CONSTRAINTS
from sunrise.family import Family
from sunrise.forms import Form, Linear, Pointwise, side_by_side
from sunrise.given import given_parameters
from sunrise.information import MOST_COUNTS
from sunrise.look import Look
from sunrise.priors import TwoNumbers, as_classes
from sunrise.single import OneFamily
from sunrise.special import log_rising
from sunrise.stats import Sums
from sunrise.support import WHOLE_COUNTS, Support
from sunrise.terms import LOG_FACTORIAL, X


class PoissonParams(NamedTuple):
    """Rate of every class and column."""

    rate: Floats
    #: Columns that were observed at all; the others say nothing.
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: Gamma | None = None


@dataclass(frozen=True)
class Poisson(TwoNumbers, Family):
    """Counts: x | c ~ Poisson(rate), rate ~ Gamma(prior_shape, prior_rate).

    The prior is worth `prior_rate` rows that hold `prior_shape` counts together; `prior` may give both, as a Gamma,
    or "evidence" to have them chosen. A class of which nothing was observed has the rate of all classes together.
    """

    name = "poisson"
    terms = (X,)
    conjugate = Gamma
    pools_where_blind = True
    numbers = ("prior_shape", "prior_rate")
    without_prior = {"prior_shape": 0.0, "prior_rate": 0.0}
    prior_shape: Any = 1.0
    prior_rate: Any = 1.0
    prior: Any = None

    def __post_init__(self) -> None:
        self.read_prior()

    @classmethod
    def suits(cls, look: Look) -> str | None:
        """Counts whose variance is about their mean in every class."""
        if look.kind == "number" and look.counts and 0.5 <= look.dispersion[0] <= look.dispersion[1] <= 2.0:
            return f"counts {look.told_dispersion}"
        return None

    @classmethod
    def may_be(cls, look: Look) -> bool:
        """Counts."""
        return look.counts

    @property
    def support(self) -> Support:
        """Whole counts."""
        return WHOLE_COUNTS

    @property
    def kept(self) -> Support:
        """Beside the counts the logarithms of their factorials, for the evidence."""
        return replace(WHOLE_COUNTS, views=(X, LOG_FACTORIAL))

    def posterior(self, stats: Sums) -> Gamma:
        """Gamma(shape + counts, rate + rows)."""
        counts = stats.view(0, 2)
        return Gamma(self.prior_shape + counts.x, self.prior_rate + counts.seen)

    def scaled_prior(self, stats: Sums, strength: float) -> tuple[Any, Any]:
        """As many rows as its strength, of the column's mean."""
        pooled = stats.view(0, 2).pooled()
        # Of a column of zeros: as if there were one count in one more row.
        mean = np.where(pooled.x > 0, pooled.mean, 1.0 / (pooled.seen + 1.0))
        return strength * mean[0], strength

    def log_measure(self, stats: Sums) -> Floats:
        """- log x! of all cells."""
        return -stats.x[:, 1::2]

    def params(self, stats: Sums, class_weight: Floats) -> PoissonParams:
        """Rates by the estimate; those of all classes where a class saw nothing."""
        point = self.or_pooled(stats, self.point)
        predictive = point if self.estimate == "predictive" else None
        return PoissonParams(point.mean, stats.view(0, 2).known, predictive)

    def form(self, params: PoissonParams) -> Form:
        """x log rate - rate; of the predictive distribution that of a negative binomial."""
        if (rates := params.posterior) is not None:
            a, b = (np.where(params.known, part, 1.0) for part in (rates.shape, rates.rate))

            def negative_binomial(x: Floats) -> Floats:
                cells = log_rising(a, x) - a * np.log1p(1.0 / b) - x * np.log1p(b)
                return np.where(params.known, cells, 0.0)

            return Pointwise(negative_binomial)
        return Linear(
            base=np.where(params.known, -params.rate, 0.0), x=np.where(params.known, log(params.rate), 0.0)
        )

    def carrier(self, x: Floats) -> Floats:
        """- log x!"""
        return np.asarray(-gammaln(x + 1.0))

    def outcomes(self, params: PoissonParams) -> list[Floats]:
        """Every count within 40 standard deviations of a rate; in steps where there are very many."""
        found = []
        for rate in np.maximum(params.rate, 1e-300).T:
            spread = 40.0 * np.sqrt(rate) + 40.0
            ranges = zip(np.floor(np.maximum(rate - spread, 0.0)), np.ceil(rate + spread), strict=True)
            steps = max(1.0, np.ceil(2.0 * spread.max() / MOST_COUNTS))
            x = np.unique(np.concatenate([np.arange(low - low % steps, high, steps) for low, high in ranges]))
            found.append(x * log(rate)[:, None] - rate[:, None] - gammaln(x + 1.0) + np.log(steps))
        return found

    def sample(self, params: PoissonParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Poisson counts."""
        return rng.poisson(params.rate[y]).astype(float)

    def drawn(self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats) -> PoissonParams:
        """Rates from their posterior."""
        return PoissonParams(
            as_classes(self.or_pooled(stats, self.posterior).sample(n, rng)), stats.view(0, 2).known
        )

    def described(self, params: PoissonParams) -> list[dict[str, Floats]]:
        """The rates."""
        return [{"rate": rate} for rate in params.rate.T]


class PoissonNB(OneFamily):
    """Poisson naive Bayes: every column is a count of its own.

    Takes dense or sparse counts with missing cells (NaN), which are left out of fit and of predict.

    Parameters
    ----------
    prior_shape, prior_rate : float, default=1.0
        The Gamma prior of the rates: worth `prior_rate` rows that hold `prior_shape` counts; 0 and 0 is maximum
        likelihood.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities in the order of `classes_`, or by label.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import PoissonNB
    >>> model = PoissonNB().fit([[1, 9], [2, 11], [7, 0], [9, 1]], ["a", "a", "b", "b"])
    >>> model.predict([[1, 10]]), model.rate_
    (array(['a'], dtype='<U1'), array([[1.33333333, 7.        ],
           [5.66666667, 0.66666667]]))
    """

    _takes = WHOLE_COUNTS

    _parameter_constraints: dict[str, Any] = {
        "prior_shape": [Interval(Real, 0, None, closed="left")],
        "prior_rate": [Interval(Real, 0, None, closed="left")],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        **COMMON_CONSTRAINTS,
    }

    rate_ = Fitted(lambda self: self._fitted.params[0].rate, "Rate of each column per class.")

    def __init__(
        self,
        *,
        prior_shape: float = 1.0,
        prior_rate: float = 1.0,
        class_prior: Any = "fitted",
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.prior_shape = prior_shape
        self.prior_rate = prior_rate
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Poisson(self.prior_shape, self.prior_rate)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(
        cls,
        rate: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
    ) -> Self:
        """Make a model from given rates (classes x columns), without data.

        >>> from sunrise import PoissonNB
        >>> model = PoissonNB.from_parameters([[2.0], [8.0]], classes=["few", "many"])
        >>> model.predict([[3], [6]])
        array(['few', 'many'], dtype='<U4')
        """
        given = given_parameters(classes, class_prior, rows)
        rates = given.matrix("rate", rate, lowest=0.0)
        # No cells stand behind the rates, so nothing is known of their factorials.
        sums = Sums(
            given.block_rows, given.seen, side_by_side(rates * given.seen, np.full_like(rates, np.nan))
        )
        model = cls(prior_shape=0.0, prior_rate=0.0)
        return model._from_stats(given, (sums,), rates.shape[1], feature_names)
