"""What follows from statistics and settings: parameters, priors, forms, and the attributes that show them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise.arrays import Floats, Labels
from sunrise.calibration import Calibration
from sunrise.class_prior import class_factors, class_probabilities
from sunrise.conjugate import Dirichlet, log
from sunrise.family import Family
from sunrise.forms import Form
from sunrise.present import Places
from sunrise.schema import Part, Schema
from sunrise.stats import Stats


@dataclass(frozen=True)
class Settings:
    """What the constructor's arguments mean, read once at the start of a fit."""

    #: A family for all columns, or what NaiveBayes takes: "auto", a name, or a dict by column.
    families: Any
    class_prior: Any
    class_weight: Any
    n_jobs: int | None
    unseen: str = "reserve"
    estimate: str = "mean"

    def settle(self, family: Family) -> Family:
        """A family with the model's own settings where it has none."""
        return family.settled(unseen=self.unseen, estimate=self.estimate)


class Derived:
    """All that follows from statistics and settings; parameters are worked out when first asked for."""

    def __init__(
        self,
        settings: Settings,
        schema: Schema,
        stats: Stats,
        classes: Labels,
        prior: Any = None,
        calibration: Calibration | None = None,
        frozen: tuple[Part, ...] | None = None,
    ) -> None:
        self.settings, self.schema, self.classes, self.calibration = settings, schema, classes, calibration
        self.parts = tuple(replace(p, family=settings.settle(p.family)) for p in schema.parts)
        spread = stats.spread(classes)
        self.factors = class_factors(settings.class_weight, spread)
        scaled = spread if self.factors is None else spread.scaled(self.factors)
        blocks = tuple(
            block.with_levels(schema.declared(part)) if part.family.reads_levels else block
            for part, block in zip(self.parts, scaled.blocks, strict=True)
        )
        self.stats = replace(scaled, blocks=blocks)
        for part in self.parts:
            part.family.check(len(part.columns), len(classes))
        # What was taken from other statistics stays as it was there.
        self.parts = frozen or tuple(
            replace(part, family=part.family.frozen(block))
            for part, block in zip(self.parts, blocks, strict=True)
        )
        wanted = settings.class_prior if prior is None else prior
        self.is_prior_fitted = wanted is None or (isinstance(wanted, str) and wanted == "fitted")
        self.class_prior = class_probabilities(wanted, self.stats)
        self.log_class_prior = log(self.class_prior)
        # Weights that are no probabilities want no prior, unless others beside them do.
        self.is_generative = (
            len(classes) == 1 or any(part.family.wants_prior for part in self.parts) or not self.parts
        )
        self.log_prior = self.log_class_prior if self.is_generative else np.zeros(len(classes))
        self.plain_log_prior = self.log_prior
        if calibration is not None:
            self.log_prior = self.log_prior + calibration.offsets_of(classes)
        self.supports = tuple(part.family.support for part in self.parts)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what cannot be derived again."""
        derived = ("params", "plain_forms", "forms", "_places", "_vocabularies")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    @property
    def n_jobs(self) -> int | None:
        """Threads, as the user said."""
        return self.settings.n_jobs

    @property
    def blocks(self) -> tuple[Any, ...]:
        """Statistics of the blocks, class weights applied and declared levels added."""
        return self.stats.blocks

    @cached_property
    def params(self) -> tuple[Any, ...]:
        """Parameters of the blocks."""
        pairs = zip(self.parts, self.blocks, strict=True)
        return tuple(part.family.params(block, self.stats.weight) for part, block in pairs)

    @property
    def point_params(self) -> tuple[Any, ...]:
        """Parameters of the blocks as numbers: those of the posterior means where they are integrated out."""
        return tuple(p._replace(posterior=None) if getattr(p, "posterior", None) else p for p in self.params)

    @property
    def log_evidence_of_classes(self) -> float:
        """Log evidence of the labels: under a Dirichlet(1) where their probabilities are fitted, 0 where given."""
        if not self.is_prior_fitted:
            return 0.0
        prior = Dirichlet(np.ones(len(self.classes)))
        posterior = Dirichlet(prior.concentration + self.stats.weight)
        return float(prior.log_rise(posterior))

    @property
    def described(self) -> list[list[dict[str, Floats]]]:
        """Parameters of the blocks for people, for each of their columns; none where the column says nothing."""
        return [
            [told if known else {} for told, known in zip(part.family.described(p), p.known, strict=True)]
            for part, p in zip(self.parts, self.params, strict=True)
        ]

    @cached_property
    def plain_forms(self) -> tuple[Form, ...]:
        """How the blocks score their cells by their parameters alone."""
        return tuple(part.family.form(p) for part, p in zip(self.parts, self.params, strict=True))

    def weights(self, k: int) -> Floats:
        """What the calibration multiplies the columns of block k by; one number for a joint block."""
        part = self.parts[k]
        columns = list(part.columns[:1] if part.family.joint else part.columns)
        return np.ones(len(columns)) if self.calibration is None else self.calibration.weights[columns]

    def calibrated(self, calibration: Calibration | None) -> Derived:
        """The same with another calibration, or none."""
        if calibration is None:
            return self.uncalibrated
        new = copy.copy(self.uncalibrated)
        new.__dict__.pop("forms", None)
        new.calibration = calibration
        new.log_prior = self.plain_log_prior + calibration.offsets_of(self.classes)
        return new

    @property
    def uncalibrated(self) -> Derived:
        """The same without its calibration."""
        if self.calibration is None:
            return self
        plain = copy.copy(self)
        plain.calibration, plain.log_prior = None, self.plain_log_prior
        plain.__dict__["forms"] = self.plain_forms
        return plain

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """How the blocks score their cells, calibrated where the model is."""
        if self.calibration is None:
            return self.plain_forms
        return tuple(
            form.times(np.repeat(self.weights(k), len(part.family.support.views)))
            for k, (part, form) in enumerate(zip(self.parts, self.plain_forms, strict=True))
        )

    @cached_property
    def _places(self) -> dict[int, list[Places]]:
        return {
            k: [{name: at for at, name in enumerate(block.levels(j))} for j in range(block.n_columns)]
            for k, (part, block) in enumerate(zip(self.parts, self.blocks, strict=True))
            if part.family.reads_levels
        }

    def places(self, k: int) -> list[Places]:
        """The positions of the levels of block k, for each of its columns."""
        return self._places[k]

    @cached_property
    def _vocabularies(self) -> dict[int, Any]:
        from sunrise.text.vocabulary import Vocabulary

        return {
            k: block.vocabulary or Vocabulary(block.words)
            for k, (part, block) in enumerate(zip(self.parts, self.blocks, strict=True))
            if part.family.reads_text
        }

    def vocabulary(self, k: int) -> Any:
        """The words of block k, by their places."""
        return self._vocabularies[k]


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
            remedy = "fit it to data"
            if hasattr(model, "from_parameters"):
                remedy = f"to make a model from given numbers use {cls}.from_parameters(...)"
            if "prior" in self._name:
                remedy = "set class_prior_ instead"
            raise AttributeError(
                f"{self._name} is derived from the statistics of {cls} and cannot be set; {remedy}"
            )
        model._set_class_prior(value)
