"""Labels of unusual types: several types in one array, dates, names that differ by case."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pytest
import sunrise as sr

X = np.array([[0.0], [1.0], [5.0], [6.0]] * 3)


def fit(*labels):
    y = np.empty(len(X), object)
    y[:] = [labels[k % 4 // 2] for k in range(len(X))]
    return sr.GaussianNB().fit(X, y)


@pytest.mark.parametrize(
    "labels, written",
    [
        ((1, "a"), ["1", "a"]),
        ((2.5, "a"), ["2.5", "a"]),
        ((True, "a"), ["True", "a"]),
        ((1, 2.5), [1.0, 2.5]),
        ((1, 2**63), ["1", str(2**63)]),
        ((np.int64(3), np.int64(7)), [3, 7]),
    ],
    ids=str,
)
def test_labels_of_several_types(engine, labels, written):
    model = fit(*labels)
    p, label = engine(model, X[:4])
    assert np.abs(p - model.predict_proba(X[:4])).max() <= engine.tolerance
    predicted = model.predict(X[:4]).tolist()
    if engine.name == "json":  # JSON keeps the type of every label
        written = labels
    assert list(label) == [written[labels.index(own)] for own in predicted]


def test_labels_that_are_the_same_text():
    model = fit(1, "1")
    for export in (model.to_sql, model.to_onnx):
        with pytest.raises(
            ValueError, match="the classes 1 and '1' cannot be exported: .* Rename one of them"
        ):
            export()
    assert json.loads(model.to_json())["classes"] == [1, "1"]


DATES = {
    "days": (np.array(["2020-01-02", "2021-03-04"], "M8[D]"), ["2020-01-02", "2021-03-04"]),
    "midnight": (np.array(["2020-01-02", "2021-03-04"], "M8[ns]"), ["2020-01-02", "2021-03-04"]),
    "nanoseconds": (
        np.array(["2020-01-02", "2021-03-04T05:06:07"], "M8[ns]"),
        ["2020-01-02T00:00:00", "2021-03-04T05:06:07"],
    ),
    "pandas": (pd.to_datetime(["2020-01-02", "2021-03-04"]), ["2020-01-02", "2021-03-04"]),
    "objects": (
        [datetime.date(2020, 1, 2), datetime.date(2021, 3, 4)],
        ["2020-01-02", "2021-03-04"],
    ),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_become_iso_strings(engine, name):
    labels, written = DATES[name]
    y = np.asarray(labels, object if isinstance(labels, list) else None)[np.arange(len(X)) % 4 // 2]
    model = sr.GaussianNB().fit(X, y)
    _, label = engine(model, X[:4])
    assert list(label) == [written[0], written[0], written[1], written[1]]


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgresql"])
def test_labels_that_differ_by_case(dialect):
    query = fit("YES", "yes").to_sql(dialect)
    second = "probability_yes" if dialect == "postgresql" else "probability_yes_1"
    assert '"probability_YES"' in query and f'"{second}"' in query and f'"log_{second}"' in query


def test_labels_that_differ_by_case_keep_their_probabilities():
    duckdb = pytest.importorskip("duckdb")
    model = fit("YES", "yes")
    data = pd.DataFrame({"x0": X[:, 0]})
    found = duckdb.sql(f"SELECT probability_yes_1 AS p FROM ({model.to_sql()})").df()
    assert len(data) == len(found) and np.abs(found["p"] - model.predict_proba(X)[:, 1]).max() < 1e-9


def test_a_label_that_is_the_numbered_name_of_another():
    y = np.array(["YES", "yes", "yes_1"])[np.arange(len(X)) % 3]
    query = sr.GaussianNB().fit(X, y).to_sql("sqlite")
    assert '"probability_0"' in query and '"probability_2"' in query
