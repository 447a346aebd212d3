"""Linear forms: weighted sums of x and x^2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import Readable, apply_weight


@dataclass(frozen=True)
class Composition:
    """Parameters theta that sum to 1 over the columns, so that a missing count changes the weights of the others.

    A row with missing counts is scored with theta of its observed columns rescaled to a sum of 1. `sign` is -1 for
    complement naive Bayes; `normed` divides the weights by their sum (Rennie et al. 2003).
    """

    log_theta: Floats
    sign: float = 1.0
    normed: bool = False
    #: Factor of all weights.
    weight: float = 1.0

    def weights(self, observed: Mask) -> Floats:
        """Return the weight of every cell, rows x classes x columns, for rows with these observed columns."""
        theta = np.exp(self.log_theta) * observed[:, None, :]
        share = theta.sum(axis=2, keepdims=True)
        rescale = np.log(np.where(share > 0, share, 1.0))
        weight = np.where(observed[:, None, :] & np.isfinite(self.log_theta), self.log_theta - rescale, 0.0)
        if self.normed:
            total = weight.sum(axis=2, keepdims=True)
            # A single observed column has probability 1: its weight is 0, up to rounding.
            nonzero = np.abs(total) > 1e-12
            return np.asarray(
                self.weight * np.divide(weight, total, out=np.zeros_like(weight), where=nonzero)
            )
        return np.asarray(self.weight * self.sign * weight)


@dataclass(frozen=True, eq=False)
class Linear(Readable):
    """The score of a cell is base + x (x - a) + x2 (x - a)^2, where a is the anchor; each part is classes x columns.

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
    def _parts(self) -> list[Floats]:
        return [part for part in (self.base, self.x, self.x2) if part is not None]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of columns."""
        n_classes, n_columns = self._parts[0].shape
        return n_classes, n_columns

    @cached_property
    def impossible(self) -> Linear | None:
        """A form that counts cells of probability 0 (weight -inf) as 1 and weights of +inf as -1; None without any.

        Infinite weights are counted separately because 0 * log 0 must be 0, and inf - inf must not occur. A square
        counts 1e100 times, so that even a small square outweighs all weights of +inf.
        """
        if all(np.isfinite(part).all() for part in self._parts):
            return None

        def count(part: Floats | None, weight: float = 1.0) -> Floats | None:
            return None if part is None else np.where(np.isinf(part), -weight * np.sign(part), 0.0)

        return Linear(count(self.base), count(self.x), count(self.x2, weight=1e100), self.anchor)

    @cached_property
    def finite(self) -> Linear:
        """The same form with infinite weights replaced by 0."""
        if self.impossible is None:
            return self

        def keep(part: Floats | None) -> Floats | None:
            return None if part is None else np.where(np.isinf(part), 0.0, part)

        return Linear(keep(self.base), keep(self.x), keep(self.x2), self.anchor, self.composition)

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        observed = ~np.isnan(x)
        d = x[:, None, :] - (0.0 if self.anchor is None else self.anchor)
        if self.composition is not None and not observed.all():
            complete = np.all(observed, axis=1, keepdims=True)[:, :, None]
            score = np.where(complete, np.asarray(self.x), self.composition.weights(observed)) * d
        else:
            score = np.zeros(d.shape)
            if self.x is not None:
                score = score + self.x * d
            if self.x2 is not None:
                score = score + self.x2 * d * d
            if self.base is not None:
                score = score + self.base
        return np.where(observed[:, None, :], score, 0.0)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: numbers are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Linear:
        """Return the form with column scores multiplied by weights; a column of weight 0 cannot exclude a class."""
        base, x, x2 = (
            None if part is None else apply_weight(part, weight) for part in (self.base, self.x, self.x2)
        )
        composition = self.composition
        if composition is not None:
            composition = replace(composition, weight=composition.weight * float(np.mean(weight)))
        return Linear(base, x, x2, self.anchor, composition)

    def paired(self) -> Linear:
        """Return the form that scores row i by class i only: its cells are rows x 1 x columns."""
        base, x, x2, anchor = (
            None if part is None else part[:, None, :] for part in (self.base, self.x, self.x2, self.anchor)
        )
        composition = self.composition
        if composition is not None:
            composition = replace(composition, log_theta=composition.log_theta[:, None, :])
        return Linear(base, x, x2, anchor, composition)

    def embed_columns(self, columns: Mask) -> Linear:
        """Return the form for a wider block: its columns are at `columns`, and the other columns score 0."""

        def widen(part: Floats | None) -> Floats | None:
            if part is None:
                return None
            wide = np.zeros((len(part), len(columns)))
            wide[:, columns] = part
            return wide

        return Linear(widen(self.base), widen(self.x), widen(self.x2), widen(self.anchor))

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Return the weights of x - centre, then of (x - centre)^2 if the form has squares, and the intercepts."""
        zero = np.zeros(self.shape)
        base, x, x2 = (zero if part is None else part for part in (self.base, self.x, self.x2))
        # A class without variance has weight -inf: avoid 0 * inf = NaN, so that only its own weights are infinite.
        shift = centre - (0.0 if self.anchor is None else self.anchor)
        with np.errstate(invalid="ignore"):
            slope = x + np.where(shift == 0, 0.0, 2 * x2 * shift)
            intercept = base + np.where(shift == 0, 0.0, shift * (x + x2 * shift))
        w = slope if self.x2 is None else np.concatenate([slope, x2], axis=1)
        return w, intercept.sum(axis=1)

    def features(self, x: Any, centre: Floats) -> Any:
        """Return x - centre, then its squares if the form has squares; sparse cells stay sparse if the centre is 0."""
        if not isinstance(x, np.ndarray):
            if self.x2 is None and not centre.any():
                return x
            x = x.toarray()
        d = x - centre
        return d if self.x2 is None else np.concatenate([d, d * d], axis=1)

    def feature_names(self, columns: list[str]) -> list[str]:
        """Return the names of the features."""
        return columns if self.x2 is None else [*columns, *(f"{name}^2" for name in columns)]
