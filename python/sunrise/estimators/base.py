"""Base class of all estimators: the fitted state, reading of tables, and encoding of rows for a fitted model.

The state of an estimator consists of its settings and its statistics. `FittedModel` derives parameters and scores from
both, and is rebuilt whenever one of them changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sunrise._common import labels
from sunrise._common.arrays import Labels
from sunrise._common.threads import limited_to
from sunrise._common.versioned import with_version, without_version
from sunrise._common.warnings import NoWordsWarning, UnlabelledRowsWarning, alert
from sunrise.data.blocks import Batch
from sunrise.data.frame import Frame, frame_of
from sunrise.model.encode_rows import encode_rows
from sunrise.model.fitted import FittedModel
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings, dict_of, pairs_of
from sunrise.statistics.model import Stats

#: Attributes that fit sets and that `_set_unfitted` deletes.
FITTED_STATE = (
    "stats_",
    "classes_",
    "_announced",
    "_kept",
    "_given_schema",
    "_decay",
    "_model",
    "n_features_in_",
    "feature_names_in_",
    "_fixed",
    "loo_score_",
    "em_",
    "selected_",
)

#: Names of the constructor arguments of the estimators.
_ARGUMENTS: dict[type, list[str]] = {}
#: Settings by constructor arguments that were found valid; the validation takes as long as the fit of a small table.
_VALID: dict[Any, Settings] = {}
_MOST_VALID = 1000
_PLAIN = frozenset((str, bool, int, float, type(None)))


#: Every estimator by its name, for model files.
ESTIMATORS: dict[str, type] = {}


class _UnchangedOnFailure:
    """The context of `Estimator._unchanged_on_failure`. A generator would take longer, which shows in small fits."""

    __slots__ = ("_estimator", "_limit", "_previous")

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._limit = estimator, limited_to(estimator.n_jobs)

    def __enter__(self) -> None:
        self._previous = self._estimator.__dict__.copy()
        self._limit.__enter__()

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        self._limit.__exit__()
        if error is not None:
            self._estimator.__dict__.clear()
            self._estimator.__dict__.update(self._previous)


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base class of all estimators: fitted state and reading of tables."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        ESTIMATORS[cls.__name__] = cls

    #: True if the settings follow from the constructor arguments alone, and making them warns of nothing.
    _settings_are_arguments: ClassVar[bool] = False

    stats_: Stats
    classes_: Labels
    n_features_in_: int
    n_jobs: int | None
    _model: FittedModel
    _announced: Labels | None

    # Pickling.

    def __getstate__(self) -> Any:
        state = with_version(super().__getstate__())
        return {**state, "families": pairs_of(state["families"])} if "families" in state else state

    def __setstate__(self, state: Any) -> None:
        state = without_version(type(self).__name__, state)
        if "families" in state:
            state = {**state, "families": dict_of(state["families"])}
        super().__setstate__(state)

    # Settings.

    def _settings(self) -> Settings:
        """Return the settings given by the constructor arguments."""
        raise TypeError("Estimator is a base class; use an estimator, for example NaiveBayes")

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the constructor arguments; scikit-learn would inspect the constructor at every call."""
        names = _ARGUMENTS.get(cls)
        if names is None:
            names = _ARGUMENTS[cls] = super()._get_param_names()
        return list(names)

    def _checked_settings(self) -> Settings:
        """Validate the constructor arguments and return the settings."""
        values = tuple([getattr(self, name) for name in self._get_param_names()])
        # 1, 1.0 and True are equal, but not equally valid.
        key = type(self), values, tuple(map(type, values))
        is_plain = _PLAIN.issuperset(key[2])
        known = _VALID.get(key) if is_plain else None
        if known is None:
            self._validate_params()
        elif self._settings_are_arguments:
            return known
        settings = replace(self._settings(), who=type(self).__name__)
        if known is None and is_plain:
            if len(_VALID) >= _MOST_VALID:
                _VALID.clear()
            _VALID[key] = settings
        return settings

    def _calibration_kind(self) -> str | None:
        """Return the `calibrate` setting; None for estimators without it."""
        return getattr(self, "calibrate", None)

    # State.

    def _set_state(self, settings: Settings, schema: Schema, stats: Stats, announced: Labels | None) -> None:
        """Set new settings and statistics, and derive the fitted model from them."""
        for part, block in zip(schema.parts, stats.blocks, strict=True):
            if problem := settings.with_defaults(part.family).find_problem(block):
                derived = schema.rules is not None
                names = schema.names if derived else getattr(self, "feature_names_in_", schema.names)
                where = f"column {names[part.columns[problem.column]]!r}"
                if problem.of_class is not None:
                    where = f"class {stats.classes.tolist()[problem.of_class]!r}: {where}"
                raise ValueError(f"{where} {problem.text}")
        classes = stats.classes if announced is None else labels.union(announced, stats.classes)
        previous = self.__dict__.get("_model")
        calibration = None if previous is None else previous.calibration
        if calibration is not None:  # it was fitted to the previous statistics
            calibration = _of_schema(calibration, self._model.schema, schema).mark_stale(stats)
        model = FittedModel(settings, schema, stats, classes, calibration=calibration)
        # Updates may bring words, and so may the rows after the first one of a stream.
        for part in model.parts if previous is None else ():
            if (text := part.family.reader.unused(part.family)) and stats.rows.sum() > 1:
                alert(f"column {schema.names[part.columns[0]]!r} {text}", NoWordsWarning)
        self.__dict__.update(stats_=stats, classes_=classes, _announced=announced, _model=model)
        self.__dict__.pop("loo_score_", None)  # it was the score of the previous model

    def _set_unfitted(self) -> None:
        """Return to the state before fit."""
        for name in FITTED_STATE:
            self.__dict__.pop(name, None)

    def _set_class_prior(self, prior: Any) -> None:
        """Replace the class prior; the statistics and the calibration stay."""
        model = self._model
        self.__dict__.pop("loo_score_", None)
        self._model = FittedModel(
            model.settings, model.schema, self.stats_, model.classes, prior, model.calibration
        )

    def _set_calibration(self, calibration: Any) -> None:
        self._model = self._model.calibrated(calibration)

    def _copy(self) -> Any:
        """Return a copy that shares the fitted state."""
        new = type(self)(**self.get_params())
        new.__dict__.update(self.__dict__)
        return new

    def _unchanged_on_failure(self) -> _UnchangedOnFailure:
        """Restore all attributes if the body raises; n_jobs of the estimator holds for everything in the body."""
        return _UnchangedOnFailure(self)

    def _require_fitted(self) -> None:
        if "_model" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _fitted_model(self, attribute: str) -> FittedModel:
        """Return the fitted model for a property; before fit raise AttributeError, as hasattr expects."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is fitted")
        return self._model

    def _refuse_fixed_parameters(self) -> None:
        if self.__dict__.get("_fixed"):
            raise ValueError(
                f"This {type(self).__name__} was made from parameters without rows=, so it cannot be updated or "
                "merged. Pass from_parameters(..., rows=), the number of training rows that the parameters are worth."
            )

    def _warn_after_em(self, update: str) -> None:
        """Warn that an update does not run EM again; `update` says what it does to the statistics."""
        em = self.__dict__.get("em_")
        if em is not None and em.weight > 0:
            alert(
                f"This {type(self).__name__} has learned from {em.unlabelled} rows without a label. {update}; "
                "the expected statistics of the rows without a label stay as EM left them. Fit again to run EM on "
                "all rows.",
                UnlabelledRowsWarning,
            )

    # Tables.

    def _read_table(self, X: Any, fitting: bool) -> Frame:
        """Read a table. With `fitting` its columns define the model; otherwise they must match the fitted ones."""
        return frame_of(X)

    def _feature_reader(self, fitting: bool) -> Callable[[Frame], Frame]:
        """Return a function that reads the features in a batch of a source, which has no labels and weights."""
        return lambda table: table

    def _encode(self, X: Any) -> tuple[Batch, Frame]:
        """Return the rows encoded for scoring, and the table with its columns in the order of the model."""
        self._require_fitted()
        batch, table = encode_rows(self._read_table(X, fitting=False), self._model, release=True)
        batch.warn()
        return batch, table

    def _name_columns(self, schema: Schema) -> None:
        """Set `n_features_in_`, and `feature_names_in_` if all column names are strings: the columns of the table."""
        inputs = schema.inputs
        self.__dict__["n_features_in_"] = len(inputs)
        self.__dict__.pop("feature_names_in_", None)
        if schema.is_named and all(isinstance(name, str) for name in inputs):
            self.__dict__["feature_names_in_"] = np.array(inputs, dtype=object)

    def _summands(self, columns: list[str] | None = None) -> list[str]:
        """Return the names of the columns and of the interactions, for display."""
        names = self._columns() if columns is None else columns
        if not (interactions := self._model.schema.interactions):
            return names
        shown = dict(zip(self._model.schema.names, names, strict=True))
        return [*names, *(own.label([shown[name] for name in own.columns]) for own in interactions)]

    def _columns(self) -> list[str]:
        """Return the names of the model's columns for display: x0, x1, ... if the columns have no names."""
        schema, names = self._model.schema, getattr(self, "feature_names_in_", None)
        if schema.is_named and (names is None or schema.rules is not None):
            names = schema.names
        return (
            [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        )


def _of_schema(calibration: Any, before: Schema, schema: Schema) -> Any:
    """Return the calibration without the weights of interactions that have left the schema."""
    if before.interactions == schema.interactions:
        return calibration
    first, place = len(before.names), {own: k for k, own in enumerate(before.interactions)}
    kept = [first + place[own] for own in schema.interactions]
    return calibration.select_summands(np.array([*range(first), *kept], int))
