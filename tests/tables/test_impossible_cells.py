"""Cells that the automatically chosen family of a column cannot have: counted, warned about, never a good sign."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise as sr
from plain import NaiveBayes
from sklearn.base import clone
from sunrise import ImpossibleCellWarning

RNG = np.random.default_rng(3)
N = 600
Y = np.where(np.arange(N) % 2 == 0, "a", "b")
AMOUNT = np.exp(RNG.normal(np.where(Y == "a", 0.0, 1.5), 1.0))
TABLE = {"amount": AMOUNT, "x": RNG.normal(np.where(Y == "a", 0.0, 1.0))}

impossible_allowed = pytest.mark.filterwarnings("ignore::sunrise.ImpossibleCellWarning")


@pytest.fixture(scope="module")
def model():
    fitted = NaiveBayes({"x": "gaussian"}).fit(TABLE, Y)
    assert fitted.families_["amount"]["family"] in ("lognormal", "gamma")
    return fitted


def rows(*amounts):
    return {"amount": list(amounts), "x": [0.0] * len(amounts)}


@impossible_allowed
def test_an_impossible_cell_never_raises_the_density_of_its_row(model):
    density = model.score_samples(rows(-5.0, 1.0, None, 0.0))
    assert density[0] == density[3] == -np.inf and np.isfinite(density[1:3]).all()


@impossible_allowed
def test_predict_ignores_an_impossible_cell(model):
    np.testing.assert_array_equal(model.predict_proba(rows(-5.0)), model.predict_proba(rows(None)))
    joint = model.predict_joint_log_proba(rows(-5.0, 2.0))
    np.testing.assert_array_equal(joint[0], model.predict_joint_log_proba(rows(None))[0])
    np.testing.assert_array_equal(joint[1], model.predict_joint_log_proba(rows(2.0))[0])


def test_there_is_one_warning_that_names_column_cell_and_remedy(model):
    for method in ("predict", "predict_proba", "score_samples", "explain"):
        text = r"'amount': 2 of 3 cells, such as -5 in row 1, are impossible under \w+ \(a number above 0\)"
        with pytest.warns(ImpossibleCellWarning, match=rf"{text}.*families") as caught:
            getattr(model, method)(rows(1.0, -5.0, None, -6.0))
        assert len(caught) == 1 and caught[0].filename == __file__
    both = NaiveBayes().fit({"amount": AMOUNT, "again": np.roll(AMOUNT, 2) ** 2}, Y)
    with pytest.warns(ImpossibleCellWarning, match=r"\(likewise 'again'\)") as caught:
        both.predict({"amount": [-1.0], "again": [-2.0]})
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows(1.0, None))


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_check_counts_impossible_cells_and_does_not_warn(model, make):
    found = model.check(make(rows(1.0, -5.0, None, -6.0)))
    if make is dict:
        assert found["amount"] == {"missing": 1, "unseen": 0, "impossible": 2}
        assert found["x"] == {"missing": 0, "unseen": 0, "impossible": 0}
    else:
        assert list(found["impossible"]) == [2, 0]


def test_check_counts_for_a_given_family_too():
    given = NaiveBayes({"amount": "lognormal", "x": "gaussian"}).fit(TABLE, Y)
    assert given.check(rows(-1.0, 2.0))["amount"]["impossible"] == 1
    with pytest.raises(ValueError, match="'amount'"):
        given.predict(rows(-1.0))
    counts = sr.PoissonNB().fit([[1], [2], [0]], [0, 1, 1])
    assert counts.check([[1.5], [-1], [3], [np.nan]])["x0"] == {"missing": 1, "unseen": 0, "impossible": 2}
    coded = sr.CategoricalNB().fit([[0], [1], [1]], [0, 1, 1])
    assert coded.check([[0.5], [7], [1]])["x0"] == {"missing": 0, "unseen": 1, "impossible": 1}


@impossible_allowed
@pytest.mark.parametrize("passed", [lambda f: f, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_fixed_families_accept_the_cells_that_the_model_accepts(model, passed):
    families = passed(model.fixed_families_)
    again = NaiveBayes(families).fit(TABLE, Y)
    np.testing.assert_array_equal(again.predict_proba(rows(-5.0)), model.predict_proba(rows(-5.0)))
    assert again.score_samples(rows(-5.0))[0] == -np.inf
    third = clone(NaiveBayes(again.fixed_families_)).fit(TABLE, Y)
    np.testing.assert_array_equal(third.predict_proba(rows(-5.0)), model.predict_proba(rows(-5.0)))


def test_fixed_families_accept_the_cells_in_fit_too(model):
    more = {name: np.append(cells, [-1.0, 2.0]) for name, cells in TABLE.items()}
    y = np.append(Y, ["a", "b"])
    blank = more | {"amount": np.append(AMOUNT, [np.nan, 2.0])}
    with pytest.warns(ImpossibleCellWarning, match=r"'amount': 1 of 602 cells") as caught:
        fitted = NaiveBayes(model.fixed_families_).fit(more, y)
    assert len(caught) == 1
    truth = NaiveBayes(model.fixed_families_).fit(blank, y)
    streamed = NaiveBayes(model.fixed_families_).fit(TABLE, Y)
    with pytest.warns(ImpossibleCellWarning):
        streamed.partial_fit({name: cells[-2:] for name, cells in more.items()}, y[-2:])
    for one in (fitted, streamed):
        np.testing.assert_allclose(one.predict_proba(TABLE), truth.predict_proba(TABLE), rtol=1e-12)


@impossible_allowed
def test_a_selection_of_columns_stays_lenient(model):
    small = model.select(1)
    name = small.selected_.tolist()
    assert name == [0] and small.predict(rows(-5.0)).shape == (1,)


@impossible_allowed
def test_a_matrix_is_read_leniently_whichever_column_is_first():
    X = np.stack([TABLE["x"], AMOUNT, np.roll(AMOUNT, 2)], axis=1)
    model = NaiveBayes({0: "lognormal"}).fit(np.abs(X) + 0.01, Y)
    again = NaiveBayes(model.fixed_families_).fit(np.abs(X) + 0.01, Y)
    for fitted in (model, again):
        assert fitted.score_samples([[1.0, -1.0, 1.0]])[0] == -np.inf
        with pytest.raises(ValueError, match="cannot take -1 in column 0"):
            fitted.predict([[-1.0, 1.0, 1.0]])
