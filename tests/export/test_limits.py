"""Wide tables, many classes, many levels, and names that could break a query."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.engines import Engine
from export.test_families import check, exact

RNG = np.random.default_rng(0)


@pytest.mark.slow
def test_784_columns(engine):
    y = np.arange(100) % 10
    X = np.round(RNG.normal(size=(100, 784)))
    model = sr.GaussianNB(var_smoothing=10.0).fit(X, y)
    rows = np.round(RNG.normal(size=(4, 784)))
    rows[0, ::3] = np.nan
    assert model.predict_proba(rows).max() < 0.9999
    check(engine, model, rows)


def test_many_counts(engine):
    y = np.arange(60) % 3
    X = RNG.poisson(0.3, (60, 64)).astype(float)
    rows = RNG.poisson(0.3, (4, 64)).astype(float)
    rows[0, ::5] = np.nan
    for model in (sr.MultinomialNB(), sr.ComplementNB(norm=True), sr.BernoulliNB(), sr.PoissonNB()):
        check(engine, model.fit(X, y), rows)


@pytest.mark.slow
def test_more_kernel_columns_than_sqlite_joins(engine):
    y = np.arange(60) % 2
    X = exact(RNG.normal(size=(60, 70)) + 0.1 * y[:, None])
    check(engine, sr.KernelNB().fit(X, y), X[:5], 1e-6)


@pytest.mark.parametrize("n_classes", [26, 150])
def test_many_classes(engine, n_classes):
    y = np.repeat(np.arange(n_classes), 4)
    X = exact(RNG.normal(size=(len(y), 3)) + 0.1 * y[:, None])
    check(engine, sr.GaussianNB().fit(X, y), X[::7])


def test_many_levels(engine):
    names = np.array([f"level '{k}'" for k in range(300)], object)
    X = pd.DataFrame({"city": RNG.choice(names, 2000), "other": RNG.choice(names[:3], 2000)})
    y = np.arange(2000) % 3
    test = pd.DataFrame({"city": [*names[:20], "nowhere", None], "other": [*["level '0'"] * 21, None]})
    check(engine, sr.NaiveBayes("categorical").fit(X, y), test)


NAMES = ["x1", "x0", "select", "a;b", "sunrise_cells", "v0", "two\nlines", "Grün'\"", "%s", "s0"]


def test_names_that_could_break_a_query(engine):
    y = np.arange(80) % 2
    X = pd.DataFrame(exact(RNG.normal(size=(80, len(NAMES))) + 0.2 * y[:, None]), columns=NAMES)
    check(engine, sr.NaiveBayes("gaussian", calibrate=None).fit(X, y), X[:9])
    mixed = sr.NaiveBayes({"x1": "laplace", "s0": "binned"}, calibrate=None).fit(X, y)
    check(engine, mixed, X[:9], 1e-6)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgresql"])
def test_long_labels_get_short_names(dialect):
    model = sr.GaussianNB().fit([[0.0], [1.0]], ["a" * 80, "b" * 80])
    query = model.to_sql(dialect, table=("main", "data"))
    assert '"log_probability_0"' in query and 'FROM "main"."data"' in query


def test_the_kept_columns_come_first():
    duckdb = pytest.importorskip("duckdb")
    model = sr.GaussianNB().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    connection = duckdb.connect()
    connection.execute("CREATE TABLE scores AS SELECT 7 AS id, 0.5 AS x0")
    done = connection.execute(model.to_sql(table="scores", keep="id"))
    assert [column[0] for column in done.description][:2] == ["id", "prediction"]
    assert done.fetchall()[0][0] == 7


@pytest.mark.parametrize("name", ["duckdb", "sqlite", "postgresql"])
def test_levels_that_a_database_keeps_as_floats(name, request):
    connection = request.getfixturevalue("postgres") if name == "postgresql" else None
    X = pd.DataFrame({"c": pd.Categorical([1, 2, 3, 1, 2, 3] * 9), "d": ["u", "v", "u", "v", "v", "u"] * 9})
    model = sr.NaiveBayes("categorical").fit(X, [0, 1, 1, 0, 0, 1] * 9)
    floats = pd.DataFrame({"c": [1.0, 3.0, 7.5, None], "d": ["u", "v", "v", "u"]})
    p, _ = Engine(name, connection)(model, floats)
    names = pd.DataFrame({"c": ["1", "3", "7.5", None], "d": floats["d"]}, dtype=object)
    assert np.abs(p - model.predict_proba(names)).max() < 1e-12


def test_booleans_of_an_estimator_of_numbers(engine):
    X = pd.DataFrame({"a": [True, False, True, False] * 5, "b": [True, True, False, False] * 5})
    model = sr.BernoulliNB().fit(X, [0, 1, 1, 1] * 5)
    check(engine, model, X[:4])


def test_large_numbers_do_not_end_a_query(postgres):
    model = sr.GaussianNB().fit([[0.0], [1.0], [2.0], [5.0]], ["a", "a", "b", "b"])
    p, _ = Engine("postgresql", postgres)(model, np.array([[1e200], [-1e300], [1e30]]))
    assert np.allclose(p[:2], 0.5) and not np.isnan(p).any()


def test_cells_that_are_nan_in_a_database():
    duckdb = pytest.importorskip("duckdb")
    model = sr.GaussianNB().fit([[0.0], [1.0], [2.0], [5.0]], ["a", "a", "b", "b"])
    connection = duckdb.connect()
    connection.execute("CREATE TABLE data AS SELECT CAST('nan' AS DOUBLE) AS x0")
    assert connection.execute(model.to_sql()).fetchall()[0][1:3] == (0.5, 0.5)
