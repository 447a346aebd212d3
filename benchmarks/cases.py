"""Timed cases: the data, the two estimators and the claimed ratio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sunrise
from scipy import sparse
from sklearn import naive_bayes as peer
from sklearn.datasets import load_iris


@dataclass(frozen=True)
class Case:
    """One comparison: the same call on two estimators."""

    name: str
    peer: Callable[[], Any]
    ours: Callable[[], Any]
    #: Claimed minimum of the time of scikit-learn divided by the time of Sunrise.
    claimed: float
    #: Bytes of input that a fit must read; 0 if the bandwidth is not reported.
    bytes: int = 0
    #: Calls per measurement; above 1 for calls that take microseconds.
    repeat: int = 1


def _fit_and_derive(model: Any, X: Any, y: Any, attribute: str) -> Any:
    # Sunrise derives parameters at their first use; the timed fit must include this step.
    return getattr(model.fit(X, y), attribute)


def _pair(
    name: str, cls: str, attribute: str, X: Any, y: Any, n_bytes: int, fit: float, proba: float
) -> list[Case]:
    theirs, ours = getattr(peer, cls), getattr(sunrise, cls)
    a, b = theirs().fit(X, y), ours().fit(X, y)
    cases = []
    if fit:
        cases.append(
            Case(
                f"{cls}.fit, {name}",
                lambda: theirs().fit(X, y),
                lambda: _fit_and_derive(ours(), X, y, attribute),
                fit,
                n_bytes,
            )
        )
    cases.append(
        Case(f"{cls}.predict_proba, {name}", lambda: a.predict_proba(X), lambda: b.predict_proba(X), proba)
    )
    return cases


def gaussian() -> list[Case]:
    """500,000 rows of 100 numbers, 10 classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 500_000)
    X = rng.normal(size=(500_000, 100)) + y[:, None] * 0.1
    return _pair("500k x 100 float64, 10 classes", "GaussianNB", "var_", X, y, X.nbytes, 18, 25)


def categorical() -> list[Case]:
    """500,000 rows of 50 category codes, 10 classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 500_000)
    X = rng.integers(0, 20, (500_000, 50))
    name = "500k x 50 columns x 20 levels, 10 classes"
    return _pair(name, "CategoricalNB", "feature_log_prob_", X, y, X.nbytes, 80, 20)


def counts() -> list[Case]:
    """200,000 documents of 100 words out of 100,000, 20 classes."""
    rng = np.random.default_rng(0)
    n, words, length = 200_000, 100_000, 100
    indices = np.sort(rng.integers(0, words, (n, length)), axis=1).ravel().astype(np.int32)
    data = rng.integers(1, 5, n * length).astype(float)
    X = sparse.csr_array((data, indices, np.arange(0, n * length + 1, length, dtype=np.int32)), (n, words))
    X.sum_duplicates()
    y = rng.integers(0, 20, n)
    name = "CSR 200k x 100k, 100 non-zeros a row, 20 classes"
    size = X.data.nbytes + X.indices.nbytes
    return [
        *_pair(name, "MultinomialNB", "feature_log_prob_", X, y, size, 3.5, 4),
        *_pair(name, "BernoulliNB", "feature_log_prob_", X, y, size, 0, 4),
    ]


def small() -> list[Case]:
    """The overhead of a call: one row and 150 rows."""
    iris = load_iris()
    X, y = iris.data, iris.target
    a, b = peer.GaussianNB().fit(X, y), sunrise.GaussianNB().fit(X, y)
    row = X[:1]
    return [
        Case(
            "GaussianNB.predict_proba, one row of Iris",
            lambda: a.predict_proba(row),
            lambda: b.predict_proba(row),
            18,
            repeat=300,
        ),
        Case(
            "GaussianNB.fit, Iris",
            lambda: peer.GaussianNB().fit(X, y),
            lambda: _fit_and_derive(sunrise.GaussianNB(), X, y, "var_"),
            4.5,
            repeat=100,
        ),
    ]


GROUPS: list[Callable[[], list[Case]]] = [gaussian, categorical, counts, small]
