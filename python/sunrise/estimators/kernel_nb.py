"""KernelNB: naive Bayes with kernel density estimates."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sunrise.estimators.constraints import COMMON, OWN, Interval, StrOptions, check_estimate
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.single_family import SingleFamilyEstimator
from sunrise.families.kernel import Kernel
from sunrise.model.settings import Settings
from sunrise.numerics.bandwidth import RULES


class KernelNB(SingleFamilyEstimator):
    """Naive Bayes with kernel density estimates: each density is a mean of Gaussians centred on the training values.

    The density of all classes together is mixed in with the weight of one row, so that no class is impossible. X is a
    dense or sparse matrix. Missing cells (NaN) are skipped in fit and in predict. The model stores all training values,
    unless `grid` is given, or until `compress` replaces them by weights on grids.

    Parameters
    ----------
    bandwidth : str, float or array-like, default="silverman"
        Standard deviation of the kernels: the rule "sqrt", "silverman", "scott", "isj" or "loo", applied to every class
        and column (see `sunrise.Kernel`); or a number, one number per column, or an array (classes x columns).
    shared_bandwidth : bool, default=True
        Use the mean of the class bandwidths for all classes of a column. If False, every class has its own bandwidth.
    lower, upper : float or None, default=None
        Bounds of the values; a cell outside the bounds is an error.
    boundary : {"reflect", "log"}, default="reflect"
        Treatment of the bounds: "reflect" reflects kernels at the bounds, "log" estimates the density of the logarithm
        of the distance from the bound.
    grid : (low, high, cells) or None, default=None
        Store weights on the nodes of a grid instead of the training values; `sunrise.Kernel` states the error bound.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities: estimated from the data ("fitted"), equal ("uniform"), given in the order of `classes_`, or
        given as a dict from label to probability.
    estimate : {"mean", "mle"}, default="mean"
        "mean" mixes the density of each class with that of all classes, which counts as one row; "mle" does not. A
        density has no parameters with a posterior, so "map" and "predictive" are errors.
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
    bandwidth_ : ndarray of shape (n_classes, n_features)
        Bandwidth of each column in each class.

    Examples
    --------
    >>> from sunrise import KernelNB
    >>> model = KernelNB().fit([[1.0], [1.2], [4.9], [5.0], [2.8], [3.1]], ["out", "out", "out", "out", "in", "in"])
    >>> model.predict([[1.1], [3.0], [5.1]])
    array(['out', 'in', 'out'], dtype='<U3')
    """

    _parameter_constraints: dict[str, Any] = {
        "bandwidth": [StrOptions(set(RULES)), Interval(Real, 0, None, closed="neither"), "array-like"],
        "shared_bandwidth": ["boolean"],
        "lower": [Real, None],
        "upper": [Real, None],
        "boundary": [StrOptions({"reflect", "log"})],
        "grid": [tuple, list, None],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        **OWN,
        **COMMON,
    }

    bandwidth_ = FittedAttribute(
        lambda self: self._model.params[0].bandwidth, "Bandwidth of each column per class."
    )

    def __init__(
        self,
        *,
        bandwidth: Any = "silverman",
        shared_bandwidth: bool = True,
        lower: float | None = None,
        upper: float | None = None,
        boundary: str = "reflect",
        grid: Any = None,
        class_prior: Any = "fitted",
        estimate: str = "mean",
        calibrate: str | None = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.shared_bandwidth = shared_bandwidth
        self.lower = lower
        self.upper = upper
        self.boundary = boundary
        self.grid = grid
        self.class_prior = class_prior
        self.estimate = estimate
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        check_estimate("KernelNB", self.estimate, ("mean", "mle"))
        bounds = self.lower, self.upper, self.boundary
        family = Kernel(self.bandwidth, *bounds, self.grid, shared_bandwidth=self.shared_bandwidth)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs, estimate=self.estimate)
