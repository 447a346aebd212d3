"""Columns by name: a table brought into the order of the model's first data."""

from __future__ import annotations

import warnings
from typing import Any

from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.schema import Schema


def align(table: Frame, schema: Schema) -> Frame:
    """The columns of the schema, in its order; what is missing or unknown is refused."""
    if not (schema.is_named and table.is_named):
        return _by_position(table, schema)
    place = {name: j for j, name in enumerate(table.names)}
    absent = [
        name
        for name, choice in zip(schema.names, schema.choices, strict=True)
        if name not in place and choice.family is not None
    ]
    if absent:
        raise ValueError(
            f"column {absent[0]!r} is missing ({len(absent)} in all): the model was fitted with it. Add a column you "
            "do not have as nulls; its factor is then left out."
        )
    known = {*schema.names, schema.label}
    strange = [name for name in table.names if name not in known]
    if strange:
        raise ValueError(
            f"column {strange[0]!r} is unknown ({len(strange)} in all): it was not there when the model was fitted. "
            "Drop it."
        )
    order = [place.get(name) for name in schema.names]

    def read(j: int) -> Column:
        at = order[j]
        # Only a column that is left out may be absent.
        return Column(schema.names[j], "empty", table.n_rows) if at is None else table.read(at)

    return Frame(schema.names, table.n_rows, read, table.library, index=table.index)


def _by_position(table: Frame, schema: Schema) -> Frame:
    if len(table.names) != len(schema.names):
        raise ValueError(
            f"X has {len(table.names)} features, but NaiveBayes is expecting {len(schema.names)} features as input. "
            "Pass the columns of fit in their order; a column you do not have can be all NaN."
        )
    if schema.is_named != table.is_named:
        with_names, without = ("the model", "X") if schema.is_named else ("X", "the model")
        warnings.warn(
            f"{with_names} has column names and {without} has none: columns are taken in their order. "
            "Pass the same kind of table to fit and predict.",
            UserWarning,
            stacklevel=5,
        )
    return table


def label_column(X: Any, table: Frame, name: Any) -> Any:
    """The column of labels that is called so."""
    if name not in table.names:
        raise ValueError(
            f"y is {name!r}, which is no column of X. Pass the labels themselves, or the name of X's label column."
        )
    if table.library == "pandas":
        return X.iloc[:, table.names.index(name)]
    if table.library in ("polars", "pyarrow") or isinstance(X, dict):
        return X[name]
    return table.read(table.names.index(name)).cells
