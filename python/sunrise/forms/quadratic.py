"""Quadratic forms: the multivariate Student-t log density of whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Mask, Positions
from sunrise._common.lazy import special
from sunrise.forms.base import NotLinear, Readable, apply_weight
from sunrise.numerics.special import log_sum_exp


class Factors(NamedTuple):
    """Inverse Cholesky factors of matrices, classes x columns x columns, and the logs of their determinants."""

    inverse: Floats
    log_determinant: Floats

    @classmethod
    def of(cls, matrices: Floats) -> Factors:
        """Return the factors of positive definite matrices."""
        lower = np.linalg.cholesky(matrices)
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        return cls(np.linalg.inv(lower), 2.0 * np.log(diagonal).sum(axis=1))


def log_student(squared_distance: Floats, log_determinant: Floats, freedom: Floats, n_columns: int) -> Floats:
    """Return the multivariate Student-t log density at these squared Mahalanobis distances.

    >>> from scipy.stats import multivariate_t
    >>> ours = log_student(np.array(2.0), np.array(0.0), np.array(5.0), 2)
    >>> bool(np.isclose(ours, multivariate_t([0, 0], np.eye(2), df=5).logpdf([1.0, 1.0])))
    True
    """
    half = 0.5 * (freedom + n_columns)
    constant = special.gammaln(half) - special.gammaln(0.5 * freedom) - 0.5 * log_determinant
    return np.asarray(
        constant - 0.5 * n_columns * np.log(np.pi * freedom) - half * np.log1p(squared_distance / freedom)
    )


def bounded(scores: Floats, share: float) -> Floats:
    """Return log[(1 - share) exp(score) + share mean of exp(scores)]: log-odds are at most log(classes / share).

    >>> bounded(np.array([[0.0, -1000.0]]), 0.01).round(2).tolist()
    [[-0.01, -5.3]]
    """
    if share == 0.0:
        return scores
    of_all = log_sum_exp(scores, axis=1)[:, None] + np.log(share / scores.shape[1])
    return np.asarray(np.logaddexp(scores + np.log1p(-share), of_all))


def patterns(x: Floats) -> Iterator[tuple[Any, Positions]]:
    """Return the rows that have the same observed columns, with the positions of these columns; rows with none last."""
    missing = np.isnan(x)
    if not missing.any():
        yield slice(None), np.arange(x.shape[1])
        return
    kinds, kind = np.unique(missing, axis=0, return_inverse=True)
    for k, pattern in enumerate(kinds):
        yield np.flatnonzero(kind.ravel() == k), np.flatnonzero(~pattern)


@dataclass(frozen=True, eq=False)
class Quadratic(NotLinear, Readable):
    """A multivariate Student-t per class; the columns of a row with missing cells are scored by their marginal.

    The score of a column is the loss of log density if the column is marginalised. The sum of these losses differs
    from the log density of the row, and the columns share the difference equally.

    >>> form = Quadratic(np.zeros((1, 2)), np.eye(2)[None], np.array([5.0]))
    >>> form.cells(np.array([[1.0, 2.0], [1.0, np.nan]])).sum(axis=2).round(3).tolist()
    [[-4.264], [-1.516]]
    """

    mean: Floats
    #: Scale matrices, classes x columns x columns.
    scatter: Floats
    freedom: Floats
    weight: float = 1.0
    #: Log-odds are bounded by mixing this share of all classes into each, and the block is one summand; see `bounded`.
    share: float = 0.0
    one_summand: bool = False

    kind: ClassVar[str] = "quadratic"
    impossible = None

    @property
    def finite(self) -> Quadratic:
        """The form itself: the density is never 0."""
        return self

    @cached_property
    def factors(self) -> Factors:
        """Factors of the scale matrices of all columns."""
        return Factors.of(self.scatter)

    def marginal(self, columns: Positions) -> Quadratic:
        """Return the form of some columns."""
        if len(columns) == self.mean.shape[1]:
            return self
        scatter = self.scatter[:, columns][:, :, columns]
        return replace(self, mean=self.mean[:, columns], scatter=scatter, one_summand=False)

    def log_densities(self, x: Floats, threads: int = 1) -> Floats:
        """Return the log density of every row under every class, rows x classes."""
        scores = np.zeros((len(x), len(self.mean)))
        for rows, columns in patterns(x):
            if len(columns):
                own = self.marginal(columns)
                distance = own._squared_distances(x[rows][:, columns], threads)
                scores[rows] = log_student(distance, own.factors.log_determinant, self.freedom, len(columns))
        return scores

    def _squared_distances(self, x: Floats, threads: int) -> Floats:
        distances = _native.squared_distances(
            np.ascontiguousarray(x), self.mean.ravel(), self.factors.inverse.ravel(), threads
        )
        return np.asarray(distances.reshape(len(x), len(self.mean)))

    def scores(self, x: Floats, threads: int = 1) -> Floats:
        """Return the score of every row, rows x classes."""
        return apply_weight(bounded(self.log_densities(x, threads), self.share), self.weight)

    def cells(self, x: Floats) -> Floats:
        """Return the score of every column, rows x classes x columns; the whole score for a block of one summand."""
        if self.one_summand:
            return self.scores(x)[:, :, None]
        cells = np.zeros((len(x), *self.mean.shape))
        for rows, columns in patterns(x):
            if len(columns):
                own = self.marginal(columns)._losses(x[rows][:, columns])
                cells[np.arange(len(x))[rows][:, None], :, columns] = np.moveaxis(own, 1, 2)
        return apply_weight(cells, self.weight)

    def _losses(self, x: Floats) -> Floats:
        """Return the losses of log density of complete rows if a column is marginalised, with the shared difference."""
        n, inverse = x.shape[1], self.factors.inverse
        white = np.einsum("cjk,ick->icj", inverse, x[:, None] - self.mean)
        distance = (white * white).sum(axis=2)
        log_determinant, freedom = self.factors.log_determinant, self.freedom
        whole = log_student(distance, log_determinant, freedom, n)[:, :, None]
        # Without column j, the squared distance loses (P d)_j^2 / P_jj and the determinant gains the factor P_jj.
        precision = (inverse * inverse).sum(axis=1)
        less = np.einsum("cjk,icj->ick", inverse, white) ** 2 / precision
        without = log_student(
            np.maximum(distance[:, :, None] - less, 0.0),
            log_determinant[:, None] + np.log(precision),
            freedom[:, None],
            n - 1,
        )
        losses = whole - without
        return np.asarray(losses + (whole - losses.sum(axis=2, keepdims=True)) / n)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return False for every cell: numbers are never unseen levels."""
        return np.zeros(len(x), bool)

    def times(self, weight: Floats) -> Quadratic:
        """Return the form with all scores multiplied by one weight, the mean of the weights."""
        return replace(self, weight=self.weight * float(np.mean(weight)))
