"""SQL expressions of blocks that look a cell up: bins, codes, levels, pairs of columns, and pieces of a curve."""

from __future__ import annotations

import math
from hashlib import sha256
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data.levels import is_number
from sunrise.export.description import Description
from sunrise.export.shapes import level_keys
from sunrise.export.sql_functions import place

#: Longer lists of scores become tables that the query joins.
_LONGEST_CASE = 50


class Lookup:
    """A table of scores to join: its rows, and the condition of the join."""

    def __init__(self, name: str, key: str, columns: list[str], rows: list[list[str]]) -> None:
        self.name, self.key, self.columns, self.rows = name, key, columns, rows
        #: Terms of every class that use the columns of the table.
        self.terms: list[list[str]] = []


def _add_places(query: Any, k: int, key: str, scores: Floats) -> None:
    """Add the scores of a place in a list, which the cell `key` holds; NULL adds nothing."""
    sql = query.sql
    if len(scores) > _LONGEST_CASE:
        columns = [f"s{c}" for c in range(query.n_classes)]
        rows = [[str(i), *map(sql.number, own)] for i, own in enumerate(scores)]
        table = Lookup(f"sunrise_t{k}", key, columns, rows)
        table.terms = [[query.observed(f"sunrise_t{k}.s{c}")] for c in range(query.n_classes)]
        query.lookups.append(table)
        return
    for c in range(query.n_classes):
        if scores[:, c].any():
            whens = " ".join(f"WHEN {i} THEN {sql.number(own)}" for i, own in enumerate(scores[:, c]))
            query.terms[c].append(f"(CASE {key} {whens} ELSE {sql.number(0.0)} END)")


def bins(query: Any, block: Description, k: int) -> None:
    """Add a column of bins."""
    (j,) = block["columns"]
    x = query.number(j)
    tree = place(query.sql, x, block["edges"].tolist())
    query.cells[f"v{j}"] = f"CASE WHEN {x} IS NOT NULL THEN {tree} END"
    _add_places(query, k, f"v{j}", block["scores"])


def codes(query: Any, block: Description, k: int) -> None:
    """Add a column of level codes."""
    (j,) = block["columns"]
    sql, x, n = query.sql, query.number(j), len(block["codes"])
    rest = f"CASE WHEN {x} < {sql.number(block['size'])} THEN {n} ELSE {n + 1} END"
    whens = " ".join(f"WHEN {sql.number(code)} THEN {i}" for i, code in enumerate(block["codes"].tolist()))
    found = f"CASE {x} {whens} ELSE {rest} END" if n else rest
    query.cells[f"v{j}"] = f"CASE WHEN {x} >= 0 AND {x} = FLOOR({x}) THEN {found} END"
    _add_places(query, k, f"v{j}", _entries(block, "other", "unseen"))


def levels(query: Any, block: Description, k: int) -> None:
    """Add a column of levels by name."""
    (j,) = block["columns"]
    sql, column, levels = query.sql, query.columns[j], block["levels"]
    n = len(levels)
    keys = level_keys(levels, column["kind"])
    if keys is None:
        name = sql.identifier(column["name"])
        if column["kind"] == "number" and all(map(is_number, levels)):
            query.raw[f"x{j}"] = sql.cast_whole(name)
        else:
            query.raw[f"x{j}"] = sql.cast_text(name, not levels or any(map(is_number, levels)))
        literals = [sql.string(level) for level in levels]
    else:
        query.number(j)
        if sql.has_untyped_cells:  # text that is no number is an unseen level, not a missing cell
            query.raw[f"x{j}"] = f"COALESCE({query.raw[f'x{j}']}, {sql.identifier(column['name'])})"
        literals = [sql.number(key) for key in keys]
    x = f"x{j}"
    whens = " ".join(f"WHEN {literal} THEN {i}" for i, literal in enumerate(literals))
    found = f"CASE {x} {whens} ELSE {n} END" if n else str(n)
    query.cells[f"v{j}"] = f"CASE WHEN {x} IS NULL THEN {n + 1} ELSE {found} END"
    _add_places(query, k, f"v{j}", _entries(block, "unseen", "missing"))


def _entries(block: Description, *others: str) -> Any:
    """Return the scores of the levels of a column, then those of its other cells: entries x classes."""
    rest = np.array([block[name] for name in others])
    return np.concatenate([np.reshape(block["scores"], (-1, rest.shape[1])), rest])


def curve(query: Any, block: Description, k: int) -> None:
    """Add a tabulated density: a polynomial in each piece."""
    (j,) = block["columns"]
    sql, x, breaks = query.sql, query.cell(block, j), block["breaks"]
    scale = block["scale"]
    if scale["log"]:
        low = f"LN({x} - {sql.number(scale['lower'])})" if math.isfinite(scale["lower"]) else None
        high = f"LN({sql.number(scale['upper'])} - {x})" if math.isfinite(scale["upper"]) else None
        x = f"({low} - {high})" if low and high else (low or f"(-{high})")
    ends = sql.number(breaks[0]), sql.number(breaks[-1])
    query.rows[f"u{j}"] = (
        f"CASE WHEN {x} < {ends[0]} THEN {ends[0]} WHEN {x} > {ends[1]} THEN {ends[1]} ELSE {x} END"
    )
    u, coefficients = f"u{j}", block["coefficients"]
    key = f"(CASE WHEN {u} IS NOT NULL THEN {place(sql, u, breaks[1:-1].tolist())} END)"
    columns = [
        "m",
        "h",
        *(f"a{c}_{d}" for c in range(1, query.n_classes) for d in range(coefficients.shape[2])),
    ]
    middle, half = (breaks[1:] + breaks[:-1]) / 2, (breaks[1:] - breaks[:-1]) / 2
    rows = [
        [str(i), sql.number(middle[i]), sql.number(half[i]), *map(sql.number, coefficients[i, 1:].ravel())]
        for i in range(len(middle))
    ]
    table = Lookup(f"sunrise_t{k}", key, columns, rows)
    table.terms = [[] for _ in range(query.n_classes)]
    t = f"(({u} - sunrise_t{k}.m) / sunrise_t{k}.h)"
    for c in range(1, query.n_classes):
        value = f"sunrise_t{k}.a{c}_{coefficients.shape[2] - 1}"
        for d in range(coefficients.shape[2] - 2, -1, -1):
            value = f"(sunrise_t{k}.a{c}_{d} + {t} * {value})"
        table.terms[c] = [query.observed(value)]
    query.lookups.append(table)


def pair(query: Any, block: Description, k: int) -> None:
    """Scores of two columns together: the place of the pair in a table of levels or bins."""
    sides = [block["first"], block["second"]]
    places = [_side(query, side, j) for side, j in zip(sides, block["columns"], strict=True)]
    n = block["scores"].shape[1]
    query.rows[f"p{k}"] = f"{places[0]} * {n} + {places[1]}"
    _add_places(query, k, f"p{k}", block["scores"].reshape(-1, query.n_classes))


def _side(query: Any, side: Description, j: int) -> str:
    """Return the place of a cell of column j among levels or bins, NULL if it is missing or unseen."""
    if "levels" in side:  # the block of the column has found it
        return f"(CASE WHEN v{j} < {len(side['levels'])} THEN v{j} END)"
    x = f"x{j}" if f"x{j}" in query.raw else query.number(j)
    name = (
        f"b{j}_{sha256(side['edges'].tobytes()).hexdigest()[:8]}"  # pairs of one column may have other bins
    )
    query.cells[name] = f"CASE WHEN {x} IS NOT NULL THEN {place(query.sql, x, side['edges'].tolist())} END"
    return name
