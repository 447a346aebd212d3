"""Counts of pairs of columns that a model has, for a search on some of its rows.

The search counts the rows that it gets. The rows of the model that it does not get are added as rows of their own: one
for every pair of levels and class, with the difference of the counts as its weight. Their other cells are missing, so
that they add nothing to other pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Labels
from sunrise.families.pair_reader import split_pair
from sunrise.statistics.counts import Counts

#: Differences of counts below this share of the counts are rounding errors.
ROUNDING = 1e-9
#: Most of these rows that are added at a time, unless a pair alone has more or the search has more rows.
MOST_ADDED = 1 << 16


class AddedRows(NamedTuple):
    """Rows of one pair: the levels of its two columns, classes and weights."""

    first: Codes
    second: Codes
    y: Codes
    weight: Floats


@dataclass
class CountedPairs:
    """The counts of pairs of columns in a model, by the positions of their columns; one column of `counts` for each."""

    pairs: Sequence[tuple[int, int]]
    counts: Counts
    _added: dict[tuple[int, int], AddedRows] = field(default_factory=dict)

    def place(
        self,
        names: dict[int, Labels],
        codes: dict[int, Codes],
        y: Codes,
        weight: Floats,
        n_classes: int,
        most_cells: float,
    ) -> dict[int, int]:
        """Compare the counts with those of rows; return the numbers of levels of the columns.

        `names` and `codes` are the levels of the columns in the rows. Levels that only the model has come after them.
        Pairs with more than `most_cells` cells are left out.
        """
        known = {j: {name: k for k, name in enumerate(own.tolist())} for j, own in names.items()}
        cells: dict[tuple[int, int], tuple[Codes, Codes]] = {}
        for k, (a, b) in enumerate(self.pairs):
            levels = [split_pair(name) for name in self.counts.levels(k).tolist()]
            first, second = (
                np.array([known[j].setdefault(own[side], len(known[j])) for own in levels], np.int32)
                for side, j in enumerate((a, b))
            )
            cells[a, b] = first, second
        sizes = {j: len(own) for j, own in known.items()}
        for k, (a, b) in enumerate(self.pairs):
            if sizes[a] * sizes[b] * n_classes <= most_cells:
                here = slice(self.counts.offsets[k], self.counts.offsets[k + 1])
                shape = sizes[a], sizes[b], n_classes
                own = self.counts.weight[:, here]
                self._added[a, b] = _difference(cells[a, b], own, (codes[a], codes[b]), y, weight, shape)
        return sizes

    def pieces(
        self, pairs: Sequence[tuple[int, int]], n_rows: int
    ) -> Iterator[tuple[list[tuple[int, int]], list[AddedRows]]]:
        """Return the pairs in pieces, and the rows to be added for the pairs of a piece."""
        some: list[tuple[int, int]] = []
        n_added, most = 0, max(MOST_ADDED, n_rows)
        for pair in pairs:
            n = len(self._added[pair].y)
            if some and n_added + n > most:
                yield some, [self._added[own] for own in some]
                some, n_added = [], 0
            some.append(pair)
            n_added += n
        if some:
            yield some, [self._added[own] for own in some]


def _difference(
    cells: tuple[Codes, Codes],
    counts: Floats,
    codes: tuple[Codes, Codes],
    y: Codes,
    weight: Floats,
    shape: tuple[int, int, int],
) -> AddedRows:
    """Return the rows that complete the counts of rows to those of the model; a weight may be negative.

    `cells` are the pairs of levels of the model and `counts` their counts, classes x pairs. `codes` are those of rows.
    """
    both = (codes[0] >= 0) & (codes[1] >= 0)
    at = np.ravel_multi_index((codes[0][both], codes[1][both], y[both]), shape)
    given = np.bincount(at, weight[both], int(np.prod(shape))).reshape(shape)
    wanted = np.zeros(shape)
    wanted[cells[0], cells[1]] = counts.T
    rest = wanted - given
    first, second, own = np.nonzero(np.abs(rest) > ROUNDING * (wanted + given))
    a, b, c = (codes.astype(np.int32) for codes in (first, second, own))
    return AddedRows(a, b, c, rest[first, second, own])
