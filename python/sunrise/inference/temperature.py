"""Temperature: one weight for all columns, an exponent of the row length for joint blocks, and class offsets.

The parameters minimise the mean log loss of the rows + (1 / n) [0.1 (t - 1)^2 + 0.1 sum_b g_b^2 + 1e-4 sum_c d_c^2]
with the score t (sum of the columns outside joint blocks + sum_b (length_b + 1)^g_b block_b).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise._common.threads import spread
from sunrise.inference.column_weights import OFFSET_PENALTY, SlowWithoutParts
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.optimise import Curvature, minimise
from sunrise.inference.score_blocks import (
    block_scores,
    log_frequencies,
    log_probabilities,
    score_unit,
    usable_rows,
)
from sunrise.model.calibration_weights import Calibration
from sunrise.model.choice import Part
from sunrise.numerics.special import log

#: Number of rows to which a temperature is fitted, in total and per class: the larger of the two limits applies.
MOST_ROWS, MOST_ROWS_PER_CLASS = 4096, 200
#: Number of rows on which starting points are compared.
START_ROWS = 256
#: Relative tolerances of the minimisation, of parameters that only score a fold, and of starting points.
TOLERANCE, FOLD_TOLERANCE, START_TOLERANCE = 1e-10, 1e-6, 1e-5
#: Penalty factor of (t - 1)^2 and of squared exponents.
WEIGHT_PENALTY = 0.1


@dataclass(frozen=True)
class Temperature:
    """The objective as a function of v = (log t at the mean length, exponents g, offsets d)."""

    #: Scores of columns outside joint blocks, then of each joint block, minus the first class: (classes - 1) x rows.
    blocks: list[Floats]
    #: Log of (length + 1), joint blocks x rows.
    lengths: Floats
    #: Mean of `lengths` divided by the number of blocks: log t is centred there, so that it depends less on g.
    mean_length: Floats
    #: Log prior of every class and row, classes x rows.
    prior: Floats
    y: Codes
    weight: Floats
    #: Log frequencies of the classes; 0 if the model uses no class prior.
    log_frequency: Floats
    #: True for classes whose offset is fitted.
    has_offset: Mask
    n_threads: int
    #: The parameters whose loss was computed last, with the gradient: their Hessian is often wanted next.
    _last: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    grid = (None,)

    @classmethod
    def of(cls, rows: LeaveOneOut, use: Positions, like: Temperature | None = None) -> Temperature:
        """Return the objective for these rows; its parameters have the meaning that they have in `like`."""
        parts = rows.model.parts
        joint = [k for k, part in enumerate(parts) if _has_length(part)]
        rest = [k for k in range(len(parts)) if k not in joint]
        # Rows are the inner dimension, as the engines want them.
        scores = [np.ascontiguousarray(block_scores(rows, k, use).T) for k in [*rest, *joint]]
        blocks = [sum(scores[1 : len(rest)], start=scores[0])] if rest else []
        blocks += scores[len(rest) :]
        lengths = np.log1p(
            np.array([rows.batch.blocks[k].lengths()[use] for k in joint]).reshape(-1, len(use))
        )
        has_offset = np.bincount(rows.y[usable_rows(rows)], minlength=len(rows.model.classes)) > 0
        mean_length = lengths.mean(axis=1) / len(blocks) if like is None else like.mean_length
        n_threads = engines.threads(rows.model.n_jobs, blocks[0].size)
        class_weight = np.where(has_offset, rows.model.stats.weight, 1.0)
        log_frequency = log(class_weight / class_weight.sum()) * rows.model.is_generative
        prior = np.ascontiguousarray(log_frequencies(rows, use).T)
        data = prior, rows.y[use], rows.fitted_weight[use]
        return cls(blocks, lengths, mean_length, *data, log_frequency, has_offset, n_threads)

    @staticmethod
    def most_rows(rows: LeaveOneOut) -> int:
        """Return the number of rows that are enough to fit a temperature and class offsets."""
        return max(MOST_ROWS, MOST_ROWS_PER_CLASS * len(rows.model.classes))

    @property
    def n_weights(self) -> int:
        """Number of parameters apart from the offsets."""
        return 1 + len(self.lengths)

    def select_rows(self, rows: Any) -> Temperature:
        """Return the objective of some rows."""
        return replace(
            self,
            blocks=[_select_columns(block, rows) for block in self.blocks],
            lengths=_select_columns(self.lengths, rows),
            prior=_select_columns(self.prior, rows),
            y=self.y[rows],
            weight=self.weight[rows],
        )

    @cached_property
    def _n(self) -> float:
        return float(self.weight.sum())

    @cached_property
    def _share(self) -> Floats:
        """The weights of the rows, divided by their sum."""
        return np.asarray(self.weight / self._n)

    def row_losses(self, parameters: list[Floats]) -> Floats:
        """Return the log loss of every row under several parameters, parameters x rows."""
        losses = np.empty((len(parameters), len(self.y)))
        for own, v in zip(losses, parameters, strict=True):
            log_p = log_probabilities(self.scores(v) + self.prior.T)
            own[:] = -log_p[np.arange(len(self.y)), self.y]
        return losses

    def scores(self, v: Floats) -> Floats:
        """Return the weighted scores plus offsets, rows x classes, without the class prior."""
        log_t, first = self.log_t(v), len(self.blocks) - len(self.lengths)
        scores = np.repeat(v[self.n_weights :, None], len(self.y), axis=1)
        for block in self.blocks[:first]:
            scores[1:] += np.exp(log_t) * block
        for block, length, g in zip(self.blocks[first:], self.lengths, v[1:], strict=False):
            scores[1:] += np.exp(log_t + g * length) * block
        return np.ascontiguousarray(scores.T)

    def solve(
        self, strengths: None = None, start: Floats | None = None, tolerance: float = TOLERANCE
    ) -> Floats:
        """Return the parameters that minimise the penalised loss."""
        return self._not_worse(self._fit_offsets(start, tolerance))

    def _not_worse(self, v: Floats) -> Floats:
        """Return fitted parameters, or a scale alone if the accuracy falls.

        A few rows with extreme scores can make t so small that the class prior overrules the columns. If the accuracy
        falls by more than a standard error, the temperature also acts on the class prior, and no other offsets are
        fitted, so that every row keeps its most probable class.
        """
        gain = (self._hits(v) * 1.0 - self._hits(np.zeros_like(v))) * self.weight
        return self._fit_scale() if gain.sum() < -np.sqrt((gain**2).sum()) else v

    def _hits(self, v: Floats) -> Mask:
        """Return the mask of the rows whose class has the largest score, under the class frequencies of all rows."""
        prior = np.zeros_like(self.prior)
        arguments = self._arguments(v)
        arguments[2], arguments[7] = prior, self.log_frequency + v[self.n_weights :]
        return np.asarray(engines.current().temperature_best(*arguments) == self.y)

    def _fit_scale(self) -> Floats:
        """Return the best parameters that multiply the score, class prior included, by one number."""
        from scipy.optimize import (
            minimize_scalar,
        )  # importing it takes as long as importing all of this package

        best = minimize_scalar(lambda log_t: self._objective(self._scale(log_t))[0], bounds=(-10.0, 2.0))
        return self._scale(float(best.x))

    def _scale(self, log_t: float) -> Floats:
        offsets = np.where(self.has_offset, np.expm1(log_t) * self.log_frequency, 0.0)
        return np.concatenate([[log_t], np.zeros(len(self.lengths)), offsets])

    def _fit_offsets(self, start: Floats | None, tolerance: float) -> Floats:
        """Return the parameters that minimise the penalised loss, with free offsets."""
        if start is not None:
            return self._minimise(start, tolerance)
        # There may be several local minima: compare starting points on a few rows, and refine the best on all rows.
        few = np.linspace(0, len(self.y) - 1, min(len(self.y), START_ROWS)).astype(np.intp)
        small, n_joint = replace(self.select_rows(few), n_threads=1), len(self.lengths)
        points = product(np.arange(-10.0, 3.0, 2.0), (0.0, -0.5, -1.0) if n_joint else (0.0,))
        starts = [
            np.concatenate([[step], np.full(n_joint, g), np.zeros(len(self.has_offset))])
            for step, g in points
        ]
        starts.sort(key=lambda v: small._objective(v)[0])
        minima = [small._minimise(start, START_TOLERANCE) for start in starts[:2]]
        return self._minimise(min(minima, key=lambda v: small._objective(v)[0]), tolerance)

    def solve_all(self, start: Floats, wanted: Mask) -> list[Floats]:
        """Return the parameters for every strength of the grid, which has one."""
        return [self.solve()]

    def solve_nearly(self, start: Floats | None = None) -> Floats:
        """Return the parameters that minimise the penalised loss."""
        return self.solve()

    def refine(self, k: int, v: Floats, exact: Floats | None) -> Floats:
        """Return the parameters v, which are exact."""
        return v

    def without_parts(self, parts: list[slice], folds: list[int], v: Floats) -> SlowWithoutParts:
        """Return the parameters without each part of the rows.

        Each fit starts from the parameters v and the Hessian of all rows.
        """
        everywhere, hessian = np.arange(len(self.y)), self._hessian(v)
        together = min(len(parts), self.n_threads)

        def fit_rest(part: slice) -> Floats:
            rest = self.select_rows(np.delete(everywhere, part))
            rest = replace(rest, n_threads=self.n_threads // together)
            return rest._not_worse(rest._minimise(v, FOLD_TOLERANCE, hessian))

        # The steps are short, so fits side by side keep cores busier than threads within a fit.
        return SlowWithoutParts(spread(fit_rest, parts, together))

    def calibration(self, rows: LeaveOneOut, v: Floats, strengths: None) -> Calibration:
        """Return the calibration with these parameters."""
        model = rows.model
        weights = np.full(model.schema.n_summands, np.exp(self.log_t(v)))
        exponents = np.zeros_like(weights)
        for k, part in enumerate(model.parts):
            weights[list(part.columns)] *= score_unit(rows, k, usable_rows(rows))
        joint = (part for part in model.parts if _has_length(part))
        for part, g in zip(joint, v[1 : self.n_weights], strict=True):
            exponents[list(part.columns)] = g
        offsets = dict(zip(model.classes.tolist(), v[self.n_weights :].tolist(), strict=True))
        return Calibration("temperature", weights, exponents, offsets)

    def log_t(self, v: Floats) -> float:
        """Return log t at length 0."""
        n_joint = len(self.lengths)
        return float(v[0] - v[1 : 1 + n_joint] @ self.mean_length)

    def _arguments(self, v: Floats) -> list[Any]:
        """Return the arguments of the functions of the engine; the weights of the rows have sum 1."""
        data = self.blocks, self.lengths, self.prior, self.y, self._share
        return [*data, self.log_t(v), v[1 : self.n_weights], v[self.n_weights :], self.n_threads]

    def _objective(self, v: Floats) -> tuple[float, Floats]:
        """Return the penalised loss and its gradient."""
        value, gradient, gradient_d = engines.current().temperature_loss(*self._arguments(v))
        self._last.update(v=v, gradient=gradient)
        n = self.n_weights
        g, d, t = v[1:n], v[n:], np.exp(self.log_t(v))
        value += (WEIGHT_PENALTY * (t - 1.0) ** 2 + WEIGHT_PENALTY * g @ g + OFFSET_PENALTY * d @ d) / self._n
        gradient_t = gradient[0] + 2.0 * WEIGHT_PENALTY * (t - 1.0) * t / self._n
        gradient_g = gradient[1:n] - gradient_t * self.mean_length + 2.0 * WEIGHT_PENALTY * g / self._n
        return value, np.concatenate(
            [[gradient_t], gradient_g, gradient_d + 2.0 * OFFSET_PENALTY * d / self._n]
        )

    def _hessian(self, v: Floats) -> Floats:
        """Hessian of the objective; falls back to the Gauss-Newton part where the full one is not positive definite."""
        n_joint, t = len(self.lengths), np.exp(self.log_t(v))
        if self._last.get("v") is not v:
            self._objective(v)
        gradient = self._last["gradient"]
        gauss_newton = engines.current().temperature_curvature(*self._arguments(v))
        factors = [WEIGHT_PENALTY * t * t, WEIGHT_PENALTY, OFFSET_PENALTY]
        penalty = 2.0 * np.repeat(factors, [1, n_joint, len(v) - 1 - n_joint])
        gauss_newton += np.diag(penalty / self._n)
        full = gauss_newton.copy()
        at = np.arange(1, 1 + n_joint)
        full[0, 0] += gradient[0] + 2.0 * WEIGHT_PENALTY * t * (t - 1.0) / self._n
        full[0, at] += gradient[at]
        full[at, 0] += gradient[at]
        full[at, at] += gradient[at + n_joint]
        jacobian = np.eye(len(v))  # of (log t at length 0, g, d) by v
        jacobian[0, at] = -self.mean_length
        is_positive = np.linalg.eigvalsh(full)[0] > 1e-3 * np.linalg.eigvalsh(gauss_newton)[0]
        return np.asarray(jacobian.T @ (full if is_positive else gauss_newton) @ jacobian)

    def _minimise(self, start: Floats, tolerance: float, hessian: Floats | None = None) -> Floats:
        """Return the local minimum that a descent from `start` reaches.

        `hessian` is that of similar rows, which is good for more steps than it takes to find the minimum.
        """
        n_joint = len(self.lengths)
        free = np.where(self.has_offset, np.inf, 0.0)
        low = np.concatenate([[-30.0], np.full(n_joint, -3.0), -free])
        high = np.concatenate([[10.0], np.full(n_joint, 3.0), free])
        curvature = Curvature(self._hessian, None if hessian is None else self._hessian, hessian)
        return minimise(self._objective, curvature, start, (low, high), tolerance)


class Uncalibrated(Temperature):
    """Plain naive Bayes: the temperature is 1, and exponents and offsets are 0."""

    @staticmethod
    def most_rows(rows: LeaveOneOut) -> int:
        """Return the number of rows that are scored: all of them."""
        return rows.batch.n_rows

    def solve(
        self, strengths: None = None, start: Floats | None = None, tolerance: float = TOLERANCE
    ) -> Floats:
        """Return the parameters of plain naive Bayes."""
        return np.zeros(1 + len(self.lengths) + len(self.has_offset))

    def without_parts(self, parts: list[slice], folds: list[int], v: Floats) -> SlowWithoutParts:
        """Return the parameters of plain naive Bayes for every part."""
        return SlowWithoutParts([v] * len(parts))


def _select_columns(array: Floats, columns: Positions | slice) -> Floats:
    """Return some columns, in C order; `take` writes them in this order, unlike an index."""
    some = array[:, columns] if isinstance(columns, slice) else array.take(columns, axis=1)
    return np.ascontiguousarray(some)


def _has_length(part: Part) -> bool:
    """True for joint blocks of counts, whose rows have a length."""
    return part.family.joint and part.family.support.lowest >= 0.0
