"""The plain description of how a fitted model scores a row: blocks of a few shapes, in names, numbers and arrays.

All exports render this description. Its keys are documented in docs/export.md. Infinite numbers stay infinite here.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats, Labels
from sunrise.data.levels import MISSING
from sunrise.export.curves import TooManyPieces, tabulate
from sunrise.export.refusals import refuse_column
from sunrise.families.readers import BinReader, LevelReader
from sunrise.families.standard_reader import for_columns
from sunrise.families.text_reader import TextReader
from sunrise.model.choice import Part
from sunrise.model.fitted import FittedModel
from sunrise.statistics.support import Support

Description = dict[str, Any]

VERSION = 1
#: Views of a cell that exports can compute.
VIEWS = ("x", "log x", "log(1 - x)", "cos x", "sin x", "x = 0")


def describe_model(model: FittedModel, names: list[str], estimator: str) -> Description:
    """Return the description of a fitted model; `names` are the names of its columns."""
    schema = model.schema
    columns: list[Description] = [
        {"name": names[j], "family": None, "kind": choice.kind} for j, choice in enumerate(schema.choices)
    ]
    for k, part in enumerate(schema.column_parts):
        lenient, weights = schema.lenient(part), np.broadcast_to(model.weights(k), len(part.columns))
        for at, j in enumerate(part.columns):
            columns[j]["family"] = part.family.name
            columns[j]["weight"] = float(weights[at])
            columns[j]["impossible"] = "missing" if lenient[at] else "error"
    blocks = [block for k in range(len(schema.column_parts)) for block in _blocks(model, k, names)]
    blocks += _silent_columns(model, {j for block in blocks for j in block["columns"]})
    for k in range(len(schema.column_parts), len(schema.parts)):
        if model.forms[k].kind == "quadratic":
            blocks.append(_quadratic(model, k))
        else:
            levels_of = {b["columns"][0]: b["levels"] for b in blocks if b["kind"] == "levels"}
            blocks += _pairs(model, k, levels_of)
    _add_parameters(model, columns)
    derived = {} if schema.rules is None else {"derived": schema.rules.describe()}
    return {
        "format": "sunrise",
        "version": VERSION,
        "estimator": estimator,
        "classes": _plain_labels(model.classes),
        "log_prior": model.log_prior,
        "log_prior_without_offsets": model.plain_log_prior if model.has_offsets else None,
        "log_class_prior": model.log_class_prior,
        "matrix": schema.is_matrix or (not schema.is_named and all(c["kind"] == "number" for c in columns)),
        "columns": columns,
        **derived,
        "blocks": blocks,
    }


def _plain_labels(classes: Labels) -> list[Any]:
    """Return labels as booleans, numbers and strings; dates and times become ISO strings."""
    if classes.dtype.kind == "M":
        units = ("D", "s", "ms", "us", "ns")
        unit: Any = next((u for u in units if (classes.astype(f"M8[{u}]") == classes).all()), None)
        return list(np.datetime_as_string(classes, unit).tolist())
    # Python has no time span in nanoseconds: tolist would return plain numbers.
    labels = map(str, classes) if classes.dtype.kind == "m" else classes.tolist()
    return [_plain_label(label) for label in labels]


def _plain_label(label: Any) -> Any:
    label = label.item() if isinstance(label, np.bool_ | np.number) else label
    if isinstance(label, date):
        return label.isoformat()
    return label if isinstance(label, bool | int | float | str) else str(label)


def _add_parameters(model: FittedModel, columns: list[Description]) -> None:
    """Add the parameters of the columns that have few: numbers by name, one for each class."""
    for k, part in enumerate(model.parts):
        if part.family.reader.is_plain and model.forms[k].kind in ("linear", "distance", "rising"):
            params = model.params[k]
            described = zip(part.columns, part.family.describe(params), params.known, strict=True)
            for j, own, is_known in described:
                columns[j]["parameters"] = own if is_known else {}


def cells_of(support: Support) -> Description:
    """Return which cells of a column are possible, and the threshold of cells that are read as 0 or 1."""
    return {
        "lowest": support.lowest,
        "highest": support.highest,
        "whole": support.whole,
        "above": support.above,
    }


def _blocks(model: FittedModel, k: int, names: list[str]) -> list[Description]:
    """Return the blocks of one part of the model."""
    part, form = model.parts[k], model.forms[k]
    reader, kind = part.family.reader, form.kind
    exponent = model.row_exponents.get(k, 0.0)
    if isinstance(reader, TextReader):
        return [_text(model, k, exponent)]
    if kind == "table":
        return _tables(model, k)
    if kind == "kernel":
        return _curves(part, form, names)
    if kind == "quadratic":
        return [_quadratic(model, k)]
    views = tuple(view.name for view in part.family.support.views)
    if kind == "pointwise" or any(view not in VIEWS for view in views):
        what = "a function in Python" if kind == "pointwise" else f"the view {views}"
        refuse_column(
            names[part.columns[0]],
            f"its family {part.family.name} scores cells by {what}, which exports cannot write",
            "Give the column a family of Sunrise, or leave it out: families={column: None}.",
        )
    block: Description = {
        "kind": kind,
        "columns": list(part.columns),
        "cells": cells_of(part.family.support),
        "views": list(views),
        "exponent": exponent,
    }
    return [block | _SHAPES[kind](form)]


def _linear(form: Any) -> Description:
    """Return base + x (x - anchor) + x2 (x - anchor)^2; a composition of counts has shares beside its weights."""
    parts = {name: getattr(form, name) for name in ("base", "x", "x2", "anchor")}
    own: Description = {name: part for name, part in parts.items() if part is not None}
    if own.get("anchor") is not None and not np.any(own["anchor"]):
        del own["anchor"]
    if (composition := form.composition) is not None:
        own |= {
            "kind": "counts",
            "log_share": composition.log_theta,
            "sign": composition.sign,
            "normed": composition.normed,
            "factor": composition.weight,
        }
    return own


def _distance(form: Any) -> Description:
    names = ("curve", "base", "anchor", "scale", "power")
    return {name: getattr(form, name) for name in names}


def _rising(form: Any) -> Description:
    own = {name: getattr(form, name) for name in ("base", "slope", "shape", "weight")}
    return own if form.gap is None else own | {"gap": form.gap}


def _polya(form: Any) -> Description:
    return {
        "concentration": np.where(form.known, form.concentration, 0.0),
        "known": form.known,
        "factor": form.weight,
    }


_SHAPES = {"linear": _linear, "distance": _distance, "rising": _rising, "polya": _polya}


def _tables(model: FittedModel, k: int) -> list[Description]:
    """Return one block for every column of levels, codes or bins."""
    part, lookup = model.parts[k], model.lookups[k]
    family: Any = part.family
    form: Any = model.forms[k]
    blocks = []
    for at, j in enumerate(part.columns):
        codes = form.codes[form.offsets[at] : form.offsets[at + 1]]
        first = int(form.offsets[at]) + 2 * at
        scores, other, unseen = np.split(
            form.values[first : first + len(codes) + 2], [len(codes), len(codes) + 1]
        )
        block: Description = {"kind": "bins", "columns": [j], "scores": scores}
        if isinstance(family.reader, BinReader):
            blocks.append(block | {"edges": np.array(family.cuts[at].edges)})
            continue
        block |= {"other": other[0], "unseen": unseen[0], "refuse_unseen": bool(form.refuse_unseen)}
        if isinstance(family.reader, LevelReader):
            levels = list(lookup[at])
            if len(levels) < form.sizes[at]:
                block["unseen"] = block["other"]
            del block["other"]
            missing = np.zeros(scores.shape[1])
            if family.missing == "level":
                missing = block["unseen"]
                if MISSING in levels:
                    position = levels.index(MISSING)
                    missing, block["scores"] = scores[position], np.delete(scores, position, axis=0)
                    levels.remove(MISSING)
            block |= {"kind": "levels", "levels": levels, "missing": missing}
        else:
            block |= {"kind": "codes", "codes": codes, "size": int(form.sizes[at])}
        blocks.append(block)
    return blocks


def _silent_columns(model: FittedModel, known: set[int]) -> list[Description]:
    """Return blocks of score 0 for columns that have a part in interactions only, so that every cell is read."""
    names = {name for own in model.schema.interactions for name in own.columns}
    zero = np.zeros((1, len(model.classes)))
    return [
        {"kind": "bins", "columns": [j], "edges": np.empty(0), "scores": zero}
        for j, name in enumerate(model.schema.names)
        if name in names and j not in known
    ]


def _quadratic(model: FittedModel, k: int) -> Description:
    """Return the block of columns that are scored by one multivariate Student-t."""
    part, form = model.parts[k], model.forms[k]
    family: Any = part.family
    own: Any = form
    centre, unit = for_columns(family.scales, own.mean.shape[1])
    return {
        "kind": "quadratic",
        "columns": list(family.reader.sources(family, part.columns)),
        "centre": centre,
        "unit": unit,
        "mean": own.mean,
        "scatter": own.scatter,
        "freedom": own.freedom,
        "share": own.share,
        "weight": own.weight,
        "together": bool(own.one_summand),
        "complete": bool((model.blocks[k].rows[:, 0] == model.stats.rows).all()),
    }


def _pairs(model: FittedModel, k: int, levels_of: dict[int, list[str]]) -> list[Description]:
    """Return one block for every pair of columns; `levels_of` has the levels of columns by position."""
    family: Any = model.parts[k].family
    form: Any = model.forms[k]
    blocks = []
    for at, (pair, lookup) in enumerate(zip(family.pairs, model.lookups[k], strict=True)):
        first, places = int(form.offsets[at]) + 2 * at, []
        sides: list[Description] = []
        for side, known in zip(pair, (lookup.first, lookup.second), strict=True):
            if side.edges is None:
                names = levels_of[side.column]
                sides.append({"levels": names})
            else:
                names = [str(bin_) for bin_ in range(len(side.edges) + 1)]
                sides.append({"edges": np.array(side.edges)})
            places.append([known.get(name, len(known)) for name in names])
        scores = form.values[first + lookup.positions[np.ix_(*places)]]
        block: Description = {
            "kind": "pair",
            "columns": [side.column for side in pair],
            "first": sides[0],
            "second": sides[1],
            "weight": float(model.weights(k)[at]),
        }
        blocks.append(block | {"scores": scores})
    return blocks


def _curves(part: Part, form: Any, names: list[str]) -> list[Description]:
    """Return one block for every column with a kernel density."""
    blocks = []
    bounds = form.sums.bounds
    for at in np.flatnonzero(form.known & (form.weight != 0.0)).tolist():
        name = names[part.columns[at]]
        try:
            curve = tabulate(form, at)
        except TooManyPieces as problem:
            refuse_column(
                name,
                str(problem),
                "Give the column a wider bandwidth, Kernel(bandwidth=...), or another family such as "
                '"gaussian" or "binned".',
            )
        blocks.append(
            {
                "kind": "curve",
                "columns": [part.columns[at]],
                "cells": cells_of(part.family.support),
                "scale": {"lower": bounds.lower, "upper": bounds.upper, "log": bounds.log},
                "breaks": curve.breaks,
                "coefficients": curve.coefficients,
            }
        )
    return blocks


def _text(model: FittedModel, k: int, exponent: float) -> Description:
    """Return the block of a text column: tokens, scaling of counts, and the scores of the words."""
    part = model.parts[k]
    family: Any = part.family
    form: Any = model.forms[k]
    counter = family.counter
    block: Description = {
        "kind": "text",
        "columns": list(part.columns),
        "exponent": exponent,
        "tokens": {
            "analyzer": counter.analyzer,
            "ngram_range": list(counter.ngram_range),
            "lowercase": bool(counter.lowercase),
            "strip_accents": counter.strip_accents,
            "stop_words": None if counter.stop_words is None else sorted(counter.stop_words),
            "binary": bool(counter.binary),
            "hash_bits": counter.hash_bits,
        },
        "tf": family.tf,
        "length": float(family.length or 0.0),
        "total": family.total,
        "word_weight": np.nan_to_num(family.word_weight) if family.idf_first else None,
        "above": family.support.above,
        "words": [str(word) for word in model.lookups[k].words],
    }
    if form.kind == "polya":
        return block | {"scores": "polya"} | _polya(form)
    n_classes = len(model.classes)
    base = getattr(form, "base", None)
    if base is not None:  # words that are absent are cells, too: all bases count in every document
        total: Floats = np.where(np.isfinite(base), base, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore"):
            excluded = -np.where(np.isinf(base), np.sign(base), 0.0).sum(axis=1)
    else:
        total, excluded = np.zeros(n_classes), np.zeros(n_classes)
    return block | {"scores": "linear", "base": total, "base_excluded": excluded, "x": form.x}
