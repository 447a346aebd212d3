"""Rows that come one by one or in batches: records, first batches that say too little, labels, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sunrise as sr
from plain import NaiveBayes

RNG = np.random.default_rng(3)


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


def test_a_poor_first_batch_does_not_warn_but_decided_columns_with_few_cells_do():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes().partial_fit({"age": [31, 40, 52], "x": [0.5, 1.5, 2.5]}, [0, 1, 0])
    rare = [*RNG.normal(size=20), *[None] * 980]
    with pytest.warns(sr.FirstBatchWarning, match="first 1000 rows .* 1 columns .* for example 'rare'"):
        NaiveBayes().partial_fit({"rare": rare, "x": RNG.normal(size=1000)}, [0, 1] * 500)


def test_labels_of_records_keep_their_types_and_are_not_invented():
    with pytest.raises(ValueError, match="label in row 1 is missing"):
        NaiveBayes({"a": "gaussian"}).fit([{"a": 1.0, "l": "x"}, {"a": 2.0}, {"a": 3.0, "l": "y"}], "l")
    yes = NaiveBayes({"a": "gaussian"}).fit([{"a": 1.0, "l": True}, {"a": 2.0, "l": False}], "l")
    assert yes.classes_.tolist() == [False, True] and yes.classes_.dtype == bool


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    model = NaiveBayes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sr.FirstBatchWarning):
            model.partial_fit({"x": [0.5, 1.5, *[None] * 998]}, [0, 1] * 500)
    assert not hasattr(model, "classes_")


def test_a_warning_points_to_the_caller_also_through_score():
    model = NaiveBayes().fit({"k": ["a", "b"] * 20}, [0, 1] * 20)
    with pytest.warns(sr.UnseenLevelsWarning) as caught:
        model.score({"k": ["q", "r", "s"]}, [0, 1, 0])
    assert caught[0].filename == __file__
