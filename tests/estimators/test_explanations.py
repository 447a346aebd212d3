"""Explanations and linear forms can be kept and shown, and say what rules a class out."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sunrise import BernoulliNB, NaiveBayes

RNG = np.random.default_rng(7)


N = 200


Y = RNG.integers(0, 2, N)


X = pd.DataFrame({"a": RNG.normal(size=N) + 10 + Y, "b": RNG.normal(size=N)})


def test_a_linear_form_and_an_explanation_can_be_pickled_and_shown():
    model = NaiveBayes().fit(X, Y)
    line = pickle.loads(pickle.dumps(model.to_linear()))
    np.testing.assert_allclose(line.decision(X), model.predict_joint_log_proba(X), rtol=1e-10)
    why = model.explain(X.head(3))
    assert "3 rows, 2 classes, 2 columns" in repr(why)
    assert why.text(0, of=1, against=0).startswith("1 rather than 0")
    with pytest.raises(IndexError, match="row 5 does not exist"):
        why.text(5)


def test_what_rules_a_class_out_is_not_told_as_evidence_for_it():
    why = BernoulliNB(alpha=0).fit([[1], [1], [0]], [0, 1, 1]).explain([[0]])
    assert "ruled out" in why.text(0, of=0) and "impossible" in why.text(0)
    assert why.text(0, against=1).startswith("0 rather than 1")


def test_offsets_of_the_calibration_are_listed_apart_from_the_class_prior():
    rng = np.random.default_rng(3)
    y = np.repeat(["no", "yes"], [60, 20])
    table = {name: rng.normal(size=80) + (y == "yes") for name in "abc"}
    model = NaiveBayes("gaussian", calibrate="temperature").fit(table, y)
    told = model.explain(table)
    np.testing.assert_allclose(told.score, model.predict_joint_log_proba(table), rtol=1e-12)
    prior, offset = np.log(3.0), np.subtract(*model.calibration_.offsets.values())
    lines = told.text(0, of="no", against="yes").splitlines()
    assert lines[1].split() == [f"{prior:+.2f}", "class", "prior"]
    assert lines[2].split() == [f"{offset:+.2f}", "calibration", "offset"]
    shown = [float(line.split()[0]) for line in lines[1:]]
    assert sum(shown) == pytest.approx(float(lines[0].split()[-1]), abs=0.005 * (len(lines) + 1))
    plain = NaiveBayes("gaussian", calibrate=None).fit(table, y).explain(table)
    assert "offset" not in plain.text(0) and not plain.offset.any()
