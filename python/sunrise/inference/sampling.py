"""Random rows from a model, with the types of the training columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Codes
from sunrise.data.types import ColumnType
from sunrise.model.fitted import FittedModel


def sample_rows(model: FittedModel, y: Codes, rng: np.random.Generator) -> dict[Any, list[Any]]:
    """Return random rows of the classes y, by column; columns that are left out or have no data hold None."""
    names, choices = model.schema.names, model.schema.choices
    columns: dict[Any, list[Any]] = {name: [None] * len(y) for name in names}
    for k, (part, params) in enumerate(zip(model.parts, model.params, strict=True)):
        family, codes = part.family, y
        if getattr(params, "posterior", None) is not None:
            # Parameters that are integrated out are drawn from the posterior for every row.
            params = family.sample_parameters(model.blocks[k], len(y), rng, model.stats.weight)
            codes = (np.arange(len(y)) * len(model.classes) + y).astype(np.int32)
        x = family.sample(params, codes, rng)
        for i, j in enumerate(part.columns):
            if params.known[i]:
                own = choices[j].type or ColumnType()
                drawn, whole = x[:, i], family.support.whole
                if family.reader.is_numeric:
                    drawn = own.round(drawn, family.support.lowest, family.support.highest)
                    whole = whole or own.integers is not None
                cells = family.reader.to_cells(drawn, model.lookups[k], i, choices[j].kind, whole)
                columns[names[j]] = own.to_cells(cells)
    return columns
