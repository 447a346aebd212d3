"""Evidence (marginal likelihood) of the data under a prior, and the prior strength that maximises it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.lazy import special
from sunrise._common.stored import stored
from sunrise.numerics.special import log_rising

#: Search range of a prior strength; a maximum at an end stands for one at 0 or at infinity.
MIN_STRENGTH, MAX_STRENGTH = 1e-8, 1e8


@stored("chosen")
class Chosen(NamedTuple):
    """Prior strength of maximum evidence; `at_boundary` if the evidence still grows towards 0 or infinity."""

    value: float
    at_boundary: bool


class Evidence(float):
    """Log evidence of a model: a float, the sum of `classes` (evidence of the labels) and `columns` (of the cells).

    `columns` maps a column name to an array with one number per class. Columns that share one joint distribution have
    one entry, under the tuple of their names.
    """

    classes: float
    columns: dict[str | tuple[str, ...], Floats]

    def __new__(cls, classes: float, columns: dict[str | tuple[str, ...], Floats]) -> Evidence:
        """Sum the parts."""
        new = super().__new__(cls, classes + sum(float(part.sum()) for part in columns.values()))
        new.classes, new.columns = classes, columns
        return new


def strongest(log_evidence: Callable[[float], float]) -> Chosen:
    """Prior strength of maximum evidence: the best power of ten, refined by a bounded search around it."""
    from scipy.optimize import minimize_scalar  # importing it takes as long as importing all of this package

    powers = np.arange(np.log10(MIN_STRENGTH), np.log10(MAX_STRENGTH) + 1.0)
    values = np.array([log_evidence(10.0**power) for power in powers])
    best = int(np.argmax(values))
    value, power = values[best], powers[best]
    if 0 < best < len(powers) - 1:
        optimum = minimize_scalar(
            lambda power: -log_evidence(10.0**power),
            bounds=(powers[best - 1], powers[best + 1]),
            method="bounded",
            options={"xatol": 1e-9},
        )
        value, power = -optimum.fun, optimum.x
    return choose_strength(float(10.0**power), float(value), float(values[0]), float(values[-1]))


def choose_strength(strength: float, value: float, at_min: float, at_max: float) -> Chosen:
    """The strength, or an end of the range if its evidence is as large; 1 if both ends are as good.

    `value`, `at_min` and `at_max` are the evidence at the strength and at the ends of the range.
    """
    slack = 1e-9 * max(1.0, abs(value))
    if at_min >= value - slack and at_max >= value - slack:
        return Chosen(1.0, True)
    if at_max >= value - slack:
        return Chosen(MAX_STRENGTH, True)
    return Chosen(MIN_STRENGTH, True) if at_min >= value - slack else Chosen(strength, False)


class CountsOfCounts:
    """Evidence of several multinomial samples whose probabilities share one symmetric Dirichlet prior alpha.

    `counts` are the nonzero counts of all samples; `totals` and `cells` are the total and the number of categories of
    every sample (a column in one class). Equal counts are grouped, so that each term is computed once.

    >>> import numpy as np
    >>> best = CountsOfCounts(np.array([5, 1, 4, 2, 3, 3, 1, 6]), np.array([6, 6, 6, 7]), np.full(4, 3)).best()
    >>> round(best.value, 10)  # known to 20 digits: 0.52407846893044471853
    0.5240784689
    """

    def __init__(self, counts: Floats, totals: Floats, cells: Floats) -> None:
        nonempty = totals > 0
        totals, cells = totals[nonempty], cells[nonempty]
        self._count, self._frequency = np.unique(counts.astype(float), return_counts=True)
        pairs, self._n_samples = np.unique(np.stack([totals, cells], axis=1), axis=0, return_counts=True)
        self._total, self._cells = pairs.T

    def log_evidence(self, alpha: float) -> float:
        """Log probability of the counts, as sequences: without multinomial coefficients."""
        rising = log_rising(np.full_like(self._count, alpha), self._count)
        return float(
            self._frequency @ rising - self._n_samples @ log_rising(alpha * self._cells, self._total)
        )

    def _derivatives(self, alpha: float) -> tuple[float, float]:
        a, total = alpha, alpha * self._cells
        first = self._frequency @ (special.digamma(self._count + a) - special.digamma(a))
        first -= self._n_samples @ (
            self._cells * (special.digamma(self._total + total) - special.digamma(total))
        )
        second = self._frequency @ (special.polygamma(1, self._count + a) - special.polygamma(1, a))
        second -= self._n_samples @ (
            self._cells**2 * (special.polygamma(1, self._total + total) - special.polygamma(1, total))
        )
        return float(first), float(second)

    def best(self) -> Chosen:
        """The alpha of maximum evidence, by Minka's second-order iterations (2012 revision, equations 87 and 91).

        Each iteration fits a curve with the correct limits at 0 and at infinity, so it converges fast and does not
        overshoot near them. The start is the best power of ten, because there may be several local maxima.
        """
        powers = 10.0 ** np.arange(np.log10(MIN_STRENGTH), np.log10(MAX_STRENGTH) + 1.0)
        values = [self.log_evidence(alpha) for alpha in powers]
        alpha = float(powers[int(np.argmax(values))])
        for _ in range(100):
            first, second = self._derivatives(alpha)
            if first > 0:
                log_curvature = first + alpha * second  # second derivative in log alpha, over alpha
                new = alpha / (1.0 + first / (alpha * second)) if log_curvature < 0 else 10.0 * alpha
            elif first < 0:
                new = alpha - first / (second + 3.0 * first / alpha)
            else:
                break
            # Far from the maximum the fitted curve may be poor: change alpha by a factor of ten at most.
            new = (
                min(max(new, alpha / 10.0, MIN_STRENGTH), alpha * 10.0, MAX_STRENGTH)
                if np.isfinite(new)
                else alpha / 10.0
            )
            if abs(new - alpha) <= 1e-13 * alpha:
                break
            alpha = new
        # Where the derivatives are dominated by rounding error, the grid point may be better.
        best = max((self.log_evidence(alpha), alpha), (max(values), float(powers[int(np.argmax(values))])))
        return choose_strength(best[1], best[0], values[0], values[-1])
