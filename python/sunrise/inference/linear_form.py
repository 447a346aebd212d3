"""The linear form: naive Bayes as a linear classifier with weights and intercepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels
from sunrise._common.lazy import sparse
from sunrise.data.blocks import Batch, DenseBlock, SparseBlock
from sunrise.data.frame import Frame
from sunrise.engines import array
from sunrise.forms.base import Form
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.score import row_factors, says_nothing


@dataclass(frozen=True)
class LinearForm:
    """Weights `coef` (classes x features) and `intercept` that reproduce the joint log score.

    The features phi(x) are x - centre for counts and binary columns, (x - centre, (x - centre)^2) for Gaussian columns
    and one-hot levels for categorical columns, in the order of the blocks. Rows must not have missing cells. If the
    calibration has an exponent on the length of rows, multiply the weights by `row_factors`.

    >>> from sunrise import GaussianNB
    >>> model = GaussianNB.from_parameters([[-1.0], [1.0]], [[1.0], [1.0]], classes=["-", "+"])
    >>> model.to_linear().log_odds("-")
    (array([-2.,  0.]), np.float64(0.0))
    """

    coef: Floats
    intercept: Floats
    centre: Floats
    classes: Labels
    feature_names: list[str] = field(repr=False)
    columns: list[str] = field(repr=False)
    _model: FittedModel = field(repr=False)
    _centres: list[Floats] = field(repr=False)
    _read_table: Callable[..., Frame] = field(repr=False)

    @classmethod
    def of(cls, model: FittedModel, columns: list[str], read_table: Callable[..., Frame]) -> LinearForm:
        """Return the linear form of a model; `read_table` is the function with which the estimator reads tables."""
        centres, coefs, names, intercept = [], [], [], model.log_prior
        problems = []
        for part, form, block in zip(model.parts, model.forms, model.blocks, strict=True):
            cell_names = part.family.feature_names(block, [columns[j] for j in part.columns])
            centre = np.broadcast_to(part.family.centre(block), (len(cell_names),)).copy()
            try:
                coef, base = form.weights(centre)
            except ValueError as error:
                problems.append((", ".join(repr(columns[j]) for j in part.columns[:5]), error))
                continue
            centres.append(centre)
            coefs.append(coef)
            names += form.feature_names(cell_names)
            intercept = intercept + base
        if problems:
            raise ValueError(
                "The model is not linear. "
                + " ".join(f"Column {where}: {error}" for where, error in problems)
                + " explain() shows the contribution of every column of any model."
            )
        none = np.empty((len(model.classes), 0))
        centre = np.concatenate([np.empty(0), *centres])
        coef = np.concatenate([none, *coefs], axis=1)
        return cls(coef, intercept, centre, model.classes, names, columns, model, centres, read_table)

    def transform(self, X: Any) -> Any:
        """Return the features phi(x) of rows; sparse if a block is sparse or one-hot."""
        batch = encode_rows(self._read_table(X, fitting=False), self._model)[0]
        batch.warn()
        features = [form.features(x, centre) for x, form, centre in self._read(batch)]
        if len(features) == 1:
            return features[0]
        is_sparse = any(map(sparse.issparse, features))
        return sparse.hstack(features, format="csr") if is_sparse else np.hstack(features)

    def decision(self, X: Any) -> Floats:
        """Return w . phi(x) + b, the joint log score, rows x classes.

        The score of a row without evidence for any class (no known words) has no calibration offsets.
        """
        batch = encode_rows(self._read_table(X, fitting=False), self._model)[0]
        batch.warn()
        score, impossible, factors = self._model.log_prior, np.zeros(1), row_factors(self._model, batch)
        for k, (x, form, centre) in enumerate(self._read(batch)):
            coef, intercept = form.finite.weights(centre)
            factor = factors[k][:, None] if k in factors else 1.0
            score = score + factor * (np.asarray(form.features(x, centre) @ coef.T) + intercept)
            if form.impossible is not None:
                # Infinite weights are counted instead of multiplied, because 0 log 0 must be 0.
                cells = form.impossible.cells(x if isinstance(x, np.ndarray) else x.toarray())
                impossible = impossible + cells.sum(axis=2)
        offsets = self._model.log_prior - self._model.plain_log_prior
        if offsets.any():  # rows that say nothing have the class prior
            score = np.where(says_nothing(score - self._model.log_prior)[:, None], score - offsets, score)
        return array.forbid(score, impossible) if impossible.ndim == 2 else score

    def row_factors(self, X: Any) -> Floats:
        """Return the factors of the weights that depend on the length of the rows, rows x features.

        All factors are 1 unless a model of counts was calibrated with a temperature.
        """
        model = self._model
        batch = encode_rows(self._read_table(X, fitting=False), model)[0]
        factors, ones = row_factors(model, batch), np.ones(batch.n_rows)
        widths = [
            form.weights(centre)[0].shape[1] for form, centre in zip(model.forms, self._centres, strict=True)
        ]
        return np.repeat(np.stack([factors.get(k, ones) for k in range(len(widths))], axis=1), widths, axis=1)

    def _read(self, batch: Batch) -> list[tuple[Any, Form, Floats]]:
        """Return the cells, the form and the centre of every block; raise if a cell is missing."""
        model, parts, blocks = self._model, [], batch.blocks
        for part, block, form, centre in zip(model.parts, blocks, model.forms, self._centres, strict=True):
            support = part.family.support
            try:
                if isinstance(block, SparseBlock):
                    data = array.read(DenseBlock(block.data[None]), support)[0]
                    x: Any = sparse.csr_array((data, block.indices, block.indptr), shape=block.shape)
                else:
                    x = data = array.read(block, support)
            except _native.CellError as error:
                raise ValueError(f"X holds {error.args[3]:g}. A cell must be {support.text}.") from None
            if np.isnan(data).any():
                raise ValueError(
                    "A linear form cannot score rows with missing cells: a missing cell changes the intercept. "
                    "Use predict_joint_log_proba for these rows."
                )
            parts.append((x, form, centre))
        return parts

    def log_odds(self, positive: Any = None, against: Any = None) -> tuple[Floats, Any]:
        """Return weights w and intercept b of the log-odds of one class against another.

        With two classes, the default is the second against the first. If w . phi(x) + b > 0, `positive` is the more
        probable of the two classes.
        """
        if len(self.classes) != 2 and (positive is None or against is None):
            raise ValueError(
                f"the model has {len(self.classes)} classes. Name two of them: log_odds(positive, against)."
            )
        plus = 1 if positive is None else labels.place_of(positive, self.classes)
        minus = 1 - plus if against is None else labels.place_of(against, self.classes)
        return self.coef[plus] - self.coef[minus], self.intercept[plus] - self.intercept[minus]
