"""Frames: every kind of table people have, read column by column, in place where that is possible."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Number
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise.arrays import Floats, Mask
from sunrise.data.column import Column, Levels
from sunrise.levels import named

#: Number types the kernels read in place.
_PLAIN = frozenset(np.dtype(t) for t in ["f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"])


@dataclass(frozen=True)
class Frame:
    """A table of named columns; a column is read when it is asked for."""

    names: tuple[Any, ...]
    n_rows: int
    read: Callable[[int], Column] = field(repr=False)
    #: Whose frame it is: pandas, polars or pyarrow; None for arrays and dicts.
    library: str | None = None
    #: Whether the names came with the data.
    is_named: bool = True
    #: The cells as one matrix, where they are that.
    matrix: NDArray[Any] | None = field(default=None, repr=False)
    index: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            twice = next(name for k, name in enumerate(self.names) if name in self.names[:k])
            raise ValueError(f"two columns are called {twice!r}. Give every column a name of its own.")

    def without(self, name: Any) -> Frame:
        """The table without a column."""
        keep = [j for j, other in enumerate(self.names) if other != name]
        return Frame(
            tuple(self.names[j] for j in keep),
            self.n_rows,
            lambda j: self.read(keep[j]),
            self.library,
            self.is_named,
            index=self.index,
        )


def library_of(X: Any) -> str | None:
    """Whose object it is, by the name of its type's package."""
    package = type(X).__module__.partition(".")[0]
    return package if package in ("pandas", "polars", "pyarrow") else None


def frame_of(X: Any) -> Frame:
    """Read a table of any kind."""
    if isinstance(X, Frame):
        return X
    library = library_of(X)
    if hasattr(X, "collect"):
        raise TypeError(f"X is lazy ({type(X).__name__}): pass X.collect().")
    if library in ("pandas", "polars") and not hasattr(X, "columns"):
        raise ValueError(
            f"X is a {type(X).__name__}, no table. Of one row pass a dict (row.to_dict()) or a table of one row, "
            "of one column a table of it (X.to_frame())."
        )
    if library == "pandas":
        names = tuple(X.columns)
        return Frame(names, len(X), lambda j: _pandas_column(names[j], X.iloc[:, j]), library, index=X.index)
    if library == "polars" and hasattr(X, "get_columns"):
        columns = X.get_columns()
        return Frame(tuple(X.columns), len(X), lambda j: _polars_column(columns[j].name, columns[j]), library)
    if library == "pyarrow" and hasattr(X, "column_names"):
        names = tuple(X.column_names)
        return Frame(names, X.num_rows, lambda j: _arrow_column(names[j], X.column(j)), library)
    if isinstance(X, dict):
        return _dict_frame(X)
    if isinstance(X, list) and X and all(isinstance(row, dict) for row in X):
        named_cells = dict.fromkeys(name for row in X for name in row)
        return _dict_frame({name: [row.get(name) for row in X] for name in named_cells})
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        table = _native.arrow_table(X)
        n_rows = len(table[0][1]) if table else 0
        return Frame(tuple(name for name, _ in table), n_rows, lambda j: _column_of_arrow(*table[j]))
    return _array_frame(X)


def is_single(value: Any) -> bool:
    """Whether a value is one cell rather than a column of them."""
    return isinstance(value, str | bytes) or not hasattr(value, "__len__")


def _dict_frame(X: dict[Any, Any]) -> Frame:
    """A dict of columns; a dict of single values is one record."""
    names = tuple(X)
    alone = [name for name, value in X.items() if is_single(value)]
    if len(alone) == len(X):
        X = {name: [value] for name, value in X.items()}
    elif alone:
        raise ValueError(
            f"column {alone[0]!r} is a single value ({X[alone[0]]!r}) where others are columns. Give every column all "
            "its cells, or one record nothing but values."
        )
    lengths = {name: len(column) for name, column in X.items()}
    n_rows = next(iter(lengths.values()), 0)
    for name, length in lengths.items():
        if length != n_rows:
            raise ValueError(
                f"the columns have different lengths: {names[0]!r} has {n_rows} rows, {name!r} has {length}."
            )
    return Frame(names, n_rows, lambda j: _any_column(names[j], X[names[j]]))


def _array_frame(X: Any) -> Frame:
    """A matrix, or rows in a list; columns are known by position."""
    array = _filled(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    if array.dtype.kind in "USO" and not isinstance(X, np.ndarray):
        array = np.array(X, dtype=object)  # NumPy would turn [1, "a"] into strings
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: X must be a table of rows and columns. "
            "Reshape your data: X.reshape(-1, 1) is one column, X.reshape(1, -1) one row."
        )
    matrix = array if readable(array) else None

    def read(j: int) -> Column:
        return _numpy_column(j, array[:, j])

    return Frame(tuple(range(array.shape[1])), len(array), read, is_named=False, matrix=matrix)


