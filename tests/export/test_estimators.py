"""Exports of the single-family estimators: one matrix of numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.test_families import check, exact

RNG = np.random.default_rng(0)
Y = np.arange(120) % 3
NUMBERS = exact(np.random.default_rng(1).normal(Y[:, None] + [0.0, 3.0, 1e3], [1.0, 2.0, 1.0]))
COUNTS = np.random.default_rng(2).poisson(1.0 + (Y[:, None] == [0, 1, 2, 2]) * 2.0, (120, 4)).astype(float)
BITS = (COUNTS > 1).astype(float)
FAR = NUMBERS + 4096.0 * Y[:, None]

MODELS = {
    "gaussian": (sr.GaussianNB(), NUMBERS),
    "gaussian far apart": (sr.GaussianNB(), FAR),
    "gaussian, given prior": (sr.GaussianNB(priors=[0.2, 0.0, 0.8]), NUMBERS),
    "bernoulli": (sr.BernoulliNB(), BITS),
    "bernoulli, binarize": (sr.BernoulliNB(binarize=1.0), COUNTS),
    "bernoulli, alpha 0": (sr.BernoulliNB(alpha=0.0, force_alpha=True), (COUNTS > 3).astype(float)),
    "multinomial": (sr.MultinomialNB(), COUNTS),
    "multinomial, alpha 0": (
        sr.MultinomialNB(alpha=0.0, force_alpha=True),
        COUNTS * (Y[:, None] != [0, 1, 2, 9]),
    ),
    "complement": (sr.ComplementNB(), COUNTS),
    "complement, norm": (sr.ComplementNB(norm=True), COUNTS),
    "categorical": (sr.CategoricalNB(), COUNTS),
    "categorical, reserve": (sr.CategoricalNB(unseen="reserve", min_categories=12), COUNTS),
    "poisson": (sr.PoissonNB(), COUNTS),
    "poisson, predictive": (sr.PoissonNB(estimate="predictive"), COUNTS),
    "kernel": (sr.KernelNB(), NUMBERS),
    "dirichlet_multinomial": (sr.DirichletMultinomialNB(), COUNTS),
    "auto, an array": (sr.NaiveBayes(), np.column_stack([NUMBERS, COUNTS])),
}


@pytest.mark.parametrize("name", MODELS)
def test_estimators(engine, name):
    model, X = MODELS[name]
    model = model.fit(X, Y)
    rows = X[:40].copy()
    rows[:3] = rows[:3] + 9.0 if "bernoulli" not in name else rows[:3]
    rows[np.random.default_rng(3).random(rows.shape) < 0.2] = np.nan
    rows[5] = np.nan
    check(engine, model, rows, 1e-6 if name.startswith(("kernel", "auto")) else None)


def test_a_variance_of_zero(engine):
    X = exact(np.random.default_rng(4).normal(size=(40, 2)))
    y = np.arange(40) % 2
    X[y == 0, 0] = 1.5
    model = sr.GaussianNB(var_smoothing=0.0).fit(X, y)
    check(engine, model, np.array([[1.5, 0.0], [1.25, 0.0], [np.nan, 1.0], [1.5, np.nan]]))


def test_given_parameters_and_other_priors(engine):
    model = sr.NaiveBayes.from_parameters(
        {"age": ("gaussian", {"mean": [40, 60], "sd": 10}), "smoker": ("bernoulli", {"yes": [0.2, 0.5]})},
        classes=[1.5, 2.5],
        class_prior=[0.9, 0.1],
    )
    X = pd.DataFrame({"age": [50.0, None, 61.0], "smoker": [1.0, 0.0, None]})
    check(engine, model, X)
    check(engine, model.with_class_prior([0.5, 0.5]), X)


@pytest.mark.parametrize("labels", [[True, False, True], [3, -1, 7], ["a'b", 'c"d', "ü"]], ids=str)
def test_labels_come_back(engine, labels):
    y = np.array(labels)[Y]
    model = sr.GaussianNB().fit(NUMBERS, y)
    _, label = engine(model, NUMBERS[:9])
    assert list(label) == model.predict(NUMBERS[:9]).tolist()


def test_one_class_and_no_column(engine):
    check(engine, sr.GaussianNB().fit(NUMBERS, np.zeros(120)), NUMBERS[:5])
    with pytest.warns(sr.NoColumnsWarning):
        nothing = sr.NaiveBayes().fit(pd.DataFrame({"a": [1.0] * 40, "b": ["x"] * 40}), Y[:40] % 2)
    check(engine, nothing, pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]}))


def test_updates_are_exported(engine):
    model = sr.GaussianNB().fit(NUMBERS[:60], Y[:60]).partial_fit(NUMBERS[60:], Y[60:])
    check(engine, model, NUMBERS[:10])
    stream = sr.NaiveBayes().partial_fit(pd.DataFrame(NUMBERS, columns=list("abc")), Y)
    check(engine, stream, pd.DataFrame(NUMBERS[:10], columns=list("abc")), 1e-6)
