"""Scores that can be believed: claimed scores against new rows, and calibration that does not learn noise."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sklearn.model_selection import StratifiedKFold
from sunrise import NaiveBayes, TextNB
from sunrise.datasets import load_heart_disease, load_house_votes


def noise(seed, n=100, columns=60):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.integers(0, 2, n)


def log_loss(model, X, y):
    log_p = model.predict_log_proba(X)
    return -log_p[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def cross_validated(X, y, n_folds=10, **settings):
    right, loss = 0, 0.0
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        model = NaiveBayes(**settings).fit(X.iloc[train], y[train])
        right += (model.predict(X.iloc[test]) == y[test]).sum()
        loss += log_loss(model, X.iloc[test], y[test]) * len(test)
    return right / len(y), loss / len(y)


def test_on_noise_the_claim_is_no_better_than_the_prior_and_neither_are_new_rows():
    claims, news = [], []
    for seed in range(20):
        X, y = noise(seed)
        model = NaiveBayes("gaussian", calibrate="columns").fit(X, y)
        score = model.loo_score_
        assert score.method == "5 folds" and score.rows == 100
        claims.append((score.log_loss, score.prior_log_loss))
        new = noise(1000 + seed, n=2000)
        share = np.bincount(y) / len(y)
        news.append((log_loss(model, *new), -np.log(share[new[1]]).mean()))
    claim, prior = np.mean(claims, axis=0)
    assert claim >= 0.99 * prior
    loss, prior = np.mean(news, axis=0)
    assert loss <= 1.02 * prior


@pytest.mark.slow
def test_so_it_is_with_families_chosen_by_score_over_20_seeds():
    rows = []
    for seed in range(20):
        X, y = noise(seed)
        model, new = NaiveBayes().fit(X, y), noise(1000 + seed, n=2000)
        score, share = model.loo_score_, np.bincount(y) / len(y)
        prior = -np.log(share[new[1]]).mean()
        rows.append((score.log_loss, score.prior_log_loss, log_loss(model, *new), prior))
    claim, claimed_prior, loss, prior = np.mean(rows, axis=0)
    assert claim >= 0.99 * claimed_prior
    assert loss <= 1.02 * prior


@pytest.mark.parametrize("load, label", [(load_heart_disease, "disease"), (load_house_votes, "party")])
def test_the_claim_is_near_cross_validation(load, label):
    frame = load("pandas").frame
    X, y = frame.drop(columns=label), frame[label].to_numpy()
    score = NaiveBayes().fit(X, y).loo_score_
    accuracy, loss = cross_validated(X, y)
    assert score.accuracy == pytest.approx(accuracy, abs=0.03)
    assert score.log_loss == pytest.approx(loss, rel=0.1, abs=0.02)


def test_folds_do_not_depend_on_the_order_of_rows_or_columns():
    frame = load_heart_disease("pandas").frame
    first = NaiveBayes().fit(frame, "disease").loo_score_
    shuffled = frame.sample(frac=1.0, random_state=3)[frame.columns[::-1]]
    second = NaiveBayes().fit(shuffled, "disease").loo_score_
    assert first[:6] == pytest.approx(second[:6], rel=1e-4)


def test_equal_rows_spread_over_the_folds():
    from sunrise.inference.folds import fold_of_rows

    fold = fold_of_rows(np.zeros(50, np.uint64), np.repeat([0, 1], 25))
    assert np.bincount(fold[:25]).tolist() == np.bincount(fold[25:]).tolist() == [5] * 5


def test_plain_models_keep_exact_leave_one_out_and_print_says_the_method():
    votes = load_house_votes("pandas").frame
    model = NaiveBayes(calibrate=None).fit(votes, "party")
    score = model.loo_score(votes, "party")
    assert score.method == "leave-one-out"
    y = np.searchsorted(model.classes_, votes["party"])
    log_p = model.leave_one_out(votes, "party")
    assert score.log_loss == pytest.approx(-log_p[np.arange(len(y)), y].mean(), rel=1e-12)
    assert "on unseen rows (5 folds)" in str(NaiveBayes().fit(votes, "party"))


def test_a_score_of_families_chosen_by_score_is_by_folds():
    X, y = noise(0)
    model = NaiveBayes(calibrate=None).fit(X, y)
    score = model.loo_score(X, y)
    log_p = model.leave_one_out(X, y)
    assert score.method == "5 folds"
    assert score.log_loss > -log_p[np.arange(100), y].mean()


def test_a_class_of_one_row_has_offset_0():
    rng = np.random.default_rng(0)
    X = {"x": np.r_[rng.normal(0, 1, 40), rng.normal(3, 1, 40), 9.0]}
    y = np.array(["a"] * 40 + ["b"] * 40 + ["only"])
    model = NaiveBayes("gaussian").fit(X, y)
    assert model.calibration_.offsets["only"] == 0.0
    assert model.loo_score_.left_out == 1


def test_class_weights_survive_calibration():
    rng = np.random.default_rng(1)
    y = (rng.random(2000) < 0.05).astype(int)
    X = rng.normal(size=(2000, 4)) + 0.8 * y[:, None]
    recalls = {
        (kind, weight): (
            NaiveBayes(calibrate=kind, class_weight=weight).fit(X, y).predict(X)[y == 1] == 1
        ).mean()
        for kind in (None, "columns", "temperature")
        for weight in (None, "balanced")
    }
    for kind in ("columns", "temperature"):
        assert recalls[kind, "balanced"] > recalls[None, "balanced"] - 0.1 > recalls[kind, None]


def test_a_temperature_does_not_lower_the_accuracy():
    # Outliers make a small temperature best for the log loss; the class prior must not take over.
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], [200, 80, 20])
    X = rng.normal(size=(300, 5)) + 1.5 * y[:, None]
    X[rng.random(X.shape) < 0.01] *= 1000.0
    plain, model = (NaiveBayes("gaussian", calibrate=kind).fit(X, y) for kind in (None, "temperature"))
    before, after = plain.loo_score(X, y).accuracy, model.loo_score_.accuracy
    assert after > before - 0.02
    assert model.score(X, y) > plain.score(X, y) - 0.02


def test_the_default_is_calibrated_unless_rows_are_few():
    votes = load_house_votes("pandas").frame
    assert NaiveBayes().fit(votes, "party").calibration_.kind == "columns"
    few = NaiveBayes().fit(votes.head(20), "party")
    assert few.calibration_ is None and few.loo_score_.method == "leave-one-out"
    texts = [f"{word} day {k}" for word in ("good", "bad") for k in range(20)]
    assert TextNB().fit(texts, [1] * 20 + [0] * 20).calibration_.kind == "words"
    counts = NaiveBayes("multinomial").fit(np.random.default_rng(0).poisson(2.0, (40, 4)), np.arange(40) % 2)
    assert counts.calibration_.kind == "temperature"


@pytest.mark.parametrize("output", ["predict_proba", "predict_log_proba", "predict_joint_log_proba"])
def test_a_row_with_nothing_observed_has_the_class_prior(output):
    votes = load_house_votes("pandas").frame
    model = NaiveBayes().fit(votes, "party")
    assert abs(model.calibration_.offsets["democrat"]) > 0.01
    rows = votes.drop(columns="party").head(3).astype(object)
    rows.iloc[1] = None
    values = getattr(model, output)(rows)
    expected = model.class_prior_ if output == "predict_proba" else np.log(model.class_prior_)
    np.testing.assert_allclose(values[1], expected, rtol=1e-12)
    others = getattr(model, output)(rows.iloc[[0, 2]])
    np.testing.assert_array_equal(values[[0, 2]], others)
    np.testing.assert_allclose(model.explain(rows).score, model.predict_joint_log_proba(rows), rtol=1e-12)


def test_so_have_a_document_without_known_words_and_its_prediction():
    words = ("good day", "good", "nice", "day", "fine good day", "bad", "awful")
    texts = [f"{word} number{k}" for word in words for k in range(8)]
    labels = np.repeat([1, 1, 1, 1, 1, 0, 0], 8)
    model = TextNB().fit(texts, labels)
    assert model.calibration_ is not None
    np.testing.assert_allclose(model.predict_proba(["never seen before"])[0], model.class_prior_)
    assert model.predict(["never seen before"])[0] == model.classes_[model.class_prior_.argmax()]


def test_stale_weights_warn_once_when_the_data_have_doubled():
    votes = load_house_votes("pandas").frame
    model = NaiveBayes().fit(votes.head(200), "party")
    model.partial_fit(votes.iloc[200:300], "party")
    rows = votes.head(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows)
    model.partial_fit(votes.iloc[300:], "party")
    with pytest.warns(
        sr.StaleCalibrationWarning, match="fitted to 200 rows, and now it has 435 rows.*recalibrate"
    ):
        model.predict(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(rows)
    model.recalibrate(votes, "party")
    assert model.calibration_.stale is False


def test_models_without_smoothing_fall_back_to_cross_fitted_weights():
    # Without the rows of a fold, class "b" has a single value of x, which has no maximum likelihood variance.
    X = pd.DataFrame({"x": [*np.arange(40.0), 1.0, 1.0, 2.0, 1.0], "z": np.tile([0.0, 1.0], 22)})
    y = np.array(["a"] * 40 + ["b"] * 4)
    model = NaiveBayes("gaussian", estimate="mle", calibrate="columns").fit(X, y)
    assert model.loo_score_.method in ("cross-fitted", "5 folds")
    assert np.isfinite(model.loo_score_.log_loss)
