"""Predictions of sources: batch by batch, and as a lazy frame."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise.data import write
from sunrise.data.columns import lazy_kind_of
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import label_column
from sunrise.streams.relation import native_table
from sunrise.streams.source import Source, n_rows_of
from sunrise.streams.sql import quoted


def score_source(predict: Callable[[Any], NDArray[Any]], source: Source) -> NDArray[Any]:
    """Return the predictions of all rows of a source, in the order in which it returns them."""
    with closing(source):
        parts = [predict(piece.table) for piece in source.pieces()]
    if not parts:
        raise ValueError("The source has no rows, so there is nothing to predict.")
    return np.concatenate(parts)


def labelled_batches(source: Source, y: Any, sample_weight: Any) -> Iterator[tuple[Frame, Any, Any]]:
    """Return the batches of a source with labels and weights; y and sample_weight are names of its columns.

    Batches without a row of positive weight are left out.
    """
    if not isinstance(y, str) or not isinstance(sample_weight, str | None):
        raise ValueError("X comes in batches. Pass the names of its columns as y and sample_weight.")
    is_empty = True
    with closing(source):
        for piece in source.pieces():
            table, weight, n_rows = frame_of(piece.table), None, float(n_rows_of(piece.table))
            labels = label_column(piece.table, table, y)
            if sample_weight is not None:
                weight = np.asarray(label_column(piece.table, table, sample_weight), dtype=float)
                n_rows = float(weight.sum())
                table = table.without(sample_weight)
            if n_rows > 0:
                is_empty = False
                yield table.without(y), labels, weight
    if is_empty:
        raise ValueError("The source has no rows with a positive weight, so there is nothing to score.")


def lazy_predictions(X: Any, predict: Callable[[Any], Any], columns: dict[Any, Any]) -> Any:
    """Return the predictions of a polars LazyFrame as a LazyFrame, computed in batches when it is collected.

    `columns` has one example of every column of the result.
    """
    schema = write.frame("polars", columns).schema
    return X.map_batches(
        predict,
        schema=schema,
        streamable=True,
        projection_pushdown=False,
        predicate_pushdown=False,
        slice_pushdown=False,
    )


#: Dialects of the exported query, by the engine of a lazy table.
_DIALECTS = {"duckdb": "duckdb", "postgres": "postgresql", "sqlite": "sqlite"}


def predictions_by_sql(
    X: Any, query_of: Callable[[str, str, list[str]], str], columns: Sequence[int], names: Sequence[str]
) -> Any:
    """Return a DuckDB relation or an Ibis table with the columns of X and predictions, computed by its engine.

    `query_of` returns the exported query, given a dialect, the name of a table and the columns to keep. `columns` are
    the positions of the wanted columns among those of its predictions, and `names` are their names in the result.
    """
    kind, given = lazy_kind_of(X), list(X.columns)
    engine = "duckdb" if kind == "duckdb" else str(X.get_backend().name)
    if engine not in _DIALECTS:
        raise TypeError(
            f"as_frame=True is not available for tables of {engine}. Leave it out: the result is then an array, "
            "computed in batches."
        )
    if taken := [name for name in names if name in given]:
        raise ValueError(
            f"X has a column {taken[0]!r}, which is also the name of a column of predictions. Rename it in X."
        )
    # A name of its own for every table: the engine reads it when the result is computed.
    rows = f"sunrise_rows_{secrets.token_hex(4)}"
    query = query_of(_DIALECTS[engine], rows, given)
    found = native_table(X).query(rows, query) if engine == "duckdb" else X.alias(rows).sql(query)
    new = [found.columns[len(given) + k] for k in columns]
    if engine == "duckdb":
        renamed = [f"{quoted(old)} AS {quoted(name)}" for old, name in zip(new, names, strict=True)]
        found = found.project(", ".join([*map(quoted, given), *renamed]))
        if kind == "duckdb":
            return found
        found.create_view(f"{rows}_predicted")  # Ibis 12 cannot read the types of a query of DuckDB 2
        return X.get_backend().table(f"{rows}_predicted")
    cells = {name: found[old] for old, name in zip(new, names, strict=True)}
    return found.select(*given, **cells)
