"""Pairs of columns as levels: the cells of two columns make one level, for example ("2", "low")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Labels, Mask
from sunrise._common.threads import threads
from sunrise.data.blocks import Block, LevelsBlock
from sunrise.data.frame import Frame
from sunrise.families.cells import without_infinite
from sunrise.families.readers import Fitting, Reader, Scoring, plain_levels
from sunrise.families.record_cells import Encoder, bin_encoder, level_encoder
from sunrise.numerics.bin_edges import Cuts


class Side(NamedTuple):
    """One of the two columns of a pair: its position, and the edges of its bins, or None for a column of levels."""

    column: int
    edges: tuple[float, ...] | None


#: The two columns of a pair.
Sides = tuple[Side, Side]


def pair_name(a: str, b: str) -> str:
    """Return the name of a pair of levels; the length of the first one tells where the second begins.

    >>> pair_name("2", "low"), split_pair("1:2low")
    ('1:2low', ('2', 'low'))
    """
    return f"{len(a)}:{a}{b}"


def split_pair(name: str) -> tuple[str, str]:
    """Undo `pair_name`."""
    length, _, both = name.partition(":")
    return both[: int(length)], both[int(length) :]


@dataclass(frozen=True)
class PairLookup:
    """Positions of the levels of a pair.

    `positions` has a row for every level of the first column and one for unseen levels, and likewise columns: the
    position of the pair, the number of pairs for a pair that never occurred, and one more for an unseen level.
    """

    first: dict[str, int]
    second: dict[str, int]
    positions: Codes
    _of_bins: list[Codes] = field(default_factory=list, repr=False)

    def of_bins(self, n: int, m: int) -> Codes:
        """Return the positions by the numbers of the bins of both columns, n x m; computed once."""
        if not self._of_bins:
            to_a, to_b = _among(_bin_names(n), self.first), _among(_bin_names(m), self.second)
            self._of_bins.append(self.positions[np.ix_(to_a, to_b)])
        return self._of_bins[0]

    @classmethod
    def of(cls, names: Sequence[str]) -> PairLookup:
        """Return the lookup of pairs with these names."""
        pairs = [split_pair(name) for name in names]
        first, second = (
            {name: k for k, name in enumerate(sorted({pair[side] for pair in pairs}))} for side in (0, 1)
        )
        positions = np.full((len(first) + 1, len(second) + 1), len(pairs), np.int32)
        positions[-1], positions[:, -1] = len(pairs) + 1, len(pairs) + 1
        for k, (a, b) in enumerate(pairs):
            positions[first[a], second[b]] = k
        return cls(first, second, positions)


class PairReader(Reader):
    """Cells are pairs of cells of two other columns: levels as they are, numbers by their bins."""

    is_numeric = False
    derived = True

    def sources(self, family: Any, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Both columns of every pair."""
        return tuple(side.column for pair in family.pairs for side in pair)

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """Codes of the pairs that occur, with their names."""
        return self._fit_pairs(SideCodes(table, fitting.n_jobs, fitting.who), family.pairs)

    def fit_blocks(self, table: Frame, family: Any, fitting: Fitting, most_codes: int) -> Iterator[Block]:
        """The same in several blocks, each of one pair or of at most `most_codes` codes."""
        sides = SideCodes(table, fitting.n_jobs, fitting.who)
        step = max(1, most_codes // max(1, table.n_rows))
        for first in range(0, len(family.pairs), step):
            yield self._fit_pairs(sides, family.pairs[first : first + step])

    @staticmethod
    def _fit_pairs(sides: SideCodes, pairs: Sequence[Sides]) -> Block:
        own = [_observed_pairs(*sides.of(a), *sides.of(b)) for a, b in pairs]
        return LevelsBlock(tuple(codes for _, codes in own), tuple(names for names, _ in own))

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """The pairs as positions among those of the fit, see `PairLookup`."""
        sides, tables = SideCodes(table, scoring.n_jobs, scoring.who), []
        for (one, two), lookup in zip(family.pairs, scoring.lookup, strict=True):
            (names, a), (others, b) = sides.of(one), sides.of(two)
            if one.edges is not None and two.edges is not None:
                positions = lookup.of_bins(len(names), len(others))
            else:
                positions = lookup.positions
                to_a, to_b = _among(names, lookup.first), _among(others, lookup.second)
                if len(to_a) * len(to_b) <= len(a):  # one look-up for every row
                    positions = positions[np.ix_(to_a, to_b)]
                else:
                    a, b = _native.map_codes(a, to_a), _native.map_codes(b, to_b)
            tables.append((a, b, np.ascontiguousarray(positions)))
        n_threads = threads(scoring.n_jobs, table.n_rows * len(tables))
        return LevelsBlock(tuple(_native.map_pairs(tables, n_threads)))

    def lookup(self, stats: Any) -> list[PairLookup]:
        """The positions of the levels of every pair."""
        return [PairLookup.of(stats.levels(j).tolist()) for j in range(stats.n_columns)]

    def record_encoder(self, family: Any, lookup: Any, lenient: Mask) -> Encoder:
        """The positions of the pairs; the values are those of the columns of `sources`."""
        sides = [
            (side, known)
            for pair, own in zip(family.pairs, lookup, strict=True)
            for side, known in zip(pair, (own.first, own.second), strict=True)
        ]
        named = [k for k, (side, _) in enumerate(sides) if side.edges is None]
        binned = [(k, side.edges, known) for k, (side, known) in enumerate(sides) if side.edges is not None]
        encode_names = level_encoder([sides[k][1] for k in named], False)
        encode_numbers = bin_encoder([edges for _, edges, _ in binned])
        #: The position of every bin among the bins that occurred.
        bins = [
            (k, [known.get(str(own), len(known)) for own in range(len(edges) + 1)])
            for k, edges, known in binned
        ]

        def encode(values: Sequence[Any]) -> Any:
            names = encode_names([values[k] for k in named])
            numbers = encode_numbers([values[k] for k, _ in bins])
            if names is None or numbers is None:
                return None
            codes = [-1] * len(values)
            for k, level in zip(named, names[0].tolist(), strict=True):
                codes[k] = -1 if level != level else int(level)
            for (k, position), own in zip(bins, numbers[0].tolist(), strict=True):
                codes[k] = -1 if own != own else position[int(own)]
            cells = [
                np.nan if a < 0 or b < 0 else own.positions[a, b]
                for a, b, own in zip(codes[::2], codes[1::2], lookup, strict=True)
            ]
            return np.array([cells], np.float64)

        return encode


PAIRS = PairReader()


class SideCodes:
    """The levels or bins of single columns of a table, each read once."""

    def __init__(self, table: Frame, n_jobs: int | None, who: str) -> None:
        self._table, self._n_jobs, self._who = table, n_jobs, who
        self._known: dict[Side, tuple[Labels, Codes]] = {}

    def of(self, side: Side) -> tuple[Labels, Codes]:
        """The names of the levels of a column, and the position of the level of every row; -1 is missing."""
        if side not in self._known:
            column = self._table.read(side.column)
            if side.edges is None:
                names, codes = plain_levels(column, self._n_jobs, self._who)
            else:
                codes = Cuts(side.edges).bins(without_infinite(column.numbers()))
                names = _bin_names(len(side.edges) + 1)
            self._known[side] = names, codes
        return self._known[side]


@lru_cache(maxsize=64)
def _bin_names(n: int) -> Labels:
    """Return the names of the levels of n bins."""
    return np.array([str(k) for k in range(n)], dtype=object)


def _among(names: Labels, known: dict[str, int]) -> Codes:
    """Return the positions of levels among known ones; their number for an unseen level."""
    return np.array([known.get(name, len(known)) for name in names], np.int32)


def _observed_pairs(first: Labels, a: Codes, second: Labels, b: Codes) -> tuple[Labels, Codes]:
    """Return the names of the pairs that occur, and the position of the pair of every row; -1 if a cell is missing."""
    n = len(second)
    both = np.where((a < 0) | (b < 0), -1, a.astype(np.int64) * n + b)
    occurs = np.zeros(len(first) * n + 1, bool)
    occurs[both] = True
    occurs[-1] = False
    at = np.flatnonzero(occurs)
    rank = np.full(len(occurs), -1, np.int32)
    rank[at] = np.arange(len(at))
    names = np.empty(len(at), dtype=object)
    names[:] = [pair_name(first[k // n], second[k % n]) for k in at.tolist()]
    return names, rank[both]
