"""Fitting to a table on a cluster: families and calibration by a sample of the rows, statistics by all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise.data.align import align
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import separate_labels
from sunrise.estimators.stream import StreamMixin
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
        table = source.empty_table()
        columns, _, _ = separate_labels(who, table, frame_of(table), label)
        if weight is not None:
            if weight not in columns.names:
                raise ValueError(f"sample_weight is {weight!r}, but X has no column of this name.")
            columns = columns.without(weight)
        calibration: Any = None
        score = None
        self.__dict__.pop("_decay", None)
        if self._has_choices(settings, columns):
            sample = source.sample(SAMPLED, label, weight)
            self._fit_rows(settings, self._kept_rows(settings, sample.finish()))
            if sample.is_complete:
                return
            schema, calibration = self._model.schema, self._model.calibration
            score = self.__dict__.get("loo_score_")
        else:
            schema = _given_schema(who, settings, columns, label)
            for name in ("_fixed", "_kept", "_given_schema", "_model", "selected_", "em_"):
                self.__dict__.pop(name, None)
        stats = source.statistics(schema, label, weight)
        if stats is None:
            raise ValueError(f"The {source.kind} has no rows with a positive weight.")
        self._name_columns(schema)
        self._set_woken_state(settings, schema, stats, align(columns, schema, who), None)
        if calibration is not None:  # the sample stands for all rows, so its weights are up to date
            current: Any = self._model.calibration  # columns that have woken up have a weight in it
            self._set_calibration(replace(current, stale=calibration.stale))
        if score is not None:
            self.__dict__["loo_score_"] = score


def _given_schema(who: str, settings: Settings, columns: Frame, label: str) -> Schema:
    """Return the schema of a table whose families are all given, by the types of its columns."""
    nobody = RowAccumulator(np.empty(0, object), np.empty(0, np.int32), None, settings.n_jobs, who)
    choices, _ = choose_families(nobody, columns, settings)
    return Schema(columns.names, tuple(choices), columns.is_named, label, columns.library)
