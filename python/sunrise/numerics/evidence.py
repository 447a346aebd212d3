"""Evidence: how probable the data are under a prior, and the prior that makes them most probable."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

from sunrise._common.arrays import Floats
from sunrise.numerics.special import log_rising

#: What a strength is sought between; an optimum beyond is one at 0 or at infinity.
LEAST, MOST = 1e-8, 1e8


class Chosen(NamedTuple):
    """The strength of a prior that was chosen by the evidence, and whether that still grew towards 0 or infinity."""

    value: float
    at_boundary: bool


class Evidence(float):
    """The log evidence of a model: a number, made of `classes` (of the labels) and `columns` (of the cells).

    `columns` has an array with a number per class for every column, or for all columns of a block that are one
    distribution together, by the tuple of their names.
    """

    classes: float
    columns: dict[str | tuple[str, ...], Floats]

    def __new__(cls, classes: float, columns: dict[str | tuple[str, ...], Floats]) -> Evidence:
        """Add up the parts."""
        new = super().__new__(cls, classes + sum(float(part.sum()) for part in columns.values()))
        new.classes, new.columns = classes, columns
        return new


def strongest(log_evidence: Callable[[float], float]) -> Chosen:
    """The strength of greatest evidence: the best of a grid of powers of ten, then a bounded search about it."""
    from scipy.optimize import minimize_scalar  # takes as long to import as all of this package

    powers = np.arange(np.log10(LEAST), np.log10(MOST) + 1.0)
    values = np.array([log_evidence(10.0**power) for power in powers])
    best = int(np.argmax(values))
    value, power = values[best], powers[best]
    if 0 < best < len(powers) - 1:
        found = minimize_scalar(
            lambda power: -log_evidence(10.0**power),
            bounds=(powers[best - 1], powers[best + 1]),
            method="bounded",
            options={"xatol": 1e-9},
        )
        value, power = -found.fun, found.x
    return or_boundary(float(10.0**power), float(value), float(values[0]), float(values[-1]))


def or_boundary(strength: float, value: float, at_least: float, at_most: float) -> Chosen:
    """A strength and its evidence, or the end of the range where that is as great; 1 where all are the same."""
    slack = 1e-9 * max(1.0, abs(value))
    if at_least >= value - slack and at_most >= value - slack:
        return Chosen(1.0, True)
    if at_most >= value - slack:
        return Chosen(MOST, True)
    return Chosen(LEAST, True) if at_least >= value - slack else Chosen(strength, False)


class CountsOfCounts:
    """Counts that were drawn with unknown shares, all with the same Dirichlet prior alpha.

    `counts` are all that are not 0, `totals` and `cells` the sum and the number of cells of every draw (a class of a
    column). What is added up over equal numbers is worked out once.

    >>> import numpy as np
    >>> best = CountsOfCounts(np.array([5, 1, 4, 2, 3, 3, 1, 6]), np.array([6, 6, 6, 7]), np.full(4, 3)).best()
    >>> round(best.value, 10)  # known to 20 digits: 0.52407846893044471853
    0.5240784689
    """

    def __init__(self, counts: Floats, totals: Floats, cells: Floats) -> None:
        some = totals > 0
        totals, cells = totals[some], cells[some]
        self._count, self._times = np.unique(counts.astype(float), return_counts=True)
        draws, self._draws = np.unique(np.stack([totals, cells], axis=1), axis=0, return_counts=True)
        self._total, self._cells = draws.T

    def log_evidence(self, alpha: float) -> float:
        """Log probability of the counts, as sequences."""
        rises = log_rising(np.full_like(self._count, alpha), self._count)
        return float(self._times @ rises - self._draws @ log_rising(alpha * self._cells, self._total))

    def _slopes(self, alpha: float) -> tuple[float, float]:
        a, total = alpha, alpha * self._cells
        first = self._times @ (digamma(self._count + a) - digamma(a))
        first -= self._draws @ (self._cells * (digamma(self._total + total) - digamma(total)))
        second = self._times @ (polygamma(1, self._count + a) - polygamma(1, a))
        second -= self._draws @ (self._cells**2 * (polygamma(1, self._total + total) - polygamma(1, total)))
        return float(first), float(second)

    def best(self) -> Chosen:
        """The alpha of greatest evidence, by Minka's second-order iterations (2012 revision, equations 87 and 91).

        They fit a curve with the right limits at 0 and at infinity, so they neither overshoot nor crawl there. They
        begin at the best power of ten, because there may be several peaks.
        """
        powers = 10.0 ** np.arange(np.log10(LEAST), np.log10(MOST) + 1.0)
        values = [self.log_evidence(alpha) for alpha in powers]
        alpha = float(powers[int(np.argmax(values))])
        for _ in range(100):
            first, second = self._slopes(alpha)
            if first > 0:
                falling = first + alpha * second
                step = alpha / (1.0 + first / (alpha * second)) if falling < 0 else 10.0 * alpha
            elif first < 0:
                step = alpha - first / (second + 3.0 * first / alpha)
            else:
                break
            # Far from the curve a step may leave what is sensible; it then goes a tenth or ten times as far.
            step = (
                min(max(step, alpha / 10.0, LEAST), alpha * 10.0, MOST) if np.isfinite(step) else alpha / 10.0
            )
            if abs(step - alpha) <= 1e-13 * alpha:
                break
            alpha = step
        # Where slopes are no more than rounding the grid is the better judge.
        found = max((self.log_evidence(alpha), alpha), (max(values), float(powers[int(np.argmax(values))])))
        return or_boundary(found[1], found[0], values[0], values[-1])
