"""Leave-one-out scores of the columns of a model, row by row: of the class given the cell, and of the cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Floats
from sunrise.engines import array
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.selection.density import lattice_terms
from sunrise.selection.distinct import Cells, DistinctValues


class RowScores(NamedTuple):
    """Scores of cells without their rows, in nats: rows x columns, and the weights of the cells."""

    #: Log-probability of the class, given the cell.
    of_class: Floats
    #: Log density of the cell, given the class, on a measure that all families share; 0 for a missing cell.
    of_cell: Floats
    #: Log-probability of the class by the class prior, one number per row.
    of_prior: Floats
    #: Weights; 0 for the only row of a class.
    weight: Floats


def row_scores(loo: LeaveOneOut, cells: Cells, columns: Sequence[DistinctValues]) -> RowScores:
    """Return the scores of cells under each single column of a model, whose batch has the same cells."""
    model, n_rows, n_classes = loo.model, loo.batch.n_rows, len(loo.model.classes)
    row_weight = np.where(
        loo.is_only_row_of_class, 0.0, np.ones(n_rows) if loo.weight is None else loo.weight
    )
    log_prior = loo.log_class_prior(slice(None))
    # The scores of a column lie side by side, because the columns are compared one by one.
    of_class, of_cell = np.zeros(cells.x.shape, order="F"), np.zeros(cells.x.shape, order="F")
    for k, part in enumerate(model.parts):
        own = list(part.columns)
        step = max(1, array.PIECE // max(1, len(own) * n_classes))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            y, prior = loo.y[rows].astype(np.intp), log_prior[rows]
            scores = loo.cells(k, rows)
            at = np.arange(len(y))
            of_cell[rows, own] = scores[at, y]
            joint = np.ascontiguousarray(np.moveaxis(scores + prior[:, :, None], 1, 2))
            if np.isneginf(joint.min(initial=0.0)):
                impossible = np.asarray(np.isneginf(joint).all(axis=2))
                joint = np.where(impossible[:, :, None], prior[:, None, :], joint)
            log_p, _ = engines.current().log_normalise(joint.reshape(-1, n_classes), prior[0], "log_proba")
            of_class[rows, own] = log_p.reshape(joint.shape)[at, :, y]
        family, x = part.family, cells.x[:, own]
        gaps, frequent = (np.array([columns[j].gap for j in own]), [columns[j].frequent for j in own])
        measure = family.log_base_measure(x)
        measure = measure + lattice_terms(family, model.plain_forms[k], x, loo.y, gaps, frequent)
        of_cell[:, own] += np.where(np.isnan(x), 0.0, measure)
    times = 1.0 if cells.times is None else cells.times
    weight = np.broadcast_to(row_weight[:, None] * times, of_class.shape)
    unused = weight == 0
    of_class[unused] = of_cell[unused] = 0.0
    of_prior = np.where(row_weight > 0, log_prior[np.arange(n_rows), loo.y], 0.0)
    return RowScores(of_class, of_cell, of_prior, weight)
