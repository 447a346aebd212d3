"""The log loss that a temperature minimises, in readable array code.

The score of a row for a class is its log prior + the offset of the class + the sum over blocks of columns of
t (length + 1)^g x its score of the block. Arrays have one column for every row: blocks are (classes - 1) x rows and
hold differences from the first class; `lengths` has the log of (length + 1) for the last blocks, which have an
exponent g.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.engines.array_loss import curvature, loss


def _derivatives(blocks: list[Floats], lengths: Floats, log_t: float, exponents: Floats) -> Floats:
    """Return scores, and their first and second derivatives by each exponent: rows x (classes - 1) x derivatives."""
    n_joint = len(exponents)
    first = len(blocks) - n_joint
    cells = np.zeros((*blocks[0].T.shape, 1 + 2 * n_joint))
    for block in blocks[:first]:
        cells[:, :, 0] += np.exp(log_t) * block.T
    for b, (length, g) in enumerate(zip(lengths, exponents, strict=True)):
        part = (np.exp(log_t + g * length) * blocks[first + b]).T
        cells[:, :, 0] += part
        cells[:, :, 1 + b] = part * length[:, None]
        cells[:, :, 1 + b + n_joint] = part * length[:, None] ** 2
    return cells


def _scores_alone(cells: Floats) -> Floats:
    """Return the weights of derivatives: 1 for the scores and 0 for all others."""
    return np.asarray(np.eye(1, cells.shape[2])[0])


def temperature_loss(
    blocks: list[Floats],
    lengths: Floats,
    prior: Floats,
    y: Codes,
    weight: Floats,
    log_t: float,
    exponents: Floats,
    offsets: Floats,
    threads: int,
) -> tuple[float, Floats, Floats]:
    """Return the log loss, its derivatives by log t and by each exponent, and its gradient in the class offsets.

    The derivatives are followed by the parts of the second derivatives by each exponent that are due to the second
    derivatives of the scores.
    """
    cells = _derivatives(blocks, lengths, log_t, exponents)
    return loss([cells.ravel()], prior.T, y, weight, _scores_alone(cells), offsets, threads)


def temperature_curvature(
    blocks: list[Floats],
    lengths: Floats,
    prior: Floats,
    y: Codes,
    weight: Floats,
    log_t: float,
    exponents: Floats,
    offsets: Floats,
    threads: int,
) -> Floats:
    """Return the Gauss-Newton part of the Hessian of the loss in log t, the exponents and the offsets."""
    cells = _derivatives(blocks, lengths, log_t, exponents)[:, :, : 1 + len(exponents)]
    return curvature([cells.ravel()], prior.T, y, weight, _scores_alone(cells), offsets, threads)


def temperature_best(
    blocks: list[Floats],
    lengths: Floats,
    prior: Floats,
    y: Codes,
    weight: Floats,
    log_t: float,
    exponents: Floats,
    offsets: Floats,
    threads: int,
) -> Any:
    """Return the first class of the largest score of every row."""
    scores = prior.T + offsets
    scores[:, 1:] += _derivatives(blocks, lengths, log_t, exponents)[:, :, 0]
    return scores.argmax(axis=1)
