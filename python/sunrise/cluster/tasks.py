"""Tasks: the functions that workers run on the Arrow batches of a partition.

Workers import this module by its name, and it imports neither scikit-learn nor SciPy nor pandas before a model
predicts. A task returns one row (`RESULT`) per partition. An error of the data is part of the row: a cluster would
otherwise try the task again, with the same result.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.cluster.parts import merged, to_bytes
from sunrise.data.frame import frame_of
from sunrise.data.labels import encode_labels, separate_labels
from sunrise.data.weights import weights
from sunrise.store.accumulator import Accumulator
from sunrise.streams.sample import ContentSample

#: The columns that a task returns: number of the partition, its part as bytes, the text of an error, and the category
#: and the text of its first warning.
RESULT = "partition int, part binary, problem string, category string, warning string"
_TYPES = (
    ("partition", "int32"),
    ("part", "binary"),
    *((name, "string") for name in ("problem", "category", "warning")),
)
#: Small batches are joined until they have this number of cells: a batch costs about a millisecond beside its cells.
CELLS = 1 << 21
#: Parts that one task merges.
FAN_IN = 32


def joined(batches: Iterable[Any]) -> Iterator[Any]:
    """Join small Arrow batches into tables of about `CELLS` cells; batches without rows are dropped."""
    import pyarrow as pa

    held: list[Any] = []
    n_cells = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        n_cells += batch.num_rows * batch.num_columns
        if n_cells >= CELLS:
            yield pa.Table.from_batches(held)
            held, n_cells = [], 0
    if held:
        yield pa.Table.from_batches(held)


class Result(NamedTuple):
    """The row that a task returns."""

    partition: int
    part: bytes | None = None
    problem: str | None = None
    category: str | None = None
    warning: str | None = None

    @property
    def batch(self) -> Any:
        """The row as an Arrow batch."""
        import pyarrow as pa

        cells = [pa.array([cell], kind) for cell, (_, kind) in zip(self, _TYPES, strict=True)]
        return pa.RecordBatch.from_arrays(cells, names=[name for name, _ in _TYPES])

    @classmethod
    def rows(cls, table: Any) -> list[Result]:
        """Return the rows of an Arrow table or batch, in the order of their partitions."""
        columns = (table.column(name).to_pylist() for name in cls._fields)
        return sorted((cls(*row) for row in zip(*columns, strict=True)), key=lambda row: row.partition)

    @classmethod
    def sum(cls, rows: list[Result], kind: str) -> Result:
        """Return the sum of rows in the order of their partitions, with the first error and the first warning."""
        for row in rows:
            if row.problem is not None:
                return row
        parts = [row.part for row in rows if row.part is not None]
        warned = next((row for row in rows if row.warning is not None), rows[0])
        part = to_bytes(merged(parts, kind)) if len(parts) > 1 else next(iter(parts), None)
        return cls(rows[0].partition, part, None, warned.category, warned.warning)


@dataclass(frozen=True)
class Columns:
    """The names of the columns that hold labels and weights."""

    label: str
    weight: str | None

    def split(self, table: Any) -> tuple[Any, Floats | None]:
        """Return a batch without its weights, and the weights; None if every row has weight 1."""
        if self.weight is None:
            return table, None
        weight = np.asarray(table.column(self.weight).to_numpy(), dtype=np.float64)
        table = table.drop_columns([self.weight])
        # Whether all weights are 0 is a question about all batches.
        return table, weights(weight, table.num_rows) if weight.any() else weight


@dataclass(frozen=True)
class AddUp:
    """Adds up the rows of a partition: statistics under a schema, or a sample."""

    columns: Columns
    #: The schema, as bytes of an accumulator without rows; None to draw a sample.
    schema: bytes | None = None
    #: Most rows of the sample, and the largest hash of its rows, if known.
    most: int = 0
    limit: int | None = None

    @property
    def kind(self) -> str:
        """The kind of the parts: "statistics" or "sample"."""
        return "sample" if self.schema is None else "statistics"

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Return one row for the batches of the partition that this worker has."""
        from pyspark import TaskContext

        context = TaskContext.get()
        yield self.of(0 if context is None else context.partitionId(), batches).batch

    def of(self, partition: int, batches: Iterable[Any], origin: str | None = None) -> Result:
        """Return one row for the batches of a partition."""
        part, first = self._empty(), 0
        category = warning = None
        for table in joined(batches):
            where = (
                f"rows {first:,} to {first + table.num_rows - 1:,} of {origin or f'partition {partition}'}"
            )
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    self._add(part, table)
            except (TypeError, ValueError) as error:
                return Result(partition, problem=f"In {where}: {error}")
            if caught and warning is None:
                category = caught[0].category.__name__
                warning = f"In {where}: {str(caught[0].message).partition(' Silence this')[0]}"
            first += table.num_rows
        return Result(partition, to_bytes(part) if first else None, None, category, warning)

    def _empty(self) -> Any:
        if self.schema is None:
            return ContentSample(self.most, limit=None if self.limit is None else np.uint64(self.limit))
        part = Accumulator.from_bytes(self.schema)
        part.n_jobs = 1  # a cluster gives every task one core
        return part

    def _add(self, part: Any, table: Any) -> None:
        table, weight = self.columns.split(table)
        if weight is not None and not weight.any():
            return
        if isinstance(part, Accumulator):
            part.update(table, self.columns.label, weight)
            return
        frame, y, _ = separate_labels("NaiveBayes", table, frame_of(table), self.columns.label)
        part.add(frame, self.columns.label, *encode_labels("NaiveBayes", y, frame.n_rows), weight)


@dataclass(frozen=True)
class Merge:
    """Merges the parts of every `FAN_IN` neighbouring partitions, in the order of the partitions."""

    kind: str

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Return one row for every group of partitions; Spark has brought the parts of a group together."""
        groups: dict[int, list[Result]] = {}
        for batch in batches:
            for row in Result.rows(batch):
                groups.setdefault(row.partition // FAN_IN, []).append(row)
        for group in sorted(groups):
            yield Result.sum(sorted(groups.pop(group), key=lambda row: row.partition), self.kind).batch


@dataclass(frozen=True)
class Predict:
    """Adds the predictions of a model to the batches of a partition."""

    model: bytes
    #: Columns that the model does not know.
    unknown: tuple[str, ...]
    prediction: str
    probabilities: str | None

    @cached_property
    def _model(self) -> Any:
        from sunrise.estimators.saving import load

        model = load(self.model)
        model.n_jobs = 1
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Return the batches with one or two more columns."""
        import pyarrow as pa

        for batch in batches:
            columns, names = list(batch.columns), list(batch.schema.names)
            table = batch.drop_columns(list(self.unknown)) if self.unknown else batch
            if self.probabilities is None:
                columns.append(self._labels(self._model.predict(table) if batch.num_rows else []))
                names.append(self.prediction)
            else:
                n_classes = len(self._model.classes_)
                p = self._model.predict_proba(table) if batch.num_rows else np.empty((0, n_classes))
                ends = pa.array(np.arange(len(p) + 1, dtype=np.int32) * n_classes)
                columns += [
                    self._labels(self._model.classes_[p.argmax(axis=1)]),
                    pa.ListArray.from_arrays(ends, pa.array(p.ravel())),
                ]
                names += [self.prediction, self.probabilities]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    def _labels(self, labels: Any) -> Any:
        """Return labels as an Arrow array of the type of all classes."""
        import pyarrow as pa

        return pa.array(np.asarray(labels).tolist(), pa.array(self._model.classes_.tolist()).type)
