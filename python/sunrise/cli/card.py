"""The card of a model: rows, classes, columns, honest scores and reliability, as plain values for JSON and display."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Number of informative words on a card.
MOST_WORDS = 10


def card_of(model: Any, score: Any = None) -> dict[str, Any]:
    """Return the card of a fitted model; `score` stands in for the score that the model holds.

    >>> import sunrise as sr
    >>> card = card_of(sr.NaiveBayes().fit({"hair": ["long", "short", "long"], "day": [1, 1, 1]}, ["a", "b", "a"]))
    >>> card["rows"], [column["column"] for column in card["columns"]], card["left_out"][0]["column"]
    (3, ['hair'], 'day')
    """
    label = model._model.schema.label
    summary = model._summary(len(model.schema_.names))
    bits = _bits(model)
    columns = [
        {"column": c.name, "family": c.family, "bits": bits[j], "missing": c.missing, "reason": c.reason}
        for j, c in enumerate(summary.columns)
        if c.family is not None
    ]
    return {
        "rows": summary.n_rows,
        "target": None if label is None else str(label),
        "classes": [
            {"class": plain(label), "rows": n, "prior": p}
            for label, (_, n, p) in zip(model.classes_.tolist(), summary.classes, strict=True)
        ],
        "calibration": None if model.calibration_ is None else model.calibration_.kind,
        "score": _score(model, score),
        "columns": columns,
        "most_informative": [
            {"column": c["column"], "bits": c["bits"]}
            for c in sorted(columns, key=lambda c: -(c["bits"] or 0.0))
            if c["bits"]
        ][:10],
        "interactions": [
            {"columns": pair, "gain": gain, "weight": weight} for pair, gain, weight in summary.interactions
        ],
        "words": _words(model),
        "left_out": [{"column": c.name, "reason": c.reason} for c in summary.columns if c.family is None],
    }


def quality_values(quality: Any) -> dict[str, Any]:
    """Return a quality as plain values."""
    return {
        "rows": quality.rows,
        "accuracy": quality.accuracy,
        "log_loss": quality.log_loss,
        "brier": quality.brier,
        "calibration_error": quality.calibration_error,
        "method": quality.method,
        "confusion": quality.confusion.tolist(),
        "reliability": _reliability(quality),
    }


def _reliability(quality: Any) -> list[dict[str, float]]:
    """Return groups of rows with similar probability of the second of two classes; of more, all classes are pooled.

    Pooled groups are equally wide, because nearly all rows are sure that they do not belong to most of the classes.
    """
    if len(quality.confusion) == 2:
        groups: Any = quality.reliability()
    else:
        arrays = (quality.probability, quality.positives, quality.weight)
        predicted, observed, weight = (a.sum(axis=0).reshape(10, -1).sum(axis=1) for a in arrays)
        used = weight > 0
        groups = predicted[used] / weight[used], observed[used] / weight[used], weight[used]
    return [
        {"predicted": p, "observed": o, "weight": w}
        for p, o, w in zip(*(array.tolist() for array in groups), strict=True)
    ]


def plain(value: Any) -> Any:
    """Return a label as a value that JSON has."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _bits(model: Any) -> list[float | None]:
    try:
        return [float(x) if np.isfinite(x) else None for x in model.mutual_information()]
    except ValueError:  # the scores of a family may not be probabilities
        return [None] * len(model.schema_.names)


def _score(model: Any, score: Any) -> dict[str, Any] | None:
    score = model.__dict__.get("loo_score_") if score is None else score
    if score is None:
        return None
    values = {
        "rows": score.rows,
        "accuracy": score.accuracy,
        "log_loss": score.log_loss,
        "method": score.method,
        "prior_accuracy": score.prior_accuracy,
        "prior_log_loss": score.prior_log_loss,
    }
    quality = score.quality
    if quality is not None:
        values = quality_values(_with_classes(quality, model.classes_)) | values
    return values


def _with_classes(quality: Any, classes: Any) -> Any:
    from dataclasses import replace

    return replace(quality, classes=classes)


def _words(model: Any) -> dict[str, list[str]]:
    """Return the most informative words of every text column."""
    words = {}
    for column in model._summary(len(model.schema_.names)).columns:
        if column.family == "text":
            found = model.informative_words(MOST_WORDS, column=column.name)
            words[column.name] = [word for word, _ in found]
    return words
