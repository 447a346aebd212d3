"""Estimates: posterior means, modes, maximum likelihood and predictive distributions, against integrals and maxima.

The truth is made of prior and likelihood alone: sums over a fine grid of parameters, numerical maxima, SciPy's
distributions and fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import mpmath
import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import optimize, sparse, stats
from scipy.special import expit
from sunrise import MultinomialNB, engines
from sunrise.numerics.conjugate import Beta, Gamma
from sunrise.numerics.normal_inverse_gamma import NormalInverseGamma

RNG = np.random.default_rng(11)

ESTIMATES = ("mean", "map", "mle", "predictive")
every_estimate = pytest.mark.parametrize("estimate", ESTIMATES)


# The truth: a prior and a likelihood, and the parameters they are of on a grid.


def on_a_line(low, high, n, of, slope):
    """Points of(u) for even u, and the logs of their widths: sums are then exact for what fades at both ends."""
    u = np.linspace(low, high, n)
    return of(u), np.log(slope(u)) + np.log(u[1] - u[0])


def between(n=1501):
    """Probabilities, very close to 0 and 1 as well."""
    return on_a_line(-45, 45, n, expit, lambda u: expit(u) * expit(-u))


def above_zero(low=-30, high=12, n=1501):
    return on_a_line(low, high, n, np.exp, np.exp)


def means_and_variances():
    """Variances, and about 0 the means that are within 40 of their standard deviations."""
    v, dv = above_zero(-9, 22, 300)
    z = np.linspace(-40, 40, 1601)
    mean, var = (np.sqrt(v)[:, None] * z).ravel(), np.repeat(v, len(z))
    return (mean, var), np.repeat(dv, len(z)) + 0.5 * np.log(var) + np.log(z[1] - z[0])


def three_shares():
    """Two of three probabilities: a first one, and a part of what it leaves."""
    p, dp = between(301)
    first, part = (a.ravel() for a in np.meshgrid(p, p, indexing="ij"))
    rest = np.repeat(p[::-1], len(p))  # 1 - first, with all its digits
    return (first, part * rest), (dp[:, None] + dp).ravel() + np.log(rest)


def third(theta):
    return np.stack([*theta, np.maximum(1 - theta[0] - theta[1], 1e-300)])


ALPHA = np.array([2.0, 3.0, 1.5])


def log_dirichlet(theta):
    norm = np.exp(stats.dirichlet(ALPHA).logpdf([0.2, 0.3, 0.5]) - (ALPHA - 1) @ np.log([0.2, 0.3, 0.5]))
    with np.errstate(all="ignore"):
        return np.log(norm) + np.tensordot(ALPHA - 1, np.log(third(theta)), axes=1)


def log_normal_prior(theta):
    mean, var = theta
    return stats.norm(1.0, np.sqrt(var / 0.5)).logpdf(mean) + stats.invgamma(2.5, scale=2.0).logpdf(var)


@dataclass
class Case:
    """A family with a given prior, cells of one class, new cells, and what both mean."""

    family: Any
    x: Any
    new: Any
    log_prior: Callable
    log_cell: Callable
    grid: Callable
    shown: Callable

    def log_likelihood(self, theta):
        return sum(self.log_cell(theta, cell) for cell in self.x)

    def log_posterior(self, theta):
        return self.log_prior(theta) + self.log_likelihood(theta)

    def integrated(self, *of):
        """Means of functions of the parameters under the posterior."""
        theta, width = self.grid()
        with np.errstate(all="ignore"):
            log_weight = np.nan_to_num(self.log_posterior(theta) + width, nan=-np.inf)
            weight = np.exp(log_weight - log_weight.max())
            found = [np.sum(weight * np.nan_to_num(f(theta))) / weight.sum() for f in of]
        return np.array(found)

    def highest(self, log_density, start):
        """Where a log density is highest, from a start."""

        def depth(theta):
            with np.errstate(all="ignore"):
                height = log_density(tuple(theta)) if self.inside(theta) else -np.inf
            return np.inf if np.isnan(height) else -height

        options = {"xatol": 1e-11, "fatol": 1e-15, "maxiter": 2000, "maxfev": 4000}
        return optimize.minimize(depth, start, method="Nelder-Mead", options=options).x

    def inside(self, theta):
        if self.grid is three_shares:
            return min(theta) > 0 and sum(theta) < 1
        return theta[-1] > 0 and (self.grid is not between or theta[0] < 1)

    def fitted(self, estimate, family=None):
        cells = self.table(self.x)
        return NaiveBayes(family or self.families, estimate=estimate).fit(cells, ["c"] * len(self.x))

    @property
    def families(self):
        return {("x0", "x1", "x2"): self.family} if self.family.joint else {"x": self.family}

    def table(self, x):
        return {f"x{j}": [row[j] for row in x] for j in range(3)} if self.family.joint else {"x": list(x)}

    def numbers(self, model):
        """The parameters of a model in the order of the grid's."""
        return tuple(float(v) for v in self.shown(model.parameters_))


def one(name):
    return lambda told: [told["x"][name][0]]


