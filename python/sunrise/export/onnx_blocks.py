"""ONNX nodes of the blocks of a description: each function returns the scores of its block, rows x classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.export.description import Description
from sunrise.export.onnx_graph import Graph
from sunrise.export.sql_blocks import level_keys

_LARGEST = float(np.finfo(float).max)
#: Squares about a common centre may be this large before a sum of them loses digits.
_LARGEST_SQUARE = 1e4


class Blocks:
    """Adds the nodes of all blocks; collects scores, counts of impossible cells, and places in tables."""

    def __init__(self, graph: Graph, description: Description, cells: dict[int, str], missing: str) -> None:
        self.graph, self.description, self.cells, self.missing = graph, description, cells, missing
        self.matrix: str | None = cells.get(-1)
        self.n_classes = len(description["classes"])
        self.scores: list[str] = []
        #: Features and weights of the blocks that are one matrix product, and the constant part of their scores.
        self.features: list[str] = []
        self.weights: list[Floats] = []
        self.constant = np.asarray(description["log_prior"])
        self.excluded: list[str] = []
        self.can_be_impossible = False
        self.places: list[str] = []
        self.tables: list[Floats] = []
        for block in description["blocks"]:
            _BLOCKS[block["kind"]](self, block)
        if self.tables:
            self._add_tables()
        self._add_product()

    def numbers(self, columns: list[int]) -> str:
        """Return the cells of some columns, rows x columns, in double precision."""
        graph = self.graph
        if self.matrix is not None:
            if columns == list(range(len(self.description["columns"]))):
                return self.matrix
            return graph.op("Gather", self.matrix, graph.constant(columns, np.int64), axis=1)
        if len(columns) == 1:
            return self.cells[columns[0]]
        return graph.op("Concat", *(self.cells[j] for j in columns), axis=1)

    def read(self, block: Description) -> tuple[str, str]:
        """Return the cells of a block, a possible number where missing, and a mask of the observed ones."""
        graph, x, cells = self.graph, self.numbers(block["columns"]), block["cells"]
        low, high = max(cells["lowest"], -_LARGEST), min(cells["highest"], _LARGEST)
        if cells["above"] is not None or (low == -_LARGEST and high == _LARGEST and not cells["whole"]):
            # x - x is NaN for missing and for infinite cells.
            is_missing = graph.op("IsNaN", graph.op("Sub", x, x))
            if cells["above"] is not None:
                above = graph.cast(graph.op("Greater", x, graph.constant(cells["above"])))
                return above, graph.op("Not", is_missing)
            return graph.where(is_missing, graph.constant(0.0), x), graph.op("Not", is_missing)
        observed = graph.op(
            "And",
            graph.op("GreaterOrEqual", x, graph.constant(low)),
            graph.op("LessOrEqual", x, graph.constant(high)),
        )
        if cells["whole"]:
            observed = graph.op("And", observed, graph.op("Equal", x, graph.op("Floor", x)))
        inside = 0.5 if high <= 1.0 and low > 0.0 else (1.0 if low > 0.0 else 0.0)
        return graph.where(observed, x, graph.constant(inside)), observed

    def views(self, block: Description) -> tuple[str, str, list[int]]:
        """Return the views of the cells, their mask, and the order of the views in the arrays of the block."""
        x, observed = self.read(block)
        graph, names = self.graph, block["views"]
        if names == ["x"]:
            return x, observed, list(range(len(block["columns"])))
        one = graph.constant(1.0)
        operators: dict[str, Callable[[], str]] = {
            "x": lambda: x,
            "log x": lambda: graph.op("Log", x),
            "log(1 - x)": lambda: graph.op("Log", graph.op("Sub", one, x)),
            "cos x": lambda: graph.op("Cos", x),
            "sin x": lambda: graph.op("Sin", x),
            "x = 0": lambda: graph.cast(graph.op("Equal", x, graph.constant(0.0))),
        }
        own = [operators[name]() for name in names]
        order = [at * len(names) + v for v in range(len(names)) for at in range(len(block["columns"]))]
        if len(own) == 1:
            return own[0], observed, order
        return graph.op("Concat", *own, axis=1), graph.op("Concat", *[observed] * len(own), axis=1), order

    def lengthened(self, block: Description, score: str, length: Callable[[], str]) -> str:
        """Return scores times (length + 1) to the power of the exponent of the block."""
        if block["exponent"] == 0.0:
            return score
        graph = self.graph
        base = graph.op("Add", length(), graph.constant(1.0))
        return graph.op("Mul", score, graph.op("Pow", base, graph.constant(block["exponent"])))

    def length(self, block: Description) -> str:
        """Return the sum of the observed cells of a block, rows x 1."""
        x, observed = self.read(block)
        return self.graph.sum(self.graph.op("Mul", x, self.graph.cast(observed)), 1, keepdims=True)

    def add_place(self, place: str, table: Floats) -> None:
        """Add the scores of a table (places x classes) at a place (rows x 1)."""
        self.places.append(place)
        self.tables.append(table)
        self.can_be_impossible |= bool(np.isneginf(table).any())

    def _add_tables(self) -> None:
        """Look up the places of all tables at once."""
        graph = self.graph
        sizes = [len(table) for table in self.tables]
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        places = self.places[0] if len(sizes) == 1 else graph.op("Concat", *self.places, axis=1)
        places = graph.op("Add", places, graph.constant(offsets[None, :], np.int64)) if len(sizes) > 1 else places
        found = graph.op("Gather", graph.constant(np.concatenate(self.tables)), places, axis=0)
        self.scores.append(graph.sum(found, 1))


    def _add_product(self) -> None:
        """Add the constant, and the features of all blocks times their weights, as one matrix product."""
        graph = self.graph
        constant = graph.constant(self.constant[None, :])
        if not self.features:
            if self.scores:
                self.scores.append(constant)
            return
        features = self.features[0] if len(self.features) == 1 else graph.op("Concat", *self.features, axis=1)
        weights = graph.constant(np.concatenate(self.weights, axis=1).T)
        # -inf in the class prior would become NaN in a product.
        if np.isfinite(self.constant).all():
            self.scores.append(graph.op("Gemm", features, weights, constant))
        else:
            self.scores += [graph.op("MatMul", features, weights), constant]


def _linear(out: Blocks, block: Description) -> None:
    graph, cells = out.graph, block["cells"]
    if block["views"] == ["x"] and cells["above"] is None and not cells["whole"] and _is_finite(block):
        if math.isinf(cells["lowest"]) and math.isinf(cells["highest"]) and _is_near(block["anchor"], block["x2"]):
            _plain_numbers(out, block)
            return
    x, observed, order = out.views(block)
    shape = out.n_classes, len(order)
    base, first, second, anchor = (
        block[name][:, order] if name in block else np.zeros(shape) for name in ("base", "x", "x2", "anchor")
    )
    infinite = [np.where(np.isinf(part), -np.sign(part), 0.0) for part in (base, first, second)]
    base, first, second = (np.where(np.isinf(part), 0.0, part) for part in (base, first, second))
    mask = graph.cast(observed)
    if block["exponent"] == 0.0 and _is_near(anchor, second):
        centre = anchor.mean(axis=0)
        d = graph.op("Sub", x, graph.constant(centre[None, :])) if centre.any() else x
        d = graph.op("Mul", d, mask)
        _add_features(out, d, mask, base, first, second, centre - anchor, sign=1.0)
    else:
        score = _about_anchors(graph, x, mask, base, first, second, anchor)
        out.scores.append(out.lengthened(block, score, lambda: out.length(block)))
    if any(part.any() for part in infinite):
        out.excluded.append(
            _about_anchors(graph, x, mask, infinite[0], infinite[1], 1e100 * infinite[2], anchor)
        )


def _is_finite(block: Description) -> bool:
    """True for a block about anchors, without a row factor and without infinite weights."""
    parts = [block[name] for name in ("base", "x", "x2") if name in block]
    return "x2" in block and "anchor" in block and block["exponent"] == 0.0 and all(map(_all_finite, parts))


def _all_finite(part: Floats) -> bool:
    return bool(np.isfinite(part).all())


def _is_near(anchor: Floats, second: Floats) -> bool:
    """True if the anchors are so close together that squares about their mean lose no digits."""
    shift = anchor - anchor.mean(axis=0)
    return bool((np.abs(second) * shift * shift).sum(axis=1).max(initial=0.0) <= _LARGEST_SQUARE)


def _plain_numbers(out: Blocks, block: Description) -> None:
    """Add columns of any numbers with the fewest nodes: one row has to be scored in microseconds."""
    graph, anchor = out.graph, block["anchor"]
    centre = anchor.mean(axis=0)
    d = graph.op("Sub", out.numbers(block["columns"]), graph.constant(centre[None, :]))
    is_missing = graph.op("IsNaN", d)
    d = graph.where(is_missing, graph.constant(0.0), d)
    base, first, second = (block[name] if name in block else np.zeros(anchor.shape) for name in ("base", "x", "x2"))
    _add_features(out, d, graph.cast(is_missing), base, first, second, centre - anchor, sign=-1.0)


def _add_features(
    out: Blocks,
    d: str,
    mask: str,
    base: Floats,
    first: Floats,
    second: Floats,
    shift: Floats,
    sign: float,
) -> None:
    """Add d = x - centre (0 if missing), its square, and the mask of observed (sign 1) or missing (-1) cells."""
    if second.any():
        first, base = first + 2.0 * second * shift, base + shift * (first + second * shift)
        out.features.append(out.graph.op("Mul", d, d))
        out.weights.append(second)
    if first.any():
        out.features.append(d)
        out.weights.append(first)
    if base.any():
        out.features.append(mask)
        out.weights.append(sign * base)
        if sign < 0:
            out.constant = out.constant + base.sum(axis=1)


def _about_anchors(
    graph: Graph, x: str, mask: str, base: Floats, first: Floats, second: Floats, anchor: Floats
) -> str:
    """Return the scores by the distances from the anchor of every class: exact where anchors are far apart."""
    d = graph.op("Sub", graph.unsqueeze(x, 1), graph.constant(anchor[None]))
    score = graph.op("Mul", graph.op("Mul", d, d), graph.constant(second[None]))
    if first.any():
        score = graph.op("Add", score, graph.op("Mul", d, graph.constant(first[None])))
    score = graph.op("Add", score, graph.constant(base[None]))
    return graph.sum(graph.op("Mul", score, graph.unsqueeze(mask, 1)), 2)


def _counts(out: Blocks, block: Description) -> None:
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


def _polya(out: Blocks, block: Description) -> None:
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


def _distance(out: Blocks, block: Description) -> None:
    graph = out.graph
    x, observed, order = out.views(block)
    base, anchor, scale, power = (block[name][:, order][None] for name in ("base", "anchor", "scale", "power"))
    d = graph.op("Abs", graph.op("Sub", graph.unsqueeze(x, 1), graph.constant(anchor)))
    u, one = graph.op("Mul", d, graph.constant(scale)), graph.constant(1.0)
    if block["curve"] == "log":
        u = graph.op("Log", graph.op("Add", u, one))
    elif block["curve"] == "log square":
        # The square of a large number has no room in a double.
        far = graph.op("Greater", u, graph.constant(1e8))
        near = graph.where(far, one, u)
        near = graph.op("Log", graph.op("Add", graph.op("Mul", near, near), one))
        u = graph.where(far, graph.op("Mul", graph.op("Log", graph.where(far, u, one)), graph.constant(2.0)), near)
    score = graph.op("Add", graph.op("Mul", u, graph.constant(power)), graph.constant(base))
    mask = graph.unsqueeze(graph.cast(observed), 1)
    out.scores.append(graph.sum(graph.op("Mul", score, mask), 2))


def _rising(out: Blocks, block: Description) -> None:
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


def _missing_at(out: Blocks, x: str, place: str, at: int) -> str:
    """Return a place, or the place `at` where the cell is missing."""
    graph = out.graph
    is_missing = graph.op("IsNaN", graph.op("Sub", x, x))
    return graph.where(is_missing, graph.constant([[at]], np.int64), place)


def _bins(out: Blocks, block: Description) -> None:
    x = out.numbers(block["columns"])
    scores = block["scores"]
    place = _missing_at(out, x, out.graph.place(x, block["edges"]), len(scores))
    out.add_place(place, np.concatenate([scores, np.zeros((1, out.n_classes))]))


def _codes(out: Blocks, block: Description) -> None:
    graph, x, n = out.graph, out.numbers(block["columns"]), len(block["codes"])
    found = _position(graph, x, block["codes"].astype(float))
    beyond = graph.cast(graph.op("GreaterOrEqual", x, graph.constant(float(block["size"]))), "INT64")
    # 0: another possible code; 1 ... n: observed codes; n + 1: an unseen code; n + 2: missing.
    is_other = graph.op("Equal", found, graph.constant([[0]], np.int64))
    unseen = graph.op("Mul", beyond, graph.constant([[n + 1]], np.int64))
    place = graph.where(is_other, unseen, found)
    possible = graph.op("And", graph.op("GreaterOrEqual", x, graph.constant(0.0)), graph.op("Equal", x, graph.op("Floor", x)))
    place = graph.where(possible, place, graph.constant([[n + 2]], np.int64))
    place = _missing_at(out, x, place, n + 2)
    zeros = np.zeros((1, out.n_classes))
    scores = block["scores"].reshape(n, -1)
    out.add_place(place, np.concatenate([[block["other"]], scores, [block["unseen"]], zeros]))


def _position(graph: Graph, x: str, keys: Floats) -> str:
    """Return 1 + the position of each cell (rows x 1) among keys, 0 for other cells."""
    same = graph.cast(graph.op("Equal", x, graph.constant(keys[None, :])), "INT64")
    positions = graph.constant(np.arange(1, len(keys) + 1)[None, :], np.int64)
    return graph.sum(graph.op("Mul", same, positions), 1, keepdims=True)


def _levels(out: Blocks, block: Description) -> None:
    graph = out.graph
    (j,) = block["columns"]
    levels, column = block["levels"], out.description["columns"][j]
    n = len(levels)
    scores = np.concatenate([[block["unseen"]], block["scores"].reshape(n, -1), [block["missing"]]])
    keys = level_keys(levels, column["kind"])
    if keys is not None:
        x = out.numbers([j])
        out.add_place(_missing_at(out, x, _position(graph, x, np.array(keys)), n + 1), scores)
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
    out.add_place(place, scores)


def _curve(out: Blocks, block: Description) -> None:
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


def _text(out: Blocks, block: Description) -> None:
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
        cells = graph.op("Mul", graph.cast(graph.op("Greater", cells, graph.constant(block["above"]))), listed)
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
        whole = graph.log_rising(graph.constant(np.where(total > 0, total, 1.0)[None, :]), graph.sum(cells, 1, True))
        whole = graph.op("Mul", whole, graph.constant((total > 0).astype(float)[None, :]))
        score = graph.op("Mul", graph.op("Sub", score, whole), graph.constant(block["factor"]))
    else:
        infinite = np.isinf(block["x"])
        score = graph.op("Add", by_word(np.where(infinite, 0.0, block["x"])), graph.constant(block["base"][None, :]))
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


_BLOCKS: dict[str, Callable[[Blocks, Any], None]] = {
    "linear": _linear,
    "counts": _counts,
    "polya": _polya,
    "distance": _distance,
    "rising": _rising,
    "bins": _bins,
    "codes": _codes,
    "levels": _levels,
    "curve": _curve,
    "text": _text,
}
