"""DirichletMultinomialNB: naive Bayes for bursty counts."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sunrise.estimators.constraints import COMMON, OWN, Interval, StrOptions, check_estimate
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import SingleFamilyEstimator
from sunrise.families.dirichlet_multinomial import ROW_COUNTS, DirichletMultinomial
from sunrise.model.settings import Settings
from sunrise.statistics.counts import RowCounts


class DirichletMultinomialNB(SingleFamilyEstimator):
    """Naive Bayes for bursty counts, for example word counts: a Dirichlet-multinomial (Polya) distribution per class.

    In real documents a word that occurs once is likely to occur again; a multinomial underestimates the probability of
    repetitions, a Dirichlet-multinomial does not. The parameters alpha of each class are estimated by maximum
    likelihood. A small sum of alphas means bursty counts; as the sum goes to infinity, the distribution becomes a
    multinomial.

    X is a dense or sparse matrix of whole numbers. In predict, missing counts (NaN) are integrated out. In fit, rows
    must be complete, except for columns that are missing in every row. Columns whose counts are all 0 in fit are
    ignored.

    `leave_one_out` is approximate: removing a row changes the alphas of its nonzero columns by one fixed-point
    iteration.

    Parameters
    ----------
    background : float, default=0.1
        Smoothing: the fraction of each class's alphas that is distributed as in all classes together, so that a column
        counted in any class has positive probability in every class; 0 is maximum likelihood.
    alpha : array-like of shape (n_classes, n_features) or None, default=None
        Fixed alphas, rows in the order of `classes_`. None estimates the alphas.
    tol : float, default=1e-12
        Stop when the relative change of the sum of the alphas is below `tol`.
    max_iter : int, default=100
        Maximum number of iterations; about seven are usually enough.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities: estimated from the data ("fitted"), equal ("uniform"), given in the order of `classes_`, or
        given as a dict from label to probability.
    estimate : {"mean", "mle"}, default="mean"
        "mean" mixes the `background` in; "mle" is maximum likelihood without it. The alphas have no conjugate
        posterior, so "map" and "predictive" are errors.
    calibrate : {"temperature", "columns"} or None, default=None
        Calibrate the probabilities on leave-one-out scores of the training rows, with one weight for the block and an
        exponent of the row length: see `sunrise.NaiveBayes`.
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
    alpha_ : ndarray of shape (n_classes, n_features)
        Parameters of the Dirichlet distribution of each class.
    concentration_ : ndarray of shape (n_classes,)
        Sum of the alphas of each class.
    convergence_ : Convergence or None
        Iterations and convergence of each class; None if `alpha` is given.
    n_iter_ : int
        Largest number of iterations of any class.

    Examples
    --------
    >>> from sunrise import DirichletMultinomialNB
    >>> rows = [[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6], [2, 2, 2], [3, 2, 2]]
    >>> model = DirichletMultinomialNB().fit(rows, ["bursty"] * 4 + ["even"] * 2)
    >>> model.predict([[6, 0, 0], [2, 3, 2]])
    array(['bursty', 'even'], dtype='<U6')
    """

    _support = ROW_COUNTS

    _parameter_constraints: dict[str, Any] = {
        "background": [Interval(Real, 0, 1, closed="left")],
        "alpha": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        **OWN,
        **COMMON,
    }

    alpha_ = FittedAttribute(
        lambda self: self._model.params[0].alpha, "Dirichlet parameters per class and column."
    )
    concentration_ = FittedAttribute(
        lambda self: self._model.params[0].alpha.sum(axis=1),
        "Sum of the alphas of each class: small for bursty counts, 1e12 for counts that follow a multinomial.",
    )
    convergence_ = FittedAttribute(
        lambda self: self._model.parts[0].family.convergence,
        "Iterations and convergence of each class; None if `alpha` is given.",
    )

    n_iter_ = FittedAttribute(
        lambda self: int(np.max(getattr(self.convergence_, "iterations", 1), initial=1)),
        "Largest number of iterations of any class.",
    )

    def __init__(
        self,
        *,
        background: float = 0.1,
        alpha: Any = None,
        tol: float = 1e-12,
        max_iter: int = 100,
        class_prior: Any = "fitted",
        estimate: str = "mean",
        calibrate: str | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.background = background
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.class_prior = class_prior
        self.estimate = estimate
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        check_estimate("DirichletMultinomialNB", self.estimate, ("mean", "mle"))
        family = DirichletMultinomial(self.background, self.alpha, self.tol, self.max_iter)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs, estimate=self.estimate)

    @classmethod
    def from_parameters(  # type: ignore[override]
        cls,
        alpha: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
    ) -> Self:
        """Return a model with the given alphas (classes x columns), without data.

        Alphas are not equivalent to a number of rows, so the model cannot be updated or merged.

        >>> from sunrise import DirichletMultinomialNB
        >>> model = DirichletMultinomialNB.from_parameters([[0.1, 0.1], [10, 10]], classes=["bursty", "even"])
        >>> model.predict([[4, 0], [2, 2]])
        array(['bursty', 'even'], dtype='<U6')
        """
        given = given_parameters(classes, class_prior, None)
        table = given.matrix("alpha", alpha, lowest=0.0)
        if (all_zero := ~table.any(axis=1)).any():
            label = given.classes.tolist()[int(np.argmax(all_zero))]
            raise ValueError(
                f"alpha must be above 0 in at least one column of every class; for class {label!r} all are 0"
            )
        empty_shape = len(table), 0
        counts = RowCounts(
            np.zeros(table.shape[1] + 2, np.int64),
            np.empty(0, np.int64),
            np.empty(empty_shape, np.int64),
            np.empty(empty_shape),
        )
        return cls(alpha=table)._from_stats(given, (counts,), table.shape[1], feature_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's checks fit continuous data, not counts
        return tags

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            raise ValueError(
                f"This {type(self).__name__} was made from given alphas, which are not equivalent to a number of rows, "
                "so it cannot be updated or merged, and leave-one-out is not defined. Fit a model to data instead."
            )
