"""What all estimators share: their state, how they read tables, and how rows are encoded for a fitted model.

A model is its statistics and its settings. Everything shown or used in prediction is derived from them by
`FittedModel`, which is made anew whenever either changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sunrise._common import labels
from sunrise._common.arrays import Labels
from sunrise.data.blocks import Batch
from sunrise.data.frame import Frame, frame_of
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.statistics.model import Stats

#: Attributes that a fit sets besides those of scikit-learn.
_FITTED_STATE = (
    "stats_",
    "classes_",
    "_announced",
    "_model",
    "n_features_in_",
    "feature_names_in_",
    "_fixed",
    "loo_score_",
    "em_",
    "selected_",
)


class Estimator(BaseEstimator):  # type: ignore[misc]
    """The state of a model, and how it reads tables."""

    stats_: Stats
    classes_: Labels
    n_features_in_: int
    _model: FittedModel
    _announced: Labels | None

    # Settings.

    def _settings(self) -> Settings:
        """Read the constructor's arguments."""
        raise TypeError("use one of the estimators, for example NaiveBayes")

    def _checked_settings(self) -> Settings:
        self._validate_params()
        return self._settings()

    def _calibrate_as(self) -> str | None:
        """The kind of calibration that the user asked for."""
        return getattr(self, "calibrate", None)

    # State.

    def _set_state(self, settings: Settings, schema: Schema, stats: Stats, announced: Labels | None) -> None:
        """Take on new statistics."""
        for part, block in zip(schema.parts, stats.blocks, strict=True):
            if problem := settings.with_defaults(part.family).find_problem(block):
                names = getattr(self, "feature_names_in_", schema.names)
                where = f"column {names[part.columns[problem.column]]!r}"
                if problem.of_class is not None:
                    where = f"class {stats.classes.tolist()[problem.of_class]!r}: {where}"
                raise ValueError(f"{where} {problem.text}")
        classes = stats.classes if announced is None else labels.union(announced, stats.classes)
        before = self.__dict__.get("_model")
        calibration = (
            None if before is None or before.calibration is None else before.calibration.mark_stale()
        )
        model = FittedModel(settings, schema, stats, classes, calibration=calibration)
        self.__dict__.update(stats_=stats, classes_=classes, _announced=announced, _model=model)
        self.__dict__.pop("loo_score_", None)  # it belonged to the model before

    def _set_unfitted(self) -> None:
        for name in _FITTED_STATE:
            self.__dict__.pop(name, None)

    def _set_class_prior(self, prior: Any) -> None:
        model = self._model
        self.__dict__.pop("loo_score_", None)
        rest = prior, model.calibration
        self._model = FittedModel(model.settings, model.schema, self.stats_, model.classes, *rest)

    def _set_calibration(self, calibration: Any) -> None:
        self._model = self._model.calibrated(calibration)

    def _copy(self) -> Any:
        new = type(self)(**self.get_params())
        new.__dict__.update(self.__dict__)
        return new

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _require_fitted(self) -> None:
        if "_model" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _fitted_model(self, attribute: str) -> FittedModel:
        """The fitted model, for a property; AttributeError before fit."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._model

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            raise ValueError(
                f"This {type(self).__name__} was made from parameters that stand for no number of rows. "
                "Give from_parameters(..., rows=) their equivalent number of rows to update or merge it."
            )

    # Tables.

    def _read_table(self, X: Any, fitting: bool) -> Frame:
        """Read a table; `fitting` says whether its columns are learned or compared."""
        return frame_of(X)

    def _encode(self, X: Any) -> tuple[Batch, Frame]:
        """The cells of rows as the model scores them, and the table they came in."""
        self._require_fitted()
        return encode_rows(self._read_table(X, fitting=False), self._model, type(self).__name__)

    def _name_columns(self, schema: Schema) -> None:
        self.__dict__["n_features_in_"] = len(schema.names)
        self.__dict__.pop("feature_names_in_", None)
        if schema.is_named and all(isinstance(name, str) for name in schema.names):
            self.__dict__["feature_names_in_"] = np.array(schema.names, dtype=object)

    def _columns(self) -> list[str]:
        """Names of the columns, for people."""
        names = getattr(self, "feature_names_in_", None)
        if names is None and self._model.schema.is_named:
            names = self._model.schema.names
        return (
            [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        )
