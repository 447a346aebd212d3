"""Kernel densities: against sums of all kernels in float64 and in fifty digits, SciPy's, integrals and refits."""

from __future__ import annotations

import math
import pickle
import time

import mpmath
import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import integrate, sparse, stats
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sunrise import Kernel, KernelNB, _native, engines
from sunrise._common import threads
from sunrise.numerics import bandwidth
from sunrise.statistics.empirical import Values
from sunrise.statistics.grids import EvenGrid, Lattice

RNG = np.random.default_rng(7)

RULES = list(bandwidth.RULES)
every_rule = pytest.mark.parametrize("rule", RULES)


def log_kde(values, weights, h, x):
    """Log of the mean of all kernels, one by one."""
    z = (np.asarray(x)[:, None] - values) / h
    return logsumexp(-0.5 * z * z, b=weights, axis=1) - math.log(weights.sum() * h * math.sqrt(2 * math.pi))


def truth(X, y, w, widths, x, images=((1.0, 0.0),)):
    """Log densities of one column under every class, from the definition."""
    classes = np.unique(y[w > 0])
    there = ~np.isnan(X) & (w > 0)
    kdes, n = [], []
    for c, h in zip(classes, widths, strict=True):
        own = there & (y == c)
        n.append(w[own].sum())
        parts = [log_kde(X[own], w[own], h, sign * x + shift) for sign, shift in images] if own.any() else []
        kdes.append(logsumexp(parts, axis=0) if parts else np.full(len(x), -np.inf))
    kdes, n = np.array(kdes), np.array(n)[:, None]
    pooled = logsumexp(kdes, b=n / n.sum(), axis=0)
    return (np.logaddexp(np.log(np.maximum(n, 1e-300)) + kdes, pooled) - np.log(n + 1)).T


def samples(n):
    u = RNG.random(n)
    return {
        "normal": RNG.normal(size=n),
        "uniform": u,
        "cauchy": np.tan(np.pi * (u - 0.5)),
        "log-normal": np.exp(3 * RNG.normal(size=n)),
        "two far apart": RNG.normal(size=n) + 1e5 * (u < 0.3),
        "spikes": np.floor(u * 5) + 1e-9 * RNG.normal(size=n),
        "ties": np.round(RNG.normal(size=n), 1),
        "far from zero": 1e8 + 1e-2 * RNG.normal(size=n),
        "narrow in wide": RNG.normal(size=n) * np.where(u < 0.5, 1e-6, 1.0),
        "zeros": np.where(u < 0.8, 0.0, RNG.exponential(size=n)),
    }


def places(x, h):
    """Where to look: at values, between them, just beside them, and beyond, 600 nats below the peak and more."""
    low, high = x.min() - 35 * h, x.max() + 35 * h
    beyond = np.geomspace(h, 40 * h, 25)
    return np.concatenate(
        [
            RNG.choice(x, 40),
            RNG.choice(x, 40) + h * RNG.normal(size=40) * 4,
            (RNG.choice(x, 40) + RNG.choice(x, 40)) / 2,
            RNG.uniform(low, high, 40),
            x.min() - beyond,
            x.max() + beyond,
        ]
    )


@pytest.mark.parametrize("n", [1, 2, 49, 300, 3000, 20_000])
@pytest.mark.parametrize("name", samples(2))
@pytest.mark.parametrize("rule", ["sqrt", "silverman", 0.05, 20.0])
def test_densities_are_sums_of_all_kernels(n, name, rule):
    x = samples(n)[name]
    y = np.where(RNG.random(n) < 0.7, 0, 1)
    w = np.where(RNG.random(n) < 0.5, 1.0, RNG.gamma(1.0, size=n) + 1e-3)
    model = KernelNB(bandwidth=rule, shared_bandwidth=False, class_prior="uniform").fit(x[:, None], y, w)
    h = model.bandwidth_[:, 0]
    q = places(x, h.max())
    found = model.predict_joint_log_proba(q[:, None]) + math.log(len(model.classes_))
    expected = truth(x, y, w, h, q)
    assert np.abs(found - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max() / 1e9)
    assert expected.min() < expected.max() - 500


def test_a_hundred_thousand_values_and_a_million_nats():
    for x in (RNG.normal(size=100_000), RNG.standard_cauchy(100_000)):
        model = KernelNB(bandwidth="silverman").fit(x[:, None], np.zeros(len(x)))
        h = model.bandwidth_[0, 0]
        q = np.concatenate([places(x, h)[::4], [x.max() + 1000 * h, x.min() - 1400 * h]])
        expected = truth(x, np.zeros(len(x)), np.ones(len(x)), [h], q)
        np.testing.assert_allclose(model.predict_joint_log_proba(q[:, None]), expected, rtol=1e-13, atol=1e-8)
        assert expected.min() < -4e5


