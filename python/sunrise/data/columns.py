"""Read a column of pandas, polars, Arrow, NumPy or Python objects into a `Column`."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Floats, Mask
from sunrise.data.column import Column, Levels
from sunrise.data.dates import arrow_days, day_of, days_of
from sunrise.data.errors import refuse_dates, refuse_type
from sunrise.data.levels import level_names

#: Number types that the native functions read in place.
_PLAIN = frozenset(np.dtype(t) for t in ["f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"])


def library_of(X: Any) -> str | None:
    """Return the library of an object by the package of its type: pandas, polars, pyarrow or None."""
    package = type(X).__module__.partition(".")[0]
    return package if package in ("pandas", "polars", "pyarrow") else None


def lazy_kind_of(X: Any) -> str | None:
    """Return the kind of a lazy table: "polars", "duckdb" or "ibis"; None for anything else.

    >>> lazy_kind_of([[1.0]]) is None
    True
    """
    for cls in type(X).__mro__:
        package = cls.__module__.partition(".")[0].removeprefix("_")
        if (kind := _LAZY_TYPES.get((package, cls.__name__))) is not None:
            return kind
    return None


#: Kinds of lazy tables by package and name of their type.
_LAZY_TYPES = {
    ("polars", "LazyFrame"): "polars",
    ("duckdb", "DuckDBPyRelation"): "duckdb",
    ("ibis", "Table"): "ibis",
}


def readable(x: Any) -> bool:
    """True if the native functions can read an array in place: plain numbers, aligned, strides of whole cells."""
    if type(x) is not np.ndarray or x.dtype not in _PLAIN or not (flags := x.flags).aligned:
        return False
    return flags.c_contiguous or all(stride % x.itemsize == 0 for stride in x.strides)


def in_place(x: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself if the native functions can read it, else a copy that they can read."""
    if readable(x):
        return x
    if x.dtype.kind == "b":
        # Any byte but 0 is true; Rust, unlike NumPy, must never see a bool that is neither 0 nor 1.
        return np.not_equal(x.view(np.uint8), 0).astype(np.uint8)
    native = x.dtype.newbyteorder("=")
    dtype = native if native in _PLAIN else np.dtype(np.float32 if native == np.float16 else np.float64)
    return np.require(x, dtype, ["C", "A"])


