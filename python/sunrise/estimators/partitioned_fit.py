"""Fitting to a table on a cluster: families and calibration by a sample of the rows, statistics by all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sunrise._common.arrays import Labels
from sunrise.data.align import align
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import separate_labels
from sunrise.estimators.stream import StreamMixin, empty_table
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.choose import choose_families
from sunrise.streams.partitioned import Partitioned

#: Most rows in the sample by which families and calibration are chosen: as many as calibration uses.
SAMPLED = 1 << 15


class PartitionedMixin(StreamMixin):
    """Fit to a table on a cluster in one or two passes."""

    def _fit_partitioned(
        self, settings: Settings, source: Partitioned, label: str, weight: str | None
    ) -> None:
        """Fit to all rows of a source; the first pass, which draws a sample, is left out if no choice depends on it."""
        who = type(self).__name__
        if getattr(self, "unlabelled", "error") == "em":
            raise ValueError(
                f'unlabelled="em" goes over all rows many times, and X is a {source.kind}. Pass a table in memory, or '
                'set unlabelled="error".'
            )
        table = source.empty_table()
        columns, _, _ = separate_labels(who, table, frame_of(table), label)
        if weight is not None:
            if weight not in columns.names:
                raise ValueError(f"sample_weight is {weight!r}, but X has no column of this name.")
            columns = columns.without(weight)
        score = first = None
        self.__dict__.pop("_decay", None)
        if self._has_choices(settings, columns):
            sample = source.content_sample(SAMPLED, label, weight)
            self._fit_rows(settings, self._kept_rows(settings, sample.finish()), find_duplicates=True)
            if sample.is_complete:
                return
            schema, score, first = self._model.schema, self.__dict__.get("loo_score_"), self.stats_
        else:
            schema = _given_schema(who, settings, columns, label)
            for name in ("_fixed", "_kept", "_given_schema", "_model", "selected_", "em_"):
                self.__dict__.pop(name, None)
        stats = source.statistics(schema, label, weight, first)
        if stats is None:
            raise ValueError(f"The {source.kind} has no rows with a positive weight.")
        self._name_columns(schema)
        self._set_woken_state(settings, schema, stats, align(columns, schema, who), None)
        if (
            calibration := self._model.calibration
        ) is not None:  # by a sample of these rows, so it is not stale
            all_rows = float(stats.weight.sum())
            self._set_calibration(replace(calibration, stale=False, total_weight=all_rows))
        if score is not None:
            self.__dict__["loo_score_"] = score

    def _add_partitioned(
        self,
        settings: Settings,
        source: Partitioned,
        label: str,
        weight: str | None,
        announced: Labels | None,
    ) -> None:
        """Add all rows of a source to the model; a new model is fitted to them."""
        if "_model" not in self.__dict__ and "_given_schema" not in self.__dict__:
            self._fit_partitioned(settings, source, label, weight)
            self._refuse_unannounced(self.stats_.classes, announced)
            if announced is not None:
                calibration = self._model.calibration
                self._set_state(settings, self._model.schema, self.stats_, announced)
                self._set_calibration(calibration)
            return
        if "_kept" in self.__dict__:  # the rows so far decide, because those of a cluster are not kept
            self._decide(settings, self._kept_rows(settings, self._kept), announced)
        schema, previous = self.__dict__.get("_given_schema"), None
        if schema is None:
            schema, previous = self._current_state(settings)
        stats = source.statistics(schema, label, weight, previous)
        if stats is None:
            raise ValueError(f"The {source.kind} has no rows with a positive weight.")
        self._refuse_unannounced(stats.classes, announced)
        stats = stats if previous is None else previous + stats
        latest = empty_table(schema.names, schema.choices)
        self._set_woken_state(settings, schema, stats, latest, announced)


def _given_schema(who: str, settings: Settings, columns: Frame, label: str) -> Schema:
    """Return the schema of a table whose families are all given, by the types of its columns."""
    nobody = RowAccumulator(np.empty(0, object), np.empty(0, np.int32), None, settings.n_jobs, who)
    choices, _ = choose_families(nobody, columns, settings)
    return Schema(columns.names, tuple(choices), columns.is_named, label, columns.library)
