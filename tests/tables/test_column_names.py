"""Columns go by name: in any order, through merges, by numbers, with hints where a name is almost right."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from plain import NaiveBayes
from sunrise import GaussianNB, MultinomialNB

RNG = np.random.default_rng(7)


N = 200


Y = RNG.integers(0, 2, N)


X = pd.DataFrame({"a": RNG.normal(size=N) + 10 + Y, "b": RNG.normal(size=N)})


@pytest.mark.parametrize(
    "model", [GaussianNB, lambda: NaiveBayes("auto-fast"), lambda: NaiveBayes("gaussian")]
)
def test_models_merge_by_name_whatever_the_order_of_their_columns(model):
    both = model().fit(X, Y) + model().fit(X[["b", "a"]], Y)
    twice = model().fit(pd.concat([X, X]), np.append(Y, Y))
    np.testing.assert_allclose(both.predict_log_proba(X), twice.predict_log_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="different columns"):
        model().fit(X, Y).merge(model().fit(X.rename(columns={"a": "q"}), Y))


def test_words_merge_by_name():
    counts = pd.DataFrame({"wine": [3, 0], "beer": [0, 5]})
    both = MultinomialNB().fit(counts, [0, 1]) + MultinomialNB().fit(counts[["beer", "wine"]], [0, 1])
    assert both.feature_count_.tolist() == [[6, 0], [0, 10]]


def test_columns_that_are_called_by_numbers_go_by_name_too():
    frame = pd.DataFrame(X.to_numpy())
    model = NaiveBayes().fit(frame, Y)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame[[1, 0]]), expected)
    np.testing.assert_array_equal(model.predict_proba(X.to_numpy()), expected)  # numbered alike: no warning
    record = {1: frame.loc[0, 1], 0: frame.loc[0, 0]}
    np.testing.assert_array_equal(model.predict_proba(record), expected[:1])
    labelled = frame.assign(**{"2": Y}).rename(columns={"2": 2})
    np.testing.assert_array_equal(NaiveBayes().fit(labelled, 2).predict_proba(labelled), expected)


def test_an_array_for_a_frame_is_taken_in_order_with_a_warning_that_can_be_silenced():
    model = NaiveBayes().fit(X, Y)
    with pytest.warns(sr.ColumnNamesWarning, match="columns are taken in their order") as caught:
        model.predict(X.to_numpy())
    assert caught[0].filename == __file__ and len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.ColumnNamesWarning)
        np.testing.assert_array_equal(model.predict(X.to_numpy()), model.predict(X))


def test_names_that_are_almost_right_are_pointed_out():
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match=r"column 'a' is missing.*Is 'A' meant to be 'a'\?"):
        model.predict(X.rename(columns={"a": "A"}))
    with pytest.raises(ValueError, match=r"y is 'Label'.*Do you mean 'label'\?"):
        NaiveBayes().fit(X.assign(label=Y), "Label")
    with pytest.raises(ValueError, match=r"Do you mean 'gaussian'\?"):
        NaiveBayes("gausian").fit(X, Y)
    with pytest.raises(ValueError, match=r"For one row pass a dict"):
        model.predict(X.iloc[0])


def test_results_of_pandas_are_called_by_the_labels_themselves():
    proba = NaiveBayes().fit(X, Y).predict_proba(X, as_frame=True)
    assert proba.columns.tolist() == [0, 1] and proba[1].between(0, 1).all()
    assert NaiveBayes().fit(X, pd.Series(Y, name="label")).predict(X, as_frame=True).columns.tolist() == [
        "label"
    ]
