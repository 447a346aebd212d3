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
