"""What a model of the rows can do beside predicting: densities, samples, decisions, information, selection."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from scipy import integrate, sparse, special, stats
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sunrise import BernoulliNB, GaussianNB, MultinomialNB, NaiveBayes, engines
from sunrise.datasets import load_heart_disease

RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def heart():
    return load_heart_disease("pandas").frame


@pytest.fixture(scope="module")
def model(heart):
    return NaiveBayes().fit(heart, "disease")


# Densities


def test_the_density_of_a_discrete_table_sums_to_one():
    table = {"k": ["a", "b", "a", "c"] * 3, "b": [True, False, True, True] * 3, "j": [1, 2, 3, 3] * 3}
    model = NaiveBayes("auto-fast", unseen="reserve").fit(table, ["u", "v", "u"] * 4)
    cells = list(product(["a", "b", "c", "never seen"], [True, False], ["1", "2", "3", "never"]))
    rows = {name: [cell[k] for cell in cells] for k, name in enumerate(table)}
    assert np.exp(model.score_samples(rows)).sum() == pytest.approx(1.0, abs=1e-12)


def test_the_density_of_numbers_is_the_mixture_of_their_classes():
    X, y = RNG.normal(size=(50, 2)) + 3, RNG.integers(0, 2, 50)
    model = GaussianNB().fit(X, y)
    by_class = [
        np.log(p) + stats.norm(m, np.sqrt(v)).logpdf(X).sum(axis=1)
        for p, m, v in zip(model.class_prior_, model.theta_, model.var_, strict=True)
    ]
    np.testing.assert_allclose(model.score_samples(X), special.logsumexp(by_class, axis=0), rtol=1e-12)
    X[:, 0] = np.nan  # integrated out
    alone = integrate.quad(lambda v: np.exp(model.score_samples([[v, X[0, 1]]])[0]), -20, 30, epsabs=1e-12)[0]
    assert model.score_samples(X[:1])[0] == pytest.approx(np.log(alone), abs=1e-9)
    far = model.score_samples([[1e3, 1e3]])[0]
    assert np.isfinite(far) and far < -1e4


def test_counts_have_their_coefficients():
    model = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], [0, 0])
    theta = np.exp(model.feature_log_prob_[0])
    expected = stats.multinomial(4, theta).logpmf([1, 2, 1])
    assert model.score_samples([[1, 2, 1]])[0] == pytest.approx(expected)
    poisson = sr.PoissonNB().fit([[3], [5]], [0, 0])
    assert poisson.score_samples([[4]])[0] == pytest.approx(stats.poisson(9 / 3).logpmf(4))
    assert not hasattr(sr.ComplementNB(), "score_samples")  # weights are no density
    mixed = NaiveBayes({("a", "b"): "complement"}).fit({"a": [1, 0], "b": [0, 1]}, [0, 1])
    with pytest.raises(ValueError, match="complement is not a distribution"):
        mixed.score_samples({"a": [1], "b": [1]})


def test_a_row_that_is_impossible_has_no_density():
    model = BernoulliNB(alpha=0).fit([[1], [1]], [0, 1])
    assert model.score_samples([[0], [1]]).tolist() == [-np.inf, 0.0]


def test_an_empty_row_has_density_one(model, heart):
    nothing = dict.fromkeys(heart.columns[1:])
    assert model.score_samples(nothing)[0] == pytest.approx(0.0, abs=1e-12)


# Samples


def test_rows_drawn_from_a_model_teach_the_same_model():
    means, variances = [[0.0, 5.0], [3.0, -1.0]], [[1.0, 4.0], [0.25, 9.0]]
    truth = GaussianNB.from_parameters(means, variances, classes=["a", "b"], class_prior=[0.3, 0.7])
    X, y = truth.sample(40_000, random_state=1)
    again = GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(again.theta_, truth.theta_, atol=0.1)
    np.testing.assert_allclose(again.var_, truth.var_, rtol=0.06)  # variances, not deviations
    np.testing.assert_allclose(again.class_prior_, [0.3, 0.7], atol=0.01)


def test_drawn_cells_have_the_types_of_their_columns(heart):
    model = NaiveBayes("auto-fast").fit(heart, "disease")
    rows, labels = model.sample(300, random_state=0)
    assert list(rows.columns) == list(heart.columns[1:]) and set(labels) <= {"no", "yes"}
    assert rows["exercise_angina"].dtype == bool and rows["chest_pain"].isin(heart["chest_pain"]).all()
    assert rows["vessels"].isin([0, 1, 2, 3]).all() and (rows["age"] % 1 == 0).all()
    assert NaiveBayes(model.fixed_families_).fit(rows, labels).score(heart, "disease") > 0.7
    fitted = NaiveBayes().fit(load_heart_disease("polars").frame, "disease")
    assert isinstance(fitted.sample(3, random_state=0)[0], pl.DataFrame)
    same = [model.sample(5, random_state=3)[0] for _ in range(2)]
    pd.testing.assert_frame_equal(*same)


def test_labels_may_be_given_and_left_out_columns_are_missing():
    table = {"x": RNG.normal(size=40), "one": [1] * 40}
    model = NaiveBayes().fit(table, ["a", "b"] * 20)
    rows, labels = model.sample(3, y=["b", "a", "b"])
    assert labels.tolist() == ["b", "a", "b"] and rows["one"] == [None] * 3
    with pytest.raises(ValueError, match="'c' is not one of the classes"):
        model.sample(2, y="c")
    with pytest.raises(ValueError, match="complement is not a distribution"):
        sr.ComplementNB().fit([[1, 0], [0, 1]], [0, 1]).sample(1)


# Decisions and priors


def test_decisions_have_the_least_expected_cost(model, heart):
    p = model.predict_proba(heart)
    cost = np.array([[0.0, 1.0], [7.0, 0.5]])
    by_hand = [min(range(2), key=lambda d: sum(row[c] * cost[c, d] for c in range(2))) for row in p]
    assert model.decide(heart, cost).tolist() == model.classes_[by_hand].tolist()
    named = model.decide(heart, {("yes", "no"): 7.0, ("yes", "yes"): 0.5})
    assert named.tolist() == model.decide(heart, cost).tolist()
    assert model.decide(heart).tolist() == model.predict(heart).tolist()
    cautious = model.decide(heart, abstain=0.2)
    assert [c is None for c in cautious] == (p.max(axis=1) < 0.8).tolist()
    for wrong in ([[0, 1]], {("yes", "maybe"): 1.0}, [[0, np.inf], [1, 0]]):
        with pytest.raises(ValueError, match="cost"):
            model.decide(heart, wrong)


def test_another_prior_shifts_the_odds_and_leaves_the_model_alone(model, heart):
    before = model.predict_proba(heart)
    shifted = model.with_class_prior({"no": 0.9, "yes": 0.1})
    odds = before / model.class_prior_ * [0.9, 0.1]
    np.testing.assert_allclose(
        shifted.predict_proba(heart), odds / odds.sum(axis=1, keepdims=True), rtol=1e-9
    )
    np.testing.assert_array_equal(model.predict_proba(heart), before)
    assert model.with_class_prior("uniform").class_prior_.tolist() == [0.5, 0.5]


# Information


def test_murphys_table_of_words(shared):
    data = np.load(shared / "data" / "xwindows.npz")
    model = BernoulliNB().fit(data["X_train"], data["y_train"])
    words = data["vocabulary"].tolist()
    theta = np.exp(model.feature_log_prob_)
    bits = dict(zip(words, model.mutual_information(), strict=True))
    likely = [dict(zip(words, p, strict=True)) for p in theta]
    for printed, numbers in [
        (likely[0], {"subject": 0.998, "this": 0.628, "with": 0.535, "but": 0.471, "you": 0.431}),
        (likely[1], {"subject": 0.998, "windows": 0.639, "this": 0.540, "with": 0.538, "but": 0.518}),
        (bits, {"windows": 0.215, "microsoft": 0.095, "dos": 0.092, "motif": 0.078, "window": 0.067}),
    ]:
        top = sorted(printed, key=printed.get, reverse=True)[:5]
        assert {word: round(float(printed[word]), 3) for word in top} == numbers


def test_information_of_categories_is_that_of_their_table():
    k, y = RNG.integers(0, 4, 300), RNG.integers(0, 3, 300)
    model = NaiveBayes({"k": sr.Categorical(alpha=0.0, unseen="ignore")}).fit({"k": k}, y)
    joint = np.zeros((3, 4))
    np.add.at(joint, (y, k), 1 / 300)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert model.mutual_information()[0] == pytest.approx(
        (joint * np.log2(joint / independent)).sum(), abs=1e-12
    )


VON_MISES = ("concentration", "direction")


def log_normal(mean, sd):
    return stats.lognorm(sd, scale=np.exp(mean))


@pytest.mark.parametrize(
    "family, draw, distribution",
    [
        ("gaussian", lambda n: RNG.normal(size=n), lambda p, c: stats.norm(p["mean"][c], p["sd"][c])),
        (
            "lognormal",
            lambda n: RNG.lognormal(size=n),
            lambda p, c: log_normal(p["log mean"][c], p["log sd"][c]),
        ),
        ("exponential", lambda n: RNG.exponential(size=n), lambda p, c: stats.expon(scale=1 / p["rate"][c])),
        (
            "gamma",
            lambda n: RNG.gamma(3.0, size=n),
            lambda p, c: stats.gamma(p["shape"][c], scale=1 / p["rate"][c]),
        ),
        ("beta", lambda n: RNG.beta(2, 3, size=n), lambda p, c: stats.beta(p["a"][c], p["b"][c])),
        (
            "vonmises",
            lambda n: RNG.vonmises(1, 2, n),
            lambda p, c: stats.vonmises(*(p[name][c] for name in VON_MISES)),
        ),
        ("poisson", lambda n: RNG.poisson(4, n), lambda p, c: stats.poisson(p["rate"][c])),
        ("geometric", lambda n: RNG.geometric(0.3, n) - 1, lambda p, c: stats.geom(p["p"][c], loc=-1)),
    ],
)
def test_information_is_the_integral_of_the_densities(family, draw, distribution):
    y = np.repeat([0, 1, 2], [60, 30, 10])
    x = draw(100) * np.where(y == 1, 1.0 if family in ("beta", "vonmises") else 2.0, 1.0)
    x = np.where((y == 2) & (family == "beta"), x**3, x)
    model = NaiveBayes(family).fit({"x": x}, y)
    by_class = [distribution(model.parameters_["x"], c) for c in range(3)]
    density = "pmf" if family in ("poisson", "geometric") else "pdf"

    def told(c, v):
        at_v = [getattr(d, density)(v) for d in by_class]
        return at_v[c] * np.log2(at_v[c] / np.dot(model.class_prior_, at_v)) if at_v[c] > 0 else 0.0

    if density == "pmf":
        bits = sum(p * sum(told(c, v) for v in range(400)) for c, p in enumerate(model.class_prior_))
    else:
        ends = [(-np.pi, np.pi) if family == "vonmises" else d.ppf([1e-13, 1 - 1e-13]) for d in by_class]
        bits = sum(
            p * integrate.quad(lambda v, c=c: told(c, v), *ends[c], limit=500, epsabs=1e-11)[0]
            for c, p in enumerate(model.class_prior_)
        )
    assert model.mutual_information()[0] == pytest.approx(bits, abs=2e-7)
    assert 0 < bits < 1.3


def test_information_is_bounded_and_nothing_tells_nothing():
    sure = NaiveBayes().fit({"k": ["a", "b"] * 500, "x": RNG.normal(size=1000)}, ["u", "v"] * 500)
    bits = sure.mutual_information()
    assert bits[0] == pytest.approx(1.0, abs=0.05) and bits[0] <= 1.0 and 0 <= bits[1] < 0.05
    with engines.using("array"):
        np.testing.assert_array_equal(sure.mutual_information(), bits)
    with pytest.raises(ValueError, match="complement is not a distribution"):
        sr.ComplementNB().fit([[1, 0], [0, 1]], [0, 1]).mutual_information()


# Selection


def test_the_smaller_model_is_the_model_of_those_columns(model, heart):
    small = model.select(4)
    kept = [heart.columns[1:][j] for j in small.selected_]
    best = sorted(zip(model.mutual_information(), heart.columns[1:], strict=True), reverse=True)[:4]
    assert set(kept) == {name for _, name in best}
    families = {name: model.fixed_families_[name] for name in kept}
    refit = NaiveBayes(families).fit(heart[kept], heart["disease"])
    np.testing.assert_allclose(small.predict_proba(heart), refit.predict_proba(heart[kept]), rtol=1e-12)
    np.testing.assert_allclose(small.predict_proba(heart[kept]), small.predict_proba(heart), rtol=1e-12)
    assert "left out: 0." in repr(small) and len(model.fixed_families_) == 13
    small.partial_fit(heart, "disease")
    assert small.class_count_.sum() == 2 * len(heart)
    assert set(model.select(min_bits=0.1).selected_) == set(np.flatnonzero(model.mutual_information() >= 0.1))


def test_selecting_words_gives_a_narrower_matrix():
    X, y = sparse.csr_array(RNG.poisson(0.4, (80, 30)).astype(float)), RNG.integers(0, 2, 80)
    for cls in (MultinomialNB, BernoulliNB, GaussianNB):
        full = cls().fit(X, y)
        small = full.select(7)
        narrow = X[:, small.selected_]
        refit = cls().fit(narrow, y)
        if cls is not GaussianNB:  # whose floor is of the largest column
            np.testing.assert_allclose(
                small.predict_log_proba(X[:, small.selected_]),
                refit.predict_log_proba(X[:, small.selected_]),
                rtol=1e-12,
            )
        small.partial_fit(X[:, small.selected_], y)
        assert small.n_features_in_ == 7 and full.n_features_in_ == 30


def test_wrong_questions_are_refused(model):
    for arguments in ({}, {"k": 0}, {"k": 99}, {"k": 2, "min_bits": 0.1}):
        with pytest.raises(ValueError, match="k is|say how many"):
            model.select(**arguments)
    with pytest.raises(ValueError, match="no column tells 5 bits"):
        model.select(min_bits=5)


def test_a_selector_for_pipelines_keeps_the_kind_of_table(heart):
    X, y = heart.drop(columns="disease"), heart["disease"]
    selector = sr.InformationSelector(k=3).fit(X, y)
    kept = selector.get_feature_names_out().tolist()
    assert list(selector.transform(X).columns) == kept
    polars = load_heart_disease("polars").data
    assert selector.transform(polars).columns == kept == selector.transform(polars.to_arrow()).column_names
    assert list(selector.transform(load_heart_disease().data)) == kept
    assert make_pipeline(sr.InformationSelector(min_bits=0.05), NaiveBayes()).fit(X, y).score(X, y) > 0.8
    numbers = sparse.csr_array(RNG.poisson(0.5, (60, 9)).astype(float))
    labels = np.asarray(numbers[:, [4]].toarray().ravel() > 0, int)
    assert (
        sr.InformationSelector(k=1, estimator=BernoulliNB()).fit(numbers, labels).get_support().argmax() == 4
    )
    assert SelectKBest(k=1).fit(numbers, labels).get_support().argmax() == 4
