"""Fitted attributes: read-only values derived from the fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class FittedAttribute:
    """Descriptor of a fitted attribute, which is derived from the statistics and therefore read-only.

    Only `class_prior_` is `settable`.
    """

    def __init__(self, get: Callable[[Any], Any], doc: str, settable: bool = False) -> None:
        self._get, self._settable, self.__doc__ = get, settable, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "_model" not in model.__dict__:
            raise AttributeError(f"{type(model).__name__} has no {self._name} before it is fitted")
        value = self._get(model)
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    def __set__(self, model: Any, value: Any) -> None:
        if not self._settable:
            cls = type(model).__name__
            remedy = "fit the model to data instead"
            if hasattr(model, "from_parameters"):
                remedy = f"use {cls}.from_parameters(...) to make a model with given parameters"
            if "prior" in self._name:
                remedy = "set class_prior_ instead"
            raise AttributeError(
                f"{self._name} is derived from the statistics of {cls} and cannot be set; {remedy}"
            )
        model._set_class_prior(value)
