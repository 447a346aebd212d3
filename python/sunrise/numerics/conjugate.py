"""Conjugate distributions over parameters, on arrays of any shape.

Logarithms are taken of counts, never of rounded probabilities: log(1 - theta) keeps its digits when theta
is within 1e-12 of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import special

from sunrise._common.arrays import Floats
from sunrise.numerics.special import log, log_rising, times_log


def tails_of(level: float) -> tuple[float, float]:
    """The probabilities between which a credible interval of this level lies."""
    if not (isinstance(level, Real) and 0.0 < float(level) < 1.0):
        raise ValueError(f"level is {level!r}; it must lie between 0 and 1, such as 0.95.")
    return (1.0 - level) / 2.0, (1.0 + level) / 2.0


class Conjugate:
    """What the distributions have in common: numbers of one shape, classes x columns."""

    def each(self, change: Callable[[Floats], Any]) -> Self:
        """Change every number."""
        numbers = (np.asarray(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return type(self)(*(change(a) for a in np.broadcast_arrays(*numbers)))

    def broadcast_to(self, shape: tuple[int, ...]) -> Self:
        """Broadcast every number to a shape."""
        return self.each(lambda a: np.broadcast_to(a, shape))

    def at(self, j: int) -> Self:
        """Those of one column."""
        return self.each(lambda a: a[:, j])

    @property
    def common(self) -> Self:
        """That of all classes as plain numbers where they have the same, else classes x 1, as it can be given."""
        same = all((np.diff(getattr(self, f.name), axis=0) == 0).all() for f in fields(self))  # type: ignore[arg-type]
        return self.each(lambda a: a[0] if same else a[:, None])


def _proper(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Two parameters of a prior; NaN where one of them is not above 0."""
    fine = (np.asarray(a) > 0) & (np.asarray(b) > 0)
    return np.where(fine, a, np.nan), np.where(fine, b, np.nan)


