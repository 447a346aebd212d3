"""Choice of text settings that are "auto" (n-grams, term frequency, length, IDF, alpha) by losses of unseen documents.

A candidate is judged by the log loss of at most 4,000 documents. With weights of words, n-grams are judged by the folds
that choose these weights (`inference/word_choice.py`). Other settings are judged by leave-one-out scores, calibrated by
a temperature. The default is the first candidate. Of the n-grams, the least loss decides: nothing speaks for short
n-grams but their cost. Another setting replaces its default only if it is better by half a standard error, so that
noise keeps the default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.score_blocks import usable_rows
from sunrise.inference.temperature import Temperature

#: Most documents that are scored.
MOST_SCORED = 4000
#: Standard errors by which a later candidate must be better than the best so far; for n-grams 0.
CLEARLY = 0.5
#: Candidates for each setting; the first is the default. N-grams of characters have their own.
CANDIDATES: dict[str, tuple[Any, ...]] = {
    "ngram_range": ((1, 1), (1, 2), (1, 3)),
    "tf": ("log", "binary", "count"),
    "length": (0.7, 1.0, 0.5, 0.0),
    "idf": (0.5, 1.0, 0.0),
    "alpha": (0.1, 0.03, 0.3, 1.0, 0.01),
}
CHARACTERS = ((1, 3), (1, 4), (1, 5))


def choose_settings(
    wanted: Sequence[str],
    candidates: dict[str, tuple[Any, ...]],
    losses_of: Callable[[dict[str, Any]], Floats],
) -> dict[str, Any]:
    """Choose the wanted settings one after another, each given the settings before it.

    `losses_of` returns the log losses of documents under settings. Longer n-grams cost most, so they are tried only
    while they improve.

    >>> loss = lambda settings: np.full(9, abs(settings["idf"] - 1.0)) + np.linspace(0, 0.1, 9) * settings["idf"]
    >>> choose_settings(["idf"], {"idf": (0.5, 1.0, 0.0)}, loss)
    {'idf': 1.0}
    """
    chosen = {name: candidates[name][0] for name in wanted}
    least: Floats | None = None
    for name in wanted:
        is_range = name == "ngram_range"
        for value in candidates[name]:
            if least is not None and value == chosen[name]:
                continue
            loss = losses_of({**chosen, name: value})
            if least is None or _is_better(loss, least, 0.0 if is_range else CLEARLY):
                chosen[name], least = value, loss
            elif is_range:
                break
    return chosen


def _is_better(new: Floats, old: Floats, n_errors: float) -> bool:
    """True if losses are lower than others by more than `n_errors` standard errors."""
    gain = old - new
    return bool(gain.mean() > n_errors * gain.std() / np.sqrt(len(gain)))


def calibrated_losses(rows: LeaveOneOut) -> Floats:
    """Return the log loss of documents, each left out, under the temperature that suits them best."""
    use = usable_rows(rows)
    objective = Temperature.of(rows, use)
    return np.asarray(objective.row_losses([objective.solve()])[0])
