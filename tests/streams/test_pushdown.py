"""Statistics that the engine of a lazy table computes, against those of the same table in memory."""

from __future__ import annotations

import logging
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import sunrise as sr
from streams.lazy_tables import ENGINES, FAMILIES, WAYS, as_lazy, make_table
from sunrise.estimators import lazy_fit
from sunrise.streams.expressions import are_available

# Ibis 12 uses methods that DuckDB 2 deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.skipif(not are_available(), reason="narwhals is too old for push-down"),
]

TABLE = make_table()


@pytest.fixture(autouse=True)
def _small_sample(monkeypatch):
    """Draw a sample of few rows, so that a small table takes the way of a large one."""
    monkeypatch.setattr(lazy_fit, "SAMPLED", 400)


def assert_same_statistics(found, expected, rtol):
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.weight, expected.weight, rtol=rtol)
    for a, b in zip(found.blocks, expected.blocks, strict=True):
        assert type(a) is type(b)
        for name in ("codes", "offsets", "sizes", "times", "words"):
            if hasattr(a, name):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        np.testing.assert_array_equal(*np.broadcast_arrays(a.rows, b.rows))
        names = ("observed_weight", "weight", "mean", "squared_error", "x")
        if hasattr(a, "anchor"):
            names = ("observed_weight", "mean", "squared_error")
        for name in names:
            if hasattr(a, name):
                np.testing.assert_allclose(
                    *np.broadcast_arrays(getattr(a, name), getattr(b, name)), rtol, atol=1e-13
                )


