"""The Dirichlet-compound multinomial: against SciPy, mpmath, slopes of the likelihood and counting by hand."""

from __future__ import annotations

import json
import pickle
import warnings
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import sparse, stats
from scipy.optimize import minimize
from scipy.special import digamma
from sklearn.base import clone
from sunrise import DirichletMultinomialNB, MultinomialNB, NotConvergedWarning, engines
from sunrise.numerics import polya
from sunrise.numerics.special import log_rising, reciprocals

RNG = np.random.default_rng(7)
#: Rows whose likeliest alphas are known to 25 digits.
KNOWN = np.array([[5, 0, 1], [0, 4, 2], [3, 3, 0], [1, 0, 6]])
every_engine = pytest.mark.parametrize("engine", engines.ENGINES)


def found(x, w=None):
    """The likeliest alphas of rows of one class."""
    x = np.asarray(x, dtype=float)
    return polya.fit_alpha(
        polya.counts_of_counts(x, np.ones((1, len(x))) if w is None else np.asarray(w)[None])
    )


def bursty(rng, n, alpha, length=30):
    """Rows drawn from urns."""
    return np.array([rng.multinomial(rng.integers(1, length), rng.dirichlet(alpha)) for _ in range(n)])


def two_classes(rng, n=60, columns=5):
    a, b = rng.gamma(1.0, 1.0, (2, columns)) + 0.05
    return np.vstack([bursty(rng, n, a), bursty(rng, n, b)]), np.repeat(["a", "b"], n)


# The likeliest alphas.


def test_the_likeliest_alphas_are_those_known_to_25_digits():
    fit = found(KNOWN)
    alpha = [0.5946830176534256915562934, 0.3993211036713109363846421, 0.5737993709169727643087363]
    np.testing.assert_allclose(fit.alpha[0], alpha, rtol=1e-14)
    counts = polya.counts_of_counts(KNOWN.astype(float), np.ones((1, 4)))
    np.testing.assert_allclose(polya.log_likelihood(counts, fit.alpha), -22.562069894201290119, rtol=1e-14)
    assert fit.converged.all() and fit.boundary.tolist() == [0] and fit.iterations[0] < 10


@pytest.mark.parametrize("largest", [3, 40, 100_000])
def test_the_likelihood_has_no_slope_at_the_likeliest_alphas(largest):
    for _ in range(10):
        x = np.array(
            [RNG.multinomial(RNG.integers(1, largest), RNG.dirichlet([0.4, 0.2, 3.0])) for _ in range(25)]
        )
        w = RNG.uniform(0.1, 2.0, 25)
        fit = found(x, w)
        if fit.boundary[0]:
            continue
        a, s, n = fit.alpha[0], fit.alpha.sum(), x.sum(axis=1)
        own = w @ (digamma(x + a) - digamma(a))
        whole = w @ (digamma(n + s) - digamma(s))
        np.testing.assert_allclose(own[a > 0], whole, rtol=1e-9)


