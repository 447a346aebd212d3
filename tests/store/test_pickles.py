"""Pickles: the version that wrote them, and as few types as a model file allows."""

from __future__ import annotations

import copy
import datetime
import pickle
import warnings

import joblib
import model_zoo
import numpy as np
import pytest
import sunrise as sr
from sunrise._common import versioned
from sunrise.datasets import load_heart_disease


@pytest.fixture(scope="module")
def model():
    return sr.NaiveBayes().fit(load_heart_disease("pandas").frame, "disease")


def loads_with(data, version, monkeypatch):
    monkeypatch.setattr(versioned, "own_version", lambda: version)
    return pickle.loads(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sr.NaiveBayes(),
        lambda: sr.NaiveBayes().fit({"x": ["a", "b"] * 3}, [0, 1] * 3),
        lambda: sr.NaiveBayes().fit(
            {"x": ["a", "b"] * 3}, [datetime.timedelta(1), datetime.timedelta(2)] * 3
        ),
        lambda: sr.TextNB().fit(["good day", "bad day"] * 3, [0, 1] * 3),
        lambda: sr.InformationSelector(k=1).fit({"x": ["a", "b"] * 3}, [0, 1] * 3),
        lambda: sr.Window(sr.GaussianNB(), batches=2).partial_fit([[1.0], [2.0]], [0, 1]),
    ],
    ids=["unfitted", "fitted", "odd labels", "text", "selector", "window"],
)
def test_another_version_warns(make, monkeypatch):
    data = pickle.dumps(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(data)
    with pytest.warns(
        sr.VersionWarning, match=rf"pickled by sunrise {sr.__version__} and is read by sunrise 99.0"
    ):
        loads_with(data, "99.0", monkeypatch)


def test_a_pickle_without_a_version_warns(model):
    state = model.__getstate__()
    del state["_sunrise_version"]
    with pytest.warns(sr.VersionWarning, match="unknown version"):
        sr.NaiveBayes().__setstate__(state)


def test_a_pickled_model_is_the_model_with_its_own_attributes(model):
    heart = load_heart_disease("pandas").frame
    twin = copy.copy(model)
    twin.note = {"author": "someone"}
    twin.class_prior = "uniform"
    for again in (pickle.loads(pickle.dumps(twin)), copy.deepcopy(twin)):
        assert again.note == twin.note and again.get_params() == twin.get_params()
        np.testing.assert_array_equal(again.predict_proba(heart), model.predict_proba(heart))
        assert str(again.loo_score_) == str(model.loo_score_)
        assert again.partial_fit(heart, "disease").class_count_.sum() == 2 * model.class_count_.sum()
    assert not hasattr(model, "note") and model.class_prior == "fitted"


def test_labels_that_a_model_file_cannot_hold_are_pickled_nevertheless():
    labels = [datetime.timedelta(1), datetime.timedelta(2)] * 3
    model = sr.NaiveBayes().fit({"x": ["a", "b"] * 3}, labels)
    with pytest.raises(TypeError, match="class label"):
        model.save("never.sunrise")
    assert pickle.loads(pickle.dumps(model)).predict({"x": "a"})[0] == labels[0]


def test_joblib_and_subclasses(tmp_path, model):
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    rows = load_heart_disease("pandas").frame
    np.testing.assert_array_equal(
        joblib.load(tmp_path / "model.joblib").predict_proba(rows), model.predict_proba(rows)
    )
    twin = pickle.loads(pickle.dumps(Own().fit({"x": ["a", "b"] * 3}, [0, 1] * 3)))
    assert type(twin) is Own and twin.extra_ == 7


class Own(sr.NaiveBayes):
    """A subclass with a fitted attribute of its own."""

    def fit(self, X, y, sample_weight=None, **arguments):
        self.extra_ = 7
        return super().fit(X, y, sample_weight, **arguments)


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
def test_skops_needs_one_type(model):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    rows = {**model_zoo.table(), "more": model_zoo.table()["count"]}
    for own in (model, sr.NaiveBayes({("count", "more"): "multinomial"}).fit(rows, model_zoo.Y)):
        data = skops.dumps(own)
        assert skops.get_untrusted_types(data=data) == ["sunrise.estimators.naive_bayes.NaiveBayes"]
        again = skops.loads(data, trusted=sr.mlflow.TRUSTED_TYPES)
        assert again.get_params().keys() == own.get_params().keys()
    np.testing.assert_array_equal(again.predict_proba(rows), own.predict_proba(rows))
