"""Linear forms: weighted sums of x and x^2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import Readable, weighed


@dataclass(frozen=True)
class Composition:
    """Parameters that sum to 1 over the columns, so that a missing count changes the others' share.

    A row is scored with its observed shares brought back to a sum of 1; `sign` is -1 for a complement, and
    `normed` divides by the sum of the weights (Rennie et al. 2003).
    """

    log_theta: Floats
    sign: float = 1.0
    normed: bool = False
    #: What all weights are multiplied by.
    weight: float = 1.0

    def weights(self, observed: Mask) -> Floats:
        """Weight of every cell for rows with these observed columns: rows x classes x columns."""
        theta = np.exp(self.log_theta)[None] * observed[:, None, :]
        share = theta.sum(axis=2, keepdims=True)
        rescale = np.log(np.where(share > 0, share, 1.0))
        weight = np.where(observed[:, None, :] & np.isfinite(self.log_theta), self.log_theta - rescale, 0.0)
        if self.normed:
            total = weight.sum(axis=2, keepdims=True)
            # One observed column has all of the share: its weight is 0, up to rounding.
            some = np.abs(total) > 1e-12
            return np.asarray(self.weight * np.divide(weight, total, out=np.zeros_like(weight), where=some))
        return np.asarray(self.weight * self.sign * weight)


@dataclass(frozen=True, eq=False)
class Linear(Readable):
    """A cell adds base + x (x - a) + x2 (x - a)^2; each part is classes x columns.

    >>> import numpy as np
    >>> form = Linear(base=np.array([[1.0]]), x2=np.array([[-0.5]]), anchor=np.array([[3.0]]))
    >>> form.cells(np.array([[5.0], [np.nan]])).ravel()
    array([-1.,  0.])
    """

    base: Floats | None = None
    x: Floats | None = None
    x2: Floats | None = None
    anchor: Floats | None = None
    composition: Composition | None = None

    kind: ClassVar[str] = "linear"

    @property
    def compositional(self) -> bool:
        """Whether a row with missing cells needs more than its own cells."""
        return self.composition is not None

    @property
    def _parts(self) -> list[Floats]:
        return [part for part in (self.base, self.x, self.x2) if part is not None]

    @property
    def shape(self) -> tuple[int, int]:
        """Classes and columns."""
        n_classes, n_columns = self._parts[0].shape
        return n_classes, n_columns

    @cached_property
    def impossible(self) -> Linear | None:
        """Counts cells of probability 0; a sure thing (weight +inf) counts as -1.

        Infinities are taken out of the sums because 0 * log 0 must be 0, and two of them must not meet. A
        square however small weighs more than all sure things together.
        """
        if all(np.isfinite(part).all() for part in self._parts):
            return None

        def count(part: Floats | None, weight: float = 1.0) -> Floats | None:
            return None if part is None else np.where(np.isinf(part), -weight * np.sign(part), 0.0)

        return Linear(count(self.base), count(self.x), count(self.x2, weight=1e100), self.anchor)

    @cached_property
    def finite(self) -> Linear:
        """The same form without its infinities."""
        if self.impossible is None:
            return self

        def keep(part: Floats | None) -> Floats | None:
            return None if part is None else np.where(np.isinf(part), 0.0, part)

        return Linear(keep(self.base), keep(self.x), keep(self.x2), self.anchor, self.composition)

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        seen = ~np.isnan(x)
        d = x[:, None, :] - (0.0 if self.anchor is None else self.anchor[None])
        if self.composition is not None and not seen.all():
            whole = np.all(seen, axis=1, keepdims=True)[:, :, None]
            score = np.where(whole, np.asarray(self.x), self.composition.weights(seen)) * d
        else:
            score = np.zeros(d.shape)
            if self.x is not None:
                score = score + self.x * d
            if self.x2 is not None:
                score = score + self.x2 * d * d
            if self.base is not None:
                score = score + self.base
        return np.where(seen[:, None, :], score, 0.0)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Linear:
        """The form with its columns weighed; what has no weight says nothing, not even that a row is impossible."""
        base, x, x2 = (
            None if part is None else weighed(part, weight) for part in (self.base, self.x, self.x2)
        )
        composition = self.composition
        if composition is not None:
            composition = replace(composition, weight=composition.weight * float(np.mean(weight)))
        return Linear(base, x, x2, self.anchor, composition)

    def among(self, columns: Mask) -> Linear:
        """The form of its columns among more, of which the others say nothing."""

        def spread(part: Floats | None) -> Floats | None:
            if part is None:
                return None
            wide = np.zeros((len(part), len(columns)))
            wide[:, columns] = part
            return wide

        return Linear(spread(self.base), spread(self.x), spread(self.x2), spread(self.anchor))

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Weights of x - centre, then of (x - centre)^2 where squares are used, and intercepts."""
        zero = np.zeros(self.shape)
        base, x, x2 = (zero if part is None else part for part in (self.base, self.x, self.x2))
        # A class's point mass (weight -inf) would meet 0 * inf below; its own row stays infinite.
        shift = centre - (0.0 if self.anchor is None else self.anchor)
        with np.errstate(invalid="ignore"):
            slope = x + np.where(shift == 0, 0.0, 2 * x2 * shift)
            level = base + np.where(shift == 0, 0.0, shift * (x + x2 * shift))
        w = slope if self.x2 is None else np.concatenate([slope, x2], axis=1)
        return w, level.sum(axis=1)

    def features(self, x: Any, centre: Floats) -> Any:
        """x - centre, and its squares where they are used; sparse cells about 0 stay sparse."""
        if not isinstance(x, np.ndarray):
            if self.x2 is None and not centre.any():
                return x
            x = x.toarray()
        d = x - centre
        return d if self.x2 is None else np.concatenate([d, d * d], axis=1)

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names of the features."""
        return columns if self.x2 is None else [*columns, *(f"{name}^2" for name in columns)]
