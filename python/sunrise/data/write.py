"""Returns results as a data frame of the caller's library."""

from __future__ import annotations

import sys
from typing import Any

import narwhals.stable.v2 as nw

from sunrise.data.columns import library_of
from sunrise.data.types import ColumnType


def frame(
    library: Any, columns: dict[Any, Any], index: Any = None, types: dict[Any, ColumnType] | None = None
) -> Any:
    """Return a data frame of a library with these columns, and with these types of columns where they are given.

    >>> frame("pandas", {"a": [1, 2]})["a"].tolist()
    [1, 2]
    """
    unique = {name: str(name) for name in columns}
    if len(set(unique.values())) < len(unique):  # 1 and "1"
        unique = {name: repr(name) for name in columns}
    table = nw.from_dict({unique[name]: cells for name, cells in columns.items()}, backend=library)
    if library == "pandas":  # pandas allows any object as a column name
        result = table.to_native()
        result.columns = list(columns)
        result.index = result.index if index is None else index
        return result if types is None else _cast_pandas(result, types)
    casts = [
        nw.col(unique[name]).cast(_dtype(*own.dtype))
        for name, own in (types or {}).items()
        if own.dtype is not None and not _is_empty(columns[name])
    ]
    return (table.with_columns(*casts) if casts else table).to_native()


def _dtype(name: str, *arguments: Any) -> Any:
    """Return the narwhals type with this name and these arguments."""
    return getattr(nw, name)(*arguments)


def _is_empty(cells: Any) -> bool:
    """True if all cells are missing: the model does not use the column."""
    return all(cell is None for cell in cells)


def _cast_pandas(table: Any, types: dict[Any, ColumnType]) -> Any:
    """Return a pandas frame with these types; integers with missing cells and empty columns keep their type."""
    pandas = sys.modules["pandas"]
    own: dict[Any, Any] = {}
    for name, wanted in types.items():
        if wanted.categories is not None:
            own[name] = pandas.CategoricalDtype(list(wanted.categories.values()), wanted.is_ordered)
        elif wanted.dtype not in (None, "object") and not table[name].isna().any():
            own[name] = wanted.dtype
    return table.astype(own)


def frame_like(X: Any, columns: dict[Any, Any]) -> Any:
    """Return a data frame of the library of X, with the index of X."""
    library = library_of(X)
    if library is None:
        raise ValueError(
            f"as_frame=True returns a data frame of the library of X, but X is a {type(X).__name__}. Pass a data frame."
        )
    return frame(library, columns, X.index if library == "pandas" else None)
