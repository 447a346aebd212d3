"""SQL expressions of the blocks of a description: cells, values of whole rows, and scores by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.export import sql_tables
from sunrise.export.description import Description
from sunrise.export.shapes import about_centre, student_of
from sunrise.export.sql_dialects import Dialect, add
from sunrise.export.sql_functions import distance, log_rising, view
from sunrise.numerics import special

#: From this number of features on, a list of them is worth it.
_MANY_FEATURES = 32
#: The smallest double that every database reads; a smaller bound above 0 is "more than 0".
_SMALLEST = 1e-300


class Scores:
    """The parts of a query: columns of its stages by name, look-up tables, and the terms of every class."""

    def __init__(self, sql: Dialect, description: Description) -> None:
        self.sql, self.n_classes = sql, len(description["classes"])
        self.columns = description["columns"]
        self.raw: dict[str, str] = {}
        self.cells: dict[str, str] = {}
        self.rows: dict[str, str] = {}
        #: Stages after the values of rows, each from the one before.
        self.later: list[dict[str, str]] = []
        self.lookups: list[sql_tables.Lookup] = []
        self.terms: list[list[str]] = [[self.sql.number(x)] for x in description["log_prior"]]
        self.excluded: list[list[str]] = [[] for _ in range(self.n_classes)]
        for k, block in enumerate(description["blocks"]):
            _BLOCKS[block["kind"]](self, block, k)

    def number(self, j: int, is_binary: bool = False) -> str:
        """Return the name of column j as a number, NULL if missing; a binary column may hold booleans."""
        column = self.columns[j]
        may_be_boolean = is_binary or column["kind"] == "bool"
        self.raw[f"x{j}"] = self.sql.cast_number(self.sql.identifier(column["name"]), may_be_boolean)
        return f"x{j}"

    def cell(self, block: Description, j: int) -> str:
        """Return the name of a cell of column j, NULL if missing or impossible."""
        sql, cells = self.sql, block["cells"]
        is_binary = cells["above"] is not None or (cells["lowest"], cells["highest"]) == (0.0, 1.0)
        x = self.number(j, is_binary)
        largest = sql.largest
        low, high = (min(max(cells[end], -largest), largest) for end in ("lowest", "highest"))
        if cells["above"] is not None:
            one, zero = sql.number(1.0), sql.number(0.0)
            within = f"ABS({x}) <= {sql.number(largest)}"
            value = f"CASE WHEN {x} > {sql.number(cells['above'])} THEN {one} ELSE {zero} END"
            self.cells[f"v{j}"] = f"CASE WHEN {within} THEN {value} END"
            return f"v{j}"
        if low == -largest and high == largest and not cells["whole"]:
            self.cells[f"v{j}"] = f"CASE WHEN ABS({x}) <= {sql.number(largest)} THEN {x} END"
            return f"v{j}"
        above = f"{x} > 0" if 0.0 < low < _SMALLEST else f"{x} >= {sql.number(low)}"
        whole = f" AND {x} = FLOOR({x})" if cells["whole"] else ""
        self.cells[f"v{j}"] = f"CASE WHEN {above} AND {x} <= {sql.number(high)}{whole} THEN {x} END"
        return f"v{j}"

    def views(self, block: Description) -> list[tuple[int, str]]:
        """Return the position and the expression of every view of every cell of a block."""
        views = []
        for at, j in enumerate(block["columns"]):
            cell = self.cell(block, j)
            for v, name in enumerate(block["views"]):
                if name != "x":
                    self.rows[f"w{j}_{v}"] = view(self.sql, name, cell)
                views.append((at * len(block["views"]) + v, cell if name == "x" else f"w{j}_{v}"))
        return views

    def add_stage(self, at: int, columns: dict[str, str]) -> None:
        """Add columns to the stage at a position after the values of rows."""
        while len(self.later) <= at:
            self.later.append({})
        self.later[at] |= columns

    def observed(self, term: str) -> str:
        """Return a term, 0 if its cell is missing."""
        return f"COALESCE({term}, {self.sql.number(0.0)})"

    def mask(self, cell: str) -> str:
        """Return 1 if a cell is observed, else 0."""
        return f"(CASE WHEN {cell} IS NULL THEN {self.sql.number(0.0)} ELSE {self.sql.number(1.0)} END)"

    def weighted_sum(self, name: str, features: list[str], weights: Floats) -> str:
        """Return the sum of features times weights; no feature is NULL.

        Databases with lists get one function of two lists for many features, which they plan much faster; `name` is the
        column of the list of features.
        """
        sql = self.sql
        if sql.dot_product is None or len(features) < _MANY_FEATURES:
            return add(
                [f"({sql.number(w)} * {feature})" for w, feature in zip(weights, features, strict=True)]
            )
        self.rows[name] = f"[{', '.join(features)}]"
        return f"{sql.dot_product}({name}, [{', '.join(map(sql.number, weights))}])"

    def length_factor(self, block: Description, k: int) -> str | None:
        """Return the name of the factor of a block that depends on the row length; None without one."""
        if block["exponent"] == 0.0:
            return None
        self.rows[f"f{k}"] = (
            f"POWER({self.length(block)} + {self.sql.number(1.0)}, {self.sql.number(block['exponent'])})"
        )
        return f"f{k}"

    def length(self, block: Description) -> str:
        """Return the sum of the observed cells of a block."""
        return add([self.observed(self.cell(block, j)) for j in block["columns"]])

    def add_block(self, c: int, terms: Sequence[str], factor: str | None) -> None:
        """Add the terms of a block to the score of class c."""
        if factor is None:
            self.terms[c] += terms
        elif terms:
            self.terms[c].append(f"({add(list(terms))} * {factor})")


def _linear(query: Scores, block: Description, k: int) -> None:
    views, factor = query.views(block), query.length_factor(block, k)
    if query.sql.dot_product and len(views) >= _MANY_FEATURES and (quadratic := about_centre(block)):
        cells = [x for _, x in views]
        centres = map(query.sql.number, quadratic.centre)
        d = [f"({x} - {centre})" for x, centre in zip(cells, centres, strict=True)]
        features = {
            "one": [query.mask(x) for x in cells],
            "d": [query.observed(own) for own in d],
            "square": [query.observed(f"{own} * {own}") for own in d],
        }
        for c in range(query.n_classes):
            parts = zip(features.items(), (quadratic.base, quadratic.x, quadratic.x2), strict=True)
            terms = [
                query.weighted_sum(f"{name}{k}", own, part[c]) for (name, own), part in parts if part.any()
            ]
            query.add_block(c, terms, factor)
        return
    for c in range(query.n_classes):
        terms, excluded = _weighted(query, block, views, c)
        query.add_block(c, terms, factor)
        query.excluded[c] += excluded


def _weighted(
    query: Scores, block: Description, views: list[tuple[int, str]], c: int
) -> tuple[list[str], list[str]]:
    """Return the finite terms of class c, and those that count impossible cells."""
    sql, finite, excluded = query.sql, [], []
    for at, x in views:
        anchor = block["anchor"][c, at] if "anchor" in block else 0.0
        d = x if anchor == 0.0 else f"({x} - {sql.number(anchor)})"
        parts: list[str] = []
        infinite: list[str] = []
        # A base has a feature that becomes NULL with its cell.
        one = f"(CASE WHEN {x} IS NOT NULL THEN {sql.number(1.0)} END)"
        for name, feature, of_infinite in (("base", one, 1.0), ("x", d, 1.0), ("x2", f"{d} * {d}", 1e100)):
            weight = float(block[name][c, at]) if name in block else 0.0
            if math.isinf(weight):
                infinite.append(f"{sql.number(-math.copysign(of_infinite, weight))} * {feature}")
            elif weight != 0.0:
                parts.append(f"{sql.number(weight)} * {feature}")
        if len(parts) > 1:
            parts = [part.removesuffix(f" * {one}") for part in parts]
        finite += [query.observed(" + ".join(parts))] if parts else []
        excluded += [query.observed(" + ".join(infinite))] if infinite else []
    return finite, excluded


def _counts(query: Scores, block: Description, k: int) -> None:
    """Scores of counts whose shares are rescaled in rows with missing counts."""
    sql, views, factor = query.sql, query.views(block), query.length_factor(block, k)
    cells = [x for _, x in views]
    counts, masks = [query.observed(x) for x in cells], [query.mask(x) for x in cells]
    query.rows[f"n{k}"] = add([f"(CASE WHEN {x} IS NULL THEN 1 ELSE 0 END)" for x in cells])
    query.rows[f"l{k}"] = query.length(block)
    for c in range(query.n_classes):
        query.excluded[c] += _weighted(query, block, views, c)[1]
        is_finite = np.isfinite(block["log_share"][c])
        if not is_finite.any():
            continue
        logs = np.where(is_finite, block["log_share"][c], 0.0)
        zero, share = sql.number(0.0), f"r{k}_{c}"
        weights = np.where(np.isinf(block["x"][c]), 0.0, block["x"][c])
        query.rows[share] = query.weighted_sum(f"o{k}", masks, np.where(is_finite, np.exp(logs), 0.0))
        rescale = f"LN(CASE WHEN {share} > 0 THEN {share} ELSE {sql.number(1.0)} END)"
        products = query.weighted_sum(f"z{k}", counts, logs)
        counted = f"l{k}" if is_finite.all() else query.weighted_sum(f"z{k}", counts, is_finite.astype(float))
        partial = f"({products} - {counted} * {rescale})"
        scale = block["factor"] * (1.0 if block["normed"] else block["sign"])
        if block["normed"]:
            total = query.weighted_sum(f"o{k}", masks, logs)
            n = query.weighted_sum(f"o{k}", masks, is_finite.astype(float))
            total = f"({total} - {n} * {rescale})"
            partial = (
                f"(CASE WHEN ABS({total}) > {sql.number(1e-12)} THEN {partial} / {total} ELSE {zero} END)"
            )
        complete = query.weighted_sum(f"z{k}", counts, weights)
        whole = f"(CASE WHEN n{k} = 0 THEN {complete} ELSE {sql.number(scale)} * {partial} END)"
        query.add_block(c, [whole], factor)


def _polya(query: Scores, block: Description, k: int) -> None:
    sql, views, factor = query.sql, query.views(block), query.length_factor(block, k)
    cells = [x for at, x in views if block["known"][at]]
    if not cells or block["factor"] == 0.0:
        return
    query.rows[f"l{k}"] = add([query.observed(x) for x in cells])
    zero = sql.number(0.0)
    for c in range(query.n_classes):
        a = block["concentration"][c][block["known"]].tolist()
        terms = [query.observed(log_rising(sql, own, x)) for own, x in zip(a, cells, strict=True)]
        total = f"r{k}_{c}"
        query.rows[total] = add(
            [
                f"(CASE WHEN {x} IS NULL THEN {zero} ELSE {sql.number(own)} END)"
                for own, x in zip(a, cells, strict=True)
            ]
        )
        positive = f"(CASE WHEN {total} > 0 THEN {total} ELSE {sql.number(1.0)} END)"
        whole = f"(CASE WHEN {total} > 0 THEN {log_rising(sql, positive, f'l{k}')} ELSE {zero} END)"
        query.add_block(c, [f"({sql.number(block['factor'])} * ({add(terms)} - {whole}))"], factor)


def _distance(query: Scores, block: Description, k: int) -> None:
    sql = query.sql
    for at, x in query.views(block):
        for c in range(query.n_classes):
            base, anchor, scale, power = (
                float(block[part][c, at]) for part in ("base", "anchor", "scale", "power")
            )
            if base == 0.0 and power == 0.0:
                continue
            u = f"({sql.number(scale)} * ABS({x} - {sql.number(anchor)}))"
            curve = distance(sql, block["curve"], u)
            query.terms[c].append(query.observed(f"{sql.number(base)} + {sql.number(power)} * {curve}"))


def _rising(query: Scores, block: Description, k: int) -> None:
    sql = query.sql
    for at, x in query.views(block):
        weight = float(block["weight"][at])
        for c in range(query.n_classes if weight != 0.0 else 0):
            base, slope, shape = (float(block[part][c, at]) for part in ("base", "slope", "shape"))
            rising = log_rising(sql, shape, x)
            if (
                "gap" in block
            ):  # one ratio of gamma functions in two ways: each is accurate where the other cancels
                gap = float(block["gap"][c, at])
                near = f"{rising} - {log_rising(sql, shape + gap, x)}"
                constant = float(special.log_rising(np.array(shape), np.array(gap)))
                far = f"{sql.number(constant)} - {log_rising(sql, f'({x} + {sql.number(shape)})', gap)}"
                rising = f"(CASE WHEN {x} <= {sql.number(gap)} THEN {near} ELSE {far} END)"
            own = f"{sql.number(base)} + {sql.number(slope)} * {x} + {rising}"
            query.terms[c].append(query.observed(f"{sql.number(weight)} * ({own})"))


def _quadratic(query: Scores, block: Description, k: int) -> None:
    """Columns scored together; a row with a missing cell is scored without them."""
    sql, n = query.sql, query.n_classes
    student = student_of(block, [column["name"] for column in query.columns], "SQL")
    cells = []
    for j, centre, unit in zip(block["columns"], block["centre"], block["unit"], strict=True):
        name = sql.identifier(query.columns[j]["name"])
        query.raw[f"n{j}"] = sql.cast_number(name, query.columns[j]["kind"] == "bool")
        small = f"ABS(n{j}) <= {sql.number(sql.largest)}"
        query.cells[f"z{j}"] = (
            f"CASE WHEN {small} THEN (n{j} - {sql.number(centre)}) / {sql.number(unit)} END"
        )
        cells.append(f"z{j}")
    complete = " AND ".join(f"{cell} IS NOT NULL" for cell in cells)
    known = [query.observed(cell) for cell in cells]
    one, logs = sql.number(1.0), {}
    for c in range(n):
        distances = [
            f"POWER({query.weighted_sum(f'y{k}', known[: a + 1], own[: a + 1])} - {sql.number(shift)}, 2)"
            for a, (own, shift) in enumerate(zip(student.factor[c], student.shift[c], strict=True))
        ]
        query.rows[f"q{k}_{c}"] = f"CASE WHEN {complete} THEN {add(distances)} END"
        logs[f"t{k}_{c}"] = (
            f"{sql.number(student.base[c])} - {sql.number(student.power[c])} * LN({one} + q{k}_{c})"
        )
    weight, share = sql.number(block["weight"]), block["share"]
    query.add_stage(0, logs)
    if share == 0.0:
        for c in range(n):
            query.terms[c].append(query.observed(f"{weight} * t{k}_{c}"))
        return
    # Scores matter up to a constant, so that log-odds are bounded by mixing the probabilities of the block alone.
    query.add_stage(1, {f"t{k}_most": sql.extreme(sql.greatest, list(logs))})
    least = sql.number(-700.0)
    differences = [sql.extreme(sql.greatest, [f"t{k}_{c} - t{k}_most", least]) for c in range(n)]
    powers = {f"e{k}_{c}": f"EXP({own})" for c, own in enumerate(differences)}
    query.add_stage(2, powers)
    sums = add(list(powers))
    for c in range(n):
        mixed = f"{sql.number(1.0 - share)} * e{k}_{c} / ({sums}) + {sql.number(share / n)}"
        query.terms[c].append(query.observed(f"{weight} * LN({mixed})"))


_BLOCKS: dict[str, Callable[[Scores, Any, int], None]] = {
    "linear": _linear,
    "counts": _counts,
    "polya": _polya,
    "distance": _distance,
    "rising": _rising,
    "bins": sql_tables.bins,
    "codes": sql_tables.codes,
    "levels": sql_tables.levels,
    "curve": sql_tables.curve,
    "pair": sql_tables.pair,
    "quadratic": _quadratic,
}
