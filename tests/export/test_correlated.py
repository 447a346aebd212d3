"""Exports of models that score correlated columns together."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.json_scores import JsonModel

COLUMNS = ["u", "v", "w"]


@pytest.fixture(scope="module")
def rows():
    """Columns whose correlation depends on the class."""
    rng = np.random.default_rng(2)
    z, y = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    v = z[:, 1] + (y - 1.0) * z[:, 0]
    return pd.DataFrame(
        {"u": 1e3 + 5.0 * z[:, 0], "v": v, "w": z[:, 2] + 0.5 * y, "label": np.array(list("abc"))[y]}
    )


def models(rows):
    """The block beside the columns, and the block alone."""
    beside = sr.NaiveBayes("gaussian").fit(rows, "label")
    assert any(len(own.columns) == 3 for own in beside.interactions_)
    return beside, sr.NaiveBayes({tuple(COLUMNS): sr.Correlated()}, calibrate=None).fit(rows, "label")


def test_complete_rows(engine, rows):
    X = rows[COLUMNS].head(60)
    for model in models(rows):
        p, labels = engine(model, X)
        assert np.abs(p - model.predict_proba(X)).max() <= engine.tolerance
        assert (np.asarray(labels) == model.predict(X)).mean() > 0.98


def test_columns_of_the_block_alone_and_names_of_inner_nodes(engine, rows):
    """Kernel columns whose own weight is 0 are read all the same; no name of a column clashes with inner names."""
    X = rows[COLUMNS].set_axis(["c0", "n1", "x2"], axis=1)
    model = sr.NaiveBayes("kernel", interactions=[("c0", "n1", "x2")]).fit(X, rows["label"])
    calibration = model._model.calibration
    weights = np.where(np.arange(4) < 3, 0.0, calibration.weights)
    model._model = model._model.calibrated(replace(calibration, weights=weights))
    p, _ = engine(model, X.head(40))
    assert np.abs(p - model.predict_proba(X.head(40))).max() <= engine.tolerance


def test_json_scores_rows_with_missing_cells(rows):
    X = rows[COLUMNS].head(40).copy()
    X.iloc[::3, 0], X.iloc[::4, 2], X.iloc[5] = np.nan, np.nan, np.nan
    records = X.astype(object).where(X.notna(), None).to_dict("records")
    for model in models(rows):
        p = np.array(JsonModel(model.to_json()).predict_proba(records))
        assert p == pytest.approx(model.predict_proba(X), abs=1e-9)


def test_queries_and_graphs_tell_that_rows_with_missing_cells_differ(rows):
    X = rows.copy()
    X.loc[:20, "v"] = np.nan
    model = sr.NaiveBayes({tuple(COLUMNS): sr.Correlated()}, calibrate=None).fit(X, "label")
    with pytest.warns(
        sr.InexactExportWarning, match=r"SQL scores rows with missing cells without this block"
    ):
        model.to_sql("duckdb", "rows")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.to_json()
