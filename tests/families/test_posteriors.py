"""Posteriors: distributions against SciPy, updates against numerical integration of prior times likelihood."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import integrate, stats
from sunrise.numerics.conjugate import Beta, Dirichlet, Gamma
from sunrise.numerics.normal_inverse_gamma import InverseGamma, NormalInverseGamma

RNG = np.random.default_rng(5)

A, B = np.array([0.7, 3.0, 40.0]), np.array([2.0, 1.0, 9.0])
ONE_DIMENSIONAL = {
    "beta": (Beta(A, B), stats.beta(A, B)),
    "gamma": (Gamma(A, B), stats.gamma(A, scale=1 / B)),
    "inverse gamma": (InverseGamma(A + 2, B), stats.invgamma(A + 2, scale=B)),
    "mean": (
        NormalInverseGamma(B, A, A + 1, B),
        stats.t(2 * (A + 1), loc=B, scale=np.sqrt(B / ((A + 1) * A))),
    ),
}


@pytest.mark.parametrize("ours, scipys", ONE_DIMENSIONAL.values(), ids=ONE_DIMENSIONAL)
def test_moments_intervals_and_densities_are_scipys(ours, scipys):
    np.testing.assert_allclose(ours.mean, scipys.mean(), rtol=1e-12)
    np.testing.assert_allclose(ours.var, scipys.var(), rtol=1e-12)
    for level in (0.5, 0.95):
        np.testing.assert_allclose(ours.interval(level), scipys.interval(level), rtol=1e-9)
    x = scipys.ppf([[0.01], [0.3], [0.9]])
    np.testing.assert_allclose(ours.pdf(x), scipys.pdf(x), rtol=1e-10)
    draws = ours.sample(20_000, random_state=0)
    draws = draws[0] if isinstance(draws, tuple) else draws
    for k in range(3):
        assert (
            stats.kstest(draws[:, k], lambda v, k=k: scipys.cdf(np.asarray(v)[:, None])[:, k]).pvalue > 1e-4
        )
    for wrong in (0, 1, -0.5, 95):
        with pytest.raises(ValueError, match="level"):
            ours.interval(wrong)


@pytest.mark.parametrize("ours, scipys", ONE_DIMENSIONAL.values(), ids=ONE_DIMENSIONAL)
def test_the_mode_is_where_the_density_is_highest(ours, scipys):
    mode = ours.mode[0] if isinstance(ours.mode, tuple) else ours.mode
    for k in (1, 2):  # the first Beta and Gamma have theirs on the boundary
        grid = np.linspace(*scipys.ppf([[1e-4], [1 - 1e-4]])[:, k], 20_001)
        highest = grid[np.argmax(ours.pdf(grid[:, None])[:, k])]
        if isinstance(ours, NormalInverseGamma) or k == 2 or not isinstance(ours, Beta):
            assert mode[k] == pytest.approx(highest, abs=2 * (grid[1] - grid[0]))
    assert (np.asarray(mode) >= 0).all()


def test_a_parameter_below_one_puts_the_mode_on_the_boundary():
    assert Beta(np.array([0.5, 3.0]), np.array([2.0, 0.5])).mode.tolist() == [0.0, 1.0]
    assert Dirichlet(np.array([0.5, 3.0, 2.0])).mode.tolist() == [0.0, 2 / 3, 1 / 3]
    assert Gamma(np.array([0.5]), np.array([2.0])).mode.tolist() == [0.0]


def test_probabilities_that_sum_to_one():
    a = np.array([0.7, 2.0, 5.0])
    ours, scipys = Dirichlet(a), stats.dirichlet(a)
    np.testing.assert_allclose(ours.mean, scipys.mean(), rtol=1e-12)
    np.testing.assert_allclose(ours.var, scipys.var(), rtol=1e-12)
    assert ours.pdf(np.array([0.2, 0.3, 0.5])) == pytest.approx(scipys.pdf([0.2, 0.3, 0.5]))
    np.testing.assert_allclose(ours.interval(0.9)[1], stats.beta(a, a.sum() - a).ppf(0.95), rtol=1e-9)
    draws = ours.sample(20_000, random_state=1)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert stats.kstest(draws[:, 1], stats.beta(2.0, 5.7).cdf).pvalue > 1e-4


def test_a_mean_and_a_variance_together():
    post = NormalInverseGamma(*map(np.float64, (1.5, 4.0, 2.5, 3.5)))
    joint = lambda v, m: stats.norm(1.5, np.sqrt(v / 4)).pdf(m) * stats.invgamma(2.5, scale=3.5).pdf(v)  # noqa: E731
    best = max(
        ((joint(v, m), m, v) for m in (1.4, 1.5, 1.6) for v in np.linspace(0.5, 1.5, 401)), key=lambda t: t[0]
    )
    assert post.mode[0] == best[1] and post.mode[1] == pytest.approx(best[2], abs=0.0026)
    means, variances = post.sample(50_000, random_state=2)
    assert np.mean(means) == pytest.approx(1.5, abs=0.02) and np.mean(variances) == pytest.approx(
        3.5 / 1.5, rel=0.05
    )
    assert stats.kstest(variances, stats.invgamma(2.5, scale=3.5).cdf).pvalue > 1e-4


def normalised(weight, low, high):
    """A density made of prior times likelihood by numerical integration: its mean and its value at a point."""
    total = integrate.quad(weight, low, high, epsabs=0, limit=200)[0]
    mean = integrate.quad(lambda t: t * weight(t), low, high, epsabs=0, limit=200)[0] / total
    return mean, lambda t: weight(t) / total


@pytest.mark.parametrize(
    "family, x, prior, likelihood, ends",
    [
        ("bernoulli", [1, 0, 0, 1, 1], stats.uniform().pdf, lambda t, x: stats.bernoulli(t).pmf(x), (0, 1)),
        ("poisson", [2, 0, 3], stats.gamma(1).pdf, lambda t, x: stats.poisson(t).pmf(x), (0, 30)),
        ("geometric", [2, 0, 3], stats.uniform().pdf, lambda t, x: stats.geom(t, loc=-1).pmf(x), (0, 1)),
        (
            sr.Exponential(2.0, 3.0),
            [0.5, 2.0],
            stats.gamma(2, scale=1 / 3).pdf,
            lambda t, x: stats.expon(scale=1 / t).pdf(x),
            (1e-9, 30),
        ),
    ],
    ids=["bernoulli", "poisson", "geometric", "exponential"],
)
def test_a_posterior_is_prior_times_likelihood(family, x, prior, likelihood, ends):
    post = NaiveBayes(family).fit({"x": x}, ["c"] * len(x)).posterior_["x"]
    mean, density = normalised(lambda t: prior(t) * np.prod(likelihood(t, np.array(x))), *ends)
    assert post.mean[0] == pytest.approx(mean, rel=1e-8)
    for t in post.interval(0.8):
        assert post.pdf(t[0])[0] == pytest.approx(density(t[0]), rel=1e-8)


def test_the_gaussian_update_of_the_books():
    prior = NormalInverseGamma(*map(np.float64, (0.0, 1.0, 1.0, 1.0)))
    post = prior.updated(np.float64(3), np.float64(2), np.float64(2))  # of 1, 2, 3
    assert (post.kappa, post.m, post.a, post.b) == (4, 1.5, 2.5, 3.5)


def test_the_default_gaussian_prior_is_in_the_units_of_the_column():
    x, y = RNG.normal(size=40), np.arange(40) % 2
    one = NaiveBayes("gaussian").fit({"x": x}, y).posterior_["x"]
    other = NaiveBayes("gaussian").fit({"x": 100 * x + 7}, y).posterior_["x"]
    np.testing.assert_allclose(100 * np.array(one.interval()) + 7, other.interval(), rtol=1e-9)
    np.testing.assert_allclose(1e4 * np.array(one.variance.interval()), other.variance.interval(), rtol=1e-9)
    s2 = np.mean([(x[y == c] - x[y == c].mean()) @ (x[y == c] - x[y == c].mean()) / 20 for c in (0, 1)])
    kappa = s2 / x.var()
    for c in (0, 1):
        own = x[y == c]
        assert one.m[c] == pytest.approx((kappa * x.mean() + own.sum()) / (kappa + 20))
        assert one.a[c] == 11.5


def test_the_exact_evidence_of_murphys_coin():
    # Exercise 3.2: the probability of 1, 0, 0, 1, 1 as a product of one-step predictions under Beta(1, 1).
    product, seen = Fraction(1), []
    for x in (1, 0, 0, 1, 1):
        model = NaiveBayes("bernoulli").fit({"x": seen}, ["c"] * len(seen)).posterior_["x"] if seen else None
        p = (
            Fraction(1, 2)
            if model is None
            else Fraction(model.a[0] / (model.a[0] + model.b[0])).limit_denominator(100)
        )
        product *= p if x else 1 - p
        seen.append(x)
    assert product == Fraction(1, 60)


def test_levels_words_and_what_has_no_posterior():
    table = {"k": ["a", "b", "a", "c"], "w0": [3, 0, 1, 2], "w1": [1, 1, 0, 4], "g": [0.5, 1.5, 2.5, 4.0]}
    model = NaiveBayes({("w0", "w1"): "multinomial", "g": "gamma", "k": "categorical"}).fit(
        table, [0, 0, 1, 1]
    )
    np.testing.assert_allclose(model.posterior_["k"].mean, np.array([[2, 2, 1], [2, 1, 2]]) / 5)
    np.testing.assert_allclose(model.posterior_["w0"].mean, [4 / 7, 4 / 9])
    assert list(model.posterior_) == ["k", "w0", "w1", "g"] and len(model.posterior_) == 4
    with pytest.raises(ValueError, match="gamma has no conjugate posterior"):
        model.posterior_["g"]
    with pytest.raises(KeyError, match="does not use a column"):
        model.posterior_["q"]
    with pytest.raises(ValueError, match="no prior, so it has no posterior"):
        sr.GaussianNB().fit([[1.0], [2.0]], [0, 1]).posterior_["x0"]


def test_a_prior_that_is_passed_back_changes_nothing_and_then_stays():
    x, y = RNG.gamma(2.0, size=60), np.arange(60) % 2
    for name, family in (("gaussian", sr.Gaussian), ("lognormal", sr.LogNormal)):
        model = NaiveBayes(name).fit({"x": x}, y)
        frozen = NaiveBayes({"x": family(prior=model.prior_["x"])}).fit({"x": x}, y)
        np.testing.assert_allclose(
            frozen.predict_log_proba({"x": x}), model.predict_log_proba({"x": x}), rtol=1e-12
        )
        again = frozen.partial_fit({"x": x * 5}, y)
        assert again.prior_["x"] == model.prior_["x"]
    wait = NaiveBayes("exponential").fit({"x": x}, y)
    assert wait.prior_["x"].rate == pytest.approx(x.mean()) and wait.prior_["x"].shape == 1


def test_a_given_gaussian_prior_is_the_books_update():
    model = NaiveBayes({"x": sr.Gaussian(prior=(0.0, 1.0, 1.5, 1.0))}).fit({"x": [1.0, 2.0, 3.0]}, ["c"] * 3)
    post = model.posterior_["x"]
    assert (post.kappa[0], post.m[0], post.a[0], post.b[0]) == pytest.approx((4, 1.5, 3.0, 3.5))
    told = model.parameters_["x"]
    assert told["mean"][0] == 1.5 and told["sd"][0] == pytest.approx(np.sqrt(3.5 / 2.0))
    density = stats.norm(1.5, np.sqrt(1.75)).logpdf(0.3)
    assert model.predict_joint_log_proba({"x": [0.3]})[0, 0] == pytest.approx(density)
    two = NaiveBayes(sr.Gaussian(prior=([0.0, 5.0], 1.0, 1.5, 1.0))).fit(
        {"a": [1.0, 2.0], "b": [1.0, 2.0]}, [0, 0]
    )
    assert two.posterior_["b"].m[0] == pytest.approx((5 + 3) / 3)


@pytest.mark.parametrize(
    "prior", [(0, 0, 1.5, 1), (0, 1, 0.0, 1), (0, 1, 1.5, 0), (np.nan, 1, 2, 1), (1, 2, 3), (0, 1, np.inf, 1)]
)
def test_improper_priors_are_refused(prior):
    with pytest.raises(ValueError, match="prior"):
        sr.Gaussian(prior=prior)


def test_priors_of_counts_and_levels():
    table = {"b": [True, False], "k": ["u", "v"], "n": [3, 4], "w0": [1, 2], "w1": [0, 1]}
    families = {
        "b": sr.Bernoulli(alpha=2.0),
        "k": sr.Categorical(alpha=0.5),
        "n": sr.Poisson(3.0, 2.0),
        ("w0", "w1"): "multinomial",
    }
    prior = NaiveBayes(families).fit(table, [0, 1]).prior_
    assert (prior["b"].a, prior["b"].b) == (2, 2) and prior["k"].concentration.tolist() == [0.5] * 2
    assert (prior["n"].shape, prior["n"].rate) == (3, 2) and (prior["w1"].a, prior["w1"].b) == (1, 1)
    assert NaiveBayes("geometric").fit({"n": [1, 2]}, [0, 1]).prior_["n"] == Beta(1.0, 1.0)
