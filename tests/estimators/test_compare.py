"""compare: bits by which the columns of two models differ, against sums and integrals of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from scipy import stats
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon

RNG = np.random.default_rng(0)


def divergence(p, q, low, high, points=None):
    """The Jensen-Shannon divergence of two densities in bits, by adaptive quadrature."""

    def integrand(x):
        a, b = p(x), q(x)
        m = (a + b) / 2
        return sum(0.5 * d * np.log2(d / m) for d in (a, b) if d > 0)

    return quad(integrand, low, high, points=points, limit=500)[0]


def test_gaussian_columns():
    given = [
        sr.GaussianNB(var_smoothing=0.0).fit(x, np.arange(60) % 2)
        for x in RNG.normal(size=(2, 60, 1)) * [[[1.0]], [[2.0]]]
    ]
    a, b = given
    weights = (a.class_prior_ + b.class_prior_) / 2
    expected = sum(
        weights[c]
        * divergence(
            *(stats.norm(m.theta_[c, 0], np.sqrt(m.var_[c, 0])).pdf for m in given), -20.0, 20.0, [0.0]
        )
        for c in range(2)
    )
    assert sr.compare(a, b)["x0"]["bits"] == pytest.approx(expected, rel=1e-6)
    assert sr.compare(b, a)["x0"]["bits"] == pytest.approx(expected, rel=1e-6)


def test_levels_of_one_model_only_and_class_priors():
    first, second = ["r", "g", "r", "r", "g", "r"], ["r", "b", "b", "b", "r", "b"]
    y, z = ["p", "p", "p", "q", "q", "q"], ["p", "p", "q", "q", "q", "q"]
    a, b = (
        sr.NaiveBayes("categorical", calibrate=None, estimate="mle").fit({"c": x}, label)
        for x, label in ((first, y), (second, z))
    )
    moved = sr.compare(a, b)
    table = {  # shares of b, g, r
        "p": ([0, 1 / 3, 2 / 3], [1 / 2, 0, 1 / 2]),
        "q": ([0, 1 / 3, 2 / 3], [3 / 4, 0, 1 / 4]),
    }
    priors = np.array([[1 / 2, 1 / 2], [1 / 3, 2 / 3]])
    expected = sum(
        w * jensenshannon(*table[label], base=2) ** 2
        for w, label in zip(priors.mean(axis=0), "pq", strict=True)
    )
    assert moved["c"]["bits"] == pytest.approx(expected, rel=1e-9)
    assert moved["(class prior)"]["bits"] == pytest.approx(jensenshannon(*priors, base=2) ** 2, rel=1e-9)


def test_counts_and_words():
    a, b = (
        sr.PoissonNB(estimate="mle").fit(RNG.poisson(rate, (80, 1)), ["only"] * 80) for rate in (2.0, 5.0)
    )
    rates = [float(m.rate_[0, 0]) for m in (a, b)]
    p, q = (stats.poisson(rate).pmf(np.arange(200)) for rate in rates)
    assert sr.compare(a, b)["x0"]["bits"] == pytest.approx(jensenshannon(p, q, base=2) ** 2, rel=1e-6)
    one = sr.TextNB(calibrate=None).fit(["sun sea", "sun sand", "sun sea"], ["x"] * 3)
    two = sr.TextNB(calibrate=None).fit(["rain sea", "rain sand", "rain sea"], ["x"] * 3)
    moved = sr.compare(one, two)["text"]
    expected = jensenshannon([0.8, 0.2], [0.2, 0.8], base=2) ** 2  # (3 + 1) / (3 + 2) and (0 + 1) / (3 + 2)
    assert moved["bits"] == pytest.approx(expected, rel=1e-9)
    assert moved["remark"] in ("most by the word 'rain'", "most by the word 'sun'")


def test_drift_is_found_and_sorted():
    def month(shift):
        return {
            "steady": RNG.normal(size=500),
            "moved": RNG.normal(shift, 1.0, 500),
            "apart": np.where(RNG.random(500) < 0.5, f"a{shift}", f"b{shift}"),
            "day": [shift] * 500,
        }

    y = RNG.integers(0, 2, 500)
    families = {"steady": "gaussian", "moved": "kernel", "apart": "categorical", "day": "auto"}
    for library in (None, pd.DataFrame, pl.DataFrame):
        made = month if library is None else lambda shift, library=library: library(month(shift))
        a, b = (sr.NaiveBayes(families, calibrate=None).fit(made(shift), y) for shift in (0, 2))
        moved = sr.compare(a, b)
        names = list(moved) if library is None else list(moved["column"])
        bits = [row["bits"] for row in moved.values()] if library is None else list(moved["bits"])
        assert bits == sorted(bits, reverse=True) and bits[0] <= 1.0
        assert set(names[:2]) == {"apart", "day"} and names[2] == "moved" and bits[1] > 0.9
        same = sr.compare(a, a)
        assert (
            max(row["bits"] for row in same.values()) < 1e-12
            if library is None
            else max(same["bits"]) < 1e-12
        )


def test_new_classes_are_the_change_of_the_class_prior():
    a = sr.GaussianNB().fit(RNG.normal(size=(50, 1)), ["p"] * 50)
    b = sr.GaussianNB().fit(
        np.vstack([RNG.normal(size=(50, 1)), RNG.normal(9.0, 1.0, (50, 1))]), ["p"] * 50 + ["q"] * 50
    )
    moved = sr.compare(a, b)
    assert moved["x0"]["bits"] < 0.1
    assert moved["(class prior)"]["bits"] == pytest.approx(jensenshannon([1, 0], [0.5, 0.5], base=2) ** 2)
    c = sr.GaussianNB().fit(RNG.normal(size=(50, 1)), ["r"] * 50)
    assert np.isnan(sr.compare(a, c)["x0"]["bits"])
    assert sr.compare(a, c)["x0"]["remark"] == "the models have no class in common"


def test_columns_that_cannot_be_compared_say_so():
    X, y = RNG.integers(0, 5, (40, 2)), RNG.integers(0, 2, 40)
    row = sr.compare(sr.ComplementNB().fit(X, y), sr.ComplementNB().fit(X, y))["x0"]
    assert np.isnan(row["bits"]) and "not a distribution" in row["remark"]
    a, b = (
        sr.NaiveBayes({"x": family, "z": "gaussian"}, calibrate=None).fit({"x": X[:, 0], "z": X[:, 1]}, y)
        for family in ("poisson", "gaussian")
    )
    moved = sr.compare(a, b)
    assert np.isnan(moved["x"]["bits"]) and "fixed_families_" in moved["x"]["remark"]
    assert moved["z"]["bits"] < 1e-12
    with pytest.raises(TypeError, match="cannot compare"):
        sr.compare(a, sr.GaussianNB().fit(X, y))
    with pytest.raises(ValueError, match="different columns"):
        sr.compare(a, sr.NaiveBayes(calibrate=None).fit({"x": X[:, 0]}, y))


def test_decayed_models_are_compared_by_their_weights():
    old, new = RNG.normal(0.0, 1.0, (300, 1)), RNG.normal(3.0, 1.0, (300, 1))
    model = sr.GaussianNB().fit(old, ["only"] * 300).decay(0.001).partial_fit(new, ["only"] * 300)
    recent, first = (sr.GaussianNB().fit(x, ["only"] * 300) for x in (new, old))
    assert sr.compare(model, recent)["x0"]["bits"] < 0.001 < 0.5 < sr.compare(model, first)["x0"]["bits"]
