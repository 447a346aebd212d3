"""Models from given parameters: they predict as given, and learn on if they stand for rows."""

from __future__ import annotations

import numpy as np
import pytest
from sunrise import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

THETA = [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
MAKE = {
    "gaussian": lambda **k: GaussianNB.from_parameters(
        [[1.0, 2.0], [3.0, 5.0]], [[1.0, 4.0], [2.0, 0.5]], **k
    ),
    "bernoulli": lambda **k: BernoulliNB.from_parameters([[0.1, 0.9], [0.5, 0.25]], **k),
    "multinomial": lambda **k: MultinomialNB.from_parameters(THETA, **k),
    "complement": lambda **k: ComplementNB.from_parameters(THETA, **k),
    "categorical": lambda **k: CategoricalNB.from_parameters([THETA, [[1.0, 0.0], [0.5, 0.5]]], **k),
}
every = pytest.mark.parametrize("kind", MAKE)


def row(model):
    return np.ones((1, model.n_features_in_))


@every
def test_the_order_of_the_classes_is_the_callers(kind):
    a = MAKE[kind](classes=["no", "yes"], class_prior=[0.3, 0.7])
    swapped = MAKE[kind](classes=["yes", "no"], class_prior=[0.3, 0.7])
    assert a.classes_.tolist() == swapped.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(a.predict_proba(row(a))[0], swapped.predict_proba(row(a))[0][::-1])
    by_label = MAKE[kind](classes=["no", "yes"], class_prior={"yes": 0.7, "no": 0.3})
    np.testing.assert_array_equal(a.predict_proba(row(a)), by_label.predict_proba(row(a)))


@every
def test_it_needs_rows_to_be_updated(kind):
    fixed = MAKE[kind](classes=[0, 1])
    for call in (fixed.partial_fit, fixed.forget):
        with pytest.raises(ValueError, match=r"from_parameters\(\.\.\., rows=\)"):
            call(row(fixed), [0])
    with pytest.raises(ValueError, match="rows="):
        MAKE[kind](classes=[0, 1], rows=10).merge(fixed)
    assert fixed.fit(row(fixed), [0]).partial_fit(row(fixed), [1]).class_count_.tolist() == [1, 1]
    model = MAKE[kind](classes=[0, 1], rows=10)
    assert model.class_count_.tolist() == [5, 5]
    model.partial_fit(row(model), [0])
    assert model.class_count_.tolist() == [6, 5]


def test_rows_weigh_the_given_parameters_against_new_data():
    model = BernoulliNB.from_parameters([[0.25]], classes=["a"], rows=4).partial_fit([[1], [1]], ["a", "a"])
    assert np.exp(model.feature_log_prob_[0, 0]) == pytest.approx((1 + 2) / (4 + 2), rel=1e-14)
    model = GaussianNB.from_parameters([[0.0]], [[1.0]], classes=["a"], rows=2).partial_fit(
        [[1.0], [-1.0]], ["a", "a"]
    )
    assert (model.theta_[0, 0], model.var_[0, 0]) == (0.0, 1.0)


def test_given_numbers_are_kept_to_the_digit():
    rng = np.random.default_rng(0)
    mean, var, theta = rng.normal(size=(3, 4)), rng.random((3, 4)), rng.random((3, 4))
    gaussian = GaussianNB.from_parameters(mean, var, classes=[0, 1, 2])
    np.testing.assert_array_equal(gaussian.theta_, mean)
    np.testing.assert_array_equal(gaussian.var_, var)
    bernoulli = BernoulliNB.from_parameters(theta, classes=[0, 1, 2])
    np.testing.assert_array_equal(bernoulli.feature_log_prob_, np.log(theta))


def test_complement_of_given_shares():
    model = ComplementNB.from_parameters(THETA, classes=[0, 1], class_prior=[0.5, 0.5])
    # With two classes, the complement of one is the other.
    np.testing.assert_allclose(np.exp(-model.feature_log_prob_), THETA[::-1], rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BernoulliNB.from_parameters([[0.5], [1.5]], classes=[0, 1]), r"feature_prob\[1, 0\] is 1.5"),
        (lambda: BernoulliNB.from_parameters([[0.5]], classes=[0, 1]), "one row for each of the 2 classes"),
        (lambda: MultinomialNB.from_parameters([[0.5, 0.4]], classes=["x"]), "must sum to 1 in every class"),
        (lambda: GaussianNB.from_parameters([[0.0]], [[-1.0]], classes=[0]), r"var\[0, 0\] is -1"),
        (lambda: GaussianNB.from_parameters([[np.nan]], [[1.0]], classes=[0]), r"theta\[0, 0\] is nan"),
        (lambda: BernoulliNB.from_parameters([[0.5]] * 2, classes=[1, 1]), "without repeated labels"),
        (lambda: BernoulliNB.from_parameters([[0.5]], classes=[0], class_prior=[0.9]), "sum to 1"),
        (lambda: BernoulliNB.from_parameters([[0.5]], classes=[0], rows=0), "rows must be positive"),
        (
            lambda: BernoulliNB.from_parameters([[0.5]], classes=[0], feature_names=["a", "b"]),
            "one name for each of the 1 columns",
        ),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
