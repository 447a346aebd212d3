"""`sunrise fit`: fit a model, save it, print its card."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from sunrise.cli.messages import one_line, say
from sunrise.cli.options import Reading, column_option, data_argument, json_option, pair, reading_options


@click.command()
@data_argument
@column_option(
    "-t",
    "--target",
    help="The column to predict. Texts have their classes by name.",
)
@click.option(
    "-o", "--output", type=click.Path(), help="The model file. Default: beside DATA, with .sunrise."
)
@column_option("--text", multiple=True, help="A column of free text.")
@column_option("--drop", multiple=True, help="A column to leave out.")
@click.option(
    "--family", multiple=True, type=pair("FAMILY"), metavar="COLUMN=FAMILY", help="The family of a column."
)
@click.option(
    "--like", type=click.Path(), help="Take the families of this model, so that models can be merged."
)
@click.option("--fast", is_flag=True, help="Choose families by the types of the columns, not by score.")
@click.option(
    "--calibrate",
    type=click.Choice(["auto", "none", "temperature", "columns", "words"]),
    default="auto",
    show_default=True,
    help="How probabilities are calibrated.",
)
@column_option(
    "--weight",
    help="A column with the weights of the rows.",
)
@click.option(
    "--interactions/--no-interactions",
    default=True,
    help="Find pairs of columns that say more together.",
    show_default=True,
)
@click.option("--no-values", is_flag=True, help="Save no training values of numeric columns.")
@click.option("--stream", is_flag=True, help="Read in batches, as data above 64 MB are.")
@click.option(
    "--checkpoint", type=click.Path(), help="Save the state of a long fit here; the same call resumes it."
)
@click.option("--jobs", type=click.IntRange(1), help="Number of threads.")
@click.option("-q", "--quiet", is_flag=True, help="Print no card.")
@reading_options
@json_option
def command(
    data: tuple[str, ...],
    target: str | None,
    output: str | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit a model to DATA, save it, and print its card.

    The card has rows, classes, columns with families and the reasons, the accuracy and log loss on rows that the model
    has not seen, and what was left out. Texts are one document per line, one file per class (ham.txt spam.txt), or
    one document per file, one folder per class.

    \b
      sunrise fit titanic.csv --target Survived
      sunrise fit mails.jsonl.gz --target label --text body
      zcat big.csv.gz | sunrise fit - --target y -o big.sunrise
    """
    from sunrise.cli.card import card_of
    from sunrise.cli.rows import open_rows
    from sunrise.cli.show import print_card, print_json

    start = perf_counter()
    with open_rows(data, reading, is_table=target is not None) as rows:
        path = output or (None if rows.stem is None else f"{rows.stem}.sunrise")
        if path is None:
            raise click.UsageError("standard input has no name: pass -o FILE.sunrise.")
        _require_folder(path)
        with warnings.catch_warnings(record=True) as found:
            model, score = _fitted(rows, target, options)
    model.save(path, values=not options["no_values"])
    seconds = perf_counter() - start
    card: dict[str, Any] = {"model": path, "bytes": os.path.getsize(path), "seconds": round(seconds, 3)}
    card |= card_of(model, score) | {"warnings": _relevant(model, found)}
    for text in card["warnings"]:
        say("warning", text)
    if as_json:
        print_json(card)
    elif not quiet:
        print_card(card, f"{path}: {card['bytes']:,} bytes, fitted in {seconds:.1f} s")


def _relevant(model: Any, found: list[Any]) -> list[str]:
    """Return the warnings of a fit as lines; weights of columns correct for duplicate columns."""
    from sunrise._common.warnings import DuplicateColumnsWarning

    weighted = model.calibration_ is not None and model.calibration_.kind == "columns"
    kinds = (DuplicateColumnsWarning,) if weighted else ()
    return [one_line(entry.message) for entry in found if not issubclass(entry.category, kinds)]


