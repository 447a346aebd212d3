"""What a model contains of its rows: no training value is found in the bytes of a compressed model."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pandas as pd
import pytest
import sunrise
from plain import NaiveBayes
from sunrise import Binned, FirstBatchWarning, GaussianNB, Kernel, KernelNB, Laplace
from sunrise.estimators.stream import LATEST

RNG = np.random.default_rng(3)


def found_in(data, values):
    """The values whose eight bytes occur in the data: arrays have them in one order, Python's floats in the other."""
    return [
        v for v in np.asarray(values).ravel() if struct.pack("<d", v) in data or struct.pack(">d", v) in data
    ]


def numbers(n):
    """Columns of random numbers, which equal nothing by chance, and the families that keep most of them."""
    y = RNG.integers(0, 3, n)
    columns = {
        "two humps": np.where(RNG.random(n) < 0.5, RNG.normal(-3.0, 1.0, n), RNG.normal(3.0 + y, 0.5, n)),
        "bell": RNG.normal(y, 2.0, n),
        "amounts": RNG.lognormal(y * 0.3, 1.0, n),
        "waits": RNG.exponential(1.0 + y, n),
        "shares": RNG.beta(2.0, 2.0 + y, n),
        "tails": RNG.standard_t(2.0, n) + y,
    }
    return pd.DataFrame(columns), y


FAMILIES = [
    "auto",
    Kernel(),
    Laplace(),
    {"amounts": Kernel(lower=0.0, boundary="log"), "waits": Kernel(lower=0.0), "tails": Laplace()},
    {"bell": Binned("mdl"), "waits": Binned("frequency"), "tails": Kernel("loo"), "shares": Kernel("isj")},
]


@pytest.mark.parametrize("families", FAMILIES, ids=str)
def test_no_training_value_is_in_the_bytes_of_a_compressed_model(families):
    X, y = numbers(600)
    model = sunrise.NaiveBayes(families).fit(X, y)
    kept = len(found_in(pickle.dumps(model), X))
    assert kept > 500
    model.compress()
    extremes = set(X.min()) | set(X.max())  # binned columns keep their range
    assert set(found_in(pickle.dumps(model), X)) <= extremes
    model.partial_fit(X, y)
    model.forget(X[:50], y[:50])
    assert set(found_in(pickle.dumps(model), X)) <= extremes


def test_the_first_rows_of_a_stream_are_dropped():
    X, y = numbers(300)
    X["person"] = [f"name {k}" for k in range(300)]
    model = NaiveBayes().partial_fit(X, y)
    assert "_kept" in model.__dict__ and b"name 17" in pickle.dumps(model)
    truth = NaiveBayes().fit(X, y).compress()
    model.compress()
    assert "_kept" not in model.__dict__
    assert found_in(pickle.dumps(model), X.drop(columns="person").iloc[1:-1].to_numpy()) == found_in(
        pickle.dumps(truth), X.drop(columns="person").iloc[1:-1].to_numpy()
    )
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(X), rtol=1e-12)
    families = model.fixed_families_
    model.partial_fit(X, y)
    assert model.fixed_families_ == families  # final, although fewer than 1,000 rows were streamed
    assert model.class_count_.sum() < LATEST


def test_suppress_drops_the_first_rows_of_a_stream_too():
    X, y = numbers(200)
    X["person"] = ["same", "other"] * 99 + ["name 17", "name 18"]
    model = NaiveBayes("auto-fast").partial_fit(X, y).suppress(min_rows=5)
    assert b"name 17" not in pickle.dumps(model)


def test_a_calibrated_stream_is_calibrated_on_the_rows_that_decide():
    X, y = numbers(300)
    model = sunrise.NaiveBayes(calibrate="columns").partial_fit(X, y)
    truth = sunrise.NaiveBayes(calibrate="columns").fit(X, y).compress()
    np.testing.assert_allclose(model.compress().predict_proba(X), truth.predict_proba(X), rtol=1e-9)
    assert model.loo_score_ == truth.loo_score_


def test_too_few_rows_to_decide_are_warned_of():
    X = pd.DataFrame({"x": [1.0, 2.5, np.nan, 4.0]})
    model = NaiveBayes("binned").partial_fit(X, [0, 1, 0, 1])
    with pytest.warns(FirstBatchWarning, match="The first 4 rows fix families"):
        model.compress()


def test_statistics_of_one_row_are_that_row():
    """Not a promise, but a fact that the docs state."""
    model = GaussianNB(var_smoothing=1e-3).fit([[1.2345], [3.3], [4.4]], [0, 1, 1]).compress()
    assert model.theta_[0, 0] == 1.2345
    alone = KernelNB(bandwidth=1.0).fit([[1.2345], [3.3], [4.4]], [0, 1, 1]).compress()
    run = alone.stats_.blocks[0].run(0, 0)
    assert run.x @ run.observed_weight == pytest.approx(1.2345, abs=1.0 / 8 / 64)


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
def test_statistics_of_adult_are_small(find_data, record_property):
    frame = pd.read_csv(find_data("tables/adult.csv.gz")).drop(columns="split")
    y = frame.pop("income")
    model = sunrise.NaiveBayes().fit(frame, y).compress()
    arrays = [a for block in model.stats_.blocks for a in vars(block).values() if isinstance(a, np.ndarray)]
    size = sum(a.nbytes for a in arrays if a.dtype != object)
    names = sum(len(str(name)) for a in arrays if a.dtype == object for name in a)
    record_property("bytes", size + names)
    assert size + names < 150_000  # most of it are the counts of 16 pairs of columns
