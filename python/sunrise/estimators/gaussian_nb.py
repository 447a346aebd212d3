"""GaussianNB: naive Bayes for real-valued columns."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

from numpy.typing import ArrayLike

from sunrise.estimators.constraints import COMMON, Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.single_family import SingleFamilyEstimator
from sunrise.families.gaussian import Gaussian
from sunrise.model.settings import Settings
from sunrise.statistics.moments import Moments


class GaussianNB(SingleFamilyEstimator):
    """Naive Bayes for real-valued columns: each column has a normal distribution in each class.

    X is a dense or sparse matrix. Missing cells (NaN) are skipped in fit and in predict. Calling `partial_fit` on the
    parts of a data set gives the same model as `fit` on the whole data set.

    Parameters
    ----------
    priors : array-like, dict, "fitted", "uniform" or None, default=None
        Class probabilities: estimated from the data (None or "fitted"), equal ("uniform"), given in the order of
        `classes_`, or given as a dict from label to probability.
    var_smoothing : float, default=1e-9
        Fraction of the largest column variance that is added to every variance.
    laplace : bool, default=False
        Estimate the variances as (sum of squared errors + 1) / (n + 1) instead of adding `var_smoothing`.
    shared_variance : bool, default=False
        Use one variance per column for all classes. The log-odds are then linear in x, as in logistic regression.
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
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Mean and variance of each column in each class.
    epsilon_ : float
        Value that was added to every variance.

    Examples
    --------
    >>> import numpy as np
    >>> from sunrise import GaussianNB
    >>> X = np.array([[1.0, 2.0], [1.2, np.nan], [3.0, 0.5], [3.3, 0.1]])
    >>> model = GaussianNB().fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1.1, np.nan], [np.nan, 0.2]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: dict[str, Any] = {
        "priors": ["array-like", dict, StrOptions({"fitted", "uniform"}), None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "laplace": ["boolean"],
        "shared_variance": ["boolean"],
        **COMMON,
    }

    theta_ = FittedAttribute(lambda self: self._model.params[0].mean, "Mean of each column per class.")
    var_ = FittedAttribute(lambda self: self._model.params[0].var, "Variance of each column per class.")
    epsilon_ = FittedAttribute(
        lambda self: self._model.params[0].epsilon, "Value that was added to every variance."
    )

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        laplace: bool = False,
        shared_variance: bool = False,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.laplace = laplace
        self.shared_variance = shared_variance
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        family = Gaussian(float(self.var_smoothing), self.laplace, self.shared_variance)
        return Settings(family, self.priors, self.class_weight, self.n_jobs)

    @classmethod
    def from_parameters(  # type: ignore[override]
        cls,
        theta: ArrayLike,
        var: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
    ) -> Self:
        """Return a model with the given means and variances (classes x columns), without data.

        `rows` is the number of training rows that the parameters are worth; without `rows` the model predicts, but
        cannot be updated or merged.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB.from_parameters([[-1.0], [1.0]], [[1.0], [1.0]], classes=["-", "+"])
        >>> model.predict_proba([[0.0]])
        array([[0.5, 0.5]])
        """
        given = given_parameters(classes, class_prior, rows)
        mean, variance = given.matrix("theta", theta), given.matrix("var", var, lowest=0.0)
        if mean.shape != variance.shape:
            raise ValueError(f"theta and var must have the same shape, not {mean.shape} and {variance.shape}")
        n = given.observed_weight
        moments = Moments.about_mean(given.block_rows, n, mean, variance * n)
        return cls(var_smoothing=0.0)._from_stats(given, (moments,), mean.shape[1], feature_names)
