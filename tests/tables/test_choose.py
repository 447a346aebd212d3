"""Families that are chosen by what they tell of the class: scores against refits, samples, order of rows."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from plain import NaiveBayes
from scipy import stats
from sunrise.datasets import load_heart_disease
from sunrise.selection import by_score, distinct
from sunrise.selection.by_score import ROWS, sample_rows
from sunrise.selection.decide import decide

RNG = np.random.default_rng(3)
N = 60
Y = np.arange(N) % 3


def column(kind):
    if kind == "counts":
        return RNG.poisson(1.0 + 2.0 * Y).astype(float)
    if kind == "positive":
        return RNG.gamma(2.0 + Y, 1.0)
    return RNG.normal(Y, 1.0)


CANDIDATES = {
    "counts": {"gaussian", "poisson", "negative_binomial", "geometric", "categorical", "binned", "kernel"},
    "positive": {"gaussian", "lognormal", "gamma", "binned", "kernel"},
    "numbers": {"gaussian", "binned", "kernel"},
}


def chosen(model):
    return [None if c.family is None else c.family.name for c in model._model.schema.choices]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", CANDIDATES)
def test_scores_are_those_of_models_without_the_row(kind, weighted):
    x = column(kind)
    if kind == "counts":
        x[0] = 0.0
    x[[5, 17]] = np.nan
    w = RNG.integers(1, 4, N).astype(float) if weighted else np.ones(N)
    model = NaiveBayes().fit({"x": x}, Y, sample_weight=w)
    scores = model.families_["x"]["scores"]
    assert set(scores) == CANDIDATES[kind]
    assert chosen(model)[0] in scores
    for name, score in scores.items():
        whole = NaiveBayes(name).fit({"x": x}, Y, sample_weight=w)
        found = whole.leave_one_out({"x": x}, Y, sample_weight=w)[np.arange(N), Y]
        assert score == pytest.approx(np.average(found, weights=w), rel=1e-9)


def test_families_that_cannot_have_such_cells_are_not_tried():
    x = RNG.normal(size=N)
    assert set(NaiveBayes().fit({"x": x}, Y).families_["x"]["scores"]) == CANDIDATES["numbers"]
    whole = RNG.integers(-5, 30, N)
    assert "poisson" not in NaiveBayes().fit({"x": whole}, Y).families_["x"]["scores"]


@pytest.mark.parametrize("n", [500, 3 * ROWS])
def test_the_order_of_rows_does_not_matter(n):
    y = RNG.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "a": RNG.normal(y, 1.0).round(1),  # with many rows that are alike
            "b": RNG.gamma(1.0 + y, 1.0),
            "c": RNG.poisson(y),
            "d": np.where(RNG.random(n) < 0.1, np.nan, RNG.normal(size=n) * (1 + y)),
            "e": RNG.choice(list("xyz"), n),
        }
    )
    first = NaiveBayes().fit(table, y)
    order = RNG.permutation(n)
    second = NaiveBayes().fit(table.iloc[order], y[order])
    assert chosen(first) == chosen(second)
    for name in "abcd":
        a, b = (m._model.schema.choices["abcde".index(name)].scores for m in (first, second))
        assert a.keys() == b.keys()
        np.testing.assert_allclose(list(a.values()), list(b.values()), rtol=1e-9)


def test_rows_are_drawn_by_what_they_hold():
    n = 10_000
    y = RNG.integers(0, 2, n).astype(np.int32)
    x = [RNG.integers(0, 3, n).astype(float), RNG.normal(size=n), RNG.normal(size=n)]
    x[2][::7] = np.nan
    w = RNG.integers(0, 3, n).astype(float)
    order = RNG.permutation(n)

    def held(rows, x, y, w):
        return sorted(zip(*(np.nan_to_num(c[rows], nan=-9.0).tolist() for c in (*x, y, w)), strict=True))

    for columns in (x, x[:1]):  # of few different rows, many are equal
        for weight in (None, w):
            a = sample_rows([c.__getitem__ for c in columns], y, weight, 2000)
            shuffled = [c[order] for c in columns]
            b = sample_rows(
                [c.__getitem__ for c in shuffled], y[order], None if weight is None else w[order], 2000
            )
            assert len(a) == len(b) == 2000 and len(np.unique(a)) == 2000
            ones = np.ones(n)
            there = ones if weight is None else w
            assert there[a].min() > 0
            assert held(a, columns, y, there) == held(b, shuffled, y[order], there[order])


def test_fast_goes_by_type_and_columns_may_differ():
    table = {"a": RNG.gamma(1.0 + Y, 1.0), "b": RNG.gamma(1.0 + Y, 1.0), "c": RNG.gamma(1.0 + Y, 1.0)}
    fast = NaiveBayes("auto-fast").fit(table, Y)
    assert chosen(fast) == ["gaussian"] * 3
    assert fast.families_["a"]["scores"] == {}
    mixed = NaiveBayes({"a": "auto-fast", "b": "poisson"} | {"b": sr.Exponential()}).fit(table, Y)
    assert chosen(mixed)[:2] == ["gaussian", "exponential"]
    assert mixed.families_["c"]["scores"]


def test_frames_show_the_scores():
    table = pl.DataFrame({"x": RNG.gamma(1.0 + Y, 1.0), "s": RNG.choice(["u", "v"], N)})
    shown = NaiveBayes().fit(table, Y).families_
    assert shown["scores"][0].startswith("gaussian -") and shown["scores"][1] == ""


def test_what_was_chosen_stays():
    x = np.concatenate([RNG.gamma(2.0, 1.0, N), RNG.gamma(2.0, 1.0, N)])
    y = np.concatenate([Y, Y])
    model = NaiveBayes().fit({"x": x[:N]}, Y).partial_fit({"x": x[N:]}, Y)
    other = NaiveBayes(sr.NaiveBayes().fit({"x": x[:N]}, Y).fixed_families_).fit({"x": x}, y)
    np.testing.assert_allclose(model.predict_proba({"x": x}), other.predict_proba({"x": x}), rtol=1e-9)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict_proba({"x": x}), model.predict_proba({"x": x}))
    assert twin._model.schema.choices[0].scores == model._model.schema.choices[0].scores


@pytest.mark.filterwarnings("ignore::sunrise.ImpossibleCellWarning")
@pytest.mark.parametrize("wild", [0.0, -3.0, 0.5, 1e300])
def test_a_cell_that_a_chosen_family_cannot_have_says_nothing(wild):
    n = 600
    y = np.arange(n) % 2
    table = {"x": np.exp(RNG.normal(0, 2, n) + 3 * y), "k": RNG.poisson(40 + 40 * y) + 1, "z": RNG.normal(y)}
    model = NaiveBayes().fit(table, y)
    rows = {"x": [wild, None], "k": [wild, None], "z": [0.3, 0.3]}
    p = model.predict_proba(rows)
    assert np.isfinite(p).all()
    if wild <= 0 and {"lognormal", "gamma"} & {chosen(model)[0]} and chosen(model)[1] in ("poisson",):
        np.testing.assert_allclose(p[0], p[1])
    with pytest.raises(ValueError, match="'x'"):
        model.predict({"x": [np.inf], "k": [3], "z": [0.0]})


@pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")
@pytest.mark.parametrize("y", [[1, 1, 1], [0, 1, 2], [0, 0, 1]])
def test_tiny_tables_have_a_family_too(y):
    model = NaiveBayes().fit({"x": [0.5, 1.5, 2.5], "k": [1, 2, 9], "c": [1.0, 1.0, 1.0]}, y)
    assert np.isfinite(model.predict_proba({"x": [0.7, None], "k": [4, None], "c": [1.0, 2.0]})).all()


def test_every_cell_decides_what_is_possible():
    y = RNG.integers(0, 2, 6000)
    x = RNG.gamma(3.0, 1.0 + y)
    x[5000] = -1.0
    for order in (slice(None), slice(None, None, -1)):
        assert chosen(NaiveBayes().fit({"x": x[order]}, y[order])) == ["kernel"]


def test_rows_that_repeat_are_drawn_as_often_as_they_are_there():
    y = RNG.integers(0, 2, 10_000)
    x = RNG.integers(0, 5, 10_000).astype(float)
    rows = sample_rows([x.__getitem__], y.astype(np.int32), None, 2000)
    share = np.bincount(x[rows].astype(int)) / len(rows)
    np.testing.assert_allclose(share, 0.2, atol=0.03)


def test_rare_classes_and_given_priors():
    y = np.r_[np.zeros(9990, int), np.ones(10, int)]
    x = RNG.normal(size=10_000)
    x[-10:] = [5, -5] * 5
    assert chosen(NaiveBayes(class_prior=[0.5, 0.5]).fit({"x": x}, y)) == ["kernel"]
    announced = NaiveBayes(class_prior=[0.2, 0.3, 0.5])
    assert chosen(announced.partial_fit({"x": x[:200]}, np.arange(200) % 2, classes=[0, 1, 2]))


def test_labels_of_any_kind_and_numbers_of_any_size():
    y = RNG.integers(0, 2, 300)
    mixed = np.array([1, "a"], dtype=object)[y]
    assert chosen(NaiveBayes().fit({"x": RNG.normal(size=300)}, mixed))[0]
    for x in (RNG.integers(0, 1000, 300) + 2**60, RNG.random(300) * 1e200, RNG.random(300) * 1.7e308):
        assert np.isfinite(NaiveBayes().fit({"x": x}, y).predict_proba({"x": x})).all()


def test_many_classes_go_fast():
    y = RNG.integers(0, 200, 2000)
    model = NaiveBayes().fit(RNG.normal(size=(2000, 3)), y)
    assert "kernel" not in model._model.schema.choices[0].scores


def test_many_columns_are_chosen_by_score_on_fewer_rows(monkeypatch):
    y = np.arange(1200) % 2
    X = np.exp(RNG.normal(size=(1200, 300)) + 0.5 * y[:, None])
    drawn = []

    def record(columns, codes, weight, most):
        drawn.append(most)
        return sample_rows(columns, codes, weight, most)

    monkeypatch.setattr(by_score, "sample_rows", record)
    wide = NaiveBayes(calibrate=None).fit(X, y)
    assert drawn == [by_score.FEWEST_ROWS]
    assert chosen(wide).count("lognormal") > 200 and "gaussian" not in chosen(wide)
    assert all(choice.scores for choice in wide._model.schema.choices)
    NaiveBayes(calibrate=None).fit(X[:, :40], y)
    assert drawn[1] == by_score.CELLS // 40


def test_a_sample_of_rows_that_differ_in_late_columns_does_not_depend_on_their_order():
    n = 20_000
    y = RNG.integers(0, 3, n).astype(np.int32)
    y[:7] = 3  # a rare class keeps all of its rows
    x = [RNG.integers(0, 2, n).astype(float), np.repeat(RNG.normal(size=n // 2), 2), RNG.normal(size=n)]
    rows = sample_rows([c.__getitem__ for c in x], y, None, 500)
    order = RNG.permutation(n)
    other = order[sample_rows([c[order].__getitem__ for c in x], y[order], None, 500)]
    assert sorted(rows.tolist()) == sorted(other.tolist()) and set(range(7)) <= set(rows.tolist())
    assert 500 <= len(rows) <= 507
    for c, cells in enumerate(x):  # no part of the values is preferred
        gap = abs(cells[rows].mean() - cells.mean()) / cells.std() * np.sqrt(500)
        assert gap < 4.0, c


def test_only_chosen_families_are_lenient_in_predict_and_in_updates():
    y = np.arange(300) % 2
    table = {"a": RNG.gamma(1.0, 1.0, 300), "b": RNG.gamma(1.0 + 5 * y, 1.0)}
    model = NaiveBayes({"a": "gamma"}).fit(table, y)
    assert chosen(model) == ["gamma", "gamma"]
    with pytest.warns(sr.ImpossibleCellWarning, match=r"'b': 1 of 1 cells, such as -1 "):
        assert np.isfinite(model.predict_proba({"a": [1.0], "b": [-1.0]})).all()
    with pytest.raises(ValueError, match="'a'"):
        model.predict({"a": [-1.0], "b": [1.0]})
    with pytest.warns(sr.ImpossibleCellWarning, match=r"'b': 1 of 1 cells, such as 0 "):
        model.partial_fit({"a": [1.0], "b": [0.0]}, [0])
    assert model.class_count_.sum() == 301


def test_names_in_families_are_checked_and_tuples_taken():
    table = {"g": RNG.random(300), "n": RNG.random(300)}
    y = np.arange(300) % 2
    assert chosen(NaiveBayes({("g", "n"): "auto-fast"}).fit(table, y)) == ["gaussian", "gaussian"]
    with pytest.raises(ValueError, match="'zzz'"):
        NaiveBayes({"zzz": "auto"}).fit(table, y)


def test_a_first_batch_that_is_too_small_is_chosen_by_again():
    x, y = RNG.normal(size=400), np.arange(400) % 2
    model = NaiveBayes().partial_fit({"x": x[:8].round()}, y[:8])
    model.partial_fit({"x": x[8:]}, y[8:])
    assert chosen(model) == chosen(NaiveBayes().fit({"x": np.append(x[:8].round(), x[8:])}, y))


@pytest.mark.parametrize("families", ["auto", "kernel", "binned"])
def test_rows_without_a_label_have_no_part_in_the_choice(families):
    y = np.arange(300) % 3
    X = RNG.normal(y[:, None] * 3.0, 1.0, (300, 2))
    labels = [f"c{c}" if k < 90 else None for k, c in enumerate(y)]
    model = NaiveBayes(families, unlabelled="em").fit(X, labels)
    assert model.score(X, [f"c{c}" for c in y]) > 0.9
    assert sorted(model.classes_) == ["c0", "c1", "c2"]


def densities(x, y, names, gap):
    """Mean log density of every cell under models without its row: scipy's distributions, refitted row by row."""
    total = dict.fromkeys(names, 0.0)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        for name in names:
            # The prior of all rows stays when a row is left out.
            kind = {"gaussian": sr.Gaussian, "lognormal": sr.LogNormal}.get(name)
            prior = None if kind is None else NaiveBayes(name).fit({"x": x}, y).prior_["x"]
            model = NaiveBayes(name if kind is None else kind(prior=prior)).fit({"x": x[rest]}, y[rest])
            c = int(np.searchsorted(model.classes_, y[i]))
            own = {key: values[c] for key, values in model.parameters_["x"].items()}
            if name == "gaussian":
                law = stats.norm(own["mean"], own["sd"])
            elif name == "lognormal":
                law = stats.lognorm(own["log sd"], scale=np.exp(own["log mean"]))
            elif name == "poisson":
                total[name] += stats.poisson(own["rate"]).logpmf(x[i]) / len(x)
                continue
            elif name == "geometric":
                total[name] += stats.geom(own["p"], loc=-1).logpmf(x[i]) / len(x)
                continue
            if gap:
                total[name] += np.log(np.diff(law.cdf([x[i] - gap / 2, x[i] + gap / 2]))[0] / gap) / len(x)
            else:
                total[name] += law.logpdf(x[i]) / len(x)
    return total


