"""Bandwidths of Gaussian kernels, from the distinct values of a sample in ascending order and their weights.

`bandwidth` rescales the values to [0, 1] before it applies a rule, so that bandwidths scale with the units of the
column. Every rule uses the weights as frequencies: weight k is the same as k copies of the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Integers
from sunrise._common.threads import spread, threads
from sunrise.numerics.special import weighted_sum

#: Number of grid cells of the improved Sheather-Jones rule, and the relative margin of the grid on each side.
_CELLS, _MARGIN = 4096, 0.1


def deviation(x: Floats, w: Floats) -> float:
    """Weighted standard deviation with denominator n - 1."""
    n = w.sum()
    mean = weighted_sum(w, x) / n
    return math.sqrt(float(weighted_sum(w, np.square(x - mean))) / max(n - 1.0, 0.5 * n))


def quantile(x: Floats, w: Floats, probability: float) -> float:
    """Weighted quantile, with weights as frequencies; interpolates linearly between neighbours.

    >>> quantile(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0]), 0.75)
    2.5
    """
    return _quantiles(x, w, (probability,))[0]


def _quantiles(x: Floats, w: Floats, probabilities: tuple[float, ...]) -> list[float]:
    """Return several weighted quantiles: one sum and one search serve all of them."""
    cumulative = w.cumsum()
    last = max(float(cumulative[-1]) - 1.0, 0.0)
    ranks = [probability * last for probability in probabilities]
    wholes = [math.floor(rank + 1e-9) for rank in ranks]
    at = cumulative.searchsorted([k for whole in wholes for k in (whole, whole + 1)], side="right")
    values = x[np.minimum(at, len(x) - 1)].tolist()
    return [
        low + max(rank - whole, 0.0) * (high - low)
        for rank, whole, low, high in zip(ranks, wholes, values[::2], values[1::2], strict=True)
    ]


def _quartiles(x: Floats, w: Floats) -> list[float]:
    return _quantiles(x, w, (0.25, 0.75))


def robust_deviation(x: Floats, w: Floats) -> float:
    """Smaller of standard deviation and interquartile range / 1.34; the former if the interquartile range is 0."""
    low, high = _quartiles(x, w)
    sd = deviation(x, w)
    return min(sd, (high - low) / 1.34) if high > low else sd


def sqrt(x: Floats, w: Floats) -> float:
    """John and Langley's rule: range / sqrt(n)."""
    return float((x[-1] - x[0]) / math.sqrt(max(w.sum(), 1.0)))


def silverman(x: Floats, w: Floats) -> float:
    """Silverman's rule: 0.9 min(sd, interquartile range / 1.34) n^(-1/5)."""
    return float(0.9 * robust_deviation(x, w) * w.sum() ** -0.2)


def silverman_of_runs(x: Floats, w: Floats, offsets: Integers) -> Floats:
    """Return the bandwidths by Silverman's rule of many samples, one after the other in x from each offset to the next.

    NaN for a sample of fewer than two values, and for all if a weight is no whole number.
    """
    widths, sizes = np.full(len(offsets) - 1, np.nan), np.diff(offsets)
    some = np.flatnonzero(sizes > 0)
    if not len(some) or (w != np.rint(w)).any():  # sums of whole numbers are exact
        return widths
    starts, ends, sizes = offsets[some], offsets[some + 1], sizes[some]
    low, high = x[starts], x[ends - 1]
    half = np.where(sizes > 1, 0.5 * high - 0.5 * low, 1.0)
    unit = (0.5 * x - np.repeat(0.5 * low, sizes)) / np.repeat(half, sizes)
    cumulative, n = np.cumsum(w), np.add.reduceat(w, starts)
    before = cumulative[starts] - w[starts]
    mean = np.add.reduceat(w * unit, starts) / n
    squares = np.add.reduceat(w * np.square(unit - np.repeat(mean, sizes)), starts)
    deviations = np.sqrt(squares / np.maximum(n - 1.0, 0.5 * n))
    quartiles = []
    for probability in (0.25, 0.75):
        rank = probability * np.maximum(n - 1.0, 0.0)
        whole = np.floor(rank + 1e-9)
        a, b = (
            unit[np.minimum(np.searchsorted(cumulative, before + k, side="right"), ends - 1)]
            for k in (whole, whole + 1.0)
        )
        quartiles.append(a + np.maximum(rank - whole, 0.0) * (b - a))
    between = quartiles[1] - quartiles[0]
    robust = np.where(between > 0.0, np.minimum(deviations, between / 1.34), deviations)
    least = np.maximum(2.0**-50 * np.maximum(np.abs(low), np.abs(high)), 1e-300)
    widths[some] = np.where(sizes > 1, np.maximum(2.0 * half * 0.9 * robust * n**-0.2, least), np.nan)
    return widths


