"""Scores of many rows, piece by piece: memory for the scores of one piece, not of all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import _native
from sunrise._common.arrays import Codes, Floats
from sunrise.data.blocks import Batch

#: Maximum number of rows x classes of a piece.
PIECE = 1 << 19

OwnScores = tuple[Codes, Floats] | None


def score_in_pieces(
    batch: Batch,
    n_classes: int,
    output: Any,
    own_scores: OwnScores,
    score: Callable[[Batch, OwnScores], tuple[NDArray[Any], int]],
) -> tuple[NDArray[Any], int]:
    """Return `score` of the batch: scores or best classes of the rows, and the number of impossible rows."""
    n, step = batch.n_rows, max(1, PIECE // n_classes)
    if n <= step:
        return score(batch, own_scores)
    out: NDArray[Any] = np.empty(n, np.int64) if output is None else np.empty((n, n_classes))
    impossible = 0
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        own = None if own_scores is None else (own_scores[0][rows], own_scores[1][rows])
        try:
            out[rows], more = score(batch.select_rows(rows), own)
        except _native.CellError as error:  # the error has the position in the piece
            why, row, column, value = error.args
            raise _native.CellError(why, start + row, column, value) from None
        impossible += more
    return out, impossible
