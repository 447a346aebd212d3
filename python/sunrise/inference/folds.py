"""Folds: parts of the training rows, each judged by a model of the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.data.frame import Frame
from sunrise.data.row_hash import row_hashes
from sunrise.model.schema import Schema

#: Number of folds of the score of a model.
N_FOLDS = 5


def fold_of_rows(hashes: Any, codes: Codes, n_folds: int = N_FOLDS) -> Codes:
    """Return the fold of every row: its rank by hash among the rows of its class, modulo the number of folds.

    Ranks go on from one class to the next, so that small classes do not meet in one fold. The order of the rows has no
    effect, and equal rows spread over the folds.

    >>> fold_of_rows(np.array([7, 3, 5, 1, 9, 2], np.uint64), np.array([0, 0, 0, 1, 1, 1]))
    array([2, 0, 1, 3, 0, 4], dtype=int32)
    """
    fold = np.empty(len(codes), np.int32)
    fold[np.lexsort((hashes, codes))] = np.arange(len(codes)) % n_folds
    return fold


def hashes_of_table(table: Frame, schema: Schema) -> Any:
    """Return a hash of every row, over the columns that a model uses."""
    used = set(schema.used)
    return row_hashes(table, [j for j, name in enumerate(table.names) if name in used])


def weighted_folds(hashes: Any, codes: Codes, weight: Floats | None) -> Codes:
    """Return the fold of every row; -1 for rows of weight 0."""
    if weight is None:
        return fold_of_rows(hashes, codes)
    fold, present = np.full(len(codes), -1, np.int32), np.flatnonzero(weight > 0)
    hashes = hashes[present] ^ weight[present].view(np.uint64)
    fold[present] = fold_of_rows(hashes, codes[present])
    return fold
