"""Fitting to a source: families and calibration by a sample of the rows, statistics by all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sunrise.data.align import align
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import encode_labels, label_column, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.partitioned_fit import SAMPLED, PartitionedMixin
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats
from sunrise.streams.partitioned import Partitioned
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import Piece, Source


class SourceMixin(PartitionedMixin):
    """Fit to a source in one or two passes."""

    def _fit_source(self, settings: Settings, source: Source, y: Any, sample_weight: Any) -> None:
        """Fit to all rows of a source.

        The first pass draws a sample, which decides families and calibration. The second pass adds up all rows. The
        first rows decide a source that can be read only once.
        """
        label = _name("y", y)
        if label is None:
            raise ValueError("X comes in batches. Pass the name of the label column as y.")
        if isinstance(source, Partitioned):
            self._fit_partitioned(settings, source, label, _name("sample_weight", sample_weight))
            return
        batches = _Batches(type(self).__name__, settings, label, _name("sample_weight", sample_weight))
        pieces = source.pieces()
        sample = ContentSample(SAMPLED)
        read: list[_Batch] = []  # batches of a source that cannot be read again
        for piece in pieces:
            batch = batches.read(piece)
            rows = batch.rows
            sample.add(batch.table, label, rows.classes, rows.codes, rows.weight)
            if not source.repeats:
                read.append(batch)
                if not sample.is_complete:
                    break
        self._fit_rows(settings, self._kept_rows(settings, sample.finish()))
        if sample.is_complete:
            return
        schema, calibration, score = (
            self._model.schema,
            self._model.calibration,
            self.__dict__.get("loo_score_"),
        )
        again = map(batches.read, source.pieces() if source.repeats else pieces)
        stats, latest = _add_up(read, again, schema, type(self).__name__)
        self._set_woken_state(settings, schema, stats, latest, None)
        self._set_calibration(calibration)
        if score is not None:
            self.__dict__["loo_score_"] = score


class _Batch(NamedTuple):
    """A batch of rows: the table without labels and weights, and the accumulator of its statistics."""

    table: Frame
    rows: RowAccumulator


class _Batches(NamedTuple):
    """Reads labels and weights of the batches of a source."""

    who: str
    settings: Settings
    label: str
    weight: str | None

    def read(self, piece: Piece) -> _Batch:
        """Read a batch; an error names the batch."""
        try:
            table, weight = frame_of(piece.table), None
            if self.weight is not None:
                weight = label_column(piece.table, table, self.weight)
                table = table.without(self.weight)
            table, y, _ = separate_labels(self.who, piece.table, table, self.label)
            classes, codes = encode_labels(self.who, y, table.n_rows)
            weight = weights(weight, table.n_rows)
        except ValueError as error:
            raise ValueError(f"{piece.origin}, which begins with row {piece.first_row:,}: {error}") from error
        return _Batch(table, RowAccumulator(classes, codes, weight, self.settings.n_jobs, self.who))


def _add_up(read: list[_Batch], more: Iterator[_Batch], schema: Schema, who: str) -> tuple[Stats, Frame]:
    """Return the statistics of all batches, and the last table."""
    stats: Any = None
    for batches in (read, more):
        for batch in batches:
            table = align(batch.table, schema, who)
            own = batch.rows.table(table, schema)
            stats = own if stats is None else stats + own
    return stats, table


def _name(argument: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError(
        f"{argument} is of type {type(value).__name__}, and X comes in batches. Pass the name of a column of X."
    )
