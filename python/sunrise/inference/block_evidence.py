"""The evidence of the columns of a block that is scored together."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats

#: The name of the term that no column has alone.
TOGETHER = "together"


def evidence_of_columns(form: Any, x: Floats, of: int, against: int) -> Floats:
    """Return the evidence that one row loses if a column is marginalised, for every column; the last is the rest.

    `form` scores whole rows, `x` is one row. The evidence adds up to that of the block.
    """
    n = x.shape[1]
    rows = np.repeat(x, n + 1, axis=0)
    rows[np.arange(n), np.arange(n)] = np.nan
    scores = form.scores(rows)
    evidence = scores[:, of] - scores[:, against]
    lost = evidence[n] - evidence[:n]
    return np.append(lost, evidence[n] - lost.sum())
