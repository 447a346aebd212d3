"""The one door for input: every type it may have, every check, every error text."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from sunrise import _native, labels
from sunrise.arrays import Codes, Floats, Labels, Mask, Positions
from sunrise.data.align import label_column
from sunrise.data.batch import Block, ColumnsBlock, DenseBlock, SparseBlock
from sunrise.data.column import Column, Levels
from sunrise.data.frame import (
    Frame,
    durations,
    in_place,
    is_missing,
    is_single,
    library_of,
    readable,
    refuse_dates,
)
from sunrise.family import Family
from sunrise.levels import MISSING, named
from sunrise.schema import Part
from sunrise.support import LEVELS, REAL, Support
from sunrise.threads import threads


def matrix(estimator: Any, X: Any, *, fitting: bool) -> Block:
    """Read a table of numbers as one block; `fitting` learns its width and column names, else they must agree."""
    known = estimator.__dict__
    # A model from parameters has its names from a list, not from a frame: rows without names are welcome.
    unnamed = "feature_names_in_" not in known or "_fixed" in known
    if not fitting and "_fixed" in known and isinstance(X, list):
        X = np.asarray(X)
    if readable(X) and X.ndim == 2 and X.size:
        # The fast lane: plain arrays need none of validate_data's care, which costs more than a prediction.
        if fitting:
            known.pop("feature_names_in_", None)
            known["n_features_in_"] = X.shape[1]
            return DenseBlock(X)
        if unnamed and known["n_features_in_"] == X.shape[1]:
            return DenseBlock(X)
    return _careful_matrix(estimator, X, fitting)


def _careful_matrix(estimator: Any, X: Any, fitting: bool) -> Block:
    if not sparse.issparse(X):
        X = _without_objects(X)
    try:
        cells = validate_data(
            estimator, X, reset=fitting, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
        )
    except ValueError as error:
        raise _with_remedy(error) from None
    return _sparse_block(cells) if sparse.issparse(cells) else DenseBlock(in_place(cells))


def _sparse_block(matrix: Any) -> SparseBlock:
    plain = matrix.dtype in (np.float64, np.float32) and matrix.dtype.isnative
    data = np.require(matrix.data, matrix.dtype if plain else np.float64, ["C", "A"])
    parts = matrix.indices, matrix.indptr
    narrow = all(part.dtype == np.int32 for part in parts)
    indices, indptr = (np.require(part, np.int32 if narrow else np.int64, ["C", "A"]) for part in parts)
    return SparseBlock(data, indices, indptr, matrix.shape)


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
            refuse_dates("X")
        return durations(X) if kind == "m" else kept
    try:
        return X.astype(np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        return _numbers(X)


def _frame_without_objects(X: Any) -> Any:
    """The same for a pandas frame, column by column."""
    kinds = [getattr(dtype, "kind", "") for dtype in X.dtypes]
    if "M" in kinds:
        refuse_dates(f"column {str(X.columns[kinds.index('M')])!r}")
    if "m" in kinds:
        X = X.copy(deep=False)
        for k in (k for k, kind in enumerate(kinds) if kind == "m"):
            X.isetitem(k, durations(X.iloc[:, k].to_numpy()))
    if "O" not in kinds:
        return X
    try:
        values = np.asarray(X, dtype=object).astype(np.float64)
    except (TypeError, ValueError):
        values = _numbers(np.asarray(X, dtype=object), X.columns)
    return type(X)(values, index=X.index, columns=X.columns)


def _numbers(X: NDArray[Any], names: Any = None) -> Floats:
    """The same, cell by cell, so that the one that is no number can be named."""
    numbers = np.empty(X.shape)
    for at, cell in np.ndenumerate(X):
        if is_missing(cell):
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
    name = column if names is None else repr(names[column])
    return f"column {name}, row {row}"


def refuse_cell(who: str, names: Any, fault: tuple[str, int, int, float], support: Support) -> NoReturn:
    """Say which cell cannot be used, and what to do; `names` are those of the block's columns, if it has any."""
    why, row, column, value = fault
    where, shown = _place(names, row, column // len(support.views)), f"{value:g}"
    wanted = f"A cell must be {support.text}, or NaN for missing"
    if support is LEVELS and why == "below":
        wanted += " or unknown; an OrdinalEncoder can be told so with unknown_value=np.nan"
    if why == "below" and support.lowest == 0.0:
        why = "negative"
    texts = {
        "infinite": f"Input X of {who} contains infinity: {shown} in {where}. {wanted}.",
        "negative": f"Negative values in data passed to {who} (input X): {shown} in {where}. {wanted}.",
        "below": f"{who} cannot take {shown} in {where}. {wanted}.",
        "above": f"{who} cannot take {shown} in {where}: it is too large. {wanted}.",
        "fraction": f"{who} takes {'level codes' if support is LEVELS else 'whole numbers'}, not fractions: {shown} in "
        f"{where}. {wanted}"
        + (
            "; to cut numbers into levels use sklearn.preprocessing.KBinsDiscretizer."
            if support is LEVELS
            else "."
        ),
        "unseen": f"{who}: level {shown} in {where} was never seen in fit. "
        'Fit it, or set unseen="ignore" or unseen="reserve".',
    }
    raise ValueError(texts[why]) from None


# Columns of a frame, as a family reads them.


def numbers(column: Column, family: Family) -> Column:
    """The column, which must hold numbers."""
    if column.kind not in ("level", "mixed"):
        return column
    present = column.levels.codes >= 0
    if not present.any():
        return Column(column.name, "empty", column.n_rows)
    row = int(np.argmax(present))
    if column.problem:
        raise ValueError(column.problem)
    raise ValueError(
        f"column {column.name!r} holds text ({column.shown(row)!r} in row {row}), and {family.name} takes numbers, or "
        'yes and no as booleans. Give it so; a column of categories is for families={...: "categorical"}.'
    )


def plain_levels(column: Column, n_jobs: int | None) -> Levels:
    """The levels of a column."""
    try:
        return column.levels_by(n_jobs)
    except _native.CellError as error:
        refuse_cell("NaiveBayes", [column.name], error.args, REAL)
    except ValueError as error:  # text that is none
        raise ValueError(f"column {column.name!r}: {error}. Decode it before, or drop it.") from None


def levels(column: Column, family: Family, n_jobs: int | None = None) -> Levels:
    """The levels of a column; where missing is a level of its own, missing cells have it."""
    names, codes = plain_levels(column, n_jobs)
    if not family.missing_is_level:
        return Levels(names, codes)
    more = np.append(names, named([MISSING]))
    return Levels.of(more, np.where(codes < 0, len(names), codes).astype(np.int32))


def finite(column: Column, family: Family, who: str, weight: Floats | None = None) -> Floats:
    """The numbers of a column, none of them infinite in a row that counts."""
    x = numbers(column, family).numbers()
    bad = np.isinf(x) if weight is None else np.isinf(x) & (weight > 0)
    if bad.any():
        row = int(np.argmax(bad))
        refuse_cell(who, [column.name], ("infinite", row, 0, float(x[row])), family.support)
    return x


def bins(column: Column, family: Any, at: int, who: str, weight: Floats | None = None) -> Codes:
    """The bins of the cells of a column, the one at this place of its block; -1 is missing."""
    found: Codes = family.cuts[at].bins(finite(column, family, who, weight))
    return found


def within(block: Block, support: Support, chosen: Mask) -> Block:
    """The cells of a block; of columns whose family was chosen for them, those that it cannot have say nothing."""
    if not (support.whole or np.isfinite(support.lowest) or np.isfinite(support.highest)):
        return block
    x = block.numbers()
    strange = (x < support.lowest) | (x > support.highest)
    if support.whole:
        strange |= x != np.floor(x)
    strange &= np.isfinite(x) & chosen
    return DenseBlock(np.where(strange, np.nan, x)) if strange.any() else block


def matrix_block(table: Frame, part: Part) -> Block:
    """The numbers of a block: the matrix itself where that is what it is, else its columns."""
    if table.matrix is not None and part.columns == tuple(range(len(table.names))):
        return DenseBlock(table.matrix)
    return ColumnsBlock(tuple(numbers(table.read(j), part.family) for j in part.columns), table.n_rows)


def is_name(y: Any, table: Frame) -> bool:
    """Whether y is the name of a column rather than labels."""
    return isinstance(y, str) or ((np.isscalar(y) or isinstance(y, tuple)) and y in table.names)


def labelled(who: str, X: Any, table: Frame, y: Any) -> tuple[Frame, Any, Any]:
    """The table without its labels, the labels, and the name of their column where they came by it."""
    record = isinstance(X, dict) and all(map(is_single, X.values()))
    if record and np.isscalar(y) and y not in table.names:
        y = [y]  # the label of one record
    if is_name(y, table):
        return _wide(who, table.without(y)), label_column(X, table, y), y
    name = getattr(y, "name", None)
    if name is not None and name in table.names and hasattr(y, "equals"):
        inside = label_column(X, table, name)
        if type(inside) is type(y) and inside.equals(y):
            raise ValueError(
                f"column {name!r} of X holds the labels themselves. Drop it, or pass y={name!r} to take the labels "
                "from there."
            )
    label = name if isinstance(name, str) and name and name not in table.names else None
    return _wide(who, table), y, label


def _wide(who: str, table: Frame) -> Frame:
    if not table.names:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required by {who}."
        )
    return table


