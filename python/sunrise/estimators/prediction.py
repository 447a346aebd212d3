"""Prediction: classes, probabilities, scores and explanations of rows. The estimator is never modified."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from os import PathLike
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from sunrise import _native
from sunrise._common import labels
from sunrise._common.arrays import Floats, Positions
from sunrise._common.threads import limited_to
from sunrise._common.warnings import ImpossibleRowWarning, StaleCalibrationWarning, alert
from sunrise.data import write
from sunrise.data.blocks import Batch
from sunrise.data.columns import lazy_kind_of, library_of
from sunrise.data.errors import refuse_cell
from sunrise.data.labels import encode_labels, is_name, label_column
from sunrise.data.weights import weights
from sunrise.engines import array
from sunrise.estimators.base import Estimator
from sunrise.estimators.source_predict import predict_to_file
from sunrise.families.readers import Unusable
from sunrise.inference.explain import Explanation
from sunrise.inference.linear_form import LinearForm
from sunrise.inference.quality import Quality
from sunrise.model.calibration_weights import Calibration
from sunrise.model.encode_rows import count_unusable, encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.score import score_rows
from sunrise.streams.lazy_predictions import (
    labelled_batches,
    lazy_predictions,
    predictions_by_sql,
    score_source,
)
from sunrise.streams.partitioned import Partitioned
from sunrise.streams.relation import Relation
from sunrise.streams.source import Source, source_of


class PredictionMixin(ClassifierMixin, Estimator):  # type: ignore[misc]
    """predict and its variants, score, check, explain and to_linear."""

    #: False if X is a matrix without a label column, so that y cannot be the name of a column.
    _finds_labels_by_name: ClassVar[bool] = True
    #: False if tables have to be checked before they are read, so that no record is read without a table.
    _reads_records: ClassVar[bool] = True
    _reads_sources: ClassVar[bool]

    def predict(self, X: Any, as_frame: bool = False, *, to: Any = None) -> Any:
        """Return the most probable class of every row; of equally probable classes, the first in `classes_`.

        With `as_frame=True` the result is a frame of the same library as X; for a lazy table it is lazy, too, and of a
        DuckDB relation, an Ibis table or a Spark DataFrame it has the columns of X beside the predictions. If X is a
        path, a glob or another source of batches, `to` is the file (Parquet, Arrow, CSV, TSV or JSON lines) to which
        the classes are written, batch by batch; the result is the number of rows.
        """
        if to is not None or (self._reads_sources and _is_written(X)):
            return predict_to_file(self, X, to, None)
        if as_frame and (frame := self._lazy_frame(X, "predict")) is not None:
            return frame
        codes = self._score(X, None)  # before `classes_` is read: NotFittedError, not AttributeError
        predicted = self.classes_[codes]
        if not as_frame:
            return predicted
        name = self._model.schema.label
        return write.frame_like(X, {"class" if name is None else name: predicted})

    def predict_proba(self, X: Any, as_frame: bool = False, *, to: Any = None) -> Any:
        """Return the probability of every class for every row, in the order of `classes_`.

        As in `predict`, `to` is a file for the predictions of files: the predicted class, and one column of
        probabilities for each class.
        """
        if to is not None or (self._reads_sources and _is_written(X)):
            return predict_to_file(self, X, to, "proba")
        return self._class_columns(X, "proba", as_frame)

    def predict_log_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Return the log probability of every class for every row; precise even if the probability rounds to 0 or 1."""
        return self._class_columns(X, "log_proba", as_frame)

    def predict_joint_log_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Return the joint log score log P(c) + log P(x | c) of every class for every row."""
        return self._class_columns(X, "joint", as_frame)

    def _class_columns(self, X: Any, output: str, as_frame: bool) -> Any:
        """Return scores (rows x classes) as an array, or as a frame with one column per class."""
        if as_frame and (frame := self._lazy_frame(X, output)) is not None:
            return frame
        values = self._score(X, output)
        if not as_frame:
            return values
        return write.frame_like(X, dict(zip(self.classes_.tolist(), values.T, strict=True)))

    def _lazy_frame(self, X: Any, output: str) -> Any:
        """Return the predictions of a lazy table as a lazy table of the same kind; None for other tables."""
        if not self._reads_sources:
            return None
        kind = lazy_kind_of(X)
        source = source_of(X) if kind is None and type(X).__module__.startswith("pyspark.") else None
        if kind is None and not isinstance(source, Partitioned):
            return None
        self._require_fitted()
        if kind != "polars":
            return self._predictions_beside(X, output, source)
        if output == "predict":
            name = self._model.schema.label
            return lazy_predictions(
                X, lambda table: self.predict(table, as_frame=True), {name or "class": self.classes_[:1]}
            )

        def columns_of(table: Any) -> Any:
            return self._class_columns(table, output, True)

        return lazy_predictions(X, columns_of, dict.fromkeys(self.classes_.tolist(), np.zeros(1)))

    def _predictions_beside(self, X: Any, output: str, source: Any) -> Any:
        """Return a lazy table with the columns of X and predictions; rows of SQL have no order to match them by."""
        names = [str(c) for c in self.classes_.tolist()]
        label = str(self._model.schema.label or "class")
        n, given = len(names), set(X.columns)
        positions = {
            "predict": range(1),
            "proba": range(1, 1 + n),
            "log_proba": range(1 + n, 1 + 2 * n),
        }
        if output not in positions:
            raise TypeError(
                f"as_frame=True is not available for joint scores of a {type(X).__name__}. Leave it out, or use "
                "predict_log_proba."
            )
        if output == "predict":
            names = [f"predicted {label}" if label in given else label]
        if isinstance(source, Partitioned):
            return source.predictions(self, output, names)

        def query(dialect: str, table: str, keep: list[str]) -> str:
            text: str = self.to_sql(dialect, table, keep=keep)
            return text

        return predictions_by_sql(X, query, positions[output], names)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y, which may be all labels that `fit` takes.

        y may be the name of the label column of X. A label that did not occur in fit is never predicted.
        """
        self._require_fitted()
        correct = total = 0.0
        for batch, y_codes, weight in self._labelled_rows(X, y, sample_weight):
            correct += float(weight[self._scored(batch, None, self._model) == y_codes].sum())
            total += float(weight.sum())
        return correct / total

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Quality:
        """Return the quality of the predictions for labelled rows: scores, confusion matrix, reliability, thresholds.

        X, y and sample_weight are those of `score`. The rows should be new ones: `quality_` has the quality on training
        rows that were kept from the model.

        >>> from sunrise import NaiveBayes
        >>> from sunrise.datasets import load_house_votes
        >>> votes = load_house_votes("pandas").frame
        >>> quality = NaiveBayes().fit(votes.head(300), "party").evaluate(votes.tail(135), "party")
        >>> print(quality)
        accuracy 0.941, log loss 0.157, Brier score 0.047 on 135 new rows
        """
        self._require_fitted()
        parts = (
            Quality.of(self._scored(batch, "log_proba", self._model), y_codes, weight, self.classes_)
            for batch, y_codes, weight in self._labelled_rows(X, y, sample_weight)
        )
        return reduce(add, parts)

    def _labelled_rows(self, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[Batch, Positions, Floats]]:
        """Return encoded rows, the positions of their labels in `classes_` (-1: unknown) and weights, in batches."""
        if (source := self._source(X, y)) is not None:
            features = self._feature_reader(fitting=False)
            for table, labels_of_batch, weight in labelled_batches(source, y, sample_weight):
                yield self._labelled_batch(features(table), labels_of_batch, weight)
        else:
            yield self._labelled_batch(X, y, sample_weight)

    def _labelled_batch(self, X: Any, y: Any, sample_weight: Any) -> tuple[Batch, Positions, Floats]:
        table = self._read_table(X, fitting=False)
        if self._finds_labels_by_name and is_name(y, table):
            table, y = table.without(y), label_column(X, table, y)
        classes, codes = encode_labels(type(self).__name__, y, table.n_rows)
        batch, _ = encode_rows(table, self._model, release=True)
        batch.warn()
        weight = weights(sample_weight, table.n_rows)
        known = labels.locate(self.classes_, classes)[codes]
        return batch, known, np.ones(table.n_rows) if weight is None else weight

    def _score(self, X: Any, output: str | None) -> NDArray[Any]:
        self._require_fitted()
        records = self._model.records
        batch = records.read_matrix(X)
        if batch is None and self._reads_records:
            batch = records.read(X)
        if batch is None and (source := self._source(X)) is not None:
            return score_source(lambda table: self._score(table, output), source)
        return self._scored(self._encode(X)[0] if batch is None else batch, output, self._model)

    def _source(self, X: Any, y: Any = None) -> Source | None:
        """Return the source of batches that X stands for; None for a table, and for the rows of a cluster."""
        source = source_of(X) if self._reads_sources or isinstance(y, str) else None
        return None if isinstance(source, Partitioned) else source

    def _scored(self, batch: Batch, output: str | None, model: FittedModel) -> NDArray[Any]:
        if model.calibration is not None:
            self._warn_if_outgrown(model.calibration)
        try:
            values, impossible = score_rows(model, batch, output)
        except _native.CellError as error:
            self._refuse_cell(batch, error)
        if impossible:
            alert(
                f"{impossible} of {batch.n_rows} rows have probability 0 under every class; their prediction is "
                "the class prior. Smoothing (alpha or var_smoothing above 0) avoids this.",
                ImpossibleRowWarning,
            )
        return values

    def _warn_if_outgrown(self, calibration: Calibration) -> None:
        """Warn once if the data have doubled since the weights of the model were fitted."""
        if not calibration.stale or calibration.has_warned:
            return
        total = float(self.stats_.weight.sum())
        if total >= 2.0 * calibration.total_weight:
            calibration.note_warning()
            alert(
                f"The weights of this model were fitted to {calibration.total_weight:g} rows, and now it has {total:g} "
                "rows. Call recalibrate(X, y) with recent training rows.",
                StaleCalibrationWarning,
            )

    def _refuse_cell(self, batch: Batch, error: _native.CellError) -> NoReturn:
        """Raise ValueError that names the invalid cell.

        The error of the engine has no position in the table, so the row is scored again, block by block.
        """
        model, names = self._model, getattr(self, "feature_names_in_", None)
        names = names if model.schema.rules is None else model.schema.names
        row, n_classes = np.array([error.args[1]]), len(model.classes)
        for part, block, form in zip(model.parts, batch.blocks, model.forms, strict=True):
            support = part.family.support
            try:
                array.sum_cells(block, support, form.finite, n_classes, row)
            except _native.CellError as block_error:
                reason, position, j, value = block_error.args
                n_views = len(support.views)
                cell = reason, position, part.columns[j // n_views] * n_views, value
                refuse_cell(type(self).__name__, names, cell, support)
        refuse_cell(type(self).__name__, names, error.args, model.supports[0])

    def check(self, X: Any) -> Any:
        """Return the number of cells per column that the model cannot use, without predicting.

        Cells are missing, hold a category that did not occur in fit (unseen), or are impossible under the family of the
        column, as a negative amount is under a log-normal. If the family was chosen automatically, impossible cells
        count as missing in predict; if it was given, predict raises an error.

        The result is a frame of the same library as X, or a dict by column if X is not a frame.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.check({"hair": ["bald", None, "long"]})
        {'hair': {'missing': 1, 'unseen': 1, 'impossible': 0}}
        """
        self._require_fitted()
        table = self._read_table(X, fitting=False)
        counts = count_unusable(table, self._model)
        names = self._columns()
        if table.library is None:
            return {names[j]: unusable._asdict() for j, unusable in counts.items()}
        columns = {kind: [getattr(own, kind) for own in counts.values()] for kind in Unusable._fields}
        return write.frame(table.library, {"column": [names[j] for j in counts]} | columns)

    def explain(self, X: Any, columns: Any = None) -> Explanation:
        """Return the contribution of every column to the score of every class; the sum is the joint log score.

        `columns` gives names to the columns of a model that was fitted without names. The result has one number per
        row, class and column, so memory limits the number of rows: pass hundreds, not millions. Its methods `text`,
        `html`, `frame` and `plot` compare two classes for a row.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0, 1], [1, 1], [0, 1], [1, 0]], ["no", "no", "no", "yes"])
        >>> model.explain([[1, 0]]).contributions.shape
        (1, 2, 2)
        """
        self._require_fitted()
        names = self._columns() if columns is None else [str(name) for name in columns]
        if len(names) != (width := len(self._model.schema.names)):
            raise ValueError(f"columns must name {width} columns, not {len(names)}.")
        names = self._summands(names)
        table, record = None, None
        batch = self._model.records.read(X) if self._reads_records else None
        if batch is None:
            batch, table = self._encode(X)
        else:
            record = self._model.records.shown(X)
        try:
            with limited_to(self.n_jobs):
                given = bool(self.__dict__.get("_fixed"))
                return Explanation.of(batch, self._model, names, table, record, library_of(X), not given)
        except _native.CellError as error:
            self._refuse_cell(batch, error)

    def to_linear(self) -> LinearForm:
        """Return the model as a linear classifier: w . phi(x) + b is the joint log score.

        Kernel densities, Laplace columns, Dirichlet-compound multinomials and `estimate="predictive"` are not linear;
        the error names their columns.

        >>> from sunrise import MultinomialNB
        >>> line = MultinomialNB().fit([[0, 3, 1], [1, 0, 2]], [0, 1]).to_linear()
        >>> line.coef.shape, line.intercept.shape
        ((2, 3), (2,))
        """
        self._require_fitted()
        return LinearForm.of(self._model, self._summands(), self._read_table)


def _is_written(X: Any) -> bool:
    """True if predictions go to a file: those of files, whose number is unknown; those of lazy tables are returned."""
    return isinstance(X, str | PathLike) or (isinstance(X, Source) and not isinstance(X, Relation))
