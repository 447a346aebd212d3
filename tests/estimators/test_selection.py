"""Selecting columns by their information: the smaller model equals a model of those columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sunrise import BernoulliNB, GaussianNB, MultinomialNB
from sunrise.datasets import load_heart_disease

RNG = np.random.default_rng(11)


def test_the_smaller_model_is_the_model_of_those_columns(model, heart):
    small = model.select(4)
    kept = [heart.columns[1:][j] for j in small.selected_]
    best = sorted(zip(model.mutual_information(), heart.columns[1:], strict=True), reverse=True)[:4]
    assert set(kept) == {name for _, name in best}
    families = {name: model.fixed_families_[name] for name in kept}
    refit = NaiveBayes(families).fit(heart[kept], heart["disease"])
    np.testing.assert_allclose(small.predict_proba(heart), refit.predict_proba(heart[kept]), rtol=1e-12)
    np.testing.assert_allclose(small.predict_proba(heart[kept]), small.predict_proba(heart), rtol=1e-12)
    assert "left out: 0." in repr(small) and len(model.fixed_families_) == 13
    small.partial_fit(heart, "disease")
    assert small.class_count_.sum() == 2 * len(heart)
    assert set(model.select(min_bits=0.1).selected_) == set(np.flatnonzero(model.mutual_information() >= 0.1))


def test_selecting_words_gives_a_narrower_matrix():
    X, y = sparse.csr_array(RNG.poisson(0.4, (80, 30)).astype(float)), RNG.integers(0, 2, 80)
    for cls in (MultinomialNB, BernoulliNB, GaussianNB):
        full = cls().fit(X, y)
        small = full.select(7)
        narrow = X[:, small.selected_]
        refit = cls().fit(narrow, y)
        if cls is not GaussianNB:  # whose floor is of the largest column
            np.testing.assert_allclose(
                small.predict_log_proba(X[:, small.selected_]),
                refit.predict_log_proba(X[:, small.selected_]),
                rtol=1e-12,
            )
        small.partial_fit(X[:, small.selected_], y)
        assert small.n_features_in_ == 7 and full.n_features_in_ == 30


def test_wrong_questions_are_refused(model):
    for arguments in ({}, {"k": 0}, {"k": 99}, {"k": 2, "min_bits": 0.1}):
        with pytest.raises(ValueError, match="k is|pass either k"):
            model.select(**arguments)
    with pytest.raises(ValueError, match="no column has 5 bits"):
        model.select(min_bits=5)


def test_a_selector_for_pipelines_keeps_the_kind_of_table(heart):
    X, y = heart.drop(columns="disease"), heart["disease"]
    selector = sr.InformationSelector(k=3).fit(X, y)
    kept = selector.get_feature_names_out().tolist()
    assert list(selector.transform(X).columns) == kept
    polars = load_heart_disease("polars").data
    assert selector.transform(polars).columns == kept == selector.transform(polars.to_arrow()).column_names
    assert list(selector.transform(load_heart_disease().data)) == kept
    assert make_pipeline(sr.InformationSelector(min_bits=0.05), NaiveBayes()).fit(X, y).score(X, y) > 0.8
    numbers = sparse.csr_array(RNG.poisson(0.5, (60, 9)).astype(float))
    labels = np.asarray(numbers[:, [4]].toarray().ravel() > 0, int)
    assert (
        sr.InformationSelector(k=1, estimator=BernoulliNB()).fit(numbers, labels).get_support().argmax() == 4
    )
    assert SelectKBest(k=1).fit(numbers, labels).get_support().argmax() == 4


def test_a_model_of_given_numbers_can_be_narrowed():
    model = GaussianNB.from_parameters([[0.0, 0], [0, 9]], [[1.0, 1], [1, 1]], classes=[0, 1])
    assert model.select(1).theta_.tolist() == [[0.0], [9.0]]


def test_a_sparse_model_becomes_a_narrower_one():
    X, y = sparse.csr_array(RNG.poisson(0.5, (50, 12)).astype(float)), np.arange(50) % 2
    small = NaiveBayes().fit(X, y).select(5)
    narrow = X[:, small.selected_]
    again = clone(small).fit(narrow, y)
    np.testing.assert_allclose(small.predict_proba(narrow), again.predict_proba(narrow), rtol=1e-12)


def test_only_columns_that_are_used_can_be_selected():
    model = NaiveBayes().fit({"one": [1] * 40, "x": RNG.normal(size=40)}, [0, 1] * 20)
    assert model.select(1).selected_.tolist() == [1] == model.select(min_bits=0.0).selected_.tolist()
    for wrong in (2, 1.5, "1"):
        with pytest.raises(ValueError, match="k is"):
            model.select(wrong)
    again = model.select(1).fit({"one": [1, 2], "x": [0.5, 2.5]}, [0, 1])
    assert "selected_" not in vars(again)


def test_a_selector_goes_by_name_and_checks_what_it_gets():
    frame = pd.DataFrame({"a": RNG.normal(size=80), "b": np.arange(80) % 2, "c": RNG.normal(size=80)})
    y = np.arange(80) % 2
    selector = sr.InformationSelector(k=1).fit(frame, y)
    for table in (
        frame[["c", "b", "a"]],
        frame.assign(label=y)[["label", "b"]],
        pl.DataFrame(frame[["b", "a"]].to_dict("list")),
    ):
        assert list(selector.transform(table).columns) == ["b"]
    assert selector.transform([{"b": 1, "a": 2.0}]) == [{"b": 1}]
    with pytest.raises(ValueError, match="'b' was selected in fit and is missing"):
        selector.transform(frame[["a"]])
    with pytest.raises(ValueError, match="expecting 3 features"):
        selector.transform(np.zeros((2, 50)))
    assert not hasattr(selector.fit(frame.to_numpy(), y), "feature_names_in_")
    with pytest.raises(ValueError, match="no column has"):
        sr.InformationSelector(min_bits=2.0).fit(frame, y)
