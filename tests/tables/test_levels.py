"""Levels: what a category never seen is worth, which ones are possible, and what a missing cell means."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import stats
from sunrise import (
    BernoulliNB,
    Categorical,
    CategoricalNB,
    MultinomialNB,
    PoissonNB,
    UnseenLevelsWarning,
)

#: A warning says so, and other tests look at it.
new_levels_allowed = pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")

HAIR = ["long", "long", "short", "bald", "short", None, "long", "short"]
Y = ["a", "a", "a", "b", "b", "b", "b", "a"]


def share(cells, labels, label, level, *, alpha=Fraction(1), possible=(), reserve=True):
    """P(level | label) by the definition: a share for any new level, the same in all classes; levels share the rest."""
    levels = {cell for cell in cells if cell is not None} | set(possible)
    n = sum(cell is not None for cell in cells)
    new = alpha / (n + (len(levels) + 1) * alpha) if reserve else Fraction(0)
    if level not in levels:
        return new
    own = [cell for cell, of in zip(cells, labels, strict=True) if of == label and cell is not None]
    return (1 - new) * (own.count(level) + alpha) / (len(own) + alpha * len(levels))


def joint_of(columns, labels, row, **settings):
    """P(label, row) as exact fractions, missing cells left out."""
    joint = {label: Fraction(labels.count(label), len(labels)) for label in sorted(set(labels))}
    for label in joint:
        for name, cells in columns.items():
            if row[name] is not None:
                joint[label] *= share(cells, labels, label, row[name], **settings)
    return list(joint.values())


def posterior(columns, labels, row, **settings):
    """P(label | row) by exact fractions, missing cells left out."""
    joint = joint_of(columns, labels, row, **settings)
    return [float(value / sum(joint)) for value in joint]


# A level that did not occur.


@new_levels_allowed
@pytest.mark.parametrize("level", ["long", "short", "bald", "curly", None])
def test_a_level_is_worth_its_share_and_a_new_one_the_same_in_every_class(level):
    model = NaiveBayes().fit({"hair": HAIR}, Y)
    expected = [float(p) for p in joint_of({"hair": HAIR}, Y, {"hair": level})]
    found = np.exp(model.predict_joint_log_proba({"hair": [level]})[0])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@new_levels_allowed
@pytest.mark.parametrize("estimate", ["mean", "map", "predictive"])
def test_new_levels_leave_what_the_other_columns_say(estimate):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(1000) < 10, "fraud", "fine")
    X = {
        "shop": rng.choice(list("abcd"), 1000),
        "town": rng.choice(list("uvw"), 1000),
        "x": rng.normal(size=1000),
    }
    families = {"shop": "categorical", "town": Categorical(alpha=0.3), "x": "gaussian"}
    model = NaiveBayes(families, estimate=estimate).fit(X, y)
    new = {"shop": "new", "town": "also new", "x": None}
    np.testing.assert_allclose(model.predict_proba(new)[0], [0.99, 0.01], rtol=1e-12)
    for shop in ("a", None):
        row = {"shop": shop, "town": None, "x": 0.4}
        np.testing.assert_allclose(
            model.predict_proba(row | {"town": "new"}), model.predict_proba(row), rtol=1e-12
        )


@new_levels_allowed
def test_eight_unknown_cells_are_not_evidence_of_a_rare_class():
    rng = np.random.default_rng(5)
    y = np.where(rng.random(3000) < 0.05, "hypothyroid", "negative")
    sick = y == "hypothyroid"
    X = {f"flag{j}": np.where(rng.random(3000) < np.where(sick, 0.3, 0.1), "t", "f") for j in range(8)}
    X["tsh"] = rng.normal(np.where(sick, 3.0, 0.0), 1.0)
    model = NaiveBayes(dict.fromkeys(X, "categorical") | {"tsh": "gaussian"}).fit(X, y)
    row = dict.fromkeys(X, "f") | {"tsh": 0.0}
    unknown = dict.fromkeys(X, "unknown") | {"tsh": 0.0}
    blank = dict.fromkeys(X) | {"tsh": 0.0}
    hypothyroid = model.classes_.tolist().index("hypothyroid")
    assert model.predict_proba(row)[0, hypothyroid] < 0.01
    np.testing.assert_allclose(model.predict_proba(unknown), model.predict_proba(blank), rtol=1e-10)


def test_probabilities_of_levels_and_of_a_new_one_add_up_to_one_with_any_alpha():
    x, y = {"k": list("uuvwwwvu"), "m": list("ababbbba")}, [0, 1] * 4
    by_class = [[0.5, 2.0], [1.5, 0.2]]
    for alpha in (0.3, 2.0, {"u": 5.0, "v": 0.1}, [0.7, 3.0], by_class, "evidence"):
        for estimate in ("mean", "map"):
            model = NaiveBayes(Categorical(alpha=alpha), estimate=estimate).fit(x, y)
            for levels in model.parameters_.values():
                np.testing.assert_allclose(sum(levels.values()), 1.0, rtol=1e-12)
                assert levels["(unseen)"][0] == levels["(unseen)"][1] > 0
    plain = NaiveBayes("categorical", estimate="mle").fit(x, y)
    assert plain.parameters_["k"]["(unseen)"].tolist() == [0.0, 0.0]


def test_an_alpha_by_class_reserves_by_its_mean():
    model = NaiveBayes(Categorical(alpha=[[0.5], [1.5]])).fit({"k": list("uuvw")}, [0, 1, 0, 1])
    assert model.parameters_["k"]["(unseen)"][0] == pytest.approx(1 / (4 + 4 * 1), rel=1e-15)


def test_the_reserve_is_a_number_in_draws_of_parameters():
    y = ["a"] * 6 + ["b"] * 2
    model = NaiveBayes().fit({"k": list("uuvwuvuv")}, y)
    family, block = model._model.parts[0].family, model._model.blocks[0]
    draws = family.sample_parameters(block, 4000, np.random.default_rng(0), np.ones(2))
    rho = Fraction(1, 8 + 4)
    np.testing.assert_allclose(np.exp(draws.log_unseen), float(rho), rtol=1e-14)
    np.testing.assert_allclose(np.exp(draws.log_level).sum(axis=1), float(1 - rho), rtol=1e-12)
    mean = np.exp(draws.log_level).reshape(4000, 2, 3).mean(axis=0)
    truth = [stats.dirichlet(counts).mean() * float(1 - rho) for counts in ([4, 3, 2], [2, 2, 1])]
    np.testing.assert_allclose(mean, truth, atol=0.01)


def test_merging_and_forgetting_keep_the_reserve_exact():
    cells, y = list("uuvwuvuvxx"), list("abababaabb")
    whole = NaiveBayes("categorical").fit({"k": cells[:8]}, y[:8])
    merged = NaiveBayes("categorical").fit({"k": cells[:3]}, y[:3])
    merged = merged + NaiveBayes("categorical").fit({"k": cells[3:8]}, y[3:8])
    forgotten = NaiveBayes("categorical").fit({"k": cells}, y).forget({"k": cells[8:]}, y[8:])
    for model in (merged, forgotten):
        for level, p in whole.parameters_["k"].items():
            np.testing.assert_array_equal(model.parameters_["k"][level], p)


@new_levels_allowed
def test_leaving_a_row_out_keeps_the_reserve():
    X, y = {"k": list("uuvwuv")}, list("aaabbb")
    model = NaiveBayes().fit(X, y)
    scores = model.leave_one_out(X, y)
    # Without row 0: a has u and v, b has u, v and w, all with one more of each of the 3 levels.
    odds = Fraction(2, 5) * Fraction(2, 5) / (Fraction(3, 5) * Fraction(2, 6))
    assert np.exp(scores[0, 0]) == pytest.approx(float(odds / (1 + odds)), rel=1e-14)


def test_every_unseen_level_is_worth_the_same():
    model = NaiveBayes().fit({"hair": HAIR}, Y)
    one = model.predict_proba({"hair": ["curly", "long"]})
    two = model.predict_proba({"hair": ["green", "long"]})
    np.testing.assert_array_equal(one, two)


@new_levels_allowed
def test_ignore_leaves_the_factor_out_and_reserves_nothing():
    model = NaiveBayes(unseen="ignore").fit({"hair": HAIR}, Y)
    np.testing.assert_allclose(model.predict_proba({"hair": ["curly"]})[0], [0.5, 0.5], rtol=1e-14)
    for level in ("long", "bald"):
        expected = posterior({"hair": HAIR}, Y, {"hair": level}, reserve=False)
        np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)


def test_error_names_column_level_and_row():
    model = NaiveBayes(unseen="error").fit({"hair": HAIR}, Y)
    expected = posterior({"hair": HAIR}, Y, {"hair": "long"}, reserve=False)
    np.testing.assert_allclose(model.predict_proba({"hair": ["long"]})[0], expected, rtol=1e-14)
    with pytest.raises(ValueError, match=r"'hair'.*'curly' in row 2.*unseen=\"ignore\""):
        model.predict({"hair": ["long", None, "curly"]})
    assert model.partial_fit({"hair": ["curly"]}, ["a"]).predict({"hair": ["curly"]}) == ["a"]


@new_levels_allowed
def test_a_family_may_have_its_own_way_with_unseen_levels():
    X = {"hair": HAIR, "eyes": HAIR}
    model = NaiveBayes({"eyes": Categorical(unseen="error")}).fit(X, Y)
    assert model.predict({"hair": ["curly"], "eyes": ["long"]}).shape == (1,)
    with pytest.raises(ValueError, match="'eyes'"):
        model.predict({"hair": ["long"], "eyes": ["curly"]})


@new_levels_allowed
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(3)])
def test_alpha_is_that_of_a_new_level_too(alpha):
    model = NaiveBayes(Categorical(alpha=float(alpha))).fit({"hair": HAIR}, Y)
    for level in ("long", "bald", "curly"):
        expected = posterior({"hair": HAIR}, Y, {"hair": level}, alpha=alpha)
        np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)


words = st.one_of(st.none(), st.sampled_from("uvwxyz"))


@new_levels_allowed
@given(
    rows=st.lists(st.tuples(words, words, st.sampled_from("ab")), min_size=1, max_size=15),
    asked=st.tuples(words, words),
    unseen=st.sampled_from(["reserve", "ignore"]),
)
def test_any_table_of_levels_agrees_with_exact_fractions(rows, asked, unseen):
    columns = {"p": [row[0] for row in rows], "q": [row[1] for row in rows]}
    labels = [row[2] for row in rows]
    model = NaiveBayes("categorical", unseen=unseen).fit(columns, labels)
    row = dict(zip("pq", asked, strict=True))
    for name, cells in columns.items():
        nothing = not any(cell is not None for cell in cells)
        if nothing or (unseen == "ignore" and row[name] not in cells):
            row[name] = None  # its factor is left out
    expected = posterior(columns, labels, row, reserve=unseen == "reserve")
    got = model.predict_proba({"p": asked[0], "q": asked[1]})
    np.testing.assert_allclose(got[0], expected, rtol=1e-12)


def test_no_warning_for_a_few_unseen_cells_and_one_for_most():
    model = NaiveBayes().fit({"hair": HAIR}, Y)
    model.predict({"hair": ["curly", "long"]})
    model.predict({"hair": ["curly", "long", None, None, "green", "bald"]})
    with pytest.warns(UnseenLevelsWarning, match=r"'hair': 2 of 3 cells.*'curly'.*filterwarnings"):
        model.predict({"hair": ["curly", "long", None, "green"]})


def test_one_warning_for_a_single_row_with_new_levels():
    names = [f"c{j}" for j in range(6)]
    families = dict.fromkeys(names, "categorical") | {
        "c0": Categorical(alpha=2.0),
        "c1": Categorical(alpha=0.5),
    }
    model = NaiveBayes(families).fit(dict.fromkeys(names, HAIR), Y)
    with pytest.warns(
        UnseenLevelsWarning, match=r"'c\d': 1 of 1 cells.*'new'.*likewise .* and 2 more"
    ) as caught:
        model.predict(dict.fromkeys(names, "new"))
    assert len(caught) == 1
    with pytest.warns(UnseenLevelsWarning, match=r"column 'c3': 1 of 1 cells.*'new'\. Is it"):
        model.predict(dict.fromkeys(names, "long") | {"c3": "new"})


def test_the_warning_points_to_the_line_that_predicts():
    model = NaiveBayes().fit({"hair": HAIR}, Y)
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with pytest.warns(UnseenLevelsWarning) as caught:
            getattr(model, method)({"hair": ["curly", "green"]})
        assert caught[0].filename == __file__


# Which levels are possible.


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(HAIR, dtype=pd.CategoricalDtype(["long", "short", "bald", "curly", "green"])),
        pl.Series(HAIR, dtype=pl.Enum(["long", "short", "bald", "curly", "green"])),
    ],
    ids=["pandas", "polars"],
)
@new_levels_allowed
@pytest.mark.parametrize("wrap", ["dict", "frame"])
def test_declared_levels_are_possible_whether_seen_or_not(column, wrap):
    make = {"dict": dict, "frame": pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame}[wrap]
    declared = ["curly", "green"]
    model = NaiveBayes().fit(make({"hair": column}), Y)
    for level in ("long", "bald", "curly", "blue"):
        expected = posterior({"hair": HAIR}, Y, {"hair": level}, possible=declared)
        np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)
    assert model.check({"hair": ["curly", "green"]}) == {"hair": {"missing": 0, "unseen": 0, "impossible": 0}}
    strict = NaiveBayes(unseen="error").fit(make({"hair": column}), Y)
    assert strict.predict_proba({"hair": ["curly"]}).shape == (1, 2)


def test_the_dictionary_of_a_plain_polars_categorical_declares_nothing():
    pl.Series(["other", "words", "entirely"], dtype=pl.Categorical)
    column = pl.Series([None, "other", *HAIR], dtype=pl.Categorical)[2:]
    for X in (pl.DataFrame({"hair": column}), {"hair": column}):
        model = NaiveBayes().fit(X, Y)
        expected = posterior({"hair": HAIR}, Y, {"hair": "long"})
        np.testing.assert_allclose(model.predict_proba({"hair": ["long"]})[0], expected, rtol=1e-14)


def test_levels_are_counted_beyond_the_data_with_min_categories():
    model = NaiveBayes(Categorical(min_categories=6), unseen="ignore").fit({"hair": HAIR}, Y)
    possible = ["x", "y", "z"]
    for level in ("long", "bald"):
        expected = posterior({"hair": HAIR}, Y, {"hair": level}, possible=possible, reserve=False)
        np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)


@pytest.mark.parametrize(
    "column",
    [
        [1, 2, 2, 1, 3], [1.0, 2.0, 2.0, 1.0, 3.0], ["1", "2", "2", "1", "3"], np.array([1, 2, 2, 1, 3], "u1"),
        np.array([1, 2, 2, 1, 3], "f4"), pd.Series([1, 2, 2, 1, 3], dtype="category"),
        pd.Series([1.0, 2.0, 2.0, 1.0, 3.0], dtype="category"),
        pl.Series(["1", "2", "2", "1", "3"], dtype=pl.Categorical),
        pa.array([1, 2, 2, 1, 3], pa.int8()), pd.Series([1, 2, 2, 1, 3], dtype="Int64"),
        pl.Series([1, 2, 2, 1, 3], dtype=pl.Decimal(5, 2)), [True + 0, 2, 2.0, 1, 3],
    ],
)  # fmt: skip
def test_one_and_one_point_nought_and_the_text_of_one_are_one_level(column):
    y = ["a", "a", "b", "b", "b"]
    asked = [{"n": 1}, {"n": 1.0}, {"n": "1"}, {"n": np.float32(1)}, {"n": pa.array([1])}]
    expected = posterior({"n": [1, 2, 2, 1, 3]}, y, {"n": 1})
    model = NaiveBayes("categorical").fit({"n": column}, y)
    for row in asked:
        np.testing.assert_allclose(model.predict_proba(row)[0], expected, rtol=1e-14)


def test_numbers_and_their_texts_add_up_in_one_column():
    y = ["a", "a", "b", "b", "b"]
    model = NaiveBayes("categorical").fit({"n": [1, 2]}, y[:2])
    model.partial_fit({"n": ["2", "1"]}, y[2:4]).partial_fit({"n": [3.0]}, y[4:])
    expected = NaiveBayes("categorical").fit({"n": [1, 2, 2, 1, 3]}, y).predict_proba({"n": [1, 2, 3]})
    np.testing.assert_array_equal(model.predict_proba({"n": [1, 2, 3]}), expected)


# Levels come and go.


@new_levels_allowed
def test_new_levels_in_partial_fit_are_as_if_known_from_the_start():
    cuts = [slice(0, 2), slice(2, 5), slice(5, 8)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        model = NaiveBayes("categorical")
        for k in order:
            model.partial_fit({"hair": HAIR[cuts[k]]}, Y[cuts[k]])
        for level in ("long", "short", "bald", "curly"):
            expected = posterior({"hair": HAIR}, Y, {"hair": level})
            np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)


def test_merging_aligns_levels_by_name():
    one = NaiveBayes("categorical").fit({"hair": HAIR[:3], "eyes": ["z", "y", "x"]}, Y[:3])
    two = NaiveBayes("categorical").fit({"hair": HAIR[3:], "eyes": ["a", "z", "x", "b", "y"]}, Y[3:])
    whole = NaiveBayes("categorical").fit({"hair": HAIR, "eyes": list("zyxazxby")}, Y)
    rows = {"hair": ["long", "bald", None, "short"], "eyes": ["z", "a", "x", "b"]}
    for merged in (one + two, two + one, sum([one, two])):
        np.testing.assert_allclose(merged.predict_proba(rows), whole.predict_proba(rows), rtol=1e-14)


@new_levels_allowed
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_forgotten_level_leaves_no_trace(make):
    secret = "4111-1111-1111-1111"
    X, y = {"hair": [*HAIR, secret, secret]}, [*Y, "a", "b"]
    model = NaiveBayes("categorical").fit(make(X), y)
    model.predict(make(X))
    assert secret.encode() in pickle.dumps(model)
    model.forget(make({"hair": [secret, secret]}), ["a", "b"])
    assert secret.encode() not in pickle.dumps(model)
    for level in ("long", "bald", secret):
        expected = posterior({"hair": HAIR}, Y, {"hair": level})
        np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)
    assert model.check({"hair": [secret]}) == {"hair": {"missing": 0, "unseen": 1, "impossible": 0}}


def test_a_level_is_gone_with_its_last_row_whatever_dust_the_weights_leave():
    model = NaiveBayes("categorical").fit({"t": ["u", "v"]}, ["a", "b"])
    for weight in (0.1, 0.2):
        model.partial_fit({"t": ["w"]}, ["a"], sample_weight=[weight])
    for weight in (0.1, 0.2):
        model.forget({"t": ["w"]}, ["a"], sample_weight=[weight])
    fresh = NaiveBayes("categorical").fit({"t": ["u", "v"]}, ["a", "b"])
    rows = {"t": ["u", "v"]}
    np.testing.assert_allclose(model.predict_proba(rows), fresh.predict_proba(rows), rtol=1e-12)
    assert model.check({"t": ["w"]}) == {"t": {"missing": 0, "unseen": 1, "impossible": 0}}


def test_rows_of_weight_0_bring_no_levels():
    model = NaiveBayes("categorical").fit({"t": ["u", "v", "w"]}, ["a", "b", "a"], sample_weight=[1, 1, 0])
    assert model.check({"t": ["w"]}) == {"t": {"missing": 0, "unseen": 1, "impossible": 0}}
    assert b"w" not in pickle.dumps(model.stats_.blocks[0].codes)
    expected = posterior({"t": ["u", "v"]}, ["a", "b"], {"t": "u"})
    np.testing.assert_allclose(model.predict_proba({"t": ["u"]})[0], expected, rtol=1e-14)


def test_a_level_that_was_never_seen_cannot_be_forgotten():
    model = NaiveBayes().fit({"hair": HAIR}, Y)
    before = pickle.dumps(model.stats_)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget({"hair": ["curly"]}, ["a"])
    assert pickle.dumps(model.stats_) == before


# Looking at rows without predicting.


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_check_counts_missing_and_unseen_cells(make):
    X = {"hair": HAIR, "size": [1.5, 2.5, None, 3.0, 1.0, 7.5, 8.0, 9.0]}
    model = NaiveBayes().fit(make(X), Y)
    rows = {"size": [None, 1.0, None], "hair": ["curly", None, "long"]}
    found = model.check(make(rows))
    assert isinstance(found, type(make(rows)))
    listed = zip(*(np.asarray(found[name]).tolist() for name in ("column", "missing", "unseen")), strict=True)
    assert list(listed) == [("hair", 1, 1), ("size", 2, 0)]
    assert model.check(rows) == {
        "hair": {"missing": 1, "unseen": 1, "impossible": 0},
        "size": {"missing": 2, "unseen": 0, "impossible": 0},
    }


def test_check_does_not_warn_or_refuse_and_changes_nothing():
    model = NaiveBayes(unseen="error").fit({"hair": HAIR}, Y)
    before = pickle.dumps(model)
    assert model.check({"hair": ["curly", "green"]}) == {"hair": {"missing": 0, "unseen": 2, "impossible": 0}}
    assert pickle.dumps(model) == before


def test_check_takes_arrays_and_ignores_the_label_column():
    array = np.array([HAIR, Y], dtype=object).T
    assert NaiveBayes().fit(array, Y).check(array)["x0"] == {"missing": 1, "unseen": 0, "impossible": 0}
    table = {"hair": HAIR, "y": Y}
    assert NaiveBayes().fit(table, "y").check(table) == {"hair": {"missing": 1, "unseen": 0, "impossible": 0}}


# Missing cells.


@new_levels_allowed
def test_missing_may_be_a_level_of_its_own():
    model = NaiveBayes(Categorical(missing="level")).fit({"hair": HAIR}, Y)
    filled = ["?" if level is None else level for level in HAIR]
    for level in (None, "long", "bald", "curly"):
        expected = posterior({"hair": filled}, Y, {"hair": "?" if level is None else level})
        np.testing.assert_allclose(model.predict_proba({"hair": [level]})[0], expected, rtol=1e-14)


def test_missing_as_a_level_is_counted_as_missing_only():
    model = NaiveBayes(Categorical(missing="level")).fit({"hair": ["u", "v"]}, ["a", "b"])
    assert model.check({"hair": [None, "u", "w"]}) == {"hair": {"missing": 1, "unseen": 1, "impossible": 0}}


def test_models_that_count_missing_cells_and_those_that_do_not_cannot_merge():
    one = NaiveBayes(Categorical(missing="level")).fit({"hair": HAIR}, Y)
    with pytest.raises(ValueError, match="'hair'"):
        one.merge(NaiveBayes("categorical").fit({"hair": HAIR}, Y))


def mixed(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "size": rng.normal(size=n),
        "count": rng.poisson(40, n).astype(float),
        "town": rng.choice(["u", "v", "w"], n).astype(object),
        "grade": rng.integers(0, 4, n).astype(float),
        "flag": (rng.random(n) < 0.4).astype(object),
    }, rng.choice(["x", "y", "z"], n)


FAMILIES = {
    "size": "gaussian", "count": "poisson", "town": "categorical", "grade": "categorical", "flag": "bernoulli",
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_a_column_that_is_all_missing_is_as_if_dropped(name):
    X, y = mixed()
    blank = X | {name: [None] * 50}
    rest = {other: column for other, column in X.items() if other != name}
    for families in ("auto", FAMILIES):
        given_rest = families if families == "auto" else {k: v for k, v in FAMILIES.items() if k != name}
        dropped = NaiveBayes(given_rest).fit(rest, y).predict_joint_log_proba(rest)
        fitted = NaiveBayes(families).fit(blank, y)
        np.testing.assert_allclose(fitted.predict_joint_log_proba(blank), dropped, rtol=1e-12)
        if families == FAMILIES:  # a column never observed says nothing, whatever comes later
            np.testing.assert_allclose(fitted.predict_joint_log_proba(X), dropped, rtol=1e-12)
        full = NaiveBayes(families).fit(X, y)
        np.testing.assert_allclose(
            full.predict_joint_log_proba(blank), dropped, rtol=1e-12, err_msg="missing at predict"
        )


@new_levels_allowed
@pytest.mark.parametrize("unseen", ["reserve", "ignore"])
def test_a_missing_cell_is_the_sum_over_its_levels(unseen):
    X, y = mixed()
    model = NaiveBayes(FAMILIES, unseen=unseen).fit(X, y)
    levels = {"town": ["u", "v", "w"], "grade": [0.0, 1.0, 2.0, 3.0], "flag": [True, False]}
    if unseen == "reserve":  # the cell kept for what did not occur is a level, too
        levels |= {"town": ["u", "v", "w", "?"], "grade": [0.0, 1.0, 2.0, 3.0, 99.0]}
    row = {"size": 0.3, "count": 38.0, "town": "v", "grade": 2.0, "flag": True}
    for gone in (["town"], ["grade"], ["flag"], ["town", "flag"], ["town", "grade", "flag"]):
        filled = [row | dict(zip(gone, cells, strict=True)) for cells in product(*(levels[g] for g in gone))]
        total = np.sum([np.exp(model.predict_joint_log_proba(each)) for each in filled], axis=0)
        blank = model.predict_joint_log_proba(row | dict.fromkeys(gone))
        np.testing.assert_allclose(blank, np.log(total), rtol=1e-12)


def test_a_missing_number_is_the_integral_over_it():
    X, y = mixed()
    model = NaiveBayes(FAMILIES).fit(X, y)
    row = {"count": 38.0, "town": "v", "grade": 2.0, "flag": True}
    blank = np.exp(model.predict_joint_log_proba(row | {"size": None}))[0]
    grid = np.linspace(-12, 12, 4001)
    many = {name: [cell] * len(grid) for name, cell in row.items()} | {"size": grid}
    density = np.exp(model.predict_joint_log_proba(many))
    np.testing.assert_allclose(np.trapezoid(density, grid, axis=0), blank, rtol=1e-9)


def test_the_mixed_score_is_the_sum_of_single_scores_less_the_repeated_priors():
    X, y = mixed()
    for name in X:
        X[name] = np.where(np.random.default_rng(len(name)).random(50) < 0.2, None, X[name])
    joint = NaiveBayes(FAMILIES).fit(X, y).predict_joint_log_proba(X)
    singles = [
        NaiveBayes({name: FAMILIES[name]}).fit({name: X[name]}, y).predict_joint_log_proba({name: X[name]})
        for name in X
    ]
    prior = np.log(np.unique(y, return_counts=True)[1] / 50)
    np.testing.assert_allclose(joint, sum(singles) - (len(X) - 1) * prior, rtol=1e-12)


def test_the_mixed_score_is_that_of_the_single_family_estimators():
    rng = np.random.default_rng(2)
    y = rng.choice(["x", "y"], 80)
    counts, flags, words = rng.poisson(3, (80, 2)), rng.random((80, 2)) < 0.3, rng.poisson(1, (80, 3))
    X = {f"c{j}": counts[:, j] for j in range(2)} | {f"f{j}": flags[:, j] for j in range(2)}
    X |= {f"w{j}": words[:, j] for j in range(3)}
    families = {"c0": "poisson", "c1": "poisson", ("w0", "w1", "w2"): "multinomial"}
    joint = NaiveBayes(families).fit(X, y).predict_joint_log_proba(X)
    singles = [
        PoissonNB().fit(counts, y).predict_joint_log_proba(counts),
        BernoulliNB().fit(flags, y).predict_joint_log_proba(flags),
        MultinomialNB().fit(words, y).predict_joint_log_proba(words),
    ]
    prior = np.log(np.unique(y, return_counts=True)[1] / 80)
    np.testing.assert_allclose(joint, sum(singles) - 2 * prior, rtol=1e-12)


def test_a_mixed_row_agrees_with_distributions_written_out_by_hand():
    X = {"flag": [True, True, False, None], "town": ["u", "v", "v", "v"], "n": [3, 5, 4, 9]}
    y = ["a", "a", "b", "b"]
    model = NaiveBayes({"n": "poisson"}).fit(X, y)
    got = model.predict_joint_log_proba({"flag": True, "town": "v", "n": 4})[0]
    # Beta(1, 1), Dirichlet(1, 1) and Gamma(1, 1) posteriors; a count's own factorial is no evidence. One of seven
    # towns is new: 4 cells, 2 levels and a third.
    rates = {"a": Fraction(1 + 8, 1 + 2), "b": Fraction(1 + 13, 1 + 2)}
    known = 1 - Fraction(1, 4 + 3)
    shares = {"a": Fraction(3, 4) * known * Fraction(2, 4), "b": Fraction(1, 3) * known * Fraction(3, 4)}
    for k, c in enumerate("ab"):
        exact = log(0.5) + log(shares[c]) + stats.poisson(float(rates[c])).logpmf(4) + log(24)
        np.testing.assert_allclose(got[k], exact, rtol=1e-12)


def test_unseen_codes_are_counted():
    coded = CategoricalNB().fit([[0, 1], [1, 0], [0, 0]], [0, 1, 1])
    assert coded.check([[99, 1], [np.nan, 0]]) == {
        "x0": {"missing": 1, "unseen": 1, "impossible": 0},
        "x1": {"missing": 0, "unseen": 0, "impossible": 0},
    }


def test_the_column_of_an_unseen_code_is_named_in_any_block():
    families = {"k": Categorical(coded=True, unseen="error"), "g": "gaussian"}
    model = NaiveBayes(families).fit({"g": [0.5, 1.5, 2.5, 4.0], "k": [0, 1, 0, 1]}, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"level 9 in column 'k', row 1"):
        model.predict({"g": [1.0, 2.0], "k": [0, 9]})


def test_declared_levels_of_both_models_count_in_a_merge():
    one = pd.DataFrame({"k": pd.Categorical(["a", "b"] * 10, categories=["a", "b", "z", "q"])})
    two = pd.DataFrame({"k": pd.Categorical(["a", "b"] * 10, categories=["a", "b"])})
    y = ["u", "v"] * 10
    first, second = NaiveBayes().fit(one, y), NaiveBayes().fit(two, y)
    np.testing.assert_allclose(
        (first + second).predict_proba(one), (second + first).predict_proba(one), rtol=1e-15
    )


@pytest.mark.parametrize("kind", [pd.Categorical, None])
def test_declared_levels_may_come_in_any_order(kind):
    cells, levels = ["a", "b"] * 5, ["z", "b", "a"]
    column = kind(cells, categories=levels) if kind else pl.Series(cells, dtype=pl.Enum(levels))
    table = pd.DataFrame({"k": column}) if kind else pl.DataFrame({"k": column})
    model = NaiveBayes().fit(table, [0, 1] * 5)
    assert list(model.parameters_["k"]) == ["a", "b", "z", "(unseen)"]
    assert model.predict_proba(table)[0, 0] == pytest.approx(6 / 7)
