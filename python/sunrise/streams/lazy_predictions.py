"""Predictions of sources: batch by batch, and as a lazy frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise.data import write
from sunrise.data.columns import lazy_kind_of
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import label_column
from sunrise.streams.source import Source, n_rows_of


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
    if lazy_kind_of(X) != "polars":
        raise TypeError(
            f"as_frame=True cannot return a {type(X).__name__} of predictions. Leave it out: the result is then an "
            "array, computed in batches. Or predict a polars LazyFrame, for example X.pl(lazy=True) of DuckDB."
        )
    schema = write.frame("polars", columns).schema
    return X.map_batches(
        predict,
        schema=schema,
        streamable=True,
        projection_pushdown=False,
        predicate_pushdown=False,
        slice_pushdown=False,
    )
