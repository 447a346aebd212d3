"""Scores of training rows as the input of calibration: finite, as differences from the first class."""

from __future__ import annotations

import numpy as np

from sunrise import engines
from sunrise._common.arrays import Floats, Positions
from sunrise.inference.few_values import write_few_values
from sunrise.inference.leave_one_out import LeaveOneOut

#: A score of -inf is replaced by the least finite score of the row minus this number, so that weights still apply.
IMPOSSIBLE = 745.0
#: Scores with a root mean square below this number are not on the scale of log-odds.
SMALL_SCORE = 0.02
#: Number of rows from which the scale of the scores is estimated.
UNIT_ROWS = 256
#: Number of scores that are computed at a time.
PIECE = 1 << 20


def usable_rows(rows: LeaveOneOut) -> Positions:
    """Return the positions of the rows that count and whose class has other rows."""
    return np.flatnonzero((rows.fitted_weight > 0) & ~rows.is_only_row_of_class)


def column_groups(rows: LeaveOneOut) -> list[list[int]]:
    """Return the columns that share a weight: one column, or all columns of a joint block."""
    return [
        columns
        for part in rows.model.parts
        for columns in ([list(part.columns)] if part.family.joint else [[j] for j in part.columns])
    ]


def log_frequencies(rows: LeaveOneOut, use: Positions) -> Floats:
    """Return log class frequencies, rows x classes; 0 if the model uses no class prior.

    The frequencies of the data are used even if the user gave a class prior, so that the offsets do not undo it.
    """
    if not rows.model.is_generative:
        return np.zeros((len(use), len(rows.model.classes)))
    return rows.log_frequencies(use)


def column_scores(rows: LeaveOneOut, use: Positions) -> Floats:
    """Return the scores of every column, interaction or joint block for some rows: rows x (classes - 1) x weights."""
    model, parts = rows.model, rows.model.parts
    n_weights = sum(1 if part.family.joint else len(part.columns) for part in parts)
    scores = np.empty((len(use), len(model.classes) - 1, n_weights))
    all_rows = len(use) == rows.batch.n_rows and bool((use[:-1] < use[1:]).all())
    first = 0
    for k, part in enumerate(parts):
        if part.family.joint:
            scores[:, :, first] = block_scores(rows, k, use)
            first += 1
            continue
        n = len(part.columns)
        if rows.write_levels(k, use, scores, first) or write_few_values(rows, k, use, scores, first):
            first += n
            continue
        step = max(1, PIECE // (n * len(model.classes)))
        for start in range(0, len(use), step):
            here = slice(start, start + step)
            which = here if all_rows else use[here]
            cells = _replace_infinite(rows.cells(k, which))
            np.subtract(cells[:, 1:], cells[:, :1], out=scores[here, :, first : first + n])
        first += n
    return scores


def log_probabilities(scores: Floats) -> Floats:
    """Return log-probabilities from finite joint log scores, rows x classes."""
    fallback = np.zeros(scores.shape[1])
    return np.asarray(engines.current().log_normalise(np.ascontiguousarray(scores), fallback, "log_proba")[0])


def block_scores(rows: LeaveOneOut, k: int, use: Positions) -> Floats:
    """Return the scores of block k for some rows: rows x (classes - 1)."""
    scores = _minus_first_class(_replace_infinite(rows.block(k)[use]))
    unit = score_unit(rows, k, use)
    return scores if unit == 1.0 else unit * scores


def score_unit(rows: LeaveOneOut, k: int, use: Positions) -> float:
    """Return the factor that brings the scores of block k to the scale of log-probabilities; 1 if they are on it.

    Complement weights that were divided by their sum give very small scores, for which a weight near 1 is not expected.
    """
    family = rows.model.parts[k].family
    if family.generative or not family.joint or family.reader.derived:
        return 1.0
    sample = _minus_first_class(_replace_infinite(rows.block(k)[use[:UNIT_ROWS]]))
    size = float(np.sqrt(np.mean(sample * sample))) if sample.size else 0.0
    return 1.0 / size if 0.0 < size < SMALL_SCORE else 1.0


def _replace_infinite(scores: Floats) -> Floats:
    """Return scores (rows x classes x ...) with -inf replaced by a finite score; see IMPOSSIBLE."""
    infinite = np.isneginf(scores)
    if not infinite.any():
        return scores
    least = np.where(infinite, np.inf, scores).min(axis=1, keepdims=True)
    return np.where(infinite, np.where(np.isinf(least), 0.0, least) - IMPOSSIBLE, scores)


def _minus_first_class(scores: Floats) -> Floats:
    """Return scores (rows x classes x ...) as differences from the first class, without the first class."""
    return np.ascontiguousarray(scores[:, 1:] - scores[:, :1])
