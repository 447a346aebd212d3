"""The rows of a query come in the order of the table, although joins return rows in any order."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.engines import Engine

#: Fewer rows than the joined tables have: then DuckDB swaps the sides of a join.
N = 100


@pytest.fixture(scope="module")
def case():
    """A model whose query joins two tables of scores, a table, and its probabilities."""
    rng = np.random.default_rng(0)
    names = np.array([f"level {k}" for k in range(200)], object)
    X = pd.DataFrame({"city": rng.choice(names, 3000), "x": rng.normal(size=3000)})
    y = (X["x"] + rng.normal(size=3000) > 0).to_numpy()
    model = sr.NaiveBayes({"city": "categorical", "x": "kernel"}, calibrate=None).fit(X, y)
    return model, X[:N], model.predict_proba(X[:N])


@pytest.mark.parametrize("source", ["frame", "stored", "seen"])
def test_duckdb_keeps_the_order_of_frames_tables_and_views(case, source):
    duckdb = pytest.importorskip("duckdb")
    model, X, expected = case
    connection = duckdb.connect()
    connection.register("frame", X)
    connection.execute("CREATE TABLE stored AS SELECT * FROM frame")
    connection.execute("CREATE VIEW seen AS SELECT * FROM stored")
    query = model.to_sql(table=source)
    assert query.count("LEFT JOIN") == 2
    found = connection.execute(query).df()
    assert np.abs(found[["probability_False", "probability_True"]] - expected).max(axis=None) < 1e-6
    assert found.columns[0] == "prediction" and found.shape[1] == 5


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_other_databases_keep_the_order(case, name, request):
    model, X, expected = case
    connection = request.getfixturevalue("postgres") if name == "postgresql" else None
    engine = Engine(name, connection)
    frame = X.astype(object)
    frame.insert(0, "row_position", range(N))
    names, rows = getattr(engine, name)(frame, X, model.to_sql(name, 'my "data"', keep=["row_position"]))
    assert names[0] == "row_position" and [row[0] for row in rows] == list(range(N))
    assert np.abs(np.array([row[2:4] for row in rows]) - expected).max() < 1e-6


def test_duckdb_keeps_the_order_of_a_real_table(find_data):
    duckdb = pytest.importorskip("duckdb")
    target = json.loads(find_data("tables/schema.json").read_text())["mlbench-Glass"]["target"]
    data = pd.read_csv(find_data("tables/mlbench-Glass.csv.gz"))
    X = data.drop(columns=target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sr.NaiveBayes().fit(X, data[target].astype(str))
    connection = duckdb.connect()
    connection.register("data", X)
    found = np.array([row[1:7] for row in connection.execute(model.to_sql()).fetchall()])
    assert np.abs(found - model.predict_proba(X)).max() < 1e-6
