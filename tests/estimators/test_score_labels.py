"""`score` takes every label that `fit` takes, and counts rows as a count by hand does."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr

X = pd.DataFrame({"n": [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 0.15]})
WHICH = np.array([0, 0, 0, 0, 1, 1, 1, 1])  # the last row looks like class 0: 7 of 8 are right


def of(a, b):
    return [a if k == 0 else b for k in WHICH]


LABELS = {
    "strings": of("x", "y"),
    "integers": of(3, 7),
    "booleans": of(True, False),
    "bytes": of(b"x", b"y"),
    "mixed": of(1, "a"),
    "decimals": of(Decimal(1), Decimal(2)),
    "dates": of(dt.date(2020, 1, 1), dt.date(2021, 1, 1)),
    "times": np.array(of("2020-01-01", "2021-01-01"), "M8[D]"),
    "durations": np.array(of(1, 2), "m8[D]"),
    "periods": pd.Series(of(pd.Period("2020"), pd.Period("2021"))),
    "categorical": pd.Categorical(of("x", "y")),
    "series of categories": pd.Series(pd.Categorical(of(5, 9))),
    "pandas booleans": pd.Series(of(True, False), dtype="boolean"),
    "pandas strings": pd.Series(of("x", "y"), dtype="string"),
    "pyarrow": pa.array(of("x", "y")),
    "pyarrow dictionary": pa.array(of("x", "y")).dictionary_encode(),
    "pyarrow dates": pa.array(of(dt.date(2020, 1, 1), dt.date(2021, 1, 1))),
    "polars": pl.Series(of("x", "y")),
    "polars Enum": pl.Series(of("x", "y"), dtype=pl.Enum(["x", "y"])),
    "polars booleans": pl.Series(of(True, False)),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
def test_score_takes_every_label_that_fit_takes(y):
    assert sr.NaiveBayes("gaussian").fit(X, y).score(X, y) == 7 / 8
    assert sr.GaussianNB().fit(X, y).score(X, y) == 7 / 8
    texts = ["aa bb" if n < 1 else "cc dd" for n in X["n"]]
    assert sr.TextNB(calibrate=None).fit(texts, y).score(texts, y) == 7 / 8


def test_score_reads_labels_by_name_and_weighs_rows():
    table = X.assign(label=LABELS["dates"])
    model = sr.NaiveBayes("gaussian").fit(table, "label")
    assert model.score(table, "label") == 7 / 8
    assert model.score(table, "label", sample_weight=[1, 1, 1, 1, 1, 1, 1, 3]) == 0.7
    assert (
        model.score(X, [dt.date(1999, 1, 1)] * 8) == 0.0
    )  # a label that was never fitted is never predicted


def test_score_refuses_missing_labels_and_names_for_a_matrix():
    model = sr.GaussianNB().fit(X.to_numpy(), WHICH)
    with pytest.raises(ValueError, match="the label in row 0 is missing"):
        model.score(X.to_numpy(), [None] * 8)
    with pytest.raises(ValueError, match="does not accept the name of a column"):
        model.score(X.to_numpy(), "label")
