"""What the single-family estimators share: each is NaiveBayes with one block of numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from sunrise.arrays import Floats, Positions
from sunrise.data import read
from sunrise.data.batch import Block
from sunrise.derived import Fitted, Settings
from sunrise.estimator import COMMON_CONSTRAINTS, NaiveBayes
from sunrise.given import Given
from sunrise.schema import Choice, Schema
from sunrise.stats import Stats
from sunrise.support import REAL, Support


class OneFamily(NaiveBayes):
    """A model of one block of numbers, which all have the same family."""

    #: The cells it takes, for scikit-learn's tags.
    _takes: ClassVar[Support] = REAL

    # Those who know scikit-learn's five expect them to look like scikit-learn's.
    __repr__ = BaseEstimator.__repr__
    _repr_html_inner = BaseEstimator._repr_html_inner
    _repr_mimebundle_ = BaseEstimator._repr_mimebundle_

    def _settings(self) -> Settings:
        raise TypeError("use one of the estimators, such as GaussianNB")

    # Labels by the name of a column are for tables.
    score = ClassifierMixin.score

    def _open(self, X: Any, fitting: bool) -> Block:
        return read.matrix(self, X, fitting=fitting)

    def _drawn(self, columns: dict[Any, Any]) -> Any:
        """A matrix, as it was fitted to."""
        return np.array(list(columns.values()), dtype=float).T

    def _keep(self, keep: Positions, bits: Floats) -> None:
        """Become the model of these columns, which is that of a narrower matrix."""
        by_column = [
            name for name in ("alpha", "min_categories", "bandwidth") if np.ndim(getattr(self, name, 0))
        ]
        if by_column:
            raise ValueError(
                f"select needs settings that are the same for all columns: {by_column[0]} is one for each."
            )
        fitted, stats = self._fitted, self.stats_
        schema, blocks = fitted.schema.narrowed(keep, stats.blocks)
        self.__dict__["n_features_in_"] = len(keep)
        if "feature_names_in_" in self.__dict__:
            self.__dict__["feature_names_in_"] = self.feature_names_in_[keep]
        self._reduced(fitted.settings, schema, blocks, keep)

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
        settings = self._checked_settings()
        schema = Schema.whole(Choice(settings.families, "given for all columns"), n_columns, feature_names)
        self._become(settings, schema, stats, announced=None)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._takes.lowest == 0.0
        tags.input_tags.categorical = self._takes.whole
        tags.input_tags.string = False
        return tags


class DiscreteNB(OneFamily):
    """What the counting estimators share: alpha, and scikit-learn's way to say the class prior."""

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"evidence"})],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", dict, None],
        **COMMON_CONSTRAINTS,
    }

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
