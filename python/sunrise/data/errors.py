"""Error texts for input that cannot be used: each names the column, the row or value, and the remedy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

from sunrise.statistics.support import LEVELS, Support


def closest(name: Any, names: Iterable[Any]) -> Any:
    """Return the name that is most similar to this one, ignoring case; None if none is similar."""
    lower = {str(other).lower(): other for other in names}
    similar = get_close_matches(str(name).lower(), lower, n=1, cutoff=0.6)
    return lower[similar[0]] if similar else None


def listed(names: Iterable[Any], most: int = 10) -> str:
    """Names in a row, for messages; only the first ones of many."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def place(names: Any, row: int, column: int) -> str:
    """Where a cell is, for messages."""
    name = column if names is None else repr(names[column])
    return f"column {name}, row {row}"


# Cells.


def refuse_cell(who: str, names: Any, fault: tuple[str, int, int, float], support: Support) -> NoReturn:
    """Raise for a cell outside the support; `names` are the names of the block's columns, if it has any."""
    why, row, column, value = fault
    where, shown = place(names, row, column // len(support.views)), f"{value:g}"
    wanted = f"A cell must be {support.text}, or NaN for missing"
    if support is LEVELS and why == "below":
        wanted += " or unknown; set unknown_value=np.nan in an OrdinalEncoder"
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
        "unseen": f"{who}: level {shown} in {where} did not occur in fit. "
        'Fit it, or set unseen="ignore" or unseen="reserve".',
    }
    raise ValueError(texts[why]) from None


def refuse_unseen_level(name: Any, level: str, row: int) -> NoReturn:
    """Raise for a level that did not occur in fit, where the user asked for an error."""
    raise ValueError(
        f"column {name!r}: level {level!r} in row {row} did not occur in fit. "
        'Fit it, or set unseen="ignore" or unseen="reserve".'
    )


# Columns.


def refuse_text(name: Any, value: Any, row: int, family: str) -> NoReturn:
    """Raise for a column of strings where numbers are needed."""
    raise ValueError(
        f"could not convert string to float: column {name!r} holds text ({value!r} in row {row}), and {family} takes "
        'numbers or booleans. Convert it to numbers; for a column of categories use families={...: "categorical"}.'
    )


def refuse_dates(what: str) -> NoReturn:
    """Raise for dates and times."""
    raise ValueError(
        f"{what} holds dates or times, which are not numbers. Give the time since some day (a duration), or parts "
        "of the date such as month, weekday or hour."
    )


def refuse_lazy(X: Any) -> NoReturn:
    """Raise for a lazy table or a reader, which would have to be loaded whole."""
    load = next(
        (name for name in ("collect", "read_all", "to_arrow_table", "to_pyarrow") if hasattr(X, name)),
        "collect",
    )
    raise TypeError(
        f"X is lazy ({type(X).__name__}), and this method needs the whole table in memory: pass X.{load}(). "
        "fit, partial_fit, predict and score of NaiveBayes read it in batches."
    )


def refuse_type(name: Any, dtype: str) -> NoReturn:
    """Raise for a column type that no family can read."""
    if "complex" in dtype.lower():
        raise ValueError(f"Complex data not supported: column {name!r} is of type {dtype}.")
    raise TypeError(
        f"column {name!r} is of type {dtype}, which cannot be used. Give numbers, strings, categories or booleans; "
        "or drop the column."
    )


def refuse_missing_columns(absent: list[Any], unknown: list[Any]) -> NoReturn:
    """Raise for columns of fit that are not in X; point to unknown columns that may be misspelled."""
    similar = [(name, other) for name in absent if (other := closest(name, unknown)) is not None]
    hint = f"Is {similar[0][1]!r} meant to be {similar[0][0]!r}? " if similar else ""
    raise ValueError(
        f"{_columns_are(absent)} missing: the model was fitted with {'them' if absent[1:] else 'it'}. {hint}"
        "Add a column you do not have as nulls; its factor is then left out."
    )


def refuse_unknown_columns(unknown: list[Any]) -> NoReturn:
    """Raise for columns that were not in fit."""
    raise ValueError(
        f"{_columns_are(unknown)} unknown: not present when the model was fitted. "
        f"Drop {'them' if unknown[1:] else 'it'}."
    )


def _columns_are(names: list[Any]) -> str:
    return f"columns {listed(names, 5)} are" if names[1:] else f"column {names[0]!r} is"


def refuse_width(who: str, n_columns: int, expected: int) -> NoReturn:
    """Raise for a wrong number of columns."""
    raise ValueError(
        f"X has {n_columns} features, but {who} is expecting {expected} features as input. "
        "Pass the columns of fit in their order; a column you do not have can be all NaN."
    )


#: The function of pandas and polars that reads files with this ending.
_READERS = {".parquet": "read_parquet", ".json": "read_json", ".xlsx": "read_excel"}


def refuse_path(what: str, path: Any) -> NoReturn:
    """Raise for the path of a file (or any other string) in place of data."""
    name = os.fspath(path)
    name = name.decode(errors="replace") if isinstance(name, bytes) else name
    read = _READERS.get(os.path.splitext(name)[1].lower(), "read_csv")
    raise ValueError(
        f"{what} is the path or string {name!r}, not a table or an array, and files are not read here. Read the file "
        f"first, for example with pandas.{read}({name!r}) or polars.{read}({name!r})."
    )


def refuse_dict(who: str, X: Any) -> NoReturn:
    """Raise for a dict of columns, a record or a list of records where a matrix is needed."""
    one = isinstance(X, dict) and all(isinstance(v, str) or not hasattr(v, "__len__") for v in X.values())
    kind = "a record" if one else "a dict of columns" if isinstance(X, dict) else "a list of records"
    raise ValueError(
        f"X is {kind}, and {who} takes a matrix or a data frame. Pass pandas.DataFrame({'[X]' if one else 'X'}), or "
        "use NaiveBayes, which takes dicts."
    )


def refuse_shape(ndim: int) -> NoReturn:
    """Raise for an array that is not a table of rows and columns."""
    raise ValueError(
        f"Expected 2D array, got {ndim}D array instead: X must be a table of rows and columns. "
        "Reshape your data: X.reshape(-1, 1) is one column, X.reshape(1, -1) one row."
    )


def refuse_no_columns(who: str, n_rows: int) -> NoReturn:
    """Raise for a table without columns."""
    raise ValueError(
        f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required by {who}."
    )


def refuse_no_rows(who: str, n_columns: int) -> NoReturn:
    """Raise for a table without rows."""
    raise ValueError(
        f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required by {who}. "
        "Pass at least one row."
    )
