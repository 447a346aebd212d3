"""The array engine: naive Bayes in readable array code, the reference for the native engine.

It has two main functions: `accumulate` sums the terms of the cells per class, and `score` returns joint log scores or
class probabilities of rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers
from sunrise._common.threads import limited_to
from sunrise.data.blocks import Batch, Block
from sunrise.engines.array_loss import curvature, log_normalise, loss, mean_log_loss, row_losses
from sunrise.engines.array_temperature import temperature_best, temperature_curvature, temperature_loss
from sunrise.engines.array_words import (
    documents,
    membership,
    move_columns,
    odds,
    odds_left_out,
    odds_left_out_bands,
    stretch,
    weigh,
    word_weights,
)
from sunrise.forms.base import Form
from sunrise.forms.removal import Removal
from sunrise.numerics.polya import counts_of_counts
from sunrise.statistics.counts import Counts
from sunrise.statistics.empirical import Values
from sunrise.statistics.moments import Moments
from sunrise.statistics.products import Products
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import Support
from sunrise.statistics.terms import COUNT, LEVEL, PRODUCT, VALUE, X2, Term, X

__all__ = [
    "curvature",
    "documents",
    "log_normalise",
    "loss",
    "mean_log_loss",
    "move_columns",
    "odds",
    "odds_left_out",
    "odds_left_out_bands",
    "row_losses",
    "stretch",
    "temperature_best",
    "temperature_curvature",
    "temperature_loss",
    "weigh",
    "word_weights",
]


def read(block: Block, support: Support, rows: Any = slice(None)) -> Floats:
    """Return the views of the cells of some rows; raise for a cell outside the support."""
    x = numbers(block, support, rows)
    return x if support.views == (X,) else support.views_of(x)


def numbers(block: Block, support: Support, rows: Any = slice(None)) -> Floats:
    """Return the cells of some rows as numbers; raise for a cell outside the support."""
    x = block.numbers(rows)
    # Every condition is False for a missing cell (NaN).
    refused = {
        "infinite": np.isinf(x),
        "below": x < support.lowest,
        "above": x > support.highest,
        "fraction": (x != np.floor(x)) & ~np.isnan(x) if support.whole else np.zeros(x.shape, bool),
    }
    for why, bad in refused.items():
        if bad.any():
            row, column = (int(k) for k in np.argwhere(bad)[0])
            position = row if isinstance(rows, slice) else int(rows[row])
            # The engines count every view of a column as a column.
            at = column * len(support.views)
            raise _native.CellError(why, position, at, float(x[row, column]))
    return x if support.above is None else support.read(x)


def totals(codes: Codes, weight: Floats | None, n_classes: int) -> tuple[Integers, Floats]:
    """Return the number of rows and the weight of every class."""
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
) -> Sums | Moments | Counts | Values | Products:
    """Return the sums of the terms of the cells, per class and column."""
    if VALUE in terms:
        rows = np.flatnonzero((codes >= 0) & (True if weight is None else weight > 0))
        row_weight = None if weight is None else weight[rows]
        return Values.of(numbers(block, support, rows), codes[rows], row_weight, n_classes, support.grids)
    member = membership(codes, weight, n_classes)
    present = np.flatnonzero(member.any(axis=0))
    member, x = member[:, present], read(block, support, present)
    if LEVEL in terms:
        return _count_levels(x, member)
    if COUNT in terms:
        return counts_of_counts(x, member)
    if PRODUCT in terms:
        return Products.of(x, codes[present], member.sum(axis=0), n_classes)
    observed = ~np.isnan(x)
    rows, weights = (member > 0).astype(np.int64) @ observed.astype(np.int64), member @ observed
    if X2 not in terms:
        sums = member @ np.where(observed, x, 0.0)
        return Sums(rows, weights, sums, np.zeros_like(sums) if support.signed else None)
    anchor, x1, x2 = (np.zeros((n_classes, x.shape[1])) for _ in range(3))
    for c in range(n_classes):
        w = np.where(observed, member[c][:, None], 0.0)
        inside = np.where(w > 0, x, 0.0)
        # Division before summation avoids overflow of the sum.
        share = np.divide(w, weights[c], out=np.zeros_like(w), where=rows[c] > 0)
        anchor[c] = (share * inside).sum(axis=0)
        anchor[c] += (share * (inside - anchor[c])).sum(
            axis=0
        )  # corrects the rounding error of many small shares
        d = np.where(w > 0, inside - anchor[c], 0.0)
        with np.errstate(over="ignore"):  # the family reports values that are too large
            x1[c], x2[c] = ((w * term.of(d)).sum(axis=0) for term in terms)
    return Moments.of(rows, weights, x1, x2, anchor)


def _count_levels(x: Floats, member: Floats) -> Counts:
    """Return the counts of the levels, per class and column; `member` holds row weights, classes x rows."""
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


#: Maximum number of cells x classes that are scored at a time, to bound the memory.
PIECE = 1 << 20


def sum_cells(block: Block, support: Support, form: Form, n_classes: int, rows: Any = None) -> Floats:
    """Return the sum of the cell scores of some rows (default: all), rows x classes."""
    rows = np.arange(block.shape[0]) if rows is None else rows
    total = np.empty((len(rows), n_classes))
    for here in pieces(block, n_classes, len(rows)):
        piece = rows[here]
        x = read(block, support, piece)
        try:
            total[here] = form.cells(x).sum(axis=2)
        except _native.CellError as error:  # the error has the position in the piece
            why, row, column, value = error.args
            raise _native.CellError(why, int(piece[row]), column, value) from None
    return total


def forbid(score: Floats, impossible: Floats) -> Floats:
    """Return the scores with -inf for classes under which a row is impossible.

    `impossible` counts the cells of probability 0. A negative number counts infinite densities; the class with most of
    them excludes the others.
    """
    return np.where(impossible > np.minimum(impossible.min(axis=1, keepdims=True), 0.0), -math.inf, score)


def score(
    batch: Batch,
    supports: tuple[Support, ...],
    forms: tuple[Form, ...],
    log_prior: Floats,
    fallback: Floats,
    output: str | None,
    threads: int,
    own_scores: tuple[Codes, Floats] | None = None,
) -> tuple[NDArray[Any], int]:
    """Return scores of rows, and the number of rows that are impossible under every class.

    `output` is "joint", "log_proba" or "proba" for an array rows x classes, or None for the best class of every row.
    `own_scores` (class codes, scores) replaces the score of one class for every row.
    """
    shape = batch.n_rows, len(log_prior)
    total, impossible = np.broadcast_to(log_prior, shape), np.zeros(shape)
    with limited_to(threads):
        for block, support, form in zip(batch.blocks, supports, forms, strict=True):
            total = total + sum_cells(block, support, form.finite.readable, len(log_prior))
            if form.impossible is not None:
                impossible = impossible + sum_cells(block, support, form.impossible, len(log_prior))
    if own_scores is not None:
        y, _ = own_scores
        total, impossible = (
            replace_scores(total, *own_scores),
            replace_scores(impossible, y, np.zeros(len(y))),
        )
    total = forbid(total, impossible)
    if output is not None:
        return log_normalise(total, fallback, output)
    is_impossible = np.all(np.isneginf(total), axis=1, keepdims=True)
    return np.where(is_impossible, fallback, total).argmax(axis=1), int(is_impossible.sum())


def replace_scores(scores: Floats, y: Codes, own_scores: Floats) -> Floats:
    """Return the scores with the score of class y of every row replaced."""
    scores = np.array(scores)
    scores[np.arange(len(y)), y] = own_scores
    return scores


def leave_one_out_scores(block: Block, support: Support, y: Codes, removal: Removal, threads: int) -> Floats:
    """Return the score of every row for its class without the row; NaN if no variance remains."""
    scores = (removal.cells(read(block, support, rows), y[rows]).sum(axis=1) for rows in pieces(block))
    return np.concatenate([np.empty(0), *scores])


def pieces(block: Block, n_classes: int = 1, n_rows: int | None = None) -> list[slice]:
    """Return slices of n rows of a block (default: all), each with at most PIECE cells x classes."""
    step = max(1, PIECE // max(1, block.shape[1] * n_classes))
    return [
        slice(start, start + step) for start in range(0, block.shape[0] if n_rows is None else n_rows, step)
    ]
