"""ONNX nodes of blocks that look a cell up: levels, codes, bins, and the pieces of a curve."""

from __future__ import annotations

import math

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.export.description import Description
from sunrise.export.onnx_blocks import Blocks
from sunrise.export.onnx_graph import Graph
from sunrise.export.shapes import level_keys


def _missing_at(out: Blocks, x: str, place: str, at: int) -> str:
    """Return a place, or the place `at` where the cell is missing."""
    graph = out.graph
    is_missing = graph.op("IsNaN", graph.op("Sub", x, x))
    return graph.where(is_missing, graph.constant([[at]], np.int64), place)


def bins(out: Blocks, block: Description) -> None:
    """Add bins: the number of edges up to the cell is a place in the table."""
    x = out.numbers(block["columns"])
    scores = block["scores"]
    place = _missing_at(out, x, out.graph.place(x, block["edges"]), len(scores))
    out.add_place(place, np.concatenate([scores, np.zeros((1, out.n_classes))]))


def codes(out: Blocks, block: Description) -> None:
    """Add level codes."""
    graph, x, n = out.graph, out.numbers(block["columns"]), len(block["codes"])
    found = _position(graph, x, block["codes"].astype(float))
    beyond = graph.cast(graph.op("GreaterOrEqual", x, graph.constant(float(block["size"]))), "INT64")
    # 0: another possible code; 1 ... n: observed codes; n + 1: an unseen code; n + 2: missing.
    is_other = graph.op("Equal", found, graph.constant([[0]], np.int64))
    unseen = graph.op("Mul", beyond, graph.constant([[n + 1]], np.int64))
    place = graph.where(is_other, unseen, found)
    possible = graph.op(
        "And", graph.op("GreaterOrEqual", x, graph.constant(0.0)), graph.op("Equal", x, graph.op("Floor", x))
    )
    place = graph.where(possible, place, graph.constant([[n + 2]], np.int64))
    place = _missing_at(out, x, place, n + 2)
    zeros = np.zeros((1, out.n_classes))
    scores = block["scores"].reshape(n, out.n_classes)
    out.add_place(place, np.concatenate([[block["other"]], scores, [block["unseen"]], zeros]))


def _position(graph: Graph, x: str, keys: Floats) -> str:
    """Return 1 + the position of each cell (rows x 1) among keys, 0 for other cells."""
    same = graph.cast(graph.op("Equal", x, graph.constant(keys[None, :])), "INT64")
    positions = graph.constant(np.arange(1, len(keys) + 1)[None, :], np.int64)
    return graph.sum(graph.op("Mul", same, positions), 1, keepdims=True)


def levels(out: Blocks, block: Description) -> None:
    """Add levels by name, or by number if the column holds numbers."""
    graph = out.graph
    (j,) = block["columns"]
    levels, column = block["levels"], out.description["columns"][j]
    n = len(levels)
    scores = np.concatenate(
        [[block["unseen"]], block["scores"].reshape(n, out.n_classes), [block["missing"]]]
    )
    keys = level_keys(levels, column["kind"])
    if keys is not None:
        x = out.numbers([j])
        out.level_places[j] = _missing_at(out, x, _position(graph, x, np.array(keys)), n + 1)
        out.add_place(out.level_places[j], scores)
        return
    if out.missing in levels:
        raise ValueError(
            f"column {column['name']!r} has a level {out.missing!r}, which marks missing strings in ONNX. Choose "
            "another mark: to_onnx(missing=...)."
        )
    place = graph.op(
        "LabelEncoder",
        out.cells[j],
        domain="ai.onnx.ml",
        keys_strings=[*levels, out.missing],
        values_int64s=[*range(1, n + 2)],
        default_int64=0,
    )
    out.level_places[j] = place
    out.add_place(place, scores)


def pair(out: Blocks, block: Description) -> None:
    """Add two columns together: the place of the pair in a table of levels or bins, with a border of zeros."""
    graph, places, widths = out.graph, [], []
    for side, j in zip((block["first"], block["second"]), block["columns"], strict=True):
        if "levels" in side:  # 0: unseen, 1 ... n: levels, n + 1: missing
            places.append(out.level_places[j])
            widths.append((1, 1))
        else:
            x = out.numbers([j])
            n = len(side["edges"]) + 1
            places.append(_missing_at(out, x, graph.place(x, side["edges"]), n))
            widths.append((0, 1))
    scores = np.pad(block["scores"], [*widths, (0, 0)])
    row = graph.op("Mul", places[0], graph.constant([[scores.shape[1]]], np.int64))
    out.add_place(graph.op("Add", row, places[1]), scores.reshape(-1, out.n_classes))


def curve(out: Blocks, block: Description) -> None:
    """Add a piecewise polynomial."""
    graph = out.graph
    x, observed = out.read(block)
    scale, breaks, coefficients = block["scale"], block["breaks"], block["coefficients"]
    if scale["log"]:
        u = None
        if math.isfinite(scale["lower"]):
            inside = x if scale["lower"] == 0.0 else graph.op("Sub", x, graph.constant(scale["lower"]))
            u = graph.op("Log", inside)
        if math.isfinite(scale["upper"]):
            high = graph.op("Log", graph.op("Sub", graph.constant(scale["upper"]), x))
            u = graph.op("Neg", high) if u is None else graph.op("Sub", u, high)
        x = u or x
    u = graph.op("Min", graph.op("Max", x, graph.constant(breaks[0])), graph.constant(breaks[-1]))
    n_pieces, n_classes, n_powers = coefficients.shape
    ends = np.stack([(breaks[1:] + breaks[:-1]) / 2, (breaks[1:] - breaks[:-1]) / 2], axis=1)
    table = np.concatenate([ends, np.moveaxis(coefficients, 2, 1).reshape(n_pieces, -1)], axis=1)
    row = graph.op("Gather", graph.constant(table), graph.place(u, breaks[1:-1]), axis=0)
    row = graph.op("Squeeze", row, graph.constant([1], np.int64))
    t = graph.op("Div", graph.op("Sub", u, graph.columns(row, 0, 1)), graph.columns(row, 1, 2))
    powers = graph.unsqueeze(graph.op("Pow", t, graph.constant(np.arange(float(n_powers))[None, :])), 1)
    shape = graph.constant([-1, n_powers, n_classes], np.int64)
    weights = graph.op("Reshape", graph.columns(row, 2, table.shape[1]), shape)
    score = graph.op("Squeeze", graph.op("MatMul", powers, weights), graph.constant([1], np.int64))
    out.scores.append(graph.op("Mul", score, graph.cast(observed)))
