"""The linear form: naive Bayes as weights and intercepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sunrise import _native, labels
from sunrise.arrays import Floats, Labels
from sunrise.data.batch import DenseBlock
from sunrise.engines import array
from sunrise.forms import Form
from sunrise.support import Support


@dataclass(frozen=True)
class LinearForm:
    """Weights `coef` (classes x features) and `intercept` that reproduce the joint log score.

    The features phi(x) are x - centre for counts and yes-or-no columns, (x - centre, (x - centre)^2) for
    Gaussian columns and one-hot levels for categories. Rows must be complete.

    >>> from sunrise import GaussianNB
    >>> model = GaussianNB.from_parameters([[-1.0], [1.0]], [[1.0], [1.0]], classes=["-", "+"])
    >>> model.to_linear().log_odds("-")
    (array([-2.,  0.]), np.float64(0.0))
    """

    coef: Floats
    intercept: Floats
    centre: Floats
    classes: Labels
    feature_names: list[str]
    columns: list[str]
    _form: Form = field(repr=False)
    _support: Support = field(repr=False)
    _prior: Floats = field(repr=False)
    _named: bool = field(repr=False)

    @classmethod
    def of(
        cls,
        form: Form,
        support: Support,
        centre: Floats,
        prior: Floats,
        classes: Labels,
        columns: list[str],
        named: bool,
    ) -> LinearForm:
        """Write a form as weights; `named` columns must come with these names."""
        centre = np.broadcast_to(centre, (len(columns),)).copy()
        coef, level = form.weights(centre)
        names = form.feature_names(columns)
        return cls(coef, prior + level, centre, classes, names, columns, form, support, prior, named)

    def transform(self, X: Any) -> Any:
        """The features phi(x) of rows, sparse where that is natural."""
        return self._form.features(self._read(X), self.centre)

    def decision(self, X: Any) -> Floats:
        """w . phi(x) + b: the joint log score, rows x classes."""
        x = self._read(X)
        coef, level = self._form.finite.weights(self.centre)
        score = np.asarray(self._form.features(x, self.centre) @ coef.T) + (level + self._prior)
        if self._form.impossible is None:
            return score
        # Infinite weights cannot be multiplied: 0 log 0 is 0.
        cells = self._form.impossible.cells(x if isinstance(x, np.ndarray) else x.toarray())
        return array.forbid(score, cells.sum(axis=2))

    def _read(self, X: Any) -> Any:
        """Complete rows of cells as their features see them; sparse ones stay sparse."""
        names = [str(name) for name in getattr(X, "columns", self.columns)]
        if self._named and names != self.columns:
            raise ValueError(f"the columns must be {self.columns}, in this order; they are {names}")
        rows: Any = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise ValueError(f"X must be a table of {len(self.columns)} columns; its shape is {rows.shape}")
        cells = rows.data[None] if sparse.issparse(rows) else rows
        try:
            x = array.read(DenseBlock(cells), self._support)
        except _native.CellError as error:
            raise ValueError(f"X holds {error.args[3]:g}. A cell must be {self._support.text}.") from None
        if np.isnan(x).any():
            raise ValueError(
                "A linear form is for complete rows: a missing cell changes the intercept. "
                "Use predict_joint_log_proba for rows with missing cells."
            )
        if sparse.issparse(rows):
            return sparse.csr_array((x[0], rows.indices, rows.indptr), shape=rows.shape)
        return x

    def log_odds(self, positive: Any = None, against: Any = None) -> tuple[Floats, Any]:
        """Weights and intercept of one class against another; of two classes, the second against the first.

        The sign of w . phi(x) + b says which of the two is more probable: for two classes, the prediction.
        """
        if len(self.classes) != 2 and (positive is None or against is None):
            raise ValueError(f"there are {len(self.classes)} classes: name two, log_odds(positive, against)")
        plus = 1 if positive is None else self._class(positive)
        minus = 1 - plus if against is None else self._class(against)
        return self.coef[plus] - self.coef[minus], self.intercept[plus] - self.intercept[minus]

    def _class(self, label: Any) -> int:
        place = int(labels.locate(self.classes, np.asarray([label]))[0])
        if place < 0:
            raise ValueError(f"{label!r} is not one of the classes {self.classes.tolist()}")
        return place
