"""Sizes: log x | c ~ Normal(mean, variance)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sunrise.arrays import Codes, Floats, Mask
from sunrise.conjugate import NormalInverseGamma
from sunrise.family import Family
from sunrise.forms import Linear
from sunrise.information import CUTS
from sunrise.moments import Moments
from sunrise.priors import given_normal, normal_posterior, normal_prior
from sunrise.support import POSITIVE, Support
from sunrise.terms import LOG, X2, X


class LogNormalParams(NamedTuple):
    """Mean and variance of log x, of every class and column."""

    mean: Floats
    var: Floats
    #: Columns in which log x has any spread; the others say nothing.
    known: Mask


@dataclass(frozen=True)
class LogNormal(Family):
    """Sizes: log x | c ~ Normal(mean, variance), with the Gaussian's prior on the scale of log x."""

    name = "lognormal"
    terms = (X, X2)
    prior: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", given_normal(self.prior))

    @property
    def support(self) -> Support:
        """Numbers above 0, by their logarithm."""
        return replace(POSITIVE, views=(LOG,))

    def posterior(self, stats: Moments) -> NormalInverseGamma:
        """Normal-inverse-gamma of the mean and variance of log x."""
        return normal_posterior(stats, self.prior)[0]

    def prior_of(self, stats: Moments, j: int) -> NormalInverseGamma:
        """The prior of a column."""
        return normal_prior(stats, self.prior)[0].first(j)

    def params(self, stats: Moments, class_weight: Floats) -> LogNormalParams:
        """Posterior means of the mean and of the variance."""
        posterior, known = normal_posterior(stats, self.prior)
        return LogNormalParams(posterior.m, np.where(known, posterior.mean_variance, 0.0), known)

    def form(self, params: LogNormalParams) -> Linear:
        """Squares of log x about the class means."""
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

    def described(self, params: LogNormalParams) -> list[dict[str, Floats]]:
        """Mean and standard deviation of log x."""
        columns = zip(params.mean.T, np.sqrt(params.var).T, strict=True)
        return [{"log mean": mean, "log sd": sd} for mean, sd in columns]

    def centre(self, stats: Moments) -> Floats:
        """The column means of log x: squares about 0 would cancel for columns far from it."""
        return np.asarray(stats.pooled().mean[0])
