"""The quadratic penalty of column weights, without a matrix, which would have the square of the number of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunrise._common.arrays import Floats


@dataclass(frozen=True)
class QuadraticPenalty:
    """The quadratic penalty of the parameters v: sum own v^2 / 2, plus slope s + common s^2 / 2 with s = sum of v.

    `own` has a number for each parameter; s is the sum of the first `n_columns` parameters, the weights of the columns.

    >>> penalty = QuadraticPenalty(np.array([2.0, 2.0]), n_columns=1, common=0.0, slope=-2.0)
    >>> penalty.at(np.array([1.0, 0.5]))
    (-0.75, array([0., 1.]))
    """

    own: Floats
    n_columns: int
    common: float
    slope: float

    def at(self, v: Floats) -> tuple[float, Floats]:
        """Return the penalty of v and its gradient."""
        total, gradient = float(v[: self.n_columns].sum()), self.own * v
        value = 0.5 * float(v @ gradient) + total * (self.slope + 0.5 * self.common * total)
        gradient[: self.n_columns] += self.slope + self.common * total
        return value, gradient

    @property
    def hessian(self) -> Floats:
        """The matrix of second derivatives."""
        hessian = np.diag(self.own)
        hessian[: self.n_columns, : self.n_columns] += self.common
        return hessian
