"""The search for interactions: pairs of columns that improve the leave-one-out scores beyond each column alone.

In every round, all pairs are ranked on some of the rows by the gain of one Newton step of their weight. The gain of the
best ones is then computed on all rows, and pairs that gain enough are added. Each fold makes the same choice by the
rows outside the fold, so that the score by folds is that of the whole procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Mask, Positions
from sunrise.data.frame import Frame
from sunrise.families.joint import PairCounts
from sunrise.families.pair_reader import Side, SideCodes
from sunrise.inference.column_weights import PULL, ROUGH_TOLERANCE, ColumnWeights
from sunrise.inference.folds import N_FOLDS
from sunrise.inference.score_blocks import log_probabilities
from sunrise.model.interaction import Interaction
from sunrise.model.schema import Schema
from sunrise.numerics.bin_edges import find_cuts

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
    """Interactions, and which of them the rows outside each fold, and all rows, choose: folds + 1 x interactions."""

    interactions: tuple[Interaction, ...]
    allowed: Mask


def _gains(first: Floats, second: Floats) -> Floats:
    """Return the gain of a Newton step on the rows outside each fold, and on all rows, in nats: pairs x (folds + 1).

    `first` and `second` are the derivatives of the log-likelihood by the weights, pairs x folds.
    """
    g, h = (
        np.append(own.sum(axis=1, keepdims=True) - own, own.sum(axis=1)[:, None], 1)
        for own in (first, second)
    )
    return np.asarray(np.where(g > 0, g * g / (2.0 * (np.maximum(h, 0.0) + 2.0 * PULL)), 0.0))


@dataclass
class PairSearch:
    """A search on the rows of an objective, in their order; `use` are their positions in the table."""

    schema: Schema
    table: Frame
    sides: dict[int, Side]
    use: Positions
    hashes: Any
    #: Fold of every row; None if the score by folds is not needed.
    fold: Codes | None
    n_jobs: int | None = None

    def find(self, objective: ColumnWeights, v: Floats) -> FoundPairs | None:
        """Return the pairs that gain enough; None if there are none. `v` are the parameters without interactions."""
        self._prepare(objective)
        candidates = self._candidates(objective, v)
        chosen: list[tuple[int, int]] = []
        gains: list[float] = []
        allowed = np.zeros((N_FOLDS + 1, 0), bool)
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
            cells = np.stack([self._differences(pair) for pair, _, _ in new], axis=2)
            start = np.insert(v, [objective.n_weights] * len(new), 0.0)
            objective = objective.with_interactions(cells, allowed)
            if len(chosen) >= MOST_PAIRS or round_ == ROUNDS - 1:
                break
            v = objective.solve(objective.grid[0], start, ROUGH_TOLERANCE)
        if not chosen:
            return None
        names, sides = self.schema.names, self.sides
        found = [
            Interaction((names[a], names[b]), (sides[a].edges, sides[b].edges), gain)
            for (a, b), gain in zip(chosen, gains, strict=True)
        ]
        return FoundPairs(tuple(found), allowed)

    def _prepare(self, objective: ColumnWeights) -> None:
        """Read the levels and bins of the columns, and draw the rows that rank the pairs, by their content."""
        reader = SideCodes(self.table, self.n_jobs, "NaiveBayes")
        read = {j: reader.of(side) for j, side in self.sides.items()}
        self._codes = {j: np.ascontiguousarray(codes[self.use], np.int32) for j, (_, codes) in read.items()}
        self._columns = list(self.sides)
        self._place = {j: k for k, j in enumerate(self._columns)}
        self._sizes = {j: len(names) for j, (names, _) in read.items()}
        self._y, self._weight = objective.y, np.ascontiguousarray(objective.weight, np.float64)
        self._n_classes = len(objective.has_offset)
        order = np.lexsort((self._y, self.hashes[self.use]))
        self._ranking = np.sort(order[:RANKING_ROWS]).astype(np.int64)
        self._fold = np.zeros(len(self._y), np.int32) if self.fold is None else self.fold

    def _candidates(self, objective: ColumnWeights, v: Floats) -> list[tuple[int, int]]:
        """Return the pairs to search: of wide tables, those of the columns whose weighted scores vary most."""
        columns = [j for j in self.sides if self._sizes[j] >= 2]
        if len(columns) > MOST_COLUMNS:
            order = [j for part in self.schema.column_parts for j in part.columns if not part.family.joint]
            varies = objective.cells.std(axis=0).sum(axis=0) * v[: objective.n_weights]
            by_column = dict(zip(order, varies[-len(order) :].tolist(), strict=True))
            columns = sorted(sorted(columns, key=lambda j: -by_column.get(j, 0.0))[:MOST_COLUMNS])
        sizes = self._sizes
        return [
            (a, b) for a, b in combinations(columns, 2) if sizes[a] * sizes[b] * self._n_classes <= MOST_CELLS
        ]

    def _ranked(self, pairs: Sequence[tuple[int, int]], p: Floats) -> list[tuple[int, int]]:
        """Return the pairs by their gain on the ranking rows, the best first, without those of no gain."""
        gains = self.gains(pairs, p[self._ranking], self._ranking)[:, -1]
        order = np.argsort(-gains, kind="stable").tolist()
        return [pairs[k] for k in order if gains[k] > 0]

    def _enough(
        self, pairs: Sequence[tuple[int, int]], p: Floats
    ) -> list[tuple[tuple[int, int], float, Mask]]:
        """Return the pairs that gain enough on all rows, or on the rows outside a fold: pair, gain, who chooses it."""
        gains = self.gains(pairs, p, np.arange(len(self._y)))
        if self.fold is None:
            gains[:, :-1] = 0.0
        # Every fold adds its best pairs, as all rows do.
        rank = np.argsort(np.argsort(-gains, axis=0, kind="stable"), axis=0)
        chosen = (gains > LEAST_GAIN) & (rank < MOST_ADDED)
        return [
            (pair, float(own[-1]), mask)
            for pair, own, mask in zip(pairs, gains, chosen, strict=True)
            if mask.any()
        ]

    def gains(self, pairs: Sequence[tuple[int, int]], p: Floats, rows: Positions) -> Floats:
        """Return the gains of pairs on some rows with predictions p, by fold: see `_gains`."""
        n_threads = engines.threads(self.n_jobs, len(pairs) * (len(self._y) + len(rows) * self._n_classes))
        derivatives = _native.pair_slopes(
            [self._codes[j] for j in self._columns],
            [self._sizes[j] for j in self._columns],
            self._y,
            self._weight,
            rows,
            np.ascontiguousarray(p),
            self._fold[rows],
            [(self._place[a], self._place[b]) for a, b in pairs],
            N_FOLDS,
            self._n_classes,
            n_threads,
        )
        first, second = (own.reshape(len(pairs), N_FOLDS) for own in derivatives)
        return _gains(first, second)

    def _differences(self, pair: tuple[int, int]) -> Floats:
        """Return the lifts as differences from the first class, rows x (classes - 1)."""
        lifts = self._lifts(pair)
        return lifts[:, 1:] - lifts[:, :1]

    def _lifts(self, pair: tuple[int, int]) -> Floats:
        """Return the leave-one-out log lifts of all rows, rows x classes; 0 where a cell is missing."""
        a, b = (self._codes[j] for j in pair)
        n_a, n_b = (self._sizes[j] for j in pair)
        present, n_classes = (a >= 0) & (b >= 0), self._n_classes
        place = (a.astype(np.int64) * n_b + b)[present] * n_classes + self._y[present]
        sums: Any = np.bincount(place, self._weight[present], n_a * n_b * n_classes)
        both = sums.reshape(n_a, n_b, n_classes)
        first, second = both.sum(axis=1), both.sum(axis=0)
        own = np.zeros((len(a), n_classes))
        own[np.arange(len(a)), self._y] = self._weight
        n_first, n_second = (int((side.sum(axis=1) > 0).sum()) for side in (first, second))
        counts = PairCounts(both[a, b], first[a], second[b], both.sum(axis=(0, 1)), n_first, n_second)
        lifts: Any = counts.log_lift(own)
        lifts[~present] = 0.0
        return np.asarray(lifts)


def given_interactions(
    given: Sequence[Any], schema: Schema, table: Frame, codes: Codes, weight: Floats | None
) -> tuple[Interaction, ...]:
    """Return the interactions that the user has named: pairs of columns, or interactions of another model."""
    position: dict[Any, int] = {name: j for j, name in enumerate(schema.names)}
    sides: dict[int, Side] | None = None
    found: dict[frozenset[Any], Interaction] = {}
    for pair in given:
        columns = tuple(pair.columns) if isinstance(pair, Interaction) else pair
        if not isinstance(columns, tuple | list) or len(columns) != 2 or columns[0] == columns[1]:
            raise ValueError(
                f'interactions has {pair!r}; each interaction is a pair of two columns, such as ("age", "income").'
            )
        for name in columns:
            if name not in position:
                raise ValueError(f"interactions names the column {name!r}, which the table does not have.")
            if schema.choices[position[name]].family is None:
                raise ValueError(
                    f"interactions names the column {name!r}, which the model leaves out "
                    f"({schema.choices[position[name]].reason}). Give it a family, or leave out the pair."
                )
        if isinstance(pair, Interaction):
            found[frozenset(columns)] = pair
            continue
        sides = sides_of(schema, table, codes, weight) if sides is None else sides
        a, b = sorted(position[name] for name in columns)
        for j in (a, b):
            if j not in sides:
                raise ValueError(
                    f"interactions names the column {schema.names[j]!r}, which is text or part of a joint block. Pairs "
                    "are made of categories and numbers."
                )
        edges = sides[a].edges, sides[b].edges
        found.setdefault(frozenset(columns), Interaction((schema.names[a], schema.names[b]), edges))
    return tuple(found.values())
