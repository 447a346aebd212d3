"""Prediction: read, score, and nothing of the estimator changes."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from sunrise import _native
from sunrise._common.arrays import Floats
from sunrise._common.warnings import ImpossibleRowWarning, alert
from sunrise.data import write
from sunrise.data.blocks import Batch
from sunrise.data.errors import refuse_cell
from sunrise.data.labels import encode_arrow_labels, encode_labels, is_name, label_column
from sunrise.engines import array
from sunrise.estimators.base import Estimator
from sunrise.inference.explain import Explanation
from sunrise.inference.linear_form import LinearForm
from sunrise.model.encode_rows import count_unusable
from sunrise.model.fitted import FittedModel
from sunrise.model.score import score_rows


class PredictionMixin(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Labels, probabilities, scores and explanations of rows."""

    def predict(self, X: Any, as_frame: bool = False) -> Any:
        """The most probable class of every row; the first of equal ones.

        With `as_frame` the result is a frame of X's kind.
        """
        best = self._score(X, None)
        found = self.classes_[best]
        if not as_frame:
            return found
        name = self._model.schema.label
        return write.frame_like(X, {"class" if name is None else name: found})

    def predict_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Probability of every class for every row, in the order of `classes_`."""
        return self._by_class(X, self._score(X, "proba"), as_frame)

    def predict_log_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Log-probability of every class for every row, exact also where a probability rounds to 1."""
        return self._by_class(X, self._score(X, "log_proba"), as_frame)

    def predict_joint_log_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Joint log score log P(c) + log P(x | c) of every class for every row."""
        return self._by_class(X, self._score(X, "joint"), as_frame)

    def _by_class(self, X: Any, values: Floats, as_frame: bool) -> Any:
        if not as_frame:
            return values
        return write.frame_like(X, dict(zip(self.classes_.tolist(), values.T, strict=True)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows X with labels y, which may be the name of X's label column."""
        table = self._read_table(X, fitting=False)
        if is_name(y, table):
            classes, codes = encode_labels(type(self).__name__, label_column(X, table, y), table.n_rows)
            X, y = table.without(y), classes[codes]
        elif (encoded := encode_arrow_labels(y, table.n_rows)) is not None:
            y = encoded[0][encoded[1]]
        return float(super().score(X, y, sample_weight))

    def _score(self, X: Any, output: str | None) -> NDArray[Any]:
        return self._scored(self._encode(X)[0], output, self._model)

    def _scored(self, batch: Batch, output: str | None, model: FittedModel) -> NDArray[Any]:
        try:
            values, impossible = score_rows(model, batch, output)
        except _native.CellError as error:
            self._refuse_cell(batch, error)
        if impossible:
            alert(
                f"{impossible} of {batch.n_rows} rows have probability 0 under every class and got the class prior. "
                "Smoothing (alpha or var_smoothing above 0) avoids it.",
                ImpossibleRowWarning,
            )
        return values

    def _refuse_cell(self, batch: Batch, error: _native.CellError) -> NoReturn:
        """Name the cell that could not be scored; blocks do not know their place in the table, so look for it."""
        fitted, names = self._model, getattr(self, "feature_names_in_", None)
        row, n_classes = np.array([error.args[1]]), len(fitted.classes)
        for part, block, form in zip(fitted.parts, batch.blocks, fitted.forms, strict=True):
            support = part.family.support
            try:
                array.sum_cells(block, support, form.finite, n_classes, row)
            except _native.CellError as found:
                why, at, j, value = found.args
                views = len(support.views)
                refuse_cell(
                    type(self).__name__, names, (why, at, part.columns[j // views] * views, value), support
                )
        refuse_cell(type(self).__name__, names, error.args, fitted.supports[0])

    def check(self, X: Any) -> Any:
        """Count the missing and the unseen cells of every column, without predicting.

        The result is a frame of X's kind, or a dict by column where X is no frame.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.check({"hair": ["bald", None, "long"]})
        {'hair': {'missing': 1, 'unseen': 1}}
        """
        self._require_fitted()
        table, fitted = self._read_table(X, fitting=False), self._model
        found = count_unusable(table, fitted, type(self).__name__)
        names = self._columns()
        if table.library is None:
            return {names[j]: {"missing": m, "unseen": u} for j, (m, u) in found.items()}
        columns = {
            "column": [names[j] for j in found],
            "missing": [m for m, _ in found.values()],
            "unseen": [u for _, u in found.values()],
        }
        return write.frame(table.library, columns)

    def explain(self, X: Any, columns: Any = None) -> Explanation:
        """What every column adds to the score of every class; adds up to the joint log score.

        `columns` names the columns where the model does not know their names. The result holds a number for
        every row, class and column: explain rows by the hundred, not by the million.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0, 1], [1, 1], [0, 1], [1, 0]], ["no", "no", "no", "yes"])
        >>> model.explain([[1, 0]]).contributions.shape
        (1, 2, 2)
        """
        self._require_fitted()
        fitted = self._model
        names = self._columns() if columns is None else [str(name) for name in columns]
        if len(names) != self.n_features_in_:
            raise ValueError(f"columns must name {self.n_features_in_} columns, not {len(names)}")
        batch, table = self._encode(X)
        try:
            return Explanation.of(batch, fitted, names, table)
        except _native.CellError as error:
            self._refuse_cell(batch, error)

    def to_linear(self) -> LinearForm:
        """The model as weights w and intercepts b: w . phi(x) + b is the joint log score.

        >>> from sunrise import MultinomialNB
        >>> line = MultinomialNB().fit([[0, 3, 1], [1, 0, 2]], [0, 1]).to_linear()
        >>> line.coef.shape, line.intercept.shape
        ((2, 3), (2,))
        """
        self._require_fitted()
        fitted = self._model
        return LinearForm.of(fitted, self._columns(), self._read_table)
