"""Exports of the default model of real tables."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.test_families import check

TABLES = "heart-cleveland", "credit-approval", "german-credit", "mammographic"


@pytest.fixture(scope="module", params=TABLES)
def case(request, find_data):
    """The default model of a table, and rows with missing cells and unseen levels."""
    about = json.loads(find_data("tables/schema.json").read_text())[request.param]
    kinds = {column["name"]: column["kind"] for column in about["column_info"]}
    strings = [name for name, kind in kinds.items() if kind in ("categorical", "ordinal")]
    numbers = [name for name, kind in kinds.items() if kind == "numeric"]
    path = find_data(f"tables/{request.param}.csv.gz")
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(strings, str))
    X = frame[[name for name in frame.columns if name in {*numbers, *strings}]].copy()
    X[numbers] = X[numbers].astype("float32").astype("float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sr.NaiveBayes().fit(X, frame[about["target"]].to_numpy())
    rng = np.random.default_rng(0)
    rows = X.sample(60, random_state=0).astype(object)
    rows[strings] = rows[strings].mask(rng.random((60, len(strings))) < 0.1, "never seen")
    rows = rows.mask(rng.random(rows.shape) < 0.1)
    rows[numbers] = rows[numbers].astype(float)
    return model, rows


def test_the_default_model_of_real_tables(engine, case):
    model, rows = case
    has_curve = any(block["kind"] == "curve" for block in model._description()["blocks"])
    check(engine, model, rows, 1e-6 if has_curve else None)


@pytest.fixture(scope="module")
def paired(find_data):
    """A model with interactions of levels and of numbers, and rows with missing cells and unseen levels."""
    frame = pd.read_csv(find_data("tables/heart-cleveland.csv.gz"))
    target = frame.columns[-1]
    frame = frame.astype(dict.fromkeys(frame.columns[1:3], str))
    X = frame.drop(columns=target)
    names = list(X.columns)
    pairs = [(names[1], names[2]), (names[0], names[3]), (names[1], names[4])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sr.NaiveBayes(interactions=pairs).fit(X, frame[target].to_numpy())
    rows = X.sample(40, random_state=0)
    rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.1)
    rows.iloc[0, 1] = "never seen"
    return model, rows


def test_interactions(engine, paired):
    model, rows = paired
    assert len(model.interactions_) == 3
    has_curve = any(block["kind"] == "curve" for block in model._description()["blocks"])
    check(engine, model, rows, 1e-6 if has_curve else None)
