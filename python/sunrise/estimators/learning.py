"""Learning: the only fit, partial_fit, forget and merge of the library.

All of them read a table once, accumulate its statistics, and add them to or subtract them from the statistics so far.
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
from sunrise.selection.choose import choose_families, warn_without_columns
from sunrise.selection.duplicates import ColumnSample, describe_pairs
from sunrise.selection.rules import choose_for_sparse
from sunrise.statistics.base import NeverSeenError
from sunrise.statistics.model import Stats

#: From this number of rows on, level codes are not kept after they are counted.
LARGE = 1 << 17


@dataclass(frozen=True)
class TrainingRows:
    """The rows of one call of fit: the table, the accumulator of its statistics, and the name of the label column."""

    table: Frame
    accumulator: Accumulator
    label: Any

    @property
    def labelled(self) -> TrainingRows:
        """The same table, accumulated over the rows with a label only."""
        return replace(self, accumulator=self.accumulator.labelled)


class LearningMixin(Estimator):
    """fit, partial_fit, forget and merge."""

    em_: Em

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows X with labels y.

        Parameters
        ----------
        X : table of n_samples rows
            The rows. NaN, None and nulls are missing cells.
        y : array-like of shape (n_samples,), or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight k counts as k equal rows; a row of weight 0 is ignored.
        """
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            rows = self._read_rows(settings, X, y, sample_weight, fitting=True)
            schema, stats = self._first_statistics(settings, rows, find_duplicates=True)
            warn_without_columns(schema, rows.table.n_rows)
            for name in ("_fixed", "_model", "selected_", "loo_score_", "em_"):
                self.__dict__.pop(name, None)
            if rows.accumulator.labels is not None:
                self._fit_semi_supervised(settings, schema, stats, rows)
                return self
            self._set_state(settings, schema, stats, announced=None)
            if self._calibration_kind() is not None:
                accumulator, model = rows.accumulator, self._model.uncalibrated
                batch, _ = encode_rows(rows.table, model)
                self._recalibrate(
                    self._leave_one_out_rows(
                        model, batch, accumulator.classes, accumulator.codes, accumulator.weight
                    )
                )
        return self

    def _fit_semi_supervised(
        self, settings: Settings, schema: Schema, all_stats: Stats, rows: TrainingRows
    ) -> None:
        """Fit by EM to labelled and unlabelled rows, or to the labelled rows only if EM predicts no better."""
        labelled_schema, labelled_stats = self._first_statistics(settings, rows.labelled)
        em = SemiSupervised(settings, schema, all_stats, rows.table, rows.accumulator)
        labelled_rows = LabelledRows(
            settings, labelled_schema, labelled_stats, rows.table, rows.accumulator, em.y
        )
        stats, self.em_, held_out = em.learn(self.unlabelled_weight, labelled_rows)
        if stats is None:
            schema, stats = labelled_schema, labelled_stats
        self._set_state(settings, schema, stats, announced=None)
        if self._calibration_kind() is not None:
            self._recalibrate(labelled_rows.leave_one_out(self._model) if held_out is None else held_out)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with more rows; the result is the same as `fit` on all rows so far.

        New classes may appear in any batch. If the first call lists all `classes`, they are part of the model from the
        start, and any other label is an error. Families and bin edges are chosen on the first batch and stay fixed.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().partial_fit([[0.0], [1.0]], ["a", "b"]).partial_fit([[5.0]], ["c"])
        >>> model.classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            is_first_batch = "_model" not in self.__dict__
            announced = self._announced_classes(classes, settings)
            if not is_first_batch:
                schema, previous = self._current_state(settings)
                self._refuse_fixed_parameters()
                stats = previous + self._statistics(settings, schema, X, y, sample_weight, announced)
            else:
                rows = self._read_rows(settings, X, y, sample_weight)
                schema, stats = self._first_statistics(settings, rows)
                self._refuse_unannounced(stats.classes, announced)
            self._set_state(settings, schema, stats, announced)
            if is_first_batch:
                self._warn_if_batch_too_small(schema)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove training rows from the model; the result is the same as `fit` without these rows.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0], [1], [1]], ["a", "b", "b"]).forget([[1]], ["b"])
        >>> model.class_count_
        array([1., 1.])
        """
        self._require_fitted()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            schema, previous = self._current_state(settings)
            self._refuse_fixed_parameters()
            try:
                remaining = previous - self._statistics(settings, schema, X, y, sample_weight)
            except NeverSeenError as error:
                raise ValueError(
                    f"These rows cannot be forgotten: {error}. Forget only rows that were fitted."
                ) from None
            if remaining.rows.any():
                announced = self._announced
                if announced is None and isinstance(settings.class_prior, dict):
                    announced = self.classes_  # the given prior needs all of its classes
                self._set_state(settings, schema, remaining, announced)
            else:
                self._set_unfitted()
        return self

    def merge(self, other: Self) -> Self:
        """Add the statistics of another model; the result is the same as `partial_fit` on its training rows.

        >>> from sunrise import MultinomialNB
        >>> a, b = MultinomialNB().fit([[1, 0]], ["x"]), MultinomialNB().fit([[0, 1]], ["y"])
        >>> a.merge(b).feature_count_
        array([[1., 0.],
               [0., 1.]])
        """
        if type(other) is not type(self):
            raise TypeError(
                f"cannot merge {type(other).__name__} into {type(self).__name__}; both must be of one type"
            )
        other._require_fitted()
        other._refuse_fixed_parameters()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            if "_model" not in self.__dict__:
                self.__dict__.update(other.__dict__ | self.get_params(deep=False))
                self._set_state(settings, *self._current_state(settings), other._announced)
                return self
            schema, previous = self._current_state(settings)
            self._refuse_fixed_parameters()
            other_schema = other._model.schema
            blocks = schema.aligned(other_schema, other.stats_.blocks)
            schema = schema.with_levels_of(other_schema)
            announced = self._announced
            if announced is not None:
                announced = labels.union(announced, other.stats_.classes)
            self._set_state(settings, schema, previous + replace(other.stats_, blocks=blocks), announced)
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
        """Read training rows; `known` is True if the columns are already part of the model."""
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
                    "y has a missing label. Only fit learns from rows without a label, because the classes of these "
                    "rows depend on all other rows. Drop the rows without a label here."
                ) from None
            classes, codes = encode_partial_labels(who, y, n_rows)
            # Rows without a label are accumulated as an additional last class, which EM distributes later.
            codes = np.where(codes < 0, len(classes), codes).astype(np.int32)
            weight = weights(sample_weight, n_rows)
            accumulator = Accumulator(
                np.arange(len(classes) + 1), codes, weight, settings.n_jobs, who, labels=classes
            )
            return TrainingRows(table, accumulator, label)
        weight = weights(sample_weight, n_rows)
        if n_rows == 0 or len(classes) == 0:
            refuse_no_rows(who, len(table.names))
        accumulator = Accumulator(
            classes,
            codes,
            weight,
            settings.n_jobs,
            who,
            releases_levels=n_rows >= LARGE and self._calibration_kind() is None,
        )
        return TrainingRows(table, accumulator, label)

    def _first_statistics(
        self, settings: Settings, rows: TrainingRows, find_duplicates: bool = False
    ) -> tuple[Schema, Stats]:
        """Choose the families of the columns and accumulate the table; `find_duplicates` warns of duplicate columns."""
        table, accumulator = rows.table, rows.accumulator
        schema = self._whole_schema(settings, table)
        if schema is not None and schema.is_matrix:
            self._name_columns(schema)
            return schema, accumulator.table(table, schema, {})
        if table.is_sparse and table.block is not None:
            table = frame_of(table.block.numbers())
        if find_duplicates and self._calibration_kind() != "columns":  # column weights correct for duplicates
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
        """Return the schema of a table that forms one block; None if families are chosen column by column."""
        if not isinstance(table.block, SparseBlock):
            return None
        if isinstance(settings.families, dict):
            raise ValueError(
                "families is a dict, but a sparse matrix is one block with one family. Pass one family for all "
                "columns; to mix families, pass the columns as a dense table."
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
        """Return the statistics of further rows under the schema of the fitted model."""
        rows = self._read_rows(settings, X, y, sample_weight, known=True)
        self._refuse_unannounced(rows.accumulator.classes, announced)
        return rows.accumulator.table(align(rows.table, schema, type(self).__name__), schema)

    def _current_state(self, settings: Settings) -> tuple[Schema, Stats]:
        """Return schema and statistics under `settings`; families that determine statistics must not have changed."""
        schema = self._model.schema
        for part in self._model.parts:
            if problem := part.family.reader.update_problem(part.family):
                raise ValueError(f"column {schema.names[part.columns[0]]!r}: {problem}")
        new_schema = schema.with_families(settings.families, type(self).__name__)
        return new_schema, replace(self.stats_, blocks=new_schema.regrouped(schema, self.stats_.blocks))

    def _warn_if_batch_too_small(self, schema: Schema) -> None:
        """Warn if the first batch has too few cells of a column: its family and bin edges stay fixed afterwards."""
        names = [
            name for name, choice in zip(schema.names, schema.choices, strict=True) if choice.is_uninformed
        ]
        if names:
            alert(
                f"The first batch fixes families and bin edges, and it has too few observed cells in {len(names)} "
                f"columns, for example {names[0]!r} ({int(self.stats_.rows.sum())} rows in total). Start with a larger "
                "batch, or pass families=.",
                FirstBatchWarning,
            )

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

    # Calibration.

    def _recalibrate(self, rows: LeaveOneOut) -> None:
        """Fit the calibration to leave-one-out scores of the rows, and store the resulting score as `loo_score_`."""
        kind = self._calibration_kind() or ""
        if kind == "temperature" and type(rows) is LeaveOneOut:
            rows = rows.subsample()
        self._set_calibration(calibration(replace(rows, model=self._model.uncalibrated), kind))
        rows = replace(rows, model=self._model)
        self.__dict__["loo_score_"] = rows.score(rows.log_proba())

    @staticmethod
    def _leave_one_out_rows(
        model: FittedModel, batch: Batch, classes: Labels, codes: Codes, weight: Floats | None
    ) -> LeaveOneOut:
        """Return training rows, encoded for scoring each row with the row itself removed from the statistics."""
        position = labels.locate(model.classes, classes)
        if weight is not None:  # rows of weight 0 may have an unknown label
            counted = np.isin(np.arange(len(position)), codes[weight > 0])
            position = np.where((position < 0) & ~counted, 0, position)
        if (position < 0).any():
            unknown = classes[position < 0].tolist()[0]
            raise ValueError(
                f"no row of class {unknown!r} was fitted; the classes are {model.classes.tolist()}. "
                "Pass rows that the model was fitted to."
            )
        return LeaveOneOut(model, batch, position.astype(np.int32)[codes], weight)
