"""Terms: the functions of a cell that a family adds up when fitting and weighs when scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln


@dataclass(frozen=True)
class Term:
    """One function of a cell, the same formula for every kind of array.

    >>> X2.of(3.0)
    9.0
    """

    name: str
    of: Callable[[Any], Any]
    #: Whether it may be negative where x is not.
    signed: bool = False

    def __repr__(self) -> str:
        return self.name


def _itself(x: Any) -> Any:
    return x


def _squared(x: Any) -> Any:
    return x * x


def _log_of_rest(x: Any) -> Any:
    return np.log1p(-x)


def _log_factorial(x: Any) -> Any:
    return gammaln(x + 1.0)


X = Term("x", _itself)
X2 = Term("x^2", _squared)
LOG = Term("log x", np.log, signed=True)
LOG_REST = Term("log(1 - x)", _log_of_rest, signed=True)
COS = Term("cos x", np.cos, signed=True)
SIN = Term("sin x", np.sin, signed=True)
LOG_FACTORIAL = Term("log x!", _log_factorial)
#: One indicator for every level of a column; its sums are counts per level.
LEVEL = Term("level", _itself)
#: One indicator for every count from 1 of a column, and for every total of the rows.
COUNT = Term("count", _itself)
#: Every value of a column itself; what is kept of it are the different ones, and how often each was there.
VALUE = Term("value", _itself)
