"""ONNX nodes that score numeric columns, one function per kind of block in the description of a model.

Linear forms, counts, Polya urns, distances from an anchor, quadratic forms (several columns by one multivariate
Student-t) and rising factorials. Every function takes the graph under construction and the description of a block, and
adds nodes that compute the scores of the block, rows x classes.
"""

from __future__ import annotations

import math

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.export.description import Description
from sunrise.export.onnx_blocks import Blocks
from sunrise.export.onnx_graph import Graph
from sunrise.export.shapes import Quadratic, about_centre, student_of


def linear(out: Blocks, block: Description) -> None:
    """Add a linear form, base + x d + x2 d^2 with d the distance from the anchor, e.g. of a Gaussian.

    The form is one matrix product if squares about a common centre lose no digits.
    """
    graph, quadratic = out.graph, about_centre(block) if block["exponent"] == 0.0 else None
    cells = block["cells"]
    is_any_number = (
        cells["above"] is None and not cells["whole"] and cells["lowest"] == -math.inf == -cells["highest"]
    )
    if quadratic is not None and block["views"] == ["x"] and is_any_number:
        # The fewest nodes, because one row has to be scored in microseconds.
        d = graph.op("Sub", out.numbers(block["columns"]), graph.constant(quadratic.centre[None, :]))
        is_missing = graph.op("IsNaN", d)
        d = graph.where(is_missing, graph.constant(0.0), d)
        _add_features(out, d, graph.cast(is_missing), quadratic, -1.0)
        return
    x, observed, order = out.views(block)
    mask = graph.cast(observed)
    if quadratic is not None:
        quadratic = Quadratic(*(part[..., order] for part in quadratic))
        d = graph.op("Sub", x, graph.constant(quadratic.centre[None, :])) if quadratic.centre.any() else x
        _add_features(out, graph.op("Mul", d, mask), mask, quadratic, 1.0)
        return
    shape = out.n_classes, len(order)
    base, first, second, anchor = (
        block[name][:, order] if name in block else np.zeros(shape) for name in ("base", "x", "x2", "anchor")
    )
    infinite = [np.where(np.isinf(part), -np.sign(part), 0.0) for part in (base, first, second)]
    base, first, second = (np.where(np.isinf(part), 0.0, part) for part in (base, first, second))
    score = _about_anchors(graph, x, mask, base, first, second, anchor)
    out.scores.append(out.lengthened(block, score, lambda: out.length(block)))
    if any(part.any() for part in infinite):
        out.excluded.append(
            _about_anchors(graph, x, mask, infinite[0], infinite[1], 1e100 * infinite[2], anchor)
        )


def _add_features(out: Blocks, d: str, mask: str, quadratic: Quadratic, sign: float) -> None:
    """Add a quadratic form to the matrix product of all linear blocks.

    `d` is x - centre, 0 where a cell is missing. `mask` is 1 for observed cells if `sign` is 1, for missing cells
    if `sign` is -1.
    """
    if quadratic.x2.any():
        out.features.append(out.graph.op("Mul", d, d))
        out.weights.append(quadratic.x2)
    if quadratic.x.any():
        out.features.append(d)
        out.weights.append(quadratic.x)
    if quadratic.base.any():
        out.features.append(mask)
        out.weights.append(sign * quadratic.base)
        if sign < 0:
            out.constant = out.constant + quadratic.base.sum(axis=1)


def _about_anchors(
    graph: Graph, x: str, mask: str, base: Floats, first: Floats, second: Floats, anchor: Floats
) -> str:
    """Return the sums over columns of base + first d + second d^2, with d = x - anchor of the class: rows x classes.

    More nodes than a matrix product, but accurate where the anchors of the classes are far apart.
    """
    d = graph.op("Sub", graph.unsqueeze(x, 1), graph.constant(anchor[None]))
    score = graph.op("Mul", graph.op("Mul", d, d), graph.constant(second[None]))
    if first.any():
        score = graph.op("Add", score, graph.op("Mul", d, graph.constant(first[None])))
    score = graph.op("Add", score, graph.constant(base[None]))
    return graph.sum(graph.op("Mul", score, graph.unsqueeze(mask, 1)), 2)


