"""Interactions of an estimator: pairs of columns that the data choose, or that the user gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.blocks import Batch
from sunrise.data.findings import Findings
from sunrise.estimators.training_rows import TrainingRows
from sunrise.families.readers import Scoring
from sunrise.inference.calibration import FindPairs, Paired
from sunrise.inference.column_weights import ColumnWeights
from sunrise.inference.held_out import HeldOut
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.model.fitted import FittedModel
from sunrise.model.interaction import Interaction
from sunrise.selection.pairs import PairSearch, sides_of


def with_interactions(
    model: FittedModel, interactions: tuple[Interaction, ...], rows: TrainingRows
) -> FittedModel:
    """Return a model with interactions, counted on its training rows."""
    schema = replace(model.schema, interactions=interactions)
    return model.with_interactions(schema, rows.accumulator.interactions(rows.table, schema))


def pair_finder(
    rows: TrainingRows,
    left_out: LeaveOneOut,
    hashes: Any,
    all_rows: TrainingRows,
    held: tuple[TrainingRows, HeldOut] | None = None,
) -> FindPairs:
    """Return the search for interactions of a model, which calibration calls once it knows the column weights.

    The search looks at `rows`, which may be a sample; the interactions are counted on `all_rows`. `held` are the rows
    of a fold, which get the interactions, too.
    """

    def find(objective: ColumnWeights, v: Floats, use: Positions, fold: Codes | None) -> Paired | None:
        model, accumulator = left_out.model, rows.accumulator
        sides = sides_of(model.schema, rows.table, accumulator.codes, accumulator.weight)
        search = PairSearch(model.schema, rows.table, sides, use, hashes, fold, model.n_jobs)
        found = search.find(objective, v)
        if found is None:
            return None
        paired = with_interactions(model, found.interactions, all_rows)
        own = _with_pairs(left_out, paired, rows)
        others = None
        if held is not None:
            others = _with_pairs(held[1], paired, held[0])
            everywhere = np.arange(others.batch.n_rows)
            others = replace(others, folds=((paired, everywhere),))
        return Paired(own, others, None if fold is None else found.allowed)

    return find


def _with_pairs(encoded: Any, model: FittedModel, rows: TrainingRows) -> Any:
    """Return encoded rows of a model with the block of its interactions."""
    part = model.parts[-1]
    lenient = np.zeros(len(part.columns), bool)
    scoring = Scoring(part.columns, model.lookups[-1], lenient, model.n_jobs, model.settings.who, Findings())
    block = part.family.reader.score_block(rows.table, part.family, scoring)
    batch = Batch(encoded.batch.n_rows, (*encoded.batch.blocks, block), encoded.batch.findings)
    return replace(encoded, model=model, batch=batch, _joint_cache={}, _row_cache={}, _fitted_cache={})
