"""Conjugate distributions over parameters, on arrays of any shape.

Logarithms are taken of counts, never of rounded probabilities: log(1 - theta) keeps its digits when theta
is within 1e-12 of 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunrise.arrays import Floats


def log(x: Floats) -> Floats:
    """Natural logarithm with log 0 = -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


@dataclass(frozen=True)
class Beta:
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


@dataclass(frozen=True)
class Dirichlet:
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


@dataclass(frozen=True)
class Gamma:
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


@dataclass(frozen=True)
class NormalInverseGamma:
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
        """Posterior mean of the variance."""
        return np.asarray(self.b / (self.a - 1.0))
