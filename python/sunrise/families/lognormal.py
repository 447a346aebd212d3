"""Sizes: log x | c ~ Normal(mean, variance)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.families.base import Family, Problem
from sunrise.families.capabilities import Candidate, Conjugate
from sunrise.families.priors import NormalPrior, given_normal, no_likelihood, student
from sunrise.forms.base import Form
from sunrise.forms.linear import Linear
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma
from sunrise.numerics.quadrature import CUTS
from sunrise.statistics.base import per_row
from sunrise.statistics.moments import Moments
from sunrise.statistics.support import POSITIVE, Support
from sunrise.statistics.terms import LOG, X2, X


class LogNormalParams(NamedTuple):
    """Mean and variance of log x, of every class and column."""

    mean: Floats
    var: Floats
    #: Columns in which log x has any spread; the others say nothing.
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: NormalInverseGamma | None = None


@dataclass(frozen=True)
class LogNormal(NormalPrior, Conjugate, Candidate, Family):
    """Sizes: log x | c ~ Normal(mean, variance), with the Gaussian's prior on the scale of log x."""

    name = "lognormal"
    terms = (X, X2)
    complexity = 20
    trait = "positive"
    prior: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", given_normal(self.prior))

    @property
    def support(self) -> Support:
        """Numbers above 0, by their logarithm."""
        return replace(POSITIVE, views=(LOG,))

    def find_problem(self, stats: Moments) -> Problem | None:
        """Refuse cells that are all the same where there is no prior."""
        if self.estimate != "mle":
            return None
        return no_likelihood(self, (stats.rows > 0) & (stats.squared_error == 0))

    def log_measure(self, stats: Moments) -> Floats:
        """log(2 pi) / 2 of every cell, and its - log x."""
        return np.asarray(-stats.observed_weight * (0.5 * np.log(2.0 * np.pi) + stats.mean))

    def params(self, stats: Moments, class_weight: Floats) -> LogNormalParams:
        """Mean and variance of log x by the estimate."""
        known, posterior = self.known(stats), self.posterior(stats)
        mean, var = posterior.m, posterior.mean_variance
        if self.estimate == "map":
            var = posterior.mode[1]
        elif self.estimate == "mle":
            seen, pooled = stats.rows > 0, stats.pooled()
            mean = np.where(seen, stats.mean, pooled.mean)
            var = np.where(seen, per_row(stats.squared_error, stats), per_row(pooled.squared_error, pooled))
        predictive = posterior if self.estimate == "predictive" else None
        return LogNormalParams(mean, np.where(known, var, 0.0), known, predictive)

    def form(self, params: LogNormalParams) -> Form:
        """Squares of log x about the class means; of the predictive distribution those of a Student's t."""
        if params.posterior is not None:
            return student(params.posterior, params.known)
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
        return np.asarray(np.exp(params.mean + np.sqrt(params.var) * ndtri(CUTS)[:, None, None]))

    def sample(self, params: LogNormalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Exponentials of normal numbers."""
        return np.maximum(rng.lognormal(params.mean[y], np.sqrt(params.var)[y]), self.support.lowest)

    def sample_parameters(
        self, stats: Moments, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> LogNormalParams:
        """Means and variances of log x from their posterior."""
        return LogNormalParams(*self.draw(stats, n, rng), self.known(stats))

    def describe(self, params: LogNormalParams) -> list[dict[str, Floats]]:
        """Mean and standard deviation of log x."""
        columns = zip(params.mean.T, np.sqrt(params.var).T, strict=True)
        return [{"log mean": mean, "log sd": sd} for mean, sd in columns]

    def centre(self, stats: Moments) -> Floats:
        """The column means of log x: squares about 0 would cancel for columns far from it."""
        return np.asarray(stats.pooled().mean[0])
