"""Kept rows: the first rows of a stream, with labels and weights, until there are enough to choose families by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sunrise._common import labels
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise._common.lazy import is_sparse, sparse
from sunrise._common.stored import stored
from sunrise.data.blocks import DenseBlock, SparseBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame, frame_of
from sunrise.data.join import join_columns, take_rows
from sunrise.data.types import type_of


@stored("batch")
@dataclass(frozen=True)
class RowsOfBatch:
    """Rows of one or more batches. `cells` is a matrix, a sparse matrix or a tuple of columns."""

    cells: Any
    classes: Labels
    codes: Codes
    weight: Floats | None
    #: Decay of the rows since they were learned, which is part of their weights; None without decay.
    decay: Floats | None = None

    @classmethod
    def of(
        cls, cells: Any, classes: Labels, codes: Codes, weight: Floats | None, decay: Floats | None
    ) -> RowsOfBatch:
        """Return rows with the classes that they have; other classes are dropped."""
        used, position = np.unique(codes, return_inverse=True)
        return cls(cells, classes[used], position.astype(np.int32), weight, decay)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def frame(self) -> Frame:
        """The rows as a table without names."""
        if not isinstance(self.cells, tuple):
            return frame_of(self.cells)
        columns = self.cells
        return Frame(range(len(columns)), self.n_rows, lambda j: columns[j], is_named=False)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The rows as columns."""
        return self.cells if isinstance(self.cells, tuple) else tuple(map(self.frame.read, self.frame.names))

    @property
    def dtype(self) -> Any:
        """The type of a matrix; None for columns."""
        return getattr(self.cells, "dtype", None)


@stored("kept rows")
@dataclass(frozen=True)
class KeptRows:
    """Rows with labels and weights, in memory of their own. Rows of weight 0 are not kept."""

    names: Sequence[Any]
    is_named: bool
    library: str | None
    label: Any
    parts: tuple[RowsOfBatch, ...]
    #: Number of rows when families were last chosen.
    chosen_at: int = 0

    @classmethod
    def of(
        cls,
        table: Frame,
        label: Any,
        classes: Labels,
        codes: Codes,
        weight: Floats | None,
        unread: frozenset[int] = frozenset(),
        decay: Floats | None = None,
    ) -> KeptRows:
        """Copy rows. The columns at the positions `unread` are not read: their cells count as missing."""
        rows = np.arange(table.n_rows) if weight is None else np.flatnonzero(weight > 0)
        block = table.block
        cells: Any
        if isinstance(block, SparseBlock):
            matrix = sparse.csr_array((block.data, block.indices, block.indptr), shape=block.shape)
            cells = matrix[rows]
        elif isinstance(block, DenseBlock) and not unread and table.raw(0).kind == "number":
            cells = block.values[rows]
        else:
            cells = tuple(
                Column(name, "empty", len(rows)) if j in unread else _copy_rows(table.raw(j), rows)
                for j, name in enumerate(table.names)
            )
        weight, decay = (None if a is None else a[rows] for a in (weight, decay))
        part = RowsOfBatch.of(cells, classes, codes[rows], weight, decay)
        return cls(table.names, table.is_named, table.library, label, (part,))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def is_due(self) -> bool:
        """True if the rows have grown by a quarter, or shrunk by a fifth, since families were last chosen."""
        return not 0.8 * self.chosen_at < self.n_rows < 1.25 * self.chosen_at

    def __add__(self, other: KeptRows) -> KeptRows:
        return replace(self, parts=self.parts + other.parts)

    @cached_property
    def whole(self) -> RowsOfBatch:
        """All rows as one part."""
        parts = self.parts
        if len(parts) == 1:
            return parts[0]
        classes = parts[0].classes
        for part in parts[1:]:
            classes = labels.union(classes, part.classes)
        codes = [labels.locate(classes, part.classes).astype(np.int32)[part.codes] for part in parts]
        weight = decay = None
        if any(part.weight is not None for part in parts):
            weight = np.concatenate([_ones_or(part.weight, part) for part in parts])
        if any(part.decay is not None for part in parts):
            decay = np.concatenate([_ones_or(part.decay, part) for part in parts])
        cells: Any
        if any(is_sparse(part.cells) for part in parts):
            cells = sparse.csr_array(sparse.vstack([_as_sparse(part) for part in parts]))
        elif len({part.dtype for part in parts}) == 1 and parts[0].dtype is not None:
            cells = np.concatenate([part.cells for part in parts])
        else:
            cells = tuple(map(join_columns, zip(*(part.columns for part in parts), strict=True)))
        return RowsOfBatch(cells, classes, np.concatenate(codes), weight, decay)

    @property
    def joined(self) -> KeptRows:
        """The same rows as one part; families are chosen by them now."""
        return replace(self, parts=(self.whole,), chosen_at=self.n_rows)

    @property
    def table(self) -> Frame:
        """The rows as a table with the names of its columns."""
        return replace(self.whole.frame, names=self.names, is_named=self.is_named, library=self.library)

    def without(self, other: KeptRows, absent: frozenset[int] = frozenset()) -> KeptRows | None:
        """Return the rows without those of `other`; None if a row of `other` is not here.

        A row is found by its cells, its label and its weight. Columns at the positions `absent` are not compared.
        """
        n = self.n_rows
        keys = _row_keys((self + other).whole, absent)
        places: dict[Any, list[int]] = defaultdict(list)
        for row in range(n):
            places[keys[row]].append(row)
        gone = [places[key].pop() if places[key] else -1 for key in keys[n:]]
        if -1 in gone:
            return None
        return self.select_rows(np.delete(np.arange(n), gone))

    def decayed(self, factor: float, least: float) -> KeptRows:
        """Return the rows with their weights multiplied by a factor; rows that weigh less than `least` leave."""
        parts = tuple(
            replace(
                part, weight=factor * _ones_or(part.weight, part), decay=factor * _ones_or(part.decay, part)
            )
            for part in self.parts
        )
        kept = replace(self, parts=parts)
        light = np.concatenate([_ones_or(part.weight, part) for part in parts]) < least
        return kept.select_rows(np.flatnonzero(~light)) if light.any() else kept

    def select_rows(self, rows: Positions) -> KeptRows:
        """Return some of the rows, given by their positions."""
        whole = self.whole
        cells = (
            tuple(take_rows(column, rows) for column in whole.cells)
            if isinstance(whole.cells, tuple)
            else whole.cells[rows]
        )
        weight, decay = (None if a is None else a[rows] for a in (whole.weight, whole.decay))
        return replace(self, parts=(RowsOfBatch.of(cells, whole.classes, whole.codes[rows], weight, decay),))


