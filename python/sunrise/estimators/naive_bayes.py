"""NaiveBayes: one model for a whole table."""

from __future__ import annotations

from typing import Any

from sunrise.estimators.constraints import COMMON, UNLABELLED, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.generative import GenerativeMixin
from sunrise.estimators.reliability import ReliabilityMixin
from sunrise.estimators.summary import SummaryMixin
from sunrise.families.base import ESTIMATES, Family
from sunrise.model.settings import Settings


class NaiveBayes(GenerativeMixin, ReliabilityMixin, SummaryMixin):
    """Naive Bayes for a whole table: numbers, counts, yes and no and categories, with missing cells.

    Takes pandas, polars and pyarrow tables, anything with the Arrow PyCapsule interface, dicts of columns, arrays,
    and sparse matrices as one block. Missing cells are left out of fit and of predict, exactly.

    Parameters
    ----------
    families : "auto", "auto-fast", str, Family or dict, default="auto"
        The family of every column: chosen automatically, one for all columns, or given by column. "auto" chooses by
        type (rules in `sunrise.selection.rules`), except for numeric columns: there it takes the family with the best
        leave-one-out score on a sample of rows (`sunrise.selection.by_score`; with more than 256 numeric columns or 200
        classes, all columns are chosen by type).
        "auto-fast" goes by type alone. A dict leads from a column, or a tuple of columns that form a block, to the name
        of a family, a family such as `sunrise.Poisson()`, "auto-fast", or None to leave the column out; columns it does
        not name are "auto". The first data seen decides, and `families_` says what and why.
    class_prior : "fitted", "uniform", array-like or dict, default="fitted"
        Class probabilities: learned, equal, or given in the order of `classes_` or by label.
    estimate : {"mean", "map", "mle", "predictive"}, default="mean"
        Which numbers stand for the parameters: posterior means, the most probable ones, those of maximum likelihood
        (no prior at all), or none, because they are integrated out (a Student's t for Gaussian columns).
    unseen : {"reserve", "ignore", "error"}, default="reserve"
        What a category that was never seen in fit gets at predict: the posterior mass of one more cell, its
        factor left out, or an error.
    calibrate : {"temperature", "columns"} or None, default=None
        Make the probabilities honest, on exact leave-one-out scores of the fitted rows: one temperature for all
        columns (and an exponent on the length of rows of counts), or one weight for each column, with an offset for
        each class. `fit` does so; `partial_fit`, `forget` and `merge` keep what was found and mark it as stale until
        `recalibrate`.
    unlabelled : {"error", "em"}, default="error"
        What `fit` does with rows whose label is missing (None, NaN or a null): refuse them, or learn from them, too, by
        EM (semi-supervised). `em_` says what came of it.
    unlabelled_weight : "auto" or float in (0, 1], default="auto"
        What a row without a label counts beside a labelled one; "auto" chooses. Where EM does no better on
        labelled rows held out than these alone, rows without a label are left out, whatever the weight.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the weights of their rows.
    n_jobs : int or None, default=None
        Threads; None means SUNRISE_THREADS, else OMP_NUM_THREADS, else all cores.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted. `class_prior_` (which may be set) and `class_count_` go with them.
    families_ : frame or dict
        The family of every column and why; `fixed_families_` is a dict to give to another model.
    parameters_ : dict
        The parameters of every column, each with a number per class.
    feature_names_in_, n_features_in_ : ndarray of str, int
        The columns of the first data.
    stats_ : Stats
        All that is kept of the data: sums and counts.
    em_ : Em
        What came of rows without a label, where there were some.

    Examples
    --------
    >>> from sunrise import NaiveBayes
    >>> table = {"height": [1.62, 1.71, 1.93, 1.88, None], "hair": ["long", "long", "short", None, "long"]}
    >>> model = NaiveBayes().fit(table, ["a", "a", "b", "b", "a"])
    >>> model.predict({"height": 1.9, "hair": "bald"})
    array(['b'], dtype='<U1')
    """

    _parameter_constraints: dict[str, Any] = {
        "families": [str, Family, dict],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        "estimate": [StrOptions(set(ESTIMATES))],
        "unseen": [StrOptions({"reserve", "ignore", "error"})],
        "calibrate": [StrOptions({"temperature", "columns"}), None],
        **UNLABELLED,
        **COMMON,
    }

    class_count_ = FittedAttribute(lambda self: self._model.stats.weight, "Weight of each class.")
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
        calibrate: str | None = None,
        unlabelled: str = "error",
        unlabelled_weight: Any = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.class_prior = class_prior
        self.estimate = estimate
        self.unseen = unseen
        self.calibrate = calibrate
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        return Settings(
            self.families, self.class_prior, self.class_weight, self.n_jobs, self.unseen, self.estimate
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
