"""What the page shows beside the scores: numbers of rows, information, reasons and ranges of the columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.inference.scores import LooScore
from sunrise.model.fitted import FittedModel
from sunrise.report.pictures import pictures, shown_classes
from sunrise.report.ranges import column_ranges
from sunrise.selection.mutual_information import column_information
from sunrise.selection.waking import reasons_asleep

#: Number of columns with a picture, the most informative ones.
MOST_PICTURES = 100
#: With more classes, the page lists pairs of classes instead of a confusion matrix, and pools the bins of all classes.
MOST_CLASSES, MOST_PAIRS = 20, 30
#: Why a model has no honest score.
NO_QUALITY = (
    "This model keeps no score on unseen rows: it was fitted with calibrate=None, it was updated after its fit, or its "
    "parameters were given. model.evaluate(X, y) measures the quality on other rows."
)


def model_facts(model: FittedModel, score: LooScore | None) -> dict[str, Any]:
    """Return the facts of a fitted model as numbers, strings, lists and dicts."""
    model = model.columns_alone  # interactions have no distribution of their own
    bits, without_bits = information(model)
    rows = dict(zip(model.stats.classes.tolist(), model.stats.rows.tolist(), strict=True))
    ranges = column_ranges(model)
    ranked = np.argsort(-np.nan_to_num(bits, nan=0.0), kind="stable")[:MOST_PICTURES]
    reasons = [choice.reason for choice in model.schema.choices]
    for j, reason in reasons_asleep(model.schema, model.stats).items():
        reasons[j] = reason
    return {
        "rows": int(model.stats.rows.sum()),
        "class_rows": [int(rows.get(label, 0)) for label in model.classes.tolist()],
        "class_prior": [_short(p, 6) for p in model.class_prior],
        "bits": [_short(b, 4) for b in bits],
        "without_bits": without_bits,
        "reasons": reasons,
        "missing": missing_cells(model),
        "ranges": {str(j): ends for j, ends in ranges.items()},
        "pictures": {str(j): p for j, p in pictures(model, set(ranked.tolist()), ranges).items()},
        "pictured": MOST_PICTURES,
        "picture_classes": shown_classes(model).tolist(),
        "quality": None if score is None else quality_facts(score),
        "without_quality": NO_QUALITY if score is None else None,
    }


def information(model: FittedModel) -> tuple[Floats, str | None]:
    """Return the bits of every column per row, NaN where a family has none, and a sentence that says why."""
    bits, reason = np.zeros(len(model.schema.names)), None
    for part, params, stats in zip(model.parts, model.point_params, model.blocks, strict=True):
        try:
            own = column_information(part.family, params, stats, model.class_prior, per_row=True)
        except ValueError as error:
            own, reason = np.full(len(part.columns), np.nan), str(error)
        bits[list(part.columns)] = own
    return bits, reason


def missing_cells(model: FittedModel) -> list[int | None]:
    """Return the number of missing cells of every column; None for a column that the model does not use."""
    missing: list[int | None] = [None] * len(model.schema.names)
    total = int(model.stats.rows.sum())
    for part, block in zip(model.parts, model.stats.blocks, strict=True):
        observed = block.observed[:: len(part.family.fit_support.views)]
        for j, n in zip(part.columns, observed, strict=True):
            missing[j] = max(total - int(n), 0)  # given parameters count a row for every level
    return missing


def quality_facts(score: LooScore) -> dict[str, Any]:
    """Return the scores of a model on rows that it has not seen, with confusion matrix and bins of probabilities."""
    names = ("accuracy", "log_loss", "prior_accuracy", "prior_log_loss")
    facts: dict[str, Any] = {name: _short(getattr(score, name), 6) for name in names}
    facts |= {"rows": score.rows, "left_out": score.left_out, "method": score.method}
    quality = score.quality
    if quality is None:
        return facts
    facts |= {
        "brier": _short(quality.brier, 6),
        "calibration_error": _short(quality.calibration_error, 6),
        "confusion": None,
        "pairs": None,
    }
    n = len(quality.confusion)
    bins = {name: getattr(quality, name) for name in ("weight", "positives", "probability")}
    if n > MOST_CLASSES:
        wrong = quality.confusion * (1.0 - np.eye(n))
        worst = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
        pairs = zip(*np.unravel_index(worst, wrong.shape), strict=True)
        facts["pairs"] = [[int(a), int(b), _short(wrong[a, b], 6)] for a, b in pairs if wrong[a, b] > 0]
        bins = {name: own.sum(axis=0, keepdims=True) for name, own in bins.items()}
    else:
        facts["confusion"] = [[_short(v, 6) for v in row] for row in quality.confusion]
    return facts | {
        "bins": {name: [[_short(v, 6) for v in row] for row in own] for name, own in bins.items()}
    }


def _short(value: float, digits: int) -> float | None:
    """Return a number with so many significant digits; None if it is not finite."""
    return float(f"{float(value):.{digits}g}") if math.isfinite(value) else None
