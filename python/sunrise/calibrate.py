"""Calibration: one temperature, or one weight per column, with class offsets, fitted on leave-one-out scores.

Minimised is the mean log loss of rows that were taken out of their own statistics, plus a pull of the weights to
their mean, of that mean to 1 and of the offsets to 0 (see `columns` and `temperature`), which vanishes as rows grow.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from sunrise import engines
from sunrise.arrays import Codes, Floats, Positions
from sunrise.calibration import Calibration
from sunrise.leave_out import LeaveOneOut

#: The most numbers (rows x classes x columns) that are held; of more rows, a sample is taken.
MOST = 1 << 25
#: A cell that is impossible counts as this much less probable than the least of the others, so that a weight can
#: still make it less so.
IMPOSSIBLE = 745.0

#: Newton's steps, far more than are needed; and beyond how many numbers their curvature costs more than it saves.
STEPS, NARROW = 100, 256

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
    with np.errstate(divide="ignore"):
        prior = np.tile(np.log(fitted.stats.weight / fitted.stats.weight.sum()), (len(use), 1))
    prior[np.arange(len(y)), y] += np.log1p(-rows.w[use] / fitted.stats.weight[y])
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


class _Loss:
    """Mean log loss of rows of class y with these weights and priors, as a function of their scores."""

    def __init__(self, y: Codes, weight: Floats, prior: Floats) -> None:
        self.prior, self.weight, self._own = prior, weight, (np.arange(len(y)), y)

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """The loss, and its slope in every score: rows x classes."""
        log_p, _ = engines.choose().normalise(scores + self.prior, self.prior[0], "log_proba")
        slope = np.exp(log_p)
        slope[self._own] -= 1.0
        return -float(self.weight @ log_p[self._own]), slope * self.weight[:, None]


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
    n_threads, cells = engines.threads(fitted.n_jobs, told.size), told.ravel()

    def objective(v: Floats) -> tuple[float, Floats]:
        w, d = v[:n_weights], v[n_weights:]
        value, on_w, on_d = engines.choose().loss(cells, *rest, w, d, n_threads)
        mean = w.mean()
        value += (((w - mean) ** 2).sum() + PULL * n_weights * (mean - 1.0) ** 2 + OFFSET_PULL * d @ d) / n
        on_w = on_w + (2.0 * (w - mean) + 2.0 * PULL * (mean - 1.0)) / n
        return value, np.concatenate([on_w, on_d + 2.0 * OFFSET_PULL * d / n])

    def curvature(v: Floats) -> Floats:
        bent = engines.choose().curvature(cells, *rest, v[:n_weights], v[n_weights:], n_threads)
        pull = np.diag(np.repeat([2.0, 2.0 * OFFSET_PULL], [n_weights, n_classes]))
        pull[:n_weights, :n_weights] -= 2.0 * (1.0 - PULL) / n_weights
        return np.asarray(bent + pull / n)

    start = np.repeat([1.0, 0.0], [n_weights, n_classes])
    lowest = np.repeat([0.0, -np.inf], [n_weights, n_classes])
    if len(start) <= NARROW:
        found = _lowest(objective, curvature, start, lowest)
    else:
        found = _minimum(objective, start, [(low if np.isfinite(low) else None, None) for low in lowest])
    for columns, w in zip(places, found[:n_weights], strict=True):
        weights[columns] = w
    return np.asarray(found[n_weights:])


def _lowest(objective: Any, curvature: Any, start: Floats, lowest: Floats) -> Floats:
    """The minimum of a convex function above lower bounds: Newton's steps along the numbers that are free to move."""
    v = start
    value, slope = objective(v)
    for _ in range(STEPS):
        free = (v > lowest) | (slope < 0)
        step = np.zeros_like(v)
        step[free] = -np.linalg.solve(curvature(v)[np.ix_(free, free)], slope[free])
        size = 1.0
        while True:
            new = np.maximum(v + size * step, lowest)
            lower, slope_there = objective(new)
            gain = slope @ (v - new)
            if lower <= value - 1e-4 * gain or size < 1e-9:
                break
            size /= 2.0
        v, slope, last, value = new, slope_there, value, lower
        if last - value <= 1e-13 * max(1.0, abs(value)):
            break
    return np.asarray(v)