def silverman_of_columns(x: Floats, w: Floats, offsets: Integers, n_classes: int) -> Floats:
    """Return the same for the samples of the classes of every column, columns x classes.

    Threads share the columns; large columns are computed one by one, so that they stay in cache.
    """
    n_columns = (len(offsets) - 1) // max(n_classes, 1)
    pieces = max(1, min(n_columns, len(x) >> 17))
    ends = [n_columns * k // pieces * n_classes for k in range(pieces + 1)]

    def of_columns(k: int) -> Floats:
        own = offsets[ends[k] : ends[k + 1] + 1]
        part = slice(own[0], own[-1])
        return silverman_of_runs(x[part], w[part], own - own[0])

    widths = np.concatenate(spread(of_columns, range(pieces), threads(None, len(x))))
    return widths.reshape(n_columns, n_classes)


def scott(x: Floats, w: Floats) -> float:
    """Scott's rule: 1.06 sd n^(-1/5)."""
    return float(1.06 * deviation(x, w) * w.sum() ** -0.2)


def isj(x: Floats, w: Floats) -> float:
    """Botev, Grotowski and Kroese's improved Sheather-Jones rule; Silverman's if the equation has no solution.

    Values more than 25 interquartile ranges outside the quartiles are excluded, because they would stretch the grid
    without information about the bandwidth of the others.
    """
    from scipy.fft import dct  # importing it takes as long as importing all of this package
    from scipy.optimize import brentq

    low, high = _quartiles(x, w)
    total = float(w.sum())
    if high > low:
        reach = 25.0 * (high - low)
        inside = (x >= low - reach) & (x <= high + reach)
        x, w = x[inside], w[inside]
    span = float(x[-1] - x[0])
    if span <= 0 or total <= 2.0:
        return silverman(x, w)
    start, width = x[0] - _MARGIN * span, (1.0 + 2.0 * _MARGIN) * span
    cell = np.minimum((x - start) / width * _CELLS, _CELLS - 1).astype(np.intp)
    coefficients = dct(np.bincount(cell, w, _CELLS) / w.sum())[1:] / 2.0
    squares = np.arange(1.0, _CELLS) ** 2
    powers = {k: 2.0 * (math.pi**2 * squares) ** k * coefficients * coefficients for k in range(2, 8)}

    def roughness(k: int, t: Any) -> Any:
        return powers[k] @ np.exp(-(math.pi**2) * t * squares)

    def gap(t: float) -> Any:  # may be NaN where the roughness underflows
        f = roughness(7, t)
        for k in range(6, 1, -1):
            odd = math.prod(range(1, 2 * k, 2)) / math.sqrt(2.0 * math.pi)
            f = roughness(k, (2.0 * (1.0 + 0.5 ** (k + 0.5)) / 3.0 * odd / total / f) ** (2.0 / (3 + 2 * k)))
        return t - (2.0 * total * math.sqrt(math.pi) * f) ** -0.4

    # The first change of sign brackets the smallest solution.
    with np.errstate(all="ignore"):
        low_t = 0.0
        for high_t in np.geomspace(1e-8, 0.1, 29).tolist():
            if gap(high_t) >= 0.0:
                t = brentq(gap, low_t, high_t, xtol=1e-14)
                return float(max(math.sqrt(t), 1.0 / _CELLS) * width)
            low_t = high_t
    return silverman(x, w)


def loo(x: Floats, w: Floats) -> float:
    """Bandwidth of maximum leave-one-out likelihood, at least a sixth of the smallest gap between values."""
    from scipy.optimize import minimize_scalar

    smallest, total = float(np.diff(x).min()) / 6.0, float(w.sum())
    if total <= 1.0:
        return silverman(x, w)
    # Weight k means k copies of the value; leave-one-out removes one copy.
    removed = np.stack([x, x], axis=1).ravel(), np.stack([np.minimum(w, 1.0), 0.0 * w], axis=1).ravel()
    offsets, class_codes = np.array([0, len(x)]), np.zeros(len(x), np.int64)
    unbounded = (False, -math.inf, math.inf, [(1.0, 0.0)])

    def negative_log_likelihood(log_h: float) -> float:
        sums = _native.KernelSums(x, w, offsets, np.array([math.exp(log_h)]), 1, threads(None, 64 * len(x)))
        log_rest = sums.log_sums(class_codes, x, unbounded, threads(None, 8 * len(x)), removed)
        return -float(w @ np.maximum(log_rest, -1e200)) / total + log_h

    start = math.log(max(silverman(x, w), smallest))
    grid = np.unique(np.maximum(start + math.log(2.0) * np.arange(-8.0, 4.0), math.log(smallest)))
    losses = [negative_log_likelihood(h) for h in grid]
    best = int(np.argmin(losses))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    if high <= low:
        return math.exp(grid[best])
    refined = minimize_scalar(
        negative_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-4}
    )
    return math.exp(refined.x if refined.fun < losses[best] else grid[best])


