"""Bad input: one clear error that names the column, the row or value, and the remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sunrise import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    LostPrecisionWarning,
    MultinomialNB,
    engines,
)

FIVE = [GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB]
five = pytest.mark.parametrize("cls", FIVE)
both_engines = pytest.mark.parametrize("engine", engines.ENGINES)

X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 3.0], [0.0, 2.0]])
FRAME = pd.DataFrame(X, columns=["age", "visits"])
y = np.array([0, 0, 1, 1])


@five
@both_engines
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_named(cls, engine, value):
    bad = FRAME.copy()
    bad.loc[2, "visits"] = value
    message = (
        rf"contains infinity: {value:g} in column 'visits', row 2\. A cell must be .* or NaN for missing"
    )
    with engines.using(engine):
        with pytest.raises(ValueError, match=message):
            cls().fit(bad, y)
        for call in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "explain"):
            with pytest.raises(ValueError, match=message):
                getattr(cls().fit(FRAME, y), call)(bad)


@five
def test_infinity_in_sparse_rows_and_without_names(cls):
    bad = sparse.csr_array(np.where(X == 3, np.inf, X))
    with pytest.raises(ValueError, match="infinity: inf in column 1, row 2"):
        cls().fit(bad, y)
    with pytest.raises(ValueError, match="infinity: inf in column 1, row 2"):
        cls().fit(X, y).predict(bad)


@pytest.mark.parametrize("cls", [MultinomialNB, ComplementNB, CategoricalNB])
@both_engines
def test_negative_counts_and_codes_are_named(cls, engine):
    bad = X.copy()
    bad[3, 0] = -2
    with engines.using(engine):
        for matrix in (bad, sparse.csr_array(bad), bad.astype(int)):
            with pytest.raises(
                ValueError, match="Negative values in data passed to .*: -2 in column 0, row 3"
            ):
                cls().fit(matrix, y)


@five
@pytest.mark.parametrize(
    "labels",
    [
        [0, np.nan, 1, 1],
        np.array([0, None, 1, 1], object),
        np.array(["a", np.nan, "b", "b"], object),
        pd.Series([0, pd.NA, 1, 1]),
    ],
)
def test_a_missing_label_is_named(cls, labels):
    with pytest.raises(ValueError, match="label in row 1 is missing. Drop the rows without a label"):
        cls().fit(X, labels)


@five
def test_labels_that_are_no_classes(cls):
    with pytest.raises(ValueError, match="continuous"):
        cls().fit(X, [0.5, 1.5, 2.5, 3.1])
    with pytest.raises(ValueError, match="Unknown label type"):
        cls().fit(X, np.array([[1], {}, 2, 3], dtype=object))
    with pytest.raises(ValueError, match="requires y to be passed"):
        cls().fit(X, None)
    with pytest.raises(
        ValueError, match=r"inconsistent numbers of samples: \[4, 3\]\. y must have one label"
    ):
        cls().fit(X, y[:3])


@five
def test_the_wrong_number_of_columns(cls):
    model = cls().fit(X, y)
    for call in (
        model.predict,
        model.explain,
        lambda Z: model.partial_fit(Z, y),
        lambda Z: model.forget(Z, y),
    ):
        with pytest.raises(
            ValueError, match="X has 1 features, but .* is expecting 2 features .* can be all NaN"
        ):
            call(X[:, :1])


@five
def test_a_missing_and_an_unknown_column(cls):
    model = cls().fit(FRAME, y)
    with pytest.raises(ValueError, match=r"(?s)yet now missing:\n- visits.*Add a missing column as nulls"):
        model.predict(FRAME[["age"]])
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- more.*Drop the columns"):
        model.predict(FRAME.assign(more=1))


@five
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -1, 1], r"negative in row 2: -1\. .* use forget\(\)"),
        ([0, 0, 0, 0], "zero for every row: there is nothing to fit"),
        ([1, np.nan, 1, 1], "NaN"),
        ([1, np.inf, 1, 1], "infinity"),
        ([1, 1], "sample_weight"),
    ],
)
def test_weights(cls, weights, message):
    with pytest.raises(ValueError, match=message):
        cls().fit(X, y, sample_weight=weights)


@five
def test_strings_are_named(cls):
    with pytest.raises(ValueError, match="could not convert string to float: 'tall' in column 1, row 2"):
        cls().fit(np.array([[1, 2], [3, 4], [5, "tall"], [6, 7]], dtype=object), y)


@five
def test_nothing_to_fit(cls):
    for empty in (np.empty((0, 2)), np.empty((4, 0)), [], [[]]):
        with pytest.raises(ValueError, match=r"0 sample|0 feature|minimum|Found no|Expected 2D"):
            cls().fit(empty, y[: len(empty)])


@five
def test_priors(cls):
    argument = "priors" if cls is GaussianNB else "class_prior"
    for prior, message in (
        ([0.5], "Number of priors must match number of classes. Got 1 for 2 classes"),
        ([0.5, 0.6], "sum of the priors should be 1. It is 1.1"),
        ([-0.5, 1.5], "Priors must be non-negative"),
        ({0: 1.0}, "no probability for class 1"),
    ):
        with pytest.raises(ValueError, match=message):
            cls(**{argument: prior}).fit(X, y)
    with pytest.raises(ValueError, match="prior names class 'x', which is not among the classes"):
        cls(**{argument: {0: 0.5, 1: 0.25, "x": 0.25}}).fit(X, y)
    # A prior by label announces its classes to a stream.
    stream = cls(**{argument: {0: 0.5, 1: 0.3, 2: 0.2}}).partial_fit(X, y)
    assert stream.classes_.tolist() == [0, 1, 2]
    by_label = cls(**{argument: {1: 0.9, 0: 0.1}}).fit(X, y)
    np.testing.assert_allclose(by_label.class_prior_, [0.1, 0.9])
    with pytest.raises(ValueError, match="class_weight names class 'x'"):
        cls(class_weight={"x": 1.0}).fit(X, y)


@five
def test_fitted_parameters_are_read_only_but_the_prior_can_be_set(cls):
    model = cls().fit(X, y)
    name = "theta_" if cls is GaussianNB else "feature_log_prob_"
    with pytest.raises(
        AttributeError, match=rf"{name} is derived from the statistics .*{cls.__name__}\.from_parameters"
    ):
        setattr(model, name, 1.0)
    before = model.predict_joint_log_proba(X)
    model.class_prior_ = [0.9, 0.1]
    np.testing.assert_allclose(model.class_prior_, [0.9, 0.1])
    if cls is not ComplementNB:
        moved = model.predict_joint_log_proba(X) - before
        np.testing.assert_allclose(moved, np.broadcast_to(np.log([1.8, 0.2]), (4, 2)))
    with pytest.raises(ValueError, match="sum of the priors"):
        model.class_prior_ = [1, 1]
    if cls is not GaussianNB:
        with pytest.raises(AttributeError, match="set class_prior_ instead"):
            model.class_log_prior_ = [0, 0]
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = getattr(cls(), name)


@five
def test_forgetting_what_was_never_seen(cls):
    model = cls().fit(X, y)
    with pytest.raises(ValueError, match="cannot be forgotten: no row of class 7 was fitted"):
        model.forget(X[:1], [7])
    with pytest.raises(ValueError, match="Forget only rows that were fitted"):
        model.forget(np.vstack([X, X]), np.r_[y, y])
    with pytest.raises(ValueError, match="Forget only rows that were fitted"):
        model.forget(X[:1], y[:1], sample_weight=[5.0])
    assert not hasattr(model.forget(X, y), "classes_")
    model.partial_fit(X[:, :1], y)
    assert model.n_features_in_ == 1


@five
def test_rows_are_forgotten_with_the_weights_they_were_fitted_with(cls):
    model = cls().fit(X, y, sample_weight=[2, 2, 1, 1])
    for weights in ([1], [0.5]):
        with pytest.raises(ValueError, match="cannot be forgotten"):
            cls().fit(X[:1], y[:1], sample_weight=[2]).forget(X[:1], y[:1], sample_weight=weights)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget(X[:1], y[:1], sample_weight=[4])
    assert model.forget(X[:1], y[:1], sample_weight=[2]).class_count_.tolist() == [2, 2]


def test_more_noes_cannot_be_forgotten_than_there_were():
    with pytest.raises(ValueError, match="more ones than rows"):
        BernoulliNB().fit([[1], [1]], [0, 0]).forget([[0]], [0])


def test_a_level_never_seen_cannot_be_forgotten():
    with pytest.raises(ValueError, match="cannot be forgotten"):
        CategoricalNB().fit([[0], [1]], [0, 0]).forget([[3]], [0])
    with pytest.raises(ValueError, match="weights or counts exceed the fitted ones"):
        MultinomialNB().fit([[1, 2], [1, 1]], [0, 0]).forget([[9, 0]], [0])


def test_models_that_do_not_fit_together():
    a = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="different columns"):
        a.merge(GaussianNB().fit(X[:, :1], y))
    with pytest.raises(TypeError, match=r"cannot merge .*BernoulliNB into .*GaussianNB"):
        a.merge(BernoulliNB().fit(X, y))
    with pytest.raises(ValueError, match="disagree on column 0.*same families and settings"):
        BernoulliNB().fit(X, y).merge(BernoulliNB(binarize=2.0).fit(X, y))
    with pytest.raises(ValueError, match="depend on settings that have changed"):
        BernoulliNB().fit(X, y).set_params(binarize=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same as on last call to partial_fit"):
        GaussianNB().partial_fit(X, y, classes=[0, 1]).partial_fit(X, y, classes=[0, 1, 2])


def test_a_threshold_below_zero_is_refused():
    # It would make every cell that is not stored a 1.
    with pytest.raises(ValueError, match="'binarize' parameter of BernoulliNB must be"):
        BernoulliNB(binarize=-1.0).fit(sparse.csr_array(X), y)


def test_forgetting_what_cannot_have_been_there_or_what_held_all_the_spread():
    X, y = [[1.0], [2.0], [3.0], [11.0], [12.0], [13.0]], list("aaabbb")
    with pytest.raises(ValueError, match="the variance of the remaining rows would be negative"):
        GaussianNB().fit(X, y).forget([[30.0]], ["a"])
    model = GaussianNB().fit(X, y).partial_fit([[1e9]], ["a"])
    with pytest.warns(LostPrecisionWarning, match="variance in 1 class-columns.*Fit again"):
        model.forget([[1e9]], ["a"])
    # An outlier that leaves digits enough is taken out in silence.
    model = GaussianNB().fit(X, y).partial_fit([[1e4]], ["a"]).forget([[1e4]], ["a"])
    assert model.var_[0, 0] == pytest.approx(2 / 3, rel=1e-7)
    # And so is the only cell that made a column vary.
    GaussianNB().fit([[0.1, 1], [0.1, 2], [0.7, 3], [0.2, 4]], [0, 0, 0, 1]).forget([[0.7, 3]], [0])


def test_dates_are_refused():
    days = pd.DataFrame({"age": [1.0, 2.0], "born": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    for dates in (days, days[["born"]].to_numpy()):
        with pytest.raises(
            ValueError, match="holds dates or times, which are not numbers. Give the time since"
        ):
            GaussianNB().fit(dates, [0, 1])


def test_strings_in_a_frame_are_named():
    with pytest.raises(ValueError, match="'tall' in column 'visits', row 2"):
        GaussianNB().fit(FRAME.astype(object).mask(FRAME == 3, "tall"), y)


def test_a_negative_code_for_the_unknown_gets_a_remedy():
    with pytest.raises(ValueError, match=r"-1 in column 0, row 0\. .*unknown_value=np\.nan"):
        CategoricalNB().fit(X, y).predict([[-1, 0]])


@five
def test_one_row_one_class_one_column(cls):
    model = cls().fit([[1.0]], ["only"])
    assert "the only class" in model.explain([[1.0]]).text()
    assert model.predict([[1.0], [np.nan]]).tolist() == ["only", "only"]
    assert model.predict_proba([[1.0]]).tolist() == [[1.0]]