def _filled(X: Any) -> NDArray[Any]:
    """A masked array with its masked cells missing."""
    if not np.ma.getmaskarray(X).any():
        return np.asarray(X.data)
    if X.dtype.kind in "iuf":
        return np.asarray(X.astype(np.float64).filled(np.nan))
    return np.asarray(X.astype(object).filled(None))


def readable(x: Any) -> bool:
    """Whether the kernels can read an array in place: plain numbers, aligned, strides of whole cells."""
    if type(x) is not np.ndarray or x.dtype not in _PLAIN or not x.flags.aligned:
        return False
    return all(stride % x.itemsize == 0 for stride in x.strides)


def in_place(x: NDArray[Any]) -> NDArray[Any]:
    """The array itself if the kernels can read it, else a copy they can."""
    if readable(x):
        return x
    if x.dtype.kind == "b":
        # Any byte but 0 is true; Rust, unlike NumPy, must never see a bool that is neither 0 nor 1.
        return np.not_equal(x.view(np.uint8), 0).astype(np.uint8)
    kept = x.dtype.newbyteorder("=")
    dtype = kept if kept in _PLAIN else np.dtype(np.float32 if kept == np.float16 else np.float64)
    return np.require(x, dtype, ["C", "A"])


# One column of each library.


def _any_column(name: Any, values: Any) -> Column:
    """A column of a dict: a series of any library, an array or a list."""
    library = library_of(values)
    if library == "pandas":
        return _pandas_column(name, sys.modules["pandas"].Series(values))
    if library == "polars":
        return _polars_column(name, values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return _arrow_column(name, values)
    if isinstance(values, np.ma.MaskedArray):
        values = _filled(values)
    if not isinstance(values, np.ndarray):
        values = _listed(list(values))
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be one-dimensional; its shape is {values.shape}.")
    return _numpy_column(name, values)


def _listed(values: list[Any]) -> NDArray[Any]:
    """A list as an array; NumPy would turn [1, "a"] into strings, and knows neither None nor lists within."""
    if all(type(value) is float or type(value) is int for value in values):
        try:
            return np.asarray(values) if values else np.empty(0)
        except OverflowError:
            pass
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _pandas_column(name: Any, series: Any) -> Column:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        names = named(dtype.categories)
        levels = Levels.of(names, series.cat.codes.to_numpy())
        return Column(name, "level", len(series), known=levels, declared=names)
    if isinstance(dtype, np.dtype):
        return _numpy_column(name, series.to_numpy())
    if dtype.name.startswith(("period", "datetime64")):
        refuse_dates(f"column {name!r}")
    try:
        arrow = series.array.__arrow_array__()
    except (ImportError, AttributeError):  # without pyarrow, or a type Arrow does not have
        if getattr(dtype, "kind", "O") in "biuf":
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
            return Column(name, "bool" if dtype.kind == "b" else "number", len(series), values)
        return _numpy_column(name, series.to_numpy())
    return _arrow_column(name, arrow)


def _polars_column(name: Any, series: Any) -> Column:
    # The dictionary of a plain categorical may hold strings of other columns; only an Enum declares its own.
    declared = series.dtype.categories if type(series.dtype).__name__ == "Enum" else None
    return _arrow_column(name, series, declared)


def _arrow_column(name: Any, values: Any, declared: Any = None) -> Column:
    try:
        cells = _native.arrow_column(values)
    except ValueError as error:
        raise ValueError(
            f"column {name!r} cannot be used: {error}. Drop it, or cast it to another type."
        ) from None
    column = _column_of_arrow(name, cells)
    if declared is None:
        return column
    return Column(name, "level", column.n_rows, column.cells, declared=named(declared))


def _column_of_arrow(name: Any, cells: _native.ArrowColumn) -> Column:
    kinds = {"number": "number", "bool": "bool", "text": "level", "null": "empty"}
    if cells.kind == "date":
        refuse_dates(f"column {name!r}")
    if cells.kind not in kinds:
        _refuse_type(name, cells.kind)
    kind = kinds[cells.kind]
    return Column(name, kind, len(cells), None if kind == "empty" else cells)


def _numpy_column(name: Any, values: NDArray[Any]) -> Column:
    n, kind = len(values), values.dtype.kind
    if kind == "b":
        return Column(name, "bool", n, in_place(values))
    if kind in "iuf":
        return Column(name, "number", n, in_place(values))
    if kind == "m":
        return Column(name, "number", n, durations(values))
    if kind == "M":
        refuse_dates(f"column {name!r}")
    if kind == "S":
        try:
            values, kind = np.char.decode(values, "utf-8"), "U"
        except UnicodeDecodeError as error:
            raise ValueError(
                f"column {name!r} holds bytes that are no text: {error}. Decode it before."
            ) from None
    if kind == "U":
        values, kind = values.astype(object), "O"
    if kind == "O":
        return _object_column(name, values)
    _refuse_type(name, str(values.dtype))


def _object_column(name: Any, values: NDArray[Any]) -> Column:
    """Python objects: all text, all numbers, or all yes and no; whatever is missing is left out."""
    n, coded = len(values), _native.encode_objects(values)
    if coded is None:
        there = np.fromiter((not is_missing(value) for value in values), bool, n)
        kinds = [_kind_of(name, value) if here else "" for value, here in zip(values, there, strict=True)]
        present = dict.fromkeys(kind for kind in kinds if kind)
        if len(present) > 1:
            (one, other), rows = list(present)[:2], {kind: kinds.index(kind) for kind in present}
            return _mixed_column(
                name,
                values,
                there,
                f"column {name!r} mixes {one}s ({values[rows[one]]!r} in row {rows[one]}) and {other}s "
                f"({values[rows[other]]!r} in row {rows[other]}). Make it one of them, for example strings with "
                f'astype(str), and missing cells None; or say families={{{name!r}: "categorical"}}.',
            )
        kind = next(iter(present), None)
        # Strings that Rust cannot hold (lone surrogates).
        distinct = {value: k for k, value in enumerate(dict.fromkeys(values[there].tolist()))}
        codes = np.array([distinct[v] if h else -1 for v, h in zip(values, there, strict=True)], np.int32)
        texts = list(distinct)
        if kind in _NUMBERS:
            numbers = _numbers(name, values, there, kind)
            # Floats do not tell large integers apart; their names do.
            large = any(isinstance(value, int) and abs(value) > 2**53 for value in texts)
            known = Levels.of(named(texts), codes) if large else None
            return Column(name, "bool" if kind == "bool" else "number", n, numbers, known)
    else:
        first, codes = coded
        texts = values[first].tolist()
    if not texts:
        return Column(name, "empty", n)
    return Column(name, "level", n, known=Levels.of(named(texts), codes))


def _mixed_column(name: Any, values: NDArray[Any], there: Mask, problem: str) -> Column:
    """Cells of several kinds, which can only be taken as levels, and only if that is asked for."""
    names = named(values[there])
    distinct, place = np.unique(names, return_inverse=True)
    codes = np.full(len(values), -1, np.int32)
    codes[there] = place
    return Column(name, "mixed", len(values), known=Levels(distinct, codes), problem=problem)


#: Kinds of objects that become numbers, and how.
_NUMBERS: dict[str, Callable[[Any], float]] = {
    "number": float,
    "bool": float,
    "duration": lambda value: value / datetime.timedelta(seconds=1),
}


def _numbers(name: Any, values: NDArray[Any], there: Mask, kind: str) -> Floats:
    """Objects as floats; NaN is missing."""
    numbers = np.full(len(values), np.nan)
    try:
        numbers[there] = [_NUMBERS[kind](value) for value in values[there]]
    except OverflowError:
        raise ValueError(f"column {name!r} holds numbers beyond the range of floats. Rescale it.") from None
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
    if isinstance(value, datetime.date | datetime.time | np.datetime64):
        refuse_dates(f"column {name!r}")
    # scikit-learn's checks ask for this very kind of error where a cell is no scalar.
    raise TypeError(
        f"column {name!r}: argument must be a string or a number, not {value!r}. A cell is one value."
    )


def is_missing(value: Any) -> bool:
    """Whether a Python object stands for nothing: None, NaN, NaT or pd.NA."""
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def durations(X: NDArray[Any]) -> Floats:
    """Durations as numbers: seconds."""
    return np.asarray(X / np.timedelta64(1, "s"))


def refuse_dates(what: str) -> NoReturn:
    """Say what to do with dates."""
    raise ValueError(
        f"{what} holds dates or times, which are no numbers. Give the time since some day (a duration), or parts "
        "of the date such as month, weekday or hour."
    )


def _refuse_type(name: Any, dtype: str) -> NoReturn:
    raise TypeError(
        f"column {name!r} is of type {dtype}, which cannot be used. Give numbers, strings, categories or yes and no; "
        "or drop the column."
    )
