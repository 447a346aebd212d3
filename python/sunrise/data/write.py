"""Results in the caller's kind of frame."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from sunrise.data.columns import library_of


def frame(library: Any, columns: dict[Any, Any], index: Any = None) -> Any:
    """A frame of that library with these columns.

    >>> frame("pandas", {"a": [1, 2]})["a"].tolist()
    [1, 2]
    """
    called = {name: str(name) for name in columns}
    if len(set(called.values())) < len(called):  # 1 and "1"
        called = {name: repr(name) for name in columns}
    made = nw.from_dict({called[name]: cells for name, cells in columns.items()}, backend=library).to_native()
    if library == "pandas":  # whose columns may be called anything
        made.columns = list(columns)
        made.index = made.index if index is None else index
    return made


def like(X: Any, columns: dict[Any, Any]) -> Any:
    """A frame of the kind that X is, with the rows of X."""
    library = library_of(X)
    if library is None:
        raise ValueError(
            f"as_frame=True gives a frame of X's kind, and X is no frame but {type(X).__name__}."
        )
    return frame(library, columns, X.index if library == "pandas" else None)
