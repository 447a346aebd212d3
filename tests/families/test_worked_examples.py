"""The lecture notes' worked examples, by exact fractions."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from sunrise import BernoulliNB, CategoricalNB, GaussianNB, ImpossibleRowWarning, MultinomialNB, engines
from sunrise.engines import array
from sunrise.numerics.conjugate import Beta, Dirichlet


@pytest.fixture(scope="module")
def examples(find_data):
    return {e["id"]: e for e in json.loads(find_data("worked_examples.json").read_text(encoding="utf-8"))}


@pytest.fixture(params=list(engines.ENGINES), autouse=True)
def engine(request):
    with engines.using(request.param):
        yield


def exact(part):
    """Fractions of an example, as floats rounded once."""
    value = part["fraction"] if isinstance(part, dict) else part

    def number(v):
        return [number(w) for w in v] if isinstance(v, list) else float(Fraction(v))

    return np.array(number(value))


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=4e-15, atol=1e-300)


def rows(table):
    return np.array([[np.nan if v is None else v for v in row] for row in table], dtype=float)


def codes(table, levels=None):
    return np.array([[levels[j].index(v) for j, v in enumerate(row)] for row in table])


# Cornell


@pytest.mark.parametrize("name", ["cornell-shipping-and-perceptron", "cornell-perceptron-only"])
def test_the_spam_activity(examples, name):
    data, expected = examples[name]["data"], examples[name]["expected"]
    model = spam(data)
    joint = model.predict_joint_log_proba([data["x"]])[0]
    close(np.exp(joint), exact(expected["joint"]))
    close(model.predict_proba([data["x"]])[0], exact(expected["posterior"]))
    assert model.predict([data["x"]])[0] == expected["prediction"]


def spam(data):
    return BernoulliNB.from_parameters(
        exact(data["feature_prob"]),
        classes=data["classes"],
        class_prior=exact(data["class_prior"]),
        feature_names=data["features"],
    )


def test_all_inputs_of_the_spam_activity_and_its_linear_form(examples):
    data, expected = (examples["cornell-activity-all-inputs"][k] for k in ("data", "expected"))
    model = spam(data)
    close(model.predict_proba(data["X"]), exact(expected["posterior"]))
    assert model.predict(data["X"]).tolist() == expected["prediction"]
    w, b = model.to_linear().log_odds("spam")
    close(np.exp(w), exact(expected["exp_w"]))
    close(np.exp(b), exact(expected["exp_b"]))


def test_the_number_of_free_parameters(examples):
    e = examples["cornell-joint-die-sides"]
    for d, free in zip(e["data"]["d"], e["expected"]["naive_bayes_free_parameters"], strict=True):
        model = BernoulliNB().fit(np.eye(2, d), [0, 1])
        assert model.feature_log_prob_.size + len(model.classes_) - 1 == free


def test_additive_smoothing(examples):
    e = examples["cornell-categorical-smoothing-l"]
    column = np.repeat(np.arange(3), e["data"]["counts"])[:, None]
    for setting, expected in e["expected"].items():
        alpha = float(Fraction(setting.removeprefix("l=")))
        model = CategoricalNB(alpha=alpha, min_categories=e["data"]["K"]).fit(column, np.zeros(3))
        close(np.exp(model.feature_log_prob_[0][0]), exact(expected))


def test_multinomial_is_linear(examples):
    data, expected = (examples["cornell-multinomial-linear"][k] for k in ("data", "expected"))
    w, b = MultinomialNB().fit(data["X"], data["y"]).to_linear().log_odds(1)
    close(np.exp(w), exact(expected["exp_w"]))
    close(np.exp(b), exact(expected["exp_b"]))


def test_shared_variance_is_logistic(examples):
    data, expected = (examples["cornell-gaussian-logistic"][k] for k in ("data", "expected"))
    var = [data["variance_shared"]] * 2
    model = GaussianNB.from_parameters([data["mu_minus"], data["mu_plus"]], var, classes=[-1, 1])
    close(model.predict_proba(data["x"])[:, 1], expected["p_plus"]["float"])
    w, b = model.to_linear().log_odds(1)
    assert w.tolist() == [expected["w"]["float"][0], 0.0]
    assert b == expected["b"]["float"]


def test_other_variances_are_not_logistic(examples):
    data, expected = (examples["cornell-gaussian-not-logistic"][k] for k in ("data", "expected"))
    model = GaussianNB.from_parameters([[0], [0]], [[4], [1]], classes=["-", "+"])
    x = np.array(data["x"])[:, None]
    joint = model.predict_joint_log_proba(x)
    close(joint[:, 0] - joint[:, 1], expected["log_odds_plus"]["float"])
    close(model.predict_proba(x)[:, 0], expected["p_plus"]["float"])


def test_maximum_likelihood_variance(examples):
    data, expected = (examples["cornell-gaussian-mle-variance"][k] for k in ("data", "expected"))
    model = GaussianNB(var_smoothing=0.0).fit(np.array(data["x"])[:, None], [0, 0, 0])
    close(model.theta_[0, 0], exact(expected["mean"]))
    close(model.var_[0, 0], exact(expected["variance"]))


# Murphy


def test_posterior_predictive_of_the_nursery_rhyme(examples):
    data, expected = (examples["murphy-3.53"][k] for k in ("data", "expected"))
    tokens = np.repeat(np.arange(10), data["counts"])[:, None]
    model = CategoricalNB(min_categories=10).fit(tokens, np.zeros(len(tokens)))
    theta = np.exp(model.feature_log_prob_[0][0])
    close(theta, exact(expected["predictive"]))
    modes = np.flatnonzero(np.isclose(theta, theta.max(), rtol=1e-12)) + 1
    assert modes.tolist() == expected["modes_1_based"]  # the text names two of the three
    close(
        np.exp(MultinomialNB().fit([data["counts"]], [0]).feature_log_prob_[0]), exact(expected["predictive"])
    )
    close(np.exp(Dirichlet(np.array(data["counts"]) + 1.0).log_mean), exact(expected["predictive"]))


def test_log_sum_exp(examples):
    expected = examples["murphy-3.73"]["expected"]
    scores = np.array([examples["murphy-3.73"]["data"]["b"]], dtype=float)
    model = MultinomialNB.from_parameters([[1.0], [1.0]], classes=[0, 1])
    for output, want in (("log_proba", "log_softmax"), ("proba", "softmax")):
        close(array.log_normalise(scores, np.zeros(2), output)[0][0], expected[want]["float"])
    # The same numbers through the model: a token of log-probability -120 or -121.
    shifted = BernoulliNB.from_parameters([[math.exp(-120)], [math.exp(-121)]], classes=[0, 1])
    close(shifted.predict_log_proba([[1]])[0], expected["log_softmax"]["float"])
    assert model.predict_proba([[7]]).tolist() == [[0.5, 0.5]]


def test_log_sum_exp_where_exp_leaves_the_range(examples):
    for b in examples["murphy-logsumexp-extremes"]["data"]["b"]:
        scores = np.array([[float(v) for v in b]])
        log_proba, impossible = array.log_normalise(scores, np.log([0.25, 0.75]), "log_proba")
        assert impossible == np.isneginf(scores).all()
        if not impossible:
            assert np.exp(log_proba).sum() == pytest.approx(1, abs=1e-15)
        else:
            close(np.exp(log_proba)[0], [0.25, 0.75])


def test_table_3_1_probabilities(examples):
    data, expected = (examples["murphy-table-3.1"][k] for k in ("data", "expected"))
    n = np.array(data["N_c"], dtype=float)
    for c, counts, name in ((0, data["N_j1"], "theta_1"), (1, data["N_j2"], "theta_2")):
        X = np.arange(n[c])[:, None] < np.array(counts)[None, :]
        theta = np.exp(BernoulliNB().fit(X, np.full(int(n[c]), c)).feature_log_prob_[0])
        close(theta, exact(expected[name]))
        printed = expected["printed"][name]
        shown = dict(zip(data["words"], theta.round(3), strict=True))
        assert {word: shown[word] for word in printed} == printed


def test_exercise_3_1_and_the_two_means(examples):
    e = examples["murphy-exercise-3.1"]
    column = np.array(e["data"]["D"])[:, None]
    model = BernoulliNB(alpha=0).fit(column, np.zeros(5))
    close(np.exp(model.feature_log_prob_[0, 0]), exact(e["expected"]["theta_mle"]))
    likelihood = model.predict_joint_log_proba(column).sum()
    close(likelihood, e["expected"]["max_log_likelihood"]["float"])
    e = examples["murphy-posterior-mean-vs-mode"]
    n1, n = e["data"]["N1"], e["data"]["N"]
    for a in (1, 2):
        mean = np.exp(Beta(np.array(a + n1, float), np.array(a + n - n1, float)).log_mean)
        close(mean, exact(e["expected"][f"mean_beta_{a}_{a}"]))


def test_algorithm_3_1_divides_by_the_class_size(examples):
    e = examples["murphy-algorithm-3.1"]
    y = np.r_[np.zeros(e["data"]["N_c"]), np.ones(e["data"]["N"] - e["data"]["N_c"])]
    X = np.r_[np.ones(e["data"]["N_jc"]), np.zeros(e["data"]["N"] - e["data"]["N_jc"])][:, None]
    close(np.exp(BernoulliNB(alpha=0).fit(X, y).feature_log_prob_[0, 0]), exact(e["expected"]["theta"]))


def test_the_black_swan(examples):
    data, expected = (examples["murphy-black-swan"][k] for k in ("data", "expected"))
    X, y = np.ones((900, 1)), np.repeat([1, 2], 450)
    unsmoothed = BernoulliNB(alpha=0).fit(X, y)
    assert np.isneginf(unsmoothed.predict_joint_log_proba([[data["x_j"]]])).all()
    with pytest.warns(ImpossibleRowWarning, match="1 of 1 rows"):
        close(unsmoothed.predict_proba([[0]])[0], [0.5, 0.5])
    smoothed = BernoulliNB().fit(X, y)
    close(np.exp(smoothed.feature_log_prob_[:, 0]), exact(expected["theta_smoothed"]))
    close(np.exp(smoothed.predict_joint_log_proba([[0]])[0]) / 0.5, exact(expected["p_absent_smoothed"]))
    close(smoothed.predict_proba([[0]])[0], exact(expected["posterior_smoothed"]))


# Bacteria


def test_bacteria_parameters_follow_the_table_not_the_misprint(examples):
    e = examples["bacteria-conditional-matrix"]
    model = BernoulliNB(alpha=0).fit(e["data"]["X"], e["data"]["y"])
    assert model.class_count_.tolist() == e["expected"]["class_count"]
    assert model.feature_count_.T.tolist() == e["expected"]["gene_count_in_class"]
    close(np.exp(model.feature_log_prob_).T, exact(e["expected"]["matrix"]))
    close(model.class_prior_, exact(e["expected"]["class_prior"]))
    (wrong,) = e["expected"]["disagreements"]
    assert wrong["true"] == "1/12"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bacteria-posterior-unsmoothed", {"alpha": 0}),
        ("bacteria-laplace-features", {}),
        ("bacteria-laplace-features-uniform-prior", {"fit_prior": False}),
        ("bacteria-laplace-features-and-prior", {"class_prior": [13 / 19, 3 / 19, 3 / 19]}),
    ],
)
def test_bacteria_posteriors(examples, name, settings):
    data, expected = examples[name]["data"], examples[name]["expected"]
    model = BernoulliNB(**settings).fit(data["X"], data["y"])
    x = [data["x_new"]]
    close(np.exp(model.predict_joint_log_proba(x)[0]), exact(expected["joint"]))
    close(model.predict_proba(x)[0], exact(expected["posterior"]))
    assert model.predict(x)[0] == expected["prediction"]
    if "matrix" in expected:
        close(np.exp(model.feature_log_prob_).T, exact(expected["matrix"]))


def test_the_printed_product_is_that_of_the_misprinted_matrix(examples):
    e = examples["bacteria-printed-product"]
    printed = exact(e["data"]["printed_matrix"]).T
    model = BernoulliNB.from_parameters(printed, classes=[1, 2, 3], class_prior=[0.75, 0.125, 0.125])
    joint = np.exp(model.predict_joint_log_proba([e["data"]["x_new"]])[0])
    close(joint, exact(e["expected"]["joint_from_printed_matrix"]))
    assert joint[0] == pytest.approx(e["expected"]["printed_value"], rel=2e-5)


# Bonald


def test_gaussian_exercise_with_laplace_smoothing(examples):
    e = examples["bonald-gaussian-laplace"]
    data, expected = e["data"], e["expected"]
    model = GaussianNB(laplace=True).fit(data["X"], data["y"])
    close(model.theta_, exact(expected["mean"]))
    close(model.var_, exact(expected["variance"]))
    close(model.predict_joint_log_proba(expected["X_test"]), np.array(expected["log_joint"]["float"]))
    close(model.predict_log_proba(expected["X_test"]), np.array(expected["log_posterior"]["float"]))
    close(model.predict_proba(expected["X_test"]), np.array(expected["posterior"]["float"]))
    # The linear form is about a centre; about 0 it is the notes' w for (x, x^2).
    line = model.to_linear()
    slope, square = line.coef[:, :2], line.coef[:, 2:]
    np.testing.assert_allclose(slope - 2 * square * line.centre, exact(expected["linear_form_x"]), atol=1e-14)
    close(square, exact(expected["linear_form_x_squared"]))
    plain = GaussianNB(var_smoothing=0).fit(data["X"], data["y"])
    close(plain.var_, exact(expected["variance_unsmoothed"]))


def test_bernoulli_exercise(examples):
    data, expected = (examples["bonald-bernoulli-laplace"][k] for k in ("data", "expected"))
    model = BernoulliNB().fit(data["X"], data["y"])
    close(np.exp(model.feature_log_prob_), exact(expected["theta"]))
    close(np.exp(model.predict_joint_log_proba(expected["X_test"])), exact(expected["joint"]))
    close(model.predict_proba(expected["X_test"]), exact(expected["posterior"]))
    assert model.predict(expected["X_test"]).tolist() == expected["prediction"]
    linear = examples["bonald-bernoulli-linear"]["expected"]
    w, b = model.to_linear().log_odds(1)
    close(np.exp(w), exact(linear["exp_w"]))
    close(np.exp(b), exact(linear["exp_b"]))


def test_multinomial_exercise(examples):
    data, expected = (examples["bonald-multinomial-laplace"][k] for k in ("data", "expected"))
    model = MultinomialNB().fit(data["X"], data["y"])
    assert model.feature_count_.tolist() == expected["feature_count"]
    close(np.exp(model.feature_log_prob_), exact(expected["theta"]))
    joint = np.exp(model.predict_joint_log_proba(expected["X_test"]))
    close(joint, exact(expected["joint_without_coefficient"]))
    close(model.predict_proba(expected["X_test"]), exact(expected["posterior"]))
    assert model.predict(expected["X_test"]).tolist() == expected["prediction"]


def test_categorical_exercise_and_why_one_hot_is_another_model(examples):
    data, expected = (examples["bonald-categorical-laplace"][k] for k in ("data", "expected"))
    levels = data["categories"]
    model = CategoricalNB().fit(codes(data["X"], levels), data["y"])
    close(np.exp(model.feature_log_prob_[0]), exact(expected["theta_x1_abc"]))
    close(np.exp(model.feature_log_prob_[1]), exact(expected["theta_x2_AB"]))
    x = codes(expected["X_test"], levels)
    close(np.exp(model.predict_joint_log_proba(x)), exact(expected["joint"]))
    close(model.predict_proba(x), exact(expected["posterior"]))
    assert model.predict(x).tolist() == expected["prediction"]
    data, expected = (examples["bonald-categorical-vs-onehot"][k] for k in ("data", "expected"))
    hot = MultinomialNB().fit(data["X_onehot"], data["y"])
    close(np.exp(hot.feature_log_prob_), exact(expected["theta"]))
    onehot = np.concatenate([np.eye(3)[x[:, 0]], np.eye(2)[x[:, 1]]], axis=1)
    close(hot.predict_proba(onehot), exact(expected["posterior"]))
    close(model.predict_proba(x), exact(expected["posterior_categorical"]))


def test_missing_values_exercise(examples):
    data, expected = (examples["bonald-missing-values"][k] for k in ("data", "expected"))
    model = BernoulliNB().fit(rows(data["X"]), data["y"])
    close(np.exp(model.feature_log_prob_), exact(expected["theta"]))
    close(model.predict_proba(rows(expected["X_test"])), exact(expected["posterior"]))


def test_the_sunrise_problem(examples):
    e = examples["bonald-sunrise"]
    for n, theta in zip(e["data"]["n"], exact(e["expected"]["theta"]), strict=True):
        # n mornings as one row of weight n; beside it a class that says nothing about the sun.
        model = BernoulliNB().fit([[1.0], [np.nan]], ["sun", "other"], sample_weight=[max(n, 1), 1])
        expected = theta if n else 2 / 3
        close(np.exp(model.feature_log_prob_[1, 0]), expected)
        assert np.exp(model.feature_log_prob_[0, 0]) == 0.5


def test_zero_variance_and_probability_one_give_the_prior_and_a_warning(examples):
    data = examples["bonald-unseen-values"]["data"]
    g, b = data["gaussian"], data["bernoulli"]
    prior = [0.3, 0.7]
    mean, var = [[g["mean"]]] * 2, [[g["variance"]]] * 2
    for model, x in (
        (GaussianNB.from_parameters(mean, var, classes=[0, 1], class_prior=prior), g["x"]),
        (BernoulliNB.from_parameters([[b["theta"]]] * 2, classes=[0, 1], class_prior=prior), b["x"]),
    ):
        assert np.isneginf(model.predict_joint_log_proba([[x]])).all()
        with pytest.warns(ImpossibleRowWarning):
            close(model.predict_proba([[x]])[0], prior)


# Michigan


def test_every_document_contains_ball(examples):
    data, expected = (examples["michigan-ball"][k] for k in ("data", "expected"))
    for k, n in enumerate(data["n_k"]):
        for alpha, present, absent in (
            (0, 1.0, exact(expected["p_absent_unsmoothed"])[k]),
            (1, exact(expected["p_present_smoothed"])[k], exact(expected["p_absent_smoothed"])[k]),
        ):
            model = CategoricalNB(alpha=alpha, min_categories=2).fit(np.ones((n, 1), int), np.zeros(n))
            close(np.exp(model.feature_log_prob_[0][0]), [absent, present])


def test_categories_are_the_possible_ones_not_the_seen_ones(examples):
    data, expected = (examples["michigan-L-trap"][k] for k in ("data", "expected"))
    column = np.repeat(np.arange(3), data["counts"])[:, None]
    y = np.zeros(len(column))
    close(np.exp(CategoricalNB().fit(column, y).feature_log_prob_[0][0]), exact(expected["L_seen_2"]))
    declared = CategoricalNB(min_categories=3).fit(column, y)
    close(np.exp(declared.feature_log_prob_[0][0]), exact(expected["L_possible_3"]))
