"""Rows drawn from a model, in the types that its columns had."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise.arrays import Codes, Floats
from sunrise.derived import Derived


def drawn(fitted: Derived, y: Codes, rng: np.random.Generator) -> dict[Any, list[Any]]:
    """Rows of these classes, column by column; what the model leaves out is None."""
    names, choices = fitted.schema.names, fitted.schema.choices
    columns: dict[Any, list[Any]] = {name: [None] * len(y) for name in names}
    for k, (part, params) in enumerate(zip(fitted.parts, fitted.params, strict=True)):
        x = part.family.sample(params, y, rng)
        for i, j in enumerate(part.columns):
            levels = list(fitted.places(k)[i]) if part.family.reads_levels else None
            columns[names[j]] = _typed(x[:, i], choices[j].kind, part.family.support.whole, levels)
    return columns


def _typed(x: Floats, kind: str, whole: bool, levels: list[str] | None) -> list[Any]:
    """Drawn numbers as cells: levels by name, yes and no, whole numbers, or as they are."""
    if levels is not None:
        names = [levels[int(place)] for place in x]
        return [_number(name) for name in names] if kind == "number" else names
    if kind == "bool":
        return [bool(value) for value in x]
    return [int(value) for value in x] if whole else x.tolist()


def _number(name: str) -> Any:
    """The number that a level is called by."""
    try:
        return int(name)
    except ValueError:
        return float(name)