def any_column(name: Any, values: Any) -> Column:
    """Read a column of a dict: a series of any library, an array or a list."""
    library = library_of(values)
    if library == "pandas":
        return pandas_column(name, sys.modules["pandas"].Series(values))
    if library == "polars":
        return polars_column(name, values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return arrow_column(name, values)
    if isinstance(values, np.ma.MaskedArray):
        values = fill_masked(values)
    if not isinstance(values, np.ndarray):
        values = _array_of_list(list(values))
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be one-dimensional; its shape is {values.shape}.")
    return numpy_column(name, values)


def _array_of_list(values: list[Any]) -> NDArray[Any]:
    """Return a list as an array of numbers or objects: NumPy itself would turn [1, "a"] into strings."""
    if all(type(value) is float or type(value) is int for value in values):
        try:
            return np.asarray(values) if values else np.empty(0)
        except OverflowError:
            pass
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def pandas_column(name: Any, series: Any) -> Column:
    """Read a column of a pandas frame."""
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        names = level_names(dtype.categories)
        levels = Levels.of(names, series.cat.codes.to_numpy())
        return Column(name, "level", len(series), known=levels, declared=names, source=series)
    if isinstance(dtype, np.dtype):
        return numpy_column(name, series.to_numpy(), series)
    if dtype.name.startswith(("period", "datetime64")):
        zoned = dtype.name.startswith("datetime64")
        moments = series.dt.tz_localize(None) if zoned else series.dt.to_timestamp()
        return Column(name, "date", len(series), days_of(moments.to_numpy()))
    try:
        arrow = series.array.__arrow_array__()
    except (ImportError, AttributeError):  # without pyarrow, or a type Arrow does not have
        if getattr(dtype, "kind", "O") in "biuf":
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
            return Column(name, "bool" if dtype.kind == "b" else "number", len(series), values, source=series)
        return numpy_column(name, series.to_numpy())
    return replace(arrow_column(name, arrow), source=series)


def polars_column(name: Any, series: Any) -> Column:
    """Read a column of a polars frame."""
    # The dictionary of a plain categorical may hold strings of other columns; only an Enum declares its own.
    declared = series.dtype.categories if type(series.dtype).__name__ == "Enum" else None
    return arrow_column(name, series, declared)


def arrow_column(name: Any, values: Any, declared: Any = None) -> Column:
    """Read an Arrow array, or anything that exports one."""
    try:
        cells = _native.arrow_column(values)
    except ValueError as error:
        raise ValueError(
            f"column {name!r} cannot be used: {error}. Drop it, or cast it to another type."
        ) from None
    column = column_of_arrow(name, cells, values)
    return column if declared is None else replace(column, kind="level", declared=level_names(declared))


#: Kinds of columns by those of Arrow columns.
_ARROW_KINDS = {"number": "number", "bool": "bool", "text": "level", "null": "empty"}


def column_of_arrow(name: Any, cells: _native.ArrowColumn, source: Any = None) -> Column:
    """Wrap an Arrow column that Rust holds."""
    kind = _ARROW_KINDS.get(cells.kind)
    if cells.kind == "date":
        if (days := arrow_days(source)) is None:
            refuse_dates(f"column {name!r}")
        return Column(name, "date", len(cells), days)
    if kind is None:
        refuse_type(name, cells.kind)
    return Column(name, kind, len(cells), None if kind == "empty" else cells, source=source)


def numpy_column(name: Any, values: NDArray[Any], series: Any = None) -> Column:
    """Read a one-dimensional array, which may be that of a pandas series."""
    n, kind = len(values), values.dtype.kind
    source = values if series is None else series
    if kind == "b":
        return Column(name, "bool", n, in_place(values), source=source)
    if kind in "iuf":
        return Column(name, "number", n, in_place(values), source=source)
    if kind == "m":
        return Column(name, "number", n, durations(values), source=source)
    if kind == "M":
        return Column(name, "date", n, days_of(values), source=series)
    if kind == "S":
        try:
            values, kind = np.char.decode(values, "utf-8"), "U"
        except UnicodeDecodeError as error:
            raise ValueError(
                f"column {name!r} holds bytes that are not UTF-8 text: {error}. Decode the column to strings first."
            ) from None
    if kind == "U":
        values, kind = values.astype(object), "O"
    if kind == "O":
        return _object_column(name, values)
    refuse_type(name, str(values.dtype))


def _object_column(name: Any, values: NDArray[Any]) -> Column:
    """Read Python objects: cells that are not missing must all be strings, all numbers or all booleans."""
    n, coded = len(values), _native.encode_objects(values)
    if coded is None:
        observed = np.fromiter((not is_missing(value) for value in values), bool, n)
        kinds = [_kind_of(name, value) if here else "" for value, here in zip(values, observed, strict=True)]
        present = dict.fromkeys(kind for kind in kinds if kind)
        if len(present) > 1:
            (one, other), rows = list(present)[:2], {kind: kinds.index(kind) for kind in present}
            return _mixed_column(
                name,
                values,
                observed,
                f"column {name!r} mixes {one}s ({values[rows[one]]!r} in row {rows[one]}) and {other}s "
                f"({values[rows[other]]!r} in row {rows[other]}). Convert it to one type, for example strings with "
                f'astype(str), and missing cells to None; or pass families={{{name!r}: "categorical"}}.',
            )
        kind = next(iter(present), None)
        if kind == "date":
            days = [day_of(value) if here else np.nan for value, here in zip(values, observed, strict=True)]
            return Column(name, "date", n, np.array(days))
        # Strings that Rust cannot hold (lone surrogates) are encoded here.
        distinct = {value: k for k, value in enumerate(dict.fromkeys(values[observed].tolist()))}
        codes = np.array([distinct[v] if h else -1 for v, h in zip(values, observed, strict=True)], np.int32)
        texts = list(distinct)
        if kind in _NUMBERS:
            numbers = _numbers(name, values, observed, kind)
            # Floats cannot represent large integers exactly; level names can.
            large = any(isinstance(value, int) and abs(value) > 2**53 for value in texts)
            known = Levels.of(level_names(texts), codes) if large else None
            integers = kind == "number" and all(isinstance(value, int | np.integer) for value in texts)
            source = "int64" if integers else kind
            return Column(name, "bool" if kind == "bool" else "number", n, numbers, known, source=source)
    else:
        first, codes = coded
        texts = values[first].tolist()
    if not texts:
        return Column(name, "empty", n)
    return Column(name, "level", n, known=Levels.of(level_names(texts), codes))


def _mixed_column(name: Any, values: NDArray[Any], observed: Mask, problem: str) -> Column:
    """Read cells of several types as levels; `problem` is the error text unless the user asks for categories."""
    names = level_names(values[observed])
    distinct, position = np.unique(names, return_inverse=True)
    codes = np.full(len(values), -1, np.int32)
    codes[observed] = position
    return Column(name, "mixed", len(values), known=Levels(distinct, codes), problem=problem)


#: Kinds of objects that become numbers, and the conversion to float.
_NUMBERS: dict[str, Callable[[Any], float]] = {
    "number": float,
    "bool": float,
    "duration": lambda value: value / datetime.timedelta(seconds=1),
}


def _numbers(name: Any, values: NDArray[Any], observed: Mask, kind: str) -> Floats:
    """Return objects as floats; NaN is missing."""
    numbers = np.full(len(values), np.nan)
    try:
        numbers[observed] = [_NUMBERS[kind](value) for value in values[observed]]
    except OverflowError:
        raise ValueError(
            f"column {name!r} holds numbers beyond the range of floats. Rescale the column."
        ) from None
    return numbers


def _kind_of(name: Any, value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, Number | Decimal) and not isinstance(value, complex):
        return "number"
    if isinstance(value, datetime.timedelta):
        return "duration"
    if isinstance(value, datetime.date | np.datetime64):
        return "date"
    if isinstance(value, datetime.time):
        refuse_dates(f"column {name!r}")
    # scikit-learn's checks expect this kind of error for a cell that is not a scalar.
    raise TypeError(
        f"column {name!r}: argument must be a string or a number, not {value!r}. A cell is one value."
    )


def fill_masked(X: Any) -> NDArray[Any]:
    """Return a masked array as a plain array; masked cells become NaN or None."""
    if not np.ma.getmaskarray(X).any():
        return np.asarray(X.data)
    if X.dtype.kind in "iuf":
        return np.asarray(X.astype(np.float64).filled(np.nan))
    return np.asarray(X.astype(object).filled(None))


def is_missing(value: Any) -> bool:
    """True if a Python object means missing: None, NaN, NaT or pd.NA."""
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def durations(X: NDArray[Any]) -> Floats:
    """Return durations in seconds."""
    return np.asarray(X / np.timedelta64(1, "s"))
