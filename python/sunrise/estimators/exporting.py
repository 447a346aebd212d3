"""Exports of fitted models: JSON, SQL and ONNX, each equal to `predict_proba`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sunrise.estimators.base import Estimator
from sunrise.export.description import Description, describe_model
from sunrise.export.json_text import to_json


class ExportMixin(Estimator):
    """to_json, to_sql and to_onnx."""

    def _description(self) -> Description:
        self._require_fitted()
        return describe_model(self._model, self._columns(), type(self).__name__)

    def to_json(self) -> str:
        """Return the scoring of the model as JSON: classes, prior, columns, and how each block scores its cells.

        docs/export.md documents the format. A program that follows it gets the probabilities of `predict_proba`.

        >>> import json
        >>> from sunrise import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [3.0], [6.0], [8.0]], ["a", "a", "b", "b"])
        >>> exported = json.loads(model.to_json())
        >>> exported["classes"], exported["blocks"][0]["kind"], exported["blocks"][0]["anchor"]
        (['a', 'b'], 'linear', [[2.0], [7.0]])
        """
        return to_json(self._description())
