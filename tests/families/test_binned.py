"""Numbers cut into bins: shares in exact fractions, edges by the first data, every way to read a column."""

from __future__ import annotations

import json
import pickle
import warnings
from fractions import Fraction
from math import lgamma, log

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from hypothesis import given
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import KBinsDiscretizer
from sunrise import Binned, Categorical, CategoricalNB, engines

RNG = np.random.default_rng(5)

every_way = pytest.mark.parametrize("how", ["frequency", "width", "mdl", "proportional"])


def two_columns(n=120, seed=0, missing=0.1):
    """A column of two humps and a skewed one, of three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    humps = rng.choice([-1.0, 1.0], n) * (1.0 + y) + rng.normal(size=n) / 2
    X = np.round(np.column_stack([humps, rng.exponential(1.0 + y)]), 2)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.array(["a", "b", "c"])[y]


# What a bin is worth


def share(x, y, label, cell, edges, alpha=Fraction(1)):
    """P(bin | label) by the definition, all bins possible."""

    def place(v):
        return sum(v >= edge for edge in edges)

    own = [place(v) for v, of in zip(x, y, strict=True) if of == label and not np.isnan(v)]
    return (own.count(place(cell)) + alpha) / (len(own) + alpha * (len(edges) + 1))


@given(
    rows=st.lists(st.tuples(st.integers(-3, 8), st.sampled_from("ab")), min_size=1, max_size=20),
    edges=st.lists(st.integers(-4, 9), max_size=5, unique=True).map(sorted),
    cell=st.integers(-9, 14),
    alpha=st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3)]),
)
def test_a_bin_is_worth_its_share_of_a_dirichlet(rows, edges, cell, alpha):
    x, y = [float(v) for v, _ in rows], [label for _, label in rows]
    model = NaiveBayes(Binned(edges, alpha=float(alpha))).fit({"x": x}, y)
    joint = {c: Fraction(y.count(c), len(y)) * share(x, y, c, cell, edges, alpha) for c in sorted(set(y))}
    expected = [float(p / sum(joint.values())) for p in joint.values()]
    np.testing.assert_allclose(model.predict_proba({"x": [cell]})[0], expected, rtol=1e-12)
    if len(set(x)) == 1 and not edges:
        return  # a single value without any edge has no range
    # The density adds up to the probability of the bin: Gauss-Legendre between all places where it may jump.
    low = max((float(edge) for edge in edges if edge <= cell), default=-1500.0)
    high = min((float(edge) for edge in edges if edge > cell), default=1500.0)
    grid = np.arange(-40.0, 40.5, 0.5)
    ends = np.unique(
        np.concatenate([grid, np.geomspace(40, 1500, 60), -np.geomspace(40, 1500, 60), [low, high]])
    )
    ends = ends[(ends >= low) & (ends <= high)]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half, middle = np.diff(ends)[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
    density = np.exp(model.score_samples({"x": (middle + half * nodes).ravel()})).reshape(len(half), -1)
    assert (half * weights * density).sum() == pytest.approx(float(sum(joint.values())), rel=1e-9)


@pytest.mark.parametrize("edges", ["frequency", "width", "mdl", [0.0], [-9.0, 9.0]])
def test_the_density_of_a_binned_column_falls_beyond_the_data(edges):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = rng.normal(y, 1.0)
    model = NaiveBayes(Binned(edges)).fit({"x": x}, y)
    for side in (-1.0, 1.0):
        end = np.abs(x[np.sign(x) == side]).max() if np.isscalar(edges) or edges == [0.0] else 10.0
        far = model.score_samples({"x": side * (end + np.array([0.01, 1.0, 3.0, 10.0, 100.0]))})
        assert (np.diff(far) < 0).all() and far[-1] < model.score_samples({"x": x}).min() - 5.0


def test_a_bin_no_row_fell_into_keeps_its_share():
    model = NaiveBayes(Binned([0, 1, 2])).fit({"x": [-1.0, 0.5, 5.0, 5.0]}, list("aabb"))
    assert list(model.parameters_["x"]) == ["below 0", "0 to 1", "1 to 2", "2 and more"]
    np.testing.assert_allclose(model.parameters_["x"]["1 to 2"], [1 / 6, 1 / 6])
    np.testing.assert_allclose(sum(model.parameters_["x"].values()), 1.0)


@pytest.mark.parametrize("edges", ["frequency", "width"])
def test_it_is_a_discretizer_before_categories(edges):
    X, y = load_iris(return_X_y=True)
    X = X + RNG.normal(size=X.shape) / 1e3  # no ties, which discretizers part
    strategy = {"frequency": "quantile", "width": "uniform"}[edges]
    bins = KBinsDiscretizer(6, encode="ordinal", strategy=strategy, quantile_method="averaged_inverted_cdf")
    codes = bins.fit_transform(X)
    twin = CategoricalNB(min_categories=6).fit(codes, y)
    model = NaiveBayes(Binned(edges, 6)).fit(X, y)
    same = np.mean(model.predict(X) == twin.predict(codes))
    assert same > 0.97  # a cut lies halfway between cells, not on one of them
    if edges == "width":
        np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(codes), rtol=1e-9)


def test_a_column_that_is_not_cut_says_nothing():
    y = np.repeat([0, 1], 50)
    X = {"noise": RNG.permutation(100.0 * np.ones(100).cumsum() % 97), "told": np.arange(100.0)}
    model = NaiveBayes(Binned("mdl")).fit(X, y)
    assert model.fixed_families_["noise"].cuts[0].edges == ()
    alone = NaiveBayes(Binned("mdl")).fit({"told": X["told"]}, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba({"told": X["told"]}))
    np.testing.assert_allclose(model.mutual_information()[0], 0.0, atol=1e-12)
    assert model.parameters_["noise"]["any"].tolist() == [1.0, 1.0]


def test_bins_are_the_levels_of_categories_in_everything():
    X, y = two_columns()
    edges = [-1.0, 0.0, 1.0]
    cells = {"x": X[:, 0]}
    codes = [None if np.isnan(v) else "wxyz"[sum(v >= e for e in edges)] for v in X[:, 0]]
    model = NaiveBayes(Binned(edges, alpha=0.7)).fit(cells, y)
    twin = NaiveBayes(Categorical(0.7), unseen="ignore").fit({"x": codes}, y)
    np.testing.assert_allclose(
        model.predict_log_proba(cells), twin.predict_log_proba({"x": codes}), rtol=1e-12
    )
    np.testing.assert_allclose(
        model.leave_one_out(cells, y), twin.leave_one_out({"x": codes}, y), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(model.mutual_information(), twin.mutual_information(), rtol=1e-12)
    np.testing.assert_allclose(model.log_evidence_, twin.log_evidence_, rtol=1e-12)
    for one, two in ((model.posterior_, twin.posterior_), (model.prior_, twin.prior_)):
        np.testing.assert_allclose(one["x"].concentration, two["x"].concentration)
    drawn = [m.interval(rows, random_state=0) for m, rows in ((model, cells), (twin, {"x": codes}))]
    np.testing.assert_allclose(*drawn, atol=0.02)


def test_evidence_and_the_alpha_it_chooses():
    X, y = two_columns(60)
    model = NaiveBayes(Binned([-1.0, 0.0, 1.0], alpha="evidence")).fit(X, y)
    (chosen,) = model.chosen_.values()

    def evidence(alpha):
        total = 0.0
        for j in range(2):
            bins = np.digitize(X[:, j], [-1.0, 0.0, 1.0])[~np.isnan(X[:, j])]
            for c in "abc":
                n = np.bincount(bins[y[~np.isnan(X[:, j])] == c], minlength=4)
                total += lgamma(4 * alpha) - lgamma(4 * alpha + n.sum())
                total += sum(lgamma(alpha + k) - lgamma(alpha) for k in n)
        return total

    best = max(np.geomspace(1e-3, 1e3, 4001), key=evidence)
    assert chosen.value == pytest.approx(best, rel=0.01)
    columns = sum(part.sum() for part in model.log_evidence_.columns.values())
    assert columns == pytest.approx(evidence(chosen.value), rel=1e-10)


def test_what_adds_up_adds_up():
    X, y = two_columns()
    model = NaiveBayes("binned").fit(X, y)
    told = model.explain(X)
    np.testing.assert_allclose(told.score, model.predict_joint_log_proba(X), rtol=1e-12)
    assert "x0 = " in told.text(0)
    complete = X[~np.isnan(X).any(axis=1)]
    line = model.to_linear()
    np.testing.assert_allclose(line.decision(complete), model.predict_joint_log_proba(complete), rtol=1e-12)
    assert any(name.startswith("x0=below") for name in line.feature_names)


def test_cells_are_drawn_evenly_from_their_bins():
    X = {"x": np.array([0.0, 1.0, 2.0, 3.0, 8.0, 9.0])}
    model = NaiveBayes(Binned([1.5, 5.0])).fit(X, ["a"] * 6)
    x = np.array(model.sample(20_000, random_state=0)[0]["x"])
    assert x.min() >= 0.0 and x.max() <= 9.0
    p = [float(share(X["x"], ["a"] * 6, "a", v, [1.5, 5.0])) for v in (0, 2, 9)]
    assert stats.chisquare(np.histogram(x, [0.0, 1.5, 5.0, 9.0])[0], 20_000 * np.array(p)).pvalue > 0.01
    inside = x[(x > 1.5) & (x < 5.0)]
    assert stats.kstest(inside, stats.uniform(1.5, 3.5).cdf).pvalue > 0.01


def test_yes_and_no_are_drawn_as_such():
    model = NaiveBayes("binned").fit({"b": [True, False, True, True] * 20}, list("aabb") * 20)
    rows, labels = model.sample(4000, random_state=0)
    yes, labels = np.array(rows["b"]), np.array(labels)
    assert set(rows["b"]) == {True, False}
    for label, cells in (("a", [1, 0]), ("b", [1, 1])):
        p = (20 * sum(cells) + 1) / 42
        assert yes[labels == label].mean() == pytest.approx(p, abs=0.04)


# The first data decide the edges


@every_way
def test_later_rows_go_by_the_edges_of_the_first(how):
    X, y = two_columns(300)
    model = NaiveBayes(Binned(how, 6)).fit(X[:100], y[:100])
    fixed = model.fixed_families_
    model.partial_fit(X[100:] * 3, y[100:])
    whole = NaiveBayes(fixed).fit(np.vstack([X[:100], X[100:] * 3]), y)
    np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    model.forget(X[100:] * 3, y[100:])
    first = NaiveBayes(Binned(how, 6)).fit(X[:100], y[:100])
    np.testing.assert_allclose(model.predict_log_proba(X), first.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    merged = first + NaiveBayes(fixed).fit(X[100:] * 3, y[100:])
    np.testing.assert_allclose(
        merged.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-12, atol=1e-12
    )
    model.forget(X[:100], y[:100])
    assert not hasattr(model, "fixed_families_")


def test_one_column_alone_keeps_its_edges_too():
    X, y = two_columns(200)
    model = NaiveBayes("binned").fit(X[:100, :1], y[:100]).partial_fit(5 * X[100:, :1], y[100:])
    first = NaiveBayes("binned").fit(X[:100, :1], y[:100])
    assert model.fixed_families_[0].cuts == first.fixed_families_[0].cuts
    assert (NaiveBayes("binned").merge(first)).fixed_families_[0].cuts == model.fixed_families_[0].cuts


def test_a_column_that_was_missing_at_first_is_not_cut():
    X, y = two_columns(1000, missing=0.0)
    blind = np.column_stack([X[:, 0], np.full(1000, np.nan)])
    with pytest.warns(sr.FirstBatchWarning, match="1000 rows fix families and bin edges.* for example 1"):
        model = NaiveBayes("binned").partial_fit(blind, y)
    model.partial_fit(X, y)
    given = NaiveBayes({0: model.fixed_families_[0], 1: None}).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_allclose(model.predict_log_proba(X), given.predict_log_proba(X), rtol=1e-12)
    assert len(model.sample(3, random_state=0)[0][1]) == 3


def test_models_of_other_edges_are_not_merged_and_told_why():
    X, y = two_columns(300, missing=0.0)
    frame = pd.DataFrame(X, columns=["humps", "skewed"])
    first, second = (NaiveBayes("binned").fit(frame[some], y[some]) for some in (slice(150), slice(150, 300)))
    with pytest.raises(ValueError, match=r"column 'humps': binned at .* is not binned at .*fixed_families_"):
        first + second
    third = NaiveBayes(first.fixed_families_).fit(frame[150:][["skewed", "humps"]], y[150:])
    whole = NaiveBayes(first.fixed_families_).fit(frame, y)
    np.testing.assert_allclose((first + third).predict_log_proba(frame), whole.predict_log_proba(frame))
    given = [Binned(first.fixed_families_[name].cuts[0].edges) for name in frame]
    fourth = NaiveBayes(dict(zip(frame, given, strict=True))).fit(frame[150:], y[150:])
    np.testing.assert_allclose((first + fourth).predict_log_proba(frame), whole.predict_log_proba(frame))


def test_other_settings_of_the_edges_need_another_fit_and_alpha_does_not():
    X, y = two_columns(200)
    model = NaiveBayes(Binned("width", 8)).fit(X, y)
    model.set_params(families=Binned("width", 5))
    with pytest.raises(ValueError, match="settings that have changed: column 0 was binned at"):
        model.partial_fit(X, y)
    model.set_params(families=Binned("width", 8, alpha=0.5)).partial_fit(X, y)
    again = NaiveBayes(Binned("width", 8, alpha=0.5)).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_allclose(model.predict_log_proba(X), again.predict_log_proba(X), rtol=1e-12)


def test_given_edges_may_take_the_place_of_those_that_were_found():
    X, y = two_columns(200)
    model = NaiveBayes({0: Binned("mdl", bins=3), 1: "gaussian"}).fit(X, y)
    edges = model.fixed_families_[0].cuts[0].edges
    expected = NaiveBayes({0: Binned(edges), 1: "gaussian"}).fit(np.vstack([X, X]), np.append(y, y))
    for family in (Binned(edges), Binned("mdl")):
        model.set_params(families={0: family, 1: "gaussian"})
        found = pickle.loads(pickle.dumps(model)).partial_fit(X, y).predict_log_proba(X)
        np.testing.assert_allclose(found, expected.predict_log_proba(X), rtol=1e-10)


def test_columns_of_one_recipe_are_one_block_each_with_its_edges():
    X, y = two_columns()
    frame = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] * 2 + X[:, 1]}
    together = NaiveBayes("binned").fit(frame, y)
    apart = NaiveBayes({name: Binned() for name in frame}).fit(frame, y)
    other = NaiveBayes({"a": Binned(bins=10), ("b", "c"): Binned()}).fit(frame, y)
    assert [len(m._model.parts) for m in (together, apart, other)] == [1, 1, 2]
    for model in (apart, other):
        np.testing.assert_allclose(
            model.predict_log_proba(frame), together.predict_log_proba(frame), rtol=1e-12
        )
        assert model.fixed_families_.keys() == frame.keys()
        again = NaiveBayes(model.fixed_families_).fit(frame, y)
        np.testing.assert_allclose(again.predict_log_proba(frame), together.predict_log_proba(frame))


def test_each_column_may_have_its_alpha():
    X, y = two_columns()
    frame = {"a": X[:, 0], "b": X[:, 1]}
    both = NaiveBayes({("a", "b"): Binned(alpha=[0.5, 2.0])}).fit(frame, y)
    each = NaiveBayes({"a": Binned(alpha=0.5), "b": Binned(alpha=2.0)}).fit(frame, y)
    np.testing.assert_allclose(both.predict_log_proba(frame), each.predict_log_proba(frame), rtol=1e-12)
    again = NaiveBayes(both.fixed_families_).fit(frame, y)
    np.testing.assert_allclose(again.predict_log_proba(frame), each.predict_log_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("named", [False, True])
def test_a_smaller_model_keeps_the_edges_of_its_columns(named):
    X, y = two_columns(200)
    X = np.column_stack([RNG.normal(size=200), X])
    X = pd.DataFrame(X, columns=list("pqr")) if named else X
    model = NaiveBayes("binned").fit(X, y)
    small = model.select(2)
    alone = NaiveBayes({(0 if not named else "p"): None} | dict.fromkeys("qr" if named else (1, 2), "binned"))
    alone.fit(X, y)
    np.testing.assert_allclose(small.predict_log_proba(X), alone.predict_log_proba(X), rtol=1e-12)
    small.partial_fit(X, y).forget(X, y)
    np.testing.assert_allclose(small.predict_log_proba(X), alone.predict_log_proba(X), rtol=1e-12)


@every_way
@given(
    seed=st.integers(0, 999), factor=st.sampled_from([1e-6, 0.37, 1e4]), shift=st.sampled_from([0.0, -3.0])
)
def test_weights_are_rows_and_units_do_not_matter(how, seed, factor, shift):
    X, y = two_columns(40, seed)
    w = np.random.default_rng(seed).integers(0, 4, 40)
    again = np.random.default_rng(seed).permutation(np.repeat(np.arange(40), w))
    weighted = NaiveBayes(Binned(how, 5)).fit(X * factor + shift, y, sample_weight=w.astype(float))
    repeated = NaiveBayes(Binned(how, 5)).fit(X[again], y[again])
    np.testing.assert_allclose(
        weighted.predict_log_proba(X[w > 0] * factor + shift), repeated.predict_log_proba(X[w > 0]), rtol=1e-9
    )


def test_edges_are_found_again_until_a_thousand_rows():
    X, y = two_columns(1100)
    model = NaiveBayes("binned")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in range(0, 1100, 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100])
    first = NaiveBayes("binned").fit(X[:1000], y[:1000])
    assert model.fixed_families_[1].cuts == first.fixed_families_[1].cuts
    given = NaiveBayes(Binned([0.0, 1.0])).partial_fit(X, y)
    assert "kept" not in repr(given)


def test_supervised_edges_see_nothing_but_the_fitted_rows():
    X, y = two_columns(200)
    model = NaiveBayes(Binned("mdl")).fit(X[:150], y[:150])
    before = pickle.dumps(model.fixed_families_)
    model.predict(X[150:])
    model.leave_one_out(X[:150], y[:150])
    model.score(X[150:], y[150:])
    assert pickle.dumps(model.fixed_families_) == before


# Every way to read a column


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X.astype(np.float32), lambda X: X.astype(np.int64), lambda X: np.asfortranarray(X),
        lambda X: X[::-1][::-1], lambda X: X.tolist(), lambda X: pd.DataFrame(X), lambda X: pl.DataFrame(X),
        lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}), lambda X: pd.DataFrame(X.astype("i2")).astype("Int16"),
        lambda X: {0: X[:, 0].astype(object), 1: list(X[:, 1])}, lambda X: sparse.csr_array(X),
        lambda X: sparse.csc_array(X),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", engines.ENGINES)
def test_every_kind_of_table_is_read_alike(make, engine):
    X, y = RNG.integers(-5, 9, (90, 2)).astype(float), RNG.integers(0, 3, 90)
    expected = NaiveBayes("binned").fit(X, y).predict_log_proba(X)
    with engines.using(engine):
        model = NaiveBayes("binned").fit(make(X), y)
        np.testing.assert_allclose(model.predict_log_proba(make(X)), expected, rtol=1e-12)
        model.partial_fit(make(X), y).forget(make(X), y)
        np.testing.assert_allclose(model.predict_log_proba(make(X)), expected, rtol=1e-12)
        np.testing.assert_allclose(
            model.leave_one_out(make(X), y), NaiveBayes("binned").fit(X, y).leave_one_out(X, y), rtol=1e-12
        )


def test_float32_cells_and_edges_of_float64_agree():
    x = np.array([0.1, 0.2, 0.3, 0.7], np.float32)[RNG.integers(0, 4, 200)][:, None]
    y = RNG.integers(0, 2, 200)
    one, two = (NaiveBayes("binned").fit(cells, y).predict_log_proba(cells) for cells in (x, x.astype(float)))
    np.testing.assert_array_equal(one, two)


def test_missing_cells_are_left_out_and_counted():
    X, y = two_columns(missing=0.3)
    model = NaiveBayes("binned").fit({"a": X[:, 0], "b": X[:, 1]}, y)
    alone = NaiveBayes("binned").fit({"a": X[:, 0]}, y)
    rows = {"a": X[:, 0], "b": [None] * len(y)}
    np.testing.assert_allclose(model.predict_log_proba(rows), alone.predict_log_proba({"a": X[:, 0]}))
    assert model.check({"a": [1e9, None], "b": [-1e9, 3.0]}) == {
        "a": {"missing": 1, "unseen": 0, "impossible": 0},
        "b": {"missing": 0, "unseen": 0, "impossible": 0},
    }


def test_beyond_the_data_are_the_outermost_bins():
    X, y = two_columns(missing=0.0)
    model = NaiveBayes("binned").fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    np.testing.assert_array_equal(
        model.predict_log_proba([low - 1e9, high + 1e9]), model.predict_log_proba([low, high])
    )


def test_a_model_survives_pickling_and_cloning():
    X, y = two_columns()
    model = NaiveBayes(Binned("mdl", alpha="evidence")).fit(X, y)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_log_proba(X), model.predict_log_proba(X))
    twin = clone(NaiveBayes(model.fixed_families_)).fit(X[::-1], y[::-1])
    np.testing.assert_allclose(twin.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-12)


def test_it_mixes_and_calibrates():
    X, y = two_columns(300)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "hair": np.where(X[:, 1] > 1, "long", "short")})
    for kind in ("temperature", "columns"):
        model = NaiveBayes({"a": "binned", "b": "auto-fast"}, calibrate=kind).fit(frame, y)
        assert model.score(frame, y) > 0.6
    assert model.families_["family"].tolist() == ["binned", "gaussian", "categorical"]


@pytest.mark.parametrize("n_classes", [1, 2])
def test_one_row_one_class_one_column(n_classes):
    model = NaiveBayes("binned").fit([[1.0]] * n_classes, list(range(n_classes)))
    np.testing.assert_allclose(model.predict_proba([[7.0]]), 1.0 / n_classes)


# Errors


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"bins": 0}, "bins is 0; it must be a whole number, 1 or more"),
        ({"bins": 2.5}, "bins is 2.5"),
        ({"bins": True}, "bins is True"),
        ({"edges": "quantile"}, "edges is 'quantile'; it must be one of 'frequency'"),
        ({"edges": "frequencies"}, "Is it 'frequency'"),
        ({"edges": [1.0, 1.0]}, "edges must increase: 1 comes after 1"),
        ({"edges": [2.0, 3.0, 1.0]}, "edges must increase: 1 comes after 3"),
        ({"edges": [1.0, np.nan]}, "edges holds nan: an edge must be finite"),
        ({"edges": [1.0, np.inf]}, "edges holds inf"),
        ({"edges": [[1.0, 2.0]]}, r"edges has shape \(1, 2\)"),
        ({"edges": ["a"]}, r"edges is \['a'\]"),
        ({"edges": 3.0}, r"edges has shape \(\)"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": {"0": 1.0}}, "alpha is given by level, and bins have no level names"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Binned(**settings)


def test_cells_that_are_no_numbers_are_refused_by_name():
    y = ["a", "b"]
    with pytest.raises(ValueError, match="column 'hair' holds text .*binned takes numbers"):
        NaiveBayes("binned").fit({"hair": ["long", "short"]}, y)
    with pytest.raises(ValueError, match="infinity: inf in .*'x'"):
        NaiveBayes("binned").fit({"x": [1.0, np.inf]}, y)
    model = NaiveBayes("binned").fit({"x": [1.0, 2.0]}, y)
    with pytest.raises(ValueError, match="infinity: -inf in .*'x'"):
        model.predict({"x": [-np.inf]})
    with pytest.raises(ValueError, match="infinity"):
        NaiveBayes("binned").fit([[1.0], [np.inf]], y)
    with pytest.raises(ValueError, match="3 elements instead of 2"):
        NaiveBayes(Binned(alpha=[1.0, 2.0, 3.0])).fit([[1.0, 2.0], [2.0, 1.0]], y)
    NaiveBayes("binned").fit({"x": [1.0, 2.0, np.inf]}, [*y, "b"], sample_weight=[1.0, 1.0, 0.0])


def test_rows_that_were_never_fitted_are_not_forgotten():
    model = NaiveBayes(Binned([0.0])).fit({"x": [-1.0, 1.0]}, ["a", "b"])
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget({"x": [1.0]}, ["a"])
    assert log(model.predict_proba({"x": [-1.0]})[0, 0]) == pytest.approx(log(2 / 3))


# Real tables


@pytest.mark.parametrize(
    "table, gauss, bins",
    [("mlbench-Glass", 0.53, 0.68), ("mlbench-Vehicle", 0.46, 0.60), ("spambase", 0.83, 0.87)],
)
def test_ten_bins_are_better_than_one_hump_where_there_are_several(find_data, table, gauss, bins):
    about = json.loads(find_data("tables/schema.json").read_text())[table]
    frame = pd.read_csv(find_data(f"tables/{about['file']}"))
    y, X = frame[about["target"]].to_numpy(), frame.drop(columns=about["target"])
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))

    def right(family):
        model = NaiveBayes(family)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sr.DuplicateColumnsWarning)
            found = [model.fit(X.iloc[a], y[a]).predict(X.iloc[b]) == y[b] for a, b in folds]
        return np.concatenate(found).mean()

    assert right("gaussian") < gauss < bins < right("binned")
