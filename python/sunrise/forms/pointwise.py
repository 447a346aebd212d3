"""Pointwise forms: a cell adds the value of a function, which need not be a weighted sum of terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import Readable, weighed


@dataclass(frozen=True, eq=False)
class Pointwise(Readable):
    """A cell adds what a function says, which takes cells (rows x 1 x columns) and gives rows x classes x columns.

    The form of predictive distributions, which are no weighted sums of terms.
    """

    of: Callable[[Floats], Floats]
    weight: Floats | float = 1.0

    kind: ClassVar[str] = "pointwise"
    compositional = False
    impossible = None

    @property
    def finite(self) -> Pointwise:
        """Nothing is infinite: a predictive distribution leaves nothing impossible."""
        return self

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        return np.where(np.isnan(x)[:, None, :], 0.0, weighed(self.of(x[:, None, :]), self.weight))

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Pointwise:
        """The form with its columns weighed."""
        return replace(self, weight=self.weight * weight)

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """There are none."""
        raise ValueError(
            'a model with estimate="predictive" is not linear in any features of its cells. Use estimate="mean".'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """There are none."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """There are none."""
        return []
