"""Draws of kernel densities from their posterior, for credible intervals.

A class density is sum_i p_i kernel(x - x_i) + p_0 pooled(x) over the training values x_i of the class. Its point
estimate has p_i proportional to the weight w_i of the value and p_0 to 1, one pseudo-row. The posterior of the shares
is (p_1, ..., p_n, p_0) ~ Dirichlet(w_1, ..., w_n, 1): the Bayesian bootstrap, or the Dirichlet process whose base
density is the pooled one. The mean of the draws is the point estimate. Bandwidths and the pooled density stay fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.forms.kernel_density import Density
from sunrise.numerics.special import log

#: With more distinct values than this, values closer than a tenth of a bandwidth share one draw, which is exact but for
#: their distance.
MOST_VALUES = 1000
#: Maximum number of kernel values in memory.
_MOST_KERNELS = 1 << 22


@dataclass(frozen=True, eq=False)
class DrawnDensities:
    """Shares of the values of every class and column, drawn n times, under one density."""

    density: Density
    n: int
    #: For every column a list with (values, shares of the values: n x values, pooled share: n) of every class.
    columns: list[list[tuple[Floats, Floats, Floats]]]

    @classmethod
    def draw(cls, density: Density, n: int, rng: np.random.Generator) -> DrawnDensities:
        """Draw the shares n times."""
        values, width, prior = density.sums.values, density.sums.width, density.prior
        columns = []
        for j in range(len(prior)):
            classes = []
            for c in range(prior.shape[1]):
                run = values.run(c, j)
                x, weight = _grouped(run.x, run.observed_weight, float(width[c, j]))
                own = rng.standard_gamma(np.broadcast_to(weight, (n, len(x))))
                pooled = rng.standard_gamma(np.full(n, prior[j, c]))
                total = own.sum(axis=1) + pooled
                classes.append((x, own / total[:, None], pooled / total))
            columns.append(classes)
        return cls(density, n, columns)

    def cells(self, x: Floats) -> Floats:
        """Return log densities, rows x (draws x classes) x columns; the form of all draws as classes of one model."""
        n_classes = self.density.prior.shape[1]
        scores = np.zeros((len(x), self.n, n_classes, x.shape[1]))
        for j in np.flatnonzero(self.density.known).tolist():
            observed = np.flatnonzero(~np.isnan(x[:, j]))
            u = self.density.sums.bounds.to_scale(x[observed, j])
            pooled = self.density.common(np.full(len(u), j), u)[:, None]
            for c, (values, own, prior) in enumerate(self.columns[j]):
                sums = self._log_sums(values, own, float(self.density.sums.width[c, j]), u)
                scores[observed, :, c, j] = np.logaddexp(sums, pooled + log(prior))
        return scores.reshape(len(x), self.n * n_classes, x.shape[1])

    def _log_sums(self, values: Floats, shares: Floats, width: float, u: Floats) -> Floats:
        """Log of the sums of kernels at places u, rows x draws."""
        sums = np.full((len(u), self.n), -np.inf)
        if len(values) == 0:
            return sums
        images = self.density.sums.bounds.images(width)
        step = max(1, _MOST_KERNELS // (len(values) * len(images)))
        for start in range(0, len(u), step):
            piece = slice(start, start + step)
            z = np.stack([(sign * u[piece, None] + shift - values) / width for sign, shift in images])
            logs = -0.5 * np.minimum(z * z, 1e300)
            highest = logs.max(axis=(0, 2))
            kernels = np.exp(logs - highest[:, None]).sum(axis=0)
            sums[piece] = log(kernels @ shares.T) + highest[:, None]
        return np.asarray(sums - np.log(width) - 0.5 * np.log(2.0 * np.pi))


def _grouped(x: Floats, weight: Floats, width: float) -> tuple[Floats, Floats]:
    """Return values and weights; of many values those closer than a tenth of a bandwidth become their weighted mean."""
    if len(x) <= MOST_VALUES:
        return x, weight
    group = np.unique(np.floor(x * (10.0 / width)), return_inverse=True)[1]
    total = np.bincount(group, weight)
    return np.asarray(np.bincount(group, weight * x) / total), np.asarray(total, dtype=float)
