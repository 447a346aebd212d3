"""Polya forms: the Dirichlet-multinomial (Polya urn) log probability of counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.forms.base import Readable, apply_weight
from sunrise.numerics.special import log, log_rising


@dataclass(frozen=True, eq=False)
class Polya(Readable):
    """Counts from a Polya urn per class: each drawn ball returns to the urn with another ball of its colour.

    The score of a row is the sum of log_rising(a_j, n_j) over its counts, minus log_rising(sum of a, sum of n). The
    second term is split among the cells in proportion to their counts. Columns with a missing count, and columns that
    are not `known`, are left out of the row.

    >>> import numpy as np
    >>> urn = Polya(np.array([[0.1, 0.1]]), np.array([True, True]))
    >>> twice, once_each = np.exp(urn.cells(np.array([[2.0, 0.0], [1.0, 1.0]])).sum(axis=2))[:, 0]
    >>> round(float(twice + once_each), 12), round(float(twice / (twice + once_each)), 12)
    (0.5, 0.916666666667)
    """

    concentration: Floats
    known: Mask
    #: Factor of all scores.
    weight: float = 1.0

    kind: ClassVar[str] = "polya"
    impossible = None

    @property
    def finite(self) -> Polya:
        """The form itself: a score of -inf is never multiplied by a count, so it needs no special treatment."""
        return self

    @cached_property
    def total(self) -> Floats:
        """Sum of the concentrations of the known columns, for each class."""
        return np.asarray(np.where(self.known, self.concentration, 0.0).sum(axis=1))

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        observed = ~np.isnan(x) & self.known
        n = np.where(observed, x, 0.0)[:, None, :]
        total = np.where(observed[:, None, :], self.concentration, 0.0).sum(axis=2, keepdims=True)
        length = n.sum(axis=2, keepdims=True)
        share = np.divide(n, length, out=np.zeros_like(n), where=length > 0)
        whole = np.where(total > 0, log_rising(np.where(total > 0, total, 1.0), length), 0.0)
        return apply_weight(log_rising(self.concentration, n) - share * whole, self.weight)

    @property
    def of_one_count(self) -> Floats:
        """Score of a row with one count, in each column: classes x columns."""
        share = self.concentration / np.where(self.total > 0, self.total, 1.0)[:, None]
        return apply_weight(np.where(self.known, log(share), 0.0), self.weight)

    def paired(self) -> Polya:
        """Return the form that scores row i by class i only: its cells are rows x 1 x columns."""
        return replace(self, concentration=self.concentration[:, None, :])

    def embed_columns(self, columns: Mask) -> Polya:
        """Return the form for a wider block: its columns are at `columns`, and the other columns score 0."""
        wide, known = np.zeros((len(self.concentration), len(columns))), np.zeros(len(columns), bool)
        wide[:, columns], known[columns] = self.concentration, self.known
        return replace(self, concentration=wide, known=known)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: numbers are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Polya:
        """Return the form with all scores multiplied by one weight, the mean of the weights."""
        return replace(self, weight=self.weight * float(np.mean(weight)))

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Raise: the form is not linear."""
        raise ValueError(
            'a Polya urn (a multinomial with estimate="predictive", a Dirichlet-compound multinomial) has no '
            'linear form. Use a multinomial with estimate="mean".'
        )

    def features(self, x: Any, centre: Floats) -> Any:
        """Raise: the form is not linear."""
        return self.weights(centre)

    def feature_names(self, columns: list[str]) -> list[str]:
        """Return an empty list: the form is not linear."""
        return []
