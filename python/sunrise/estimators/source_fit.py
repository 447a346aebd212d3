"""Fitting to a source: families and calibration by a sample of the rows, statistics by all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sunrise.data.align import align
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import encode_labels, label_column, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.stream import StreamMixin, empty_table
from sunrise.estimators.training_rows import TrainingRows
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import Piece, Source

#: Most rows in the sample by which families and calibration are chosen: as many as calibration uses.
SAMPLED = 1 << 15


class SourceMixin(StreamMixin):
    """Fit to a source in one or two passes."""

    def _fit_source(self, settings: Settings, source: Source, y: Any, sample_weight: Any) -> None:
        """Fit to all rows of a source.

        The first pass draws a sample, which decides families and calibration. The second pass adds up all rows. The
        first rows decide a source that can be read only once.
        """
        label = _label(y)
        batches = _Batches(type(self).__name__, settings, label, _name("sample_weight", sample_weight))
        source.group(label, batches.weight, type(self).__name__, settings.n_jobs)
        drawn = source.sample(SAMPLED)
        pieces = source.pieces() if drawn is None else drawn
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
        if sample.is_complete and drawn is None:
            return
        schema, calibration, score = (
            self._model.schema,
            self._model.calibration,
            self.__dict__.get("loo_score_"),
        )
        latest = align(sample.finish().table, schema, type(self).__name__)
        stats = source.add_up(schema, self.stats_, self._adder(batches))
        if stats is None:
            again = map(batches.read, source.pieces() if source.repeats else pieces)
            stats, latest = _add_up(read, again, schema, type(self).__name__)
        self._set_woken_state(settings, schema, stats, latest, None)
        self._set_calibration(calibration)
        if score is not None:
            self.__dict__["loo_score_"] = score

    def _add_source(self, source: Source, y: Any, classes: Any, sample_weight: Any) -> None:
        """Add all rows of a source to the model, batch by batch, or as statistics that the source computes."""
        settings = self._checked_settings()
        announced = self._announced_classes(classes, settings)
        self._refuse_fixed_parameters()
        label = _label(y)
        batches = _Batches(type(self).__name__, settings, label, _name("sample_weight", sample_weight))
        is_decided = "_model" in self.__dict__ and "_kept" not in self.__dict__
        if is_decided and source.group(label, batches.weight, type(self).__name__, settings.n_jobs):
            schema, previous = self._current_state(settings)
            stats = source.add_up(schema, previous, self._adder(batches))
            if stats is not None:
                self._refuse_unannounced(stats.classes, announced)
                latest = empty_table(schema.names, schema.choices)
                self._set_woken_state(settings, schema, previous + stats, latest, announced)
                return
        for piece in source.pieces():
            batch = batches.read(piece)
            self._refuse_unannounced(batch.rows.classes, announced)
            self._add_rows(settings, TrainingRows(batch.table, batch.rows, label), announced)

    def _adder(self, batches: _Batches) -> Callable[[Iterator[Piece], Schema], Stats]:
        """Return a function that adds up batches under a schema."""

        def add_up(pieces: Iterator[Piece], schema: Schema) -> Stats:
            return _add_up([], map(batches.read, pieces), schema, batches.who)[0]

        return add_up


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


def _label(y: Any) -> str:
    label = _name("y", y)
    if label is None:
        raise ValueError("X comes in batches. Pass the name of the label column as y.")
    return label


def _name(argument: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError(
        f"{argument} is of type {type(value).__name__}, and X comes in batches. Pass the name of a column of X."
    )
