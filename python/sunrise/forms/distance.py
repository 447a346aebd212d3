"""Distance forms: the score of a cell depends on its distance from an anchor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import NotLinear, Readable, apply_weight


@dataclass(frozen=True, eq=False)
class Distance(NotLinear, Readable):
    """The score of a cell is base + power h(scale |x - anchor|); each part is classes x columns.

    The curve h(u) is u ("line", a Laplace density), log(1 + u) ("log", a Lomax density) or log(1 + u^2)
    ("log square", a Student's t).

    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> form = Distance("log square", base=0.0 * one, anchor=3.0 * one, scale=one, power=-one)
    >>> form.cells(np.array([[5.0], [np.nan]])).ravel().round(6) + 0.0  # - log 5
    array([-1.609438,  0.      ])
    """

    curve: str
    base: Floats
    anchor: Floats
    scale: Floats
    power: Floats

    kind: ClassVar[str] = "distance"
    impossible = None

    @classmethod
    def of_columns(
        cls, curve: str, base: Floats, anchor: Floats, scale: Floats, power: Floats, known: Mask
    ) -> Distance:
        """Return the form whose columns that are not `known` add nothing."""
        shape = np.broadcast_shapes(*(np.shape(part) for part in (base, anchor, scale, power, known)))
        parts = (np.where(known, np.broadcast_to(part, shape), 0.0) for part in (base, anchor, scale, power))
        return cls(curve, *parts)

    @property
    def finite(self) -> Distance:
        """The form itself: the density is positive everywhere."""
        return self

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        distance = np.abs(x[:, None, :] - self.anchor)
        with np.errstate(over="ignore"):
            u = self.scale * distance
        curve = u if self.curve == "line" else self._log_curve(u, distance)
        return np.where(np.isnan(x)[:, None, :], 0.0, self.base + apply_weight(curve, self.power))

    def _log_curve(self, u: Floats, distance: Floats) -> Floats:
        """Return log(1 + u) or log(1 + u^2), where 1 is lost and u or its square may be too large for a float."""
        square = self.curve == "log square"
        far = u > (1e8 if square else 1e16)
        near = np.where(far, 0.0, u)
        with np.errstate(divide="ignore"):
            log_u = np.log(np.where(far, distance, 1.0)) + np.log(np.where(far, self.scale, 1.0))
        return np.where(far, (2.0 if square else 1.0) * log_u, np.log1p(near * near if square else near))

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: numbers are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Distance:
        """Return the form with column scores multiplied by weights."""
        return replace(self, base=apply_weight(self.base, weight), power=self.power * weight)
