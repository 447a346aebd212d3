"""The linear form: w . phi(x) + b is the joint log score, and its sign the prediction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sunrise import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, engines

rng = np.random.default_rng(1)
N = 300
Y = rng.integers(0, 2, N)
COUNTS = rng.poisson(1.5 + Y[:, None], (N, 6)).astype(float)

MODELS = {
    "gaussian": (GaussianNB(), rng.normal(size=(N, 6)) + Y[:, None]),
    "gaussian far from zero": (GaussianNB(), rng.normal(size=(N, 3)) + 1e6 + Y[:, None]),
    "gaussian shared": (GaussianNB(shared_variance=True), rng.normal(size=(N, 6)) + Y[:, None]),
    "bernoulli": (BernoulliNB(), COUNTS),
    "multinomial": (MultinomialNB(), COUNTS),
    "complement": (ComplementNB(), COUNTS),
    "complement normed": (ComplementNB(norm=True), COUNTS),
    "categorical": (CategoricalNB(), COUNTS),
    "categorical reserved": (CategoricalNB(unseen="reserve"), COUNTS),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_form_is_the_score(name, classes):
    model, X = MODELS[name]
    y = (Y + np.arange(N)) % classes
    model.fit(X, y)
    line = model.to_linear()
    for layout in (X, sparse.csr_array(X)):
        phi = line.transform(layout)
        assert phi.shape[1] == line.coef.shape[1] == len(line.feature_names)
        weigh = phi.toarray() if sparse.issparse(phi) else phi
        summands = np.abs(weigh[:, None, :] * line.coef[None]).sum(axis=2) + np.abs(line.intercept)
        error = np.abs(line.decision(layout) - model.predict_joint_log_proba(X))
        assert (error <= 1e-12 * summands).all()
    if classes == 2:
        w, b = line.log_odds()
        odds = np.asarray(line.transform(X) @ w).ravel() + b
        clear = np.abs(odds) > 1e-9
        assert ((odds > 0) == (model.predict(X) == 1))[clear].all()


@pytest.mark.parametrize("cls", [MultinomialNB, BernoulliNB, ComplementNB, CategoricalNB])
@pytest.mark.parametrize("norm", [False, True])
def test_without_smoothing_linear_form_and_explanation_are_the_score(cls, norm):
    model = cls(alpha=0, **({"norm": norm} if cls is ComplementNB else {}))
    X = np.array([[5, 0, 2, 1], [0, 1, 1, 0], [2, 0, 0, 3], [0, 2, 2, 2]])
    model.fit(X, [0, 1, 2, 1])
    rows = np.array([[2, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 3, 0, 1]])
    joint = model.predict_joint_log_proba(rows)
    np.testing.assert_allclose(model.to_linear().decision(rows), joint, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.explain(rows).score, joint, rtol=1e-12, atol=1e-12)
    assert all("nan" not in model.explain(rows).text(row) for row in range(4))
    with engines.using("array"):
        np.testing.assert_allclose(model.predict_joint_log_proba(rows), joint, rtol=1e-12, atol=1e-12)


def test_a_point_mass_is_explained_as_it_is_scored():
    X = np.array([[1, 5, 7], [1, 5, 8], [1, 2, 3], [4, 2, 3.5]])
    model = GaussianNB(var_smoothing=0.0).fit(X, [0, 0, 1, 1])
    rows = np.array([[1, 2, 3], [1, 5, 7.5], [4, 5, 7]])
    joint = model.predict_joint_log_proba(rows)
    np.testing.assert_allclose(model.explain(rows).score, joint, rtol=1e-12)
    np.testing.assert_allclose(model.to_linear().decision(rows), joint, rtol=1e-9)


def test_wide_sparse_rows_stay_sparse():
    wide = sparse.random_array((2000, 200_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    model = MultinomialNB().fit(wide, np.arange(2000) % 3)
    line = model.to_linear()
    assert sparse.issparse(line.transform(wide))
    np.testing.assert_allclose(line.decision(wide), model.predict_joint_log_proba(wide), rtol=1e-12)


def test_unseen_codes_have_their_feature():
    model = CategoricalNB(unseen="reserve").fit([[0], [2]], [0, 1])
    line = model.to_linear()
    assert line.feature_names == ["x0=0", "x0=2", "x0=other", "x0=unseen"]
    np.testing.assert_allclose(
        line.decision([[9], [1]]), model.predict_joint_log_proba([[9], [1]]), rtol=1e-14
    )


def test_shared_variance_is_what_logistic_regression_converges_to():
    big = np.random.default_rng(0)
    y = big.integers(0, 2, 200_000)
    X = big.normal(size=(200_000, 2)) * [1.0, 2.0] + y[:, None] * [1.0, -1.0]
    w, b = GaussianNB(shared_variance=True).fit(X, y).to_linear().log_odds(1)
    model = GaussianNB(shared_variance=True).fit(X, y)
    centre = model.to_linear().centre
    assert (w[2:] == 0).all()
    regression = LogisticRegression(C=1e6).fit(X, y)
    np.testing.assert_allclose(w[:2], regression.coef_[0], atol=0.02)
    assert b - w[:2] @ centre == pytest.approx(regression.intercept_[0], abs=0.02)
    truth = np.array([1.0, -0.25])
    np.testing.assert_allclose(w[:2], truth, atol=0.02)


def test_missing_cells_and_wrong_questions_are_refused():
    line = GaussianNB().fit([[0.0], [1.0], [2.0]], [0, 1, 2]).to_linear()
    with pytest.raises(ValueError, match="cannot score rows with missing cells"):
        line.decision([[np.nan]])
    with pytest.raises(ValueError, match="has 3 classes. Name two"):
        line.log_odds()
    np.testing.assert_allclose(line.log_odds(2, 0)[0], line.coef[2] - line.coef[0])
    with pytest.raises(ValueError, match="expecting 1 features"):
        line.decision([[1.0, 2.0]])
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    named = GaussianNB().fit(frame, [0, 1]).to_linear()
    with pytest.raises(ValueError, match="in the same order"):
        named.decision(frame[["b", "a"]])
    two = GaussianNB().fit([[0.0], [1.0]], ["a", "b"]).to_linear()
    with pytest.raises(ValueError, match="'c' is not one of the classes"):
        two.log_odds("c")
    assert [-v for v in two.log_odds("a")[0]] == list(two.log_odds("b")[0])
