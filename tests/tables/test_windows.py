"""Windows over streams: sliding over rows or batches, and fading."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

FAMILIES = {
    "x": "gaussian",
    "n": "poisson",
    "c": "categorical",
    "k": "kernel",
    "b": "bernoulli",
    "t": "text",
}


def table(seed, n):
    """Rows whose distribution, levels and words drift with the seed."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(seed, 1.0, n),
            "n": rng.poisson(2 + seed, n),
            "c": [f"level {seed + k}" for k in rng.integers(0, 3, n)],
            "k": rng.gamma(2.0, 1 + seed, n),
            "b": rng.random(n) < 0.3,
            "t": [f"word{seed} again{k} and so on and on" for k in rng.integers(0, 5, n)],
        }
    ), np.array(["p", "q", f"class {seed // 3}"])[rng.integers(0, 3, n)]


def joined(batches):
    return pd.concat([X for X, _ in batches], ignore_index=True), np.concatenate([y for _, y in batches])


def assert_same(model, truth, X):
    assert model.classes_.tolist() == truth.classes_.tolist()
    np.testing.assert_array_equal(model.class_count_, truth.class_count_)
    np.testing.assert_allclose(model.predict_log_proba(X), truth.predict_log_proba(X), rtol=1e-8, atol=1e-9)


def plain():
    return sr.NaiveBayes(FAMILIES, calibrate=None)


def test_a_window_over_batches_equals_a_fit_on_the_last_ones():
    batches = [table(seed, 20 + 3 * seed) for seed in range(9)]
    window = sr.Window(plain(), batches=3)
    for k, (X, y) in enumerate(batches):
        window.partial_fit(X, y)
        X, y = joined(batches[max(0, k - 2) : k + 1])
        assert_same(window.model_, plain().fit(X, y), X)
        np.testing.assert_array_equal(window.predict(X), window.model_.predict(X))
    for part in window._batches:  # statistics, no rows
        assert not hasattr(part, "parts")


def test_a_window_over_rows_equals_a_fit_on_the_last_ones():
    batches = [table(seed, 7 + 11 * (seed % 3)) for seed in range(9)]
    window = sr.Window(plain(), rows=40)
    for k, (X, y) in enumerate(batches):
        window.partial_fit(X if k % 2 else pl.from_pandas(X), y)
        X, y = joined(batches[: k + 1])
        assert_same(window.model_, plain().fit(X[-40:], y[-40:]), X[-40:])
    X, y = table(20, 100)  # more rows than the window has
    assert_same(window.partial_fit(X, y).model_, plain().fit(X[-40:], y[-40:]), X)


def test_a_window_that_fades_equals_a_weighted_fit():
    batches = [table(seed, 10 + seed) for seed in range(6)]
    window = sr.Window(plain(), half_life=15.0, prune=None)
    families = {name: family for name, family in FAMILIES.items() if name != "t"}  # documents decay, too
    window.set_params(model__families=families)
    for X, y in batches:
        window.partial_fit(X, y)
    X, y = joined(batches)
    later = np.cumsum([len(y) for _, y in batches][::-1])[::-1] - [len(y) for _, y in batches]
    weight = np.repeat(0.5 ** (later / 15.0), [len(y) for _, y in batches])
    truth = sr.NaiveBayes(families, calibrate=None).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(window.predict_log_proba(X), truth.predict_log_proba(X), rtol=1e-8)


