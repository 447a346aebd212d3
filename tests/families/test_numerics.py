"""Numbers that hold: far from zero, in float32, with very many columns, at the edge of the range."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import sparse
from sunrise import BernoulliNB, GaussianNB, MultinomialNB, engines

MAVRO = [18, 17, 18, 19, 18, 17, 15, 14, 15, 15, 17, 18, 18, 19, 19, 21, 20, 16, 14, 13, 13, 15, 15, 16, 15]
MAVRO += [14, 13, 14, 15, 14, 15, 16, 15, 16, 19, 20, 20, 21, 22, 23, 24, 25, 27, 26, 26, 26, 27, 26, 25, 24]

# Columns of NIST's Statistical Reference Datasets, univariate summary statistics.
NIST = {
    "NumAcc1": [10000001, 10000003, 10000002],
    "NumAcc2": [1.2] + [1.1, 1.3] * 500,
    "NumAcc3": [1000000.2] + [1000000.1, 1000000.3] * 500,
    "NumAcc4": [10000000.2] + [10000000.1, 10000000.3] * 500,
    "Mavro": [float(f"2.00{k:02d}") for k in MAVRO],
}


def exact_mean_and_sd(column):
    """Mean and sd (divisor n - 1) of the float64 data, by exact fractions."""
    values = [Fraction(float(v)) for v in column]
    mean = sum(values) / len(values)
    var = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    with mpmath.workdps(40):
        return float(mean), float(mpmath.sqrt(mpmath.mpf(var.numerator) / var.denominator))


def batches(column, size):
    return [column[k : k + size] for k in range(0, len(column), size)]


def fitted(column):
    return GaussianNB(var_smoothing=0.0).fit(column[:, None], np.zeros(len(column)))


def streamed(column, size):
    model = GaussianNB(var_smoothing=0.0)
    for part in batches(column, size):
        model.partial_fit(part[:, None], np.zeros(len(part)))
    return model


def merged(column, size):
    first, *rest = (fitted(part) for part in batches(column, size))
    for other in rest:
        first.merge(other)
    return first


def forgotten(column, size):
    other = np.repeat(column.mean() + np.ptp(column), size)[:, None]
    y = np.zeros(size)
    return fitted(column).partial_fit(other, y).forget(other, y)


WAYS = {
    "fit": lambda column: fitted(column),
    **{f"partial_fit by {k}": lambda column, k=k: streamed(column, k) for k in (1, 2, 7, 10, 500)},
    **{f"merge of {k}s": lambda column, k=k: merged(column, k) for k in (1, 3, 64)},
}


#: Ways that make thousands of models.
LENGTHY = {"partial_fit by 1", "merge of 1s"}


@pytest.mark.parametrize("engine", engines.ENGINES)
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.slow if way in LENGTHY else ()) for way in WAYS]
)
@pytest.mark.parametrize("name", NIST)
def test_nist_columns_are_exact(name, way, engine):
    column = np.array(NIST[name], dtype=float)
    mean, sd = exact_mean_and_sd(column)
    with engines.using(engine):
        model = WAYS[way](column)
    n = len(column)
    assert model.theta_[0, 0] == pytest.approx(mean, rel=1e-14, abs=0)
    assert math.sqrt(model.var_[0, 0] * n / (n - 1)) == pytest.approx(sd, rel=1e-14, abs=0)


@pytest.mark.parametrize("name", NIST)
def test_forgetting_keeps_the_bound(name):
    column = np.array(NIST[name], dtype=float)
    _, sd = exact_mean_and_sd(column)
    n = len(column)
    model = forgotten(column, 5)
    whole = fitted(np.append(column, np.repeat(column.mean() + np.ptp(column), 5)))
    before, after = whole.var_[0, 0] * (n + 5), model.var_[0, 0] * n
    assert after == pytest.approx(sd**2 * (n - 1), rel=1e-13 * before / after, abs=0)


def test_float32_is_accumulated_in_float64():
    rng = np.random.default_rng(0)
    X = np.full((4_000_000, 2), 100.1, dtype=np.float32)
    X[:, 1] += rng.normal(0, 0.1, len(X)).astype(np.float32)
    model = GaussianNB(var_smoothing=0.0).fit(X, np.zeros(len(X), dtype=int))
    exact = X.astype(np.float64)
    np.testing.assert_allclose(
        model.theta_[0], [float(np.float32(100.1)), math.fsum(exact[:, 1]) / len(X)], rtol=1e-14
    )
    truth = math.fsum((exact[:, 1] - model.theta_[0, 1]) ** 2) / len(X)
    assert model.var_[0].tolist() == [0.0, pytest.approx(truth, rel=1e-13)]
    assert truth == pytest.approx(0.00999, abs=1e-5)


@pytest.mark.parametrize("cls", [GaussianNB, BernoulliNB, MultinomialNB])
def test_a_hundred_thousand_columns_do_not_underflow(cls):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (20, 100_000)).astype(float)
    y = np.repeat([0, 1], 10)
    model = cls(var_smoothing=0.1) if cls is GaussianNB else cls()
    proba = model.fit(X, y).predict_proba(X)
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-15)
    assert (model.predict(X) == y).all()


def test_cells_up_to_1e150_do_not_overflow():
    X = np.array([[-1e150], [-0.9e150], [1e150], [0.9e150]])
    model = GaussianNB().fit(X, [0, 0, 1, 1])
    assert np.isfinite(model.var_).all()
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_larger_cells_are_refused():
    with pytest.raises(ValueError, match="column 1 holds numbers too large for their squares"):
        GaussianNB().fit([[0.0, 1e200], [1.0, -1e200], [2.0, 0.0]], [0, 0, 1])


def test_a_constant_column_is_constant_whatever_its_weights():
    rng = np.random.default_rng(0)
    for _ in range(100):
        X = np.column_stack([rng.normal(size=30), np.full(30, 0.1 + rng.random())])
        model = GaussianNB(var_smoothing=0.0).fit(X, np.arange(30) % 2, sample_weight=rng.random(30))
        assert model.var_[:, 1].tolist() == [0.0, 0.0]


def test_a_sure_winner_keeps_the_digits_of_its_log_probability():
    # Joint scores -1000 and -1040, up to the rounding of a product: the truth is -log1p(exp(-40)).
    model = MultinomialNB.from_parameters(
        [[math.exp(-1.0), 1 - math.exp(-1.0)], [math.exp(-1.04), 1 - math.exp(-1.04)]], classes=[0, 1]
    )
    log_proba = model.predict_log_proba([[1000, 0]])[0]
    with mpmath.workdps(30):
        truth = float(-mpmath.log1p(mpmath.exp(-40)))
    assert log_proba[0] == pytest.approx(truth, rel=1e-11)
    assert log_proba[0] != 0
    assert log_proba[1] == pytest.approx(-40, rel=1e-12)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
def test_log_of_one_minus_theta_comes_from_counts(n):
    model = BernoulliNB().fit([[1.0], [0.0]], [0, 1], sample_weight=[float(n), 1.0])
    with mpmath.workdps(40):
        truth = float(mpmath.log(mpmath.mpf(1) / (n + 2)) + mpmath.log(mpmath.mpf(n) / (n + 1)))
    assert model.predict_joint_log_proba([[0]])[0, 0] == pytest.approx(truth, rel=1e-14)


def test_counts_beyond_2_to_the_24_and_31_are_exact():
    X, w = np.ones((3, 1), dtype=np.float32), np.array([2.0**31, 2.0**24, 1.0])
    model = MultinomialNB().fit(X, [0, 0, 0], sample_weight=w)
    assert model.feature_count_[0, 0] == 2**31 + 2**24 + 1


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("engine", engines.ENGINES)
def test_no_variance_is_the_limit_of_small_ones(scale, layout, engine):
    X, y = np.array([[1.0, 3.0], [1.0, 4.0], [0.9, 3.5], [1.1, 3.6]]) * scale, list("aabb")
    at = layout(np.array([[1.0, 3.5], [1.0001, 3.5], [0.0, 3.5]]) * scale)
    with engines.using(engine):
        limit = GaussianNB(var_smoothing=0.0).fit(X, y).predict_proba(at)
        small = GaussianNB(var_smoothing=1e-14).fit(X, y).predict_proba(at)
    np.testing.assert_allclose(limit, [[1, 0], [0, 1], [0, 1]], atol=1e-300)
    np.testing.assert_allclose(small, limit, atol=1e-5)


def test_classes_a_million_deviations_apart():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 1000), rng.normal(1e6, 1, 1000)])[:, None]
    y = np.repeat([0, 1], 1000)
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    for c in (0, 1):
        _, sd = exact_mean_and_sd(X[y == c, 0])
        assert model.var_[c, 0] * 1000 / 999 == pytest.approx(sd**2, rel=1e-13)


def test_memory_of_a_fit_is_small_beside_its_data():
    # 400 MB of data must not be copied: less than 40 MB may be added at the peak.
    import subprocess
    import sys

    code = """
import resource, numpy as np
from sunrise import GaussianNB
X = np.zeros((500_000, 100)); X += 1.0
y = np.arange(500_000) % 10
GaussianNB().fit(X[:1000], y[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
GaussianNB().fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40_000  # kB
