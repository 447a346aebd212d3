"""The negative binomial family against SciPy, exact moments and brute force."""

import numpy as np
import pandas as pd
import pytest
from plain import NaiveBayes
from scipy import stats

RNG = np.random.default_rng(5)
Y = np.array(list("ab") * 200)
X = pd.DataFrame(
    {"claims": RNG.poisson(RNG.gamma(np.where(Y == "a", 0.6, 3.0)) * 2.0), "n": RNG.poisson(3.0, 400)}
)


def test_parameters_are_the_moments_with_one_row_more():
    model = NaiveBayes("negative_binomial").fit(X, Y)
    x, own = X["claims"].to_numpy(float), X["claims"][Y == "a"].to_numpy(float)
    mean = (own.sum() + x.mean()) / (len(own) + 1)
    square = ((own**2).sum() + (x**2).mean()) / (len(own) + 1)
    size = mean**2 / (square - mean**2 - mean)
    shown = model.parameters_["claims"]
    assert shown["mean"][0] == pytest.approx(mean, rel=1e-12)
    assert shown["size"][0] == pytest.approx(size, rel=1e-9)


def test_scores_are_scipys_log_probabilities():
    model = NaiveBayes("negative_binomial", class_prior="uniform").fit(X[["claims"]], Y)
    counts = np.arange(0.0, 60.0)
    density = model.score_samples({"claims": counts})
    shown = model.parameters_["claims"]
    p = shown["size"] / (shown["size"] + shown["mean"])
    twin = stats.nbinom(shown["size"], p).pmf(counts[:, None]).mean(axis=1)
    np.testing.assert_allclose(np.exp(density), twin, rtol=1e-9)
    assert np.exp(density).sum() == pytest.approx(1.0, abs=1e-6)


def test_counts_without_excess_variance_are_poisson():
    table = {"n": [2, 2, 3, 2, 3, 2, 2, 3]}
    labels = list("aaaabbbb")
    poisson = NaiveBayes("poisson", estimate="mle").fit(table, labels)
    model = NaiveBayes("negative_binomial", estimate="mle").fit(table, labels)
    np.testing.assert_allclose(
        model.predict_log_proba({"n": [0, 2, 9]}), poisson.predict_log_proba({"n": [0, 2, 9]}), rtol=1e-6
    )


def test_samples_have_the_moments():
    model = NaiveBayes("negative_binomial").fit(X, Y)
    rows, _ = model.sample(200_000, y="a", random_state=0)
    shown = model.parameters_["claims"]
    mean, size = shown["mean"][0], shown["size"][0]
    assert rows["claims"].mean() == pytest.approx(mean, rel=0.02)
    assert rows["claims"].var() == pytest.approx(mean + mean**2 / size, rel=0.05)
    assert rows["claims"].dtype.kind == "i"


def test_mutual_information_is_the_sum_over_counts():
    model = NaiveBayes("negative_binomial", class_prior="uniform").fit(X[["claims"]], Y)
    shown, counts = model.parameters_["claims"], np.arange(3000)
    p = np.stack(
        [stats.nbinom(r, r / (r + m)).pmf(counts) for m, r in zip(shown["mean"], shown["size"], strict=True)]
    )
    both = p.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.nansum(0.5 * p * np.log2(np.where(p > 0, p / both, 1.0)))
    assert model.mutual_information()[0] == pytest.approx(bits, rel=1e-9)


def test_fractions_and_negative_numbers_are_refused():
    with pytest.raises(ValueError, match="whole numbers, not fractions: 0.5 in column 'claims', row 1"):
        NaiveBayes("negative_binomial").fit({"claims": [1, 0.5]}, [0, 1])
    with pytest.raises(ValueError, match="Negative values.*column 'claims', row 0"):
        NaiveBayes("negative_binomial").fit({"claims": [-1, 2]}, [0, 1])


def test_em_has_no_likelihood_but_learns():
    labels = [label if k < 60 else None for k, label in enumerate(Y.tolist())]
    model = NaiveBayes("negative_binomial", unlabelled="em").fit(X, labels)
    assert not (model.em_.steps and model.em_.is_likelihood)
    assert model.score(X, Y) > 0.5
