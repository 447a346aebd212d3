"""The form of negative binomial and beta-geometric counts: log-probabilities made of a (a + 1) ... (a + x - 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import NotLinear, Readable, apply_weight
from sunrise.numerics.special import log_rising


@dataclass(frozen=True, eq=False)
class Rising(NotLinear, Readable):
    """The score of a count x is base + slope x + log_rising(shape, x), each part classes x columns.

    With a `gap`, log_rising(shape + gap, x) is subtracted. Without one the form is a negative binomial distribution
    (or a Poisson one whose rate is integrated out), with one a beta-geometric distribution.

    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> form = Rising(base=0.0 * one, slope=-one, shape=2.0 * one, weight=np.ones(1), usual=(np.zeros(1), np.ones(1)))
    >>> form.cells(np.array([[3.0], [np.nan]])).ravel().round(6)  # log(2 * 3 * 4) - 3
    array([0.178054, 0.      ])
    """

    base: Floats
    slope: Floats
    shape: Floats
    #: Factor of every column; 0 if the column is not known.
    weight: Floats
    #: The least and the largest usual count of every column: the native engine keeps the scores of these.
    usual: tuple[Floats, Floats]
    gap: Floats | None = None

    kind: ClassVar[str] = "rising"
    impossible = None

    @property
    def finite(self) -> Rising:
        """The form itself: a score of -inf is never multiplied by a count, so it needs no special treatment."""
        return self

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        x = x[:, None, :]
        rising = log_rising(self.shape, x)
        if self.gap is not None:
            # One ratio of gamma functions in two ways: each is accurate where the other cancels.
            large = log_rising(self.shape, self.gap) - log_rising(self.shape + x, self.gap)
            rising = np.where(x <= self.gap, rising - log_rising(self.shape + self.gap, x), large)
        scores = apply_weight(self.base + self.slope * x + rising, self.weight)
        return np.where(np.isnan(x), 0.0, scores)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: counts are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Rising:
        """Return the form with column scores multiplied by weights."""
        return replace(self, weight=self.weight * weight)


def usual_counts(mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest count within ten spreads of the mean of any class, for every column."""
    return (
        np.floor(np.maximum(mean - 10.0 * spread, 0.0).min(axis=0)),
        np.ceil((mean + 10.0 * spread).max(axis=0)),
    )
