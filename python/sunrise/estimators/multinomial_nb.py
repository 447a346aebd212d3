"""MultinomialNB."""

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
    """Multinomial naive Bayes: a row is counts, such as the words of a document.

    Takes dense or sparse counts with missing cells (NaN): fitting scales up what was observed, and a row is
    scored with the shares of its observed columns brought back to a sum of 1.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing; 0 is maximum likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
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
    >>> from sunrise import MultinomialNB
    >>> model = MultinomialNB().fit([[0, 3, 1], [1, 2, 0], [0, 1, 0], [1, 0, 2]], [0, 0, 0, 1])
    >>> model.predict([[3, 0, 2]])
    array([1])
    """

    _takes = COUNTS

    feature_count_ = FittedAttribute(
        lambda self: complete_counts(self._model.blocks[0], self._model.stats.weight),
        "Counts per class and column.",
    )
    feature_log_prob_ = FittedAttribute(
        lambda self: self._model.params[0].log_theta, "Log share of each column."
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
    def from_parameters(
        cls,
        feature_prob: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
    ) -> Self:
        """Make a model from given shares (classes x columns, each class summing to 1), without data.

        `rows` counts tokens here: a later document of 10 words weighs as much as 10 of them.

        >>> from sunrise import MultinomialNB
        >>> model = MultinomialNB.from_parameters([[0.9, 0.1], [0.2, 0.8]], classes=["a", "b"])
        >>> model.predict([[2, 1]])
        array(['a'], dtype='<U1')
        """
        given = given_parameters(classes, class_prior, rows)
        theta = given.shares("feature_prob", feature_prob)
        sums = Sums(given.block_rows, given.observed_weight, theta * given.observed_weight)
        return cls(alpha=0.0)._from_stats(given, (sums,), theta.shape[1], feature_names)
