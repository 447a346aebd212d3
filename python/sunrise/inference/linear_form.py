"""The linear form: naive Bayes as weights and intercepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sunrise import _native
from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels
from sunrise.data.blocks import Batch, DenseBlock, SparseBlock
from sunrise.data.frame import Frame
from sunrise.engines import array
from sunrise.forms.base import Form
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.score import row_factors


@dataclass(frozen=True)
class LinearForm:
    """Weights `coef` (classes x features) and `intercept` that reproduce the joint log score.

    The features phi(x) are x - centre for counts and yes-or-no columns, (x - centre, (x - centre)^2) for
    Gaussian columns and one-hot levels for categories, block after block. Rows must be complete. Where calibration
    has an exponent on the length of rows, `row_factors` has what the weights are multiplied by for it.

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
    _fitted: FittedModel = field(repr=False)
    _centres: list[Floats] = field(repr=False)
    _read_table: Callable[..., Frame] = field(repr=False)

    @classmethod
    def of(cls, fitted: FittedModel, columns: list[str], opened: Callable[..., Frame]) -> LinearForm:
        """Write the forms of a model as weights; `opened` reads tables as the model does."""
        centres, coefs, names, level = [], [], [], fitted.log_prior
        for part, form, block in zip(fitted.parts, fitted.forms, fitted.blocks, strict=True):
            own = part.family.feature_names(block, [columns[j] for j in part.columns])
            centre = np.broadcast_to(part.family.centre(block), (len(own),)).copy()
            coef, base = form.weights(centre)
            centres.append(centre)
            coefs.append(coef)
            names += form.feature_names(own)
            level = level + base
        none = np.empty((len(fitted.classes), 0))
        centre = np.concatenate([np.empty(0), *centres])
        coef = np.concatenate([none, *coefs], axis=1)
        return cls(coef, level, centre, fitted.classes, names, columns, fitted, centres, opened)

    def transform(self, X: Any) -> Any:
        """The features phi(x) of rows, sparse where that is natural."""
        batch = encode_rows(self._read_table(X, fitting=False), self._fitted)[0]
        found = [form.features(x, centre) for x, form, centre in self._read(batch)]
        if len(found) == 1:
            return found[0]
        return sparse.hstack(found, format="csr") if any(map(sparse.issparse, found)) else np.hstack(found)

    def decision(self, X: Any) -> Floats:
        """w . phi(x) + b: the joint log score, rows x classes."""
        batch = encode_rows(self._read_table(X, fitting=False), self._fitted)[0]
        score, impossible, factors = self._fitted.log_prior, np.zeros(1), row_factors(self._fitted, batch)
        for k, (x, form, centre) in enumerate(self._read(batch)):
            coef, level = form.finite.weights(centre)
            factor = factors[k][:, None] if k in factors else 1.0
            score = score + factor * (np.asarray(form.features(x, centre) @ coef.T) + level)
            if form.impossible is not None:
                # Infinite weights cannot be multiplied: 0 log 0 is 0.
                cells = form.impossible.cells(x if isinstance(x, np.ndarray) else x.toarray())
                impossible = impossible + cells.sum(axis=2)
        return array.forbid(score, impossible) if impossible.ndim == 2 else score

    def row_factors(self, X: Any) -> Floats:
        """What the weights of every feature are multiplied by for the length of the rows: rows x features.

        All 1 unless a model of counts is calibrated by temperature.
        """
        fitted = self._fitted
        batch = encode_rows(self._read_table(X, fitting=False), fitted)[0]
        factors, ones = row_factors(fitted, batch), np.ones(batch.n_rows)
        widths = [
            form.weights(centre)[0].shape[1] for form, centre in zip(fitted.forms, self._centres, strict=True)
        ]
        return np.repeat(np.stack([factors.get(k, ones) for k in range(len(widths))], axis=1), widths, axis=1)

    def _read(self, batch: Batch) -> list[tuple[Any, Form, Floats]]:
        """Complete rows of cells as their features see them, block by block; sparse ones stay sparse."""
        fitted, found, blocks = self._fitted, [], batch.blocks
        for part, block, form, centre in zip(fitted.parts, blocks, fitted.forms, self._centres, strict=True):
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
                    "A linear form is for complete rows: a missing cell changes the intercept. "
                    "Use predict_joint_log_proba for rows with missing cells."
                )
            found.append((x, form, centre))
        return found

    def log_odds(self, positive: Any = None, against: Any = None) -> tuple[Floats, Any]:
        """Weights and intercept of one class against another; of two classes, the second against the first.

        The sign of w . phi(x) + b says which of the two is more probable: for two classes, the prediction.
        """
        if len(self.classes) != 2 and (positive is None or against is None):
            raise ValueError(f"there are {len(self.classes)} classes: name two, log_odds(positive, against)")
        plus = 1 if positive is None else labels.place_of(positive, self.classes)
        minus = 1 - plus if against is None else labels.place_of(against, self.classes)
        return self.coef[plus] - self.coef[minus], self.intercept[plus] - self.intercept[minus]
