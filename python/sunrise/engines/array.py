"""The array engine: naive Bayes in readable array code.

It is the oracle: every other engine is compared with it. Two methods, the two equations of the design:
`accumulate` adds up the terms of the cells per class, `score` weighs them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers
from sunrise.data.blocks import Batch, Block
from sunrise.engines.array_words import documents, membership, odds, odds_left_out
from sunrise.forms.base import Form
from sunrise.forms.removal import Removal
from sunrise.numerics.polya import counts_of_counts
from sunrise.numerics.special import log_sum_exp
from sunrise.statistics.counts import Counts
from sunrise.statistics.empirical import Values
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import Support
from sunrise.statistics.terms import COUNT, LEVEL, VALUE, X2, Term, X

__all__ = ["documents", "odds", "odds_left_out"]


def read(block: Block, support: Support, rows: Any = slice(None)) -> Floats:
    """The views of the cells of some rows, refusing cells outside the support."""
    x = numbers(block, support, rows)
    return x if support.views == (X,) else support.views_of(x)


def numbers(block: Block, support: Support, rows: Any = slice(None)) -> Floats:
    """The cells of some rows, refusing those outside the support."""
    x = block.numbers(rows)
    # Written so that a missing cell (NaN) is never refused.
    refused = {
        "infinite": np.isinf(x),
        "below": x < support.lowest,
        "above": x > support.highest,
        "fraction": (x != np.floor(x)) & ~np.isnan(x) if support.whole else np.zeros(x.shape, bool),
    }
    for why, bad in refused.items():
        if bad.any():
            row, column = (int(k) for k in np.argwhere(bad)[0])
            place = row if isinstance(rows, slice) else int(rows[row])
            # Every view of a column is a column to the engines.
            at = column * len(support.views)
            raise _native.CellError(why, place, at, float(x[row, column]))
    return x if support.above is None else support.read(x)


def totals(codes: Codes, weight: Floats | None, n_classes: int) -> tuple[Integers, Floats]:
    """Rows and weight of every class."""
    member = membership(codes, weight, n_classes)
    return (member > 0).sum(axis=1), member.sum(axis=1)


def accumulate(
    block: Block,
    terms: tuple[Term, ...],
    support: Support,
    codes: Codes,
    weight: Floats | None,
    n_classes: int,
    threads: int,
) -> Sums | Moments | Counts | Values:
    """Add up the terms of the cells, per class and column."""
    if VALUE in terms:
        rows = np.flatnonzero((codes >= 0) & (True if weight is None else weight > 0))
        some = None if weight is None else weight[rows]
        return Values.of(numbers(block, support, rows), codes[rows], some, n_classes, support.grid)
    member = membership(codes, weight, n_classes)
    counted = np.flatnonzero(member.any(axis=0))
    member, x = member[:, counted], read(block, support, counted)
    if LEVEL in terms:
        return _count_levels(x, member)
    if COUNT in terms:
        return counts_of_counts(x, member)
    seen = ~np.isnan(x)
    rows, observed = (member > 0).astype(np.int64) @ seen.astype(np.int64), member @ seen
    if X2 not in terms:
        added = member @ np.where(seen, x, 0.0)
        return Sums(rows, observed, added, np.zeros_like(added) if support.signed else None)
    anchor, x1, x2 = (np.zeros((n_classes, x.shape[1])) for _ in range(3))
    for c in range(n_classes):
        w = np.where(seen, member[c][:, None], 0.0)
        inside = np.where(w > 0, x, 0.0)
        # Divided before it is added, a mean does not overflow where its sum would.
        share = np.divide(w, observed[c], out=np.zeros_like(w), where=rows[c] > 0)
        anchor[c] = (share * inside).sum(axis=0)
        anchor[c] += (share * (inside - anchor[c])).sum(axis=0)  # the rounding of many small shares
        d = np.where(w > 0, inside - anchor[c], 0.0)
        x1[c], x2[c] = ((w * term.of(d)).sum(axis=0) for term in terms)
    return Moments.of(rows, observed, x1, x2, anchor)


def _count_levels(x: Floats, member: Floats) -> Counts:
    offsets, codes, rows, weight = [0], [], [], []
    for column in x.T:
        levels = np.unique(column[~np.isnan(column)])
        at = column[:, None] == levels[None, :]
        codes.append(levels.astype(np.int64))
        rows.append((member > 0).astype(np.int64) @ at.astype(np.int64))
        weight.append(member @ at)
        offsets.append(offsets[-1] + len(levels))
    return Counts(
        np.array(offsets), np.concatenate(codes), np.concatenate(rows, 1), np.concatenate(weight, 1)
    )


#: Cells times classes of a piece of rows: bounds the memory that scoring them takes.
PIECE = 1 << 20


def summed(block: Block, support: Support, form: Form, n_classes: int, rows: Any = None) -> Floats:
    """The sum of what the cells of some rows (all of them by default) add to the score, rows x classes."""
    rows = np.arange(block.shape[0]) if rows is None else rows
    total = np.empty((len(rows), n_classes))
    step = max(1, PIECE // max(1, block.shape[1] * n_classes))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        x = read(block, support, some)
        try:
            total[start : start + step] = form.cells(x).sum(axis=2)
        except _native.CellError as error:  # it knows its place among these rows only
            why, row, column, value = error.args
            raise _native.CellError(why, int(some[row]), column, value) from None
    return total


def forbid(score: Floats, impossible: Floats) -> Floats:
    """Give -inf to the classes under which a row holds something impossible.

    A negative number counts sure things; the class with the most of them then rules the others out.
    """
    return np.where(impossible > np.minimum(impossible.min(axis=1, keepdims=True), 0.0), -math.inf, score)


def normalise(score: Floats, fallback: Floats, output: str) -> tuple[Floats, int]:
    """From joint log scores to (log-)probabilities; impossible rows get the fallback and are counted."""
    if output == "joint":
        return score, 0
    impossible = np.all(np.isneginf(score), axis=1, keepdims=True)
    score = np.where(impossible, fallback, score)
    # About its largest score a row keeps the digits of a probability that is almost 1.
    score = score - score.max(axis=1, keepdims=True)
    log_proba = score - log_sum_exp(score, axis=1)[:, None]
    return (np.exp(log_proba) if output == "proba" else log_proba), int(impossible.sum())


def score(
    batch: Batch,
    supports: tuple[Support, ...],
    forms: tuple[Form, ...],
    log_prior: Floats,
    fallback: Floats,
    output: str | None,
    threads: int,
    own: tuple[Codes, Floats] | None = None,
) -> tuple[NDArray[Any], int]:
    """Score rows: joint, log_proba or proba as rows x classes, None for the best class; and impossible rows.

    `own` replaces the score of every row for one class, its own.
    """
    shape = batch.n_rows, len(log_prior)
    total, impossible = np.broadcast_to(log_prior, shape), np.zeros(shape)
    for block, support, form in zip(batch.blocks, supports, forms, strict=True):
        total = total + summed(block, support, form.finite.readable, len(log_prior))
        if form.impossible is not None:
            impossible = impossible + summed(block, support, form.impossible, len(log_prior))
    if own is not None:
        total, impossible = replaced(total, *own), replaced(impossible, own[0], np.zeros(len(own[0])))
    total = forbid(total, impossible)
    if output is not None:
        return normalise(total, fallback, output)
    nowhere = np.all(np.isneginf(total), axis=1, keepdims=True)
    return np.where(nowhere, fallback, total).argmax(axis=1), int(nowhere.sum())


def replaced(scores: Floats, y: Codes, own: Floats) -> Floats:
    """Scores with those of one class for every row replaced."""
    scores = np.array(scores)
    scores[np.arange(len(y)), y] = own
    return scores


def own(block: Block, support: Support, y: Codes, removal: Removal, threads: int) -> Floats:
    """The score of every row for its own class once it is taken out; NaN where nothing would be left."""
    found = (removal.cells(read(block, support, rows), y[rows]).sum(axis=1) for rows in pieces(block))
    return np.concatenate([np.empty(0), *found])


def mean_log_loss(log_p: Floats, y: Codes, weight: Floats) -> float:
    """Minus the mean log-probability of the rows' own classes; the weights add up to 1."""
    return -float((weight * log_p[np.arange(len(y)), y]).sum())


