"""Text beside linear models: TextNB() and n-grams chosen by the data, logistic regression, LinearSVC and NBSVM.

The collections and folds are those of `python -m benchmarks text`. Logistic regression and LinearSVC read TF-IDF
weights of 1- or 1-2-grams, with C by cross-validation on the training documents; logistic regression runs until no
slope of the mean loss exceeds 1e-5.
NBSVM is logistic regression on binarised 1-2-grams times the log-count ratios of Wang and Manning (2012), one class
against the rest. Log losses are computed from the log-probabilities and not clipped; LinearSVC has none.

noise     shuffled labels of every collection: the log loss of TextNB() relative to that of the class prior
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sunrise
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from benchmarks.text import COLLECTIONS
from benchmarks.timing import line

Texts = list[str]
Labels = NDArray[Any]
#: Returns predictions and, if the model has probabilities, log-probabilities (texts x classes).
Result = tuple[Labels, NDArray[np.float64] | None]

#: Claims of the default and of n-grams chosen by the data: accuracy to .003 and log loss to 5 %.
CLAIMED = {
    "20news": ((0.861, 0.485), (0.861, 0.488)),
    "sms": ((0.986, 0.048), (0.987, 0.044)),
    "ling": ((0.995, 0.013), (0.994, 0.012)),
    "enron": ((0.977, 0.070), (0.980, 0.058)),
    "assassin": ((0.989, 0.026), (0.990, 0.022)),
}


def ours(**settings: Any) -> Callable[[Texts, Labels, Texts], Result]:
    def run(X: Texts, y: Labels, new: Texts) -> Result:
        model = sunrise.TextNB(**settings).fit(X, y)
        log_p = model.predict_log_proba(new)
        return model.classes_[log_p.argmax(axis=1)], log_p

    return run


def logistic(n: int) -> Callable[[Texts, Labels, Texts], Result]:
    def run(X: Texts, y: Labels, new: Texts) -> Result:
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, n), min_df=1 if n == 1 else 2)
        model = LogisticRegressionCV(
            Cs=[1.0, 10.0, 100.0, 1000.0], cv=3, scoring="neg_log_loss", max_iter=5000, tol=1e-5
        )
        model.fit(words.fit_transform(X), y)
        log_p = model.predict_log_proba(words.transform(new))
        return model.classes_[log_p.argmax(axis=1)], log_p

    return run


def svc(X: Texts, y: Labels, new: Texts) -> Result:
    words = TfidfVectorizer(sublinear_tf=True)
    model = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(words.fit_transform(X), y)
    return model.predict(words.transform(new)), None


def nbsvm(X: Texts, y: Labels, new: Texts) -> Result:
    """Score classes against the rest, and normalise the probabilities of more than two classes."""
    words = CountVectorizer(binary=True, ngram_range=(1, 2), min_df=2)
    train, test = words.fit_transform(X), words.transform(new)
    classes = np.unique(y)
    scores = []
    for label in classes[1:] if len(classes) == 2 else classes:
        own = y == label
        p, q = (1.0 + np.asarray(train[mask].sum(axis=0)).ravel() for mask in (own, ~own))
        ratio = np.log(p / p.sum()) - np.log(q / q.sum())
        model = LogisticRegression(C=1.0, max_iter=2000).fit(train.multiply(ratio).tocsr(), own)
        scores.append(model.predict_log_proba(test.multiply(ratio).tocsr()))
    log_p = scores[0] if len(classes) == 2 else np.stack([score[:, 1] for score in scores], axis=1)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    return classes[log_p.argmax(axis=1)], log_p


MODELS: dict[str, Callable[[Texts, Labels, Texts], Result]] = {
    "TextNB()": ours(),
    'TextNB(ngram_range="auto")': ours(ngram_range="auto"),
    "logistic regression, 1-grams": logistic(1),
    "logistic regression, 1-2-grams": logistic(2),
    "LinearSVC": svc,
    "NBSVM": nbsvm,
}


def measure(name: str, run: Callable[[Texts, Labels, Texts], Result]) -> tuple[float, float]:
    """Return accuracy and log loss over all folds of a collection; the log loss is NaN without probabilities."""
    texts, y, folds = COLLECTIONS[name]()
    right, loss, n = 0, 0.0, 0
    for train, test in folds:
        found, log_p = run([texts[k] for k in train], y[train], [texts[k] for k in test])
        right, n = right + int((found == y[test]).sum()), n + len(test)
        true = np.searchsorted(np.unique(y[train]), y[test])
        loss -= float("nan") if log_p is None else float(log_p[np.arange(len(true)), true].sum())
    return right / n, loss / n


def noise() -> bool:
    """Print the log loss of shuffled labels relative to that of the class prior; return True if one exceeds 2 %."""
    line("collection, labels shuffled", "log loss", "of the class prior", "ratio")
    print("|---|---|---|---|", flush=True)
    worst = 0.0
    for name, read in COLLECTIONS.items():
        texts, y, folds = read()
        y = np.random.default_rng(0).permutation(y)
        train, test = folds[0]
        model = sunrise.TextNB().fit([texts[k] for k in train], y[train])
        true = np.searchsorted(model.classes_, y[test])
        rows = model.predict_log_proba([texts[k] for k in test])[np.arange(len(true)), true]
        loss, prior = -float(rows.mean()), -float(np.log(model.class_prior_)[true].mean())
        line(name, f"{loss:.4f}", f"{prior:.4f}", f"{loss / prior:.4f}")
        worst = max(worst, loss / prior)
    return worst > 1.02


def main(wanted: list[str]) -> int:
    """Compare the models on all collections, or on the named ones; return 1 if a claim is missed."""
    names = [name for name in wanted if name in COLLECTIONS] or ([] if wanted else list(COLLECTIONS))
    missed = False
    for kind in (ConvergenceWarning, FutureWarning):
        warnings.simplefilter("ignore", kind)
    for name in names:
        line(name, "accuracy", "log loss", "claimed")
        print("|---|---|---|---|", flush=True)
        for k, (label, run) in enumerate(MODELS.items()):
            accuracy, loss = measure(name, run)
            claim = CLAIMED[name][k] if k < 2 else None
            told = "" if claim is None else f"{claim[0]:g} / {claim[1]:g}"
            line(label, f"{accuracy:.4f}", f"{loss:.4f}", told)
            if claim is not None:
                missed |= accuracy < claim[0] - 0.003 or loss > 1.05 * claim[1]
        print()
    if not wanted or "noise" in wanted:
        missed |= noise()
    return int(missed)
