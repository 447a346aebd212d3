"""Word counts in the array engine: document counts, log odds, and leave-one-out scores by log odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Codes, Floats, Integers, Mask
from sunrise.data.blocks import SparseBlock
from sunrise.statistics.base import clear_residue, complement_sum
from sunrise.statistics.sums import Product


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


def stretch(
    block: SparseBlock, known: Mask, whole: Mask, squared: bool, power: float, threads: int
) -> Floats:
    """Return a factor for each document: its size with all words, divided by its size with known words only.

    The size is a power of the sum of the cells, or of their squares. Documents that are `whole` know all words.
    """
    n_rows, row = block.shape[0], np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    size = block.data**2 if squared else block.data
    full = np.bincount(row, size, n_rows)
    rest = np.bincount(row, size * (known[block.indices] | whole[row]), n_rows)
    return np.asarray(np.where(rest > 0, full / np.where(rest > 0, rest, 1.0), 1.0) ** power)


def weigh(block: SparseBlock, factors: Floats, threads: int) -> Floats:
    """Return the stored cells of documents, multiplied by the factors of their columns."""
    return np.asarray(block.data * factors[block.indices])


def move_columns(
    block: SparseBlock, place: Codes, of_word: Floats, of_document: Floats, threads: int
) -> SparseBlock:
    """Return documents in the columns at the `place` of their words, times the factors of words and documents.

    Words whose place is -1 are dropped. The other places are in ascending order. The cells have single precision.
    """
    column = place[block.indices]
    keep = column >= 0
    data = block.data * np.repeat(of_document, np.diff(block.indptr)) * of_word[block.indices]
    indptr = np.concatenate([[0], np.cumsum(keep)])[block.indptr].astype(np.int64)
    shape = block.shape[0], int(place.max(initial=-1)) + 1
    return SparseBlock(data[keep].astype(np.float32), column[keep], indptr, shape)


def odds(counts: Product, alpha: float) -> Floats:
    """Return log(smoothed share of a column in a class / share in all other classes), classes x columns."""
    x = counts.numbers
    if x.shape[1] == 0:
        return np.zeros(x.shape)

    def log_shares(of: Floats) -> Floats:
        return np.asarray(np.log(of + alpha) - np.log((of + alpha).sum(axis=1, keepdims=True)))

    return log_shares(x) - log_shares(complement_sum(x)) if len(x) > 1 else log_shares(x)


def odds_left_out(
    block: SparseBlock, y: Codes, w: Floats, counts: Product, alpha: float, log_odds: Floats, threads: int
) -> Floats:
    """Return scores of rows by log odds after their own counts are subtracted, rows x classes; inf if never fitted."""
    x = counts.numbers
    scores = np.asarray(block.matrix @ log_odds.T)
    for i in np.flatnonzero(w > 0):
        row = block.numbers(slice(i, i + 1))[0]
        remaining = x[y[i]] - w[i] * row
        without = x.copy()
        without[y[i]] = clear_residue(remaining, x[y[i]])
        scores[i] = odds(Product(without, np.ones(len(row))), alpha) @ row
        if (remaining < -1e-9 * x[y[i]]).any():
            scores[i] = np.inf
    return scores


def odds_left_out_bands(
    block: SparseBlock,
    y: Codes,
    w: Floats,
    counts: Product,
    alpha: float,
    log_odds: Floats,
    bands: NDArray[np.uint8],
    n_bands: int,
    threads: int,
) -> Floats:
    """Return the scores of `odds_left_out` as sums over bands of columns, rows x bands x classes.

    A column whose band is not below `n_bands` is subtracted, but not scored. Rows of weight 0 know all columns.
    """
    x = counts.numbers
    scores = np.zeros((len(y), n_bands, len(x)))
    others, total, smooth = complement_sum(x), x.sum(axis=1), alpha * x.shape[1]
    total_of_others = complement_sum(total[:, None])[:, 0]
    for i in range(len(y)):
        cells = slice(block.indptr[i], block.indptr[i + 1])
        j, a = block.indices[cells], block.data[cells]
        taken, own = w[i] * a, np.arange(len(x)) == y[i]
        left = clear_residue(x[:, j] - np.where(own[:, None], taken, 0.0), x[:, j])
        rest = clear_residue(others[:, j] - np.where(own[:, None], 0.0, taken), others[:, j])
        shares = np.log(left + alpha) - np.log(total - own * taken.sum() + smooth)[:, None]
        if len(x) > 1:
            shares -= np.log(rest + alpha) - np.log(total_of_others - ~own * taken.sum() + smooth)[:, None]
        band = bands[j] if w[i] > 0 else np.where(bands[j] < n_bands, bands[j], 0)
        for k in range(n_bands):
            scores[i, k] = shares[:, band == k] @ a[band == k]
        if w[i] > 0 and (x[y[i], j] - taken < -1e-9 * x[y[i], j]).any():
            scores[i] = np.inf
    return scores


def word_weights(
    block: SparseBlock,
    offsets: Floats,
    y: Codes,
    weight: Floats,
    start: NDArray[np.float32],
    penalty: float,
    tolerance: float,
    threads: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights of words that minimise the log loss of documents on top of given scores, words x classes.

    With two classes there is one column, the score of the second class against the first. The loss is a sum over
    documents, plus (penalty / 2) |v|^2; the search ends when a step gains less than `tolerance` of the loss without
    weights. The weights are sums of documents, v = Z' a: the search begins at the coefficients `start`, documents x
    classes, and the second result has those of the weights.
    """
    from scipy.optimize import minimize  # importing it takes as long as importing all of this package

    matrix, is_own = block.matrix, np.arange(offsets.shape[1]) == y[:, None]
    transposed = matrix.T.tocsr()

    def log_probabilities(v: Floats) -> Floats:
        own = matrix @ v.reshape(-1, start.shape[1])
        scores = offsets + (np.pad(own, ((0, 0), (1, 0))) if start.shape[1] == 1 else own)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def residuals(log_p: Floats) -> Floats:
        return np.asarray(
            (weight[:, None] * (np.exp(log_p) - is_own))[:, offsets.shape[1] - start.shape[1] :]
        )

    def loss(v: Floats) -> tuple[float, Floats]:
        log_p = log_probabilities(v)
        slope = (transposed @ residuals(log_p)).ravel() + penalty * v
        return float(0.5 * penalty * v @ v - weight @ log_p[is_own]), slope

    begin = (transposed @ start).astype(np.float64).ravel()
    first = max(loss(np.zeros_like(begin))[0], 1e-300)
    found = minimize(
        lambda v: tuple(part / first for part in loss(v)),
        begin,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 200, "ftol": tolerance, "gtol": 1e-12},
    )
    # At the minimum the penalty balances the loss: penalty * v = -Z' residuals.
    a = residuals(log_probabilities(found.x)) / -penalty
    return found.x.reshape(-1, start.shape[1]).astype(np.float32), a.astype(np.float32)
