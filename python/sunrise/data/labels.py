"""Labels: read the target column from any kind of input into sorted classes and class codes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common import labels
from sunrise._common.arrays import Codes, Labels, Mask, Positions
from sunrise._common.lazy import validation
from sunrise._common.threads import threads
from sunrise.data.columns import is_missing, library_of
from sunrise.data.errors import closest, refuse_no_columns, refuse_path
from sunrise.data.frame import Frame, is_single


def is_name(y: Any, table: Frame) -> bool:
    """True if y is the name of a column, False if y holds the labels."""
    if isinstance(y, str | np.ndarray):
        return isinstance(y, str)
    return (np.isscalar(y) or isinstance(y, tuple)) and y in table.names


def separate_labels(who: str, X: Any, table: Frame, y: Any) -> tuple[Frame, Any, Any]:
    """Return the table without its label column, the labels, and the name of the label column if it is known."""
    is_record = isinstance(X, dict) and all(map(is_single, X.values()))
    if is_record and np.isscalar(y) and y not in table.names:
        y = [y]  # the label of one record
    if is_name(y, table):
        return _require_columns(who, table.without(y)), label_column(X, table, y), y
    name = getattr(y, "name", None)
    if name is not None and name in table.names and hasattr(y, "equals"):
        same_name = label_column(X, table, name)
        if type(same_name) is type(y) and same_name.equals(y):
            raise ValueError(
                f"column {name!r} of X holds the labels themselves. Drop it, or pass y={name!r} to read the labels "
                "from X."
            )
    label = name if isinstance(name, str) and name and name not in table.names else None
    return _require_columns(who, table), y, label


def _require_columns(who: str, table: Frame) -> Frame:
    if not len(table.names):
        refuse_no_columns(who, table.n_rows)
    return table


def label_column(X: Any, table: Frame, name: Any) -> Any:
    """Return the labels in a column of X; raise if X has no column with this name."""
    if name not in table.names and not table.is_named:
        raise ValueError(
            f"y is {name!r}, but X ({type(X).__name__}) has no column names. Pass the labels themselves, or pass X as "
            f"a data frame whose label column is called {name!r}."
        )
    if name not in table.names:
        similar = closest(name, table.names)
        raise ValueError(
            f"y is {name!r}, but X has no column of this name. "
            + (f"Do you mean {similar!r}? " if similar is not None else "")
            + "Pass the labels themselves, or the name of X's label column."
        )
    at = table.names.index(name)
    if table.library == "pandas":
        return X.iloc[:, at]
    if table.library in ("polars", "pyarrow"):
        return X[name]
    if isinstance(X, dict):
        return [X[name]] if is_single(X[name]) else X[name]
    if isinstance(X, list) and isinstance(X[0], dict):
        return [row.get(name) for row in X]
    column = table.read(at)
    if column.known is None:
        return column.cells
    labels = np.full(table.n_rows, None, dtype=object)
    present = column.known.codes >= 0
    labels[present] = column.known.names[column.known.codes[present]]
    return labels


def encode_labels(who: str, y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Return the sorted classes and the class code of every row."""
    if not (type(y) is np.ndarray and y.ndim == 1):
        _refuse_no_labels(who, y)
        if (encoded := encode_arrow_labels(y, n_rows)) is not None:
            return encoded
        y = _as_one_dimension(labels.as_array(y))
    _refuse_other_length(len(y), n_rows)
    if y.dtype.kind in "fcOmM" or y.dtype.kind not in "biuUS":
        y = _check_labels(y)
    return labels.encode(y)


class MissingLabelError(ValueError):
    """Error for rows without a label; `missing` is the mask of these rows."""

    def __init__(self, missing: Mask) -> None:
        super().__init__(
            f"Input y contains NaN: the label in row {int(np.argmax(missing))} is missing. Drop the rows without a "
            'label, fill in the labels, or fit NaiveBayes or TextNB with unlabelled="em" to learn from unlabelled rows.'
        )
        self.missing = missing


