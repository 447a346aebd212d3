"""Conjugate distributions of a variance, and of a mean and a variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.lazy import special
from sunrise._common.stored import stored
from sunrise.numerics.conjugate import Conjugate, Gamma, nan_if_improper, tails_of
from sunrise.numerics.special import log_rising


@stored("inverse gamma prior")
@dataclass(frozen=True)
class InverseGamma(Conjugate):
    """Distribution of a variance: 1 / variance ~ Gamma(a, b), elementwise.

    >>> import numpy as np
    >>> InverseGamma(np.array([3.0]), np.array([4.0])).mean
    array([2.])
    """

    a: Floats
    b: Floats

    @property
    def mean(self) -> Floats:
        """Mean of the variance; infinite for a <= 1."""
        return np.where(self.a > 1.0, self.b / np.where(self.a > 1.0, self.a - 1.0, 1.0), np.inf)

    @property
    def mode(self) -> Floats:
        """Most probable variance."""
        return np.asarray(self.b / (self.a + 1.0))

    @property
    def var(self) -> Floats:
        """Variance of the variance; infinite for a <= 2."""
        finite = self.a > 2.0
        return np.where(finite, self.mean**2 / np.where(finite, self.a - 2.0, 1.0), np.inf)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Equal-tailed credible interval."""
        low, high = (self.b / special.gammainccinv(self.a, tail) for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Density."""
        return np.asarray(np.exp(self.a * np.log(self.b / x) - self.b / x - special.gammaln(self.a)) / x)

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw n samples: n x the shape of the parameters."""
        return 1.0 / Gamma(self.a, self.b).sample(n, random_state)


@stored("normal inverse gamma prior")
@dataclass(frozen=True)
class NormalInverseGamma(Conjugate):
    """Joint distribution: variance ~ InverseGamma(a, b), mean | variance ~ Normal(m, variance / kappa).

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
        """Posterior after n cells with this mean and sum of squares about the mean."""
        kappa, shift = self.kappa + n, mean - self.m
        share = n / np.where(kappa > 0, kappa, 1.0)
        b = self.b + 0.5 * squared_error + 0.5 * self.kappa * share * shift * shift
        return NormalInverseGamma(self.m + share * shift, kappa, self.a + 0.5 * n, b)

    @property
    def mean_variance(self) -> Floats:
        """Mean of the variance; its mode where the mean is infinite (a <= 1, as before the first rows)."""
        return np.asarray(self.b / np.where(self.a > 1.0, self.a - 1.0, self.a + 1.0))

    @property
    def variance(self) -> InverseGamma:
        """Marginal distribution of the variance."""
        return InverseGamma(self.a, self.b)

    @property
    def mean(self) -> Floats:
        """Mean of the mean."""
        return self.m

    @property
    def mode(self) -> tuple[Floats, Floats]:
        """Joint mode: the most probable pair of mean and variance."""
        return self.m, np.asarray(self.b / (self.a + 1.5))

    @property
    def _scale(self) -> Floats:
        return np.sqrt(self.b / (self.a * self.kappa))

    @property
    def var(self) -> Floats:
        """Variance of the mean; infinite for a <= 1."""
        return self.variance.mean / self.kappa

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Equal-tailed credible interval of the mean, from Student's t with 2a degrees of freedom."""
        low, high = (self.m + self._scale * special.stdtrit(2.0 * self.a, tail) for tail in tails_of(level))
        return low, high

    def pdf(self, x: Any) -> Floats:
        """Marginal density of the mean, a Student's t with 2a degrees of freedom."""
        z, n = (x - self.m) / self._scale, 2.0 * self.a
        norm = special.gammaln((n + 1.0) / 2.0) - special.gammaln(n / 2.0) - 0.5 * np.log(n * np.pi)
        return np.asarray(np.exp(norm - 0.5 * (n + 1.0) * np.log(1.0 + z * z / n)) / self._scale)

    @property
    def predictive_width(self) -> Floats:
        """The distance from the mean at which the predictive density is 2^-(a + 1/2) of its maximum."""
        return np.sqrt(2.0 * self.b * (self.kappa + 1.0) / self.kappa)

    def log_predictive(self, x: Any) -> Floats:
        """Log predictive density of a new cell: Student's t with 2a degrees of freedom."""
        width = self.predictive_width
        norm = log_rising(self.a, np.asarray(0.5)) - 0.5 * np.log(np.pi) - np.log(width)
        z = np.abs(x - self.m) / width
        far = np.maximum(z, 1e8)  # from here on 1 + z^2 rounds to z^2, and z^2 might overflow
        log_one_plus = np.where(z < far, np.log1p(np.minimum(z, 1e8) ** 2), 2.0 * np.log(far))
        return np.asarray(norm - (self.a + 0.5) * log_one_plus)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Floats]:
        """Draw n samples of the mean and of the variance, each n x the shape of the parameters."""
        rng = np.random.default_rng(random_state)
        variance = self.variance.sample(n, rng)
        return rng.normal(self.m, np.sqrt(variance / self.kappa)), variance

    def log_evidence(self, posterior: NormalInverseGamma) -> Floats:
        """Log evidence of the data that turn this prior into `posterior`, without -n/2 log(2 pi); NaN if improper."""
        kappa, a = nan_if_improper(self.kappa, self.a)
        b, _ = nan_if_improper(self.b, self.b)
        half, squares = posterior.a - a, posterior.b - b
        shape = log_rising(a, half) - posterior.a * np.log1p(squares / b) - half * np.log(b)
        return np.asarray(shape - 0.5 * np.log1p((posterior.kappa - kappa) / kappa))