def counts(out: Blocks, block: Description) -> None:
    """Add counts (multinomial, complement); in rows with missing counts the shares of the others sum to 1."""
    graph = out.graph
    x, observed, _ = out.views(block)
    mask = graph.cast(observed)
    x = graph.op("Mul", x, mask)
    weights, logs = block["x"], block["log_share"]
    finite = np.isfinite(logs)
    complete = graph.op("MatMul", x, graph.constant(np.where(np.isinf(weights), 0.0, weights).T))
    known = np.where(finite, logs, 0.0)
    share = graph.op("MatMul", mask, graph.constant(np.exp(logs).T))
    positive = graph.op("Greater", share, graph.constant(0.0))
    one, zero = graph.constant(1.0), graph.constant(0.0)
    rescale = graph.op("Log", graph.where(positive, share, one))
    products = graph.op("MatMul", x, graph.constant(known.T))
    counted = graph.op("MatMul", x, graph.constant(finite.T.astype(float)))
    partial = graph.op("Sub", products, graph.op("Mul", counted, rescale))
    scale = block["factor"] * (1.0 if block["normed"] else block["sign"])
    if block["normed"]:
        total = graph.op(
            "Sub",
            graph.op("MatMul", mask, graph.constant(known.T)),
            graph.op("Mul", graph.op("MatMul", mask, graph.constant(finite.T.astype(float))), rescale),
        )
        nonzero = graph.op("Greater", graph.op("Abs", total), graph.constant(1e-12))
        partial = graph.where(nonzero, graph.op("Div", partial, graph.where(nonzero, total, one)), zero)
    partial = graph.op("Mul", partial, graph.constant(scale))
    n_observed = graph.sum(mask, 1, keepdims=True)
    is_complete = graph.op("Equal", n_observed, graph.constant(float(len(block["columns"]))))
    score = graph.where(is_complete, complete, partial)
    out.scores.append(out.lengthened(block, score, lambda: graph.sum(x, 1, keepdims=True)))
    if np.isinf(weights).any():
        excluded = np.where(np.isinf(weights), -np.sign(weights), 0.0)
        out.excluded.append(graph.op("MatMul", x, graph.constant(excluded.T)))


def polya(out: Blocks, block: Description) -> None:
    """Add the log-probability of counts under a Polya urn (Dirichlet-multinomial)."""
    graph = out.graph
    x, observed, _ = out.views(block)
    mask = graph.op("Mul", graph.cast(observed), graph.constant(block["known"].astype(float)[None, :]))
    n = graph.op("Mul", x, mask)
    a = block["concentration"]
    out.can_be_impossible |= bool((a == 0.0).any())
    cells = graph.sum(graph.log_rising(graph.constant(a[None]), graph.unsqueeze(n, 1)), 2)
    total = graph.op("MatMul", mask, graph.constant(a.T))
    positive = graph.op("Greater", total, graph.constant(0.0))
    length = graph.sum(n, 1, keepdims=True)
    whole = graph.log_rising(graph.where(positive, total, graph.constant(1.0)), length)
    whole = graph.where(positive, whole, graph.constant(0.0))
    score = graph.op("Mul", graph.op("Sub", cells, whole), graph.constant(block["factor"]))
    out.scores.append(out.lengthened(block, score, lambda: out.length(block)))