CASES = {
    "gaussian": Case(
        sr.Gaussian(prior=(1.0, 0.5, 2.5, 2.0)),
        [0.3, -1.2, 2.5, 0.9, 1.7],
        [0.0, 1.3, -6.0, 25.0],
        log_normal_prior,
        lambda t, x: stats.norm(t[0], np.sqrt(t[1])).logpdf(x),
        means_and_variances,
        lambda told: [told["x"]["mean"][0], told["x"]["sd"][0] ** 2],
    ),
    "lognormal": Case(
        sr.LogNormal(prior=(1.0, 0.5, 2.5, 2.0)),
        [0.7, 2.5, 1.1, 8.0],
        [0.01, 1.0, 3.0, 500.0],
        log_normal_prior,
        lambda t, x: stats.lognorm(np.sqrt(t[1]), scale=np.exp(t[0])).logpdf(x),
        means_and_variances,
        lambda told: [told["x"]["log mean"][0], told["x"]["log sd"][0] ** 2],
    ),
    "bernoulli": Case(
        sr.Bernoulli(alpha=1.5, beta=3.0),
        [1, 0, 1, 1],
        [0, 1],
        lambda t: stats.beta(1.5, 3.0).logpdf(t[0]),
        lambda t, x: stats.bernoulli(t[0]).logpmf(x),
        lambda: ((between()[0],), between()[1]),
        one("yes"),
    ),
    "poisson": Case(
        sr.Poisson(prior_shape=2.5, prior_rate=0.7),
        [2, 0, 3, 7],
        [0, 2, 40],
        lambda t: stats.gamma(2.5, scale=1 / 0.7).logpdf(t[0]),
        lambda t, x: stats.poisson(t[0]).logpmf(x),
        lambda: ((above_zero()[0],), above_zero()[1]),
        one("rate"),
    ),
    "geometric": Case(
        sr.Geometric(prior_a=1.5, prior_b=2.5),
        [2, 0, 3, 1],
        [0, 2, 40],
        lambda t: stats.beta(1.5, 2.5).logpdf(t[0]),
        lambda t, x: stats.geom(t[0], loc=-1).logpmf(x),
        lambda: ((between()[0],), between()[1]),
        one("p"),
    ),
    "exponential": Case(
        sr.Exponential(prior_shape=2.5, prior_rate=3.0),
        [0.5, 2.0, 0.1],
        [0.0, 0.4, 30.0],
        lambda t: stats.gamma(2.5, scale=1 / 3).logpdf(t[0]),
        lambda t, x: stats.expon(scale=1 / t[0]).logpdf(x),
        lambda: ((above_zero()[0],), above_zero()[1]),
        one("rate"),
    ),
    "categorical": Case(
        sr.Categorical(alpha=dict(zip("uvw", ALPHA, strict=True)), unseen="ignore"),
        list("uwvvuvv"),
        list("uvw"),
        log_dirichlet,
        lambda t, x: np.log(third(t)["uvw".index(x)]),
        three_shares,
        lambda told: [told["x"]["u"][0], told["x"]["v"][0]],
    ),
    "multinomial": Case(
        sr.Multinomial(alpha=ALPHA),
        [[2, 0, 1], [0, 3, 1]],
        [[0, 0, 0], [1, 0, 0], [2, 1, 3], [0, 9, 0]],
        log_dirichlet,
        lambda t, x: (
            np.tensordot(x, np.log(third(t)), axes=1)
            + stats.multinomial(sum(x), [0.5, 0.25, 0.25]).logpmf(x)
            - np.dot(x, np.log([0.5, 0.25, 0.25]))
        ),
        three_shares,
        lambda told: [told["x0"]["share"][0], told["x1"]["share"][0]],
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_the_mean_is_an_integral_over_the_posterior(name):
    case = CASES[name]
    places = range(len(case.numbers(case.fitted("mean"))))
    expected = case.integrated(*(lambda t, k=k: t[k] for k in places))
    np.testing.assert_allclose(case.numbers(case.fitted("mean")), expected, rtol=1e-7)


@every_case
def test_the_map_is_the_highest_point_of_prior_times_likelihood(name):
    case = CASES[name]
    start = case.numbers(case.fitted("mean"))
    found = case.highest(case.log_posterior, start)
    np.testing.assert_allclose(case.numbers(case.fitted("map")), found, rtol=1e-6, atol=1e-7)


@every_case
def test_the_mle_is_the_highest_point_of_the_likelihood(name):
    case = CASES[name]
    found = case.highest(case.log_likelihood, case.numbers(case.fitted("mean")))
    np.testing.assert_allclose(case.numbers(case.fitted("mle")), found, rtol=1e-6, atol=1e-7)


@every_case
def test_the_predictive_density_is_an_integral_over_the_posterior(name):
    case = CASES[name]
    expected = case.integrated(*(lambda t, x=x: np.exp(case.log_cell(t, x)) for x in case.new))
    found = case.fitted("predictive").score_samples(case.table(case.new))
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-7)


@every_case
@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
def test_a_score_is_the_density_at_the_numbers_that_are_shown(name, estimate):
    case = CASES[name]
    model = case.fitted(estimate)
    expected = [case.log_cell(case.numbers(model), x) for x in case.new]
    np.testing.assert_allclose(model.score_samples(case.table(case.new)), expected, rtol=1e-9, atol=1e-12)


@every_case
def test_the_numbers_of_a_predictive_model_are_the_means(name):
    case = CASES[name]
    assert case.numbers(case.fitted("predictive")) == case.numbers(case.fitted("mean"))


@every_case
def test_the_familys_own_estimate_overrides_the_models(name):
    case = CASES[name]
    for estimate, other in zip(ESTIMATES, ESTIMATES[1:] + ESTIMATES[:1], strict=True):
        own = case.family.with_settings(estimate=estimate)
        model = case.fitted(other, {next(iter(case.families)): own})
        found, expected = (m.score_samples(case.table(case.new)) for m in (model, case.fitted(estimate)))
        np.testing.assert_array_equal(found, expected)


def test_an_estimate_is_given_to_the_constructor_of_a_family_or_refused():
    x, y = [1.0, 2.0, 4.0, 7.0], [0, 0, 1, 1]
    by_family = NaiveBayes(sr.Gaussian(estimate="map")).fit({"x": x}, y).parameters_["x"]["sd"]
    by_model = NaiveBayes("gaussian", estimate="map").fit({"x": x}, y).parameters_["x"]["sd"]
    np.testing.assert_array_equal(by_family, by_model)
    for wrong in (NaiveBayes(sr.Gaussian(estimate="modus")), NaiveBayes("gaussian", estimate="modus")):
        with pytest.raises(ValueError, match="mean.*predictive|predictive.*mean"):
            wrong.fit({"x": x}, y)


# Predictive distributions by their names.

Y = np.array(list("aaabbbbb"))
OWN = [Y == "a", Y == "b"]


def two_classes(family, x, at):
    """Joint scores under both classes, and the logs of their prior."""
    model = NaiveBayes({"x": family}, estimate="predictive").fit({"x": x}, Y)
    return model.predict_joint_log_proba({"x": at}), np.log(model.class_prior_)


def test_a_gaussian_predicts_a_students_t():
    x, at = RNG.normal(3.0, 2.0, 8), np.array([-50.0, 0.0, 3.0, 4.5])
    found, prior = two_classes(sr.Gaussian(prior=(0.0, 2.0, 3.0, 4.0)), x, at)
    for c, rows in enumerate(OWN):
        # The posterior predictive of the prior's own multivariate t: condition it on the cells, by its definition.
        n = rows.sum()
        shape = 4.0 / 3.0 * (np.eye(n + 1) + 0.5)
        joint = [
            stats.multivariate_t(np.zeros(n + 1), shape, df=6.0).logpdf([*x[rows], new])
            - stats.multivariate_t(np.zeros(n), shape[:n, :n], df=6.0).logpdf(x[rows])
            for new in at
        ]
        np.testing.assert_allclose(found[:, c], prior[c] + joint, rtol=1e-10)


def test_the_students_t_of_the_books():
    # t_5(3/2, 7/4): the log density at 0 and at 10, by hand to 19 digits.
    model = NaiveBayes({"x": sr.Gaussian(prior=(0.0, 1.0, 1.0, 1.0))}, estimate="predictive")
    found = model.fit({"x": [1.0, 2.0, 3.0]}, ["c"] * 3).score_samples({"x": [0.0, 10.0]})
    np.testing.assert_allclose(found, [-1.9349522003089779173, -7.9246138459311825819], rtol=1e-15)
    np.testing.assert_allclose(found, stats.t(5, loc=1.5, scale=np.sqrt(1.75)).logpdf([0.0, 10.0]))


def test_counts_predict_a_negative_binomial():
    x, at = np.array([2, 0, 3, 9, 7, 4, 0, 5]), np.array([0, 1, 7, 200])
    found, prior = two_classes(sr.Poisson(1.5, 0.5), x, at)
    for c, rows in enumerate(OWN):
        shape, rate = 1.5 + x[rows].sum(), 0.5 + rows.sum()
        expected = stats.nbinom(shape, rate / (rate + 1)).logpmf(at)
        unit = stats.poisson(1.0).logpmf(at) + 1.0  # - log x!, which is in no class
        np.testing.assert_allclose(found[:, c] + unit, prior[c] + expected, rtol=1e-10)


def test_waiting_times_predict_a_lomax():
    x, at = RNG.exponential(3.0, 8), np.array([0.0, 1e-9, 2.5, 1e6])
    found, prior = two_classes(sr.Exponential(1.5, 0.5), x, at)
    for c, rows in enumerate(OWN):
        expected = stats.lomax(1.5 + rows.sum(), scale=0.5 + x[rows].sum()).logpdf(at)
        np.testing.assert_allclose(found[:, c], prior[c] + expected, rtol=1e-10)


def test_failures_predict_a_beta_geometric():
    x, at = np.array([2, 0, 3, 9, 7, 4, 0, 5]), np.array([0, 1, 7, 200])
    found, prior = two_classes(sr.Geometric(1.5, 0.5), x, at)
    for c, rows in enumerate(OWN):
        expected = stats.betanbinom(1, 1.5 + rows.sum(), 0.5 + x[rows].sum()).logpmf(at)
        np.testing.assert_allclose(found[:, c], prior[c] + expected, rtol=1e-10)


def test_a_row_of_counts_is_predicted_as_a_whole_not_word_by_word():
    x, alpha = np.array([[2, 0, 1], [0, 3, 1], [4, 4, 4], [0, 0, 7]]), np.array([0.5, 1.0, 2.0])
    y, at = np.array([0, 0, 1, 1]), np.array([[0, 5, 1], [3, 3, 0], [0, 0, 0]])
    model = NaiveBayes({(0, 1, 2): sr.Multinomial(alpha=alpha)}, estimate="predictive").fit(x, y)
    likelihood = np.array(
        [
            [stats.dirichlet_multinomial(alpha + x[y == c].sum(axis=0), row.sum()).pmf(row) for c in (0, 1)]
            for row in at
        ]
    )
    np.testing.assert_allclose(
        model.predict_proba(at), likelihood / likelihood.sum(axis=1, keepdims=True), rtol=1e-9
    )
    by_word = NaiveBayes({(0, 1, 2): sr.Multinomial(alpha=alpha)}).fit(x, y).predict_proba(at)
    assert np.abs(by_word - model.predict_proba(at)).max() > 0.02


def test_a_missing_count_leaves_the_polya_urn_of_the_others():
    x, alpha = np.array([[2, 0, 1], [0, 3, 1]]), np.array([0.5, 1.0, 2.0])
    model = NaiveBayes({(0, 1, 2): sr.Multinomial(alpha=alpha)}, estimate="predictive").fit(x, [0, 0])
    found = model.score_samples(np.array([[4.0, np.nan, 2.0]]))
    urn = stats.dirichlet_multinomial((alpha + x.sum(axis=0))[[0, 2]], 6)
    np.testing.assert_allclose(found, [urn.logpmf([4, 2])], rtol=1e-10)


def test_classes_with_one_variance_predict_a_t_with_the_cells_of_all_of_them():
    prior = (0.0, 0.5, 2.0, 1.0)
    table = {"a": np.array([1.0, 2.5]), "b": np.array([4.0, 3.0, 5.5])}
    x, y = np.concatenate([*table.values()]), np.repeat([*table], [2, 3])
    model = NaiveBayes(sr.Gaussian(shared_variance=True, prior=prior), estimate="predictive").fit({"x": x}, y)

    def log_density(a, b):
        """Of cells of both classes: normal given the variance, which is summed over."""
        v, dv = above_zero(-8, 20, 2001)
        total = stats.invgamma(2.0, scale=1.0).logpdf(v) + dv
        for cells in (np.asarray(a), np.asarray(b)):
            cov = np.eye(len(cells)) + 1 / 0.5
            square, size = cells @ np.linalg.solve(cov, cells), len(cells)
            total = total - 0.5 * (square / v + size * np.log(2 * np.pi * v) + np.linalg.slogdet(cov)[1])
        return np.logaddexp.reduce(total)

    for new in (-2.0, 3.0, 30.0):
        expected = [
            log_density([*table["a"], new], table["b"]) - log_density(table["a"], table["b"]),
            log_density(table["a"], [*table["b"], new]) - log_density(table["a"], table["b"]),
        ]
        found = model.predict_joint_log_proba({"x": [new]})[0] - np.log(model.class_prior_)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_map_of_one_variance_for_all_classes():
    prior, a, b = (0.0, 0.5, 2.0, 1.0), np.array([1.0, 2.5]), np.array([4.0, 3.0, 5.5])

    def depth(theta):
        mean, var = theta[:2], np.exp(theta[2])
        height = stats.invgamma(2.0, scale=1.0).logpdf(var)
        for m, cells in zip(mean, (a, b), strict=True):
            height += stats.norm(0.0, np.sqrt(var / 0.5)).logpdf(m)
            height += stats.norm(m, np.sqrt(var)).logpdf(cells).sum()
        return -height

    best = optimize.minimize(depth, [1.0, 4.0, 0.0], method="BFGS", options={"gtol": 1e-8}).x
    family = sr.Gaussian(shared_variance=True, prior=prior)
    model = NaiveBayes(family, estimate="map").fit({"x": [*a, *b]}, list("aabbb"))
    told = model.parameters_["x"]
    np.testing.assert_allclose(told["mean"], best[:2], rtol=1e-5)
    np.testing.assert_allclose(told["sd"] ** 2, np.exp(best[2]), rtol=1e-5)


# Probabilities add up, and samples follow them.


def on_the_whole_line(name):
    """Points with their widths that cover all that a density has."""
    u = np.linspace(-60, 60, 40_001)
    if name == "gaussian":
        return np.sinh(u), np.cosh(u) * (u[1] - u[0])
    return np.exp(u), np.exp(u) * (u[1] - u[0])


@every_estimate
@pytest.mark.parametrize("name", ["gaussian", "lognormal", "exponential"])
def test_a_density_integrates_to_one(name, estimate):
    x, width = on_the_whole_line(name)
    total = np.exp(CASES[name].fitted(estimate).score_samples({"x": x})) @ width
    assert total == pytest.approx(1.0, rel=1e-9)


@every_estimate
@pytest.mark.parametrize(
    "name, cells",
    [
        ("poisson", np.arange(2000)),
        ("geometric", np.arange(300_000)),
        ("bernoulli", [0, 1]),
        ("categorical", list("uvw")),
        ("multinomial", [(i, j, 5 - i - j) for i in range(6) for j in range(6 - i)]),
    ],
)
def test_probabilities_add_up_to_one(name, cells, estimate):
    case = CASES[name]
    total = np.exp(case.fitted(estimate).score_samples(case.table(cells))).sum()
    assert total == pytest.approx(1.0, rel=1e-9)


def test_a_level_that_is_reserved_for_is_part_of_the_sum():
    for estimate in ESTIMATES:
        model = NaiveBayes("categorical", estimate=estimate).fit({"x": list("uvvw")}, ["c"] * 4)
        found = model.score_samples({"x": ["u", "v", "w", "never seen"]})
        assert np.exp(found).sum() == pytest.approx(1.0)


SAMPLED = {
    "gaussian": (sr.Gaussian(prior=(0.0, 1.0, 1.0, 1.0)), [1.0, 2.0, 3.0], stats.t(5, 1.5, np.sqrt(1.75))),
    "exponential": (sr.Exponential(1.0, 2.0), [1.0, 0.5], stats.lomax(3, scale=3.5)),
    "poisson": (sr.Poisson(1.0, 1.0), [2, 0, 3], stats.nbinom(6, 0.8)),
    "geometric": (sr.Geometric(2.0, 1.0), [2, 0, 3], stats.betanbinom(1, 5, 6)),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_follow_the_predictive_distribution(name):
    family, x, truth = SAMPLED[name]
    # Beside it a class of other cells, and rows of the two in turn: each has its own distribution.
    table, y = {"x": [*x, *(5 * k + 20 for k in x)]}, ["a"] * len(x) + ["b"] * len(x)
    model = NaiveBayes({"x": family}, estimate="predictive").fit(table, y)
    rows, labels = model.sample(8000, y=np.tile(["a", "b"], 4000), random_state=3)
    drawn = np.array(rows["x"])[labels == "a"]
    if name in ("gaussian", "exponential"):
        assert stats.kstest(drawn, truth.cdf).pvalue > 1e-3
    else:
        most = int(truth.ppf(0.995))
        seen = np.bincount(np.minimum(drawn, most).astype(int), minlength=most + 1)
        expected = np.append(truth.pmf(np.arange(most)), truth.sf(most - 1)) * len(drawn)
        assert stats.chisquare(seen, expected).pvalue > 1e-3


def test_samples_of_logarithms_follow_their_students_t():
    model = NaiveBayes({"x": sr.LogNormal(prior=(0.0, 1.0, 1.0, 1.0))}, estimate="predictive")
    rows, _ = model.fit({"x": np.exp([1.0, 2.0, 3.0])}, ["c"] * 3).sample(4000, random_state=4)
    assert stats.kstest(np.log(rows["x"]), stats.t(5, 1.5, np.sqrt(1.75)).cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", ["gaussian", "lognormal", "exponential", "poisson", "geometric"])
def test_samples_of_a_class_that_never_saw_the_column_follow_its_scores(name):
    model = NaiveBayes(name, estimate="predictive").fit({"x": [4, 9, 7, 12, None]}, list("aaaab"))
    drawn = np.array(model.sample(3000, y="b", random_state=5)[0]["x"])
    only = model.with_class_prior({"a": 0.0, "b": 1.0})
    if name in ("poisson", "geometric"):
        below = np.exp(only.score_samples({"x": np.arange(6)})).sum()  # of being at most 5
    else:
        x, width = on_the_whole_line(name)
        below = np.exp(only.score_samples({"x": x}))[x <= 5.5] @ width[x <= 5.5]
    assert stats.binomtest(int((drawn <= 5.5).sum()), 3000, below).pvalue > 1e-3


# Modes on the boundary.


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_a_level_that_a_class_never_had_has_mode_zero_below_alpha_one(alpha):
    family = sr.Categorical(alpha=alpha, unseen="ignore")
    told = NaiveBayes(family, estimate="map").fit({"x": list("uuvw")}, list("aaab")).parameters_["x"]
    np.testing.assert_array_equal(told["w"], [0.0, 1.0])
    np.testing.assert_allclose(told["u"], [(1 + alpha) / (1 + 2 * alpha), 0.0])
    np.testing.assert_allclose(sum(told.values()), 1.0)


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "categorical", "poisson", "geometric"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.3, 1.0])
def test_modes_are_never_negative_and_never_nan(family, alpha):
    x = np.array([[0, 1, 2], [0, 1, 1], [0, 0, 1], [0, 0, np.nan]])
    settings = {"poisson": ("prior_shape", "prior_rate"), "geometric": ("prior_a", "prior_b")}
    names = settings.get(family, ("alpha",))
    x = np.minimum(x, 1) if family == "bernoulli" else x
    chosen = getattr(sr, family.capitalize())(**dict.fromkeys(names, alpha))
    model = NaiveBayes({(0, 1, 2): chosen}, estimate="map").fit(x, [0, 0, 1, 1])
    for told in model.parameters_.values():
        for numbers in told.values():
            assert (numbers >= 0).all() and (family == "poisson" or (numbers <= 1).all())
    assert not np.isnan(model.predict_joint_log_proba(x)).any()
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)


