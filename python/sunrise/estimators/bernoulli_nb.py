"""BernoulliNB: naive Bayes for binary columns."""

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
    """Naive Bayes for binary columns: each column has a Bernoulli distribution in each class.

    X is a dense or sparse matrix. Missing cells (NaN) are skipped in fit and in predict.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "evidence", default=1.0
        Additive (Laplace) smoothing parameter; 0 is maximum likelihood, and "evidence" chooses the alpha with the
        largest marginal likelihood.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are set to 1e-10.
    binarize : float or None, default=0.0
        Threshold: cells above it become 1, all others 0. None: the cells are already 0 or 1, or probabilities
        between 0 and 1.
    fit_prior : bool, default=True
        Estimate the class probabilities from the data. If False, all classes have the same probability.
    class_prior : array-like, dict or None, default=None
        Class probabilities in the order of `classes_`, or a dict from label to probability. If given, `fit_prior` is
        ignored.
    class_weight : dict, "balanced" or None, default=None
        Class weights: the weight of a class multiplies the weights of its rows. "balanced" gives every class the same
        total weight.
    n_jobs : int or None, default=None
        Number of threads. None: the environment variable SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    class_count_, class_prior_ : ndarray of shape (n_classes,)
        Total weight and probability of each class. `class_prior_` may be set.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Total weight of the ones.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log probability of a one, log P(x_j = 1 | c).

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
        lambda self: self._model.blocks[0].x, "Total weight of the ones per class and column."
    )
    feature_log_prob_ = FittedAttribute(
        lambda self: self._model.params[0].log_one, "Log probability of a one per class and column."
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
    def from_parameters(  # type: ignore[override]
        cls,
        feature_prob: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
        binarize: float | None = 0.0,
    ) -> Self:
        """Return a model with the given probabilities of a one (classes x columns), without data.

        `rows` is the number of training rows that the parameters are worth; without `rows` the model predicts, but
        cannot be updated or merged.

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
