"""Learning: the only fit, partial_fit, forget and merge of the library.

Every way to learn is the same: read a table once, add up statistics, then + or - on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Labels
from sunrise._common.warnings import DuplicateColumnsWarning, FirstBatchWarning, alert
from sunrise.data.align import align
from sunrise.data.blocks import Batch, SparseBlock
from sunrise.data.errors import refuse_no_rows
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import MissingLabelError, encode_labels, encode_partial_labels, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.base import Estimator
from sunrise.inference.calibration import calibration
from sunrise.inference.em import Em, LabelledRows, SemiSupervised
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.accumulate import Accumulator
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Choice, Schema, named_family
from sunrise.model.settings import Settings
from sunrise.selection.choose import choose_families
from sunrise.selection.duplicates import ColumnSample, describe_pairs
from sunrise.selection.rules import choose_for_sparse
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.model import Stats


@dataclass(frozen=True)
class TrainingRows:
    """The rows of one call of fit, read once: the table, who adds it up, and the name of the label column."""

    table: Frame
    accumulator: Accumulator
    label: Any

    @property
    def labelled(self) -> TrainingRows:
        """The same table with the rows that have a label."""
        return replace(self, accumulator=self.accumulator.labelled)


class LearningMixin(Estimator):
    """How a model learns, updates, forgets and merges."""

    em_: Em

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows X with labels y.

        Parameters
        ----------
        X : table of n_samples rows
            The rows. NaN, None and nulls are missing.
        y : array-like of shape (n_samples,), or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight k is the row k times, weight 0 is no row.
        """
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            rows = self._read_rows(settings, X, y, sample_weight, fitting=True)
            schema, stats = self._first_statistics(settings, rows, watch=True)
            for stale in ("_fixed", "_model", "selected_", "loo_score_", "em_"):
                self.__dict__.pop(stale, None)
            if rows.accumulator.labels is not None:
                self._fit_semi_supervised(settings, schema, stats, rows)
                return self
            self._set_state(settings, schema, stats, announced=None)
            if self._calibrate_as() is not None:
                accumulator, model = rows.accumulator, self._model.uncalibrated
                batch, _ = encode_rows(rows.table, model, type(self).__name__)
                own = accumulator.classes, accumulator.codes, accumulator.weight
                self._recalibrate(self._left_out_rows(model, batch, *own))
        return self

    def _fit_semi_supervised(
        self, settings: Settings, schema: Schema, every: Stats, rows: TrainingRows
    ) -> None:
        """Learn from labelled and unlabelled rows, or from the labelled rows alone where that is better."""
        own_schema, own_stats = self._first_statistics(settings, rows.labelled)
        semi = SemiSupervised(settings, schema, every, rows.table, rows.accumulator)
        plain = LabelledRows(settings, own_schema, own_stats, rows.table, rows.accumulator, semi.y)
        stats, self.em_, held_out = semi.learn(self.unlabelled_weight, plain)
        if stats is None:
            schema, stats = own_schema, own_stats
        self._set_state(settings, schema, stats, announced=None)
        if self._calibrate_as() is not None:
            self._recalibrate(plain.leave_one_out(self._model) if held_out is None else held_out)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows: exactly `fit` on all rows so far.

        Classes may appear at any time. Those announced in `classes` are a promise: they are part of the model
        from the start, and another label is then an error.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().partial_fit([[0.0], [1.0]], ["a", "b"]).partial_fit([[5.0]], ["c"])
        >>> model.classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            known = self.__dict__.get("_model")
            announced = self._promised(classes, settings)
            if known is not None:
                schema, before = self._current_state(settings)
                self._refuse_fixed_parameters()
                stats = before + self._statistics(settings, schema, X, y, sample_weight, announced)
            else:
                rows = self._read_rows(settings, X, y, sample_weight)
                schema, stats = self._first_statistics(settings, rows)
                self._refuse_unannounced(stats.classes, announced)
            self._set_state(settings, schema, stats, announced)
            if known is None:
                self._warn_of_a_poor_start(schema)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back out: exactly as if they had never been seen.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0], [1], [1]], ["a", "b", "b"]).forget([[1]], ["b"])
        >>> model.class_count_
        array([1., 1.])
        """
        self._require_fitted()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            schema, before = self._current_state(settings)
            self._refuse_fixed_parameters()
            try:
                rest = before - self._statistics(settings, schema, X, y, sample_weight)
            except NeverSeenError as error:
                raise ValueError(
                    f"These rows cannot be forgotten: {error}. Forget only rows that were fitted."
                ) from None
            if rest.rows.any():
                announced = self._announced
                if announced is None and isinstance(settings.class_prior, dict):
                    announced = self.classes_  # the prior still names them
                self._set_state(settings, schema, rest, announced)
            else:
                self._set_unfitted()
        return self

    def merge(self, other: Self) -> Self:
        """Learn all that another model has learned: exactly `partial_fit` on its rows.

        >>> from sunrise import MultinomialNB
        >>> a, b = MultinomialNB().fit([[1, 0]], ["x"]), MultinomialNB().fit([[0, 1]], ["y"])
        >>> a.merge(b).feature_count_
        array([[1., 0.],
               [0., 1.]])
        """
        if type(other) is not type(self):
            raise TypeError(f"cannot merge {type(other).__name__} into {type(self).__name__}")
        other._require_fitted()
        other._refuse_fixed_parameters()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            if "_model" not in self.__dict__:
                self.__dict__.update(other.__dict__ | self.get_params(deep=False))
                self._set_state(settings, *self._current_state(settings), other._announced)
                return self
            schema, before = self._current_state(settings)
            self._refuse_fixed_parameters()
            theirs = other._model.schema
            blocks = schema.aligned(theirs, other.stats_.blocks)
            schema = schema.with_levels_of(theirs)
            announced = self._announced
            if announced is not None:
                announced = labels.union(announced, other.stats_.classes)
            self._set_state(settings, schema, before + replace(other.stats_, blocks=blocks), announced)
        return self

    def __add__(self, other: Self) -> Self:
        """Merge two models into a new one with the left one's settings."""
        return self._copy().merge(other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Self:
        """Let sum() begin from its 0."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return type(self)(**self.get_params()).merge(self)

    # Reading.

    def _read_rows(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        fitting: bool = False,
        known: bool = False,
    ) -> TrainingRows:
        """Read rows to learn from; `known` says that the columns were learned before."""
        who = type(self).__name__
        table, y, label = separate_labels(who, X, self._read_table(X, fitting=not known), y)
        n_rows = table.n_rows
        try:
            classes, codes = encode_labels(who, y, n_rows)
        except MissingLabelError:
            if getattr(self, "unlabelled", "error") != "em":
                raise
            if not fitting:
                raise ValueError(
                    "a label is missing, and only fit learns from rows without one: the classes of these rows depend "
                    "on all other rows. Drop them here."
                ) from None
            own, codes = encode_partial_labels(who, y, n_rows)
            # Rows without a label are a class of their own, the last.
            codes = np.where(codes < 0, len(own), codes).astype(np.int32)
            weight = weights(sample_weight, n_rows)
            accumulator = Accumulator(
                np.arange(len(own) + 1), codes, weight, settings.n_jobs, who, labels=own
            )
            return TrainingRows(table, accumulator, label)
        weight = weights(sample_weight, n_rows)
        if n_rows == 0 or len(classes) == 0:
            refuse_no_rows(who, len(table.names))
        return TrainingRows(table, Accumulator(classes, codes, weight, settings.n_jobs, who), label)

    def _first_statistics(
        self, settings: Settings, rows: TrainingRows, watch: bool = False
    ) -> tuple[Schema, Stats]:
        """Choose the families of a table, and add it up; `watch` looks for duplicate columns."""
        table, accumulator = rows.table, rows.accumulator
        schema = self._whole_schema(settings, table)
        if schema is not None and schema.is_matrix:
            self._name_columns(schema)
            return schema, accumulator.table(table, schema, {})
        if table.is_sparse and table.block is not None:
            table = frame_of(table.block.numbers())
        if watch and self._calibrate_as() != "columns":
            accumulator = replace(accumulator, sample=ColumnSample.of(table.n_rows))
        choices, ready = choose_families(accumulator, table, settings)
        schema = Schema(table.names, tuple(choices), table.is_named, rows.label, table.library)
        stats = accumulator.table(table, schema, ready)
        self._name_columns(schema)
        if isinstance(accumulator.sample, ColumnSample):
            pairs = accumulator.sample.pairs(accumulator.codes[accumulator.sample.rows])
            if pairs:
                names = [str(name) for name in schema.names]
                alert(describe_pairs(pairs, names), DuplicateColumnsWarning)
        return schema, stats

    def _whole_schema(self, settings: Settings, table: Frame) -> Schema | None:
        """The schema of a table that is one block of one family; None if columns are chosen one by one."""
        if not isinstance(table.block, SparseBlock):
            return None
        if isinstance(settings.families, dict):
            raise ValueError(
                "A sparse matrix is one block: give one family for all of it, not a dict. "
                "To mix families, pass the columns as a dense table."
            )
        if isinstance(settings.families, str) and settings.families in ("auto", "auto-fast"):
            choice = choose_for_sparse(table.block)
        else:
            choice = Choice(named_family(settings.families), "given for all columns")
        return Schema.whole(choice, len(table.names))

    def _statistics(
        self,
        settings: Settings,
        schema: Schema,
        X: Any,
        y: Any,
        sample_weight: Any,
        announced: Labels | None = None,
    ) -> Stats:
        """The statistics of more rows under the model's own schema."""
        rows = self._read_rows(settings, X, y, sample_weight, known=True)
        self._refuse_unannounced(rows.accumulator.classes, announced)
        return rows.accumulator.table(align(rows.table, schema, type(self).__name__), schema)

    def _current_state(self, settings: Settings) -> tuple[Schema, Stats]:
        """The model's schema and statistics; the settings that shaped them must be as they were."""
        old = self._model.schema
        for part in self._model.parts:
            if problem := part.family.reader.update_problem(part.family):
                raise ValueError(f"column {old.names[part.columns[0]]!r}: {problem}")
        new = old.with_families(settings.families, type(self).__name__)
        return new, replace(self.stats_, blocks=new.regrouped(old, self.stats_.blocks))

    def _warn_of_a_poor_start(self, schema: Schema) -> None:
        """The first rows of a stream decide families and edges of bins for good: warn if they hold too little."""
        names = [
            name for name, choice in zip(schema.names, schema.choices, strict=True) if choice.is_uninformed
        ]
        if names:
            alert(
                f"The first batch decides families and edges of bins for good, and it holds too little of {len(names)} "
                f"columns, for example {names[0]!r} ({int(self.stats_.rows.sum())} rows in all). Begin with a larger "
                "batch, or give families=.",
                FirstBatchWarning,
            )

    # Classes.

    def _promised(self, classes: Any, settings: Settings) -> Labels | None:
        """The announced classes; a prior by label announces those it names."""
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
                "Announce all classes in the first call, or none."
            )
        return announced

    @staticmethod
    def _refuse_unannounced(classes: Labels, announced: Labels | None) -> None:
        if announced is None:
            return
        unknown = classes[labels.locate(announced, classes) < 0]
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {announced}. "
                "Announce them in the first call's classes=, or announce none."
            )

    # Calibration of the rows that were just read.

    def _recalibrate(self, rows: LeaveOneOut) -> None:
        """Fit the calibration to rows that are scored without themselves, and keep the score."""
        kind = self._calibrate_as() or ""
        if kind == "temperature" and type(rows) is LeaveOneOut:
            rows = rows.subsample()
        self._set_calibration(calibration(replace(rows, model=self._model.uncalibrated), kind))
        rows = replace(rows, model=self._model)
        self.__dict__["loo_score_"] = rows.score(rows.log_proba())

    @staticmethod
    def _left_out_rows(
        model: FittedModel, batch: Batch, classes: Labels, codes: Codes, weight: Floats | None
    ) -> LeaveOneOut:
        """Fitted rows of these classes, each to be scored without itself."""
        position = labels.locate(model.classes, classes)
        if weight is not None:  # a row of weight 0 does not count, whatever its label
            counted = np.isin(np.arange(len(position)), codes[weight > 0])
            position = np.where((position < 0) & ~counted, 0, position)
        if (position < 0).any():
            unknown = classes[position < 0].tolist()[0]
            raise ValueError(
                f"no row of class {unknown!r} was fitted; the classes are {model.classes.tolist()}."
            )
        return LeaveOneOut(model, batch, position.astype(np.int32)[codes], weight)