def target(who: str, y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Read a column of labels: the classes, sorted, and the code of every row."""
    if y is None:
        raise ValueError(
            f"{who} requires y to be passed, but the target y is None. Pass one label for every row of X."
        )
    if isinstance(y, str):
        raise ValueError(
            f"y is {y!r}, and {who} takes the labels themselves, no column of X by name: NaiveBayes does, of a frame."
        )
    if (found := arrow_target(y, n_rows)) is not None:
        return found
    if not (type(y) is np.ndarray and y.ndim == 1):
        y = column_or_1d(labels.as_array(y), warn=True)
    _refuse_other_length(len(y), n_rows)
    if y.dtype.kind in "fcOmM" or y.dtype.kind not in "biuUS":
        y = _careful_labels(y)
    return labels.encode(y)


class MissingLabelError(ValueError):
    """Some rows have no label; `missing` says which."""

    def __init__(self, missing: Mask) -> None:
        super().__init__(
            f"Input y contains NaN: the label in row {int(np.argmax(missing))} is missing. Drop the rows without a "
            'label, fill it in, or fit NaiveBayes or TextNB with unlabelled="em", which learns from such rows, too.'
        )
        self.missing = missing


def target_or_none(who: str, y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Read a column of labels some of which may be missing: their code is -1."""
    try:
        return target(who, y, n_rows)
    except MissingLabelError as error:
        missing = error.missing
    if missing.all():
        raise ValueError(
            "no row has a label: the classes have to be named by some. Give at least one row of each class its label."
        )
    there = np.flatnonzero(~missing)
    some = _some(y, there)
    if getattr(getattr(some, "dtype", None), "kind", "") == "O" and not any(
        isinstance(label, str) for label in some
    ):
        some = labels.as_array(list(some))  # numbers were objects for the sake of those that are missing
    classes, known = target(who, some, len(there))
    codes = np.full(n_rows, -1, np.int32)
    codes[there] = known
    return classes, codes


def _some(y: Any, rows: Positions) -> Any:
    """The labels of some rows, of the kind they are."""
    if hasattr(y, "iloc"):
        return y.iloc[rows]
    if hasattr(y, "gather"):
        return y.gather(rows)
    if hasattr(y, "take") and not isinstance(y, np.ndarray):
        return y.take(rows.tolist())
    return np.asarray(y)[rows] if isinstance(y, np.ndarray) else [y[k] for k in rows.tolist()]


def _refuse_other_length(n_labels: int, n_rows: int) -> None:
    if n_labels != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]. "
            "y must have one label for every row of X."
        )


