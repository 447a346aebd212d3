"""The demo: one model for a whole table of patients, with numbers, yes and no, categories and missing cells.

Run it with `make demo` or `python -m sunrise.demo`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from sunrise import NaiveBayes
from sunrise.datasets import load_heart_disease


def _rows(table: dict[str, list[Any]], rows: Any) -> dict[str, list[Any]]:
    return {name: [column[r] for r in rows] for name, column in table.items()}


def main() -> None:
    """Fit, look, evaluate, explain, update, forget."""
    heart = load_heart_disease()
    X, y = heart.data, heart.target
    model = NaiveBayes().fit(X, y)
    print("Heart disease in Cleveland: fitted with no argument, every column's family inferred.\n")
    print(model)

    proba = np.empty((len(y), 2))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(y, y):
        proba[test] = NaiveBayes().fit(_rows(X, train), y[train]).predict_proba(_rows(X, test))
    predicted = model.classes_[proba.argmax(axis=1)]
    print("\n5-fold cross-validation, missing cells left out exactly:")
    print(f"  accuracy {accuracy_score(y, predicted):.3f}   log loss {log_loss(y, proba):.3f}")

    row = int(np.argmin(np.abs(proba[:, 0] - 0.5)))
    print(f"\nThe closest call, patient {row} (disease: {y[row]}). Why the model says what it says:")
    print(model.explain(_rows(X, [row])).text())

    record = {**dict.fromkeys(X), "age": 61, "chest_pain": "asymptomatic", "thallium": "never heard of"}
    sick = model.predict_proba(record)[0, 1]
    print(f"\nA patient of whom three things are known, one of them a new category: disease {sick:.0%}.")

    first, rest = range(200), range(200, len(y))
    families = model.fixed_families_
    streamed = NaiveBayes(families).partial_fit(_rows(X, first), y[:200]).partial_fit(_rows(X, rest), y[200:])
    apart = np.abs(streamed.predict_log_proba(X) - model.predict_log_proba(X)).max()
    print(f"\nLearned in two batches instead of one: {'the same model' if apart < 1e-12 else 'DIFFERENT'}.")
    alone = NaiveBayes(families).fit(_rows(X, first), y[:200])
    apart = np.abs(
        streamed.forget(_rows(X, rest), y[200:]).predict_log_proba(X) - alone.predict_log_proba(X)
    ).max()
    told = "as if it had never been seen" if apart < 1e-9 else "DIFFERENT"
    print(f"Second batch forgotten: {told}.")


if __name__ == "__main__":
    main()
