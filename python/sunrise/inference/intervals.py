"""Credible intervals of predicted probabilities, by drawing the parameters from their posterior."""

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

#: Numbers (rows x draws x classes) that are held at a time.
_PIECE = 1 << 22


def intervals(
    fitted: FittedModel, batch: Batch, tails: tuple[float, float], n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Between which values the probability of every class lies for every row, rows x classes each.

    A thousand draws of the parameters are a model of a thousand times as many classes, which an engine scores at once.
    """
    n_classes, n_columns = len(fitted.classes), max((block.shape[1] for block in batch.blocks), default=1)
    n = n_draws * n_classes
    forms = []
    for k, (part, stats) in enumerate(zip(fitted.parts, fitted.blocks, strict=True)):
        drawn = part.family.sample_parameters(stats, n_draws, rng, fitted.stats.weight)
        weights = np.repeat(fitted.weights(k), len(part.family.support.views))
        forms.append(replace(part.family, estimate="mean").form(drawn).times(weights))
    prior = fitted.log_class_prior
    if fitted.is_prior_fitted:
        prior = log(Dirichlet(1.0 + fitted.stats.weight).sample(n_draws, rng))
    if fitted.calibration is not None:
        prior = prior + fitted.calibration.offsets_of(fitted.classes)
    factors, nothing = row_factors(fitted, batch), np.zeros(n)
    low, high = np.empty((2, batch.n_rows, n_classes))
    n_threads = engines.threads(fitted.n_jobs, batch.n_rows * n_columns * n_draws)
    step = max(1, _PIECE // n)
    for start in range(0, batch.n_rows, step):
        rows = slice(start, start + step)
        some = batch.some(rows)
        total = np.broadcast_to(prior, (some.n_rows, n_draws, n_classes))
        for k, form in enumerate(forms):
            alone = replace(some, blocks=(some.blocks[k],))
            scores, _ = engines.current().score(
                alone, (fitted.supports[k],), (form,), nothing, nothing, "joint", n_threads, None
            )
            factor = factors[k][rows, None, None] if k in factors else 1.0
            total = total + factor * scores.reshape(some.n_rows, n_draws, n_classes)
        p, _ = array.normalise(total.reshape(-1, n_classes), fitted.log_class_prior, "proba")
        low[rows], high[rows] = np.quantile(p.reshape(some.n_rows, n_draws, n_classes), tails, axis=1)
    return low, high
