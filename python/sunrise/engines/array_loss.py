"""Probabilities from joint log scores, and the log loss that calibration minimises, in readable array code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.numerics.special import log_sum_exp


def log_normalise(score: Floats, fallback: Floats, output: str) -> tuple[Floats, int]:
    """Return (log-)probabilities from joint log scores, and the number of impossible rows, which get `fallback`."""
    if output == "joint":
        return score, 0
    impossible = np.all(np.isneginf(score), axis=1, keepdims=True)
    score = np.where(impossible, fallback, score)
    # Subtracting the largest score first keeps the precision of probabilities close to 1.
    score = score - score.max(axis=1, keepdims=True)
    log_proba = score - log_sum_exp(score, axis=1)[:, None]
    return (np.exp(log_proba) if output == "proba" else log_proba), int(impossible.sum())


def mean_log_loss(log_p: Floats, y: Codes, weight: Floats) -> float:
    """Return the mean of -log P(y) over the rows; the weights have sum 1."""
    return -float((weight * log_p[np.arange(len(y)), y]).sum())


def _joined(cells: Sequence[Floats], n_rows: int, n_classes: int) -> Floats:
    """Return the cells of all parts, rows x (classes - 1) x columns."""
    if n_rows == 0 or n_classes == 1:
        return np.zeros((n_rows, n_classes - 1, 0))
    return np.concatenate([part.reshape(n_rows, n_classes - 1, -1) for part in cells], axis=2)


def loss(
    cells: Sequence[Floats],
    prior: Floats,
    y: Codes,
    weight: Floats,
    columns: Floats,
    offsets: Floats,
    threads: int,
) -> tuple[float, Floats, Floats]:
    """Return the log loss and its gradients in the column weights and the class offsets.

    `cells` are scores minus the score of the first class. Each part is rows x (classes - 1) x columns, flattened.
    """
    joined = _joined(cells, len(y), len(offsets))
    scores = prior + offsets
    scores[:, 1:] += joined @ columns
    log_p, _ = log_normalise(scores, prior[:1], "log_proba")
    residual = (np.exp(log_p) - (np.arange(len(offsets)) == y[:, None])) * weight[:, None]
    return (
        mean_log_loss(log_p, y, weight),
        np.einsum("icj,ic->j", joined, residual[:, 1:]),
        residual.sum(axis=0),
    )


def row_losses(
    cells: Sequence[Floats], prior: Floats, y: Codes, weight: Floats, parameters: list[Floats], threads: int
) -> Floats:
    """Return the log loss of every row under several column weights, each followed by class offsets."""
    n, n_classes = prior.shape
    joined, losses = _joined(cells, n, n_classes), np.empty((len(parameters), n))
    for own, v in zip(losses, parameters, strict=True):
        scores = prior + v[len(v) - n_classes :]
        scores[:, 1:] += joined @ v[: len(v) - n_classes]
        own[:] = -log_normalise(scores, prior[:1], "log_proba")[0][np.arange(n), y]
    return losses


def curvature(
    cells: Sequence[Floats],
    prior: Floats,
    y: Codes,
    weight: Floats,
    columns: Floats,
    offsets: Floats,
    threads: int,
    step: int = 1,
) -> Floats:
    """Return the Hessian of the log loss in column weights and class offsets together.

    It is that of every row at a multiple of `step`, as if these rows had the weight of all.
    """
    n_classes, total = len(offsets), weight.sum()
    joined = _joined(cells, len(y), n_classes)[::step]
    prior, weight, n = prior[::step], weight[::step] * (total / weight[::step].sum()), len(joined)
    features = np.zeros((n, n_classes, len(columns) + n_classes))
    features[:, 1:, : len(columns)] = joined
    features[:, :, len(columns) :] = np.eye(n_classes)
    p, _ = log_normalise(prior + features @ np.concatenate([columns, offsets]), prior[:1], "proba")
    mean = np.einsum("ic,icj->ij", p, features)
    return np.asarray(np.einsum("i,ic,icj,ick->jk", weight, p, features, features) - (mean.T * weight) @ mean)
