"""Settings of families: checked, changed between batches, carried from model to model, kept with their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from plain import NaiveBayes
from sunrise import KernelNB

RNG = np.random.default_rng(7)


N = 200


Y = RNG.integers(0, 2, N)


X = pd.DataFrame({"a": RNG.normal(size=N) + 10 + Y, "b": RNG.normal(size=N)})


def test_the_prior_stays_where_a_complement_is_one_block_of_several():
    y = (np.arange(N) % 8 == 0).astype(int)
    counts = {name: RNG.poisson(3, N) for name in "abc"}
    both = NaiveBayes({("a", "b", "c"): "complement"}).fit(counts | {"x": X["b"].to_numpy()}, y)
    numbers = NaiveBayes().fit({"x": X["b"].to_numpy()}, y)
    words = NaiveBayes({("a", "b", "c"): "complement"}).fit(counts, y)
    table = counts | {"x": X["b"].to_numpy()}
    np.testing.assert_allclose(
        both.predict_joint_log_proba(table),
        numbers.predict_joint_log_proba({"x": table["x"]}) + words.predict_joint_log_proba(counts),
        rtol=1e-12,
    )


@pytest.mark.parametrize("family", ["poisson", "geometric", "gaussian", "exponential", "gamma", "lognormal"])
def test_a_class_without_cells_is_neither_favoured_nor_ruled_out(family):
    counts = np.append(RNG.poisson(30, 300) + 1.0, [np.nan] * 100)
    y = np.append(np.arange(300) % 2, [2] * 100)
    model = NaiveBayes(family).fit({"n": counts}, y)
    odds = model.predict_proba({"n": [30.0]})[0]
    assert 0.3 < odds[2] / model.class_prior_[2] < 3.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: sr.Poisson(-5.0),
        lambda: sr.Poisson("a"),
        lambda: sr.Geometric(-3.0),
        lambda: sr.Exponential(prior_shape=-5.0),
        lambda: sr.Gaussian(var_smoothing=-1.0),
        lambda: sr.Poisson(np.inf),
        lambda: sr.Categorical(alpha=-1.0),
    ],
)
def test_priors_that_are_none_are_refused(make):
    with pytest.raises(ValueError, match=r"must be|0 or more"):
        make()


def test_settings_may_change_but_not_what_shaped_the_statistics():
    table = {f"w{j}": RNG.poisson(2, 50) for j in range(3)}
    y = np.arange(50) % 2
    block = tuple(table)
    model = NaiveBayes({block: sr.Multinomial(alpha=1.0)}).fit(table, y)
    model.set_params(families={block: sr.Multinomial(alpha=5.0)}).partial_fit(table, y)
    twice = {name: np.append(column, column) for name, column in table.items()}
    fresh = NaiveBayes({block: sr.Multinomial(alpha=5.0)}).fit(twice, np.append(y, y))
    np.testing.assert_allclose(model.predict_log_proba(table), fresh.predict_log_proba(table), rtol=1e-12)
    with pytest.raises(ValueError, match="settings that have changed: column 'w0' was multinomial"):
        model.set_params(families=dict.fromkeys(block, "poisson")).partial_fit(table, y)


def test_families_with_long_arrays_are_told_apart():
    a, b = np.ones(2000), np.ones(2000)
    b[1000] = 500.0
    from sunrise.model.schema import _settings_key

    assert repr(a) == repr(b) and _settings_key(sr.Multinomial(alpha=a)) != _settings_key(
        sr.Multinomial(alpha=b)
    )


def test_families_go_from_model_to_model():
    table = pd.DataFrame(
        {
            "id": np.arange(100),
            "k": ["a", "b"] * 50,
            "w0": RNG.poisson(2, 100),
            "w1": RNG.poisson(2, 100),
            7: 0.5,
        }
    )
    y = RNG.integers(0, 2, 100)
    families = {("w0", "w1"): "multinomial", "k": sr.Categorical(alpha=10.0)}
    model = NaiveBayes(families).fit(table, y)
    assert model.fixed_families_["id"] is None and model.fixed_families_["w0", "w1"].name == "multinomial"
    again = NaiveBayes(model.fixed_families_).fit(table, y)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    halves = [NaiveBayes(model.fixed_families_).fit(table[k::2], y[k::2]) for k in (0, 1)]
    np.testing.assert_allclose(sum(halves).predict_proba(table), model.predict_proba(table), rtol=1e-12)
    for kind in (table.to_numpy()[:, 2:4].astype(int), pd.DataFrame(RNG.normal(size=(100, 2)))):
        twin = NaiveBayes(NaiveBayes().fit(kind, y).fixed_families_).fit(kind, y)
        np.testing.assert_array_equal(twin.predict_proba(kind), NaiveBayes().fit(kind, y).predict_proba(kind))


def test_parameters_are_numbers_for_every_class():
    model = NaiveBayes().fit(X, RNG.integers(0, 5, N))
    assert model.parameters_["a"]["mean"].shape == (5,)
    constant = NaiveBayes("gamma").fit({"x": [2.0, 2.0]}, [0, 1])
    assert constant.parameters_["x"] == {}  # it says nothing, so it has none to show


def test_blocks_that_are_regrouped_keep_their_columns():
    one, two = sr.Gaussian(), sr.Gaussian(shared_variance=True)
    y = np.arange(60) % 2
    table = {name: RNG.normal(size=60) + mean for name, mean in zip("abcd", (0, 100, -50, 7), strict=True)}
    twice = {name: np.append(x, x) for name, x in table.items()}
    before = {"a": one, "b": one, "c": two, "d": two}
    for after in ({"a": one, "b": two, "c": one, "d": two}, {"a": one, "b": two, "c": two, "d": two}):
        model = NaiveBayes(before).fit(table, y).set_params(families=after).partial_fit(table, y)
        fresh = NaiveBayes(after).fit(twice, np.append(y, y))
        np.testing.assert_allclose(model.predict_log_proba(table), fresh.predict_log_proba(table), rtol=1e-9)
        model.forget(table, y)
        np.testing.assert_allclose(
            model.predict_log_proba(table),
            NaiveBayes(after).fit(table, y).predict_log_proba(table),
            rtol=1e-7,
        )
        merged = NaiveBayes(after).merge(NaiveBayes(before).fit(table, y))
        np.testing.assert_allclose(
            merged.predict_log_proba(table), NaiveBayes(after).fit(table, y).predict_log_proba(table)
        )


def test_settings_by_column_go_with_their_columns():
    table = {f"w{j}": RNG.poisson(2 + j * (np.arange(60) % 2), 60) for j in range(3)}
    y = np.arange(60) % 2
    model = NaiveBayes({tuple(table): sr.Multinomial(alpha=[1.0, 2.0, 3.0])}).fit(table, y)
    small = model.select(2)
    kept = [f"w{j}" for j in small.selected_]
    alpha = [1.0 + j for j in small.selected_]
    refit = NaiveBayes({tuple(kept): sr.Multinomial(alpha=alpha)}).fit({n: table[n] for n in kept}, y)
    np.testing.assert_allclose(
        small.predict_proba(table), refit.predict_proba({n: table[n] for n in kept}), rtol=1e-12
    )


def test_blocks_that_were_given_together_stay_together():
    table = {"a": RNG.normal(size=40), "b": RNG.normal(size=40) * 100}
    y = np.arange(40) % 2
    floor = sr.Gaussian(var_smoothing=0.1)
    for families in ({("a",): floor, ("b",): floor}, {("a", "b"): floor}, floor):
        model = NaiveBayes(families).fit(table, y)
        again = NaiveBayes(model.fixed_families_).fit(table, y)
        np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize(
    "wrong, meant", [("auto-slow", "auto-fast"), ("auto_fast", "auto-fast"), ("Auto", "auto")]
)
def test_misspelled_ways_to_choose_are_corrected(wrong, meant):
    for families in (wrong, {"x": wrong}):
        with pytest.raises(ValueError, match=f'Do you mean \'{meant}\'.*must be "auto", "auto-fast", one of'):
            NaiveBayes(families).fit({"x": [1.0, 2.0]}, [0, 1])


def test_kernels_with_different_grids_say_which():
    X, y = np.arange(20.0).reshape(10, 2), [0, 1] * 5
    plain, coarse, fine = (KernelNB(grid=g).fit(X, y) for g in (None, (0, 20, 10), (0, 20, 20)))
    grids = {10: r"kernel with grid=\(0.0, 20.0, 10\)", 20: r"kernel with grid=\(0.0, 20.0, 20\)"}
    remedy = "same families and settings \\(grid="
    with pytest.raises(ValueError, match=f"{grids[10]} .*is not {grids[20]} .*{remedy}"):
        coarse + fine
    with pytest.raises(ValueError, match=f"kernel \\(given for all columns\\) is not {grids[20]} .*{remedy}"):
        plain + fine
    with pytest.raises(
        ValueError, match=f"was {grids[10]} .*now kernel .*Use the settings of the first fit .*grid"
    ):
        coarse.set_params(grid=None).partial_fit(X, y)
