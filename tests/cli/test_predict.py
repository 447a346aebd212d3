"""`sunrise predict` and `sunrise inspect`."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import sunrise as sr


@pytest.fixture
def model(cli, people):
    assert cli("fit", people, "-t", "city", "--quiet").code == 0
    return people.with_suffix(".sunrise")


def test_predictions_are_those_of_the_model(cli, people, model):
    expected = sr.load(model).predict_proba(pyarrow.csv.read_csv(people))
    done = cli("predict", model, people, "--keep", "id")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == ["id", "city", "Bonn", "Ulm"]
    assert np.array_equal([[float(row["Bonn"]), float(row["Ulm"])] for row in rows], expected)
    assert [row["city"] for row in rows] == [["Bonn", "Ulm"][k] for k in expected.argmax(axis=1)]
    lines = cli("predict", model, people, "--json").lines
    assert [json.loads(line)["Ulm"] for line in lines] == expected[:, 1].tolist()
    out = people.with_name("out.parquet")
    assert cli("predict", model, people, "-o", out, "--keep", "city").code == 0
    table = pyarrow.parquet.read_table(out)
    assert table.column_names == ["city", "predicted city", "Bonn", "Ulm"]
    assert np.array_equal(table["Ulm"].to_numpy(), expected[:, 1])
    assert cli("predict", model, people, "--classes-only").lines[0] == '"city"'


def test_a_column_of_names_is_read_as_names_even_if_all_look_like_numbers(cli, tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("code,y\n" + "A1,no\n7,yes\nB2,no\n7,yes\n" * 20)
    assert cli("fit", path, "-t", "y", "-q").code == 0
    model = sr.load(tmp_path / "codes.sunrise")
    expected = model.predict_proba({"code": ["7"]})[0, 1]
    done = cli("predict", tmp_path / "codes.sunrise", "-", "--json", stdin=b"code\n7\n7\n")
    assert [json.loads(line)["yes"] for line in done.lines] == [expected, expected]


def test_other_columns_are_ignored_and_missing_ones_are_named(cli, model):
    done = cli("predict", model, "-", stdin=b"age,more,hair\n31,x,long\n")
    assert done.code == 0 and len(done.lines) == 2
    done = cli("predict", model, "-", stdin=b"Age,hair\n31,long\n")
    assert done.code == 1 and "'age' is missing" in done.err
    done = cli("predict", model, "-", stdin=b"age,hair\n")
    assert done.code == 1 and "no rows" in done.err and done.out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["peopel.sunrise", "people.csv"], 1, "Do you mean 'people.sunrise'?"),
        (["people.csv", "people.csv"], 1, "not a Sunrise model file"),
        (["people.sunrise", "people.csv", "--keep", "Id"], 1, "Do you mean 'id'?"),
        (["people.sunrise", "people.csv", "-o", "x.docx"], 1, "ending"),
        (["people.sunrise", "people.csv", "-o", "x.csv", "--json"], 2, "--json"),
        (["people.sunrise"], 2, "Missing argument"),
    ],
)
def test_wrong_use_is_one_line(cli, model, monkeypatch, arguments, code, part):
    monkeypatch.chdir(model.parent)
    done = cli("predict", *arguments)
    assert done.code == code and done.out == ""
    assert part in done.err and done.err.count("\n") == 1
    assert not list(model.parent.glob("x.*"))


def test_inspect_shows_the_card_and_what_the_file_holds(cli, people, model):
    fitted = cli("fit", people, "-t", "city", "--json").json
    card = cli("inspect", model, "--json").json
    for name in ("rows", "classes", "score", "columns", "left_out"):
        assert card[name] == fitted[name]
    held = [c["column"] for c in card["columns"] if "training values" in c["reason"]]
    assert card["kept_values"] == held
    assert "accuracy" in cli("inspect", model).out
    column = cli("inspect", model, "--column", "hair", "--json").json
    assert column["parameters"]["long"]["Ulm"] == sr.load(model).parameters_["hair"]["long"][1]
    assert "Do you mean 'hair'" in cli("inspect", model, "--column", "hairs").err


def test_a_table_with_the_name_of_a_text_is_a_table_to_a_model_of_tables(cli, people, model):
    path = people.with_name("people.txt")
    path.write_bytes(people.read_bytes())
    assert cli("predict", model, path).out == cli("predict", model, people).out
