"""Results in the caller's kind of frame."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from sunrise.data.frame import library_of


def frame(library: Any, columns: dict[str, Any], index: Any = None) -> Any:
    """A frame of that library with these columns.

    >>> frame("pandas", {"a": [1, 2]})["a"].tolist()
    [1, 2]
    """
    made = nw.from_dict(columns, backend=library).to_native()
    if index is not None:
        made.index = index
    return made


def like(X: Any, columns: dict[Any, Any]) -> Any:
    """A frame of the kind that X is, with the rows of X; only pandas has columns that are not called by strings."""
    library = library_of(X)
    name = str if len({str(key) for key in columns}) == len(columns) else repr  # 1 and "1"
    if library is None:
        raise ValueError(
            f"as_frame=True gives a frame of X's kind, and X is no frame but {type(X).__name__}."
        )
    if library != "pandas":
        return frame(library, {name(key): value for key, value in columns.items()})
    made = frame(library, {str(k): value for k, value in enumerate(columns.values())}, X.index)
    made.columns = list(columns)
    return made
