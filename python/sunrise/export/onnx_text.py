"""ONNX nodes of text blocks: scaled counts of words, given by their positions in the vocabulary."""

from __future__ import annotations

import math

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.export.description import Description
from sunrise.export.onnx_blocks import Blocks


def text(out: Blocks, block: Description) -> None:
    """Add a text column, given by positions and counts of words and the number of words."""
    graph = out.graph
    (j,) = block["columns"]
    ids, counts, length = (out.cells[key] for key in text_inputs(j))  # type: ignore[index]
    one, zero = graph.constant(1.0), graph.constant(0.0)
    n = len(block["words"])
    present = graph.cast(graph.op("Greater", counts, zero))
    cells = {
        "count": lambda: counts,
        "binary": lambda: present,
        "log": lambda: graph.op("Log", graph.op("Add", counts, one)),
    }[block["tf"]]()
    if block["tokens"]["binary"] and block["tf"] != "binary":
        logs = math.log(2.0) if block["tf"] == "log" else 1.0
        cells = graph.op("Mul", present, graph.constant(logs))
    if block["word_weight"] is not None:
        weights = graph.constant(np.append(block["word_weight"], 0.0))
        cells = graph.op("Mul", cells, graph.op("Gather", weights, ids, axis=0))
    if block["total"] is not None:
        total = graph.sum(cells, 1, keepdims=True)
        positive = graph.op("Greater", total, zero)
        factor = graph.op("Div", graph.constant(block["total"]), graph.where(positive, total, one))
        cells = graph.op("Mul", cells, graph.where(positive, factor, one))
    elif block["length"] != 0.0:
        square = graph.sum(graph.op("Mul", cells, cells), 1, keepdims=True)
        square = graph.where(graph.op("Greater", square, zero), square, one)
        cells = graph.op("Mul", cells, graph.op("Pow", square, graph.constant(-0.5 * block["length"])))
    if block["above"] is not None:
        listed = graph.cast(graph.op("GreaterOrEqual", ids, graph.constant(0, np.int64)))
        cells = graph.op(
            "Mul", graph.cast(graph.op("Greater", cells, graph.constant(block["above"]))), listed
        )
    is_missing = graph.op("IsNaN", length)
    observed = graph.op("Sub", one, graph.cast(is_missing))

    def by_word(weights: Floats) -> str:
        table = graph.constant(np.concatenate([weights.T, np.zeros((1, out.n_classes))]))
        found = graph.op("MatMul", graph.unsqueeze(cells, 1), graph.op("Gather", table, ids, axis=0))
        return graph.op("Squeeze", found, graph.constant([1], np.int64))

    if block["scores"] == "polya":
        known, a = block["known"], block["concentration"]
        out.can_be_impossible |= bool((a[:, known] == 0.0).any())
        table = np.concatenate([np.where(known, a, 1.0).T, np.ones((1, out.n_classes))])
        use = graph.op("Gather", graph.constant(np.append(known.astype(float), 0.0)), ids, axis=0)
        used = graph.unsqueeze(graph.op("Mul", cells, use), 2)
        score = graph.sum(graph.log_rising(graph.op("Gather", graph.constant(table), ids, axis=0), used), 1)
        total = a[:, known].sum(axis=1)
        whole = graph.log_rising(
            graph.constant(np.where(total > 0, total, 1.0)[None, :]), graph.sum(cells, 1, True)
        )
        whole = graph.op("Mul", whole, graph.constant((total > 0).astype(float)[None, :]))
        score = graph.op("Mul", graph.op("Sub", score, whole), graph.constant(block["factor"]))
    else:
        infinite = np.isinf(block["x"])
        score = graph.op(
            "Add", by_word(np.where(infinite, 0.0, block["x"])), graph.constant(block["base"][None, :])
        )
        if infinite.any() or block["base_excluded"].any():
            excluded = by_word(np.where(infinite, -np.sign(block["x"]), 0.0))
            excluded = graph.op("Add", excluded, graph.constant(block["base_excluded"][None, :]))
            out.excluded.append(graph.op("Mul", excluded, observed))
    known_length = graph.where(is_missing, zero, length)
    score = out.lengthened(block, score, lambda: known_length)
    if n == 0:
        score = graph.op("Mul", score, zero)
    out.scores.append(graph.where(is_missing, zero, score))


def text_inputs(j: int) -> tuple[tuple[int, str], tuple[int, str], tuple[int, str]]:
    """Return the keys of the inputs of a text column: word positions, counts, and number of words."""
    return (j, "ids"), (j, "counts"), (j, "length")
