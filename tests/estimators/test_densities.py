"""The density of a row: it sums or integrates to 1 and equals the mixture of its classes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import integrate, special, stats
from sunrise import BernoulliNB, GaussianNB, MultinomialNB

RNG = np.random.default_rng(11)


def test_the_density_of_a_discrete_table_sums_to_one():
    table = {"k": ["a", "b", "a", "c"] * 3, "b": [True, False, True, True] * 3, "j": [1, 2, 3, 3] * 3}
    model = NaiveBayes("auto-fast", unseen="reserve").fit(table, ["u", "v", "u"] * 4)
    cells = list(product(["a", "b", "c", "never seen"], [True, False], ["1", "2", "3", "never"]))
    rows = {name: [cell[k] for cell in cells] for k, name in enumerate(table)}
    assert np.exp(model.score_samples(rows)).sum() == pytest.approx(1.0, abs=1e-12)


def test_the_density_of_numbers_is_the_mixture_of_their_classes():
    X, y = RNG.normal(size=(50, 2)) + 3, RNG.integers(0, 2, 50)
    model = GaussianNB().fit(X, y)
    by_class = [
        np.log(p) + stats.norm(m, np.sqrt(v)).logpdf(X).sum(axis=1)
        for p, m, v in zip(model.class_prior_, model.theta_, model.var_, strict=True)
    ]
    np.testing.assert_allclose(model.score_samples(X), special.logsumexp(by_class, axis=0), rtol=1e-12)
    X[:, 0] = np.nan  # integrated out
    alone = integrate.quad(lambda v: np.exp(model.score_samples([[v, X[0, 1]]])[0]), -20, 30, epsabs=1e-12)[0]
    assert model.score_samples(X[:1])[0] == pytest.approx(np.log(alone), abs=1e-9)
    far = model.score_samples([[1e3, 1e3]])[0]
    assert np.isfinite(far) and far < -1e4


def test_counts_have_their_coefficients():
    model = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], [0, 0])
    theta = np.exp(model.feature_log_prob_[0])
    expected = stats.multinomial(4, theta).logpmf([1, 2, 1])
    assert model.score_samples([[1, 2, 1]])[0] == pytest.approx(expected)
    poisson = sr.PoissonNB().fit([[3], [5]], [0, 0])
    assert poisson.score_samples([[4]])[0] == pytest.approx(stats.poisson(9 / 3).logpmf(4))
    assert not hasattr(sr.ComplementNB(), "score_samples")  # weights are no density
    mixed = NaiveBayes({("a", "b"): "complement"}).fit({"a": [1, 0], "b": [0, 1]}, [0, 1])
    with pytest.raises(ValueError, match="complement is not a distribution"):
        mixed.score_samples({"a": [1], "b": [1]})


def test_a_row_that_is_impossible_has_no_density():
    model = BernoulliNB(alpha=0).fit([[1], [1]], [0, 1])
    assert model.score_samples([[0], [1]]).tolist() == [-np.inf, 0.0]


def test_an_empty_row_has_density_one(model, heart):
    nothing = dict.fromkeys(heart.columns[1:])
    assert model.score_samples(nothing)[0] == pytest.approx(0.0, abs=1e-12)


def test_columns_that_say_nothing_are_no_part_of_the_density():
    X = np.array([[1.0, 2.0, np.nan], [2.0, 1.0, np.nan]])
    seen = MultinomialNB().fit(X, [0, 0])
    expected = stats.multinomial(2, [0.5, 0.5]).logpmf([1, 1])
    assert seen.score_samples([[1.0, 1.0, 5.0]])[0] == pytest.approx(expected)
    for family in ("gamma", "lognormal", "poisson", "beta"):
        model = NaiveBayes({"x": "gaussian", "y": family}).fit(
            {"x": [0.0, 1.0, 2.0], "y": [None] * 3}, [0, 0, 0]
        )
        other = 0.5 if family == "beta" else 3.0
        both, alone = (model.score_samples({"x": [0.5], "y": [cell]})[0] for cell in (other, None))
        assert both == alone
