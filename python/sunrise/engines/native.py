"""The native engine: the functions of the array engine, in Rust."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Codes, Floats
from sunrise._common.threads import limited_to
from sunrise.data.blocks import Batch, Block, DenseBlock, SparseBlock
from sunrise.engines import array
from sunrise.engines.native_weights import MAKE_WEIGHTS, Weights
from sunrise.engines.native_words import (
    documents,
    move_columns,
    odds,
    odds_left_out,
    odds_left_out_bands,
    stretch,
    weigh,
    word_weights,
)
from sunrise.engines.pieces import score_in_pieces
from sunrise.forms.base import Form
from sunrise.forms.removal import Removal
from sunrise.statistics.counts import Counts, RowCounts
from sunrise.statistics.empirical import Values
from sunrise.statistics.moments import Moments
from sunrise.statistics.products import Products
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import COUNTS, REAL, Support
from sunrise.statistics.terms import COUNT, LEVEL, PRODUCT, VALUE, X2, Term, X

__all__ = [
    "documents",
    "move_columns",
    "odds",
    "odds_left_out",
    "odds_left_out_bands",
    "stretch",
    "weigh",
    "word_weights",
]

totals = totals_of = _native.class_totals
loss = _native.log_loss
temperature_loss, temperature_best = _native.temperature_loss, _native.temperature_best


def curvature(cells: list[Floats], *rest: Any) -> Floats:
    """Return the Hessian of the log loss in column weights and class offsets together, by some of the rows."""
    flat = _native.log_loss_hessian(cells, *rest)
    size = math.isqrt(len(flat))
    lower = flat.reshape(size, size)
    return np.asarray(lower + np.tril(lower, -1).T)


def temperature_curvature(blocks: list[Floats], *rest: Any) -> Floats:
    """Return the Gauss-Newton part of the Hessian of the loss in log t, the exponents and the offsets."""
    flat = _native.temperature_curvature(blocks, *rest)
    size = math.isqrt(len(flat))
    return flat.reshape(size, size)


def row_losses(
    cells: list[Floats], prior: Floats, y: Codes, weight: Floats, parameters: list[Floats], threads: int
) -> Floats:
    """Return the log loss of every row under several column weights, each followed by class offsets."""
    return _native.row_losses(cells, prior, y, weight, parameters, threads).reshape(len(parameters), len(y))


def _sums(block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int) -> Sums:
    """Return the sums of the views, per class and column."""
    if (
        isinstance(block, SparseBlock)
        and len(support.views) > 1
        and not any(v.of(0.0) for v in support.views)
    ):
        # The support applies to the cells themselves, so each view is added up in a call of its own.
        readings = (support if view == X else REAL for view in support.views)
        parts = [
            _sums(block.with_view(view), replace(reading, views=(X,)), y, w, n_classes, threads)
            for view, reading in zip(support.views, readings, strict=True)
        ]
        return Sums.interleave(parts)
    x, missing = _native.accumulate_sums(block.native(support.views), support, y, w, n_classes, threads)
    n, weight = totals(y, w, n_classes)
    rows, observed = n[:, None], weight[:, None]
    x = x.reshape(n_classes, -1)
    if missing is not None:
        rows = rows - missing[0].reshape(x.shape)
        observed = np.where(rows > 0, observed - missing[1].reshape(x.shape), 0.0)
    return Sums(rows, observed, x, np.zeros_like(x) if support.signed else None)


def _moments(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Moments:
    """Return sums of deviations from an anchor and of their squares, per class and column."""
    m = _native.accumulate_moments(block.native(support.views), support, y, w, n_classes, threads)
    return Moments(m.rows, m.weight, m.x, m.x2, m.anchor, m.error)


def _counts(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Counts:
    """Return the counts of the levels, per class and column."""
    c = _native.count_levels(block.native(support.views), y, w, n_classes, threads)
    return Counts(c.offsets, c.codes, c.rows.reshape(n_classes, -1), c.weight.reshape(n_classes, -1))


def _row_counts(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> RowCounts:
    """Return how often each count occurs, per class and column; the last column counts the row totals."""
    rest = y, w, n_classes, threads
    if isinstance(block, SparseBlock):
        c = _native.count_row_totals(block.native(support.views), *rest)
        return RowCounts(c.offsets, c.codes, c.rows.reshape(n_classes, -1), c.weight.reshape(n_classes, -1))
    cells = _counts(block, support, *rest)
    totals = [np.nansum(block.numbers(rows), axis=1) for rows in array.pieces(block)]
    lengths = DenseBlock(np.concatenate([np.empty(0), *totals])[:, None])
    both = Counts.concatenate([cells, _counts(lengths, support, *rest)])
    n, weight = totals_of(y, w, n_classes)
    # A row that no level of a column counts has a missing cell there.
    missing = n[:, None] - both.by_column(both.rows)
    absent = np.flatnonzero(missing[:, :-1].any(axis=0))
    kept = (both.codes > 0) | (both.column == both.n_columns - 1)
    codes, column = both.codes[kept], both.column[kept]
    rows, weights = both.rows[:, kept], both.weight[:, kept]
    if len(absent):
        missing_weight = np.where(missing > 0, weight[:, None] - both.by_column(both.weight), 0.0)
        order = np.lexsort((np.append(codes, 0 * absent), np.append(column, absent)))
        codes, column = np.append(codes, 0 * absent)[order], np.append(column, absent)[order]
        rows = np.concatenate([rows, missing[:, absent]], axis=1)[:, order]
        weights = np.concatenate([weights, missing_weight[:, absent]], axis=1)[:, order]
    offsets = np.searchsorted(column, np.arange(both.n_columns + 1))
    return RowCounts(offsets, codes, rows, weights)


def _values(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Values:
    """Return the distinct values and their weights, per class and column."""
    return array.accumulate(block, (VALUE,), support, y, w, n_classes, threads)  # type: ignore[return-value]


def _products(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Products:
    """Return the sums of products of columns over the rows without a missing cell, per class."""
    x = np.ascontiguousarray(array.numbers(block, support))
    n = x.shape[1]
    rows, weight, sums, squares = _native.accumulate_products(x, y, w, n_classes, threads)
    shaped = sums.reshape(n_classes, n), squares.reshape(n_classes, n * n)
    return Products(rows[:, None], weight[:, None], *shaped)


#: The function that accumulates each combination of terms.
_ACCUMULATORS: dict[tuple[Term, ...], Callable[..., Sums | Moments | Counts | Values | Products]] = {
    (X,): _sums,
    (X, X2): _moments,
    (LEVEL,): _counts,
    (COUNT,): _row_counts,
    (VALUE,): _values,
    (PRODUCT,): _products,
}


#: Views of a cell that Rust computes while it reads.
_VIEWS = frozenset(("x", "log x", "log(1 - x)", "log x!", "cos x", "sin x"))


def _knows_views(support: Support) -> bool:
    """True if Rust computes all views of a cell itself."""
    return support.views is REAL.views or all(view.name in _VIEWS for view in support.views)


def _derive(block: Block, support: Support) -> tuple[Block, Support]:
    """Return the block with views that Rust does not compute as additional columns: a new family needs no Rust code."""
    if _knows_views(support):
        return block, support
    return DenseBlock(array.read(block, support)), REAL if support.signed else COUNTS


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
    accumulator = _ACCUMULATORS[terms]
    block, support = _derive(block, support)
    try:
        return accumulator(block, support, codes, weight, n_classes, threads)
    except _native.NotCanonical:
        return accumulator(block.canonical(), support, codes, weight, n_classes, threads)


#: Native weights by form and layout, created once. They are not stored in the model, so that models can be pickled.
_WEIGHTS: WeakKeyDictionary[Any, dict[str, Weights]] = WeakKeyDictionary()


def _scoring_block(block: Block, support: Support, form: Any) -> tuple[Any, Support, Weights]:
    """Return cells, support and weights of a block: one element of the first argument of `_native.score`."""
    kind = block.kind if form.kind == "linear" else form.kind
    weights = _WEIGHTS.get(form)
    if weights is None:
        weights = _WEIGHTS[form] = {}
    if kind not in weights:
        weights[kind] = MAKE_WEIGHTS[kind](form)
    return block.native(support.views), support, weights[kind]


def _impossible(batch: Batch, supports: Any, forms: Any, n_classes: int, threads: int) -> Floats | None:
    """Return the number of impossible cells, rows x classes; None if no form has any."""
    parts = zip(batch.blocks, supports, forms, strict=True)
    with_impossible = [
        (block, support, form.impossible) for block, support, form in parts if form.impossible is not None
    ]
    if not with_impossible:
        return None
    # Counts must be exact. Sparse blocks with squares have rounding errors in the native code, so Python scores them.
    exact: list[Any] = []
    inexact: list[Any] = []
    for part in with_impossible:
        (inexact if part[0].kind == "sparse" and part[2].x2 is not None else exact).append(part)
    none, counts = np.zeros(n_classes), np.zeros((batch.n_rows, n_classes))
    if exact:
        _native.score([_scoring_block(*part) for part in exact], none, none, counts, "joint", threads)
    for block, support, form in inexact:
        counts += array.sum_cells(block, support, form, n_classes)
    return counts


def score(
    batch: Batch,
    supports: tuple[Support, ...],
    forms: tuple[Form, ...],
    log_prior: Floats,
    fallback: Floats,
    output: Any,
    threads: int,
    own_scores: tuple[Codes, Floats] | None = None,
) -> tuple[NDArray[Any], int]:
    """Return scores of rows, and the number of rows that are impossible under every class.

    `output` is "joint", "log_proba" or "proba" for an array rows x classes, or None for the best class of every row.
    `own_scores` (class codes, scores) replaces the score of one class for every row.
    """
    try:
        return _score(batch, supports, forms, log_prior, fallback, output, threads, own_scores)
    except _native.NotCanonical:
        canonical = Batch(batch.n_rows, tuple(block.canonical() for block in batch.blocks))
        return _score(canonical, supports, forms, log_prior, fallback, output, threads, own_scores)


def leave_one_out_scores(block: Block, support: Support, y: Codes, removal: Removal, threads: int) -> Floats:
    """Return the score of every row for its class without the row; NaN if no variance remains."""
    base, anchor, q, p = (np.ascontiguousarray(part) for part in removal)
    cells, constant = block.native(support.views), base.sum(axis=1)
    return _native.leave_one_out_scores(cells, support, y, constant, base, anchor, q, p, threads)


def log_normalise(scores: Floats, fallback: Floats, output: Any) -> tuple[Floats, int]:
    """Turn joint log scores into (log-)probabilities in place; return them and the number of impossible rows."""
    return scores, _native.normalise(scores, fallback, output)


def _is_scored_in_python(block: Block, form: Form) -> bool:
    """True if Rust has no scoring function for the form and layout; sparse cells then become dense."""
    return form.kind == "pointwise" or (form.kind == "kernel" and block.kind == "sparse")


def _score(
    batch: Batch,
    supports: Any,
    forms: Any,
    log_prior: Floats,
    fallback: Floats,
    output: Any,
    threads: int,
    own_scores: tuple[Codes, Floats] | None,
) -> tuple[NDArray[Any], int]:
    """Return `score` for canonical blocks."""
    n, n_classes = batch.n_rows, len(log_prior)
    blocks = _native_blocks(batch, supports, forms, threads)
    if blocks is not None:
        # A single native call writes the output.
        out: NDArray[Any] = np.empty(n, np.int64) if output is None else np.empty((n, n_classes))
        return out, _native.score(blocks, log_prior, fallback, out, output or "joint", threads, own_scores)

    derived = [_derive(*pair) for pair in zip(batch.blocks, supports, strict=True)]
    if any(support is not own for (_, support), own in zip(derived, supports, strict=True)):
        batch = Batch(n, tuple(block for block, _ in derived))
        supports = tuple(support for _, support in derived)
        return _score(batch, supports, forms, log_prior, fallback, output, threads, own_scores)

    def score_piece(piece: Batch, own: tuple[Codes, Floats] | None) -> tuple[NDArray[Any], int]:
        with limited_to(threads):
            return _score_by_matrix(piece, supports, forms, log_prior, fallback, output, threads, own)

    return score_in_pieces(batch, n_classes, output, own_scores, score_piece)


def _native_blocks(batch: Batch, supports: Any, forms: Any, threads: int) -> list[Any] | None:
    """Return the first argument of `_native.score`; None if that call alone cannot score all blocks."""
    blocks = []
    for block, support, form in zip(batch.blocks, supports, forms, strict=True):
        if form.impossible is not None or _is_scored_in_python(block, form) or not _knows_views(support):
            return None
        if form.kind == "kernel":
            form.native(batch.n_rows, threads)
        blocks.append(_scoring_block(block, support, form))
    return blocks


def _score_by_matrix(
    batch: Batch,
    supports: Any,
    forms: Any,
    log_prior: Floats,
    fallback: Floats,
    output: Any,
    threads: int,
    own_scores: tuple[Codes, Floats] | None,
) -> tuple[NDArray[Any], int]:
    """Return `_score` for blocks that a single native call cannot score, by a matrix rows x classes."""
    n, n_classes = batch.n_rows, len(log_prior)
    forbidden = _impossible(batch, supports, forms, n_classes, threads)
    parts = list(zip(batch.blocks, supports, forms, strict=True))
    for form in forms:
        if form.kind == "kernel":
            form.native(batch.n_rows, threads)
    pointwise = [part for part in parts if _is_scored_in_python(part[0], part[2])]
    blocks = [
        _scoring_block(*part[:2], part[2].finite)
        for part in parts
        if not _is_scored_in_python(part[0], part[2])
    ]
    values = np.empty((n, n_classes))
    _native.score(blocks, log_prior, fallback, values, "joint", threads)
    for block, support, form in pointwise:
        values += array.sum_cells(block, support, form, n_classes)
    if own_scores is not None:
        values = array.replace_scores(values, *own_scores)
    if forbidden is not None:
        if own_scores is not None:
            forbidden = array.replace_scores(forbidden, own_scores[0], np.zeros(n))
        values = array.forbid(values, forbidden)
    impossible = _native.normalise(values, fallback, output or "log_proba")
    return (values.argmax(axis=1) if output is None else values), impossible