def encode_partial_labels(who: str, y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Return the sorted classes and the class code of every row; a missing label has code -1."""
    try:
        return encode_labels(who, y, n_rows)
    except MissingLabelError as error:
        missing = error.missing
    if missing.all():
        raise ValueError(
            "no row has a label, so the classes are unknown. Label at least one row of each class."
        )
    rows = np.flatnonzero(~missing)
    present = _select_rows(y, rows)
    if getattr(getattr(present, "dtype", None), "kind", "") == "O" and not any(
        isinstance(label, str) for label in present
    ):
        present = labels.as_array(list(present))  # numbers are objects only because others are missing
    classes, present_codes = encode_labels(who, present, len(rows))
    codes = np.full(n_rows, -1, np.int32)
    codes[rows] = present_codes
    return classes, codes


def _select_rows(y: Any, rows: Positions) -> Any:
    """Return the labels of some rows in the container type of y."""
    if hasattr(y, "iloc"):
        return y.iloc[rows]
    if hasattr(y, "gather"):
        return y.gather(rows)
    if hasattr(y, "take") and not isinstance(y, np.ndarray):
        return y.take(rows.tolist())
    return np.asarray(y)[rows] if isinstance(y, np.ndarray) else [y[k] for k in rows.tolist()]


def _refuse_no_labels(who: str, y: Any) -> None:
    """Raise if y is nothing, a path or the name of a column."""
    if y is None:
        raise ValueError(
            f"{who} requires y to be passed, but the target y is None. Pass one label for every row of X."
        )
    if isinstance(y, os.PathLike):
        refuse_path("y", y)
    if isinstance(y, str):
        raise ValueError(
            f"y is {y!r}, but {who} does not accept the name of a column. Pass the labels themselves, or use "
            "NaiveBayes, which accepts the name of the label column of a data frame."
        )


def _refuse_other_length(n_labels: int, n_rows: int) -> None:
    if n_labels != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]. "
            "y must have one label for every row of X."
        )


def _arrow_of(y: Any) -> _native.ArrowColumn | None:
    """Return labels as an Arrow column; None if y is not stored in Arrow format."""
    library = library_of(y)
    if isinstance(y, _native.ArrowColumn):
        return y
    if library in ("polars", "pyarrow"):
        return _native.arrow_column(y)
    dtype = getattr(y, "dtype", None)
    if library != "pandas" or dtype is None or isinstance(dtype, np.dtype) or hasattr(dtype, "categories"):
        return None
    try:
        return _native.arrow_column(y.array.__arrow_array__())
    except (ImportError, AttributeError):
        return None


def encode_arrow_labels(y: Any, n_rows: int) -> tuple[Labels, Codes] | None:
    """Encode labels in Arrow format without converting every label to Python; None if y is not in Arrow format."""
    column = _arrow_of(y)
    if column is None:
        return None
    _refuse_other_length(len(column), n_rows)
    if column.kind == "date" and hasattr(y, "to_numpy"):
        days = y.to_numpy(**({"zero_copy_only": False} if library_of(y) == "pyarrow" else {}))
        return labels.encode(_check_labels(np.asarray(days)))
    if column.kind == "null":
        _refuse_missing_label(np.ones(n_rows, bool))
    if column.kind not in ("number", "bool", "text"):
        raise ValueError(f"Unknown label type: {column.kind}. Labels must be strings, numbers or booleans.")
    first, codes = _native.encode_column(column, threads(None, 4 * n_rows))
    _refuse_missing_label(codes < 0)
    values = column.take(first.tolist())
    plain = column.dtype.lower() if column.dtype.lower() in np.sctypeDict else None
    distinct = np.array(values, dtype=object if column.kind == "text" else plain)
    classes = labels.sort(_check_labels(distinct) if distinct.dtype.kind == "f" else distinct)
    return classes, _native.map_codes(codes, labels.locate(classes, distinct).astype(np.int32))


def _check_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels; raise if any is missing, infinite, fractional or not a scalar."""
    if y.dtype.kind == "f":
        _refuse_missing_label(np.isnan(y))
        if not np.isfinite(y).all():
            raise ValueError(
                f"Input y contains infinity or a value too large for {y.dtype!r}: label {y[~np.isfinite(y)][0]} "
                f"in row {int(np.argmin(np.isfinite(y)))}. A label must be finite."
            )
        if (y != np.floor(y)).any():
            validation.check_classification_targets(y)  # raises with scikit-learn's text, "continuous"
    elif y.dtype.kind == "O":
        if (coded := _native.encode_objects(y)) is not None:  # strings only
            _refuse_missing_label(coded[1] < 0)
            return y
        _refuse_missing_label(np.fromiter(map(is_missing, y), bool, len(y)))
        if any(isinstance(v, list | np.ndarray | dict | set) for v in y):
            raise ValueError(
                "Unknown label type: unknown. A label must be a single value, not "
                f"{next(v for v in y if isinstance(v, list | np.ndarray | dict | set))!r}."
            )
        if all(isinstance(v, float | np.floating) for v in y):
            return _check_labels(y.astype(float))
    elif y.dtype.kind in "mM":
        _refuse_missing_label(np.isnat(y))
    else:
        validation.check_classification_targets(y)
    return y


def _as_one_dimension(y: Any) -> NDArray[Any]:
    """Return labels as an array of one dimension, as scikit-learn does."""
    if isinstance(getattr(y, "dtype", None), np.dtype) and np.ndim(y) == 1:
        return np.asarray(y)
    return validation.column_or_1d(y, warn=True)  # type: ignore[no-any-return]


def _refuse_missing_label(missing: Mask) -> None:
    if missing.any():
        raise MissingLabelError(missing)
