"""Behaviours that once went wrong: names in merges, integer names, complements in a mix, classes without cells."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from scipy import sparse
from sunrise import GaussianNB, MultinomialNB, NaiveBayes

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


def test_integers_beyond_floats_are_looked_at_exactly():
    ids = [2**60 + i % 3 for i in range(60)]
    for table in (pl.DataFrame({"id": ids}), {"id": ids}, pd.DataFrame({"id": ids})):
        model = NaiveBayes().fit(table, [0, 1, 1] * 20)
        assert model.fixed_families_["id"].name == "categorical"
        assert model.score(table, [0, 1, 1] * 20) == 1.0


def test_unseen_codes_are_counted():
    coded = sr.CategoricalNB().fit([[0, 1], [1, 0], [0, 0]], [0, 1, 1])
    assert coded.check([[99, 1], [np.nan, 0]]) == {
        "x0": {"missing": 1, "unseen": 1},
        "x1": {"missing": 0, "unseen": 0},
    }


def test_the_column_of_an_unseen_code_is_named_in_any_block():
    families = {"k": sr.Categorical(coded=True, unseen="error"), "g": "gaussian"}
    model = NaiveBayes(families).fit({"g": [0.5, 1.5, 2.5, 4.0], "k": [0, 1, 0, 1]}, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"level 9 in column 'k', row 1"):
        model.predict({"g": [1.0, 2.0], "k": [0, 9]})


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
    with pytest.raises(ValueError, match="made with other settings: column 'w0' was multinomial"):
        model.set_params(families=dict.fromkeys(block, "poisson")).partial_fit(table, y)


def test_families_with_long_arrays_are_told_apart():
    a, b = np.ones(2000), np.ones(2000)
    b[1000] = 500.0
    from sunrise.model.schema import _written

    assert repr(a) == repr(b) and _written(sr.Multinomial(alpha=a)) != _written(sr.Multinomial(alpha=b))


def test_declared_levels_of_both_models_count_in_a_merge():
    one = pd.DataFrame({"k": pd.Categorical(["a", "b"] * 10, categories=["a", "b", "z", "q"])})
    two = pd.DataFrame({"k": pd.Categorical(["a", "b"] * 10, categories=["a", "b"])})
    y = ["u", "v"] * 10
    first, second = NaiveBayes().fit(one, y), NaiveBayes().fit(two, y)
    np.testing.assert_allclose(
        (first + second).predict_proba(one), (second + first).predict_proba(one), rtol=1e-15
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


def test_records_can_be_learned_one_by_one():
    families = {"a": "gaussian", "k": "categorical"}
    model = NaiveBayes(families)
    rows = [({"a": 1.0, "k": "x"}, "no"), ({"a": 2.0, "k": "y"}, "yes"), ({"a": 1.5, "k": None}, "no")]
    for record, label in rows:
        model.partial_fit(record, label)
    table = [record for record, _ in rows]
    labelled = [record | {"label": label} for record, label in rows]
    whole = NaiveBayes(families).fit(labelled, "label")
    np.testing.assert_allclose(model.predict_proba(table), whole.predict_proba(table), rtol=1e-12)
    assert model.partial_fit({"a": 3.0, "k": "x", "label": "yes"}, "label").class_count_.sum() == 4


def test_a_poor_first_batch_warns():
    with pytest.warns(sr.FirstBatchWarning, match="it holds too little of .* for example 'age'"):
        NaiveBayes().partial_fit({"age": [31, 40, 52], "x": [0.5, 1.5, 2.5]}, [0, 1, 0])
    NaiveBayes().partial_fit({"age": [1, 2] * 20, "x": RNG.normal(size=40)}, [0, 1] * 20)


def test_names_that_are_almost_right_are_pointed_out():
    model = NaiveBayes().fit(X, Y)
    with pytest.raises(ValueError, match=r"column 'a' is missing.*Is 'A' meant to be 'a'\?"):
        model.predict(X.rename(columns={"a": "A"}))
    with pytest.raises(ValueError, match=r"y is 'Label'.*Is it 'label'\?"):
        NaiveBayes().fit(X.assign(label=Y), "Label")
    with pytest.raises(ValueError, match=r"Is it 'gaussian'\?"):
        NaiveBayes("gausian").fit(X, Y)
    with pytest.raises(ValueError, match=r"For one row pass a dict"):
        model.predict(X.iloc[0])


def test_numbers_that_came_as_text_are_told():
    text = pd.DataFrame({"n": [str(k % 60) for k in range(300)]})
    assert "60 of them numbers written as text" in repr(NaiveBayes().fit(text, np.arange(300) % 2))


def test_sparse_matrices_are_one_block_and_say_why():
    words = sparse.csr_array(RNG.poisson(0.3, (60, 5)).astype(float))
    y = RNG.integers(0, 2, 60)
    for matrix, family in (
        (words, "multinomial"),
        (words * 0.5, "multinomial"),
        (words > 0, "bernoulli"),
        (-words, "gaussian"),
    ):
        told = NaiveBayes().fit(matrix.astype(float), y).families_["x0"]
        assert told["family"] == family and told["reason"].startswith("a sparse matrix of")


def test_a_linear_form_and_an_explanation_can_be_pickled_and_shown():
    model = NaiveBayes().fit(X, Y)
    line = pickle.loads(pickle.dumps(model.to_linear()))
    np.testing.assert_allclose(line.decision(X), model.predict_joint_log_proba(X), rtol=1e-10)
    why = model.explain(X.head(3))
    assert "3 rows, 2 classes, 2 columns" in repr(why)
    assert why.text(0, of=1, against=0).startswith("1 rather than 0")
    with pytest.raises(IndexError, match="no row 5"):
        why.text(5)


def test_results_of_pandas_are_called_by_the_labels_themselves():
    proba = NaiveBayes().fit(X, Y).predict_proba(X, as_frame=True)
    assert proba.columns.tolist() == [0, 1] and proba[1].between(0, 1).all()
    assert NaiveBayes().fit(X, pd.Series(Y, name="label")).predict(X, as_frame=True).columns.tolist() == [
        "label"
    ]
