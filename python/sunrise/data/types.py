"""The types of training columns, so that drawn cells can have the same types.

A type is described without objects of the data frame library: a model can be unpickled where the library is missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.stored import stored
from sunrise.data.columns import library_of
from sunrise.data.levels import name_of

#: Seconds of the units of durations; Python has microseconds at best.
_SECONDS = {"D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}


@stored("column type")
@dataclass(frozen=True)
class ColumnType:
    """The type of a column: the name of a pandas type, or name and arguments of a narwhals type (polars, pyarrow)."""

    dtype: Any = None
    #: Smallest and largest number of a column of integers; None for other columns.
    integers: tuple[int, int] | None = None
    #: For durations: the number of seconds of their unit; None for other columns.
    unit: float | None = None
    #: Declared categories in order, by level name; None for other columns.
    categories: dict[str, Any] | None = None
    is_ordered: bool = False

    def round(self, x: Floats, lowest: float, highest: float) -> Floats:
        """Round numbers of a column of integers, within the type and within the support of the family."""
        if self.integers is None:
            return x
        low, high = max(self.integers[0], np.ceil(lowest)), min(self.integers[1], np.floor(highest))
        return np.clip(np.rint(x), low, high)

    def select_categories(self, kept: Collection[str]) -> ColumnType:
        """Return the type with only some of its declared categories, by level name."""
        if self.categories is None or all(name in kept for name in self.categories):
            return self
        categories = {name: cell for name, cell in self.categories.items() if name in kept}
        # The type of an Enum lists its categories.
        is_listed = isinstance(self.dtype, tuple) and self.dtype[0] == "Enum"
        return replace(
            self,
            dtype=("Enum", tuple(categories.values())) if is_listed else self.dtype,
            categories=categories,
        )

    def to_cells(self, cells: list[Any]) -> list[Any]:
        """Turn level names into categories, and seconds into durations."""
        if self.categories is not None:
            return [self.categories.get(cell, cell) for cell in cells]
        if (unit := self.unit) is not None:
            ticks = [None if cell is None else round(cell / unit) for cell in cells]
            return [None if n is None else datetime.timedelta(seconds=n * unit) for n in ticks]
        return cells


def type_of(source: Any) -> ColumnType:
    """Return the type of a column: of a series of any library, of an array, or of a dtype of NumPy."""
    if isinstance(source, ColumnType):
        return source
    dtype = getattr(source, "dtype", getattr(source, "type", source))
    name, library = str(dtype), library_of(source)
    categories = getattr(dtype, "categories", None)
    values = None if categories is None else {name_of(value): value for value in categories}
    bits = re.match(r"(u?)int(8|16|32|64)\b", name.lower())
    integers = None
    if bits:
        limits = np.iinfo(bits[0])
        integers = int(limits.min), int(limits.max)
    unit = None
    if name.lower().startswith(("timedelta", "duration")):
        named = re.search(r"\[(\w+)\]|time_unit='(\w+)'", name)
        unit = _SECONDS.get((named[1] or named[2]) if named else "us", 1e-6)
    own: Any = name if library == "pandas" else None
    if library in ("polars", "pyarrow"):
        own = _narwhals_type(source)
    return ColumnType(own, integers, unit, values, bool(getattr(dtype, "ordered", False)))


#: Arguments of the narwhals types that have some.
_TYPE_ARGUMENTS = {
    "Datetime": ("time_unit", "time_zone"),
    "Duration": ("time_unit",),
    "Decimal": ("precision", "scale"),
    "Enum": ("categories",),
}


def _narwhals_type(source: Any) -> tuple[Any, ...] | None:
    """Return name and arguments of the narwhals type of a polars series or a pyarrow array; None if it has none."""
    import narwhals.stable.v2 as nw

    if hasattr(source, "type") and not hasattr(source, "chunks"):  # a pyarrow array that is not chunked
        return None
    dtype = nw.from_native(source, series_only=True).dtype
    if dtype.is_nested() or dtype == nw.Unknown:
        return None
    name = type(dtype).__name__
    arguments = (getattr(dtype, argument) for argument in _TYPE_ARGUMENTS.get(name, ()))
    return (name, *(a if a is None or isinstance(a, str | int) else tuple(a) for a in arguments))