def in_memory(schema, table, weight=None):
    """Statistics of a table in memory, under a schema."""
    accumulator = sr.Accumulator(schema)
    w = None if weight is None else table[weight].to_numpy()
    return accumulator.update(table.drop("w"), "answer", sample_weight=w).stats


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("push_down", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_all_families_add_up_as_in_memory(request, engine, push_down, weight):
    families = FAMILIES if weight else {**FAMILIES, "w": None}
    source = sr.lazy(as_lazy(TABLE, engine, request), push_down=push_down, batch_rows=500)
    model = sr.NaiveBayes(families, calibrate=None).fit(source, y="answer", sample_weight=weight)
    table = TABLE if weight else TABLE.with_columns(w=None)
    expected = sr.Accumulator(model.schema_)
    w = None if weight is None else TABLE["w"].to_numpy()
    expected.update(table.drop("w") if weight else table, "answer", sample_weight=w)
    assert_same_statistics(model.stats_, expected.stats, 1e-11 if push_down else 1e-12)
    if push_down:
        assert source.ways == WAYS
    assert model.predict_proba(TABLE.drop("w")).shape == (len(TABLE), 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variance_far_from_0_is_exact(request, engine):
    """Class means differ by 1e6 standard deviations, and one class is missing in most samples."""
    rng = np.random.default_rng(1)
    n = 4000
    y = np.where(np.arange(n) < 3, "rare", rng.choice(["a", "b"], n))
    x = 1e9 + np.where(y == "a", 0.0, np.where(y == "b", 1e6, -1e7)) + rng.normal(size=n)
    table = pl.DataFrame({"x": x, "k": 1e9 + rng.normal(size=n), "c": np.full(n, 0.1), "y": y})
    families = dict.fromkeys("xkc", "gaussian")
    source = sr.lazy(as_lazy(table, engine, request), push_down=True)
    model = sr.NaiveBayes(families, calibrate=None).fit(source, y="y")
    (block,) = model.stats_.blocks
    for c, label in enumerate(model.classes_.tolist()):
        for j, name in enumerate("xkc"):
            cells = [Fraction(v) for v in table.filter(pl.col("y") == label)[name].to_list()]
            mean = sum(cells) / len(cells)
            squares = float(sum((v - mean) ** 2 for v in cells))
            assert block.mean[c, j] == pytest.approx(float(mean), rel=1e-15)
            assert block.squared_error[c, j] == pytest.approx(squares, rel=1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "labels", [[0, 7], [True, False], [-1.0, 3.0], ["x'y", 'x"y']], ids=["int", "bool", "float", "text"]
)
def test_labels_of_all_types(request, engine, labels):
    rng = np.random.default_rng(2)
    at = rng.integers(0, 2, 2000)
    table = pl.DataFrame(
        {"x": rng.normal(1e6 * at, 1.0), "c": rng.choice(["u", "v"], 2000), "y": [labels[k] for k in at]}
    )
    model = sr.NaiveBayes({"x": "gaussian", "c": "categorical"}, calibrate=None)
    model.fit(sr.lazy(as_lazy(table, engine, request), push_down=True), y="y")
    expected = sr.NaiveBayes({"x": "gaussian", "c": "categorical"}, calibrate=None).fit(table, y="y")
    assert model.classes_.tolist() == expected.classes_.tolist() == sorted(labels)
    assert_same_statistics(model.stats_, expected.stats_, 1e-11)


@pytest.mark.parametrize("engine", ENGINES)
def test_automatic_families_and_sleeping_columns(request, engine):
    """Columns that are constant in the sample wake up as they do in batches."""
    table = make_table(6000, seed=3).select("near", "events", "town", "flag", "answer")
    rare = np.arange(6000) % 500 == 0
    table = table.with_columns(
        asleep=pl.lit(1.0), wakes=pl.when(pl.Series(rare)).then(pl.lit("b")).otherwise(pl.lit("a"))
    )
    pushed = sr.NaiveBayes().fit(sr.lazy(as_lazy(table, engine, request), push_down=True), y="answer")
    streamed = sr.NaiveBayes().fit(sr.lazy(as_lazy(table, engine, request), push_down=False), y="answer")
    for model in (pushed, streamed):
        assert set(model.schema_.names) == {"near", "events", "town", "flag", "asleep", "wakes"}
        assert_same_statistics(model.stats_, in_memory(model.schema_, table.with_columns(w=1.0)), 1e-11)
    assert pushed.schema_.families["asleep"] is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "cell, column, match",
    [(-1.0, "wait", "Negative values"), (np.inf, "near", "infinity"), (0.5, "visits", "whole numbers")],
)
def test_a_cell_outside_the_support_is_named_as_in_batches(request, engine, cell, column, match):
    table = make_table(2000).select("near", "wait", "visits", "answer")
    # The bad row is duplicated by no other row, so the sample may miss it.
    table = table.with_columns(
        pl.when(pl.int_range(pl.len()) == 1500).then(cell).otherwise(pl.col(column)).alias(column)
    )
    families = {"near": "gaussian", "wait": "exponential", "visits": "negative_binomial"}
    with pytest.raises(ValueError, match=match) as error:
        sr.NaiveBayes(families, calibrate=None).fit(
            sr.lazy(as_lazy(table, engine, request), push_down=True), y="answer"
        )
    assert column in str(error.value)


@pytest.mark.parametrize("push_down", [True, False])
@pytest.mark.parametrize(
    "change, match",
    [
        ({"answer": None}, "missing"),
        ({"w": -1.0}, "negative"),
        ({"w": float("nan")}, "NaN"),
        ({"w": 0.0}, "zero for every row|positive weight"),
    ],
)
def test_labels_and_weights_that_are_not_valid(push_down, change, match):
    table = make_table(1000).select("near", "w", "answer")
    (name, value), *_ = change.items()
    everywhere = value == 0.0
    table = table.with_columns(
        pl.when((pl.int_range(pl.len()) == 700) | everywhere).then(value).otherwise(pl.col(name)).alias(name)
    )
    with pytest.raises(ValueError, match=match):
        sr.NaiveBayes(calibrate=None).fit(
            sr.lazy(table.lazy(), push_down=push_down), y="answer", sample_weight="w"
        )


def test_a_class_whose_rows_have_weight_0_is_absent():
    table = make_table(1000).select("near", "town", "w", "answer")
    table = table.with_columns(w=pl.when(pl.col("answer") == "no").then(0.0).otherwise(pl.col("w")))
    model = sr.NaiveBayes(calibrate=None).fit(
        sr.lazy(table.lazy(), push_down=True), y="answer", sample_weight="w"
    )
    assert model.classes_.tolist() == ["may be", "yes"]


def test_the_way_is_logged_and_can_be_chosen(caplog):
    table = make_table(1000).select("near", "town", "note", "answer").lazy()
    families = {"near": "gaussian", "town": "categorical", "note": "text"}
    with caplog.at_level(logging.INFO, "sunrise"):
        sr.NaiveBayes(families, calibrate=None).fit(sr.lazy(table, push_down=True), y="answer")
    assert "sums: 1, values: 1, batches: 1" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "sunrise"):
        sr.NaiveBayes(families, calibrate=None).fit(sr.lazy(table, push_down=False), y="answer")
    assert "read in batches (push_down=False)" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "sunrise"):
        sr.NaiveBayes(families, calibrate=None).fit(table, y="answer")
    assert "1,000 rows, fewer than 2,000 for each of 4 columns" in caplog.text
    with pytest.raises(ValueError, match="push_down is 'sometimes'"):
        sr.lazy(table, push_down="sometimes")


@pytest.mark.parametrize("engine", ENGINES)
def test_partial_fit_adds_what_the_engine_adds_up(request, engine):
    one, two = make_table(1500, seed=4), make_table(1500, seed=5)
    columns = ["near", "events", "town", "note", "answer"]
    families = {"near": "gaussian", "events": "poisson", "town": "categorical", "note": "text"}
    model = sr.NaiveBayes(families, calibrate=None).fit(one.select(columns), "answer")
    model.partial_fit(sr.lazy(as_lazy(two.select(columns), engine, request), push_down=True), y="answer")
    expected = sr.NaiveBayes(families, calibrate=None).fit(pl.concat([one, two]).select(columns), "answer")
    assert_same_statistics(model.stats_, expected.stats_, 1e-11)


def test_rows_can_be_forgotten_after_a_push_down():
    table = make_table(3000, seed=6).select("far", "near", "amount", "answer")
    families = {"far": "gaussian", "near": "gaussian", "amount": "gamma"}
    model = sr.NaiveBayes(families, calibrate=None).fit(sr.lazy(table.lazy(), push_down=True), y="answer")
    model.forget(table[:2900], "answer")
    expected = sr.NaiveBayes(families, calibrate=None).fit(table[2900:], "answer")
    assert_same_statistics(model.stats_, expected.stats_, 1e-9)
