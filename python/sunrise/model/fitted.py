"""The fitted model: parameters, priors and forms, derived from statistics and settings."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Labels
from sunrise._common.threads import limited_to
from sunrise.families.capabilities import HasLevels
from sunrise.forms.base import Form
from sunrise.model.calibration_weights import Calibration
from sunrise.model.choice import Part
from sunrise.model.class_prior import class_factors, class_probabilities
from sunrise.model.interaction import CorrelatedColumns, Interaction
from sunrise.model.record import RecordReader
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.special import log
from sunrise.statistics.model import Stats
from sunrise.statistics.support import Support

#: Attributes that depend on the calibration.
_CALIBRATED = ("log_prior", "forms", "has_offsets", "silent", "row_exponents", "columns_alone")


class FittedModel:
    """A fitted model, derived from statistics and settings; parameters are computed at the first use."""

    def __init__(
        self,
        settings: Settings,
        schema: Schema,
        stats: Stats,
        classes: Labels,
        prior: Any = None,
        calibration: Calibration | None = None,
        resolved: tuple[Part, ...] | None = None,
    ) -> None:
        self.settings, self.schema, self.classes, self.calibration = settings, schema, classes, calibration
        #: The class prior that the user has set after the fit, or None.
        self.given_prior = prior
        self._given_stats = stats
        self.parts = tuple([Part(settings.with_defaults(p.family), p.columns) for p in schema.parts])
        all_classes = stats.reindexed(classes)
        self.factors = class_factors(settings.class_weight, all_classes)
        scaled = all_classes if self.factors is None else all_classes.scaled(self.factors)
        blocks = tuple(
            [
                _with_declared(part, block, schema.declared(part))
                for part, block in zip(self.parts, scaled.blocks, strict=True)
            ]
        )
        is_same = all(map(operator.is_, blocks, scaled.blocks))
        self.stats = scaled if is_same else replace(scaled, blocks=blocks)
        #: Statistics of the blocks, class weights applied and declared levels added.
        self.blocks: tuple[Any, ...] = blocks
        for part in self.parts:
            part.family.check(len(part.columns), len(classes))
        # Families resolved from other statistics (EM) keep the settings that they got from these.
        with limited_to(self.n_jobs):
            self.parts = resolved or tuple(
                [
                    Part(part.family.resolve(block), part.columns)
                    for part, block in zip(self.parts, blocks, strict=True)
                ]
            )
        wanted = settings.class_prior if prior is None else prior
        self.is_prior_fitted = wanted is None or (isinstance(wanted, str) and wanted == "fitted")
        self.class_prior = class_probabilities(wanted, self.stats)
        # Scores that are not log-probabilities use no class prior, unless another block of the model uses it.
        uses_prior = any(part.family.uses_class_prior for part in self.parts)
        self.is_generative = uses_prior or not self.parts or len(classes) == 1

    @classmethod
    def deferred(cls, failure: Callable[[str], Exception], *arguments: Any) -> FittedModel:
        """Return a model that is derived when it is first used: a model file is loaded before its arrays are read.

        `failure` makes the exception that is raised if the model cannot be derived.
        """
        self = cls.__new__(cls)
        self.__dict__.update(_arguments=arguments, _failure=failure)
        return self

    def __getattr__(self, name: str) -> Any:
        before = dict(self.__dict__)
        if "_arguments" not in before:
            raise AttributeError(name)
        self.__dict__.clear()
        try:
            self.__init__(*before["_arguments"])  # type: ignore[misc]
        except BaseException as error:
            self.__dict__.clear()
            self.__dict__.update(before)
            if isinstance(error, Exception) and "_failure" in before:
                raise before["_failure"](f"The model file is not valid: {str(error)[:200]}") from error
            raise
        return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling: the arguments, from which everything else is derived again."""
        given = (
            self.settings,
            self.schema,
            self._given_stats,
            self.classes,
            self.given_prior,
            self.calibration,
        )
        return {"_arguments": given}

    def __copy__(self) -> FittedModel:
        """Return a copy that shares everything that has been derived."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    @property
    def n_jobs(self) -> int | None:
        """Number of threads, as the user set it."""
        return self.settings.n_jobs

    @cached_property
    def supports(self) -> tuple[Support, ...]:
        """The cells that the blocks accept."""
        return tuple(part.family.support for part in self.parts)

    @cached_property
    def log_class_prior(self) -> Floats:
        """Log probability of every class."""
        return log(self.class_prior)

    @cached_property
    def plain_log_prior(self) -> Floats:
        """What the scores of every row begin with, without calibration."""
        return self.log_class_prior if self.is_generative else np.zeros(len(self.classes))

    @cached_property
    def log_prior(self) -> Floats:
        """What the scores of every row begin with."""
        plain, calibration = self.plain_log_prior, self.calibration
        return plain if calibration is None else plain + calibration.offsets_of(self.classes)

    @cached_property
    def params(self) -> tuple[Any, ...]:
        """Parameters of the blocks."""
        pairs = zip(self.parts, self.blocks, strict=True)
        with limited_to(self.n_jobs):
            return tuple(part.family.params(block, self.stats.weight) for part, block in pairs)

    @property
    def point_params(self) -> tuple[Any, ...]:
        """Point estimates of the parameters: posterior means if the parameters are integrated out."""
        return tuple(p._replace(posterior=None) if getattr(p, "posterior", None) else p for p in self.params)

    @property
    def log_evidence_of_classes(self) -> float:
        """Log evidence of the labels under a Dirichlet(1) prior; 0 if the class prior is given."""
        if not self.is_prior_fitted:
            return 0.0
        prior = Dirichlet(np.ones(len(self.classes)))
        posterior = Dirichlet(prior.concentration + self.stats.weight)
        return float(prior.log_evidence(posterior))

    @property
    def descriptions(self) -> list[list[dict[str, Floats]]]:
        """Parameters for display, for each column of each block; empty for a column without information."""
        return [
            [
                description if known else {}
                for description, known in zip(part.family.describe(p), p.known, strict=True)
            ]
            for part, p in zip(self.parts, self.params, strict=True)
        ]

    def brief_descriptions(self, most_columns: int, most_levels: int) -> list[list[dict[str, Floats]]]:
        """Parameters for display, of the first columns only, and of each only the most probable levels."""
        return [self._brief_description(k, most_columns, most_levels) for k in range(len(self.parts))]

    def _brief_description(self, k: int, most_columns: int, most_levels: int) -> list[dict[str, Floats]]:
        part = self.parts[k]
        family, n = part.family, sum(j < most_columns for j in part.columns[:most_columns])
        if n == len(part.columns) or family.joint:
            params = self.params[k]
        elif n == 0:
            return []
        else:
            # The parameters of a column depend on its own statistics only.
            family = family.select_columns(list(range(n)))
            block = Schema.gather_columns(part, [(0, at) for at in range(n)], (self.blocks[k],))
            params = family.params(block, self.stats.weight)
        if isinstance(family, HasLevels):
            described = family.describe_briefly(params, most_levels)
        else:
            described = family.describe(params)
        return [d if known else {} for d, known in zip(described[:n], params.known[:n], strict=True)]

    @cached_property
    def plain_forms(self) -> tuple[Form, ...]:
        """The forms of the blocks without calibration."""
        with limited_to(self.n_jobs):
            return tuple(part.family.form(p) for part, p in zip(self.parts, self.params, strict=True))

    def weights(self, k: int) -> Floats:
        """Return the calibration weights of the columns of block k; one weight for a joint block."""
        part = self.parts[k]
        columns = list(part.columns[:1] if part.family.joint else part.columns)
        return np.ones(len(columns)) if self.calibration is None else self.calibration.weights[columns]

    def calibrated(self, calibration: Calibration | None) -> FittedModel:
        """Return the same model with another calibration; None removes the calibration."""
        if calibration is None:
            return self.uncalibrated
        return self.uncalibrated._with_calibration(calibration)

    def _with_calibration(self, calibration: Calibration | None) -> FittedModel:
        """Return a copy with another calibration, which shares everything that does not depend on it."""
        new = copy.copy(self)
        for name in _CALIBRATED:
            new.__dict__.pop(name, None)
        new.calibration = calibration
        return new

    def with_interactions(self, schema: Schema, stats: Stats) -> FittedModel:
        """Return an uncalibrated model of these columns with the interactions of a schema, counted in `stats`.

        `stats` have the same columns; their blocks stay as they were derived.
        """
        new = copy.copy(self.uncalibrated)
        for name in (*_CALIBRATED, "records", "supports"):
            new.__dict__.pop(name, None)
        own = self._of_classes(stats.blocks[len(schema.column_parts) :])
        given = zip(schema.interaction_parts, own, strict=True)
        parts = tuple(
            Part(self.settings.with_defaults(part.family).resolve(block), part.columns)
            for part, block in given
        )
        new._given_stats = stats
        new.stats = replace(self.stats, blocks=(*self.stats.blocks, *own))
        new.schema, new.parts, new.blocks = schema, (*self.parts, *parts), (*self.blocks, *own)
        for part, block in zip(parts, own, strict=True):
            params = part.family.params(block, self.stats.weight)
            more = {"params": params, "plain_forms": part.family.form(params), "lookups": None}
            for name, value in more.items():
                if name in new.__dict__:
                    value = part.family.reader.lookup(block) if name == "lookups" else value
                    new.__dict__[name] = (*new.__dict__[name], value)
        return new

    @property
    def given_stats(self) -> Stats:
        """The statistics that the model was made from: without class weights and declared levels."""
        return self._given_stats

    def _of_classes(self, blocks: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return statistics of the given classes as those of all classes, with class weights."""
        alone = replace(self._given_stats, blocks=blocks, asleep=None, counted=None).reindexed(self.classes)
        return (alone if self.factors is None else alone.scaled(self.factors)).blocks

    def counts_of(self, pairs: Sequence[Interaction]) -> Any:
        """Return the counts of pairs of columns that the model scores or counts, with class weights."""
        return self._of_classes(self.schema.rescored(self._given_stats, pairs, ())[1].blocks[-1:])[0]

    def rescored(
        self, interactions: Sequence[Interaction | CorrelatedColumns], counted: Sequence[Interaction]
    ) -> FittedModel:
        """Return an uncalibrated model that scores and counts other interactions; see `Schema.rescored`."""
        schema, stats = self.schema.rescored(self._given_stats, interactions, counted)
        return self.columns_alone.with_interactions(schema, stats)

    def with_interactions_at(self, keep: list[int], count_others: bool = False) -> FittedModel:
        """Return the model with some of its interactions, by their positions, and with their weights.

        With `count_others`, the other pairs are counted and not scored.
        """
        schema, first = self.schema, len(self.schema.names)
        if len(keep) == len(schema.interactions):
            return self
        others = [own for k, own in enumerate(schema.pairs) if k not in keep] if count_others else []
        new = self.rescored([schema.interactions[k] for k in keep], (*schema.counted, *others))
        if (calibration := self.calibration) is None:
            return new
        summands = np.array([*range(first), *(first + k for k in keep)], int)
        return new.calibrated(calibration.select_summands(summands))

    def with_counted(self, schema: Schema, stats: Stats) -> FittedModel:
        """Return the same model with pairs that are counted and not scored; `stats` have their counts."""
        new = copy.copy(self)
        new.__dict__.pop("columns_alone", None)
        new.schema, new._given_stats = schema, stats
        return new

    def select_blocks(self, keep: list[int]) -> FittedModel:
        """Return the model of some of its blocks; class prior and calibration stay."""
        new = copy.copy(self)
        for name in ("parts", "blocks", "supports", "params", "plain_forms", "forms", "lookups"):
            if name in self.__dict__:
                new.__dict__[name] = tuple(self.__dict__[name][k] for k in keep)
        return new

    @cached_property
    def columns_alone(self) -> FittedModel:
        """The model without interactions: densities, draws, evidence and information are of the columns alone."""
        if not self.schema.interactions:
            return self
        alone = self.select_blocks(list(range(len(self.schema.column_parts))))
        alone.schema, alone._given_stats = self.schema.rescored(self._given_stats, (), ())
        alone.stats = self.schema.rescored(self.stats, (), ())[1]
        alone.__dict__.pop("records", None)
        return alone

    @cached_property
    def has_offsets(self) -> bool:
        """True if calibration adds offsets to the class prior."""
        return self.calibration is not None and bool((self.log_prior != self.plain_log_prior).any())

    @property
    def uncalibrated(self) -> FittedModel:
        """The same model without calibration."""
        if self.calibration is None:
            return self
        forms = self.plain_forms  # derived once, for both models
        plain = self._with_calibration(None)
        plain.__dict__["forms"] = forms
        return plain

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The forms of the blocks, with calibration weights if the model is calibrated."""
        if self.calibration is None:
            return self.plain_forms
        return tuple(self.weighted_form(k, form) for k, form in enumerate(self.plain_forms))

    def weighted_form(self, k: int, form: Form) -> Form:
        """Return a form of block k, whose classes may be there several times, with the weights of the calibration."""
        family, weights = self.parts[k].family, self.weights(k)
        words = None if self.calibration is None else self.calibration.words
        if words is not None:  # the model has one block, of text
            return words.apply(form, family, self.blocks[k], self.classes, float(weights[0]))
        return form.times(np.repeat(weights, len(family.support.views)))

    @cached_property
    def lookups(self) -> tuple[Any, ...]:
        """Data of the blocks for reading rows: positions of levels, vocabularies."""
        pairs = zip(self.parts, self.blocks, strict=True)
        return tuple(
            None if (reader := part.family.reader).is_plain else reader.lookup(block) for part, block in pairs
        )

    @cached_property
    def records(self) -> RecordReader:
        """The reader of single records."""
        return RecordReader(self.schema, self.parts, self.lookups)

    @cached_property
    def silent(self) -> dict[Any, tuple[Floats, Floats]]:
        """Results for rows that say nothing, kept by `model/score.py`."""
        return {}

    @cached_property
    def row_exponents(self) -> dict[int, float]:
        """The exponents of the row length in the scores, by block; blocks with exponent 0 are not included."""
        if self.calibration is None:
            return {}
        exponents = self.calibration.exponents_of_columns
        powers = ((k, float(exponents[part.columns[0]])) for k, part in enumerate(self.parts))
        return {k: power for k, power in powers if power != 0.0}


def _with_declared(part: Part, block: Any, declared: list[Labels]) -> Any:
    """Return the statistics of a block with the declared levels of its columns added."""
    return part.family.reader.declare(block, declared) if any(map(len, declared)) else block
