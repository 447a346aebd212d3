"""Results one can use: importances for scikit-learn, bits by name, printed families, and a quiet namespace."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.pipeline import make_pipeline
from sunrise.datasets import load_heart_disease


@pytest.fixture(scope="module")
def heart():
    return load_heart_disease("pandas").frame


@pytest.fixture(scope="module")
def model(heart):
    return sr.NaiveBayes().fit(heart, "disease")


def test_importances_are_the_bits_of_the_columns(model):
    assert type(model.feature_importances_) is np.ndarray
    np.testing.assert_array_equal(model.feature_importances_, model.mutual_information(per_row=True))
    assert not hasattr(sr.NaiveBayes(), "feature_importances_")
    counts = sr.ComplementNB().fit([[1, 0], [0, 1]], [0, 1])
    assert not hasattr(counts, "feature_importances_")
    with pytest.raises(AttributeError, match="not a distribution of the cells"):
        print(counts.feature_importances_)


def test_select_from_model_takes_mixed_tables(heart, model):
    X, y = heart.drop(columns="disease"), heart["disease"]
    chosen = SelectFromModel(sr.NaiveBayes(), max_features=4, threshold=-np.inf).fit(X, y)
    best = np.sort(np.argsort(-model.feature_importances_)[:4])
    np.testing.assert_array_equal(np.flatnonzero(chosen.get_support()), best)
    chosen.set_output(transform="pandas")
    pipe = make_pipeline(chosen, sr.NaiveBayes()).fit(X, y)
    direct = sr.NaiveBayes().fit(X.iloc[:, best], y)
    np.testing.assert_allclose(pipe.predict_proba(X), direct.predict_proba(X.iloc[:, best]), atol=1e-9)


def test_recursive_elimination_takes_numbers():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 6))
    X[:, [1, 4]] += y[:, None] * [2.0, 3.0]
    for estimator in (sr.GaussianNB(), sr.NaiveBayes()):
        assert RFE(estimator, n_features_to_select=2).fit(X, y).get_support(indices=True).tolist() == [1, 4]


def test_bits_are_known_by_name_and_print_as_a_table(heart, model):
    bits = model.mutual_information()
    values = np.asarray(bits)
    assert [bits[name] for name in heart.columns[1:]] == values.tolist()
    by_name = bits.by_name()
    assert list(by_name.values()) == sorted(values, reverse=True) and by_name["thallium"] == bits["thallium"]
    lines = repr(bits).splitlines()
    assert lines[0].split() == ["column", "bits"] and lines[1].split() == ["thallium", f"{values.max():.3f}"]
    assert len(lines) == 14 and "<td>thallium</td>" in bits._repr_html_()
    with pytest.raises(KeyError, match="not a column"):
        bits["height"]
    assert pd.Series(by_name).index[0] == "thallium"


def test_bits_behave_as_an_array(model):
    bits = model.mutual_information()
    assert (
        type(bits[2:5]) is type(bits * 2) is type(bits[bits > 0.1]) is type(np.sort(bits)[:3]) is np.ndarray
    )
    assert float(bits.max()) == max(bits.by_name().values()) and bits.sum() == np.asarray(bits).sum()
    for twin in (pickle.loads(pickle.dumps(bits)), copy.deepcopy(bits)):
        assert twin["age"] == bits["age"]


def test_a_wide_model_prints_its_best_columns():
    X = np.random.default_rng(0).normal(size=(50, 100))
    text = repr(sr.GaussianNB().fit(X, np.arange(50) % 2).mutual_information())
    assert len(text.splitlines()) == 32 and "... and 70 more columns" in text


@pytest.mark.parametrize("library", ["pandas", "polars", None])
def test_families_print_every_column_with_its_family_and_reason(library, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    heart = (
        load_heart_disease(library).frame if library else load_heart_disease("pandas").frame.to_dict("list")
    )
    model = sr.NaiveBayes({"ecg": None}).fit(heart, "disease")
    families = model.families_
    lines = repr(families).splitlines()
    assert lines[0].split() == ["column", "family", "reason", "parameters"]
    rows = {line.split()[0]: line for line in lines[1:]}
    assert len(rows) == 13 and max(map(len, lines)) <= 100
    assert rows["age"].split()[1] == "gaussian" and "nats per row above the prior" in rows["age"]
    assert rows["ecg"].split()[1] == "-" and "left out by the user" in rows["ecg"]
    assert str(families) == repr(families) and "<td>thallium</td>" in families._repr_html_()
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, repr(families).splitlines())) <= 66


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_printed_families_are_a_frame_like_any_other(library):
    frame = sr.NaiveBayes("auto-fast").fit(load_heart_disease(library).frame, "disease").families_
    for twin in (pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame)):
        assert list(twin["family"]) == list(frame["family"])
    short = frame[["column", "family"]]
    assert "reason" not in repr(short) and "categorical" in repr(short)
    assert len(frame.head(3)) == 3 and frame.shape == (13, 5)


def test_the_package_shows_its_public_names_only():
    names = dir(sr)
    assert names == sorted(set(names)) == sr.__all__
    assert not {"TYPE_CHECKING", "Any", "import_module", "estimators", "numerics", "np"} & set(names)
    assert {"NaiveBayes", "cross_validate", "load", "compare"} <= set(names)
    assert all(not name.startswith("_") or name == "__version__" for name in names)
    assert all(getattr(sr, name) is not None for name in names)
