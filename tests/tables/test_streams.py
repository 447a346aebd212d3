"""Streams that begin small: the model keeps its first rows, chooses late, and columns that were constant wake up."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import NaiveBayes
from scipy import sparse
from sklearn.base import clone
from sunrise import TextNB

HEART = Path(__file__).parents[1] / "data" / "tables" / "heart-cleveland.csv.gz"


def heart():
    frame = pd.read_csv(HEART).sample(frac=1, random_state=1)
    return frame.drop(columns="num").reset_index(drop=True), (frame["num"] > 0).to_numpy()


def mixed(n, seed=0):
    """A table with a column of every kind, some cells missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "x": rng.normal(y, 1.0),
            "count": rng.poisson(1.0 + 3 * y),
            "small": rng.normal(y, 2.0).astype(np.float32),
            "flag": rng.random(n) < 0.2 + 0.2 * y,
            "word": np.array(["red", "green", "blue"])[(y + rng.integers(0, 2, n)) % 3],
            "kind": pd.Categorical.from_codes((y + rng.integers(0, 2, n)) % 3, ["a", "b", "c"]),
        }
    )
    frame.loc[rng.random(n) < 0.2, "x"] = np.nan
    frame.loc[rng.random(n) < 0.2, "word"] = None
    return frame, np.array(["no", "yes", "maybe"], dtype=object)[y]


def families(model):
    return [(choice.family, choice.reason) for choice in model._model.schema.choices]


def assert_same(one, two, X):
    assert one.classes_.tolist() == two.classes_.tolist()
    # Weights of columns come from iterations that end where a step gains less than 1e-12, so their last digits differ.
    np.testing.assert_allclose(one.predict_log_proba(X), two.predict_log_proba(X), rtol=1e-7, atol=1e-7)


def in_batches(model, X, y, ends, sample_weight=None):
    for a, b in pairwise([0, *ends]):
        weight = None if sample_weight is None else sample_weight[a:b]
        model.partial_fit(X.iloc[a:b], y[a:b], sample_weight=weight)
    return model


# Kept rows


@pytest.mark.parametrize("calibrate", [None, "columns"])
@given(cuts=st.lists(st.integers(1, 119), max_size=3), seed=st.integers(0, 99), weighted=st.booleans())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_stream_that_doubles_at_the_end_is_fit_with_families_and_weights(calibrate, cuts, seed, weighted):
    X, y = mixed(240, seed)
    w = np.random.default_rng(seed).integers(0, 3, 240) + 1.0 if weighted else None
    whole = NaiveBayes(calibrate=calibrate).fit(X, y, sample_weight=w)
    model = in_batches(NaiveBayes(calibrate=calibrate), X, y, [*sorted(set(cuts)), 120, 240], w)
    assert families(model) == families(whole)
    assert_same(model, whole, X)
    if calibrate:
        np.testing.assert_allclose(
            list(model.calibration_.weights.values()), list(whole.calibration_.weights.values()), rtol=1e-9
        )


