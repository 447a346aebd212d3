"""Word counts in the native engine: document counts, log odds, leave-one-out scores by log odds, weights of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise._common.threads import threads as threads_for
from sunrise.data.blocks import SparseBlock
from sunrise.engines.native_weights import padded
from sunrise.statistics.sums import Product
from sunrise.statistics.terms import X


def documents(
    block: SparseBlock, codes: Codes, weight: Floats, n_classes: int, threads: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return the number of documents with each word and the sums of its counts, classes x (1 + words).

    The first column has the number and the weight of all documents.
    """
    # NumPy requests huge pages only for np.empty, and these tables are large.
    shape = n_classes, block.shape[1] + 1
    n_documents, sums = np.empty(shape, np.int64), np.empty(shape)
    _native.count_documents(block.native((X,)), codes, weight, n_classes, n_documents, sums, threads)
    return n_documents, sums


def stretch(
    block: SparseBlock, known: Mask, whole: Mask, squared: bool, power: float, threads: int
) -> Floats:
    """Return a factor for each document: its size with all words, divided by its size with known words only.

    The size is a power of the sum of the cells, or of their squares. Documents that are `whole` know all words.
    """
    indptr, indices = block.indptr.astype(np.int64), block.indices.astype(np.int32, copy=False)
    return _native.stretch_counts(block.data, indices, indptr, known, whole, squared, power, threads)


def weigh(block: SparseBlock, factors: Floats, threads: int) -> Floats:
    """Return the stored cells of documents, multiplied by the factors of their columns."""
    indptr, indices = block.indptr.astype(np.int64), block.indices.astype(np.int32, copy=False)
    weighed = np.empty(len(block.data))
    _native.scale_counts(block.data, indices, indptr, factors, "count", 0.0, None, weighed, threads)
    return weighed


def move_columns(
    block: SparseBlock, place: Codes, of_word: Floats, of_document: Floats, threads: int
) -> SparseBlock:
    """Return documents in the columns at the `place` of their words, times the factors of words and documents.

    Words whose place is -1 are dropped. The other places are in ascending order. The cells have single precision.
    """
    indptr, indices = block.indptr.astype(np.int64), block.indices.astype(np.int32, copy=False)
    factors = place, np.ascontiguousarray(of_word), np.ascontiguousarray(of_document)
    indptr, indices, data = _native.move_word_columns(block.data, indices, indptr, *factors, threads)
    return SparseBlock(data, indices, indptr, (block.shape[0], int(place.max(initial=-1)) + 1))


def _rows_in_order(counts: Product) -> Product:
    """Return counts whose rows lie in memory without gaps between their cells; there may be gaps between the rows."""
    table = counts.table
    is_ready = table.size == 0 or table.strides[1] == table.itemsize
    return counts if is_ready else counts._replace(table=np.ascontiguousarray(table))


def odds(counts: Product, alpha: float) -> Floats:
    """Return log(smoothed share of a column in a class / share in all other classes), classes x columns.

    The array is in Fortran order.
    """
    (n_classes, n_columns), counts = counts.table.shape, _rows_in_order(counts)
    out = np.empty((n_columns, -(-n_classes // _native.GROUP) * _native.GROUP))
    if n_columns:
        _native.log_odds(*counts, alpha, out, threads_for(None, n_classes * n_columns))
    return out[:, :n_classes].T


def odds_left_out(
    block: SparseBlock, y: Codes, w: Floats, counts: Product, alpha: float, log_odds: Floats, threads: int
) -> Floats:
    """Return scores of rows by log odds after their own counts are subtracted, rows x classes; inf if never fitted."""
    cells, table = block.native((X,)), log_odds.T
    if table.shape[1] % _native.GROUP or not table.flags.c_contiguous:
        table = padded(table)
    scratch = np.empty((len(table) + 1, table.shape[1] + _native.GROUP))
    scores = _native.log_odds_left_out(cells, y, w, *_rows_in_order(counts), alpha, table, scratch, threads)
    return scores.reshape(len(y), -1)


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
    cells, table = block.native((X,)), log_odds.T
    if table.shape[1] % _native.GROUP or not table.flags.c_contiguous:
        table = padded(table)
    scratch = np.empty((len(table) + 1, table.shape[1] + _native.GROUP))
    scores = _native.log_odds_left_out_bands(
        cells, y, w, *_rows_in_order(counts), alpha, table, bands, n_bands, scratch, threads
    )
    return scores.reshape(len(y), n_bands, -1)


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
    indptr, indices = block.indptr.astype(np.int64), block.indices.astype(np.int32, copy=False)
    data, offsets = block.data.astype(np.float32, copy=False), np.ascontiguousarray(offsets)
    rest = block.shape[1], np.ascontiguousarray(start), penalty, tolerance, 200, threads
    v, a, _ = _native.fit_word_weights(indptr, indices, data, offsets, y, weight, *rest)
    return v.reshape(block.shape[1], -1), a.reshape(start.shape)
