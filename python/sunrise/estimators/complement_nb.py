"""ComplementNB: complement naive Bayes for counts."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

from numpy.typing import ArrayLike

from sunrise.estimators.constraints import Interval
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import DiscreteNB
from sunrise.families.complement import Complement
from sunrise.families.multinomial import complete_counts
from sunrise.families.smoothing import Alpha
from sunrise.model.settings import Settings
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS


class ComplementNB(DiscreteNB):
    """Complement naive Bayes for counts (Rennie et al., 2003).

    The weights of a class are estimated from the counts of all *other* classes, which makes the method suitable for
    imbalanced classes. `predict_proba` is a softmax of weighted counts, not a posterior probability. Missing counts
    (NaN) are treated as in MultinomialNB.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace) smoothing parameter.
    force_alpha : bool, default=True
        If False, values of alpha below 1e-10 are set to 1e-10.
    fit_prior, class_prior
        Class probabilities as in MultinomialNB. They are used only if there is a single class, and for rows whose
        probability is 0 under every class.
    norm : bool, default=False
        Divide the weights of each class by their sum.
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
    feature_all_ : ndarray of shape (n_features,)
        Total counts of all classes together.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weight of each column in the score of each class.

    Examples
    --------
    >>> from sunrise import ComplementNB
    >>> model = ComplementNB().fit([[0, 3, 1], [1, 2, 0], [0, 1, 0], [1, 0, 2]], [0, 0, 0, 1])
    >>> model.predict([[3, 0, 2]])
    array([1])
    """

    _support = COUNTS
    _density = False

    _parameter_constraints: dict[str, Any] = {
        **DiscreteNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],  # it has no evidence
        "norm": ["boolean"],
    }

    feature_count_ = FittedAttribute(
        lambda self: complete_counts(self._model.blocks[0], self._model.stats.weight),
        "Total counts per class and column.",
    )
    feature_all_ = FittedAttribute(
        lambda self: self.feature_count_.sum(axis=0), "Total counts per column, all classes together."
    )
    feature_log_prob_ = FittedAttribute(
        lambda self: self._model.params[0].weights, "Weight of each column in the score of each class."
    )

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Complement(Alpha.given(self.alpha, self.force_alpha), self.norm)
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
        norm: bool = False,
    ) -> Self:
        """Return a model with the given probabilities of the columns in each class (classes x columns), without data.

        Each row of `feature_prob` sums to 1. The complement of a class is the average of the other classes, weighted by
        `class_prior`. `rows` is the number of training rows that the parameters are worth; without `rows` the model
        predicts, but cannot be updated or merged.

        >>> from sunrise import ComplementNB
        >>> model = ComplementNB.from_parameters([[0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
        >>> model.predict([[2, 1]])
        array(['a'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        theta = given.shares("feature_prob", feature_prob)
        weight = given.class_weight[:, None]
        sums = Sums(given.block_rows, weight, theta * weight)
        return cls(alpha=0.0, norm=norm)._from_stats(given, (sums,), theta.shape[1], feature_names)
