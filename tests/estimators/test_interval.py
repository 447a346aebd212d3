"""Credible intervals of predictions: they cover what is true as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import special, stats

N_ROWS = 12


def softmax(joint):
    return np.exp(joint - special.logsumexp(joint))


def yes_and_no(rng, prior):
    """Bernoulli(2 columns), theta ~ Beta(2, 1)."""
    theta = rng.beta(2.0, 1.0, (2, 2))
    y = rng.choice(2, N_ROWS, p=prior)
    x = (rng.random((N_ROWS, 2)) < theta[y]).astype(float)
    new = (rng.random(2) < 0.5).astype(float)
    truth = np.log(prior) + np.where(new > 0, np.log(theta), np.log1p(-theta)).sum(axis=1)
    return sr.Bernoulli(alpha=2.0, beta=1.0), x, y, new, truth


def categories(rng, prior):
    """A column of three levels, theta ~ Dirichlet(2, 2, 2)."""
    theta = rng.dirichlet([2.0] * 3, 2)
    y = rng.choice(2, N_ROWS, p=prior)
    x = np.array([rng.choice(3, p=theta[c]) for c in y], float)[:, None]
    new = np.array([rng.integers(3)], float)
    return (
        sr.Categorical(alpha=2.0, coded=True, min_categories=3, unseen="ignore"),
        x,
        y,
        new,
        np.log(prior) + np.log(theta[:, int(new[0])]),
    )


def measurements(rng, prior):
    """A normal column, (mean, variance) ~ NormalInverseGamma(0, 1, 3, 2)."""
    var = 1.0 / rng.gamma(3.0, 1.0 / 2.0, 2)
    mean = rng.normal(0.0, np.sqrt(var))
    y = rng.choice(2, N_ROWS, p=prior)
    x = rng.normal(mean[y], np.sqrt(var[y]))[:, None]
    new = np.array([rng.normal(0.0, 1.5)])
    truth = np.log(prior) + stats.norm.logpdf(new[0], mean, np.sqrt(var))
    return sr.Gaussian(prior=(0.0, 1.0, 3.0, 2.0)), x, y, new, truth


@pytest.mark.parametrize(
    "repetitions, slack", [(200, 0.045), pytest.param(2000, 0.02, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("draw", [yes_and_no, categories, measurements])
def test_95_percent_intervals_cover_the_truth_19_times_in_20(draw, repetitions, slack):
    rng = np.random.default_rng(11)
    covered = []
    while len(covered) < repetitions:
        family, x, y, new, truth = draw(rng, rng.dirichlet([1.0, 1.0]))
        # Both classes are part of the model, also where only one of them was drawn.
        model = NaiveBayes(family, n_jobs=1).partial_fit(x, y, classes=[0, 1])
        low, high = model.interval(new[None], level=0.95, n_draws=600, random_state=len(covered))
        covered.append(low[0, 1] <= softmax(truth)[1] <= high[0, 1])
    assert abs(np.mean(covered) - 0.95) <= slack  # three standard errors, or four


def test_the_class_prior_is_integrated_out_only_where_it_is_fitted():
    x, y = np.zeros((8, 1)), [0, 0, 0, 1, 1, 1, 1, 1]
    fitted = NaiveBayes("bernoulli").fit(x, y)
    given = NaiveBayes("bernoulli", class_prior=[0.4, 0.6]).fit(x, y)
    missing = np.array([[np.nan]])
    low, high = fitted.interval(missing, level=0.9, n_draws=40_000)
    truth = stats.beta(4, 6)  # of the first class: Dirichlet(1 + 3, 1 + 5)
    np.testing.assert_allclose([low[0, 0], high[0, 0]], truth.ppf([0.05, 0.95]), atol=0.01)
    np.testing.assert_allclose(np.array(given.interval(missing))[:, 0], [[0.4, 0.6]] * 2)


@pytest.mark.parametrize("family", ["poisson", "geometric", "exponential", "lognormal", "multinomial"])
def test_intervals_hold_the_prediction_and_shrink_with_data(family):
    rng = np.random.default_rng(5)
    columns = ("a", "b")
    draw = rng.poisson(3.0, (400, 2)) + 1.0
    y = np.arange(400) % 2
    draw[y == 1] *= 2.0
    widths = []
    for n in (10, 400):
        table = {name: draw[:n, j] for j, name in enumerate(columns)}
        model = NaiveBayes({columns: family}).fit(table, y[:n])
        row = {"a": [4.0], "b": [4.0]}
        low, high = model.interval(row)
        assert (low <= model.predict_proba(row) + 0.02).all() and (
            model.predict_proba(row) <= high + 0.02
        ).all()
        widths.append(float((high - low)[0, 0]))
    assert widths[1] < widths[0]


def test_point_estimates_without_a_posterior_have_no_width_beside_the_prior():
    rng = np.random.default_rng(0)
    table = {"x": rng.gamma(2.0, 1.0, 40)}
    model = NaiveBayes("gamma", class_prior="uniform").fit(table, np.arange(40) % 2)
    low, high = model.interval({"x": [1.0, 3.0]})
    np.testing.assert_allclose(low, model.predict_proba({"x": [1.0, 3.0]}), rtol=1e-9)
    np.testing.assert_allclose(high, low, rtol=1e-9)


def test_calibrated_intervals_are_of_the_calibrated_probability():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 1))
    table = {"a": x[:, 0], "b": x[:, 0], "c": rng.normal(size=300)}
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    with pytest.warns(sr.DuplicateColumnsWarning):
        plain = NaiveBayes("gaussian").fit(table, y)
    model = NaiveBayes("gaussian", calibrate="columns").fit(table, y)
    rows = {"a": [1.5], "b": [1.5], "c": [0.0]}
    for fitted in (plain, model):
        low, high = fitted.interval(rows)
        assert (low < fitted.predict_proba(rows)).all() and (fitted.predict_proba(rows) < high).all()
    assert model.predict_proba(rows)[0, 1] < plain.predict_proba(rows)[0, 1]


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95])
def test_a_level_is_between_0_and_1(level):
    model = NaiveBayes("gaussian").fit({"x": [0.0, 1.0, 2.0, 4.0]}, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="level"):
        model.interval({"x": [1.0]}, level=level)


def test_models_without_a_posterior_say_so():
    x, y = np.array([[0.0], [1.0], [2.0], [4.0]]), [0, 0, 1, 1]
    with pytest.raises(ValueError, match="posterior"):
        sr.GaussianNB().fit(x, y).interval(x)
    with pytest.raises(ValueError, match="complement"):
        sr.ComplementNB().fit(x, y).interval(x)
    with pytest.raises(ValueError, match="n_draws"):
        NaiveBayes("gaussian").fit(x, y).interval(x, n_draws=0)


def test_the_same_seed_gives_the_same_interval_whatever_the_rows_beside():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 2)), np.arange(50) % 3
    model = NaiveBayes("gaussian").fit(x, y)
    together, alone = model.interval(x), model.interval(x[7:8])
    np.testing.assert_allclose(np.array(together)[:, 7:8], np.array(alone), rtol=1e-12)


# Kernel densities: the Bayesian bootstrap of the training values.


def kernel_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return {"x": rng.normal(np.where(y, 1.5, 0.0), 1.0).round(3)}, y


def test_intervals_of_kernel_columns_have_a_width_that_shrinks_with_the_rows():
    widths = []
    for n in (20, 200, 2000):
        X, y = kernel_rows(n)
        model = NaiveBayes("kernel", class_prior="uniform").fit(X, y)
        low, high = model.interval({"x": [0.3, 0.9]}, n_draws=400)
        p = model.predict_proba({"x": [0.3, 0.9]})
        assert (low < p).all() and (p < high).all()
        widths.append((high - low)[:, 1].mean())
    assert widths[0] > 1.8 * widths[1] > 3.0 * widths[2] > 0


@pytest.mark.parametrize("settings", [{}, {"lower": -4.0}, {"lower": -9.0, "boundary": "log"}], ids=str)
def test_draws_of_a_kernel_density_are_those_of_dirichlet_shares(settings):
    X, y = kernel_rows(30, 3)
    X["x"] = np.round(X["x"], 1)  # with ties
    model = NaiveBayes(sr.Kernel(bandwidth=0.4, **settings), class_prior="uniform").fit(X, y)
    asked = np.array([-0.4, 0.6, 2.2])
    low, high = model.interval({"x": asked}, level=0.8, n_draws=4000)
    rng = np.random.default_rng(9)

    def kernel(at, x):
        if "boundary" in settings:  # the density of log(x + 9); its Jacobian is the same in both classes
            return stats.norm.pdf(np.log(at[:, None] + 9), np.log(x + 9), 0.4)
        reflected = stats.norm.pdf(-8.0 - at[:, None], x, 0.4) if settings else 0.0
        return stats.norm.pdf(at[:, None], x, 0.4) + reflected

    pooled, draws = kernel(asked, X["x"]).mean(axis=1), []
    for c in (0, 1):
        own = kernel(asked, X["x"][y == c])
        shares = rng.dirichlet(np.ones(own.shape[1] + 1), 4000)
        draws.append(shares[:, :-1] @ own.T + shares[:, -1:] * pooled)
    p = draws[1] / (draws[0] + draws[1])
    np.testing.assert_allclose(low[:, 1], np.quantile(p, 0.1, axis=0), atol=0.015)
    np.testing.assert_allclose(high[:, 1], np.quantile(p, 0.9, axis=0), atol=0.015)


def test_many_values_share_draws_within_a_tenth_of_a_bandwidth(monkeypatch):
    X, y = kernel_rows(900, 1)
    X["x"] = X["x"] + np.random.default_rng(0).uniform(0, 1e-4, 900)
    model = NaiveBayes("kernel", class_prior="uniform").fit(X, y)
    rows = {"x": [-1.0, 0.5, 3.0, 40.0, None]}
    exact = model.interval(rows, n_draws=3000)
    monkeypatch.setattr("sunrise.forms.kernel_draws.MOST_VALUES", 10)
    for a, b in zip(exact, model.interval(rows, n_draws=3000), strict=True):
        np.testing.assert_allclose(a, b, atol=0.012)
    assert np.isfinite(exact).all()
