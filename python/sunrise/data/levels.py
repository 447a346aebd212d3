"""Level names: the names of the categories of a column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from sunrise._common.arrays import Labels

#: Name of the level of missing cells, in columns where missing counts as a level.
MISSING = "(missing)"


def name_of(value: Any) -> str:
    """Return the name of a level; 1, 1.0 and "1" have the same name.

    >>> [name_of(value) for value in (1, 1.0, "1", 0.5, True)]
    ['1', '1', '1', '0.5', 'True']
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def level_names(values: Iterable[Any]) -> Labels:
    """Return the names of levels as an array of strings."""
    names = [value if type(value) is str else name_of(value) for value in values]
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def natural(name: str) -> tuple[bool, float, str]:
    """Return a sort key that puts 2 before 10, and numbers before words.

    >>> sorted(["10", "b", "2"], key=natural)
    ['2', '10', 'b']
    """
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def is_number(name: str) -> bool:
    """True if a name is a finite number.

    >>> [is_number(name) for name in ("1", "-2.5", "b", "nan")]
    [True, True, False, False]
    """
    try:
        return math.isfinite(float(name))
    except ValueError:
        return False


def escape_newlines(name: str) -> str:
    """Return a name on one line, for printed tables.

    >>> escape_newlines("two\\nlines")
    'two\\\\nlines'
    """
    return name.replace("\n", "\\n").replace("\r", "\\r").replace("\t", " ")


def cell_of(level: str, kind: str) -> Any:
    """Return the cell value of a level: a number, a boolean or the name itself, by the kind of its column.

    >>> cell_of("2", "number"), cell_of("True", "bool"), cell_of("2", "level")
    (2, True, '2')
    """
    if level == MISSING:
        return None
    if kind == "bool":
        return {"True": True, "False": False}.get(level, level)
    if kind != "number":
        return level
    for number in (int, float):
        try:
            return number(level)
        except ValueError:
            pass
    return level
