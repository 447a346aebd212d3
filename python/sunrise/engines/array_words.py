"""Word counts in the array engine: document counts, log odds, and leave-one-out scores by log odds."""

from __future__ import annotations

import numpy as np

from sunrise._common.arrays import Codes, Floats, Integers
from sunrise.data.blocks import SparseBlock
from sunrise.statistics.base import clear_residue, complement_sum


def membership(codes: Codes, weight: Floats | None, n_classes: int) -> Floats:
    """Return the weight of every row in every class, classes x rows; 0 in all classes but its own."""
    w = np.ones(len(codes)) if weight is None else weight
    return np.where(codes[None, :] == np.arange(n_classes)[:, None], w, 0.0)


def documents(
    block: SparseBlock, codes: Codes, weight: Floats, n_classes: int, threads: int
) -> tuple[Integers, Floats]:
    """Return the number of documents with each word and the sums of its counts, classes x (1 + words).

    The first column has the number and the weight of all documents.
    """
    member, matrix = membership(codes, weight, n_classes), block.matrix
    is_member = member > 0
    n_documents, sums = is_member @ (matrix != 0).astype(np.int64), member @ matrix
    return (
        np.concatenate([is_member.sum(axis=1)[:, None], n_documents], axis=1),
        np.concatenate([member.sum(axis=1)[:, None], sums], axis=1),
    )


def odds(x: Floats, alpha: float) -> Floats:
    """Return log(smoothed share of a column in a class / share in all other classes), classes x columns."""
    if x.shape[1] == 0:
        return np.zeros(x.shape)

    def log_shares(counts: Floats) -> Floats:
        return np.asarray(np.log(counts + alpha) - np.log((counts + alpha).sum(axis=1, keepdims=True)))

    return log_shares(x) - log_shares(complement_sum(x)) if len(x) > 1 else log_shares(x)


def odds_left_out(
    block: SparseBlock, y: Codes, w: Floats, x: Floats, alpha: float, log_odds: Floats, threads: int
) -> Floats:
    """Return scores of rows by log odds after their own counts are subtracted, rows x classes; inf if never fitted."""
    scores = np.asarray(block.matrix @ log_odds.T)
    for i in np.flatnonzero(w > 0):
        row = block.numbers(slice(i, i + 1))[0]
        remaining = x[y[i]] - w[i] * row
        without = x.copy()
        without[y[i]] = clear_residue(remaining, x[y[i]])
        scores[i] = odds(without, alpha) @ row
        if (remaining < -1e-9 * x[y[i]]).any():
            scores[i] = np.inf
    return scores
