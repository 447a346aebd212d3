"""NaiveBayes: the only fit, partial_fit, forget, merge and predict in the library.

A model is its statistics and its settings. Everything shown or used in prediction is derived from them by
`Derived`, which is made anew whenever either changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise import _native, engines, labels
from sunrise.arrays import Floats, Labels
from sunrise.data import read
from sunrise.derived import Derived, Fitted, Settings
from sunrise.explain import Explanation
from sunrise.given import Given
from sunrise.linear import LinearForm
from sunrise.stats import NeverSeenError, Stats
from sunrise.support import REAL, Support

COMMON_CONSTRAINTS: dict[str, Any] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}


class ImpossibleRowWarning(UserWarning):
    """Rows have probability 0 under every class; they got the class prior.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.ImpossibleRowWarning)`.
    """


class NaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base of all estimators: everything but the reading of constructor arguments."""

    stats_: Stats
    classes_: Labels
    n_features_in_: int
    _fitted: Derived
    _announced: Labels | None

    #: The cells it takes, for scikit-learn's tags.
    _takes: ClassVar[Support] = REAL

    class_count_ = Fitted(lambda self: self._fitted.stats.weight, "Weight of each class.")

    def _settings(self) -> Settings:
        raise TypeError("use one of the estimators, such as GaussianNB")

    # Learning: every way to learn is read, accumulate, then + or - on the statistics.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows. NaN is missing.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight k is the row k times, weight 0 is no row.
        """
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            stats = self._observe(settings, X, y, sample_weight, first=True)
            self._become(settings, stats, announced=None)
            self.__dict__.pop("_fixed", None)
        return self

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
            if known is not None:
                self._refuse_other_shape(settings, known.settings)
                self._refuse_fixed_parameters()
            stats = self._observe(settings, X, y, sample_weight, first=known is None)
            if announced is not None:
                strange = stats.classes[labels.locate(announced, stats.classes) < 0]
                if len(strange):
                    raise ValueError(
                        f"The target label(s) {strange} in y do not exist in the initial classes {announced}. "
                        "Announce them in the first call's classes=, or announce none."
                    )
            self._become(settings, stats if known is None else self.stats_ + stats, announced)
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
            self._refuse_other_shape(settings, self._fitted.settings)
            self._refuse_fixed_parameters()
            taken = self._observe(settings, X, y, sample_weight, first=False)
            try:
                rest = self.stats_ - taken
            except NeverSeenError as error:
                raise ValueError(
                    f"These rows cannot be forgotten: {error}. Forget only rows that were fitted."
                ) from None
            if rest.rows.any():
                announced = self._announced
                if announced is None and isinstance(settings.class_prior, dict):
                    announced = self.classes_  # the prior names them still
                self._become(settings, rest, announced)
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
            mine, theirs = (f"{type(m).__module__}.{type(m).__name__}" for m in (self, other))
            raise TypeError(f"cannot merge {theirs} into {mine}")
        other._require_fitted()
        other._refuse_fixed_parameters()
        with self._unchanged_on_failure():
            settings = self._checked_settings()
            self._refuse_other_shape(settings, other._fitted.settings)
            if "_fitted" not in self.__dict__:
                self.__dict__.update(other.__dict__ | self.get_params(deep=False))
                self._become(settings, other.stats_, other._announced)
                return self
            self._refuse_other_shape(settings, self._fitted.settings)
            self._refuse_fixed_parameters()
            self._refuse_other_columns(other)
            announced = self._announced
            if announced is not None:
                announced = labels.union(announced, other.stats_.classes)
            self._become(settings, self.stats_ + other.stats_, announced)
        return self

    def __add__(self, other: Self) -> Self:
        """Merge two models into a new one with the left one's settings."""
        new = type(self)(**self.get_params())
        new.__dict__.update(self.__dict__)
        return new.merge(other)

    def __radd__(self, other: Any) -> Self:
        """Let sum() begin from its 0."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return type(self)(**self.get_params()).merge(self)

    def _checked_settings(self) -> Settings:
        self._validate_params()
        return self._settings()

    def _observe(self, settings: Settings, X: Any, y: Any, sample_weight: Any, first: bool) -> Stats:
        """The statistics of some rows."""
        batch = read.table(self, X, fitting=first)
        classes, codes = read.target(self, y, batch.n_rows)
        weight = read.weights(sample_weight, batch.n_rows)
        if batch.n_rows == 0 or len(classes) == 0:
            raise ValueError("Found no rows to fit. Pass at least one.")
        n_classes, engine = len(classes), engines.choose()
        n_threads = engines.threads(settings.n_jobs, sum(b.shape[0] * b.shape[1] for b in batch.blocks))
        blocks = []
        for family, block in zip(settings.families, batch.blocks, strict=True):
            family.check(block.shape[1])
            support = family.support
            try:
                blocks.append(
                    engine.accumulate(block, family.terms, support, codes, weight, n_classes, n_threads)
                )
            except _native.CellError as error:
                read.refuse_cell(self, error.args, support)
        rows, total = engine.totals(codes, weight, n_classes)
        seen = np.flatnonzero(rows)
        if len(seen) < n_classes:  # classes all of whose rows have weight 0 are not there
            return Stats(classes[seen], rows[seen], total[seen], tuple(b.taken(seen) for b in blocks))
        return Stats(classes, rows, total, tuple(blocks))

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

    def _become(self, settings: Settings, stats: Stats, announced: Labels | None) -> None:
        """Take on new statistics."""
        for family, block in zip(settings.families, stats.blocks, strict=True):
            if complaint := family.complaint(block):
                raise ValueError(complaint)
        classes = stats.classes if announced is None else labels.union(announced, stats.classes)
        fitted = Derived(settings, stats, classes)
        self.__dict__.update(stats_=stats, classes_=classes, _announced=announced, _fitted=fitted)

    def _become_unfitted(self) -> None:
        for name in (
            "stats_",
            "classes_",
            "_announced",
            "_fitted",
            "n_features_in_",
            "feature_names_in_",
            "_fixed",
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

    def _refuse_other_shape(self, new: Settings, old: Settings) -> None:
        if new.shape != old.shape:
            raise ValueError(
                f"The statistics of this {type(self).__name__} were made with other settings: {old.shape} is not "
                f"{new.shape}. Use the settings of its first fit (binarize, for one), or fit anew."
            )

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            raise ValueError(
                f"This {type(self).__name__} was made from parameters that stand for no number of rows. "
                "Give from_parameters(..., rows=) their equivalent number of rows to update or merge it."
            )

    def _refuse_other_columns(self, other: Self) -> None:
        mine, theirs = (getattr(m, "feature_names_in_", None) for m in (self, other))
        if self.n_features_in_ != other.n_features_in_ or (
            mine is not None and theirs is not None and list(mine) != list(theirs)
        ):
            raise ValueError(
                "The models have different columns and cannot be merged. Fit them on the same columns."
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

    def _score(self, X: Any, output: str | None) -> NDArray[Any]:
        self._require_fitted()
        fitted = self._fitted
        batch = read.table(self, X, fitting=False)
        cells = batch.n_rows * self.n_features_in_
        n_threads = engines.threads(fitted.settings.n_jobs, cells)
        try:
            values, impossible = engines.choose().score(
                batch,
                fitted.supports,
                fitted.forms,
                fitted.log_prior,
                fitted.log_class_prior,
                output,
                n_threads,
            )
        except _native.CellError as error:
            read.refuse_cell(self, error.args, fitted.supports[0])
        if impossible:
            warnings.warn(
                f"{impossible} of {batch.n_rows} rows have probability 0 under every class and got the class prior. "
                "Smoothing (alpha or var_smoothing above 0) avoids it; silence this with "
                'warnings.filterwarnings("ignore", category=sunrise.ImpossibleRowWarning).',
                ImpossibleRowWarning,
                stacklevel=3,
            )
        return values  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row; the first of equal ones."""
        best = self._score(X, None)
        return self.classes_[best]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of every class for every row, in the order of `classes_`."""
        return self._score(X, "proba")

    def predict_log_proba(self, X: Any) -> Floats:
        """Log-probability of every class for every row, exact also where a probability rounds to 1."""
        return self._score(X, "log_proba")

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Joint log score log P(c) + log P(x | c) of every class for every row."""
        return self._score(X, "joint")

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
        batch = read.table(self, X, fitting=False)
        try:
            return Explanation.of(
                batch,
                fitted.supports,
                fitted.forms,
                fitted.log_prior,
                self.classes_,
                names,
            )
        except _native.CellError as error:
            read.refuse_cell(self, error.args, fitted.supports[0])

    def to_linear(self) -> LinearForm:
        """The model as weights w and intercepts b: w . phi(x) + b is the joint log score.

        >>> from sunrise import MultinomialNB
        >>> line = MultinomialNB().fit([[0, 3, 1], [1, 0, 2]], [0, 1]).to_linear()
        >>> line.coef.shape, line.intercept.shape
        ((2, 3), (2,))
        """
        self._require_fitted()
        fitted = self._fitted
        (family,), (form,), (block,) = fitted.settings.families, fitted.forms, fitted.blocks
        named = "feature_names_in_" in self.__dict__
        rest = fitted.log_prior, self.classes_, self._columns(), named
        return LinearForm.of(form, family.support, family.centre(block), *rest)

    def _columns(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return (
            [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        )

    def _set_class_prior(self, prior: Any) -> None:
        fitted = self._fitted
        self._fitted = Derived(fitted.settings, self.stats_, fitted.classes, prior)

    def _from_stats(self, given: Given, blocks: tuple[Any, ...], n_columns: int, feature_names: Any) -> Self:
        """Become the model these statistics stand for."""
        self.__dict__["n_features_in_"] = n_columns
        if feature_names is not None:
            names = np.asarray(feature_names, dtype=object)
            if names.shape != (n_columns,):
                raise ValueError(f"feature_names must name {n_columns} columns, not {names.size}")
            self.__dict__["feature_names_in_"] = names
        self.__dict__["_fixed"] = not given.updatable
        stats = Stats(given.classes, given.rows, given.class_weight, blocks)
        self._become(self._checked_settings(), stats, announced=None)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._takes.lowest == 0.0
        tags.input_tags.categorical = self._takes.whole
        return tags


class DiscreteNB(NaiveBayes):
    """What the counting estimators share: alpha, and scikit-learn's way to say the class prior."""

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", dict, None],
        **COMMON_CONSTRAINTS,
    }

    class_prior_ = Fitted(lambda self: self._fitted.class_prior, "Probability of each class.", settable=True)
    class_log_prior_ = Fitted(lambda self: self._fitted.log_class_prior, "Log probability of each class.")

    fit_prior: bool
    class_prior: Any

    def _prior(self) -> Any:
        if self.class_prior is not None:
            return self.class_prior
        return "fitted" if self.fit_prior else "uniform"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the checks feed it numbers that are no counts
        return tags
