"""Joining: rows of columns copied out of their library, and columns of several batches joined into one.

The batches may come from different libraries and have different number types. Level names stay those of each batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Positions
from sunrise.data.column import Column, Levels
from sunrise.data.levels import level_names

#: Whole numbers up to this size have the same level name as integers and as floats.
_EXACT = 2.0**53
#: Names of the kinds of cells in error texts.
_CELLS = {
    "number": "numbers",
    "bool": "booleans",
    "level": "strings",
    "date": "dates",
    "mixed": "several types",
}


def take_rows(column: Column, rows: Positions) -> Column:
    """Return a copy of some rows of a column, in memory of its own and without objects of its library."""
    taken = _take_cells(column, rows)
    for counter, counts in column._word_counts.items():
        taken._word_counts[counter] = counts.select_rows(rows)
    return taken


def _take_cells(column: Column, rows: Positions) -> Column:
    kind, n_rows = column.kind, len(rows)
    if column.texts is not None:
        documents = _documents(column)
        return replace(column, n_rows=n_rows, texts=[documents[row] for row in rows])
    if kind == "empty":
        return replace(column, n_rows=n_rows)
    if kind in ("level", "mixed"):
        return replace(column, n_rows=n_rows, cells=None, known=_take_levels(column.levels, rows))
    if isinstance(column.cells, np.ndarray):
        known = None if column.known is None else _take_levels(column.known, rows)
        return replace(column, n_rows=n_rows, cells=column.cells[rows], known=known)
    cells, dtype = column.numbers(rows), str(column.cells.dtype)
    if dtype == "Float32":
        return replace(column, n_rows=n_rows, cells=cells.astype(np.float32))
    integers = dtype.lower().lstrip("u").startswith("int")
    is_exact = kind == "bool" or dtype == "Float64" or (integers and _small(cells))
    known = None if is_exact else _take_levels(column.levels, rows)
    return replace(column, n_rows=n_rows, cells=cells, known=known)


def join_columns(columns: Sequence[Column]) -> Column:
    """Return one column with the rows of several columns, one after the other."""
    first, n_rows = columns[0], sum(column.n_rows for column in columns)
    if len(columns) == 1:
        return first
    if any(column.texts is not None for column in columns):
        documents = [document for column in columns for document in _documents(column)]
        return replace(first, n_rows=n_rows, cells=None, known=None, texts=documents)
    declared = [column.declared for column in columns if column.declared is not None]
    levels = level_names(dict.fromkeys(name for names in declared for name in names)) if declared else None
    kinds = dict.fromkeys(column.kind for column in columns if column.kind != "empty")
    if len(kinds) > 1:  # a column without any observed cell has no type of its own
        columns = [Column(c.name, "empty", c.n_rows) if _is_empty(c) else c for c in columns]
        kinds = dict.fromkeys(column.kind for column in columns if column.kind != "empty")
    if not kinds:
        return replace(first, kind="empty", n_rows=n_rows, cells=None, known=None, declared=levels)
    kind = next(iter(kinds))
    like = next(column for column in columns if column.kind == kind)
    if len(kinds) > 1 or kind == "mixed":
        problem = next((column.problem for column in columns if column.problem), "") or _mixture(columns)
        return Column(first.name, "mixed", n_rows, known=_join_levels(columns), problem=problem)
    if kind == "level":
        return replace(like, n_rows=n_rows, known=_join_levels(columns), declared=levels)
    cells = [c.cells if c.kind == kind else np.full(c.n_rows, np.nan, _float(like)) for c in columns]
    known = _join_levels(columns) if _needs_names(columns) else None
    return replace(like, n_rows=n_rows, cells=np.concatenate(cells), known=known)


def _float(column: Column) -> Any:
    """Return the type of floats in which missing cells can stand beside the cells of a column."""
    return np.float32 if column.cells.dtype == np.float32 else np.float64


def _take_levels(levels: Levels, rows: Positions) -> Levels:
    """Return the levels of some rows, without the names that no row has."""
    codes = levels.codes[rows]
    used = np.bincount(codes + 1, minlength=len(levels.names) + 1)[1:] > 0
    if used.all():
        return Levels(levels.names, codes)
    position = (np.cumsum(used) - 1).astype(np.int32)
    return Levels(levels.names[used], np.where(codes < 0, np.int32(-1), position[codes]))


def _small(x: Floats) -> bool:
    return bool(np.nanmax(np.abs(x), initial=0.0) < _EXACT)


def _is_empty(column: Column) -> bool:
    """True if every cell is missing."""
    if column.kind == "empty":
        return True
    if column.kind in ("level", "mixed"):
        return bool((column.levels.codes < 0).all())
    return bool(np.isnan(column.numbers()).all())


def _needs_names(columns: Sequence[Column]) -> bool:
    """True if joining numbers of different types would change level names: large integers, floats of 32 bits."""
    if any(column.known is not None for column in columns):
        return True
    types = {column.cells.dtype for column in columns if column.kind != "empty"}
    if len(types) == 1 and (
        next(iter(types)).kind == "f" or all(column.kind != "empty" for column in columns)
    ):
        return False
    integers = (column for column in columns if column.kind != "empty" and column.cells.dtype.kind in "iu")
    return np.dtype(np.float32) in types or not all(_small(column.numbers()) for column in integers)


def _join_levels(columns: Sequence[Column]) -> Levels:
    """Return the levels of all rows: one name is one level."""
    position: dict[str, int] = {}
    codes = []
    for column in columns:
        names, own = column.levels
        to = np.array([position.setdefault(name, len(position)) for name in names.tolist()], np.int32)
        codes.append(_native.map_codes(own, to))
    return Levels(level_names(position), np.concatenate(codes))


def _documents(column: Column) -> list[Any]:
    """Return the cells of a text column as Python objects."""
    if column.texts is not None:
        return list(column.texts.to_pylist() if hasattr(column.texts, "to_pylist") else column.texts)
    names, codes = column.levels
    return [None if code < 0 else names[code] for code in codes]


def _mixture(columns: Sequence[Column]) -> str:
    """Return the error text for a column whose type differs between batches."""
    one, other = list({column.kind: column for column in columns if column.kind != "empty"}.values())[:2]
    examples = []
    for column in (one, other):
        row = int(np.argmax(column.levels.codes >= 0))
        examples.append(f"{_CELLS[column.kind]} (for example {column.display_value(row)!r})")
    return (
        f"column {one.name!r} holds {examples[0]} in one batch and {examples[1]} in another. Convert it to one type, "
        f'for example strings with astype(str); or pass families={{{one.name!r}: "categorical"}}.'
    )
