"""Scores of columns with few distinct values: computed once for each value and class, then looked up for every row."""

from __future__ import annotations

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.blocks import Batch, ColumnsBlock, DenseBlock
from sunrise.inference.leave_one_out import LeaveOneOut

#: Limits of a column with few values: distinct values, and pairs of value and class as a share of the rows.
MOST_VALUES, FEW = 256, 0.25


def write_few_values(rows: LeaveOneOut, k: int, use: Positions, out: Floats, first: int) -> bool:
    """Write the scores of block k for some rows into `out`, rows x (classes - 1) x columns, from column `first` on.

    They are differences from the first class, and those of a row depend on its cell and its class only. False if a
    column of the block has many values, if rows have weights, or if a score is not finite.
    """
    block, n_classes = rows.batch.blocks[k], len(rows.model.classes)
    if rows.weight is not None or not isinstance(block, ColumnsBlock | DenseBlock):
        return False
    x, y = block.numbers(), np.ascontiguousarray(rows.y, np.int32)
    most = int(min(MOST_VALUES, FEW * len(y) / n_classes))
    columns, entries, cells, classes = [], [], [], []
    for column in x.T:
        found = _native.few_values(np.ascontiguousarray(column), most)
        if found is None:
            return False
        values, codes = found
        pairs = np.where(codes < 0, -1, codes * n_classes + y).astype(np.int32)
        occurs = np.flatnonzero(np.bincount(pairs[pairs >= 0], minlength=len(values) * n_classes))
        columns.append(pairs)
        entries.append(occurs)
        cells.append(values[occurs // n_classes])
        classes.append((occurs % n_classes).astype(np.int32))
    scores = _scores_of_pairs(rows, k, cells, classes)
    if scores is None:
        return False
    starts, positions = np.cumsum([0, *(len(own) for own in entries)]), []
    for start, own, column in zip(starts, entries, columns, strict=False):
        place = np.zeros(column.max(initial=-1) + 1, np.int64)
        place[own] = start + np.arange(len(own))
        positions.append(place)
    n_threads = engines.threads(rows.model.n_jobs, len(use) * n_classes * len(columns))
    return _native.level_differences(columns, positions, scores, scores, y, use, out, first, n_threads)


def _scores_of_pairs(rows: LeaveOneOut, k: int, cells: list[Floats], classes: list[Codes]) -> Floats | None:
    """Return the scores of cells of every column of block k in rows of these classes, one column after the other.

    The result is pairs x classes. A small table has one pair of every column in each row, grouped by class.
    """
    n_classes = len(rows.model.classes)
    sizes = np.array([np.bincount(own, minlength=n_classes) for own in classes]).max(axis=0, initial=0)
    starts = np.cumsum(sizes) - sizes
    x = np.full((sizes.sum(), len(cells)), np.nan)
    places = []
    for j, (own, of) in enumerate(zip(cells, classes, strict=True)):
        order = np.argsort(of, kind="stable")
        counts = np.bincount(of, minlength=n_classes)
        place = np.empty(len(of), np.intp)
        place[order] = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(len(of))
        x[place, j] = own
        places.append(place)
    batch = Batch(len(x), (DenseBlock(x),) * len(rows.model.parts))
    small = rows.like(batch, np.repeat(np.arange(n_classes), sizes).astype(np.int32))
    if small is None or not len(x):
        return None
    scores = small.cells(k, slice(None))
    return np.ascontiguousarray(np.concatenate([scores[place, :, j] for j, place in enumerate(places)]))
