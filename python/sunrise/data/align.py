"""Columns by name: a table brought into the order of the model's first data."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from sunrise.alert import alert
from sunrise.data.column import Column
from sunrise.data.frame import Frame, is_single
from sunrise.schema import Schema


class ColumnNamesWarning(UserWarning):
    """Columns are taken in their order, because either the model or X has no names for them.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ColumnNamesWarning)`.
    """


def align(table: Frame, schema: Schema) -> Frame:
    """The columns of the schema, in its order; what is missing or unknown is refused."""
    if not (schema.is_named and table.is_named):
        return _by_position(table, schema)
    if table.names == schema.names:
        return table
    place = {name: j for j, name in enumerate(table.names)}
    choices = zip(schema.names, schema.choices, strict=True)
    absent = [name for name, choice in choices if name not in place and choice.family is not None]
    strange = [name for name in table.names if name not in {*schema.names, schema.label}]
    if absent:
        raise ValueError(
            f"{_columns(absent)} missing: the model was fitted with {'them' if absent[1:] else 'it'}. "
            + _typos(absent, strange)
            + "Add a column you do not have as nulls; its factor is then left out."
        )
    if strange:
        raise ValueError(
            f"{_columns(strange)} unknown: not there when the model was fitted. Drop {'them' if strange[1:] else 'it'}."
        )
    order = [place.get(name) for name in schema.names]

    def read(j: int) -> Column:
        at = order[j]
        # Only a column that is left out may be absent.
        return Column(schema.names[j], "empty", table.n_rows) if at is None else table.read(at)

    return Frame(schema.names, table.n_rows, read, table.library, index=table.index)


def _columns(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:5]) + (
        f" and {len(names) - 5} more" if len(names) > 5 else ""
    )
    return f"columns {shown} are" if names[1:] else f"column {shown} is"


def _typos(absent: list[Any], strange: list[Any]) -> str:
    """Point to unknown columns that may be the missing ones."""
    for name in absent:
        if close := closest(name, strange):
            return f"Is {close!r}, which it does not know, {name!r}? "
    return ""


def closest(name: Any, names: Iterable[Any]) -> Any:
    """The one among names that is most like this one, if any is, whatever its case."""
    lower = {str(other).lower(): other for other in names}
    found = get_close_matches(str(name).lower(), lower, n=1, cutoff=0.6)
    return lower[found[0]] if found else None


def _by_position(table: Frame, schema: Schema) -> Frame:
    if len(table.names) != len(schema.names):
        raise ValueError(
            f"X has {len(table.names)} features, but NaiveBayes is expecting {len(schema.names)} features as input. "
            "Pass the columns of fit in their order; a column you do not have can be all NaN."
        )
    numbered = tuple(range(len(schema.names)))
    if schema.is_named != table.is_named and not schema.names == table.names == numbered:
        with_names, without = ("the model", "X") if schema.is_named else ("X", "the model")
        alert(
            f"{with_names} has column names and {without} has none: columns are taken in their order. "
            "Pass the same kind of table to fit and predict.",
            ColumnNamesWarning,
        )
    return table


def label_column(X: Any, table: Frame, name: Any) -> Any:
    """The column of labels that is called so."""
    if name not in table.names:
        close = closest(name, table.names)
        raise ValueError(
            f"y is {name!r}, which is no column of X. "
            + (f"Is it {close!r}? " if close is not None else "")
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
    there = column.known.codes >= 0
    labels[there] = column.known.names[column.known.codes[there]]
    return labels
