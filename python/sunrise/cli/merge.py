"""`sunrise merge`: one model of the rows of several models."""

from __future__ import annotations

import click

from sunrise.cli.options import json_option


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), help="The file of the merged model.")
@json_option
def command(models: tuple[str, ...], output: str, as_json: bool) -> None:
    """Add models of different rows: the result is the model of all rows.

    The families must agree: fit the other models with --like FIRST. The settings of the first model win.

    \b
      sunrise fit february.csv --target city --like january.sunrise
      sunrise merge january.sunrise february.sunrise -o both.sunrise
    """
    from sunrise.cli.changed import save_changed
    from sunrise.cli.models import load_model

    if len(models) < 2:
        raise click.UsageError("pass at least two models.")
    whole = load_model(models[0])
    for path in models[1:]:
        try:
            whole.merge(load_model(path))
        except ValueError as error:
            raise ValueError(f"{path} cannot be added to {models[0]}: {error}") from None
    save_changed(whole, output, as_json)
