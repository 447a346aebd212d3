"""Special functions where SciPy's lose digits."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma

from sunrise.arrays import Floats

#: log x - digamma(x) = 1 / 2x + these times 1 / x^2, 1 / x^4, ...
_SERIES = np.array([1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12])
_SLOPES = _SERIES * np.arange(2, 16, 2)


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
