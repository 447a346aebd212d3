"""Single records are read without a table in between; the predictions are those of the same row in a table."""

from __future__ import annotations

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sunrise import Binned, Categorical, Gaussian, GaussianNB, LogNormal, NaiveBayes, UnseenLevelsWarning
from sunrise._common.warnings import ImpossibleCellWarning

ROWS = 400


def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, ROWS)
    return pl.DataFrame(
        {
            "size": rng.normal(size=ROWS) + y,
            "amount": np.exp(rng.normal(size=ROWS) + 0.3 * y),
            "visits": rng.poisson(2.0 + y),
            "colour": [["red", "green", "blue", None][k] for k in (rng.integers(0, 4, ROWS) + y) % 4],
            "grade": (rng.integers(0, 3, ROWS) + y) % 4,
            "member": rng.random(ROWS) < 0.2 + 0.2 * y,
            "binned": rng.normal(size=ROWS) - y,
            "same": np.ones(ROWS),
            "y": [f"class {k}" for k in y],
        }
    )


FAMILIES = {
    "given": {
        "size": Gaussian(),
        "amount": "lognormal",
        "visits": "poisson",
        "colour": Categorical(missing="level"),
        "grade": "categorical",
        "member": "bernoulli",
        "binned": Binned(),
    },
    "auto": "auto",
    "auto-fast": "auto-fast",
}


@pytest.fixture(scope="module", params=FAMILIES)
def model(request):
    return NaiveBayes(FAMILIES[request.param]).fit(table(), "y")


def rows() -> list[dict]:
    return table().drop("y")[:40].rows(named=True)


KINDS = {
    "dict": lambda row: row,
    "list of a dict": lambda row: [row],
    "numpy scalars": lambda row: {
        name: np.asarray(value)[()] if isinstance(value, int | float) else value
        for name, value in row.items()
    },
    "reordered": lambda row: dict(reversed(row.items())),
    "with the label": lambda row: row | {"y": "class 0"},
    "without a column that says nothing": lambda row: {k: v for k, v in row.items() if k != "same"},
    "polars": lambda row: pl.DataFrame([row], schema=table().drop("y").schema),
    "pandas": lambda row: pd.DataFrame([row]),
    "pandas of objects": lambda row: pd.DataFrame([row], dtype=object),
    "pandas, reordered": lambda row: pd.DataFrame([dict(reversed(row.items()))]),
    "pandas, nullable": lambda row: pd.DataFrame([row]).convert_dtypes(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_has_the_prediction_of_its_row(model, kind):
    expected = model.predict_proba(table().drop("y")[:40])
    for row, p in zip(rows(), expected, strict=True):
        record = KINDS[kind](row)
        assert model._model.records.read(record) is not None
        np.testing.assert_allclose(model.predict_proba(record), p[None], rtol=1e-12)
        assert model.predict(record)[0] == model.classes_[p.argmax()]


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT], ids=repr)
@pytest.mark.parametrize("column", ["size", "amount", "visits", "colour", "grade", "member", "binned"])
def test_a_missing_cell_of_a_record_is_missing(model, column, missing):
    expected = model.predict_proba(table().drop("y")[:1].with_columns(pl.lit(None).alias(column)))
    record = rows()[0] | {column: missing}
    assert model._model.records.read(record) is not None
    np.testing.assert_allclose(model.predict_proba(record), expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame([record])), expected, rtol=1e-12)


def test_levels_have_the_same_names_whatever_their_type():
    X = pd.DataFrame({"grade": pd.Categorical([1, 2, 3, 1, 2, 3]), "flag": ["True", "False"] * 3})
    model = NaiveBayes(calibrate=None).fit(X, list("aabbcc"))
    expected = model.predict_proba(X[:1])
    for grade in (1, 1.0, "1", np.int8(1), np.float64(1.0), np.uint64(1)):
        for flag in (True, "True", np.True_):
            record = {"grade": grade, "flag": flag}
            assert model._model.records.read(record) is not None
            np.testing.assert_array_equal(model.predict_proba(record), expected)
    with pytest.warns(UnseenLevelsWarning):
        model.predict_proba({"grade": 1.5, "flag": True})


