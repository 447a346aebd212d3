"""The native engine: the same two equations, in Rust."""

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
from sunrise._common.threads import threads as threads_for
from sunrise.data.blocks import Batch, Block, DenseBlock, SparseBlock
from sunrise.engines import array
from sunrise.forms.base import Form
from sunrise.forms.kernel_density import Density
from sunrise.forms.linear import Linear
from sunrise.forms.polya import Polya
from sunrise.forms.removal import Removal
from sunrise.forms.table import Table
from sunrise.statistics.counts import Counts, RowCounts
from sunrise.statistics.empirical import Values
from sunrise.statistics.moments import Moments
from sunrise.statistics.sums import Sums
from sunrise.statistics.support import REAL, Support
from sunrise.statistics.terms import COUNT, LEVEL, VALUE, X2, Term, X

totals = totals_of = _native.totals
loss = _native.loss


def curvature(cells: Floats, *rest: Any) -> Floats:
    """The curvature of the loss in weights and offsets together."""
    half = _native.curvature(cells, *rest)
    size = math.isqrt(len(half))
    lower = half.reshape(size, size)
    return np.asarray(lower + np.tril(lower, -1).T)


def _sums(block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int) -> Sums:
    if (
        isinstance(block, SparseBlock)
        and len(support.views) > 1
        and not any(v.of(0.0) for v in support.views)
    ):
        # The cells are checked as they are, so each view is added up apart.
        readings = (support if view == X else REAL for view in support.views)
        parts = [
            _sums(block.seen_as(view), replace(reading, views=(X,)), y, w, n_classes, threads)
            for view, reading in zip(support.views, readings, strict=True)
        ]
        return Sums.interleave(parts)
    x, missing = _native.sums_of(block.native(support.views), support.reading, y, w, n_classes, threads)
    n, weight = totals(y, w, n_classes)
    rows, seen = n[:, None], weight[:, None]
    x = x.reshape(n_classes, -1)
    if missing is not None:
        rows = rows - missing[0].reshape(x.shape)
        seen = np.where(rows > 0, seen - missing[1].reshape(x.shape), 0.0)
    return Sums(rows, seen, x, np.zeros_like(x) if support.signed else None)


