"""The inputs of an exported ONNX graph, made from a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise.data.align import align
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.export.description import Description
from sunrise.export.shapes import level_keys
from sunrise.families.text_reader import count_words
from sunrise.model.fitted import FittedModel


def onnx_inputs(
    model: FittedModel, description: Description, table: Frame, dtype: str, missing: str
) -> dict[str, NDArray[Any]]:
    """Return the inputs of the graph for the rows of a table, by name."""
    table, columns = align(table, model.schema, model.settings.who), description["columns"]
    if description["matrix"]:
        if table.block is not None:
            return {"X": table.block.numbers().astype(dtype)}
        cells = [table.read(j).numbers() for j in range(len(columns))]
        return {"X": np.stack(cells, axis=1).astype(dtype)}
    inputs: dict[str, NDArray[Any]] = {}
    for block in description["blocks"]:
        for j in block["columns"]:
            name, column = columns[j]["name"], table.read(j)
            if block["kind"] in ("pair", "quadratic") and name in inputs:
                continue
            if block["kind"] == "text":
                part = next(k for k, part in enumerate(model.parts) if part.columns == (j,))
                inputs |= _words(name, model, part, column, dtype)
            elif block["kind"] == "levels" and level_keys(block["levels"], columns[j]["kind"]) is None:
                names, codes = column.levels
                inputs[name] = np.append(names, missing)[codes].astype(object)[:, None]
            else:
                inputs[name] = column.numbers().astype(dtype)[:, None]
    if not description["blocks"]:
        inputs = {column["name"]: np.full((table.n_rows, 1), np.nan, dtype) for column in columns}
    return inputs


def _words(name: str, model: FittedModel, k: int, column: Column, dtype: str) -> dict[str, NDArray[Any]]:
    """Return the positions and counts of the words of every document, padded, and its number of words."""
    counted = count_words(column, model.parts[k].family, model.lookups[k], model.n_jobs)
    distinct = counted.distinct
    ids = np.full((counted.n_rows, max(1, int(distinct.max(initial=0)))), -1, np.int64)
    counts = np.zeros(ids.shape, dtype)
    listed = np.arange(ids.shape[1]) < distinct[:, None]
    ids[listed], counts[listed] = counted.indices, counted.data
    lengths = np.where(counted.missing, np.nan, counted.lengths.astype(float))
    return {
        f"{name}.ids": ids,
        f"{name}.counts": counts,
        f"{name}.length": lengths.astype(dtype)[:, None],
    }
