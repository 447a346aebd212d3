"""Yes-or-no columns: x | c ~ Bernoulli(theta), theta ~ Beta(alpha, alpha), and the estimator BernoulliNB."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import Beta, log
from sunrise.derived import Fitted, Settings
from sunrise.evidence import CountsOfCounts
from sunrise.family import Complaint, Family
from sunrise.forms import Linear
from sunrise.given import given_parameters
from sunrise.look import Look
from sunrise.priors import as_classes
from sunrise.single import DiscreteNB
from sunrise.smoothing import Alpha, Smoothed
from sunrise.stats import Sums, without_dust
from sunrise.support import BINARY, REAL, Support
from sunrise.terms import X


class BernoulliParams(NamedTuple):
    """Log probability of 1 and of 0, for every class and column."""

    log_one: Floats
    log_zero: Floats
    known: Mask


@dataclass(frozen=True)
class Bernoulli(Smoothed, Family):
    """Yes or no: x | c ~ Bernoulli(theta), theta ~ Beta(alpha, beta), where `beta` is `alpha` unless given.

    Cells are 0 and 1, or above and not above `binarize`.
    """

    name = "bernoulli"
    terms = (X,)
    without_prior = {"alpha": Alpha(0.0), "beta": None}
    alpha: Any = 1.0
    binarize: float | None = None
    beta: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta is not None:
            if self.alpha.by_evidence:
                raise ValueError(
                    'alpha="evidence" chooses one alpha for yes and for no; give no beta with it.'
                )
            try:
                object.__setattr__(self, "beta", Alpha.given(self.beta))
            except ValueError as error:
                raise ValueError(f"beta, the alpha of zeros: {str(error).replace('alpha', 'beta')}") from None

    @classmethod
    def suits(cls, look: Look) -> str | None:
        """Yes and no."""
        return "yes and no" if look.kind == "bool" else None

    @property
    def support(self) -> Support:
        """Any number if there is a threshold, else numbers from 0 to 1."""
        return BINARY if self.binarize is None else replace(REAL, above=float(self.binarize))

    def complaint(self, stats: Sums) -> Complaint | None:
        """Refuse more ones than rows, which forgetting zeros that were never there would leave."""
        many = (stats.x > stats.seen * (1 + 1e-9)).any(axis=0)
        if not many.any():
            return None
        text = "would have more ones than rows left. Forget only rows that were fitted."
        return Complaint(int(np.argmax(many)), text)

    def posterior(self, stats: Sums) -> Beta:
        """Beta(alpha + ones, beta + zeros)."""
        beta = self.alpha if self.beta is None else self.beta
        zeros = without_dust(stats.seen - stats.x, stats.seen)
        return Beta(self.alpha.value + stats.x, beta.value + zeros)

    def counts_of_counts(self, stats: Sums) -> CountsOfCounts:
        """Every class of a column is a draw of ones and zeros."""
        seen = np.broadcast_to(stats.seen, stats.x.shape)
        counts = np.stack([stats.x, np.maximum(seen - stats.x, 0.0)])
        return CountsOfCounts(counts[counts > 0], seen.ravel(), np.full(seen.size, 2.0))

    def params(self, stats: Sums, class_weight: Floats) -> BernoulliParams:
        """Log of the probabilities by the estimate, from the counts."""
        point = self.point(stats)
        return BernoulliParams(point.log_mean, point.log_mean_complement, stats.known)

    def form(self, params: BernoulliParams) -> Linear:
        """Log-odds of a 1, over the log probability of a 0."""
        with np.errstate(invalid="ignore"):
            odds = params.log_one - params.log_zero
        return Linear(np.where(params.known, params.log_zero, 0.0), np.where(params.known, odds, 0.0))

    def outcomes(self, params: BernoulliParams) -> Floats:
        """No and yes."""
        return np.stack([params.log_zero, params.log_one], axis=2)

    def sample(self, params: BernoulliParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Zeros and ones; above a threshold or on it, where there is one."""
        ones = rng.random((len(y), params.log_one.shape[1])) < np.exp(params.log_one[y])
        if self.binarize is None:
            return ones.astype(float)
        above = max(self.binarize + 1.0, np.nextafter(self.binarize, np.inf))
        return np.where(ones, above, self.binarize)

    def drawn(self, stats: Sums, n: int, rng: np.random.Generator, class_weight: Floats) -> BernoulliParams:
        """Probabilities from their posterior."""
        theta = as_classes(self.posterior(stats).sample(n, rng))
        return BernoulliParams(log(theta), log(1.0 - theta), stats.known)

    def described(self, params: BernoulliParams) -> list[dict[str, Floats]]:
        """Probability of a yes."""
        return [{"yes": p} for p in np.exp(params.log_one).T]


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes: every column is a yes or a no.

    Takes dense or sparse input with missing cells (NaN), which are left out of fit and of predict.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing; 0 is maximum likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    binarize : float or None, default=0.0
        A cell above it is a yes. None: cells are 0 and 1 already (or probabilities between).
    fit_prior : bool, default=True
        Learn the class probabilities; if False they are equal.
    class_prior : array-like, dict or None, default=None
        Given class probabilities, in the order of `classes_` or by label.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import BernoulliNB
    >>> model = BernoulliNB().fit([[0, 1], [1, 1], [0, 1], [1, 0]], [0, 0, 0, 1])
    >>> model.predict([[1, 0]])
    array([1])
    """

    _parameter_constraints: dict[str, Any] = {
        **DiscreteNB._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    feature_count_ = Fitted(
        lambda self: self._fitted.blocks[0].x, "Weight of the ones, per class and column."
    )
    feature_log_prob_ = Fitted(lambda self: self._fitted.params[0].log_one, "Log probability of a one.")

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Bernoulli(Alpha.given(self.alpha, self.force_alpha), self.binarize)
        return Settings(family, self._prior(), self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(
        cls,
        feature_prob: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
        binarize: float | None = 0.0,
    ) -> Self:
        """Make a model from given probabilities of a yes (classes x columns), without data.

        >>> from sunrise import BernoulliNB
        >>> spam = BernoulliNB.from_parameters(
        ...     [[0.4, 0.1], [0.8, 0.01]], classes=["not-spam", "spam"], class_prior=[0.25, 0.75],
        ...     feature_names=["shipping", "perceptron"])
        >>> spam.predict([[1, 1]])[0], spam.predict_proba([[1, 1]]).round(3)
        (np.str_('not-spam'), array([[0.625, 0.375]]))
        """
        given = given_parameters(classes, class_prior, rows)
        theta = given.matrix("feature_prob", feature_prob, lowest=0.0, highest=1.0)
        sums = Sums(given.block_rows, given.seen, theta * given.seen)
        return cls(alpha=0.0, binarize=binarize)._from_stats(given, (sums,), theta.shape[1], feature_names)
