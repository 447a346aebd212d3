"""Sizes: log x | c ~ Normal(mean, variance)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import NormalInverseGamma
from sunrise.family import Complaint, Family
from sunrise.forms import Form, Linear
from sunrise.information import CUTS
from sunrise.look import Look
from sunrise.moments import Moments
from sunrise.priors import NormalPrior, given_normal, no_likelihood, student
from sunrise.stats import per_row
from sunrise.support import POSITIVE, Support
from sunrise.terms import LOG, X2, X


class LogNormalParams(NamedTuple):
    """Mean and variance of log x, of every class and column."""

    mean: Floats
    var: Floats
    #: Columns in which log x has any spread; the others say nothing.
    known: Mask
    #: What is integrated out, where the model is predictive.
    posterior: NormalInverseGamma | None = None


@dataclass(frozen=True)
class LogNormal(NormalPrior, Family):
    """Sizes: log x | c ~ Normal(mean, variance), with the Gaussian's prior on the scale of log x."""

    name = "lognormal"
    terms = (X, X2)
    prior: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", given_normal(self.prior))

    @classmethod
    def may_be(cls, look: Look) -> bool:
        """Numbers above 0."""
        return look.low > 0

    @property
    def support(self) -> Support:
        """Numbers above 0, by their logarithm."""
        return replace(POSITIVE, views=(LOG,))

    def complaint(self, stats: Moments) -> Complaint | None:
        """Refuse cells that are all the same where there is no prior."""
        if self.estimate != "mle":
            return None
        return no_likelihood(self, (stats.rows > 0) & (stats.squared_error == 0))

    def log_measure(self, stats: Moments) -> Floats:
        """log(2 pi) / 2 of every cell, and its - log x."""
        return np.asarray(-stats.seen * (0.5 * np.log(2.0 * np.pi) + stats.mean))

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

    def carrier(self, x: Floats) -> Floats:
        """- log x"""
        return np.asarray(-LOG.of(x))

    def landmarks(self, params: LogNormalParams) -> Floats:
        """Quantiles."""
        return np.asarray(np.exp(params.mean + np.sqrt(params.var) * ndtri(CUTS)[:, None, None]))

    def sample(self, params: LogNormalParams, y: Codes, rng: np.random.Generator) -> Floats:
        """Exponentials of normal numbers."""
        return np.maximum(rng.lognormal(params.mean[y], np.sqrt(params.var)[y]), self.support.lowest)

    def drawn(
        self, stats: Moments, n: int, rng: np.random.Generator, class_weight: Floats
    ) -> LogNormalParams:
        """Means and variances of log x from their posterior."""
        return LogNormalParams(*self.draw(stats, n, rng), self.known(stats))

    def described(self, params: LogNormalParams) -> list[dict[str, Floats]]:
        """Mean and standard deviation of log x."""
        columns = zip(params.mean.T, np.sqrt(params.var).T, strict=True)
        return [{"log mean": mean, "log sd": sd} for mean, sd in columns]

    def centre(self, stats: Moments) -> Floats:
        """The column means of log x: squares about 0 would cancel for columns far from it."""
        return np.asarray(stats.pooled().mean[0])
