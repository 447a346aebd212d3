"""Special functions, for arguments where differences of SciPy's functions cancel."""

from __future__ import annotations

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.lazy import special

#: Coefficients c_k of log x - digamma(x) = 1 / 2x + sum_k c_k / x^(2k), and those of minus its derivative.
_DIGAMMA_SERIES = np.array([1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])
_TRIGAMMA_SERIES = _DIGAMMA_SERIES * np.arange(2, 16, 2)
#: Number of cells up to which a matrix product takes one thread.
_SMALL_PRODUCT = 1 << 13


def log(x: Floats) -> Floats:
    """Natural logarithm with log 0 = -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


def times_log(count: Floats, log_p: Floats) -> Floats:
    """count * log_p, with 0 * log 0 = 0."""
    return np.where(count == 0, 0.0, count * np.where(count == 0, 0.0, log_p))


def weighted_sum(weight: Floats, x: Floats) -> Floats:
    """Return the sum of weight * x over the first axis, on one thread.

    The matrix products of NumPy start threads for large arrays, which then wait beside those of this package.

    >>> weighted_sum(np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([13., 16.])
    """
    if x.size <= _SMALL_PRODUCT:
        return np.asarray(weight @ x)
    return np.asarray((weight.reshape(-1, *[1] * (x.ndim - 1)) * x).sum(axis=0))


def digamma_lag(x: Floats) -> tuple[Floats, Floats]:
    """log x - digamma(x), and minus its derivative, both to full relative precision."""
    near, far = np.minimum(x, 10.0), 1.0 / np.maximum(x, 10.0)
    square = far * far
    lag = far / 2 + square * np.polynomial.polynomial.polyval(square, _DIGAMMA_SERIES)
    slope = square / 2 + far * square * np.polynomial.polynomial.polyval(square, _TRIGAMMA_SERIES)
    return (
        np.where(x < 10.0, np.log(near) - special.digamma(near), lag),
        np.where(x < 10.0, _trigamma(near) - 1.0 / near, slope),
    )


#: Coefficients of (log(1 + x) - x) / x^2 as a series in x.
_LOG1P_SERIES = (-1.0) ** np.arange(1, 20) / np.arange(2, 21)


def log1p_minus(x: Floats) -> Floats:
    """log(1 + x) - x to full relative precision, for |x| <= 0.1.

    >>> import numpy as np
    >>> float(log1p_minus(np.array(1e-9)))
    -4.999999996666667e-19
    """
    return np.asarray(x * x * np.polynomial.polynomial.polyval(x, _LOG1P_SERIES))


def _trigamma(x: Floats) -> Floats:
    """Derivative of digamma, by its recurrence and its series beyond 10: ten times as fast as SciPy's polygamma.

    >>> float(abs(_trigamma(np.array(1.0)) - np.pi**2 / 6)) < 1e-14
    True
    """
    above = 1.0 / (x + 10.0)
    square = above * above
    total = above + square / 2 + above * square * np.polynomial.polynomial.polyval(square, _TRIGAMMA_SERIES)
    for k in range(10):
        total = total + 1.0 / ((x + k) * (x + k))
    return np.asarray(total)


#: Coefficients c_k of log gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + sum_k c_k / x^(2k - 1).
STIRLING = np.array([1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156])


def log_rising(a: Floats, n: Floats) -> Floats:
    """Log rising factorial, log gamma(a + n) - log gamma(a), without cancellation; n >= 0 need not be whole.

    For whole n it is the log of a (a + 1) ... (a + n - 1).

    >>> import numpy as np
    >>> float(log_rising(np.array(1e12), np.array(1.0)) - np.log(1e12))
    0.0
    """
    far = np.maximum(a, 20.0)
    low, high = 1.0 / far, 1.0 / (far + n)
    rest = high * np.polynomial.polynomial.polyval(high * high, STIRLING)
    rest = rest - low * np.polynomial.polynomial.polyval(low * low, STIRLING)
    large = n * np.log(far) + ((far + n - 0.5) * np.log1p(n / far) - n) + rest
    near = np.minimum(a, 20.0)
    with np.errstate(invalid="ignore"):  # a = 0 and n = 0: inf - inf
        small = np.where(n == 0, 0.0, special.gammaln(near + n) - special.gammaln(near))
    return np.where(a < 20.0, small, large)


#: Coefficients of the digamma series that `reciprocals` needs for x >= 16.
_RECIPROCAL_SERIES = _DIGAMMA_SERIES[:6]


def reciprocals(x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Sums of 1 / (x + j) and of 1 / (x + j)^2 over j = 0, ..., n - 1, to full relative precision, for x >= 16.

    >>> import numpy as np
    >>> first, _ = reciprocals(np.array(16.0), np.array(3.0))
    >>> round(float(first), 12) == round(1 / 16 + 1 / 17 + 1 / 18, 12)
    True
    """
    low, high = 1.0 / x, 1.0 / (x + n)
    powers = np.arange(len(_RECIPROCAL_SERIES))
    gap = n * low * high  # 1 / x - 1 / (x + n)
    first, second = np.log1p(n * low) + 0.5 * gap, gap + 0.5 * gap * (low + high)
    for k, b in zip(powers.tolist(), _RECIPROCAL_SERIES.tolist(), strict=True):
        first = first + b * (low ** (2 * k + 2) - high ** (2 * k + 2))
        second = second + 2.0 * (k + 1) * b * (low ** (2 * k + 3) - high ** (2 * k + 3))
    return first, second


def log_sum_exp(a: Floats, axis: int = -1) -> Floats:
    """Log of the sum of exponentials along an axis; the native engine has the only other implementation.

    It is max + log1p(sum of the other terms / largest term): no overflow, and full precision for a dominant term.

    >>> log_sum_exp(np.array([0.0, -40.0]))
    array(4.24835426e-18)
    """
    largest = np.expand_dims(a.argmax(axis), axis)
    maximum = np.take_along_axis(a, largest, axis)
    rest = np.exp(a - np.where(np.isneginf(maximum), 0.0, maximum))
    np.put_along_axis(rest, largest, 0.0, axis)
    return np.asarray(np.squeeze(maximum, axis) + np.log1p(rest.sum(axis)))
