"""Default priors, in the units of the column they are for."""

from __future__ import annotations

import numpy as np

from sunrise.arrays import Mask
from sunrise.conjugate import NormalInverseGamma
from sunrise.moments import Moments
from sunrise.stats import per_row


def normal_prior(stats: Moments) -> tuple[NormalInverseGamma, Mask]:
    """The prior of a column's class means and variances, and which columns vary at all.

    It is centred on the column: m0 is its mean, s2 its variance within the classes (its whole variance S2 where
    that is 0), kappa0 = s2 / S2, a0 = 3/2 and b0 = s2 / 2. The posterior mean of a class variance is then about
    (SSE + s2) / (n + 1). All of it is derived from sums, so models merge exactly, and the units of the column
    cancel.
    """
    pooled = stats.pooled()
    overall = per_row(pooled.squared_error, pooled)
    varies = overall > 0
    within = per_row(stats.squared_error.sum(axis=0, keepdims=True), pooled)
    within = np.where(within > 0, within, overall)
    kappa = within / np.where(varies, overall, 1.0)
    return NormalInverseGamma(pooled.mean, kappa, np.full_like(kappa, 1.5), 0.5 * within), varies[0]


def normal_posterior(stats: Moments) -> tuple[NormalInverseGamma, Mask]:
    """The posterior of class means and variances under the default prior, and which columns vary at all."""
    prior, varies = normal_prior(stats)
    return prior.updated(stats.seen, stats.mean, stats.squared_error), varies
