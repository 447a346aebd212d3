"""`sunrise explain`: the contribution of every column to the prediction of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from sunrise.cli.options import Reading, json_option, model_argument, pair, reading_options

#: Number of rows that are explained if none is named.
FIRST_ROWS = 3


@click.command()
@model_argument
@click.argument("data", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--row", multiple=True, type=click.IntRange(1), help=f"Number of a row. Default: the first {FIRST_ROWS}."
)
@click.option(
    "--set",
    "cells",
    multiple=True,
    type=pair("VALUE"),
    metavar="COLUMN=VALUE",
    help="A cell of a row of your own.",
)
@click.option(
    "--top", type=click.IntRange(1), default=8, show_default=True, help="Number of columns and words to list."
)
@click.option("--of", metavar="CLASS", help="The class to explain. Default: the most probable one.")
@click.option("--against", metavar="CLASS", help="The class to compare with. Default: the next one.")
@reading_options
@json_option
def command(
    model: str,
    data: tuple[str, ...],
    row: tuple[int, ...],
    cells: tuple[tuple[str, str], ...],
    top: int,
    of: str | None,
    against: str | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Show why rows of DATA, or one row that --set describes, are predicted as they are.

    Contributions are in log-odds of the class against another one; they and the class prior add up to the log-odds of
    the prediction. Columns that are not set are missing.

    \b
      sunrise explain titanic.sunrise test.csv --row 5
      sunrise explain titanic.sunrise --set Sex=female --set Pclass=3
    """
    from sunrise.cli.models import class_named, load_model
    from sunrise.cli.show import print_json

    if bool(data) == bool(cells):
        raise click.UsageError("pass DATA, or the cells of one row with --set COLUMN=VALUE.")
    loaded = load_model(model)
    one, other = class_named(loaded, of, "--of"), class_named(loaded, against, "--against")
    rows = _Rows((1,), _own_row(loaded, dict(cells))) if cells else _read(loaded, data, reading, row)
    explained = _explained(loaded, rows, top, one, other)
    if as_json:
        print_json([values for values, _ in explained])
    else:
        print("\n\n".join(text for _, text in explained))


class _Rows(NamedTuple):
    """Rows to explain: their numbers in the data, and an Arrow table."""

    numbers: tuple[int, ...]
    table: Any


def _explained(model: Any, rows: _Rows, top: int, of: Any, against: Any) -> list[tuple[dict[str, Any], str]]:
    """Return values for JSON, and a text, for every row."""
    from sunrise.cli.card import plain
    from sunrise.cli.models import cells_of

    cells, found = cells_of(model, rows.table), []
    explanation, proba = model.explain(cells), model.predict_proba(cells)
    labels = [plain(label) for label in model.classes_.tolist()]
    names = list(map(str, labels))

    def by_class(numbers: Any) -> dict[str, float]:
        return dict(zip(names, map(float, numbers), strict=True))

    for k, (number, p) in enumerate(zip(rows.numbers, proba, strict=True)):
        parts = explanation.contributions[k]
        values = {
            "row": number,
            "predicted": labels[int(p.argmax())],
            "probabilities": by_class(p),
            "prior": by_class(explanation.prior),
            "offset": by_class(explanation.offset[k]),
            "contributions": {
                name: by_class(parts[:, j]) for j, name in enumerate(explanation.columns) if parts[:, j].any()
            },
            "words": _words(model, rows.table.slice(k, 1), top, of, against),
        }
        best = sorted(zip(p.tolist(), names, strict=True), reverse=True)[:5]
        lines = [f"row {number}: " + ", ".join(f"{name} {value:.3f}" for value, name in best)]
        lines.append(explanation.text(k, top, of, against))
        for name, words in values["words"].items():
            lines.append(
                f"  words of {name}: " + ", ".join(f"{w['word']} {w['evidence']:+.2f}" for w in words)
            )
        found.append((values, "\n".join(lines)))
    return found


def _words(model: Any, row: Any, top: int, of: Any, against: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the evidence of the words of every text in a row."""
    words = {}
    for column in model._summary(len(model.schema_.names)).columns:
        if column.family == "text":
            text = row[column.name if column.name in row.column_names else 0][0].as_py()
            found = model.explain_words(text, of, against, top, column.name) if text else []
            words[column.name] = [{"word": w.word, "evidence": w.evidence, "times": w.times} for w in found]
    return words


def _read(model: Any, data: tuple[str, ...], reading: Reading, given: tuple[int, ...]) -> _Rows:
    """Return the rows with the given numbers, or the first rows; reading ends with the last one."""
    from sunrise.cli.models import columns_for, reads_tables, types_of
    from sunrise.cli.rows import open_rows
    from sunrise.streams.batches import require

    wanted = sorted(set(given)) or list(range(1, FIRST_ROWS + 1))
    parts, numbers, n_rows = [], list[int](), 0
    with open_rows(data, reading, types_of(model), is_table=reads_tables(model)) as rows:
        label = model._model.schema.label
        source = rows.source.select(columns_for(model, rows.names, None if label is None else str(label)))
        for piece in source.pieces():
            inside = [n for n in wanted if n_rows < n <= n_rows + piece.table.num_rows]
            parts += [piece.table.slice(n - 1 - n_rows, 1) for n in inside]
            numbers += inside
            n_rows += piece.table.num_rows
            if n_rows >= wanted[-1]:
                break
    if not numbers or (given and len(numbers) < len(wanted)):
        raise ValueError(f"row {wanted[-1]:,} does not exist: the data have {n_rows:,} rows.")
    return _Rows(tuple(numbers), require("pyarrow").concat_tables(parts))


def _own_row(model: Any, cells: dict[str, str]) -> Any:
    """Return a table with one row: cells of columns that the model knows as numbers are numbers."""
    from sunrise.data.errors import closest, listed
    from sunrise.streams.batches import require

    pyarrow, schema = require("pyarrow"), model._model.schema
    names = [str(name) for name in (schema.names if schema.is_named else model._columns())]
    kinds = dict(zip(names, (choice.kind for choice in schema.choices), strict=True))
    if schema.rules is not None and not cells.keys() - set(
        schema.inputs
    ):  # dates as a whole, not their parts
        names = [str(name) for name in schema.inputs]
        kinds = {name: "level" if name in schema.rules.dates else kinds[name] for name in names}
    columns: dict[str, Any] = {}
    for name, text in cells.items():
        if name not in kinds:
            similar = closest(name, names)
            hint = f"Do you mean {similar!r}? " if similar else ""
            raise ValueError(
                f"--set: the model has no column {name!r}. {hint}The columns are {listed(names, 20)}."
            )
        columns[name] = pyarrow.array([_cell(name, text, kinds[name])])
    return pyarrow.table({name: columns.get(name, pyarrow.nulls(1)) for name in names})


def _cell(name: str, text: str, kind: str) -> Any:
    if text == "":
        return None
    if kind == "level":
        return text
    if kind == "bool":
        if text.lower() not in ("true", "false", "1", "0"):
            raise ValueError(f"--set {name}={text}: the column holds booleans. Use true or false.")
        return text.lower() in ("true", "1")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--set {name}={text}: the column holds numbers.") from None
