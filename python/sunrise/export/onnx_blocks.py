"""What the ONNX nodes of all blocks share: reading cells, scores, tables, and one matrix product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.export.description import Description
from sunrise.export.onnx_graph import Graph

_LARGEST = float(np.finfo(float).max)


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
        #: Places of the levels of columns, for pairs.
        self.level_places: dict[int, str] = {}
        self.tables: list[Floats] = []

    def finish(self) -> None:
        """Add the nodes that all blocks share: one look-up in their tables, and one matrix product."""
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
            # Older runtimes have no cosine in double precision.
            "cos x": lambda: graph.op("Sin", graph.op("Add", x, graph.constant(np.pi / 2))),
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
        places = (
            graph.op("Add", places, graph.constant(offsets[None, :], np.int64)) if len(sizes) > 1 else places
        )
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
