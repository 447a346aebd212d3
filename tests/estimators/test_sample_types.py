"""Drawn rows have the types of the training columns, and rows of counts are whole rows."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from plain import NaiveBayes

N = 60
RNG = np.random.default_rng(8)
Y = np.array(["a", "b"])[np.arange(N) % 2]
SECONDS = [datetime.timedelta(seconds=int(s)) for s in RNG.integers(1, 500, N)]
LEVELS = ["low", "high", "never"]
CODES = RNG.choice(LEVELS[:2], N).tolist()
NAMES = RNG.choice(LEVELS[:2], N).tolist()
AGES = RNG.integers(20, 70, N)
FAMILIES = {
    "age": "gaussian",
    "time": "gaussian",
    "small": "kernel",
    "flag": "bernoulli",
    "weight": "gaussian",
}
FAMILIES |= {"size": "categorical", "code": "categorical"}


def test_pandas_types():
    table = pd.DataFrame(
        {
            "age": AGES.astype("int16"),
            "size": pd.Categorical(NAMES, LEVELS, ordered=True),
            "code": pd.Categorical(AGES // 30, [0, 1, 2, 3]),
            "time": pd.Series(SECONDS),
            "small": pd.Series(AGES % 4, dtype="UInt8"),
            "flag": pd.Series(AGES % 2 == 0, dtype="boolean"),
            "weight": RNG.normal(size=N).astype("float32"),
        }
    )
    model = pickle.loads(pickle.dumps(NaiveBayes(FAMILIES).fit(table, Y)))
    rows, _ = model.sample(200, random_state=0)
    assert (rows.dtypes == table.dtypes).all(), rows.dtypes
    assert rows["size"].cat.categories.tolist() == LEVELS and rows["size"].cat.ordered
    assert set(rows["code"]) <= {0, 1, 2, 3} and rows["code"].notna().all()
    assert rows["time"].mean() == pytest.approx(pd.Series(SECONDS).mean(), rel=0.3)
    assert rows["age"].between(0, 120).mean() > 0.95
    NaiveBayes(FAMILIES).fit(rows, np.arange(200) % 2)


def test_polars_types():
    schema = {
        "age": pl.Int8,
        "size": pl.Enum(LEVELS),
        "code": pl.Categorical(),
        "time": pl.Duration("ms"),
        "small": pl.UInt8,
        "flag": pl.Boolean,
        "weight": pl.Float32,
    }
    cells = {
        "age": AGES, "size": NAMES, "code": CODES, "time": SECONDS, "small": AGES % 4, "flag": AGES % 2 == 0,
        "weight": RNG.normal(size=N),
    }  # fmt: skip
    table = pl.DataFrame({name: pl.Series(column).cast(schema[name]) for name, column in cells.items()})
    model = pickle.loads(pickle.dumps(NaiveBayes(FAMILIES).fit(table, Y)))
    rows, _ = model.sample(200, random_state=0)
    assert rows.schema == table.schema
    assert rows["size"].is_in(LEVELS[:2]).mean() > 0.9


def test_arrow_types():
    table = pa.table(
        {
            "age": pa.array(AGES, pa.int16()),
            "size": pa.array(NAMES).dictionary_encode(),
            "code": pa.array(CODES),
            "time": pa.array(SECONDS, pa.duration("s")),
            "small": pa.array(AGES % 4, pa.uint8()),
            "flag": pa.array(AGES % 2 == 0),
            "weight": pa.array(RNG.normal(size=N), pa.float32()),
        }
    )
    rows, _ = NaiveBayes(FAMILIES).fit(table, Y).sample(200, random_state=0)
    for name in table.column_names:
        wanted, found = table.schema.field(name).type, rows.schema.field(name).type
        assert found == wanted or (pa.types.is_dictionary(wanted) and pa.types.is_dictionary(found)), name


def test_cells_of_a_dict():
    table = {
        "n": [1, None, 3, 4],
        "time": SECONDS[:4],
        "m8": np.array(SECONDS[:4], "m8[ms]"),
        "k": np.arange(4),
    }
    table |= {"x": [1.5, 2.0, 2.5, 3.0], "c": pd.Series([10, 20, 10, 20], dtype="category")}
    families = dict.fromkeys(table, "gaussian") | {"c": "categorical"}
    rows, _ = NaiveBayes(families).fit(table, [0, 1, 0, 1]).sample(50, random_state=0)
    kinds = {"n": int, "time": datetime.timedelta, "m8": datetime.timedelta, "k": int, "x": float, "c": int}
    for name, kind in kinds.items():
        assert {type(cell) for cell in rows[name]} == {kind}, name
    assert set(rows["c"]) == {10, 20}
    objects = pd.DataFrame(
        {"n": pd.Series([1, 2, 3, 4], dtype=object), "s": pd.Series(list("abab"), dtype=object)}
    )
    rows, _ = NaiveBayes({"n": "gaussian"}).fit(objects, [0, 1, 1, 0]).sample(20, random_state=0)
    assert all(isinstance(cell, int) for cell in rows["n"].tolist()) and set(rows["s"]) == {"a", "b"}


def test_integers_stay_within_the_support_and_the_type():
    counts = np.exp(RNG.normal(0.3, 1.0, N)).round().clip(1).astype("uint8")
    model = NaiveBayes("lognormal").fit(pd.DataFrame({"n": counts}), Y)
    rows, _ = model.sample(3000, random_state=0)
    assert rows["n"].dtype == np.uint8 and rows["n"].min() == 1
    assert np.isfinite(model.score_samples(rows)).all()
    wide = NaiveBayes("gaussian").fit(
        pd.DataFrame({"n": np.array([0, 255] * 20, "uint8")}), [0, 1, 1, 0] * 10
    )
    assert set(wide.sample(2000, random_state=0)[0]["n"]) >= {0, 255}


def test_a_column_that_is_left_out_is_missing_whatever_its_type():
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        model = NaiveBayes({"one": None}).fit(make({"x": RNG.normal(size=N), "one": AGES}), Y)
        assert np.asarray(pd.isna(np.asarray(model.sample(4)[0]["one"], dtype=object))).all()


def test_rows_of_counts_have_the_totals_of_their_class():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    totals = rng.poisson(np.where(y, 30.0, 4.0))
    X = np.array(
        [rng.multinomial(t, [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]][c]) for t, c in zip(totals, y, strict=True)]
    )
    names = ("u", "v", "w")
    model = NaiveBayes({names: "multinomial"}).fit(dict(zip(names, X.T, strict=True)), y)
    single = sr.MultinomialNB().fit(X, y)
    for fitted in (model, single, NaiveBayes(sr.Multinomial(), estimate="predictive").fit(X, y)):
        rows, labels = fitted.sample(6000, random_state=1)
        drawn = rows if isinstance(rows, np.ndarray) else np.array(list(rows.values())).T
        for c in (0, 1):
            own, total = drawn[labels == c], totals[y == c].mean()
            assert own.sum(axis=1).mean() == pytest.approx(total, rel=0.03)
            np.testing.assert_allclose(
                own.sum(axis=0) / own.sum(), X[y == c].sum(axis=0) / X[y == c].sum(), atol=0.02
            )
            assert own.sum(axis=1).var() == pytest.approx(total, rel=0.1)  # Poisson
        assert (drawn == np.rint(drawn)).all()
    assert isinstance(model.sample(1)[0]["u"][0], int)


def test_totals_where_cells_are_missing_and_where_a_class_has_no_rows():
    X = np.array([[4.0, np.nan], [6.0, 10.0], [np.nan, 10.0], [5.0, 10.0]])
    model = sr.MultinomialNB().partial_fit(X, [0, 0, 0, 0], classes=[0, 1])
    rows, labels = model.sample(8000, y=np.arange(8000) % 2, random_state=0)
    for c in (0, 1):
        assert rows[labels == c].sum(axis=1).mean() == pytest.approx(15.0, rel=0.02)


def test_bursty_rows_have_the_totals_of_training_rows():
    rng = np.random.default_rng(2)
    y = np.arange(600) % 2
    totals = np.where(y, 20, rng.choice([2, 9], 600))
    shares = np.array([rng.dirichlet([[0.5, 1.0, 0.3], [2.0, 0.2, 0.8]][c]) for c in y])
    X = np.array([rng.multinomial(t, p) for t, p in zip(totals, shares, strict=True)])
    model = NaiveBayes(sr.DirichletMultinomial(background=0.0)).fit(X, y)
    columns, labels = model.sample(4000, random_state=0)
    rows = np.array(list(columns.values())).T
    assert set(rows[labels == 1].sum(axis=1)) == {20} and set(rows[labels == 0].sum(axis=1)) == {2, 9}
    assert (rows[labels == 0].sum(axis=1) == 9).mean() == pytest.approx(
        (totals[y == 0] == 9).mean(), abs=0.04
    )
    # The number of zeros shows that rows are over-dispersed: a multinomial of 20 draws would have almost none.
    zeros = (rows[labels == 1] == 0).mean(axis=0)
    np.testing.assert_allclose(zeros, (X[y == 1] == 0).mean(axis=0), atol=0.06)
    assert sr.DirichletMultinomialNB().fit(X, y).sample(0)[0].shape[0] == 0


def test_rounded_numbers_keep_their_mean():
    model = NaiveBayes("gaussian").fit({"n": AGES}, Y)
    rows, labels = model.sample(4000, random_state=0)
    drawn = np.array(rows["n"])
    means = [drawn[labels == c].mean() for c in "ab"]
    np.testing.assert_allclose(means, model.parameters_["n"]["mean"], atol=1.5)
