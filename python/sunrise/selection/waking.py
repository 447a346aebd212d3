"""Columns that wake up: constant or empty in the first data, and with different values later.

The statistics of these columns count their only value by class. When a second value appears, the counts still
determine every earlier cell, so the statistics of the family that is chosen then are exactly those of all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sunrise.data.column import Column, Levels
from sunrise.data.frame import Frame
from sunrise.data.levels import level_names, natural
from sunrise.model.accumulate import Accumulator
from sunrise.model.schema import Choice, Schema, named_family
from sunrise.model.settings import Settings
from sunrise.selection.choose import choose_families
from sunrise.statistics.counts import Counts
from sunrise.statistics.model import Stats

#: A number column that wakes up with fewer new cells than this is Gaussian: they tell nothing of its distribution.
FEW_CELLS = 30


def wake_columns(settings: Settings, schema: Schema, stats: Stats, latest: Frame) -> tuple[Schema, Stats]:
    """Return schema and statistics in which the columns with at least two values are awake.

    `latest` is the table that was added last; the types of its columns tell numbers from strings.
    """
    speaking = speaking_columns(schema, stats)
    choices: dict[int, Choice] = {}
    columns: dict[int, tuple[Column, Accumulator]] = {}
    for j in speaking:
        column, accumulator = _rows(settings, schema, stats, j, latest.read(j))
        choices[j] = _choose(settings, column, accumulator)
        columns[j] = column, accumulator
    return wake_as(schema, stats, choices, columns)


def speaking_columns(schema: Schema, stats: Stats) -> list[int]:
    """Return the positions of the columns that were asleep and have at least two values now."""
    if stats.asleep is None:
        return []
    widths = np.diff(stats.asleep.offsets)
    return [j for j, width in zip(schema.asleep, widths.tolist(), strict=True) if width > 1]


def wake_with(
    settings: Settings, schema: Schema, stats: Stats, given: dict[int, Choice]
) -> tuple[Schema, Stats]:
    """Return schema and statistics in which sleeping columns are awake with given choices."""
    columns = {j: _rows(settings, schema, stats, j, Column(schema.names[j], given[j].kind, 0)) for j in given}
    return wake_as(schema, stats, given, columns)


def wake_as(
    schema: Schema,
    stats: Stats,
    choices: dict[int, Choice],
    columns: dict[int, tuple[Column, Accumulator]],
) -> tuple[Schema, Stats]:
    """Return schema and statistics with choices for sleeping columns, whose cells are `columns`."""
    if not choices or stats.asleep is None:
        return schema, stats
    own = {}
    for j, (column, accumulator) in columns.items():
        if choices[j].family is not None:
            alone = Schema((schema.names[j],), (choices[j],), is_named=schema.is_named)
            frame = Frame(alone.names, column.n_rows, lambda _, column=column: column)  # type: ignore[misc]
            own[j] = accumulator.table(frame, alone).reindexed(stats.classes).blocks[0]
    awake = schema.with_choices(choices)
    rest = [k for k, j in enumerate(schema.asleep) if j not in choices]
    asleep = stats.asleep.select_columns(np.array(rest, np.intp)) if rest else None
    return awake, replace(stats, blocks=awake.regrouped(schema, stats.blocks, own), asleep=asleep)


def _choose(settings: Settings, column: Column, accumulator: Accumulator) -> Choice:
    """Return the choice for a column that has just woken up."""
    names, codes = column.levels
    cells = np.bincount(codes, minlength=len(names))
    if column.kind == "number" and column.n_rows - cells.max() < FEW_CELLS:
        reason = f"a number, {names[cells.argmax()]} in all cells at first"
        return Choice(named_family("gaussian"), reason)
    families = "auto-fast" if settings.families == "auto-fast" else "auto"
    table = Frame((column.name,), column.n_rows, lambda j: column)
    (choice,), _ = choose_families(accumulator, table, replace(settings, families=families))
    at_first = f", {names[cells.argmax()]} in all cells at first" if cells.max() > cells.sum() / 2 else ""
    return replace(choice, reason=choice.reason + at_first)


def _rows(
    settings: Settings, schema: Schema, stats: Stats, j: int, latest: Column
) -> tuple[Column, Accumulator]:
    """Return the observed cells of a sleeping column, with their classes and weights, from its counts."""
    asleep: Counts = stats.asleep  # type: ignore[assignment]
    counts = asleep.select_columns(np.array([schema.asleep.index(j)]))
    at_class, at_level = np.nonzero(counts.rows)
    n = counts.rows[at_class, at_level]
    mean_weight = counts.weight[at_class, at_level] / n
    codes = np.repeat(at_class, n).astype(np.int32)
    weight = None if (mean_weight == 1.0).all() else np.repeat(mean_weight, n)
    column = _column(schema, j, latest, counts.codes, np.repeat(at_level, n).astype(np.int32))
    who = settings.who
    return column, Accumulator(stats.classes, codes, weight, settings.n_jobs, who)


def _column(schema: Schema, j: int, latest: Column, names: np.ndarray, codes: np.ndarray) -> Column:
    """Return cells as a column of numbers, booleans or levels."""
    kinds = {schema.choices[j].kind, latest.kind} - {"empty"}
    n, name, texts = len(codes), schema.names[j], names.tolist()
    if kinds == {"bool"}:
        values = np.array([text == "True" for text in texts], np.uint8)
        return Column(name, "bool", n, values[codes])
    levels = Levels(level_names(texts), codes)
    if kinds - {"number"} or any(natural(text)[0] for text in texts):
        return Column(name, "level", n, known=levels, declared=latest.declared)
    is_single = (
        str(getattr(latest.cells, "dtype", "")).lower() == "float32"
    )  # a name has the digits of its type
    numbers = np.array([float(np.float32(text) if is_single else float(text)) for text in texts])
    large = bool((np.abs(numbers) >= 2.0**53).any())
    return Column(name, "number", n, numbers[codes], levels if large else None)
