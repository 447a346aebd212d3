"""Returns results as a data frame of the caller's library."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from sunrise.data.columns import library_of


def frame(library: Any, columns: dict[Any, Any], index: Any = None) -> Any:
    """Return a data frame of a library with these columns.

    >>> frame("pandas", {"a": [1, 2]})["a"].tolist()
    [1, 2]
    """
    unique = {name: str(name) for name in columns}
    if len(set(unique.values())) < len(unique):  # 1 and "1"
        unique = {name: repr(name) for name in columns}
    result = nw.from_dict(
        {unique[name]: cells for name, cells in columns.items()}, backend=library
    ).to_native()
    if library == "pandas":  # pandas allows any object as a column name
        result.columns = list(columns)
        result.index = result.index if index is None else index
    return result


def frame_like(X: Any, columns: dict[Any, Any]) -> Any:
    """Return a data frame of the library of X, with the index of X."""
    library = library_of(X)
    if library is None:
        raise ValueError(
            f"as_frame=True returns a data frame of the library of X, but X is a {type(X).__name__}. Pass a data frame."
        )
    return frame(library, columns, X.index if library == "pandas" else None)