@pytest.mark.parametrize("tables", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_no_other_alphas_are_likelier(tables):
    for k in range(tables):
        columns, n = RNG.integers(1, 5), RNG.integers(1, 7)
        x = (
            RNG.poisson(RNG.choice([0.3, 1.0, 5.0]), (n, columns))
            if k % 2
            else bursty(RNG, n, np.full(columns, 0.4), 9)
        )
        counts, known = polya.counts_of_counts(x.astype(float), np.ones((1, n))), x.any(axis=0)
        best = polya.log_likelihood(counts, found(x).alpha)[0]
        assert found(x).converged.all()

        def cost(v, counts=counts, known=known):
            return -polya.log_likelihood(counts, np.where(known, np.exp(v), 0.0)[None])[0]

        for _ in range(4):
            other = minimize(
                cost, RNG.normal(0.0, 3.0, columns), method="L-BFGS-B", bounds=[(-18.0, 27.0)] * columns
            )
            assert best >= -other.fun - 1e-6


def test_optima_at_infinity_are_multinomials_and_at_zero_single_things():
    one_row = found([[3, 1, 0]])
    assert one_row.boundary.tolist() == [1]
    np.testing.assert_allclose(one_row.alpha[0] / one_row.alpha.sum(), [0.75, 0.25, 0.0], rtol=1e-14)
    # Rows that are more alike than those of a multinomial, rows of one thing each, a single column.
    for rows in ([[5, 5], [5, 5], [5, 5]], [[1, 0], [0, 1], [1, 0]], [[4], [7]]):
        fit = found(rows)
        assert fit.boundary.tolist() == [1] and fit.converged.all()
        np.testing.assert_allclose(
            fit.alpha[0] / fit.alpha.sum(), np.sum(rows, axis=0) / np.sum(rows), rtol=1e-14
        )
    same = found([[2, 0], [0, 2], [7, 0]])
    assert same.boundary.tolist() == [-1]
    np.testing.assert_allclose(same.alpha[0] / same.alpha.sum(), [2 / 3, 1 / 3], rtol=1e-14)
    nothing = found([[0, 0], [0, 0]])
    assert not nothing.alpha.any() and nothing.converged.all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "rows", [[[3, 1]], [[5, 5], [5, 5]], [[2, 0], [0, 2]], [[0, 0]], [[1, 0], [0, 0]], [[9, 0]]]
)
def test_models_of_extreme_rows_score_finitely(rows):
    model = DirichletMultinomialNB().fit(rows + KNOWN[:, :2].tolist(), ["few"] * len(rows) + ["known"] * 4)
    assert np.isfinite(model.predict_log_proba([[0, 0], [1, 1], [50, 1], [1_000_000, 0]])).all()
    assert np.isfinite(model.predict_log_proba([[np.nan, 3]])).all()


def test_scaling_all_weights_changes_nothing():
    x, w = bursty(RNG, 30, [0.3, 0.5, 2.0]), RNG.uniform(0.5, 1.5, 30)
    np.testing.assert_allclose(found(x, w).alpha, found(x, 1e-3 * w).alpha, rtol=1e-10)


def test_sums_of_reciprocals_keep_their_digits():
    mpmath.mp.dps = 50
    for x in (16.0, 17.3, 1e3, 1e8, 1e12):
        for n in (1.0, 2.0, 5.0, 100.0, 1e6):
            one, two = reciprocals(np.array(x), np.array(n))
            exact = mpmath.digamma(mpmath.mpf(x) + n) - mpmath.digamma(x)
            assert abs(mpmath.mpf(float(one)) / exact - 1) < 1e-15
            exact = mpmath.psi(1, mpmath.mpf(x)) - mpmath.psi(1, mpmath.mpf(x) + n)
            assert abs(mpmath.mpf(float(two)) / exact - 1) < 1e-15


def test_what_has_not_converged_says_so():
    x, y = two_classes(RNG)
    with pytest.warns(NotConvergedWarning, match="Increase max_iter"):
        model = DirichletMultinomialNB(max_iter=2).fit(x, y)
    assert not model.convergence_.converged.any() and (model.convergence_.iterations == 2).all()
    assert np.isfinite(model.predict_log_proba(x)).all()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=NotConvergedWarning)
        DirichletMultinomialNB(max_iter=1).fit(x, y)
    converged = DirichletMultinomialNB().fit(x, y).convergence_
    assert converged.converged.all() and (converged.change <= 1e-12).all()


# Scores.


def exact_score(alpha, n):
    """The log probability without its coefficient, in 60 digits."""
    mpmath.mp.dps = 60
    a = [mpmath.mpf(float(v)) for v in alpha]
    total = mpmath.loggamma(sum(a)) - mpmath.loggamma(sum(a) + int(sum(n)))
    return total + sum(mpmath.loggamma(v + int(k)) - mpmath.loggamma(v) for v, k in zip(a, n, strict=True))


