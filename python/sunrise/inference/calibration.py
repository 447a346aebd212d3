"""Calibration: one temperature, or one weight per column, with class offsets, fitted on leave-one-out scores.

The objective is the mean leave-one-out log loss plus a penalty that shrinks the weights towards their mean, the mean
weight towards 1 and the offsets towards 0 (see `_columns` and `_temperature`). The penalty is divided by the number of
rows, so it vanishes as the number of rows grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.optimise import minimise
from sunrise.model.calibration_weights import Calibration
from sunrise.model.class_prior import log_share_without
from sunrise.numerics.special import log

#: Maximum number of scores (rows x classes x columns) in memory; with more, a sample of the rows is used.
MOST_NUMBERS = 1 << 25
#: A score of -inf is replaced by the least finite score of the row minus this number, so that weights still apply.
IMPOSSIBLE = 745.0

#: Scores with a root mean square below this number are not on the scale of log-odds.
SMALL_SCORE = 0.02

#: Number of rows on which starting points for a temperature are compared.
START_ROWS = 256

#: Relative tolerances of the minimisation: of column weights, of a temperature, and of its starting points.
COLUMNS_TOLERANCE, TEMPERATURE_TOLERANCE, START_TOLERANCE = 1e-13, 1e-10, 1e-5

#: Penalty factors of (mean weight - 1)^2 and of squared offsets.
WEIGHT_PENALTY, OFFSET_PENALTY = 0.1, 1e-4


def calibration(rows: LeaveOneOut, kind: str) -> Calibration:
    """Return a calibration fitted to the leave-one-out scores of rows; `kind` is "columns" or "temperature"."""
    model = rows.model
    n_columns, classes = len(model.schema.names), model.classes.tolist()
    weights, exponents = np.ones(n_columns), np.zeros(n_columns)
    use = np.flatnonzero((rows.fitted_weight > 0) & ~rows.is_only_row_of_class)
    if len(use) == 0 or len(classes) < 2 or not model.parts:
        return Calibration(kind, weights, exponents, dict.fromkeys(classes, 0.0))
    offsets = (_columns if kind == "columns" else _temperature)(rows, use, weights, exponents)
    return Calibration(kind, weights, exponents, dict(zip(classes, (float(d) for d in offsets), strict=True)))


def _prior(rows: LeaveOneOut, use: Positions) -> Floats:
    """Return leave-one-out log class frequencies, rows x classes.

    The frequencies of the data are used even if the user gave a class prior, so that the offsets do not undo it.
    """
    model, y = rows.model, rows.y[use]
    if not model.is_generative:
        return np.zeros((len(use), len(model.classes)))
    prior = np.tile(log(model.stats.weight / model.stats.weight.sum()), (len(use), 1))
    prior[np.arange(len(y)), y] += log_share_without(model.stats.weight[y], rows.fitted_weight[use])
    return prior


def _sample_rows(use: Positions, numbers: int) -> Positions:
    """Return all rows, or a fixed uniform sample if there are too many to hold."""
    most = max(1, MOST_NUMBERS // max(1, numbers))
    if len(use) <= most:
        return use
    return np.sort(np.random.default_rng(0).choice(use, most, replace=False))


def _weights(rows: LeaveOneOut, use: Positions) -> Floats:
    """Return the weights of the rows, scaled to a sum of 1."""
    w = np.ones(len(use)) if rows.weight is None else rows.weight[use]
    return np.asarray(w / w.sum())


def _columns(rows: LeaveOneOut, use: Positions, weights: Floats, exponents: Floats) -> Floats:
    """Set one weight for every column, or for every joint block, in `weights`; return the class offsets.

    Minimises loss + (1 / n) [sum_j (w_j - mean w)^2 + 0.1 J (mean w - 1)^2 + 1e-4 sum_c d_c^2] over w >= 0, which is
    convex.
    """
    model = rows.model
    groups = [
        columns
        for part in model.parts
        for columns in ([list(part.columns)] if part.family.joint else [[j] for j in part.columns])
    ]
    n_classes, n_weights = len(model.classes), len(groups)
    use = _sample_rows(use, n_classes * n_weights)
    scores = _score_differences(rows, use, n_weights)
    rest = _prior(rows, use), rows.y[use], _weights(rows, use)
    n = float(len(use) if rows.weight is None else rows.weight[use].sum())
    n_threads, cells, engine = engines.threads(model.n_jobs, scores.size), scores.ravel(), engines.current()

    def objective(v: Floats) -> tuple[float, Floats]:
        w, d = v[:n_weights], v[n_weights:]
        value, gradient_w, gradient_d = engine.loss(cells, *rest, w, d, n_threads)
        mean = w.mean()
        value += (
            ((w - mean) ** 2).sum() + WEIGHT_PENALTY * n_weights * (mean - 1.0) ** 2 + OFFSET_PENALTY * d @ d
        ) / n
        gradient_w = gradient_w + (2.0 * (w - mean) + 2.0 * WEIGHT_PENALTY * (mean - 1.0)) / n
        return value, np.concatenate([gradient_w, gradient_d + 2.0 * OFFSET_PENALTY * d / n])

    def hessian(v: Floats) -> Floats:
        loss_hessian = engine.curvature(cells, *rest, v[:n_weights], v[n_weights:], n_threads)
        penalty = np.diag(np.repeat([2.0, 2.0 * OFFSET_PENALTY], [n_weights, n_classes]))
        penalty[:n_weights, :n_weights] -= 2.0 * (1.0 - WEIGHT_PENALTY) / n_weights
        return np.asarray(loss_hessian + penalty / n)

    start = np.repeat([1.0, 0.0], [n_weights, n_classes])
    lowest = np.repeat([0.0, -np.inf], [n_weights, n_classes])
    minimum = minimise(objective, hessian, start, (lowest, np.full_like(lowest, np.inf)), COLUMNS_TOLERANCE)
    for columns, w in zip(groups, minimum[:n_weights], strict=True):
        weights[columns] = w
    for k, part in enumerate(model.parts):
        weights[list(part.columns)] *= _score_unit(rows, k, use)
    return np.asarray(minimum[n_weights:])


def _score_differences(rows: LeaveOneOut, use: Positions, n_weights: int) -> Floats:
    """Return the leave-one-out scores of every column, rows x (classes - 1) x weights.

    Scores are differences from the first class, because only differences matter.
    """
    model = rows.model
    scores = np.empty((len(use), len(model.classes), n_weights))
    first = 0
    for k, part in enumerate(model.parts):
        if part.family.joint:
            scores[:, :, first] = _score_unit(rows, k, use) * rows.block(k)[use]
            first += 1
            continue
        n = len(part.columns)
        all_rows = len(use) == rows.batch.n_rows
        step = max(1, MOST_NUMBERS // (8 * n * len(model.classes)))
        for start in range(0, len(use), step):
            here = slice(start, start + step)
            which: Any = here if all_rows else use[here]
            scores[here, :, first : first + n] = rows.cells(k, which)
        first += n
    return _minus_first_class(_replace_infinite(scores))


def _score_unit(rows: LeaveOneOut, k: int, use: Positions) -> float:
    """Return the factor that brings the scores of block k to the scale of log-probabilities; 1 if they are on it.

    Complement weights that were divided by their sum give very small scores, for which a weight near 1 is not expected.
    """
    family = rows.model.parts[k].family
    if family.generative or not family.joint:
        return 1.0
    sample = _minus_first_class(_replace_infinite(rows.block(k)[use[:START_ROWS]]))
    size = float(np.sqrt(np.mean(sample * sample))) if sample.size else 0.0
    return 1.0 / size if 0.0 < size < SMALL_SCORE else 1.0


def _replace_infinite(scores: Floats) -> Floats:
    """Return scores (rows x classes x ...) with -inf replaced by a finite score; see IMPOSSIBLE."""
    infinite = np.isneginf(scores)
    if not infinite.any():
        return scores
    least = np.where(infinite, np.inf, scores).min(axis=1, keepdims=True)
    return np.where(infinite, np.where(np.isinf(least), 0.0, least) - IMPOSSIBLE, scores)


def _temperature(rows: LeaveOneOut, use: Positions, weights: Floats, exponents: Floats) -> Floats:
    """Set one weight t (inverse temperature) and the exponents of joint blocks; return the class offsets.

    Minimises loss + (1 / n) [0.1 (t - 1)^2 + 0.1 sum_b g_b^2 + 1e-4 sum_c d_c^2], with the score
    t (sum of the other columns + sum_b (length_b + 1)^g_b block_b).
    """
    model = rows.model
    use = _sample_rows(use, len(model.classes) * len(model.parts))
    loss = _TemperatureLoss.of(rows, use)
    n_joint = len(loss.lengths)
    # There may be several local minima: compare starting points on a few rows, and refine the best one on all rows.
    small = loss.select_rows(np.linspace(0, len(use) - 1, min(len(use), START_ROWS)).astype(np.intp))
    points = product(np.arange(-10.0, 3.0, 2.0), (0.0, -0.5, -1.0) if n_joint else (0.0,))
    starts = [
        np.concatenate([[step], np.full(n_joint, g), np.zeros(len(model.classes))]) for step, g in points
    ]
    starts.sort(key=lambda v: small.objective(v)[0])
    minima = [small.minimise(start, START_TOLERANCE) for start in starts[:2]]
    minimum = loss.minimise(min(minima, key=lambda v: small.objective(v)[0]), TEMPERATURE_TOLERANCE)
    weights[:] = np.exp(loss.log_t(minimum))
    for k, part in enumerate(model.parts):
        weights[list(part.columns)] *= _score_unit(rows, k, use)
    joint = (part for part in model.parts if part.family.joint)
    for part, g in zip(joint, minimum[1 : 1 + n_joint], strict=True):
        exponents[list(part.columns)] = g
    return np.asarray(minimum[1 + n_joint :])


@dataclass(frozen=True)
class _TemperatureLoss:
    """The objective of `_temperature` as a function of v = (log t at the mean length, exponents g, offsets d)."""

    #: Scores of columns outside joint blocks, then of each joint block, minus the first class: rows x (classes - 1).
    blocks: list[Floats]
    #: Log of (length + 1), joint blocks x rows.
    lengths: Floats
    #: Mean of `lengths` divided by the number of blocks: log t is centred there, so that it depends less on g.
    mean_length: Floats
    prior: Floats
    y: Codes
    #: Weights of the rows, with sum 1, and their total before scaling.
    weight: Floats
    n: float
    engine: Any
    n_threads: int

    @classmethod
    def of(cls, rows: LeaveOneOut, use: Positions) -> _TemperatureLoss:
        """Return the objective for the leave-one-out scores of these rows."""
        parts = rows.model.parts
        joint = [k for k, part in enumerate(parts) if part.family.joint]
        rest = [k for k in range(len(parts)) if k not in joint]
        all_rows = len(use) == rows.batch.n_rows
        scores = [rows.block(k) if all_rows else rows.block(k)[use] for k in [*rest, *joint]]
        scores = [_minus_first_class(_replace_infinite(block)) for block in scores]
        units = [_score_unit(rows, k, use) for k in [*rest, *joint]]
        scores = [block if unit == 1.0 else unit * block for unit, block in zip(units, scores, strict=True)]
        blocks = [sum(scores[1 : len(rest)], start=scores[0])] if rest else []
        blocks += scores[len(rest) :]
        lengths = np.log1p(
            np.array([rows.batch.blocks[k].lengths()[use] for k in joint]).reshape(-1, len(use))
        )
        n = float(len(use) if rows.weight is None else rows.weight[use].sum())
        mean_length = lengths.mean(axis=1) / len(blocks)
        n_threads = engines.threads(rows.model.n_jobs, blocks[0].size * (1 + len(joint)))
        others = _prior(rows, use), rows.y[use], _weights(rows, use), n, engines.current(), n_threads
        return cls(blocks, lengths, mean_length, *others)

    def select_rows(self, rows: Positions) -> _TemperatureLoss:
        """Return the objective for some of the rows."""
        share = self.weight[rows].sum()
        return replace(
            self,
            blocks=[block[rows] for block in self.blocks],
            lengths=self.lengths[:, rows],
            prior=self.prior[rows],
            y=self.y[rows],
            weight=self.weight[rows] / share,
            n=self.n * share,
            n_threads=1,
        )

    def log_t(self, v: Floats) -> float:
        """Return log t at length 0."""
        n_joint = len(self.lengths)
        return float(v[0] - v[1 : 1 + n_joint] @ self.mean_length)

    def _derivatives(self, v: Floats, second: bool = False) -> Floats:
        """Return the scores, their first and, if `second`, second derivatives by the exponents: one column for each."""
        n_joint = len(self.lengths)
        log_t, first = self.log_t(v), len(self.blocks) - n_joint
        cells = np.empty((*self.blocks[0].shape, 1 + n_joint * (1 + second)))
        score = np.exp(log_t) * self.blocks[0] if first else np.zeros(self.blocks[0].shape)
        for b, length in enumerate(self.lengths):
            part = np.exp(log_t + v[1 + b] * length)[:, None] * self.blocks[first + b]
            score += part
            for power in range(1, 2 + second):
                part *= length[:, None]
                cells[:, :, 1 + b + (power - 1) * n_joint] = part
        cells[:, :, 0] = score
        return cells

    def _loss_arguments(self, v: Floats, cells: Floats) -> tuple[Any, ...]:
        """Return the arguments of `engine.loss`: the scores have weight 1, the derivatives weight 0."""
        weights = np.zeros(cells.shape[2])
        weights[0] = 1.0
        return (
            cells.ravel(),
            self.prior,
            self.y,
            self.weight,
            weights,
            v[1 + len(self.lengths) :],
            self.n_threads,
        )

    def objective(self, v: Floats) -> tuple[float, Floats]:
        """Return the penalised loss and its gradient."""
        value, gradient, gradient_d = self.engine.loss(*self._loss_arguments(v, self._derivatives(v)))
        g, d, t = v[1 : len(gradient)], v[len(gradient) :], np.exp(self.log_t(v))
        value += (WEIGHT_PENALTY * (t - 1.0) ** 2 + WEIGHT_PENALTY * g @ g + OFFSET_PENALTY * d @ d) / self.n
        gradient_t = gradient[0] + 2.0 * WEIGHT_PENALTY * (t - 1.0) * t / self.n
        gradient_g = gradient[1:] - gradient_t * self.mean_length + 2.0 * WEIGHT_PENALTY * g / self.n
        return value, np.concatenate(
            [[gradient_t], gradient_g, gradient_d + 2.0 * OFFSET_PENALTY * d / self.n]
        )

    def hessian(self, v: Floats) -> Floats:
        """Hessian of the objective; falls back to the Gauss-Newton part where the full one is not positive definite."""
        n_joint, t = len(self.lengths), np.exp(self.log_t(v))
        gradient = self.engine.loss(*self._loss_arguments(v, self._derivatives(v, second=True)))[1]
        gauss_newton = self.engine.curvature(*self._loss_arguments(v, self._derivatives(v)))
        factors = [WEIGHT_PENALTY * t * t, WEIGHT_PENALTY, OFFSET_PENALTY]
        penalty = 2.0 * np.repeat(factors, [1, n_joint, len(v) - 1 - n_joint])
        gauss_newton += np.diag(penalty / self.n)
        full = gauss_newton.copy()
        at = np.arange(1, 1 + n_joint)
        full[0, 0] += gradient[0] + 2.0 * WEIGHT_PENALTY * t * (t - 1.0) / self.n
        full[0, at] += gradient[at]
        full[at, 0] += gradient[at]
        full[at, at] += gradient[at + n_joint]
        jacobian = np.eye(len(v))  # of (log t at length 0, g, d) by v
        jacobian[0, at] = -self.mean_length
        is_positive = np.linalg.eigvalsh(full)[0] > 1e-3 * np.linalg.eigvalsh(gauss_newton)[0]
        return np.asarray(jacobian.T @ (full if is_positive else gauss_newton) @ jacobian)

    def minimise(self, start: Floats, tolerance: float) -> Floats:
        """Return the local minimum that a descent from `start` reaches."""
        n_joint = len(self.lengths)
        low = np.repeat([-30.0, -3.0, -np.inf], [1, n_joint, len(start) - 1 - n_joint])
        high = np.repeat([10.0, 3.0, np.inf], [1, n_joint, len(start) - 1 - n_joint])
        return minimise(self.objective, self.hessian, start, (low, high), tolerance)


def _minus_first_class(scores: Floats) -> Floats:
    """Return the scores of all classes but the first, minus the score of the first class."""
    return np.ascontiguousarray(scores[:, 1:] - scores[:, :1])
