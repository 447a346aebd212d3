"""The interface of a form: how a fitted block of columns scores its cells.

A form returns what each cell adds to the joint log score of each class (`cells`: the readable formula that the array
engine and the explanations use), and the same as weights of features (the linear form). The native engine decides how
the arrays of a form are laid out for Rust.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np

from sunrise._common.arrays import Floats, Mask


class Form(Protocol):
    """What the engines, the explanations and the linear form ask of a fitted block."""

    #: Which kernels score it: linear, table, polya, kernel or pointwise.
    kind: ClassVar[str]

    @property
    def impossible(self) -> Form | None:
        """A form that counts the impossible things in a row, where the parameters hold any."""

    @property
    def finite(self) -> Form:
        """The same form without its infinities."""

    @property
    def readable(self) -> Form:
        """The same form by its plain formula, where `cells` takes a faster way."""

    @property
    def compositional(self) -> bool:
        """Whether a row with missing cells needs more than its own cells."""

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""

    def unseen(self, j: int, x: Floats) -> Mask:
        """Which cells of column j hold levels beyond those that are possible."""

    def times(self, weight: Floats) -> Form:
        """The same form with what every cell adds multiplied by the weight of its column, or by one for all."""

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Weights (classes x features) and intercepts of the form as a linear function about a centre."""

    def features(self, x: Any, centre: Floats) -> Any:
        """The features those weights multiply."""

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names of those features."""


class Readable:
    """A form whose cells are scored by the plain formula anyway."""

    @property
    def readable(self) -> Self:
        """The form itself."""
        return self


def weighed(part: Floats, weight: Floats | float) -> Floats:
    """Numbers times their weights, where 0 times anything infinite is 0."""
    nothing = np.asarray(weight) == 0.0
    if not nothing.any():
        return np.asarray(part * weight)
    with np.errstate(invalid="ignore"):
        return np.where(nothing, 0.0, part * weight)


def side_by_side(*views: Floats) -> Floats:
    """Arrays of classes x columns, one for each view, as one of classes x views."""
    return np.stack(views, axis=2).reshape(len(views[0]), -1)