def test_densities_in_fifty_digits():
    x = np.array([0.1, 0.1, 0.3, 0.7, 5.0])
    model = KernelNB(bandwidth=0.2).fit(x[:, None], np.zeros(5))
    for q in (-7.0, 0.1, 0.45, 2.9, 11.0):
        with mpmath.workdps(50):
            kernels = [mpmath.npdf(mpmath.mpf(q), mpmath.mpf(float(v)), mpmath.mpf(0.2)) for v in x]
            expected = mpmath.log(mpmath.fsum(kernels) / 5)
        assert model.predict_joint_log_proba([[q]])[0, 0] == pytest.approx(float(expected), abs=1e-11)


def test_it_is_scipys_density():
    x = RNG.gamma(2.0, size=200)
    model = KernelNB(bandwidth="scott").fit(x[:, None], np.zeros(200))
    theirs = stats.gaussian_kde(x, bw_method=1.06 * 200**-0.2)
    q = np.linspace(-2, 15, 50)
    np.testing.assert_allclose(model.score_samples(q[:, None]), theirs.logpdf(q), rtol=0, atol=1e-9)


def test_nonsense_for_the_native_code_is_refused():
    x, w, ends, h = np.array([0.0, 1.0]), np.ones(2), np.array([0, 2]), np.ones(1)
    sound = _native.KernelSums(x, w, ends, h, 1, 1)
    for bad in (
        (x[::-1].copy(), w, ends, h),
        (x, w[:1], ends, h),
        (x, w, np.array([0, 3]), h),
        (x, w, np.array([2, 0]), h),
        (x, w, np.array([-1, 2]), h),
        (x, w, ends, np.array([np.nan])),
        (x, w, ends, np.array([])),
        (x, -w, ends, h),
        (np.array([0.0, np.inf]), w, ends, h),
    ):
        with pytest.raises(ValueError, match="kernels"):
            _native.KernelSums(*bad, 1, 1)
    plain = (False, -np.inf, np.inf, [(1.0, 0.0)])
    for at in ([1], [-1], [0, 0]):
        with pytest.raises(ValueError, match="kernels"):
            sound.log_sums(np.array(at), np.zeros(1), plain, 1)
    found = sound.log_sums(np.zeros(4, np.int64), np.array([np.nan, np.inf, -np.inf, 1e308]), plain, 1)
    assert not np.isposinf(found).any()
    far = _native.KernelSums(
        np.linspace(-1.0, 1.0, 100) * 1e308, np.ones(100), np.array([0, 100]), np.ones(1), 1, 1
    )
    assert np.isfinite(far.log_sums(np.zeros(1, np.int64), np.zeros(1), plain, 1)).all()


def test_rows_too_far_for_squares_still_have_a_score():
    model = KernelNB(bandwidth=1e-3).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    assert np.isfinite(model.predict_joint_log_proba([[1e300], [-1.7e308]])).all()


# Bandwidths


def test_rules_of_thumb_are_what_others_have():
    x, w = np.arange(9.0), np.ones(9)
    sd = np.std(x, ddof=1)
    assert bandwidth.scott(x, w) == pytest.approx(1.06 * 1.76474568962182, rel=1e-12)
    assert bandwidth.silverman(x, w) == pytest.approx(0.9 * min(sd, 4 / 1.34) * 9**-0.2, rel=1e-12)
    assert bandwidth.sqrt(x, w) == pytest.approx(8 / 3)
    y = RNG.normal(size=57)
    kde = stats.gaussian_kde(y)
    assert bandwidth.scott(np.sort(y), np.ones(57)) == pytest.approx(
        1.06 * math.sqrt(kde.covariance[0, 0]), rel=1e-12
    )


def test_quantiles_are_numpys_of_repeated_values():
    for _ in range(50):
        x, w = np.sort(RNG.normal(size=6)), RNG.integers(1, 5, 6).astype(float)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            expected = np.quantile(np.repeat(x, w.astype(int)), share)
            assert bandwidth.quantile(x, w, share) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("modes", [False, True])
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
def test_the_improved_rule_is_close_to_the_best_width(n, modes):
    # The width of least asymptotic error, from the density itself.
    x = RNG.normal(size=n) * (0.3 if modes else 1.0) + (
        np.where(RNG.random(n) < 0.5, -2.0, 2.0) if modes else 0
    )

    def curvature(t):
        def bump(m, s):
            return ((t - m) ** 2 / s**4 - 1 / s**2) * stats.norm.pdf(t, m, s)

        return (0.5 * bump(-2, 0.3) + 0.5 * bump(2, 0.3)) ** 2 if modes else bump(0, 1) ** 2

    rough = integrate.quad(curvature, -9, 9, limit=500, points=[-2, 0, 2])[0]
    best = (1 / (2 * math.sqrt(math.pi) * rough * n)) ** 0.2
    found = bandwidth.isj(np.sort(x), np.ones(n))
    assert found == pytest.approx(best, rel=0.25 if n == 1000 else 0.12)
    if modes:
        assert bandwidth.silverman(np.sort(x), np.ones(n)) > 3 * best


