"""`sunrise export`: a model as SQL, ONNX or JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from sunrise.cli.options import json_option, model_argument

#: Kinds of export, by the endings of file names.
_KINDS = {".json": "json", ".sql": "sql", ".onnx": "onnx"}


@click.command()
@model_argument
@click.option(
    "--to", type=click.Choice(sorted(_KINDS.values())), help="Kind. Default: by the name of -o, else json."
)
@click.option("-o", "--output", type=click.Path(), help="The file. Default: standard output.")
@click.option(
    "--dialect", type=click.Choice(["duckdb", "postgresql", "sqlite"]), default="duckdb", show_default=True
)
@click.option("--table", default="data", show_default=True, help="The table of the query.")
@click.option(
    "--keep", multiple=True, metavar="COLUMN", help="A column of the table to return beside predictions."
)
@json_option
def command(
    model: str,
    to: str | None,
    output: str | None,
    dialect: str,
    table: str,
    keep: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a model as one SQL query, an ONNX graph, or JSON. All of them give the probabilities of predict.

    \b
      sunrise export titanic.sunrise --to sql --dialect sqlite --table passengers
      sunrise export titanic.sunrise -o titanic.onnx
    """
    from sunrise.cli.models import load_model
    from sunrise.store.files import write_atomically

    kind = to or (None if as_json else _KINDS.get(os.path.splitext(output or "x.json")[1].lower()))
    if as_json:
        if to not in (None, "json"):
            raise click.UsageError(f"--json and --to {to} contradict each other. Leave one out.")
        kind = "json"
    if kind is None:
        raise click.UsageError(f"{output}: the ending is not .json, .sql or .onnx. Pass --to.")
    content = _content(load_model(model), kind, dialect, table, keep)
    if output not in (None, "-"):
        write_atomically(output, [content])
    else:
        if kind == "onnx" and sys.stdout.isatty():
            raise click.UsageError("an ONNX graph is binary. Name a file with -o.")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _content(model: Any, kind: str, dialect: str, table: str, keep: tuple[str, ...]) -> bytes:
    if kind == "onnx":
        return bytes(model.to_onnx().SerializeToString())
    if kind == "json":
        return (json.dumps(json.loads(model.to_json())) + "\n").encode()
    return (str(model.to_sql(dialect, table, keep=keep)) + "\n").encode()
