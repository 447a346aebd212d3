"""A missing cell is its factor left out: against sums over the levels, integrals, and shares by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, sparse
from sunrise import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, engines
from sunrise.data.blocks import Batch, DenseBlock, SparseBlock
from sunrise.engines import array, native
from sunrise.forms.linear import Composition, Linear
from sunrise.forms.polya import Polya
from sunrise.statistics.support import COUNTS


@pytest.fixture(params=list(engines.ENGINES), autouse=True)
def engine(request):
    with engines.using(request.param):
        yield


rng = np.random.default_rng(3)
Y = np.arange(60) % 3


def test_bernoulli_sums_over_both_answers():
    X = rng.integers(0, 2, (60, 4)).astype(float)
    model = BernoulliNB().fit(X, Y)
    hidden, zero, one = (X.copy() for _ in range(3))
    hidden[:, 2], zero[:, 2], one[:, 2] = np.nan, 0, 1
    joint = [np.exp(model.predict_joint_log_proba(Z)) for Z in (hidden, zero, one)]
    np.testing.assert_allclose(joint[0], joint[1] + joint[2], rtol=1e-13)
    np.testing.assert_allclose(
        np.exp(model.predict_joint_log_proba(sparse.csr_array(hidden))), joint[0], rtol=1e-13
    )


def test_categorical_sums_over_the_levels():
    X = rng.integers(0, 5, (60, 3)).astype(float)
    for settings in ({}, {"min_categories": 7}):
        model = CategoricalNB(**settings).fit(X, Y)
        hidden = X.copy()
        hidden[:, 1] = np.nan
        total = 0.0
        for level in range(model.n_categories_[1]):
            filled = X.copy()
            filled[:, 1] = level
            total = total + np.exp(model.predict_joint_log_proba(filled))
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(hidden)), total, rtol=1e-13)


@pytest.mark.parametrize("settings", [{}, {"laplace": True}, {"shared_variance": True}])
def test_gaussian_integrates_over_the_cell(settings):
    X = rng.normal(size=(60, 2)) + Y[:, None]
    model = GaussianNB(**settings).fit(X, Y)
    hidden = np.array([[0.7, np.nan]])
    joint = np.exp(model.predict_joint_log_proba(hidden))[0]
    for c in range(3):
        value, _ = integrate.quad(
            lambda v, c=c: np.exp(model.predict_joint_log_proba([[0.7, v]])[0, c]),
            -40,
            40,
            points=[0, 1, 2],
            epsabs=1e-13,
        )
        assert value == pytest.approx(joint[c], rel=1e-9)


def test_multinomial_rows_are_scored_by_the_shares_of_what_is_there():
    theta = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    model = MultinomialNB.from_parameters(theta, classes=[0, 1], class_prior=[0.4, 0.6])
    # Given the total of the observed columns, their counts are multinomial with renormalised shares.
    for x, observed in (([2, np.nan, 1], [0, 2]), ([np.nan, np.nan, 4], [2]), ([np.nan, 0, 0], [1, 2])):
        share = theta[:, observed] / theta[:, observed].sum(axis=1, keepdims=True)
        expected = np.log([0.4, 0.6]) + (np.array(x)[observed] * np.log(share)).sum(axis=1)
        np.testing.assert_allclose(model.predict_joint_log_proba([x])[0], expected, rtol=1e-13, atol=1e-13)
        thin = sparse.csr_array(np.array([x]))
        np.testing.assert_allclose(model.predict_joint_log_proba(thin)[0], expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("norm", [False, True])
def test_complement_rows_with_missing_counts_are_those_of_the_model_without_the_column(norm):
    X = rng.poisson(2.0, (60, 4)).astype(float)
    model, fewer = (
        ComplementNB(alpha=0, norm=norm).fit(X, Y),
        ComplementNB(alpha=0, norm=norm).fit(X[:, [0, 2, 3]], Y),
    )
    hidden = X.copy()
    hidden[:, 1] = np.nan
    np.testing.assert_allclose(
        model.predict_joint_log_proba(hidden), fewer.predict_joint_log_proba(X[:, [0, 2, 3]]), rtol=1e-12
    )


def test_multinomial_fits_rates_not_plain_sums():
    # Half of column 0 is missing; plain sums would turn (.5, .3, .2) into (.333, .4, .267).
    X = np.tile([5.0, 3.0, 2.0], (1000, 1))
    X[::2, 0] = np.nan
    theta = np.exp(MultinomialNB(alpha=0).fit(X, np.zeros(1000)).feature_log_prob_[0])
    np.testing.assert_allclose(theta, [0.5, 0.3, 0.2], rtol=1e-14)
    complement = ComplementNB(alpha=0).fit(np.vstack([X, [[1.0, 1.0, 1.0]]]), np.r_[np.zeros(1000), 1])
    np.testing.assert_allclose(np.exp(-complement.feature_log_prob_[1]), [0.5, 0.3, 0.2], rtol=1e-14)


@pytest.mark.parametrize("cls", [GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB])
def test_a_row_of_nothing_gets_the_prior(cls):
    X = rng.integers(0, 3, (60, 3)).astype(float)
    model = cls().fit(X, np.r_[np.zeros(45), np.ones(15)])
    np.testing.assert_allclose(model.predict_proba(np.full((2, 3), np.nan)), [[0.75, 0.25]] * 2, rtol=1e-14)


def test_counts_a_class_never_saw_favour_no_class():
    X = np.array([[5, 5, np.nan]] * 10 + [[5, 5, 5]] * 10)
    y = np.repeat(["a", "b"], 10)
    for cls in (MultinomialNB, ComplementNB):
        np.testing.assert_allclose(cls().fit(X, y).predict_proba([[5, 5, 5], [1, 0, 9]]), 0.5, rtol=1e-12)


def test_a_class_that_never_saw_a_column_is_neither_favoured_nor_forbidden():
    X = np.array([[1.0, 5.0], [2.0, 6.0], [4.0, np.nan], [5.0, np.nan]])
    model = GaussianNB().fit(X, [0, 0, 1, 1])
    assert model.theta_[1, 1] == 5.5
    assert model.var_[1, 1] == pytest.approx(0.25, rel=1e-6)
    assert np.isfinite(model.predict_joint_log_proba([[3.0, 5.5]])).all()


def thin(x):
    cells = sparse.csr_array(x)
    return SparseBlock(cells.data, cells.indices, cells.indptr, cells.shape)


@pytest.mark.parametrize("layout", [DenseBlock, thin])
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.7])
def test_native_scores_of_rows_with_missing_counts_are_those_of_the_array_engine(layout, normed, share):
    counts = rng.poisson(1.0, (203, 37)).astype(float)
    theta = rng.dirichlet(np.full(37, 0.3), 3)
    theta[:, 5] = [0.0, 1e9, 1e-320]  # in one class, the other columns share almost nothing
    with np.errstate(divide="ignore"):
        log_theta = np.log(theta / theta.sum(axis=1, keepdims=True))
    weight = np.where(np.isfinite(log_theta), log_theta, 0.0)
    x = weight / weight.sum(axis=1, keepdims=True) if normed else -weight
    linear = Linear(x=0.5 * x, composition=Composition(log_theta, -1.0, normed, 0.5))
    urn = Polya(rng.gamma(0.5, 1.0, (3, 37)), rng.random(37) > 0.2)
    hidden = np.where(rng.random(counts.shape) < share, np.nan, counts)
    hidden[::7] = counts[::7]
    batch, prior = Batch(len(hidden), (layout(hidden),)), np.log([0.2, 0.3, 0.5])
    for form in (linear, urn):
        expected, found = (
            engine.score(batch, (COUNTS,), (form,), prior, prior, "joint", 1)[0] for engine in (array, native)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("columns", [1, 3, 8, 21])
def test_a_row_scores_the_same_bits_alone_and_among_complete_and_incomplete_rows(columns):
    X = rng.normal(size=(60, columns))
    X[rng.random(X.shape) < 0.05] = np.nan
    model = GaussianNB().fit(X, Y)
    alone = np.concatenate([model.predict_joint_log_proba(row[None]) for row in X])
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), alone)
