"""Learning: the only fit, partial_fit and forget of the library.

All of them read a table once, accumulate its statistics, and add them to or subtract them from the statistics so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from sunrise._common.arrays import Labels
from sunrise._common.warnings import DuplicateColumnsWarning, alert
from sunrise.data.align import align
from sunrise.data.blocks import SparseBlock
from sunrise.data.derive import find_rules
from sunrise.data.errors import refuse_no_rows
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import MissingLabelError, encode_labels, encode_partial_labels, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.algebra import AlgebraMixin
from sunrise.estimators.calibrating import CalibratingMixin
from sunrise.estimators.interacting import with_interactions
from sunrise.estimators.source_fit import SourceMixin
from sunrise.estimators.training_rows import TrainingRows
from sunrise.inference.calibration import calibrate
from sunrise.inference.em import LabelledRows, SemiSupervised
from sunrise.inference.em_report import Em, Progress
from sunrise.inference.folds import weighted_folds
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.choice import Choice, with_remarks
from sunrise.model.compression import MOST_DISTINCT, choose_grids, has_many_values, put_on_grids
from sunrise.model.given_families import given_choices, named_family
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.choose import choose_families, warn_without_columns
from sunrise.selection.duplicates import ColumnSample, describe_new_pairs
from sunrise.selection.given_interactions import given_interactions
from sunrise.selection.rules import choose_for_sparse
from sunrise.statistics.model import Stats

#: From this number of rows on, level codes are not kept after they are counted.
LARGE = 1 << 17


class LearningMixin(AlgebraMixin, SourceMixin, CalibratingMixin):
    """fit, partial_fit and forget."""

    em_: Em
    verbose: bool
    #: True if columns of numbers may be derived from cells that are not numbers yet.
    _derives_columns: ClassVar[bool] = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        on_bad_rows: str | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model to rows X with labels y.

        Parameters
        ----------
        X : table of n_samples rows
            The rows. NaN, None and nulls are missing cells.
        y : array-like of shape (n_samples,), or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight k counts as k equal rows; a row of weight 0 is ignored.
        on_bad_rows : {"error", "skip"} or None, default=None
            For files: "skip" leaves out rows that cannot be read or have no label, and warns with their number.
        checkpoint : str, path-like or None, default=None
            For files: the state of the fit is saved here, and a call with the same arguments resumes a fit that was
            killed. The file is deleted when the fit has succeeded.

        X may also be a file or another source of batches: a path, a glob such as "data/*.parquet", a folder, a list of
        paths, `read_files(...)`, a pyarrow RecordBatchReader, or an iterator or list of frames. Then y and
        sample_weight are names of columns. `TextNB` reads the only column of text; the other single-family classes read
        all columns, which must hold numbers.
        """
        with self._unchanged_on_failure():
            settings, X = self._settings_for(X, y, sample_weight)
            if (source := self._source_for(X, y)) is not None:
                with closing(source):
                    self._fit_source(settings, source, y, sample_weight, on_bad_rows, checkpoint)
                return self
            if on_bad_rows is not None or checkpoint is not None:
                raise ValueError(
                    "on_bad_rows= and checkpoint= are for files, but X is a table. Leave them out."
                )
            rows = self._read_rows(settings, X, y, sample_weight, fitting=True)
            self.__dict__.pop("_decay", None)
            self._fit_rows(settings, rows, find_duplicates=True)
            warn_without_columns(self._model.schema, rows.table.n_rows)
        return self

    def _settings_for(self, X: Any, y: Any, sample_weight: Any) -> tuple[Settings, Any]:
        """Return the settings of a fit to these rows, and the rows."""
        return self._checked_settings(), X

    def _fit_rows(
        self,
        settings: Settings,
        rows: TrainingRows,
        announced: Labels | None = None,
        find_duplicates: bool = False,
    ) -> None:
        """Fit the model to rows that have been read: the body of `fit`, which streams of few rows use, too."""
        rows = self._derived(settings, rows)
        sample = ColumnSample(rows.table.n_rows) if find_duplicates else None
        schema, stats = self._first_statistics(settings, rows, sample)
        self._name_columns(schema)
        for name in ("_fixed", "_kept", "_given_schema", "_model", "selected_", "loo_score_", "em_"):
            self.__dict__.pop(name, None)
        if rows.accumulator.labels is not None:
            self._fit_semi_supervised(settings, schema, stats, rows)
            self._warn_of_duplicates(sample, rows)
            return
        self._set_state(settings, schema, stats, announced)
        if has_many_values(schema, stats):
            grids = choose_grids(self._model, MOST_DISTINCT)
            self._set_state(settings, *put_on_grids(schema, stats, grids), announced)
        if isinstance(settings.interactions, list | tuple):
            self._add_interactions(settings, rows)
        if self._calibration_kind() is not None:
            self._recalibrate(settings, rows, find_pairs=True)
        elif settings.keep_pairs is not None:
            self._keep_pairs(rows, None)
        self._warn_of_duplicates(sample, rows)

    def _warn_of_duplicates(self, sample: ColumnSample | None, rows: TrainingRows) -> None:
        """Warn of duplicate columns, unless columns have weights: these correct for duplicates."""
        schema, calibration = self._model.schema, self._model.calibration
        if sample is None or sample.is_empty or (calibration is not None and calibration.kind == "columns"):
            return
        pairs = sample.pairs(rows.accumulator.codes[sample.rows])
        names = [str(name) if schema.is_named else f"x{name}" for name in schema.names] if pairs else []
        if text := describe_new_pairs(pairs, names):
            alert(text, DuplicateColumnsWarning)

    def _add_interactions(self, settings: Settings, rows: TrainingRows) -> None:
        """Count the interactions that the user gave."""
        a = rows.accumulator
        given = given_interactions(settings.interactions, self._model.schema, rows.table, a.codes, a.weight)
        if given:
            self._model = with_interactions(self._model, given, rows)
            self.stats_ = self._model.given_stats

    def _fit_semi_supervised(
        self, settings: Settings, schema: Schema, all_stats: Stats, rows: TrainingRows
    ) -> None:
        """Fit by EM to labelled and unlabelled rows; with the weight "auto" only if EM predicts better than without."""
        if isinstance(settings.interactions, list | tuple) and settings.interactions:
            raise ValueError(
                "interactions cannot be counted on rows without a label. Drop these rows, or set interactions=None."
            )
        if settings.keep_pairs is not None:
            raise ValueError(
                f"keep_pairs is {settings.keep_pairs!r}, and pairs of columns cannot be counted on rows without a "
                "label. Drop these rows, or set keep_pairs=None."
            )
        labelled_schema, labelled_stats = self._first_statistics(settings, rows.labelled)
        progress = Progress(self.verbose)
        em = SemiSupervised(settings, schema, all_stats, rows.table, rows.accumulator, progress)
        labelled_rows = LabelledRows(
            settings, labelled_schema, labelled_stats, rows.table, rows.accumulator, em.y
        )
        stats, self.em_, held_out = em.learn(self.unlabelled_weight, labelled_rows)
        if stats is None:
            schema, stats = labelled_schema, labelled_stats
        self._set_state(settings, schema, stats, announced=None)
        if self._calibration_kind() is not None:
            scored = labelled_rows.leave_one_out(self._model) if held_out is None else held_out
            scored = replace(scored, model=self._model.uncalibrated)
            hashes = labelled_rows.hashes(rows.table)
            fold = weighted_folds(hashes, scored.y, None)
            kind = self._resolved_kind(scored, hashes)
            kind = "temperature" if kind == "words" else kind  # weights of words need folds of EM
            self._set_calibrated(calibrate(scored, kind, fold, None))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with more rows; the result is the same as `fit` on all rows so far.

        New classes may appear in any batch. If the first call lists all `classes`, they are part of the model from the
        start, and any other label is an error.

        If the data decide anything (families, bin edges, a calibration), the model keeps the first rows. It chooses
        again whenever the rows have grown by a quarter; the call that reaches 1,000 rows chooses for the last time and
        drops the kept rows. `fit` chooses at once and keeps no rows. A column that was constant or empty when families
        were chosen is counted. It is used from its second value on, a column of numbers when 30 cells differ.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().partial_fit([[0.0], [1.0]], ["a", "b"]).partial_fit([[5.0]], ["c"])
        >>> model.classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        with self._unchanged_on_failure():
            if (source := self._source_for(X, y)) is not None:
                settings = self._checked_settings()
                announced = self._announced_classes(classes, settings)
                self._refuse_fixed_parameters()
                with closing(source):
                    self._update_from_source(settings, source, y, sample_weight, announced)
            else:
                self._add_rows(*self._read_batch(X, y, classes, sample_weight))
            self._warn_after_em("partial_fit adds the statistics of labelled rows")
        return self

    def _read_batch(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Settings, TrainingRows, Labels | None]:
        """Read a batch of rows; return the settings, the rows and the announced classes."""
        settings = self._checked_settings()
        announced = self._announced_classes(classes, settings)
        self._refuse_fixed_parameters()
        rows = self._read_rows(settings, X, y, sample_weight, known="_model" in self.__dict__)
        self._refuse_unannounced(rows.classes, announced)
        return settings, rows, announced

    def forget(self, X: Any, y: Any, sample_weight: Any = None, since: float | None = None) -> Self:
        """Remove training rows from the model; the result is the same as `fit` without these rows.

        After `decay`, pass `since`, the value of `decay_factor_` when the rows were learned: the rows weigh
        `decay_factor_ / since` of their weights by now, and `forget` removes exactly that.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0], [1], [1]], ["a", "b", "b"]).forget([[1]], ["b"])
        >>> model.class_count_
        array([1., 1.])
        >>> model.decay(0.5).forget([[1]], ["b"], since=1.0).class_count_
        array([0.5])
        """
        self._require_fitted()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            factor = self._decay_since(since)
            state = self._current_state(settings)
            self._refuse_fixed_parameters()
            rows = self._read_rows(settings, X, y, sample_weight, known=True)
            self._remove_rows(settings, state, rows if factor == 1.0 else rows.decayed(factor))
            self._warn_after_em("forget removes the statistics of labelled rows")
        return self

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
            accumulator = RowAccumulator(
                np.arange(len(classes) + 1), codes, weight, settings.n_jobs, who, labels=classes
            )
            return TrainingRows(table, accumulator, label)
        weight = weights(sample_weight, n_rows)
        if n_rows == 0 or len(classes) == 0:
            refuse_no_rows(who, len(table.names))
        accumulator = RowAccumulator(
            classes,
            codes,
            weight,
            settings.n_jobs,
            who,
            releases_levels=n_rows >= LARGE and self._calibration_kind() is None,
        )
        return TrainingRows(table, accumulator, label)

    def _first_statistics(
        self,
        settings: Settings,
        rows: TrainingRows,
        sample: ColumnSample | None = None,
        of_all_rows: Sequence[Choice] = (),
    ) -> tuple[Schema, Stats]:
        """Choose the families of the columns and accumulate the table; its sampled cells are added to `sample`.

        `of_all_rows` are the choices by all rows, if these are a part of them.
        """
        table, accumulator = rows.table, rows.accumulator
        schema = self._whole_schema(settings, table)
        if schema is not None and schema.is_matrix:
            return schema, accumulator.table(table, schema, {})
        if table.is_sparse and table.block is not None:
            table = frame_of(table.block.numbers())
        if sample is not None:
            accumulator = replace(accumulator, sample=sample)
        choices, ready = choose_families(accumulator, table, settings, of_all_rows)
        if table.rules is not None:
            choices = with_remarks(choices, table.names, table.rules)
        own = tuple(choices)
        schema = Schema(table.names, own, table.is_named, rows.label, table.library, rules=table.rules)
        return schema, accumulator.table(table, schema, ready)

    def _derived(self, settings: Settings, rows: TrainingRows) -> TrainingRows:
        """Return training rows with marks as missing cells and parts of dates; the rules are found here."""
        table = rows.table
        if not self._derives_columns or table.block is not None:
            return rows
        given = given_choices(settings.families, table.names)

        def reads_numbers(j: int) -> bool:
            choice = given[j]
            return choice is None or (choice.family is not None and choice.family.reader.is_numeric)

        rules = find_rules(table, reads_numbers, lambda j: given[j] is None, settings.n_jobs)
        return rows if rules is None else replace(rows, table=rules.apply(table))

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

    def _known_rows(self, settings: Settings, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        """Read further rows, with their columns in the order of the model."""
        rows = self._read_rows(settings, X, y, sample_weight, known=True)
        return replace(rows, table=align(rows.table, self._model.schema, type(self).__name__))

    def _current_state(self, settings: Settings) -> tuple[Schema, Stats]:
        """Return schema and statistics under `settings`; families that determine statistics must not have changed."""
        schema = self._model.schema
        for part in self._model.parts:
            if problem := part.family.reader.update_problem(part.family):
                raise ValueError(f"column {schema.names[part.columns[0]]!r}: {problem}")
        new_schema = schema.with_families(settings.families, type(self).__name__)
        asleep = self.stats_.asleep
        if asleep is not None and new_schema.asleep != schema.asleep:
            asleep = asleep.select_columns(np.array([schema.asleep.index(j) for j in new_schema.asleep], int))
        blocks = new_schema.regrouped(schema, self.stats_.blocks)
        return new_schema, replace(self.stats_, blocks=blocks, asleep=asleep)
