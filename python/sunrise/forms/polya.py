"""Polya forms: counts drawn from an urn with reinforcement (Dirichlet-compound multinomial)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import Readable, weighed
from sunrise.numerics.special import log_rising


@dataclass(frozen=True, eq=False)
class Polya(Readable):
    """Counts drawn from an urn per class, to which everything drawn returns with one more of its kind.

    A row adds log_rising(a_j, n_j) for each of its counts, less log_rising(sum of a, sum of n). What the length of a
    row takes from all of its counts is told to each of them in proportion. Missing counts are as if their columns were
    not there; so are columns that are not known.

    >>> import numpy as np
    >>> urn = Polya(np.array([[0.1, 0.1]]), np.array([True, True]))
    >>> twice, once_each = np.exp(urn.cells(np.array([[2.0, 0.0], [1.0, 1.0]])).sum(axis=2))[:, 0]
    >>> round(float(twice + once_each), 12), round(float(twice / (twice + once_each)), 12)
    (0.5, 0.916666666667)
    """

    concentration: Floats
    known: Mask
    #: What all scores are multiplied by.
    weight: float = 1.0

    kind: ClassVar[str] = "polya"
    compositional = True
    impossible = None

    @property
    def finite(self) -> Polya:
        """What an urn does not hold is -inf and multiplies nothing, so there is nothing to take out."""
        return self

    @cached_property
    def total(self) -> Floats:
        """The sum of what the urns hold."""
        return np.asarray(np.where(self.known, self.concentration, 0.0).sum(axis=1))

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        seen = ~np.isnan(x) & self.known
        n = np.where(seen, x, 0.0)[:, None, :]
        total = np.where(seen[:, None, :], self.concentration, 0.0).sum(axis=2, keepdims=True)
        length = n.sum(axis=2, keepdims=True)
        share = np.divide(n, length, out=np.zeros_like(n), where=length > 0)
        whole = np.where(total > 0, log_rising(np.where(total > 0, total, 1.0), length), 0.0)
        return weighed(log_rising(self.concentration, n) - share * whole, self.weight)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Numbers are never unseen."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Polya:
        """The form with all of its columns weighed by one number."""
        return replace(self, weight=self.weight * float(np.mean(weight)))

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """There are none."""
        raise ValueError(
            'a Polya urn (a multinomial with estimate="predictive", a Dirichlet-compound multinomial) is not linear in '
            'any features of its cells. Use a multinomial with estimate="mean".'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """There are none."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """There are none."""
        return []
