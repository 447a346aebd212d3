"""Correlated columns: the density by SciPy, leave-one-out by refits, marginals by integration, the block of "auto"."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from scipy import integrate, stats
from sunrise import _native
from sunrise.families.correlated import MEAN_STRENGTH
from sunrise.families.standard_reader import Scale
from sunrise.forms.quadratic import Quadratic, bounded
from sunrise.statistics.products import Products

COLUMNS = ["u", "v", "w"]


def correlated(n=240, seed=0, n_classes=3):
    """Columns whose correlations, not their means, tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    z = rng.normal(size=(n, 3))
    sign = np.array([0.9, -0.9, 0.0])[y % 3]
    v = sign * z[:, 0] + np.sqrt(1.0 - sign**2) * z[:, 1]
    frame = pd.DataFrame({"u": 10.0 + 3.0 * z[:, 0], "v": v, "w": z[:, 2] + 0.3 * y})
    return frame, np.array(["a", "b", "c"])[y]


def given(X, **settings):
    """A model of one block whose scales are those of X."""
    scales = tuple(Scale.of(X[name].to_numpy(), None) for name in COLUMNS)
    family = sr.Correlated(scales=scales, **settings)
    return sr.NaiveBayes({tuple(COLUMNS): family}, calibrate=None)


def reference(X, y, rows, label, pooled, diagonal, degrees):
    """The predictive density of the normal-inverse-Wishart model, from the rows themselves."""
    scales = [Scale.of(X[name].to_numpy(), None) for name in COLUMNS]
    assert [s.unit for s in scales] == pytest.approx(X.std(ddof=0), rel=1e-3)
    assert [s.centre for s in scales] == pytest.approx(X.mean(), abs=1e-2)
    centre, unit = np.array(scales).T
    z = ((X - centre) / unit).to_numpy()
    scatter, pool = None, np.zeros((3, 3))
    for one in np.unique(y):
        own = z[y == one]
        strength = len(own) + MEAN_STRENGTH
        mean = own.sum(axis=0) / strength  # drawn to the overall mean, 0
        squares = (own - mean).T @ (own - mean) + MEAN_STRENGTH * np.outer(mean, mean)
        pool += squares
        if one == label:
            scatter, centre, k = squares, mean, strength
    n = (y == label).sum()
    matrix = scatter + pooled / degrees * pool + diagonal * np.eye(3)
    freedom = n + pooled + diagonal + 2.0
    density = stats.multivariate_t(centre, matrix * (k + 1.0) / (k * freedom), freedom)
    return np.atleast_1d(density.logpdf(z[rows])) - np.log(unit).sum()


def test_the_density_is_that_of_scipy():
    X, y = correlated()
    model = given(X, pooled=7.0, diagonal=2.0).fit(X, y)
    joint = model.predict_joint_log_proba(X.head(20))
    jacobian = np.log([Scale.of(X[name].to_numpy(), None).unit for name in COLUMNS]).sum()
    for c, label in enumerate(model.classes_):
        wanted = reference(X, y, np.arange(20), label, 7.0, 2.0, len(y) - 3.0)
        assert joint[:, c] - np.log(model.class_prior_[c]) - jacobian == pytest.approx(wanted, abs=1e-10)
    total = np.log(np.exp(joint - jacobian).sum(axis=1))
    assert model.score_samples(X.head(20)) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refits(weighted):
    X, y = correlated(60)
    X.loc[3, "v"] = np.nan  # it is not fitted, and scored by its marginal
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    build = lambda: given(X.drop(index=3), pooled=5.0, pooled_share=5.0 / 50.0)  # noqa: E731
    model = build().fit(X, y, weight)
    scores = model._read_training_rows(X, y, weight).block(0)
    for i in range(12):
        rest = np.delete(np.arange(len(y)), i)
        refit = build().fit(X.iloc[rest], y[rest], None if weight is None else weight[rest])
        wanted = refit.explain(X.iloc[[i]]).contributions[0].sum(axis=1)
        assert scores[i] == pytest.approx(wanted, abs=1e-9)


def test_a_missing_cell_is_integrated_out():
    X, y = correlated()
    model = given(X).fit(X, y)
    row = X.iloc[[5]].assign(v=np.nan)
    prior = np.log(model.class_prior_)

    def density(v, c):
        joint = model.predict_joint_log_proba(row.assign(v=v))[0, c] - prior[c]
        return np.exp(joint) / Scale.of(X["v"].to_numpy(), None).unit

    marginal = np.exp(model.predict_joint_log_proba(row)[0] - prior)
    for c in range(2):
        whole = integrate.quad(density, -12, 12, args=(c,), epsabs=1e-10, limit=200)[0]
        assert marginal[c] == pytest.approx(whole, rel=1e-4)


def test_strong_priors_are_linear_and_weak_ones_quadratic_discriminant_analysis():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    X, y = correlated(4000)
    for peer, settings in (
        (LinearDiscriminantAnalysis(), {"pooled": 1e7}),
        (QuadraticDiscriminantAnalysis(), {"pooled": 0.0, "diagonal": 1e-6}),
    ):
        ours = given(X, **settings).fit(X, y).predict_proba(X)
        theirs = peer.fit(X, y).predict_proba(X)
        assert np.abs(ours - theirs).max() < 0.02
        assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.995


