"""NaiveBayes: one model for a table with columns of different types."""

from __future__ import annotations

from typing import Any, Self

from sunrise.estimators.constraints import COMMON, UNLABELLED, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.generative import GenerativeMixin
from sunrise.estimators.given_parameters import given_parameters
from sunrise.estimators.mixed_parameters import schema_and_blocks
from sunrise.estimators.privacy import PrivacyMixin
from sunrise.estimators.reliability import ReliabilityMixin
from sunrise.estimators.reporting import ReportMixin
from sunrise.estimators.saving import SavingMixin
from sunrise.estimators.summary import SummaryMixin
from sunrise.estimators.words import WordsMixin
from sunrise.families.base import ESTIMATES, Family
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats


class NaiveBayes(
    GenerativeMixin, PrivacyMixin, ReliabilityMixin, WordsMixin, SummaryMixin, ReportMixin, SavingMixin
):
    """Naive Bayes for tables with columns of different types: numbers, counts, booleans, categories and text.

    X may be a pandas, polars or pyarrow table, any object with the Arrow PyCapsule interface, a dict of columns, an
    array, or a sparse matrix, whose columns form one block of one family. Missing cells are skipped in fit and in
    predict, which is exact under the naive Bayes assumption; no imputation is needed.

    Parameters
    ----------
    families : "auto", "auto-fast", str, Family or dict, default="auto"
        The family (distribution) of every column: chosen automatically, one family for all columns, or a dict.

        - "auto" chooses by column type (rules in `sunrise.selection.rules`). For numeric columns it chooses the family
          with the best leave-one-out score on a sample of rows (`sunrise.selection.by_score`); with more than 200
          classes, all columns are chosen by type.
        - "auto-fast" chooses all columns by type.
        - A dict maps a column, or a tuple of columns that form a block, to the name of a family, a family object such
          as `sunrise.Poisson()`, "auto-fast", or None to leave the column out. Columns not in the dict are "auto".

        The families are chosen by `fit`, or by the first 1,000 rows of `partial_fit`, and stay fixed; `families_` shows
        them with the reason for each choice.
    class_prior : "fitted", "uniform", array-like or dict, default="fitted"
        Class probabilities: estimated from the data ("fitted"), equal ("uniform"), given in the order of `classes_`, or
        given as a dict from label to probability.
    estimate : {"mean", "map", "mle", "predictive"}, default="mean"
        Estimate of the parameters: posterior mean ("mean"), posterior mode ("map"), maximum likelihood without a prior
        ("mle"), or no point estimate: "predictive" integrates the parameters out, which gives, for example, Student's t
        distributions for Gaussian columns.
    unseen : {"reserve", "ignore", "error"}, default="reserve"
        Treatment of a category in predict that did not occur in fit: "reserve" gives the category the same
        probability in every class, so that it is evidence for no class, "ignore" skips the cell, "error" raises a
        ValueError.
    calibrate : {"auto", "columns", "temperature", "words"} or None, default="auto"
        Calibrate the probabilities on leave-one-out scores of the training rows, with an offset for each class and
        either one weight for each column ("columns") or one weight for all columns ("temperature", which also fits an
        exponent of the row length for blocks of counts). Folds of the rows choose how strongly weights are shrunk.
        "words" is for a model of one text column, see `sunrise.TextNB`. "auto" is "columns"; "words" for one text
        column, and "temperature" for other joint blocks (counts) and where columns x classes are more than 8192; None
        with fewer than 30 different rows, with fewer than two classes of 5 different rows, or with more than 200
        classes. None is plain naive Bayes. `fit` calibrates, and so do the first 1,000 rows of `partial_fit`. Later
        updates keep the previous calibration and mark it as stale; `recalibrate` fits it again.
    interactions : "auto", "pairs", list or None, default="auto"
        Columns to score together, for what they say beyond each column alone. "auto" searches the pairs of columns that
        improve the leave-one-out scores clearly, and scores all numeric columns together by one multivariate Student-t
        (`Correlated`) if that improves them; "pairs" searches pairs only. Both need one weight for each column
        (`calibrate`). A list names pairs, and at most one group of three or more numeric columns, or takes
        `interactions_` of another model, bins and scales included. `interactions_` shows what was found.
    keep_pairs : "all" or None, default=None
        "all" also keeps the counts of the pairs that the search has considered and not chosen. They are part of the
        statistics (`partial_fit`, `forget`, `merge`, ...) and not of the score, and `recalibrate` chooses among them
        again. It needs `interactions` "auto" or "pairs". None keeps the counts of the pairs in `interactions_` only.
    unlabelled : {"error", "em"}, default="error"
        Treatment of rows whose label is missing (None, NaN or a null) in `fit`: "error" raises a ValueError, "em" uses
        the rows for semi-supervised learning by the EM algorithm, which `em_` describes.
    unlabelled_weight : "auto" or float in (0, 1], default="auto"
        Weight of a row without a label relative to a labelled row. "auto" chooses the weight by cross-validation; if EM
        does not predict held-out labelled rows better than a model of the labelled rows only, the rows without a label
        are ignored. A number is used in any case; `em_.scores` has the cross-validated accuracies with and without.
    class_weight : dict, "balanced" or None, default=None
        Class weights: the weight of a class multiplies the weights of its rows. "balanced" gives every class the same
        total weight.
    verbose : bool, default=False
        Print a line for every step of EM to standard error. The logger "sunrise" gets the same lines at level INFO.
    n_jobs : int or None, default=None
        Number of threads. None: the environment variable SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    class_prior_, class_count_ : ndarray of shape (n_classes,)
        Probability and total weight of each class. `class_prior_` may be set.
    families_ : frame or dict
        The family of every column, the reason for the choice, the parameters, and the scores of the candidates.
    fixed_families_ : dict
        The chosen families in the form of the `families` argument, to be passed to another model.
    parameters_ : dict
        The parameters of every column; each parameter is an array with one number per class.
    feature_names_in_, n_features_in_ : ndarray of str, int
        Names (if all names are strings) and number of the columns.
    schema_ : Schema
        The columns and their families, for workers that add up statistics (see `Accumulator`).
    stats_ : Stats
        The statistics of the training data: sums and counts, and the training values of columns with kernel densities
        (see `families_` and `compress`). The model keeps no other data, except the first rows of a stream until 1,000
        rows have decided the families.
    interactions_ : tuple of Interaction
        Pairs of columns that the model scores together, with the gain for which each was chosen.
    loo_score_ : LooScore
        Accuracy and log loss on rows that the model has not seen, and the method: by 5 folds if choices were made by
        leave-one-out scores, otherwise leave-one-out. Set by `fit` and `recalibrate`, unless `calibrate` is None.
    em_ : Em
        Result of learning from rows without a label; present only if labels were missing in `fit`.

    Examples
    --------
    >>> from sunrise import NaiveBayes
    >>> table = {"height": [1.62, 1.71, 1.93, 1.88, None], "hair": ["long", "long", "short", None, "long"]}
    >>> model = NaiveBayes().fit(table, ["a", "a", "b", "b", "a"])
    >>> model.predict({"height": 1.9, "hair": None})
    array(['b'], dtype='<U1')
    """

    _parameter_constraints: dict[str, Any] = {
        "families": [str, Family, dict],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        "estimate": [StrOptions(set(ESTIMATES))],
        "unseen": [StrOptions({"reserve", "ignore", "error"})],
        "calibrate": [StrOptions({"auto", "temperature", "columns", "words"}), None],
        "interactions": [StrOptions({"auto", "pairs"}), list, tuple, None],
        "keep_pairs": [StrOptions({"all"}), None],
        **UNLABELLED,
        **COMMON,
    }

    interactions_ = FittedAttribute(
        lambda self: self._model.schema.interactions,
        "Columns that are scored together.",
    )
    schema_ = FittedAttribute(lambda self: self._model.schema, "The columns of the model and their families.")
    class_count_ = FittedAttribute(lambda self: self._model.stats.weight, "Total weight of each class.")
    class_prior_ = FittedAttribute(
        lambda self: self._model.class_prior, "Probability of each class.", settable=True
    )

    def __init__(
        self,
        families: Any = "auto",
        *,
        class_prior: Any = "fitted",
        estimate: str = "mean",
        unseen: str = "reserve",
        calibrate: str | None = "auto",
        interactions: Any = "auto",
        keep_pairs: str | None = None,
        unlabelled: str = "error",
        unlabelled_weight: Any = "auto",
        class_weight: Any = None,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.class_prior = class_prior
        self.estimate = estimate
        self.unseen = unseen
        self.calibrate = calibrate
        self.interactions = interactions
        self.keep_pairs = keep_pairs
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.class_weight = class_weight
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        if self.keep_pairs is not None and self.interactions not in ("auto", "pairs"):
            raise ValueError(
                f"keep_pairs is {self.keep_pairs!r}, which keeps pairs of columns for a search, and "
                f'interactions={self.interactions!r} searches none. Set interactions to "auto" or "pairs", or '
                "keep_pairs to None."
            )
        own = self.families, self.class_prior, self.class_weight, self.n_jobs, self.unseen, self.estimate
        return Settings(*own, interactions=self.interactions, keep_pairs=self.keep_pairs)

    @classmethod
    def from_parameters(
        cls, parameters: dict[Any, Any], *, classes: Any, class_prior: Any = None, rows: float | None = None
    ) -> Self:
        """Return a model with given parameters, for example published or expert numbers, without data.

        Parameters
        ----------
        parameters : dict
            Maps every column to a pair: the name of a family, and a dict with its parameters under the names that
            `parameters_` shows: "mean" and "sd" (gaussian), "log mean" and "log sd" (lognormal), "yes" (bernoulli),
            "rate" (poisson, exponential), "p" (geometric), "shape" and "rate" (gamma), "a" and "b" (beta), "direction"
            and "concentration" (vonmises), "mean" and "size" (negative_binomial), "rate" and "zeros"
            (zero_inflated_poisson), or the levels (categorical). A tuple of columns maps to "multinomial" and the share
            of each column. A parameter is one number for all classes, one per class in the order of `classes`, or a
            dict by class.
        classes : array-like
            The class labels.
        class_prior : array-like, dict or None, default=None
            Class probabilities in the order of `classes` or by label; None gives all classes the same.
        rows : float or None, default=None
            Number of training rows that the parameters are worth. Without it the model predicts, explains and samples,
            but cannot be updated or merged.

        A category that is not among the given levels is ignored. The model is not calibrated.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes.from_parameters(
        ...     {"age": ("gaussian", {"mean": [40, 60], "sd": 10}), "smoker": ("bernoulli", {"yes": [0.2, 0.5]})},
        ...     classes=["well", "sick"], class_prior=[0.9, 0.1])
        >>> model.predict_proba({"age": 60, "smoker": None}).round(3)  # log-odds log(1/9) + 2
        array([[0.451, 0.549]])
        """
        if cls._settings is not NaiveBayes._settings:
            raise TypeError(f"{cls.__name__} cannot be made from parameters. Use NaiveBayes.from_parameters.")
        given = given_parameters(classes, class_prior, rows)
        schema, blocks = schema_and_blocks(parameters, given)
        model = cls(schema.families, estimate="mle", unseen="ignore", calibrate=None)
        model.__dict__["_fixed"] = not given.updatable
        model._name_columns(schema)
        stats = Stats(given.classes, given.rows, given.class_weight, blocks)
        model._set_state(model._checked_settings(), schema, stats, announced=None)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
