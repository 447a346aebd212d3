"""Expressions of narwhals for the cells of a column, which every engine of lazy tables computes.

The engines differ in what they refuse: a logarithm of 0, a boolean as a number. They agree that NaN is a number, that
the sum of no cells is 0, and that a null adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunrise.statistics.support import Support
from sunrise.streams.relation import Relation

#: Views of a cell that engines compute as precisely as NumPy, by name; `x` is an expression.
_VIEWS: dict[str, Any] = {
    "x": lambda x: x,
    "log x": None,  # see `logarithms`
    "x squared": lambda x: x * x,
    "cos x": lambda x: x.cos(),
    "sin x": lambda x: x.sin(),
}


def are_available() -> bool:
    """True if the installed narwhals has all expressions that push-down needs; narwhals 2.0 has not."""
    import narwhals.stable.v2 as nw

    return all(hasattr(nw.Expr, name) for name in ("fill_nan", "floor", "cos", "sin"))


def is_number(dtype: Any) -> bool:
    """True if cells of a type are numbers or booleans."""
    import narwhals.stable.v2 as nw

    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def can_be_nan(dtype: Any) -> bool:
    """True if cells of a type may be NaN, infinite or fractions."""
    return not (dtype.is_integer() or not dtype.is_numeric())


def can_view(support: Support) -> bool:
    """True if the engine of a lazy table can compute all views of the cells of a support."""
    return all(view.name in _VIEWS for view in support.views)


def number(name: str, dtype: Any, without_nan: bool) -> Any:
    """Return the cells of a column as floats; with `without_nan`, NaN is null."""
    import narwhals.stable.v2 as nw

    cells = nw.col(name)
    if dtype == nw.Boolean:  # PostgreSQL casts booleans to 32-bit integers only
        cells = cells.cast(nw.Int32)
    if dtype != nw.Float64:
        cells = cells.cast(nw.Float64)
    return cells.fill_nan(None) if without_nan and can_be_nan(dtype) else cells


def views(cells: Any, support: Support, log_name: str) -> list[Any]:
    """Return the views of cells; `log_name` is the column of their logarithms."""
    import narwhals.stable.v2 as nw

    if support.above is not None:
        # A comparison with null is null, and a null must stay one.
        one = nw.when(cells > support.above).then(nw.lit(1.0))
        return [nw.when(~cells.is_null()).then(one.otherwise(nw.lit(0.0)))]
    return [nw.col(log_name) if view.name == "log x" else _VIEWS[view.name](cells) for view in support.views]


def logarithms(relation: Relation, frame: Any, columns: dict[str, tuple[str, bool]]) -> Any:
    """Return a lazy frame of narwhals with columns of logarithms; null where cells are not above 0.

    `columns` has the name of each column, and if NaN has to be null, by the name of the new column. narwhals asks Ibis
    for a logarithm with a base, which PostgreSQL computes with decimals: a fit took 136 s instead of 4.
    """
    import narwhals.stable.v2 as nw

    if not columns:
        return frame
    if relation.kind == "ibis":
        table, logs = frame.to_native(), {}
        for new, (name, without_nan) in columns.items():
            x = table[name].cast("float64")
            is_positive = (x > 0) & ~x.isnan() if without_nan else x > 0
            logs[new] = is_positive.ifelse(x, None).ln()
        return nw.from_native(table.mutate(**logs))
    numbers = {
        new: number(name, relation.types[name], without_nan) for new, (name, without_nan) in columns.items()
    }
    return frame.with_columns(**{new: nw.when(x > 0).then(x).log() for new, x in numbers.items()})


def bin_values(name: str, dtype: Any, edges: Sequence[float]) -> Any:
    """Return one number of the bin of every cell: the lower edge, or a number below the first edge.

    Infinite cells stay, so that they are refused as in memory.
    """
    import narwhals.stable.v2 as nw

    cells = number(name, dtype, without_nan=True)
    lowest = nw.lit(-1.0 if not edges else float(edges[0]) - abs(float(edges[0])) - 1.0)
    value = nw.when(cells < np.inf).then(lowest).otherwise(cells)
    for edge in edges:
        value = nw.when((cells >= edge) & (cells < np.inf)).then(nw.lit(float(edge))).otherwise(value)
    value = nw.when(cells > -np.inf).then(value).otherwise(cells)
    return nw.when(~cells.is_null()).then(value).alias(name)
