"""Cells of the columns of a table, checked and converted for the readers of families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Mask
from sunrise.data.blocks import Block, ColumnsBlock, DenseBlock
from sunrise.data.column import Column
from sunrise.data.errors import refuse_cell, refuse_text
from sunrise.data.findings import Findings, Found
from sunrise.data.frame import Frame
from sunrise.statistics.support import Support


def numbers(column: Column, family: Any) -> Column:
    """Return the column if it holds numbers; raise otherwise."""
    if column.kind not in ("level", "mixed"):
        return column
    present = column.levels.codes >= 0
    if not present.any():
        return Column(column.name, "empty", column.n_rows)
    if column.problem:
        raise ValueError(column.problem)
    row = int(np.argmax(present))
    refuse_text(column.name, column.display_value(row), row, family.name)


def finite(column: Column, family: Any, who: str, weight: Floats | None = None) -> Floats:
    """Return the numbers of a column; raise if one is infinite in a row that counts."""
    x = numbers(column, family).numbers()
    bad = np.isinf(x) if weight is None else np.isinf(x) & (weight > 0)
    if bad.any():
        row = int(np.argmax(bad))
        refuse_cell(who, [column.name], ("infinite", row, 0, float(x[row])), family.support)
    return x


def without_infinite(x: Floats) -> Floats:
    """Return the numbers with infinite ones missing; the array itself if there are none."""
    infinite = np.isinf(x)
    return np.where(infinite, np.nan, x) if infinite.any() else x


def number_block(table: Frame, columns: tuple[int, ...], family: Any) -> Block:
    """The numbers of some columns: the table's own matrix if it is all of it, else the columns."""
    if table.block is not None and len(columns) == len(table.names):
        return table.block
    if isinstance(table.block, DenseBlock):
        first, last = columns[0], columns[-1] + 1
        if last - first == len(columns):
            return DenseBlock(table.block.values[:, first:last])
    return ColumnsBlock(tuple(numbers(column, family) for column in table.read_all(columns)), table.n_rows)


def outside(x: Floats, support: Support) -> Mask:
    """Return the mask of finite cells that are not in the support."""
    if support.above is not None:  # any number is read as 0 or 1
        return np.zeros(x.shape, bool)
    beyond = (x < support.lowest) | (x > support.highest)
    if support.whole:
        beyond |= x != np.floor(x)
    return np.asarray(beyond & np.isfinite(x))


def tolerant(block: Block, family: Any, lenient: Mask, names: Sequence[Any], findings: Findings) -> Block:
    """Return the block with impossible cells missing, in the columns where that is allowed, and take note of them."""
    support = family.support
    if not (support.bounded and lenient.any()):
        return block
    x = block.numbers()
    cells = outside(x, support) & lenient
    if not cells.any():
        return block
    found = []
    for j in np.flatnonzero(cells.any(axis=0)).tolist():
        row, present = int(np.argmax(cells[:, j])), int((~np.isnan(x[:, j])).sum())
        of = f"{family.name} ({support.text})"
        found.append(Found(names[j], int(cells[:, j].sum()), present, f"{x[row, j]:g}", row, of))
    findings.note_impossible(found, np.asarray(cells.any(axis=1)))
    return DenseBlock(np.where(cells, np.nan, x))
