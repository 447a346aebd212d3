"""Calibration: one temperature, or one weight per column, with class offsets, fitted on leave-one-out scores.

Minimised is the mean log loss of rows that were taken out of their own statistics, plus a pull of the weights to
their mean, of that mean to 1 and of the offsets to 0 (see `columns` and `temperature`), which vanishes as rows grow.
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

#: The most numbers (rows x classes x columns) that are held; of more rows, a sample is taken.
MOST = 1 << 25
#: A cell that is impossible counts as this much less probable than the least of the others, so that a weight can
#: still make it less so.
IMPOSSIBLE = 745.0

#: Scores of this size are too small to be log-odds.
TINY = 0.02

#: Rows on which the valleys of a temperature are looked for.
FEW = 256

#: A step that gains less than this share of the loss is the last: of columns, of a temperature, and on few rows of it.
EXACT, ENOUGH, ROUGH = 1e-13, 1e-10, 1e-5

#: How strongly the mean weight is drawn to 1, and the offsets to 0.
PULL, OFFSET_PULL = 0.1, 1e-4


def calibration(rows: LeaveOneOut, kind: str) -> Calibration:
    """Fit a calibration to the leave-one-out scores of rows."""
    fitted = rows.fitted
    n_columns, classes = len(fitted.schema.names), fitted.classes.tolist()
    weights, exponents = np.ones(n_columns), np.zeros(n_columns)
    use = np.flatnonzero((rows.w > 0) & ~rows.alone)
    if len(use) == 0 or len(classes) < 2 or not fitted.parts:
        return Calibration(kind, weights, exponents, dict.fromkeys(classes, 0.0))
    offsets = (_columns if kind == "columns" else _temperature)(rows, use, weights, exponents)
    return Calibration(kind, weights, exponents, dict(zip(classes, (float(d) for d in offsets), strict=True)))


def _prior(rows: LeaveOneOut, use: Positions) -> Floats:
    """Log class prior of the rows without themselves, as the data have it: offsets must not undo another."""
    fitted, y = rows.fitted, rows.y[use]
    if not fitted.is_generative:
        return np.zeros((len(use), len(fitted.classes)))
    prior = np.tile(log(fitted.stats.weight / fitted.stats.weight.sum()), (len(use), 1))
    prior[np.arange(len(y)), y] += log_share_without(fitted.stats.weight[y], rows.w[use])
    return prior


def _sampled(use: Positions, numbers: int) -> Positions:
    """Every row, or of very many as many as can be held, drawn evenly and always the same."""
    most = max(1, MOST // max(1, numbers))
    if len(use) <= most:
        return use
    return np.sort(np.random.default_rng(0).choice(use, most, replace=False))


def _weights(rows: LeaveOneOut, use: Positions) -> Floats:
    w = np.ones(len(use)) if rows.weight is None else rows.weight[use]
    return np.asarray(w / w.sum())


def _columns(rows: LeaveOneOut, use: Positions, weights: Floats, exponents: Floats) -> Floats:
    """One weight for every column, or block of columns that are one distribution; the offsets.

    Minimises loss + (1 / n) [sum_j (w_j - mean w)^2 + 0.1 J (mean w - 1)^2 + 1e-4 sum_c d_c^2] over w >= 0, which is
    convex.
    """
    fitted = rows.fitted
    places = [
        columns
        for part in fitted.parts
        for columns in ([list(part.columns)] if part.family.joint else [[j] for j in part.columns])
    ]
    n_classes, n_weights = len(fitted.classes), len(places)
    use = _sampled(use, n_classes * n_weights)
    told = _told(rows, use, n_weights)
    rest = _prior(rows, use), rows.y[use], _weights(rows, use)
    n = float(len(use) if rows.weight is None else rows.weight[use].sum())
    n_threads, cells, engine = engines.threads(fitted.n_jobs, told.size), told.ravel(), engines.current()

    def objective(v: Floats) -> tuple[float, Floats]:
        w, d = v[:n_weights], v[n_weights:]
        value, on_w, on_d = engine.loss(cells, *rest, w, d, n_threads)
        mean = w.mean()
        value += (((w - mean) ** 2).sum() + PULL * n_weights * (mean - 1.0) ** 2 + OFFSET_PULL * d @ d) / n
        on_w = on_w + (2.0 * (w - mean) + 2.0 * PULL * (mean - 1.0)) / n
        return value, np.concatenate([on_w, on_d + 2.0 * OFFSET_PULL * d / n])

    def hessian(v: Floats) -> Floats:
        bent = engine.curvature(cells, *rest, v[:n_weights], v[n_weights:], n_threads)
        pull = np.diag(np.repeat([2.0, 2.0 * OFFSET_PULL], [n_weights, n_classes]))
        pull[:n_weights, :n_weights] -= 2.0 * (1.0 - PULL) / n_weights
        return np.asarray(bent + pull / n)

    start = np.repeat([1.0, 0.0], [n_weights, n_classes])
    lowest = np.repeat([0.0, -np.inf], [n_weights, n_classes])
    found = minimise(objective, hessian, start, (lowest, np.full_like(lowest, np.inf)), EXACT)
    for columns, w in zip(places, found[:n_weights], strict=True):
        weights[columns] = w
    for k, part in enumerate(fitted.parts):
        weights[list(part.columns)] *= _unit(rows, k, use)
    return np.asarray(found[n_weights:])


def _told(rows: LeaveOneOut, use: Positions, n_weights: int) -> Floats:
    """What every column adds to the scores of the rows without themselves: rows x classes - 1 x weights.

    Given as differences from the first class: only differences matter.
    """
    fitted = rows.fitted
    told = np.empty((len(use), len(fitted.classes), n_weights))
    first = 0
    for k, part in enumerate(fitted.parts):
        if part.family.joint:
            told[:, :, first] = _unit(rows, k, use) * rows.block(k)[use]
            first += 1
            continue
        n = len(part.columns)
        every = len(use) == rows.batch.n_rows
        step = max(1, MOST // (8 * n * len(fitted.classes)))
        for start in range(0, len(use), step):
            here = slice(start, start + step)
            which: Any = here if every else use[here]
            told[here, :, first : first + n] = rows.cells(k, which)
        first += n
    return _from_first(_settled(told))


def _unit(rows: LeaveOneOut, k: int, use: Positions) -> float:
    """What the scores of block k are multiplied by before they are weighed: 1, unless they are no log-probabilities.

    Weights that were divided by their sum are tiny, and no pull towards 1 is meant for those.
    """
    family = rows.fitted.parts[k].family
    if family.generative or not family.joint:
        return 1.0
    few = _from_first(_settled(rows.block(k)[use[:FEW]]))
    size = float(np.sqrt(np.mean(few * few))) if few.size else 0.0
    return 1.0 / size if 0.0 < size < TINY else 1.0


def _settled(told: Floats) -> Floats:
    """Scores of rows x classes ... without infinities."""
    infinite = np.isneginf(told)
    if not infinite.any():
        return told
    least = np.where(infinite, np.inf, told).min(axis=1, keepdims=True)
    return np.where(infinite, np.where(np.isinf(least), 0.0, least) - IMPOSSIBLE, told)


def _temperature(rows: LeaveOneOut, use: Positions, weights: Floats, exponents: Floats) -> Floats:
    """One temperature for all columns, an exponent on the length of every joint block; the offsets.

    Minimises loss + (1 / n) [0.1 (t - 1)^2 + 0.1 sum_b g_b^2 + 1e-4 sum_c d_c^2], with the score
    t (sum of the other columns + sum_b (length_b + 1)^g_b block_b).
    """
    fitted = rows.fitted
    use = _sampled(use, len(fitted.classes) * len(fitted.parts))
    tempered = _Tempered.of(rows, use)
    n_joint = len(tempered.lengths)
    # There may be several valleys: find their floors on a few rows, and the lowest of them on all.
    few = tempered.some(np.linspace(0, len(use) - 1, min(len(use), FEW)).astype(np.intp))
    points = product(np.arange(-10.0, 3.0, 2.0), (0.0, -0.5, -1.0) if n_joint else (0.0,))
    starts = [
        np.concatenate([[step], np.full(n_joint, g), np.zeros(len(fitted.classes))]) for step, g in points
    ]
    starts.sort(key=lambda v: few.objective(v)[0])
    floors = [few.lowest(start, ROUGH) for start in starts[:2]]
    found = tempered.lowest(min(floors, key=lambda v: few.objective(v)[0]), ENOUGH)
    weights[:] = np.exp(tempered.log_t(found))
    for k, part in enumerate(fitted.parts):
        weights[list(part.columns)] *= _unit(rows, k, use)
    joint = (part for part in fitted.parts if part.family.joint)
    for part, g in zip(joint, found[1 : 1 + n_joint], strict=True):
        exponents[list(part.columns)] = g
    return np.asarray(found[1 + n_joint :])


@dataclass(frozen=True)
class _Tempered:
    """The loss of rows as a function of log t at their mean length, the exponents g, and the offsets d."""

    #: What the columns outside of joint blocks add, then each joint block: rows x classes - 1, from the first class.
    blocks: list[Floats]
    #: Log of the length plus 1 of the rows of every joint block.
    lengths: Floats
    #: Mean of these, over all blocks: the temperature at length 0 would depend much on the exponents.
    middle: Floats
    prior: Floats
    y: Codes
    #: Shares of the rows in the loss, and what they weigh together.
    weight: Floats
    n: float
    engine: Any
    n_threads: int

    @classmethod
    def of(cls, rows: LeaveOneOut, use: Positions) -> _Tempered:
        """From leave-one-out scores of these rows."""
        parts = rows.fitted.parts
        joint = [k for k, part in enumerate(parts) if part.family.joint]
        rest = [k for k in range(len(parts)) if k not in joint]
        every = len(use) == rows.batch.n_rows
        told = [rows.block(k) if every else rows.block(k)[use] for k in [*rest, *joint]]
        told = [_from_first(_settled(block)) for block in told]
        units = [_unit(rows, k, use) for k in [*rest, *joint]]
        told = [block if unit == 1.0 else unit * block for unit, block in zip(units, told, strict=True)]
        blocks = [sum(told[1 : len(rest)], start=told[0])] if rest else []
        blocks += told[len(rest) :]
        lengths = np.log1p(
            np.array([rows.batch.blocks[k].lengths()[use] for k in joint]).reshape(-1, len(use))
        )
        n = float(len(use) if rows.weight is None else rows.weight[use].sum())
        middle = lengths.mean(axis=1) / len(blocks)
        n_threads = engines.threads(rows.fitted.n_jobs, blocks[0].size * (1 + len(joint)))
        rest_of = _prior(rows, use), rows.y[use], _weights(rows, use), n, engines.current(), n_threads
        return cls(blocks, lengths, middle, *rest_of)

    def some(self, rows: Positions) -> _Tempered:
        """The same of some rows."""
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
        """Log of the temperature's weight at length 0."""
        n_joint = len(self.lengths)
        return float(v[0] - v[1 : 1 + n_joint] @ self.middle)

    def _cells(self, v: Floats, bends: bool = False) -> Floats:
        """The scores and how they change with every exponent, and `bends`, how that changes: as columns."""
        n_joint = len(self.lengths)
        log_t, first = self.log_t(v), len(self.blocks) - n_joint
        cells = np.empty((*self.blocks[0].shape, 1 + n_joint * (1 + bends)))
        score = np.exp(log_t) * self.blocks[0] if first else np.zeros(self.blocks[0].shape)
        for b, length in enumerate(self.lengths):
            part = np.exp(log_t + v[1 + b] * length)[:, None] * self.blocks[first + b]
            score += part
            for power in range(1, 2 + bends):
                part *= length[:, None]
                cells[:, :, 1 + b + (power - 1) * n_joint] = part
        cells[:, :, 0] = score
        return cells

    def _rest(self, v: Floats, cells: Floats) -> tuple[Any, ...]:
        """What the engines are told: of the columns, only the scores count."""
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
        """The loss and the pulls, and their slopes."""
        value, slope, on_d = self.engine.loss(*self._rest(v, self._cells(v)))
        g, d, t = v[1 : len(slope)], v[len(slope) :], np.exp(self.log_t(v))
        value += (PULL * (t - 1.0) ** 2 + PULL * g @ g + OFFSET_PULL * d @ d) / self.n
        on_t = slope[0] + 2.0 * PULL * (t - 1.0) * t / self.n
        on_g = slope[1:] - on_t * self.middle + 2.0 * PULL * g / self.n
        return value, np.concatenate([[on_t], on_g, on_d + 2.0 * OFFSET_PULL * d / self.n])

    def hessian(self, v: Floats) -> Floats:
        """Hessian of the objective; falls back to the Gauss-Newton part where the full one is not positive definite."""
        n_joint, t = len(self.lengths), np.exp(self.log_t(v))
        slope = self.engine.loss(*self._rest(v, self._cells(v, bends=True)))[1]
        straight = self.engine.curvature(*self._rest(v, self._cells(v)))
        pull = np.repeat(
            [2.0 * PULL * t * t, 2.0 * PULL, 2.0 * OFFSET_PULL], [1, n_joint, len(v) - 1 - n_joint]
        )
        straight += np.diag(pull / self.n)
        bent = straight.copy()
        at = np.arange(1, 1 + n_joint)
        bent[0, 0] += slope[0] + 2.0 * PULL * t * (t - 1.0) / self.n
        bent[0, at] += slope[at]
        bent[at, 0] += slope[at]
        bent[at, at] += slope[at + n_joint]
        turn = np.eye(len(v))
        turn[0, at] = -self.middle
        rises = np.linalg.eigvalsh(bent)[0] > 1e-3 * np.linalg.eigvalsh(straight)[0]
        return np.asarray(turn.T @ (bent if rises else straight) @ turn)

    def lowest(self, start: Floats, enough: float) -> Floats:
        """The lowest point of the valley."""
        n_joint = len(self.lengths)
        low = np.repeat([-30.0, -3.0, -np.inf], [1, n_joint, len(start) - 1 - n_joint])
        high = np.repeat([10.0, 3.0, np.inf], [1, n_joint, len(start) - 1 - n_joint])
        return minimise(self.objective, self.hessian, start, (low, high), enough)


def _from_first(scores: Floats) -> Floats:
    """Scores of all classes but the first, as differences from its own: only differences matter."""
    return np.ascontiguousarray(scores[:, 1:] - scores[:, :1])
