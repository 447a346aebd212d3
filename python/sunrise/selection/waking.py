"""Columns that wake up: constant or empty in the first data, and with different values later.

The statistics of a sleeping column count its values by class. The counts determine every earlier cell, so the
statistics of the family that is chosen when the column wakes up are exactly those of all rows. A column of strings or
booleans wakes up with its second value, a column of numbers when `FEW_CELLS` cells differ from its first value: fewer
tell nothing of their distribution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Integers, Labels
from sunrise.data.column import Column, Levels
from sunrise.data.frame import Frame
from sunrise.data.levels import level_names, natural
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Choice
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.choose import choose_families
from sunrise.statistics.counts import Counts
from sunrise.statistics.model import Stats

#: A column of numbers wakes up when this number of cells differ from its most frequent value.
FEW_CELLS = 30
#: Most cells of the first value by which a family is chosen: among very many, the others would not be seen.
MOST_CONSTANT = 1000


def speaking_columns(schema: Schema, stats: Stats, latest: Frame) -> list[int]:
    """Return the positions of the sleeping columns that have to wake up.

    `latest` is the table that was added last; the types of its columns tell numbers from strings.
    """
    if stats.asleep is None:
        return []
    speaking = []
    for k, j in enumerate(schema.asleep):
        cells = _cells(stats.asleep, k)
        if len(cells) < 2:
            continue
        kind = _kind(schema, j, latest.read(j), stats.asleep.levels(k))
        if kind != "number" or cells.sum() - cells.max() >= FEW_CELLS:
            speaking.append(j)
    return speaking


def wake_columns(
    settings: Settings, schema: Schema, stats: Stats, speaking: list[int], latest: Frame
) -> tuple[Schema, Stats]:
    """Return schema and statistics in which some sleeping columns are awake."""
    choices = {}
    for j in speaking:
        counts = _counts(schema, stats, j)
        cells = _cells(counts, 0)
        share = np.where(np.arange(len(cells)) == cells.argmax(), min(1.0, MOST_CONSTANT / cells.max()), 1.0)
        rows = np.ceil(counts.rows * share).astype(np.int64)
        some = replace(counts, rows=rows, weight=counts.weight * rows / np.maximum(counts.rows, 1))
        column, accumulator = _rows(settings, schema, stats, j, some, latest.read(j))
        table = Frame((column.name,), column.n_rows, lambda _, column=column: column)  # type: ignore[misc]
        families = "auto-fast" if settings.families == "auto-fast" else "auto"
        (choice,), _ = choose_families(accumulator, table, replace(settings, families=families))
        choices[j] = replace(choice, reason=f"{choice.reason}; constant or empty at first")
    return wake_with(settings, schema, stats, choices, latest)


def wake_with(
    settings: Settings, schema: Schema, stats: Stats, choices: dict[int, Choice], latest: Frame | None = None
) -> tuple[Schema, Stats]:
    """Return schema and statistics in which sleeping columns are awake with these choices."""
    if not choices or stats.asleep is None:
        return schema, stats
    own = {}
    for j, choice in choices.items():
        if choice.family is None:
            continue
        cells = Column(schema.names[j], choice.kind, 0) if latest is None else latest.read(j)
        column, accumulator = _rows(settings, schema, stats, j, _counts(schema, stats, j), cells)
        alone = Schema((schema.names[j],), (choice,), is_named=schema.is_named)
        table = Frame(alone.names, column.n_rows, lambda _, column=column: column)  # type: ignore[misc]
        own[j] = accumulator.table(table, alone).reindexed(stats.classes).blocks[0]
    awake = schema.with_choices(choices)
    rest = [k for k, j in enumerate(schema.asleep) if j not in choices]
    asleep = stats.asleep.select_columns(np.array(rest, np.intp)) if rest else None
    return awake, replace(stats, blocks=awake.regrouped(schema, stats.blocks, own), asleep=asleep)


def reasons_asleep(schema: Schema, stats: Stats) -> dict[int, str]:
    """Return for every sleeping column why it is left out, with the values that are counted."""
    if stats.asleep is None:
        return {}
    reasons = {}
    for k, j in enumerate(schema.asleep):
        cells, levels = _cells(stats.asleep, k), stats.asleep.levels(k)
        if len(cells) == 0:
            reasons[j] = "left out: every cell is missing so far"
        elif len(cells) == 1:
            reasons[j] = f"left out: every cell is the same so far ({levels[0]})"
        else:
            others = int(cells.sum() - cells.max())
            reasons[j] = (
                f"left out: {others} cells differ from {levels[cells.argmax()]} so far, of {FEW_CELLS} needed"
            )
    return reasons


def _counts(schema: Schema, stats: Stats, j: int) -> Counts:
    """Return the counts of one sleeping column."""
    asleep: Any = stats.asleep
    counts: Counts = asleep.select_columns(np.array([schema.asleep.index(j)]))
    return counts


def _cells(counts: Counts, k: int) -> Integers:
    """Return the number of cells of every level of a column."""
    return np.asarray(counts.rows[:, counts.offsets[k] : counts.offsets[k + 1]].sum(axis=0))


def _rows(
    settings: Settings, schema: Schema, stats: Stats, j: int, counts: Counts, latest: Column
) -> tuple[Column, RowAccumulator]:
    """Return cells with these counts as a column, with their classes and weights."""
    at_class, at_level = np.nonzero(counts.rows)
    n = counts.rows[at_class, at_level]
    mean_weight = counts.weight[at_class, at_level] / n
    weight = None if (mean_weight == 1.0).all() else np.repeat(mean_weight, n)
    column = _column(schema, j, latest, counts.codes, np.repeat(at_level, n).astype(np.int32))
    codes = np.repeat(at_class, n).astype(np.int32)
    return column, RowAccumulator(stats.classes, codes, weight, settings.n_jobs, settings.who)


def _kind(schema: Schema, j: int, latest: Column, levels: Labels) -> str:
    """Return the type of the cells of a sleeping column: "number", "bool" or "level"."""
    kinds = {schema.choices[j].kind, latest.kind} - {"empty"}
    if kinds == {"bool"}:
        return "bool"
    return "level" if kinds - {"number"} or any(natural(level)[0] for level in levels) else "number"


def _column(schema: Schema, j: int, latest: Column, levels: Labels, codes: Codes) -> Column:
    """Return cells as a column of numbers, booleans or levels."""
    kind, n, name, texts = _kind(schema, j, latest, levels), len(codes), schema.names[j], levels.tolist()
    if kind == "bool":
        return Column(name, kind, n, np.array([text == "True" for text in texts], np.uint8)[codes])
    known = Levels(level_names(texts), codes)
    if kind == "level":
        return Column(name, kind, n, known=known, declared=latest.declared)
    is_single = (
        str(getattr(latest.cells, "dtype", "")).lower() == "float32"
    )  # a name has the digits of its type
    numbers = np.array([float(np.float32(text)) if is_single else float(text) for text in texts])
    large = bool((np.abs(numbers) >= 2.0**53).any())
    return Column(name, kind, n, numbers[codes], known if large else None)
