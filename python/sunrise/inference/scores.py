"""Scores of predictions: accuracy and log loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.engines.array import mean_log_loss


class LooScore(NamedTuple):
    """How good a model is on rows it has not seen, and how good the class prior alone would be.

    `rows` were scored; `left_out` were the only ones of their class, so that nothing was left to score them by. The
    prior alone may be always wrong on rows that it has not seen: of two equal classes, a row's own is then the rarer.
    """

    accuracy: float
    log_loss: float
    prior_accuracy: float
    prior_log_loss: float
    rows: int
    left_out: int


def accuracy_and_loss(log_p: Floats, y: Codes, weight: Floats) -> tuple[float, float]:
    """Accuracy and mean log loss of log-probabilities (rows x classes); NaN without rows."""
    if not len(y):
        return float("nan"), float("nan")
    right = float(np.average(log_p.argmax(axis=1) == y, weights=weight))
    return right, mean_log_loss(log_p, y, weight / weight.sum())
