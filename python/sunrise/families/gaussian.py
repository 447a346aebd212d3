"""Gaussian columns: x | c ~ Normal(mean, variance), and the estimator GaussianNB."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.profile import ColumnProfile
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.left_out import CellsLeftOut
from sunrise.families.priors import (
    NormalPrior,
    as_classes,
    check_priors,
    given_normal,
    no_likelihood,
    own_removal,
    student,
    too_large,
)
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.forms.removal import Removal
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma
from sunrise.numerics.quadrature import CUTS
from sunrise.statistics.base import per_row
from sunrise.statistics.moments import Moments
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import X2, X


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
class Gaussian(NormalPrior, Conjugate, Candidate, Family):
    """Numbers: x | c ~ Normal(mean, variance).

    Mean and variance are estimated under a prior in the column's own units (`sunrise.families.priors`). With
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
    complexity = 10
    trait = "number"
    rule_order = 4
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
    def reason_by_type(cls, profile: ColumnProfile) -> str | None:
        """Any number."""
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
        """Refuse numbers whose squares leave the range of floats, and those without a variance of likelihood."""
        if complaint := too_large(stats.x2, "too large for their squares to be added (beyond 1e150)"):
            return complaint
        if self.estimate != "mle" or self._unlike_a_prior:
            return None
        squares = stats.squared_error
        if self.shared_variance:
            squares = squares.sum(axis=0, keepdims=True)
        return no_likelihood(self, (stats.rows > 0) & (squares == 0))

    def resolve(self, stats: Moments, again: bool = False) -> Gaussian:
        """The family with the numbers of its prior, or of its floor."""
        if not self._unlike_a_prior:
            return super().resolve(stats)  # type: ignore[no-any-return]
        if self.epsilon is not None or self.laplace:
            return self
        pooled = stats.pooled()
        largest = float(per_row(pooled.squared_error, pooled).max(initial=0.0))
        return self.with_settings(epsilon=(self.var_smoothing or 0.0) * largest)

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
        squares, weight = stats.squared_error, stats.observed_weight
        if self.shared_variance:
            squares, weight = squares.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
        if self.laplace:
            var = (squares + 1.0) / (weight + 1.0) + np.zeros_like(mean)
        else:
            own = np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0)
            var = np.where(seen | self.shared_variance, own, per_row(pooled.squared_error, pooled)) + epsilon
        return GaussianParams(mean, var, epsilon, stats.observed > 0)

    @property
    def pools_unobserved(self) -> bool:
        """True unless there is a prior."""
        return self._unlike_a_prior or super().pools_unobserved

    def removal(self, stats: Moments, w: Floats) -> Removal | None:
        """The closed form of a cell's score without itself; a shared variance changes every class instead."""
        if self.shared_variance:
            return None
        if self._unlike_a_prior:
            return own_removal(stats, w[:, None], self.epsilon or 0.0, self.laplace)
        return super().removal(stats, w)

    def left_out(self, stats: Moments, params: GaussianParams, row_weight: Floats | None) -> CellsLeftOut:
        """Cells leave the mean and the variance of their class; a shared variance changes for every class."""
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
        """Scores of all classes without the cell, rows x classes x columns, where classes share a variance.

        The cell leaves the mean of its own class and the variance of all classes. NaN where nothing is left of the
        class and column, or no variance.
        """
        scores = np.zeros((len(x), *params.mean.shape))
        i, j = np.nonzero(~np.isnan(x) & params.known)
        c, cells = y[i], x[i, j]
        rest = stats.without_cells(cells[:, None], c, j, w[i])
        means = np.array(params.mean[:, j])  # classes x cells
        if self._unlike_a_prior or self.estimate == "mle":
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
        of_variance = replace(prior, kappa=np.ones_like(prior.kappa)).log_evidence(
            replace(posterior, kappa=np.ones_like(prior.kappa))
        )
        spare = (1.0 - 1.0 / len(stats.rows)) * of_variance
        return np.where(self.known(stats), found - spare, 0.0)

    def log_prior_density(self, stats: Moments, class_weight: Floats) -> float:
        """That of its prior; there is none for smoothing that is no prior, nor here for a variance of all classes."""
        if self._unlike_a_prior and self.epsilon == 0.0 and not self.laplace:
            return 0.0
        no_prior = self._unlike_a_prior or self.shared_variance
        return float("nan") if no_prior else super().log_prior_density(stats, class_weight)

    def log_measure(self, stats: Moments) -> Floats:
        """log(2 pi) / 2 of every cell."""
        return np.asarray(-0.5 * np.log(2.0 * np.pi) * stats.observed_weight)

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

    def sample_parameters(
        self, stats: Moments, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> GaussianParams:
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

    def describe(self, params: GaussianParams) -> list[dict[str, Floats]]:
        """Means and standard deviations."""
        return [{"mean": m, "sd": sd} for m, sd in zip(params.mean.T, np.sqrt(params.var).T, strict=True)]

    def centre(self, stats: Moments) -> Floats:
        """The column means: squares about 0 would cancel for columns far from it."""
        return np.asarray(stats.pooled().mean[0])
