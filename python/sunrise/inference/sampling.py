"""Rows drawn from a model, in the types that its columns had."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Codes
from sunrise.model.fitted import FittedModel


def sample_rows(fitted: FittedModel, y: Codes, rng: np.random.Generator) -> dict[Any, list[Any]]:
    """Rows of these classes, column by column; of what the model leaves out, or knows nothing of, None."""
    names, choices = fitted.schema.names, fitted.schema.choices
    columns: dict[Any, list[Any]] = {name: [None] * len(y) for name in names}
    for k, (part, params) in enumerate(zip(fitted.parts, fitted.params, strict=True)):
        family, codes = part.family, y
        if getattr(params, "posterior", None) is not None:
            # What is integrated out is drawn anew for every row.
            params = family.sample_parameters(fitted.blocks[k], len(y), rng, fitted.stats.weight)
            codes = (np.arange(len(y)) * len(fitted.classes) + y).astype(np.int32)
        x = family.sample(params, codes, rng)
        for i, j in enumerate(part.columns):
            if params.known[i]:
                cells = family.reader.to_cells(
                    x[:, i], fitted.lookups[k], i, choices[j].kind, family.support.whole
                )
                columns[names[j]] = cells
    return columns
