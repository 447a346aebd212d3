"""Bandwidths of Gaussian kernels: from the different values of a sample, in rising order, and their weights.

Every rule works on values between 0 and 1, so that bandwidths grow with the units of the column, and by weights, so
that a weight of k is the same as the value k times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats
from sunrise._common.threads import threads

#: Cells of the grid on which the improved Sheather-Jones rule works, and its margin on each side.
_CELLS, _MARGIN = 4096, 0.1


def deviation(x: Floats, w: Floats) -> float:
    """Standard deviation, with n - 1."""
    n = w.sum()
    mean = w @ x / n
    return math.sqrt(float(w @ (x - mean) ** 2) / max(n - 1.0, 0.5 * n))


def quantile(x: Floats, w: Floats, share: float) -> float:
    """The quantile of values that are each there as often as they weigh, between neighbours where it falls there.

    >>> quantile(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0]), 0.75)
    2.5
    """
    upto = np.cumsum(w)
    rank = share * max(upto[-1] - 1.0, 0.0)
    whole = math.floor(rank + 1e-9)
    low, high = (x[min(int(np.searchsorted(upto, k, side="right")), len(x) - 1)] for k in (whole, whole + 1))
    return float(low + max(rank - whole, 0.0) * (high - low))


def _quarters(x: Floats, w: Floats) -> tuple[float, float]:
    return quantile(x, w, 0.25), quantile(x, w, 0.75)


def robust(x: Floats, w: Floats) -> float:
    """The lesser of standard deviation and quartile distance / 1.34; where the quartiles are one, the deviation."""
    low, high = _quarters(x, w)
    sd = deviation(x, w)
    return min(sd, (high - low) / 1.34) if high > low else sd


def sqrt(x: Floats, w: Floats) -> float:
    """John and Langley's 1 / sqrt(n), in units of the range of the values."""
    return float((x[-1] - x[0]) / math.sqrt(max(w.sum(), 1.0)))


def silverman(x: Floats, w: Floats) -> float:
    """0.9 min(sd, quartile distance / 1.34) n^(-1/5)."""
    return float(0.9 * robust(x, w) * w.sum() ** -0.2)


def scott(x: Floats, w: Floats) -> float:
    """1.06 sd n^(-1/5)."""
    return float(1.06 * deviation(x, w) * w.sum() ** -0.2)


def isj(x: Floats, w: Floats) -> float:
    """Botev, Grotowski and Kroese's improved Sheather-Jones rule; Silverman's where it has no solution.

    Values more than 25 quartile distances off the quartiles say nothing of the width of the others and are left out of
    the grid.
    """
    from scipy.fft import dct  # takes as long to import as all of this package
    from scipy.optimize import brentq

    low, high = _quarters(x, w)
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
    waves = dct(np.bincount(cell, w, _CELLS) / w.sum())[1:] / 2.0
    squares = np.arange(1.0, _CELLS) ** 2
    powers = {k: 2.0 * (math.pi**2 * squares) ** k * waves * waves for k in range(2, 8)}

    def roughness(k: int, t: Any) -> Any:
        return powers[k] @ np.exp(-(math.pi**2) * t * squares)

    def gap(t: float) -> Any:  # NaN where there is nothing left to measure
        f = roughness(7, t)
        for k in range(6, 1, -1):
            odd = math.prod(range(1, 2 * k, 2)) / math.sqrt(2.0 * math.pi)
            f = roughness(k, (2.0 * (1.0 + 0.5 ** (k + 0.5)) / 3.0 * odd / total / f) ** (2.0 / (3 + 2 * k)))
        return t - (2.0 * total * math.sqrt(math.pi) * f) ** -0.4

    # The first change of sign: the smallest solution.
    with np.errstate(all="ignore"):
        at = 0.0
        for step in np.geomspace(1e-8, 0.1, 29).tolist():
            if gap(step) >= 0.0:
                t = brentq(gap, at, step, xtol=1e-14)
                return float(max(math.sqrt(t), 1.0 / _CELLS) * width)
            at = step
    return silverman(x, w)


