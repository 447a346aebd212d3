"""The Laplace family against SciPy, exact medians and refits without a row."""

import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import stats
from sunrise.families.laplace import median_and_deviation
from sunrise.statistics.empirical import Run

RNG = np.random.default_rng(11)
Y = np.array(list("ab") * 150)
X = {"x": np.round(RNG.laplace(np.where(Y == "a", 0.0, 2.0), np.where(Y == "a", 1.0, 3.0)), 2)}


def lower_median(x):
    return np.sort(x)[(len(x) - 1) // 2]


def test_maximum_likelihood_is_median_and_mean_absolute_deviation():
    model = NaiveBayes("laplace", estimate="mle").fit(X, Y)
    shown = model.parameters_["x"]
    for k, label in enumerate("ab"):
        x = X["x"][label == Y]
        assert shown["median"][k] == lower_median(x)
        assert shown["scale"][k] == pytest.approx(np.abs(x - np.median(x)).mean(), rel=1e-12)


def test_scores_are_scipys_densities():
    model = NaiveBayes("laplace", class_prior="uniform").fit(X, Y)
    grid, shown = np.linspace(-20, 20, 401), model.parameters_["x"]
    twin = stats.laplace(shown["median"], shown["scale"]).pdf(grid[:, None]).mean(axis=1)
    np.testing.assert_allclose(np.exp(model.score_samples({"x": grid})), twin, rtol=1e-9)


def test_removing_a_cell_is_a_median_of_the_others():
    for _ in range(200):
        x = np.round(RNG.normal(size=RNG.integers(2, 12)), 1)
        w = RNG.integers(1, 4, len(x)).astype(float)
        run = Run.of(x, w)
        median, deviation, n = median_and_deviation(
            run, np.stack([x, x], axis=1), np.stack([w, 0.0 * w], axis=1)
        )
        for i in range(len(x)):
            rest = np.repeat(np.delete(x, i), np.delete(w, i).astype(int))
            assert median[i] == lower_median(rest)
            assert deviation[i] == pytest.approx(np.abs(rest - median[i]).sum(), abs=1e-9)
            assert n[i] == len(rest)


def test_weights_are_repetitions():
    w = RNG.integers(1, 4, len(Y))
    weighted = NaiveBayes("laplace").fit(X, Y, sample_weight=w)
    repeated = NaiveBayes("laplace").fit({"x": np.repeat(X["x"], w)}, np.repeat(Y, w))
    np.testing.assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-10)


def test_units_and_shifts_change_nothing():
    model = NaiveBayes("laplace").fit(X, Y)
    moved = NaiveBayes("laplace").fit({"x": 1e6 + 1e3 * X["x"]}, Y)
    np.testing.assert_allclose(
        moved.predict_log_proba({"x": 1e6 + 1e3 * X["x"]}), model.predict_log_proba(X), rtol=1e-6, atol=1e-9
    )


def test_mutual_information_is_the_integral():
    model = NaiveBayes("laplace", class_prior="uniform").fit(X, Y)
    shown, grid = model.parameters_["x"], np.linspace(-80, 80, 1_600_001)
    p = np.stack(
        [stats.laplace(m, b).pdf(grid) for m, b in zip(shown["median"], shown["scale"], strict=True)]
    )
    both = p.mean(axis=0)
    bits = np.trapezoid(np.where(p > 0, 0.5 * p * np.log2(np.where(p > 0, p / both, 1.0)), 0.0), grid).sum()
    assert model.mutual_information()[0] == pytest.approx(bits, rel=1e-4)


def test_one_value_has_no_maximum_of_the_likelihood():
    with pytest.raises(ValueError, match="fewer than two different values in one class"):
        NaiveBayes("laplace", estimate="mle").fit({"x": [1.0, 1.0, 2.0, 3.0]}, list("aabb"))


def test_priors_can_be_passed_back_and_bad_ones_are_refused():
    model = NaiveBayes("laplace").fit(X, Y)
    again = NaiveBayes({"x": sr.Laplace(prior=model.prior_["x"])}).fit(X, Y)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="a median and a scale"):
        sr.Laplace(prior=3.0)


def test_it_is_drawn_sampled_and_learns_without_labels():
    model = NaiveBayes("laplace").fit(X, Y)
    rows, _ = model.sample(50_000, y="b", random_state=0)
    shown = model.parameters_["x"]
    assert np.median(rows["x"]) == pytest.approx(shown["median"][1], abs=0.1)
    panel = sr.plots.DensityDisplay.from_estimator(model, X, Y).panels[0]
    assert panel.is_curve and panel.family == "laplace"
    labels = [label if k < 60 else None for k, label in enumerate(Y.tolist())]
    assert NaiveBayes("laplace", unlabelled="em").fit(X, labels).score(X, Y) > 0.6
