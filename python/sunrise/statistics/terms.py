"""Terms: the functions of a cell whose sums are the sufficient statistics and whose weighted sum is the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sunrise._common.lazy import special


@dataclass(frozen=True)
class Term:
    """One function of a cell, elementwise on arrays.

    >>> X2.of(3.0)
    9.0
    """

    name: str
    of: Callable[[Any], Any]
    #: True if the function can be negative for x >= 0.
    signed: bool = False

    def __repr__(self) -> str:
        return self.name


def _identity(x: Any) -> Any:
    return x


def _squared(x: Any) -> Any:
    return x * x


def _log_one_minus(x: Any) -> Any:
    return np.log1p(-x)


def _log_factorial(x: Any) -> Any:
    return special.gammaln(x + 1.0)


X = Term("x", _identity)
X2 = Term("x^2", _squared)
LOG = Term("log x", np.log, signed=True)
LOG_REST = Term("log(1 - x)", _log_one_minus, signed=True)
COS = Term("cos x", np.cos, signed=True)
SIN = Term("sin x", np.sin, signed=True)
LOG_FACTORIAL = Term("log x!", _log_factorial)
#: One indicator per level of a column; the sums are counts per level.
LEVEL = Term("level", _identity)
#: One indicator per count (1, 2, ...) of a column, and one per row total.
COUNT = Term("count", _identity)
#: The value itself: the statistics are the distinct values of a column and their frequencies.
VALUE = Term("value", _identity)
#: The products of the cells of a row with each other; the sums are those of a covariance matrix.
PRODUCT = Term("product", _identity)
