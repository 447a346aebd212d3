"""Rows of a table in the type of the table: some rows by position, or all rows without a column."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from sunrise._common.arrays import Positions
from sunrise._common.lazy import is_sparse
from sunrise.data.columns import library_of
from sunrise.data.frame import frame_of


def take(X: Any, rows: Positions) -> Any:
    """Return some rows of a table or some cells of a column, by position, in the type of X.

    >>> take({"a": [1, 2, 3], "b": np.array([4.0, 5.0, 6.0])}, np.array([2, 0]))
    {'a': [3, 1], 'b': array([6., 4.])}
    """
    if isinstance(X, dict):
        return {name: take(column, rows) for name, column in X.items()}
    if isinstance(X, list | tuple):
        return [X[k] for k in rows.tolist()]
    if isinstance(X, np.ndarray):
        return X[rows]
    if is_sparse(X):
        return X.tocsr()[rows]
    library = library_of(X)
    if library == "pandas":
        return X.iloc[rows]
    if library == "pyarrow":
        return X.take(rows)
    if library == "polars":
        return X[rows]
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        return frame_of(X).select_rows(rows)
    return np.asarray(X)[rows]


def without_column(X: Any, name: Any) -> Any:
    """Return a table without a column, in the type of X."""
    if isinstance(X, dict):
        return {other: column for other, column in X.items() if other != name}
    if isinstance(X, list):
        return [{key: cell for key, cell in row.items() if key != name} for row in X]
    if library_of(X) == "pandas":
        return X.drop(columns=[name])
    if library_of(X) is not None:
        return nw.from_native(X, eager_only=True).drop(name).to_native()
    return frame_of(X).without(name)
