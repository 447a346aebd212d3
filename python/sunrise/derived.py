"""What follows from statistics and settings: parameters, priors, forms, and the attributes that show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sunrise.arrays import Labels
from sunrise.conjugate import log
from sunrise.family import Family
from sunrise.forms import Form
from sunrise.prior import class_factors, class_probabilities
from sunrise.stats import Stats
from sunrise.support import Support


@dataclass(frozen=True)
class Settings:
    """What the constructor's arguments mean, read once at the start of a fit."""

    families: tuple[Family, ...]
    class_prior: Any
    class_weight: Any
    n_jobs: int | None

    @property
    def supports(self) -> tuple[Support, ...]:
        """The supports of the families."""
        return tuple(family.support for family in self.families)

    @property
    def shape(self) -> tuple[Any, ...]:
        """What shaped the statistics: models must agree on it to be merged."""
        return tuple(family.shape for family in self.families)


class Derived:
    """All that follows from statistics and settings; parameters are worked out when first asked for."""

    def __init__(self, settings: Settings, stats: Stats, classes: Labels, prior: Any = None) -> None:
        self.settings, self.classes = settings, classes
        spread = stats.spread(classes)
        factors = class_factors(settings.class_weight, spread)
        self.stats = spread if factors is None else spread.scaled(factors)
        wanted = settings.class_prior if prior is None else prior
        self.class_prior = class_probabilities(wanted, self.stats)
        self.log_class_prior = log(self.class_prior)
        generative = len(classes) == 1 or all(family.generative for family in settings.families)
        self.log_prior = self.log_class_prior if generative else np.zeros(len(classes))
        self.supports = settings.supports

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what cannot be derived again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("params", "forms")}

    @property
    def blocks(self) -> tuple[Any, ...]:
        """Statistics of the blocks, class weights applied."""
        return self.stats.blocks

    @cached_property
    def params(self) -> tuple[Any, ...]:
        """Parameters of the blocks."""
        families = self.settings.families
        return tuple(
            f.params(block, self.stats.weight) for f, block in zip(families, self.blocks, strict=True)
        )

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """How the blocks score their cells."""
        return tuple(f.form(p) for f, p in zip(self.settings.families, self.params, strict=True))


class Fitted:
    """A fitted attribute: derived from the statistics, so it can be read and not set."""

    def __init__(self, get: Callable[[Any], Any], doc: str, settable: bool = False) -> None:
        self._get, self._settable, self.__doc__ = get, settable, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "_fitted" not in model.__dict__:
            raise AttributeError(f"{type(model).__name__} has no {self._name} before it is fitted")
        value = self._get(model)
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    def __set__(self, model: Any, value: Any) -> None:
        if not self._settable:
            cls = type(model).__name__
            remedy = f"to make a model from given numbers use {cls}.from_parameters(...)"
            if "prior" in self._name:
                remedy = "set class_prior_ instead"
            raise AttributeError(
                f"{self._name} is derived from the statistics of {cls} and cannot be set; {remedy}"
            )
        model._set_class_prior(value)
