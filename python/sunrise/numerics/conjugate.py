"""Conjugate prior and posterior distributions of parameters, on arrays of any shape.

Log probabilities are computed from counts, never from rounded probabilities: log(1 - theta) keeps full precision when
theta is within 1e-12 of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Self

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.lazy import special
from sunrise._common.stored import stored
from sunrise.numerics.special import log, log_rising, times_log


def tails_of(level: float) -> tuple[float, float]:
    """Cumulative probabilities at the two ends of an equal-tailed credible interval."""
    if not (isinstance(level, Real) and 0.0 < float(level) < 1.0):
        raise ValueError(f"level is {level!r}; it must lie between 0 and 1, for example 0.95.")
    return (1.0 - level) / 2.0, (1.0 + level) / 2.0


class Conjugate:
    """Base of the distributions: parameter arrays of one shape, classes x columns."""

    def each(self, change: Callable[[Floats], Any]) -> Self:
        """Apply a function to every parameter array."""
        parameters = (np.asarray(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return type(self)(*(change(a) for a in np.broadcast_arrays(*parameters)))

    def broadcast_to(self, shape: tuple[int, ...]) -> Self:
        """Broadcast every number to a shape."""
        return self.each(lambda a: np.broadcast_to(a, shape))

    def at(self, j: int) -> Self:
        """Distributions of column j, one per class."""
        return self.each(lambda a: a[:, j])

    @property
    def common(self) -> Self:
        """Parameters in the shape of a prior setting: plain numbers if all classes agree, else classes x 1."""
        same = all((np.diff(getattr(self, f.name), axis=0) == 0).all() for f in fields(self))  # type: ignore[arg-type]
        return self.each(lambda a: a[0] if same else a[:, None])


def nan_if_improper(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The two parameters of a prior, NaN where the prior is improper (a parameter is not positive)."""
    proper = (np.asarray(a) > 0) & (np.asarray(b) > 0)
    return np.where(proper, a, np.nan), np.where(proper, b, np.nan)


