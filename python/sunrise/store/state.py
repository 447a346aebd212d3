"""The parts of a model file: description of the model, and its schema, statistics and labels as JSON and arrays."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sunrise._common.arrays import Labels
from sunrise._common.versioned import own_version
from sunrise.data.derive import Rules
from sunrise.model.choice import Part
from sunrise.model.interaction import CorrelatedColumns, Interaction
from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.store.container import Contents, pack
from sunrise.store.errors import ModelFileError
from sunrise.store.values import CannotSaveError, Reader, Writer

FORMAT = "sunrise"
#: Version of the format. Files of later versions can be read if they require nothing that is not known here.
VERSION = 1
#: Abilities that a file may require of its reader.
KNOWN_REQUIREMENTS: frozenset[str] = frozenset(("interactions", "column rules"))
#: Which of them a schema needs, by its parts.
_REQUIRED = {"interactions": "interactions", "column rules": "rules"}


def to_pieces(kind: str, parts: dict[str, Any], writer: Writer) -> list[bytes | memoryview]:
    """Return the pieces of a file of this kind ("model" or "statistics") with these parts, which are JSON."""
    # A reader that ignored one of these would misread the columns.
    schema = parts.get("schema") or {}
    requires = [name for name, key in _REQUIRED.items() if key in schema]
    head = {"format": FORMAT, "version": VERSION, "requires": requires, "written_by": own_version()}
    return pack({**head, "kind": kind, **parts}, writer.arrays)


def open_parts(contents: Contents, kind: str) -> tuple[dict[str, Any], Reader]:
    """Return the parts of a file and the reader of their values; raise ModelFileError for another kind of file."""
    spec = contents.spec
    if not isinstance(spec, dict) or spec.get("format") != FORMAT or type(spec.get("version")) is not int:
        raise ModelFileError("This is not a Sunrise model file. Model files are written by model.save().")
    requires = spec.get("requires")
    if not isinstance(requires, list) or not all(isinstance(name, str) for name in requires):
        raise ModelFileError("The model file does not say what it requires.")
    if unknown := [name for name in requires if name not in KNOWN_REQUIREMENTS]:
        raise ModelFileError(
            f"The model file requires {unknown[0][:100]!r}, which sunrise {own_version()} does not know. Install "
            f"sunrise {str(spec.get('written_by', ''))[:20]} or later."
        )
    if spec.get("kind") != kind:
        raise ModelFileError(
            f"The file holds {'a model' if spec.get('kind') == 'model' else 'statistics'}, and "
            f"{'a model' if kind == 'model' else 'statistics'} was expected. sunrise.load reads models, "
            "Accumulator.from_bytes reads statistics."
        )
    return spec, Reader(contents.arrays)


# Schema: columns may share one choice, and there may be a million of them.


def write_schema(schema: Schema, writer: Writer) -> dict[str, Any]:
    """Return a schema as JSON."""
    position: dict[int, int] = {}
    distinct: list[Any] = []
    of_columns = np.empty(len(schema.choices), np.uint32)
    for j, choice in enumerate(schema.choices):
        if id(choice) not in position:
            position[id(choice)] = len(distinct)
            distinct.append(choice)
        of_columns[j] = position[id(choice)]
    choices = [
        writer.write(choice, f"column {name!r}")
        for choice, name in zip(distinct, _first_names(schema, of_columns), strict=True)
    ]
    narrow = np.uint8 if len(distinct) < 256 else np.uint32
    return {
        "names": writer.write(schema.names, "a column name"),
        "choices": choices,
        "choice_of_columns": writer.write(of_columns.astype(narrow), "schema"),
        "is_named": schema.is_named,
        "label": writer.write(schema.label, "the name of the label column"),
        "library": schema.library,
        **(
            {"interactions": writer.write(list(schema.interactions), "interactions")}
            if schema.interactions
            else {}
        ),
        **({"counted": writer.write(list(schema.counted), "keep_pairs")} if schema.counted else {}),
        **({} if schema.rules is None else {"rules": writer.write(schema.rules, "the rules of the columns")}),
    }


def _first_names(schema: Schema, of_columns: Any) -> list[Any]:
    """Return the name of the first column of every distinct choice."""
    return [schema.names[j] for j in np.unique(of_columns, return_index=True)[1].tolist()]


def read_schema(spec: Any, reader: Reader) -> Schema:
    """Return the schema that was written as this JSON."""
    if not isinstance(spec, dict):
        raise ModelFileError("The model file has no schema.")
    names = reader.read(spec.get("names"))
    distinct = reader.read(spec.get("choices"))
    of_columns = reader.read(spec.get("choice_of_columns"))
    if (
        not isinstance(names, tuple | range | list)
        or getattr(of_columns, "shape", None) != (len(names),)
        or of_columns.dtype.kind != "u"
        or (len(names) and int(of_columns.max()) >= len(distinct))
        or (not isinstance(names, range) and len(set(names)) < len(names))
    ):
        raise ModelFileError("The columns of the model file do not fit together.")
    choices = tuple(distinct[k] for k in of_columns.tolist())
    interactions = _read_interactions(spec.get("interactions"), reader, set(names))
    counted = _read_interactions(spec.get("counted"), reader, set(names))
    if not all(type(own) is Interaction for own in counted) or not set(counted).isdisjoint(interactions):
        raise ModelFileError("The pairs of columns in the model file are not valid.")
    rules = reader.read(spec.get("rules"))
    if not isinstance(rules, Rules | None):
        raise ModelFileError("The rules of the columns in the model file are not valid.")
    return Schema(
        names,
        choices,
        bool(spec.get("is_named")),
        reader.read(spec.get("label")),
        spec.get("library") if isinstance(spec.get("library"), str) else None,
        interactions,
        counted,
        rules,
    )


def _read_interactions(spec: Any, reader: Reader, names: set[Any]) -> tuple[Any, ...]:
    """Return the interactions of a schema; files of models without them say nothing."""
    interactions = () if spec is None else tuple(reader.read(spec))
    kinds = [type(own) for own in interactions]
    if (
        any(kind not in (Interaction, CorrelatedColumns) for kind in kinds)
        or CorrelatedColumns in kinds[:-1]
        or len(set(interactions)) < len(interactions)
        or not all(names.issuperset(own.columns) for own in interactions)
    ):
        raise ModelFileError("The interactions of the model file do not fit its columns.")
    return interactions


# Statistics.


def write_stats(stats: Stats, writer: Writer) -> Any:
    """Return statistics as JSON; raise TypeError for class labels that a file cannot hold."""
    check_labels(stats.classes)
    return writer.write(stats, "the statistics")


def read_stats(spec: Any, reader: Reader, schema: Schema) -> Stats:
    """Return the statistics that were written as this JSON; they must fit the schema."""
    stats = reader.read(spec)
    if not isinstance(stats, Stats) or not isinstance(stats.blocks, tuple):
        raise ModelFileError("The model file has no statistics.")
    n = len(check_labels(stats.classes))
    shapes = [getattr(stats.rows, "shape", None), getattr(stats.weight, "shape", None)]
    parts, counted = schema.parts, stats.counted
    if (
        shapes != [(n,), (n,)]
        or (counted is None) != (not schema.counted)
        or (counted is not None and not _counts_pairs(schema, reader.sizes.get(id(counted)), n))
        or len(stats.blocks) != len(parts)
        or not all(
            _fits(part, reader.sizes.get(id(b)), n) for part, b in zip(parts, stats.blocks, strict=True)
        )
    ):
        raise ModelFileError("The statistics of the model file do not fit its columns and classes.")
    return stats


def _fits(part: Part, sizes: dict[str, int] | None, n_classes: int) -> bool:
    """True if the dimensions of a block of statistics are those of its columns and classes."""
    if sizes is None or sizes.get("classes", n_classes) != n_classes:
        return False
    columns, family = part.columns, part.family
    n = len(family.reader.sources(family, columns) if family.joint else columns) * len(
        family.fit_support.views
    )
    return sizes.get("columns", n) == n


def _counts_pairs(schema: Schema, sizes: dict[str, int] | None, n_classes: int) -> bool:
    """True if the dimensions of counts are those of the pairs that a schema counts."""
    return sizes is not None and (sizes.get("columns + 1"), sizes.get("classes")) == (
        len(schema.counted) + 1,
        n_classes,
    )


_LABEL_TYPES = (bool, int, float, str, datetime.date)


def check_labels(labels: Any) -> Labels:
    """Return class labels; raise TypeError unless they are bool, int, float, str or dates."""
    if not isinstance(labels, np.ndarray) or labels.ndim != 1:
        raise ModelFileError("The class labels of the model file are not an array.")
    if labels.dtype.kind in "biufUMm":
        return labels
    items: Iterable[Any] = labels.tolist()
    for label in items:
        if not isinstance(label, _LABEL_TYPES):
            raise CannotSaveError("a class label", label)
    return labels
