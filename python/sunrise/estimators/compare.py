"""Comparison of two models: by how many bits each column has moved between them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Floats, Labels
from sunrise.data import write
from sunrise.families.capabilities import Continuous, Discrete, Documents
from sunrise.model.choice import Choice
from sunrise.model.fitted import FittedModel
from sunrise.model.given_families import named_family
from sunrise.model.schema import Schema
from sunrise.model.settings import Settings
from sunrise.selection.mutual_information import divergence, entropy_bits
from sunrise.selection.waking import wake_with
from sunrise.statistics.model import Stats

__all__ = ["compare"]

#: The name of the row for the class probabilities.
CLASS_PRIOR = "(class prior)"


class ComparedColumn(NamedTuple):
    """How far one column has moved: bits (NaN if it cannot be compared), family, and a remark."""

    column: str
    bits: float
    family: str
    remark: str


def compare(a: Any, b: Any) -> Any:
    """Return how far every column has moved from model `a` to model `b`, in bits, the largest first.

    The bits of a column are the Jensen-Shannon divergence between its distributions in the two models: 0 if they are
    equal, 1 if no cell is possible in both. Distributions are compared class by class, and averaged over the classes
    that both models have, with the mean of the two class priors as weights. The row "(class prior)" compares the class
    probabilities. A level or word of one model only counts as possible in both. A text column has the bits of the word
    whose presence has moved most. A column of counts in a multinomial block has the bits of the event that a counted
    unit belongs to the column.

    Both models must have the same columns. Their statistics are read with the settings of `a` and one common prior, so
    that they alone differ. A column whose families differ, or whose family is no distribution, has no bits (NaN); the
    remark says why.

    The value is a frame of the library that `a` was fitted with (column, bits, family, remark), or a dict by column if
    `a` was not fitted to a frame.

    >>> import sunrise as sr
    >>> january = sr.NaiveBayes("categorical").fit({"hair": ["long", "short"] * 9}, ["x", "y"] * 9)
    >>> february = sr.NaiveBayes("categorical").fit({"hair": ["long", "long"] * 9}, ["x", "y"] * 9)
    >>> moved = sr.compare(january, february)
    >>> {column: round(row["bits"], 2) for column, row in moved.items()}
    {'hair': 0.27, '(class prior)': 0.0}
    """
    rows = compared_columns(a, b)
    if a._model.schema.library is None:
        return {name: {"bits": x, "family": family, "remark": remark} for name, x, family, remark in rows}
    columns = dict(
        zip(("column", "bits", "family", "remark"), map(list, zip(*rows, strict=True)), strict=True)
    )
    return write.frame(a._model.schema.library, columns)


def compared_columns(a: Any, b: Any) -> list[ComparedColumn]:
    """Return how far every column and the class prior have moved between two models, the largest first."""
    a._require_fitted()
    a._refuse_fixed_parameters()
    a._require_same_type(b, "compare", "with")
    remarks: dict[int, str] = {}
    schema, stats = _aligned_statistics(a, b, remarks)
    bits = np.full(len(schema.names), np.nan)
    families = [("" if choice.family is None else choice.family.name) for choice in a._model.schema.choices]
    for j, choice in enumerate(schema.choices):
        if choice.family is None and j not in remarks:
            remarks[j] = choice.reason
    classes, priors = _class_priors(a, b)
    shared = (labels.locate(a.classes_, classes) >= 0) & (labels.locate(b.classes_, classes) >= 0)
    weights = np.where(shared, priors.mean(axis=0), 0.0)
    if weights.any():
        _compare_columns(a._model.settings, schema, _both(*stats, classes), weights, bits, remarks)
    else:
        remarks |= dict.fromkeys(range(len(bits)), "the models have no class in common")
    of_prior = entropy_bits(priors.mean(axis=0)) - 0.5 * (entropy_bits(priors[0]) + entropy_bits(priors[1]))
    rows = [
        ComparedColumn(name, float(bits[j]), families[j], remarks.get(j, ""))
        for j, name in enumerate(a._columns())
    ]
    rows.append(ComparedColumn(CLASS_PRIOR, float(np.clip(of_prior, 0.0, 1.0)), "", ""))
    return sorted(rows, key=lambda row: (np.isnan(row.bits), -row.bits))


def _class_priors(a: Any, b: Any) -> tuple[Labels, Floats]:
    """Return all classes of two models, and their probabilities in each model, 2 x classes."""
    classes = labels.union(a.classes_, b.classes_)
    priors = np.zeros((2, len(classes)))
    for row, model in zip(priors, (a, b), strict=True):
        row[labels.locate(classes, model.classes_)] = model._model.class_prior
    return classes, priors


def _aligned_statistics(a: Any, b: Any, remarks: dict[int, str]) -> tuple[Schema, tuple[Stats, Stats]]:
    """Return a schema and the statistics of two models under it; columns that cannot be compared are left out."""
    settings = a._model.settings
    (schema, stats), (other, others) = ((_awake(settings, m, b if m is a else a)) for m in (a, b))
    named = schema.is_named and other.is_named
    place = {name: k for k, name in enumerate(other.names)}
    if len(schema.names) != len(other.names) or (named and place.keys() != set(schema.names)):
        raise ValueError(
            "The models have different columns and cannot be compared. Fit them on the same columns."
        )
    order = [place[name] if named else j for j, name in enumerate(schema.names)]
    for j, k in enumerate(order):
        mine, theirs = schema.choices[j], other.choices[k]
        if mine.statistics_key != theirs.statistics_key:
            remarks[j] = (
                f"the models disagree: {mine.description} is not {theirs.description}. Fit both with fixed_families_ "
                "of one of them"
            )
    if remarks:
        schema, stats = schema.without(remarks, stats)
        other, others = other.without({order[j]: text for j, text in remarks.items()}, others)
    return schema.with_levels_of(other), (stats, schema.aligned(other, others))


def _awake(settings: Settings, model: Any, other: Any) -> tuple[Schema, Stats]:
    """Return schema and statistics of a model with its sleeping columns awake.

    They have the family that they have in the other model. Columns that sleep in both are levels.
    """
    schema, stats = model._model.schema.rescored(model.stats_, (), ())
    theirs = other._model.schema
    choices = dict(zip(theirs.names, theirs.choices, strict=True))
    levels = Choice(named_family("categorical"), "constant", kind="level")
    woken = {}
    for j in schema.asleep:
        choice = choices.get(schema.names[j])
        woken[j] = levels if choice is None or choice.asleep or choice.family is None else choice
    schema, stats = wake_with(settings, schema, stats, woken)
    return schema, replace(stats, asleep=None)


def _both(a: Stats, b: Stats, classes: Labels) -> Stats:
    """Return the statistics of two models side by side: all classes of the first one, then all of the second one."""
    n = len(classes)
    first, second = np.arange(n), n + np.arange(n)
    parts = ((a.reindexed(classes), first), (b.reindexed(classes), second))
    rows, weight = (
        np.concatenate([getattr(stats, name) for stats, _ in parts]) for name in ("rows", "weight")
    )
    blocks = zip(
        *([block.reindexed(at, 2 * n) for block in stats.blocks] for stats, at in parts), strict=True
    )
    return Stats(np.arange(2 * n), rows, weight, tuple(one + two for one, two in blocks))


def _compare_columns(
    settings: Settings, schema: Schema, stats: Stats, weights: Floats, bits: Floats, remarks: dict[int, str]
) -> None:
    """Write the bits of the columns of all blocks, or remarks why they have none."""
    settings = replace(settings, class_prior="uniform", class_weight=None)
    model = FittedModel(settings, schema, stats, stats.classes)
    weights = weights / weights.sum()
    for part, params, block in zip(model.parts, model.point_params, model.blocks, strict=True):
        columns = list(part.columns)
        try:
            if not isinstance(part.family, Documents | Discrete | Continuous):
                raise ValueError(f"{part.family.name} is not a distribution of the cells")
            if isinstance(part.family, Documents):
                presence, of_words, used = part.family.presence(block)
                moved = divergence(presence, of_words, weights) if len(used) else np.zeros(0)
                bits[columns] = moved.max(initial=0.0, where=used)
                if used.any():
                    word = block.words[np.argmax(np.where(used, moved, -1.0))]
                    remarks[columns[0]] = f"most by the word {str(word)!r}"
            else:
                bits[columns] = divergence(part.family, params, weights)
        except ValueError as error:
            remarks |= dict.fromkeys(columns, str(error))
