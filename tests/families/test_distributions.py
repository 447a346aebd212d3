"""Distributions of single columns: densities, estimates, samples and units, against SciPy and mpmath."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from plain import NaiveBayes
from scipy import integrate, stats
from sunrise import engines
from sunrise.data.blocks import DenseBlock
from sunrise.engines import array, native
from sunrise.families.beta import Beta, BetaParams, shapes_of
from sunrise.families.exponential import Exponential, ExponentialParams
from sunrise.families.gamma import Gamma, GammaParams, shape_of
from sunrise.families.geometric import Geometric, GeometricParams
from sunrise.families.lognormal import LogNormal, LogNormalParams
from sunrise.families.poisson import Poisson, PoissonParams
from sunrise.families.vonmises import VonMises, VonMisesParams, concentration_of
from sunrise.forms.linear import Linear

BOTH = np.array([True, True])

#: Parameters of two classes and two columns, as lists of the numbers that SciPy's twin takes below.
KNOWN = {
    "poisson": [[[0.3, 4.0], [2.5, 1e6]]],
    "exponential": [[[0.3, 4.0], [2.5, 400.0]]],
    "geometric": [[[0.3, 0.9], [0.01, 1e-6]]],
    "lognormal": [[[0.0, -5.0], [1.0, 20.0]], [[1.0, 4.0], [0.25, 0.01]]],
    "gamma": [[[0.2, 1.0], [3.7, 250.0]], [[1.0, 10.0], [40.0, 1e4]]],
    "beta": [[[0.2, 1.0], [3.7, 250.0]], [[0.5, 1.0], [30.0, 1.1]]],
    "vonmises": [[[0.5, -3.0], [1.7, 0.0]], [[0.0, 0.7], [5.0, 300.0]]],
}
FAMILIES = {
    family.name: family
    for family in (Poisson(), Exponential(), Geometric(), LogNormal(), Gamma(), Beta(), VonMises())
}
MAKE = {
    "poisson": lambda rate: PoissonParams(rate, BOTH),
    "exponential": lambda rate: ExponentialParams(rate, BOTH),
    "geometric": lambda p: GeometricParams(np.log(p), np.log1p(-p), BOTH),
    "lognormal": lambda mean, var: LogNormalParams(mean, var, BOTH),
    "gamma": lambda shape, rate: GammaParams(shape, rate, BOTH),
    "beta": lambda a, b: BetaParams(a, b, BOTH),
    "vonmises": lambda direction, k: VonMisesParams(direction, k, BOTH),
}
NUMBERS = {
    "geometric": lambda params: (np.exp(params.log_p),),
    **{
        name: lambda params: tuple(params)[: params._fields.index("known")]
        for name in ("poisson", "exponential", "lognormal", "gamma", "beta", "vonmises")
    },
}
TWIN = {
    "poisson": lambda rate: stats.poisson(rate),
    "exponential": lambda rate: stats.expon(scale=1 / rate),
    "geometric": lambda p: stats.geom(p, loc=-1),
    "lognormal": lambda mean, var: stats.lognorm(np.sqrt(var), scale=np.exp(mean)),
    "gamma": lambda shape, rate: stats.gamma(shape, scale=1 / rate),
    "beta": lambda a, b: stats.beta(a, b),
    "vonmises": lambda direction, k: stats.vonmises(k, loc=direction),
}
CELLS = {
    "poisson": [0, 1, 2, 7, 1000, 2.0**53],
    "exponential": [0, 5e-324, 1e-300, 1e-6, 0.37, 1, 12.5, 1e6, 1e300],
    "geometric": [0, 1, 2, 7, 1000, 2.0**53],
    "lognormal": [5e-324, 1e-300, 1e-6, 0.37, 1, 12.5, 1e6, 1e300],
    "gamma": [5e-324, 1e-300, 1e-6, 0.37, 1, 12.5, 1e6, 1e300],
    "beta": [5e-324, 1e-300, 1e-6, 0.37, 0.5, 0.99, 1 - 1e-9, 1 - 2.0**-53],
    "vonmises": [-40.0, -np.pi, -1.0, 0.0, 1e-300, 0.7, np.pi, 3.5, 40.0],
}
COUNTS = ("poisson", "geometric")
WITHOUT_SPREAD = ("lognormal", "gamma", "beta", "vonmises")

every_family = pytest.mark.parametrize("name", FAMILIES)


def known(name):
    numbers = [np.array(part) for part in KNOWN[name]]
    return MAKE[name](*numbers), TWIN[name](*numbers)


def log_density(twin, x):
    if twin.dist.name == "lognorm":  # SciPy's own loses x / scale below the smallest float
        return stats.norm(np.log(twin.kwds["scale"]), *twin.args).logpdf(np.log(x)) - np.log(x)
    return (twin.logpmf if hasattr(twin.dist, "logpmf") else twin.logpdf)(x)


def added_up(family, x, y, weight=None, n_classes=2, engine=array):
    """Statistics of rows x columns."""
    codes = np.asarray(y, np.int32)
    block = DenseBlock(np.asarray(x, float))
    return engine.accumulate(block, family.terms, family.fit_support, codes, weight, n_classes, 1)


def fitted(family, x, y, weight=None, n_classes=2, engine=array):
    summed = added_up(family, x, y, weight, n_classes, engine)
    assert family.find_problem(summed) is None
    return family.resolve(summed).params(summed, np.ones(n_classes))


def scores(family, params, x):
    """What each cell adds to the score: rows x classes x columns."""
    x = np.asarray(x, float)
    cells = family.form(params).cells(family.support.views_of(x))
    return cells.reshape(*cells.shape[:2], x.shape[1], -1).sum(axis=3)


def ordinary(name, rng, n=60):
    """Rows of two classes and two columns, in a random order."""
    family, (params, _) = FAMILIES[name], known(name)
    y = rng.integers(0, 2, n).astype(np.int32)
    return family.sample(params, y, rng), y


# ---- densities --------------------------------------------------------------------------------------------


@every_family
def test_scores_and_carrier_are_the_log_density(name):
    family, (params, twin) = FAMILIES[name], known(name)
    x = np.column_stack([CELLS[name], CELLS[name]]).astype(float)
    density = scores(family, params, x) + family.log_base_measure(x)[:, None, :]
    np.testing.assert_allclose(density, log_density(twin, x[:, None, :]), rtol=1e-12, atol=1e-12)


@every_family
def test_a_missing_cell_adds_nothing(name):
    family, (params, _) = FAMILIES[name], known(name)
    x = np.array([[np.nan, CELLS[name][3]], [CELLS[name][3], np.nan]])
    assert (scores(family, params, x)[[0, 1], :, [0, 1]] == 0).all()
    assert (scores(family, params, x)[[0, 1], :, [1, 0]] != 0).all()


@every_family
def test_parameters_are_described_for_people(name):
    family, (params, _) = FAMILIES[name], known(name)
    words = {
        "poisson": ["rate"],
        "exponential": ["rate"],
        "geometric": ["p"],
        "lognormal": ["log mean", "log sd"],
        "gamma": ["shape", "rate"],
        "beta": ["a", "b"],
        "vonmises": ["direction", "concentration"],
    }[name]
    numbers = [np.array(part) for part in KNOWN[name]]
    if name == "lognormal":
        numbers[1] = np.sqrt(numbers[1])
    columns = family.describe(params)
    assert [list(column) for column in columns] == [words, words]
    for j, column in enumerate(columns):
        np.testing.assert_allclose(
            [column[word] for word in words], [part[:, j] for part in numbers], rtol=1e-15
        )


# ---- samples ----------------------------------------------------------------------------------------------


@every_family
def test_samples_have_the_distribution(name):
    family, (params, _) = FAMILIES[name], known(name)
    y = np.repeat(np.arange(2, dtype=np.int32), 20_000)
    x = family.sample(params, y, np.random.default_rng(20))
    assert x.shape == (len(y), 2) and x.dtype == float
    assert (x >= family.support.lowest).all() and (x <= family.support.highest).all()
    for c in range(2):
        for j in range(2):
            one = TWIN[name](*(np.array(part)[c, j] for part in KNOWN[name]))
            draws = x[y == c, j]
            if name in COUNTS:
                edges = np.unique(one.ppf(np.linspace(0.02, 0.98, 30)))
                expected = np.diff(one.cdf(np.concatenate([[-1.0], edges, [np.inf]])))
                counts = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
                keep = expected > 0
                p = stats.chisquare(counts[keep], len(draws) * expected[keep] / expected.sum()).pvalue
            else:
                if name == "vonmises":
                    around = np.array(KNOWN[name][0])[c, j]
                    draws = around + np.angle(np.exp(1j * (draws - around)))
                p = stats.kstest(draws, one.cdf).pvalue
            assert p > 1e-4


def standard_errors(name, numbers, x):
    """Of maximum likelihood at these parameters, from the mean square of the score's numerical derivative."""
    slopes = []
    for k, value in enumerate(numbers):
        step = 1e-4 * (abs(value) or 1.0)
        up, down = (
            log_density(TWIN[name](*[*numbers[:k], value + d, *numbers[k + 1 :]]), x) for d in (step, -step)
        )
        slopes.append((up - down) / (2 * step))
    slopes = np.array(slopes)
    return np.sqrt(np.diag(np.linalg.inv(slopes @ slopes.T)))


