"""`sunrise evaluate`: scores, reliability and confusion matrix on labelled rows."""

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
@column_option(
    "-t",
    "--target",
    help="The column of labels. Default: that of the training data.",
)
@column_option(
    "--weight",
    help="A column with the weights of the rows.",
)
@reading_options
@json_option
def command(
    model: str, data: tuple[str, ...], target: str | None, weight: str | None, reading: Reading, as_json: bool
) -> None:
    """Score a model on labelled rows that it has not seen: accuracy, log loss, reliability, confusion matrix.

    \b
      sunrise evaluate titanic.sunrise test.csv
    """
    from sunrise.cli.card import plain, quality_values
    from sunrise.cli.models import label_of, load_model, reads_tables, types_of
    from sunrise.cli.rows import open_rows
    from sunrise.cli.show import print_json, print_quality

    loaded = load_model(model)
    label = label_of(loaded, target)
    with open_rows(data, reading, types_of(loaded), label, reads_tables(loaded)) as rows:
        rows.require(label, "--target")
        if weight is not None:
            rows.require(weight, "--weight")
        quality = _quality(loaded, rows, label, weight)
    classes = [plain(name) for name in loaded.classes_.tolist()]
    values = {"model": model, "classes": classes} | quality_values(quality)
    values["unknown_labels"] = quality.unknown
    if as_json:
        print_json(values)
    else:
        print_quality(values)


def _quality(model: Any, rows: Any, label: str, weight: str | None) -> Any:
    """Return the quality of all batches, which is the sum of those of the batches."""
    from sunrise.cli.models import cells_of, columns_for, labels_in
    from sunrise.streams.progress import Progress

    used = [name for name in columns_for(model, rows.names, label) if name != weight]
    needed = {*used, label, weight}
    source = rows.source.select([name for name in rows.names if name in needed], label)
    total, n_rows = None, 0
    with Progress("evaluating", source.n_bytes) as progress:
        for piece in source.pieces():
            if not piece.table.num_rows:
                continue
            weights = None if weight is None else piece.table[weight].to_numpy()
            y = labels_in(piece.table, label)
            quality = model.evaluate(cells_of(model, piece.table.select(used)), y, weights)
            total = quality if total is None else total + quality
            n_rows += piece.table.num_rows
            progress.update(n_rows, piece.n_bytes)
    if total is None:
        raise ValueError("The data have no rows.")
    return total
