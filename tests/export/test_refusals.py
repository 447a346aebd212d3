"""What cannot be exported names the column and the remedy."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sunrise as sr
from sklearn.exceptions import NotFittedError
from sunrise.export import curves
from sunrise.forms.pointwise import Pointwise


def test_before_fit():
    for export in (sr.NaiveBayes().to_json, sr.TextNB().to_sql, sr.GaussianNB().to_onnx):
        with pytest.raises(NotFittedError):
            export()


def test_unseen_levels_that_are_errors():
    model = sr.NaiveBayes(unseen="error").fit({"c": ["a", "b", "a", "b"]}, [0, 1, 0, 1])
    for export in (model.to_sql, model.to_onnx):
        with pytest.raises(
            ValueError, match=r"column 'c': unseen=\"error\" raises .* Fit with unseen=\"reserve\""
        ):
            export()
    assert json.loads(model.to_json())["blocks"][0]["refuse_unseen"]


def test_a_form_written_in_python(monkeypatch):
    model = sr.NaiveBayes("gaussian").fit({"height": [1.0, 2.0, 3.0]}, [0, 1, 1])
    model._model.__dict__["forms"] = (Pointwise(lambda x: np.zeros((len(x), 2, 1))),)
    for export in (model.to_json, model.to_sql, model.to_onnx):
        with pytest.raises(ValueError, match="column 'height' cannot be exported: .* a function in Python"):
            export()


def test_a_density_that_is_too_rough(monkeypatch):
    monkeypatch.setattr(curves, "MOST_PIECES", 20)
    x = np.random.default_rng(0).normal(size=200)
    model = sr.NaiveBayes(sr.Kernel(bandwidth=0.01), calibrate=None).fit({"height": x}, np.arange(200) % 2)
    with pytest.raises(
        ValueError, match="column 'height' cannot be exported: .* Give the column a wider bandwidth"
    ):
        model.to_json()


def test_wrong_arguments():
    model = sr.GaussianNB().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(
        ValueError, match="dialect is 'mysql'; it must be one of 'duckdb', 'postgresql', 'sqlite'"
    ):
        model.to_sql("mysql")
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match='dtype is \'int8\'; it must be "float64" or "float32"'):
        model.to_onnx("int8")


def test_the_mark_of_missing_strings_must_not_be_a_level():
    pytest.importorskip("onnx")
    model = sr.NaiveBayes("categorical").fit({"c": ["", "b", "", "b"]}, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"column 'c' has a level '', which marks .* to_onnx\(missing=...\)"):
        model.to_onnx()
    assert model.to_onnx(missing="?").graph.input[0].name == "c"


def test_names_that_differ_by_case():
    model = sr.NaiveBayes("gaussian").fit({"a": [1.0, 2.0, 3.0], "A": [1.0, 0.0, 5.0]}, [0, 1, 1])
    with pytest.raises(ValueError, match="because of columns 'a', 'A': sqlite does not distinguish"):
        model.to_sql("sqlite")
    assert model.to_sql("postgresql")


def test_columns_with_one_name():
    model = sr.NaiveBayes("gaussian").fit({1: [1.0, 2.0, 3.0], "1": [1.0, 0.0, 5.0]}, [0, 1, 1])
    for dialect in ("duckdb", "sqlite", "postgresql"):
        with pytest.raises(
            ValueError, match="because of columns '1', '1': .* two columns of one name.* Rename"
        ):
            model.to_sql(dialect)


@pytest.mark.parametrize("table", ["", (), ("main", "")], ids=str)
def test_a_table_without_a_name(table):
    model = sr.GaussianNB().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="it must be the name of a table"):
        model.to_sql(table=table)


def test_null_characters():
    model = sr.NaiveBayes("categorical").fit({"c": ["a\0", "b", "a\0", "b"]}, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="null character"):
        model.to_sql("sqlite")
