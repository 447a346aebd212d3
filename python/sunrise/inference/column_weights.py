"""Column weights: one weight for every column and one offset for every class, fitted to leave-one-out scores.

The weights minimise the mean log loss of the rows plus a penalty (see `Strengths`), which is convex. The penalty is
divided by the number of rows, so it vanishes as the number of rows grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.optimise import MAX_NEWTON_VARIABLES, minimise
from sunrise.inference.score_blocks import (
    column_groups,
    column_scores,
    log_frequencies,
    score_unit,
    usable_rows,
)
from sunrise.model.calibration_weights import Calibration, Strengths

#: Most products (rows x classes x weights^2) in a Hessian; with more, it is that of some of the rows.
MOST_PRODUCTS = 1 << 32
#: Penalty factor of squared offsets, and of squared weights of interactions, which are drawn to 0.
OFFSET_PENALTY, PULL = 1e-4, 1.0
#: Number of rows to which weights are fitted first, to begin the fit to all rows near its end.
START_ROWS = 2048
#: Factors by which the first weights are made smaller, one after the other.
START_FACTORS = (0.5, 0.5, 0.4, 0.3, 0.3, 0.0)
#: Relative tolerance of the minimisation: of the weights of a model, and of weights that are only compared.
TOLERANCE, ROUGH_TOLERANCE = 1e-12, 1e-6


#: The strengths that folds compare, the default first. A mean strength keeps the mean weight near 1. Where the columns
#: say little, all weights have to move towards 0.
GRID = (
    Strengths(1.0, 0.1, 0.0),
    Strengths(10.0, 0.1, 0.0),
    Strengths(1000.0, 0.1, 0.0),
    Strengths(1.0, 0.0, 1.0),
    Strengths(1.0, 0.0, 10.0),
    Strengths(1000.0, 0.0, 10.0),
    Strengths(1000.0, 0.0, 100.0),
)


@dataclass(frozen=True)
class ColumnWeights:
    """Scores of the columns of some rows, as the data of a multinomial logistic regression.

    Parameters v are the weights, then the offsets. `cells` are differences from the first class, rows x (classes - 1) x
    weights, because only differences matter.
    """

    cells: Floats
    #: Log class frequencies, rows x classes.
    prior: Floats
    y: Codes
    weight: Floats
    #: True for classes whose offset is fitted.
    has_offset: Mask
    n_threads: int
    #: The last Hessian of the loss, with which the fit for other strengths begins.
    _last_curvature: list[Floats] = field(default_factory=list, repr=False)
    #: Number of interactions, whose weights come after those of the columns.
    n_interactions: int = 0
    #: Which interactions may have a weight without each fold, and with all rows (the last row); None if all may.
    allowed: Mask | None = None

    grid = GRID

    @classmethod
    def of(cls, rows: LeaveOneOut, use: Positions, like: ColumnWeights | None = None) -> ColumnWeights:
        """Return the objective for these rows; fits begin with the last Hessian of `like`, if its size is the same."""
        cells = column_scores(rows, use)
        has_offset = np.bincount(rows.y[usable_rows(rows)], minlength=len(rows.model.classes)) > 0
        n_threads = engines.threads(rows.model.n_jobs, cells.size)
        data = cells, log_frequencies(rows, use), rows.y[use], rows.fitted_weight[use]
        similar = like._last_curvature if like is not None and like.n_weights == cells.shape[2] else []
        n_interactions = len(rows.model.schema.interactions)
        return cls(*data, has_offset, n_threads, list(similar), n_interactions)

    def with_interactions(self, cells: Floats, allowed: Mask | None) -> ColumnWeights:
        """Return the objective with more interactions, whose scores are rows x (classes - 1) x interactions."""
        return replace(
            self,
            cells=np.concatenate([self.cells, cells], axis=2),
            _last_curvature=[],
            n_interactions=self.n_interactions + cells.shape[2],
            allowed=allowed,
        )

    @staticmethod
    def most_rows(rows: LeaveOneOut) -> int:
        """Return the number of rows to which weights are fitted: all of them."""
        return rows.batch.n_rows

    def select_rows(self, rows: Any) -> ColumnWeights:
        """Return the objective of some rows."""
        parts = (self.cells[rows], self.prior[rows], self.y[rows], self.weight[rows])
        rest = self.n_interactions, self.allowed
        return ColumnWeights(*parts, self.has_offset, self.n_threads, [], *rest)

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return int(self.cells.shape[2])

    @property
    def _is_wide(self) -> bool:
        """True if Hessians are too large: then only the default strengths are tried."""
        return len(self.start()) > MAX_NEWTON_VARIABLES

    def start(self) -> Floats:
        """Return the parameters of plain naive Bayes: weights 1 of the columns, 0 of interactions, and offsets 0."""
        n_zeros = self.n_interactions + len(self.has_offset)
        return np.repeat([1.0, 0.0], [self.n_weights - self.n_interactions, n_zeros])

    @cached_property
    def _data(self) -> tuple[Any, ...]:
        return self.cells.ravel(), self.prior, self.y, self.weight / self.weight.sum()

    def scores(self, v: Floats) -> Floats:
        """Return the weighted scores plus offsets, rows x classes, without the class prior."""
        scores = np.tile(v[self.n_weights :], (len(self.y), 1))
        # Matrix products of this size start threads, which then wait beside those of this package.
        scores[:, 1:] += np.einsum("icj,j->ic", self.cells, v[: self.n_weights])
        return scores

    def row_losses(self, parameters: list[Floats]) -> Floats:
        """Return the log loss of every row under several parameters, parameters x rows."""
        return np.asarray(engines.current().row_losses(*self._data, parameters, self.n_threads))

    def solve(
        self, strengths: Strengths, start: Floats | None = None, tolerance: float = TOLERANCE
    ) -> Floats:
        """Return the parameters that minimise the penalised loss; `start` may be those of other strengths."""
        n, engine, penalty = self.n_weights, engines.current(), self._penalty(strengths)
        few = self._rows_of_hessian
        tolerance = tolerance if few is self else max(tolerance, ROUGH_TOLERANCE)

        def objective(v: Floats) -> tuple[float, Floats]:
            value, of_weights, of_offsets = engine.loss(*self._data, v[:n], v[n:], self.n_threads)
            gradient = np.concatenate([of_weights, of_offsets]) + penalty.slope + penalty.hessian @ v
            return value + float(penalty.slope @ v + 0.5 * v @ penalty.hessian @ v), gradient

        def hessian(v: Floats) -> Floats:
            self._last_curvature[:] = [engine.curvature(*few._data, v[:n], v[n:], self.n_threads)]
            return np.asarray(self._last_curvature[0] + penalty.hessian)

        first = (
            None if start is None or not self._last_curvature else self._last_curvature[0] + penalty.hessian
        )
        start = self._near_start(strengths) if start is None else start
        return minimise(objective, hessian, start, self._bounds(), tolerance, first)

    def _near_start(self, strengths: Strengths) -> Floats:
        """Return parameters with which the fit begins: one weight for all columns, or a fit to some of the rows.

        They are made smaller as long as that lowers the loss: Newton steps from weights that are too large are poor.
        """
        v, step = self.start(), len(self.y) // START_ROWS
        if step >= 4:
            v = self.select_rows(np.arange(0, len(self.y), step)).solve(strengths, None, ROUGH_TOLERANCE)
        loss = self._loss(v)
        for factor in START_FACTORS:
            if (smaller := self._loss(factor * v)) >= loss:
                break
            v, loss = factor * v, smaller
        return v

    @cached_property
    def _rows_of_hessian(self) -> ColumnWeights:
        """The rows over which Hessians are summed: all of them, unless there are many weights."""
        step = -(-self.cells.size * self.n_weights // MOST_PRODUCTS)
        return self if step <= 1 else self.select_rows(np.arange(0, len(self.y), step))

    def _loss(self, v: Floats) -> float:
        n = self.n_weights
        return float(engines.current().loss(*self._data, v[:n], v[n:], self.n_threads)[0])

    def _bounds(self, fold: int = -1) -> tuple[Floats, Floats]:
        """Weights are at least 0; the offset of a class without usable rows is 0.

        The weights of interactions that the rows outside a fold (by default, all rows) do not choose are 0.
        """
        n, free = self.n_weights, np.where(self.has_offset, np.inf, 0.0)
        most = np.full(n, np.inf)
        if self.allowed is not None:
            most[n - self.n_interactions :] = np.where(self.allowed[fold], np.inf, 0.0)
        return np.append(np.zeros(n), -free), np.append(most, free)

    def solve_all(self, start: Floats, wanted: Mask) -> list[Floats]:
        """Return the parameters for the wanted strengths of the grid, roughly; others have those of the one before.

        Each fit starts from the previous one, the first from `start` if that has parameters of as many columns.
        """
        v, fitted = start if len(start) == len(self.start()) else self.start(), []
        for k, (strengths, is_wanted) in enumerate(zip(self.grid, wanted, strict=True)):
            is_wanted = is_wanted and (k == 0 or not self._is_wide)
            v = self.solve(strengths, v, ROUGH_TOLERANCE) if is_wanted else v
            fitted.append(v)
        return fitted

    def cross_fit(self, parts: list[slice], folds: list[int], v: Floats) -> list[list[Floats]]:
        """Return the parameters for every strength without each part of the rows; `folds` are the folds of the parts.

        The loss of the other rows is replaced by its quadratic expansion at the parameters v of all rows. With many
        rows per weight this is close, and one pass over the rows serves all parts and strengths.
        """
        n, engine, total = self.n_weights, engines.current(), self.weight.sum()
        if self._is_wide:
            return [[self._without(part).solve(GRID[0], v, ROUGH_TOLERANCE)] * len(GRID) for part in parts]
        slopes, curvatures = [], []
        for part in parts:
            own = self.select_rows(part)
            share = own.weight.sum() / total
            arguments = (*own._data, v[:n], v[n:], self.n_threads)
            slopes.append(share * np.concatenate(engine.loss(*arguments)[1:]))
            curvatures.append(share * engine.curvature(*arguments))
        slope, curvature = sum(slopes), sum(curvatures)
        fitted = []
        for own_slope, own_curvature, part, fold in zip(slopes, curvatures, parts, folds, strict=True):
            rest, bounds = 1.0 - self.weight[part].sum() / total, self._bounds(fold)
            expansion = (slope - own_slope) / rest, (curvature - own_curvature) / rest
            fitted.append(
                [self._fit_expansion(strengths, v, *expansion, rest, bounds) for strengths in self.grid]
            )
        return fitted

    def _without(self, part: slice) -> ColumnWeights:
        """Return the objective of the other rows."""
        return self.select_rows(np.delete(np.arange(len(self.y)), part))

    def _fit_expansion(
        self,
        strengths: Strengths,
        v: Floats,
        slope: Floats,
        curvature: Floats,
        share: float,
        bounds: tuple[Floats, Floats],
    ) -> Floats:
        """Return the minimiser of a quadratic expansion at v plus the penalty for a share of the rows."""
        penalty = self._penalty(strengths)
        hessian = curvature + penalty.hessian / share

        def objective(u: Floats) -> tuple[float, Floats]:
            step = u - v
            gradient = slope + curvature @ step + (penalty.slope + penalty.hessian @ u) / share
            value = slope @ step + 0.5 * step @ curvature @ step
            return float(value + (penalty.slope @ u + 0.5 * u @ penalty.hessian @ u) / share), gradient

        return minimise(objective, lambda _: hessian, np.clip(v, *bounds), bounds, ROUGH_TOLERANCE)

    def _penalty(self, strengths: Strengths) -> _Penalty:
        n_pairs, n_classes, n = self.n_interactions, len(self.has_offset), float(self.weight.sum())
        n_columns, (spread, mean, zero) = self.n_weights - n_pairs, strengths
        factors = [spread + zero, PULL + zero, OFFSET_PENALTY]
        hessian = np.diag(np.repeat(factors, [n_columns, n_pairs, n_classes]) * 2.0 / n)
        hessian[:n_columns, :n_columns] += 2.0 * (mean - spread) / (max(n_columns, 1) * n)
        return _Penalty(hessian, np.repeat([-2.0 * mean / n, 0.0], [n_columns, n_pairs + n_classes]))

    def calibration(self, rows: LeaveOneOut, v: Floats, strengths: Strengths) -> Calibration:
        """Return the calibration with these parameters."""
        model, n = rows.model, self.n_weights
        weights = np.ones(model.schema.n_summands)
        for columns, w in zip(column_groups(rows), v[:n], strict=True):
            weights[columns] = w
        for k, part in enumerate(model.parts):
            weights[list(part.columns)] *= score_unit(rows, k, usable_rows(rows))
        offsets = dict(zip(model.classes.tolist(), v[n:].tolist(), strict=True))
        return Calibration("columns", weights, np.zeros_like(weights), offsets, strengths)


class _Penalty(NamedTuple):
    """The quadratic penalty slope v + 1/2 v' hessian v."""

    hessian: Floats
    slope: Floats
