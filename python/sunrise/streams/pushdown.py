"""Push-down: the engine of a lazy table computes statistics by queries, so that most cells are never read.

The statistics of a column are computed in one of three ways:

- "sums": counts, sums and sums of squares per class in a query (`sums.py`); Gaussian and similar families
- "values": the number of rows with each label and value in a query (`value_counts.py`); levels, counts, few values
- "batches": Sunrise reads the cells; text, columns with many distinct values, and columns with invalid cells, for which
  the error has to name a row
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats
from sunrise.model.choice import Choice
from sunrise.model.schema import Schema
from sunrise.statistics.counts import Counts
from sunrise.statistics.empirical import Values
from sunrise.statistics.model import Stats
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums
from sunrise.statistics.terms import X2, X
from sunrise.streams.expressions import can_view, is_number
from sunrise.streams.grouped import Grouped
from sunrise.streams.source import Piece
from sunrise.streams.sums import Target, sum_columns
from sunrise.streams.value_counts import count_values

#: Most levels or values of a column in the sample: with more, the groups are hardly fewer than the rows.
MOST_VALUES = 10_000
#: Largest mean of counts that are grouped by value: larger ones have too many values.
LARGEST_MEAN = 1000.0


class PushDown:
    """Plan and computation of the statistics that the engine of a lazy table can compute.

    `schema` and `first`, the choices for the columns and the statistics of a sample, decide the way of every column.
    With `only_sums`, columns of "values" are read in batches, too.
    """

    def __init__(self, grouped: Grouped, schema: Schema, first: Stats, only_sums: bool = False) -> None:
        self.grouped, self.schema = grouped, schema
        self.first = first
        ways = self._plan()
        self._ways = {j: way for j, way in ways.items() if way == "sums"} if only_sums else ways

    @property
    def n_planned(self) -> int:
        """Number of columns whose statistics the engine shall compute."""
        return len(self._ways)

    def _plan(self) -> dict[int, str]:
        """Return the way of every column that the engine can do, "sums" or "values", by position."""
        types = self.grouped.relation.types
        ways = dict.fromkeys(self.schema.asleep, "values")
        for part, stats in zip(self.schema.parts, self.first.blocks, strict=True):
            family, support = part.family, part.family.fit_support
            reader = family.reader
            if reader.whole_rows or reader.own_block or reader.derived or support.grids:
                continue
            sums = reader.is_plain and {X, X2}.issuperset(family.terms) and can_view(support)
            for at, j in enumerate(part.columns):
                if sums and is_number(types[self.schema.names[j]]):
                    ways[j] = "sums"
                elif _has_few_values(stats, at, len(support.views), support.whole) and (
                    not reader.learns or is_number(types[self.schema.names[j]])
                ):
                    ways[j] = "values"
        return {j: way for j, way in ways.items() if self.schema.names[j] in types}

    def statistics(self) -> dict[int, Any]:
        """Run the queries; return the statistics of the columns by position.

        Columns with cells that the engine cannot add up are absent, and have to be read in batches.
        """
        names, choices = self.schema.names, self.schema.choices
        targets = {names[j]: j for j, way in self._ways.items() if way == "sums"}
        summed = sum_columns(self.grouped, [self._target(j) for j in targets.values()])
        own = {targets[name]: stats for name, stats in summed.items()}
        grouped = {names[j]: j for j, way in self._ways.items() if way == "values"}
        counted = count_values(self.grouped, {name: self._alone(choices[j]) for name, j in grouped.items()})
        return own | {grouped[name]: stats for name, stats in counted.items()}

    def ways(self, done: dict[int, Any]) -> dict[str, str]:
        """Return "sums", "values" or "batches" for every used column, by name; `done` is the result of `statistics`."""
        columns = enumerate(self.schema.names)
        used = {
            j: name for j, name in columns if self.schema.choices[j].family or self.schema.choices[j].asleep
        }
        return {name: self._ways[j] if j in done else "batches" for j, name in used.items()}

    def describe(self, done: dict[int, Any]) -> str:
        """Return the number of columns of each way as a text."""
        ways = list(self.ways(done).values())
        counts = ((way, ways.count(way)) for way in ("sums", "values", "batches"))
        return "columns added up by " + ", ".join(f"{way}: {n}" for way, n in counts)

    @staticmethod
    def _alone(choice: Choice) -> Choice:
        """Return the choice of a column outside any block of columns."""
        return replace(choice, block=None)

    def _target(self, j: int) -> Target:
        """Return what to sum for column j, with anchors from the sample."""
        name = self.schema.names[j]
        part, k, at = next(
            (part, k, part.columns.index(j)) for k, part in enumerate(self.schema.parts) if j in part.columns
        )
        support, squares = part.family.fit_support, X2 in part.family.terms
        n = len(support.views)
        anchor = np.zeros((len(self.grouped.classes), n))
        if squares:
            own = self.first.blocks[k].select_columns(at * n + np.arange(n))
            anchor = anchors(own, labels.locate(self.first.classes, self.grouped.classes))
        return Target(name, self.grouped.relation.types[name], support, squares, anchor)


def anchors(moments: Moments, position: Any) -> Floats:
    """Return a number close to the mean of every class, classes x views, from the moments of a sample.

    `position` has the position of every class in the sample, -1 if the sample has none of its rows. One anchor for all
    classes makes the shortest query, so a class has its own only if its mean is far from the mean of the column.
    """
    pooled = moments.pooled()
    common = _rounded(pooled.mean[0], pooled.squared_error[0], pooled.observed_weight[0])
    mean, squares = moments.mean_and_squared_error
    weight = np.broadcast_to(moments.observed_weight, mean.shape)
    own = np.stack([_rounded(*row) for row in zip(mean, squares, weight, strict=True)])
    # Squares about the common anchor are those about the mean, and the weight times the squared distance.
    far = weight * (mean - common) ** 2 > 16.0 * squares
    anchor = np.where(far & (np.broadcast_to(moments.rows, mean.shape) > 0), own, common)
    return np.where(position[:, None] >= 0, anchor[position], common)


def _rounded(mean: Floats, squares: Floats, weight: Floats) -> Floats:
    """Round means to a small part of the standard deviation: numbers of few digits are the same in every engine."""
    deviation = np.sqrt(np.divide(squares, weight, out=np.zeros_like(mean), where=weight > 0))
    step = 2.0 ** np.floor(np.log2(np.where(deviation > 0, deviation, 1.0)) - 4)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.round(mean / step) * step
    return np.where((deviation > 0) & np.isfinite(rounded), rounded, mean)


def _has_few_values(stats: Any, at: int, n_views: int, whole: bool) -> bool:
    """True if the statistics of a sample show that a column has few distinct values."""
    if isinstance(stats, Counts):
        return bool(np.diff(stats.offsets)[at] <= MOST_VALUES)
    if isinstance(stats, Values):
        return bool(stats.sizes[:, at].sum() <= min(MOST_VALUES, stats.rows[:, at].sum() / 4))
    if isinstance(stats, Sums) and whole:
        return bool(stats.pooled().mean[0, at * n_views] <= LARGEST_MEAN)
    return False


def rest_of(schema: Schema, done: dict[int, Any]) -> Schema:
    """Return the schema without the columns that are `done`: the rest is read in batches."""
    return schema.with_choices({j: replace(schema.choices[j], family=None, asleep=False) for j in done})


def rest_pieces(grouped: Grouped, schema: Schema) -> Iterator[Piece] | None:
    """Read the used columns of a schema in batches, with labels and weights; None if the schema uses no column."""
    names = [
        name for j, name in enumerate(schema.names) if schema.choices[j].family or schema.choices[j].asleep
    ]
    if not names:
        return None
    extra = [grouped.label] if grouped.weight is None else [grouped.label, grouped.weight]
    relation = grouped.relation
    return relation.batches(relation.selected([*names, *extra]))


def combine(grouped: Grouped, schema: Schema, done: dict[int, Any], rest: Stats | None) -> Stats:
    """Return the statistics of all columns, from those by the engine (`done`) and those by batches (`rest`)."""
    rest_schema = rest_of(schema, done)
    if rest is None:
        rest = Stats(grouped.classes, grouped.rows, grouped.total, ())
    elif not np.array_equal(rest.rows, grouped.rows):
        raise RuntimeError("The rows of the lazy table have changed while it was read. Fit again.")
    rest = rest.reindexed(grouped.classes)
    blocks = schema.regrouped(rest_schema, rest.blocks, done)
    asleep = None
    if schema.asleep:
        asleep = Counts.concatenate([done[j] for j in schema.asleep])
    return Stats(grouped.classes, grouped.rows, grouped.total, blocks, asleep)
