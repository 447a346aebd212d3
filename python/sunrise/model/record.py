"""Records: the short way from a dict, or from a table of one row, to the cells that a fitted model scores.

A service predicts record by record, so a call must cost microseconds. Whatever is unusual (columns that are absent or
unknown, unseen levels, other types of cells) takes the way of tables, which warns and raises.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sunrise.data.blocks import Batch, DenseBlock
from sunrise.data.columns import is_missing, readable
from sunrise.families.record_cells import Encoder
from sunrise.model.choice import Part
from sunrise.model.schema import Schema


class RecordReader:
    """Reads one record, or a matrix without column names, for a fitted model."""

    def __init__(self, schema: Schema, parts: tuple[Part, ...], lookups: tuple[Any, ...]) -> None:
        lenient = [schema.lenient(part) for part in parts]
        self._is_matrix = schema.is_matrix and not schema.is_named and not lenient[0].any()
        self._is_named = schema.is_named
        self._names = schema.names
        self._width = len(schema.names)
        encoders = [
            part.family.reader.record_encoder(part.family, lookup, own)
            for part, lookup, own in zip(parts, lookups, lenient, strict=True)
        ]
        #: The keys of the cells of every block, and the encoder of their values.
        self._blocks: list[tuple[list[Any], Encoder]] = []
        self._reads_records = not self._is_matrix and None not in encoders
        if self._reads_records:
            sources = [part.family.reader.sources(part.family, part.columns) for part in parts]
            keys = [[schema.names[j] for j in own] for own in sources]
            self._blocks = [(own, e) for own, e in zip(keys, encoders, strict=True) if e is not None]
        self._used = frozenset(schema.used) if self._reads_records and self._is_named else frozenset()
        self._known = frozenset((*schema.names, schema.label)) if self._used else frozenset()
        #: The columns of the pandas frame before, which mostly is that of the next one.
        self._columns: Any = None

    def read_matrix(self, X: Any) -> Batch | None:
        """Return the rows of a matrix that needs no conversion; None for anything else."""
        if not self._is_matrix or type(X) is not np.ndarray or X.ndim != 2 or X.shape[1] != self._width:
            return None
        return Batch(len(X), (DenseBlock(X),)) if len(X) and readable(X) else None

    def read(self, X: Any) -> Batch | None:
        """Return the cells of one record; None if it is not one, or if it has to be read as a table."""
        record = self._record(X) if self._reads_records else None
        if record is None:
            return None
        blocks = []
        for keys, encode in self._blocks:
            cells = encode([record[key] for key in keys])
            if cells is None:
                return None
            blocks.append(DenseBlock(cells))
        return Batch(1, tuple(blocks))

    def shown(self, X: Any) -> list[Any]:
        """Return the cells of a record that `read` has read, for display; None is missing."""
        record = self._record(X)
        if not isinstance(record, dict):
            return [_shown(value) for value in record or ()]
        return [_shown(record.get(name)) for name in self._names]

    def _record(self, X: Any) -> Mapping[Any, Any] | Sequence[Any] | None:
        """Return the values of the only row by the names of their columns, or by position if they have no names."""
        kind = type(X)
        if kind is np.ndarray:
            # Only these types have the values of their levels as Python numbers.
            if self._is_named or X.shape != (1, self._width) or X.dtype not in (np.float64, np.int64):
                return None
            values: list[Any] = X[0].tolist()
            return values
        if not self._is_named:
            return None
        if kind is list and len(X) == 1:
            X, kind = X[0], type(X[0])
        if kind is not dict:
            X = self._named_values(X)
            if X is None:
                return None
        return X if self._used <= X.keys() <= self._known else None

    def _named_values(self, X: Any) -> dict[Any, Any] | None:
        """Return the values of the only row of a frame by name."""
        package = type(X).__module__.partition(".")[0]
        if type(X).__name__ != "DataFrame" or package not in ("pandas", "polars") or len(X) != 1:
            return None
        columns = X.columns
        if package == "polars":
            return dict(zip(columns, X.row(0), strict=True))
        # The numbers of a categorical column are names of levels.
        if type(X) is not sys.modules["pandas"].DataFrame or any(map(_has_categories, X.dtypes.tolist())):
            return None
        if columns is not self._columns:
            if tuple(columns) != self._names:
                return dict(zip(columns, X.iloc[0].tolist(), strict=True)) if columns.is_unique else None
            self._columns = columns
        return dict(zip(self._names, X.iloc[0].tolist(), strict=True))


def _has_categories(dtype: Any) -> bool:
    return hasattr(dtype, "categories")


def _shown(value: Any) -> Any:
    """Return a number as a float, a boolean or a name as it is."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        return value
    return bool(value) if isinstance(value, bool | np.bool_) else float(value)
