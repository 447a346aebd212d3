"""Fitting to a lazy table: its engine draws the sample and computes the statistics where it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sunrise._common.arrays import Labels
from sunrise.data.align import align
from sunrise.estimators.partitioned_fit import SAMPLED
from sunrise.estimators.stream import StreamMixin, empty_table
from sunrise.estimators.training_rows import TrainingRows
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats
from sunrise.streams.lazy import LazyTable
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import Piece

#: Reads a batch: table, rows with labels and weights.
_Read = Callable[[Iterator[Piece]], Iterator[Any]]


class LazyMixin(StreamMixin):
    """Fit to a lazy table, and update from one."""

    def _fit_lazy(
        self, settings: Settings, source: LazyTable, label: str, weight: str | None, read: _Read
    ) -> None:
        """Fit to all rows of a lazy table; a sample of them decides families and calibration."""
        who = type(self).__name__
        source.group(label, weight, who, settings.n_jobs)
        drawn = source.sample(SAMPLED)
        sample = ContentSample(SAMPLED)
        for batch in read(source.pieces() if drawn is None else drawn):
            rows = batch.rows
            sample.add(batch.table, label, rows.classes, rows.codes, rows.weight)
        kept = sample.finish()
        self._fit_rows(settings, self._kept_rows(settings, kept))
        if sample.is_complete and drawn is None:
            return
        schema, calibration, score = (
            self._model.schema,
            self._model.calibration,
            self.__dict__.get("loo_score_"),
        )
        stats, latest = (
            self._lazy_statistics(source, schema, self.stats_, read),
            align(kept.table, schema, who),
        )
        self._set_woken_state(settings, schema, stats, latest, None)
        self._set_calibration(calibration)
        if score is not None:
            self.__dict__["loo_score_"] = score

    def _add_lazy(
        self,
        settings: Settings,
        source: LazyTable,
        label: str,
        weight: str | None,
        read: _Read,
        announced: Labels | None,
    ) -> None:
        """Add all rows of a lazy table to the model."""
        is_decided = "_model" in self.__dict__ and "_kept" not in self.__dict__
        if is_decided and source.group(label, weight, type(self).__name__, settings.n_jobs):
            schema, previous = self._current_state(settings)
            stats = self._lazy_statistics(source, schema, previous, read)
            self._refuse_unannounced(stats.classes, announced)
            latest = empty_table(schema.names, schema.choices)
            self._set_woken_state(settings, schema, previous + stats, latest, announced)
            return
        for batch in read(source.pieces()):
            self._refuse_unannounced(batch.rows.classes, announced)
            self._add_rows(settings, TrainingRows(batch.table, batch.rows, label), announced)

    def _lazy_statistics(self, source: LazyTable, schema: Schema, first: Stats, read: _Read) -> Stats:
        """Return the statistics of all rows, by the engine of the table or from batches."""

        def add_up(pieces: Iterator[Piece], schema: Schema) -> Stats:
            stats: Any = None
            for batch in read(pieces):
                own = batch.rows.table(align(batch.table, schema, type(self).__name__), schema)
                stats = own if stats is None else stats + own
            return stats  # type: ignore[no-any-return]

        stats = source.add_up(schema, first, add_up)
        return add_up(source.pieces(), schema) if stats is None else stats