def distance(out: Blocks, block: Description) -> None:
    """Add base + power u, with u the scaled distance from an anchor, log(1 + it), or log(1 + its square)."""
    graph = out.graph
    x, observed, order = out.views(block)
    base, anchor, scale, power = (
        block[name][:, order][None] for name in ("base", "anchor", "scale", "power")
    )
    d = graph.op("Abs", graph.op("Sub", graph.unsqueeze(x, 1), graph.constant(anchor)))
    u, one = graph.op("Mul", d, graph.constant(scale)), graph.constant(1.0)
    if block["curve"] == "log":
        u = graph.op("Log", graph.op("Add", u, one))
    elif block["curve"] == "log square":
        # The square of a large number has no room in a double.
        far = graph.op("Greater", u, graph.constant(1e8))
        near = graph.where(far, one, u)
        near = graph.op("Log", graph.op("Add", graph.op("Mul", near, near), one))
        u = graph.where(
            far, graph.op("Mul", graph.op("Log", graph.where(far, u, one)), graph.constant(2.0)), near
        )
    score = graph.op("Add", graph.op("Mul", u, graph.constant(power)), graph.constant(base))
    mask = graph.unsqueeze(graph.cast(observed), 1)
    out.scores.append(graph.sum(graph.op("Mul", score, mask), 2))


def quadratic(out: Blocks, block: Description) -> None:
    """Add a multivariate Student-t of several columns; rows with a missing cell score 0 for every class."""
    graph, n_columns = out.graph, len(block["columns"])
    student = student_of(block, [column["name"] for column in out.description["columns"]], "ONNX")
    x = graph.op("Sub", out.numbers(block["columns"]), graph.constant(block["centre"][None, :]))
    z = graph.op("Div", x, graph.constant(block["unit"][None, :]))
    is_missing = graph.op("IsNaN", graph.op("Sub", z, z))
    z = graph.where(is_missing, graph.constant(0.0), z)
    factor = student.factor.reshape(-1, n_columns).T
    white = graph.op("Gemm", z, graph.constant(factor), graph.constant(-student.shift.reshape(1, -1)))
    white = graph.op("Reshape", white, graph.constant([-1, out.n_classes, n_columns], np.int64))
    distance = graph.sum(graph.op("Mul", white, white), 2)
    log_distance = graph.op("Log", graph.op("Add", distance, graph.constant(1.0)))
    score = graph.op("Mul", log_distance, graph.constant(-student.power[None, :]))
    score = graph.op("Add", score, graph.constant(student.base[None, :]))
    if block["share"] > 0.0:
        # Scores matter up to a constant, so that log-odds are bounded by mixing the probabilities of the block alone.
        p = graph.op("Mul", graph.op("Softmax", score, axis=1), graph.constant(1.0 - block["share"]))
        score = graph.op("Log", graph.op("Add", p, graph.constant(block["share"] / out.n_classes)))
    score = graph.op("Mul", score, graph.constant(block["weight"]))
    n_missing = graph.sum(graph.cast(is_missing), 1, keepdims=True)
    complete = graph.op("Equal", n_missing, graph.constant(0.0))
    out.scores.append(graph.where(complete, score, graph.constant(0.0)))


def rising(out: Blocks, block: Description) -> None:
    """Add counts scored by log rising factorials, e.g. of a negative binomial."""
    graph = out.graph
    x, observed, order = out.views(block)
    base, slope, shape = (block[name][:, order][None] for name in ("base", "slope", "shape"))
    n = graph.unsqueeze(x, 1)
    a = graph.constant(shape)
    rising = graph.log_rising(a, n)
    if "gap" in block:  # one ratio of gamma functions in two ways: each is accurate where the other cancels
        gap = graph.constant(block["gap"][:, order][None])
        near = graph.op("Sub", rising, graph.log_rising(graph.op("Add", a, gap), n))
        far = graph.op("Sub", graph.log_rising(a, gap), graph.log_rising(graph.op("Add", a, n), gap))
        rising = graph.where(graph.op("LessOrEqual", n, gap), near, far)
    score = graph.op("Add", graph.op("Mul", n, graph.constant(slope)), graph.constant(base))
    score = graph.op("Add", score, rising)
    weight = graph.op("Mul", graph.cast(observed), graph.constant(block["weight"][order][None, :]))
    out.scores.append(graph.sum(graph.op("Mul", score, graph.unsqueeze(weight, 1)), 2))
