"""Demonstration: one model for a table of patients with numbers, booleans, categories and missing cells.

Run it with `make demo` or `python -m sunrise.demo`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from sunrise import NaiveBayes, UnseenLevelsWarning
from sunrise.datasets import load_heart_disease


def _select_rows(table: dict[str, list[Any]], rows: Any) -> dict[str, list[Any]]:
    return {name: [column[r] for r in rows] for name, column in table.items()}


def main() -> None:
    """Fit a model, print it, evaluate it, explain a prediction, update the model and remove rows from it."""
    heart = load_heart_disease()
    X, y = heart.data, heart.target
    model = NaiveBayes().fit(X, y)
    print(
        "Heart disease in Cleveland, default settings: the family of every column is chosen automatically.\n"
    )
    print(model)

    proba = np.empty((len(y), 2))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(y, y):
        proba[test] = NaiveBayes().fit(_select_rows(X, train), y[train]).predict_proba(_select_rows(X, test))
    predicted = model.classes_[proba.argmax(axis=1)]
    print("\n5-fold cross-validation, without imputation of missing cells:")
    print(f"  accuracy {accuracy_score(y, predicted):.3f}   log loss {log_loss(y, proba):.3f}")

    row = int(np.argmin(np.abs(proba[:, 0] - 0.5)))
    print(f"\nExplanation of the least certain prediction, patient {row} (disease: {y[row]}):")
    print(model.explain(_select_rows(X, [row])).text())

    record = {**dict.fromkeys(X), "age": 61, "chest_pain": "asymptomatic", "thallium": "new category"}
    with warnings.catch_warnings():  # the new category is on purpose
        warnings.simplefilter("ignore", UnseenLevelsWarning)
        p_disease = model.predict_proba(record)[0, 1]
    print(f"\nA patient with three known cells, one of them a new category: P(disease) = {p_disease:.0%}.")

    first, rest = range(200), range(200, len(y))
    families = model.fixed_families_
    streamed = (
        NaiveBayes(families)
        .partial_fit(_select_rows(X, first), y[:200])
        .partial_fit(_select_rows(X, rest), y[200:])
    )
    difference = np.abs(streamed.predict_log_proba(X) - model.predict_log_proba(X)).max()
    print(
        f"\nFitted in two batches instead of one: {'the same model' if difference < 1e-12 else 'DIFFERENT'}."
    )
    first_only = NaiveBayes(families).fit(_select_rows(X, first), y[:200])
    streamed.forget(_select_rows(X, rest), y[200:])
    difference = np.abs(streamed.predict_log_proba(X) - first_only.predict_log_proba(X)).max()
    result = "the same as a model of the first batch" if difference < 1e-9 else "DIFFERENT"
    print(f"Second batch removed with forget: {result}.")


if __name__ == "__main__":
    main()
