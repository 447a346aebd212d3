"""The zero-inflated Poisson family against SciPy and a numerical maximum of the likelihood."""

import numpy as np
import pytest
from plain import NaiveBayes
from scipy import optimize, stats
from sunrise.families.zero_inflated_poisson import rate_of

RNG = np.random.default_rng(7)
Y = np.array(list("ab") * 300)
X = {"visits": RNG.poisson(np.where(Y == "a", 2.0, 4.0)) * (RNG.random(600) < np.where(Y == "a", 0.3, 0.9))}


def log_likelihood(x, rate, zeros):
    p = (1.0 - zeros) * stats.poisson(rate).pmf(x) + zeros * (x == 0)
    return np.log(p).sum()


def test_rates_solve_their_equation():
    mean = np.array([1.0001, 1.5, 2.0, 5.0, 300.0])
    rate = rate_of(mean)
    np.testing.assert_allclose(rate / -np.expm1(-rate), mean, rtol=1e-10)


def test_maximum_likelihood_is_that_of_a_general_optimiser():
    model = NaiveBayes("zero_inflated_poisson", estimate="mle").fit(X, Y)
    shown = model.parameters_["visits"]
    for k, label in enumerate("ab"):
        x = np.asarray(X["visits"])[label == Y]
        best = optimize.minimize(
            lambda v, x=x: -log_likelihood(x, np.exp(v[0]), 1 / (1 + np.exp(-v[1]))),
            [0.0, 0.0],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000},
        )
        assert log_likelihood(x, shown["rate"][k], shown["zeros"][k]) >= -best.fun - 1e-8
        assert shown["rate"][k] == pytest.approx(np.exp(best.x[0]), rel=1e-5)


def test_scores_are_the_probabilities_of_the_mixture():
    model = NaiveBayes("zero_inflated_poisson", class_prior="uniform").fit(X, Y)
    counts, shown = np.arange(60.0), model.parameters_["visits"]
    p = (1 - shown["zeros"]) * stats.poisson(shown["rate"]).pmf(counts[:, None]) + shown["zeros"] * (
        counts == 0
    )[:, None]
    np.testing.assert_allclose(np.exp(model.score_samples({"visits": counts})), p.mean(axis=1), rtol=1e-9)
    assert p.mean(axis=1).sum() == pytest.approx(1.0, abs=1e-9)


def test_few_zeros_are_a_plain_poisson():
    table, labels = {"n": [3, 4, 2, 5, 9, 8, 7, 9]}, list("aaaabbbb")
    model = NaiveBayes("zero_inflated_poisson", estimate="mle").fit(table, labels)
    poisson = NaiveBayes("poisson", estimate="mle").fit(table, labels)
    np.testing.assert_allclose(model.predict_log_proba(table), poisson.predict_log_proba(table), rtol=1e-9)


def test_it_is_linear_in_counts_and_zeros():
    model = NaiveBayes("zero_inflated_poisson").fit(X, Y)
    line = model.to_linear()
    assert line.coef.shape == (2, 2)
    np.testing.assert_allclose(line.decision(X), model.predict_joint_log_proba(X), rtol=1e-9)


def test_explanations_add_up_and_missing_cells_add_nothing():
    model = NaiveBayes("zero_inflated_poisson").fit(X, Y)
    rows = {"visits": [0, 3, None]}
    explained = model.explain(rows)
    np.testing.assert_allclose(explained.score, model.predict_joint_log_proba(rows), rtol=1e-12)
    assert not explained.contributions[2].any()


def test_samples_have_their_zeros():
    model = NaiveBayes("zero_inflated_poisson").fit(X, Y)
    rows, _ = model.sample(100_000, y="a", random_state=0)
    shown = model.parameters_["visits"]
    zeros = shown["zeros"][0] + (1 - shown["zeros"][0]) * np.exp(-shown["rate"][0])
    assert np.mean(np.asarray(rows["visits"]) == 0) == pytest.approx(zeros, abs=0.01)
