"""Results in the caller's kind of frame."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw


def frame(library: Any, columns: dict[str, Any], index: Any = None) -> Any:
    """A frame of that library with these columns.

    >>> frame("pandas", {"a": [1, 2]})["a"].tolist()
    [1, 2]
    """
    made = nw.from_dict(columns, backend=library).to_native()
    if index is not None:
        made.index = index
    return made