@pytest.mark.parametrize("lattice", [False, True])
def test_densities_are_those_of_models_without_the_row(lattice, monkeypatch):
    rng = np.random.default_rng(4)
    n = 60
    y = np.arange(n) % 2
    x = rng.poisson(3.0 + 3.0 * y).astype(float) + 1.0 if lattice else rng.gamma(3.0 + y, 1.0)
    recorded = {}

    def record(names, of_class, of_cell, prior, weight):
        recorded.update(zip(names, weight @ of_cell / weight.sum(), strict=True))
        return decide(names, of_class, of_cell, prior, weight)

    monkeypatch.setattr(by_score, "decide", record)
    NaiveBayes().fit({"x": x}, y)
    names = ["gaussian", "lognormal"] + ["poisson", "geometric"] * lattice
    expected = densities(x, y, names, 1.0 * lattice)
    for name in names:
        assert recorded[name] == pytest.approx(expected[name], abs=0.03 if lattice else 1e-6)
    # Bins and kernels: by numerical integration of models of one class without the row.
    nodes = (np.arange(200) + 0.5) / 200 - 0.5 if lattice else np.zeros(1)
    for name in ("binned", "kernel"):
        whole = NaiveBayes({"x": name}).fit({"x": x}, y)
        family = whole.fixed_families_["x"]
        total = 0.0
        for i in range(n):
            if name == "kernel":
                width = whole.parameters_["x"]["bandwidth"][y[i]]
                family = sr.Kernel(bandwidth=width, prior=whole.prior_["x"])
            rest = (y == y[i]) & (np.arange(n) != i)
            model = NaiveBayes({"x": family}).fit({"x": x[rest]}, y[rest])
            total += np.log(np.exp(model.score_samples({"x": x[i] + nodes})).mean()) / n
        assert recorded[name] == pytest.approx(total, abs=0.03 if lattice else 1e-6)


