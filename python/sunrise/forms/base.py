"""The interface of a form: the function that scores the cells of a fitted block of columns.

`cells` returns the contribution of each cell to the joint log score of each class: the readable formula that the array
engine and the explanations use. `weights` and `features` return the same score as a linear function. The native engine
decides how the arrays of a form are laid out for Rust.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np

from sunrise._common.arrays import Floats, Mask


class Form(Protocol):
    """The interface that the engines, the explanations and the linear form use."""

    #: Selects the native scoring function: linear, table, polya, distance, rising, kernel or pointwise.
    kind: ClassVar[str]

    @property
    def impossible(self) -> Form | None:
        """A form that counts the cells of probability 0 in a row; None if the parameters exclude no value."""

    @property
    def finite(self) -> Form:
        """The same form with infinite weights replaced by 0."""

    @property
    def readable(self) -> Form:
        """A form whose `cells` evaluates the plain formula instead of a faster algorithm."""

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return the mask of cells of column j whose level is not among the possible levels."""

    def times(self, weight: Floats) -> Form:
        """Return the form with cell scores multiplied by a weight per column, or by one weight for all columns."""

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Return weights (classes x features) and intercepts of the form as a linear function about a centre."""

    def features(self, x: Any, centre: Floats) -> Any:
        """Return the features that `weights` multiplies."""

    def feature_names(self, columns: list[str]) -> list[str]:
        """Return the names of the features."""


class Readable:
    """A form whose `cells` already evaluates the plain formula."""

    @property
    def readable(self) -> Self:
        """The form itself."""
        return self


class NotLinear:
    """A form that is not a weighted sum of features."""

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Raise: the form is not linear."""
        raise ValueError(
            'a density with integrated parameters (estimate="predictive"), with absolute deviations (Laplace) or with '
            'an estimated size (negative binomial) has no linear form. Use estimate="mean", or another family.'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """Raise: the form is not linear."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """Return an empty list: the form is not linear."""
        return []


def apply_weight(part: Floats, weight: Floats | float) -> Floats:
    """Return scores times weights, with 0 times infinity equal to 0."""
    is_zero = np.asarray(weight) == 0.0
    if not is_zero.any():
        return np.asarray(part * weight)
    with np.errstate(invalid="ignore"):
        return np.where(is_zero, 0.0, part * weight)


def side_by_side(*views: Floats) -> Floats:
    """Interleave one array (classes x columns) per view into classes x (columns x views)."""
    return np.stack(views, axis=2).reshape(len(views[0]), -1)
