"""Scores of predictions: accuracy and log loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Labels
from sunrise._common.stored import stored
from sunrise.engines.array_loss import mean_log_loss
from sunrise.inference.quality import Quality


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
    #: Confusion matrix and reliability of the same predictions; `quality_` of the estimator returns it.
    quality: Quality | None = None

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in self._asdict().items() if name != "quality")
        return f"LooScore({', '.join(fields)})"

    def __str__(self) -> str:
        """Return one line of text.

        >>> print(LooScore(0.9, 0.3, 0.6, 0.67, 100, 0, "5 folds"))
        accuracy 0.900, log loss 0.300 on unseen rows (5 folds); the class prior alone 0.600, 0.670
        """
        return (
            f"accuracy {self.accuracy:.3f}, log loss {self.log_loss:.3f} on unseen rows ({self.method}); "
            f"the class prior alone {self.prior_accuracy:.3f}, {self.prior_log_loss:.3f}"
        )


def score_of(
    log_p: Floats, prior: Floats, y: Codes, weight: Floats, classes: Labels, left_out: int, method: str
) -> LooScore:
    """Return the score of log-probabilities and of class priors (rows x classes), with the quality of the former."""
    of_model, of_prior = (accuracy_and_loss(scores, y, weight) for scores in (log_p, prior))
    quality = Quality.of(log_p, y, weight, classes, method)
    return LooScore(*of_model, *of_prior, len(y), left_out, method, quality)


def accuracy_and_loss(log_p: Floats, y: Codes, weight: Floats) -> tuple[float, float]:
    """Accuracy and mean log loss of log-probabilities (rows x classes); NaN without rows."""
    if not len(y):
        return float("nan"), float("nan")
    right = float(np.average(log_p.argmax(axis=1) == y, weights=weight))
    return right, mean_log_loss(log_p, y, weight / weight.sum())
