"""SQL expressions of the functions that forms use: rising factorials, distances, views of a cell, places in a list."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sunrise.export.sql_dialects import Dialect
from sunrise.numerics.special import STIRLING

#: Where the Stirling series is accurate to the last digits.
_FAR = 10.0


def view(sql: Dialect, name: str, cell: str) -> str:
    """Return a view of a cell."""
    one = sql.number(1.0)
    return {
        "x": cell,
        "log x": f"LN({cell})",
        "log(1 - x)": f"LN({one} - {cell})",
        "cos x": f"COS({cell})",
        "sin x": f"SIN({cell})",
        "x = 0": f"(CASE WHEN {cell} = 0 THEN {one} WHEN {cell} <> 0 THEN {sql.number(0.0)} END)",
    }[name]


def log_rising(sql: Dialect, a: float | str, n: float | str) -> str:
    """Return log gamma(a + n) - log gamma(a); a number a or n is a constant, a string is an expression.

    With A = a + m beyond 10, it is the Stirling series of log gamma(A + n) - log gamma(A), less the log of the m
    factors (a + n + k) / (a + k).
    """
    if isinstance(a, float) and a == 0.0:
        assert isinstance(n, str)
        return f"(CASE WHEN {n} = 0 THEN {sql.number(0.0)} WHEN {n} > 0 THEN {sql.number(-math.inf)} END)"
    shift = _FAR if isinstance(a, str) else math.ceil(max(0.0, _FAR - a))
    at, by = (sql.number(part) if isinstance(part, float) else part for part in (a, n))
    far = sql.number(a + shift) if isinstance(a, float) else f"({a} + {sql.number(shift)})"
    ratio, one = f"{by} / {far}", sql.number(1.0)
    # LN(1 + r) loses the digits of a small r, which a large A multiplies: the quotient restores them.
    log_ratio = f"LN({one} + {ratio})"
    if isinstance(a, str) or a > 1e4:
        step = f"(({one} + {ratio}) - {one})"
        log_ratio = f"(CASE WHEN {step} = 0 THEN {ratio} ELSE {log_ratio} * ({ratio}) / {step} END)"
    parts = [
        f"{by} * LN({far})" if isinstance(a, str) else f"{by} * {sql.number(math.log(a + shift))}",
        f"(({far} + {by} - {sql.number(0.5)}) * {log_ratio} - {by})",
        _series(sql, f"({far} + {by})"),
    ]
    rest = f"-{_series(sql, far)}" if isinstance(a, str) else sql.number(-_series_value(a + shift))
    parts.append(rest)
    if shift:
        factors = [
            f"(({at} + {by} + {sql.number(float(k))}) / ({at} + {sql.number(float(k))}))"
            for k in range(int(shift))
        ]
        parts.append(f"-LN({' * '.join(factors)})")
    return f"({' + '.join(parts)})"


def _series_value(x: float) -> float:
    y = 1.0 / (x * x)
    return float(np.polynomial.polynomial.polyval(y, STIRLING)) / x


def _series(sql: Dialect, x: str) -> str:
    y = f"({sql.number(1.0)} / ({x} * {x}))"
    value = sql.number(STIRLING[-1])
    for coefficient in STIRLING[-2::-1]:
        value = f"({sql.number(coefficient)} + {y} * {value})"
    return f"({value} / {x})"


def distance(sql: Dialect, curve: str, u: str) -> str:
    """Return h(u) of a distance form."""
    one = sql.number(1.0)
    if curve == "line":
        return u
    if curve == "log":
        return f"LN({one} + {u})"
    # The square of a large number has no room in a double.
    far = f"{sql.number(2.0)} * LN({u})"
    return f"(CASE WHEN {u} > {sql.number(1e8)} THEN {far} ELSE LN({one} + {u} * {u}) END)"


def place(sql: Dialect, cell: str, breaks: Sequence[float], first: int = 0) -> str:
    """Return the number of breaks that are not above a cell, by a tree of comparisons; the cell must not be NULL."""
    if len(breaks) == 0:
        return str(first)
    middle = len(breaks) // 2
    below = place(sql, cell, breaks[:middle], first)
    above = place(sql, cell, breaks[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {cell} < {sql.number(breaks[middle])} THEN {below} ELSE {above} END"
