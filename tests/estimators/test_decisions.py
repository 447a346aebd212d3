"""Decisions of least expected cost, ties, and models with another class prior."""

from __future__ import annotations

import numpy as np
import pytest
from plain import NaiveBayes
from sunrise import CategoricalNB, GaussianNB

RNG = np.random.default_rng(11)


def test_decisions_have_the_least_expected_cost(model, heart):
    p = model.predict_proba(heart)
    cost = np.array([[0.0, 1.0], [7.0, 0.5]])
    by_hand = [min(range(2), key=lambda d: sum(row[c] * cost[c, d] for c in range(2))) for row in p]
    assert model.decide(heart, cost).tolist() == model.classes_[by_hand].tolist()
    named = model.decide(heart, {("yes", "no"): 7.0, ("yes", "yes"): 0.5})
    assert named.tolist() == model.decide(heart, cost).tolist()
    assert model.decide(heart).tolist() == model.predict(heart).tolist()
    cautious = model.decide(heart, abstain=0.2)
    assert [c is None for c in cautious] == (p.max(axis=1) < 0.8).tolist()
    for wrong in ([[0, 1]], {("yes", "maybe"): 1.0}, [[0, np.inf], [1, 0]]):
        with pytest.raises(ValueError, match="cost"):
            model.decide(heart, wrong)


def test_another_prior_shifts_the_odds_and_leaves_the_model_alone(model, heart):
    before = model.predict_proba(heart)
    shifted = model.with_class_prior({"no": 0.9, "yes": 0.1})
    odds = before / model.class_prior_ * [0.9, 0.1]
    np.testing.assert_allclose(
        shifted.predict_proba(heart), odds / odds.sum(axis=1, keepdims=True), rtol=1e-9
    )
    np.testing.assert_array_equal(model.predict_proba(heart), before)
    assert model.with_class_prior("uniform").class_prior_.tolist() == [0.5, 0.5]


def test_another_prior_stays():
    X, y = RNG.normal(size=(40, 3)), np.arange(40) % 2
    for cls in (GaussianNB, NaiveBayes):
        shifted = cls().fit(X, y).with_class_prior([0.9, 0.1])
        assert shifted.select(2).class_prior_.tolist() == [0.9, 0.1]
        assert shifted.partial_fit(X, y).class_prior_.tolist() == [0.9, 0.1]
    model = GaussianNB().fit(X, y)
    model.class_prior_ = [0.7, 0.3]
    assert model.select(1).class_prior_.tolist() == [0.7, 0.3]


def test_ties_go_to_the_first_class():
    tied = CategoricalNB().fit([[0]] * 10, np.repeat(np.arange(5), 2))
    X = np.zeros((50, 1))
    assert tied.decide(X).tolist() == tied.predict(X).tolist() == [0] * 50
    assert tied.decide(X, cost=1.0 - np.eye(5)).tolist() == [0] * 50
