"""`sunrise inspect`: the card of a model file, and what the file holds."""

from __future__ import annotations

from typing import Any

import click

from sunrise.cli.options import json_option, model_argument


@click.command()
@model_argument
@click.option("--column", metavar="COLUMN", help="Show the parameters of one column.")
@json_option
def command(model: str, column: str | None, as_json: bool) -> None:
    """Show the card of a model file: rows, classes, columns, scores, and which training data the file holds.

    \b
      sunrise inspect titanic.sunrise
      sunrise inspect titanic.sunrise --column Age
    """
    from sunrise.cli.card import card_of
    from sunrise.cli.models import load_model
    from sunrise.cli.show import console, print_card, print_json
    from sunrise.store.inspect import inspect

    loaded, file = load_model(model), inspect(model)
    if column is not None:
        _show_column(loaded, column, as_json)
        return
    card: dict[str, Any] = {
        "model": model,
        "bytes": file.n_bytes,
        "estimator": file.estimator,
        "written_by": file.written_by,
    }
    card |= {"format": file.version, "arguments": {k: repr(v) for k, v in file.arguments.items()}}
    card |= {"kept_rows": file.kept_rows, "kept_values": list(map(str, file.kept_values))} | card_of(loaded)
    if as_json:
        print_json(card)
        return
    given = ", ".join(f"{name}={value}" for name, value in card["arguments"].items())
    print_card(card, f"{model}: {file.estimator}({given}), {file.n_bytes:,} bytes, sunrise {file.written_by}")
    if file.kept_rows or file.kept_values:
        rows = f"{file.kept_rows:,} training rows" if file.kept_rows else ""
        values = (
            f"training values of {', '.join(map(str, file.kept_values[:10]))}" if file.kept_values else ""
        )
        held = " and ".join(filter(None, (rows, values)))
        console().print(f"the file holds {held} (fit --no-values saves none)", markup=False)


def _show_column(model: Any, column: str, as_json: bool) -> None:
    from sunrise.cli.card import plain
    from sunrise.cli.show import console, print_json, table_of
    from sunrise.data.errors import closest, listed

    parameters = model.parameters_
    if column not in parameters:
        similar = closest(column, parameters)
        hint = f"Do you mean {similar!r}? " if similar else ""
        raise ValueError(
            f"--column: the model uses no column {column!r}. {hint}It uses {listed(parameters, 20)}."
        )
    classes = [str(plain(label)) for label in model.classes_.tolist()]
    values = {name: array.tolist() for name, array in parameters[column].items()}
    if as_json:
        by_class = {name: dict(zip(classes, row, strict=True)) for name, row in values.items()}
        print_json({"column": column, "parameters": by_class})
        return
    table = table_of(column, *classes, right=tuple(classes))
    for name, row in values.items():
        table.add_row(name, *(f"{value:.4g}" for value in row))
    console().print(table)