@given(cuts=st.lists(st.integers(1, 239), max_size=6), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_between_two_choices_the_statistics_are_those_of_all_rows(cuts, seed):
    X, y = mixed(240, seed)
    model = in_batches(NaiveBayes(), X, y, [*sorted(set(cuts)), 240])
    assert_same(model, NaiveBayes(model.fixed_families_).fit(X, y), X)


def test_single_rows_of_heart_reach_the_accuracy_of_fit():
    X, y = heart()
    train, rows = X[:250].to_dict("records"), range(250)
    model = reduce(lambda m, k: m.partial_fit(train[k], y[k]), rows, NaiveBayes())
    whole = NaiveBayes().fit(X[:250], y[:250])
    assert model.score(X[250:], y[250:]) >= whole.score(X[250:], y[250:]) - 0.04
    assert model.score(X[250:], y[250:]) > 0.75
    assert_same(model, NaiveBayes(model.fixed_families_).fit(X[:250], y[:250]), X)


def test_the_call_that_reaches_a_thousand_rows_decides_and_drops_the_rows():
    X, y = mixed(1500)
    model = NaiveBayes()
    sizes = []
    for start in range(0, 1500, 90):
        model.partial_fit(X[start : start + 90], y[start : start + 90])
        sizes.append(len(pickle.dumps(model)))
    first = NaiveBayes().fit(X[:1080], y[:1080])
    assert families(model) == families(first)
    assert_same(model, first.partial_fit(X[1080:], y[1080:]), X)
    assert "kept" not in repr(model) and max(sizes[:11]) > 2 * sizes[12]


def test_few_choices_are_made(monkeypatch):
    X, y = mixed(400)
    calls = []
    fit_rows = sr.NaiveBayes._fit_rows
    monkeypatch.setattr(sr.NaiveBayes, "_fit_rows", lambda *a, **k: calls.append(1) or fit_rows(*a, **k))
    in_batches(NaiveBayes("auto-fast"), X, y, range(1, 401))
    assert len(calls) <= 40


def test_kept_rows_are_said():
    X, y = mixed(60)
    model = NaiveBayes({"x": "gaussian"}).partial_fit(X, y)
    assert (
        "60 rows are kept" in repr(model).splitlines()[2] and "60 rows are kept" in model._repr_html_inner()
    )
    reasons = dict(zip(model.families_["column"], model.families_["reason"], strict=True))
    assert reasons["count"].endswith("so far, 60 rows are kept") and reasons["x"] == "given"
    assert "kept" not in repr(NaiveBayes().fit(X, y))


def test_where_nothing_is_to_be_decided_no_row_is_kept():
    X, y = mixed(60)
    for model in (
        NaiveBayes("categorical"),
        NaiveBayes(NaiveBayes().fit(X, y).fixed_families_),
        NaiveBayes(dict.fromkeys(X, "categorical")),
    ):
        assert "kept" not in repr(model.partial_fit(X, y))
    assert not hasattr(sr.GaussianNB().partial_fit(X[["x"]], y), "_kept")
    assert not hasattr(TextNB(calibrate=None).partial_fit(["one two", "three"], [0, 1]), "_kept")


def test_batches_of_different_libraries_can_be_mixed():
    X, y = mixed(300)
    X["kind"] = X["kind"].astype(object)
    kinds = {
        "pandas": lambda frame: frame,
        "polars": pl.from_pandas,
        "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        "dict": lambda frame: {name: frame[name].tolist() for name in frame},
        "records": lambda frame: frame.to_dict("records"),
    }
    model = NaiveBayes()
    for k, convert in enumerate(kinds.values()):
        rows = slice(30 * k, 30 * k + 30)
        model.partial_fit(convert(X[rows]), y[rows])
    model.partial_fit(X[150:], y[150:])
    whole = NaiveBayes().fit(X.astype({"small": float}), y)
    assert [f.name for f, _ in families(model)] == [f.name for f, _ in families(whole)]
    assert_same(model, whole, X.drop(columns="small").assign(small=X["small"].astype(float)))


def test_arrays_of_different_types_and_sparse_rows_can_be_mixed():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(3, (300, 4)), rng.integers(0, 2, 300)
    model = NaiveBayes()
    for start, dtype in ((0, np.int64), (100, np.float64), (200, np.int32)):
        model.partial_fit(X[start : start + 100].astype(dtype), y[start : start + 100])
    assert_same(model, NaiveBayes(model.fixed_families_).fit(X, y), X)
    thin = NaiveBayes()
    for start in (0, 100):
        thin.partial_fit(sparse.csr_array(X[start : start + 100]), y[start : start + 100])
    thin.partial_fit(X[200:], y[200:])
    assert_same(thin, NaiveBayes().fit(sparse.csr_array(X), y), X)
    thin.forget(sparse.csc_array(X[150:]), y[150:])
    assert_same(thin, NaiveBayes().fit(sparse.csr_array(X[:150]), y[:150]), X)


def test_large_integers_keep_their_names():
    big = [2**60, 2**60 + 1] * 10
    model = (
        NaiveBayes("auto-fast", unseen="ignore")
        .partial_fit({"id": big}, [0, 1] * 10)
        .partial_fit({"id": [None, 2**60] * 10}, [0, 0] * 10)
    )
    assert sorted(model.parameters_["id"]) == [str(2**60), str(2**60 + 1)]


def test_declared_levels_of_all_batches_count():
    one = pd.DataFrame({"k": pd.Categorical(["a", "b"] * 5, ["a", "b", "c"])})
    two = pd.DataFrame({"k": pd.Categorical(["a", "d"] * 5, ["a", "d", "e"])})
    model = NaiveBayes(unseen="ignore").partial_fit(one, [0, 1] * 5).partial_fit(two, [0, 1] * 5)
    assert sorted(model.parameters_["k"]) == list("abcde")


def test_later_data_cannot_be_changed_from_outside():
    X, y = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 2
    first, labels, weight = X[:40].copy(), y[:40].copy(), np.ones(40)
    model = NaiveBayes().partial_fit(first, labels, sample_weight=weight)
    first[:], labels[:], weight[:] = 7.0, 0, 9.0
    assert_same(model.partial_fit(X[40:], y[40:]), NaiveBayes().fit(X, y), X)


def test_cells_that_a_first_choice_cannot_have_lead_to_another_choice():
    y = np.arange(100) % 2
    rows = np.random.default_rng(0).poisson(30 + y, 100)
    model = NaiveBayes("auto-fast").partial_fit({"n": rows}, y)
    assert families(model)[0][0].name == "poisson"
    model.partial_fit({"n": [-5]}, [0])
    assert families(model)[0][0].name == "gaussian"
    with pytest.raises(ValueError, match=r"column 'n' holds numbers .* and strings \(for example 'x'\)"):
        model.partial_fit({"n": ["x"]}, [0])
    assert model.class_count_.sum() == 101  # the model is unchanged


def test_a_column_without_a_cell_in_the_first_batches_gets_its_type_later():
    model = NaiveBayes().partial_fit({"a": [None] * 20, "b": [1.5, 2.5] * 10}, [0, 1] * 10)
    model.partial_fit({"a": ["u", "v"] * 20, "b": [1.5, 2.5] * 20}, [0, 1] * 20)
    assert families(model)[0][0].name == "categorical"


def test_columns_left_out_by_the_user_are_never_read():
    dates = pd.DataFrame({"t": pd.date_range("2020", periods=40), "x": np.arange(40.0)})
    model = NaiveBayes({"t": None}).partial_fit(dates[:20], [0, 1] * 10).partial_fit(dates[20:], [0, 1] * 10)
    assert model.class_count_.tolist() == [20, 20]
    assert NaiveBayes({"t": None}).partial_fit(dates, [0, 1] * 20).forget(dates[["x"]][:5], [0, 1, 0, 1, 0])


def test_classes_may_be_new_announced_or_of_other_types():
    X, _ = mixed(60)
    model = NaiveBayes(calibrate="columns").partial_fit(X[:20], ["a", "b"] * 10, classes=["a", "b", "z"])
    model.partial_fit(X[20:], ["b", "a"] * 20)
    assert model.classes_.tolist() == ["a", "b", "z"] and model.predict_proba(X)[:, 2].max() == 0.0
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        model.partial_fit(X, ["q"] * 60)
    other = NaiveBayes().partial_fit(X[:20], ["a", "b"] * 10).partial_fit(X[20:], np.arange(40) % 2)
    assert other.classes_.tolist() == [0, 1, "a", "b"]


# Copies and derived models


def test_copies_keep_the_rows_and_go_their_own_way():
    X, y = mixed(300)
    model = NaiveBayes(calibrate="columns").partial_fit(X[:200], y[:200])
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        twin.partial_fit(X[200:], y[200:])
        assert_same(twin, NaiveBayes(calibrate="columns").fit(X, y), X)
    assert model.class_count_.sum() == 200
    assert not hasattr(clone(model), "classes_")


def test_derived_models_of_a_model_that_keeps_rows():
    X, y = mixed(300)
    model = NaiveBayes(calibrate="columns").partial_fit(X[:200], y[:200])
    other = model.with_class_prior("uniform").partial_fit(X[200:], y[200:])
    assert_same(other, NaiveBayes(class_prior="uniform", calibrate="columns").fit(X, y), X)
    few = model.select(2)
    assert "kept" not in repr(few)
    assert_same(few.partial_fit(X[200:], y[200:]).forget(X[200:], y[200:]), model.select(2), X)
    assert not model.recalibrate(X[:200], y[:200]).calibration_.stale
    assert model.leave_one_out(X[:200], y[:200]).shape == (200, 3)
    assert model.sample(3, random_state=0)[0].shape == (3, 6)


def test_text_keeps_documents_only_to_calibrate():
    rng = np.random.default_rng(0)
    words = np.array(["sun", "rain", "wind", "snow", "ice", "fog"])
    y = rng.integers(0, 2, 80)
    texts = [" ".join(words[(rng.integers(0, 4, 6) + 2 * c)]) for c in y]
    model = TextNB(calibrate="temperature").partial_fit(texts[:40], y[:40]).partial_fit(texts[40:], y[40:])
    whole = TextNB(calibrate="temperature").fit(texts, y)
    np.testing.assert_allclose(model.predict_proba(texts), whole.predict_proba(texts), rtol=1e-9)
    model.forget(texts[40:], y[40:])
    first = TextNB(calibrate="temperature").fit(texts[:40], y[:40])
    np.testing.assert_allclose(model.predict_proba(texts), first.predict_proba(texts), rtol=1e-9)


# Forgetting and merging


@given(seed=st.integers(0, 99), n=st.integers(1, 200), weighted=st.booleans())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_forget_removes_kept_rows(seed, n, weighted):
    X, y = mixed(240, seed)
    w = np.random.default_rng(seed).integers(1, 4, 240) * 0.3 if weighted else None
    model = NaiveBayes().partial_fit(X, y, sample_weight=w)
    gone = np.random.default_rng(seed).permutation(240)
    some, rest = gone[:n], np.sort(gone[n:])
    model.forget(X.iloc[some], y[some], sample_weight=None if w is None else w[some])
    left = None if w is None else w[rest]
    assert_same(model, NaiveBayes(model.fixed_families_).fit(X.iloc[rest], y[rest], sample_weight=left), X)
    assert f"{240 - n} rows are kept" in repr(model)
    grown = model.partial_fit(X, y, sample_weight=w)
    both, labels = pd.concat([X.iloc[rest], X]), np.concatenate([y[rest], y])
    weights = None if w is None else np.concatenate([left, w])
    assert_same(grown, NaiveBayes(grown.fixed_families_).fit(both, labels, sample_weight=weights), X)


def test_a_row_that_is_not_kept_cannot_be_forgotten():
    X, y = mixed(100)
    model = NaiveBayes().partial_fit(X, y)
    before = model.predict_log_proba(X)
    for change in ({"x": [77.0]}, {"word": ["violet"]}, {"flag": [~X["flag"][0]]}):
        with pytest.raises(ValueError, match="cannot be forgotten.* is not there"):
            model.forget(X[:1].assign(**change), y[:1])
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget(X[:1], y[:1], sample_weight=[0.5])
    np.testing.assert_array_equal(model.predict_log_proba(X), before)
    assert not hasattr(model.forget(X, y), "classes_")
    assert_same(model.partial_fit(X, y), NaiveBayes().fit(X, y), X)


def test_two_models_that_keep_rows_join_them():
    X, y = mixed(300)
    one, two = NaiveBayes().partial_fit(X[:150], y[:150]), NaiveBayes().partial_fit(X[150:], y[150:])
    both, whole = one + two, NaiveBayes().fit(X, y)
    assert families(both) == families(whole) and "300 rows are kept" in repr(both)
    assert_same(both, whole, X)
    assert_same(sum([one, two]), whole, X)
    assert "150 rows are kept" in repr(one)


def test_the_schema_of_a_decided_model_wins():
    X, y = mixed(400)
    shuffled = X[X.columns[::-1]]
    fitted, kept = NaiveBayes().fit(X[:300], y[:300]), NaiveBayes().partial_fit(shuffled[300:], y[300:])
    expected = NaiveBayes().fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    for both in (fitted + kept, kept + fitted):
        assert_same(both, expected, X)
        assert "kept" not in repr(both)
        assert {f.name for f, _ in families(both)} == {f.name for f, _ in families(fitted)}


# Columns that wake up


def sleepers(n, seed=0):
    """Six columns, the last three of them constant or empty in the first 2,000 rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(y, 1.0),
            "b": rng.normal(-y, 2.0),
            "c": np.array(["u", "v", "w"])[(y + rng.integers(0, 2, n))],
            "price": np.where(np.arange(n) < 2000, 0.003467, rng.normal(3 * y, 1.0)),
            "level": np.where(
                np.arange(n) < 2000, "off", np.array(["off", "on"])[(rng.random(n) < 0.2 + 0.6 * y) * 1]
            ),
            "late": np.where(np.arange(n) < 2000, np.nan, rng.normal(-3 * y, 1.0)),
        }
    )
    return frame, y


@pytest.mark.parametrize("families_setting", ["auto", "auto-fast"])
@pytest.mark.parametrize("step", [150, 1])
def test_columns_that_are_constant_for_2000_rows_are_learned_exactly_afterwards(families_setting, step):
    X, y = sleepers(2400)
    model = NaiveBayes(families_setting)
    for start in range(0, 1950, 650):
        model.partial_fit(X[start : start + 650], y[start : start + 650])
    assert model.fixed_families_["price"] is None and model.fixed_families_["late"] is None
    assert "every cell is the same so far (0.003467)" in repr(
        model
    ) and "every cell is missing so far" in repr(model)
    blind = model.score(X[2000:], y[2000:])
    for start in range(1950, 2400, step):
        model.partial_fit(X[start : start + step], y[start : start + step])
    assert None not in model.fixed_families_.values()
    whole = NaiveBayes(model.fixed_families_).fit(X, y)
    np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    assert model.score(X[2000:], y[2000:]) > blind + 0.05


@pytest.mark.parametrize("calibrate", [None, "columns"])
def test_a_column_wakes_up_after_fit_with_weights_and_new_classes(calibrate):
    rng = np.random.default_rng(0)
    first = {"k": ["a"] * 50, "n": [7] * 50, "flag": [True] * 50, "x": rng.normal(size=50)}
    flags = (rng.random(40) < 0.5).tolist()
    later = {"k": ["b", None] * 20, "n": rng.integers(1, 4, 40), "flag": flags, "x": rng.normal(size=40)}
    y, z = rng.integers(0, 2, 50), rng.integers(1, 3, 40)
    w, v = rng.random(50) + 0.1, rng.random(40) + 0.1
    model = NaiveBayes("auto-fast", calibrate=calibrate).fit(first, y, sample_weight=w)
    model.partial_fit(later, z, sample_weight=v)
    assert [f.name for f, _ in families(model)] == ["categorical", "categorical", "bernoulli", "gaussian"]
    rows = {name: [*first[name], *later[name]] for name in first}
    whole = NaiveBayes(model.fixed_families_).fit(rows, [*y, *z], sample_weight=[*w, *v])
    plain = copy.copy(model)
    plain._model = model._model.uncalibrated
    np.testing.assert_allclose(plain.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-9)
    if calibrate:
        weights = model.calibration_.weights
        assert weights["k"] == weights["n"] == weights["x"] and model.calibration_.stale
    # Row counts are exact, so that everything can be forgotten.
    model.forget(first, y, sample_weight=w).forget(later, z, sample_weight=v)
    assert not hasattr(model, "classes_")


def test_a_single_value_that_comes_late_is_counted_until_it_has_company():
    y = [0, 1] * 10
    model = NaiveBayes().fit({"x": np.arange(20.0), "late": [None] * 20}, y)
    model.partial_fit({"x": np.arange(20.0), "late": [2.5, None] * 10}, y)
    assert model.fixed_families_["late"] is None
    model.forget({"x": np.arange(20.0), "late": [2.5, None] * 10}, y)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget({"x": [1.0], "late": [2.5]}, [1])
    model.partial_fit({"x": [0.5, 0.25], "late": [2.5, -1.0]}, [0, 1])
    assert model.families_["late"]["reason"] == "left out: 1 cells differ from -1 so far, of 30 needed"
    numbers, z = np.random.default_rng(0).normal(size=(2, 40)), [0, 1] * 20
    for k in range(40):
        model.partial_fit({"x": numbers[0, k], "late": numbers[1, k]}, z[k])
    rows = {"x": [*np.arange(20.0), 0.5, 0.25, *numbers[0]], "late": [*[None] * 20, 2.5, -1.0, *numbers[1]]}
    assert model.families_["late"]["reason"].endswith("; constant or empty at first")
    assert_same(model, NaiveBayes(model.fixed_families_).fit(rows, [*y, 0, 1, *z]), rows)


def test_one_odd_number_does_not_move_the_other_rows():
    y = np.arange(1000) % 2
    X = pd.DataFrame({"x": np.random.default_rng(0).normal(y), "rare": np.zeros(1000)})
    model = NaiveBayes().fit(X, y)
    before = model.predict_proba(X)
    model.partial_fit(pd.DataFrame({"x": [np.nan], "rare": [1.0]}), [1])
    np.testing.assert_allclose(model.predict_proba(X), before, atol=0.01)


def test_a_few_speaking_cells_among_very_many_are_seen():
    rng = np.random.default_rng(0)
    y = np.arange(100_000) % 2
    model = NaiveBayes().fit({"x": rng.normal(size=100_000), "late": np.zeros(100_000)}, y)
    later = {"x": rng.normal(size=40), "late": 10.0 + 5 * y[:40] + rng.normal(size=40)}
    model.partial_fit(later, y[:40])
    assert model.score(later, y[:40]) > 0.9
    whole = NaiveBayes(model.fixed_families_).fit(
        {"x": np.zeros(100_040), "late": np.append(np.zeros(100_000), later["late"])}, np.append(y, y[:40])
    )
    for name, numbers in whole.parameters_["late"].items():
        np.testing.assert_allclose(model.parameters_["late"][name], numbers, rtol=1e-9)


def test_errors_number_the_rows_of_the_batch():
    model = NaiveBayes()
    for n in (20, 3, 30, 990):
        X = np.random.default_rng(n).normal(size=(n, 1))
        with pytest.raises(ValueError, match="infinity: inf in column 'x', row 2"):
            model.partial_fit({"x": np.append(X[:2], np.inf)}, [0, 1, 0])
        model.partial_fit({"x": X[:, 0]}, np.arange(n) % 2)


def test_numbers_of_32_bits_wake_up_as_they_were():
    first = pd.DataFrame({"x": np.full(30, 0.1, np.float32), "z": np.arange(30.0)})
    later = pd.DataFrame({"x": np.array([0.3, 0.7] * 20, np.float32), "z": np.arange(40.0)})
    y, z = np.arange(30) % 2, np.arange(40) % 2
    model = NaiveBayes("auto-fast").fit(first, y).partial_fit(later, z)
    whole = NaiveBayes(model.fixed_families_).fit(pd.concat([first, later]), [*y, *z])
    np.testing.assert_array_equal(model.parameters_["x"]["mean"], whole.parameters_["x"]["mean"])


def test_sleeping_columns_are_merged():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    asleep = {"x": rng.normal(size=60), "c": [3.0] * 60, "d": ["m"] * 60}
    awake = {"d": list("mnop") * 15, "c": rng.normal(size=60), "x": rng.normal(size=60)}
    one, two = NaiveBayes("auto-fast").fit(asleep, y), NaiveBayes("auto-fast").fit(awake, y)
    rows = {name: [*asleep[name], *awake[name]] for name in asleep}
    whole = NaiveBayes(one.fixed_families_ | two.fixed_families_).fit(rows, [*y, *y])
    for both in (one + two, two + one):
        np.testing.assert_allclose(both.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-9)
    other = NaiveBayes("auto-fast").fit(asleep | {"d": ["other"] * 60}, y)
    both = one + other
    assert both.fixed_families_["c"] is None and both.fixed_families_["d"].name == "categorical"
    assert both.partial_fit(awake, y).fixed_families_["c"].name == "gaussian"


def test_a_column_that_select_has_dropped_stays_out():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    model = NaiveBayes().fit({"x": rng.normal(y), "z": rng.normal(size=60), "c": [3.0] * 60}, y).select(1)
    model.partial_fit({"x": rng.normal(y), "z": rng.normal(size=60), "c": rng.normal(size=60)}, y)
    assert model.fixed_families_["c"] is None


def test_a_sleeping_column_that_the_user_leaves_out_later_stays_out():
    y = np.arange(40) % 2
    model = NaiveBayes().fit({"x": np.arange(40.0), "c": [3.0] * 40, "d": [2.0] * 40}, y)
    model.set_params(families={"c": None})
    model.partial_fit({"x": np.arange(40.0), "c": np.arange(40.0) / 3, "d": np.arange(40.0) / 7}, y)
    assert model.fixed_families_["c"] is None and model.fixed_families_["d"] is not None


def test_all_rows_of_a_class_can_be_forgotten_before_the_choice():
    X, y = mixed(90)
    model = NaiveBayes(calibrate="columns").partial_fit(X, y)
    model.forget(X[y == "yes"], y[y == "yes"])
    assert model.classes_.tolist() == ["maybe", "no"]
    X, y = X[y != "yes"], y[y != "yes"]
    assert_same(model, NaiveBayes(calibrate="columns").fit(X, y), X)


def test_rows_of_weight_zero_are_no_rows():
    X, y = mixed(60)
    w = np.arange(60) % 2 * 1.0
    labels = np.where(w > 0, y, "never")
    model = NaiveBayes(calibrate="columns").partial_fit(
        X, labels, classes=["no", "yes", "maybe"], sample_weight=w
    )
    assert "30 rows are kept" in repr(model)
    assert_same(model, NaiveBayes(calibrate="columns").fit(X[w > 0], y[w > 0]), X)


@pytest.mark.parametrize(
    "convert", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])]
)
def test_documents_of_every_library_are_kept(convert):
    texts, y = ["sun and sun", None, "rain", "wind and rain", "sun"] * 4, [0, 1, 1, 1, 0] * 4
    present = [k for k, text in enumerate(texts) if text is not None or convert is not np.array]
    texts, y = [texts[k] for k in present], [y[k] for k in present]
    model = TextNB(calibrate="temperature").partial_fit(convert(texts), y).partial_fit(convert(texts), y)
    whole = TextNB(calibrate="temperature").fit(texts * 2, y * 2)
    np.testing.assert_allclose(model.predict_proba(texts), whole.predict_proba(texts), rtol=1e-9)


def test_a_renewed_choice_does_not_warn():
    X, y = mixed(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_batches(NaiveBayes(), X, y, range(10, 301, 10))
