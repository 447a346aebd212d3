"""MLflow: log, save and load models as model files, and log every fit automatically.

`import sunrise` does not need MLflow; the functions here import it when they are called.
"""

from __future__ import annotations

import os
from functools import wraps
from importlib import import_module
from pathlib import Path
from threading import local
from typing import Any

from sunrise._common.versioned import own_version
from sunrise.estimators.base import ESTIMATORS, Estimator
from sunrise.estimators.learning import LearningMixin
from sunrise.estimators.saving import load
from sunrise.estimators.text_tables import cut

__all__ = ["TRUSTED_TYPES", "autolog", "load_model", "log_model", "save_model"]

FLAVOR_NAME = "sunrise"
_FILE = "model.sunrise"

#: The types of this library that skops has to trust, for `mlflow.sklearn.log_model(pipeline, skops_trusted_types=...)`:
#: a pickled model is one object around the bytes of a model file.
TRUSTED_TYPES = sorted(
    f"{cls.__module__}.{name}" for name, cls in ESTIMATORS.items() if cls.__module__.startswith("sunrise.")
)


def _mlflow(module: str = "") -> Any:
    try:
        return import_module(f"mlflow{module}")
    except ImportError as error:
        raise ImportError("sunrise.mlflow needs MLflow: install the package mlflow.") from error


def save_model(
    model: Any,
    path: Any,
    mlflow_model: Any = None,
    *,
    signature: Any = None,
    input_example: Any = None,
    pyfunc_predict_fn: str = "predict",
    pip_requirements: Any = None,
) -> None:
    """Save a fitted model in the layout of MLflow: a model file, and the description that MLflow reads.

    Parameters
    ----------
    model : estimator
        A fitted model of this library.
    path : str or path-like
        A folder, which must be new.
    mlflow_model : mlflow.models.Model or None
        The description to be extended; MLflow passes it.
    signature, input_example
        Columns of the input, as `mlflow.models.infer_signature` returns them, and some rows.
    pyfunc_predict_fn : str, default="predict"
        The method that `mlflow.pyfunc` calls, for example "predict_proba".
    pip_requirements : list of str or None
        Packages that serve the model; None names this package in its present version.
    """
    models, pyfunc = _mlflow(".models"), _mlflow(".pyfunc")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / _FILE)
    described = models.Model() if mlflow_model is None else mlflow_model
    if signature is not None:
        described.signature = signature
    if input_example is not None:
        _mlflow(".models.utils")._save_example(described, input_example, str(folder))
    requirements = pip_requirements or [f"sunrise=={own_version()}"]
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n")
    pyfunc.add_to_model(described, loader_module="sunrise.mlflow", data=_FILE, predict_fn=pyfunc_predict_fn)
    described.add_flavor(FLAVOR_NAME, data=_FILE, sunrise_version=own_version())
    described.save(str(folder / "MLmodel"))


def log_model(model: Any, name: str = "model", **arguments: Any) -> Any:
    """Log a fitted model to the active run of MLflow (or to a new one), and return its description.

    The model is stored as a model file, without pickle and without skops. `arguments` are those of `save_model` and of
    `mlflow.models.Model.log`, for example `registered_model_name`.
    """
    model._require_fitted()
    return _mlflow(".models").Model.log(
        artifact_path=None, name=name, flavor=import_module("sunrise.mlflow"), model=model, **arguments
    )


def load_model(model_uri: str) -> Any:
    """Return the model of this library that was logged under an address of MLflow, for example "runs:/<id>/model"."""
    folder = _mlflow(".artifacts").download_artifacts(artifact_uri=model_uri)
    return load(os.path.join(folder, _FILE))


def _load_pyfunc(path: str) -> Any:
    """Return the model for `mlflow.pyfunc.load_model`; MLflow calls this function, and then `pyfunc_predict_fn`."""
    return load(path)


# Automatic logging.

_ORIGINAL_FIT = LearningMixin.fit
_nested = local()


def autolog(*, log_models: bool = True, disable: bool = False) -> None:
    """Log every `fit` of a model of this library to MLflow: parameters, scores on unseen rows, families, and the model.

    The metrics are those of `loo_score_` and `quality_`, computed on rows that were kept from the model; they need no
    test rows. The run is the active one, or a new one for each fit. `disable=True` ends the logging.
    """
    if disable:
        LearningMixin.fit = _ORIGINAL_FIT  # type: ignore[method-assign]
        return
    mlflow = _mlflow()

    @wraps(_ORIGINAL_FIT)
    def logged_fit(self: Any, X: Any, y: Any, *positional: Any, **named: Any) -> Any:
        if getattr(_nested, "is_active", False):
            return _ORIGINAL_FIT(self, X, y, *positional, **named)
        _nested.is_active = True
        try:
            fitted = _ORIGINAL_FIT(self, X, y, *positional, **named)
            own_run = mlflow.active_run() is None
            with mlflow.start_run(nested=not own_run) if own_run else _Nothing():
                _log_fit(mlflow, fitted, log_models)
            return fitted
        finally:
            _nested.is_active = False

    LearningMixin.fit = logged_fit  # type: ignore[method-assign]


class _Nothing:
    """A context that does nothing: the run belongs to the user."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


def _log_fit(mlflow: Any, model: Estimator, log_models: bool) -> None:
    params = {name: cut(str(value), 250) for name, value in model.get_params(deep=False).items()}
    mlflow.log_params(params)
    mlflow.set_tags({"estimator_name": type(model).__name__, "sunrise_version": own_version()})
    metrics = {"rows": float(model.stats_.rows.sum())}
    if (score := getattr(model, "loo_score_", None)) is not None:
        metrics |= {name: value for name, value in score._asdict().items() if name in _METRICS}
    if (quality := getattr(model, "quality_", None)) is not None:
        metrics |= {"brier": quality.brier, "calibration_error": quality.calibration_error}
    mlflow.log_metrics({name: float(value) for name, value in metrics.items() if value == value})
    columns = model._model.schema.choices
    families = {
        name: {"family": None if choice.family is None else choice.family.name, "reason": choice.reason}
        for name, choice in zip(model._columns(), columns, strict=True)
    }
    mlflow.log_dict(families, "families.json")
    if log_models:
        log_model(model)


_METRICS = ("accuracy", "log_loss", "prior_accuracy", "prior_log_loss")
