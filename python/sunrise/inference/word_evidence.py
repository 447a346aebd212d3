"""Scores of the single words of one document, and the standard deviations of their evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data.blocks import Batch
from sunrise.forms.base import Form
from sunrise.inference.evidence_sd import drawn_forms, number_of_draws, sd_of_draws
from sunrise.model.fitted import FittedModel
from sunrise.model.score import row_factors

#: The name of the term of all words that a document does not contain; only "bernoulli" words have one.
ABSENT = "absent words"


def weights_of_one_word(form: Form) -> Floats:
    """Return the score of one occurrence of each word, classes x words, in a document without other words."""
    weights: Any = form
    return np.asarray(weights.x if form.kind == "linear" else weights.of_one_count)


def word_scores(form: Form, document: Any, factor: float) -> Floats:
    """Return the scores of the words of one document, classes x (words + 1); the last column is of absent words.

    `document` is a block with one row, `factor` the row factor of its score.
    """
    if form.kind == "linear":
        scores = document.data * weights_of_one_word(form)[:, document.indices]
    else:
        scores = form.cells(document.numbers())[0][:, document.indices]
    base = getattr(form, "base", None)
    absent = np.zeros(len(scores)) if base is None else base.sum(axis=1)
    return np.column_stack([scores, absent]) * factor


def word_evidence(
    model: FittedModel, batch: Batch, row: int, k: int, of: int, against: int, sd: bool
) -> list[tuple[str, float, float]]:
    """Return word, evidence and standard deviation (NaN if unknown) of the words of a document of text block k."""
    batch = batch.select_rows([row])
    document: Any = batch.blocks[k]
    factor = float(row_factors(model, batch).get(k, np.ones(1))[0])
    scores = word_scores(model.forms[k], document, factor)
    evidence = scores[of] - scores[against]
    sds = np.full(len(evidence), np.nan)
    if sd:
        n_classes, rng = len(model.classes), np.random.default_rng(0)
        draws = []
        for form, n in drawn_forms(model, batch, k, number_of_draws(model, batch), rng):
            drawn = word_scores(form, document, factor).reshape(n, n_classes, -1)
            draws.append(drawn[:, of] - drawn[:, against])
        spread = sd_of_draws(np.concatenate(draws).T)
        sds = np.where((spread == 0.0) & (evidence != 0.0), np.nan, spread)
    words = model.blocks[k].words
    names = [*(str(words[j]) for j in document.indices), ABSENT]
    terms = zip(names, evidence.tolist(), sds.tolist(), strict=True)
    return [term for term in terms if term[0] != ABSENT or term[1] != 0.0]
