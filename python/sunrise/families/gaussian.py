"""Gaussian columns: x | c ~ Normal(mean, variance), and the estimator GaussianNB."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise.arrays import Codes, Floats, Mask, Positions
from sunrise.conjugate import NormalInverseGamma
from sunrise.derived import Fitted, Settings
from sunrise.estimator import COMMON_CONSTRAINTS
from sunrise.family import Complaint, Family
from sunrise.forms import Form, Linear, Removal
from sunrise.given import given_parameters
from sunrise.information import CUTS
from sunrise.look import Look
from sunrise.moments import Moments
from sunrise.priors import (
    NormalPrior,
    as_classes,
    check_priors,
    given_normal,
    no_likelihood,
    own_removal,
    student,
    too_large,
)
from sunrise.single import OneFamily
from sunrise.stats import per_row
from sunrise.support import REAL, Support
from sunrise.terms import X2, X


class GaussianParams(NamedTuple):
    """Mean and variance of every class and column, and the floor that was added to the variances, if any."""

    mean: Floats
    var: Floats
    epsilon: float
    #: Columns that say something; the others were never observed, or never varied.
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: NormalInverseGamma | None = None


@dataclass(frozen=True)
class Gaussian(NormalPrior, Family):
    """Numbers: x | c ~ Normal(mean, variance).

    Mean and variance are estimated under a prior in the column's own units (`sunrise.priors`). With
    `var_smoothing` they are the sample's own, and that share of the largest variance of a column is added to
    every variance, as scikit-learn does (`epsilon` is that number itself); with `laplace` the variance is
    (SSE + 1) / (n + 1). With `shared_variance` the classes of a column have one variance, which makes the log-odds
    linear in x.

    A `prior` of one's own is m0, kappa0, a0 and b0 of a normal-inverse-gamma distribution, each a number, one for
    every column, or classes x columns: variance ~ InverseGamma(a0, b0), mean ~ Normal(m0, variance / kappa0). A
    model's `prior_[column]` is such a one. "evidence" chooses how strong the default prior is.
    """

    name = "gaussian"
    terms = (X, X2)
    var_smoothing: float | None = None
    laplace: bool = False
    shared_variance: bool = False
    prior: Any = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_priors(self, var_smoothing=self.var_smoothing, epsilon=self.epsilon)
        object.__setattr__(self, "prior", given_normal(self.prior))
        if self.prior is not None and self._unlike_a_prior:
            raise ValueError("a Gaussian has a prior, or var_smoothing or laplace instead of one.")

    @property
    def _unlike_a_prior(self) -> bool:
        """Whether variances are smoothed in a way that is no prior."""
        return self.var_smoothing is not None or self.epsilon is not None or self.laplace

    @classmethod
    def suits(cls, look: Look) -> str | None:
        """Any number."""
        if look.kind != "number":
            return None
        if look.counts:
            return f"whole numbers {look.told_dispersion}"
        return "whole numbers" if look.whole else "measurements"

    @classmethod
    def may_be(cls, look: Look) -> bool:
        """Any numbers."""
        return True

    @property
    def support(self) -> Support:
        """Any finite number."""
        return REAL

    def complaint(self, stats: Moments) -> Complaint | None:
        """Refuse numbers whose squares leave the range of floats, and those without a variance of likelihood."""
        if complaint := too_large(stats.x2, "too large for their squares to be added (beyond 1e150)"):
            return complaint
        if self.estimate != "mle" or self._unlike_a_prior:
            return None
        squares = stats.squared_error
        if self.shared_variance:
            squares = squares.sum(axis=0, keepdims=True)
        return no_likelihood(self, (stats.rows > 0) & (squares == 0))

    def frozen(self, stats: Moments) -> Gaussian:
        """The family with the numbers of its prior, or of its floor."""
        if not self._unlike_a_prior:
            return super().frozen(stats)  # type: ignore[no-any-return]
        if self.epsilon is not None or self.laplace:
            return self
        pooled = stats.pooled()
        largest = float(per_row(pooled.squared_error, pooled).max(initial=0.0))
        return self.changed(epsilon=(self.var_smoothing or 0.0) * largest)

    def params(self, stats: Moments, class_weight: Floats) -> GaussianParams:
        """Means and variances by the estimate; a class that saw nothing of a column has the column's own."""
        if self._unlike_a_prior:
            return self._own(stats, self.epsilon or 0.0)
        known = self.known(stats)
        if self.estimate == "mle":
            return self._own(stats, 0.0)._replace(known=known)
        posterior = self.posterior(stats)
        if self.estimate == "map":
            var = posterior.b / (posterior.a + 1.0 + 0.5 * (len(stats.rows) if self.shared_variance else 1))
        else:
            var = posterior.mean_variance
        predictive = posterior if self.estimate == "predictive" else None
        return GaussianParams(posterior.m, np.where(known, var, 1.0), 0.0, known, predictive)

    def _own(self, stats: Moments, epsilon: float) -> GaussianParams:
        """The sample's own means and variances, with a floor under these or by Laplace's rule."""
        pooled = stats.pooled()
        seen = np.broadcast_to(stats.rows > 0, stats.x.shape)
        mean = np.where(seen, stats.mean, pooled.mean)
        squares, weight = stats.squared_error, stats.seen
        if self.shared_variance:
            squares, weight = squares.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
        if self.laplace:
            var = (squares + 1.0) / (weight + 1.0) + np.zeros_like(mean)
        else:
            own = np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0)
            var = np.where(seen | self.shared_variance, own, per_row(pooled.squared_error, pooled)) + epsilon
        return GaussianParams(mean, var, epsilon, stats.observed > 0)

    @property
    def pools_where_blind(self) -> bool:
        """It has, unless there is a prior."""
        return self._unlike_a_prior or super().pools_where_blind

    def removal(self, stats: Moments, w: Floats) -> Removal | None:
        """How cells are taken out of their class; a shared variance would change every class."""
        if self.shared_variance:
            return None
        if self._unlike_a_prior:
            return own_removal(stats, w[:, None], self.epsilon or 0.0, self.laplace)
        return super().removal(stats, w)

    def left_out(self, stats: Moments, x: Floats, c: Codes, j: Positions, w: Floats) -> Floats:
        """As any, unless a shared variance loses the cell in every class."""
        return np.full(len(x), np.nan) if self.shared_variance else super().left_out(stats, x, c, j, w)

    def posterior(self, stats: Moments) -> NormalInverseGamma:
        """Normal-inverse-gamma of the mean and the variance."""
        if self._unlike_a_prior:
            raise ValueError("a Gaussian with var_smoothing or laplace has no prior, so it has no posterior.")
        posterior = super().posterior(stats)
        if not self.shared_variance:
            return posterior
        # One variance for all classes: each adds its squares, and its shift from the column's mean, to one sum.
        a, b = (
            np.max(before, axis=0) + (after - before).sum(axis=0) + 0.0 * posterior.m
            for before, after in (
                (np.broadcast_to(self.prior.a, posterior.a.shape), posterior.a),
                (np.broadcast_to(self.prior.b, posterior.b.shape), posterior.b),
            )
        )
        return NormalInverseGamma(posterior.m, posterior.kappa, a, b)

    def log_evidence(self, stats: Moments, class_weight: Floats | None = None) -> Floats:
        """Closed form; a variance that all classes share counts once, in equal parts."""
        if self._unlike_a_prior:
            return np.full(stats.x.shape, np.nan)
        found = super().log_evidence(stats)
        if not self.shared_variance:
            return found
        prior, posterior = self.prior_from(stats), self.posterior(stats)
        of_variance = replace(prior, kappa=np.ones_like(prior.kappa)).log_rise(
            replace(posterior, kappa=np.ones_like(prior.kappa))
        )
        spare = (1.0 - 1.0 / len(stats.rows)) * of_variance
        return np.where(self.known(stats), found - spare, 0.0)

    def pull(self, stats: Moments, class_weight: Floats) -> float:
        """That of its prior; there is none for smoothing that is no prior, nor here for a variance of all classes."""
        if self._unlike_a_prior and self.epsilon == 0.0 and not self.laplace:
            return 0.0
        no_prior = self._unlike_a_prior or self.shared_variance
        return float("nan") if no_prior else super().pull(stats, class_weight)

    def log_measure(self, stats: Moments) -> Floats:
        """log(2 pi) / 2 of every cell."""
        return np.asarray(-0.5 * np.log(2.0 * np.pi) * stats.seen)

    def form(self, params: GaussianParams) -> Form:
        """Squares about the class means; of the predictive distribution those of a Student's t.

        A variance of 0 is the limit of ever smaller ones: the mean itself is sure, anything else impossible.
        """
        if params.posterior is not None:
            return student(params.posterior, params.known)
        with np.errstate(divide="ignore"):
            base = np.where(params.known, -0.5 * np.log(2.0 * np.pi * params.var), 0.0)
            x2 = np.where(params.known, -0.5 / params.var, 0.0)
        return Linear(base=base, x2=x2, anchor=params.mean)

    def landmarks(self, params: GaussianParams) -> Floats:
        """Quantiles."""
        return np.asarray(params.mean + np.sqrt(params.var) * ndtri(CUTS)[:, None, None])

    def sample(self, params: GaussianParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Normal numbers; the scale is the standard deviation."""
        return rng.normal(params.mean[y], np.sqrt(params.var[y]))

    def drawn(self, stats: Moments, n: int, rng: np.random.Generator, class_weight: Floats) -> GaussianParams:
        """Means and variances from their posterior."""
        self.posterior(stats)  # refuses smoothing that is no prior
        mean, var = self.draw(stats, n, rng)
        if self.shared_variance:
            # The variance of the first class is that of all; means are as far from theirs in its units.
            posterior, shape = self.posterior(stats), (n, *stats.x.shape)
            one = np.broadcast_to(var.reshape(shape)[:, :1], shape)
            mean = as_classes(
                posterior.m + (mean.reshape(shape) - posterior.m) * np.sqrt(one / var.reshape(shape))
            )
            var = as_classes(one)
        return GaussianParams(mean, var, 0.0, self.known(stats))

    def described(self, params: GaussianParams) -> list[dict[str, Floats]]:
        """Means and standard deviations."""
        return [{"mean": m, "sd": sd} for m, sd in zip(params.mean.T, np.sqrt(params.var).T, strict=True)]

    def centre(self, stats: Moments) -> Floats:
        """The column means: squares about 0 would cancel for columns far from it."""
        return np.asarray(stats.pooled().mean[0])


class GaussianNB(OneFamily):
    """Gaussian naive Bayes.

    Takes dense or sparse numbers with missing cells (NaN), which are left out of fit and of predict.
    `partial_fit` on any split of the data equals `fit` on all of it.

    Parameters
    ----------
    priors : array-like, dict, "fitted", "uniform" or None, default=None
        Class probabilities in the order of `classes_`, or by label; None fits them.
    var_smoothing : float, default=1e-9
        This share of the largest column variance is added to every variance.
    laplace : bool, default=False
        Smooth the variances as (SSE + 1) / (n + 1) instead of by `var_smoothing`.
    shared_variance : bool, default=False
        One variance per column for all classes; the log-odds are then linear in x (logistic regression).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

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
        **COMMON_CONSTRAINTS,
    }

    theta_ = Fitted(lambda self: self._fitted.params[0].mean, "Mean of each column per class.")
    var_ = Fitted(lambda self: self._fitted.params[0].var, "Variance of each column per class.")
    epsilon_ = Fitted(lambda self: self._fitted.params[0].epsilon, "What was added to every variance.")

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
    def from_parameters(
        cls,
        theta: ArrayLike,
        var: ArrayLike,
        *,
        classes: ArrayLike,
        class_prior: Any = None,
        feature_names: ArrayLike | None = None,
        rows: float | None = None,
    ) -> Self:
        """Make a model from given means and variances (classes x columns), without data.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB.from_parameters([[-1.0], [1.0]], [[1.0], [1.0]], classes=["-", "+"])
        >>> model.predict_proba([[0.0]])
        array([[0.5, 0.5]])
        """
        given = given_parameters(classes, class_prior, rows)
        mean, variance = given.matrix("theta", theta), given.matrix("var", var, lowest=0.0)
        if mean.shape != variance.shape:
            raise ValueError(
                f"theta and var must have one shape; they have {mean.shape} and {variance.shape}"
            )
        n = given.seen
        moments = Moments.about_mean(given.block_rows, n, mean, variance * n)
        return cls(var_smoothing=0.0)._from_stats(given, (moments,), mean.shape[1], feature_names)
