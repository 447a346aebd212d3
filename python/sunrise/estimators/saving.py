"""Saving and loading: a fitted estimator as a model file."""

from __future__ import annotations

import copy
from inspect import signature
from typing import Any, Self

import numpy as np

from sunrise._common.versioned import with_version, without_version
from sunrise.data.kept_rows import KeptRows
from sunrise.estimators.base import ESTIMATORS, FITTED_STATE, Estimator
from sunrise.inference.em_report import Em
from sunrise.inference.scores import LooScore
from sunrise.model.calibration_weights import Calibration
from sunrise.model.fitted import FittedModel
from sunrise.model.settings import Settings
from sunrise.store.container import unpack
from sunrise.store.errors import ModelFileError
from sunrise.store.files import read_bytes, write_atomically
from sunrise.store.state import (
    check_labels,
    open_parts,
    read_schema,
    read_stats,
    to_pieces,
    write_schema,
    write_stats,
)
from sunrise.store.values import CannotSaveError, Reader, Writer

__all__ = ["load"]

#: Key of the model file in the state of a pickled model.
_FILE = "_model_file"

#: Fitted attributes that are stored under their own names, and their types.
_ATTRIBUTES: dict[str, Any] = {
    "_announced": np.ndarray | None,
    "_kept": KeptRows,
    "_decay": float,
    "n_features_in_": int,
    "feature_names_in_": np.ndarray,
    "_fixed": bool,
    "loo_score_": LooScore,
    "em_": Em,
    "selected_": np.ndarray,
}


class SavingMixin(Estimator):
    """`save`: the fitted model as a file."""

    def save(self, path: Any, *, values: bool = True) -> Self:
        """Save the fitted model to a file that `sunrise.load` reads; the file contains no code.

        Parameters
        ----------
        path : str or path-like
            The file, usually with the suffix .sunrise. An existing file is replaced in one step: a crash leaves
            either the old file or the new one.
        values : bool, default=True
            False saves `compress()` of the model, which keeps no training values of numeric columns and no rows.

        >>> import os, tempfile
        >>> import sunrise as sr
        >>> model = sr.NaiveBayes().fit({"height": [1.62, 1.71, 1.93, 1.88]}, ["a", "a", "b", "b"])
        >>> path = os.path.join(tempfile.mkdtemp(), "people.sunrise")
        >>> sr.load(model.save(path) and path).predict({"height": 1.9})
        array(['b'], dtype='<U1')
        """
        self._require_fitted()
        model = self if values else self._copy().compress()
        write_atomically(path, model._pieces())
        return self

    # Pickles of fitted models hold the bytes of the model file: few types (for skops), and nothing derived.

    def __getstate__(self) -> Any:
        if "_model" not in self.__dict__:
            return super().__getstate__()
        try:
            data = b"".join(self._pieces())
        except (TypeError, ValueError):  # labels or settings that a model file cannot hold
            return super().__getstate__()
        known = {*self._get_param_names(), *FITTED_STATE}
        others = {name: value for name, value in self.__dict__.items() if name not in known}
        return with_version({**others, _FILE: data})

    def __setstate__(self, state: Any) -> None:
        if _FILE not in state:
            super().__setstate__(state)
            return
        state = without_version(type(self).__name__, state)
        loaded = _read_model(*open_parts(unpack(state.pop(_FILE)), "model"), type(self))
        self.__dict__.update(loaded.__dict__, **state)

    def __copy__(self) -> Self:
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo: Any) -> Self:
        memo[id(self)] = new = type(self).__new__(type(self))
        new.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return new

    def _pieces(self) -> list[bytes | memoryview]:
        """Return the bytes of the model file in pieces."""
        model, writer, own = self._model, Writer(), self.__dict__
        try:
            arguments = {
                name: writer.write(value, f"{name}=") for name, value in self.get_params(deep=False).items()
            }
            parts = {
                "estimator": type(self).__name__,
                "arguments": arguments,
                "changed_arguments": self._changed_arguments(),
                "settings": writer.write(model.settings, "settings"),
                "schema": write_schema(model.schema, writer),
                "stats": write_stats(self.stats_, writer),
                "classes": writer.write(check_labels(self.classes_), "classes_"),
                "class_prior": writer.write(model.given_prior, "class_prior_"),
                "calibration": writer.write(model.calibration, "calibration_"),
                "attributes": {name: writer.write(own[name], name) for name in _ATTRIBUTES if name in own},
            }
        except CannotSaveError as error:
            raise _cannot_save(type(self).__name__, error) from None
        return to_pieces("model", parts, writer)

    def _changed_arguments(self) -> list[str]:
        """Return the names of the constructor arguments that do not have their default values."""
        parameters = signature(type(self).__init__).parameters
        defaults = {name: parameters[name].default for name in self._get_param_names()}
        plain = (str, bool, int, float, tuple, type(None))
        return [
            name
            for name, value in self.get_params(deep=False).items()
            if not (
                type(value) is type(defaults[name]) and isinstance(value, plain) and value == defaults[name]
            )
        ]


