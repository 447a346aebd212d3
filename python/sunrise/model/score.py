"""Scores of rows by a fitted model: every block of columns by an engine, lengths by the calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import engines
from sunrise._common.arrays import Codes, Floats
from sunrise.data.blocks import Batch
from sunrise.forms.base import Form, weighed
from sunrise.model.fitted import FittedModel


def scored(
    fitted: FittedModel, batch: Batch, output: str | None, own: tuple[Codes, Floats] | None = None
) -> tuple[NDArray[Any], int]:
    """Joint, log_proba or proba as rows x classes, None for the best class; and how many rows are impossible.

    `own` replaces the score of every row for one class.
    """
    cells = batch.n_rows * sum(block.shape[1] for block in batch.blocks)
    n_threads = engines.threads(fitted.n_jobs, cells)
    engine, fallback = engines.current(), fitted.log_class_prior
    factors = row_factors(fitted, batch)
    if not factors:
        return engine.score(  # type: ignore[no-any-return]
            batch, fitted.supports, fitted.forms, fitted.log_prior, fallback, output, n_threads, own
        )
    total = np.tile(fitted.log_prior, (batch.n_rows, 1))
    for k in range(len(batch.blocks)):
        total += by_row(block_scores(fitted, batch, k, fitted.forms[k]), factors.get(k))
    if own is not None:
        total[np.arange(batch.n_rows), own[0]] = own[1]
    values, impossible = engine.normalise(total, fallback, output or "log_proba")
    return (values.argmax(axis=1) if output is None else values), impossible


def by_row(scores: Floats, factor: Floats | None) -> Floats:
    """Scores of rows times their factors, where 0 times anything infinite is 0."""
    return scores if factor is None else weighed(scores, factor[:, None])


def row_factors(fitted: FittedModel, batch: Batch) -> dict[int, Floats]:
    """What the score of a block is multiplied by, row by row: for its length where that is calibrated, 0 if missing."""
    found: dict[int, Floats] = {}
    if fitted.calibration is not None:
        exponents = fitted.calibration.exponents_of_columns
        powers = {k: exponents[part.columns[0]] for k, part in enumerate(fitted.parts)}
        found = {k: (batch.blocks[k].lengths() + 1.0) ** g for k, g in powers.items() if g != 0.0}
    for k, block in enumerate(batch.blocks):
        missing = getattr(block, "missing", None)
        if missing is not None:
            found[k] = np.where(missing, 0.0, found.get(k, 1.0))
    return found


def block_scores(fitted: FittedModel, batch: Batch, k: int, form: Form) -> Floats:
    """What one block adds to the score of every class by a form, rows x classes."""
    alone = replace(batch, blocks=(batch.blocks[k],))
    nothing = np.zeros(len(fitted.classes))
    n_threads = engines.threads(fitted.n_jobs, batch.n_rows * alone.blocks[0].shape[1])
    values, _ = engines.current().score(
        alone, (fitted.supports[k],), (form,), nothing, nothing, "joint", n_threads, None
    )
    return values  # type: ignore[no-any-return]