@every_family
def test_parameters_are_found_again(name):
    family, (params, _) = FAMILIES[name], known(name)
    if name == "vonmises":  # at concentration 0 a direction is not to be found
        params = params._replace(concentration=np.array([[1.2, 0.7], [5.0, 300.0]]))
    y = np.repeat(np.arange(2, dtype=np.int32), 40_000)
    x = family.sample(params, y, np.random.default_rng(21))
    true, found = NUMBERS[name](params), NUMBERS[name](fitted(family, x, y))
    for c in range(2):
        for j in range(2):
            truth = [part[c, j] for part in true]
            error = standard_errors(name, truth, x[y == c, j])
            assert (np.abs([part[c, j] for part in found] - np.array(truth)) < 4.5 * error).all()


# ---- estimates against oracles ----------------------------------------------------------------------------

WEIGHT = np.array([1.0, 2.0, 0.5, 1.5, 3.0, 0.25])
Y = np.array([0, 0, 0, 1, 1, 1], np.int32)


def posterior_mean(prior, likelihood, low, high):
    """By numerical integration, over pieces around the bulk."""

    def integral(f):
        points = np.linspace(low, high, 9)
        return sum(integrate.quad(f, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pairwise(points))

    weigh = lambda t: prior(t) * likelihood(t)  # noqa: E731
    return integral(lambda t: t * weigh(t)) / integral(weigh)


def test_rates_of_counts_are_posterior_means():
    x = np.array([0, 3, 1, 7, 2, 5.0])
    found = fitted(Poisson(2.0, 0.5), x[:, None], Y, WEIGHT).rate[:, 0]
    for c in range(2):
        w, cells = WEIGHT[c == Y], x[c == Y]
        mean = posterior_mean(
            stats.gamma(2.0, scale=2.0).pdf,
            lambda t, w=w, cells=cells: np.exp((w * stats.poisson.logpmf(cells, t)).sum()),
            0.0,
            60.0,
        )
        assert found[c] == pytest.approx(mean, rel=1e-9)


def test_rates_of_waiting_times_are_posterior_means():
    x = np.array([0.2, 3.0, 1.7, 7.0, 0.0, 5.0])
    found = fitted(Exponential(), x[:, None], Y, WEIGHT).rate[:, 0]
    column = np.average(x, weights=WEIGHT)
    for c in range(2):
        w, cells = WEIGHT[c == Y], x[c == Y]
        mean = posterior_mean(
            stats.gamma(1.0, scale=1 / column).pdf,
            lambda t, w=w, cells=cells: np.exp((w * (np.log(t) - t * cells)).sum()) if t > 0 else 0.0,
            0.0,
            20.0,
        )
        assert found[c] == pytest.approx(mean, rel=1e-9)
        assert found[c] == pytest.approx((1 + w.sum()) / (column + w @ cells), rel=1e-14)


def test_probabilities_of_success_are_posterior_means():
    x = np.array([0, 3, 1, 7, 2, 5.0])
    found = np.exp(fitted(Geometric(2.0, 0.5), x[:, None], Y, WEIGHT).log_p[:, 0])
    for c in range(2):
        w, cells = WEIGHT[c == Y], x[c == Y]
        mean = posterior_mean(
            lambda t: t,  # times the likelihood's (1 - t)^x, of which Beta(2, 1/2) takes (1 - t)^(1/2)
            lambda t, w=w, cells=cells: t ** w.sum() * (1 - t) ** (w @ cells - 0.5),
            0.0,
            1.0,
        )
        assert found[c] == pytest.approx(mean, rel=1e-9)


def test_log_sizes_have_posterior_means_under_the_prior_in_their_units():
    x = np.array([0.2, 3.0, 1.7, 70.0, 0.4, 5.0])
    found = fitted(LogNormal(), x[:, None], Y, WEIGHT)
    z, average = np.log(x), lambda v, w: np.average(v, weights=w)
    m0 = average(z, WEIGHT)
    overall = average((z - m0) ** 2, WEIGHT)
    centre = np.array([average(z[c == Y], WEIGHT[c == Y]) for c in range(2)])
    within = average((z - centre[Y]) ** 2, WEIGHT)
    kappa, a, b = within / overall, 1.5, within / 2
    t = np.linspace(-12.0, 60.0, 6001)[:, None]
    u = np.linspace(-14.0, 14.0, 401)[None, :]
    for c in range(2):
        w, cells = WEIGHT[c == Y], z[c == Y]
        var = np.exp(t)
        mean = average(cells, w) + u * np.sqrt(var)  # every variance has its own grid of means
        log_p = stats.invgamma.logpdf(var, a, scale=b) + 1.5 * t  # d var dm = var^(3/2) dt du
        log_p = log_p + stats.norm.logpdf(mean, m0, np.sqrt(var / kappa))
        log_p = log_p + sum(
            k * stats.norm.logpdf(cell, mean, np.sqrt(var)) for k, cell in zip(w, cells, strict=True)
        )
        p = np.exp(log_p - log_p.max())
        assert found.mean[c, 0] == pytest.approx((p * mean).sum() / p.sum(), rel=1e-9)
        assert found.var[c, 0] == pytest.approx((p * var).sum() / p.sum(), rel=1e-9)


def likelihood_equations(name, x, w):
    """What is 0 at the parameters of maximum likelihood of weighted rows, in mpmath."""
    w = [mpmath.mpf(float(v)) for v in w]

    def mean(f):
        return sum(v * f(mpmath.mpf(float(cell))) for v, cell in zip(w, x, strict=True)) / sum(w)

    if name == "gamma":
        arithmetic, logarithm = mean(lambda v: v), mean(mpmath.log)
        return lambda shape, rate: (
            mpmath.log(rate) - mpmath.digamma(shape) + logarithm,
            1 - rate * arithmetic / shape,
        )
    if name == "beta":
        log_x, log_rest = mean(mpmath.log), mean(lambda v: mpmath.log(1 - v))
        return lambda a, b: (
            (mpmath.digamma(a + b) - mpmath.digamma(a)) / log_x + 1,
            (mpmath.digamma(a + b) - mpmath.digamma(b)) / log_rest + 1,
        )
    cos, sin = mean(mpmath.cos), mean(mpmath.sin)
    return lambda direction, k: (
        cos * mpmath.cos(direction)
        + sin * mpmath.sin(direction)
        - mpmath.besseli(1, k) / mpmath.besseli(0, k),
        sin * mpmath.cos(direction) - cos * mpmath.sin(direction),
    )


def next_step(equations, at):
    """How far Newton would move both parameters from here, relative to them."""
    h, at = mpmath.mpf(10) ** -18, [mpmath.mpf(float(v)) for v in at]
    here = mpmath.matrix(equations(*at))
    slopes = [
        (mpmath.matrix(equations(*(v * (1 + h * (j == k)) for j, v in enumerate(at)))) - here) / h
        for k in (0, 1)
    ]
    jacobian = mpmath.matrix([[slopes[k][i] for k in (0, 1)] for i in (0, 1)])
    return mpmath.lu_solve(jacobian, here)


ORACLE_ROWS = {
    ("gamma", "ordinary"): [0.2, 3.0, 1.7, 7.0, 0.4, 5.0],
    ("gamma", "tight"): [1000.0, 1001.0, 1002.0, 1003.0, 1004.5, 1000.5],
    ("gamma", "far from 0"): [1e6, 1e6 + 1.0, 1e6 + 2.0, 1e6 + 3.0, 1e6 + 4.5, 1e6 + 0.5],
    ("gamma", "very far from 0"): [1e12, 1e12 + 1.0, 1e12 + 2.0, 1e12 + 3.0, 1e12 + 4.5, 1e12 + 0.5],
    ("gamma", "tiny and far from 0"): [1e-100 * (1.0 + 1e-6 * k) for k in (0, 1, 2, 3, 5, 4)],
    ("gamma", "wide"): [1e-300, 3.0, 1e-12, 7.0, 1e120, 5.0],
    ("gamma", "a class without spread"): [2.0, 2.0, 2.0, 7.0, 0.4, 5.0],
    ("beta", "ordinary"): [0.2, 0.3, 0.7, 0.9, 0.4, 0.99],
    ("beta", "tight"): [0.3, 0.301, 0.302, 0.303, 0.3045, 0.3005],
    ("beta", "close to 0"): [1e-9, 3e-9, 1e-8, 1e-12, 2e-9, 4e-9],
    ("beta", "close to 1"): [1 - 1e-9, 1 - 3e-9, 1 - 1e-8, 1 - 1e-12, 1 - 2e-9, 1 - 4e-9],
    ("beta", "wide"): [1e-300, 1 - 1e-15, 0.5, 1e-40, 0.1, 1 - 1e-10],
    ("beta", "a class without spread"): [0.3, 0.3, 0.3, 0.7, 0.4, 0.5],
    ("vonmises", "ordinary"): [0.2, 3.0, 1.7, -7.0, 0.4, 5.0],
    ("vonmises", "tight"): [1.0, 1.001, 1.002, 1.003, 1.0045, 1.0005],
    ("vonmises", "around pi"): [3.1, -3.1, 3.14, -2.9, 2.8, 3.0],
    ("vonmises", "a class without spread"): [2.0, 2.0, 2.0, -0.3, 0.4, 0.5],
}


@pytest.mark.parametrize("name, rows", ORACLE_ROWS)
def test_estimates_maximise_the_likelihood_with_a_pooled_row(name, rows):
    """The pooled row is worth 1 and is all rows, each with its share."""
    x = np.array(ORACLE_ROWS[name, rows])
    found = fitted(FAMILIES[name], x[:, None], Y, WEIGHT)
    assert found.known.all()
    for c in range(2):
        own = WEIGHT * (c == Y) + WEIGHT / WEIGHT.sum()
        with mpmath.workdps(40):
            best = next_step(likelihood_equations(name, x, own), [part[c, 0] for part in tuple(found)[:-1]])
        assert max(abs(v) for v in best) < 1e-8


@pytest.mark.parametrize("far", [3e2, 3e3, 1e4, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("estimate", ["mean", "mle"])
def test_gamma_keeps_its_digits_far_from_0(far, estimate):
    """Shapes and densities against fifty digits, for cells whose mean is `far` standard deviations."""
    n = 300
    x = far + np.random.default_rng(4).normal(size=n) * np.repeat([1.0, 2.0], n // 2)
    y = np.repeat([0, 1], n // 2)
    model = NaiveBayes("gamma", estimate=estimate).fit({"x": x}, y)
    places = np.array([far - 4.0, far - 1.0, far, far + 0.5, far + 7.0])
    found = model.predict_joint_log_proba({"x": places}) - np.log(model.class_prior_)
    with engines.using("array"):
        by_array = model.predict_joint_log_proba({"x": places}) - np.log(model.class_prior_)
    line = model.to_linear()
    with mpmath.workdps(50):
        cells = [mpmath.mpf(float(v)) for v in x]
        for c in (0, 1):
            row = mpmath.mpf(estimate == "mean") / n
            w = [mpmath.mpf(int(k == c)) + row for k in y]
            mean = mpmath.fdot(w, cells) / sum(w)
            gap = mpmath.log(mean) - mpmath.fdot(w, map(mpmath.log, cells)) / sum(w)
            shape = mpmath.findroot(lambda k, gap=gap: mpmath.log(k) - mpmath.digamma(k) - gap, 1 / (2 * gap))
            assert model.parameters_["x"]["shape"][c] == pytest.approx(float(shape), rel=1e-7)
            assert model.parameters_["x"]["rate"][c] == pytest.approx(float(shape / mean), rel=1e-7)
            for k, v in enumerate(map(mpmath.mpf, places.tolist())):
                log_density = shape * mpmath.log(shape / mean) - mpmath.loggamma(shape)
                log_density += shape * mpmath.log(v) - shape / mean * v
                assert found[k, c] == pytest.approx(float(log_density), abs=3e-6)
                assert by_array[k, c] == pytest.approx(float(log_density), abs=3e-6)
    linear = line.transform({"x": places}) @ line.coef.T + line.intercept - np.log(model.class_prior_)
    np.testing.assert_allclose(linear, by_array, atol=3e-6)


def test_shapes_of_gamma_solve_their_equation():
    gap = np.geomspace(1e-25, 1400.0, 160)
    with mpmath.workdps(50):
        for s, k in zip(gap, shape_of(gap), strict=True):
            k, s = mpmath.mpf(float(k)), mpmath.mpf(float(s))
            miss = (mpmath.log(k) - mpmath.digamma(k) - s) / (1 / k - mpmath.psi(1, k))  # Newton's next step
            assert abs(miss / k) < 1e-14


def test_shapes_of_beta_solve_their_equations():
    sizes = [3e-3, 0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 1e2, 1e4, 1e6, 1e9, 1e12]
    a, b = (grid.ravel() for grid in np.meshgrid(sizes, [*sizes[1:], 1e15, 1e40]))
    terms = []
    with mpmath.workdps(70):
        for p, q in zip(a, b, strict=True):
            p, q = mpmath.mpf(float(p)), mpmath.mpf(float(q))
            total = mpmath.digamma(p + q)
            terms.append((float(mpmath.digamma(p) - total), float(mpmath.digamma(q) - total)))
    u, v = np.array(terms).T
    found = np.array(shapes_of(u, v))
    # Where a and b are large, the terms themselves hold no more digits of a + b than these.
    digits = 1e-12 + 1e-15 * np.minimum(a, b) * (1.0 - np.minimum(u, v))
    assert (np.abs(found / [a, b] - 1.0) < digits).all()


def test_concentrations_solve_their_equation():
    length = np.concatenate([1.0 - np.geomspace(1e-12, 0.5, 80), np.geomspace(1e-12, 0.5, 60)])
    gap = 1.0 - length
    assert concentration_of(np.ones(1)) == 0.0
    with mpmath.workdps(50):
        for g, k in zip(gap, concentration_of(gap), strict=True):
            k, g = mpmath.mpf(float(k)), mpmath.mpf(float(g))
            ratio = mpmath.besseli(1, k) / mpmath.besseli(0, k)
            miss = (1 - g - ratio) / (1 - ratio**2 - ratio / k)  # Newton's next step
            assert abs(miss / k) < 1e-13


@every_family
def test_weights_are_repeats_and_row_counts_may_be_shared(name):
    family = FAMILIES[name]
    x, y = ordinary(name, np.random.default_rng(3))
    repeats = np.random.default_rng(4).integers(1, 4, len(x))
    weighed = fitted(family, x, y, repeats.astype(float))
    repeated = fitted(family, np.repeat(x, repeats, axis=0), np.repeat(y, repeats))
    for a, b in zip(NUMBERS[name](weighed), NUMBERS[name](repeated), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    if name != "lognormal":  # sums have one column of rows and weights where nothing was missing
        summed = added_up(family, x, y)
        shared = family.resolve(summed).params(
            replace(summed, rows=summed.rows[:, :1], observed_weight=summed.observed_weight[:, :1]),
            np.ones(2),
        )
        for a, b in zip(NUMBERS[name](shared), NUMBERS[name](fitted(family, x, y)), strict=True):
            np.testing.assert_array_equal(a, b)


# ---- laws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-6, 0.37, 1e4])
@pytest.mark.parametrize("name", ["exponential", "lognormal", "gamma"])
def test_units_do_not_matter(name, factor):
    family = FAMILIES[name]
    x, y = ordinary(name, np.random.default_rng(5))
    here, there = (scores(family, fitted(family, f * x, y), f * x).sum(axis=2) for f in (1.0, factor))
    np.testing.assert_allclose(there[:, 1] - there[:, 0], here[:, 1] - here[:, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("turns", [-2, 1, 5])
def test_whole_turns_do_not_matter(turns):
    x, y = ordinary("vonmises", np.random.default_rng(6))
    turned = x + 2 * np.pi * turns
    here, there = (scores(VonMises(), fitted(VonMises(), cells, y), cells) for cells in (x, turned))
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


def test_sides_of_shares_may_be_exchanged():
    x, y = ordinary("beta", np.random.default_rng(7))
    x = np.round(x, 6) * 0.98 + 0.01
    here, there = fitted(Beta(), x, y), fitted(Beta(), 1 - x, y)
    np.testing.assert_allclose(here.a, there.b, rtol=1e-9)
    np.testing.assert_allclose(here.b, there.a, rtol=1e-9)


# ---- edges ------------------------------------------------------------------------------------------------


def all_finite(family, params, x):
    form = family.form(params)
    assert isinstance(form, Linear) and form.impossible is None
    for part in (form.base, form.x, form.x2, form.anchor):
        assert part is None or np.isfinite(part).all()
    assert np.isfinite(scores(family, params, x)).all()
    y = np.arange(len(params[0]), dtype=np.int32)
    draws = family.sample(params, y, np.random.default_rng(0))
    assert np.isfinite(draws).all()
    assert (draws >= family.support.lowest).all() and (draws <= family.support.highest).all()
    return form


@every_family
def test_one_row(name):
    family, x = FAMILIES[name], [[CELLS[name][3]]]
    all_finite(family, fitted(family, x, [0], n_classes=1), x)


@every_family
@pytest.mark.parametrize("engine, weight", [(array, 1.0), (native, 0.1)])
def test_a_constant_column(name, engine, weight):
    family, y = FAMILIES[name], np.arange(999, dtype=np.int32) % 2
    for cell in CELLS[name]:
        if name == "exponential" and cell == 1e300:
            continue  # too large to be added, see below
        x = np.full((999, 1), cell)
        form = all_finite(family, fitted(family, x, y, np.full(999, weight), engine=engine), x)
        if name in WITHOUT_SPREAD or (name == "exponential" and cell == 0.0):
            assert not any(part.any() for part in (form.base, form.x, form.x2) if part is not None)


@every_family
def test_a_class_that_is_constant(name):
    """It is all its rows say, save the pooled row."""
    family, y = FAMILIES[name], np.repeat([0, 1], [999, 2])
    for cell, other in pairwise(CELLS[name]):
        x = np.array([cell] * 999 + [other, cell])[:, None]
        all_finite(family, fitted(family, x, y), x)


@pytest.mark.parametrize("spread", np.geomspace(1e-8, 1e-4, 13))
@pytest.mark.parametrize("name", WITHOUT_SPREAD)
def test_a_spread_that_is_close_to_rounding(name, spread):
    """A long class without any of its own beside a short one: rounding must not make its spread negative."""
    family, y = FAMILIES[name], np.repeat([0, 1], [4000, 2])
    for cell in (0.1, 0.37, 0.9):
        x = np.array([cell] * 4000 + [cell, cell * (1 + spread)])[:, None]
        all_finite(family, fitted(family, x, y), x)


@pytest.mark.parametrize("name", ["gamma", "beta"])
def test_draws_too_small_for_a_float_stay_in_the_support(name):
    family = FAMILIES[name]
    params = MAKE[name](np.full((1, 2), 1e-3), np.full((1, 2), 2e-3))
    draws = family.sample(params, np.zeros(1000, np.int32), np.random.default_rng(0))
    assert (draws >= family.support.lowest).all() and (draws <= family.support.highest).all()


@every_family
def test_a_class_without_cells(name):
    family = FAMILIES[name]
    x, y = ordinary(name, np.random.default_rng(8))
    x[y == 1, 1] = np.nan
    params = fitted(family, x, y, n_classes=3)
    all_finite(family, params, np.nan_to_num(x, nan=CELLS[name][3]))
    numbers = NUMBERS[name](params)
    for part in numbers:  # neither has cells of column 1
        assert part[1, 1] == part[2, 1]
    if name in ("gamma", "beta", "vonmises"):  # the pooled row is of no other distribution than the rows
        pooled = NUMBERS[name](fitted(family, x, np.zeros_like(y), n_classes=1))
        for part, whole in zip(numbers, pooled, strict=True):
            np.testing.assert_allclose(part[2], whole[0], rtol=1e-9)
    if name == "exponential":
        np.testing.assert_allclose(numbers[0][2], 1 / np.nanmean(x, axis=0), rtol=1e-12)
    if name == "lognormal":
        z = np.log(x)
        squares = sum(np.var(z[y == c, 0]) * (y == c).sum() for c in range(2))
        np.testing.assert_allclose(numbers[0][2], np.nanmean(z, axis=0), rtol=1e-12)
        np.testing.assert_allclose(numbers[1][2, 0], squares / len(y), rtol=1e-12)


@every_family
def test_a_column_that_was_never_observed(name):
    family = FAMILIES[name]
    x, y = ordinary(name, np.random.default_rng(9))
    x[:, 1] = np.nan
    params = fitted(family, x, y)
    assert params.known.tolist() == [True, False]
    form = all_finite(family, params, np.nan_to_num(x, nan=CELLS[name][3]))
    assert not scores(family, params, np.nan_to_num(x, nan=CELLS[name][3]))[:, :, 1].any()
    assert form.shape == (2, 2 * len(family.support.views))


@pytest.mark.parametrize("name", ["exponential", "gamma"])
def test_numbers_too_large_to_be_added_are_complained_of(name):
    family = FAMILIES[name]
    x = np.array([[1.0, 1.7e308], [2.0, 1.7e308], [1.0, 1.0]])
    with np.errstate(over="ignore"):
        summed = added_up(family, x, [0, 0, 1])
    assert family.find_problem(summed)[0] == 1 and "too large" in family.find_problem(summed)[1]


@every_family
def test_extremes_together(name):
    """Cells of the whole range in one column."""
    family = FAMILIES[name]
    cells = [cell for cell in CELLS[name] if cell != 1e300 or name == "lognormal"]
    x = np.array(cells * 2, float)[:, None]
    y = np.repeat([0, 1], len(cells))
    all_finite(family, fitted(family, x, y), x)
    halves = (np.arange(2 * len(cells)) % len(cells) >= len(cells) // 2).astype(np.int32)
    all_finite(family, fitted(family, x, halves), x)


# ---- the public way ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", engines.ENGINES)
@every_family
def test_joint_scores_are_prior_and_density(name, engine):
    family = FAMILIES[name]
    x, y = ordinary(name, np.random.default_rng(10))
    x[::7, 0] = np.nan
    with engines.using(engine):
        joint = NaiveBayes(families=name).fit(x, y).predict_joint_log_proba(x)
    twin = TWIN[name](*NUMBERS[name](fitted(family, x, y)))
    density = log_density(twin, x[:, None, :]) - family.log_base_measure(x)[:, None, :]
    expected = np.log(np.bincount(y) / len(y)) + np.nansum(density, axis=2)
    np.testing.assert_allclose(joint, expected, rtol=1e-9, atol=1e-9)


@every_family
def test_batches_and_merges_make_the_same_model(name):
    x, y = ordinary(name, np.random.default_rng(11))
    x[::7, 0] = np.nan
    whole, parts, other = (NaiveBayes(families=name) for _ in range(3))
    whole.fit(x, y)
    parts.partial_fit(x[:20], y[:20]).partial_fit(x[20:40], y[20:40])
    parts.merge(other.fit(x[40:], y[40:]))
    expected = whole.predict_joint_log_proba(x)
    np.testing.assert_allclose(parts.predict_joint_log_proba(x), expected, rtol=1e-9, atol=1e-9)
