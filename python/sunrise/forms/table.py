"""Table forms: a cell adds the entry of its level."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.forms.base import Readable, weighed


@dataclass(frozen=True, eq=False)
class Table(Readable):
    """A cell adds what its level says.

    A column with k levels seen has k + 2 entries in `values` (entries x classes): its levels in order, then
    any other code below its size (possible, never seen), then any code beyond (unseen).
    """

    offsets: Integers
    codes: Integers
    sizes: Integers
    values: Floats
    refuse_unseen: bool = False
    #: What the levels are called.
    names: list[str] = field(default_factory=list)

    kind: ClassVar[str] = "table"
    compositional = False
    impossible = None

    @property
    def finite(self) -> Table:
        """Looked-up infinities never multiply anything, so there is nothing to take out."""
        return self

    def places(self, x: Floats, j: Positions) -> Integers:
        """The places of cells among the levels of their columns; beyond them all where the level is none of them."""
        found = np.empty(len(x), np.int64)
        for column in np.unique(j):
            own = j == column
            levels = self.codes[self.offsets[column] : self.offsets[column + 1]]
            place = np.searchsorted(levels, x[own])
            seen = (place < len(levels)) & (np.append(levels, -1)[place] == x[own])
            found[own] = np.where(seen, place, len(levels))
        return found

    def entries(self, x: Floats) -> Integers:
        """The entry of every cell, rows x columns; -1 where the cell is missing."""
        found = np.empty(x.shape, np.int64)
        for j in range(x.shape[1]):
            levels = self.codes[self.offsets[j] : self.offsets[j + 1]]
            first, k = self.offsets[j] + 2 * j, len(levels)
            cell = np.where(np.isnan(x[:, j]), 0.0, x[:, j])
            if k and levels[-1] == k - 1:  # codes without gaps are their own places
                place = np.minimum(cell, k).astype(np.int64)
                seen = place < k
            else:
                place = np.searchsorted(levels, cell)
                seen = (place < k) & (np.append(levels, -1)[place] == cell)
            beyond = ~seen & (cell >= self.sizes[j])
            if self.refuse_unseen and beyond.any():
                row = int(np.argmax(beyond))
                raise _native.CellError("unseen", row, j, float(cell[row]))
            found[:, j] = first + np.where(seen, place, np.where(beyond, k + 1, k))
        return np.where(np.isnan(x), -1, found)

    def unseen(self, j: int, x: Floats) -> Mask:
        """Which cells of column j hold levels beyond those that are possible."""
        return np.asarray(x >= self.sizes[j]) & ~np.isin(x, self.codes[self.offsets[j] : self.offsets[j + 1]])

    def cells(self, x: Floats) -> Floats:
        """Score every cell: rows x classes x columns; a missing cell (NaN) adds 0."""
        entry = self.entries(x)
        return np.where(entry[:, None, :] < 0, 0.0, np.moveaxis(self.values[entry], 2, 1))

    def times(self, weight: Floats) -> Table:
        """The form with its columns weighed."""
        sizes = np.diff(self.offsets) + 2
        by_entry = np.repeat(np.broadcast_to(weight, sizes.shape), sizes)
        return replace(self, values=weighed(self.values, by_entry[:, None]))

    def own(self, x: Floats, y: Codes) -> Floats:
        """What cells add to the score of one class each, that of their row: rows x columns."""
        entry = self.entries(x)
        return np.where(entry < 0, 0.0, self.values[entry, y[:, None]])

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """One weight per class and entry; levels have no centre and no intercept."""
        return self.values.T, np.zeros(self.values.shape[1])

    def features(self, x: Any, centre: Floats) -> Any:
        """One-hot rows: 1 for the entry of each cell."""
        from scipy import sparse

        entry = self.entries(x if isinstance(x, np.ndarray) else x.toarray())
        n, columns = entry.shape
        return sparse.csr_array(
            (np.ones(entry.size), entry.ravel(), np.arange(0, entry.size + 1, columns)), (n, len(self.values))
        )

    def feature_names(self, columns: list[str]) -> list[str]:
        """Names of the entries."""
        return [
            f"{name}={level}"
            for j, name in enumerate(columns)
            for level in [*self.names[self.offsets[j] : self.offsets[j + 1]], "other", "unseen"]
        ]