def _copy_rows(column: Column, rows: Positions) -> Column:
    """Return a copy of some rows of a column that knows its type, but holds no object of its library."""
    copied = take_rows(column, rows)
    if column.source is not None:
        copied.__dict__["source"] = type_of(column.source)
    return copied


def _ones_or(weight: Floats | None, part: RowsOfBatch) -> Floats:
    return np.ones(part.n_rows) if weight is None else weight


def _as_sparse(part: RowsOfBatch) -> Any:
    """Return the cells as a sparse matrix of floats."""
    if isinstance(part.cells, tuple):
        return sparse.csr_array(np.stack([column.numbers() for column in part.cells], axis=1))
    return sparse.csr_array(part.cells)


def _row_keys(part: RowsOfBatch, absent: frozenset[int]) -> list[Any]:
    """Return a key for every row: equal keys mean equal cells, labels and weights."""
    weight: Any = _ones_or(part.weight, part)
    if (
        part.decay is not None
    ):  # decayed weights are rounded: logarithms with single precision agree nevertheless
        weight = np.log(np.stack([weight, part.decay], axis=1)).astype(np.float32).view(np.int64)[:, 0]
    own = list(zip(part.codes.tolist(), weight.tolist(), strict=True))
    if is_sparse(part.cells):
        matrix = part.cells.copy()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        ends = matrix.indptr.tolist()
        pieces = [slice(a, b) for a, b in pairwise(ends)]
        data = matrix.data.astype(np.float64)
        cells = [(matrix.indices[piece].tobytes(), data[piece].tobytes()) for piece in pieces]
        return list(zip(own, cells, strict=True))
    columns = [column for j, column in enumerate(part.columns) if j not in absent]
    codes = [column.levels.codes.tolist() if column.texts is None else column.texts for column in columns]
    return list(zip(own, *codes, strict=True))
