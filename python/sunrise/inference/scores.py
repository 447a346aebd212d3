"""Scores of predictions: accuracy and log loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise._common.stored import stored
from sunrise.engines.array import mean_log_loss


@stored("loo score")
class LooScore(NamedTuple):
    """Accuracy and log loss of a model on training rows that it has not seen, and those of the class prior alone.

    `method` tells how rows were kept from the model. "leave-one-out": each row is scored by the statistics without the
    row, which is exact if nothing was chosen by such scores. "5 folds": each fold is scored by a model of the other
    rows, with strengths and weights fitted to the other rows, and families chosen on them from the shortlist of the fit
    to all rows. "cross-fitted": leave-one-out scores, with weights that were fitted without the fold of the row; used
    with at least 50 rows per weight.

    `rows` is the number of scored rows. `left_out` rows are the only row of their class and cannot be scored. The
    accuracy of the prior can be 0: with two equally frequent classes, leaving a row out makes its class the rarer one.
    """

    accuracy: float
    log_loss: float
    prior_accuracy: float
    prior_log_loss: float
    rows: int
    left_out: int
    method: str = "leave-one-out"

    def __str__(self) -> str:
        """Return one line of text.

        >>> print(LooScore(0.9, 0.3, 0.6, 0.67, 100, 0, "5 folds"))
        accuracy 0.900, log loss 0.300 on unseen rows (5 folds); the class prior alone 0.600, 0.670
        """
        return (
            f"accuracy {self.accuracy:.3f}, log loss {self.log_loss:.3f} on unseen rows ({self.method}); "
            f"the class prior alone {self.prior_accuracy:.3f}, {self.prior_log_loss:.3f}"
        )


def accuracy_and_loss(log_p: Floats, y: Codes, weight: Floats) -> tuple[float, float]:
    """Accuracy and mean log loss of log-probabilities (rows x classes); NaN without rows."""
    if not len(y):
        return float("nan"), float("nan")
    right = float(np.average(log_p.argmax(axis=1) == y, weights=weight))
    return right, mean_log_loss(log_p, y, weight / weight.sum())
