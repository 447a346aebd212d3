"""Interactions that the user has named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats
from sunrise.data.frame import Frame
from sunrise.families.pair_reader import Side
from sunrise.families.standard_reader import Scale
from sunrise.model.interaction import CorrelatedColumns, Interaction
from sunrise.model.schema import Schema
from sunrise.selection.pairs import interaction, sides_of


def given_interactions(
    given: Sequence[Any], schema: Schema, table: Frame, codes: Codes, weight: Floats | None
) -> tuple[Any, ...]:
    """Return the interactions that the user has named: columns by name, or interactions of another model."""
    pairs: dict[frozenset[Any], Interaction] = {}
    block: CorrelatedColumns | None = None
    sides: dict[int, Side] | None = None
    for one in given:
        columns = _columns(one, schema)
        if isinstance(one, Interaction):
            pairs[frozenset(columns)] = one
        elif isinstance(one, CorrelatedColumns) or len(columns) > 2:
            if block is not None:
                raise ValueError(
                    f"interactions has two groups of correlated columns, {block.name} and {one!r}; a model has one."
                )
            block = one if isinstance(one, CorrelatedColumns) else _block(columns, schema, table, weight)
        else:
            sides = sides_of(schema, table, codes, weight) if sides is None else sides
            pairs.setdefault(frozenset(columns), _pair(columns, schema, sides))
    return (*pairs.values(), *([] if block is None else [block]))


def _columns(one: Any, schema: Schema) -> tuple[Any, ...]:
    """Return the columns of an interaction; raise if it is none, or if the model does not use one of them."""
    columns = one.columns if isinstance(one, Interaction | CorrelatedColumns) else one
    if not isinstance(columns, tuple | list) or not 1 < len(columns) == len(set(columns)):
        raise ValueError(
            f'interactions has {one!r}; each interaction is a pair of two columns, such as ("age", "income"). Three or '
            "more numeric columns are scored together as one block."
        )
    position: dict[Any, int] = {name: j for j, name in enumerate(schema.names)}
    for name in columns:
        if name not in position:
            raise ValueError(f"interactions names the column {name!r}, which the table does not have.")
        if schema.choices[position[name]].family is None:
            raise ValueError(
                f"interactions names the column {name!r}, which the model leaves out "
                f"({schema.choices[position[name]].reason}). Give it a family, or leave out the pair."
            )
    return tuple(columns)


def _pair(columns: tuple[Any, ...], schema: Schema, sides: dict[int, Side]) -> Interaction:
    names = list(schema.names)
    a, b = sorted(names.index(name) for name in columns)
    for j in (a, b):
        if j not in sides:
            raise ValueError(
                f"interactions names the column {names[j]!r}, which is text or part of a joint block. Pairs "
                "are made of categories and numbers."
            )
    return interaction(schema, sides, (a, b))


def _block(
    columns: tuple[Any, ...], schema: Schema, table: Frame, weight: Floats | None
) -> CorrelatedColumns:
    names, scales = list(schema.names), []
    for name in columns:
        column = table.read(names.index(name))
        if column.kind != "number":
            raise ValueError(
                f"interactions names the column {name!r} in a group of {len(columns)}, and it is not numeric. Groups "
                "of three or more columns are made of numbers; name pairs for the others."
            )
        x = column.numbers()
        scales.append(Scale.of(np.where(np.isinf(x), np.nan, x), weight))
    return CorrelatedColumns(columns, tuple(scales))
