"""Rows drawn from a model: they teach the same model and have the types of the columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from plain import NaiveBayes
from sunrise import BernoulliNB, GaussianNB, MultinomialNB
from sunrise.datasets import load_heart_disease

RNG = np.random.default_rng(11)


def test_rows_drawn_from_a_model_teach_the_same_model():
    means, variances = [[0.0, 5.0], [3.0, -1.0]], [[1.0, 4.0], [0.25, 9.0]]
    truth = GaussianNB.from_parameters(means, variances, classes=["a", "b"], class_prior=[0.3, 0.7])
    X, y = truth.sample(40_000, random_state=1)
    again = GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(again.theta_, truth.theta_, atol=0.1)
    np.testing.assert_allclose(again.var_, truth.var_, rtol=0.06)  # variances, not deviations
    np.testing.assert_allclose(again.class_prior_, [0.3, 0.7], atol=0.01)


def test_drawn_cells_have_the_types_of_their_columns(heart):
    model = NaiveBayes("auto-fast").fit(heart, "disease")
    rows, labels = model.sample(300, random_state=0)
    assert list(rows.columns) == list(heart.columns[1:]) and set(labels) <= {"no", "yes"}
    assert rows["exercise_angina"].dtype == bool and rows["chest_pain"].isin(heart["chest_pain"]).all()
    assert rows["vessels"].isin([0, 1, 2, 3]).all() and (rows["age"] % 1 == 0).all()
    assert NaiveBayes(model.fixed_families_).fit(rows, labels).score(heart, "disease") > 0.7
    fitted = NaiveBayes().fit(load_heart_disease("polars").frame, "disease")
    assert isinstance(fitted.sample(3, random_state=0)[0], pl.DataFrame)
    same = [model.sample(5, random_state=3)[0] for _ in range(2)]
    pd.testing.assert_frame_equal(*same)


def test_labels_may_be_given_and_left_out_columns_are_missing():
    table = {"x": RNG.normal(size=40), "one": [1] * 40}
    model = NaiveBayes().fit(table, ["a", "b"] * 20)
    rows, labels = model.sample(3, y=["b", "a", "b"])
    assert labels.tolist() == ["b", "a", "b"] and rows["one"] == [None] * 3
    with pytest.raises(ValueError, match="'c' is not one of the classes"):
        model.sample(2, y="c")
    with pytest.raises(ValueError, match="complement is not a distribution"):
        sr.ComplementNB().fit([[1, 0], [0, 1]], [0, 1]).sample(1)


def test_drawn_cells_are_of_the_kinds_that_were_seen():
    table = {
        "level": [1.0, None, 2.0, 1.0],
        "flag": [True, False, True, True],
        "never": [None] * 4,
        "same": [2.5] * 4,
        "text": ["u", None, "v", "u"],
    }
    families = {
        "level": sr.Categorical(missing="level"),
        "flag": "categorical",
        "never": "categorical",
        "same": "gaussian",
    }
    families["text"] = sr.Categorical(missing="level")
    rows, _ = NaiveBayes(families).fit(table, [0, 1, 0, 1]).sample(200, random_state=0)
    assert set(rows["level"]) == {1, 2, None} and set(rows["text"]) == {"u", "v", None}
    assert set(rows["flag"]) == {True, False} and set(rows["never"]) == set(rows["same"]) == {None}
    above = BernoulliNB(binarize=5.0).fit([[9.0], [1.0], [9.0]], [0, 0, 0])
    assert (above.sample(500, random_state=0)[0] > 5).mean() == pytest.approx(0.6, abs=0.1)
    mixed = NaiveBayes({"k": "categorical"}).fit({"k": [1, 2]}, [0, 1]).partial_fit({"k": ["x", "y"]}, [0, 1])
    assert set(mixed.sample(300, random_state=0)[0]["k"]) == {1, 2, "x", "y"}
    assert MultinomialNB().fit([[1, 2]], [0]).sample(0)[0].shape[0] == 0
    with pytest.raises(ValueError, match="1 labels for 5 rows"):
        above.sample(5, y=[0])


def test_drawn_frames_have_the_names_of_the_columns():
    frame = pd.DataFrame(RNG.normal(size=(30, 2)))
    model = NaiveBayes().fit(frame, np.arange(30) % 2)
    assert np.isfinite(model.score_samples(model.sample(3, random_state=0)[0])).all()
