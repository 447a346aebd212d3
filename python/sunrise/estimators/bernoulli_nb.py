"""BernoulliNB."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

from numpy.typing import ArrayLike

from sunrise.estimators.constraints import Interval
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import DiscreteNB
from sunrise.families.bernoulli import Bernoulli
from sunrise.families.smoothing import Alpha
from sunrise.model.settings import Settings
from sunrise.statistics.sums import Sums


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

    feature_count_ = FittedAttribute(
        lambda self: self._model.blocks[0].x, "Weight of the ones, per class and column."
    )
    feature_log_prob_ = FittedAttribute(
        lambda self: self._model.params[0].log_one, "Log probability of a one."
    )

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
        sums = Sums(given.block_rows, given.observed_weight, theta * given.observed_weight)
        return cls(alpha=0.0, binarize=binarize)._from_stats(given, (sums,), theta.shape[1], feature_names)