@dataclass(frozen=True)
class Beta(Conjugate):
    """A probability: Beta(a, b), elementwise.

    Where nothing is known (a = b = 0) the mean is 1/2, the limit of ever weaker symmetric priors.

    >>> import numpy as np
    >>> np.exp(Beta(np.array([3.0, 0.0]), np.array([1.0, 0.0])).log_mean).round(2)
    array([0.75, 0.5 ])
    """

    a: Floats
    b: Floats

    def _log_share(self, part: Floats) -> Floats:
        total = self.a + self.b
        nothing = total == 0
        return np.where(
            nothing, -np.log(2.0), log(np.where(nothing, 1.0, part)) - log(np.where(nothing, 1.0, total))
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
        """Most probable value; a parameter below 1 puts it on the boundary, and 1/2 stands for all of them."""
        return self.around_mode.mean

    @property
    def var(self) -> Floats:
        """Variance."""
        total = self.a + self.b
        return np.asarray(self.a * self.b / (total * total * (total + 1.0)))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible interval with equal tails."""
        low, high = (special.betaincinv(self.a, self.b, tail) for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density."""
        log_density = special.xlogy(self.a - 1.0, x) + special.xlog1py(self.b - 1.0, -x)
        return np.asarray(np.exp(log_density - special.betaln(self.a, self.b)))

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draws: n x ..."""
        return np.random.default_rng(random_state).beta(self.a, self.b, (n, *np.shape(self.a)))

    @property
    def around_mode(self) -> Beta:
        """The Beta whose mean is the mode of this one: the end where the density grows most, if it has none inside."""
        a, b = np.maximum(self.a - 1.0, 0.0), np.maximum(self.b - 1.0, 0.0)
        ends = (a == 0) & (b == 0)
        return Beta(np.where(ends, self.a > self.b, a), np.where(ends, self.b > self.a, b))

    def log_prior_density(self, point: Beta, above: float = 0.0) -> Floats:
        """Log of the density at the mean of another, where that is p^(a - above) (1 - p)^(b - above)."""
        return times_log(self.a - above, point.log_mean) + times_log(
            self.b - above, point.log_mean_complement
        )

    def log_rise(self, posterior: Beta) -> Floats:
        """Log evidence of what leads from this prior to a posterior; NaN if improper."""
        ones, zeros = posterior.a - self.a, posterior.b - self.b
        a, b = _proper(self.a, self.b)
        return np.asarray(log_rising(a, ones) + log_rising(b, zeros) - log_rising(a + b, ones + zeros))


@dataclass(frozen=True)
class Dirichlet(Conjugate):
    """Probabilities that sum to 1 over the last axis.

    >>> import numpy as np
    >>> np.exp(Dirichlet(np.array([1.0, 3.0])).log_mean).round(2)
    array([0.25, 0.75])
    """

    concentration: Floats

    @property
    def log_mean(self) -> Floats:
        """Log of the mean probabilities; equal ones where nothing is known."""
        total = self.concentration.sum(axis=-1, keepdims=True)
        known = np.where(total > 0, self.concentration, 1.0)
        return log(known) - log(np.where(total > 0, total, float(self.concentration.shape[-1])))

    @property
    def mean(self) -> Floats:
        """Mean probabilities."""
        return np.exp(self.log_mean)

    @property
    def mode(self) -> Floats:
        """Most probable values; a parameter below 1 puts its own on the boundary, 0."""
        return self.around_mode.mean

    @property
    def around_mode(self) -> Dirichlet:
        """The Dirichlet whose mean is the mode of this one: at the corner where the density grows most, if on none."""
        a = np.maximum(self.concentration - 1.0, 0.0)
        corner = self.concentration == self.concentration.max(axis=-1, keepdims=True, initial=0.0)
        return Dirichlet(np.where(a.sum(axis=-1, keepdims=True) > 0, a, corner))

    def log_prior_density(self, point: Dirichlet, above: float = 0.0) -> Floats:
        """Log of the density at the mean of another, where that is the product of p_k^(a_k - above)."""
        return times_log(self.concentration - above, point.log_mean)

    def log_rise(self, posterior: Dirichlet) -> Floats:
        """Log evidence of what leads from this prior to a posterior; NaN if improper."""
        counts, (a, _) = (
            posterior.concentration - self.concentration,
            _proper(self.concentration, self.concentration),
        )
        total = log_rising(a.sum(axis=-1), counts.sum(axis=-1))
        return np.asarray(log_rising(a, counts).sum(axis=-1) - total)

    def marginal(self, k: int) -> Beta:
        """The distribution of one of the probabilities."""
        own = self.concentration[..., k]
        return Beta(own, self.concentration.sum(axis=-1) - own)

    @property
    def _marginals(self) -> Beta:
        return Beta(self.concentration, self.concentration.sum(axis=-1, keepdims=True) - self.concentration)

    @property
    def var(self) -> Floats:
        """Variances."""
        return self._marginals.var

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible interval of each probability, with equal tails."""
        return self._marginals.interval(level)

    def pdf(self, x: Any) -> Floats:
        """Density of probabilities that sum to 1 over the last axis."""
        a = self.concentration
        norm = special.gammaln(a).sum(axis=-1) - special.gammaln(a.sum(axis=-1))
        return np.asarray(np.exp(special.xlogy(a - 1.0, x).sum(axis=-1) - norm))

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draws: n x ..., each summing to 1 over the last axis."""
        draws = np.random.default_rng(random_state).gamma(
            self.concentration, size=(n, *self.concentration.shape)
        )
        return np.asarray(draws / draws.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class Gamma(Conjugate):
    """A rate: Gamma(shape, rate), elementwise.

    Where nothing is known (shape = rate = 0) the mean is 0.

    >>> import numpy as np
    >>> Gamma(np.array([3.0]), np.array([2.0])).mean
    array([1.5])
    """

    shape: Floats
    rate: Floats

    @property
    def mean(self) -> Floats:
        """The mean rate."""
        known = self.rate > 0
        return np.asarray(self.shape / np.where(known, self.rate, 1.0) * known)

    @property
    def mode(self) -> Floats:
        """The most probable rate."""
        return np.asarray(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    @property
    def var(self) -> Floats:
        """Variance."""
        return np.asarray(self.shape / (self.rate * self.rate))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible interval with equal tails."""
        low, high = (special.gammaincinv(self.shape, tail) / self.rate for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density."""
        scaled = self.rate * x
        return np.asarray(
            np.exp(special.xlogy(self.shape - 1.0, scaled) - scaled - special.gammaln(self.shape)) * self.rate
        )

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draws: n x ..."""
        shape = np.broadcast_shapes(np.shape(self.shape), np.shape(self.rate))
        return np.random.default_rng(random_state).gamma(self.shape, 1.0 / self.rate, (n, *shape))

    @property
    def around_mode(self) -> Gamma:
        """The Gamma whose mean is the mode of this one."""
        return Gamma(np.maximum(self.shape - 1.0, 0.0), self.rate)

    def log_prior_density(self, point: Gamma, above: float = 0.0) -> Floats:
        """Log of the density at the mean of another, where that is r^(shape - above) exp(-rate r)."""
        return times_log(self.shape - above, log(point.mean)) - self.rate * point.mean

    def log_rise(self, posterior: Gamma) -> Floats:
        """Log evidence of what leads from this prior to a posterior; NaN if improper."""
        shape, rate = _proper(self.shape, self.rate)
        more, rows = posterior.shape - shape, posterior.rate - rate
        return np.asarray(
            log_rising(shape, more) - posterior.shape * np.log1p(rows / rate) - more * np.log(rate)
        )
