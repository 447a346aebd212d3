"""The search for a block of numeric columns that is scored together, beside the columns themselves.

All numeric columns form the block, unless there are too many. Its strengths (towards one matrix for all classes, and
towards independent columns) are those of a small grid whose leave-one-out scores alone predict the classes best. The
block is added if its leave-one-out scores improve those of the columns enough, by the rule for pairs of columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.blocks import DenseBlock
from sunrise.families.standard_reader import Scale, standardised
from sunrise.families.together import Together
from sunrise.inference.column_weights import ROUGH_TOLERANCE, ColumnWeights
from sunrise.inference.folds import N_FOLDS
from sunrise.inference.score_blocks import log_probabilities
from sunrise.model.interaction import CorrelatedColumns
from sunrise.model.schema import Schema
from sunrise.selection.pairs import newton_gains, ranking_rows
from sunrise.selection.search_rows import SearchRows

#: The strengths (pooled, diagonal) that are compared.
GRID = ((1.0, 1.0), (10.0, 1.0), (100.0, 1.0), (10.0, 10.0), (100.0, 100.0), (1000.0, 10.0))
#: Rows that choose the strengths. Of a table with many rows, all rows are scored only if these few show some gain.
STRENGTH_ROWS, MANY_ROWS, HOPEFUL_GAIN = 1000, 8000, 0.5
#: The gain that the block must have, in nats. It is one candidate, so less is needed than of the best of many pairs.
LEAST_GAIN = 2.0
#: Most columns of a block, and most products (rows x classes x columns^2) for its scores.
MOST_COLUMNS, MOST_PRODUCTS = 128, 4e9
#: Least share of rows without a missing cell in the block; columns with most missing cells are left out before.
LEAST_COMPLETE = 0.8
#: Rows of a column that differ from its most frequent value, at least: the scale of others depends on single rows.
FEWEST_DIFFERENT = 10


#: Numbers in a block are smaller: larger ones may be names of levels, which exports compare as text.
LARGEST = 2.0**53


class FoundBlock(NamedTuple):
    """A block of columns, its scores as differences from the first class, and which folds choose it."""

    columns: CorrelatedColumns
    #: Rows x (classes - 1) x 1.
    cells: Floats
    #: Folds + 1, the last one is of all rows.
    allowed: Mask


@dataclass
class BlockSearch:
    """A search for a block of numeric columns (`find`)."""

    schema: Schema
    rows: SearchRows

    def find(self, objective: ColumnWeights, v: Floats) -> FoundBlock | None:
        """Return the block of the numeric columns if it gains enough. `v` are the parameters without it."""
        rows, n_classes = self.rows, len(objective.has_offset)
        columns, numbers = self._columns(n_classes)
        if len(columns) < 2:
            return None
        scales = tuple(Scale.of(x, rows.weight) for x in numbers)
        x = standardised(numbers, scales)
        n_threads = engines.threads(rows.n_jobs, x.size * n_classes)
        stats = engines.current().accumulate(
            DenseBlock(x), Together.terms, Together().support, rows.y, rows.weight, n_classes, n_threads
        )
        x, y, weight = x[rows.judges], objective.y, objective.weight

        def scores(strengths: tuple[float, float], some: Any) -> Floats:
            family = Together(*strengths, scales, positions=columns).resolve(stats)
            params = family.params(stats, stats.observed_weight[:, 0])
            score_rows: Any = family.left_out(stats, params, None).score_rows
            return np.asarray(score_rows(x[some], weight, y[some], weight[some])[0])

        ranking = ranking_rows(rows.hashes, y, STRENGTH_ROWS)
        few = objective.select_rows(ranking)
        of_few = [scores(strengths, ranking) for strengths in GRID]
        at = _best_alone(few, of_few)
        if len(y) >= MANY_ROWS and _gains(few, v, of_few[at], None)[-1] < HOPEFUL_GAIN:
            return None
        best, own = GRID[at], scores(GRID[at], slice(None))
        gains = _gains(objective, v, own, rows.fold)
        allowed = gains > LEAST_GAIN
        if not allowed.any():
            return None
        names = tuple(self.schema.names[j] for j in columns)
        block = CorrelatedColumns(names, scales, *best, gain=float(gains[-1]))
        return FoundBlock(block, (own[:, 1:] - own[:, :1])[:, :, None], allowed)

    def _columns(self, n_classes: int) -> tuple[tuple[int, ...], list[Floats]]:
        """Return the positions of the columns of the block, and their cells in all rows."""
        found: list[tuple[int, Floats, int]] = []
        for part in self.schema.column_parts:
            if part.family.joint or part.family.reader.own_block:
                continue
            for j in part.columns:
                if (column := self.rows.table.read(j)).kind != "number":
                    continue
                x = np.asarray(column.numbers(), float)
                x = np.where(np.isinf(x), np.nan, x)
                if _differs(x) and np.nanmax(np.abs(x)) < LARGEST:
                    found.append((j, x, int(np.isnan(x).sum())))
        found.sort(key=lambda own: (own[2], own[0]))
        n, kept = self.rows.table.n_rows, []
        complete, products = np.ones(n, bool), n_classes * (n + STRENGTH_ROWS * len(GRID))
        most = int(min(MOST_COLUMNS, np.sqrt(MOST_PRODUCTS / max(1, products))))
        if len(found) > most:  # some of the columns alone may mislead, and all of them cost too much
            return (), []
        for j, x, _ in found:
            rest = complete & ~np.isnan(x)
            if rest.sum() < LEAST_COMPLETE * n:
                break
            complete = rest
            kept.append((j, x))
        kept.sort(key=lambda own: own[0])
        return tuple(j for j, _ in kept), [x for _, x in kept]


def _gains(objective: ColumnWeights, v: Floats, scores: Floats, fold: Codes | None) -> Floats:
    """Return the gain of a Newton step of the weight of the block, without each fold and on all rows, in nats."""
    p = np.exp(log_probabilities(objective.prior + objective.scores(v)))
    mean = (p * scores).sum(axis=1)
    slope = objective.weight * (scores[np.arange(len(mean)), objective.y] - mean)
    curvature = objective.weight * ((p * scores * scores).sum(axis=1) - mean * mean)
    folds = np.zeros(len(mean), np.intp) if fold is None else fold
    first, second = (np.bincount(folds, own, N_FOLDS)[None].astype(float) for own in (slope, curvature))
    gains = newton_gains(first, second)[0]
    if fold is None:
        gains[:-1] = 0.0
    return np.asarray(gains)


def _differs(x: Floats) -> bool:
    """True if enough cells differ from the most frequent value of the column."""
    present = x[~np.isnan(x)]
    if len(present) <= FEWEST_DIFFERENT:
        return False
    _, counts = np.unique(present, return_counts=True)
    return bool(len(present) - counts.max() >= FEWEST_DIFFERENT)


def _best_alone(objective: ColumnWeights, candidates: list[Floats]) -> int:
    """Return the position of the candidate with the least log loss.

    A candidate has the scores of a block for every row and class. They are judged without any other column, after a fit
    of their weight and of an offset for every class. Each fit begins with the parameters and the Hessian of the one
    before, because the scores of neighbouring strengths are similar.
    """
    v, losses = np.zeros(1 + len(objective.has_offset)), []
    alone = replace(objective, _last_curvature=[], n_interactions=1, allowed=None)
    for scores in candidates:
        cells = np.ascontiguousarray((scores[:, 1:] - scores[:, :1])[:, :, None])
        alone = replace(alone, cells=(cells,))
        v = alone.solve(alone.grid[0], v, ROUGH_TOLERANCE)
        losses.append(float(alone.row_losses([v])[0] @ alone.weight))
    return int(np.argmin(losses))