def test_the_mode_of_a_beta_is_zero_where_only_yes_is_below_one():
    # Beta(1/2, 1) falls from infinity at 0: nothing was seen of class b, so this is its posterior.
    family = sr.Bernoulli(alpha=0.5, beta=1.0)
    model = NaiveBayes({"x": family}, estimate="map").fit({"x": [1, 0, None]}, list("aab"))
    density = stats.beta(0.5, 1.0).pdf(np.linspace(0.01, 0.99, 99))
    assert np.argmax(density) == 0
    assert model.parameters_["x"]["yes"].tolist() == [pytest.approx(1 / 3), 0.0]


def test_the_mode_of_a_dirichlet_is_zero_where_a_parameter_is_below_one_and_the_others_are_one():
    # Dirichlet(1, 3/4) of two levels: rows of weight 1/2 and 1/4 on alpha = 1/2.
    family = sr.Categorical(alpha=0.5, unseen="ignore")
    model = NaiveBayes(family, estimate="map").fit({"x": list("uv")}, ["c"] * 2, sample_weight=[0.5, 0.25])
    told = model.parameters_["x"]
    assert (told["u"][0], told["v"][0]) == (1.0, 0.0)


def test_the_mode_of_a_waiting_rate_may_be_zero():
    # Gamma(1/2, 2) after half a row: a rate of 0, under which every time is as good as never.
    model = NaiveBayes({"x": sr.Exponential(0.5, 1.0)}, estimate="map")
    model.fit({"x": [1.0, 2.0, 4.0]}, list("abb"), sample_weight=[0.5, 1, 1])
    assert model.parameters_["x"]["rate"].tolist() == [0.0, pytest.approx(1.5 / 7.0)]
    assert model.predict({"x": [1.0]}).tolist() == ["b"]


