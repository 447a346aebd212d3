"""MultinomialNB: naive Bayes for rows of counts."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import DiscreteNB
from sunrise.families.multinomial import Multinomial, complete_counts
from sunrise.families.smoothing import Alpha
from sunrise.model.settings import Settings
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS


class MultinomialNB(DiscreteNB):
    """Naive Bayes for rows of counts, for example word counts: a multinomial distribution per class.

    X is a dense or sparse matrix. With missing cells (NaN), fit scales the observed counts of a column up to all rows,
    and predict renormalises the probabilities of the observed columns to a sum of 1.

    Parameters
    ----------
    alpha : float, array-like of shape (n_features,) or "evidence", default=1.0
        Additive (Laplace) smoothing parameter; 0 is maximum likelihood, and "evidence" chooses the alpha with the
        largest marginal likelihood.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are set to 1e-10.
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
        Total counts, scaled up for missing cells.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log probability of each column, log P(j | c).

    Examples
    --------
    >>> from sunrise import MultinomialNB
    >>> model = MultinomialNB().fit([[0, 3, 1], [1, 2, 0], [0, 1, 0], [1, 0, 2]], [0, 0, 0, 1])
    >>> model.predict([[3, 0, 2]])
    array([1])
    """

    _support = COUNTS

    feature_count_ = FittedAttribute(
        lambda self: complete_counts(self._model.blocks[0], self._model.stats.weight),
        "Total counts per class and column.",
    )
    feature_log_prob_ = FittedAttribute(
        lambda self: self._model.params[0].log_theta, "Log probability of each column per class."
    )

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Multinomial(Alpha.given(self.alpha, self.force_alpha))
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
    ) -> Self:
        """Return a model with the given probabilities (classes x columns, sum 1 in every class), without data.

        `rows` is the number of tokens (counted units) that the parameters are worth: a later document of 10 words has
        the weight of 10 tokens. Without `rows` the model predicts, but cannot be updated or merged.

        >>> from sunrise import MultinomialNB
        >>> model = MultinomialNB.from_parameters([[0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
        >>> model.predict([[2, 1]])
        array(['a'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        theta = given.shares("feature_prob", feature_prob)
        sums = Sums(given.block_rows, given.observed_weight, theta * given.observed_weight)
        return cls(alpha=0.0)._from_stats(given, (sums,), theta.shape[1], feature_names)
