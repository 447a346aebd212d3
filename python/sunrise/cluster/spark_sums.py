"""Push-down to Spark: sums of numeric columns in SQL, one row per class and partition, added up exactly on the driver.

Spark takes longer to hand over rows to Python than to add them up itself: one million rows of 100 doubles took 15.2 s
of CPU by SQL and 16.5 s by tasks in Python. Every query reads the table again, so a table that is expensive to compute
is read once, by tasks.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from math import fsum
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats
from sunrise.cluster.spark_jobs import one_error
from sunrise.data.frame import frame_of
from sunrise.data.labels import encode_labels, label_column
from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.store.accumulator import Accumulator
from sunrise.streams.expressions import are_available
from sunrise.streams.grouped import Grouped, collected
from sunrise.streams.pushdown import PushDown, combine, rest_of
from sunrise.streams.relation import NarwhalsTable

logger = logging.getLogger("sunrise")

#: What `push_down` may be.
PUSH_DOWN = ("auto", True, False)
#: Fewest cells that are pushed down by default: the compilation of the queries takes a few seconds of CPU.
FEWEST_CELLS = 50_000_000
#: Columns that one query sums: the code that Spark generates for more is too long for the compiler of Java.
COLUMNS_PER_QUERY = 20
#: Rows that give the first anchors, if there is no sample.
FIRST_ROWS = 1000
#: Steps of a plan that reads stored rows; tables with other steps are expensive to read several times.
_CHEAP = {
    "FileScan",
    "BatchScan",
    "Scan",
    "LocalTableScan",
    "InMemoryTableScan",
    "InMemoryRelation",
    "ColumnarToRow",
    "Project",
    "Filter",
}
_PARTITION = "sunrise: partition"


class SparkTable(NarwhalsTable):
    """A DataFrame of Spark, as the expressions of push-down see it."""

    kind = backend = "spark"

    def __init__(self, frame: Any) -> None:
        self.table = frame


class ByPartition(Grouped):
    """Rows by label whose sums come from every partition, so that they do not depend on the order of tasks."""

    @property
    def columns_per_query(self) -> int:
        """Number of columns that one query sums."""
        return COLUMNS_PER_QUERY

    def sums(self, frame: Any, expressions: Sequence[Any]) -> Any:
        """Return sums by label, which are columns of one row per class, in the order of the classes."""
        import narwhals.stable.v2 as nw
        from pyspark.sql import functions as sql

        native = frame.to_native().withColumn(_PARTITION, sql.spark_partition_id())
        found = collected(nw.from_native(native).group_by(self.label, _PARTITION).agg(*expressions))
        rows = found.select(self.label).to_native()
        classes, codes = encode_labels(self.who, label_column(rows, frame_of(rows), self.label), len(found))
        position = labels.locate(self.classes, classes)[codes]
        if (position < 0).any() or len(np.unique(position)) < len(self.classes):
            raise RuntimeError("The labels of the DataFrame have changed while it was read. Fit again.")
        names = [name for name in found.columns if name not in (self.label, _PARTITION)]
        members = [np.flatnonzero(position == c).tolist() for c in range(len(self.classes))]
        return {name: _by_class(name, found[name].to_list(), members) for name in names}


def _by_class(name: str, cells: list[Any], members: list[list[int]]) -> Floats:
    """Return the sum (or the least or largest) of the cells of every class; None adds nothing."""
    reduce: Callable[[list[float]], float] = _REDUCE.get(name.partition(" ")[0], _total)
    present = ([float(cells[k]) for k in own if cells[k] is not None] for own in members)
    return np.array([reduce(own) if own else np.nan for own in present])


def _total(cells: list[float]) -> float:
    """Return the exact sum, rounded once; infinite cells are summed as floats."""
    return fsum(cells) if np.isfinite(cells).all() else float(np.sum(cells))


_REDUCE: dict[str, Callable[[list[float]], float]] = {"low": min, "high": max}


def reason_for_tasks(frame: Any, schema: Schema, push_down: bool | str) -> str:
    """Return why tasks have to add up the rows; an empty string if Spark may do it in SQL."""
    if push_down is False:
        return "push_down=False"
    if not are_available():
        return "the installed narwhals is too old"
    if schema.interactions or schema.counted or schema.rules is not None or schema.asleep:
        return "the model has interactions, derived columns or constant columns"
    if odd := [name for name in frame.columns if "." in name or "`" in name]:
        return f"the name {odd[0]!r} has a dot"
    if push_down == "auto" and (step := _expensive_step(frame)) is not None:
        return f"the table is not read from storage alone ({step})"
    return ""


def _expensive_step(frame: Any) -> str | None:
    """Return the first step of the plan that computes more than stored rows; None if there is none."""
    text = io.StringIO()
    with redirect_stdout(text), one_error():
        frame.explain()
    steps = re.findall(r"^[\s:+\-*()\d]*([A-Z]\w+)", text.getvalue().partition("\n")[2], flags=re.MULTILINE)
    return next((step for step in steps if step not in _CHEAP), None)


def pushed_statistics(
    frame: Any,
    schema: Schema,
    columns: tuple[str, str | None],
    first: Stats | None,
    push_down: bool | str,
    by_tasks: Callable[[Schema], Stats | None],
) -> Stats | None:
    """Return the statistics of all rows, computed by Spark where it can; None if tasks have to add up all rows.

    `columns` are the names of labels and weights, `first` the statistics of a sample, if there is one; `by_tasks` adds
    up the columns of a schema.
    """
    if why := reason_for_tasks(frame, schema, push_down):
        logger.info("Spark DataFrame: rows added up by tasks (%s)", why)
        return None
    label, weight = columns
    with one_error():
        grouped = ByPartition.of(SparkTable(frame), label, weight, "NaiveBayes", None)  # type: ignore[arg-type]
        n_cells = int(grouped.rows.sum()) * len(schema.used)
        if push_down == "auto" and n_cells < FEWEST_CELLS:
            logger.info("Spark DataFrame: rows added up by tasks (%s cells)", f"{n_cells:,}")
            return None
        if first is None and (first := _first_statistics(frame, schema, label, weight)) is None:
            return None
        push = PushDown(grouped, schema, first, only_sums=True)
        if push_down == "auto" and push.n_planned < len(schema.used):
            logger.info("Spark DataFrame: rows added up by tasks (some columns are not sums)")
            return None
        done = push.statistics()
    rest, rest_schema = None, rest_of(schema, done)
    if rest_schema.used and (rest := by_tasks(rest_schema)) is None:
        return None
    logger.info("Spark DataFrame: %s", push.describe(done))
    return combine(grouped, schema, done, rest)


def _first_statistics(frame: Any, schema: Schema, label: str, weight: str | None) -> Stats | None:
    """Return the statistics of the first rows; None if they cannot be added up."""
    rows = frame.limit(FIRST_ROWS).toArrow()
    own = None
    if weight is not None:
        own = np.asarray(rows.column(weight).to_numpy(), dtype=np.float64)
        rows = rows.drop_columns([weight])
    try:
        return Accumulator(schema).update(rows, label, own).stats
    except ValueError:  # the tasks name the cell
        return None
