"""A small builder of ONNX graphs: nodes, constants and the functions that forms use, all in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.numerics.special import STIRLING

#: Operator sets of the graphs.
OPSET, ML_OPSET = 18, 3


def require_onnx() -> Any:
    """Return the onnx package; raise with the command that installs it."""
    try:
        import onnx
    except ImportError:
        raise ImportError("to_onnx needs the package onnx. Install it with: pip install onnx") from None
    return onnx


class Graph:
    """Nodes and constants of a graph; every method adds nodes and returns the name of the result."""

    def __init__(self) -> None:
        self.onnx = require_onnx()
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}
        self.inputs: list[Any] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add a constant array; equal constants are stored once."""
        array = np.asarray(value, dtype)
        key = (
            array.dtype.str,
            array.shape,
            array.tobytes() if array.dtype != object else tuple(array.ravel()),
        )
        if key not in self.constants:
            self.constants[key] = self.onnx.numpy_helper.from_array(array, f"sunrise_c{len(self.constants)}")
        return str(self.constants[key].name)

    def op(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one result."""
        name = f"sunrise_n{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def cast(self, x: str, dtype: str = "DOUBLE") -> str:
        """Convert to another type of numbers."""
        return self.op("Cast", x, to=getattr(self.onnx.TensorProto, dtype))

    def sum(self, x: str, axis: int, keepdims: bool = False) -> str:
        """Sum along an axis."""
        return self.op("ReduceSum", x, self.constant([axis], np.int64), keepdims=int(keepdims))

    def unsqueeze(self, x: str, axis: int) -> str:
        """Insert an axis of length 1."""
        return self.op("Unsqueeze", x, self.constant([axis], np.int64))

    def columns(self, x: str, first: int, end: int, axis: int = 1) -> str:
        """Return some of the columns of a matrix."""
        bounds = (self.constant([at], np.int64) for at in (first, end, axis))
        return self.op("Slice", x, *bounds)

    def total(self, terms: list[str]) -> str:
        """Add terms one by one."""
        result = terms[0]
        for term in terms[1:]:
            result = self.op("Add", result, term)
        return result

    def where(self, condition: str, x: str, y: str) -> str:
        """Choose by a condition."""
        return self.op("Where", condition, x, y)

    def place(self, x: str, breaks: Floats) -> str:
        """Return the number of breaks that are not above each cell (rows x 1), as integers."""
        if len(breaks) == 0:
            return self.op("Mul", self.cast(self.op("IsNaN", x), "INT64"), self.constant([[0]], np.int64))
        reached = self.op("GreaterOrEqual", x, self.constant(breaks[None, :]))
        return self.sum(self.cast(reached, "INT64"), 1, keepdims=True)

    def log_rising(self, a: str, n: str) -> str:
        """Return log gamma(a + n) - log gamma(a), 0 for n = 0, by the Stirling series beyond 10."""
        one = self.constant(1.0)
        near = self.cast(self.op("Less", a, self.constant(10.0)))
        far = self.op("Add", a, self.op("Mul", near, self.constant(10.0)))
        end = self.op("Add", far, n)
        ratio = self.op("Div", n, far)
        # log(1 + r) loses the digits of a small r, which a large a multiplies: the quotient restores them.
        above = self.op("Add", one, ratio)
        step = self.op("Sub", above, one)
        is_lost = self.op("Equal", step, self.constant(0.0))
        restored = self.op(
            "Div", self.op("Mul", self.op("Log", above), ratio), self.where(is_lost, one, step)
        )
        log_ratio = self.where(is_lost, ratio, restored)
        half = self.op("Sub", end, self.constant(0.5))
        large = self.op("Sub", self.op("Mul", half, log_ratio), n)
        result = self.op("Add", self.op("Mul", n, self.op("Log", far)), large)
        result = self.op("Add", result, self.op("Sub", self._series(end), self._series(far)))
        # Factors (a + n + k) / (a + k) of a small a; all are 1 for a large one.
        start, counted = a, self.op("Add", a, self.op("Mul", near, n))
        product = self.op("Div", counted, start)
        for k in range(1, 10):
            step_k = self.constant(float(k))
            factor = self.op("Div", self.op("Add", counted, step_k), self.op("Add", start, step_k))
            product = self.op("Mul", product, factor)
        result = self.op("Sub", result, self.op("Log", product))
        return self.where(self.op("Equal", n, self.constant(0.0)), self.constant(0.0), result)

    def _series(self, x: str) -> str:
        y = self.op("Div", self.constant(1.0), self.op("Mul", x, x))
        value = self.constant(STIRLING[-1])
        for coefficient in STIRLING[-2::-1]:
            value = self.op("Add", self.op("Mul", value, y), self.constant(coefficient))
        return self.op("Div", value, x)
