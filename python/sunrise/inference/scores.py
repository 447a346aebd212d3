"""Scores of predictions: accuracy and log loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.engines.array import mean_log_loss


class LooScore(NamedTuple):
    """Leave-one-out accuracy and log loss of a model, and of the class prior without any column.

    `rows` is the number of scored rows. `left_out` rows are the only row of their class and cannot be scored. The
    accuracy of the prior can be 0: with two equally frequent classes, leaving a row out makes its class the rarer one.
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
