"""Choose the families of a table: given by the user, by leave-one-out score, or by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sunrise._common.warnings import NoColumnsWarning, alert
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.data.types import ColumnType, type_of
from sunrise.families.base import FAMILIES
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import BY_USER, Choice
from sunrise.model.given_families import given_choices
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.by_score import choose_by_score, has_few_cells
from sunrise.selection.rules import choose_by_type


def choose_families(
    accumulator: RowAccumulator, table: Frame, settings: Settings, of_all_rows: Sequence[Choice] = ()
) -> tuple[list[Choice], dict[int, Any]]:
    """The choice of every column, and statistics of columns that choosing has computed, by position.

    If the table is a part of the rows, `of_all_rows` are the choices by all rows: types and choices by type are taken
    over, and scores are compared only for families that may win.
    """
    given = given_choices(settings.families, table.names)
    used = [j for j, choice in enumerate(given) if choice is None or choice.family is not None]
    columns = dict(zip(used, table.read_all(used), strict=True))
    by_score = {j: columns[j] for j in _open_columns(settings.families, table, given)}
    shortlists: dict[int, tuple[str, ...]] = {}
    for j, known in enumerate(of_all_rows):
        if given[j] is not None:
            continue
        if len(known.plausible) > 1:
            shortlists[j] = known.plausible
        else:
            by_score.pop(j, None)
            given[j] = replace(known, family=FAMILIES[known.plausible[0]]()) if known.plausible else known
    choices = dict(enumerate(given)) | choose_by_score(accumulator, by_score, settings, shortlists)
    ready: dict[int, Any] = {}
    for j, choice in choices.items():
        if choice is None:
            by_type, statistics = choose_by_type(j, columns[j], accumulator)
            if j in by_score and by_type.family is not None and has_few_cells(accumulator, columns[j]):
                reason = f"{by_type.reason}; too few rows to compare families"
                by_type = replace(by_type, reason=reason, is_uninformed=True)
            choices[j] = by_type
            if statistics is not None:
                ready[j] = statistics
    for j, column in columns.items():
        own_choice: Any = choices[j]
        asleep = own_choice.family is None and own_choice.is_uninformed  # constant or empty: it may wake up
        own = of_all_rows[j].type if of_all_rows else _type(column)
        choices[j] = replace(own_choice, kind=column.kind, declared=column.declared, asleep=asleep, type=own)
    every = [columns.get(j) for j in range(len(given))]
    return accumulator.learn(every, [choices[j] for j in range(len(given))]), ready  # type: ignore[misc,arg-type]


def _type(column: Column) -> ColumnType | None:
    """Return the type of a column for drawn rows; None if its values do not come from a table."""
    return None if column.source is None else type_of(column.source)


def warn_without_columns(schema: Schema, n_rows: int) -> None:
    """Warn if all columns are left out, unless the user left all of them out or there is only one row."""
    names, choices = schema.names, schema.choices
    if schema.parts or n_rows < 2 or all(choice.reason == BY_USER for choice in choices):
        return
    j = next(j for j, choice in enumerate(choices) if choice.reason != BY_USER)
    columns = f"all {len(names)} columns are left out, for example" if len(names) > 1 else "column"
    reason = choices[j].reason.removeprefix("left out: ")
    alert(
        f"No column is used, so every row gets the class prior: {columns} {names[j]!r} ({reason}). Pass families= to "
        "use a column nevertheless.",
        NoColumnsWarning,
    )


def _open_columns(families: Any, table: Frame, given: list[Choice | None]) -> list[int]:
    """Columns whose family is to be chosen by score."""
    columns = [j for j, choice in enumerate(given) if choice is None]
    if not isinstance(families, dict):
        return columns if families == "auto" else []
    names = set(table.names)
    by_type = [key for key, wanted in families.items() if isinstance(wanted, str) and wanted == "auto-fast"]
    excluded = {name for key in by_type for name in ([key] if key in names else key)}
    return [j for j in columns if table.names[j] not in excluded]
