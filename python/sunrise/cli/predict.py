"""`sunrise predict`: classes and probabilities of rows, batch by batch."""

from __future__ import annotations

from typing import Any

import click

from sunrise.cli.options import (
    Reading,
    column_option,
    data_argument,
    json_option,
    model_argument,
    reading_options,
)


@click.command()
@model_argument
@data_argument
@click.option("-o", "--output", type=click.Path(), help="Write to a file; its ending tells the format.")
@column_option(
    "--keep",
    multiple=True,
    help="A column of DATA to write beside the predictions.",
)
@click.option("--classes-only", is_flag=True, help="Write the predicted classes without probabilities.")
@reading_options
@json_option
def command(
    model: str,
    data: tuple[str, ...],
    output: str | None,
    keep: tuple[str, ...],
    classes_only: bool,
    reading: Reading,
    as_json: bool,
) -> None:
    """Write the predicted class and the probability of every class for the rows of DATA.

    The output has the order of the rows: CSV on standard output, JSON lines with --json, or the format of the name that
    -o gives: .csv, .tsv, .jsonl, .parquet or .arrow, also with .gz or .zst.

    \b
      sunrise predict titanic.sunrise new.csv --keep Name > predictions.csv
      sunrise predict mails.sunrise new.txt -o predictions.parquet
    """
    from sunrise.cli.models import load_model, reads_tables, types_of
    from sunrise.cli.rows import open_rows

    if output is not None and as_json:
        raise click.UsageError("--json is for standard output. Name the file of -o .jsonl instead.")
    if reading.skips_bad_rows:
        raise click.UsageError("--skip-bad-rows would leave rows without a prediction. Correct the file.")
    loaded = load_model(model)
    with open_rows(data, reading, types_of(loaded), is_table=reads_tables(loaded)) as rows:
        for name in keep:
            rows.require(name, "--keep")
        _write(loaded, rows, keep, not classes_only, output, "jsonl" if as_json else "csv")


def _write(
    model: Any, rows: Any, keep: tuple[str, ...], proba: bool, output: str | None, format: str
) -> None:
    from sunrise.cli.models import cells_of, columns_for
    from sunrise.streams.predictions import PredictionFile, PredictionStream
    from sunrise.streams.progress import Progress
    from sunrise.streams.source import n_rows_of

    schema = model._model.schema
    used = columns_for(model, rows.names, None if schema.label is None else str(schema.label))
    label = "class" if schema.label is None else str(schema.label)
    classes, n_rows = model.classes_, 0
    source = rows.source.select([name for name in rows.names if name in {*used, *keep}])
    writer: Any = PredictionFile(output) if output not in (None, "-") else PredictionStream(format)
    with writer as file, Progress("predicting", source.n_bytes) as progress:
        for piece in source.pieces():
            if not n_rows_of(piece.table):
                continue
            scores = model.predict_proba(cells_of(model, piece.table.select(used)))
            cells = {name: piece.table[name] for name in keep}
            # A column that is kept may be the label column: the prediction then needs a name of its own.
            cells[f"predicted {label}" if label in keep else label] = classes[scores.argmax(axis=1)]
            if proba:
                cells |= {str(c): scores[:, k] for k, c in enumerate(classes.tolist())}
            file.write(cells)
            n_rows += len(scores)
            progress.update(n_rows, piece.n_bytes)
