"""Options that several commands share: how data are read, and how results are printed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

FORMATS = "csv", "tsv", "jsonl", "parquet", "arrow", "text"


@dataclass(frozen=True)
class Reading:
    """Options of the command line for reading a file: format, types of columns, marks of missing cells, bad rows."""

    format: str | None = None
    types: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    skips_bad_rows: bool = False


def pair(what: str, choices: tuple[str, ...] = ()) -> Callable[[str], tuple[str, str]]:
    """Return the reader of an argument of the form COLUMN=VALUE, which is split at its last sign of equality.

    >>> pair("TYPE")("a=b=number")
    ('a=b', 'number')
    """

    def read(value: str) -> tuple[str, str]:
        column, sign, right = value.rpartition("=")
        if not sign or not column:
            raise click.BadParameter(f"{value!r} is not of the form COLUMN={what}.")
        if choices and right not in choices:
            raise click.BadParameter(f"{right!r} is not one of {', '.join(choices)}.")
        return column, right

    return read


def complete_column(ctx: click.Context, _: Any, incomplete: str) -> list[str]:
    """Return the columns of a CSV or TSV file whose names begin like this, for shell completion: reads one line."""
    import csv
    import gzip

    found: list[str] = []
    # While an option waits for its value, click has not parsed the arguments yet.
    for path in filter(os.path.isfile, os.environ.get("COMP_WORDS", "").split()):
        try:
            with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
                line = file.readline(1 << 16)
        except (OSError, ValueError):
            continue
        delimiter = max(",;\t|", key=line.count)
        found += next(csv.reader([line], delimiter=delimiter), [])
    return [name for name in dict.fromkeys(found) if name.startswith(incomplete)]


def column_option(*names: str, **settings: Any) -> Callable[..., Any]:
    """Return an option that names a column of the data."""
    return click.option(*names, metavar="COLUMN", shell_complete=complete_column, **settings)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of reading; the command gets them as `reading`."""

    @wraps(command)
    def with_reading(
        format: str | None,
        column_type: tuple[tuple[str, str], ...],
        missing: tuple[str, ...],
        skip_bad_rows: bool,
        **rest: Any,
    ) -> Any:
        return command(reading=Reading(format, column_type, missing, skip_bad_rows), **rest)

    for option in (
        click.option(
            "--skip-bad-rows", is_flag=True, help="Leave out rows that cannot be read or have no label."
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="MARK",
            help='A cell of CSV and TSV that means missing, as "?".',
        ),
        click.option(
            "--type",
            "column_type",
            multiple=True,
            type=pair("TYPE", ("number", "text", "bool")),
            metavar="COLUMN=TYPE",
            help="Read a column as number, text or bool.",
        ),
        click.option(
            "--format", type=click.Choice(FORMATS), help="Format of DATA, where its name does not tell."
        ),
    ):
        with_reading = option(with_reading)
    return with_reading


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json; the command gets `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def data_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the data: one or several files, folders or globs."""
    return click.argument("data", nargs=-1, required=True, type=click.Path(allow_dash=True))(command)


def model_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the model file."""
    return click.argument("model", type=click.Path())(command)
