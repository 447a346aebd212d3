"""Scores of rows under a fitted model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise import engines
from sunrise._common.arrays import Codes, Floats, Mask
from sunrise.data.blocks import Batch
from sunrise.forms.base import Form, apply_weight
from sunrise.model.fitted import FittedModel

#: Evidence for one class against another below this number is rounding.
SILENT = 1e-13


def score_rows(
    model: FittedModel, batch: Batch, output: str | None, own_scores: tuple[Codes, Floats] | None = None
) -> tuple[NDArray[Any], int]:
    """Return scores of rows, and the number of rows that are impossible under every class.

    `output` is "joint", "log_proba" or "proba" for an array rows x classes, or None for the best class of every row.
    `own_scores` (class codes, scores) replaces the score of one class for every row.
    """
    values, impossible = _score_rows(model, batch, output, own_scores)
    if own_scores is None and model.has_offsets:
        _restore_prior(values, model, batch, output)
    return values, impossible


def _score_rows(
    model: FittedModel, batch: Batch, output: str | None, own_scores: tuple[Codes, Floats] | None
) -> tuple[NDArray[Any], int]:
    width, by_factors = 0, bool(model.row_exponents)
    for block in batch.blocks:
        width += block.shape[1]
        by_factors = by_factors or block.missing is not None
    if not by_factors:
        return engines.current().score(  # type: ignore[no-any-return]
            batch,
            model.supports,
            model.forms,
            model.log_prior,
            model.log_class_prior,
            output,
            engines.threads(model.n_jobs, batch.n_rows * width),
            own_scores,
        )

    def score_piece(piece: Batch, own: tuple[Codes, Floats] | None) -> tuple[NDArray[Any], int]:
        return _score_by_factors(model, piece, output, own)

    return engines.score_in_pieces(batch, len(model.classes), output, own_scores, score_piece)


def _score_by_factors(
    model: FittedModel, batch: Batch, output: str | None, own_scores: tuple[Codes, Floats] | None
) -> tuple[NDArray[Any], int]:
    """Return scores of rows whose blocks count with a factor that depends on the row."""
    factors, total = row_factors(model, batch), np.tile(model.log_prior, (batch.n_rows, 1))
    for k in range(len(batch.blocks)):
        total += by_row(block_scores(model, batch, k, model.forms[k]), factors.get(k))
    if own_scores is not None:
        total[np.arange(batch.n_rows), own_scores[0]] = own_scores[1]
    engine = engines.current()
    values, impossible = engine.log_normalise(total, model.log_class_prior, output or "log_proba")
    return (values.argmax(axis=1) if output is None else values), impossible


def _restore_prior(values: NDArray[Any], model: FittedModel, batch: Batch, output: str | None) -> None:
    """Give the class prior to rows that say nothing, in place: offsets correct the evidence of columns.

    The evidence of such a row is the same for all classes, so its probabilities are those of prior and offsets alone.
    """
    if output is None:
        best, best_of_prior = model.log_prior.argmax(), model.log_class_prior.argmax()
        if best != best_of_prior:
            at = np.flatnonzero(values == best)
            step = max(1, engines.PIECE // len(model.classes))
            for rows in (at[start : start + step] for start in range(0, len(at), step)):
                joint, _ = _score_rows(model, batch.select_rows(rows), "joint", None)
                values[rows[says_nothing(joint - model.log_prior)]] = best_of_prior
        return
    if output == "joint":
        silent = says_nothing(values - model.log_prior)
        values[silent] += model.plain_log_prior - model.log_prior
        return
    with_offsets, prior = _prior_rows(model, output)
    at = np.flatnonzero(np.abs(values[:, 0] - with_offsets[0]) <= SILENT)
    if len(at):
        silent = np.abs(values[at] - with_offsets).max(axis=1) <= SILENT
        values[at[silent]] = prior


def _prior_rows(model: FittedModel, output: str) -> tuple[Floats, Floats]:
    """Return the (log-)probabilities of rows that say nothing, with and without offsets."""
    known, engine = model.silent, engines.current()
    if (engine, output) not in known:
        with_offsets, prior = (
            engine.log_normalise(row[None].copy(), row, output)[0][0]
            for row in (model.log_prior, model.plain_log_prior)
        )
        known[engine, output] = with_offsets, prior
    return known[engine, output]


def says_nothing(evidence: Floats) -> Mask:
    """Return the mask of the rows whose evidence (rows x classes) is the same for all classes."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.ptp(evidence, axis=1) <= SILENT * (1.0 + np.abs(evidence[:, 0])))


def by_row(scores: Floats, factor: Floats | None) -> Floats:
    """Return scores of rows times row factors, with 0 times infinity equal to 0."""
    return scores if factor is None else apply_weight(scores, factor[:, None])


def row_factors(model: FittedModel, batch: Batch) -> dict[int, Floats]:
    """Return row factors of the scores, by block: (length + 1)^exponent from calibration, 0 for a missing document."""
    factors = {k: (batch.blocks[k].lengths() + 1.0) ** power for k, power in model.row_exponents.items()}
    for k, block in enumerate(batch.blocks):
        if block.missing is not None:
            factors[k] = np.where(block.missing, 0.0, factors.get(k, 1.0))
    return factors


def block_scores(model: FittedModel, batch: Batch, k: int, form: Form) -> Floats:
    """Return the scores of one block under a form, rows x classes."""
    block = replace(batch, blocks=(batch.blocks[k],))
    zeros = np.zeros(len(model.classes))
    n_threads = engines.threads(model.n_jobs, batch.n_rows * block.blocks[0].shape[1])
    values, _ = engines.current().score(
        block, (model.supports[k],), (form,), zeros, zeros, "joint", n_threads, None
    )
    return values  # type: ignore[no-any-return]