#: Bandwidth rules by name.
RULES: dict[str, Callable[[Floats, Floats], float]] = {
    "sqrt": sqrt,
    "silverman": silverman,
    "scott": scott,
    "isj": isj,
    "loo": loo,
}


def precision(x: Floats) -> float:
    """Smallest sensible bandwidth: a few spacings of floats at the magnitude of the values."""
    return float(max(2.0**-50 * np.abs(x).max(initial=0.0), 1e-300))


def bandwidth(rule: str, x: Floats, w: Floats, column: Callable[[], tuple[Floats, Floats]]) -> float:
    """Bandwidth of the values of one class by a rule.

    With one distinct value, the deviation of the whole `column` replaces that of the class; in a constant column, the
    bandwidth depends only on the magnitude of the value.

    >>> x = np.arange(9.0)
    >>> round(bandwidth("silverman", x, np.ones(9), lambda: (x, np.ones(9))), 4)
    1.5883
    """
    if len(x) > 1:
        # Halve before subtracting, because the range of the values may overflow.
        half = 0.5 * x[-1] - 0.5 * x[0]
        unit = (0.5 * x - 0.5 * x[0]) / half
        return float(max(2.0 * half * RULES[rule](unit, w), precision(x)))
    values, weights = column()
    if len(values) > 1:
        half = 0.5 * values[-1] - 0.5 * values[0]
        unit, n = (0.5 * values - 0.5 * values[0]) / half, max(float(w.sum()), 1.0)
        scale = 1.0 / math.sqrt(n) if rule == "sqrt" else 1.06 * deviation(unit, weights) * n**-0.2
        return float(max(2.0 * half * scale, precision(values)))
    # A constant column does not separate the classes: give all the same bandwidth, about 0.1% of the value.
    return float(2.0**-10 * np.abs(values).max(initial=0.0)) or 2.0**-10


def given_bandwidth(value: Any) -> Any:
    """Check the `bandwidth` setting: the name of a rule, a number, or an array of numbers.

    >>> given_bandwidth("scott"), given_bandwidth([1, 2])
    ('scott', array([1., 2.]))
    """
    if isinstance(value, str):
        if value not in RULES:
            raise ValueError(f"bandwidth is {value!r}; it must be a number or one of {', '.join(RULES)}.")
        return value
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.size == 0 or not ((numbers > 0) & (numbers < np.inf)).all():
        raise ValueError(
            f"bandwidth is {value!r}; it must be a number above 0, or one of {', '.join(RULES)}."
        )
    return numbers if numbers.ndim else value
