"""Compression: weights on grids in place of the training values that some families keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sunrise.families.kept_values import ColumnGrid, KeepsValues
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Schema
from sunrise.statistics.empirical import Values
from sunrise.statistics.model import Stats

#: A column that keeps its values has at most this many after fit, all classes together; with more it gets a grid.
MOST_DISTINCT = 100_000


def choose_grids(model: FittedModel, most: float = 0.0, n_rows: float = 0.0) -> dict[int, ColumnGrid]:
    """Return a grid for every column that keeps more than `most` values, by position.

    If the model was fitted to a sample of `n_rows` rows, the numbers of values in all rows are estimated.
    """
    return {
        j: part.family.choose_grid(block, at)
        for part, block in zip(model.parts, model.blocks, strict=True)
        if isinstance(part.family, KeepsValues)
        for at, j in enumerate(part.columns)
        if part.family.grid_at(at) is None and block.known[at] and _n_values(block, at, n_rows) > most
    }


def _n_values(block: Values, at: int, n_rows: float) -> float:
    """Return the number of distinct values of a column, all classes together; of a sample, the estimate for all rows.

    The estimate (Chao 1984) is d + f1 (f1 - 1) / (2 (f2 + 1)) with d values, of which f1 occur once and f2 twice.
    """
    d = float(block.sizes[:, at].sum())
    if not n_rows:
        return d
    times = np.concatenate([run.rows for run in block.of_column(at)])
    once, twice = float((times == 1).sum()), float((times == 2).sum())
    return min(n_rows, d + once * (once - 1.0) / (2.0 * (twice + 1.0)))


def has_many_values(schema: Schema, stats: Stats) -> bool:
    """True if a column keeps more than `MOST_DISTINCT` values."""
    return any(
        part.family.grid_at(at) is None and block.sizes[:, at].sum() > MOST_DISTINCT
        for part, block in zip(schema.parts, stats.blocks, strict=True)
        if isinstance(part.family, KeepsValues)
        for at in range(len(part.columns))
    )


def put_on_grids(schema: Schema, stats: Stats, grids: dict[int, ColumnGrid]) -> tuple[Schema, Stats]:
    """Return schema and statistics with the values of some columns (by position) on grids."""
    choices, blocks = {}, list(stats.blocks)
    for k, part in enumerate(schema.parts):
        family = part.family
        if not isinstance(family, KeepsValues) or not any(j in grids for j in part.columns):
            continue
        new = tuple(grids.get(j) for j in part.columns)
        old = family.compressed or (None,) * len(new)
        blocks[k] = blocks[k].on_grids([None if own is None else family.lattice(own.step) for own in new])
        family = family.on_grids(tuple(a or b for a, b in zip(old, new, strict=True)))
        for at, j in enumerate(part.columns):
            choices[j] = replace(schema.choices[j], family=family.reader.column_family(family, at))
    compressed = schema.with_choices(choices)
    return compressed, replace(stats, blocks=compressed.regrouped(schema, tuple(blocks)))


def put_on_grids_of(
    schema: Schema, stats: Stats, other: Schema, order: Sequence[int]
) -> tuple[Schema, Stats]:
    """Put values on the grids of another model, in columns that only the other model has compressed.

    Column j of the schema is column order[j] of the other model.
    """
    grids = {}
    for j, at in enumerate(order):
        mine, theirs = schema.choices[j].family, other.choices[at].family
        if isinstance(mine, KeepsValues) and isinstance(theirs, KeepsValues) and mine.name == theirs.name:
            grid = theirs.compressed[0] if theirs.compressed else None
            if grid is not None and mine.grid_at(0) is None:
                grids[j] = grid
    return put_on_grids(schema, stats, grids) if grids else (schema, stats)