# Maximum likelihood.


def cells_of(name, rng, n, columns=2):
    """Cells that the family takes, of three classes in turn."""
    c = np.arange(n)[:, None] % 3
    shape = (n, columns)
    made = {
        "gaussian": lambda: rng.normal(c, 1 + c, shape),
        "lognormal": lambda: rng.lognormal(c / 2, 0.5, shape),
        "bernoulli": lambda: rng.random(shape) < (c + 1) / 5,
        "poisson": lambda: rng.poisson(1 + c, shape),
        "geometric": lambda: rng.geometric(1 / (2 + c), shape) - 1,
        "exponential": lambda: rng.exponential(1 + c, shape),
        "multinomial": lambda: rng.poisson(1 + c, shape),
        "categorical": lambda: rng.integers(0, 3 + c, shape),
        "gamma": lambda: rng.gamma(2, 1 + c, shape),
        "beta": lambda: rng.beta(2, 1 + c, shape),
        "vonmises": lambda: rng.vonmises(c - 1, 2, shape),
    }
    return made[name]().astype(float), np.arange(n) % 3


SCIPYS = {
    "gaussian": (stats.norm.fit, lambda told: (told["mean"], told["sd"])),
    "lognormal": (
        lambda x: (np.log(stats.lognorm.fit(x, floc=0)[2]), stats.lognorm.fit(x, floc=0)[0]),
        lambda told: (told["log mean"], told["log sd"]),
    ),
    "exponential": (lambda x: (1 / stats.expon.fit(x, floc=0)[1],), lambda told: (told["rate"],)),
    "gamma": (
        lambda x: (stats.gamma.fit(x, floc=0)[0], 1 / stats.gamma.fit(x, floc=0)[2]),
        lambda told: (told["shape"], told["rate"]),
    ),
    "beta": (lambda x: stats.beta.fit(x, floc=0, fscale=1)[:2], lambda told: (told["a"], told["b"])),
    "vonmises": (
        lambda x: stats.vonmises.fit(x, fscale=1)[1::-1],
        lambda told: (told["direction"], told["concentration"]),
    ),
}


