"""Choice of text settings that are "auto" (n-grams, term frequency, length, IDF, alpha) by leave-one-out scores.

Each candidate is fitted to all documents and judged by the log loss of at most 4,000 of them: each document is scored
without itself, and the scores are calibrated by a temperature. The default is the first candidate. Another one replaces
it only if it is better by half a standard error, so that noise keeps the default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.inference.leave_one_out import LeaveOneOut
from sunrise.inference.score_blocks import usable_rows
from sunrise.inference.temperature import Temperature

#: Most documents that are scored.
MOST_SCORED = 4000
#: Standard errors by which a later candidate must be better than the best so far.
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


class Tried(NamedTuple):
    """A value of a setting, and the mean log loss of the sampled documents."""

    value: Any
    log_loss: float


def choose_settings(
    wanted: Sequence[str], defaults: dict[str, tuple[Any, ...]], losses_of: Callable[[dict[str, Any]], Floats]
) -> tuple[dict[str, Any], dict[str, list[Tried]]]:
    """Choose the wanted settings one after another, each given the settings before it.

    `losses_of` returns the log losses of the sampled documents under settings. The second result has everything that
    was tried. Longer n-grams cost most, so they are tried only while they improve.

    >>> loss = lambda settings: np.full(9, abs(settings["idf"] - 1.0)) + np.linspace(0, 0.1, 9) * settings["idf"]
    >>> choose_settings(["idf"], {"idf": (0.5, 1.0, 0.0)}, loss)[0]
    {'idf': 1.0}
    """
    chosen = {name: defaults[name][0] for name in wanted}
    tried: dict[str, list[Tried]] = {name: [] for name in wanted}
    least: Floats | None = None
    for name in wanted:
        for value in defaults[name]:
            if least is not None and value == chosen[name]:
                tried[name].append(Tried(value, float(least.mean())))
                continue
            loss = losses_of({**chosen, name: value})
            tried[name].append(Tried(value, float(loss.mean())))
            if least is None or _is_better(loss, least):
                chosen[name], least = value, loss
            elif name == "ngram_range":
                break
    return chosen, tried


def _is_better(new: Floats, old: Floats) -> bool:
    gain = old - new
    return bool(gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)))


def calibrated_losses(rows: LeaveOneOut) -> Floats:
    """Return the log loss of documents, each left out, under the temperature that suits them best."""
    use = usable_rows(rows)
    objective = Temperature.of(rows, use)
    return np.asarray(objective.row_losses([objective.solve()])[0])
