"""The search for interactions: pairs of columns that improve the leave-one-out scores beyond each column alone.

In every round, all pairs are ranked on some of the rows by the gain of one Newton step of their weight. The gain of the
best ones is then computed on all rows, and pairs that gain enough are added. Each fold makes the same choice by the
rows outside the fold, so that the score by folds is that of the whole procedure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.data.frame import Frame
from sunrise.families.pair_reader import Side, SideCodes
from sunrise.inference.column_weights import PULL, ColumnWeights
from sunrise.inference.folds import N_FOLDS
from sunrise.inference.score_blocks import log_probabilities
from sunrise.model.interaction import Interaction
from sunrise.model.schema import Schema
from sunrise.numerics.bin_edges import find_cuts
from sunrise.selection.counted_pairs import CountedPairs
from sunrise.selection.search_rows import SearchRows

#: Rounds of the search, pairs that a round may add, and pairs in all.
ROUNDS, MOST_ADDED, MOST_PAIRS = 3, 16, 48
#: The gain that a pair must have on all rows, in nats.
LEAST_GAIN = 8.0
#: Rows that rank the pairs, and the number of the best pairs whose gain is computed on all rows.
RANKING_ROWS, MOST_JUDGED = 3000, 64
#: After the first round of a search among more than the first number of pairs, the second number of pairs remain.
MANY_PAIRS, KEPT_PAIRS = 600, 400
#: Most columns whose pairs are searched: of wider tables, those whose scores vary most.
MOST_COLUMNS = 128
#: Most cells (levels x levels x classes) of a pair.
MOST_CELLS = 2e6
#: Fewest and most bins of a column of numbers.
FEWEST_BINS, MOST_BINS = 3, 10


def search_limit(schema: Schema) -> int | None:
    """Return the number of columns whose pairs are searched; None if all columns of the schema can be searched."""
    own = (part for part in schema.column_parts if not (part.family.joint or part.family.reader.own_block))
    return MOST_COLUMNS if sum(len(part.columns) for part in own) > MOST_COLUMNS else None


def sides_of(schema: Schema, table: Frame, codes: Codes, weight: Floats | None) -> dict[int, Side]:
    """Return how every column that may be part of a pair is read: by its levels, or by bins of equal frequency.

    Columns of text and joint blocks of counts are not part of pairs.
    """
    total, sides = float(len(codes) if weight is None else weight.sum()), {}
    n_classes = max(1, len(np.unique(codes)))
    bins = int(np.clip((total / n_classes) ** (1.0 / 3.0), FEWEST_BINS, MOST_BINS))
    for part in schema.column_parts:
        reader = part.family.reader
        if part.family.joint or reader.own_block:
            continue
        for j in part.columns:
            sides[j] = Side(j, _edges(table, j, codes, weight, bins) if reader.is_numeric else None)
    return sides


def _edges(table: Frame, j: int, codes: Codes, weight: Floats | None, bins: int) -> tuple[float, ...]:
    """Return the edges of bins of equal frequency; of few distinct values, each has a bin of its own."""
    x = table.read(j).numbers()
    x = np.where(np.isfinite(x) if weight is None else np.isfinite(x) & (weight > 0), x, np.nan)
    distinct = np.unique(x[~np.isnan(x)])
    if len(distinct) <= bins:
        return tuple((0.5 * (distinct[1:] + distinct[:-1])).tolist())
    return find_cuts("frequency", x, codes, weight, bins).edges


class FoundPairs(NamedTuple):
    """Interactions, and who chooses them: `allowed` is (folds + 1) x interactions.

    Row k of `allowed` is True for the interactions that the rows outside fold k choose, the last row for those that all
    rows choose.
    """

    interactions: tuple[Interaction, ...]
    allowed: Mask
    #: Parameters with which a fit of the weights of all columns and interactions may begin.
    start: Floats
    #: Leave-one-out scores of the interactions, see `ColumnWeights.cells`.
    cells: tuple[Floats, ...]


def newton_gains(first: Floats, second: Floats) -> Floats:
    """Return the gain of a Newton step on the rows outside each fold, and on all rows, in nats: pairs x (folds + 1).

    `first` and `second` are the derivatives of the log-likelihood by the weights, pairs x folds.
    """
    g, h = (
        np.append(own.sum(axis=1, keepdims=True) - own, own.sum(axis=1)[:, None], 1)
        for own in (first, second)
    )
    return np.asarray(np.where(g > 0, g * g / (2.0 * (np.maximum(h, 0.0) + 2.0 * PULL)), 0.0))


def ranking_rows(hashes: Any, y: Codes, most: int) -> Positions:
    """Return the sorted positions of a sample of `most` rows, on which candidates are ranked; all rows if fewer.

    The rows with the smallest `hashes` of their content are drawn, so that the sample does not depend on the order of
    the rows.

    >>> ranking_rows(np.array([30, 10, 20]), np.array([0, 1, 0]), most=2).tolist()
    [1, 2]
    """
    some = np.arange(len(hashes))
    if len(some) > most:  # the rest is sorted for nothing
        some = np.flatnonzero(hashes <= np.partition(hashes, most - 1)[most - 1])
    return np.sort(some[np.lexsort((y[some], hashes[some]))[:most]]).astype(np.int64)


@dataclass
class PairSearch:
    """A search for pairs of columns (`find`)."""

    schema: Schema
    sides: dict[int, Side]
    rows: SearchRows
    #: The pairs among which to choose, by the positions of their columns; None: all pairs.
    among: Sequence[tuple[int, int]] | None = None
    #: Their counts in the model, if the model has more rows than the search.
    counted: CountedPairs | None = None
    #: The pairs that the last search has considered.
    candidates: list[tuple[int, int]] = field(default_factory=list, init=False)

    def find(self, objective: ColumnWeights, v: Floats) -> FoundPairs | None:
        """Return the pairs that gain enough; None if there are none. `v` are the parameters without pairs."""
        self._prepare(objective)
        self.candidates = candidates = self._candidates(objective, v)
        chosen: list[tuple[int, int]] = []
        gains: list[float] = []
        cells: list[Floats] = []
        allowed = np.zeros((N_FOLDS + 1, 0), bool)
        before = objective.allowed if objective.allowed is not None else allowed
        for round_ in range(ROUNDS):
            p = np.exp(log_probabilities(objective.prior + objective.scores(v)))
            ranked = self._ranked([pair for pair in candidates if pair not in set(chosen)], p)
            if round_ == 0 and len(candidates) > MANY_PAIRS:
                candidates = ranked[:KEPT_PAIRS]
            new = self._enough(ranked[:MOST_JUDGED], p)
            if not new:
                break
            chosen += [pair for pair, _, _ in new]
            gains += [gain for _, gain, _ in new]
            allowed = np.concatenate([allowed, np.stack([mask for _, _, mask in new], axis=1)], axis=1)
            v = np.insert(v, [objective.n_weights] * len(new), 0.0)
            cells.append(self._lifts([pair for pair, _, _ in new]))
            objective = objective.with_interactions(cells[-1:], np.concatenate([before, allowed], axis=1))
            if len(chosen) >= MOST_PAIRS or round_ == ROUNDS - 1:
                break
            v = objective.solve_nearly(v)
        if not chosen:
            return None
        found = [
            interaction(self.schema, self.sides, pair, gain) for pair, gain in zip(chosen, gains, strict=True)
        ]
        return FoundPairs(tuple(found), allowed, v, tuple(cells))

    @property
    def candidate_interactions(self) -> tuple[Interaction, ...]:
        """The pairs that the last search has considered."""
        return tuple(interaction(self.schema, self.sides, pair) for pair in self.candidates)

    def _prepare(self, objective: ColumnWeights) -> None:
        """Read the levels and bins of the columns, and draw the rows that rank the pairs, by their content."""
        rows = self.rows
        reader = SideCodes(rows.table, rows.n_jobs, "NaiveBayes")
        read = {j: reader.of(side) for j, side in self.sides.items()}
        self._codes = {j: np.ascontiguousarray(codes, np.int32) for j, (_, codes) in read.items()}
        self._columns = list(self.sides)
        self._place = {j: k for k, j in enumerate(self._columns)}
        self._sizes = {j: len(names) for j, (names, _) in read.items()}
        self._n_classes = len(objective.has_offset)
        if self.counted is not None:
            names = {j: own for j, (own, _) in read.items()}
            of_rows = names, self._codes, rows.y, rows.weight
            self._sizes = self.counted.place(*of_rows, self._n_classes, MOST_CELLS)
        self._ranking = ranking_rows(rows.hashes, objective.y, RANKING_ROWS)
        self._fold = np.zeros(len(rows.judges), np.int32) if rows.fold is None else rows.fold

    def _candidates(self, objective: ColumnWeights, v: Floats) -> list[tuple[int, int]]:
        """Return the pairs to search: of wide tables, those of the columns whose weighted scores vary most."""
        if self.among is not None:
            return _small_pairs(self.among, self._sizes, self._n_classes)
        columns = [j for j in self.sides if self._sizes[j] >= 2]
        if len(columns) > MOST_COLUMNS:
            order = [j for part in self.schema.column_parts for j in part.columns if not part.family.joint]
            n = objective.n_weights - objective.n_interactions
            varies = objective.cells[0].std(axis=0).sum(axis=0) * v[:n]
            by_column = dict(zip(order, varies[-len(order) :].tolist(), strict=True))
            columns = sorted(sorted(columns, key=lambda j: -by_column.get(j, 0.0))[:MOST_COLUMNS])
        return _small_pairs(combinations(columns, 2), self._sizes, self._n_classes)

    def _ranked(self, pairs: Sequence[tuple[int, int]], p: Floats) -> list[tuple[int, int]]:
        """Return the pairs by their gain on the ranking rows, the best first, without those of no gain."""
        gains = self.gains(pairs, p[self._ranking], self._ranking)[:, -1]
        order = np.argsort(-gains, kind="stable").tolist()
        return [pairs[k] for k in order if gains[k] > 0]

    def _enough(
        self, pairs: Sequence[tuple[int, int]], p: Floats
    ) -> list[tuple[tuple[int, int], float, Mask]]:
        """Return the pairs that gain enough on all rows, or on the rows outside a fold: pair, gain, who chooses it."""
        gains = self.gains(pairs, p, np.arange(len(p)))
        if self.rows.fold is None:
            gains[:, :-1] = 0.0
        # Every fold adds its best pairs, as all rows do.
        rank = np.argsort(np.argsort(-gains, axis=0, kind="stable"), axis=0)
        chosen = (gains > LEAST_GAIN) & (rank < MOST_ADDED)
        return [
            (pair, float(own[-1]), mask)
            for pair, own, mask in zip(pairs, gains, chosen, strict=True)
            if mask.any()
        ]

    def gains(self, pairs: Sequence[tuple[int, int]], p: Floats, some: Positions) -> Floats:
        """Return the gains of pairs by some of the judges with predictions p, by fold: see `newton_gains`."""
        work = len(pairs) * (len(self.rows.y) + len(some) * self._n_classes)
        found = [
            _native.pair_slopes(
                *counted,
                self.rows.judges[some],
                np.ascontiguousarray(p),
                self._fold[some],
                [(self._place[a], self._place[b]) for a, b in piece],
                N_FOLDS,
                self._n_classes,
                engines.threads(self.rows.n_jobs, work),
            )
            for piece, counted in self._pieces(pairs)
        ]
        first, second = (
            np.concatenate([np.empty(0), *(own[k] for own in found)]).reshape(len(pairs), N_FOLDS)
            for k in (0, 1)
        )
        return newton_gains(first, second)

    def _lifts(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """Return the leave-one-out log lifts of pairs for the judges, minus those of the first class.

        The result is rows x (classes - 1) x pairs, 0 where a cell is missing.
        """
        n = len(self.rows.judges)
        lifts = [
            _native.pair_lifts(
                *counted,
                self.rows.judges,
                [(self._place[a], self._place[b]) for a, b in piece],
                self._n_classes,
                engines.threads(self.rows.n_jobs, len(piece) * n * self._n_classes),
            ).reshape(n, self._n_classes - 1, len(piece))
            for piece, counted in self._pieces(pairs)
        ]
        return lifts[0] if len(lifts) == 1 else np.concatenate(lifts, axis=2)

    def _pieces(
        self, pairs: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Sequence[tuple[int, int]], _Counted]]:
        """Return the pairs in pieces, and the rows to count for the pairs of a piece."""
        codes, sizes = [self._codes[j] for j in self._columns], [self._sizes[j] for j in self._columns]
        y, weight = self.rows.y, self.rows.weight
        if self.counted is None:
            yield pairs, (codes, sizes, y, weight)
            return
        for piece, added in self.counted.pieces(pairs, len(y)):
            ends = np.cumsum([len(y), *(len(own.y) for own in added)]).tolist()
            longer = [np.full(ends[-1], -1, np.int32) for _ in codes]
            for column, own in zip(longer, codes, strict=True):
                column[: len(y)] = own
            for pair, more, first, last in zip(piece, added, ends, ends[1:], strict=False):
                for j, levels in zip(pair, (more.first, more.second), strict=True):
                    longer[self._place[j]][first:last] = levels
            all_y, all_weights = (
                np.concatenate([a, *(getattr(own, name) for own in added)])
                for name, a in (("y", y), ("weight", weight))
            )
            yield piece, (longer, sizes, all_y, all_weights)


#: Codes and numbers of levels of columns, and classes and weights of rows.
_Counted = tuple[list[Codes], list[int], Codes, Floats]


def _small_pairs(
    pairs: Iterable[tuple[int, int]], sizes: dict[int, int], n_classes: int
) -> list[tuple[int, int]]:
    """Return the pairs of columns of two levels or more that do not have too many cells."""
    return [
        (a, b)
        for a, b in pairs
        if min(sizes[a], sizes[b]) >= 2 and sizes[a] * sizes[b] * n_classes <= MOST_CELLS
    ]


def interaction(
    schema: Schema, sides: dict[int, Side], pair: tuple[int, int], gain: float | None = None
) -> Interaction:
    """Return the interaction of two columns, given by their positions."""
    a, b = pair
    return Interaction((schema.names[a], schema.names[b]), (sides[a].edges, sides[b].edges), gain)


def all_pairs(
    schema: Schema, table: Frame, codes: Codes, weight: Floats | None, n_jobs: int | None
) -> tuple[Interaction, ...]:
    """Return the pairs that a search considers; of a wide table, of its first columns: nothing ranks them."""
    sides = sides_of(schema, table, codes, weight)
    reader = SideCodes(table, n_jobs, "NaiveBayes")
    sizes = {j: len(reader.of(side)[0]) for j, side in sides.items()}
    columns = [j for j, size in sizes.items() if size >= 2][:MOST_COLUMNS]
    pairs = _small_pairs(combinations(columns, 2), sizes, max(1, len(np.unique(codes))))
    return tuple(interaction(schema, sides, pair) for pair in pairs)
