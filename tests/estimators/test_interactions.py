"""Interactions: lifts by hand, leave-one-out by refits, the search, and the algebra of models with pairs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from sunrise import _native
from sunrise.families.joint import PairCounts

FAMILIES = {"a": "categorical", "b": "gaussian", "noise": "gaussian"}


@pytest.fixture(scope="module")
def xor():
    """The class depends on two columns together only."""
    rng = np.random.default_rng(0)
    n = 600
    a, b = rng.choice(["x", "y"], n), rng.integers(0, 3, n).astype(float)
    label = np.where((a == "x") ^ (b > 1), "yes", "no")
    label = np.where(rng.random(n) < 0.1, rng.permutation(label), label)
    frame = pd.DataFrame({"a": a, "b": b, "noise": rng.normal(size=n), "label": label})
    frame.loc[rng.random(n) < 0.05, "a"] = None
    return frame


def test_lift_is_the_formula_in_exact_fractions():
    n_abc, n_ac, n_bc, n_c, k_a, k_b = 7, 10, 12, 30, 3, 4
    counts = PairCounts(*(np.array(float(n)) for n in (n_abc, n_ac, n_bc, n_c)), k_a, k_b)
    m = (k_a - 1) * (k_b - 1)
    for removed in (0, 1):
        n = n_c - removed
        p_a, p_b = Fraction(n_ac - removed + 1, n + k_a), Fraction(n_bc - removed + 1, n + k_b)
        wanted = math.log((Fraction(n_abc - removed) / (p_a * p_b) + m) / (n + m))
        assert counts.log_lift(float(removed)) == pytest.approx(wanted, abs=1e-14)


def test_auto_finds_the_pair_and_predicts_what_columns_alone_cannot(xor):
    alone, paired = (sr.NaiveBayes(interactions=own).fit(xor, "label") for own in (None, "auto"))
    assert [set(own.columns) for own in paired.interactions_] == [{"a", "b"}]
    assert alone.loo_score_.accuracy < 0.8 < 0.9 < paired.loo_score_.accuracy
    assert "a × b" in str(paired)  # noqa: RUF001
    assert paired.calibration_.weights["a × b"] > 0  # noqa: RUF001


def test_the_order_of_rows_has_no_effect(xor):
    shuffled = xor.sample(frac=1.0, random_state=5)
    one, two = (sr.NaiveBayes(interactions="auto").fit(rows, "label") for rows in (xor, shuffled))
    assert one.interactions_ == two.interactions_
    assert two.predict_proba(xor) == pytest.approx(one.predict_proba(xor), abs=1e-9)


def test_noise_has_few_pairs_and_an_honest_score():
    """A score of pairs that the rows of a fold have helped to choose would be too good on noise."""
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.choice(["a", "b", "c"], (150, 12)), columns=[f"x{k}" for k in range(12)])
    y = rng.choice(["p", "q"], 150)
    model = sr.NaiveBayes("categorical", interactions="auto").fit(noise, y)
    assert len(model.interactions_) <= 1
    assert model.loo_score_.log_loss > 0.66


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refits(xor, weighted):
    rows = xor.head(60)
    weight = np.random.default_rng(3).integers(1, 4, 60).astype(float) if weighted else None
    edges = sr.NaiveBayes(FAMILIES, interactions=[("a", "b"), ("b", "noise")]).fit(rows, "label")
    settings = {"calibrate": None, "interactions": list(edges.interactions_)}
    model = sr.NaiveBayes(FAMILIES, **settings).fit(rows, "label", weight)
    left_out = model._read_training_rows(rows, "label", weight)
    block = len(model._model.parts) - 1
    for i in range(12):
        rest = np.delete(np.arange(60), i)
        own = None if weight is None else weight[rest]
        refit = sr.NaiveBayes(FAMILIES, **settings).fit(rows.iloc[rest], "label", own)
        wanted = refit.explain(rows.iloc[[i]]).contributions[0, :, -2:]
        assert left_out.cells(block, [i])[0] == pytest.approx(wanted, abs=1e-9)


def test_update_removal_and_merge_are_exact(xor):
    first, rest = xor.iloc[:350], xor.iloc[350:]
    model = sr.NaiveBayes(interactions="auto").fit(xor, "label")
    fixed = {"families": model.fixed_families_, "interactions": list(model.interactions_), "calibrate": None}
    whole = sr.NaiveBayes(**fixed).fit(xor, "label")
    streamed = sr.NaiveBayes(**fixed).fit(first, "label").partial_fit(rest, "label")
    merged = sr.NaiveBayes(**fixed).fit(first, "label") + sr.NaiveBayes(**fixed).fit(rest, "label")
    expected = whole.predict_log_proba(xor)
    assert streamed.predict_log_proba(xor) == pytest.approx(expected, abs=1e-12)
    assert merged.predict_log_proba(xor) == pytest.approx(expected, abs=1e-12)
    forgotten = streamed.forget(rest, "label")
    wanted = sr.NaiveBayes(**fixed).fit(first, "label").predict_log_proba(xor)
    assert forgotten.predict_log_proba(xor) == pytest.approx(wanted, abs=1e-12)


def test_merged_models_keep_the_pairs_that_both_have(xor):
    one = sr.NaiveBayes(FAMILIES, interactions=[("a", "b")]).fit(xor, "label")
    two = sr.NaiveBayes(FAMILIES, interactions=None).fit(xor, "label")
    assert (one + two).interactions_ == ()
    assert (one + one).interactions_ == one.interactions_


def test_missing_cells_and_unseen_levels_add_nothing(xor):
    model = sr.NaiveBayes(interactions=[("a", "b")]).fit(xor, "label")
    rows = pd.DataFrame({"a": [None, "z", "x"], "b": [1.0, 1.0, None], "noise": [0.0] * 3})
    assert not model.explain(rows).contributions[:, :, -1].any()
    assert model.explain(xor.head(5)).contributions[:, :, -1].any()


def test_records_and_files_predict_the_same(xor, tmp_path):
    model = sr.NaiveBayes(interactions="auto").fit(xor, "label")
    rows = xor.drop(columns="label").head(30)
    expected = model.predict_proba(rows)
    for i, record in enumerate(rows.to_dict("records")):
        assert model.predict_proba(record)[0] == pytest.approx(expected[i], abs=1e-14)
    model.save(tmp_path / "m.sunrise")
    loaded = sr.load(tmp_path / "m.sunrise")
    assert loaded.interactions_ == model.interactions_
    assert np.array_equal(loaded.predict_proba(rows), expected)


def test_explanations_sum_to_the_score(xor):
    model = sr.NaiveBayes(interactions="auto").fit(xor, "label")
    explained = model.explain(xor.head(40))
    assert explained.columns[-1] == "a × b"  # noqa: RUF001
    first = xor.dropna().iloc[[0]]
    told = f"a × b = {first['a'].iloc[0]} and {first['b'].iloc[0]:g}, beyond each alone"  # noqa: RUF001
    assert told in model.explain(first).text()
    score = model.predict_joint_log_proba(xor.head(40))
    assert explained.score == pytest.approx(score, abs=1e-12)


def test_densities_draws_and_bits_are_of_the_columns_alone(xor):
    alone = sr.NaiveBayes(FAMILIES).fit(xor, "label")
    paired = sr.NaiveBayes(FAMILIES, interactions="auto").fit(xor, "label")
    assert paired.interactions_
    rows = xor.drop(columns="label").head(20)
    assert paired.score_samples(rows) == pytest.approx(alone.score_samples(rows))
    assert np.asarray(paired.mutual_information()) == pytest.approx(np.asarray(alone.mutual_information()))
    assert paired.log_evidence_ == pytest.approx(alone.log_evidence_)
    drawn = [model.sample(5, random_state=0)[0] for model in (alone, paired)]
    pd.testing.assert_frame_equal(*drawn)
    assert paired.parameters_.keys() == alone.parameters_.keys()


def test_selection_drops_the_pairs_of_dropped_columns(xor):
    model = sr.NaiveBayes(interactions=[("a", "b"), ("a", "noise")]).fit(xor, "label")
    fewer = model.select(2)
    used = {name for name, family in fewer.fixed_families_.items() if family is not None}
    assert len(used) == 2
    assert [own for own in model.interactions_ if used.issuperset(own.columns)] == list(fewer.interactions_)
    assert np.isfinite(fewer.predict_log_proba(xor)).all()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([("a", "c")], "column 'c', which the table does not have"),
        ([("a",)], "a pair of two columns"),
        ([("a", "a")], "a pair of two columns"),
    ],
)
def test_bad_pairs_are_refused(xor, given, text):
    with pytest.raises(ValueError, match=text):
        sr.NaiveBayes(interactions=given).fit(xor, "label")


def test_pairs_of_text_are_refused():
    table = {"text": [f"word{k} and more words {k % 7}" for k in range(60)], "x": [k % 9 for k in range(60)]}
    with pytest.raises(ValueError, match="text or part of a joint block"):
        sr.NaiveBayes({"text": "text"}, interactions=[("text", "x")]).fit(table, ["p", "q"] * 30)


def test_models_with_other_interactions_can_be_compared(xor):
    one = sr.NaiveBayes(interactions="auto").fit(xor, "label")
    two = sr.NaiveBayes(one.fixed_families_, interactions=None).fit(xor, "label")
    assert sr.compare(one, two)["bits"].max() == pytest.approx(0.0, abs=1e-12)


def test_native_slopes_are_derivatives_of_the_log_likelihood():
    """Differences of the log-likelihood of every fold, with lifts that are counted anew without each row."""
    rng = np.random.default_rng(7)
    n, n_classes = 90, 3
    a, b = rng.integers(-1, 3, n).astype(np.int32), rng.integers(-1, 4, n).astype(np.int32)
    y, weight = rng.integers(0, n_classes, n).astype(np.int32), rng.uniform(0.5, 2.0, n)
    p, fold = rng.dirichlet(np.ones(n_classes), n), rng.integers(0, 5, n).astype(np.int32)
    lifts = np.zeros((n, n_classes))
    for i in np.flatnonzero((a >= 0) & (b >= 0)):
        both = (a >= 0) & (b >= 0)
        for c in range(n_classes):
            rest = both & (y == c) & (np.arange(n) != i)
            n_c, n_a, n_b = (weight[rest & m].sum() for m in (both, a == a[i], b == b[i]))
            n_ab = weight[rest & (a == a[i]) & (b == b[i])].sum()
            share = (n_a + 1) / (n_c + 3) * (n_b + 1) / (n_c + 4)
            lifts[i, c] = np.log((n_ab / share + 6) / (n_c + 6))

    def log_likelihood(v, k):
        logs = np.log(p) + v * lifts
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return (weight * logs[np.arange(n), y])[fold == k].sum()

    rows = np.arange(n)
    first, second = _native.pair_slopes([a, b], [3, 4], y, weight, rows, p, fold, [(0, 1)], 5, n_classes, 1)
    h = 1e-4
    for k in range(5):
        low, middle, high = (log_likelihood(v, k) for v in (-h, 0.0, h))
        assert first[k] == pytest.approx((high - low) / (2 * h), rel=1e-5, abs=1e-7)
        assert second[k] == pytest.approx(-(high - 2 * middle + low) / h**2, rel=1e-4, abs=1e-5)


def test_the_summary_says_that_pairs_of_some_columns_were_searched():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 130)) + 0.3 * y[:, None]
    wide = sr.NaiveBayes("gaussian", calibrate="columns").fit(X, y)
    assert "pairs searched among the 128 columns whose scores vary most" in repr(wide)
    assert "searched" not in repr(sr.NaiveBayes("gaussian", calibrate="columns").fit(X[:, :128], y))
    given = sr.NaiveBayes("gaussian", calibrate="columns", interactions=None).fit(X, y)
    assert "searched" not in repr(given)