def test_a_narrow_kernel_does_not_win_on_whole_numbers():
    rng = np.random.default_rng(0)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 2000)
        model = NaiveBayes().fit({"noise": rng.poisson(30, 2000), "few": rng.poisson(1.0, 2000)}, y)
        assert chosen(model) == ["poisson", "poisson"]
        assert "says nothing about the class beyond chance" in model.families_["noise"]["reason"]


@pytest.mark.parametrize("informative", [False, True])
def test_zeros_and_ones_are_bernoulli(informative):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = (rng.random(400) < (0.3 + 0.4 * y if informative else 0.3)).astype(int)
    for cells in (x, x.astype(float), np.where(np.arange(400) % 9 == 0, np.nan, x)):
        assert chosen(NaiveBayes().fit({"x": cells}, y)) == ["bernoulli"]
    assert "bernoulli" not in NaiveBayes().fit({"x": x + 1}, y).families_["x"]["scores"]


def test_cholesterol_is_not_geometric():
    heart = load_heart_disease("pandas").frame
    model = NaiveBayes().fit(heart, "disease")
    about = model.families_.set_index("column").loc["cholesterol"]
    assert about["family"] in ("gaussian", "lognormal", "gamma", "kernel")
    assert about["reason"].startswith("says nothing about the class beyond chance; ")
    drawn = model.sample(20_000, random_state=0)[0]["cholesterol"]
    assert np.std(np.asarray(drawn, float)) == pytest.approx(heart["cholesterol"].std(), rel=0.15)
    nothing = dict.fromkeys(heart.columns.drop("disease"))
    usual, never = (model.score_samples(nothing | {"cholesterol": x})[0] for x in (250, 0.001))
    assert usual > never + 5


