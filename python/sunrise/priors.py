"""Default priors, in the units of the column they are for."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from sunrise.arrays import Floats, Mask
from sunrise.conjugate import NormalInverseGamma
from sunrise.moments import Moments
from sunrise.stats import Sums, per_row


def given_normal(prior: Any) -> NormalInverseGamma | None:
    """A prior of means and variances as it was given: four numbers m0, kappa0, a0 and b0, or arrays of one a column."""
    if prior is None:
        return None
    parts = (
        (prior.m, prior.kappa, prior.a, prior.b) if isinstance(prior, NormalInverseGamma) else tuple(prior)
    )
    if len(parts) != 4:
        raise ValueError(f"the prior of a mean and a variance is m0, kappa0, a0 and b0, not {prior!r}.")
    m, kappa, a, b = (np.asarray(part, dtype=float) for part in parts)
    if not (
        np.isfinite(m).all() and all((p > 0).all() and np.isfinite(p).all() for p in (kappa, a - 1.0, b))
    ):
        raise ValueError(
            "the prior must be proper, and its variance have a mean: m0 finite, kappa0 and b0 above 0, a0 above 1; "
            f"they are {m}, {kappa}, {b} and {a}."
        )
    return NormalInverseGamma(m, kappa, a, b)


def normal_prior(stats: Moments, given: NormalInverseGamma | None = None) -> tuple[NormalInverseGamma, Mask]:
    """The prior of a column's class means and variances, and which columns say anything.

    Unless given, it is centred on the column: m0 is its mean, s2 its variance within the classes (its whole
    variance S2 where that is 0), kappa0 = s2 / S2, a0 = 3/2 and b0 = s2 / 2. The posterior mean of a class variance
    is then about (SSE + s2) / (n + 1). All of it is derived from sums, so models merge exactly, and the units of the
    column cancel.
    """
    pooled = stats.pooled()
    if given is not None:
        parts = (given.m, given.kappa, given.a, given.b)
        return NormalInverseGamma(*(part + np.zeros_like(pooled.x) for part in parts)), pooled.rows[0] > 0
    overall = per_row(pooled.squared_error, pooled)
    varies = overall > 0
    within = per_row(stats.squared_error.sum(axis=0, keepdims=True), pooled)
    within = np.where(within > 0, within, overall)
    kappa = within / np.where(varies, overall, 1.0)
    return NormalInverseGamma(pooled.mean, kappa, np.full_like(kappa, 1.5), 0.5 * within), varies[0]


def normal_posterior(
    stats: Moments, given: NormalInverseGamma | None = None
) -> tuple[NormalInverseGamma, Mask]:
    """The posterior of class means and variances, and which columns say anything."""
    prior, varies = normal_prior(stats, given)
    return prior.updated(stats.seen, stats.mean, stats.squared_error), varies


def with_pooled_row(stats: Sums) -> Sums:
    """Add one row of the pooled means to every class: the prior of the families that have no conjugate one."""
    return Sums(stats.rows + 1, stats.seen + 1.0, stats.x + stats.pooled().mean, stats.error)


def rounding(pooled: Sums) -> Floats:
    """What adding up may have done to a mean, relative to its terms; 1 x views."""
    return np.broadcast_to(2.0**-52 * (64.0 + pooled.rows), pooled.x.shape)


def forgotten(pooled: Sums) -> Floats:
    """What forgetting rows may have done to a mean; 1 x views."""
    return per_row(np.zeros_like(pooled.x) if pooled.error is None else pooled.error, pooled)


def with_spread(gap: Floats, pooled: Floats, weight: Floats, blur: Floats) -> tuple[Floats, Mask]:
    """Jensen's gap of every class as it is without rounding, and which columns have one.

    A gap is a concave function of the mean terms that is 0 for any one cell, so 0 to within `blur` where all are
    the same. With a row of the pooled terms among its `weight`, a class has at least that row's share of one.
    """
    spread = pooled > blur
    return np.where(spread, np.maximum(gap, pooled / weight), blur), spread[0]


#: Sums below this are taken for it, so that rates stay in the range of floats.
LEAST = 1e-290


def too_large(sums: Floats, why: str = "too large to be added", n_views: int = 1) -> tuple[int, str] | None:
    """Complain of the first column whose sum leaves the range of floats."""
    fine = np.isfinite(sums).all(axis=0)
    if fine.all():
        return None
    return int(np.argmin(fine)) // n_views, f"holds numbers {why}. Rescale it: divide it by a power of ten."


def check_priors(family: Any, **priors: Any) -> None:
    """Refuse priors that are no numbers from 0."""
    for name, value in priors.items():
        if value is not None and not (isinstance(value, Real) and 0.0 <= float(value) < np.inf):
            raise ValueError(
                f"{name} of {type(family).__name__} is {value!r}; it must be a number, 0 or more."
            )