@stored("beta prior")
@dataclass(frozen=True)
class Beta(Conjugate):
    """Distribution of a probability: Beta(a, b), elementwise.

    For a = b = 0 the mean is 1/2, the limit of symmetric priors as they become weaker.

    >>> import numpy as np
    >>> np.exp(Beta(np.array([3.0, 0.0]), np.array([1.0, 0.0])).log_mean).round(2)
    array([0.75, 0.5 ])
    """

    a: Floats
    b: Floats

    def _log_share(self, part: Floats) -> Floats:
        total = self.a + self.b
        empty = total == 0
        return np.where(
            empty, -np.log(2.0), log(np.where(empty, 1.0, part)) - log(np.where(empty, 1.0, total))
        )

    @property
    def log_mean(self) -> Floats:
        """Log of the mean probability."""
        return self._log_share(self.a)

    @property
    def log_mean_complement(self) -> Floats:
        """Log of the mean of 1 - probability."""
        return self._log_share(self.b)

    @property
    def mean(self) -> Floats:
        """Mean probability."""
        return np.exp(self.log_mean)

    @property
    def mode(self) -> Floats:
        """Most probable value: 0 or 1 if a <= 1 or b <= 1, except 1/2 if a = b <= 1."""
        return self.with_mean_at_mode.mean

    @property
    def var(self) -> Floats:
        """Variance."""
        total = self.a + self.b
        return np.asarray(self.a * self.b / (total * total * (total + 1.0)))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Equal-tailed credible interval."""
        low, high = (special.betaincinv(self.a, self.b, tail) for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density."""
        log_density = special.xlogy(self.a - 1.0, x) + special.xlog1py(self.b - 1.0, -x)
        return np.asarray(np.exp(log_density - special.betaln(self.a, self.b)))

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw n samples: n x the shape of the parameters."""
        return np.random.default_rng(random_state).beta(self.a, self.b, (n, *np.shape(self.a)))

    @property
    def with_mean_at_mode(self) -> Beta:
        """The Beta whose mean is the mode of this one; without an interior mode, the end with the higher density."""
        a, b = np.maximum(self.a - 1.0, 0.0), np.maximum(self.b - 1.0, 0.0)
        ends = (a == 0) & (b == 0)
        return Beta(np.where(ends, self.a > self.b, a), np.where(ends, self.b > self.a, b))

    def log_prior_density(self, point: Beta, offset: float = 0.0) -> Floats:
        """Log of p^(a - offset) (1 - p)^(b - offset) at the mean p of `point`.

        For offset = 1 this is the log density up to a constant.
        """
        return times_log(self.a - offset, point.log_mean) + times_log(
            self.b - offset, point.log_mean_complement
        )

    def log_evidence(self, posterior: Beta) -> Floats:
        """Log evidence of the data that turn this prior into `posterior`; NaN if the prior is improper."""
        ones, zeros = posterior.a - self.a, posterior.b - self.b
        a, b = nan_if_improper(self.a, self.b)
        return np.asarray(log_rising(a, ones) + log_rising(b, zeros) - log_rising(a + b, ones + zeros))


@stored("dirichlet prior")
@dataclass(frozen=True)
class Dirichlet(Conjugate):
    """Distribution of probabilities that sum to 1 over the last axis.

    >>> import numpy as np
    >>> np.exp(Dirichlet(np.array([1.0, 3.0])).log_mean).round(2)
    array([0.25, 0.75])
    """

    concentration: Floats

    @property
    def log_mean(self) -> Floats:
        """Log of the mean probabilities; uniform where all concentrations are 0."""
        total = self.concentration.sum(axis=-1, keepdims=True)
        if (total > 0).all():  # the usual case, without copies
            logs = log(self.concentration)
            logs -= log(total)
            return logs
        known = np.where(total > 0, self.concentration, 1.0)
        return log(known) - log(np.where(total > 0, total, float(self.concentration.shape[-1])))

    @property
    def mean(self) -> Floats:
        """Mean probabilities."""
        return np.exp(self.log_mean)

    @property
    def mode(self) -> Floats:
        """Most probable values; a concentration of at most 1 gives probability 0."""
        return self.with_mean_at_mode.mean

    @property
    def with_mean_at_mode(self) -> Dirichlet:
        """The Dirichlet whose mean is the mode of this one; the corner of the largest parameter if none exceeds 1."""
        a = np.maximum(self.concentration - 1.0, 0.0)
        corner = self.concentration == self.concentration.max(axis=-1, keepdims=True, initial=0.0)
        return Dirichlet(np.where(a.sum(axis=-1, keepdims=True) > 0, a, corner))

    def log_prior_density(self, point: Dirichlet, offset: float = 0.0) -> Floats:
        """Log of p_k^(a_k - offset) for every k, at the mean p of `point`.

        For offset = 1 their sum is the log density up to a constant.
        """
        return times_log(self.concentration - offset, point.log_mean)

    def log_evidence(self, posterior: Dirichlet) -> Floats:
        """Log evidence of the data that turn this prior into `posterior`; NaN if the prior is improper."""
        counts, (a, _) = (
            posterior.concentration - self.concentration,
            nan_if_improper(self.concentration, self.concentration),
        )
        total = log_rising(a.sum(axis=-1), counts.sum(axis=-1))
        return np.asarray(log_rising(a, counts).sum(axis=-1) - total)

    def marginal(self, k: int) -> Beta:
        """Marginal distribution of probability k."""
        own = self.concentration[..., k]
        return Beta(own, self.concentration.sum(axis=-1) - own)

    @property
    def _marginals(self) -> Beta:
        return Beta(self.concentration, self.concentration.sum(axis=-1, keepdims=True) - self.concentration)

    @property
    def var(self) -> Floats:
        """Variance of each probability."""
        return self._marginals.var

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Equal-tailed credible interval of each probability."""
        return self._marginals.interval(level)

    def pdf(self, x: Any) -> Floats:
        """Density at probabilities that sum to 1 over the last axis."""
        a = self.concentration
        norm = special.gammaln(a).sum(axis=-1) - special.gammaln(a.sum(axis=-1))
        return np.asarray(np.exp(special.xlogy(a - 1.0, x).sum(axis=-1) - norm))

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw n samples: n x the shape of the parameters, each summing to 1 over the last axis."""
        draws = np.random.default_rng(random_state).gamma(
            self.concentration, size=(n, *self.concentration.shape)
        )
        return np.asarray(draws / draws.sum(axis=-1, keepdims=True))


@stored("gamma prior")
@dataclass(frozen=True)
class Gamma(Conjugate):
    """Distribution of a rate: Gamma(shape, rate), elementwise.

    For shape = rate = 0 the mean is 0.

    >>> import numpy as np
    >>> Gamma(np.array([3.0]), np.array([2.0])).mean
    array([1.5])
    """

    shape: Floats
    rate: Floats

    @property
    def mean(self) -> Floats:
        """Mean rate."""
        positive = self.rate > 0
        return np.asarray(self.shape / np.where(positive, self.rate, 1.0) * positive)

    @property
    def mode(self) -> Floats:
        """Most probable rate."""
        return np.asarray(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    @property
    def var(self) -> Floats:
        """Variance."""
        return np.asarray(self.shape / (self.rate * self.rate))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Equal-tailed credible interval."""
        low, high = (special.gammaincinv(self.shape, tail) / self.rate for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density."""
        scaled = self.rate * x
        return np.asarray(
            np.exp(special.xlogy(self.shape - 1.0, scaled) - scaled - special.gammaln(self.shape)) * self.rate
        )

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw n samples: n x the shape of the parameters."""
        shape = np.broadcast_shapes(np.shape(self.shape), np.shape(self.rate))
        return np.random.default_rng(random_state).gamma(self.shape, 1.0 / self.rate, (n, *shape))

    @property
    def with_mean_at_mode(self) -> Gamma:
        """The Gamma whose mean is the mode of this one."""
        return Gamma(np.maximum(self.shape - 1.0, 0.0), self.rate)

    def log_prior_density(self, point: Gamma, offset: float = 0.0) -> Floats:
        """Log of r^(shape - offset) exp(-rate r) at the mean r of `point`.

        For offset = 1 this is the log density up to a constant.
        """
        return times_log(self.shape - offset, log(point.mean)) - self.rate * point.mean

    def log_evidence(self, posterior: Gamma) -> Floats:
        """Log evidence of the data that turn this prior into `posterior`; NaN if the prior is improper."""
        shape, rate = nan_if_improper(self.shape, self.rate)
        shape_gain, rate_gain = posterior.shape - shape, posterior.rate - rate
        return np.asarray(
            log_rising(shape, shape_gain)
            - posterior.shape * np.log1p(rate_gain / rate)
            - shape_gain * np.log(rate)
        )
