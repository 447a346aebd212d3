"""Terms: the functions of a cell that a family adds up when fitting and weighs when scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Term:
    """One function of a cell, the same formula for every kind of array.

    >>> X2.of(3.0)
    9.0
    """

    name: str
    of: Callable[[Any], Any]

    def __repr__(self) -> str:
        return self.name


def _itself(x: Any) -> Any:
    return x


def _squared(x: Any) -> Any:
    return x * x


def _log_of_rest(x: Any) -> Any:
    return np.log1p(-x)


X = Term("x", _itself)
X2 = Term("x^2", _squared)
LOG = Term("log x", np.log)
LOG_REST = Term("log(1 - x)", _log_of_rest)
COS = Term("cos x", np.cos)
SIN = Term("sin x", np.sin)
#: One indicator for every level of a column; its sums are counts per level.
LEVEL = Term("level", _itself)
