"""Fitting to a source: families and calibration by a sample of the rows, statistics by all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sunrise._common.arrays import Labels
from sunrise._common.warnings import SkippedRowsWarning, alert
from sunrise.data.align import align
from sunrise.data.column import Column
from sunrise.data.errors import closest, listed
from sunrise.data.frame import Frame, frame_of
from sunrise.data.labels import encode_labels, label_column, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.lazy_fit import LazyMixin
from sunrise.estimators.partitioned_fit import SAMPLED, PartitionedMixin
from sunrise.estimators.stream import empty_table
from sunrise.estimators.training_rows import TrainingRows
from sunrise.model.accumulate import RowAccumulator
from sunrise.model.compression import MOST_DISTINCT, choose_grids, has_many_values, put_on_grids
from sunrise.model.fitted import FittedModel
from sunrise.model.given_families import given_choices
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.streams.checkpoint import Checkpoint, State, digest_of
from sunrise.streams.files import FileSource
from sunrise.streams.lazy import LazyTable
from sunrise.streams.partitioned import NOT_ON_CLUSTERS, Partitioned
from sunrise.streams.progress import Progress
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import Piece, Source, n_rows_of, source_of


class SourceMixin(PartitionedMixin, LazyMixin):
    """Fit to a source in one or two passes."""

    #: True if X alone tells that it is a source; else X is one only if y is the name of a column.
    _reads_sources: ClassVar[bool] = True

    def _source_for(self, X: Any, y: Any) -> Source | None:
        """Return the source of batches that X stands for; None for a table."""
        return source_of(X) if self._reads_sources or isinstance(y, str) else None

    def _fit_source(
        self,
        settings: Settings,
        source: Source,
        y: Any,
        sample_weight: Any,
        on_bad_rows: str | None = None,
        checkpoint: Any = None,
    ) -> None:
        """Fit to all rows of a source.

        The first pass draws a sample, which decides families and calibration. The second pass adds up all rows. The
        first rows decide a source that can be read only once. If nothing is to be decided, there is one pass.
        """
        if isinstance(source, LazyTable) and self._reads_sources:
            batches = self._lazy_batches(settings, y, sample_weight)
            self._fit_lazy(settings, source, batches.label, batches.weight, batches.read_all)
            return
        if isinstance(source, Partitioned):
            if not self._reads_sources:
                raise TypeError(f"{type(self).__name__} {NOT_ON_CLUSTERS}")
            self._fit_partitioned(settings, source, _label(y), _name("sample_weight", sample_weight))
            return
        self._set_unfitted()
        batches, source = self._open_source(settings, source, y, sample_weight, on_bad_rows, fitting=True)
        saved = Checkpoint(_of_files(checkpoint, source), lambda: self._fingerprint(batches, source))
        state = saved.load()
        if isinstance(source, FileSource):
            source.skipped.update(state.skipped)
        more: Iterator[_Batch] | None = None
        if state.schema is None:
            found = batches.read_all(_pieces(source, state))
            first = None if state.sample is not None else next(found, None)
            if first is not None and not self._has_choices(settings, first.table):
                with _located(first.piece):
                    self._fit_rows(settings, first.training_rows(batches.label), find_duplicates=True)
                state, more = State(first.piece.place, first.table.n_rows, stats=self.stats_), found
            else:
                found = found if first is None else chain([first], found)
                sample, read = self._sampled(source, found, batches.label, saved, state)
                rows = self._kept_rows(settings, sample.finish())
                with _located(None):
                    self._fit_rows(settings, rows, find_duplicates=True)
                if sample.is_complete:
                    self._finish_source(source, saved)
                    return
                n_rows = sample.n_seen if source.repeats else np.inf
                score, grids = (
                    self.__dict__.get("loo_score_"),
                    choose_grids(self._model, MOST_DISTINCT, n_rows),
                )
                if grids:  # before the values of all rows are kept
                    self._set_state(settings, *put_on_grids(self._model.schema, self.stats_, grids), None)
                state, more = State(score=score), None if source.repeats else chain(read, found)
                del read
            del first  # frees its memory
            state.schema, state.calibration = self._model.schema, self._model.calibration
        else:
            self._name_columns(state.schema)
            self._set_state(settings, state.schema, state.stats, None)
            self._set_calibration(state.calibration)
        if more is None:
            more = batches.read_all(_pieces(_used(source, state.schema, batches), state))
        latest = self._add_up(settings, more, saved, state, source)
        self._set_woken_state(settings, state.schema, state.stats, latest, None)
        if (calibration := self._model.calibration) is not None:
            # A sample of these rows has decided it, so it is not stale.
            total = float(state.stats.weight.sum())
            self._set_calibration(replace(calibration, stale=False, total_weight=total))
        if state.score is not None:
            self.__dict__["loo_score_"] = state.score
        self._finish_source(source, saved)

    def _lazy_batches(self, settings: Settings, y: Any, sample_weight: Any) -> _Batches:
        """Return the reader of the batches of a lazy table, which may have only some of its columns."""
        weight, any_columns = _name("sample_weight", sample_weight), replace(settings, families="auto")
        return _Batches(type(self).__name__, any_columns, _label(y), weight, None, lambda table: table)

    def _sampled(
        self, source: Source, found: Iterator[_Batch], label: str, saved: Checkpoint, state: State
    ) -> tuple[ContentSample, list[_Batch]]:
        """Return a sample of the rows; for a source that cannot be read again, of its first batches, and these."""
        sample = ContentSample(SAMPLED)
        if state.sample is not None:
            sample = ContentSample.from_state(SAMPLED, state.sample)
        read: list[_Batch] = []
        with Progress("choosing families", source.n_bytes) as progress:
            for batch in found:
                if saved.is_due and state.place is not None:
                    state.sample, state.skipped = sample.state, getattr(source, "skipped", {})
                    saved.save(state)
                rows = batch.rows
                sample.add(batch.table, label, rows.classes, rows.codes, rows.weight)
                state.place, state.n_rows = batch.piece.place, state.n_rows + len(rows.codes)
                progress.update(state.n_rows, batch.piece.n_bytes)
                if not source.repeats:
                    read.append(batch)
                    if not sample.is_complete:
                        break
        return sample, read

    def _add_up(
        self, settings: Settings, found: Iterator[_Batch], saved: Checkpoint, state: State, source: Source
    ) -> Frame:
        """Add the statistics of all batches to the state; return the last table."""
        table = empty_table(state.schema.names, state.schema.choices)
        with Progress("adding up rows", source.n_bytes) as progress:
            for batch in found:
                # Before a batch is added, so that a fit that is resumed has a last batch, too.
                if saved.is_due and state.place is not None:
                    state.skipped = getattr(source, "skipped", {})
                    saved.save(state)
                with _located(batch.piece):
                    table = align(batch.table, state.schema, type(self).__name__)
                    own = batch.rows.table(table, state.schema)
                state.stats = own if state.stats is None else state.stats + own
                if has_many_values(state.schema, state.stats):
                    model = FittedModel(settings, state.schema, state.stats, state.stats.classes)
                    grids = choose_grids(model, MOST_DISTINCT)
                    state.schema, state.stats = put_on_grids(state.schema, state.stats, grids)
                state.place, state.n_rows = batch.piece.place, state.n_rows + table.n_rows
                progress.update(state.n_rows, batch.piece.n_bytes)
        return table

    def _open_source(
        self,
        settings: Settings,
        source: Source,
        y: Any,
        sample_weight: Any,
        on_bad_rows: str | None,
        fitting: bool,
    ) -> tuple[_Batches, Source]:
        """Return the reader of the batches, and the source of the columns that are needed."""
        label, weight = _label(y), _name("sample_weight", sample_weight)
        if getattr(self, "unlabelled", "error") == "em":
            raise ValueError(
                'unlabelled="em" goes over all rows many times, and X comes in batches. Pass a table in memory, or set '
                'unlabelled="error".'
            )
        if on_bad_rows is not None:
            if not isinstance(source, FileSource):
                raise ValueError("on_bad_rows= is for files. Leave it out.")
            source = source.with_bad_rows(on_bad_rows)
        features = self._feature_reader(fitting)
        batches = _Batches(type(self).__name__, settings, label, weight, source.names, features)
        if source.names is not None:
            for argument, name in (("y", label), ("sample_weight", weight)):
                if name is not None and name not in source.names:
                    _refuse_column(argument, name, source.names)
            unread = _left_out(settings, [name for name in source.names if name not in (label, weight)])
            source = source.select([name for name in source.names if name not in unread], label)
        return batches, source

    def _fingerprint(self, batches: _Batches, source: Any) -> dict[str, Any]:
        """Return what a checkpoint has to agree with."""
        settings = replace(batches.settings, n_jobs=None)
        own = [settings, self._calibration_kind(), batches.label, batches.weight]
        return {
            "the files, their sizes or their times": source.fingerprint,
            "the options for reading": source.options,
            "the arguments of the model, or y or sample_weight,": digest_of(own, "an argument"),
        }

    def _finish_source(self, source: Source, saved: Checkpoint) -> None:
        """Warn of skipped rows, and delete the checkpoint."""
        skipped = getattr(source, "skipped", {})
        if skipped:
            path, n = next(iter(skipped.items()))
            alert(
                f"{sum(skipped.values()):,} rows in {len(skipped):,} files could not be read or have no label, and "
                f"were skipped: {n:,} in {path}.",
                SkippedRowsWarning,
            )
        saved.remove()

    def _update_from_source(
        self, settings: Settings, source: Source, y: Any, sample_weight: Any, announced: Labels | None
    ) -> None:
        """Add the batches of a source to the model, one after the other."""
        if isinstance(source, LazyTable) and self._reads_sources:
            lazy = self._lazy_batches(settings, y, sample_weight)
            self._add_lazy(settings, source, lazy.label, lazy.weight, lazy.read_all, announced)
            return
        if isinstance(source, Partitioned) and self._reads_sources:
            self._add_partitioned(
                settings, source, _label(y), _name("sample_weight", sample_weight), announced
            )
            return
        is_first = "_model" not in self.__dict__
        batches, source = self._open_source(settings, source, y, sample_weight, None, fitting=is_first)
        n_rows = 0
        with Progress("adding rows", source.n_bytes) as progress:
            for batch in batches.read_all(source.pieces()):
                self._refuse_unannounced(batch.rows.classes, announced)
                with _located(batch.piece):
                    self._add_rows(settings, batch.training_rows(batches.label), announced)
                n_rows += batch.table.n_rows
                progress.update(n_rows, batch.piece.n_bytes)
        if not n_rows:
            raise ValueError(_NO_ROWS)
        self._finish_source(source, Checkpoint(None, dict))


_NO_ROWS = "The source has no rows. Pass at least one row."


class _Batch(NamedTuple):
    """A batch of rows: the table without labels and weights, and the accumulator of its statistics."""

    piece: Piece
    table: Frame
    rows: RowAccumulator

    def training_rows(self, label: str) -> TrainingRows:
        """Return the rows as those of one call of fit."""
        return TrainingRows(self.table, self.rows, label)


class _Batches(NamedTuple):
    """Reads labels and weights of the batches of a source."""

    who: str
    settings: Settings
    label: str
    weight: str | None
    #: Names of all columns, also of those that are not read; None if the batches have them.
    names: tuple[Any, ...] | None
    #: Reads the features of a batch.
    features: Callable[[Frame], Frame]

    def read_all(self, pieces: Iterator[Piece]) -> Iterator[_Batch]:
        """Read batches; those without a row of positive weight are left out."""
        for piece in pieces:
            if n_rows_of(piece.table):
                batch = self.read(piece)
                if batch.rows.weight is None or batch.rows.weight.any():
                    yield batch

    def read(self, piece: Piece) -> _Batch:
        """Read a batch; an error names the batch."""
        with _located(piece):
            whole, weight = frame_of(piece.table), None
            table, y, _ = separate_labels(self.who, piece.table, whole, self.label)
            if self.weight is not None:  # found by its position in the whole table
                weight = label_column(piece.table, whole, self.weight)
                table = table.without(self.weight)
            classes, codes = encode_labels(self.who, y, table.n_rows)
            if weight is not None and not np.any(weight := np.asarray(weight, np.float64)):
                weight = np.zeros(table.n_rows)  # only the source as a whole needs a positive weight
            else:
                weight = weights(weight, table.n_rows)
            table = self.features(self._without_cells(table))
        return _Batch(piece, table, RowAccumulator(classes, codes, weight, self.settings.n_jobs, self.who))

    def _without_cells(self, table: Frame) -> Frame:
        """Return a table with all columns, in which those that the user leaves out have no cells."""
        names = self.names or table.names
        names = tuple(name for name in names if name not in (self.label, self.weight))
        unread = _left_out(self.settings, names)
        if not unread and names == table.names:
            return table
        known = {name: j for j, name in enumerate(table.names)}

        def read(j: int) -> Column:
            name = names[j]
            at = None if name in unread else known.get(name)
            return Column(name, "empty", table.n_rows) if at is None else table.raw(at)

        return Frame(names, table.n_rows, read, table.library, table.is_named)


class _located:
    """Within this context, the text of a ValueError begins with the name of the batch, or says that it is a sample."""

    def __init__(self, piece: Piece | None) -> None:
        self._piece = piece

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ValueError):
            where = "in a sample of the rows, whose numbers are not those of the source"
            if self._piece is not None:
                where = f"{self._piece.origin}, in the batch from row {self._piece.first_row:,} on"
            raise ValueError(f"{where}: {error}") from error


def _left_out(settings: Settings, names: Any) -> frozenset[Any]:
    """Return the names of the columns that the user leaves out: they are not read."""
    if not isinstance(settings.families, dict):
        return frozenset()
    given = given_choices(settings.families, names)
    return frozenset(
        n for n, choice in zip(names, given, strict=True) if choice is not None and choice.family is None
    )


def _used(source: Source, schema: Schema, batches: _Batches) -> Source:
    """Return the source of the columns that a model needs, its labels and weights."""
    if (
        source.names is None
        or not schema.is_named
        or (isinstance(source, FileSource) and source.on_bad_rows == "skip")
    ):
        return source  # a row is skipped for a bad cell of any column, in both passes
    needed = {*schema.inputs_of([*schema.used, *(schema.names[j] for j in schema.asleep)])}
    needed |= {batches.label, batches.weight}
    return source.select([name for name in source.names if name in needed], batches.label)


def _pieces(source: Source, state: State) -> Iterator[Piece]:
    """Return the batches after those of a state."""
    return source.pieces(state.place) if isinstance(source, FileSource) else source.pieces()


def _of_files(checkpoint: Any, source: Source) -> Any:
    if checkpoint is not None and not isinstance(source, FileSource):
        raise ValueError(
            "checkpoint= is for files, which can be found again after a restart. Pass paths as X."
        )
    return checkpoint


def _refuse_column(argument: str, name: str, names: Any) -> None:
    similar = closest(name, names)
    raise ValueError(
        f"{argument} is {name!r}, but the files have no column of this name. "
        + (f"Do you mean {similar!r}? " if similar is not None else "")
        + f"The columns are {listed(names)}."
    )


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
