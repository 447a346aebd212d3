"""Base classes of the single-family estimators: each is NaiveBayes with one block of numeric columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sunrise._common.arrays import Floats, Positions
from sunrise.data.errors import refuse_dict, refuse_no_rows
from sunrise.data.frame import Frame, number_frame
from sunrise.estimators.constraints import COMMON, Interval, StrOptions
from sunrise.estimators.fitted_attribute import FittedAttribute
from sunrise.estimators.given_parameters import Given
from sunrise.estimators.naive_bayes import NaiveBayes
from sunrise.model.choice import Choice
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats
from sunrise.statistics.support import REAL, Support


class SingleFamilyEstimator(NaiveBayes):
    """Base class of estimators whose columns form one block of one family."""

    #: Allowed cell values, for scikit-learn's tags.
    _support: ClassVar[Support] = REAL

    # These estimators replace scikit-learn's, so they are displayed as scikit-learn displays its own.
    __repr__ = BaseEstimator.__repr__
    _repr_html_inner = BaseEstimator._repr_html_inner
    _repr_mimebundle_ = BaseEstimator._repr_mimebundle_

    _finds_labels_by_name = False
    _reads_records = False  # scikit-learn validates the names of the columns
    _reads_sources = False
    _derives_columns = False
    _settings_are_arguments = True

    def _read_table(self, X: Any, fitting: bool) -> Frame:
        """Read a table of numbers; scikit-learn validates the names and the number of columns."""
        if isinstance(X, Frame):  # a batch of a source
            return X
        first = X[0] if isinstance(X, list) and X else X
        if isinstance(first, dict) and not hasattr(X, "shape"):  # sparse dok matrices are dicts
            refuse_dict(type(self).__name__, X)
        table, attributes = number_frame(X), self.__dict__
        # A model from parameters got its names from a list, not from a table, so rows without names are accepted.
        needs_names = "feature_names_in_" in attributes and not attributes.get("_fixed")
        if fitting and type(X) is np.ndarray:
            attributes.pop("feature_names_in_", None)
            attributes["n_features_in_"] = len(table.names)
        elif fitting or needs_names or attributes["n_features_in_"] != len(table.names) or table.is_named:
            try:
                validate_data(self, X, reset=fitting, skip_check_array=True)
            except ValueError as error:
                raise _with_remedy(error) from None
        if table.n_rows == 0:
            refuse_no_rows(type(self).__name__, len(table.names))
        return table.named(attributes.get("feature_names_in_"))

    def _feature_reader(self, fitting: bool) -> Callable[[Frame], Frame]:
        """Return a function that checks that all columns of a batch hold numbers, and notes their names."""

        def read(table: Frame) -> Frame:
            for j, name in enumerate(table.names):
                if (kind := table.raw(j).kind) not in ("number", "bool", "empty"):
                    raise ValueError(
                        f"column {name!r} holds cells of the kind {kind!r}, and {type(self).__name__} takes numbers. "
                        "Name the columns to read, sunrise.read_files(paths, columns=[...]), or use NaiveBayes."
                    )
            if fitting:
                self.__dict__["n_features_in_"] = len(table.names)
                self.__dict__["feature_names_in_"] = np.array(table.names, dtype=object)
            return table

        return read

    def _whole_schema(self, settings: Settings, table: Frame) -> Schema:
        """Return a schema in which all columns form one block of the estimator's family."""
        choice = Choice(settings.families, "given for all columns", "all")
        names = table.names if table.is_named else None
        return Schema.whole(choice, len(table.names), names, table.library)

    def _name_columns(self, schema: Schema) -> None:
        """Do nothing: `_read_table` has already set the names."""

    def _as_table(self, columns: dict[Any, Any]) -> Any:
        """Return sampled columns as a matrix."""
        return np.array(list(columns.values()), dtype=float).T

    def _restrict_to(self, keep: Positions, bits: Floats) -> None:
        """Restrict this estimator to the columns in `keep`; X then has these columns only."""
        by_column = [
            name for name in ("alpha", "min_categories", "bandwidth") if np.ndim(getattr(self, name, 0))
        ]
        if by_column:
            raise ValueError(
                f"{by_column[0]} has one value per column. To use select, pass one value for all columns."
            )
        model, stats = self._model, self.stats_
        schema, blocks = model.schema.select_columns(keep, stats.blocks)
        self.__dict__["n_features_in_"] = len(keep)
        if "feature_names_in_" in self.__dict__:
            self.__dict__["feature_names_in_"] = self.feature_names_in_[keep]
        self._set_columns(model.settings, schema, replace(stats, blocks=blocks), keep)

    def _from_stats(self, given: Given, blocks: tuple[Any, ...], n_columns: int, feature_names: Any) -> Self:
        """Set the statistics that correspond to given parameters, and return self."""
        self.__dict__["n_features_in_"] = n_columns
        if feature_names is not None:
            names = np.asarray(feature_names, dtype=object)
            if names.shape != (n_columns,):
                raise ValueError(
                    f"feature_names must have one name for each of the {n_columns} columns; it has {names.size}"
                )
            self.__dict__["feature_names_in_"] = names
        self.__dict__["_fixed"] = not given.updatable
        stats = Stats(given.classes, given.rows, given.class_weight, blocks)
        settings = self._checked_settings()
        schema = Schema.whole(Choice(settings.families, "given for all columns"), n_columns, feature_names)
        self._set_state(settings, schema, stats, announced=None)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._support.lowest == 0.0
        tags.input_tags.categorical = self._support.whole
        tags.input_tags.string = False
        return tags


class DiscreteNB(SingleFamilyEstimator):
    """Base class of the estimators with `alpha` and scikit-learn's arguments `fit_prior` and `class_prior`."""

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"evidence"})],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", dict, None],
        **COMMON,
    }

    _settings_are_arguments = False  # every fit warns of an alpha that is too small

    class_log_prior_ = FittedAttribute(
        lambda self: self._model.log_class_prior, "Log probability of each class."
    )

    fit_prior: bool
    class_prior: Any

    def _prior(self) -> Any:
        """Return the class prior as the `class_prior` argument of NaiveBayes."""
        if self.class_prior is not None:
            return self.class_prior
        return "fitted" if self.fit_prior else "uniform"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's checks fit continuous data, not counts
        return tags


def _with_remedy(error: ValueError) -> ValueError:
    """Return scikit-learn's error about columns with a remedy added to its text."""
    text = str(error)
    if "yet now missing" in text:
        text += "\nAdd a missing column as nulls (NaN); missing cells are skipped."
    elif "unseen at fit time" in text:
        text += "\nDrop the columns that were not present in fit."
    elif "features, but" in text:
        text += " Pass the columns of fit in the same order; a column without data can be all NaN."
    else:
        return error
    return type(error)(text)
