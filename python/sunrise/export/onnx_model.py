"""The description of a model as an ONNX graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sunrise.export.description import Description
from sunrise.export.onnx_blocks import Blocks
from sunrise.export.onnx_graph import ML_OPSET, OPSET, Graph
from sunrise.export.onnx_numbers import counts, distance, linear, polya, quadratic, rising
from sunrise.export.onnx_tables import bins, codes, curve, levels, pair
from sunrise.export.onnx_text import text, text_inputs
from sunrise.export.shapes import SILENT, labels_of_one_type, level_keys, log_softmax, refuse_unseen

DTYPES = {"float64": "DOUBLE", "float32": "FLOAT"}
_BLOCKS = {
    own.__name__: own
    for own in (linear, counts, polya, distance, rising, bins, codes, levels, pair, curve, quadratic, text)
}


def to_onnx(description: Description, dtype: str, missing: str) -> Any:
    """Return a ModelProto with the inputs of the columns and the outputs label, probabilities and log_probabilities."""
    if dtype not in DTYPES:
        raise ValueError(f'dtype is {dtype!r}; it must be "float64" or "float32".')
    refuse_unseen(description, "ONNX")
    graph = Graph()
    helper, proto = graph.onnx.helper, graph.onnx.TensorProto
    number = getattr(proto, DTYPES[dtype])
    cells, first = _inputs(graph, description, dtype)
    blocks = Blocks(graph, description, cells, missing)
    for block in description["blocks"]:
        _BLOCKS[block["kind"]](blocks, block)
    blocks.finish()
    if not blocks.scores:  # every row has the prior: the cells of the first input, times 0
        zero = graph.cast(graph.op("Equal", first, first)) if first else graph.constant([[1.0]])
        zero = graph.op("Mul", graph.columns(zero, 0, 1), graph.constant(0.0))
        blocks.scores.append(graph.op("Add", zero, graph.constant(description["log_prior"][None, :])))
    score = graph.total(blocks.scores)
    score = _possible(graph, blocks, score, description)
    logs = graph.op("LogSoftmax", score, axis=1)
    if description["log_prior_without_offsets"] is not None:
        logs = _restore_prior(graph, description, logs)
    best = graph.op("ArgMax", logs, axis=1, keepdims=0)
    labels, label_type = _labels(graph, labels_of_one_type(description["classes"]))
    logs = logs if dtype == "float64" else graph.cast(logs, DTYPES[dtype])
    outputs = {
        "label": best if labels is None else graph.op("Gather", labels, best, axis=0),
        "probabilities": graph.op("Exp", logs),
        "log_probabilities": logs,
    }
    _rename(graph, outputs)
    n, used = len(description["classes"]), {name for node in graph.nodes for name in node.input}
    made = helper.make_graph(
        graph.nodes,
        "sunrise",
        graph.inputs,
        [
            helper.make_tensor_value_info("label", label_type, [None]),
            helper.make_tensor_value_info("probabilities", number, [None, n]),
            helper.make_tensor_value_info("log_probabilities", number, [None, n]),
        ],
        initializer=[own for own in graph.constants.values() if own.name in used],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="sunrise", ir_version=9)
    graph.onnx.checker.check_model(model)
    return model


def _inputs(graph: Graph, description: Description, dtype: str) -> tuple[dict[Any, str], str]:
    """Add the inputs; return the cells of the columns, in double precision, and the name of the first input."""
    helper, proto = graph.onnx.helper, graph.onnx.TensorProto
    number = getattr(proto, DTYPES[dtype])
    columns = description["columns"]
    names: list[str] = []
    cells: dict[Any, str] = {}
    names_of_levels = {b["columns"][0]: b["levels"] for b in description["blocks"] if b["kind"] == "levels"}
    texts = {b["columns"][0] for b in description["blocks"] if b["kind"] == "text"}

    def add(name: str, kind: int, shape: list[int | None]) -> str:
        if name in names:
            raise ValueError(
                f"two inputs of the ONNX graph have the name {name!r}. Rename a column before fit."
            )
        names.append(name)
        graph.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name if kind != number or dtype == "float64" else graph.cast(name)

    if description["matrix"]:
        return {-1: add("X", number, [None, len(columns)])}, "X"
    used = sorted({j for block in description["blocks"] for j in block["columns"]})
    for j in used or range(len(columns)):
        name = columns[j]["name"]
        if j in texts:
            ids, counts, length = text_inputs(j)
            cells[ids] = add(f"{name}.ids", proto.INT64, [None, None])
            cells[counts] = add(f"{name}.counts", number, [None, None])
            cells[length] = add(f"{name}.length", number, [None, 1])
        elif j in names_of_levels and level_keys(names_of_levels[j], columns[j]["kind"]) is None:
            cells[j] = add(name, proto.STRING, [None, 1])
        else:
            cells[j] = add(name, number, [None, 1])
    return cells, names[0] if names else ""


def _possible(graph: Graph, blocks: Blocks, score: str, description: Description) -> str:
    """Return the scores with -inf for excluded classes, and the class prior for rows that all classes exclude."""
    none = graph.constant(-math.inf)
    if blocks.excluded:
        counts = graph.total(blocks.excluded)
        axis = graph.constant([1], np.int64)
        least = graph.op("Min", graph.op("ReduceMin", counts, axis, keepdims=1), graph.constant(0.0))
        score = graph.where(graph.op("Greater", counts, least), none, score)
    if blocks.excluded or blocks.can_be_impossible or np.isinf(description["log_prior"]).any():
        top = graph.op("ReduceMax", score, graph.constant([1], np.int64), keepdims=1)
        prior = graph.constant(description["log_class_prior"][None, :])
        score = graph.where(graph.op("Equal", top, none), prior, score)
    return score


def _restore_prior(graph: Graph, description: Description, logs: str) -> str:
    """Return log-probabilities with those of the class prior for rows that say nothing: offsets correct evidence."""
    offsets, prior = (log_softmax(description[k]) for k in ("log_prior", "log_prior_without_offsets"))
    gap = graph.op("Abs", graph.op("Sub", graph.op("Exp", logs), graph.constant(np.exp(offsets)[None, :])))
    largest = graph.op("ReduceMax", gap, graph.constant([1], np.int64), keepdims=1)
    silent = graph.op("LessOrEqual", largest, graph.constant(SILENT))
    return graph.where(silent, graph.constant(prior[None, :]), logs)


def _labels(graph: Graph, classes: list[Any]) -> tuple[str | None, int]:
    """Return the constant of the class labels (None if they are 0, 1, 2, ...), and its type."""
    proto = graph.onnx.TensorProto
    if classes == list(range(len(classes))) and not any(isinstance(label, bool | float) for label in classes):
        return None, proto.INT64
    if all(isinstance(label, bool) for label in classes):
        return graph.constant(classes, np.bool_), proto.BOOL
    if all(isinstance(label, int) and not isinstance(label, bool) for label in classes):
        return graph.constant(classes, np.int64), proto.INT64
    if all(isinstance(label, float) for label in classes):
        return graph.constant(classes, np.float64), proto.DOUBLE
    return graph.constant(classes, object), proto.STRING


def _rename(graph: Graph, outputs: dict[str, str]) -> None:
    """Give the outputs their names."""
    new = {old: name for name, old in outputs.items()}
    for node in graph.nodes:
        for k, name in enumerate(node.input):
            node.input[k] = new.get(name, name)
        for k, name in enumerate(node.output):
            node.output[k] = new.get(name, name)
