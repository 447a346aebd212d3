"""Results on standard output: cards and tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

#: Width of output that goes to a file or a pipe, and numbers of columns and classes that are shown.
WIDTH, MOST_COLUMNS, MOST_CLASSES = 110, 40, 12


def print_json(values: Any) -> None:
    """Print plain values as JSON; numbers that JSON does not have become null."""
    json.dump(_finite(values), sys.stdout, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write("\n")


def _finite(values: Any) -> Any:
    if isinstance(values, dict):
        return {str(name): _finite(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def working(text: str) -> Any:
    """Return a context that shows a sign of life on a terminal."""
    from contextlib import nullcontext

    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def console() -> Any:
    """Return the console for standard output: colours and the width of the terminal only on a terminal."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            """Leave the exit code to the group of commands: rich would exit with 1."""
            raise BrokenPipeError

    return Output(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def table_of(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> Any:
    """Return an empty table for the console."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        show_edge=False,
        pad_edge=False,
    )
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def print_card(card: dict[str, Any], title: str) -> None:
    """Print the card of a model."""
    out = console()
    out.print(title, style="bold", markup=False)
    target = f"target {card['target']}, " if card["target"] else ""
    used, left_out = len(card["columns"]), len(card["left_out"])
    calibrated = f", calibrated by {card['calibration']}" if card["calibration"] else ""
    out.print(
        f"{card['rows']:,} rows, {target}{len(card['classes']):,} classes, {used:,} columns used, {left_out:,} left "
        f"out{calibrated}",
        markup=False,
    )
    print_score(out, card["score"], [entry["class"] for entry in card["classes"]])
    _print_classes(out, card["classes"])
    _print_columns(out, card["columns"])
    if card["interactions"]:
        pairs = table_of("columns scored together", "gain", "weight")
        for pair in card["interactions"][:MOST_COLUMNS]:
            pairs.add_row(*(_text(pair[name]) for name in ("columns", "gain", "weight")))
        out.print()
        out.print(pairs)
        _print_rest(out, len(card["interactions"]), "pairs")
    for name, words in card["words"].items():
        out.print()
        out.print(f"most informative words of {name}: {', '.join(words)}", markup=False)
    if card["left_out"]:
        left = table_of("left out", "why")
        for entry in card["left_out"][:MOST_COLUMNS]:
            left.add_row(_text(entry["column"]), _text(entry["reason"].removeprefix("left out: ")))
        out.print()
        out.print(left)
        _print_rest(out, left_out, "columns")


def print_score(out: Any, score: dict[str, Any] | None, classes: list[Any]) -> None:
    """Print accuracy, log loss and reliability."""
    if score is None:
        out.print("no honest score: the model was changed or made without one", markup=False)
        return
    rows = f"{score['rows']:,} new rows"
    if score["method"] != "new rows":
        rows = f"{score['rows']:,} unseen rows ({score['method']})"
    prior = ""
    if "prior_accuracy" in score:
        prior = f"; the class prior alone {score['prior_accuracy']:.3f}, {score['prior_log_loss']:.3f}"
    out.print(
        f"accuracy {score['accuracy']:.3f}, log loss {score['log_loss']:.3f} on {rows}{prior}", markup=False
    )
    if "reliability" not in score:
        return
    out.print(
        f"reliability: predicted and observed frequencies differ by {score['calibration_error']:.3f} on average",
        markup=False,
    )
    groups = score["reliability"]
    # Of two classes, the groups are those of the second one; of more, all classes are pooled.
    name = f"P({classes[1]})" if len(classes) == 2 else "P(class)"
    table = table_of(_short(name), *(f"{g['predicted']:.2f}" for g in groups))
    table.add_row("observed", *(f"{g['observed']:.2f}" for g in groups))
    out.print()
    out.print(table)


def print_quality(values: dict[str, Any]) -> None:
    """Print the quality of predictions on labelled rows, with the confusion matrix of few classes."""
    out, classes = console(), [str(label) for label in values["classes"]]
    print_score(out, values, classes)
    if values["unknown_labels"]:
        out.print(
            f"{values['unknown_labels']:g} rows have labels that the model does not know: counted as wrong"
        )
    out.print(f"Brier score {values['brier']:.3f}", markup=False)
    if len(classes) <= MOST_CLASSES:
        table = table_of(
            "true class", *(f"as {label}" for label in classes), right=tuple(f"as {c}" for c in classes)
        )
        for label, row in zip(classes, values["confusion"], strict=True):
            table.add_row(_text(label), *(f"{n:,.10g}" for n in row))
        out.print()
        out.print(table)


def _print_classes(out: Any, classes: list[dict[str, Any]]) -> None:
    table = table_of("class", "rows", "prior", right=("rows", "prior"))
    for entry in classes[:MOST_CLASSES]:
        table.add_row(_text(entry["class"]), f"{entry['rows']:,}", f"{entry['prior']:.3f}")
    out.print()
    out.print(table)
    _print_rest(out, len(classes), "classes", MOST_CLASSES)


def _print_columns(out: Any, columns: list[dict[str, Any]]) -> None:
    """Print the columns, the most informative first."""
    table = table_of("column", "bits", "family", "missing", "why", right=("bits", "missing"))
    ranked = sorted(columns, key=lambda c: -(c["bits"] or 0.0))
    for c in ranked[:MOST_COLUMNS]:
        bits = "" if c["bits"] is None else f"{c['bits']:.3f}"
        missing = f"{c['missing']:,}" if c["missing"] else ""
        table.add_row(_text(c["column"]), bits, c["family"], missing, _text(c["reason"]))
    out.print()
    out.print(table)
    _print_rest(out, len(columns), "columns")


def _print_rest(out: Any, n: int, noun: str, most: int = MOST_COLUMNS) -> None:
    if n > most:
        out.print(f"... and {n - most:,} more {noun}", markup=False)


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(value: Any) -> Any:
    """Return a cell as text without markup, on one line."""
    from rich.text import Text

    text = str(value).replace("\n", "\\n").replace("\r", "\\r")
    return Text(text if len(text) <= 200 else text[:199] + "…")