@every_engine
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(
    "alpha",
    [
        [1e-8, 1e-8, 1e-3],
        [0.3, 1.0, 2.0],
        [15.9, 16.1, 20.5],
        [1e4, 3e3, 1.0],
        [1e8, 1e-8, 2e8],
        [1e-30, 1e20, 5.0],
    ],
)
def test_scores_hold_to_ten_digits_for_any_counts_and_alphas(engine, layout, alpha):
    rows = np.array(
        [
            [1, 0, 0],
            [0, 1, 1],
            [2, 3, 0],
            [16, 17, 15],
            [100, 0, 7],
            [5000, 3, 1],
            [1_000_000, 1, 0],
            [0, 999_999, 1_000_000],
        ]
    )
    with engines.using(engine):
        model = DirichletMultinomialNB.from_parameters([alpha], classes=["only"])
        scores = model.predict_joint_log_proba(sparse.csr_array(rows) if layout == "sparse" else rows)[:, 0]
    for row, score in zip(rows, scores, strict=True):
        exact = exact_score(alpha, row)
        assert abs(mpmath.mpf(float(score)) - exact) <= 1e-10 * abs(exact) + 1e-14


def test_log_rising_holds_to_ten_digits():
    mpmath.mp.dps = 60
    for a in (1e-8, 1e-3, 0.7, 1.3, 19.99, 20.01, 1e3, 1e8):
        for n in (1, 2, 7, 100, 10**6):
            exact = mpmath.loggamma(mpmath.mpf(a) + n) - mpmath.loggamma(a)
            assert abs(mpmath.mpf(float(log_rising(np.array(a), np.array(float(n))))) / exact - 1) < 1e-10


