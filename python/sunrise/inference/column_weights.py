"""Column weights: one weight for every column and one offset for every class, fitted to leave-one-out scores.

The weights minimise the mean log loss of the rows plus a penalty (see `Strengths`), which is convex. The penalty is
divided by the number of rows, so it vanishes as the number of rows grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.optimise import MAX_NEWTON_VARIABLES, Curvature, minimise
from sunrise.inference.penalty import QuadraticPenalty
from sunrise.inference.score_blocks import (
    column_groups,
    column_scores,
    log_frequencies,
    score_unit,
    usable_rows,
)
from sunrise.model.calibration_weights import Calibration, Strengths

#: Most products (rows x classes x weights^2) in a Hessian of all rows; with more, all Hessians are those of some rows.
MOST_PRODUCTS = 1 << 32
#: A Hessian of all rows costs as much as (32 + weights) / 16 gradients. From this number of weights on, usual ones are
#: those of as many rows as cost two gradients, but at least of this number of rows, also for each weight.
MANY_WEIGHTS, FEWEST_ROWS, ROWS_PER_WEIGHT = 32, 1024, 20
#: Penalty factor of squared offsets, and of squared weights of interactions, which are drawn to 0.
OFFSET_PENALTY, PULL = 1e-4, 1.0
#: Number of rows to which weights are fitted first, to begin the fit to all rows near its end.
START_ROWS = 2048
#: Factors by which the first weights are made smaller, one after the other.
START_FACTORS = (0.5, 0.5, 0.4, 0.3, 0.3, 0.0)
#: Relative tolerance of the minimisation: of the weights of a model, and of weights that are only compared.
TOLERANCE, ROUGH_TOLERANCE = 1e-12, 1e-6
#: Weights that are made exact later are near enough if the loss of all rows is known to this number of nats.
NEAR_GAIN = 0.1


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

    Parameters v are the weights, then the offsets.
    """

    #: Differences from the first class, because only they matter: parts of rows x (classes - 1) x weights.
    cells: tuple[Floats, ...]
    #: Log class frequencies, rows x classes.
    prior: Floats
    y: Codes
    weight: Floats
    #: True for classes whose offset is fitted.
    has_offset: Mask
    n_jobs: int | None
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
        cells = (column_scores(rows, use),)
        has_offset = np.bincount(rows.y[usable_rows(rows)], minlength=len(rows.model.classes)) > 0
        data = cells, log_frequencies(rows, use), rows.y[use], rows.fitted_weight[use]
        similar = like._last_curvature if like is not None and like.n_weights == cells[0].shape[2] else []
        n_interactions = len(rows.model.schema.interactions)
        return cls(*data, has_offset, rows.model.n_jobs, list(similar), n_interactions)

    def with_interactions(self, cells: Sequence[Floats], allowed: Mask | None) -> ColumnWeights:
        """Return the objective with more interactions; `allowed` is that of all interactions."""
        more = sum(part.shape[2] for part in cells)
        return replace(
            self,
            cells=(*self.cells, *cells),
            _last_curvature=[],
            n_interactions=self.n_interactions + more,
            allowed=allowed,
        )

    @staticmethod
    def most_rows(rows: LeaveOneOut) -> int:
        """Return the number of rows to which weights are fitted: all of them."""
        return rows.batch.n_rows

    def select_rows(self, rows: Any) -> ColumnWeights:
        """Return the objective of some rows."""
        cells = tuple(np.ascontiguousarray(part[rows]) for part in self.cells)
        parts = (cells, self.prior[rows], self.y[rows], self.weight[rows])
        rest = self.n_interactions, self.allowed
        return ColumnWeights(*parts, self.has_offset, self.n_jobs, [], *rest)

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return sum(part.shape[2] for part in self.cells)

    @property
    def _n_cells(self) -> int:
        return sum(part.size for part in self.cells)

    @property
    def n_threads(self) -> int:
        """Number of threads for a pass over the cells."""
        return engines.threads(self.n_jobs, self._n_cells)

    @property
    def _is_wide(self) -> bool:
        """True if Hessians are too large: then only the default strengths are tried."""
        return len(self.start()) > MAX_NEWTON_VARIABLES

    def start(self) -> Floats:
        """Return the parameters of plain naive Bayes: weights 1 of the columns, 0 of interactions, and offsets 0."""
        n_zeros = self.n_interactions + len(self.has_offset)
        return np.repeat([1.0, 0.0], [self.n_weights - self.n_interactions, n_zeros])

    @cached_property
    def _data(self) -> tuple[list[Floats], Floats, Codes, Floats]:
        cells = [part.ravel() for part in self.cells]
        return cells, self.prior, self.y, self.weight / self.weight.sum()

    def scores(self, v: Floats) -> Floats:
        """Return the weighted scores plus offsets, rows x classes, without the class prior."""
        n = self.n_weights
        scores = _native.calibration_scores(*self._data, v[:n], v[n:], self.n_threads)
        return scores.reshape(len(self.y), -1)

    def row_losses(self, parameters: list[Floats]) -> Floats:
        """Return the log loss of every row under several parameters, parameters x rows."""
        return np.asarray(engines.current().row_losses(*self._data, parameters, self.n_threads))

    def solve(
        self,
        strengths: Strengths,
        start: Floats | None = None,
        tolerance: float = TOLERANCE,
        exact: Floats | None = None,
    ) -> Floats:
        """Return the parameters that minimise the penalised loss; `start` may be those of other strengths.

        `exact` is the Hessian of the loss at the start, if it is known.
        """
        n, engine, penalty, step = (
            self.n_weights,
            engines.current(),
            self._penalty(strengths),
            self._step_of_hessian,
        )
        tolerance = tolerance if self._can_be_exact else max(tolerance, ROUGH_TOLERANCE)

        def objective(v: Floats) -> tuple[float, Floats]:
            value, of_weights, of_offsets = engine.loss(*self._data, v[:n], v[n:], self.n_threads)
            of_penalty, slope = penalty.at(v)
            return value + of_penalty, np.concatenate([of_weights, of_offsets]) + slope

        def of_few(v: Floats) -> Floats:
            self._last_curvature[:] = [self._curvature(v, step)]
            return np.asarray(self._last_curvature[0] + penalty.hessian)

        def of_all(v: Floats) -> Floats:
            self._last_curvature[:] = [self._curvature(v)]
            return np.asarray(self._last_curvature[0] + penalty.hessian)

        first = (
            exact
            if exact is not None or start is None or not self._last_curvature
            else self._last_curvature[0]
        )
        first = None if first is None else first + penalty.hessian
        start = self._near_start(strengths) if start is None else start
        curvature = Curvature(of_few, None if step == 1 else of_all, first, exact is not None)
        return minimise(objective, curvature, start, self._bounds(), tolerance)

    def solve_nearly(self, start: Floats | None = None) -> Floats:
        """Return the parameters for the default strengths up to the last digits, which `refine` adds.

        That is enough to look for interactions, and to expand the loss there.
        """
        return self.solve(self.grid[0], start, max(NEAR_GAIN / float(self.weight.sum()), ROUGH_TOLERANCE))

    def refine(self, k: int, v: Floats, exact: Floats | None) -> Floats:
        """Return the exact parameters for the strengths at position k of the grid.

        v are those of `solve_nearly`, and `exact` is the Hessian of the loss there, if it is known.
        """
        return self.solve(self.grid[k], v, exact=exact)

    def _curvature(self, v: Floats, step: int = 1) -> Floats:
        """Return the Hessian of the loss without the penalty, or an estimate from every row at a multiple of `step`."""
        n, n_threads = self.n_weights, engines.threads(self.n_jobs, self._n_cells * self.n_weights // step)
        return np.asarray(engines.current().curvature(*self._data, v[:n], v[n:], n_threads, step))

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

    @property
    def _step_of_hessian(self) -> int:
        """Distance between the rows over which usual Hessians are summed."""
        n = self.n_weights
        if n < MANY_WEIGHTS and self._can_be_exact:
            return 1
        rows = max(FEWEST_ROWS, ROWS_PER_WEIGHT * n, 32 * len(self.y) // (32 + n))
        return max(1, len(self.y) // rows)

    @property
    def _can_be_exact(self) -> bool:
        """True unless a Hessian of all rows takes too long."""
        return self._n_cells * self.n_weights <= MOST_PRODUCTS

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

    def without_parts(self, parts: list[slice], folds: list[int], v: Floats) -> WithoutParts:
        """Return the fits without each part of the rows, from parameters v of all rows; `folds` are those of the parts.

        The loss of the other rows is replaced by its quadratic expansion at v. With many rows per weight this is
        close, and one pass over the rows serves all parts and strengths.
        """
        if self._is_wide:
            rests = [self._without(part) for part in parts]
            return SlowWithoutParts([rest.solve(GRID[0], v, ROUGH_TOLERANCE) for rest in rests])
        n, engine, total, expansions = self.n_weights, engines.current(), self.weight.sum(), []
        for part in parts:
            own = self.select_rows(part)
            of_weights, of_offsets = engine.loss(*own._data, v[:n], v[n:], own.n_threads)[1:]
            slope = np.concatenate([of_weights, of_offsets])
            expansions.append(Expansion(float(own.weight.sum() / total), slope, own._curvature(v)))
        return QuadraticWithoutParts(self, v, expansions, folds)

    def _without(self, part: slice) -> ColumnWeights:
        """Return the objective of the other rows."""
        return self.select_rows(np.delete(np.arange(len(self.y)), part))

    def fit_expansion(self, strengths: Strengths, v: Floats, loss: Expansion, fold: int) -> Floats:
        """Return the minimiser of the expansion of a loss at v plus the penalty, for the rows outside a fold."""
        penalty, bounds, share = self._penalty(strengths), self._bounds(fold), loss.share
        hessian = loss.curvature + penalty.hessian / share

        def objective(u: Floats) -> tuple[float, Floats]:
            step = u - v
            bend = loss.curvature @ step
            of_penalty, slope = penalty.at(u)
            value = loss.slope @ step + 0.5 * step @ bend + of_penalty / share
            return float(value), loss.slope + bend + slope / share

        return minimise(objective, Curvature(lambda _: hessian), np.clip(v, *bounds), bounds, ROUGH_TOLERANCE)

    def _penalty(self, strengths: Strengths) -> QuadraticPenalty:
        n_pairs, n_classes, n = self.n_interactions, len(self.has_offset), float(self.weight.sum())
        n_columns, (spread, mean, zero) = self.n_weights - n_pairs, strengths
        factors = [spread + zero, PULL + zero, OFFSET_PENALTY]
        own = np.repeat(factors, [n_columns, n_pairs, n_classes]) * 2.0 / n
        return QuadraticPenalty(
            own, n_columns, 2.0 * (mean - spread) / (max(n_columns, 1) * n), -2.0 * mean / n
        )

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


class Expansion(NamedTuple):
    """Slope and Hessian of the mean loss of some rows, and the share of these rows in the weight of all."""

    share: float
    slope: Floats
    curvature: Floats

    @classmethod
    def joined(cls, parts: list[Expansion]) -> Expansion:
        """Return the expansion of several parts of the rows together."""
        total = sum(part.share for part in parts)
        slope = sum(part.share / total * part.slope for part in parts)
        return cls(
            total, np.asarray(slope), np.asarray(sum(part.share / total * part.curvature for part in parts))
        )


class WithoutParts(Protocol):
    """Fits without each of several parts of the rows."""

    @property
    def curvature(self) -> Floats | None:
        """The exact Hessian of the loss of all rows at the parameters of all rows, if it is known."""

    def parameters(self, k: int) -> list[Floats]:
        """Return the parameters without each part, for the strengths at position k of the grid."""


@dataclass(frozen=True)
class QuadraticWithoutParts:
    """Fits without each part of the rows, by quadratic expansions of the loss of the parts at v."""

    objective: ColumnWeights
    v: Floats
    parts: list[Expansion]
    folds: list[int]

    @property
    def curvature(self) -> Floats:
        """The Hessian of the loss of all rows."""
        return Expansion.joined(self.parts).curvature

    def parameters(self, k: int) -> list[Floats]:
        """Return the parameters without each part."""
        strengths, fitted = self.objective.grid[k], []
        for at, fold in enumerate(self.folds):
            others = self.parts[:at] + self.parts[at + 1 :]
            loss = Expansion.joined(others) if others else self.parts[at]
            fitted.append(self.objective.fit_expansion(strengths, self.v, loss, fold))
        return fitted


@dataclass(frozen=True)
class SlowWithoutParts:
    """Parameters without each part of the rows, which every strength has."""

    of_any_strengths: list[Floats]
    curvature: None = None

    def parameters(self, k: int) -> list[Floats]:
        """Return the parameters without each part."""
        return self.of_any_strengths
