"""`sunrise forget`: a model without some of its training rows."""

from __future__ import annotations

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
@click.option(
    "-o", "--output", required=True, type=click.Path(), help="The file of the new model; it may be MODEL."
)
@column_option(
    "-t",
    "--target",
    help="The column of labels. Default: that of the training data.",
)
@reading_options
@json_option
def command(
    model: str, data: tuple[str, ...], output: str, target: str | None, reading: Reading, as_json: bool
) -> None:
    """Remove training rows from a model: the result is the model that never saw them, under the same families.

    Rows that were not part of the training data are refused, where the statistics show it.

    \b
      sunrise forget people.sunrise withdrawn.csv -o people.sunrise
    """
    from sunrise.cli.changed import save_changed
    from sunrise.cli.models import (
        cells_of,
        columns_for,
        label_of,
        labels_in,
        load_model,
        reads_tables,
        types_of,
    )
    from sunrise.cli.rows import open_rows
    from sunrise.streams.progress import Progress

    loaded = load_model(model)
    label = label_of(loaded, target)
    with open_rows(data, reading, types_of(loaded), label, reads_tables(loaded)) as rows:
        rows.require(label, "--target")
        used, n_rows = columns_for(loaded, rows.names, label, all_columns=True), 0
        source = rows.source.select([name for name in rows.names if name in {*used, label}], label)
        with Progress("forgetting", source.n_bytes) as progress:
            for piece in source.pieces():
                if not piece.table.num_rows:
                    continue
                loaded.forget(cells_of(loaded, piece.table.select(used)), labels_in(piece.table, label))
                n_rows += piece.table.num_rows
                progress.update(n_rows, piece.n_bytes)
    if not n_rows:
        raise ValueError("The data have no rows to forget.")
    save_changed(loaded, output, as_json)
