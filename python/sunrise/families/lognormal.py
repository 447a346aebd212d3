"""Log-normal family: positive numbers whose logarithm is normal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.lazy import special
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.priors import (
    NormalInverseGammaPrior,
    missing_maximum_problem,
    parse_normal_prior,
    student_t_form,
)
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma
from sunrise.numerics.quadrature import CUTS
from sunrise.statistics.moments import Moments
from sunrise.statistics.support import POSITIVE, Support
from sunrise.statistics.terms import LOG, X2, X


class LogNormalParams(NamedTuple):
    """Mean and variance of log x, for every class and column."""

    mean: Floats
    var: Floats
    #: Columns in which log x varies; the others add nothing.
    known: Mask
    #: Posterior to integrate over, with estimate="predictive"; else None.
    posterior: NormalInverseGamma | None = None


@dataclass(frozen=True)
class LogNormal(NormalInverseGammaPrior, Conjugate, Candidate, Family):
    """Positive numbers: log x | c ~ Normal(mean, variance); the prior is that of Gaussian, for log x."""

    name = "lognormal"
    terms = (X, X2)
    complexity = 20
    trait = "positive"
    prior: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", parse_normal_prior(self.prior))

    @property
    def support(self) -> Support:
        """Numbers above 0; the view is log x."""
        return replace(POSITIVE, views=(LOG,))

    def find_problem(self, stats: Moments) -> Problem | None:
        """Report a class whose cells are all equal, if there is no prior."""
        if self.estimate != "mle":
            return None
        return missing_maximum_problem(self, (stats.rows > 0) & (stats.squared_error == 0))

    def log_measure(self, stats: Moments) -> Floats:
        """Sum of - log(2 pi) / 2 - log x over the cells."""
        return np.asarray(-stats.observed_weight * (0.5 * np.log(2.0 * np.pi) + stats.mean))

    def params(self, stats: Moments, class_weight: Floats) -> LogNormalParams:
        """Mean and variance of log x; without a prior, pooled over the classes for a class without cells."""
        known, posterior = self.known_columns(stats), self.posterior(stats)
        mean, var = posterior.m, posterior.mean_variance
        if self.estimate == "map":
            var = posterior.mode[1]
        elif self.estimate == "mle":
            observed, pooled = stats.rows > 0, stats.pooled()
            mean = np.where(observed, stats.mean, pooled.mean)
            var = np.where(observed, stats.variance, pooled.variance)
        predictive = posterior if self.estimate == "predictive" else None
        return LogNormalParams(mean, np.where(known, var, 0.0), known, predictive)

    def form(self, params: LogNormalParams) -> Form:
        """Normal log density of log x; the log density of a Student's t with estimate="predictive"."""
        if params.posterior is not None:
            return student_t_form(params.posterior, params.known)
        var = np.where(params.known, params.var, 1.0)
        return Linear(
            base=np.where(params.known, -0.5 * np.log(2.0 * np.pi * var), 0.0),
            x2=np.where(params.known, -0.5 / var, 0.0),
            anchor=params.mean,
        )

    def log_base_measure(self, x: Floats) -> Floats:
        """- log x"""
        return np.asarray(-LOG.of(x))

    def landmarks(self, params: LogNormalParams) -> Floats:
        """Quantiles."""
        return np.asarray(np.exp(params.mean + np.sqrt(params.var) * special.ndtri(CUTS)[:, None, None]))

    def sample(self, params: LogNormalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Log-normal numbers, at least the smallest positive float."""
        return np.maximum(rng.lognormal(params.mean[y], np.sqrt(params.var)[y]), self.support.lowest)

    def sample_parameters(
        self, stats: Moments, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> LogNormalParams:
        """Draw the means and variances of log x from their posterior."""
        return LogNormalParams(*self.sample_moments(stats, n, rng), self.known_columns(stats))

    def describe(self, params: LogNormalParams) -> list[dict[str, Floats]]:
        """Return mean and standard deviation of log x of every column, per class."""
        columns = zip(params.mean.T, np.sqrt(params.var).T, strict=True)
        return [{"log mean": mean, "log sd": sd} for mean, sd in columns]

    def centre(self, stats: Moments) -> Floats:
        """The column means of log x: squares about 0 would cancel for columns far from 0."""
        return np.asarray(stats.pooled().mean[0])
