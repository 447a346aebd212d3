"""A look into a model file: what it holds, without the arrays of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunrise.families.kept_values import KeepsValues
from sunrise.inference.scores import LooScore
from sunrise.store.container import unpack
from sunrise.store.errors import ModelFileError
from sunrise.store.files import read_bytes
from sunrise.store.state import open_parts, read_schema
from sunrise.store.values import Reader

__all__ = ["Inspection", "inspect"]

#: Number of columns and of classes that the text shows.
_MOST_SHOWN = 30


@dataclass(frozen=True)
class Inspection:
    """The contents of a model file.

    `classes` maps class labels to numbers of rows, `columns` maps column names to pairs of family name (None if the
    column is left out) and reason. `kept_rows` counts the training rows in the file, `kept_values` names the columns
    whose training values it holds.
    """

    estimator: str
    #: Constructor arguments that do not have their default values.
    arguments: dict[str, Any]
    version: int
    written_by: str
    n_bytes: int
    classes: dict[Any, int]
    columns: dict[Any, tuple[str | None, str]]
    calibration: str | None
    score: str
    kept_rows: int
    kept_values: list[Any]

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        lines = [
            f"{self.estimator}({given})",
            f"  {self.n_bytes:,} bytes, format {self.version}, written by sunrise {self.written_by}",
            f"  {sum(self.classes.values()):,} rows, {len(self.columns):,} columns, {len(self.classes):,} classes"
            + (f", calibrated by {self.calibration}" if self.calibration else ""),
        ]
        lines += [f"  {self.score}"] if self.score else []
        lines += [f"  holds {self.kept_rows:,} training rows"] if self.kept_rows else []
        if self.kept_values:
            names = ", ".join(map(str, self.kept_values[:5])) + (", ..." if len(self.kept_values) > 5 else "")
            lines.append(f"  holds training values of {len(self.kept_values):,} columns: {names}")
        for title, entries in (
            ("classes", [f"{label}: {n:,} rows" for label, n in self.classes.items()]),
            ("columns", [f"{name}: {family or '-'} ({why})" for name, (family, why) in self.columns.items()]),
        ):
            more = len(entries) - _MOST_SHOWN
            lines += [f"  {title}", *(f"    {entry}" for entry in entries[:_MOST_SHOWN])]
            lines += [f"    ... and {more:,} more"] if more > 0 else []
        return "\n".join(lines)


def inspect(source: Any) -> Inspection:
    """Return the contents of a model file: estimator, classes, columns and their families, training rows and values.

    The checksum is verified, but no statistics are read and no model is built. `source` is a path or bytes. Raises
    `ModelFileError` as `load` does.
    """
    data = read_bytes(source)
    try:
        parts, reader = open_parts(unpack(data), "model")
        return _inspection(parts, reader, len(data))
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"The model file is not valid: {str(error)[:200]}") from error


def _inspection(parts: dict[str, Any], reader: Reader, n_bytes: int) -> Inspection:
    stats, schema, attributes = parts["stats"], read_schema(parts["schema"], reader), parts["attributes"]
    labels, rows = reader.read(stats["classes"]).tolist(), reader.read(stats["rows"]).tolist()
    pairs = list(zip(schema.names, schema.choices, strict=True))
    calibration, score, kept = (
        parts.get("calibration"),
        reader.read(attributes.get("loo_score_")),
        attributes.get("_kept"),
    )
    return Inspection(
        str(parts["estimator"]),
        {name: _shown(parts["arguments"][name], reader) for name in parts["changed_arguments"]},
        int(parts["version"]),
        str(parts.get("written_by", "")),
        n_bytes,
        dict(zip(labels, rows, strict=True)),
        {name: (None if c.family is None else c.family.name, c.reason) for name, c in pairs},
        None if calibration is None else str(calibration["kind"]),
        str(score) if isinstance(score, LooScore) else "",
        0 if kept is None else reader.read(kept).n_rows,
        [name for name, choice in pairs if _keeps_values(choice.family)],
    )


def _keeps_values(family: Any) -> bool:
    """True if the statistics of a column are training values, not weights on a grid."""
    return isinstance(family, KeepsValues) and family.grid_at(0) is None


def _shown(value: Any, reader: Reader) -> Any:
    """Return an argument for display."""
    shown = reader.read(value)
    return shown if len(repr(shown)) < 200 else f"<{type(shown).__name__}>"
