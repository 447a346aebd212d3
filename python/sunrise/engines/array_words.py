"""The array engine's part for words: documents added up, odds of shares, and rows taken out of them."""

from __future__ import annotations

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers
from sunrise.data.blocks import SparseBlock
from sunrise.statistics.base import clear_residue, complement_sum


def membership(codes: Codes, weight: Floats | None, n_classes: int) -> Floats:
    """The weight of every row in every class, classes x rows; a row of weight 0 is in none."""
    w = np.ones(len(codes)) if weight is None else weight
    return np.where(codes[None, :] == np.arange(n_classes)[:, None], w, 0.0)


def documents(
    block: SparseBlock, codes: Codes, weight: Floats, n_classes: int, threads: int
) -> tuple[Integers, Floats]:
    """Documents with every word and sums of what it counts, classes x (1 + words), the documents themselves first."""
    member, matrix = membership(codes, weight, n_classes), block.matrix
    within = member > 0
    found, sums = within @ (matrix != 0).astype(np.int64), member @ matrix
    return (
        np.concatenate([within.sum(axis=1)[:, None], found], axis=1),
        np.concatenate([member.sum(axis=1)[:, None], sums], axis=1),
    )


def odds(x: Floats, alpha: float) -> Floats:
    """Log of the shares of every class over those of all others, classes x columns."""
    if x.shape[1] == 0:
        return np.zeros(x.shape)

    def log_shares(counts: Floats) -> Floats:
        return np.asarray(np.log(counts + alpha) - np.log((counts + alpha).sum(axis=1, keepdims=True)))

    return log_shares(x) - log_shares(complement_sum(x)) if len(x) > 1 else log_shares(x)


def odds_left_out(
    block: SparseBlock, y: Codes, w: Floats, x: Floats, alpha: float, log_odds: Floats, threads: int
) -> Floats:
    """Scores of rows by such odds where their own counts are taken out first, rows x classes."""
    scores = np.asarray(block.matrix @ log_odds.T)
    for i in np.flatnonzero(w > 0):
        row = block.numbers(slice(i, i + 1))[0]
        left = x[y[i]] - w[i] * row
        without = x.copy()
        without[y[i]] = clear_residue(left, x[y[i]])
        scores[i] = odds(without, alpha) @ row
        if (left < -1e-9 * x[y[i]]).any():
            scores[i] = np.inf
    return scores
