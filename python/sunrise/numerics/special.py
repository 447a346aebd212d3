"""Special functions where SciPy's lose digits."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from sunrise._common.arrays import Floats

#: log x - digamma(x) = 1 / 2x + these times 1 / x^2, 1 / x^4, ...
_SERIES = np.array([1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])
_SLOPES = _SERIES * np.arange(2, 16, 2)


def log(x: Floats) -> Floats:
    """Natural logarithm with log 0 = -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


def times_log(count: Floats, log_p: Floats) -> Floats:
    """A count times a logarithm, where 0 log 0 is 0."""
    return np.where(count == 0, 0.0, count * np.where(count == 0, 0.0, log_p))


def digamma_lag(x: Floats) -> tuple[Floats, Floats]:
    """Log x - digamma(x) and how fast it falls, both to full relative precision."""
    near, far = np.minimum(x, 10.0), 1.0 / np.maximum(x, 10.0)
    square = far * far
    lag = far / 2 + square * np.polynomial.polynomial.polyval(square, _SERIES)
    slope = square / 2 + far * square * np.polynomial.polynomial.polyval(square, _SLOPES)
    return (
        np.where(x < 10.0, np.log(near) - digamma(near), lag),
        np.where(x < 10.0, polygamma(1, near) - 1.0 / near, slope),
    )


#: log gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + these times 1 / x, 1 / x^3, ...
_STIRLING = np.array([1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156])


def log_rising(a: Floats, n: Floats) -> Floats:
    """Log of a (a + 1) ... (a + n - 1), for any n from 0: log gamma(a + n) - log gamma(a) without its cancelling.

    >>> import numpy as np
    >>> float(log_rising(np.array(1e12), np.array(1.0)) - np.log(1e12))
    0.0
    """
    far = np.maximum(a, 20.0)
    low, high = 1.0 / far, 1.0 / (far + n)
    rest = high * np.polynomial.polynomial.polyval(high * high, _STIRLING)
    rest = rest - low * np.polynomial.polynomial.polyval(low * low, _STIRLING)
    large = n * np.log(far) + ((far + n - 0.5) * np.log1p(n / far) - n) + rest
    near = np.minimum(a, 20.0)
    with np.errstate(invalid="ignore"):  # of a = 0, where nothing rises from nothing
        small = np.where(n == 0, 0.0, gammaln(near + n) - gammaln(near))
    return np.where(a < 20.0, small, large)


#: digamma(x) = log x - 1 / 2x - these times 1 / x^2, 1 / x^4, ...: what `reciprocals` needs of it beyond 16.
_FAR = _SERIES[:6]


def reciprocals(x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Sum of 1 / (x + j) and of 1 / (x + j)^2 over j from 0 to n - 1, for x from 16, to full relative precision.

    >>> import numpy as np
    >>> first, _ = reciprocals(np.array(16.0), np.array(3.0))
    >>> round(float(first), 12) == round(1 / 16 + 1 / 17 + 1 / 18, 12)
    True
    """
    low, high = 1.0 / x, 1.0 / (x + n)
    powers = np.arange(len(_FAR))
    gap = n * low * high  # 1 / x - 1 / (x + n)
    first, second = np.log1p(n * low) + 0.5 * gap, gap + 0.5 * gap * (low + high)
    for k, b in zip(powers.tolist(), _FAR.tolist(), strict=True):
        first = first + b * (low ** (2 * k + 2) - high ** (2 * k + 2))
        second = second + 2.0 * (k + 1) * b * (low ** (2 * k + 3) - high ** (2 * k + 3))
    return first, second


def log_sum_exp(a: Floats, axis: int = -1) -> Floats:
    """Log of a sum of exponentials along an axis: the only one in the library, beside its native twin.

    The largest summand is taken out, so that nothing overflows and a sum that hardly exceeds it keeps its digits.

    >>> log_sum_exp(np.array([0.0, -40.0]))
    array(4.24835426e-18)
    """
    winner = np.expand_dims(a.argmax(axis), axis)
    best = np.take_along_axis(a, winner, axis)
    rest = np.exp(a - np.where(np.isneginf(best), 0.0, best))
    np.put_along_axis(rest, winner, 0.0, axis)
    return np.asarray(np.squeeze(best, axis) + np.log1p(rest.sum(axis)))