@every_engine
@pytest.mark.parametrize("layout", ["dense", "sparse", "frame"])
def test_rows_have_scipys_probability(engine, layout):
    x, y = two_classes(RNG, 12)
    lay = {
        "dense": np.asarray,
        "sparse": sparse.csr_array,
        "frame": lambda x: pd.DataFrame(x, columns=list("vwxyz")),
    }
    with engines.using(engine):
        model = DirichletMultinomialNB(class_prior=[0.3, 0.7]).fit(lay[layout](x), y)
        one = DirichletMultinomialNB().fit(lay[layout](x), ["only"] * len(x))
        joint, density = model.predict_joint_log_proba(lay[layout](x)), one.score_samples(lay[layout](x))
    urns = [stats.dirichlet_multinomial(a, x.sum(axis=1)) for a in (*model.alpha_, one.alpha_[0])]
    proba = np.stack([urn.logpmf(x) for urn in urns[:2]], axis=1) + np.log([0.3, 0.7])
    np.testing.assert_allclose(joint[:, 1] - joint[:, 0], proba[:, 1] - proba[:, 0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(density, urns[2].logpmf(x), rtol=1e-10)


@every_engine
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_missing_counts_are_integrated_out_at_predict(engine, layout):
    alpha = np.array([[0.5, 2.0, 0.1, 3.0], [1.0, 0.2, 0.7, 0.4]])
    row = np.array([3.0, np.nan, 1.0, np.nan])
    with engines.using(engine):
        model = DirichletMultinomialNB.from_parameters(alpha, classes=[0, 1])
        rows = np.vstack([row, np.full(4, np.nan), [0, 0, 0, 0]])
        found = model.predict_joint_log_proba(sparse.csr_array(rows) if layout == "sparse" else rows)
        density = DirichletMultinomialNB.from_parameters(alpha[:1], classes=[0]).score_samples(rows[:1])
    # Of the counts given their total: an urn of the observed columns alone.
    urns = [stats.dirichlet_multinomial(a[[0, 2]], 4) for a in alpha]
    np.testing.assert_allclose(density, urns[0].logpmf([3, 1]), rtol=1e-12)
    gap = urns[1].logpmf([3, 1]) - urns[0].logpmf([3, 1])
    np.testing.assert_allclose(found[0, 1] - found[0, 0], gap, rtol=1e-10)
    np.testing.assert_allclose(found[1:], np.log(0.5), rtol=1e-12)


def test_a_predictive_multinomial_is_an_urn_on_sparse_rows_too():
    x, y = two_classes(RNG, 20)
    x = x.astype(float)
    x[3, 2] += 0.37  # weights need not be whole
    model = NaiveBayes("multinomial", estimate="predictive").fit(sparse.csr_array(x), y)
    scores = model.predict_joint_log_proba(sparse.csr_array(x))
    with engines.using("array"):
        np.testing.assert_allclose(scores, model.predict_joint_log_proba(sparse.csr_array(x)), rtol=1e-12)
    theta = [stats.dirichlet_multinomial(1.0 + x[y == c].sum(axis=0), int(x[0].sum())) for c in "ab"]
    expected = theta[1].logpmf(x[0].astype(int)) - theta[0].logpmf(x[0].astype(int))
    np.testing.assert_allclose(scores[0, 1] - scores[0, 0], expected, rtol=1e-9)


def test_explanations_add_up_also_calibrated():
    x, y = two_classes(RNG, 40)
    table = {f"w{j}": column for j, column in enumerate(x.T)} | {"size": RNG.normal(size=80) + (y == "b")}
    words = tuple(f"w{j}" for j in range(5))
    for calibrate in (None, "temperature", "columns"):
        model = NaiveBayes({words: "dirichlet_multinomial"}, calibrate=calibrate).fit(table, y)
        np.testing.assert_allclose(
            model.explain(table).score, model.predict_joint_log_proba(table), rtol=1e-10, atol=1e-10
        )


# Statistics.


@every_engine
@pytest.mark.parametrize("layout", ["dense", "sparse", "frame", "columns"])
def test_counts_of_counts_are_counted_as_by_hand(engine, layout):
    x = RNG.poisson(0.8, (40, 3)) * RNG.choice([1, 1, 1, 50], (40, 3))
    y, w = RNG.integers(0, 2, 40), RNG.uniform(0.1, 3.0, 40)
    w[5] = 0.0
    rows = {
        "dense": x,
        "sparse": sparse.csr_array(x),
        "frame": pd.DataFrame(x, columns=["a", "b", "c"]),
        "columns": {"a": x[:, 0], "b": x[:, 1].astype(float), "c": x[:, 2].tolist()},
    }[layout]
    with engines.using(engine):
        family = {("a", "b", "c"): "dirichlet_multinomial"}
        model = NaiveBayes(family) if layout in ("frame", "columns") else DirichletMultinomialNB()
        block = model.fit(rows, y, sample_weight=w).stats_.blocks[0]
    wide = np.column_stack([x, x.sum(axis=1)])
    for j in range(4):
        kept = [i for i in range(40) if w[i] > 0 and (wide[i, j] > 0 or j == 3)]
        by_hand, weight = Counter(), Counter()
        for i in kept:
            by_hand[y[i], wide[i, j]] += 1
            weight[y[i], wide[i, j]] += w[i]
        at = slice(block.offsets[j], block.offsets[j + 1])
        assert block.levels(j).tolist() == sorted({code for _, code in by_hand})
        for c in (0, 1):
            assert block.rows[c, at].tolist() == [by_hand[c, code] for code in block.levels(j)]
            np.testing.assert_allclose(
                block.weight[c, at], [weight[c, code] for code in block.levels(j)], rtol=1e-13
            )


def test_what_is_forgotten_leaves_no_trace():
    x, y = two_classes(RNG, 10)
    model = DirichletMultinomialNB().fit(x, y)
    more = np.array([[1000, 0, 0, 0, 1], [3, 77, 0, 0, 0]])
    changed = DirichletMultinomialNB().fit(x, y).partial_fit(more, ["a", "c"])
    assert changed.classes_.tolist() == ["a", "b", "c"]
    changed.forget(more, ["a", "c"])
    for part in ("offsets", "codes", "rows", "weight"):
        np.testing.assert_array_equal(
            getattr(changed.stats_.blocks[0], part), getattr(model.stats_.blocks[0], part)
        )
    np.testing.assert_array_equal(changed.alpha_, model.alpha_)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget([[1000, 0, 0, 0, 1]], ["a"])


def test_frames_merge_by_the_names_of_their_columns():
    x, y = two_classes(RNG, 10)
    table = pd.DataFrame(x, columns=list("vwxyz"))
    whole = NaiveBayes("dirichlet_multinomial").fit(table, y)
    half, other = (NaiveBayes("dirichlet_multinomial") for _ in "ab")
    half.fit(table[:7], y[:7])
    other.fit(table[7:][list("zxwvy")], y[7:])
    np.testing.assert_allclose((half + other).predict_proba(table), whole.predict_proba(table), rtol=1e-10)


def test_very_large_counts_are_kept_apart():
    x = [[2**53, 1], [2**52, 3], [1, 2**53 - 1]]
    a, b = DirichletMultinomialNB().fit(x[:2], [0, 0]), DirichletMultinomialNB().fit(x[2:], [0])
    both, whole = (a + b).stats_.blocks[0], DirichletMultinomialNB().fit(x, [0, 0, 0]).stats_.blocks[0]
    assert both.codes.tolist() == whole.codes.tolist() and both.rows.tolist() == whole.rows.tolist()


# What it cannot take.


@every_engine
@pytest.mark.parametrize("layout", ["dense", "sparse", "frame"])
def test_what_is_no_count_is_refused_by_name(engine, layout):
    lay = {
        "dense": np.asarray,
        "sparse": sparse.csr_array,
        "frame": lambda x: pd.DataFrame(x, columns=["a", "b"]),
    }[layout]
    where = "column 'b'" if layout == "frame" else "column 1"
    good = lay(np.array([[1.0, 2.0], [0.0, 3.0]]))
    with engines.using(engine):
        for bad in (0.5, -1.0, np.inf):
            rows = lay(np.array([[1.0, 2.0], [0.0, bad]]))
            for model in (DirichletMultinomialNB(), NaiveBayes("dirichlet_multinomial")):
                with pytest.raises(
                    ValueError, match=f"{bad:g} in .*{where}.*MultinomialNB takes any weights"
                ):
                    model.fit(rows, [0, 1])
                with pytest.raises(ValueError, match=f"{bad:g} in .*{where}"):
                    model.fit(good, [0, 1]).predict(rows)
        missing = lay(np.array([[1.0, 2.0], [4.0, np.nan]]))
        for model in (DirichletMultinomialNB(), NaiveBayes("dirichlet_multinomial")):
            with pytest.raises(ValueError, match=r"column .* has 1 missing counts.*use multinomial"):
                model.fit(missing, [0, 1])


@every_engine
@pytest.mark.parametrize("layout", ["dense", "sparse", "frame"])
def test_columns_that_are_missing_or_zero_throughout_say_nothing(engine, layout):
    x, y = two_classes(RNG, 10, columns=3)
    wide = np.column_stack([np.full(20, np.nan), x, np.zeros(20)])
    lay = {
        "dense": np.asarray,
        "sparse": sparse.csr_array,
        "frame": lambda x: pd.DataFrame(x, columns=list("vwxyz")),
    }[layout]
    with engines.using(engine):
        model = DirichletMultinomialNB().fit(lay(wide), y)
        told = DirichletMultinomialNB().fit(x, y).predict_joint_log_proba(x)
        wide[:, 0], wide[:, 4] = 5, 9
        np.testing.assert_allclose(model.predict_joint_log_proba(lay(wide)), told, rtol=1e-12)
    # Counts that turn up later would have been missing before.
    with pytest.raises(ValueError, match="20 missing counts"):
        model.partial_fit(lay(wide), y)
    assert "alpha" not in model.families_.get("v", {}).get("parameters", {}) if layout != "frame" else True


def test_what_it_has_not_is_said():
    x, y = two_classes(RNG, 10)
    model = DirichletMultinomialNB().fit(x, y)
    assert np.isnan(NaiveBayes("dirichlet_multinomial").fit(x, y).log_evidence_)
    for call, text in {
        model.mutual_information: "Use multinomial",
        model.to_linear: "no linear form",
        lambda: model.select(2): "Use multinomial",
        lambda: model.posterior_["x0"]: "no conjugate posterior",
    }.items():
        with pytest.raises(ValueError, match=text):
            call()
    for background in (-0.1, 1.0, "much"):
        with pytest.raises(ValueError, match="background"):
            DirichletMultinomialNB(background=background).fit(x, y)
    with pytest.raises(ValueError, match="background"):
        sr.DirichletMultinomial(background=2.0)
    with pytest.raises(ValueError, match="alpha"):
        sr.DirichletMultinomial(alpha=[[1.0, -1.0]])
    with pytest.raises(ValueError, match="columns"):
        DirichletMultinomialNB(alpha=np.ones((2, 4))).fit(x, y)


# Smoothing and estimates.


def test_the_background_is_a_share_of_all_classes_alphas():
    x, y = two_classes(RNG, 30)
    x[y == "a", 4] = 0  # what a class never counted
    plain, mixed = (DirichletMultinomialNB(background=b).fit(x, y) for b in (0.0, 0.25))
    for c in "ab":
        np.testing.assert_allclose(plain.alpha_["ab".index(c)], found(x[y == c]).alpha[0], rtol=1e-12)
    common = found(x).alpha[0] / found(x).alpha.sum()
    np.testing.assert_allclose(mixed.concentration_, plain.concentration_, rtol=1e-12)
    expected = 0.75 * plain.alpha_ + 0.25 * plain.concentration_[:, None] * common
    np.testing.assert_allclose(mixed.alpha_, expected, rtol=1e-12)
    assert plain.alpha_[0, 4] == 0
    # Without smoothing what a class never counted is impossible under it.
    assert plain.predict_proba([[1, 0, 0, 0, 2]]).tolist() == [[0.0, 1.0]]
    assert np.isneginf(plain.explain([[1, 0, 0, 0, 2]]).score[0, 0])


def test_estimates_are_of_greatest_likelihood():
    x, y = two_classes(RNG, 20)
    x[y == "a", 4] = 0
    alphas = {
        name: NaiveBayes("dirichlet_multinomial", estimate=name).fit(x, y)._model.params[0].alpha
        for name in ("mean", "map", "predictive", "mle")
    }
    for name in ("map", "predictive"):
        np.testing.assert_array_equal(alphas[name], alphas["mean"])
    np.testing.assert_array_equal(alphas["mle"], DirichletMultinomialNB(background=0.0).fit(x, y).alpha_)


def test_a_class_that_saw_nothing_has_the_alphas_of_all():
    x, y = two_classes(RNG, 10)
    model = DirichletMultinomialNB(class_prior="uniform").partial_fit(x, y, classes=["a", "b", "c"])
    np.testing.assert_allclose(model.alpha_[2], found(x).alpha[0], rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(x)).all()


def test_bursts_are_told_from_a_multinomials_counts():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(300, 0.3), 4)
    rows, y = [], np.arange(1200) % 4
    for c in y:
        rows.append(
            rng.multinomial(
                rng.integers(20, 80), rng.dirichlet(30.0 * (0.85 * shares.mean(axis=0) + 0.15 * shares[c]))
            )
        )
    x = sparse.csr_array(np.array(rows))
    scores = {}
    for name, model in (("urns", DirichletMultinomialNB()), ("shares", MultinomialNB(alpha=0.1))):
        log_p = model.fit(x[:800], y[:800]).predict_log_proba(x[800:])
        scores[name] = np.mean(log_p.argmax(axis=1) == y[800:]), -log_p[np.arange(400), y[800:]].mean()
    assert scores["urns"][0] > scores["shares"][0] and scores["urns"][1] < scores["shares"][1]


# Leave-one-out and calibration.


@pytest.mark.parametrize("layout", ["dense", "sparse", "gap"])
def test_leave_one_out_is_near_a_fit_without_the_row(layout):
    x, y = two_classes(RNG, 15)
    w = RNG.uniform(0.5, 2.0, 30)
    rows = {
        "dense": pd.DataFrame(x, columns=list("vwxyz")),
        "sparse": sparse.csr_array(x),
        "gap": pd.DataFrame(x, columns=list("vwxyz")).assign(u=np.nan),
    }[layout]

    def pick(keep):
        return rows[keep] if layout == "sparse" else rows.iloc[keep]

    model = NaiveBayes("dirichlet_multinomial").fit(rows, y, sample_weight=w)
    found, kept = model.leave_one_out(rows, y, sample_weight=w), model.predict_log_proba(rows)
    near, far = [], []
    for i in range(30):
        keep = np.arange(30) != i
        rest = NaiveBayes("dirichlet_multinomial").fit(pick(keep), y[keep], sample_weight=w[keep])
        refitted = rest.predict_log_proba(pick([i]))[0]
        near.append(np.abs(np.exp(found[i]) - np.exp(refitted)).max())
        far.append(np.abs(np.exp(kept[i]) - np.exp(refitted)).max())
    # A column that is missing altogether leaves rows to be taken out with the alphas as they are.
    assert np.mean(near) < (1.0 if layout == "gap" else 0.3) * np.mean(far)
    strange = rows.copy()
    if layout == "dense":
        strange.iloc[0, 0] = 999
        with pytest.raises(ValueError, match="was never fitted"):
            model.leave_one_out(strange, y, sample_weight=w)


def test_given_alphas_stay_when_a_row_is_left_out():
    x, y = two_classes(RNG, 15)
    alpha = [[0.5, 1.0, 0.2, 2.0, 1.0], [1.0, 0.3, 0.4, 0.2, 3.0]]
    model = DirichletMultinomialNB(alpha=alpha, class_prior="uniform").fit(x, y)
    np.testing.assert_allclose(model.leave_one_out(x, y), model.predict_log_proba(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("alpha", "n"), [(1e-8, 5), (0.3, 1), (0.7, 1000), (15.9, 3), (16.0, 3), (1e9, 7)])
def test_the_slope_of_a_rise_is_a_sum_of_reciprocals(alpha, n):
    given, times = np.array(alpha), np.array(float(n))
    for power, found in (
        (1, polya.log_rising_derivative(given, times)),
        (2, polya.log_rising_curvature(given, times)),
    ):
        expected = mpmath.fsum(1 / (mpmath.mpf(alpha) + j) ** power for j in range(n))
        assert float(found) == pytest.approx(float(expected), rel=1e-11)


def test_the_only_row_of_a_class_is_left_out():
    x, y = two_classes(RNG, 5)
    x, y = np.vstack([x, [[1, 2, 3, 0, 0]]]), np.append(y, "z")
    log_p = DirichletMultinomialNB().fit(x, y).leave_one_out(x, y)
    assert np.isneginf(log_p[-1, 2]) and np.isfinite(log_p[:-1]).all()


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
def test_a_temperature_makes_urns_honest():
    rng = np.random.default_rng(3)
    x, y = two_classes(rng, 100, 4)
    x = np.hstack([x, x, x])  # said three times, which no independence knows of
    table = pd.DataFrame(x, columns=[f"w{j}" for j in range(12)])
    half = rng.permutation(200)
    fit, rest = half[:100], half[100:]
    losses = {}
    for calibrate in (None, "temperature"):
        model = NaiveBayes("dirichlet_multinomial", calibrate=calibrate).fit(table.iloc[fit], y[fit])
        log_p = model.predict_log_proba(table.iloc[rest])
        losses[calibrate] = -log_p[np.arange(100), (y[rest] == "b").astype(int)].mean()
    assert losses["temperature"] < losses[None]


# Uses.


def test_worked_examples(find_data):
    examples = {e["id"]: e for e in json.loads(find_data("worked_examples.json").read_text(encoding="utf-8"))}
    data, expected = (examples["murphy-3.79-dcm"][k] for k in ("data", "expected"))
    for k, (alpha, x) in enumerate(zip(data["alpha"], data["x"], strict=True)):
        model = DirichletMultinomialNB.from_parameters([[float(Fraction(a)) for a in alpha]], classes=["all"])
        np.testing.assert_allclose(
            model.score_samples([x]), float(expected["log_p"]["decimal"][k]), rtol=1e-13
        )
        np.testing.assert_allclose(
            np.exp(model.score_samples([x])), float(Fraction(expected["p"]["fraction"][k]))
        )
        plain = float(Fraction(expected["without_coefficient"]["fraction"][k]))
        np.testing.assert_allclose(model.predict_joint_log_proba([x])[0, 0], np.log(plain), rtol=1e-12)
    data, expected = (examples["murphy-polya-urn-burstiness"][k] for k in ("data", "expected"))
    alphas = [float(Fraction(a)) for a in data["alpha"]]
    model = DirichletMultinomialNB.from_parameters([[a, a] for a in alphas], classes=alphas)
    first, twice = np.exp(model.predict_joint_log_proba([[1, 0], [2, 0]]) - np.log(0.25))
    np.testing.assert_allclose(
        twice / first, [float(Fraction(p)) for p in expected["p_repeat"]["fraction"]], rtol=1e-14
    )


def test_given_alphas_go_with_their_classes_and_cannot_be_updated():
    model = DirichletMultinomialNB.from_parameters(
        [[1.0, 2.0], [3.0, 0.5]],
        classes=["z", "a"],
        class_prior={"z": 0.3, "a": 0.7},
        feature_names=["u", "v"],
    )
    np.testing.assert_array_equal(model.alpha_, [[3.0, 0.5], [1.0, 2.0]])
    np.testing.assert_allclose(model.class_prior_, [0.7, 0.3])
    assert model.convergence_ is None and model.parameters_["v"]["alpha"].tolist() == [0.5, 2.0]
    for update in (
        lambda: model.partial_fit([[1, 1]], ["a"]),
        lambda: model + model,
        lambda: model.forget([[1, 1]], ["a"]),
    ):
        with pytest.raises(ValueError, match="made from given alphas"):
            update()
    with pytest.raises(ValueError, match="all are 0"):
        DirichletMultinomialNB.from_parameters([[0.0, 0.0]], classes=["a"])
    x, y = two_classes(RNG, 5)
    given = DirichletMultinomialNB(alpha=np.ones((2, 5))).fit(x, y)
    assert (given.alpha_ == 1.0).all() and given.class_count_.tolist() == [5, 5]


def test_rows_of_given_alphas_are_drawn_with_one_count_each():
    model = DirichletMultinomialNB.from_parameters([[1.0, 3.0, 0.0], [1.0, 1.0, 1.0]], classes=["a", "b"])
    rows, labels = model.sample(4000, y="a", random_state=0)
    assert (rows.sum(axis=1) == 1).all() and set(labels) == {"a"}
    np.testing.assert_allclose(rows.mean(axis=0), [0.25, 0.75, 0.0], atol=0.03)


def test_it_is_cloned_pickled_and_shown():
    x, y = two_classes(RNG, 10)
    model = DirichletMultinomialNB(background=0.2, class_weight="balanced").fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_log_proba(x), again.predict_log_proba(x))
    assert clone(model).get_params() == model.get_params()
    shown = repr(NaiveBayes("dirichlet_multinomial").fit(pd.DataFrame(x, columns=list("vwxyz")), y))
    assert "dirichlet_multinomial" in shown
    low, high = model.interval(x[:3], n_draws=10)
    assert (low <= high).all()
    with pytest.raises(AttributeError, match="cannot be set"):
        model.alpha_ = 1
