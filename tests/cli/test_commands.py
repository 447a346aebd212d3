"""evaluate, explain, compare, merge, forget and export: each against the library."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pyarrow.csv
import pytest
import sunrise as sr


@pytest.fixture
def model(cli, people):
    assert cli("fit", people, "-t", "city", "--quiet").code == 0
    return people.with_suffix(".sunrise")


@pytest.fixture
def halves(people):
    """The first and the second half of the rows, as files."""
    header, *rows = people.read_text().splitlines()
    paths = []
    for name, part in {"first": rows[:60], "second": rows[60:]}.items():
        paths.append(people.with_name(f"{name}.csv"))
        paths[-1].write_text("\n".join([header, *part]) + "\n")
    return paths


def test_evaluate_counts_what_the_library_counts(cli, people, model):
    expected = sr.load(model).evaluate(pyarrow.csv.read_csv(people), "city")
    values = cli("evaluate", model, people, "--json").json
    assert values["accuracy"] == expected.accuracy and values["log_loss"] == pytest.approx(expected.log_loss)
    assert values["confusion"] == expected.confusion.tolist()
    text = cli("evaluate", model, people).out
    assert f"accuracy {expected.accuracy:.3f}" in text and "as Ulm" in text
    assert cli("evaluate", model, people, "-t", "town").err.count("Do you mean") == 0
    stranger = b"age,hair,city\n33,long,Ulm\n34,long,Kiel\n"
    assert cli("evaluate", model, "-", "--json", stdin=stranger).json["unknown_labels"] == 1


def test_evaluate_refuses_rows_without_a_label_unless_told_to_skip_them(cli, model):
    rows = b"age,hair,city\n33,long,Ulm\n34,long,\n"
    done = cli("evaluate", model, "-", stdin=rows)
    assert done.code == 1 and "--skip-bad-rows" in done.err
    assert cli("evaluate", model, "-", "--skip-bad-rows", "--json", stdin=rows).json["rows"] == 1


def test_contributions_add_up_to_the_probabilities(cli, people, model):
    rows = cli("explain", model, people, "--row", 5, "--row", 118, "--json").json
    assert [row["row"] for row in rows] == [5, 118]
    proba = sr.load(model).predict_proba(pyarrow.csv.read_csv(people))
    for row in rows:
        score = {
            c: row["prior"][c] + row["offset"][c] + sum(part[c] for part in row["contributions"].values())
            for c in ("Bonn", "Ulm")
        }
        odds = score["Ulm"] - score["Bonn"]
        p = proba[row["row"] - 1]
        assert odds == pytest.approx(np.log(p[1] / p[0]), abs=1e-12)
        assert row["predicted"] == ("Ulm" if odds > 0 else "Bonn")


def test_a_row_of_ones_own_is_explained(cli, model):
    (row,) = cli("explain", model, "--set", "age=31", "--json").json
    assert list(row["contributions"]) == ["age"]
    expected = sr.load(model).predict_proba({"age": [31.0], "hair": [None]})[0]
    assert list(row["probabilities"].values()) == pytest.approx(expected)
    text = cli("explain", model, "--set", "hair=long", "--of", "Ulm", "--against", "Bonn").out
    assert "Ulm rather than Bonn" in text and "hair = long" in text


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 2, "--set"),
        (["people.csv", "--set", "age=3"], 2, "--set"),
        (["--set", "Age=3"], 1, "Do you mean 'age'?"),
        (["--set", "age=old"], 1, "holds numbers"),
        (["people.csv", "--row", "999"], 1, "the data have 120 rows"),
        (["people.csv", "--of", "ulm"], 1, "Do you mean 'Ulm'?"),
    ],
)
def test_wrong_rows_are_refused(cli, model, monkeypatch, arguments, code, part):
    monkeypatch.chdir(model.parent)
    done = cli("explain", model, *arguments)
    assert done.code == code and part in done.err and done.err.count("\n") == 1


def test_words_of_a_text_are_listed(cli, tmp_path):
    path = tmp_path / "mails.csv"
    path.write_text("text,kind\n" + "free prize call now,spam\nsee you at lunch,ham\n" * 6)
    assert cli("fit", path, "-t", "kind", "--text", "text", "-q").code == 0
    (row,) = cli(
        "explain", tmp_path / "mails.sunrise", "--set", "text=free lunch", "--of", "spam", "--json"
    ).json
    evidence = {entry["word"]: entry["evidence"] for entry in row["words"]["text"]}
    assert evidence["free"] > 0 > evidence["lunch"]


def test_merge_and_forget_undo_each_other(cli, people, model, halves, tmp_path):
    """Two halves are merged to the whole; without one half, the other one is left."""
    first, second = (path.with_suffix(".sunrise") for path in halves)
    for path in halves:
        assert cli("fit", path, "-t", "city", "--like", model, "--quiet").code == 0
    both = tmp_path / "both.sunrise"
    assert cli("merge", first, second, "-o", both, "--json").json["rows"] == 120
    table = pyarrow.csv.read_csv(people)
    whole = sr.NaiveBayes(sr.load(model).fixed_families_, calibrate=None).fit(table, "city")
    merged = sr.load(both)
    assert np.allclose(merged._model.class_prior, whole.class_prior_)
    for name, values in whole.parameters_.items():
        for key, numbers in values.items():
            assert np.allclose(merged.parameters_[name][key], numbers, rtol=1e-9), (name, key)
    done = cli("forget", both, halves[1], "-o", both)
    assert done.code == 0, done.err
    assert "60 rows" in done.out
    for name, values in sr.load(first).parameters_.items():
        for key, numbers in values.items():
            assert np.allclose(sr.load(both).parameters_[name][key], numbers, rtol=1e-9), (name, key)


def test_rows_that_were_never_learned_are_not_forgotten(cli, model, tmp_path):
    out = tmp_path / "out.sunrise"
    done = cli("forget", model, "-", "-o", out, stdin=b"age,hair,city\n33,green,Ulm\n")
    assert done.code == 1 and done.err.count("\n") == 1 and not out.exists()


def test_compare_has_the_bits_of_the_library(cli, model, halves):
    other = halves[0].with_suffix(".sunrise")
    assert cli("fit", halves[0], "-t", "city", "--like", model, "-q").code == 0
    rows = cli("compare", model, other, "--json").json["columns"]
    frame = sr.compare(sr.load(model), sr.load(other)).to_pydict()
    assert [row["column"] for row in rows] == frame["column"]
    known = [bits for bits in frame["bits"] if bits == bits]
    assert [row["bits"] for row in rows if row["bits"] is not None] == known
    assert "(class prior)" in cli("compare", model, other).out


def test_exports_are_those_of_the_library(cli, people, model, tmp_path):
    loaded = sr.load(model)
    assert json.loads(cli("export", model).out) == json.loads(loaded.to_json())
    query = cli(
        "export", model, "--to", "sql", "--dialect", "sqlite", "--table", "people", "--keep", "id"
    ).out
    assert query.strip() == loaded.to_sql("sqlite", "people", keep=["id"]).strip()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE people (id, age, hair)")
    database.execute("INSERT INTO people VALUES ('a', 31, 'long')")
    assert database.execute(query).fetchone()[0] == "a"
    pytest.importorskip("onnx", reason="the graph needs onnx")
    path = tmp_path / "model.onnx"
    assert cli("export", model, "-o", path).code == 0
    assert path.read_bytes() == loaded.to_onnx().SerializeToString()
    assert cli("export", model, "-o", tmp_path / "model.xyz").code == 2


def test_models_of_matrices_and_of_texts_from_python_work_too(cli, tmp_path):
    matrix = sr.GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [5.0, 4.0], [6.0, 5.0]], ["a", "a", "b", "b"])
    matrix.save(tmp_path / "matrix.sunrise")
    rows = b"u,v,y\n0.5,0.5,a\n5.5,4.5,b\n"
    values = cli("evaluate", tmp_path / "matrix.sunrise", "-", "-t", "y", "--json", stdin=rows).json
    assert values["accuracy"] == 1.0
    texts = sr.TextNB().fit(["free prize now", "lunch at noon", "free call"], ["spam", "ham", "spam"])
    texts.save(tmp_path / "texts.sunrise")
    told = cli(
        "predict", tmp_path / "texts.sunrise", "-", "--format", "text", "--json", stdin=b"free lunch\n"
    )
    assert json.loads(told.out)["spam"] == texts.predict_proba(["free lunch"])[0, 1]


def test_the_report_is_that_of_the_library(cli, model, tmp_path):
    done = cli("report", model, "--json")
    page = model.with_suffix(".html")
    assert done.json == {"model": str(model), "page": str(page), "bytes": page.stat().st_size}
    sr.load(model).report(tmp_path / "expected.html", title="people")
    assert page.read_bytes() == (tmp_path / "expected.html").read_bytes()
    assert (
        str(tmp_path / "x.html") in cli("report", model, "-o", tmp_path / "x.html", "--title", "Cities").out
    )
    assert "<title>Cities" in (tmp_path / "x.html").read_text()
