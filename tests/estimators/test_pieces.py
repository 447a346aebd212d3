"""Rows that need a matrix of scores are scored piece by piece: the same results, in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sunrise import BernoulliNB, CategoricalNB, MultinomialNB, NaiveBayes, TextNB
from sunrise.engines import pieces

RNG = np.random.default_rng(5)
Y = RNG.integers(0, 4, 300)
COUNTS = RNG.poisson(1.0 + 0.5 * (Y[:, None] == np.arange(4)), (300, 4)).astype(float)
WORDS = [" ".join(f"w{k}" for k in RNG.integers(0, 20 + 10 * y, 1 + 9 * (k % 2))) for k, y in enumerate(Y)]


def with_missing(X):
    return np.where(RNG.random(X.shape) < 0.2, np.nan, X)


CASES = {
    "cells of probability 0": lambda: (MultinomialNB(alpha=0.0).fit((COUNTS > 2) * COUNTS, Y), COUNTS),
    "missing counts": lambda: (MultinomialNB().fit(COUNTS, Y), with_missing(COUNTS)),
    "functions of cells": lambda: (
        NaiveBayes("negative_binomial", estimate="predictive", calibrate=None).fit(COUNTS, Y),
        with_missing(COUNTS),
    ),
    "documents of many lengths": lambda: (TextNB().fit(WORDS, Y), [*WORDS, "", "unknown words"]),
    "rows that say nothing": lambda: (
        NaiveBayes(calibrate="columns").fit(COUNTS, Y),
        np.where(RNG.random((300, 1)) < 0.3, np.nan, COUNTS),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_pieces_do_not_change_the_result(case, monkeypatch):
    model, X = CASES[case]()
    methods = model.predict, model.predict_proba, model.predict_joint_log_proba
    expected = [method(X) for method in methods]
    monkeypatch.setattr(pieces, "PIECE", 29)
    for method, whole in zip(methods, expected, strict=True):
        np.testing.assert_array_equal(method(X), whole)


@pytest.mark.filterwarnings("ignore")
def test_an_error_names_the_row_of_the_table(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 29)
    model = BernoulliNB(alpha=0.0, binarize=None).fit((COUNTS > 2).astype(float), Y)
    X = (COUNTS > 2).astype(float)
    X[217, 2] = 3.0
    with pytest.raises(ValueError, match="row 217"):
        model.predict(X)
    counts = NaiveBayes("negative_binomial", estimate="predictive", calibrate=None).fit(COUNTS, Y)
    X = COUNTS.copy()
    X[123, 1] = -1.0
    with pytest.raises(ValueError, match="row 123"):
        counts.predict(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [CategoricalNB(), MultinomialNB(alpha=0.0), MultinomialNB()], ids=str)
def test_predict_needs_no_matrix_of_rows_and_classes(model):
    n, n_classes = 20_000, 1_000
    y = np.arange(n) % n_classes
    X = np.random.default_rng(0).integers(0, 5, (n, 3)).astype(float)
    model.fit(X, y)
    if isinstance(model, MultinomialNB):
        X[::2, 0] = np.nan
    model.predict(X[:10])
    tracemalloc.start()
    model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * 8 * n * n_classes
