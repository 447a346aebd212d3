"""PoissonNB: naive Bayes for columns of counts."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sunrise.estimators.constraints import COMMON, OWN, Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import SingleFamilyEstimator
from sunrise.families.poisson import Poisson
from sunrise.forms.base import side_by_side
from sunrise.model.settings import Settings
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import WHOLE_COUNTS


class PoissonNB(SingleFamilyEstimator):
    """Naive Bayes for columns of independent counts: each column has a Poisson distribution in each class.

    X is a dense or sparse matrix of whole numbers. Missing cells (NaN) are skipped in fit and in predict.

    Parameters
    ----------
    prior_shape, prior_rate : float, default=1.0
        Shape and rate of the Gamma prior of the Poisson rates. The prior has the effect of `prior_rate` additional rows
        with a total count of `prior_shape`; 0 and 0 is maximum likelihood.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities: estimated from the data ("fitted"), equal ("uniform"), given in the order of `classes_`, or
        given as a dict from label to probability.
    estimate : {"mean", "map", "mle", "predictive"}, default="mean"
        Estimate of the rates: posterior mean, posterior mode, maximum likelihood without the prior, or no point
        estimate: "predictive" integrates the rates out, which gives negative binomial distributions.
    calibrate : {"temperature", "columns"} or None, default=None
        Calibrate the probabilities on leave-one-out scores of the training rows, with one weight for all columns or one
        weight for each column: see `sunrise.NaiveBayes`.
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
    rate_ : ndarray of shape (n_classes, n_features)
        Poisson rate of each column in each class.

    Examples
    --------
    >>> from sunrise import PoissonNB
    >>> model = PoissonNB().fit([[1, 9], [2, 11], [7, 0], [9, 1]], ["a", "a", "b", "b"])
    >>> model.predict([[1, 10]]), model.rate_
    (array(['a'], dtype='<U1'), array([[1.33333333, 7.        ],
           [5.66666667, 0.66666667]]))
    """

    _support = WHOLE_COUNTS

    _parameter_constraints: dict[str, Any] = {
        "prior_shape": [Interval(Real, 0, None, closed="left")],
        "prior_rate": [Interval(Real, 0, None, closed="left")],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        **OWN,
        **COMMON,
    }

    rate_ = FittedAttribute(lambda self: self._model.params[0].rate, "Poisson rate of each column per class.")

    def __init__(
        self,
        *,
        prior_shape: float = 1.0,
        prior_rate: float = 1.0,
        class_prior: Any = "fitted",
        estimate: str = "mean",
        calibrate: str | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.prior_shape = prior_shape
        self.prior_rate = prior_rate
        self.class_prior = class_prior
        self.estimate = estimate
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Poisson(self.prior_shape, self.prior_rate)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs, estimate=self.estimate)

    @classmethod
    def from_parameters(  # type: ignore[override]
        cls,
        rate: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
    ) -> Self:
        """Return a model with the given Poisson rates (classes x columns), without data.

        `rows` is the number of training rows that the parameters are worth; without `rows` the model predicts, but
        cannot be updated or merged.

        >>> from sunrise import PoissonNB
        >>> model = PoissonNB.from_parameters([[2.0], [8.0]], classes=["few", "many"])
        >>> model.predict([[3], [6]])
        array(['few', 'many'], dtype='<U4')
        """
        given = given_parameters(classes, class_prior, rows)
        rates = given.matrix("rate", rate, lowest=0.0)
        # The sum of log x! is unknown without the counts themselves.
        sums = Sums(
            given.block_rows,
            given.observed_weight,
            side_by_side(rates * given.observed_weight, np.full_like(rates, np.nan)),
        )
        model = cls(prior_shape=0.0, prior_rate=0.0)
        return model._from_stats(given, (sums,), rates.shape[1], feature_names)
