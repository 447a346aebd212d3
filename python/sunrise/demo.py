"""The demo: predict a member of Congress's party from 16 votes, some of them missing.

Run it with `make demo` or `python -m sunrise.demo`.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sunrise import BernoulliNB
from sunrise.datasets import load_house_votes


def main() -> None:
    """Evaluate, explain, update, forget."""
    votes = load_house_votes()
    X, y = votes.data, votes.target
    print(
        f"US House of Representatives 1984: {len(X)} members, {X.shape[1]} votes, {np.isnan(X).sum()} missing cells."
    )

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(BernoulliNB(), X, y, cv=folds, method="predict_proba")
    model = BernoulliNB().fit(X, y)
    predicted = model.classes_[proba.argmax(axis=1)]
    print("\nParty from votes, 5-fold cross-validation, missing votes left out exactly:")
    print(f"  accuracy {accuracy_score(y, predicted):.3f}   log loss {log_loss(y, proba):.3f}")
    for party in model.classes_:
        print(f"  {party:<11} {np.mean(predicted[y == party] == party):.1%} recognised")

    row = int(np.argmin(np.abs(proba[:, 0] - 0.5)))
    print(f"\nThe closest call, member {row} ({y[row]}). Why the model says what it says (1 = yes, 0 = no):")
    print(model.explain(X[row : row + 1], columns=votes.feature_names).text())

    first, rest = slice(0, 200), slice(200, None)
    streamed = BernoulliNB().partial_fit(X[first], y[first]).partial_fit(X[rest], y[rest])
    same = np.array_equal(streamed.feature_log_prob_, model.feature_log_prob_)
    print(
        f"\nLearned in two batches instead of one: {'the same model, bit for bit' if same else 'DIFFERENT'}."
    )
    streamed.forget(X[rest], y[rest])
    alone = BernoulliNB().fit(X[first], y[first])
    same = np.array_equal(streamed.feature_log_prob_, alone.feature_log_prob_)
    print(f"Second batch forgotten: {'as if it had never been seen, bit for bit' if same else 'DIFFERENT'}.")


if __name__ == "__main__":
    main()
