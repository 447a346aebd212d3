"""DirichletMultinomialNB."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from sunrise.estimators.constraints import COMMON, Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import SingleFamilyEstimator
from sunrise.families.dirichlet_multinomial import ROW_COUNTS, DirichletMultinomial
from sunrise.model.settings import Settings
from sunrise.statistics.counts import RowCounts


class DirichletMultinomialNB(SingleFamilyEstimator):
    """Dirichlet-compound multinomial (Polya) naive Bayes: counts that come in bursts, such as words of documents.

    What a document has said once it is likely to say again: unlike under a multinomial, a second occurrence is much
    less of a surprise than the first. The alphas of a class are those of greatest likelihood; small sums of alphas are
    bursty, and towards infinity the model is a multinomial. Takes dense or sparse whole counts. Missing counts (NaN)
    are integrated out at predict; to fit, rows must be complete, but for columns that are missing altogether. Columns
    of which nothing was ever counted say nothing.

    `leave_one_out` is approximate: the alphas of what a row holds change by one round of their fixed point without it.

    Parameters
    ----------
    background : float, default=0.1
        The share of a class's alphas that is as in all classes together, so that nothing is impossible that any class
        has seen; 0 is maximum likelihood.
    alpha : array-like of shape (n_classes, n_features) or None, default=None
        Given alphas, in the order of `classes_`, instead of fitted ones.
    tol : float, default=1e-12
        The relative change of the sum of the alphas at which they are found.
    max_iter : int, default=100
        The most rounds to find them; about seven are needed.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities in the order of `classes_`, or by label.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Examples
    --------
    >>> from sunrise import DirichletMultinomialNB
    >>> rows = [[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6], [2, 2, 2], [3, 2, 2]]
    >>> model = DirichletMultinomialNB().fit(rows, ["bursty"] * 4 + ["even"] * 2)
    >>> model.predict([[6, 0, 0], [2, 3, 2]])
    array(['bursty', 'even'], dtype='<U6')
    """

    _takes = ROW_COUNTS

    _parameter_constraints: dict[str, Any] = {
        "background": [Interval(Real, 0, 1, closed="left")],
        "alpha": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        **COMMON,
    }

    alpha_ = FittedAttribute(
        lambda self: self._model.params[0].alpha, "What each class holds of each column."
    )
    concentration_ = FittedAttribute(
        lambda self: self._model.params[0].alpha.sum(axis=1),
        "The sum of each class's alphas: small where counts are bursty, 1e12 where they are a multinomial's.",
    )
    convergence_ = FittedAttribute(
        lambda self: self._model.parts[0].family.convergence,
        "How the alphas were found, class by class; None where they were given.",
    )

    n_iter_ = FittedAttribute(
        lambda self: int(np.max(getattr(self.convergence_, "iterations", 1), initial=1)),
        "The most rounds that the alphas of a class took.",
    )

    def __init__(
        self,
        *,
        background: float = 0.1,
        alpha: Any = None,
        tol: float = 1e-12,
        max_iter: int = 100,
        class_prior: Any = "fitted",
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.background = background
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = DirichletMultinomial(self.background, self.alpha, self.tol, self.max_iter)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(
        cls,
        alpha: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
    ) -> Self:
        """Make a model from given alphas (classes x columns), without data. No rows stand behind it to be updated.

        >>> from sunrise import DirichletMultinomialNB
        >>> model = DirichletMultinomialNB.from_parameters([[0.1, 0.1], [10, 10]], classes=["bursty", "even"])
        >>> model.predict([[4, 0], [2, 2]])
        array(['bursty', 'even'], dtype='<U6')
        """
        given = given_parameters(classes, class_prior, None)
        table = given.matrix("alpha", alpha, lowest=0.0)
        if (empty := ~table.any(axis=1)).any():
            label = given.classes.tolist()[int(np.argmax(empty))]
            raise ValueError(
                f"alpha must be above 0 for some column in every class; for {label!r} it is all 0"
            )
        none = len(table), 0
        counts = RowCounts(
            np.zeros(table.shape[1] + 2, np.int64),
            np.empty(0, np.int64),
            np.empty(none, np.int64),
            np.empty(none),
        )
        return cls(alpha=table)._from_stats(given, (counts,), table.shape[1], feature_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the checks feed it numbers that are no counts
        return tags

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"This {type(self).__name__} was made from given alphas. No rows stand behind them, so it cannot be "
            "updated, merged or asked for leave-one-out. Fit one to data."
        )
