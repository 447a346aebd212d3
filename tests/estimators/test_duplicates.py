"""Columns that say the same are warned of, and only those."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from sklearn.model_selection import cross_val_score

RNG = np.random.default_rng(0)
N = 600
Y = RNG.integers(0, 2, N)
BASE = RNG.normal(size=N) + Y
LETTER = RNG.choice(list("abcd"), N)


def numbers(**columns):
    return {"base": BASE, "noise": RNG.normal(size=N), **columns}


TWINS = {
    "a copy": lambda: numbers(twin=BASE),
    "other units": lambda: numbers(twin=-1e6 * BASE + 1e9),
    "a little noise": lambda: numbers(twin=BASE + 0.02 * RNG.normal(size=N)),
    "shifted by the class": lambda: numbers(twin=BASE + 5.0 * Y),
    "missing cells": lambda: numbers(twin=np.where(RNG.random(N) < 0.3, np.nan, BASE)),
    "other names of levels": lambda: {"base": LETTER, "twin": np.char.upper(LETTER)},
    "levels with few exceptions": lambda: {
        "base": LETTER,
        "twin": np.where(RNG.random(N) < 0.003, "d", LETTER),
    },
}


@pytest.mark.parametrize("make", TWINS.values(), ids=TWINS)
@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
def test_two_columns_that_determine_each_other_are_named(make, frame):
    table = frame(make())
    with pytest.warns(
        sr.DuplicateColumnsWarning, match=r"'base' and 'twin' nearly determine.*calibrate=\"columns\""
    ):
        sr.NaiveBayes(calibrate=None).fit(table, Y)


OTHERS = {
    "a strong relation": lambda: numbers(other=BASE + 0.3 * RNG.normal(size=N)),
    "alike only across classes": lambda: {
        "a": 9.0 * Y + RNG.normal(size=N),
        "b": 9.0 * Y + RNG.normal(size=N),
    },
    "one determines the other": lambda: {"a": LETTER, "b": np.where(np.isin(LETTER, ["a", "b"]), "x", "y")},
    "independent levels": lambda: {"a": LETTER, "b": RNG.permutation(LETTER)},
    "names of many things": lambda: {
        "a": RNG.choice([f"a{k}" for k in range(300)], N),
        "b": RNG.choice([f"b{k}" for k in range(300)], N),
    },
    "constants": lambda: {"a": np.ones(N), "b": np.ones(N)},
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_others_are_not(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error", sr.DuplicateColumnsWarning)
        warnings.simplefilter("ignore", sr.NoColumnsWarning)
        sr.NaiveBayes(calibrate=None).fit(make(), Y)


@pytest.mark.parametrize("calibrate", ["auto", "columns"])
def test_column_weights_are_the_remedy_and_are_not_warned_of(calibrate):
    table = numbers(twin=BASE)
    model = sr.NaiveBayes(calibrate=calibrate).fit(table, Y)  # a warning would be an error
    assert model.calibration_.kind == "columns"
    weights = model.calibration_.weights
    assert weights["base"] == pytest.approx(weights["twin"], abs=1e-4)
    assert weights["base"] < 0.8
    with pytest.warns(sr.DuplicateColumnsWarning):
        sr.NaiveBayes(calibrate="temperature").fit(table, Y)


def test_every_pair_is_named():
    with pytest.warns(
        sr.DuplicateColumnsWarning,
        match="'a' and 'b' nearly.*; so do 'a' and 'c'; 'b' and 'c'. Their evidence",
    ):
        sr.NaiveBayes(calibrate=None).fit({"a": BASE, "b": BASE, "c": BASE}, Y)
    with pytest.warns(sr.DuplicateColumnsWarning, match="'x0' and 'x2' nearly"):
        sr.NaiveBayes(calibrate=None).fit(np.stack([BASE, RNG.normal(size=N), 2.0 * BASE], axis=1), Y)
    with pytest.warns(sr.DuplicateColumnsWarning, match="'c0' and 'c9'; 'c1' and 'c2'; and 35 more pairs"):
        sr.NaiveBayes("gaussian", calibrate=None).fit({f"c{k}": BASE for k in range(10)}, Y)


def test_a_pair_is_reported_once_in_a_process():
    table = numbers(twin=BASE)
    with pytest.warns(sr.DuplicateColumnsWarning):
        sr.NaiveBayes(calibrate=None).fit(table, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sr.NaiveBayes(calibrate=None).fit({name: np.roll(x, 7) for name, x in table.items()}, np.roll(Y, 7))
        cross_val_score(sr.NaiveBayes("gaussian", calibrate=None), pd.DataFrame(table), Y)
    with pytest.warns(
        sr.DuplicateColumnsWarning, match="Columns 'base' and 'twin' nearly.*; so do 'base' and 'more'"
    ):
        sr.NaiveBayes(calibrate=None).fit(table | {"more": BASE}, Y)  # another table


def test_a_few_rows_are_no_proof():
    sr.NaiveBayes(calibrate=None).fit({"a": [1.0, 2.0, 4.0, 8.0], "b": [1.0, 2.0, 4.0, 8.0]}, [0, 0, 1, 1])


def test_streams_and_single_families_are_not_looked_at():
    sr.NaiveBayes().partial_fit({"a": BASE, "b": BASE}, Y)
    sr.GaussianNB().fit(np.stack([BASE, BASE], axis=1), Y)
