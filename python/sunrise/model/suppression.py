"""Suppression: a model without levels and words that few rows have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise.families.capabilities import HasRareLevels
from sunrise.model.choice import Choice
from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats


def without_rare_levels(schema: Schema, stats: Stats, min_rows: int) -> tuple[Schema, Stats]:
    """Return schema and statistics without levels and words that fewer than `min_rows` rows have.

    Both are returned as they are if there are none.
    """
    blocks: list[Any] = []
    #: Names of the levels of every column that has levels, before and after.
    names: dict[int, tuple[Any, Any]] = {}
    for part, block in zip(schema.parts, stats.blocks, strict=True):
        family = part.family
        blocks.append(family.without_rare(block, min_rows) if isinstance(family, HasRareLevels) else block)
        if isinstance(family, HasRareLevels):
            pairs = zip(family.level_names(block), family.level_names(blocks[-1]), strict=True)
            names |= dict(zip(part.columns, pairs, strict=True))
    counted = None if stats.counted is None else stats.counted.without_rare(min_rows)
    asleep = stats.asleep
    if asleep is not None:
        asleep = asleep.without_rare(min_rows)
        names |= {j: (stats.asleep.levels(k), asleep.levels(k)) for k, j in enumerate(schema.asleep)}  # type: ignore[union-attr]
    choices = {
        j: choice
        for j, old in enumerate(schema.choices)
        if (choice := _without_names(old, *names.get(j, ((), ())))) is not old
    }
    before, after = (*stats.blocks, stats.asleep, stats.counted), (*blocks, asleep, counted)
    is_same = all(a is b for a, b in zip(before, after, strict=True))
    return (
        schema.with_choices(choices) if choices else schema,
        stats if is_same else replace(stats, blocks=tuple(blocks), asleep=asleep, counted=counted),
    )


def _without_names(choice: Choice, before: Any, after: Any) -> Choice:
    """Return the choice without names of levels that are not in the statistics any more.

    They are in the declared levels, in the type of the column, and in the reason of the choice.
    """
    has_categories = choice.type is not None and choice.type.categories is not None
    if not (len(before) > len(after) or choice.declared is not None or has_categories):
        return choice
    kept = set(after)
    if choice.declared is not None and not kept.issuperset(choice.declared):
        choice = replace(choice, declared=np.array([n for n in choice.declared if n in kept], dtype=object))
    if choice.type is not None and (selected := choice.type.select_categories(kept)) is not choice.type:
        choice = replace(choice, type=selected)
    for name in (repr(name) for name in before if name not in kept):
        if name in choice.reason:
            choice = replace(choice, reason=choice.reason.replace(name, "(suppressed)"))
    return choice
