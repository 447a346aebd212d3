"""suppress: a model without rare levels and words is the model of rows in which these cells are missing."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise
from plain import NaiveBayes
from sunrise import CategoricalNB, RareClassesWarning, TextNB
from sunrise.datasets import load_heart_disease

RNG = np.random.default_rng(5)
NAMES = np.array([f"town {k}" for k in range(40)])


def towns(n=400):
    """Levels, of which some are rare, a number, and three classes."""
    town = NAMES[np.minimum(RNG.geometric(0.15, n) - 1, 39)]
    age = np.round(RNG.normal(40.0, 10.0, n))
    return pd.DataFrame({"town": town, "age": age}), RNG.integers(0, 3, n)


def without_rare(column, k):
    times = column.value_counts()
    return column.where(column.isin(times[times >= k].index), None)


@pytest.mark.filterwarnings("ignore::sunrise.RareClassesWarning")
@pytest.mark.parametrize("k", [1, 2, 5, 30, 1000])
@pytest.mark.parametrize(
    "settings",
    [{}, {"unseen": "ignore"}, {"estimate": "mle", "unseen": "ignore"}, {"class_weight": "balanced"}],
)
def test_levels_of_few_rows_are_as_if_missing(k, settings):
    X, y = towns()
    model = NaiveBayes({"town": "categorical", "age": "gaussian"}, **settings).fit(X, y)
    assert model.suppress(min_rows=k) is model
    truth = NaiveBayes(model.fixed_families_, **settings).fit(X.assign(town=without_rare(X["town"], k)), y)
    assert model.class_count_.tolist() == truth.class_count_.tolist()
    assert list(model.parameters_["town"]) == list(truth.parameters_["town"])
    np.testing.assert_allclose(model.predict_log_proba(X), truth.predict_log_proba(X), rtol=1e-12)
    # Updates go on as from the other model.
    more, labels = towns(50)
    model.partial_fit(more, labels)
    truth.partial_fit(more, labels)
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(X), rtol=1e-12)


def test_codes_of_few_rows_are_as_if_missing():
    X, y = np.minimum(RNG.geometric(0.3, (300, 2)) - 1, 12), RNG.integers(0, 2, 300)
    model = CategoricalNB().fit(X, y).suppress(min_rows=5)
    rare = X.astype(float)
    for j in range(2):
        rare[np.bincount(X[:, j])[X[:, j]] < 5, j] = np.nan
    truth = CategoricalNB().fit(rare, y)
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")
def test_unseen_decides_about_suppressed_levels():
    X, y = towns()
    rare = X["town"].value_counts().index[-1]
    model = NaiveBayes({"town": "categorical", "age": None}, unseen="error").fit(X, y).suppress(5)
    with pytest.raises(ValueError, match=re.escape(repr(rare))):
        model.predict(pd.DataFrame({"town": [rare], "age": [40.0]}))
    model = NaiveBayes({"town": "categorical", "age": None}, unseen="ignore").fit(X, y).suppress(5)
    np.testing.assert_allclose(
        model.predict_proba(pd.DataFrame({"town": [rare], "age": [40.0]}))[0], model.class_prior_
    )
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget(X[X["town"] == rare], y[X["town"] == rare])
    own = X[X["town"] == rare].assign(town=None)
    assert model.forget(own, y[X["town"] == rare]).class_count_.sum() == 400 - len(own)


def documents(n=200):
    words = np.array([f"word{k:02d}" for k in range(60)])
    share = 1.0 / np.arange(1, 61) ** 1.5
    lengths = RNG.integers(3, 12, n)
    return [" ".join(RNG.choice(words, m, p=share / share.sum())) for m in lengths], RNG.integers(0, 2, n)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "complement"])
def test_words_of_few_documents_are_as_if_unknown(model):
    texts, y = documents()
    found = TextNB(model, calibrate=None).fit(texts, y).suppress(min_rows=6)
    times = pd.Series([w for text in texts for w in set(text.split())]).value_counts()
    rare = set(times[times < 6].index)
    assert rare and len(rare) < len(times)
    rest = [" ".join(w for w in text.split() if w not in rare) for text in texts]
    truth = TextNB(model, calibrate=None).fit(rest, y)
    np.testing.assert_allclose(found.predict_proba(texts), truth.predict_proba(rest), rtol=1e-9)
    data = pickle.dumps(found)
    assert not any(word.encode() in data for word in rare)


@pytest.mark.parametrize("settings", [{}, {"model": "dirichlet_multinomial"}])
def test_words_leave_no_trace_in_other_models_of_text(settings):
    texts, y = documents()
    model = TextNB(calibrate=None, **settings).fit(texts, y)
    times = pd.Series([w for text in texts for w in set(text.split())]).value_counts()
    data = pickle.dumps(model.suppress(min_rows=6))
    for word, n in times.items():
        assert (word.encode() in data) == (n >= 6)
    # Lengths of documents still count the removed words, so that a refit without them differs a little.
    rest = [" ".join(w for w in text.split() if times[w] >= 6) for text in texts]
    truth = TextNB(calibrate=None, **settings).fit(rest, y)
    assert np.abs(model.predict_proba(rest) - truth.predict_proba(rest)).max() < 0.1
    model.partial_fit(texts[:20], y[:20])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_declared_levels_of_few_rows_leave_no_trace(library):
    X, y = towns()
    names = [*NAMES.tolist(), "nobody lives here"]
    if library == "pandas":
        table = X.assign(town=pd.Categorical(X["town"], categories=names))
    else:
        table = pl.DataFrame(
            {"town": pl.Series(X["town"].tolist(), dtype=pl.Enum(names)), "age": X["age"].to_numpy()}
        )
    model = NaiveBayes("auto-fast").fit(table, y)
    assert "nobody lives here" in model.parameters_["town"]
    model.suppress(min_rows=5)
    times = X["town"].value_counts()
    often = set(times[times >= 5].index)
    assert set(model.parameters_["town"]) == often | {"(unseen)"}
    data = pickle.dumps(vars(model))
    for name in names:
        assert (f"{name}".encode() + b"\x94" in data) == (name in often), name
    rows, _ = model.sample(100, random_state=0)
    assert set(rows["town"]) <= often
    model.partial_fit(table, y).predict(table)


def test_a_calibration_goes_stale_only_if_something_changes():
    heart = load_heart_disease("pandas")
    model = sunrise.NaiveBayes(calibrate="columns").fit(heart.data, heart.target)
    weights = model._model.calibration.weights
    model.suppress(1)
    assert not model._model.calibration.stale and "loo_score_" in model.__dict__
    model.suppress(40)
    assert model._model.calibration.stale and "loo_score_" not in model.__dict__
    assert np.array_equal(model._model.calibration.weights, weights)


def test_rare_classes_stay_and_are_warned_of():
    X, y = towns()
    y = np.where(np.arange(400) < 3, 7, y)
    model = NaiveBayes("auto-fast").fit(X, y)
    with pytest.warns(RareClassesWarning, match=r"1 classes have fewer than 5 rows, for example 7"):
        model.suppress(5)
    assert model.classes_.tolist() == [0, 1, 2, 7]


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None])
def test_min_rows_is_a_whole_number(k):
    model = NaiveBayes("auto-fast").fit(*towns())
    with pytest.raises(ValueError, match="min_rows is"):
        model.suppress(k)


def test_given_parameters_stay():
    given = {"smoker": ("categorical", {"yes": [0.2, 0.5], "no": [0.8, 0.5]})}
    model = sunrise.NaiveBayes.from_parameters(given, classes=["a", "b"])
    before = model.predict_proba({"smoker": "yes"})
    assert np.array_equal(model.suppress(5).predict_proba({"smoker": "yes"}), before)


def test_values_of_sleeping_columns_are_suppressed():
    X = pd.DataFrame({"x": ["same"] * 1998 + ["secret"] * 2, "z": RNG.normal(size=2000)})
    X.loc[1998:, "x"] = "same"
    y = RNG.integers(0, 2, 2000)
    model = NaiveBayes("auto-fast").fit(X, y)
    numbers = pd.DataFrame({"x": [1.5] * 1998 + [7.25, 8.75], "z": X["z"]})
    model = NaiveBayes("auto-fast").fit(numbers[:1000], y[:1000]).partial_fit(numbers[1000:], y[1000:])
    assert b"8.75" in pickle.dumps(model)
    model.suppress(5)
    assert b"8.75" not in pickle.dumps(model)