def test_sums_of_products_are_those_of_numpy_for_any_number_of_threads():
    rng = np.random.default_rng(3)
    x, y, w = rng.normal(size=(5000, 7)), rng.integers(-1, 4, 5000).astype(np.int32), rng.random(5000)
    x[rng.random(x.shape) < 0.01], w[:10] = np.nan, 0.0
    found = [_native.accumulate_products(x, y, w, 4, threads) for threads in (1, 2, 7)]
    assert all((a == b).all() for other in found[1:] for a, b in zip(found[0], other, strict=True))
    keep = y >= 0
    wanted = Products.of(x[keep], y[keep], w[keep], 4)
    parts = (wanted.rows, wanted.observed_weight, wanted.x, wanted.xx)
    for own, other in zip(found[0], parts, strict=True):
        assert own == pytest.approx(other.ravel(), rel=1e-12)


def test_columns_of_an_explanation_add_up_to_the_score():
    rng = np.random.default_rng(5)
    square = rng.normal(size=(2, 4, 4))
    form = Quadratic(
        rng.normal(size=(2, 4)), square @ np.swapaxes(square, 1, 2) + np.eye(4), np.array([5.0, 9.0])
    )
    x = rng.normal(size=(6, 4))
    x[0, 1] = x[1, [0, 3]] = np.nan
    x[2] = np.nan
    assert form.cells(x).sum(axis=2) == pytest.approx(form.scores(x), abs=1e-12)
    assert (form.cells(x)[2] == 0.0).all()


def test_log_odds_are_bounded():
    scores = np.array([[0.0, -1e6, -3.0], [-5e5, 0.0, 1e5]])
    mixed = bounded(scores, 0.01)
    assert (mixed.max(axis=1) - mixed.min(axis=1) <= np.log(3 / 0.01 - 2) + 1e-9).all()
    assert mixed.argmax(axis=1).tolist() == [0, 2]


@pytest.fixture(scope="module")
def table():
    X, y = correlated(900, seed=2)
    return X.assign(label=y)


@pytest.fixture(scope="module")
def model(table):
    return sr.NaiveBayes().fit(table, "label")


def test_auto_scores_correlated_columns_together(table, model):
    alone = sr.NaiveBayes(interactions=None).fit(table, "label")
    (block,) = (own for own in model.interactions_ if len(own.columns) > 2)
    assert block.columns == ("u", "v", "w")
    assert model.loo_score_.log_loss < 0.8 * alone.loo_score_.log_loss
    new, y = correlated(2000, seed=9)
    losses = [
        -m.predict_log_proba(new)[np.arange(2000), np.searchsorted(m.classes_, y)].mean()
        for m in (alone, model)
    ]
    assert losses[1] < 0.8 * losses[0]
    assert losses[1] == pytest.approx(model.loo_score_.log_loss, abs=0.06)
    assert "u, v, w" in str(model)
    assert not any(
        len(own.columns) > 2 for own in sr.NaiveBayes(interactions="pairs").fit(table, "label").interactions_
    )


def test_the_terms_of_the_block_add_up(table, model):
    e = model.explain(table.head(3))
    for row in range(3):
        comparison = e.comparison(row)
        assert sum(term.evidence for term in comparison.terms) == pytest.approx(comparison.log_odds, abs=1e-9)
    assert "given the others" in e.text(0, top=None) and "together" in e.text(0, top=None)
    record = {name: float(table[name][0]) for name in COLUMNS}
    assert model.predict_proba(record) == pytest.approx(model.predict_proba(table.head(1)), abs=1e-12)


def test_updates_merges_removals_and_files_are_exact_given_the_block(table, model, tmp_path):
    fixed = {"families": model.fixed_families_, "interactions": list(model.interactions_), "calibrate": None}
    first, rest = table.iloc[:500], table.iloc[500:]
    whole = sr.NaiveBayes(**fixed).fit(table, "label")
    parts = [sr.NaiveBayes(**fixed).fit(own, "label") for own in (first, rest)]
    others = [
        sr.NaiveBayes(**fixed).fit(first, "label").partial_fit(rest, "label"),
        parts[0] + parts[1],
        sr.NaiveBayes(**fixed).fit(table, "label").forget(rest, "label").partial_fit(rest, "label"),
    ]
    for other in others:
        assert other.interactions_ == whole.interactions_
        assert other.predict_log_proba(table) == pytest.approx(whole.predict_log_proba(table), abs=1e-8)
    model.save(tmp_path / "model.sunrise")
    assert (sr.load(tmp_path / "model.sunrise").predict_proba(table) == model.predict_proba(table)).all()


def test_the_order_of_rows_has_no_effect(table, model):
    shuffled = sr.NaiveBayes().fit(table.sample(frac=1.0, random_state=4), "label")
    assert shuffled.interactions_ == model.interactions_
    assert shuffled.predict_proba(table) == pytest.approx(model.predict_proba(table), abs=1e-6)


def test_given_columns_and_their_errors(table):
    named = sr.NaiveBayes(interactions=[("u", "v", "w"), ("u", "v")]).fit(table, "label")
    assert [own.columns for own in named.interactions_] == [("u", "v"), ("u", "v", "w")]
    with pytest.raises(ValueError, match=r"two groups of correlated columns"):
        sr.NaiveBayes(interactions=[("u", "v", "w"), ("w", "v", "u")]).fit(table, "label")
    with pytest.raises(ValueError, match=r"'kind' in a group of 3, and it is not numeric"):
        sr.NaiveBayes(interactions=[("u", "v", "kind")]).fit(table.assign(kind=list("xyz") * 300), "label")
    with pytest.raises(ValueError, match=r"pooled is -1"):
        sr.Correlated(pooled=-1)


def test_noise_has_no_block():
    rng = np.random.default_rng(8)
    found = 0
    for seed in range(10):
        X, y = np.random.default_rng(seed).normal(size=(300, 8)), rng.choice(["p", "q"], 300)
        model = sr.NaiveBayes().fit(X, y)
        found += any(len(own.columns) > 2 for own in model.interactions_)
        assert model.loo_score_.log_loss > 0.67
    assert found <= 2