@pytest.mark.parametrize(
    ("change", "warning"),
    [({"colour": "pink"}, UnseenLevelsWarning), ({"amount": -1.0}, ImpossibleCellWarning)],
    ids=["unseen", "impossible"],
)
def test_a_record_warns_as_a_table_does(change, warning):
    # This is how `fixed_families_` gives a family that was chosen by its score.
    chosen = {"amount": LogNormal().with_settings(lenient=True)}
    model = NaiveBayes(FAMILIES["given"] | chosen, calibrate=None).fit(table(), "y")
    record = rows()[0] | change
    assert model._model.records.read(record) is None
    with pytest.warns(warning):
        one = model.predict_proba(record)
    with pytest.warns(warning):
        two = model.predict_proba([record, record])
    np.testing.assert_allclose(one, two[:1])


@pytest.mark.parametrize(
    "change",
    [
        {"size": np.inf},
        {"size": "tall"},
        {"size": datetime.date(2020, 1, 1)},
        {"size": [1.0, 2.0]},
        {"binned": -np.inf},
        {"visits": 1 + 2j},
        {"colour": ["red"]},
        {"weight": 3.0},
    ],
    ids=repr,
)
def test_a_record_raises_as_a_table_does(model, change):
    record = rows()[0] | change
    with pytest.raises((TypeError, ValueError)) as of_record:
        model.predict_proba(record)
    with pytest.raises((TypeError, ValueError)) as of_table:
        model.predict_proba([record, record])
    if not any(isinstance(value, list) for value in change.values()):  # a list may be a column
        assert str(of_record.value) == str(of_table.value)


def test_an_absent_column_is_an_error(model):
    record = {name: value for name, value in rows()[0].items() if name != "size"}
    with pytest.raises(ValueError, match="size"):
        model.predict(record)


def test_numbers_of_a_categorical_column_are_no_numbers():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 5.0]})
    model = NaiveBayes("gaussian", calibrate=None).fit(X, list("aabb"))
    for n in (1, 2):
        with pytest.raises(ValueError, match="'x'"):
            model.predict(X.astype("category")[:n])


def test_a_matrix_without_names_is_read_by_position():
    X = table().select("size", "visits", "grade", "binned").to_numpy()
    families = {0: Gaussian(), 1: "poisson", 2: "categorical", 3: Binned()}
    model = NaiveBayes(families, calibrate=None).fit(X, table()["y"].to_list())
    for row in range(20):
        assert model._model.records.read(X[row : row + 1]) is not None
        np.testing.assert_allclose(
            model.predict_proba(X[row : row + 1]), model.predict_proba(X[row : row + 2])[:1], rtol=1e-12
        )
    assert model._model.records.read(X[:2]) is None
    with pytest.raises(ValueError, match="column"):
        model.predict_proba(X[:1, :3])


def test_the_single_families_check_their_tables():
    X = pd.DataFrame({"a": [0.0, 1.0, 4.0, 5.0], "b": [1.0, 0.0, 2.0, 1.0]})
    model = GaussianNB().fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="order"):
        model.predict(X[["b", "a"]][:1])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X.to_numpy()[:1])
    with pytest.raises(ValueError, match="record"):
        model.predict({"a": 1.0, "b": 2.0})


def test_records_leave_the_estimator_as_it_was(model):
    before, pickled = dict(model.__dict__), pickle.dumps(model)
    for row in rows():
        model.predict_proba(row)
        model.predict(pd.DataFrame([row]))
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is value for name, value in before.items())
    assert pickle.dumps(model) == pickled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            pickle.loads(pickled).predict_proba(rows()[0]), model.predict_proba(rows()[0])
        )


def test_a_record_has_the_explanation_of_its_row(model):
    whole = model.explain(table().drop("y")[:40])
    for k, row in enumerate(rows()):
        for record in (row, pd.DataFrame([row], dtype=object)):
            one = model.explain(record)
            np.testing.assert_allclose(one.contributions[0], whole.contributions[k], rtol=1e-9, atol=1e-12)
            assert one.values[0].tolist() == whole.values[k].tolist()
            assert list(map(type, one.values[0])) == list(map(type, whole.values[k]))
            assert one.text() == whole.text(k)
