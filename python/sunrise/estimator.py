"""NaiveBayes: the only fit, partial_fit, forget, merge and predict in the library.

A model is its statistics and its settings. Everything shown or used in prediction is derived from them by
`Derived`, which is made anew whenever either changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise import _native, labels
from sunrise.alert import alert
from sunrise.arrays import Floats, Labels
from sunrise.choose import choices_by_score
from sunrise.data import read, write
from sunrise.data.align import align, label_column
from sunrise.data.batch import Batch, Block
from sunrise.data.frame import Frame, frame_of, library_of
from sunrise.derived import Derived, Fitted, Settings
from sunrise.duplicates import DuplicateColumnsWarning, Glimpse, told
from sunrise.em import Em, SemiSupervised, Told
from sunrise.engines import array
from sunrise.explain import Explanation
from sunrise.family import ESTIMATES, Family
from sunrise.honest import Honest
from sunrise.infer import choice_of_matrix
from sunrise.linear import LinearForm
from sunrise.observe import Observer
from sunrise.present import counted, present
from sunrise.schema import Choice, Schema, given_choices
from sunrise.score import scored
from sunrise.stats import NeverSeenError, Stats
from sunrise.summary import AtAGlance
from sunrise.text.counter import counting_once
from sunrise.uses import Uses

COMMON_CONSTRAINTS: dict[str, Any] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}

UNLABELLED_CONSTRAINTS: dict[str, Any] = {
    "unlabelled": [StrOptions({"error", "em"})],
    "unlabelled_weight": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
}


class ImpossibleRowWarning(UserWarning):
    """Rows have probability 0 under every class; they got the class prior.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ImpossibleRowWarning)`.
    """


class FirstBatchWarning(UserWarning):
    """The first batch of a stream, which decides the families, says too little of some columns.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.FirstBatchWarning)`.
    """


class NaiveBayes(ClassifierMixin, Uses, Honest, AtAGlance):  # type: ignore[misc]
    """Naive Bayes for a whole table: numbers, counts, yes and no and categories, with missing cells.

    Takes pandas, polars and pyarrow tables, anything with the Arrow PyCapsule interface, dicts of columns, arrays,
    and sparse matrices as one block. Missing cells are left out of fit and of predict, exactly.

    Parameters
    ----------
    families : "auto", "auto-fast", str, Family or dict, default="auto"
        The family of every column: inferred, one for all, or by column. "auto" goes by type (the rules are in
        `sunrise.infer`) but for numbers, of which it takes the family that tells most of the class on some rows
        (`sunrise.choose`; where there are more than 256 such columns or 200 classes, they go by type, too).
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

    stats_: Stats
    em_: Em
    classes_: Labels
    n_features_in_: int
    _fitted: Derived
    _announced: Labels | None

    _parameter_constraints: dict[str, Any] = {
        "families": [str, Family, dict],
        "class_prior": ["array-like", dict, StrOptions({"fitted", "uniform"})],
        "estimate": [StrOptions(set(ESTIMATES))],
        "unseen": [StrOptions({"reserve", "ignore", "error"})],
        "calibrate": [StrOptions({"temperature", "columns"}), None],
        **UNLABELLED_CONSTRAINTS,
        **COMMON_CONSTRAINTS,
    }

    class_count_ = Fitted(lambda self: self._fitted.stats.weight, "Weight of each class.")
    class_prior_ = Fitted(lambda self: self._fitted.class_prior, "Probability of each class.", settable=True)

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

    # Learning: every way to learn is read, accumulate, then + or - on the statistics.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows X with labels y.

        Parameters
        ----------
        X : table of n_samples rows
            The rows. NaN, None and nulls are missing.
        y : array-like of shape (n_samples,), or str
            The labels, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight k is the row k times, weight 0 is no row.
        """
        with self._unchanged_on_failure(), counting_once():
            settings = self._checked_settings()
            schema, stats, observer = self._observe(settings, None, X, y, sample_weight, watch=True)
            for stale in ("_fixed", "_fitted", "selected_", "loo_score_", "em_"):
                self.__dict__.pop(stale, None)
            if observer.labels is not None:
                self._fit_some(settings, schema, stats, X, y, observer)
                return self
            self._become(settings, schema, stats, announced=None)
            if self._calibrate_as() is not None:
                self.recalibrate(X, y, sample_weight)
        return self

    def _fit_some(
        self, settings: Settings, schema: Schema, every: Stats, X: Any, y: Any, observer: Observer
    ) -> None:
        """Learn from labelled and unlabelled rows, or from the labelled ones where that is better."""
        plain, labelled, _ = self._observe(settings, None, X, y, None, observer=observer.of_labelled)
        table = self._open(X, fitting=False)
        semi = SemiSupervised(settings, schema, every, table, observer)
        alone = Told(settings, plain, labelled, table, observer, semi.y)
        stats, self.em_, rows = semi.learn(self.unlabelled_weight, alone)
        if stats is None:
            schema, stats = plain, labelled
        self._become(settings, schema, stats, announced=None)
        if self._calibrate_as() is not None:
            self._recalibrated(alone.left_out(self._fitted) if rows is None else rows)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows: exactly `fit` on all rows so far.

        Classes may appear at any time. Those announced in `classes` are a promise: they are part of the model
        from the start, and another label is then an error.

        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().partial_fit([[0.0], [1.0]], ["a", "b"]).partial_fit([[5.0]], ["c"])
        >>> model.classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            known = self.__dict__.get("_fitted")
            announced = self._promised(classes, settings)
            schema = before = None
            if known is not None:
                schema, before = self._under(settings)
                self._refuse_fixed_parameters()
            schema, stats, _ = self._observe(settings, schema, X, y, sample_weight)
            if announced is not None:
                strange = stats.classes[labels.locate(announced, stats.classes) < 0]
                if len(strange):
                    raise ValueError(
                        f"The target label(s) {strange} in y do not exist in the initial classes {announced}. "
                        "Announce them in the first call's classes=, or announce none."
                    )
            self._become(settings, schema, stats if before is None else before + stats, announced)
            if known is None:
                self._warn_of_a_poor_start(schema)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back out: exactly as if they had never been seen.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0], [1], [1]], ["a", "b", "b"]).forget([[1]], ["b"])
        >>> model.class_count_
        array([1., 1.])
        """
        self._require_fitted()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            schema, before = self._under(settings)
            self._refuse_fixed_parameters()
            _, taken, _ = self._observe(settings, schema, X, y, sample_weight)
            try:
                rest = before - taken
            except NeverSeenError as error:
                raise ValueError(
                    f"These rows cannot be forgotten: {error}. Forget only rows that were fitted."
                ) from None
            if rest.rows.any():
                announced = self._announced
                if announced is None and isinstance(settings.class_prior, dict):
                    announced = self.classes_  # the prior names them still
                self._become(settings, schema, rest, announced)
            else:
                self._become_unfitted()
        return self

    def merge(self, other: Self) -> Self:
        """Learn all that another model has learned: exactly `partial_fit` on its rows.

        >>> from sunrise import MultinomialNB
        >>> a, b = MultinomialNB().fit([[1, 0]], ["x"]), MultinomialNB().fit([[0, 1]], ["y"])
        >>> a.merge(b).feature_count_
        array([[1., 0.],
               [0., 1.]])
        """
        if type(other) is not type(self):
            raise TypeError(f"cannot merge {type(other).__name__} into {type(self).__name__}")
        other._require_fitted()
        other._refuse_fixed_parameters()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            if "_fitted" not in self.__dict__:
                self.__dict__.update(other.__dict__ | self.get_params(deep=False))
                self._become(settings, *self._under(settings), other._announced)
                return self
            schema, before = self._under(settings)
            self._refuse_fixed_parameters()
            theirs = other._fitted.schema
            blocks = schema.aligned(theirs, other.stats_.blocks)
            schema = schema.with_levels_of(theirs)
            announced = self._announced
            if announced is not None:
                announced = labels.union(announced, other.stats_.classes)
            self._become(settings, schema, before + replace(other.stats_, blocks=blocks), announced)
        return self

    def __add__(self, other: Self) -> Self:
        """Merge two models into a new one with the left one's settings."""
        return self._copy().merge(other)

    def _copy(self) -> Self:
        new = type(self)(**self.get_params())
        new.__dict__.update(self.__dict__)
        return new

    def __radd__(self, other: Any) -> Self:
        """Let sum() begin from its 0."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return type(self)(**self.get_params()).merge(self)

    def _checked_settings(self) -> Settings:
        self._validate_params()
        return self._settings()

    def _open(self, X: Any, fitting: bool) -> Frame | Block:
        """Read a table: as one block where it is sparse, else column by column."""
        return read.matrix(self, X, fitting=fitting) if sparse.issparse(X) else frame_of(X)

    def _observe(
        self,
        settings: Settings,
        schema: Schema | None,
        X: Any,
        y: Any,
        sample_weight: Any,
        watch: bool = False,
        observer: Observer | None = None,
    ) -> tuple[Schema, Stats, Observer]:
        """The statistics of some rows, their schema, which is chosen where there is none yet, and who added them up."""
        who, table = type(self).__name__, self._open(X, fitting=schema is None)
        if not isinstance(table, Frame):
            names = getattr(self, "feature_names_in_", None)
            if schema is None:
                choice = choice_of_matrix(settings.families, table)
                whole = Schema.whole(choice, table.shape[1], names, library_of(X))
                schema = whole if whole.is_matrix else None
            if schema is not None and schema.is_matrix:
                observer = observer or self._observer(who, settings, y, sample_weight, table.shape[0], watch)
                return schema, observer.matrix(table, schema.parts[0].family, names), observer
            table = frame_of(table.numbers())
        table, y, label = read.labelled(who, X, table, y)
        observer = observer or self._observer(who, settings, y, sample_weight, table.n_rows, watch)
        if schema is not None:
            return *observer.frame(align(table, schema), schema, settings.families), observer
        if watch and self._calibrate_as() != "columns":
            observer = replace(observer, glimpse=Glimpse.of(table.n_rows))
        schema, stats = observer.frame(
            table, None, settings.families, self._scored_choices(observer, table, settings)
        )
        self._name_columns(schema)
        if observer.glimpse is not None and (
            pairs := observer.glimpse.pairs(observer.codes[observer.glimpse.rows])
        ):
            alert(told(pairs, [str(name) for name in schema.names]), DuplicateColumnsWarning)
        return replace(schema, label=label), stats, observer

    def _scored_choices(self, observer: Observer, table: Frame, settings: Settings) -> dict[int, Choice]:
        """Families of columns of numbers, by what they tell of the class, where that is asked for."""
        families = settings.families
        if not isinstance(families, dict) and families != "auto":
            return {}
        given = given_choices(families, table.names)
        open_ = [j for j, choice in enumerate(given) if choice is None]
        if isinstance(families, dict):
            known = set(table.names)
            fast = [
                key for key, wanted in families.items() if isinstance(wanted, str) and wanted == "auto-fast"
            ]
            named = {name for key in fast for name in ([key] if key in known else key)}
            open_ = [j for j in open_ if table.names[j] not in named]
        return choices_by_score(observer, table, settings, open_)

    def _observer(
        self, who: str, settings: Settings, y: Any, sample_weight: Any, n_rows: int, fitting: bool
    ) -> Observer:
        try:
            classes, codes = read.target(who, y, n_rows)
        except read.MissingLabelError:
            if getattr(self, "unlabelled", "error") != "em":
                raise
            if not fitting:
                raise ValueError(
                    "a label is missing, and only fit learns from rows without one: which class they are of depends on "
                    "all the others. Drop them here."
                ) from None
            return self._observer_of_some(who, settings, y, sample_weight, n_rows)
        weight = read.weights(sample_weight, n_rows)
        if n_rows == 0 or len(classes) == 0:
            raise ValueError("Found no rows to fit. Pass at least one.")
        return Observer(classes, codes, weight, settings.n_jobs, who)

    @staticmethod
    def _observer_of_some(who: str, settings: Settings, y: Any, sample_weight: Any, n_rows: int) -> Observer:
        """Rows without a label as a class of their own, which comes last."""
        labels, codes = read.target_or_none(who, y, n_rows)
        codes = np.where(codes < 0, len(labels), codes).astype(np.int32)
        weight = read.weights(sample_weight, n_rows)
        return Observer(np.arange(len(labels) + 1), codes, weight, settings.n_jobs, who, labels=labels)

    def _name_columns(self, schema: Schema) -> None:
        self.__dict__["n_features_in_"] = len(schema.names)
        self.__dict__.pop("feature_names_in_", None)
        if schema.is_named and all(isinstance(name, str) for name in schema.names):
            self.__dict__["feature_names_in_"] = np.array(schema.names, dtype=object)

    def _under(self, settings: Settings) -> tuple[Schema, Stats]:
        """The model's schema and statistics; settings that shaped them must be as they were."""
        old = self._fitted.schema
        for part in self._fitted.parts:
            if not part.family.additive:
                raise ValueError(
                    f"column {old.names[part.columns[0]]!r}: the words of this text were weighed before its length was "
                    "taken, so its sums depend on all documents together: it can be neither updated nor merged. Set "
                    "idf_first=False."
                )
        new = old.under(settings.families, type(self).__name__)
        return new, replace(self.stats_, blocks=new.regrouped(old, self.stats_.blocks))

    def _warn_of_a_poor_start(self, schema: Schema) -> None:
        """What the first rows of a stream say decides for good."""
        names = [
            name for name, choice in zip(schema.names, schema.choices, strict=True) if choice.is_uninformed
        ]
        if names:
            alert(
                f"The first batch decides the families, and the edges of bins, for good, and of {len(names)} columns, "
                f"{names[0]!r} for one, it says too little to do so ({int(self.stats_.rows.sum())} rows in all). Begin "
                "with a larger batch, or give families=.",
                FirstBatchWarning,
            )

    def _promised(self, classes: Any, settings: Settings) -> Labels | None:
        """The announced classes; a prior by label announces those it names."""
        announced: Labels | None = self.__dict__.get("_announced")
        if classes is None and "_fitted" not in self.__dict__ and isinstance(settings.class_prior, dict):
            classes = list(settings.class_prior)
        if classes is None:
            return announced
        given = labels.sort(np.atleast_1d(labels.as_array(classes)))
        if announced is None:
            known = self.__dict__.get("classes_", given[:0])
            if (labels.locate(given, known) >= 0).all():
                return given
        if announced is None or not np.array_equal(announced, given):
            raise ValueError(
                f"`classes={given.tolist()!r}` is not the same as on last call to partial_fit, was: "
                f"{(self.classes_ if announced is None else announced).tolist()!r}. "
                "Announce all classes in the first call, or none."
            )
        return announced

    def _become(self, settings: Settings, schema: Schema, stats: Stats, announced: Labels | None) -> None:
        """Take on new statistics."""
        for part, block in zip(schema.parts, stats.blocks, strict=True):
            if complaint := settings.settle(part.family).complaint(block):
                names = getattr(self, "feature_names_in_", schema.names)
                where = f"column {names[part.columns[complaint.column]]!r}"
                if complaint.of_class is not None:
                    where = f"class {stats.classes.tolist()[complaint.of_class]!r}: {where}"
                raise ValueError(f"{where} {complaint.text}")
        classes = stats.classes if announced is None else labels.union(announced, stats.classes)
        before = self.__dict__.get("_fitted")
        calibration = None if before is None or before.calibration is None else before.calibration.stale_now()
        fitted = Derived(settings, schema, stats, classes, calibration=calibration)
        self.__dict__.update(stats_=stats, classes_=classes, _announced=announced, _fitted=fitted)
        self.__dict__.pop("loo_score_", None)  # it was that of another model

    def _become_unfitted(self) -> None:
        for name in (
            "stats_",
            "classes_",
            "_announced",
            "_fitted",
            "n_features_in_",
            "feature_names_in_",
            "_fixed",
            "loo_score_",
            "em_",
            "selected_",
        ):
            self.__dict__.pop(name, None)

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            raise ValueError(
                f"This {type(self).__name__} was made from parameters that stand for no number of rows. "
                "Give from_parameters(..., rows=) their equivalent number of rows to update or merge it."
            )

    # Predicting: read, score, and that is all; nothing of the estimator changes.

    def _require_fitted(self) -> None:
        if "_fitted" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def _batch(self, X: Any) -> tuple[Batch, Frame | None]:
        """The cells of rows as the model scores them, and the table they came in."""
        self._require_fitted()
        return present(self._open(X, fitting=False), self._fitted)

    def _score(self, X: Any, output: str | None) -> NDArray[Any]:
        return self._scored(self._batch(X)[0], output, self._fitted)

    def _scored(self, batch: Batch, output: str | None, fitted: Derived) -> NDArray[Any]:
        try:
            values, impossible = scored(fitted, batch, output)
        except _native.CellError as error:
            self._refuse_cell(batch, error)
        if impossible:
            alert(
                f"{impossible} of {batch.n_rows} rows have probability 0 under every class and got the class prior. "
                "Smoothing (alpha or var_smoothing above 0) avoids it.",
                ImpossibleRowWarning,
            )
        return values

    def _refuse_cell(self, batch: Batch, error: _native.CellError) -> NoReturn:
        """Name the cell that could not be scored; blocks do not know their place in the table, so look for it."""
        fitted, names = self._fitted, getattr(self, "feature_names_in_", None)
        row, n_classes = np.array([error.args[1]]), len(fitted.classes)
        for part, block, form in zip(fitted.parts, batch.blocks, fitted.forms, strict=True):
            support = part.family.support
            try:
                array.summed(block, support, form.finite, n_classes, row)
            except _native.CellError as found:
                why, at, j, value = found.args
                views = len(support.views)
                read.refuse_cell(
                    type(self).__name__, names, (why, at, part.columns[j // views] * views, value), support
                )
        read.refuse_cell(type(self).__name__, names, error.args, fitted.supports[0])

    def predict(self, X: Any, as_frame: bool = False) -> Any:
        """The most probable class of every row; the first of equal ones.

        With `as_frame` the result is a frame of X's kind.
        """
        best = self._score(X, None)
        found = self.classes_[best]
        if not as_frame:
            return found
        name = self._fitted.schema.label
        return write.like(X, {"class" if name is None else name: found})

    def predict_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Probability of every class for every row, in the order of `classes_`."""
        return self._by_class(X, self._score(X, "proba"), as_frame)

    def predict_log_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Log-probability of every class for every row, exact also where a probability rounds to 1."""
        return self._by_class(X, self._score(X, "log_proba"), as_frame)

    def predict_joint_log_proba(self, X: Any, as_frame: bool = False) -> Any:
        """Joint log score log P(c) + log P(x | c) of every class for every row."""
        return self._by_class(X, self._score(X, "joint"), as_frame)

    def _by_class(self, X: Any, values: Floats, as_frame: bool) -> Any:
        if not as_frame:
            return values
        return write.like(X, dict(zip(self.classes_.tolist(), values.T, strict=True)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows X with labels y, which may be the name of X's label column."""
        if not sparse.issparse(X):
            table, who = self._open(X, fitting=False), type(self).__name__
            assert isinstance(table, Frame)
            if read.is_name(y, table):
                classes, codes = read.target(who, label_column(X, table, y), table.n_rows)
                X, y = table.without(y), classes[codes]
            elif (found := read.arrow_target(y, table.n_rows)) is not None:
                y = found[0][found[1]]
        return float(super().score(X, y, sample_weight))

    def check(self, X: Any) -> Any:
        """Count the missing and the unseen cells of every column, without predicting.

        The result is a frame of X's kind, or a dict by column where X is no frame.

        >>> from sunrise import NaiveBayes
        >>> model = NaiveBayes().fit({"hair": ["long", "short", "long"]}, ["a", "b", "a"])
        >>> model.check({"hair": ["bald", None, "long"]})
        {'hair': {'missing': 1, 'unseen': 1}}
        """
        self._require_fitted()
        table, fitted = self._open(X, fitting=False), self._fitted
        table = table if isinstance(table, Frame) else frame_of(table.numbers())
        found = counted(table, fitted)
        names = self._columns()
        if table.library is None:
            return {names[j]: {"missing": m, "unseen": u} for j, (m, u) in found.items()}
        columns = {
            "column": [names[j] for j in found],
            "missing": [m for m, _ in found.values()],
            "unseen": [u for _, u in found.values()],
        }
        return write.frame(table.library, columns)

    def explain(self, X: Any, columns: Any = None) -> Explanation:
        """What every column adds to the score of every class; adds up to the joint log score.

        `columns` names the columns where the model does not know their names. The result holds a number for
        every row, class and column: explain rows by the hundred, not by the million.

        >>> from sunrise import BernoulliNB
        >>> model = BernoulliNB().fit([[0, 1], [1, 1], [0, 1], [1, 0]], ["no", "no", "no", "yes"])
        >>> model.explain([[1, 0]]).contributions.shape
        (1, 2, 2)
        """
        self._require_fitted()
        fitted = self._fitted
        names = self._columns() if columns is None else [str(name) for name in columns]
        if len(names) != self.n_features_in_:
            raise ValueError(f"columns must name {self.n_features_in_} columns, not {len(names)}")
        batch, table = self._batch(X)
        try:
            return Explanation.of(batch, fitted, names, table)
        except _native.CellError as error:
            self._refuse_cell(batch, error)

    def to_linear(self) -> LinearForm:
        """The model as weights w and intercepts b: w . phi(x) + b is the joint log score.

        >>> from sunrise import MultinomialNB
        >>> line = MultinomialNB().fit([[0, 3, 1], [1, 0, 2]], [0, 1]).to_linear()
        >>> line.coef.shape, line.intercept.shape
        ((2, 3), (2,))
        """
        self._require_fitted()
        fitted = self._fitted
        return LinearForm.of(fitted, self._columns(), self._open)

    def _columns(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None and self._fitted.schema.is_named:
            names = self._fitted.schema.names
        return (
            [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        )

    def _set_class_prior(self, prior: Any) -> None:
        fitted = self._fitted
        self.__dict__.pop("loo_score_", None)
        self._fitted = Derived(
            fitted.settings, fitted.schema, self.stats_, fitted.classes, prior, fitted.calibration
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