def test_leave_one_out_has_the_greatest_likelihood():
    x = np.sort(np.concatenate([RNG.normal(size=40), RNG.normal(6, 0.3, 40)]))

    def likelihood(h):
        z = (x[:, None] - x) / h
        return logsumexp(
            np.where(np.eye(80, dtype=bool), -np.inf, -0.5 * z * z), axis=1
        ).sum() - 80 * math.log(h)

    found = bandwidth.loo(x, np.ones(80))
    grid = np.geomspace(np.diff(x).min() / 6, 10, 400)
    assert likelihood(found) >= max(map(likelihood, grid)) - 1e-3
    ties = np.array([0.0, 1.0, 3.0])
    assert bandwidth.loo(ties, np.array([5.0, 5.0, 5.0])) == pytest.approx(1 / 6, rel=1e-3)


@every_rule
@pytest.mark.parametrize("factor, shift", [(1e-7, 0.0), (2.54, -3.0), (1e12, 0.0)])
def test_bandwidths_grow_with_the_units(rule, factor, shift):
    x = RNG.gamma(2.0, size=(150, 1))
    y = RNG.integers(0, 3, 150)
    a, b = (KernelNB(bandwidth=rule, shared_bandwidth=False).fit(z, y) for z in (x, x * factor + shift))
    np.testing.assert_allclose(a.bandwidth_ * factor, b.bandwidth_, rtol=1e-5)
    np.testing.assert_allclose(a.predict_proba(x), b.predict_proba(x * factor + shift), rtol=1e-4)


@every_rule
def test_a_weight_is_that_many_values(rule):
    x, w = np.round(RNG.normal(size=60), 1), RNG.integers(1, 4, 60).astype(float)
    y = np.arange(60) % 2
    repeated = np.repeat(np.arange(60), w.astype(int))
    a = KernelNB(bandwidth=rule).fit(x[:, None], y, w)
    b = KernelNB(bandwidth=rule).fit(x[repeated, None], y[repeated])
    np.testing.assert_allclose(a.bandwidth_, b.bandwidth_, rtol=1e-9)


@every_rule
def test_degenerate_samples_have_a_width(rule):
    X = np.array([[3.0, 7.0, 0.0, 1.0]] * 4 + [[5.0, 7.0, 0.0, 1.0]] * 3 + [[5.0, 7.0, 0.0, 2.0]])
    y = np.repeat([0, 1], 4)
    model = KernelNB(bandwidth=rule).fit(X, y)
    assert ((model.bandwidth_ > 0) & np.isfinite(model.bandwidth_)).all()
    assert model.predict([[3.0, 7.0, 0.0, np.nan], [5.0, 7.0, 0.0, np.nan]]).tolist() == [0, 1]
    # A column of one value tells nothing, whatever the sizes of the classes.
    alone = KernelNB(bandwidth=rule).fit(X[:, 1:3], [0] + [1] * 7)
    np.testing.assert_allclose(
        alone.predict_proba([[7.0, 0.0], [7.5, -0.1]]), [[1 / 8, 7 / 8]] * 2, rtol=1e-9
    )


def test_numbers_are_taken_as_they_are():
    X, y = RNG.normal(size=(20, 2)), np.arange(20) % 2
    assert (KernelNB(bandwidth=0.3).fit(X, y).bandwidth_ == 0.3).all()
    np.testing.assert_array_equal(KernelNB(bandwidth=[0.3, 2.0]).fit(X, y).bandwidth_, [[0.3, 2.0]] * 2)
    own = [[0.3, 2.0], [0.4, 1.0]]
    np.testing.assert_array_equal(KernelNB(bandwidth=own).fit(X, y).bandwidth_, own)
    with pytest.raises(ValueError, match="3 columns|2 columns"):
        KernelNB(bandwidth=[1.0, 2.0, 3.0]).fit(X, y)


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"bandwidth": "best"}, "bandwidth is 'best'"),
        ({"bandwidth": 0.0}, "above 0"),
        ({"bandwidth": [1.0, -1.0]}, "above 0"),
        ({"lower": 1.0, "upper": 1.0}, "lower must be below upper"),
        ({"boundary": "wrap"}, "boundary"),
        ({"boundary": "log"}, "needs a bound"),
        ({"grid": (0.0, 1.0)}, "grid is"),
        ({"grid": (1.0, 0.0, 5)}, "grid is"),
        ({"grid": (0.0, 1.0, 5), "lower": 0.5}, "exceeds the bounds"),
        ({"grid": (0.5, 1.0, 5), "lower": 0.0, "boundary": "log"}, "Leave grid out"),
        ({"prior": 1.0}, "prior_"),
    ],
)
def test_strange_settings_are_refused(settings, text):
    with pytest.raises(ValueError, match=text):
        Kernel(**settings)


# Bounds


