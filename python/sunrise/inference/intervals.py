"""Credible intervals of predicted probabilities, from draws of the parameters from their posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Floats
from sunrise.data.blocks import Batch
from sunrise.engines import array
from sunrise.model.fitted import FittedModel
from sunrise.model.score import row_factors
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.special import log

#: Maximum number of scores (rows x draws x classes) in memory.
_MOST_SCORES = 1 << 22


def intervals(
    model: FittedModel, batch: Batch, tails: tuple[float, float], n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return lower and upper limits of the class probabilities, each rows x classes.

    `tails` are the two quantiles. All draws are scored together, as one model with n_draws x n_classes classes.
    """
    n_classes, n_columns = len(model.classes), max((block.shape[1] for block in batch.blocks), default=1)
    n = n_draws * n_classes
    forms = []
    for k, (part, stats) in enumerate(zip(model.parts, model.blocks, strict=True)):
        draws = part.family.sample_parameters(stats, n_draws, rng, model.stats.weight)
        forms.append(model.weighted_form(k, replace(part.family, estimate="mean").form(draws)))
    prior = model.log_class_prior
    if model.is_prior_fitted:
        prior = log(Dirichlet(1.0 + model.stats.weight).sample(n_draws, rng))
    if model.calibration is not None:
        prior = prior + model.calibration.offsets_of(model.classes)
    factors, zeros = row_factors(model, batch), np.zeros(n)
    low, high = np.empty((2, batch.n_rows, n_classes))
    n_threads = engines.threads(model.n_jobs, batch.n_rows * n_columns * n_draws)
    step = max(1, _MOST_SCORES // n)
    for start in range(0, batch.n_rows, step):
        rows = slice(start, start + step)
        piece = batch.select_rows(rows)
        total = np.broadcast_to(prior, (piece.n_rows, n_draws, n_classes))
        for k, form in enumerate(forms):
            block = replace(piece, blocks=(piece.blocks[k],))
            scores, _ = engines.current().score(
                block, (model.supports[k],), (form,), zeros, zeros, "joint", n_threads, None
            )
            factor = factors[k][rows, None, None] if k in factors else 1.0
            total = total + factor * scores.reshape(piece.n_rows, n_draws, n_classes)
        p, _ = array.log_normalise(total.reshape(-1, n_classes), model.log_class_prior, "proba")
        low[rows], high[rows] = np.quantile(p.reshape(piece.n_rows, n_draws, n_classes), tails, axis=1)
    return low, high