@pytest.mark.parametrize("size", [{"rows": 150}, {"batches": 3}, {"rows": 1200}, {"batches": 24}])
def test_windows_over_models_that_choose_their_families(size):
    batches = [table(k // 10, 50) for k in range(40)]
    window = sr.Window(sr.NaiveBayes(calibrate=None), **size)
    for X, y in batches:
        window.partial_fit(X, y)
    n = size.get("rows") or 50 * size["batches"]
    X, y = (part[-n:] for part in joined(batches))
    assert ("_kept" in window.model_.__dict__) == (n < 1000)
    truth = sr.NaiveBayes(window.model_.fixed_families_, calibrate=None).fit(X, y)
    assert_same(window.model_, truth, X)


def test_a_column_that_wakes_up_in_a_window():
    def batch(k):
        return {"x": np.arange(10.0) + k, "c": ["one"] * 10 if k < 3 else ["one", "two"] * 5}, ["a", "b"] * 5

    window = sr.Window(sr.NaiveBayes({"x": "gaussian"}, calibrate=None), batches=4)
    X, y = batch(0)
    window.partial_fit({name: np.tile(cells, 100) for name, cells in X.items()}, y * 100)  # decides
    for k in range(1, 7):
        window.partial_fit(*batch(k))
    parts = [batch(k) for k in range(3, 7)]
    X = {name: np.concatenate([part[name] for part, _ in parts]) for name in ("x", "c")}
    truth = sr.NaiveBayes(window.model_.fixed_families_, calibrate=None).fit(X, ["a", "b"] * 20)
    np.testing.assert_allclose(window.predict_proba(X), truth.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("size", [{"rows": 4}, {"batches": 2}])
def test_texts_and_sparse_rows(size):
    window = sr.Window(sr.TextNB(calibrate=None), **size)
    texts = [["free prize", "see you"], ["call now", "lunch at noon"], ["free lunch", "you there"]]
    for batch in texts:
        window.partial_fit(batch, ["s", "h"])
    truth = sr.TextNB(calibrate=None).fit(texts[1] + texts[2], ["s", "h", "s", "h"])
    np.testing.assert_allclose(window.predict_proba(texts[0]), truth.predict_proba(texts[0]), rtol=1e-12)


def test_a_window_that_fades_needs_bounded_memory():
    window, sizes = sr.Window(sr.TextNB(calibrate=None), half_life=20), []
    for k in range(600):
        window.partial_fit([f"new{k} word", f"other{k} word"], ["a", "b"])
        sizes.append(len(pickle.dumps(window)))
    assert sizes[-1] < 1.05 * sizes[250]
    assert window.model_.class_count_.sum() < 40


def test_a_failed_batch_changes_nothing():
    window = sr.Window(sr.GaussianNB(), rows=3).partial_fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    before = pickle.dumps(window)
    with pytest.raises(ValueError, match="infinity"):
        window.partial_fit([[np.inf]], [1])
    assert pickle.dumps(window) == before


def test_announced_classes_and_a_new_fit():
    window = sr.Window(sr.GaussianNB(), rows=2).partial_fit(
        [[0.0], [1.0]], ["a", "b"], classes=["a", "b", "c"]
    )
    assert window.classes_.tolist() == ["a", "b", "c"]
    assert window.n_features_in_ == 1
    window.fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert window.classes_.tolist() == ["a", "b"] and window.n_features_in_ == 2
    assert window.score([[0.0, 1.0]], ["a"]) == 1.0


def test_settings():
    model = sr.GaussianNB()
    for settings in ({}, {"rows": 3, "batches": 2}, {"batches": 1, "half_life": 2.0}):
        with pytest.raises(ValueError, match="exactly one of rows=, batches= and half_life="):
            sr.Window(model, **settings).partial_fit([[0.0]], [0])
    for settings in (
        {"rows": 0},
        {"rows": 2.5},
        {"batches": True},
        {"half_life": -1.0},
        {"half_life": "day"},
    ):
        with pytest.raises(ValueError, match="above 0"):
            sr.Window(model, **settings).partial_fit([[0.0]], [0])
    with pytest.raises(TypeError, match="needs an estimator of sunrise"):
        sr.Window("model", rows=3).partial_fit([[0.0]], [0])
    window = sr.Window(sr.GaussianNB(var_smoothing=0.5), rows=3)
    assert clone(window).get_params()["model__var_smoothing"] == 0.5
    with pytest.raises(NotFittedError, match="not fitted"):
        window.predict([[0.0]])
    assert not hasattr(window, "classes_")


@pytest.mark.newest
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("size", [{"rows": 10_000}, {"batches": 100}])
def test_scikit_learn_accepts_windows(size):
    check_estimator(sr.Window(sr.GaussianNB(), **size))
