"""Honest numbers: leave-one-out scores, calibrated probabilities, and how sure the model is of them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data.labels import encode_labels, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.learning import LearningMixin
from sunrise.inference.intervals import intervals
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.scores import LooScore
from sunrise.model.encode_rows import encode_rows
from sunrise.numerics.conjugate import tails_of


class Calibrated(NamedTuple):
    """How the scores of a model are calibrated.

    `weights` and `exponents` are by column, or by the columns of a block that are one distribution; `offsets` by class.
    """

    kind: str
    weights: dict[Any, float]
    exponents: dict[Any, float]
    offsets: dict[Any, float]
    stale: bool


class ReliabilityMixin(LearningMixin):
    """Leave-one-out scores, calibration, and intervals of probabilities."""

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Log-probability of every class for every fitted row, with the row itself taken out of the statistics.

        Everything that was chosen from the data (families, levels, prior scales, alphas, calibration) stays as it is;
        no model is refitted. A class that is left without rows has -inf.

        Parameters
        ----------
        X, y, sample_weight
            Rows, labels and weights that the model was fitted to: all of them, or some.

        >>> from sunrise import NaiveBayes
        >>> table = {"height": [1.62, 1.71, 1.58, 1.93, 1.88, 1.65], "sex": list("ffmmmm")}
        >>> model = NaiveBayes("auto-fast").fit(table, "sex")
        >>> np.exp(model.leave_one_out(table, "sex")).round(2)[-2:]
        array([[0.13, 0.87],
               [0.61, 0.39]])
        """
        return self._left_out(X, y, sample_weight).log_proba()

    def loo_score(self, X: Any, y: Any, sample_weight: Any = None) -> LooScore:
        """Accuracy and log loss of the model on its own rows, each taken out first, beside those of the class prior.

        >>> from sunrise.datasets import load_house_votes
        >>> from sunrise import NaiveBayes
        >>> votes = load_house_votes("pandas").frame
        >>> score = NaiveBayes().fit(votes, "party").loo_score(votes, "party")
        >>> round(score.accuracy, 3), round(score.prior_accuracy, 3), score.rows
        (0.901, 0.614, 435)
        """
        rows = self._left_out(X, y, sample_weight)
        return rows.score(rows.log_proba())

    def recalibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the calibration anew, on rows that are among the fitted ones; the statistics stay as they are."""
        with self._unchanged_on_failure():
            if "calibrate" not in self.get_params():
                raise ValueError(
                    f"{type(self).__name__} has nothing to calibrate. Use NaiveBayes with its family and calibrate=."
                )
            self._checked_settings()
            kind = self._calibrate_as()
            if kind is None:
                raise ValueError(
                    'there is nothing to calibrate: set calibrate="temperature" or calibrate="columns".'
                )
            self._recalibrate(self._left_out(X, y, sample_weight, plain=True))
        return self

    def interval(
        self, X: Any, level: float = 0.95, n_draws: int = 1000, random_state: Any = 0
    ) -> tuple[Floats, Floats]:
        """Credible interval of every predicted probability: how sure the model is of it, given what it has seen.

        Parameters are drawn `n_draws` times from their posterior, class probabilities too where they were fitted
        (under equal weights of all), and the interval has equal tails. It is of the calibrated probability, with the
        calibration as it is. Columns without a conjugate posterior (gamma, beta, von Mises) enter with their
        estimates.

        Returns
        -------
        low, high : ndarray of shape (n_samples, n_classes)

        >>> from sunrise import NaiveBayes
        >>> few, many = ({"x": [0, 0, 1, 0, 1, 1] * n} for n in (1, 100))
        >>> for table in (few, many):
        ...     model = NaiveBayes("bernoulli").fit(table, ["a", "a", "a", "b", "b", "b"] * (len(table["x"]) // 6))
        ...     low, high = model.interval({"x": [1]})
        ...     print(low[0, 1].round(2), high[0, 1].round(2))
        0.19 0.94
        0.61 0.72
        """
        tails = tails_of(level)
        if not (isinstance(n_draws, int | np.integer) and n_draws > 0):
            raise ValueError(f"n_draws is {n_draws!r}; it must be a number of draws, such as 1000.")
        batch, _ = self._encode(X)
        fitted = self._model
        for part in fitted.parts:
            if not part.family.generative:
                raise ValueError(
                    f"{part.family.name} is not a distribution of the cells: its parameters have no posterior."
                )
        return intervals(fitted, batch, tails, int(n_draws), np.random.default_rng(random_state))

    @property
    def calibration_(self) -> Calibrated | None:
        """How the scores are calibrated, by names of columns and classes; None where they are not."""
        fitted = self._fitted_model("calibration_")
        if (found := fitted.calibration) is None:
            return None
        names, weights, exponents = self._columns(), {}, {}
        for part in fitted.parts:
            joint = part.family.joint
            for columns in [part.columns] if joint else [(j,) for j in part.columns]:
                key: Any = tuple(names[j] for j in columns) if joint else names[columns[0]]
                weights[key] = float(found.weights[columns[0]])
                if joint:
                    exponents[key] = float(found.exponents_of_columns[columns[0]])
        return Calibrated(found.kind, weights, exponents, dict(found.offsets), found.stale)

    def _left_out(self, X: Any, y: Any, sample_weight: Any, plain: bool = False) -> LeaveOneOut:
        """Fitted rows, read as the model scores them; `plain`, without its calibration."""
        self._require_fitted()
        self._refuse_fixed_parameters()
        model = self._model.uncalibrated if plain else self._model
        who, table = type(self).__name__, self._read_table(X, fitting=False)
        table, y, _ = separate_labels(who, X, table, y)
        batch, _ = encode_rows(table, model, who)
        classes, codes = encode_labels(who, y, batch.n_rows)
        return self._left_out_rows(model, batch, classes, codes, weights(sample_weight, batch.n_rows))