def _arrow_of(y: Any) -> _native.ArrowColumn | None:
    """Labels as an Arrow column, where that is what they are."""
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


def arrow_target(y: Any, n_rows: int) -> tuple[Labels, Codes] | None:
    """Labels of an Arrow column: only the different ones become Python's. None where it is not for Arrow."""
    column = _arrow_of(y)
    if column is None:
        return None
    _refuse_other_length(len(column), n_rows)
    if column.kind == "date" and hasattr(y, "to_numpy"):
        days = y.to_numpy(**({"zero_copy_only": False} if library_of(y) == "pyarrow" else {}))
        return labels.encode(_careful_labels(np.asarray(days)))
    if column.kind == "null":
        _refuse_missing_label(np.ones(n_rows, bool))
    if column.kind not in ("number", "bool", "text"):
        raise ValueError(f"Unknown label type: {column.kind}. Labels are strings, numbers or yes and no.")
    first, codes = _native.encode_column(column, threads(None, 4 * n_rows))
    _refuse_missing_label(codes < 0)
    values = column.take(first.tolist())
    plain = column.dtype.lower() if column.dtype.lower() in np.sctypeDict else None
    distinct = np.array(values, dtype=object if column.kind == "text" else plain)
    classes = labels.sort(_careful_labels(distinct) if distinct.dtype.kind == "f" else distinct)
    return classes, _native.map_codes(codes, labels.locate(classes, distinct).astype(np.int32))


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
        if (coded := _native.encode_objects(y)) is not None:  # strings, which need no more care
            _refuse_missing_label(coded[1] < 0)
            return y
        _refuse_missing_label(np.fromiter(map(is_missing, y), bool, len(y)))
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
        raise MissingLabelError(missing)


def weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Read the weights of the rows; None means 1 each."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight is {sample_weight!r}. Pass the weights themselves, one for every row."
        )
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