def loo(x: Floats, w: Floats) -> float:
    """The bandwidth of greatest likelihood of every value under the others; at least a sixth of the smallest gap."""
    from scipy.optimize import minimize_scalar

    least, total = float(np.diff(x).min()) / 6.0, float(w.sum())
    if total <= 1.0:
        return silverman(x, w)
    # A weight of k is the value k times: one of them is taken out at a time.
    taken = np.stack([x, x], axis=1).ravel(), np.stack([np.minimum(w, 1.0), 0.0 * w], axis=1).ravel()
    ends, own = np.array([0, len(x)]), np.zeros(len(x), np.int64)
    plain = (False, -math.inf, math.inf, [(1.0, 0.0)])

    def minus_log(log_h: float) -> float:
        sums = _native.KernelSums(x, w, ends, np.array([math.exp(log_h)]), 1, threads(None, 64 * len(x)))
        log_rest = sums.log_sums(own, x, plain, threads(None, 8 * len(x)), taken)
        return -float(w @ np.maximum(log_rest, -1e200)) / total + log_h

    start = math.log(max(silverman(x, w), least))
    tried = np.unique(np.maximum(start + math.log(2.0) * np.arange(-8.0, 4.0), math.log(least)))
    found = [minus_log(h) for h in tried]
    best = int(np.argmin(found))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    if high <= low:
        return math.exp(tried[best])
    closer = minimize_scalar(minus_log, bounds=(low, high), method="bounded", options={"xatol": 1e-4})
    return math.exp(closer.x if closer.fun < found[best] else tried[best])


#: Every rule by its name.
RULES: dict[str, Callable[[Floats, Floats], float]] = {
    "sqrt": sqrt,
    "silverman": silverman,
    "scott": scott,
    "isj": isj,
    "loo": loo,
}


def precision(x: Floats) -> float:
    """A width as small as makes sense beside the size of the values."""
    return float(max(2.0**-50 * np.abs(x).max(initial=0.0), 1e-300))


def bandwidth(rule: str, x: Floats, w: Floats, column: Callable[[], tuple[Floats, Floats]]) -> float:
    """The bandwidth of a sample; of one value by the spread of its whole `column`, and where that has none by its size.

    >>> x = np.arange(9.0)
    >>> round(bandwidth("silverman", x, np.ones(9), lambda: (x, np.ones(9))), 4)
    1.5883
    """
    if len(x) > 1:
        # Halves, so that the range of floats is no limit.
        half = 0.5 * x[-1] - 0.5 * x[0]
        unit = (0.5 * x - 0.5 * x[0]) / half
        return float(max(2.0 * half * RULES[rule](unit, w), precision(x)))
    every, weights = column()
    if len(every) > 1:
        half = 0.5 * every[-1] - 0.5 * every[0]
        unit, n = (0.5 * every - 0.5 * every[0]) / half, max(float(w.sum()), 1.0)
        scale = 1.0 / math.sqrt(n) if rule == "sqrt" else 1.06 * deviation(unit, weights) * n**-0.2
        return float(max(2.0 * half * scale, precision(every)))
    # A column of one value tells the classes nothing: all have the same width, some three digits of the value.
    return float(2.0**-10 * np.abs(every).max(initial=0.0)) or 2.0**-10


def given_bandwidth(wanted: Any) -> Any:
    """Check a bandwidth that the user gave: the name of a rule, a number, or an array of numbers.

    >>> given_bandwidth("scott"), given_bandwidth([1, 2])
    ('scott', array([1., 2.]))
    """
    if isinstance(wanted, str):
        if wanted not in RULES:
            raise ValueError(f"bandwidth is {wanted!r}; it must be a number or one of {', '.join(RULES)}.")
        return wanted
    try:
        numbers = np.asarray(wanted, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.size == 0 or not ((numbers > 0) & (numbers < np.inf)).all():
        raise ValueError(
            f"bandwidth is {wanted!r}; it must be a number above 0, or one of {', '.join(RULES)}."
        )
    return numbers if numbers.ndim else wanted