def loss(
    cells: Floats, prior: Floats, y: Codes, weight: Floats, columns: Floats, offsets: Floats, threads: int
) -> tuple[float, Floats, Floats]:
    """The log loss of rows whose classes differ from the first by weighted cells; its slopes in weights and offsets."""
    cells = cells.reshape(len(y), len(offsets) - 1, len(columns))
    scores = prior + offsets
    scores[:, 1:] += cells @ columns
    log_p, _ = normalise(scores, prior[:1], "log_proba")
    slope = (np.exp(log_p) - (np.arange(len(offsets)) == y[:, None])) * weight[:, None]
    return mean_log_loss(log_p, y, weight), np.einsum("icj,ic->j", cells, slope[:, 1:]), slope.sum(axis=0)


def curvature(
    cells: Floats, prior: Floats, y: Codes, weight: Floats, columns: Floats, offsets: Floats, threads: int
) -> Floats:
    """The curvature of that loss in weights and offsets together."""
    n, n_classes = len(y), len(offsets)
    told = np.zeros((n, n_classes, len(columns) + n_classes))
    told[:, 1:, : len(columns)] = cells.reshape(n, n_classes - 1, len(columns))
    told[:, :, len(columns) :] = np.eye(n_classes)
    p, _ = normalise(prior + told @ np.concatenate([columns, offsets]), prior[:1], "proba")
    mean = np.einsum("ic,icj->ij", p, told)
    return np.asarray(np.einsum("i,ic,icj,ick->jk", weight, p, told, told) - (mean.T * weight) @ mean)


def pieces(block: Block, n_classes: int = 1) -> list[slice]:
    """The rows of a block in pieces whose cells times classes take little memory."""
    step = max(1, PIECE // max(1, block.shape[1] * n_classes))
    return [slice(start, start + step) for start in range(0, block.shape[0], step)]
