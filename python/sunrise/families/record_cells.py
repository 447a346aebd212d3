"""Cells of one record: plain Python values become the numbers that a block scores, without a table in between.

Each function returns an encoder of the values of one block. An encoder returns None for a value that needs the readers
of tables, which know every type, warn and raise: an unseen level, a cell outside the support, a date.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.data.columns import is_missing
from sunrise.data.levels import MISSING
from sunrise.statistics.support import Support

#: Returns the cells of a block (1 x columns) from the values of its columns; None if a value is unusual.
Encoder = Callable[[Sequence[Any]], Floats | None]

_FLOATS = frozenset((float, np.float64))
_INTEGERS = frozenset((int, np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64))
_BOOLS = frozenset((bool, np.bool_))
#: Types of values that NumPy converts to the float that the readers of tables would read; None becomes NaN.
_NUMBERS = _FLOATS | _INTEGERS | _BOOLS | {type(None), np.float32}
#: Above this number a float does not say which integer it was.
_EXACT = 2.0**53


def _numbers(values: Sequence[Any]) -> Floats | None:
    if not _NUMBERS.issuperset(map(type, values)):
        values = [None if is_missing(value) else value for value in values]
        if not _NUMBERS.issuperset(map(type, values)):
            return None
    try:
        return np.array([values], np.float64)
    except OverflowError:
        return None


def number_encoder(support: Support, lenient: Mask) -> Encoder:
    """Return the encoder of numbers; `lenient` are the columns where a cell outside the support counts as missing."""
    if support.above is not None or not support.bounded or not lenient.any():
        return _numbers
    at, lowest, highest, whole = (
        np.flatnonzero(lenient).tolist(),
        support.lowest,
        support.highest,
        support.whole,
    )

    def encode(values: Sequence[Any]) -> Floats | None:
        cells = _numbers(values)
        if cells is None:
            return None
        numbers = cells[0].tolist()
        for j in at:
            x = numbers[j]
            if not (lowest <= x <= highest and (not whole or x.is_integer())) and x == x:
                return None
        return cells

    return encode


def level_encoder(positions: Sequence[dict[str, int]], missing_is_level: bool) -> Encoder:
    """Return the encoder of levels: their positions among those of the fit, NaN for a missing cell."""
    absent = [float(known.get(MISSING, -1)) if missing_is_level else math.nan for known in positions]

    def encode(values: Sequence[Any]) -> Floats | None:
        cells = []
        for value, known, missing in zip(values, positions, absent, strict=True):
            kind = type(value)
            if kind is not str:
                if is_missing(value):
                    if missing == -1.0:
                        return None
                    cells.append(missing)
                    continue
                if kind in _INTEGERS or kind in _BOOLS:
                    value = str(value)
                elif kind in _FLOATS and abs(value) < _EXACT and value.is_integer():
                    value = str(int(value))
                else:
                    return None
            position = known.get(value)
            if position is None:
                return None
            cells.append(position)
        return np.array([cells], np.float64)

    return encode


def bin_encoder(edges: Sequence[Sequence[float]]) -> Encoder:
    """Return the encoder of bins of numbers: the number of edges up to the cell, NaN for a missing cell."""

    def encode(values: Sequence[Any]) -> Floats | None:
        cells = _numbers(values)
        if cells is None:
            return None
        numbers = cells[0].tolist()
        for j, x in enumerate(numbers):
            if math.isinf(x):
                return None
            if x == x:
                numbers[j] = bisect_right(edges[j], x)
        return np.array([numbers])

    return encode
