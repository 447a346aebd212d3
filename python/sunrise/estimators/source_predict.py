"""Predictions of a source, written to a file batch by batch."""

from __future__ import annotations

from typing import Any

from sunrise.data.frame import frame_of
from sunrise.streams.predictions import PredictionFile
from sunrise.streams.progress import Progress
from sunrise.streams.source import source_of


def predict_to_file(model: Any, X: Any, to: Any, output: str | None) -> int:
    """Write the classes of all rows of a source, and with "proba" their probabilities; return the number of rows."""
    model._require_fitted()
    source = source_of(X)
    method = "predict" if output is None else "predict_proba"
    if source is None:
        raise ValueError(
            f"to= is for files and other sources of batches, but X is a {type(X).__name__}. Leave it out."
        )
    if to is None:
        raise ValueError(
            f"X is a source of batches, whose predictions may not fit into memory. Name a file for them: "
            f'{method}(X, to="predictions.parquet"); or pass a table.'
        )
    if getattr(source, "on_bad_rows", "error") == "skip":
        raise ValueError('on_bad_rows="skip" would leave rows without a prediction. Use on_bad_rows="error".')
    schema = model._model.schema
    if source.names is not None and schema.is_named:
        used = {*schema.used, *schema.inputs_of(schema.used)}
        source = source.select([name for name in source.names if name in used])
    classes, features = model.classes_, model._feature_reader(fitting=False)
    label = "class" if schema.label is None else str(schema.label)
    columns = [str(c) for c in classes.tolist()] if output is not None else []
    if label in columns:
        label = f"predicted {label}"
    n_rows = 0
    with PredictionFile(to) as file, Progress("predicting", source.n_bytes) as progress:
        for piece in source.pieces():
            try:
                rows = piece.table
                if not model._reads_sources:
                    rows = features(frame_of(rows).without(schema.label))
                values = model._score(rows, output)
            except ValueError as error:
                where = f"{piece.origin}, in the batch from row {piece.first_row:,} on"
                raise ValueError(f"{where}: {error}") from error
            codes = values if output is None else values.argmax(axis=1)
            cells = {label: classes[codes]}
            cells |= {name: values[:, k] for k, name in enumerate(columns)}
            file.write(cells)
            n_rows += len(codes)
            progress.update(n_rows, piece.n_bytes)
    return n_rows