@pytest.mark.parametrize("name", SCIPYS)
def test_mle_is_scipys_fit_of_every_class(name):
    x, y = cells_of(name, RNG, 90, 1)
    fit, shown = SCIPYS[name]
    told = shown(NaiveBayes(name, estimate="mle").fit(x, y).parameters_["x0"])
    for c in range(3):
        np.testing.assert_allclose([numbers[c] for numbers in told], fit(x[y == c, 0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["gamma", "beta", "vonmises"])
def test_families_without_a_conjugate_prior_have_one_estimate_beside_mle(name):
    x, y = cells_of(name, RNG, 30)
    joint = {
        estimate: NaiveBayes(name, estimate=estimate).fit(x, y).predict_joint_log_proba(x)
        for estimate in ESTIMATES
    }
    np.testing.assert_array_equal(joint["mean"], joint["map"])
    np.testing.assert_array_equal(joint["mean"], joint["predictive"])
    assert np.abs(joint["mean"] - joint["mle"]).max() > 1e-3


WITHOUT_MAXIMUM = ("gaussian", "lognormal", "gamma", "beta", "vonmises")


@pytest.mark.parametrize("name", WITHOUT_MAXIMUM)
@pytest.mark.parametrize("cells", [[0.7], [0.7, 0.7, 0.7], [0.1 + 0.2] * 30, [None, 0.7, None]])
def test_cells_that_are_all_the_same_have_no_mle_and_the_error_says_where(name, cells):
    n = len(cells)
    table = {"good": [0.2, 0.5, *np.linspace(0.1, 0.6, n + 1)], "flat": [0.1, 0.4, *cells, None]}
    y = ["rich", "rich"] + ["poor"] * (n + 1)
    with pytest.raises(ValueError, match="class 'poor': column 'flat'"):
        NaiveBayes(name, estimate="mle").fit(table, y)
    for other in ("mean", "map", "predictive"):
        model = NaiveBayes(name, estimate=other).fit(table, y)
        assert np.isfinite(model.predict_joint_log_proba(table)).all()


@pytest.mark.parametrize("name", WITHOUT_MAXIMUM)
def test_two_cells_close_to_each_other_have_an_mle(name):
    table = {"x": [0.2, 0.5, 0.3, 0.30001]}
    model = NaiveBayes(name, estimate="mle").fit(table, list("aabb"))
    assert np.isfinite(model.predict_joint_log_proba(table)).all()


def test_classes_without_any_spread_have_no_shared_variance_of_maximum_likelihood():
    family = sr.Gaussian(shared_variance=True)
    told = NaiveBayes(family, estimate="mle").fit({"x": [1.0, 3.0, 2.0, 2.0]}, list("aabb")).parameters_
    np.testing.assert_allclose(told["x"]["sd"], np.sqrt(0.5))
    with pytest.raises(ValueError, match="'x'"):
        NaiveBayes(family, estimate="mle").fit({"x": [1.0, 1.0, 2.0, 2.0]}, list("aabb"))


def test_a_failed_update_under_mle_leaves_the_model_as_it_was():
    model = NaiveBayes("gaussian", estimate="mle").fit({"x": [1.0, 2.0, 4.0, 7.0]}, list("aabb"))
    before = model.predict_joint_log_proba({"x": [3.0]})
    with pytest.raises(ValueError, match="class 'b': column 'x'"):
        model.forget({"x": [4.0]}, ["b"])
    with pytest.raises(ValueError, match="class 'c': column 'x'"):
        model.partial_fit({"x": [4.0]}, ["c"])
    np.testing.assert_array_equal(model.predict_joint_log_proba({"x": [3.0]}), before)
    assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "name", [*WITHOUT_MAXIMUM, "exponential", "poisson", "geometric", "bernoulli", "categorical"]
)
def test_under_mle_a_class_that_never_saw_the_column_has_that_of_all_classes(name):
    cells = [0.0, 1.0, 1.0, 1.0] if name in ("bernoulli", "categorical") else [0.2, 0.5, 0.3, 0.4]
    cells = [2, 5, 3, 4] if name in ("poisson", "geometric") else cells
    known = NaiveBayes(name, estimate="mle").fit({"x": cells}, ["a"] * 4)
    both = NaiveBayes(name, estimate="mle").fit({"x": [*cells, None]}, [*"aaaa", "b"])
    found = both.predict_joint_log_proba({"x": cells}) - np.log(both.class_prior_)
    highest = known.predict_joint_log_proba({"x": cells})[:, 0]
    np.testing.assert_allclose(found[:, 0], highest, rtol=1e-9)
    if name in WITHOUT_MAXIMUM or name in ("exponential", "poisson", "geometric"):
        np.testing.assert_allclose(found[:, 1], highest, rtol=1e-9)  # that of all classes together
    else:
        np.testing.assert_allclose(found[:, 1], found[0, 1])  # says nothing


# Priors of one's own for columns and classes.


SHAPES = {"columns": (2,), "classes": (3, 1), "both": (3, 2)}
every_shape = pytest.mark.parametrize("shape", SHAPES)


def numbers_of_shape(shape, low, high):
    return RNG.uniform(low, high, SHAPES[shape])


def cell(numbers, c, j):
    return float(np.broadcast_to(numbers, (3, 2))[c, j])


#: Families by numbers of their prior, which may be arrays.
PRIORS = {
    "bernoulli": (lambda a, b: sr.Bernoulli(alpha=a, beta=b), 2),
    "poisson": (lambda a, b: sr.Poisson(prior_shape=a, prior_rate=b), 2),
    "geometric": (lambda a, b: sr.Geometric(prior_a=a, prior_b=b), 2),
    "exponential": (lambda a, b: sr.Exponential(prior_shape=a, prior_rate=b), 2),
    "gaussian": (lambda m, k, a, b: sr.Gaussian(prior=(m, k, a, b)), 4),
    "lognormal": (lambda m, k, a, b: sr.LogNormal(prior=(m, k, a, b)), 4),
    "categorical": (lambda a: sr.Categorical(alpha=a, unseen="ignore"), 1),
}


@every_shape
@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_for_each_column_or_class_is_that_of_the_column_or_class_alone(name, estimate, shape):
    make, n_numbers = PRIORS[name]
    x, y = cells_of(name, RNG, 30)
    numbers = [numbers_of_shape(shape, 1.1, 4.0) for _ in range(n_numbers)]
    whole = NaiveBayes(make(*numbers), estimate=estimate).fit(x, y)
    scores = whole.explain(x).contributions
    for c in range(3):
        for j in range(2):
            alone = make(*(cell(a, c, j) for a in numbers))
            single = NaiveBayes(alone, estimate=estimate).fit(x[:, [j]], y)
            for name_of, value in single.parameters_["x0"].items():
                np.testing.assert_allclose(whole.parameters_[f"x{j}"][name_of][c], value[c], rtol=1e-12)
            np.testing.assert_allclose(
                scores[:, c, j], single.explain(x[:, [j]]).contributions[:, c, 0], rtol=1e-9, atol=1e-12
            )
            assert whole.log_evidence_.columns[f"x{j}"][c] == pytest.approx(
                single.log_evidence_.columns["x0"][c]
            )


@every_shape
def test_an_alpha_for_each_word_or_class_is_that_of_its_dirichlet(shape):
    x, y = cells_of("multinomial", RNG, 30)
    alpha = numbers_of_shape(shape, 0.2, 4.0)
    for model in (NaiveBayes(sr.Multinomial(alpha=alpha)).fit(x, y), MultinomialNB(alpha=alpha).fit(x, y)):
        for c in range(3):
            theta = stats.dirichlet(np.broadcast_to(alpha, (3, 2))[c] + x[y == c].sum(axis=0)).mean()
            shown = [model.parameters_[f"x{j}"]["share"][c] for j in range(2)]
            np.testing.assert_allclose(shown, theta, rtol=1e-12)


@pytest.mark.parametrize("key", ["2", 2, 2.0])
def test_an_alpha_by_level_is_that_of_the_level_whatever_it_is_called(key):
    # 1, 1.0 and "1" are one level. Dirichlet(5 + 1, 1 + 1) of "2" and "3"; a new one is 1 of 2 + 5 + 1 + 1.
    model = NaiveBayes({"x": sr.Categorical(alpha={key: 5.0})}).fit({"x": [2, 3]}, [0, 0])
    told = model.parameters_["x"]
    found = [float(told[level][0]) for level in ("2", "3", "(unseen)")]
    np.testing.assert_allclose(found, [*(8 / 9 * stats.dirichlet([6.0, 2.0]).mean()), 1 / 9])


def test_an_alpha_by_level_is_of_levels_only():
    for family in (sr.Bernoulli, sr.Multinomial, sr.Complement):
        with pytest.raises(ValueError, match="alpha"):
            NaiveBayes({(0, 1): family(alpha={"1": 2.0})}).fit(np.eye(2), [0, 1])


TABLE = {"u": [1, 0, 1, 1], "v": [0, 1, 1, 0]}


ARRAYS = {
    "alpha of yes": lambda a: sr.Bernoulli(alpha=a),
    "beta of yes": lambda a: sr.Bernoulli(alpha=1.0, beta=a),
    "alpha of words": lambda a: sr.Multinomial(alpha=a),
    "alpha of other words": lambda a: sr.Complement(alpha=a),
    "alpha of levels": lambda a: sr.Categorical(alpha=a),
    "shape of counts": lambda a: sr.Poisson(prior_shape=a),
    "rate of counts": lambda a: sr.Poisson(prior_rate=a),
    "prior of counts": lambda a: sr.Poisson(prior=Gamma(a, a)),
    "a of failures": lambda a: sr.Geometric(prior_a=a),
    "b of failures": lambda a: sr.Geometric(prior_b=a),
    "shape of times": lambda a: sr.Exponential(prior_shape=a),
    "rate of times": lambda a: sr.Exponential(prior_rate=a),
    "m0": lambda a: sr.Gaussian(prior=(a, 1.0, 1.0, 1.0)),
    "kappa0": lambda a: sr.Gaussian(prior=(0.0, a, 1.0, 1.0)),
    "b0": lambda a: sr.Gaussian(prior=(0.0, 1.0, 1.0, a)),
}


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_numbers_for_other_columns_or_classes_are_refused_at_fit_in_words(make):
    for shape in [(3,), (3, 1), (2, 3), (3, 2), (2, 2, 2)]:
        with pytest.raises(ValueError, match="classes|columns|n_features|array"):
            NaiveBayes({("u", "v"): make(np.full(shape, 2.0))}).fit(TABLE, list("aabb"))


@pytest.mark.parametrize("family", [sr.LogNormal, sr.Gamma, sr.Beta, sr.VonMises])
def test_rows_and_priors_for_other_columns_are_refused_at_fit_in_words(family):
    row = (np.ones(3), 1.0, 1.0, 1.0) if family is sr.LogNormal else (np.full(3, 0.5), np.full(3, -1.0))
    with pytest.raises(ValueError, match="classes|columns|n_features"):
        NaiveBayes({("u", "v"): family(prior=row)}).fit({"u": [0.1, 0.2], "v": [0.3, 0.4]}, [0, 1])


WRONG = {
    "counts by a Beta": lambda: sr.Poisson(prior=Beta(1.0, 2.0)),
    "times by a Beta": lambda: sr.Exponential(prior=Beta(1.0, 2.0)),
    "failures by a Gamma": lambda: sr.Geometric(prior=Gamma(1.0, 2.0)),
    "counts by three numbers": lambda: sr.Poisson(prior=(1.0, 2.0, 3.0)),
    "counts by four numbers": lambda: sr.Poisson(prior=NormalInverseGamma(0.0, 1.0, 1.0, 1.0)),
    "means by a Gamma": lambda: sr.Gaussian(prior=Gamma(1.0, 2.0)),
    "a row of one term": lambda: sr.Gamma(prior=(1.0,)),
    "a word for counts": lambda: sr.Poisson(prior="Evidence"),
    "a word for means": lambda: sr.Gaussian(prior="default"),
    "a word for alpha": lambda: sr.Bernoulli(alpha="evidenz"),
    "two alphas by evidence": lambda: sr.Bernoulli(alpha="evidence", beta=1.0),
    "beta below 0": lambda: sr.Bernoulli(beta=-1.0),
    "alpha of a level below 0": lambda: sr.Categorical(alpha={"u": -1.0}),
    "alpha of a level NaN": lambda: sr.Categorical(alpha={"u": np.nan}),
    "shape of a column below 0": lambda: sr.Poisson(prior_shape=[1.0, -1.0]),
    "infinite a": lambda: sr.Geometric(prior_a=np.inf),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_what_is_no_prior_of_the_family_is_refused(make):
    with pytest.raises(ValueError, match="alpha|beta|prior"):
        make()


BACK = {
    "gaussian": sr.Gaussian,
    "lognormal": sr.LogNormal,
    "poisson": sr.Poisson,
    "geometric": sr.Geometric,
    "exponential": sr.Exponential,
    "gamma": sr.Gamma,
    "beta": sr.Beta,
    "vonmises": sr.VonMises,
}


@every_estimate
@pytest.mark.parametrize("name", BACK)
def test_a_prior_that_is_passed_back_gives_the_same_model(name, estimate):
    x, y = cells_of(name, RNG, 30)
    table = {"u": x[:, 0], "v": x[:, 1]}
    first = NaiveBayes(name, estimate=estimate).fit(table, y)
    families = {column: BACK[name](prior=first.prior_[column]) for column in table}
    again = NaiveBayes(families, estimate=estimate).fit(table, y)
    for model in (again, NaiveBayes(again.fixed_families_, estimate=estimate).fit(table, y)):
        np.testing.assert_allclose(
            model.predict_joint_log_proba(table), first.predict_joint_log_proba(table), rtol=1e-12
        )
    if name not in ("gamma", "beta", "vonmises") and estimate != "mle":
        assert again.log_evidence_ == pytest.approx(first.log_evidence_, rel=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "lognormal", "poisson", "geometric", "exponential"])
def test_a_prior_that_differs_between_classes_can_be_passed_back_too(name):
    make, n_numbers = PRIORS[name]
    x, y = cells_of(name, RNG, 30, 1)
    first = NaiveBayes(make(*(RNG.uniform(1.1, 4.0, (3, 1)) for _ in range(n_numbers)))).fit(
        {"x": x[:, 0]}, y
    )
    again = NaiveBayes({"x": BACK[name](prior=first.prior_["x"])}).fit({"x": x[:, 0]}, y)
    np.testing.assert_allclose(
        again.predict_joint_log_proba({"x": x[:, 0]}), first.predict_joint_log_proba({"x": x[:, 0]})
    )


# Units and laws.


@every_estimate
@pytest.mark.parametrize(
    "name, strength",
    [(name, "default") for name in ("gaussian", "lognormal", "exponential", "gamma")]
    + [(name, "evidence") for name in ("gaussian", "lognormal", "exponential")],
)
def test_rescaling_a_column_changes_no_probability(name, strength, estimate):
    x, y = cells_of(name, RNG, 40)
    x[3, 0] = x[7, 1] = np.nan
    family = BACK[name](prior="evidence") if strength == "evidence" else name
    expected = NaiveBayes(family, estimate=estimate).fit(x, y).predict_log_proba(x)
    moves = [(1e-30, 0.0), (1e12, 0.0), (3.0, 0.0)] + [(1.0, 1e3), (-2.0, 5.0)] * (name == "gaussian")
    for scale, shift in moves:
        moved = x * [scale, 1.0] + [shift, 0.0]
        found = NaiveBayes(family, estimate=estimate).fit(moved, y).predict_log_proba(moved)
        np.testing.assert_allclose(found, expected, rtol=1e-5 if strength == "evidence" else 1e-8, atol=1e-9)


EVIDENCE = {
    "gaussian": sr.Gaussian(prior="evidence"),
    "lognormal": sr.LogNormal(prior="evidence"),
    "bernoulli": sr.Bernoulli(alpha="evidence"),
    "categorical": sr.Categorical(alpha="evidence"),
    "multinomial": sr.Multinomial(alpha="evidence"),
    "poisson": sr.Poisson(prior="evidence"),
    "geometric": sr.Geometric(prior="evidence"),
    "exponential": sr.Exponential(prior="evidence"),
}
SHARED = {"gaussian-shared": sr.Gaussian(shared_variance=True)}
ALL = {name: name for name in (*CASES, "gamma", "beta", "vonmises")} | SHARED
KINDS = [(name, family, 1e-9) for name, family in ALL.items()] + [
    # A strength is found by search: it is the same to half the digits.
    (f"{name}-evidence", family, 1e-9 if hasattr(family, "alpha") else 1e-5)
    for name, family in EVIDENCE.items()
]
every_kind = pytest.mark.parametrize("kind, family, tolerance", KINDS, ids=[kind for kind, *_ in KINDS])


def some_missing(kind, n=48):
    x, y = cells_of(kind.split("-")[0], RNG, n)
    x[RNG.random(x.shape) < 0.15] = np.nan
    return x, y


@every_kind
@every_estimate
def test_fit_is_partial_fit_in_pieces_is_merge_in_any_order(kind, family, tolerance, estimate):
    x, y = some_missing(kind)
    pieces = [(x[k : k + 16], y[k : k + 16]) for k in (32, 0, 16)]
    whole = NaiveBayes(family, estimate=estimate).fit(x, y)
    streamed = reduce(lambda m, piece: m.partial_fit(*piece), pieces, NaiveBayes(family, estimate=estimate))
    merged = sum(NaiveBayes(family, estimate=estimate).fit(*piece) for piece in pieces)
    weighed = NaiveBayes(family, estimate=estimate).fit(
        np.repeat(x, 2, axis=0), np.repeat(y, 2), sample_weight=np.tile([1.0, 0.0], len(y))
    )
    expected = whole.predict_joint_log_proba(x)
    for model in (streamed, merged, weighed):
        np.testing.assert_allclose(model.predict_joint_log_proba(x), expected, rtol=tolerance, atol=tolerance)


@every_kind
def test_the_engines_agree(kind, family, tolerance):
    x, y = some_missing(kind)
    for estimate in ESTIMATES:
        found = []
        for engine in engines.ENGINES:
            with engines.using(engine):
                found.append(NaiveBayes(family, estimate=estimate).fit(x, y).predict_joint_log_proba(x))
        np.testing.assert_allclose(*found, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "kind, family, tolerance",
    [row for row in KINDS if row[0].split("-")[0] not in ("lognormal", "gamma", "beta", "vonmises")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_dense_rows_are_sparse_rows(kind, family, tolerance):
    x, y = some_missing(kind)
    thin_x = sparse.csr_array(x)
    for estimate in ESTIMATES:
        dense, thin = (NaiveBayes(family, estimate=estimate).fit(rows, y) for rows in (x, thin_x))
        expected = dense.predict_joint_log_proba(x)
        for model, rows in ((thin, thin_x), (thin, x), (dense, thin_x)):
            np.testing.assert_allclose(
                model.predict_joint_log_proba(rows), expected, rtol=tolerance, atol=tolerance
            )


@every_kind
def test_a_missing_cell_adds_nothing_and_a_row_without_cells_gets_the_class_prior(kind, family, tolerance):
    x, y = some_missing(kind)
    for estimate in ESTIMATES:
        model = NaiveBayes(family, estimate=estimate).fit(x, y)
        nothing = model.predict_joint_log_proba([[np.nan, np.nan]])[0]
        np.testing.assert_array_equal(nothing, np.log(model.class_prior_))
        why = model.explain(x)
        assert (why.contributions.transpose(0, 2, 1)[np.isnan(x)] == 0).all()
        np.testing.assert_allclose(why.score, model.predict_joint_log_proba(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("estimate", ["mean", "predictive"])
@pytest.mark.parametrize(
    "x",
    [
        [[np.nan, 2.0], [3.0, np.nan]],
        [[1.0, 2.0], [np.nan, np.nan]],
        [[1.0, 2.0], [4.0, np.nan], [0.0, 1.0]],
    ],
    ids=["in turn", "a whole row", "one"],
)
def test_the_posterior_of_counts_with_missing_ones_is_that_of_the_shares_shown(x, estimate):
    model = NaiveBayes("multinomial", estimate=estimate).fit(np.array(x), ["c"] * len(x))
    shown = [model.parameters_[f"x{j}"]["share"][0] for j in (0, 1)]
    np.testing.assert_allclose([model.posterior_[f"x{j}"].mean[0] for j in (0, 1)], shown, rtol=1e-12)


# Far out.


@pytest.mark.parametrize("x", [1e160, -1e200, 1.7e308])
def test_a_students_t_is_finite_for_every_float(x):
    model = NaiveBayes({"x": sr.Gaussian(prior=(0.0, 1.0, 1.0, 1.0))}, estimate="predictive")
    model.fit({"x": [1.0, 2.0, 3.0]}, ["c"] * 3)
    # t_5(3/2, 7/4), to 30 digits.
    with mpmath.workdps(30):
        z2 = ((mpmath.mpf(x) - 1.5) ** 2) / 1.75
        norm = mpmath.gamma(3) / mpmath.gamma(2.5) / mpmath.sqrt(5 * mpmath.pi * 1.75)
        expected = float(mpmath.log(norm) - 3 * mpmath.log1p(z2 / 5))
    assert model.score_samples({"x": [x]})[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("x", [10**6, 10**9, 10**12, 2**53])
def test_a_beta_geometric_keeps_its_digits_for_long_waits(x):
    model = NaiveBayes({"x": sr.Geometric(1.0, 1.0)}, estimate="predictive").fit({"x": [1, 2]}, ["c"] * 2)
    with mpmath.workdps(60):  # Beta(3, 4)
        expected = float(mpmath.log(mpmath.beta(4, mpmath.mpf(4) + x) / mpmath.beta(3, 4)))
    assert model.score_samples({"x": [x]})[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("rows", [1e3, 1e8, 1e14])
def test_with_ever_more_rows_the_predictive_becomes_the_mean(rows):
    for name in ("gaussian", "lognormal", "poisson", "geometric", "exponential"):
        table, y, weight = {"x": [1, 3, 4, 7]}, list("aabb"), np.full(4, rows)
        joint = [
            NaiveBayes(name, estimate=estimate).fit(table, y, weight).predict_joint_log_proba(table)
            for estimate in ("mean", "predictive")
        ]
        np.testing.assert_allclose(*joint, rtol=1e-12, atol=500 / rows)
