"""The one door for input: every type it may have, every check, every error text."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from sunrise import labels
from sunrise.arrays import Codes, Floats, Labels, Mask
from sunrise.data.batch import Batch, DenseBlock, SparseBlock
from sunrise.support import Support

_PLAIN = frozenset(np.dtype(t) for t in ["f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"])


def _is_plain(x: Any) -> bool:
    """Whether the kernels can read this array in place."""
    if type(x) is not np.ndarray or x.ndim != 2 or x.dtype not in _PLAIN or not x.flags.aligned:
        return False
    size = x.itemsize
    return x.strides[0] % size == 0 and x.strides[1] % size == 0


def _in_place(x: NDArray[Any]) -> NDArray[Any]:
    """The array itself if the kernels can read it, else a copy they can."""
    if _is_plain(x):
        return x
    if x.dtype.kind == "b":
        # Any byte but 0 is true; Rust, unlike NumPy, must never see a bool that is neither 0 nor 1.
        return np.not_equal(x.view(np.uint8), 0).astype(np.uint8)
    kept = x.dtype.newbyteorder("=")
    dtype = kept if kept in _PLAIN else np.dtype(np.float32 if kept == np.float16 else np.float64)
    return np.require(x, dtype, ["C", "A"])


def table(estimator: Any, X: Any, *, fitting: bool) -> Batch:
    """Read the cells of a table; `fitting` learns its width and column names, else they must agree."""
    known = estimator.__dict__
    # A model from parameters has its names from a list, not from a frame: rows without names are welcome.
    unnamed = "feature_names_in_" not in known or "_fixed" in known
    if not fitting and "_fixed" in known and isinstance(X, list):
        X = np.asarray(X)
    if _is_plain(X) and X.size:
        # The fast lane: plain arrays need none of validate_data's care, which costs more than a prediction.
        if fitting:
            known.pop("feature_names_in_", None)
            known["n_features_in_"] = X.shape[1]
            return Batch(X.shape[0], (DenseBlock(X),))
        if unnamed and known["n_features_in_"] == X.shape[1]:
            return Batch(X.shape[0], (DenseBlock(X),))
    return _careful_table(estimator, X, fitting)


def _careful_table(estimator: Any, X: Any, fitting: bool) -> Batch:
    if not sparse.issparse(X):
        X = _without_objects(X)
    try:
        cells = validate_data(
            estimator, X, reset=fitting, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
        )
    except ValueError as error:
        raise _with_remedy(error) from None
    block = _sparse_block(cells) if sparse.issparse(cells) else DenseBlock(_in_place(cells))
    return Batch(block.shape[0], (block,))


def _sparse_block(matrix: Any) -> SparseBlock:
    plain = matrix.dtype in (np.float64, np.float32) and matrix.dtype.isnative
    data = np.require(matrix.data, matrix.dtype if plain else np.float64, ["C", "A"])
    parts = matrix.indices, matrix.indptr
    narrow = all(part.dtype == np.int32 for part in parts)
    indices, indptr = (np.require(part, np.int32 if narrow else np.int64, ["C", "A"]) for part in parts)
    return SparseBlock(data, indices, indptr, matrix.shape)


def _is_missing(value: Any) -> bool:
    """Whether a Python object stands for nothing: None, NaN, NaT or pd.NA."""
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _without_objects(X: Any) -> Any:
    """Turn an array of Python objects into numbers; None, pd.NA and NaT are missing."""
    kept = X
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):
        return _frame_without_objects(X)
    if isinstance(X, list | tuple) and X:
        X = np.asarray(X)
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O" or X.ndim != 2:
        kind = getattr(getattr(X, "dtype", None), "kind", "")
        if kind == "M":
            _refuse_dates("X")
        return _durations(X) if kind == "m" else kept
    try:
        return X.astype(np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        return _numbers(X)


def _frame_without_objects(X: Any) -> Any:
    """The same for a pandas frame, column by column."""
    kinds = [getattr(dtype, "kind", "") for dtype in X.dtypes]
    if "M" in kinds:
        _refuse_dates(f"column {str(X.columns[kinds.index('M')])!r}")
    if "m" in kinds:
        X = X.copy(deep=False)
        for k in (k for k, kind in enumerate(kinds) if kind == "m"):
            X.isetitem(k, _durations(X.iloc[:, k].to_numpy()))
    if "O" not in kinds:
        return X
    try:
        values = np.asarray(X, dtype=object).astype(np.float64)
    except (TypeError, ValueError):
        values = _numbers(np.asarray(X, dtype=object), X.columns)
    return type(X)(values, index=X.index, columns=X.columns)


def _durations(X: NDArray[Any]) -> Floats:
    """Durations as numbers, in the unit they have."""
    return np.where(np.isnat(X), np.nan, X.astype(np.int64))


def _refuse_dates(what: str) -> NoReturn:
    raise ValueError(
        f"{what} holds dates, which are no numbers. Give the time since some day (a duration), or parts of the date "
        "such as month, weekday or hour."
    )


def _numbers(X: NDArray[Any], names: Any = None) -> Floats:
    """The same, cell by cell, so that the one that is no number can be named."""
    numbers = np.empty(X.shape)
    for at, cell in np.ndenumerate(X):
        if _is_missing(cell):
            numbers[at] = np.nan
            continue
        try:
            numbers[at] = cell
        except TypeError:
            # scikit-learn's checks ask for this very kind of error where a cell is no scalar.
            raise TypeError(
                f"argument must be a string or a number, not {cell!r} in {_place(names, *at)}"
            ) from None
        except ValueError:
            raise ValueError(
                f"could not convert string to float: {cell!r} in {_place(names, *at)}. Give numbers, or encode "
                "the column first (for example with sklearn.preprocessing.OrdinalEncoder)."
            ) from None
    return numbers


def _with_remedy(error: ValueError) -> ValueError:
    text = str(error)
    if "yet now missing" in text:
        text += "\nAdd a missing column as nulls (NaN): its factor is then left out."
    elif "unseen at fit time" in text:
        text += "\nDrop the columns that were not there in fit."
    elif "features, but" in text:
        text += " Pass the columns of fit in their order; a column you do not have can be all NaN."
    else:
        return error
    return type(error)(text)


def _place(names: Any, row: int, column: int) -> str:
    name = column if names is None else repr(str(names[column]))
    return f"column {name}, row {row}"


def refuse_cell(estimator: Any, fault: tuple[str, int, int, float], support: Support) -> NoReturn:
    """Say which cell cannot be used, and what to do."""
    why, row, column, value = fault
    who, where = type(estimator).__name__, _place(getattr(estimator, "feature_names_in_", None), row, column)
    shown = f"{value:g}"
    wanted = f"A cell must be {support.text}, or NaN for missing"
    if support.whole and why == "below":
        wanted += " or unknown; an OrdinalEncoder can be told so with unknown_value=np.nan"
    texts = {
        "infinite": f"Input X of {who} contains infinity: {shown} in {where}. {wanted}.",
        "below": f"Negative values in data passed to {who} (input X): {shown} in {where}. {wanted}.",
        "above": f"{who} cannot take {shown} in {where}: it is too large. {wanted}.",
        "fraction": f"{who} takes level codes, not fractions: {shown} in {where}. {wanted}; "
        "to cut numbers into levels use sklearn.preprocessing.KBinsDiscretizer.",
        "unseen": f"{who}: level {shown} in {where} was never seen in fit. "
        'Fit it, or set unseen="ignore" or unseen="reserve".',
    }
    raise ValueError(texts[why]) from None


def target(estimator: Any, y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Read a column of labels: the classes, sorted, and the code of every row."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            "Pass one label for every row of X."
        )
    if not (type(y) is np.ndarray and y.ndim == 1):
        y = column_or_1d(labels.as_array(y), warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]. "
            "y must have one label for every row of X."
        )
    if y.dtype.kind in "fcOmM" or y.dtype.kind not in "biuUS":
        y = _careful_labels(y)
    return labels.encode(y)


def _careful_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels that may be missing, or numbers with fractions."""
    if y.dtype.kind == "f":
        _refuse_missing_label(np.isnan(y))
        if not np.isfinite(y).all():
            raise ValueError(
                f"Input y contains infinity or a value too large for {y.dtype!r}: label {y[~np.isfinite(y)][0]} "
                f"in row {int(np.argmin(np.isfinite(y)))}. Labels name classes."
            )
        if (y != np.floor(y)).any():
            check_classification_targets(y)  # says "continuous"
    elif y.dtype.kind == "O":
        _refuse_missing_label(np.fromiter(map(_is_missing, y), bool, len(y)))
        if any(isinstance(v, list | np.ndarray | dict | set) for v in y):
            raise ValueError(
                "Unknown label type: unknown. A label must be one value a class can be named by: "
                f"{next(v for v in y if isinstance(v, list | np.ndarray | dict | set))!r} is not."
            )
        if all(isinstance(v, float | np.floating) for v in y):
            return _careful_labels(y.astype(float))
    elif y.dtype.kind in "mM":
        _refuse_missing_label(np.isnat(y))
    else:
        check_classification_targets(y)
    return y


def _refuse_missing_label(missing: Mask) -> None:
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: the label in row {int(np.argmax(missing))} is missing. "
            "Drop the rows without a label, or fill it in."
        )


def weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Read the weights of the rows; None means 1 each."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weight.shape}, expected ({n_rows},). "
            "Give one weight for every row of X."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight holds infinity or NaN. Give every row a finite weight of 0 or more.")
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight is negative in row {int(np.argmax(weight < 0))}: {weight.min():g}. "
            "A weight is 0 or more; to take rows back out of a model use forget()."
        )
    if not weight.any():
        raise ValueError(
            "sample_weight is zero for every row: there is nothing to fit. Give at least one row a positive weight."
        )
    return np.require(weight, requirements=["C", "A"])
