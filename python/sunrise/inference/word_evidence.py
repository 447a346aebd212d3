"""Scores of the single words of one document."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.forms.base import Form

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
