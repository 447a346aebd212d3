"""Gaussian family: numbers, with a normal-inverse-gamma prior on mean and variance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.priors import (
    NormalInverseGammaPrior,
    check_not_negative,
    missing_maximum_problem,
    overflow_problem,
    parse_normal_prior,
    sample_moments_removal,
    stack_draws,
    student_t_form,
)
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.forms.removal import Removal
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma
from sunrise.numerics.quadrature import CUTS
from sunrise.statistics.moments import Moments
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import X2, X


class GaussianParams(NamedTuple):
    """Mean and variance of every class and column, and `epsilon`, which was added to every variance."""

    mean: Floats
    var: Floats
    epsilon: float
    #: Columns that were observed and vary; the others add nothing.
    known: Mask
    #: Posterior to integrate over, with estimate="predictive"; else None.
    posterior: NormalInverseGamma | None = None


@dataclass(frozen=True)
class Gaussian(NormalInverseGammaPrior, Conjugate, Candidate, Family):
    """Numbers: x | c ~ Normal(mean, variance).

    The default prior is derived from the column (see `NormalInverseGammaPrior`). `var_smoothing` uses no prior: means
    and variances are those of the sample, and `var_smoothing` times the largest variance of a column is added to every
    variance, as in scikit-learn; `epsilon` sets the added number itself. With `laplace` the variance is
    (SSE + 1) / (n + 1). With `shared_variance` all classes of a column have the same variance, which makes the log-odds
    linear in x.

    `prior` sets m0, kappa0, a0 and b0 of a normal-inverse-gamma distribution, each one number, one per column, or
    classes x columns: variance ~ InverseGamma(a0, b0), mean ~ Normal(m0, variance / kappa0). `prior_[column]` of a
    fitted model is accepted, too. "evidence" chooses the strength of the default prior by marginal likelihood.
    """

    name = "gaussian"
    terms = (X, X2)
    complexity = 10
    trait = "number"
    rule_order = 4
    var_smoothing: float | None = None
    laplace: bool = False
    shared_variance: bool = False
    prior: Any = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_not_negative(self, var_smoothing=self.var_smoothing, epsilon=self.epsilon)
        object.__setattr__(self, "prior", parse_normal_prior(self.prior))
        if self.prior is not None and self._smooths_without_prior:
            raise ValueError(
                "a Gaussian has either a prior, or var_smoothing, epsilon or laplace. Remove one of them."
            )

    @property
    def _smooths_without_prior(self) -> bool:
        """True if variances are smoothed by var_smoothing, epsilon or laplace instead of a prior."""
        return self.var_smoothing is not None or self.epsilon is not None or self.laplace

    @classmethod
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Reason for any column of numbers, and for sparse matrices with negative numbers."""
        if profile.kind == "sparse":
            return "a sparse matrix of numbers" if profile.low < 0 else None
        if profile.kind != "number":
            return None
        if profile.counts:
            return f"whole numbers {profile.dispersion_text}"
        return "whole numbers" if profile.whole else "measurements"

    @property
    def support(self) -> Support:
        """Any finite number."""
        return REAL

    def find_problem(self, stats: Moments) -> Problem | None:
        """Report a column whose squares overflow, or a class of equal cells if there is neither prior nor smoothing."""
        if problem := overflow_problem(stats.x2, "too large for their squares to be added (beyond 1e150)"):
            return problem
        if self.estimate != "mle" or self._smooths_without_prior:
            return None
        squares = stats.squared_error
        if self.shared_variance:
            squares = squares.sum(axis=0, keepdims=True)
        return missing_maximum_problem(self, (stats.rows > 0) & (squares == 0))

    def resolve(self, stats: Moments, again: bool = False) -> Gaussian:
        """Return the family with the parameters of its prior, or `epsilon`, as numbers."""
        if not self._smooths_without_prior:
            return super().resolve(stats)  # type: ignore[no-any-return]
        if self.epsilon is not None or self.laplace:
            return self
        largest = float(np.maximum.reduce(stats.pooled().variance[0], initial=0.0))
        return self.with_settings(epsilon=(self.var_smoothing or 0.0) * largest)

    def params(self, stats: Moments, class_weight: Floats) -> GaussianParams:
        """Means and variances; a class without cells in a column has those of the column."""
        if self._smooths_without_prior:
            return self._sample_params(stats, self.epsilon or 0.0)
        known = self.known_columns(stats)
        if self.estimate == "mle":
            return self._sample_params(stats, 0.0)._replace(known=known)
        posterior = self.posterior(stats)
        if self.estimate == "map":
            var = posterior.b / (posterior.a + 1.0 + 0.5 * (len(stats.rows) if self.shared_variance else 1))
        else:
            var = posterior.mean_variance
        predictive = posterior if self.estimate == "predictive" else None
        return GaussianParams(posterior.m, np.where(known, var, 1.0), 0.0, known, predictive)

    def _sample_params(self, stats: Moments, epsilon: float) -> GaussianParams:
        """Sample means and variances, with `epsilon` added to the variances or by Laplace's rule."""
        observed, (mean, squares) = stats.rows > 0, stats.mean_and_squared_error
        all_observed = np.count_nonzero(observed) == observed.size
        if not all_observed:
            observed, pooled = np.broadcast_to(observed, stats.x.shape), stats.pooled()
            mean = np.where(observed, mean, pooled.mean)
        weight = stats.observed_weight
        if self.shared_variance:
            squares, weight = squares.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
        if self.laplace:
            var = (squares + 1.0) / (weight + 1.0) + np.zeros_like(mean)
        else:
            var = np.divide(squares, weight, out=np.zeros(squares.shape), where=weight > 0)
            if not all_observed:
                var = np.where(observed | self.shared_variance, var, pooled.variance)
            var = var + (epsilon + np.zeros_like(mean) if self.shared_variance else epsilon)
        return GaussianParams(mean, var, epsilon, stats.observed > 0)

    @property
    def pools_unobserved(self) -> bool:
        """True without a prior: a class without cells in a column then has the pooled estimate."""
        return self._smooths_without_prior or super().pools_unobserved

    def removal(self, stats: Moments, w: Floats) -> Removal | None:
        """Closed-form leave-one-out; None with a shared variance, where a cell changes the score of every class."""
        if self.shared_variance:
            return None
        if self._smooths_without_prior:
            return sample_moments_removal(stats, w[:, None], self.epsilon or 0.0, self.laplace)
        return super().removal(stats, w)

    def left_out(self, stats: Moments, params: GaussianParams, row_weight: Floats | None) -> CellsLeftOut:
        """Subtract cells from the mean and variance of their class; a shared variance changes for all classes."""
        if not self.shared_variance:
            return super().left_out(stats, params, row_weight)
        return CellsLeftOut(
            lambda x, c, j, w: np.full(len(x), np.nan),
            score_all=lambda x, y, w: self._score_all_without(stats, params, x, y, w),
            pools_unobserved=self.pools_unobserved,
        )

    def _score_all_without(
        self, stats: Moments, params: GaussianParams, x: Floats, y: Codes, w: Floats
    ) -> Floats:
        """Scores of all classes without the cell, rows x classes x columns, if classes share a variance.

        The cell is removed from the mean of its own class and from the variance of all classes. NaN if the class has no
        other cell in the column, or if no variance is left.
        """
        scores = np.zeros((len(x), *params.mean.shape))
        i, j = np.nonzero(~np.isnan(x) & params.known)
        c, cells = y[i], x[i, j]
        rest = stats.without_cells(cells[:, None], c, j, w[i])
        means = np.array(params.mean[:, j])  # classes x cells
        if self._smooths_without_prior or self.estimate == "mle":
            own, left = stats.squared_error[c, j], rest.squared_error[0]
            weight = np.broadcast_to(stats.observed_weight, stats.x.shape).sum(axis=0)[j] - w[i]
            squares = stats.squared_error.sum(axis=0)[j] - own + left
            means[c, np.arange(len(c))] = rest.mean[0]
            added = 1.0 if self.laplace else 0.0
            with np.errstate(invalid="ignore", divide="ignore"):
                var = (squares + added) / (weight + added) + (0.0 if self.laplace else self.epsilon or 0.0)
                cell_scores = -0.5 * (np.log(2.0 * np.pi * var) + (cells - means) ** 2 / var)
        else:
            before, all_classes = super().posterior(stats), self.posterior(stats)
            after = self.for_cells(c, j).with_settings(shared_variance=False).posterior(rest)
            a = all_classes.a[c, j] - before.a[c, j] + after.a[0]
            b = all_classes.b[c, j] - before.b[c, j] + after.b[0]
            kappa = np.array(all_classes.kappa[:, j])
            means[c, np.arange(len(c))], kappa[c, np.arange(len(c))] = after.m[0], after.kappa[0]
            if self.estimate == "predictive":
                cell_scores = NormalInverseGamma(means, kappa, a, b).log_predictive(cells)
            else:
                var = b / (a + 1.0 + 0.5 * len(stats.rows)) if self.estimate == "map" else b / (a - 1.0)
                cell_scores = -0.5 * (np.log(2.0 * np.pi * var) + (cells - means) ** 2 / var)
        unknown = (rest.rows[0] <= 0) | ~np.isfinite(cell_scores).all(axis=0)
        scores[i, :, j] = np.where(unknown, np.nan, cell_scores).T
        return scores

    def posterior(self, stats: Moments) -> NormalInverseGamma:
        """Normal-inverse-gamma posterior of the mean and the variance."""
        if self._smooths_without_prior:
            raise ValueError(
                "a Gaussian with var_smoothing or laplace has no prior, so it has no posterior. Leave them out."
            )
        posterior = super().posterior(stats)
        if not self.shared_variance:
            return posterior
        # One variance for all classes: the increments of a and b are summed over the classes.
        a, b = (
            np.max(before, axis=0) + (after - before).sum(axis=0) + 0.0 * posterior.m
            for before, after in (
                (np.broadcast_to(self.prior.a, posterior.a.shape), posterior.a),
                (np.broadcast_to(self.prior.b, posterior.b.shape), posterior.b),
            )
        )
        return NormalInverseGamma(posterior.m, posterior.kappa, a, b)

    def log_evidence(self, stats: Moments, class_weight: Floats | None = None) -> Floats:
        """Log marginal likelihood in closed form; a shared variance counts once, in equal parts per class."""
        if self._smooths_without_prior:
            return np.full(stats.x.shape, np.nan)
        evidence = super().log_evidence(stats)
        if not self.shared_variance:
            return evidence
        prior, posterior = self.prior_from(stats), self.posterior(stats)
        of_variance = replace(prior, kappa=np.ones_like(prior.kappa)).log_evidence(
            replace(posterior, kappa=np.ones_like(prior.kappa))
        )
        # The sum over classes contains the factor of the variance once per class; subtract all but one.
        surplus = (1.0 - 1.0 / len(stats.rows)) * of_variance
        return np.where(self.known_columns(stats), evidence - surplus, 0.0)

    def log_prior_density(self, stats: Moments, class_weight: Floats) -> float:
        """Log prior density at the estimate; NaN for smoothing without a prior and for a shared variance."""
        if self._smooths_without_prior and self.epsilon == 0.0 and not self.laplace:
            return 0.0
        no_prior = self._smooths_without_prior or self.shared_variance
        return float("nan") if no_prior else super().log_prior_density(stats, class_weight)

    def log_measure(self, stats: Moments) -> Floats:
        """Sum of - log(2 pi) / 2 over the cells."""
        return np.asarray(-0.5 * np.log(2.0 * np.pi) * stats.observed_weight)

    def form(self, params: GaussianParams) -> Form:
        """Normal log density; the log density of a Student's t with estimate="predictive".

        A variance of 0 is the limit of small variances: +inf at the mean, -inf elsewhere.
        """
        if params.posterior is not None:
            return student_t_form(params.posterior, params.known)
        with np.errstate(divide="ignore"):
            base = np.where(params.known, -0.5 * np.log(2.0 * np.pi * params.var), 0.0)
            x2 = np.where(params.known, -0.5 / params.var, 0.0)
        return Linear(base=base, x2=x2, anchor=params.mean)

    def landmarks(self, params: GaussianParams) -> Floats:
        """Quantiles."""
        return np.asarray(params.mean + np.sqrt(params.var) * special.ndtri(CUTS)[:, None, None])

    def sample(self, params: GaussianParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Normal numbers."""
        return rng.normal(params.mean[y], np.sqrt(params.var[y]))

    def sample_parameters(
        self, stats: Moments, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> GaussianParams:
        """Draw the means and variances from their posterior."""
        self.posterior(stats)  # raises for smoothing without a prior
        mean, var = self.sample_moments(stats, n, rng)
        if self.shared_variance:
            # All classes take the variance drawn for the first class; the means are rescaled to that variance.
            posterior, shape = self.posterior(stats), (n, *stats.x.shape)
            shared = np.broadcast_to(var.reshape(shape)[:, :1], shape)
            mean = stack_draws(
                posterior.m + (mean.reshape(shape) - posterior.m) * np.sqrt(shared / var.reshape(shape))
            )
            var = stack_draws(shared)
        return GaussianParams(mean, var, 0.0, self.known_columns(stats))

    def describe(self, params: GaussianParams) -> list[dict[str, Floats]]:
        """Return mean and standard deviation of every column, per class."""
        return [{"mean": m, "sd": sd} for m, sd in zip(params.mean.T, np.sqrt(params.var).T, strict=True)]

    def centre(self, stats: Moments) -> Floats:
        """The column means: squares about 0 would cancel for columns far from 0."""
        return np.asarray(stats.pooled().mean[0])
