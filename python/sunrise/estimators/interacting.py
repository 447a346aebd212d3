"""Interactions of an estimator: pairs of columns that the data choose, or that the user gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise._common.labels import locate
from sunrise.data.blocks import Batch
from sunrise.data.findings import Findings
from sunrise.estimators.training_rows import TrainingRows
from sunrise.families.readers import Scoring
from sunrise.inference.calibration import FindPairs, Paired
from sunrise.inference.column_weights import ColumnWeights
from sunrise.inference.folds import N_FOLDS
from sunrise.inference.held_out import HeldOut
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.fitted import FittedModel
from sunrise.model.interaction import CorrelatedColumns, Interaction
from sunrise.selection.pairs import PairSearch, sides_of
from sunrise.selection.search_rows import SearchRows
from sunrise.selection.together import BlockSearch


def with_interactions(
    model: FittedModel, interactions: tuple[Interaction | CorrelatedColumns, ...], rows: TrainingRows
) -> FittedModel:
    """Return a model with interactions, counted on its training rows."""
    schema = replace(model.schema, interactions=interactions)
    return model.with_interactions(schema, rows.accumulator.interactions(rows.table, schema))


def pair_finder(
    rows: TrainingRows,
    left_out: LeaveOneOut,
    hashes: Any,
    some: Positions | None,
    with_block: bool,
    held: tuple[TrainingRows, HeldOut] | None = None,
) -> FindPairs:
    """Return the search for interactions of a model, which calibration calls once it knows the column weights.

    The interactions are counted on `rows`. `left_out` and `hashes` are of the rows at the positions `some` (None: all
    of them), which judge the interactions. `held` are the rows of a fold, which get the interactions, too. With
    `with_block` numeric columns may be scored together.
    """

    def find(objective: ColumnWeights, v: Floats, use: Positions, fold: Codes | None) -> Paired | None:
        model, accumulator = left_out.model, rows.accumulator
        y = _positions_of_classes(model, accumulator.classes)[accumulator.codes]
        weight = np.ones(len(y)) if accumulator.weight is None else accumulator.weight
        weight = np.ascontiguousarray(weight if model.factors is None else weight * model.factors[y], float)
        judges = use if some is None else some[use]
        search = SearchRows(rows.table, y, weight, judges.astype(np.int64), hashes[use], fold, model.n_jobs)
        block = BlockSearch(model.schema, search).find(objective, v) if with_block else None
        if block is not None:
            v = np.insert(v, objective.n_weights, 0.0)
            objective = objective.with_interactions([block.cells], block.allowed[:, None])
            v = objective.solve_nearly(v)
        sides = sides_of(model.schema, rows.table, accumulator.codes, accumulator.weight)
        found = PairSearch(model.schema, sides, search).find(objective, v)
        if found is None and block is None:
            return None
        interactions: tuple[Any, ...] = () if found is None else found.interactions
        allowed = np.zeros((N_FOLDS + 1, 0), bool) if found is None else found.allowed
        start, cells = (v, ()) if found is None else (found.start, found.cells)
        if block is not None:  # it was found before the pairs, and comes after them
            interactions, cells = (*interactions, block.columns), (*cells, block.cells)
            allowed = np.append(allowed, block.allowed[:, None], axis=1)
            first = objective.n_weights - 1
            start = np.insert(np.delete(start, first), first + allowed.shape[1] - 1, start[first])
        paired = with_interactions(model, interactions, rows)
        others = None
        if held is not None:
            others = _with_pairs(held[1], paired, held[0])
            everywhere = np.arange(others.batch.n_rows)
            others = replace(others, folds=((paired, everywhere),))
        return Paired(paired, cells, others, None if fold is None else allowed, start)

    return find


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
