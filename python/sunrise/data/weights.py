"""Reads and checks `sample_weight`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats


def weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights of the rows as floats; None means weight 1 for every row."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, str):
        raise ValueError(f"sample_weight is {sample_weight!r}. Pass an array with one weight for every row.")
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weight.shape}, expected ({n_rows},). "
            "Give one weight for every row of X."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight holds infinity or NaN. Give every row a finite weight of 0 or more.")
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight is negative in row {int(np.argmax(weight < 0))}: {weight.min():g}. "
            "A weight must be 0 or more; use forget() to remove rows from a model."
        )
    if not weight.any():
        raise ValueError(
            "sample_weight is zero for every row: there is nothing to fit. Give at least one row a positive weight."
        )
    if (
        weight == 1.0
    ).all():  # the same as no weights, also for choices that treat repeats and weights differently
        return None
    return np.require(weight, requirements=["C", "A"])
