"""Every difference from scikit-learn that docs/differences.md lists: what it does, and what Sunrise does."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes as peer
from sklearn.datasets import load_breast_cancer
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    ImpossibleRowWarning,
    MultinomialNB,
    engines,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"


def test_every_difference_of_the_page_has_a_test_here_and_the_other_way_round():
    listed = {line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("Test: `")}
    here = {name for name in globals() if name.startswith("test_") and "every_difference" not in name}
    assert listed == here


def test_gaussian_partial_fit_equals_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * [1, 10, 100], np.arange(40) % 2
    parts = [slice(0, 10), slice(10, 40)]

    def streamed(cls):
        model = cls(var_smoothing=0.01)
        for part in parts:
            model.partial_fit(X[part], y[part], classes=[0, 1])
        return model

    assert not np.allclose(streamed(peer.GaussianNB).var_, peer.GaussianNB(var_smoothing=0.01).fit(X, y).var_)
    np.testing.assert_allclose(
        streamed(GaussianNB).var_, GaussianNB(var_smoothing=0.01).fit(X, y).var_, rtol=1e-13
    )
    np.testing.assert_allclose(
        GaussianNB(var_smoothing=0.01).fit(X, y).var_, peer.GaussianNB(var_smoothing=0.01).fit(X, y).var_
    )


def test_an_outlier_in_a_later_batch_leaves_other_classes_alone():
    X, y = np.array([[0.0], [1.0], [0.5], [1.5]]), np.array([0, 0, 1, 1])

    def streamed(cls):
        return cls().partial_fit(X, y, classes=[0, 1]).partial_fit([[1e14], [2.0]], [1, 1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (
            not streamed(peer.GaussianNB).var_.min() > 0
            or np.isnan(streamed(peer.GaussianNB).predict_proba(X)).any()
        )
    model = streamed(GaussianNB)
    assert (model.var_ > 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_row_of_weight_zero_does_not_move_the_variance_floor():
    X, y, w = (
        np.array([[0.0], [1.0], [4.0], [5.0], [1e8]]),
        np.array([0, 0, 1, 1, 1]),
        np.array([1, 1, 1, 1, 0]),
    )
    assert peer.GaussianNB().fit(X, y, sample_weight=w).epsilon_ > 1e6
    assert GaussianNB().fit(X, y, sample_weight=w).epsilon_ == GaussianNB().fit(X[:4], y[:4]).epsilon_


def test_a_weight_is_a_number_of_rows_in_the_variance_floor_too():
    X, y = load_breast_cancer(return_X_y=True)
    w = np.random.default_rng(0).exponential(size=len(y))
    times = np.ceil(3.0 * w).astype(int)
    truth = peer.GaussianNB().fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict_proba(X)
    np.testing.assert_allclose(GaussianNB().fit(X, y, times).predict_proba(X), truth, atol=1e-10)
    assert np.abs(peer.GaussianNB().fit(X, y, times).predict_proba(X) - truth).max() > 1e-3
    ours, theirs = GaussianNB().fit(X, y, w), peer.GaussianNB().fit(X, y, w)
    assert 0.01 < np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 0.1
    floors = ours.epsilon_ - theirs.epsilon_
    np.testing.assert_allclose(ours.var_ - theirs.var_, floors, rtol=1e-6, atol=1e-15 * ours.var_.max())
    assert abs(floors) < 1e-9 * ours.var_.max()
    same = peer.GaussianNB(var_smoothing=1e-9 * ours.epsilon_ / theirs.epsilon_).fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X), same.predict_proba(X), atol=1e-12)


def test_float32_sums_are_float64():
    X = np.full((400_000, 2), 100.1, dtype=np.float32)
    X[::2] += np.float32(0.01)
    y = np.zeros(len(X), dtype=int)
    truth = X[:, 0].astype(np.float64).var()
    assert abs(peer.GaussianNB(var_smoothing=0).fit(X, y).var_[0, 0] / truth - 1) > 1e-3
    assert GaussianNB(var_smoothing=0).fit(X, y).var_[0, 0] == pytest.approx(truth, rel=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
def test_alpha_zero_works_on_dense_rows():
    X, y = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]), [0, 1]
    for name, ours in (("MultinomialNB", MultinomialNB), ("BernoulliNB", BernoulliNB)):
        theirs = getattr(peer, name)(alpha=0).fit(X, y)
        assert np.isnan(theirs.predict_proba(X)).any()
        model = ours(alpha=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), np.eye(2))
        np.testing.assert_array_equal(model.predict_proba(sparse.csr_array(X)), model.predict_proba(X))


def test_a_row_impossible_under_every_class_gets_the_prior_and_one_warning():
    model = MultinomialNB(alpha=0).fit([[1, 0, 0], [0, 1, 0], [0, 1, 0]], [0, 1, 1])
    with pytest.warns(ImpossibleRowWarning, match="2 of 3 rows") as caught:
        proba = model.predict_proba([[1, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert len(caught) == 1
    np.testing.assert_allclose(proba, [[1 / 3, 2 / 3], [1 / 3, 2 / 3], [1, 0]], rtol=1e-15)
    with pytest.warns(ImpossibleRowWarning):
        assert model.predict([[1, 1, 0]]).tolist() == [1]


def test_an_unseen_code_is_left_out():
    X, y = [[0, 1], [1, 0], [2, 1]], [0, 0, 1]
    with pytest.raises(IndexError):
        peer.CategoricalNB().fit(X, y).predict([[0, 7]])
    model = CategoricalNB().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba([[0, 7]]), model.predict_proba([[0, np.nan]]))
    reserved = CategoricalNB(unseen="reserve").fit(X, y)
    # Three cells, two seen levels and a new one: 1 / (3 + 3), in both classes.
    joint = reserved.predict_joint_log_proba([[np.nan, 7]])[0]
    np.testing.assert_allclose(np.exp(joint), [2 / 3 / 6, 1 / 3 / 6], rtol=1e-15)
    for engine in engines.ENGINES:
        refusing = CategoricalNB(unseen="error").fit(X, y)
        with (
            engines.using(engine),
            pytest.raises(ValueError, match="level 7 in column 1, row 1 did not occur"),
        ):
            refusing.predict([[0, 0], [0, 7]])
    with pytest.raises(ValueError, match="level 7 in column 1, row 0 did not occur"):
        refusing.explain([[0, 7]])
    assert CategoricalNB(unseen="error", min_categories=8).fit(X, y).predict([[0, 7]]).shape == (1,)


def test_fractions_are_no_codes():
    X, y = [[0.2], [1.9], [1.1]], [0, 1, 1]
    assert peer.CategoricalNB().fit(X, y).n_categories_.tolist() == [2]
    with pytest.raises(ValueError, match=r"takes level codes, not fractions: 0\.2 in column 0, row 0"):
        CategoricalNB().fit(X, y)
    model = CategoricalNB().fit([[0], [1], [1]], y)
    with pytest.raises(ValueError, match="takes level codes, not fractions"):
        model.predict([[0.5]])


def test_one_huge_code_takes_one_cell():
    model = CategoricalNB().fit([[0], [1_000_000_000], [3]], [0, 1, 1])
    assert model.n_categories_.tolist() == [1_000_000_001]
    # K counts all possible codes: (1 + 1) / (2 + K) against (0 + 1) / (1 + K).
    k = 1_000_000_001
    joint = np.exp(model.predict_joint_log_proba([[1_000_000_000], [7]]))
    np.testing.assert_allclose(joint[0], [1 / 3 / (1 + k), 2 / 3 * 2 / (2 + k)], rtol=1e-12)
    np.testing.assert_allclose(joint[1], [1 / 3 / (1 + k), 2 / 3 / (2 + k)], rtol=1e-12)
    with pytest.raises(ValueError, match="column 0 has codes up to 1000000000"):
        _ = model.feature_log_prob_


def test_categories_of_all_batches_count():
    theirs, ours = (cls() for cls in (peer.CategoricalNB, CategoricalNB))
    for model in (theirs, ours):
        model.partial_fit([[5], [0]], [0, 1], classes=[0, 1]).partial_fit([[1]], [0])
    assert theirs.n_categories_.tolist() == [2]
    assert ours.n_categories_.tolist() == [6]
    np.testing.assert_allclose(ours.feature_log_prob_[0], theirs.feature_log_prob_[0])


def test_log_of_one_minus_theta_keeps_its_digits():
    X, y, w = [[1.0], [0.0]], [0, 1], [1e12, 1.0]
    theirs, ours = (cls().fit(X, y, sample_weight=w) for cls in (peer.BernoulliNB, BernoulliNB))
    truth = -np.log(1e12 + 2)
    prior = np.log(1e12) - np.log(1e12 + 1)
    assert abs(theirs.predict_joint_log_proba([[0]])[0, 0] - prior - truth) > 1e-4
    assert ours.predict_joint_log_proba([[0]])[0, 0] - prior == pytest.approx(truth, rel=1e-14)


def test_a_sure_winners_log_probability_is_not_rounded_to_zero():
    X, y = [[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]
    theirs, ours = (cls().fit(X, y) for cls in (peer.GaussianNB, GaussianNB))
    assert theirs.predict_log_proba([[-10]])[0, 0] == 0.0
    log_proba = ours.predict_log_proba([[-10]])[0]
    assert log_proba[0] == pytest.approx(-np.exp(log_proba[1]), rel=1e-12)
    assert log_proba[0] < 0


def test_missing_cells_are_left_out():
    X = np.array([[1.0, np.nan], [2.0, 1.0], [0.0, 1.0]])
    for name, cls in (
        ("GaussianNB", GaussianNB),
        ("BernoulliNB", BernoulliNB),
        ("MultinomialNB", MultinomialNB),
        ("ComplementNB", ComplementNB),
        ("CategoricalNB", CategoricalNB),
    ):
        with pytest.raises(ValueError, match="NaN"):
            getattr(peer, name)().fit(X, [0, 0, 1])
        assert np.isfinite(cls().fit(X, [0, 0, 1]).predict_proba(X)).all()


def test_classes_may_appear_unannounced():
    with pytest.raises(ValueError, match="classes must be passed"):
        peer.GaussianNB().partial_fit([[0.0]], [0])
    model = GaussianNB().partial_fit([[0.0], [1.0]], ["b", "b"]).partial_fit([[5.0]], ["a"])
    assert model.classes_.tolist() == ["a", "b"]
    promised = GaussianNB().partial_fit([[0.0]], [0], classes=[0, 1])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        promised.partial_fit([[0.0]], [2])


def test_a_failed_fit_changes_nothing():
    theirs, ours = (cls().fit([[0.0], [1.0]], [0, 1]) for cls in (peer.GaussianNB, GaussianNB))
    for model in (theirs, ours):
        model.set_params(priors=[0.5, 0.6])
        with pytest.raises(ValueError, match="sum of the priors"):
            model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert theirs.theta_.tolist() == [[0.0], [0.0]]  # half-written
    assert ours.theta_.tolist() == [[0.0], [1.0]]


def test_an_announced_class_without_rows_has_the_columns_own_numbers():
    theirs, ours = (
        cls().partial_fit([[1.0], [3.0]], [0, 1], classes=[0, 1, 2]) for cls in (peer.GaussianNB, GaussianNB)
    )
    assert theirs.theta_[2, 0] == 0.0
    assert (ours.theta_[2, 0], ours.class_prior_[2]) == (2.0, 0.0)


def test_a_class_of_weight_zero_is_absent():
    X, y, w = [[0], [1], [1]], [0, 1, 2], [1, 1, 0]
    assert peer.BernoulliNB().fit(X, y, sample_weight=w).classes_.tolist() == [0, 1, 2]
    assert BernoulliNB().fit(X, y, sample_weight=w).classes_.tolist() == [0, 1]


def test_negative_counts_are_refused_at_predict_too():
    X, y = [[1, 2], [3, 0]], [0, 1]
    assert peer.MultinomialNB().fit(X, y).predict([[-1, 5]]).shape == (1,)
    with pytest.raises(ValueError, match="Negative values in data passed to MultinomialNB"):
        MultinomialNB().fit(X, y).predict([[-1, 5]])


def test_binarize_none_takes_numbers_from_0_to_1_only():
    X, y = [[0, 3], [1, 0]], [0, 1]
    assert peer.BernoulliNB(binarize=None).fit(X, y).feature_count_.max() == 3
    with pytest.raises(ValueError, match="cannot take 3 in column 1, row 0"):
        BernoulliNB(binarize=None).fit(X, y)


def test_negative_weights_are_refused():
    X, y = [[0], [1]], [0, 1]
    peer.BernoulliNB().fit(X, y, sample_weight=[2, -0.5])
    with pytest.raises(ValueError, match="forget"):
        BernoulliNB().fit(X, y, sample_weight=[2, -1])


def test_fitted_attributes_are_read_only():
    theirs, ours = (cls().fit([[0], [1]], [0, 1]) for cls in (peer.BernoulliNB, BernoulliNB))
    theirs.feature_log_prob_ = np.log([[0.5], [0.5]])
    with pytest.raises(AttributeError, match="from_parameters"):
        ours.feature_log_prob_ = np.log([[0.5], [0.5]])


def test_settings_act_at_the_next_fit():
    changed = []
    for cls in (peer.BernoulliNB, BernoulliNB):
        model = cls().fit([[0], [3]], [0, 1])
        before = model.predict_proba([[3]])
        changed.append(not np.array_equal(model.set_params(binarize=5.0).predict_proba([[3]]), before))
    assert changed == [True, False]


def test_class_prior_of_the_counting_models_must_be_probabilities():
    X, y = [[0], [1]], [0, 1]
    peer.MultinomialNB(class_prior=[5, 7]).fit(X, y)
    with pytest.raises(ValueError, match="sum of the priors should be 1"):
        MultinomialNB(class_prior=[5, 7]).fit(X, y)