def _cannot_save(who: str, error: CannotSaveError) -> TypeError:
    if error.place == "a class label":
        return TypeError(
            f"This {who} cannot be saved: the class label {error.value!r} is of type {type(error.value).__name__}. A "
            "model file holds labels of the types bool, int, float, str and dates. Convert them, for example with "
            "str, and fit again; or use pickle."
        )
    return TypeError(
        f"This {who} cannot be saved: {error.place} is of type {type(error.value).__name__}, which a model file cannot "
        "hold. Use plain numbers, strings, lists, dicts, arrays and families of this library; or use pickle."
    )


def load(source: Any, *, mmap: bool = False) -> Any:
    """Load a model from a file that `model.save` has written.

    The checksum is verified. The file contains no code: loading a file from a stranger is safe. Raises
    `ModelFileError` for a file that is damaged, truncated, not a model file, or written by a newer version with
    features that this version lacks.

    Parameters
    ----------
    source : str, path-like or bytes
        The file, or its bytes.
    mmap : bool, default=False
        True maps the file into memory instead of reading it, so that processes share it. The file must then not be
        overwritten in place while the model is used (`save` replaces files, which is safe; `cp` overwrites them).

    >>> import sunrise as sr
    >>> sr.load(b"not a model")
    Traceback (most recent call last):
        ...
    sunrise.store.errors.ModelFileError: This is not a Sunrise model file. Model files are written by model.save().
    """
    data = read_bytes(source, mmap)
    try:
        return _read_model(*open_parts(unpack(data), "model"))
    except ModelFileError:
        raise
    except Exception as error:
        # Values that were checked one by one can still contradict each other in a hostile file.
        raise ModelFileError(f"The model file is not valid: {str(error)[:200]}") from error


def _read_model(parts: dict[str, Any], reader: Reader, cls: Any = None) -> Any:
    """Return the estimator that a file describes, of the class `cls` or of the one that the file names.

    Parameters are derived when they are first used.
    """
    name = parts.get("estimator")
    if cls is None and isinstance(name, str):
        cls = ESTIMATORS.get(name)
    if cls is None:
        raise ModelFileError(
            f"The model file holds a {str(name)[:100]!r}, which is not known here. Import the module that defines this "
            "estimator, then load again."
        )
    known, given, attributes = cls._get_param_names(), parts.get("arguments"), parts.get("attributes")
    if not isinstance(given, dict) or not isinstance(attributes, dict):
        raise ModelFileError("The model file lacks its arguments or its attributes.")
    estimator = cls(**{key: reader.read(value) for key, value in given.items() if key in known})
    schema = read_schema(parts.get("schema"), reader)
    stats = read_stats(parts.get("stats"), reader, schema)
    settings, classes = reader.read(parts.get("settings")), check_labels(reader.read(parts.get("classes")))
    prior, calibration = reader.read(parts.get("class_prior")), reader.read(parts.get("calibration"))
    if not isinstance(settings, Settings) or not isinstance(calibration, Calibration | None):
        raise ModelFileError("The model file lacks its settings.")
    if calibration is not None and calibration.weights.shape != (schema.n_summands,):
        raise ModelFileError("The calibration of the model file does not fit its columns.")
    own = {key: reader.read(value) for key, value in attributes.items() if key in _ATTRIBUTES}
    for key, value in own.items():
        if not isinstance(value, _ATTRIBUTES[key]):
            raise ModelFileError(f"The model file holds a wrong value of {key!r}.")
    if own.get("n_features_in_") != len(schema.inputs):
        raise ModelFileError("The number of columns in the model file does not fit its schema.")
    score = own.get("loo_score_")
    if score is not None and not (score.quality is None or len(score.quality.confusion) == len(classes)):
        raise ModelFileError("The quality in the model file does not fit its classes.")
    known_labels = classes.tolist()
    if len(set(known_labels)) < len(known_labels) or not set(stats.classes.tolist()) <= set(known_labels):
        raise ModelFileError("The classes of the model file do not fit its statistics.")
    if prior is not None and np.shape(np.asarray(prior, float)) != classes.shape:
        raise ModelFileError("The class prior of the model file does not fit its classes.")
    model = FittedModel.deferred(ModelFileError, settings, schema, stats, classes, prior, calibration)
    estimator.__dict__.update(own, stats_=stats, classes_=np.asarray(classes), _model=model)
    return estimator
