"""Unusual cells and levels in databases: text among numbers, columns without levels, integers beyond 2^53."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.engines import Engine, sqlite_has_logarithms
from export.test_families import check

needs_sqlite = pytest.mark.skipif(
    not sqlite_has_logarithms(), reason="this SQLite has no mathematical functions"
)


def sqlite_probabilities(model, cells, declared=""):
    """Probabilities of the first class for a table with one column `c`, as a database keeps these cells."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE data (c {declared})")
    connection.executemany("INSERT INTO data VALUES (?)", [(cell,) for cell in cells])
    return [row[1] for row in connection.execute(model.to_sql("sqlite"))]


@needs_sqlite
@pytest.mark.parametrize("declared", ["", "REAL", "TEXT"])
def test_sqlite_reads_text_that_is_no_number_as_missing(declared):
    model = sr.NaiveBayes("gaussian").fit({"c": [0.0, 1.0, 4.0, 6.0] * 5}, ["a", "a", "b", "b"] * 5)
    cells = ["", "abc", "12abc", "nan", b"1", None, "1.5", " 2 ", "3e0", 1, 2.5]
    meant = [None] * 6 + [1.5, 2.0, 3.0, 1.0, 2.5]
    expected = model.predict_proba({"c": np.array(meant, float)})[:, 0]
    assert sqlite_probabilities(model, cells, declared) == pytest.approx(expected, abs=1e-9)


@needs_sqlite
@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_sqlite_reads_booleans_written_as_text(family):
    c = np.array([True, False, True, True] * 5)
    model = sr.NaiveBayes(family).fit({"c": c}, ["a", "b", "a", "b"] * 5)
    cells = ["True", "FALSE", "false", "true", 1, 0, "1", None]
    meant = [True, False, False, True, True, False, True, None]
    expected = model.predict_proba({"c": np.array(meant, object)})[:, 0]
    assert sqlite_probabilities(model, cells) == pytest.approx(expected, abs=1e-9)


@needs_sqlite
@pytest.mark.parametrize("cells", [[True, False, None, True], [1, 2, None, 3]], ids=str)
def test_sqlite_reads_other_text_as_an_unseen_level(cells):
    family = sr.Categorical(missing="level")
    table = {"c": np.array(cells * 5, object)}
    model = sr.NaiveBayes(family, calibrate=None).fit(table, ["a", "b", "a", "a"] * 5)
    rows = ["abc", "", None]
    with pytest.warns(sr.UnseenLevelsWarning):
        unseen, _, missing = expected = model.predict_proba({"c": np.array(rows, object)})[:, 0]
    assert abs(unseen - missing) > 0.01
    assert sqlite_probabilities(model, rows) == pytest.approx(expected, abs=1e-9)


def test_postgresql_reads_booleans_written_as_text(postgres):
    model = sr.NaiveBayes("bernoulli").fit({"c": [True, False, True, True] * 5}, ["a", "b", "a", "b"] * 5)
    rows = pd.DataFrame({"c": ["True", "FALSE", "1", None]}, dtype=object)
    p, _ = Engine("postgresql", postgres)(model, rows)
    expected = model.predict_proba({"c": np.array([True, False, True, None], object)})
    assert np.abs(p - expected).max() < 1e-9


def without_levels():
    """Models with a categorical column that has no level left."""
    y = np.arange(40) % 2
    x = np.where(y, 1.0, 0.0) + np.arange(40) % 3
    text = np.array(["u", "v", "v", "u"] * 10, object)
    families = {"x": "gaussian", "c": "categorical"}
    missing = pd.DataFrame({"x": x, "c": np.full(40, None, object)})
    yield "missing", sr.NaiveBayes(families, calibrate=None).fit(missing, y)
    rare = pd.DataFrame({"x": x, "c": [f"level {k}" for k in range(40)]})
    yield "suppressed", sr.NaiveBayes(families, calibrate=None).fit(rare, y).suppress(min_rows=5)
    numbers = pd.DataFrame({"x": x, "c": np.arange(40)})
    yield "numbers", sr.NaiveBayes(families, calibrate=None).fit(numbers, y).suppress(min_rows=5)
    decayed = sr.NaiveBayes({"c": "categorical"}, calibrate=None).fit(pd.DataFrame({"c": text}), y)
    yield "decayed", decayed.decay(0.0)


@pytest.mark.parametrize("name", ["missing", "suppressed", "numbers", "decayed"])
def test_columns_without_levels(engine, name):
    model = dict(without_levels())[name]
    cells = [7, 8, None] if name == "numbers" else ["u", "v", None]
    rows = pd.DataFrame({"x": [0.5, 2.0, 1.0], "c": np.array(cells, object)})
    if name == "numbers":
        rows["c"] = rows["c"].astype(float)
    check(engine, model, rows[[column for column in rows if column in model.feature_names_in_]])


LARGE = [2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**62 + 1, 7]


def large_levels():
    c = np.array(LARGE * 10)
    y = np.array([0, 1, 0, 1, 1, 0] * 9 + [1, 1, 0, 0, 1, 1])
    return sr.NaiveBayes("categorical").fit(pd.DataFrame({"c": c}), y)


@pytest.mark.parametrize("name", ["json", "onnx", "onnx float32", "duckdb", "sqlite", "postgresql"])
def test_integer_levels_beyond_the_digits_of_a_double(name, request):
    if name.startswith("onnx"):
        pytest.importorskip("onnxruntime")
    if name == "duckdb":
        pytest.importorskip("duckdb")
    connection = request.getfixturevalue("postgres") if name == "postgresql" else None
    model, cells = large_levels(), [*LARGE, 2**53 + 3, 2**62, 8]
    expected = model.predict_proba(pd.DataFrame({"c": cells}))
    assert len(set(expected[:2, 0])) == 2
    engine = Engine(name, connection)
    engine.types = lambda frame, X, *types: dict.fromkeys(frame.columns, "BIGINT")
    p, _ = engine(model, pd.DataFrame({"c": cells}))
    assert np.abs(p - expected).max() <= engine.tolerance


@pytest.mark.parametrize("name", ["duckdb", "sqlite", "postgresql"])
def test_large_integer_levels_that_a_database_keeps_as_floats(name, request):
    connection = request.getfixturevalue("postgres") if name == "postgresql" else None
    if name == "duckdb":
        pytest.importorskip("duckdb")
    model = large_levels()
    rows = pd.DataFrame({"c": [2.0**53, 2.0**53 + 2, 2.0**62, 7.0, 1e15 + 0.5, 1e300, None]})
    p, _ = Engine(name, connection)(model, rows)
    assert np.abs(p - model.predict_proba(rows)).max() <= 1e-9


def test_large_levels_that_sql_cannot_compare():
    for other in (0.5, 1e20):
        frame = pd.DataFrame({"c": [2.0**54, other, 2.0**54, other]})
        model = sr.NaiveBayes("categorical").fit(frame, [0, 1, 0, 1])
        with pytest.raises(
            ValueError, match=r"column 'c' cannot be exported: .* Convert the column to strings"
        ):
            model.to_sql()