def _told(rows: LeaveOneOut, use: Positions, n_weights: int) -> Floats:
    """What every column adds to the scores of the rows without themselves: rows x classes - 1 x weights.

    Given as differences from the first class: only differences matter.
    """
    fitted = rows.fitted
    told = np.empty((len(use), len(fitted.classes), n_weights))
    first = 0
    for k, part in enumerate(fitted.parts):
        if part.family.joint:
            told[:, :, first] = rows.block(k)[use]
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
    told = _settled(told)
    return np.ascontiguousarray(told[:, 1:] - told[:, :1])


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
    n_classes = len(fitted.classes)
    use = _sampled(use, n_classes * len(fitted.parts))
    joint = [k for k, part in enumerate(fitted.parts) if part.family.joint]
    rest = [k for k in range(len(fitted.parts)) if k not in joint]
    blocks = [sum(_settled(rows.block(k)[use]) for k in rest)] if rest else []
    blocks += [_settled(rows.block(k)[use]) for k in joint]
    told = np.stack(blocks, axis=0)
    lengths = np.zeros((len(blocks), len(use)))
    for at, k in enumerate(joint, start=len(blocks) - len(joint)):
        lengths[at] = np.log1p(rows.batch.blocks[k].lengths()[use])
    loss = _Loss(rows.y[use], _weights(rows, use), _prior(rows, use))
    n, n_joint = float(len(use) if rows.weight is None else rows.weight[use].sum()), len(joint)
    first = len(blocks) - n_joint
    # The temperature at the mean length, not at length 0, is what is found: it hardly depends on the exponents.
    middle = lengths.mean(axis=1)[first:] / len(blocks)

    def parts(v: Floats) -> tuple[float, Floats]:
        exponent = np.concatenate([np.zeros(first), v[1 : 1 + n_joint]])
        log_t = float(v[0] - v[1 : 1 + n_joint] @ middle)
        return log_t, np.exp(log_t + exponent[:, None] * lengths)[:, :, None] * told

    def objective(v: Floats) -> tuple[float, Floats]:
        log_t, scores = parts(v)
        g, d, t = v[1 : 1 + n_joint], v[1 + n_joint :], np.exp(log_t)
        value, slope = loss(scores.sum(axis=0) + d)
        value += (PULL * (t - 1.0) ** 2 + PULL * g @ g + OFFSET_PULL * d @ d) / n
        by_row = (scores * slope).sum(axis=2)
        on_t = by_row.sum() + 2.0 * PULL * (t - 1.0) * t / n
        on_g = (by_row * lengths).sum(axis=1)[first:] - on_t * middle + 2.0 * PULL * g / n
        return value, np.concatenate([[on_t], on_g, slope.sum(axis=0) + 2.0 * OFFSET_PULL * d / n])

    # There may be several valleys: begin from the best of many points, and from the best of the others.
    rest_of = np.zeros(n_classes)
    points = product(np.arange(-10.0, 3.0), (0.0, -0.5, -1.0) if n_joint else (0.0,))
    starts = [np.concatenate([[step], np.full(n_joint, g), rest_of]) for step, g in points]
    starts.sort(key=lambda v: objective(v)[0])
    bounds = [(-30.0, 10.0)] + [(-3.0, 3.0)] * n_joint + [(None, None)] * n_classes
    ends = [_minimum(objective, start, bounds) for start in starts[:2]]
    found = min(ends, key=lambda v: objective(v)[0])
    weights[:] = np.exp(parts(found)[0])
    for k, g in zip(joint, found[1 : 1 + n_joint], strict=True):
        exponents[list(fitted.parts[k].columns)] = g
    return np.asarray(found[1 + n_joint :])


def _minimum(objective: Any, start: Floats, bounds: Any) -> Floats:
    from scipy.optimize import minimize  # takes as long to import as all of this package

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-7},
    )
    return np.asarray(found.x)
