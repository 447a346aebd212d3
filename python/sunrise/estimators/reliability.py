"""Leave-one-out scores, calibration of probabilities, and credible intervals of predicted probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.threads import limited_to
from sunrise.data.labels import encode_labels, separate_labels
from sunrise.data.weights import weights
from sunrise.estimators.learning import LearningMixin
from sunrise.inference.intervals import intervals
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.quality import Quality
from sunrise.inference.scores import LooScore
from sunrise.model.calibration_weights import Strengths
from sunrise.model.encode_rows import encode_rows
from sunrise.numerics.conjugate import tails_of


class Calibrated(NamedTuple):
    """Calibration of the scores of a model.

    `weights` and `exponents` are dicts by column; a block with one joint distribution, for example a multinomial, has a
    tuple of columns as its key. `offsets` is a dict by class. `stale` is True if the statistics have changed since the
    calibration was fitted. `strengths` are those of the penalty on column weights that the folds chose.
    """

    kind: str
    weights: dict[Any, float]
    exponents: dict[Any, float]
    offsets: dict[Any, float]
    stale: bool
    strengths: Strengths | None


class ReliabilityMixin(LearningMixin):
    """Leave-one-out scores, calibration, and credible intervals."""

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Return the log probability of every class for every training row, with the row removed from the statistics.

        Choices made from the data (families, levels, prior scales, alphas, calibration) stay as in the full fit; no
        model is refitted. A class whose only row is removed has -inf.

        Parameters
        ----------
        X, y, sample_weight
            Rows, labels and weights that the model was fitted to, or a subset of them.

        >>> from sunrise import NaiveBayes
        >>> table = {"height": [1.62, 1.71, 1.58, 1.93, 1.88, 1.65], "sex": list("ffmmmm")}
        >>> model = NaiveBayes("auto-fast").fit(table, "sex")
        >>> np.exp(model.leave_one_out(table, "sex")).round(2)[-2:]
        array([[0.13, 0.87],
               [0.61, 0.39]])
        """
        with limited_to(self.n_jobs):
            return self._read_training_rows(X, y, sample_weight).log_proba()

    def loo_score(self, X: Any, y: Any, sample_weight: Any = None) -> LooScore:
        """Return accuracy and log loss on training rows that the model has not seen, with those of the class prior.

        A plain model is scored by leave-one-out. A model whose families or weights were chosen by leave-one-out scores
        is scored by folds, in which the choices are made again; `method` of the result tells which.

        >>> from sunrise.datasets import load_house_votes
        >>> from sunrise import NaiveBayes
        >>> votes = load_house_votes("pandas").frame
        >>> score = NaiveBayes(calibrate=None).fit(votes, "party").loo_score(votes, "party")
        >>> round(score.accuracy, 3), round(score.prior_accuracy, 3), score.rows, score.method
        (0.901, 0.614, 435, 'leave-one-out')
        """
        self._require_fitted()
        self._refuse_fixed_parameters()
        settings = self._checked_settings()
        with limited_to(self.n_jobs):
            rows = self._known_rows(settings, X, y, sample_weight)
            return self._judge(settings, rows, find_pairs=True).score

    def recalibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the calibration again on training rows (all or a subset); the statistics do not change.

        A model with `keep_pairs="all"` also chooses its pairs of columns again, among those that it has counted.
        """
        with self._unchanged_on_failure():
            if "calibrate" not in self.get_params():
                raise ValueError(
                    f"{type(self).__name__} has nothing to calibrate. Use NaiveBayes(families=..., calibrate=...)."
                )
            settings = self._checked_settings()
            if self._calibration_kind() is None:
                raise ValueError(
                    'calibrate is None, so there is nothing to calibrate: set calibrate="temperature" or "columns".'
                )
            self._require_fitted()
            self._refuse_fixed_parameters()
            self._recalibrate(settings, self._known_rows(settings, X, y, sample_weight))
        return self

    def interval(
        self, X: Any, level: float = 0.95, n_draws: int = 1000, random_state: Any = 0
    ) -> tuple[Floats, Floats]:
        """Return a credible interval of every predicted probability, from the posterior distribution of the parameters.

        The parameters are drawn `n_draws` times from their posterior. Class probabilities are drawn, too, if they were
        estimated from the data (under a uniform prior). The interval has equal tails and refers to the calibrated
        probability; the calibration itself is kept fixed. Kernel densities draw the shares of their training values and
        of the pooled density from a Dirichlet distribution (Bayesian bootstrap) and keep their bandwidths. Columns
        without a posterior (gamma, beta, von Mises, text scored by "odds" or "complement") use their point estimates.

        Returns
        -------
        low, high : ndarray of shape (n_samples, n_classes)
            Lower and upper ends of the intervals.

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
            raise ValueError(f"n_draws is {n_draws!r}; it must be a positive integer, for example 1000.")
        batch, _ = self._encode(X)
        if self.__dict__.get("_fixed"):
            raise ValueError(
                f"This {type(self).__name__} was made from parameters without rows=, so they have no posterior. "
                "Pass from_parameters(..., rows=), the number of training rows that the parameters are worth."
            )
        model = self._model
        if model.parts and not any(part.family.generative for part in model.parts):
            name = model.parts[0].family.name
            raise ValueError(
                f"{name} is not a distribution of the cells, so its parameters have no posterior."
            )
        return intervals(model, batch, tails, int(n_draws), np.random.default_rng(random_state))

    @property
    def quality_(self) -> Quality | None:
        """Confusion matrix, reliability and thresholds on training rows that the model has not seen.

        It belongs to `loo_score_` and is None without it: `calibrate=None` and updates leave none. `evaluate` returns
        the same for other rows.

        >>> from sunrise import NaiveBayes
        >>> from sunrise.datasets import load_heart_disease
        >>> model = NaiveBayes().fit(load_heart_disease("pandas").frame, "disease")
        >>> model.quality_.confusion.astype(int)
        array([[141,  23],
               [ 28, 111]])
        >>> groups = model.quality_.reliability("yes", groups=3)
        >>> groups.predicted.round(2), groups.observed.round(2)
        (array([0.06, 0.4 , 0.91]), array([0.07, 0.41, 0.91]))
        """
        self._fitted_model("quality_")
        score: LooScore | None = self.__dict__.get("loo_score_")
        if score is None or score.quality is None:
            return None
        return replace(score.quality, classes=self.classes_)

    @property
    def calibration_(self) -> Calibrated | None:
        """The fitted calibration by names of columns and classes; None if the scores are not calibrated."""
        model = self._fitted_model("calibration_")
        if (calibration := model.calibration) is None:
            return None
        names, weights, exponents = self._summands(), {}, {}
        for part in model.parts:
            joint = part.family.joint
            for columns in [part.columns] if joint else [(j,) for j in part.columns]:
                together = joint and not part.family.reader.own_block
                key: Any = tuple(names[j] for j in columns) if together else names[columns[0]]
                weights[key] = float(calibration.weights[columns[0]])
                if joint:
                    exponents[key] = float(calibration.exponents_of_columns[columns[0]])
        return Calibrated(
            calibration.kind,
            weights,
            exponents,
            dict(calibration.offsets),
            calibration.stale,
            calibration.strengths,
        )

    def _read_training_rows(self, X: Any, y: Any, sample_weight: Any) -> LeaveOneOut:
        """Return training rows, encoded for leave-one-out scores."""
        self._require_fitted()
        self._refuse_fixed_parameters()
        model, who, table = self._model, type(self).__name__, self._read_table(X, fitting=False)
        table, y, _ = separate_labels(who, X, table, y)
        batch, _ = encode_rows(table, model)
        classes, codes = encode_labels(who, y, batch.n_rows)
        return self._leave_one_out_rows(model, batch, classes, codes, weights(sample_weight, batch.n_rows))
