"""Good citizens of scikit-learn: its estimator checks, and what users do with an estimator."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    DirichletMultinomialNB,
    GaussianNB,
    KernelNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)

FIVE = [GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB]
five = pytest.mark.parametrize("cls", FIVE)

NEGATIVE = "the check feeds negative numbers whatever the positive_only tag says"
INCOMPLETE = "missing counts are for predict: to fit, rows need totals"
FRACTIONS = "the check feeds fractions, which are no category codes and no counts"


def expected_failures(estimator):
    if isinstance(estimator, CategoricalNB):
        return {
            "check_class_weight_classifiers": NEGATIVE,
            "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
            "check_sample_weight_equivalence_on_sparse_data": FRACTIONS,
            "check_classifiers_one_label_sample_weights": FRACTIONS,
        }
    if isinstance(estimator, PoissonNB | DirichletMultinomialNB):
        own = (
            {"check_positive_only_tag_during_fit": "finds fractions before it finds negative numbers"}
            if isinstance(estimator, PoissonNB)
            else dict.fromkeys(
                ["check_estimators_pickle", "check_estimators_pickle(readonly_memmap=True)"], INCOMPLETE
            )
        )
        return own | {
            "check_class_weight_classifiers": FRACTIONS,
            "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
            "check_sample_weight_equivalence_on_sparse_data": FRACTIONS,
            "check_classifiers_one_label_sample_weights": FRACTIONS,
        }
    if isinstance(estimator, NaiveBayes) and estimator.get_params().get("calibrate") in (
        "columns",
        "temperature",
    ):
        checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
        return dict.fromkeys(
            checks, "calibration leaves rows out, and a row of weight 2 is left out as one row"
        )
    if isinstance(estimator, MultinomialNB | ComplementNB):
        return {"check_class_weight_classifiers": NEGATIVE}
    return {}


@parametrize_with_checks(
    [
        *(cls() for cls in [*FIVE, PoissonNB, DirichletMultinomialNB, KernelNB, NaiveBayes]),
        NaiveBayes("auto-fast"),
        NaiveBayes(calibrate="columns"),
        NaiveBayes(calibrate="temperature"),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_estimator_checks(estimator, check):
    check(estimator)


TEXT_CHECKS = [
    "check_estimator_cloneable",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
]


@pytest.mark.parametrize("check", TEXT_CHECKS)
@pytest.mark.filterwarnings("ignore")
def test_checks_of_an_estimator_of_documents(check):
    # Its tags say that it takes documents and no matrices, so scikit-learn's checks with matrices are not for it.
    assert not TextNB().__sklearn_tags__().input_tags.two_d_array
    getattr(estimator_checks, check)("TextNB", TextNB())


@five
@pytest.mark.filterwarnings("ignore")
def test_checks_that_check_estimator_leaves_out(cls):
    check_dataframe_column_names_consistency(cls.__name__, cls())
    check_param_validation(cls.__name__, cls())


@pytest.mark.filterwarnings("ignore")
def test_parameters_of_the_table_model_are_validated():
    # Its columns go by name in any order, so scikit-learn's check of their order is not for it.
    check_param_validation("NaiveBayes", NaiveBayes())
    check_param_validation("PoissonNB", PoissonNB())
    check_param_validation("DirichletMultinomialNB", DirichletMultinomialNB())
    check_param_validation("KernelNB", KernelNB())


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return np.floor(data.data), data.target


@five
def test_clone_copy_and_pickle(cls, iris):
    X, y = iris
    model = cls().fit(X, y)
    assert not hasattr(clone(model), "classes_")
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
        twin.partial_fit(X, y)
        assert twin.class_count_.sum() == 2 * model.class_count_.sum()


@five
def test_pipeline_grid_search_and_routed_weights(cls, iris):
    X, y = iris
    parameter = "var_smoothing" if cls is GaussianNB else "alpha"
    weights = np.linspace(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = cls().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        cross_validate(model, X, y, params={"sample_weight": weights}, error_score="raise")
        search = GridSearchCV(model, {parameter: [1e-3, 0.1, 1.0]}, error_score="raise")
        search.fit(X, y, sample_weight=weights)
    piped = make_pipeline(MinMaxScaler((0, 5)), cls())
    if cls is not CategoricalNB:
        assert piped.fit(X, y).score(X, y) > 0.3
    assert search.best_score_ > 0.3
    assert cls.__name__ in piped._repr_html_()


@five
def test_frames_keep_their_column_names(cls, iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = cls().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(model.predict_proba(frame), cls().fit(X, y).predict_proba(X))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_missing_values_of_pandas_are_missing():
    frame = pd.DataFrame(
        {"a": pd.array([1, None, 3, 4], "Int64"), "b": pd.array([True, False, None, True], "boolean")}
    )
    plain = np.array([[1, 1], [np.nan, 0], [3, np.nan], [4, 1]])
    objects = np.array([[1, True], [None, 0], [3.0, pd.NA], [4, 1]], dtype=object)
    y = [0, 0, 1, 1]
    expected = GaussianNB().fit(plain, y).predict_proba(plain)
    np.testing.assert_array_equal(GaussianNB().fit(frame, y).predict_proba(frame), expected)
    np.testing.assert_array_equal(GaussianNB().fit(objects, y).predict_proba(objects), expected)
    named = pd.DataFrame(objects, columns=["a", "b"])
    model = GaussianNB().fit(named, y)
    np.testing.assert_array_equal(model.predict_proba(named), expected)
    assert model.feature_names_in_.tolist() == ["a", "b"]


@five
def test_models_are_merged_in_a_loop_or_a_sum(cls, iris):
    X, y = iris
    parts = [cls().fit(X[rows], y[rows]) for rows in np.array_split(np.arange(len(y)), 4)]
    loop = cls()
    for part in parts:
        loop.merge(part)
    whole = cls().fit(X, y)
    for model in (loop, sum(parts)):
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert parts[0].class_count_.sum() < 50  # adding leaves its parts alone


@five
def test_explanations_add_up_and_take_names_of_any_kind(cls, iris):
    X, y = iris
    model = cls().fit(X, y)
    names = np.array(["a", "b", "c", "d"])
    why = model.explain(X[:5], columns=names)
    np.testing.assert_allclose(why.score, model.predict_joint_log_proba(X[:5]), rtol=1e-12)
    assert all(name in why.text(row=2) for name in names)
    assert model.explain(X[:1], columns=pd.Index(names)).columns == list(names)
    with pytest.raises(ValueError, match="must name 4 columns, not 2"):
        model.explain(X[:1], columns=["a", "b"])


@five
def test_a_failed_fit_changes_nothing(cls, iris):
    X, y = iris
    model = cls().fit(X, y)
    before = dict(model.__dict__)
    bad = X.copy()
    bad[3, 1] = np.inf
    for call in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="infinity"):
            call(bad, y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            call(X, y[:-1])
        assert model.__dict__ == before
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget(X + 50, np.full(len(y), 9))
    assert model.__dict__ == before


@five
def test_set_params_acts_at_the_next_fit(cls, iris):
    X, y = iris
    model = cls().fit(X, y)
    before = model.predict_proba(X)
    model.set_params(**({"var_smoothing": 1.0} if cls is GaussianNB else {"alpha": 50.0}))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert not np.array_equal(model.fit(X, y).predict_proba(X), before)


@five
@pytest.mark.parametrize("weights", [{0: 1.0, 1: 3.0, 2: 0.5}, "balanced"])
def test_class_weight_is_a_weight_of_the_rows(cls, iris, weights):
    X, y = iris[0][10:140], iris[1][10:140]
    counts = np.bincount(y)
    factors = len(y) / (3 * counts) if weights == "balanced" else np.array([weights[c] for c in range(3)])
    by_class = cls(class_weight=weights).fit(X, y)
    by_row = cls().fit(X, y, sample_weight=factors[y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-8)
    np.testing.assert_allclose(by_class.class_count_, by_row.class_count_)
    # Weights act on summed statistics, so balanced stays exact under updates.
    streamed = cls(class_weight=weights)
    for rows in np.array_split(np.arange(len(y)), 7):
        if weights == "balanced":
            streamed.partial_fit(X[rows], y[rows])
        else:
            streamed.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(streamed.predict_proba(X), by_class.predict_proba(X), rtol=1e-8)


@five
def test_concurrent_predictions_agree(cls):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (20_000, 8)).astype(float), rng.integers(0, 3, 20_000)
    model = cls().fit(X, y)
    expected = clone(model).fit(X, y).predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: model.predict_proba(X), range(16)):
            np.testing.assert_array_equal(got, expected)
    for got in Parallel(n_jobs=2)(delayed(model.predict_proba)(part) for part in np.array_split(X, 2)):
        assert len(got) == 10_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_after_use_is_safe():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50_000, 20)), rng.integers(0, 2, 50_000)
    model = GaussianNB(n_jobs=2).fit(X, y)
    expected = model.predict(X).sum()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        child = pool.apply_async(_count_ones, (model, X))
        assert child.get(timeout=60) == expected


def _count_ones(model, X):
    return model.predict(X).sum()


@five
def test_nothing_of_the_model_changes_in_predict(cls, iris):
    X, y = iris
    model = cls().fit(X, y)
    before = dict(model.__dict__)
    model.predict_proba(X)
    model.predict(X[:1])
    model.explain(X[:2])
    assert model.__dict__ == before
    assert not any(type(value).__module__.startswith("sunrise._native") for value in model.__dict__.values())


@five
def test_read_only_means_in_place_too(cls, iris):
    X, y = iris
    model = cls().fit(X, y)
    for array in (model.class_count_, model.class_prior_):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


@five
def test_the_same_label_in_another_type_is_the_same_class(cls, iris):
    X, _ = iris
    days = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    model = cls().partial_fit(X[:2], days).partial_fit(X[2:4], days[::-1].astype("M8[ns]"))
    assert model.class_count_.tolist() == [2, 2]
    large = cls().partial_fit(X[:1], np.array([2**63 + 5], np.uint64)).partial_fit(X[1:2], np.array([-1]))
    assert large.classes_.tolist() == [-1, 2**63 + 5]
    assert cls().partial_fit(X[:1], [1]).partial_fit(X[1:2], [1.0]).class_count_.tolist() == [2]


@five
def test_classes_may_be_announced_after_a_fit(cls, iris):
    X, y = iris
    model = cls().fit(X, y).partial_fit(X, y, classes={0, 1, 2, 3})
    assert model.classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="not the same as on last call"):
        cls().fit(X, y).partial_fit(X, y, classes=[0, 1])
    weighted = cls(class_weight={0: 1.0, 1: 2.0, 2: 1.0}).partial_fit(X[:50], y[:50])
    assert weighted.classes_.tolist() == [0]


def test_durations_are_numbers_and_dates_are_not():
    days = np.array([[1], ["NaT"], [3], [4]], "m8[D]")
    expected = GaussianNB().fit(np.array([[1], [np.nan], [3], [4]]) * 86_400, [0, 0, 1, 1]).theta_
    np.testing.assert_array_equal(GaussianNB().fit(days, [0, 0, 1, 1]).theta_, expected)
    frame = pd.DataFrame({"wait": pd.to_timedelta([1, None, 3, 4], unit="D"), "n": [1, 2, 3, 4]})
    waits = GaussianNB().fit(frame, [0, 0, 1, 1]).theta_[:, 0]
    assert waits[1] / waits[0] == pytest.approx(3.5)


@five
def test_labels_of_a_list_keep_their_types(cls, iris):
    X, _ = iris
    model = cls().fit(X[:4], [1, "a", 1, "a"])
    assert model.classes_.tolist() == [1, "a"]
    with pytest.raises(ValueError, match="label in row 1 is missing"):
        cls().fit(X[:4], ["a", np.nan, "b", "b"])


@five
def test_labels_come_back_as_they_went_in(cls, iris):
    X, _ = iris
    for labels in (
        ["x", "yy", "zzz"],
        [-5, 0, 1_000_000_000_000],
        [True, False, True],
        [1.0, 2.0, 7.0],
        ["a", 1, None.__class__],
        [2**63 + 5, 3, 4],
        [np.datetime64("2020-01-01"), np.datetime64("2021-01-01"), np.datetime64("2019-01-01")],
    ):
        dtype = object if isinstance(labels[-1], type) else None
        y = np.array(labels, dtype=dtype)[np.arange(len(X)) % 3]
        predicted = cls().fit(X, y).predict(X)
        assert set(predicted.tolist()) <= set(y.tolist())
        assert predicted.dtype == y.dtype
