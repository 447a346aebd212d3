"""Streams: a model of few rows keeps them and chooses its families late; columns that were constant wake up.

Until `LATEST` rows have been streamed, the model keeps all rows and is the same as `fit` on them. Families and
calibration are chosen again when the rows have grown by a quarter; in between, statistics are added. The call that
reaches `LATEST` rows chooses for the last time, and the kept rows are dropped.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Labels
from sunrise._common.warnings import FirstBatchWarning, alert
from sunrise.data.align import align, align_inputs
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.data.kept_rows import KeptRows
from sunrise.estimators.base import Estimator
from sunrise.estimators.training_rows import TrainingRows
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Choice
from sunrise.model.given_families import given_choices, named_family
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.waking import speaking_columns, wake_columns
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.model import Stats

#: The number of streamed rows at which families are chosen for the last time.
LATEST = 1000


class StreamMixin(Estimator):
    """Rows that come in batches: kept rows, choices that are renewed, columns that wake up, announced classes."""

    _kept: KeptRows

    @abstractmethod
    def _fit_rows(
        self,
        settings: Settings,
        rows: TrainingRows,
        announced: Labels | None = None,
        find_duplicates: bool = False,
    ) -> None:
        """Fit the model to rows that have been read."""

    @abstractmethod
    def _current_state(self, settings: Settings) -> tuple[Schema, Stats]:
        """Return schema and statistics under `settings`."""

    # Adding and removing rows.

    def _add_rows(self, settings: Settings, rows: TrainingRows, announced: Labels | None) -> None:
        """Add rows to the model. While the model keeps rows, it is the same as `fit` on all of them."""
        if "_model" not in self.__dict__:
            if (schema := self.__dict__.get("_given_schema")) is not None:
                table = align(rows.table, schema, type(self).__name__)
                stats = rows.accumulator.table(table, schema)
                self._set_woken_state(settings, schema, stats, table, announced)
            elif not self._has_choices(settings, rows.table):
                self._fit_rows(settings, rows, announced)
            elif rows.n_counted >= LATEST:
                self._decide(settings, rows, announced)
            else:
                self._renew(settings, self._keep(settings, rows), announced)
            return
        schema, previous = self._current_state(settings)
        rows = replace(rows, table=align_inputs(rows.table, schema, type(self).__name__))
        if "_kept" not in self.__dict__:
            rows = replace(rows, table=align(rows.table, schema, type(self).__name__))
            self._add_statistics(settings, schema, previous, rows, announced)
            return
        kept = self._kept + self._keep(
            settings, rows
        )  # as they came: all rows decide what is derived from them
        rows = replace(rows, table=align(rows.table, schema, type(self).__name__))
        try:
            has_other_types = self._has_other_types(settings, schema, rows.table)
        except ValueError:  # words among the numbers: the rules of the fit so far are not right
            has_other_types = True
        if kept.n_rows < LATEST and not kept.is_due and not has_other_types:
            try:
                self._add_statistics(settings, schema, previous, rows, announced)
                self._kept = kept
                return
            except ValueError:  # the families cannot have these cells; others may
                pass
        try:
            if kept.n_rows < LATEST:
                self._renew(settings, kept, announced)
            else:
                self._decide(settings, self._kept_rows(settings, kept), announced)
        except ValueError:
            if not has_other_types:  # an error of these rows alone names the row as the user numbers it
                self._add_statistics(settings, schema, previous, rows, announced)
            raise

    def _decide(self, settings: Settings, rows: TrainingRows, announced: Labels | None) -> None:
        """Fit the model to all rows so far; its families stay from now on, and no rows are kept."""
        self._fit_rows(settings, rows, announced)
        self._warn_of_few_cells()

    def _renew(self, settings: Settings, kept: KeptRows, announced: Labels | None) -> None:
        """Fit the model to the kept rows, and go on keeping them."""
        kept = kept.joined
        self._fit_rows(settings, self._kept_rows(settings, kept), announced)
        self._kept = kept

    def _add_statistics(
        self,
        settings: Settings,
        schema: Schema,
        previous: Stats,
        rows: TrainingRows,
        announced: Labels | None,
    ) -> None:
        """Add the statistics of further rows, whose columns are in the order of the model, under its schema."""
        stats = previous + rows.accumulator.table(rows.table, schema)
        self._set_woken_state(settings, schema, stats, rows.table, announced)

    def _set_woken_state(
        self, settings: Settings, schema: Schema, stats: Stats, latest: Frame, announced: Labels | None
    ) -> None:
        """Set new statistics; columns that were constant and now have a second value wake up."""
        if speaking := speaking_columns(schema, stats, latest):
            old = [j for j, choice in enumerate(schema.choices) if choice.family is not None]
            schema, stats = wake_columns(settings, schema, stats, speaking, latest)
            self._calibrate_woken(speaking, old)
        self._set_state(settings, schema, stats, announced)

    def _calibrate_woken(self, new: list[int], old: list[int]) -> None:
        """Give columns that have woken up the mean weight of the other columns."""
        model = self.__dict__.get("_model")
        if model is not None and model.calibration is not None:
            self._model = copy.copy(model)
            self._model.calibration = model.calibration.with_new_columns(new, old)

    def _forget_kept(self, settings: Settings, rows: TrainingRows, schema: Schema) -> KeptRows | None:
        """Return the kept rows without some rows; raise NeverSeenError if one of these is not kept."""
        table = align_inputs(rows.table, schema, type(self).__name__)
        absent = frozenset(
            j
            for j, name in enumerate(schema.names)
            if schema.is_named and rows.table.is_named and name not in rows.table.names
        )
        kept = self._kept.without(self._keep(settings, replace(rows, table=table)), absent)
        if kept is None:
            raise NeverSeenError("a row with these cells, this label and this weight is not there")
        return kept

    # Kept rows.

    def _has_choices(self, settings: Settings, table: Frame) -> bool:
        """True if the data decide anything: families, edges of bins, or a calibration."""
        families = settings.families
        if self._calibration_kind() is not None:
            return True
        if isinstance(families, str) and families in ("auto", "auto-fast"):
            return True
        if not isinstance(families, dict):
            return not _is_decided(named_family(families))
        given = [] if table.is_sparse else given_choices(families, table.names)
        return any(choice is None or not _is_decided(choice.family) for choice in given)

    def _keep(self, settings: Settings, rows: TrainingRows) -> KeptRows:
        """Copy rows; the columns that the user leaves out are not read."""
        unread: frozenset[int] = frozenset()
        if isinstance(settings.families, dict) and not rows.table.is_sparse:
            given = given_choices(settings.families, rows.table.names)
            unread = frozenset(j for j, c in enumerate(given) if c is not None and c.family is None)
        a = rows.accumulator
        return KeptRows.of(rows.table, rows.label, a.classes, a.codes, a.weight, unread, a.decay)

    def _kept_rows(self, settings: Settings, kept: KeptRows) -> TrainingRows:
        """Return the rows that a stream has kept so far as one table with labels and weights, as `fit` reads it."""
        whole = kept.whole
        accumulator = RowAccumulator(
            whole.classes,
            whole.codes,
            whole.weight,
            settings.n_jobs,
            type(self).__name__,
            decay=whole.decay,
        )
        return TrainingRows(kept.table, accumulator, kept.label)

    @staticmethod
    def _has_other_types(settings: Settings, schema: Schema, table: Frame) -> bool:
        """True if an automatic column has cells of another type than before: another family may be right."""
        if table.block is not None:
            return False
        given = given_choices(settings.families, schema.names)
        return any(
            table.read(j).kind not in (schema.choices[j].kind, "empty")
            for j, choice in enumerate(given)
            if choice is None
        )

    def _warn_of_few_cells(self) -> None:
        """Warn if the rows that have decided have too few cells of a column to choose its family or edges by."""
        schema = self._model.schema
        names = [
            name
            for name, choice in zip(schema.names, schema.choices, strict=True)
            if choice.is_uninformed and choice.family is not None
        ]
        if names:
            alert(
                f"The first {int(self.stats_.rows.sum())} rows fix families and bin edges, and {len(names)} columns "
                f"have too few observed cells in them, for example {names[0]!r}. Start with a larger batch, or pass "
                "families=.",
                FirstBatchWarning,
            )

    def _with_statistics(self, schema: Schema, stats: Stats | None) -> Any:
        """Return a fitted copy with this schema and these statistics; without statistics an empty model."""
        new = type(self)(**self.get_params())
        settings = new._checked_settings()
        schema = schema.with_families(settings.families, type(self).__name__)
        new._name_columns(schema)
        new.__dict__.setdefault("n_features_in_", len(schema.inputs))
        if stats is None:
            new.__dict__["_given_schema"] = schema
        else:
            new._set_woken_state(settings, schema, stats, empty_table(schema.names, schema.choices), None)
        return new

    # Classes.

    def _announced_classes(self, classes: Any, settings: Settings) -> Labels | None:
        """Return the classes that partial_fit was given; a class prior given as a dict lists the classes, too."""
        announced: Labels | None = self.__dict__.get("_announced")
        if classes is None and "_model" not in self.__dict__ and isinstance(settings.class_prior, dict):
            classes = list(settings.class_prior)
        if classes is None:
            return announced
        given = labels.sort(np.atleast_1d(labels.as_array(classes)))
        if announced is None:
            known = self.__dict__.get("classes_", given[:0])
            if (labels.locate(given, known) >= 0).all():
                return given
        if announced is None or not np.array_equal(announced, given):
            raise ValueError(
                f"`classes={given.tolist()!r}` is not the same as on last call to partial_fit, was: "
                f"{(self.classes_ if announced is None else announced).tolist()!r}. "
                "Pass all classes in the first call of partial_fit, or never."
            )
        return announced

    @staticmethod
    def _refuse_unannounced(classes: Labels, announced: Labels | None) -> None:
        """Raise ValueError if `classes` has a label outside the announced classes."""
        if announced is None:
            return
        unknown = classes[labels.locate(announced, classes) < 0]
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {announced}. "
                "Pass all labels as classes= in the first call of partial_fit, or do not pass classes=."
            )


def empty_table(names: Sequence[Any], choices: Sequence[Choice]) -> Frame:
    """Return a table without rows whose columns have the kinds of these choices."""
    return Frame(names, 0, lambda j: Column(names[j], choices[j].kind, 0))


def _is_decided(family: Any) -> bool:
    """True if the first data decide nothing of a family."""
    reader = getattr(family, "reader", None)
    return reader is None or reader.is_decided(family)
