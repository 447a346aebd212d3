"""`sunrise.cross_validate`: every choice is made again without the rows that judge it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit
from sunrise.datasets import load_heart_disease


@pytest.fixture(scope="module")
def heart():
    return load_heart_disease("pandas").frame


def test_scores_are_those_of_models_that_were_fitted_by_hand(heart):
    split = list(StratifiedKFold(4).split(heart, heart["disease"]))
    scores = sr.cross_validate(sr.NaiveBayes(), heart, y="disease", cv=split)
    for k, (train, test) in enumerate(split):
        model = sr.NaiveBayes().fit(heart.iloc[train], "disease")
        p, truth = model.predict_proba(heart.iloc[test]), heart["disease"].iloc[test]
        assert scores.accuracy[k] == accuracy_score(truth, model.classes_[p.argmax(axis=1)])
        assert scores.log_loss[k] == pytest.approx(log_loss(truth, p), rel=1e-12)
        assert scores.brier[k] == pytest.approx(brier_score_loss(truth == "yes", p[:, 1]), rel=1e-12)
        assert scores.families[k] == dict(
            zip(model.families_["column"], model.families_["family"], strict=True)
        )
    assert scores.mean["log_loss"] == pytest.approx(np.mean(scores.log_loss))
    assert scores.sd["accuracy"] == pytest.approx(np.std(scores.accuracy, ddof=1))
    assert scores.quality.rows == len(heart)
    assert scores.quality.confusion.sum() == len(heart)


def test_folds_are_stratified_and_do_not_depend_on_the_order_of_the_rows_or_the_library(heart):
    scores = sr.cross_validate(sr.NaiveBayes("auto-fast", calibrate=None), heart, y="disease")
    shares = [fold.confusion.sum(axis=1)[1] / fold.rows for fold in scores.folds]
    assert np.ptp(shares) < 1 / 30
    shuffled = heart.sample(frac=1, random_state=3)
    others = {
        "shuffled": shuffled,
        "polars": pl.from_pandas(heart),
        "pyarrow": pa.Table.from_pandas(heart, preserve_index=False),
        "dict": {name: heart[name].tolist() for name in heart},
    }
    for name, table in others.items():
        again = sr.cross_validate(sr.NaiveBayes("auto-fast", calibrate=None), table, y="disease")
        np.testing.assert_allclose(again.log_loss, scores.log_loss, rtol=1e-9, err_msg=name)
        np.testing.assert_array_equal(again.accuracy, scores.accuracy, err_msg=name)


@pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")
def test_a_choice_that_saw_the_rows_would_show():
    # Labels are noise, and every row has a level of its own: a model that has seen the test rows is always right.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": rng.permutation(200).astype(str), "x": rng.normal(size=200)})
    y = rng.integers(0, 2, 200)
    scores = sr.cross_validate(sr.NaiveBayes({"id": "categorical"}), X, y)
    assert 0.3 < scores.mean["accuracy"] < 0.7
    assert scores.mean["log_loss"] > 0.68


def test_arrays_sparse_matrices_and_documents():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    X = rng.poisson(np.where(y[:, None] == 0, [1.0, 3.0, 2.0], [3.0, 1.0, 2.0]))
    dense = sr.cross_validate(sr.MultinomialNB(), X, y, cv=3)
    held = sr.cross_validate(sr.MultinomialNB(), sparse.csr_matrix(X), y, cv=StratifiedKFold(3))
    assert dense.mean["accuracy"] > 0.75 and held.mean["accuracy"] > 0.75
    texts = ["ham " * (k % 3 + 1) + f"w{k % 7}" if k % 2 else f"spam w{k % 7}" for k in range(60)]
    assert sr.cross_validate(sr.TextNB(), texts, np.arange(60) % 2).mean["accuracy"] == 1.0


def test_the_baseline_is_the_class_prior_of_the_other_rows(heart):
    scores = sr.cross_validate(sr.NaiveBayes("auto-fast", calibrate=None), heart, y="disease")
    share = (heart["disease"] == "yes").mean()
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert np.mean([prior.log_loss for prior in scores.priors]) == pytest.approx(entropy, abs=1e-3)
    lines = repr(scores).splitlines()
    assert lines[0].startswith("NaiveBayes(") and lines[1].split()[:4] == ["fold", "rows", "accuracy", "log"]
    assert lines[-1].split()[:2] == ["class", "prior"] and "<td>mean</td>" in scores._repr_html_()


def test_other_classifiers_and_other_folds(heart):
    numbers = heart[["age", "max_heart_rate"]]
    line = sr.cross_validate(LogisticRegression(), numbers, heart["disease"])
    ours = sr.cross_validate(sr.GaussianNB(), numbers, heart["disease"])
    assert [fold.rows for fold in line.folds] == [fold.rows for fold in ours.folds]
    assert line.mean["log_loss"] == pytest.approx(ours.mean["log_loss"], abs=0.05)
    assert line.families == ()
    in_time = sr.cross_validate(sr.GaussianNB(), numbers, heart["disease"], cv=TimeSeriesSplit(3))
    assert [fold.rows for fold in in_time.folds] == [75, 75, 75]


def test_weights_rare_classes_and_rows_without_a_label(heart):
    y = heart["disease"].astype(object).to_numpy()
    rare = y.copy()
    rare[0] = "once"
    scores = sr.cross_validate(
        sr.NaiveBayes("auto-fast", calibrate=None), heart.drop(columns="disease"), rare
    )
    assert scores.quality.unknown == 1 and np.isfinite(scores.log_loss).all()
    assert "1 rows belong to a class without training rows" in repr(scores)
    weight = np.where(np.arange(len(y)) < 150, 2.0, 0.0)
    weighted = sr.cross_validate(
        sr.NaiveBayes("auto-fast", calibrate=None), heart.drop(columns="disease"), y, sample_weight=weight
    )
    assert weighted.quality.confusion.sum() == 300.0
    some = np.where(np.arange(len(y)) % 4 > 0, y, None)
    em = sr.NaiveBayes("auto-fast", unlabelled="em", calibrate=None)
    assert sr.cross_validate(em, heart.drop(columns="disease"), some, cv=3).quality.rows == (
        sum(label is not None for label in some)
    )


def test_the_model_does_not_change_and_bad_input_is_refused(heart):
    model = sr.NaiveBayes("auto-fast", calibrate=None).fit(heart, "disease")
    before = model.predict_proba(heart)
    sr.cross_validate(model, heart, y="disease", cv=2)
    np.testing.assert_array_equal(model.predict_proba(heart), before)
    with pytest.raises(ValueError, match="number of folds must be from 2 to 303"):
        sr.cross_validate(model, heart, y="disease", cv=1)
    with pytest.raises(TypeError, match="pass a number of folds, a splitter"):
        sr.cross_validate(model, heart, y="disease", cv="many")
    with pytest.raises(TypeError, match="Read it into a data frame"):
        sr.cross_validate(model, "heart.csv", y="disease")
    with pytest.raises(ValueError, match="no column of this name"):
        sr.cross_validate(model, heart, y="illness")