def _moments(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Moments:
    cells = block.native(support.views)
    parts: tuple[Any, ...] = _native.moments_of(cells, support.reading, y, w, n_classes, threads)
    rows, seen, anchor, x, x2 = (a.reshape(n_classes, -1) for a in parts)
    return Moments.of(rows, seen, x, x2, anchor)


def _counts(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Counts:
    offsets, codes, rows, weight = _native.counts_of(block.native(support.views), y, w, n_classes, threads)
    return Counts(offsets, codes, rows.reshape(n_classes, -1), weight.reshape(n_classes, -1))


def _row_counts(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> RowCounts:
    rest = y, w, n_classes, threads
    if isinstance(block, SparseBlock):
        offsets, codes, rows, weight = _native.stored_of(block.native(support.views), *rest)
        return RowCounts(offsets, codes, rows.reshape(n_classes, -1), weight.reshape(n_classes, -1))
    cells = _counts(block, support, *rest)
    totals = [np.nansum(block.numbers(rows), axis=1) for rows in array.pieces(block)]
    lengths = DenseBlock(np.concatenate([np.empty(0), *totals])[:, None])
    both = Counts.concatenate([cells, _counts(lengths, support, *rest)])
    n, weight = totals_of(y, w, n_classes)
    # Zeros are the rows that are left over; what is left over of them was missing.
    missing = n[:, None] - both.by_column(both.rows)
    absent = np.flatnonzero(missing[:, :-1].any(axis=0))
    kept = (both.codes > 0) | (both.column == both.n_columns - 1)
    codes, column = both.codes[kept], both.column[kept]
    rows, weights = both.rows[:, kept], both.weight[:, kept]
    if len(absent):
        gone = np.where(missing > 0, weight[:, None] - both.by_column(both.weight), 0.0)
        order = np.lexsort((np.append(codes, 0 * absent), np.append(column, absent)))
        codes, column = np.append(codes, 0 * absent)[order], np.append(column, absent)[order]
        rows = np.concatenate([rows, missing[:, absent]], axis=1)[:, order]
        weights = np.concatenate([weights, gone[:, absent]], axis=1)[:, order]
    offsets = np.searchsorted(column, np.arange(both.n_columns + 1))
    return RowCounts(offsets, codes, rows, weights)


def _values(
    block: Block, support: Support, y: Codes, w: Floats | None, n_classes: int, threads: int
) -> Values:
    return array.accumulate(block, (VALUE,), support, y, w, n_classes, threads)  # type: ignore[return-value]


#: Which kernel adds up which terms.
_KERNELS: dict[tuple[Term, ...], Callable[..., Sums | Moments | Counts | Values]] = {
    (X,): _sums,
    (X, X2): _moments,
    (LEVEL,): _counts,
    (COUNT,): _row_counts,
    (VALUE,): _values,
}


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
    kernel = _KERNELS[terms]
    try:
        return kernel(block, support, codes, weight, n_classes, threads)
    except _native.NotCanonical:
        return kernel(block.canonical(), support, codes, weight, n_classes, threads)


#: The arrays of a form as the kernels want them, made once for each form and kind of cells.
_LAYOUTS: WeakKeyDictionary[Any, dict[str, tuple[Any, ...]]] = WeakKeyDictionary()


def _scored(block: Block, support: Support, form: Any) -> tuple[str, tuple[Any, ...]]:
    """A block of cells with its form, as the scoring kernel takes them."""
    kind = block.kind if form.kind == "linear" else form.kind
    layouts = _LAYOUTS.setdefault(form, {})
    if kind not in layouts:
        layouts[kind] = _LAY_OUT[kind](form)
    reading = () if kind == "table" else (support.reading,)
    return kind, (block.native(support.views), *reading, *layouts[kind])


def _dense(form: Linear) -> tuple[Any, ...]:
    """Class after class, and what a complete row gets for being observed."""
    parts = form.base, form.x, form.x2, form.anchor
    constant = np.zeros(form.shape[0]) if form.base is None else form.base.sum(axis=1)
    return constant, *(None if p is None else np.ascontiguousarray(p) for p in parts), form.compositional


def _sparse(form: Linear) -> tuple[Any, ...]:
    """Column after column, its classes together; a stored cell replaces the zero of its column."""
    n_classes, n_columns = form.shape

    def laid_out(part: Floats | None) -> Floats:
        return _padded(np.zeros((n_columns, n_classes)) if part is None else part.T)

    if form.x2 is None and form.anchor is None:
        constant, zero = _dense(form)[0], None if form.base is None else laid_out(form.base)
        return constant, np.zeros(n_classes), zero, laid_out(form.x), None, form.compositional
    at_zero = form.cells(np.zeros((1, n_columns)))[0]
    constant = np.array([math.fsum(row) for row in at_zero])
    residue = np.array([math.fsum([*row, -c]) for row, c in zip(at_zero, constant, strict=True)])
    about = [laid_out(part) for part in (form.base, form.anchor, form.x, form.x2)]
    return constant, residue, laid_out(at_zero), None, about, form.compositional


def _table(form: Table) -> tuple[Any, ...]:
    """Entry after entry; one more says nothing, for missing cells."""
    values = _padded(form.values, more_rows=1)
    return form.offsets, form.codes, form.sizes, values, form.values.shape[1], form.refuse_unseen


def _polya(form: Polya) -> tuple[Any, ...]:
    """Column after column; tiny and huge numbers are not to be multiplied."""
    urns = form.concentration[:, form.known]
    plain = bool(((urns > 1e-18) & (urns < 1e15)).all())
    known = None if form.known.all() else np.ascontiguousarray(form.known)
    return _padded(form.concentration.T), form.total, known, form.weight, plain


def _kernel(form: Density) -> tuple[Any, ...]:
    """Sums of kernels, and how they make densities."""
    return form.native()


_LAY_OUT: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "dense": _dense,
    "sparse": _sparse,
    "table": _table,
    "polya": _polya,
    "kernel": _kernel,
}


def _padded(table: Floats, more_rows: int = 0) -> Floats:
    """A table whose rows are padded with zeros to the groups of classes that the kernels add up together."""
    rows, n_classes = table.shape
    shape = rows + more_rows, -(-n_classes // _native.GROUP) * _native.GROUP
    # Random look-ups touch fewest cache lines where rows begin on one; and NumPy asks for huge pages where it
    # does not ask for zeros.
    space = np.empty(shape[0] * shape[1] + 8)
    start = -(space.ctypes.data // 8) % 8
    wide = space[start : start + shape[0] * shape[1]].reshape(shape)
    wide[:rows, :n_classes] = table
    wide[:, n_classes:] = 0.0
    wide[rows:] = 0.0
    return wide


def _impossible(batch: Batch, supports: Any, forms: Any, n_classes: int, threads: int) -> Floats | None:
    """How many impossible things every row holds under every class, where there may be any."""
    parts = zip(batch.blocks, supports, forms, strict=True)
    held = [
        (block, support, form.impossible) for block, support, form in parts if form.impossible is not None
    ]
    if not held:
        return None
    # Counts must be exact, and cells that replace the squares of zeros might leave dust: those zeros are written out.
    clean: list[Any] = []
    dusty: list[Any] = []
    for part in held:
        (dusty if part[0].kind == "sparse" and part[2].x2 is not None else clean).append(part)
    none, counts = np.zeros(n_classes), np.zeros((batch.n_rows, n_classes))
    if clean:
        _native.score([_scored(*part) for part in clean], none, none, counts, "joint", threads)
    for block, support, form in dusty:
        counts += array.summed(block, support, form, n_classes)
    return counts


def score(
    batch: Batch,
    supports: tuple[Support, ...],
    forms: tuple[Form, ...],
    log_prior: Floats,
    fallback: Floats,
    output: Any,
    threads: int,
    own: tuple[Codes, Floats] | None = None,
) -> tuple[NDArray[Any], int]:
    """Score rows: joint, log_proba or proba as rows x classes, None for the best class; and impossible rows.

    `own` replaces the score of every row for one class, its own.
    """
    rest = supports, forms, log_prior, fallback, output, threads, own
    try:
        return _score(batch, *rest)
    except _native.NotCanonical:
        return _score(Batch(batch.n_rows, tuple(block.canonical() for block in batch.blocks)), *rest)


def own(block: Block, support: Support, y: Codes, removal: Removal, threads: int) -> Floats:
    """The score of every row for its own class once it is taken out; NaN where nothing would be left."""
    base, anchor, q, p = (np.ascontiguousarray(part) for part in removal)
    cells, constant = block.native(support.views), base.sum(axis=1)
    return _native.own(cells, support.reading, y, constant, base, anchor, q, p, threads)


def documents(
    block: SparseBlock, codes: Codes, weight: Floats, n_classes: int, threads: int
) -> tuple[NDArray[np.int64], Floats]:
    """Documents with every word and sums of what it counts, classes x (1 + words), the documents themselves first."""
    # NumPy asks for large pages where it does not ask for zeros, and these tables are large.
    shape = n_classes, block.shape[1] + 1
    found, sums = np.empty(shape, np.int64), np.empty(shape)
    _native.documents_of(block.native((X,)), codes, weight, n_classes, found, sums, threads)
    return found, sums


def odds(x: Floats, alpha: float) -> Floats:
    """Log of the shares of every class over those of all others, classes x columns; they lie column by column."""
    n_classes, n_columns = x.shape
    room = np.empty((n_columns, -(-n_classes // _native.GROUP) * _native.GROUP))
    if n_columns:
        _native.odds(np.ascontiguousarray(x), alpha, room, threads_for(None, x.size))
    return room[:, :n_classes].T


def odds_left_out(
    block: SparseBlock, y: Codes, w: Floats, x: Floats, alpha: float, log_odds: Floats, threads: int
) -> Floats:
    """Scores of rows by such odds where their own counts are taken out first, rows x classes."""
    cells, table = block.native((X,)), log_odds.T
    if table.shape[1] % _native.GROUP or not table.flags.c_contiguous:
        table = _padded(table)
    room = np.empty(table.shape)
    found = _native.odds_left_out(cells, y, w, np.ascontiguousarray(x), alpha, table, room, threads)
    return found.reshape(len(y), -1)


def normalise(scores: Floats, fallback: Floats, output: Any) -> tuple[Floats, int]:
    """From joint log scores to (log-)probabilities, in place; impossible rows get the fallback and are counted."""
    return scores, _native.normalise(scores, fallback, output)


def _by_cells(block: Block, form: Form) -> bool:
    """Whether no kernel goes through the rows: a function scores the cells; sparse ones are written out for it."""
    return form.kind == "pointwise" or (form.kind == "kernel" and block.kind == "sparse")


def _score(
    batch: Batch,
    supports: Any,
    forms: Any,
    log_prior: Floats,
    fallback: Floats,
    output: Any,
    threads: int,
    own: tuple[Codes, Floats] | None,
) -> tuple[NDArray[Any], int]:
    n, n_classes = batch.n_rows, len(log_prior)
    forbidden = _impossible(batch, supports, forms, n_classes, threads)
    parts = list(zip(batch.blocks, supports, forms, strict=True))
    for form in forms:
        if form.kind == "kernel":
            form.sums.native(threads)
    pointwise = [part for part in parts if _by_cells(part[0], part[2])]
    blocks = [_scored(*part[:2], part[2].finite) for part in parts if not _by_cells(part[0], part[2])]
    if forbidden is None and not pointwise:
        # One pass straight to the output.
        room: NDArray[Any] = np.empty(n, np.int64) if output is None else np.empty((n, n_classes))
        impossible, incomplete = _native.score(
            blocks, log_prior, fallback, room, output or "joint", threads, own
        )
        if not incomplete:
            return room, impossible
    # Rows whose missing cells change the weight of the others are scored anew before all are normalised.
    values = np.empty((n, n_classes))
    _, incomplete = _native.score(blocks, log_prior, fallback, values, "joint", threads)
    if incomplete:
        values[incomplete] = log_prior
        for block, support, form in parts:
            if not _by_cells(block, form):
                values[incomplete] += array.summed(
                    block, support, form.finite, n_classes, np.array(incomplete)
                )
    for block, support, form in pointwise:
        values += array.summed(block, support, form, n_classes)
    if own is not None:
        values = array.replaced(values, *own)
    if forbidden is not None:
        if own is not None:
            forbidden = array.replaced(forbidden, own[0], np.zeros(n))
        values = array.forbid(values, forbidden)
    impossible = _native.normalise(values, fallback, output or "log_proba")
    return (values.argmax(axis=1) if output is None else values), impossible
