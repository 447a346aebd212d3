"""`sunrise compare`: by how many bits each column differs between two models."""

from __future__ import annotations

from typing import Any

import click

from sunrise.cli.options import json_option


@click.command()
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@json_option
def command(first: str, second: str, as_json: bool) -> None:
    """Show by how many bits each column differs between two models, the largest difference first.

    0 bits: the distributions are equal; 1 bit: no cell is possible in both. Models are comparable where their
    families agree: fit the second one with --like FIRST.

    \b
      sunrise compare january.sunrise february.sunrise
    """
    from sunrise.cli.models import load_model
    from sunrise.cli.show import console, print_json, table_of
    from sunrise.estimators.compare import compare

    rows = _rows(compare(load_model(first), load_model(second)))
    if as_json:
        print_json({"first": first, "second": second, "columns": rows})
        return
    table = table_of("column", "bits", "family", "remark", right=("bits",))
    for row in rows:
        bits = "" if row["bits"] != row["bits"] else f"{row['bits']:.4f}"
        table.add_row(row["column"], bits, row["family"], row["remark"])
    console().print(table)


def _rows(moved: Any) -> list[dict[str, Any]]:
    """Return the rows of a comparison, which is a dict or a frame of any library."""
    if isinstance(moved, dict):
        return [{"column": str(name)} | row for name, row in moved.items()]
    import narwhals as nw

    columns = nw.from_native(moved, eager_only=True).to_dict(as_series=False)
    return [dict(zip(columns, map(_plain, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    return float("nan") if value is None else value