def test_the_reason_tells_the_gain_and_the_runner_up():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    x = rng.normal(2.0 * y)
    about = NaiveBayes().fit({"x": x}, y).families_["x"]
    assert about["family"] == "gaussian"
    found = re.fullmatch(
        r"([\d.]+) nats per row above the prior, ([\d.]+)\+-([\d.]+) (above|below) (\w+).*",
        about["reason"],
    )
    prior = np.log(np.bincount(y) / len(y))[y].mean()
    assert float(found[1]) == pytest.approx(about["scores"]["gaussian"] - prior, abs=2e-3)
    difference = about["scores"]["gaussian"] - about["scores"][found[5]]
    assert float(found[2]) == pytest.approx(abs(difference), abs=1e-3) and (difference < 0) == (
        found[4] == "below"
    )
    rows = [
        NaiveBayes(name).fit({"x": x}, y).leave_one_out({"x": x}, y)[np.arange(1000), y]
        for name in ("gaussian", found[5])
    ]
    assert float(found[3]) == pytest.approx(stats.sem(rows[0] - rows[1]), abs=1e-3)


def test_scores_of_distinct_values_are_those_of_rows(monkeypatch):
    rng = np.random.default_rng(0)
    n = 800
    y = rng.integers(0, 3, n)
    table = {
        "a": rng.poisson(2.0 + y),
        "b": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 40, n) / 2),
    }
    for weight in (None, rng.integers(0, 3, n).astype(float)):
        few = NaiveBayes().fit(table, y, sample_weight=weight).families_
        with monkeypatch.context() as patch:
            patch.setattr(distinct, "_FEW", 0.0)
            every = NaiveBayes().fit(table, y, sample_weight=weight).families_
        for name in table:
            assert few[name]["reason"] == every[name]["reason"]
            for family, score in every[name]["scores"].items():
                assert few[name]["scores"][family] == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("n", [10, 29])
def test_few_rows_go_by_type(n):
    rng = np.random.default_rng(0)
    model = NaiveBayes().fit({"x": rng.gamma(1.0, 1.0, n), "k": rng.poisson(40, n)}, np.arange(n) % 2)
    assert chosen(model)[0] == "gaussian" and model.families_["x"]["scores"] == {}
    assert model.families_["x"]["reason"] == "measurements; too few rows to compare families"
    rare = np.r_[np.zeros(96, int), np.ones(4, int)]  # one class has too few rows
    assert NaiveBayes().fit({"x": rng.normal(size=100)}, rare).families_["x"]["scores"] == {}