@pytest.mark.parametrize("lower, upper", [(0.0, None), (None, 1.0), (0.0, 1.0), (-1.0, 4.0)])
@pytest.mark.parametrize("rule", ["sqrt", 0.7, 9.0])
def test_reflected_densities_are_densities(lower, upper, rule):
    x = RNG.beta(0.7, 2.0, size=60)
    y = np.arange(60) % 2
    model = NaiveBayes(Kernel(rule, lower, upper), class_prior="uniform").fit({"x": x}, y)
    h = model.parameters_["x"]["bandwidth"]
    low = -30 * h.max() - 1 if lower is None else lower
    high = 30 * h.max() + 2 if upper is None else upper
    grid = np.linspace(low, high, 20_001)
    both = np.exp(model.predict_joint_log_proba({"x": grid})) * 2
    np.testing.assert_allclose(np.trapezoid(both, grid, axis=0), 1.0, rtol=1e-5)
    q = RNG.uniform(max(low, -3), min(high, 3), 30)
    if lower is None or upper is None:
        images = ((1.0, 0.0), (-1.0, 2 * (lower if upper is None else upper)))
    else:
        turns = 2 * (upper - lower) * np.arange(-15, 16)
        images = [(1.0, t) for t in turns] + [(-1.0, 2 * lower + t) for t in turns]
    expected = truth(x, y, np.ones(60), h, q, images)
    np.testing.assert_allclose(
        model.predict_joint_log_proba({"x": q}) + math.log(2), expected, rtol=1e-9, atol=1e-8
    )


@pytest.mark.parametrize("lower, upper", [(0.0, None), (None, 3.0), (0.0, 3.0), (-2.5, None)])
def test_densities_on_a_log_scale_are_densities(lower, upper):
    x = np.clip(RNG.gamma(2.0, 0.3, size=50), 0.01, 2.9)
    model = NaiveBayes(Kernel("silverman", lower, upper, "log")).fit({"x": x}, np.arange(50) % 2)
    a, b = (-60.0 if lower is None else lower), (80.0 if upper is None else upper)
    inside = np.nextafter(a, b), np.nextafter(b, a)
    total, _ = integrate.quad(
        lambda v: float(np.exp(model.score_samples({"x": [min(max(v, inside[0]), inside[1])]})[0])),
        a,
        b,
        limit=800,
        points=[0.05, 0.3, 1.0, 2.0, 2.8],
    )
    assert total == pytest.approx(1.0, abs=1e-5)
    if (lower, upper) == (0.0, None):
        h = model.parameters_["x"]["bandwidth"]
        expected = truth(np.log(x), np.arange(50) % 2, np.ones(50), h, np.log(x))
        np.testing.assert_allclose(model.predict_joint_log_proba({"x": x}) + math.log(2), expected, rtol=1e-9)


@pytest.mark.parametrize("boundary", ["reflect", "log"])
def test_cells_beyond_a_bound_are_refused_by_name(boundary):
    family = Kernel(lower=0.0, upper=10.0, boundary=boundary)
    with pytest.raises(ValueError, match="-2 in column 'age'"):
        NaiveBayes({"age": family}).fit({"age": [1.0, -2.0, 3.0]}, [0, 1, 1])
    model = NaiveBayes({"age": family}).fit({"age": [1.0, 2.0, 3.0]}, [0, 1, 1])
    for engine in engines.ENGINES:
        with engines.using(engine), pytest.raises(ValueError, match="11 in column 'age'"):
            model.predict({"age": [11.0]})
    if boundary == "log":
        with pytest.raises(ValueError, match="excluded"):
            NaiveBayes({"age": family}).fit({"age": [1.0, 0.0, 3.0]}, [0, 1, 1])


# The grid


@pytest.mark.parametrize("cells", [20, 100, 1000])
@pytest.mark.parametrize("lower", [None, 0.0])
def test_a_grid_is_within_its_bound(cells, lower):
    x = RNG.gamma(2.0, size=400) + 0.01
    grid, h = (0.0, 20.0, cells), max(0.4, 20.0 / cells)
    on_grid = KernelNB(bandwidth=h, grid=grid, lower=lower).fit(x[:, None], np.zeros(400))
    exact = KernelNB(bandwidth=h, lower=lower).fit(x[:, None], np.zeros(400))
    q = np.linspace(0.0, 25.0, 500)[:, None]
    off = np.abs(np.exp(on_grid.score_samples(q)) - np.exp(exact.score_samples(q))).max()
    bound = (20.0 / cells / h) ** 2 / 8 / (h * math.sqrt(2 * math.pi)) * (1 if lower is None else 2)
    assert off <= bound * (1 + 1e-9)
    kept = on_grid.stats_.blocks[0]
    assert not np.isin(x, kept.x).any() and len(kept.x) <= cells + 1


def test_a_grid_is_exact_under_updates():
    X, y = RNG.normal(size=(300, 2)), RNG.integers(0, 3, 300)
    grid = (-6.0, 6.0, 240)
    whole = KernelNB(grid=grid).fit(X, y)
    parts = [KernelNB(grid=grid).fit(X[k::3], y[k::3]) for k in range(3)]
    merged = parts[2] + parts[0] + parts[1]
    np.testing.assert_array_equal(merged.stats_.blocks[0].weight, whole.stats_.blocks[0].weight)
    merged.forget(X[2::3], y[2::3])
    rest = np.arange(300) % 3 < 2
    np.testing.assert_array_equal(
        merged.stats_.blocks[0].weight, KernelNB(grid=grid).fit(X[rest], y[rest]).stats_.blocks[0].weight
    )
    with pytest.raises(ValueError, match="grid"):
        KernelNB(grid=grid).fit([[7.0, 0.0]], [0])
    assert np.isfinite(whole.predict_log_proba([[7.0, 0.0]])).all()
    with pytest.raises(ValueError, match="disagree|settings"):
        KernelNB(grid=grid).fit(X, y).merge(KernelNB().fit(X, y))


