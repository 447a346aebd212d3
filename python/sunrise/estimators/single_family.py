"""What the single-family estimators share: each is NaiveBayes with one block of numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from sunrise._common.arrays import Floats, Positions
from sunrise.data.errors import refuse_no_rows
from sunrise.data.frame import Frame, number_frame
from sunrise.estimators.constraints import COMMON, Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import Given
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.model.schema import Choice, Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats
from sunrise.statistics.support import REAL, Support


class SingleFamilyEstimator(NaiveBayes):
    """A model of one block of numbers, which all have the same family."""

    #: The cells it takes, for scikit-learn's tags.
    _takes: ClassVar[Support] = REAL

    # Those who know scikit-learn's five expect them to look like scikit-learn's.
    __repr__ = BaseEstimator.__repr__
    _repr_html_inner = BaseEstimator._repr_html_inner
    _repr_mimebundle_ = BaseEstimator._repr_mimebundle_

    # Labels by the name of a column are for tables.
    score = ClassifierMixin.score

    def _read_table(self, X: Any, fitting: bool) -> Frame:
        """Read a table of numbers; scikit-learn's own rules decide about column names and their number."""
        table, known = number_frame(X), self.__dict__
        if fitting and isinstance(X, np.ndarray):
            known.pop("feature_names_in_", None)
            known["n_features_in_"] = len(table.names)
        # A model from parameters has its names from a list, not from a table: rows without names are welcome.
        named = "feature_names_in_" in known and not known.get("_fixed")
        if fitting or named or known["n_features_in_"] != len(table.names) or table.is_named:
            try:
                validate_data(self, X, reset=fitting, skip_check_array=True)
            except ValueError as error:
                raise _with_remedy(error) from None
        if table.n_rows == 0:
            refuse_no_rows(type(self).__name__, len(table.names))
        return table.named(known.get("feature_names_in_"))

    def _whole_schema(self, settings: Settings, table: Frame) -> Schema:
        """All columns are one block of the estimator's family."""
        choice, names = (
            Choice(settings.families, "given for all columns"),
            table.names if table.is_named else None,
        )
        return Schema.whole(choice, len(table.names), names, table.library)

    def _name_columns(self, schema: Schema) -> None:
        """The names were set when the table was read."""

    def _as_table(self, columns: dict[Any, Any]) -> Any:
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
        fitted, stats = self._model, self.stats_
        schema, blocks = fitted.schema.select_columns(keep, stats.blocks)
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
        self._set_state(settings, schema, stats, announced=None)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._takes.lowest == 0.0
        tags.input_tags.categorical = self._takes.whole
        tags.input_tags.string = False
        return tags


class DiscreteNB(SingleFamilyEstimator):
    """What the counting estimators share: alpha, and scikit-learn's way to say the class prior."""

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"evidence"})],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", dict, None],
        **COMMON,
    }

    class_log_prior_ = FittedAttribute(
        lambda self: self._model.log_class_prior, "Log probability of each class."
    )

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


def _with_remedy(error: ValueError) -> ValueError:
    """scikit-learn's error about columns, with what to do."""
    text = str(error)
    if "yet now missing" in text:
        text += "\nAdd a missing column as nulls (NaN): its factor is then left out."
    elif "unseen at fit time" in text:
        text += "\nDrop the columns that were not present in fit."
    elif "features, but" in text:
        text += " Pass the columns of fit in their order; a column you do not have can be all NaN."
    else:
        return error
    return type(error)(text)
