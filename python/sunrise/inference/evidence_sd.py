"""Standard deviation of the evidence of every column, from draws of the parameters from their posterior."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats, Positions
from sunrise.data.blocks import Batch
from sunrise.engines import array
from sunrise.forms.base import Form
from sunrise.inference.word_evidence import word_scores
from sunrise.model.fitted import FittedModel
from sunrise.model.score import row_factors
from sunrise.numerics.conjugate import Dirichlet
from sunrise.numerics.special import log

#: The parameters are drawn this often; less often if the model has very many, but at least `FEWEST` times.
DRAWS, FEWEST, MOST_NUMBERS = 1000, 100, 5_000_000
#: Maximum number of cell scores in memory.
_MOST_SCORES = 1 << 22


class EvidenceSd(NamedTuple):
    """Standard deviations of evidence: of each column (rows x columns), of the class prior (rows), of the sum (rows).

    NaN for a column whose parameters have no posterior. The sum takes the point estimates of these columns as exact; it
    is NaN if all columns that say something are of this kind.
    """

    columns: Floats
    prior: Floats
    total: Floats
    #: Of the words of text columns: by block, one array for each row, whose last number is of absent words.
    words: dict[int, list[Floats]]

    @classmethod
    def unknown(cls, n_rows: int, n_columns: int) -> EvidenceSd:
        """Return NaN for everything."""
        prior, total = np.full((2, n_rows), np.nan)
        return cls(np.full((n_rows, n_columns), np.nan), prior, total, {})

    def of_row(self, i: int) -> EvidenceSd:
        """Return the standard deviations of one row."""
        words = {k: rows[i : i + 1] for k, rows in self.words.items()}
        return EvidenceSd(self.columns[i : i + 1], self.prior[i : i + 1], self.total[i : i + 1], words)


def evidence_sd(
    model: FittedModel, batch: Batch, evidence: Floats, of: Positions, against: Positions, seed: int = 0
) -> EvidenceSd:
    """Return standard deviations of the evidence for the classes `of` against the classes `against`, one pair per row.

    `evidence` is that of the point estimates, rows x columns. The draws are those of `interval`: parameters from their
    conjugate posterior, shares of a kernel density by the Bayesian bootstrap, class probabilities if they were
    estimated. Calibration stays fixed.
    """
    rng, n_draws = np.random.default_rng(seed), _number_of_draws(model, batch)
    pair = np.stack([of, against], axis=1)
    columns, total = np.zeros(evidence.shape), np.zeros((batch.n_rows, n_draws))
    factors, of_words = row_factors(model, batch), dict[int, list[_Sums]]()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if model.is_prior_fitted and model.is_generative:
            draws = log(Dirichlet(1.0 + model.stats.weight).sample(n_draws, rng))
            total += draws[:, of].T - draws[:, against].T
        prior = _sd_of_draws(total)
        for k, part in enumerate(model.parts):
            is_text = part.family.reader.own_block
            at = list(part.columns[:1] if is_text else part.columns)
            factor = factors.get(k, np.ones(batch.n_rows))
            sums = _Sums(batch.n_rows, len(at))
            if is_text:
                of_words[k] = [_Sums(1, n + 1) for n in _numbers_of_words(batch, k)]
            try:
                for form, n in _drawn_forms(model, batch, k, n_draws, rng):
                    if is_text:
                        drawn = _evidence_of_documents(batch, k, form, n, pair, factor, of_words[k])
                    else:
                        drawn = _evidence_of_cells(model, batch, k, form, n, pair) * factor[:, None, None]
                    total[:, sums.n : sums.n + drawn.shape[1]] += drawn.sum(axis=2)
                    sums.add(drawn)
            except ValueError:  # the prior is not proper, so that there is no posterior
                sums = _Sums(batch.n_rows, len(at))
            # Draws that are all equal are point estimates, unless the cell is missing and adds nothing.
            is_point = (sums.squares == 0.0) & (evidence[:, at] != 0.0)
            columns[:, at] = np.where(is_point, np.nan, sums.sd())
        is_known = ((evidence != 0.0) & ~np.isnan(columns)).any(axis=1)
        unknown = np.isnan(columns).any(axis=1) & ~is_known
        words = {
            k: [np.where(own.squares[0] == 0.0, np.nan, own.sd()[0]) for own in rows]
            for k, rows in of_words.items()
        }
        return EvidenceSd(columns, prior, np.where(unknown, np.nan, _sd_of_draws(total)), words)


def _number_of_draws(model: FittedModel, batch: Batch) -> int:
    pairs, n_classes = zip(model.blocks, batch.blocks, strict=True), len(model.classes)
    numbers = sum(
        max(np.size(getattr(stats, "weight", 0)), n_classes * block.shape[1]) for stats, block in pairs
    )
    return int(np.clip(MOST_NUMBERS // max(numbers, 1), FEWEST, DRAWS))


def _drawn_forms(
    model: FittedModel, batch: Batch, k: int, n_draws: int, rng: np.random.Generator
) -> Iterator[tuple[Form, int]]:
    """Yield forms of block k under drawn parameters, each with n x classes classes, and n."""
    part, n_classes = model.parts[k], len(model.classes)
    weights = np.repeat(model.weights(k), len(part.family.support.views))
    if model.calibration is not None and (words := model.calibration.words) is not None:
        weights = weights * words.factors_for(model.blocks[k])  # learned weights are fixed: they do not vary
    step = max(1, _MOST_SCORES // (max(1, batch.n_rows) * n_classes * max(1, batch.blocks[k].shape[1])))
    for start in range(0, n_draws, step):
        n = min(step, n_draws - start)
        draws = part.family.sample_parameters(model.blocks[k], n, rng, model.stats.weight)
        yield replace(part.family, estimate="mean").form(draws).times(weights), n


def _evidence_of_cells(
    model: FittedModel, batch: Batch, k: int, form: Form, n: int, pair: Positions
) -> Floats:
    """Return the evidence of the cells of a block under n draws: rows x draws x columns."""
    part = model.parts[k]
    scores = form.finite.cells(array.read(batch.blocks[k], part.family.support))
    scores = np.where(np.isneginf(scores), 0.0, scores)
    scores = scores.reshape(batch.n_rows, n, len(model.classes), len(part.columns), -1).sum(axis=4)
    both = np.take_along_axis(scores, pair[:, None, :, None], axis=2)
    return np.asarray(both[:, :, 0] - both[:, :, 1])


def _evidence_of_documents(
    batch: Batch, k: int, form: Form, n: int, pair: Positions, factor: Floats, of_words: list[_Sums]
) -> Floats:
    """Return the evidence of documents under n draws, rows x draws x 1; add that of their words to the sums."""
    drawn = np.empty((batch.n_rows, n, 1))
    for i, (of, against) in enumerate(pair):
        document = batch.blocks[k].select_rows([i])
        scores = word_scores(form, document, float(factor[i])).reshape(n, -1, of_words[i].sums.shape[1])
        words = scores[:, of] - scores[:, against]
        of_words[i].add(words[None])
        drawn[i, :, 0] = words.sum(axis=1)
    return drawn


def _numbers_of_words(batch: Batch, k: int) -> list[int]:
    """Return the number of different words of every document."""
    block: Any = batch.blocks[k]
    return np.diff(block.indptr).tolist()  # type: ignore[no-any-return]


class _Sums:
    """Sums of differences from the first draw and of their squares, over the draws so far."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.n, self.first = 0, np.zeros((n_rows, 1, n_columns))
        self.sums, self.squares = np.zeros((2, n_rows, n_columns))

    def add(self, draws: Floats) -> None:
        if self.n == 0:
            self.first = draws[:, :1]
        change = draws - self.first
        self.n += draws.shape[1]
        self.sums += change.sum(axis=1)
        self.squares += (change * change).sum(axis=1)

    def sd(self) -> Floats:
        n = max(self.n, 2)
        variance = (self.squares - self.sums * self.sums / n) / (n - 1)
        return np.sqrt(np.maximum(variance, 0.0))


def _sd_of_draws(draws: Floats) -> Floats:
    """Standard deviation over the draws (rows x draws); exactly 0 if all draws are equal."""
    return np.asarray((draws - draws[:, :1]).std(axis=1, ddof=1))
