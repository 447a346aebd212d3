"""More that once went wrong: regrouped blocks, extreme distributions, drawn types, priors that must stay."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from scipy import integrate, sparse, stats
from sklearn.base import clone
from sunrise import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, PoissonNB

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("kind", [pd.Categorical, None])
def test_declared_levels_may_come_in_any_order(kind):
    cells, levels = ["a", "b"] * 5, ["z", "b", "a"]
    column = kind(cells, categories=levels) if kind else pl.Series(cells, dtype=pl.Enum(levels))
    table = pd.DataFrame({"k": column}) if kind else pl.DataFrame({"k": column})
    model = NaiveBayes().fit(table, [0, 1] * 5)
    assert list(model.parameters_["k"]) == ["a", "b", "z", "(unseen)"]
    assert model.predict_proba(table)[0, 0] == pytest.approx(6 / 7)


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


def test_labels_of_records_keep_their_types_and_are_not_invented():
    with pytest.raises(ValueError, match="label in row 1 is missing"):
        NaiveBayes({"a": "gaussian"}).fit([{"a": 1.0, "l": "x"}, {"a": 2.0}, {"a": 3.0, "l": "y"}], "l")
    yes = NaiveBayes({"a": "gaussian"}).fit([{"a": 1.0, "l": True}, {"a": 2.0, "l": False}], "l")
    assert yes.classes_.tolist() == [False, True] and yes.classes_.dtype == bool


# Information


def bits_by_hand(distributions, prior, low, high):
    def told(v):
        p = np.array([d.pdf(v) for d in distributions])
        both = prior @ p
        return sum(w * q * np.log2(q / both) for w, q in zip(prior, p, strict=True) if q > 0)

    u = np.linspace(low, high, 400_001)  # on the logarithmic scale, where all of these are smooth
    return integrate.simpson([told(np.exp(v)) * np.exp(v) for v in u[::40]], x=u[::40])


def test_information_of_rates_that_are_large():
    model = PoissonNB.from_parameters([[1000.0], [1010.0]], classes=[0, 1], class_prior=[0.3, 0.7])
    x = np.arange(500, 1600)
    p = np.array([stats.poisson(rate).pmf(x) for rate in (1000, 1010)])
    both = 0.3 * p[0] + 0.7 * p[1]
    expected = sum(w * (q * np.log2(q / both)).sum() for w, q in zip((0.3, 0.7), p, strict=True))
    assert model.mutual_information()[0] == pytest.approx(expected, abs=1e-9)
    huge = PoissonNB.from_parameters([[1e10], [1e10 + 3e5]], classes=[0, 1]).mutual_information()[0]
    near = GaussianNB.from_parameters([[0.0], [3.0]], [[1.0], [1.0]], classes=[0, 1]).mutual_information()[0]
    assert huge == pytest.approx(near, rel=1e-3)


def test_information_of_distributions_that_span_decades():
    params = sr.families.gamma.GammaParams(np.array([[0.05], [0.1]]), np.ones((2, 1)), np.array([True]))
    from sunrise.selection.mutual_information import mutual_information

    prior = np.array([0.5, 0.5])
    expected = bits_by_hand([stats.gamma(0.05), stats.gamma(0.1)], prior, -690, 6)
    assert mutual_information(sr.Gamma(), params, prior)[0] == pytest.approx(expected, abs=2e-4)
    scales = [1.0, 1e-200, 1e200]
    found = []
    for scale in scales:
        rate = np.array([[1.0], [3.0]]) / scale
        found.append(
            mutual_information(
                sr.Exponential(), sr.families.exponential.ExponentialParams(rate, np.array([True])), prior
            )[0]
        )
    np.testing.assert_allclose(found, found[0], rtol=1e-6)


def test_rare_failures_and_classes_without_prior():
    log_q = np.log1p(-np.array([[1e-6], [3e-6]]))
    params = sr.families.geometric.GeometricParams(np.log([[1e-6], [3e-6]]), log_q, np.array([True]))
    from sunrise.selection.mutual_information import mutual_information

    smooth = sr.families.exponential.ExponentialParams(np.array([[1.0], [3.0]]), np.array([True]))
    prior = np.array([0.5, 0.5])
    expected = mutual_information(sr.Exponential(), smooth, prior)[0]
    assert mutual_information(sr.Geometric(), params, prior)[0] == pytest.approx(expected, rel=1e-4)
    model = GaussianNB().fit(
        np.r_[RNG.normal(size=(20, 1)), [[1e6]] * 2 + RNG.normal(size=(2, 1))], [0, 1] * 10 + [2, 2]
    )
    assert np.isfinite(model.with_class_prior([0.5, 0.5, 0.0]).mutual_information()).all()
    with pytest.raises(ValueError, match="no variance"):
        GaussianNB(var_smoothing=0).fit([[1.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).mutual_information()


# Selection


def test_a_model_of_given_numbers_can_be_narrowed():
    model = GaussianNB.from_parameters([[0.0, 0], [0, 9]], [[1.0, 1], [1, 1]], classes=[0, 1])
    assert model.select(1).theta_.tolist() == [[0.0], [9.0]]


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


def test_a_sparse_model_becomes_a_narrower_one():
    X, y = sparse.csr_array(RNG.poisson(0.5, (50, 12)).astype(float)), np.arange(50) % 2
    small = NaiveBayes().fit(X, y).select(5)
    narrow = X[:, small.selected_]
    again = clone(small).fit(narrow, y)
    np.testing.assert_allclose(small.predict_proba(narrow), again.predict_proba(narrow), rtol=1e-12)


def test_only_columns_that_are_used_can_be_selected():
    model = NaiveBayes().fit({"one": [1] * 40, "x": RNG.normal(size=40)}, [0, 1] * 20)
    assert model.select(1).selected_.tolist() == [1] == model.select(min_bits=0.0).selected_.tolist()
    for wrong in (2, 1.5, "1"):
        with pytest.raises(ValueError, match="k is"):
            model.select(wrong)
    again = model.select(1).fit({"one": [1, 2], "x": [0.5, 2.5]}, [0, 1])
    assert "selected_" not in vars(again)


def test_a_selector_goes_by_name_and_checks_what_it_gets():
    frame = pd.DataFrame({"a": RNG.normal(size=80), "b": np.arange(80) % 2, "c": RNG.normal(size=80)})
    y = np.arange(80) % 2
    selector = sr.InformationSelector(k=1).fit(frame, y)
    for table in (
        frame[["c", "b", "a"]],
        frame.assign(label=y)[["label", "b"]],
        pl.DataFrame(frame[["b", "a"]].to_dict("list")),
    ):
        assert list(selector.transform(table).columns) == ["b"]
    assert selector.transform([{"b": 1, "a": 2.0}]) == [{"b": 1}]
    with pytest.raises(ValueError, match="'b' is missing"):
        selector.transform(frame[["a"]])
    with pytest.raises(ValueError, match="expecting 3 features"):
        selector.transform(np.zeros((2, 50)))
    assert not hasattr(selector.fit(frame.to_numpy(), y), "feature_names_in_")
    with pytest.raises(ValueError, match="no column tells"):
        sr.InformationSelector(min_bits=2.0).fit(frame, y)


def test_another_prior_stays():
    X, y = RNG.normal(size=(40, 3)), np.arange(40) % 2
    for cls in (GaussianNB, NaiveBayes):
        shifted = cls().fit(X, y).with_class_prior([0.9, 0.1])
        assert shifted.select(2).class_prior_.tolist() == [0.9, 0.1]
        assert shifted.partial_fit(X, y).class_prior_.tolist() == [0.9, 0.1]
    model = GaussianNB().fit(X, y)
    model.class_prior_ = [0.7, 0.3]
    assert model.select(1).class_prior_.tolist() == [0.7, 0.3]


# Samples and densities


def test_drawn_cells_are_of_the_kinds_that_were_seen():
    table = {
        "level": [1.0, None, 2.0, 1.0],
        "flag": [True, False, True, True],
        "never": [None] * 4,
        "same": [2.5] * 4,
        "text": ["u", None, "v", "u"],
    }
    families = {
        "level": sr.Categorical(missing="level"),
        "flag": "categorical",
        "never": "categorical",
        "same": "gaussian",
    }
    families["text"] = sr.Categorical(missing="level")
    rows, _ = NaiveBayes(families).fit(table, [0, 1, 0, 1]).sample(200, random_state=0)
    assert set(rows["level"]) == {1, 2, None} and set(rows["text"]) == {"u", "v", None}
    assert set(rows["flag"]) == {True, False} and set(rows["never"]) == set(rows["same"]) == {None}
    above = BernoulliNB(binarize=5.0).fit([[9.0], [1.0], [9.0]], [0, 0, 0])
    assert (above.sample(500, random_state=0)[0] > 5).mean() == pytest.approx(0.6, abs=0.1)
    mixed = NaiveBayes({"k": "categorical"}).fit({"k": [1, 2]}, [0, 1]).partial_fit({"k": ["x", "y"]}, [0, 1])
    assert set(mixed.sample(300, random_state=0)[0]["k"]) == {1, 2, "x", "y"}
    assert MultinomialNB().fit([[1, 2]], [0]).sample(0)[0].shape[0] == 0
    with pytest.raises(ValueError, match="1 labels for 5 rows"):
        above.sample(5, y=[0])


def test_drawn_frames_have_the_names_of_the_columns():
    frame = pd.DataFrame(RNG.normal(size=(30, 2)))
    model = NaiveBayes().fit(frame, np.arange(30) % 2)
    assert np.isfinite(model.score_samples(model.sample(3, random_state=0)[0])).all()


def test_columns_that_say_nothing_are_no_part_of_the_density():
    X = np.array([[1.0, 2.0, np.nan], [2.0, 1.0, np.nan]])
    seen = MultinomialNB().fit(X, [0, 0])
    expected = stats.multinomial(2, [0.5, 0.5]).logpmf([1, 1])
    assert seen.score_samples([[1.0, 1.0, 5.0]])[0] == pytest.approx(expected)
    for family in ("gamma", "lognormal", "poisson", "beta"):
        model = NaiveBayes({"x": "gaussian", "y": family}).fit(
            {"x": [0.0, 1.0, 2.0], "y": [None] * 3}, [0, 0, 0]
        )
        other = 0.5 if family == "beta" else 3.0
        both, alone = (model.score_samples({"x": [0.5], "y": [cell]})[0] for cell in (other, None))
        assert both == alone


# Decisions, explanations, warnings


def test_ties_go_to_the_first_class():
    tied = CategoricalNB().fit([[0]] * 10, np.repeat(np.arange(5), 2))
    X = np.zeros((50, 1))
    assert tied.decide(X).tolist() == tied.predict(X).tolist() == [0] * 50
    assert tied.decide(X, cost=1.0 - np.eye(5)).tolist() == [0] * 50


def test_what_rules_a_class_out_is_not_told_as_evidence_for_it():
    why = BernoulliNB(alpha=0).fit([[1], [1], [0]], [0, 1, 1]).explain([[0]])
    assert "ruled out" in why.text(0, of=0) and "impossible" in why.text(0)
    assert why.text(0, against=1).startswith("0 rather than 1")


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    model = NaiveBayes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sr.FirstBatchWarning):
            model.partial_fit({"x": [1.0, 1.0]}, [0, 1])
    assert not hasattr(model, "classes_")


def test_a_warning_points_to_the_caller_also_through_score():
    model = NaiveBayes().fit({"k": ["a", "b"] * 20}, [0, 1] * 20)
    with pytest.warns(sr.UnseenLevelsWarning) as caught:
        model.score({"k": ["q", "r", "s"]}, [0, 1, 0])
    assert caught[0].filename == __file__
