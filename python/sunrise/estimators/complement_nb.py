"""ComplementNB."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

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
    """Complement naive Bayes: which class do these counts fit least to be *not* of?

    Suited to classes of very different sizes. Its `predict_proba` is a softmax of weights, not a posterior.
    Takes missing counts (NaN) as MultinomialNB does.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it.
    fit_prior, class_prior
        Only used where there is a single class, and for rows that are impossible under every class.
    norm : bool, default=False
        Divide the weights of a class by their sum.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import ComplementNB
    >>> model = ComplementNB().fit([[0, 3, 1], [1, 2, 0], [0, 1, 0], [1, 0, 2]], [0, 0, 0, 1])
    >>> model.predict([[3, 0, 2]])
    array([1])
    """

    _takes = COUNTS
    _density = False

    _parameter_constraints: dict[str, Any] = {**DiscreteNB._parameter_constraints, "norm": ["boolean"]}

    feature_count_ = FittedAttribute(
        lambda self: complete_counts(self._model.blocks[0], self._model.stats.weight),
        "Counts per class and column.",
    )
    feature_all_ = FittedAttribute(lambda self: self.feature_count_.sum(axis=0), "Counts per column.")
    feature_log_prob_ = FittedAttribute(
        lambda self: self._model.params[0].weights, "Weight of each column per class."
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
    def from_parameters(
        cls,
        feature_prob: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
        norm: bool = False,
    ) -> Self:
        """Make a model from given shares of each class's own counts (classes x columns), without data.

        The classes enter each other's complements in proportion to their prior.

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
