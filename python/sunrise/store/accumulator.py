"""Accumulator: the statistics of batches of rows under a fixed schema, computed by workers and added up.

A worker imports neither scikit-learn nor SciPy nor pandas: `from sunrise import Accumulator` is enough.
"""

from __future__ import annotations

from typing import Any, Self

from sunrise.data.align import align
from sunrise.data.errors import refuse_no_rows
from sunrise.data.frame import Frame, document_frame, frame_of
from sunrise.data.labels import encode_labels, separate_labels
from sunrise.data.weights import weights
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.schema import Schema
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.model import Stats
from sunrise.store.container import unpack
from sunrise.store.errors import ModelFileError
from sunrise.store.state import open_parts, read_schema, read_stats, to_pieces, write_schema, write_stats
from sunrise.store.values import CannotSaveError, Writer

__all__ = ["Accumulator"]

_WHO = "Accumulator"


class Accumulator:
    """Adds up the statistics of batches of rows under the schema of a fitted model.

    Accumulators of different processes add up with `+`, in any order and with the same result as one accumulator of all
    rows. `to_bytes` and `from_bytes` carry them from one process to another.

    Parameters
    ----------
    schema : Schema
        The columns and their families: `schema_` of a fitted model.
    n_jobs : int or None, default=None
        Number of threads.

    Attributes
    ----------
    stats : Stats or None
        The statistics so far; None before the first batch.

    Examples
    --------
    >>> import sunrise as sr
    >>> table = {"height": [1.62, 1.71, 1.93, 1.88], "hair": ["long", None, "short", "short"]}
    >>> model = sr.NaiveBayes().fit(table, ["a", "a", "b", "b"])
    >>> one, two = sr.Accumulator(model.schema_), sr.Accumulator(model.schema_)
    >>> sent = one.update({"height": [1.6], "hair": ["long"]}, ["a"]).to_bytes()
    >>> total = sr.Accumulator.from_bytes(sent) + two.update({"height": [1.9], "hair": [None]}, ["b"])
    >>> total.model(sr.NaiveBayes()).class_count_
    array([1., 1.])
    """

    def __init__(self, schema: Schema, *, n_jobs: int | None = None) -> None:
        if not isinstance(schema, Schema):
            raise TypeError(
                f"schema is of type {type(schema).__name__}; pass schema_ of a fitted model, for example "
                "NaiveBayes().fit(X, y).schema_."
            )
        self.schema, self.n_jobs = schema, n_jobs
        self.stats: Stats | None = None

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a batch of rows; X, y and sample_weight are as in `fit`."""
        self.stats = self._sum(self._statistics(X, y, sample_weight))
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        """Return the statistics of the rows of both; their schemas must agree."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        more = self._aligned(other)
        return self._with(self.stats if more is None else self._sum(more))

    def __sub__(self, other: Accumulator) -> Accumulator:
        """Return the statistics without the rows of the other one, which must all be here."""
        if not isinstance(other, Accumulator):
            return NotImplemented
        removed = self._aligned(other)
        if removed is None:
            return self._with(self.stats)
        try:
            if self.stats is None:
                raise NeverSeenError("no row was added")
            remaining = self.stats - removed
        except NeverSeenError as error:
            raise ValueError(
                f"These rows cannot be subtracted: {error}. Subtract only rows that were added."
            ) from None
        return self._with(remaining if remaining.rows.any() else None)

    def _with(self, stats: Stats | None) -> Accumulator:
        new = Accumulator(self.schema, n_jobs=self.n_jobs)
        new.stats = stats
        return new

    def _aligned(self, other: Accumulator) -> Stats | None:
        """Return the statistics of another accumulator; raise ValueError if its schema is not the same."""
        same = self.schema is other.schema or self.schema.names == other.schema.names
        if not same or self.schema.asleep != other.schema.asleep:
            raise ValueError(
                "The accumulators have different columns and cannot be combined. Make them from one schema."
            )
        if other.stats is None:
            return None
        return self.schema.aligned(other.schema, other.stats)

    def __radd__(self, other: Any) -> Accumulator:
        """Let sum() begin from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def model(self, estimator: Any) -> Any:
        """Return a fitted copy of an estimator, such as NaiveBayes(), with these statistics.

        The model is not calibrated: call `recalibrate(X, y)` with rows that were added.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "_with_statistics"):
            raise TypeError(
                f"estimator is {estimator!r}; pass an estimator of this library, for example NaiveBayes()."
            )
        return estimator._with_statistics(self.schema, self.stats)

    def to_bytes(self) -> bytes:
        """Return schema and statistics as bytes, in the layout of a model file."""
        writer = Writer()
        try:
            stats = None if self.stats is None else write_stats(self.stats, writer)
            parts = {"schema": write_schema(self.schema, writer), "stats": stats}
        except CannotSaveError as error:
            raise TypeError(
                f"The statistics cannot be written: {error}. Use labels of the types bool, int, float, str and dates, "
                "and families of this library."
            ) from None
        return b"".join(to_pieces("statistics", parts, writer))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the accumulator that `to_bytes` has written; raise ModelFileError if the bytes are not valid."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"data is of type {type(data).__name__}; pass the bytes that to_bytes has returned."
            )
        try:
            parts, reader = open_parts(unpack(data), "statistics")
            self = cls(read_schema(parts.get("schema"), reader))
            if parts.get("stats") is not None:
                self.stats = read_stats(parts["stats"], reader, self.schema)
        except ModelFileError:
            raise
        except Exception as error:
            raise ModelFileError(f"The statistics are not valid: {str(error)[:200]}") from error
        return self

    def __repr__(self) -> str:
        n_rows = 0 if self.stats is None else int(self.stats.rows.sum())
        return f"Accumulator of {n_rows:,} rows, {len(self.schema.names):,} columns"

    def _sum(self, more: Stats) -> Stats:
        return more if self.stats is None else self.stats + more

    def _statistics(self, X: Any, y: Any, sample_weight: Any) -> Stats:
        """Return the statistics of a batch of rows."""
        table, y, _ = separate_labels(_WHO, X, self._read(X), y)
        classes, codes = encode_labels(_WHO, y, table.n_rows)
        if table.n_rows == 0:
            refuse_no_rows(_WHO, len(table.names))
        rows = RowAccumulator(classes, codes, weights(sample_weight, table.n_rows), self.n_jobs, _WHO)
        return rows.table(align(table, self.schema, _WHO), self.schema)

    def _read(self, X: Any) -> Frame:
        is_text = self.schema.names == ("text",) and not self.schema.is_named
        return document_frame(X) if is_text else frame_of(X)
