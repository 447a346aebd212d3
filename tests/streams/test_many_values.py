"""Columns with very many distinct values: weights on a grid, in memory and from a source."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sunrise.estimators import learning, source_fit
from sunrise.model import compression

RNG = np.random.default_rng(21)
GIVEN = {"x": "kernel", "z": "laplace", "few": "kernel"}


@pytest.fixture
def few(monkeypatch):
    """Let 500 distinct values be many."""
    for module in (compression, learning, source_fit):
        monkeypatch.setattr(module, "MOST_DISTINCT", 500)
    monkeypatch.setattr(source_fit, "SAMPLED", 400)


def make_table(n: int = 3000) -> pd.DataFrame:
    y = RNG.integers(0, 2, n)
    return pd.DataFrame(
        {
            "x": np.where(RNG.random(n) < 0.5, RNG.normal(y, 0.3), RNG.normal(4.0 - y, 0.5)),
            "z": RNG.laplace(y, 1.0),
            "few": RNG.integers(0, 90, n).astype(float),
            "label": y,
        }
    )


def on_grid(model) -> list[bool]:
    return [choice.family.grid_at(0) is not None for choice in model.schema_.choices]


def test_the_limit_is_stated():
    assert compression.MOST_DISTINCT == 100_000


@pytest.mark.parametrize("calibrate", [None, "auto"])
def test_many_values_are_put_on_a_grid(few, calibrate, monkeypatch):
    table = make_table()
    rows = table.drop(columns="label")
    model = sr.NaiveBayes(GIVEN, calibrate=calibrate).fit(table, "label")
    assert on_grid(model) == [True, True, False]
    from_source = sr.NaiveBayes(GIVEN, calibrate=calibrate).fit(
        [table.iloc[k : k + 250] for k in range(0, 3000, 250)], "label"
    )
    assert on_grid(from_source) == [True, True, False]
    # The sums of weights on the grid are the numbers of rows, and densities are close to those of all values.
    monkeypatch.setattr(compression, "MOST_DISTINCT", 10**9)
    exact = sr.NaiveBayes(GIVEN, calibrate=None).fit(table, "label")
    assert on_grid(exact) == [False, False, False]
    assert np.array_equal(model.class_count_, exact.class_count_)
    assert np.array_equal(from_source.class_count_, exact.class_count_)
    if calibrate is None:
        assert np.abs(model.predict_proba(rows) - exact.predict_proba(rows)).max() < 0.02
        # A source keeps the bandwidths of its sample.
        assert (model.predict(rows) == from_source.predict(rows)).mean() > 0.97


def test_a_source_decides_by_its_sample(few):
    table = make_table()
    parts = [table.iloc[k : k + 250] for k in range(0, 3000, 250)]
    one = sr.NaiveBayes(GIVEN).fit(parts, "label")
    other = sr.NaiveBayes(GIVEN).fit(parts[::-1], "label")
    steps = [[c.family.compressed for c in model.schema_.choices] for model in (one, other)]
    assert steps[0] == steps[1]


def test_the_number_of_values_is_estimated():
    table = make_table(20_000)
    model = sr.NaiveBayes({"x": "kernel", "z": "laplace", "few": "kernel"}, calibrate=None).fit(
        table.iloc[:2000].assign(z=table["z"].iloc[:2000].round(1)), "label"
    )
    assert set(compression.choose_grids(model._model, 15_000, 20_000)) == {0}
    assert set(compression.choose_grids(model._model, 15_000, 14_000)) == set()
