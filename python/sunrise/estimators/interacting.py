"""Interactions of an estimator: pairs of columns that the data choose, or that the user gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise._common.labels import locate
from sunrise.data.blocks import Batch
from sunrise.data.findings import Findings
from sunrise.estimators.training_rows import TrainingRows
from sunrise.families.pair_reader import Side
from sunrise.families.readers import Scoring
from sunrise.inference.calibration import Paired
from sunrise.inference.column_weights import ColumnWeights
from sunrise.inference.folds import N_FOLDS
from sunrise.inference.held_out import HeldOut
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.score_blocks import block_scores
from sunrise.model.fitted import FittedModel
from sunrise.model.interaction import CorrelatedColumns, Interaction
from sunrise.model.schema import Schema
from sunrise.selection.counted_pairs import CountedPairs
from sunrise.selection.pairs import PairSearch, sides_of
from sunrise.selection.search_rows import SearchRows
from sunrise.selection.together import BlockSearch, FoundBlock
from sunrise.statistics.counts import Counts


class KeptPairs(NamedTuple):
    """Pairs of columns among which a search chooses, with known bins, and a block of numbers that stays."""

    pairs: tuple[Interaction, ...]
    block: CorrelatedColumns | None
    #: The model that has counted them; None if they are to be counted on the rows of the search.
    model: FittedModel | None = None

    @classmethod
    def of(cls, model: FittedModel) -> KeptPairs:
        """Return the pairs that a model scores or counts."""
        return cls(model.schema.all_pairs, model.schema.correlated, model)

    def search(self, schema: Schema, rows: SearchRows) -> PairSearch:
        """Return the search among the pairs of columns that a schema uses."""
        place = {name: j for j, name in enumerate(schema.names) if schema.choices[j].family is not None}
        sides: dict[int, Side] = {}
        among: dict[tuple[int, int], Interaction] = {}
        for own in self.pairs:
            if not place.keys() >= {*own.columns}:
                continue
            a, b = (place[name] for name in own.columns)
            known = [sides.setdefault(j, Side(j, edges)) for j, edges in zip((a, b), own.edges, strict=True)]
            if tuple(side.edges for side in known) == own.edges:
                among[a, b] = own
        # In the order of a search without known pairs, which decides between equal gains.
        rank = {j: k for k, j in enumerate(j for part in schema.column_parts for j in part.columns)}
        positions, counted = sorted(among, key=lambda pair: (rank[pair[0]], rank[pair[1]])), None
        if self.model is not None and positions:
            counted = CountedPairs(positions, self.model.counts_of([among[pair] for pair in positions]))
        return PairSearch(schema, sides, rows, positions, counted)


def with_interactions(
    model: FittedModel, interactions: tuple[Interaction | CorrelatedColumns, ...], rows: TrainingRows
) -> FittedModel:
    """Return a model with interactions, counted on its training rows."""
    schema, given = replace(model.schema, interactions=interactions), model.given_stats
    own = rows.accumulator.interactions(rows.table, replace(schema, counted=()))
    return model.with_interactions(schema, replace(given, blocks=(*given.blocks, *own.blocks)))


def with_counted_pairs(model: FittedModel, pairs: Sequence[Interaction], rows: TrainingRows) -> FittedModel:
    """Return a model that counts more pairs, without a score, on its training rows."""
    known = {*model.schema.all_pairs}
    new = tuple(pair for pair in pairs if pair not in known)
    if not new:
        return model
    own = rows.accumulator.interactions(
        rows.table, replace(model.schema, interactions=(), counted=new)
    ).counted
    given, schema = model.given_stats, replace(model.schema, counted=(*model.schema.counted, *new))
    counts = own if given.counted is None or own is None else Counts.concatenate([given.counted, own])
    return model.with_counted(schema, replace(given, counted=counts))


@dataclass
class PairFinder:
    """The search for interactions of a model, which calibration calls once it knows the column weights.

    The interactions are counted on `rows`. `left_out` and `hashes` are of the rows at the positions `some` (None: all
    of them), which judge the interactions. `held` are the rows of a fold, which get the interactions, too. With
    `with_block` numeric columns may be scored together. `kept` are interactions to choose among; None: all pairs.
    """

    rows: TrainingRows
    left_out: LeaveOneOut
    hashes: Any
    some: Positions | None
    with_block: bool
    kept: KeptPairs | None
    held: tuple[TrainingRows, HeldOut] | None = None
    #: The pairs that the search has considered; None before it.
    candidates: tuple[Interaction, ...] | None = None

    def __call__(
        self, objective: ColumnWeights, v: Floats, use: Positions, fold: Codes | None
    ) -> Paired | None:
        """Find interactions, see `FindPairs`."""
        rows = self._search_rows(use, fold)
        block = self._block(objective, v, use, rows)
        if block is not None:
            v = np.insert(v, objective.n_weights, 0.0)
            objective = objective.with_interactions([block.cells], block.allowed[:, None])
            v = objective.solve_nearly(v)
        search = self._pair_search(rows)
        found = search.find(objective, v)
        self.candidates = search.candidate_interactions
        if found is None and block is None and self.kept is None:
            return None
        interactions: tuple[Any, ...] = () if found is None else found.interactions
        allowed = np.zeros((N_FOLDS + 1, 0), bool) if found is None else found.allowed
        start, cells = (v, ()) if found is None else (found.start, found.cells)
        if block is not None:  # it was found before the pairs, and comes after them
            interactions, cells = (*interactions, block.columns), (*cells, block.cells)
            allowed = np.append(allowed, block.allowed[:, None], axis=1)
            first = objective.n_weights - 1
            start = np.insert(np.delete(start, first), first + allowed.shape[1] - 1, start[first])
        paired = self._scored(interactions)
        others = None
        if self.held is not None:
            others = _with_pairs(self.held[1], paired, self.held[0])
            everywhere = np.arange(others.batch.n_rows)
            others = replace(others, folds=((paired, everywhere),))
        return Paired(paired, cells, others, None if fold is None else allowed, start)

    def _search_rows(self, use: Positions, fold: Codes | None) -> SearchRows:
        model, accumulator = self.left_out.model, self.rows.accumulator
        y = _positions_of_classes(model, accumulator.classes)[accumulator.codes]
        weight = np.ones(len(y)) if accumulator.weight is None else accumulator.weight
        weight = np.ascontiguousarray(weight if model.factors is None else weight * model.factors[y], float)
        judges = use if self.some is None else self.some[use]
        return SearchRows(
            self.rows.table, y, weight, judges.astype(np.int64), self.hashes[use], fold, model.n_jobs
        )

    def _block(
        self, objective: ColumnWeights, v: Floats, use: Positions, rows: SearchRows
    ) -> FoundBlock | None:
        """Return the block of numbers: the one that the model has, or the one that a search finds."""
        if self.kept is None:
            return (
                BlockSearch(self.left_out.model.schema, rows).find(objective, v) if self.with_block else None
            )
        if self.kept.block is None:
            return None
        model = self._scored((self.kept.block,))
        judges = self.rows if self.some is None else self.rows.select_rows(self.some)
        encoded = _with_pairs(self.left_out, model, judges)
        cells = block_scores(encoded, len(model.parts) - 1, use)[:, :, None]
        return FoundBlock(self.kept.block, cells, np.ones(N_FOLDS + 1, bool))

    def _pair_search(self, rows: SearchRows) -> PairSearch:
        schema, accumulator = self.left_out.model.schema, self.rows.accumulator
        if self.kept is not None:
            return self.kept.search(schema, rows)
        sides = sides_of(schema, self.rows.table, accumulator.codes, accumulator.weight)
        return PairSearch(schema, sides, rows)

    def _scored(self, interactions: tuple[Any, ...]) -> FittedModel:
        """Return the model with interactions; pairs that a model has counted stay counted."""
        if self.kept is None or self.kept.model is None:
            return with_interactions(self.left_out.model, interactions, self.rows)
        scored = {*interactions}
        return self.kept.model.rescored(
            interactions, [pair for pair in self.kept.pairs if pair not in scored]
        )


def _positions_of_classes(model: FittedModel, classes: Labels) -> Codes:
    """Return the positions of classes among those of a model; 0 for classes whose rows have no weight."""
    return np.maximum(locate(model.classes, classes), 0).astype(np.int32)


def _with_pairs(encoded: Any, model: FittedModel, rows: TrainingRows) -> Any:
    """Return encoded rows of a model with the blocks of its interactions."""
    first, blocks = len(model.schema.column_parts), []
    for part, lookup in zip(model.parts[first:], model.lookups[first:], strict=True):
        lenient = np.zeros(len(part.columns), bool)
        scoring = Scoring(part.columns, lookup, lenient, model.n_jobs, model.settings.who, Findings())
        blocks.append(part.family.reader.score_block(rows.table, part.family, scoring))
    batch = Batch(encoded.batch.n_rows, (*encoded.batch.blocks, *blocks), encoded.batch.findings)
    return replace(encoded, model=model, batch=batch, _joint_cache={}, _row_cache={}, _fitted_cache={})