# Values as statistics


def test_many_classes_take_no_table_of_classes_times_values():
    n, classes = 80_000, 20
    X, y = RNG.normal(size=(n, 1)), RNG.integers(0, classes, n)
    kept = KernelNB().fit(X, y).stats_.blocks[0]
    assert len(kept.x) == n and sum(a.nbytes for a in (kept.x, kept.times, kept.weight)) == 24 * n


def test_forgetting_leaves_no_trace():
    X, y = np.array([[1.0], [2.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])
    model = KernelNB().fit(X, y).partial_fit([[9.0], [2.0]], [0, 1]).forget([[9.0], [2.0]], [0, 1])
    np.testing.assert_array_equal(model.stats_.blocks[0].x, [1.0, 2.0, 2.0, 4.0])
    for row, label in (([[3.0]], 0), ([[4.0]], 0)):
        with pytest.raises(ValueError, match="never seen|cannot be forgotten"):
            model.forget(row, [label])
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget([[1.0]], [0], sample_weight=[2.0])


def test_statistics_select_join_and_take():
    X, y = np.round(RNG.normal(size=(50, 3)), 1), RNG.integers(0, 3, 50).astype(np.int32)
    whole = Values.of(X, y, None, 3)
    parts = [Values.of(X[:, [j]], y, None, 3) for j in range(3)]
    again = Values.concatenate([parts[2], parts[0], parts[1]]).select_columns(np.array([1, 2, 0]))
    for name in ("rows", "observed_weight", "sizes", "x", "times", "weight"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    back = whole.select_classes(np.array([2, 0])).reindexed(np.array([2, 0]), 3)
    np.testing.assert_array_equal(back.run(2, 1).x, whole.run(2, 1).x)
    assert len(back.run(1, 1).x) == 0 and back.rows[1].sum() == 0


# Classes, missing cells, calibration, leave-one-out


def test_a_class_that_never_saw_the_column_has_the_pooled_density():
    table = {"x": [1.0, 2.0, 4.0, np.nan, np.nan], "z": [0.0, 1.0, 0.0, 1.0, 0.0]}
    y = np.array(["a", "a", "b", "c", "c"])
    model = NaiveBayes("kernel", class_prior="uniform").fit(table, y)
    told = model.explain({"x": [1.3, np.nan], "z": [0.0, 0.5]}).contributions
    h = model.parameters_["x"]["bandwidth"]
    expected = truth(np.array(table["x"]), y, np.ones(5), h, np.array([1.3]))
    np.testing.assert_allclose(told[0, :, 0], expected[0], rtol=1e-10)
    np.testing.assert_array_equal(told[1, :, 0], 0.0)
    assert model.parameters_["x"]["n"].tolist() == [2.0, 1.0, 0.0]


def test_maximum_likelihood_has_no_prior():
    x, y = RNG.normal(size=30), np.arange(30) % 2
    model = NaiveBayes(Kernel(0.5), estimate="mle", class_prior="uniform").fit({"x": x}, y)
    q = np.linspace(-4, 4, 9)
    expected = np.array([log_kde(x[y == c], np.ones(15), 0.5, q) for c in (0, 1)]).T
    np.testing.assert_allclose(model.predict_joint_log_proba({"x": q}) + math.log(2), expected, rtol=1e-10)


def test_classes_share_the_mean_of_their_widths():
    X, y = RNG.normal(size=(60, 2)) * [[1.0, 5.0]], np.arange(60) % 3 // 2
    own = KernelNB(bandwidth="scott", shared_bandwidth=False).fit(X, y).bandwidth_
    np.testing.assert_allclose(
        KernelNB(bandwidth="scott").fit(X, y).bandwidth_, [(2 * own[0] + own[1]) / 3] * 2, rtol=1e-12
    )
    np.testing.assert_allclose(own[1], [1.06 * np.std(X[y == 1, j], ddof=1) * 20**-0.2 for j in (0, 1)])


FAMILIES = {
    "scott": Kernel(),
    "sqrt": Kernel("sqrt", shared_bandwidth=False),
    "silverman": Kernel("silverman", shared_bandwidth=False),
    "reflect": Kernel(lower=-50.0, upper=60.0),
    "log": Kernel("scott", lower=-50.0, boundary="log"),
    "grid": Kernel("silverman", grid=(-50.0, 60.0, 700)),
    "narrow": Kernel(1e-3),
}


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("estimate", ["mean", "mle"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_left_out_as_if_they_had_not_been_fitted(kind, estimate, weighted):
    family = FAMILIES[kind]
    for _ in range(3):
        n = 40
        x = np.round(RNG.standard_cauchy(n).clip(-40, 50), 2)
        x[RNG.random(n) < 0.2] = np.nan
        y = np.array(list("abc"))[np.append(np.arange(3).repeat(3), RNG.integers(0, 3, n - 9))]
        w = RNG.choice([0.5, 1.0, 2.0], n) if weighted else None
        model = NaiveBayes(family, estimate=estimate).fit({"x": x}, y, w)
        found = model.leave_one_out({"x": x}, y, w)
        widths = np.array(model.parameters_["x"]["bandwidth"])[:, None]
        own = {"lower": family.lower, "upper": family.upper, "boundary": family.boundary, "grid": family.grid}
        given = Kernel(widths, **own, prior=model.prior_["x"])
        for i in range(n):
            rest = np.arange(n) != i
            other = NaiveBayes(given, estimate=estimate)
            other.fit({"x": x[rest]}, y[rest], None if w is None else w[rest])
            expected = other.predict_log_proba({"x": x[i : i + 1]})[0]
            np.testing.assert_allclose(found[i], expected, rtol=1e-6, atol=1e-7)


def test_leave_one_out_is_about_as_fast_as_scoring():
    x, y = RNG.standard_cauchy(60_000), RNG.integers(0, 2, 60_000)
    model = NaiveBayes("kernel").fit({"x": x}, y)
    model.predict_log_proba({"x": x[:1]})

    def seconds(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    scoring = min(seconds(lambda: model.predict_log_proba({"x": x})) for _ in range(3))
    leaving = min(seconds(lambda: model.leave_one_out({"x": x}, y)) for _ in range(3))
    assert leaving < 20 * scoring + 0.5


def test_rows_that_were_never_fitted_cannot_be_left_out():
    model = NaiveBayes("kernel").fit({"x": [1.0, 2.0, 3.0, 4.0]}, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="never fitted"):
        model.leave_one_out({"x": [1.5]}, [0])


@pytest.mark.parametrize("kind", ["temperature", "columns"])
def test_calibration_weighs_the_columns(kind):
    y = RNG.integers(0, 2, 200)
    a = RNG.normal(size=200) + y
    table = {"a": a, "b": a + 0.4 * RNG.normal(size=200), "c": RNG.normal(size=200)}
    plain = NaiveBayes("kernel").fit(table, y)
    model = NaiveBayes("kernel", calibrate=kind).fit(table, y)
    assert model.loo_score_.log_loss < plain.loo_score(table, y).log_loss
    told = model.explain(table)
    np.testing.assert_allclose(told.score, model.predict_joint_log_proba(table), rtol=1e-8, atol=1e-8)
    with engines.using("array"):
        np.testing.assert_allclose(
            model.predict_log_proba(table), sr.NaiveBayes.predict_log_proba(model, table), rtol=1e-8
        )


# Uses


@pytest.mark.parametrize("kind", ["sqrt", "silverman", "grid", "reflect"])
def test_information_is_the_integral_of_the_densities(kind):
    y = np.repeat([0, 1, 2], [60, 30, 10])
    x = np.abs(RNG.normal(size=100) * (1 + (y == 1)) + 2 * (y == 2)) + 0.1
    family = Kernel(lower=0.0) if kind == "reflect" else FAMILIES[kind]
    model = NaiveBayes(family).fit({"x": x}, y)
    grid = np.linspace(0.0 if kind == "reflect" else -8.0, 16.0, 40_001)
    p = np.exp(model.predict_joint_log_proba({"x": grid}))
    both = p.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(p > 0, p * np.log2(p / both / model.class_prior_), 0.0).sum(axis=1)
    assert model.mutual_information()[0] == pytest.approx(np.trapezoid(told, grid), abs=1e-5)


def test_information_of_wide_and_empty_columns_is_found():
    y = np.arange(3000) % 3
    table = {"x": RNG.standard_cauchy(3000) + 3 * y, "z": np.where(y == 0, np.nan, RNG.normal(size=3000))}
    bits = NaiveBayes("kernel").fit(table, y).mutual_information()
    assert 0.2 < bits[0] < 1.2 and 0 <= bits[1] < 0.1
    positive = {"x": np.exp(RNG.normal(size=3000) + y)}
    for boundary in ("reflect", "log"):
        model = NaiveBayes(Kernel("silverman", lower=0.0, boundary=boundary)).fit(positive, y)
        u = np.linspace(-40.0, 8.0, 100_001)
        p = np.exp(
            model.predict_joint_log_proba({"x": np.exp(u)}) + (u[:, None] if boundary == "reflect" else 0.0)
        )
        p = np.maximum(p, 1e-300)
        told = (p * np.log2(p / p.sum(axis=1, keepdims=True) / model.class_prior_)).sum(axis=1)
        assert model.mutual_information()[0] == pytest.approx(np.trapezoid(told, u), abs=1e-5)


@pytest.mark.parametrize(
    "family",
    [
        Kernel(),
        Kernel(lower=0.0),
        Kernel(0.8, 0.0, 4.0),
        Kernel("scott", 0.0, None, "log"),
        Kernel(grid=(0, 4, 50)),
    ],
)
def test_samples_have_the_distribution_of_the_model(family):
    x = RNG.beta(1.0, 3.0, 40) * 3.9 + 0.05
    model = NaiveBayes(family).fit({"x": x}, np.arange(40) % 2)
    rows, _ = model.sample(20_000, y=1, random_state=0)
    drawn = np.sort(np.array(rows["x"]))
    grid = np.linspace(drawn[0] - 1 if family.lower is None else 1e-9, drawn[-1] + 1, 40_001)
    if family.upper is not None:
        grid = np.linspace(1e-9, 4.0, 40_001)
    one = model.with_class_prior([0.0, 1.0])
    density = np.exp(one.score_samples({"x": grid}))
    cdf = integrate.cumulative_trapezoid(density, grid, initial=0.0)
    gap = np.abs(np.interp(drawn, grid, cdf) - np.arange(1, 20_001) / 20_000).max()
    assert gap < 0.015


def test_what_a_density_cannot_do_it_says():
    model = KernelNB().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="no linear form"):
        model.to_linear()
    with pytest.raises(ValueError, match="no conjugate posterior"):
        NaiveBayes("kernel").fit({"x": [0.0, 1.0]}, [0, 1]).posterior_["x"]
    assert np.isnan(NaiveBayes("kernel").fit({"x": [0.0, 1.0]}, [0, 1]).log_evidence_)


def test_a_pickle_is_the_model_and_shows_what_it_is():
    X, y = RNG.normal(size=(500, 2)), RNG.integers(0, 2, 500)
    model = NaiveBayes(Kernel("silverman")).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    proba = model.predict_proba(pd.DataFrame(X, columns=["a", "b"]))
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict_proba(pd.DataFrame(X, columns=["a", "b"])), proba)
    assert "kernel" in repr(model) and set(model.parameters_["a"]) == {"bandwidth", "n"}
    small = model.select(1)
    assert small.fixed_families_ is not None


def test_dense_frame_and_sparse_are_one():
    X, y = np.where(RNG.random((200, 3)) < 0.5, 0.0, RNG.normal(size=(200, 3))), RNG.integers(0, 2, 200)
    dense = KernelNB().fit(X, y)
    thin = KernelNB().fit(sparse.csr_array(X), y)
    frame = NaiveBayes("kernel").fit(pd.DataFrame(X), y)
    expected = dense.predict_log_proba(X)
    np.testing.assert_allclose(thin.predict_log_proba(sparse.csc_array(X)), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(frame.predict_log_proba(pd.DataFrame(X)), expected)
    np.testing.assert_allclose(
        thin.leave_one_out(sparse.csr_array(X), y), dense.leave_one_out(X, y), rtol=1e-7, atol=1e-8
    )


def test_threads_change_no_bit():
    X, y = RNG.standard_cauchy((30_000, 2)), RNG.integers(0, 2, 30_000)
    one, *more = (KernelNB(bandwidth="silverman", n_jobs=k).fit(X, y).predict_log_proba(X) for k in (1, 2, 5))
    for other in more:
        np.testing.assert_array_equal(one, other)


# Real tables


def errors(model, data):
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=2, random_state=0)
    return 1 - cross_val_score(model, data.data, data.target, cv=folds).mean()


def test_units_are_what_a_plain_square_root_gets_wrong():
    wine = load_wine()
    n = np.array([[59.0], [71.0], [48.0]]) * 0.9
    raw = Kernel(np.tile(1 / np.sqrt(n), (1, 13)))
    assert errors(KernelNB(bandwidth="sqrt", shared_bandwidth=False), wine) < 0.035
    assert errors(KernelNB(), wine) < 0.04
    assert errors(NaiveBayes(raw, estimate="mle"), wine) > 0.2
    assert errors(KernelNB(), load_iris()) < 0.05
    assert errors(KernelNB(), load_breast_cancer()) < 0.065


def test_a_million_values_are_fitted_and_scored_in_little_more_than_sorting_them():
    n = 1_000_000
    x, y, q = RNG.normal(size=(n, 1)), RNG.integers(0, 2, n), RNG.normal(size=(n, 1))

    def seconds(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    sorting = min(seconds(lambda: np.sort(x[:, 0])) for _ in range(3))
    whole = min(seconds(lambda: KernelNB(n_jobs=1).fit(x, y).predict_log_proba(q)) for _ in range(2))
    assert whole < 100 * sorting  # about 14 times; more where NumPy sorts with wider vectors


def test_it_can_be_given_by_name():
    assert NaiveBayes({"x": "kernel"}).fit({"x": [1.0, 2.0]}, [0, 1]).families_["x"]["family"] == "kernel"


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("shape", [(0, 2, 3), (1, 1, 1), (50, 3, 4), (600, 8, 11), (30, 0, 2)])
def test_columns_that_are_sorted_at_once_have_the_values_of_single_columns(shape, missing):
    (n, d, classes), rng = shape, np.random.default_rng(0)
    y = rng.integers(0, max(1, classes - 1), n).astype(np.int32)
    for X in (rng.normal(size=(n, d)), rng.poisson(2.0, (n, d)).astype(float)):
        X[rng.random(X.shape) < missing] = np.nan
        both = Values.of(X, y, None, classes), Values.of(X, y, np.ones(n), classes)
        for name in ("rows", "observed_weight", "sizes", "x", "times", "weight"):
            a, b = (getattr(values, name) for values in both)
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


def test_bandwidths_of_many_samples_are_those_of_silverman():
    rng = np.random.default_rng(0)
    samples = [np.sort(rng.gamma(2.0, 3.0, n)) for n in (0, 1, 2, 3, 4, 5, 50, 501)]
    samples += [np.array([1e300, 1.5e300]), np.array([-1e-300, 1e-300, 2e-300])]
    offsets = np.cumsum([0, *map(len, samples)])
    found = bandwidth.silverman_of_runs(np.concatenate(samples), np.ones(offsets[-1]), offsets)
    for x, width in zip(samples, found.tolist(), strict=True):
        if len(x) < 2:
            assert np.isnan(width)
            continue
        unit = x / np.abs(x).max()  # squares of the values themselves overflow
        between = np.subtract(*np.percentile(unit, [75, 25])) / 1.34
        truth = 0.9 * min(unit.std(ddof=1), between) * len(x) ** -0.2 * np.abs(x).max()
        assert width == pytest.approx(truth, rel=1e-12)
    repeated, times = np.unique(rng.poisson(3.0, 200), return_counts=True)
    weighted = bandwidth.silverman_of_runs(
        repeated.astype(float), times.astype(float), np.array([0, len(repeated)])
    )
    copies = np.repeat(repeated, times).astype(float)
    between = np.subtract(*np.percentile(copies, [75, 25])) / 1.34
    assert weighted[0] == pytest.approx(0.9 * min(copies.std(ddof=1), between) * 200**-0.2, rel=1e-12)
    assert np.isnan(
        bandwidth.silverman_of_runs(repeated + 0.0, times + 0.5, np.array([0, len(repeated)]))
    ).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_values_on_lattices_are_their_runs_on_them(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(scale=[1.0, 1e-3, 1e6, 1.0], size=(2_000, 4))
    x[:, 3] = np.round(x[:, 3] * 64.0) / 64.0  # nodes, and values half way between them
    x[rng.random(x.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, len(x)).astype(np.int32)
    w = rng.integers(1, 9, len(x)) / 4.0 if weighted else None
    grids = [Lattice(2.0**-3), None, Lattice(2.0**14), Lattice(2.0**-5)]
    monkeypatch.setattr(threads, "SMALL", 0)
    for n_jobs in (1, 3):
        with threads.limited_to(n_jobs):
            values = Values.of(x, y, w, 3)
            found, at_once = values.on_grids(grids), Values.of(x, y, w, 3, grids)
        for j, grid in enumerate(grids):
            for c in range(3):
                run = values.run(c, j)
                expected = run if grid is None else run.on_grid(grid)
                for part, of_all in zip(found.run(c, j), at_once.run(c, j), strict=True):
                    np.testing.assert_array_equal(part, of_all)
                for part, truth in zip(found.run(c, j), expected, strict=True):
                    np.testing.assert_array_equal(part, truth)
    assert values.number_of_nodes(grids[0], 0) == found.sizes[:, 0].sum()


def test_other_grids_keep_the_runs_of_python():
    x, y = np.linspace(0.05, 0.95, 60)[:, None], np.zeros(60, np.int32)
    values = Values.of(x, y, None, 1)
    for grid in (EvenGrid(0.0, 1.0, 8), Lattice(0.25, Kernel(lower=0.0, boundary="log").bounds)):
        found, expected = values.on_grids((grid,)).run(0, 0), values.run(0, 0).on_grid(grid)
        for part, truth in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part, truth)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
def test_left_out_cells_on_a_lattice_are_those_of_the_plain_sum(n_classes):
    rng = np.random.default_rng(n_classes)
    x = rng.normal(size=(900, 2)) ** 3  # some cells are far from all others
    x[rng.random(x.shape) < 0.05] = np.nan
    y = rng.permutation(np.arange(len(x)) % n_classes)
    model = KernelNB(class_prior=np.full(n_classes, 1.0 / n_classes)).fit(x, y).compress()
    removal = (
        model._model.parts[0]
        .family.left_out(model.stats_.blocks[0], model._model.params[0], np.ones(n_classes))
        .form
    )
    codes = y.astype(np.int32)
    assert removal.holds(x, model._model.supports[0], codes, 1)
    assert not removal.holds(x + 1e-3, model._model.supports[0], codes, 1)
    for _ in range(40):  # the densities are tabulated after enough rows
        found = removal.cells(x, codes, True)
    i, j = np.nonzero(~np.isnan(x))
    truth = removal.score(x[i, j], codes[i], j, np.ones(len(i)))
    np.testing.assert_allclose(found[i, j], truth, rtol=0, atol=3e-9)
    assert (found[np.isnan(x)] == 0).all()
    for n_threads in (1, 4):
        weighted = removal.scores(x, model._model.supports[0], codes, np.array([0.5, 2.0]), True, n_threads)
        np.testing.assert_allclose(weighted, found @ [0.5, 2.0], rtol=0, atol=1e-13)