def _fitted(rows: Any, target: str | None, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the fitted model, and its score if the model does not hold it."""
    from sunrise.cli.show import working
    from sunrise.estimators.naive_bayes import NaiveBayes
    from sunrise.streams.batches import require

    label = _label(rows, target)
    families = _families(rows, label, options)
    weight = options["weight"] and rows.require(options["weight"], "--weight")
    calibrate = None if options["calibrate"] == "none" else options["calibrate"]
    pairs = "auto" if options["interactions"] else None
    model = NaiveBayes(families, calibrate=calibrate, interactions=pairs, n_jobs=options["jobs"])
    if options["stream"] or options["checkpoint"] or not rows.is_small:
        model.fit(rows.source, y=label, sample_weight=weight, checkpoint=options["checkpoint"])
        _require_two_classes(model.classes_.tolist(), label)
        return model, None
    table = rows.table([name for name in rows.names if name not in options["drop"]], label)
    _check_target(table, label)
    weights = None if weight is None else table[weight].to_numpy()
    table = table if weight is None else table.drop_columns([weight])
    for name in options["drop"]:  # its cells are not read, but the card names the column
        table = table.append_column(name, require("pyarrow").nulls(table.num_rows))
    with working(f"fitting {table.num_rows:,} rows"):
        model.fit(table, label, weights)
    score = None if "loo_score_" in model.__dict__ else _score(model, table, label, weights)
    return model, score


def _families(rows: Any, label: str, options: dict[str, Any]) -> Any:
    """Return the families that the options give; columns without a family are chosen by score or, if fast, by type."""
    from sunrise.cli.documents import Documents

    given = dict.fromkeys(options["text"], "text") | dict(options["family"]) | dict.fromkeys(options["drop"])
    for name, family in given.items():
        rows.require(name, "--drop" if family is None else "--text" if family == "text" else "--family")
    if label in given:
        raise click.UsageError(f"{label!r} is the target, and cannot be a column of the model.")
    if given and (options["fast"] or options["like"]):
        raise click.UsageError(
            "--fast and --like choose the families of all columns: leave out --family, --text and --drop."
        )
    if options["like"]:
        from sunrise.cli.models import load_model

        return load_model(options["like"]).fixed_families_
    if isinstance(rows.source, Documents):
        return {"text": "text"} | given
    return given or ("auto-fast" if options["fast"] else "auto")


def _label(rows: Any, target: str | None) -> str:
    from sunrise.cli.documents import Documents
    from sunrise.data.errors import listed

    if isinstance(rows.source, Documents):
        return str(rows.names[-1])
    if target is None:
        raise click.UsageError(
            f"name the column to predict: --target COLUMN. The columns are {listed(rows.names, 20)}."
        )
    if rows.require(target, "--target") and len(rows.names) == 1:
        raise ValueError(f"the data have no column beside the target {target!r}.")
    return target


def _score(model: Any, table: Any, label: str, weights: Any) -> Any:
    """Return the score of a model without calibration; None if no row can be left out."""
    try:
        return model.loo_score(table, label, weights)
    except ValueError:
        return None


def _require_folder(path: str) -> None:
    """Raise before a long fit if the model cannot be saved."""
    if Path(path).is_dir():
        raise ValueError(f"{path}: this is a folder. Add the name of a file to -o.")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {str(folder)!r} does not exist. Create it, or pass another -o.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {str(folder)!r} cannot be written. Pass another place with -o.")


def _check_target(table: Any, label: str) -> None:
    """Raise for a target of one class, and for measurements, of which nearly every value would be a class."""
    n_rows, values = table.num_rows, table[label].unique()
    _require_two_classes([value for value in values.slice(0, 3).to_pylist() if value is not None], label)
    if len(values) > 20 and len(values) > n_rows / 3:
        raise ValueError(
            f"--target: column {label!r} has {len(values):,} different values in {n_rows:,} rows, and a model predicts "
            "classes. Choose another column, or cut the values into groups first."
        )


def _require_two_classes(classes: list[Any], label: str) -> None:
    if len(classes) == 1:
        raise ValueError(
            f"all rows have the class {classes[0]!r} in column {label!r}, and a model tells classes apart. Choose "
            "another --target. Texts: pass one file for each class (ham.txt spam.txt), or one folder for each class."
        )
