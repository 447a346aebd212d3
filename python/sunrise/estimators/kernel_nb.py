"""KernelNB."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sunrise.estimators.constraints import COMMON, Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.single_family import SingleFamilyEstimator
from sunrise.families.kernel import Kernel
from sunrise.model.settings import Settings
from sunrise.numerics.bandwidth import RULES


class KernelNB(SingleFamilyEstimator):
    """Kernel naive Bayes: the density of every class and column is a Gaussian about each value that was seen.

    Takes dense or sparse numbers with missing cells (NaN), which are left out of fit and of predict. The model keeps
    the values, unless there is a `grid`.

    Parameters
    ----------
    bandwidth : str, float or array-like, default="silverman"
        "sqrt", "silverman", "scott", "isj" or "loo" for every class and column; or numbers: one, one for each column,
        or classes x columns.
    shared_bandwidth : bool, default=True
        Give all classes of a column the mean of their bandwidths; else each its own.
    lower, upper : float or None, default=None
        Bounds of the cells.
    boundary : {"reflect", "log"}, default="reflect"
        Kernels are reflected at the bounds, or put about the logarithm of the distance from them.
    grid : (low, high, cells) or None, default=None
        Keep shares of the nodes of a grid instead of values; see `sunrise.Kernel` for how far that is off.
    class_prior : array-like, dict, "fitted" or "uniform", default="fitted"
        Class probabilities in the order of `classes_`, or by label.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

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
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        bounds = self.lower, self.upper, self.boundary
        family = Kernel(self.bandwidth, *bounds, self.grid, shared_bandwidth=self.shared_bandwidth)
        return Settings(family, self.class_prior, self.class_weight, self.n_jobs)
