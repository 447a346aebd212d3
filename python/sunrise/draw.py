"""Rows drawn from a model, in the types that its columns had."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise.arrays import Codes, Floats
from sunrise.derived import Derived
from sunrise.levels import MISSING


def drawn(fitted: Derived, y: Codes, rng: np.random.Generator) -> dict[Any, list[Any]]:
    """Rows of these classes, column by column; of what the model leaves out, or knows nothing of, None."""
    names, choices = fitted.schema.names, fitted.schema.choices
    columns: dict[Any, list[Any]] = {name: [None] * len(y) for name in names}
    for k, (part, params) in enumerate(zip(fitted.parts, fitted.params, strict=True)):
        family, codes = part.family, y
        if getattr(params, "posterior", None) is not None:
            # What is integrated out is drawn anew for every row.
            params = family.drawn(fitted.blocks[k], len(y), rng, fitted.stats.weight)
            codes = (np.arange(len(y)) * len(fitted.classes) + y).astype(np.int32)
        x = family.sample(params, codes, rng)
        for i, j in enumerate(part.columns):
            if params.known[i]:
                levels = list(fitted.places(k)[i]) if part.family.reads_levels else None
                columns[names[j]] = _typed(x[:, i], choices[j].kind, part.family.support.whole, levels)
    return columns


def _typed(x: Floats, kind: str, whole: bool, levels: list[str] | None) -> list[Any]:
    """Drawn numbers as cells: levels by name, yes and no, whole numbers, or as they are."""
    if levels is not None:
        return [_cell(levels[int(place)], kind) for place in x]
    if kind == "bool":
        return [bool(value >= 0.5) for value in x]
    return [int(value) for value in x] if whole else x.tolist()


def _cell(level: str, kind: str) -> Any:
    """A level as the cell it is of: a number or a yes that was called by its name."""
    if level == MISSING:
        return None
    if kind == "bool":
        return {"True": True, "False": False}.get(level, level)
    if kind != "number":
        return level
    for number in (int, float):
        try:
            return number(level)
        except ValueError:
            pass
    return level
