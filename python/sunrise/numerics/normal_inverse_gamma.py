"""The conjugate distribution of a mean and a variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from sunrise._common.arrays import Floats
from sunrise.numerics.conjugate import Conjugate, Gamma, _proper, tails_of
from sunrise.numerics.special import log_rising


@dataclass(frozen=True)
class InverseGamma(Conjugate):
    """A variance: 1 / variance ~ Gamma(a, b), elementwise.

    >>> import numpy as np
    >>> InverseGamma(np.array([3.0]), np.array([4.0])).mean
    array([2.])
    """

    a: Floats
    b: Floats

    @property
    def mean(self) -> Floats:
        """The mean variance; infinite where a is at most 1."""
        return np.where(self.a > 1.0, self.b / np.where(self.a > 1.0, self.a - 1.0, 1.0), np.inf)

    @property
    def mode(self) -> Floats:
        """The most probable variance."""
        return np.asarray(self.b / (self.a + 1.0))

    @property
    def var(self) -> Floats:
        """Variance of the variance; infinite where a is at most 2."""
        known = self.a > 2.0
        return np.where(known, self.mean**2 / np.where(known, self.a - 2.0, 1.0), np.inf)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible interval with equal tails."""
        low, high = (self.b / special.gammainccinv(self.a, tail) for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density."""
        return np.asarray(np.exp(self.a * np.log(self.b / x) - self.b / x - special.gammaln(self.a)) / x)

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draws: n x ..."""
        return 1.0 / Gamma(self.a, self.b).sample(n, random_state)


@dataclass(frozen=True)
class NormalInverseGamma(Conjugate):
    """A mean and a variance: variance ~ InverseGamma(a, b), mean | variance ~ Normal(m, variance / kappa).

    >>> import numpy as np
    >>> prior = NormalInverseGamma(*map(np.float64, (0.0, 1.0, 1.0, 1.0)))
    >>> post = prior.updated(np.float64(3.0), np.float64(2.0), np.float64(2.0))
    >>> post.kappa, post.m, post.a, post.b
    (np.float64(4.0), np.float64(1.5), np.float64(2.5), np.float64(3.5))
    """

    m: Floats
    kappa: Floats
    a: Floats
    b: Floats

    def updated(self, n: Floats, mean: Floats, squared_error: Floats) -> NormalInverseGamma:
        """The posterior after n cells of this mean and sum of squares about it."""
        kappa, shift = self.kappa + n, mean - self.m
        share = n / np.where(kappa > 0, kappa, 1.0)
        b = self.b + 0.5 * squared_error + 0.5 * self.kappa * share * shift * shift
        return NormalInverseGamma(self.m + share * shift, kappa, self.a + 0.5 * n, b)

    @property
    def mean_variance(self) -> Floats:
        """Posterior mean of the variance; its mode where the mean is infinite, which is before the first rows."""
        return np.asarray(self.b / np.where(self.a > 1.0, self.a - 1.0, self.a + 1.0))

    @property
    def variance(self) -> InverseGamma:
        """The distribution of the variance."""
        return InverseGamma(self.a, self.b)

    @property
    def mean(self) -> Floats:
        """Mean of the mean."""
        return self.m

    @property
    def mode(self) -> tuple[Floats, Floats]:
        """The most probable mean and variance together."""
        return self.m, np.asarray(self.b / (self.a + 1.5))

    @property
    def _scale(self) -> Floats:
        return np.sqrt(self.b / (self.a * self.kappa))

    @property
    def var(self) -> Floats:
        """Variance of the mean; infinite where a is at most 1."""
        return self.variance.mean / self.kappa

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible interval of the mean, with equal tails: a Student's t of 2a degrees of freedom."""
        low, high = (self.m + self._scale * special.stdtrit(2.0 * self.a, tail) for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density of the mean."""
        z, n = (x - self.m) / self._scale, 2.0 * self.a
        norm = special.gammaln((n + 1.0) / 2.0) - special.gammaln(n / 2.0) - 0.5 * np.log(n * np.pi)
        return np.asarray(np.exp(norm - 0.5 * (n + 1.0) * np.log(1.0 + z * z / n)) / self._scale)

    def log_predictive(self, x: Any) -> Floats:
        """Log density of a new cell: a Student's t of 2a degrees of freedom."""
        spread = 2.0 * self.b * (self.kappa + 1.0) / self.kappa
        norm = log_rising(self.a, np.asarray(0.5)) - 0.5 * np.log(np.pi * spread)
        z = np.abs(x - self.m) / np.sqrt(spread)
        far = np.maximum(z, 1e8)  # from here on 1 is nothing beside the square, which might overflow
        rise = np.where(z < far, np.log1p(np.minimum(z, 1e8) ** 2), 2.0 * np.log(far))
        return np.asarray(norm - (self.a + 0.5) * rise)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Floats]:
        """Draws of the mean and of the variance, n x ... each."""
        rng = np.random.default_rng(random_state)
        variance = self.variance.sample(n, rng)
        return rng.normal(self.m, np.sqrt(variance / self.kappa)), variance

    def log_rise(self, posterior: NormalInverseGamma) -> Floats:
        """Log evidence of what leads from this prior to a posterior, but for its log(2 pi); NaN if improper."""
        kappa, a = _proper(self.kappa, self.a)
        b, _ = _proper(self.b, self.b)
        half, squares = posterior.a - a, posterior.b - b
        shape = log_rising(a, half) - posterior.a * np.log1p(squares / b) - half * np.log(b)
        return np.asarray(shape - 0.5 * np.log1p((posterior.kappa - kappa) / kappa))
