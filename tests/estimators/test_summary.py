"""A fitted model at a glance: what it prints, what a notebook shows, families_, and the data sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise
from sklearn.pipeline import make_pipeline
from sunrise import GaussianNB, NaiveBayes, Poisson, datasets
from sunrise.data.levels import natural
from sunrise.families import categorical

LOADERS = [datasets.load_house_votes, datasets.load_heart_disease, datasets.load_mammographic]


@pytest.fixture(scope="module")
def heart():
    return datasets.load_heart_disease("pandas").frame


def lines_of(model):
    return repr(model).splitlines()


def test_a_model_that_is_not_fitted_looks_like_any_estimator():
    assert repr(NaiveBayes(unseen="error")) == "NaiveBayes(unseen='error')"
    assert "sk-top-container" in NaiveBayes()._repr_html_()
    assert repr(GaussianNB().fit([[1.0], [2.0]], [0, 1])) == "GaussianNB()"


def test_classes_columns_reasons_and_missing_cells_are_printed(heart):
    lines = lines_of(
        NaiveBayes({"age": Poisson(), "ecg": None, "st_depression": "gaussian"}).fit(heart, "disease")
    )
    assert "303 rows, 13 columns (1 left out), 6 of 3,636 cells missing" in lines[1]
    assert ["no", "164", "0.541"] in [line.split() for line in lines]
    by_name = {line.split()[0]: line for line in lines if line.strip()}
    assert "left out by the user" in by_name["ecg"]
    assert by_name["age"].split()[1] == "poisson" and by_name["age"].endswith("given")
    assert by_name["vessels"].split()[2] == str(heart["vessels"].isna().sum()) == "4"
    shown = float(by_name["st_depression"].split("mean: ")[1].split()[0])
    assert shown == pytest.approx(heart.groupby("disease")["st_depression"].mean()["no"], rel=0.01)
    assert "yes and no" in by_name["exercise_angina"]


def test_a_large_model_prints_little_and_says_so():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 200)))
    text = repr(NaiveBayes().fit(X, np.arange(50)))
    assert "... and 40 more classes" in text and "... and 170 more columns" in text
    assert len(text.splitlines()) < 60


def test_the_notebook_view_escapes_what_it_shows_and_holds_all_levels():
    table = {"<b>": ["<script>", "b & c", "<script>", "d"]}
    html = NaiveBayes().fit(table, ["x<y", "z", "z", "z"])._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "x&lt;y" in html and "b &amp; c" in html
    assert html == NaiveBayes().fit(table, ["x<y", "z", "z", "z"])._repr_mimebundle_()["text/html"]


def test_a_pipeline_with_a_fitted_model_can_be_shown(heart):
    pipe = make_pipeline(NaiveBayes()).fit(heart.drop(columns="disease"), heart["disease"])
    assert repr(pipe) == "Pipeline(steps=[('naivebayes', NaiveBayes())])"
    assert "sk-top-container" in pipe._repr_html_()


def test_families_are_a_frame_of_the_kind_the_model_was_fitted_to(heart):
    frame = NaiveBayes().fit(heart, "disease").families_
    assert list(frame.columns) == ["column", "family", "reason", "parameters", "scores"]
    assert list(frame["column"]) == list(heart.columns[1:])
    polars = NaiveBayes().fit(datasets.load_heart_disease("polars").frame, "disease").families_
    assert type(polars).__module__.startswith("polars") and polars.shape == frame.shape
    assert polars["reason"].to_list() == list(frame["reason"])
    told = NaiveBayes("auto-fast").fit(datasets.load_heart_disease().data, heart["disease"]).families_
    np.testing.assert_allclose(
        told["st_depression"]["parameters"]["mean"],
        heart.groupby("disease")["st_depression"].mean(),
        rtol=0.01,
    )
    with pytest.raises(AttributeError, match="before it is fitted"):
        print(NaiveBayes().families_)


def test_the_shown_probabilities_of_a_column_sum_to_one(heart):
    told = NaiveBayes().fit(heart, "disease")._summary()
    for column in told.columns:
        if column.family == "categorical":
            np.testing.assert_allclose(sum(column.parameters.values()), 1.0)


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_data_sets_are_the_same_in_every_library(load):
    frames = {library: load(library) for library in ("pandas", "polars", "pyarrow")}
    table = load()
    models = [NaiveBayes().fit(data.frame, data.target_name) for data in frames.values()]
    scores = [model.predict_proba(data.data) for model, data in zip(models, frames.values(), strict=True)]
    for score in scores[1:]:
        np.testing.assert_allclose(scores[0], score, atol=1e-12)
    assert len(table.target) == len(scores[0]) and "CC BY 4.0" in table.DESCR


def test_a_calibrated_model_says_so():
    table = {"x": [0.0, 1.0, 0.5, 3.0, 4.0, 3.5]}
    model = sunrise.NaiveBayes(calibrate="columns").fit(table, list("aaabbb"))
    assert "calibrated by columns" in repr(model)
    assert "calibrated by columns (stale)" in repr(model.partial_fit({"x": [0.2]}, ["a"]))


def test_a_brief_summary_describes_the_first_columns_only():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = {f"x{j}": rng.normal(size=200) + y * (j % 3) for j in range(50)}
    X |= {f"n{j}": rng.poisson(2 + y) for j in range(10)} | {f"s{j}": y.astype(str) for j in range(5)}
    X = dict(sorted(X.items(), key=lambda item: item[0][::-1]))  # the families alternate
    X["x1"][:7] = np.nan
    model = NaiveBayes("auto-fast", calibrate=None).fit(X, y)
    whole, brief = model._summary(), model._summary(30)
    assert (len(whole.columns), len(brief.columns)) == (65, 30)
    assert whole.head == brief.head and "7 of 13,000 cells missing" in brief.head
    for a, b in zip(whole.columns, brief.columns, strict=False):
        assert (a.name, a.family, a.reason, a.missing) == (b.name, b.family, b.reason, b.missing)
        assert a.parameters.keys() == b.parameters.keys()
        for name, values in a.parameters.items():
            np.testing.assert_allclose(values, b.parameters[name], rtol=1e-13)
    assert whole.text() == brief.text() == repr(model)


def test_many_levels_are_printed_at_once(monkeypatch):
    n = 20_000
    levels = [f"level {k}" for k in range(n)] + ["often"] * 10 + ["seldom"] * 9
    model = NaiveBayes("categorical", calibrate=None).fit({"s": levels}, np.arange(len(levels)) % 2)
    seen = []
    monkeypatch.setattr(categorical, "natural", lambda name: seen.append(name) or natural(name))
    text = repr(model)
    assert "often: " in text
    assert "often" in model._repr_html_inner() and "seldom" in model._repr_html_inner()
    assert len(seen) < 1000  # not all levels are sorted for a few that are shown
    assert len(model.parameters_["s"]) == n + 3
