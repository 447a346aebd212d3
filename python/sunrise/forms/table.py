"""Table forms: the score of a cell is the table entry of its level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Integers, Mask, Positions
from sunrise.forms.base import Readable, apply_weight


@dataclass(frozen=True, eq=False)
class Table(Readable):
    """The score of a cell is the entry of its level.

    A column with k observed levels has k + 2 entries in `values` (entries x classes): the observed levels in order of
    their codes, then one entry for all other codes below `sizes` (possible but not observed), then one entry for codes
    from `sizes` on (unseen).
    """

    offsets: Integers
    codes: Integers
    sizes: Integers
    values: Floats
    refuse_unseen: bool = False
    #: Returns the names of the levels, which are only needed for display.
    names: Callable[[], list[str]] = list

    kind: ClassVar[str] = "table"
    impossible = None

    @property
    def finite(self) -> Table:
        """The form itself: entries of -inf are looked up, never multiplied, so they need no special treatment."""
        return self

    def level_positions(self, x: Floats, j: Positions) -> Integers:
        """Return the positions of cells among the levels of their columns j; the number of levels for other levels."""
        positions = np.empty(len(x), np.int64)
        for column in np.unique(j):
            in_column = j == column
            levels = self.codes[self.offsets[column] : self.offsets[column + 1]]
            position = np.searchsorted(levels, x[in_column])
            observed = (position < len(levels)) & (np.append(levels, -1)[position] == x[in_column])
            positions[in_column] = np.where(observed, position, len(levels))
        return positions

    def entries(self, x: Floats) -> Integers:
        """Return the entry of every cell, rows x columns; -1 if the cell is missing."""
        entries = np.empty(x.shape, np.int64)
        for j in range(x.shape[1]):
            entries[:, j] = self.entries_of(j, np.where(np.isnan(x[:, j]), 0.0, x[:, j]))
        return np.where(np.isnan(x), -1, entries)

    def entries_of(self, j: int, cell: Any) -> Integers:
        """Return the entries of cells of column j, without missing ones."""
        levels = self.codes[self.offsets[j] : self.offsets[j + 1]]
        first, k = self.offsets[j] + 2 * j, len(levels)
        if k and levels[-1] == k - 1:  # codes without gaps are positions
            position = np.minimum(cell, k).astype(np.int64)
            observed = position < k
        else:
            position = np.searchsorted(levels, cell)
            observed = (position < k) & (np.append(levels, -1)[position] == cell)
        beyond = ~observed & (cell >= self.sizes[j])
        if self.refuse_unseen and beyond.any():
            row = int(np.argmax(beyond))
            raise _native.CellError("unseen", row, j, float(cell[row]))
        return np.asarray(first + np.where(observed, position, np.where(beyond, k + 1, k)))

    def unseen(self, j: int, x: Floats) -> Mask:
        """Return the mask of cells of column j whose level is not among the possible levels."""
        return np.asarray(x >= self.sizes[j]) & ~np.isin(x, self.codes[self.offsets[j] : self.offsets[j + 1]])

    def cells(self, x: Floats) -> Floats:
        """Return the score of every cell, rows x classes x columns; a missing cell (NaN) adds 0."""
        entry = self.entries(x)
        return np.where(entry[:, None, :] < 0, 0.0, np.moveaxis(self.values[entry], 2, 1))

    def times(self, weight: Floats) -> Table:
        """Return the form with column scores multiplied by weights."""
        sizes = np.diff(self.offsets) + 2
        by_entry = np.repeat(np.broadcast_to(weight, sizes.shape), sizes)
        return replace(self, values=apply_weight(self.values, by_entry[:, None]))

    def own_class_cells(self, x: Floats, y: Codes) -> Floats:
        """Return the score of every cell for the class y of its row, rows x columns."""
        entry = self.entries(x)
        return np.where(entry < 0, 0.0, self.values[entry, y[:, None]])

    def weights(self, centre: Floats) -> tuple[Floats, Floats]:
        """Return one weight per class and entry, and intercepts of 0; the centre has no effect."""
        return self.values.T, np.zeros(self.values.shape[1])

    def features(self, x: Any, centre: Floats) -> Any:
        """Return a one-hot encoding of the entries."""
        from scipy import sparse

        entry = self.entries(x if isinstance(x, np.ndarray) else x.toarray())
        n, columns = entry.shape
        return sparse.csr_array(
            (np.ones(entry.size), entry.ravel(), np.arange(0, entry.size + 1, columns)), (n, len(self.values))
        )

    def feature_names(self, columns: list[str]) -> list[str]:
        """Return the names of the entries."""
        names = self.names()
        return [
            f"{name}={level}"
            for j, name in enumerate(columns)
            for level in [*names[self.offsets[j] : self.offsets[j + 1]], "other", "unseen"]
        ]
