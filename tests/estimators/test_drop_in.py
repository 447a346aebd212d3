"""Changing the import line is enough: arguments, fitted attributes and results are scikit-learn's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sunrise
from scipy import sparse
from sklearn import naive_bayes as peer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

FIVE = ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"]
OUTPUTS = ["predict_joint_log_proba", "predict_log_proba", "predict_proba"]

digits = load_digits(return_X_y=True)
half = np.arange(len(digits[1])) % 2 == 0

CASES = [
    ("GaussianNB", {}, load_iris(return_X_y=True)),
    ("GaussianNB", {"var_smoothing": 1e-3}, load_wine(return_X_y=True)),
    ("GaussianNB", {"priors": [0.2, 0.8]}, load_breast_cancer(return_X_y=True)),
    ("BernoulliNB", {}, digits),
    ("BernoulliNB", {"binarize": 8.0, "alpha": 0.1, "fit_prior": False}, digits),
    ("BernoulliNB", {"binarize": None}, (digits[0] > 4, digits[1])),
    ("MultinomialNB", {}, digits),
    ("MultinomialNB", {"alpha": np.linspace(0.1, 3, 64), "class_prior": np.full(10, 0.1)}, digits),
    ("MultinomialNB", {"alpha": 1e-12, "force_alpha": False}, digits),
    ("ComplementNB", {}, digits),
    ("ComplementNB", {"norm": True, "alpha": 0.5}, digits),
    ("CategoricalNB", {}, digits),
    ("CategoricalNB", {"alpha": 0.3, "min_categories": 20, "fit_prior": False}, digits),
]


@pytest.mark.parametrize("name", FIVE)
def test_the_arguments_are_scikit_learns_then_ours(name):
    theirs = list(inspect.signature(getattr(peer, name)).parameters.items())
    ours = list(inspect.signature(getattr(sunrise, name)).parameters.items())
    assert [(k, p.default) for k, p in ours[: len(theirs)]] == [(k, p.default) for k, p in theirs]
    assert all(p.kind is p.KEYWORD_ONLY for _, p in ours)


def assert_same(ours, theirs, X):
    for name, value in vars(theirs).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        mine = getattr(ours, name)
        if isinstance(value, list):
            for a, b in zip(mine, value, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13, err_msg=name)
        else:
            np.testing.assert_allclose(mine, value, rtol=1e-10, atol=1e-13, err_msg=name)
    for output in OUTPUTS:
        a, b = getattr(ours, output)(X), getattr(theirs, output)(X)
        # scikit-learn's own rounding of a joint score of thousands limits what can be asked of the rest.
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=output)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.999


@pytest.mark.parametrize(("name", "settings", "data"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:alpha too small")
def test_attributes_and_results(name, settings, data, weighted):
    X, y = data
    # Whole weights, so that the variance floor is the same for both: ours weighs it, scikit-learn's does not.
    w = None if not weighted else (np.ones(len(y)) if name == "GaussianNB" else 1.0 + np.arange(len(y)) % 3)
    theirs = getattr(peer, name)(**settings).fit(
        X if name != "CategoricalNB" else X.astype(int), y, sample_weight=w
    )
    ours = getattr(sunrise, name)(**settings).fit(X, y, sample_weight=w)
    assert_same(ours, theirs, X if name != "CategoricalNB" else X.astype(int))


@pytest.mark.parametrize(
    ("name", "settings", "data"), [case for case in CASES if case[0] not in ("GaussianNB", "CategoricalNB")]
)
@pytest.mark.filterwarnings("ignore:alpha too small")
def test_sparse_rows_and_partial_fit(name, settings, data):
    X, y = sparse.csr_matrix(data[0].astype(float)), data[1]
    theirs, ours = (getattr(module, name)(**settings) for module in (peer, sunrise))
    for model in (theirs, ours):
        model.partial_fit(X[half], y[half], classes=np.arange(10))
        model.partial_fit(X[~half], y[~half])
    assert_same(ours, theirs, X)


def test_an_announced_class_without_rows_is_part_of_the_model():
    X, y = load_iris(return_X_y=True)
    for name in ("BernoulliNB", "MultinomialNB", "GaussianNB"):
        theirs, ours = (getattr(module, name)() for module in (peer, sunrise))
        for model in (theirs, ours):
            model.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
        assert ours.classes_.tolist() == [0, 1, 2]
        assert ours.class_count_.tolist() == theirs.class_count_.tolist() == [50, 50, 0]
        assert (ours.predict_proba(X)[:, 2] == 0).all()
