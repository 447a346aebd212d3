"""Columns with few distinct values: the engine of a lazy table counts the rows with each label and value.

The counts are rows of a small table with weights, so every family adds them up in its usual way, and the names of
levels, missing cells and messages are the same as for a table in memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Integers
from sunrise.data.frame import frame_of
from sunrise.data.labels import encode_labels, label_column
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Choice
from sunrise.model.schema import Schema
from sunrise.statistics.counts import Counts
from sunrise.statistics.empirical import Values
from sunrise.streams.expressions import bin_values
from sunrise.streams.grouped import N_ROWS, WEIGHT, Grouped, collected
from sunrise.streams.sql import groups_by_sets


def count_values(grouped: Grouped, choices: dict[str, Choice]) -> dict[str, Any]:
    """Return the statistics of columns by name: of their families, or counts of the values of columns asleep."""
    names = list(choices)
    tables = groups_by_sets(
        grouped.relation,
        _cells(grouped, choices),
        grouped.label,
        names,
        N_ROWS,
        None if grouped.weight is None else WEIGHT,
    )
    if tables is None:
        tables = (_group(grouped, name, choices[name]) for name in names)
    return {
        name: statistics_of(grouped, name, choices[name], found)
        for name, found in zip(names, tables, strict=True)
    }


def _cells(grouped: Grouped, choices: dict[str, Choice]) -> Any:
    """Return the labels, the values of some columns and the weights as a lazy frame of narwhals."""
    import narwhals.stable.v2 as nw

    cells = [values_of(grouped, name, choice) for name, choice in choices.items()]
    if grouped.weight is not None:
        cells.append(grouped.weight_cells())
    return grouped.frame.select(nw.col(grouped.label), *cells)


def _group(grouped: Grouped, name: str, choice: Choice) -> Any:
    """Count the rows with each label and value of one column."""
    import narwhals.stable.v2 as nw

    counts = [nw.len().alias(N_ROWS)]
    if grouped.weight is not None:
        counts.append(nw.col(WEIGHT).sum().alias(WEIGHT))
    return collected(_cells(grouped, {name: choice}).group_by(grouped.label, name).agg(*counts))


def values_of(grouped: Grouped, name: str, choice: Choice) -> Any:
    """Return the cells to group by: the cells themselves, or one number for each bin."""
    import narwhals.stable.v2 as nw

    family: Any = choice.family
    if family is None or not family.reader.learns:
        return nw.col(name)
    return bin_values(name, grouped.relation.types[name], family.cuts[0].edges)


def statistics_of(grouped: Grouped, name: str, choice: Choice, found: Any) -> Any:
    """Return the statistics of a column from the number and weight of the rows with each label and value."""
    schema = Schema((name,), (choice,), True)
    rows = np.asarray(found[N_ROWS].to_list(), dtype=np.float64)
    native = found.select(grouped.label, name).to_native()
    table = frame_of(native)
    classes, codes = encode_labels(grouped.who, label_column(native, table, grouped.label), len(rows))
    cells = table.without(grouped.label)

    def added(weight: Any) -> Any:
        rows_of = RowAccumulator(classes, codes, weight, grouped.n_jobs, grouped.who)
        stats = rows_of.table(cells, schema).reindexed(grouped.classes)
        return stats.asleep if choice.asleep else stats.blocks[0]

    by_rows = added(rows)
    if grouped.weight is None:
        return with_rows(by_rows, by_rows)
    return with_rows(added(np.asarray(found[WEIGHT].to_list(), dtype=np.float64)), by_rows)


def with_rows(stats: Any, by_rows: Any) -> Any:
    """Return statistics with the row counts that are the weights of other ones."""
    if isinstance(stats, Counts):
        return replace(stats, rows=_whole(by_rows.weight))
    if isinstance(stats, Values):
        return replace(stats, rows=_whole(by_rows.observed_weight), times=_whole(by_rows.weight))
    return replace(stats, rows=_whole(by_rows.observed_weight))


def _whole(a: Any) -> Integers:
    return np.asarray(np.rint(a), dtype=np.int64)
