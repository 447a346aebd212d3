"""`sunrise fit`: the card, the model file, formats, texts and wrong input."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import sunrise as sr


def test_the_card_has_the_numbers_of_the_model(cli, people):
    done = cli("fit", people, "--target", "city", "--json")
    assert done.code == 0 and done.err == ""
    card = done.json
    table = pyarrow.csv.read_csv(people)
    model = sr.NaiveBayes().fit(table, "city")
    assert card["rows"] == 120 and card["target"] == "city"
    assert card["classes"] == [
        {"class": "Bonn", "rows": 60, "prior": 0.5},
        {"class": "Ulm", "rows": 60, "prior": 0.5},
    ]
    assert card["score"]["accuracy"] == pytest.approx(model.loo_score_.accuracy)
    assert card["score"]["log_loss"] == pytest.approx(model.loo_score_.log_loss)
    assert np.sum(card["score"]["confusion"]) == 120
    assert sum(group["weight"] for group in card["score"]["reliability"]) == pytest.approx(120)
    bits = dict(zip(["id", "age", "hair"], model.mutual_information(), strict=True))
    assert {c["column"]: c["bits"] for c in card["columns"]} == {
        "age": pytest.approx(bits["age"]),
        "hair": pytest.approx(bits["hair"]),
    }
    assert card["most_informative"][0]["column"] == "age"
    assert [c["missing"] for c in card["columns"]] == [8, 0]
    assert [c["column"] for c in card["left_out"]] == ["id"]
    assert card["model"] == str(people.with_suffix(".sunrise"))
    loaded = sr.load(card["model"])
    assert np.array_equal(loaded.predict_proba(table), model.predict_proba(table))


def test_the_card_for_people_names_every_part(cli, people):
    done = cli("fit", people, "-t", "city")
    assert done.code == 0
    for part in (
        "120 rows",
        "2 classes",
        "accuracy",
        "log loss",
        "reliability",
        "Bonn",
        "age",
        "left out",
        "id",
    ):
        assert part in done.out
    assert "\x1b" not in done.out  # no colours outside of a terminal
    assert cli("fit", people, "-t", "city", "--quiet").out == ""


def write(folder, table, ending):
    path = folder / f"people.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
        return path
    if ending.startswith("jsonl"):
        data = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    else:
        sink = pyarrow.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(delimiter="\t" if ending.startswith("tsv") else ",")
        pyarrow.csv.write_csv(table, sink, options)
        data = sink.getvalue().to_pybytes()
    if ending.endswith(".gz"):
        data = gzip.compress(data)
    if ending.endswith(".zst"):
        data = pyarrow.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv", "jsonl", "jsonl.zst", "parquet"])
def test_every_format_gives_the_same_model(cli, people, tmp_path, ending):
    table = pyarrow.csv.read_csv(people)
    path = write(tmp_path, table, ending)
    expected = cli("fit", people, "-t", "city", "-o", tmp_path / "a.sunrise", "--json").json
    done = cli("fit", path, "-t", "city", "--json")
    assert done.code == 0, done.err
    assert done.json["score"] == expected["score"]
    assert done.json["model"] == str(tmp_path / "people.sunrise")
    # The same bytes on standard input, where no name tells the format.
    piped = cli("fit", "-", "-t", "city", "-o", tmp_path / "b.sunrise", "--json", stdin=path.read_bytes())
    assert piped.code == 0, piped.err
    assert piped.json["score"] == expected["score"]


def test_streams_have_the_scores_of_tables_in_memory(cli, people):
    first = cli("fit", people, "-t", "city", "--json").json
    second = cli("fit", people, "-t", "city", "--json", "--stream").json
    assert first["score"] == second["score"] and first["classes"] == second["classes"]


def test_options_reach_the_model(cli, people):
    done = cli("fit", people, "-t", "city", "--family", "age=gaussian", "--drop", "hair", "--json")
    assert done.code == 0, done.err
    assert {c["column"]: c["family"] for c in done.json["columns"]} == {"age": "gaussian"}
    assert {c["column"]: c["reason"] for c in done.json["left_out"]}["hair"] == "left out by the user"
    plain = cli("fit", people, "-t", "city", "--calibrate", "none", "--json").json
    assert plain["calibration"] is None
    assert 0.5 < plain["score"]["accuracy"] < 1


def test_one_file_for_each_class_and_one_folder_for_each_class(cli, tmp_path):
    texts = {
        "ham": ["see you at lunch", "lunch at noon then", "at noon see me"],
        "spam": ["free prize now", "call now for a free prize", "now a free call"],
    }
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
        (tmp_path / "mails" / name).mkdir(parents=True)
        for k, line in enumerate(lines):
            (tmp_path / "mails" / name / f"{k}.txt").write_text(line)
    by_line = cli("fit", tmp_path / "ham.txt", tmp_path / "spam.txt", "-o", tmp_path / "a.sunrise", "--json")
    by_folder = cli("fit", tmp_path / "mails", "--json")
    assert by_line.code == 0, by_line.err
    for done in (by_line, by_folder):
        assert done.json["classes"][0] == {"class": "ham", "rows": 3, "prior": 0.5}
        assert done.json["columns"][0]["family"] == "text"
        assert "free" in done.json["words"]["text"]
    assert by_folder.json["model"] == str(tmp_path / "mails.sunrise")
    expected = sr.TextNB().fit(
        [line for lines in texts.values() for line in lines], ["ham"] * 3 + ["spam"] * 3
    )
    told = cli("predict", tmp_path / "a.sunrise", "-", "--format", "text", "--json", stdin=b"a free lunch\n")
    assert json.loads(told.out)["spam"] == pytest.approx(
        expected.predict_proba(["a free lunch"])[0, 1], abs=1e-9
    )


WRONG = {
    "no target": (["people.csv"], 2, ["--target COLUMN", "'city'"]),
    "near target": (["people.csv", "-t", "City"], 1, ["no column 'City'", "Do you mean 'city'?"]),
    "unknown file": (["poeple.csv", "-t", "city"], 1, ["no such file", "people.csv"]),
    "empty": (["empty.csv", "-t", "city"], 1, ["empty.csv: the file is empty"]),
    "header only": (["header.csv", "-t", "city"], 1, ["no rows"]),
    "binary": (["binary.csv", "-t", "city"], 1, ["binary, not text"]),
    "spreadsheet": (["sheet.csv", "-t", "city"], 1, ["Save the table as CSV"]),
    "latin": (["latin.csv", "-t", "city"], 1, ["not UTF-8", "line 2", "iconv"]),
    "bad line": (["bad.csv", "-t", "city"], 1, ["bad.csv: line 3", "--skip-bad-rows"]),
    "no label": (["unlabelled.csv", "-t", "city"], 1, ["missing", "--skip-bad-rows"]),
    "no header": (["numbers.csv", "-t", "city"], 1, ["The first line must hold the names"]),
    "one class": (["one.csv", "-t", "city"], 1, ["all rows have the class 'Ulm'"]),
    "one class, streamed": (["one.csv", "-t", "city", "--stream"], 1, ["all rows have the class 'Ulm'"]),
    "one text": (["one.txt"], 1, ["all rows have the class 'one'", "ham.txt spam.txt"]),
    "only a target": (["only.csv", "-t", "city"], 1, ["no column beside the target"]),
    "measurement": (["people.csv", "-t", "id"], 1, ["120 different values", "classes"]),
    "unknown family": (["people.csv", "-t", "city", "--family", "age=gausian"], 1, ["gausian"]),
    "no pair": (["people.csv", "-t", "city", "--family", "age"], 2, ["COLUMN=FAMILY"]),
    "unknown drop": (["people.csv", "-t", "city", "--drop", "Hair"], 1, ["Do you mean 'hair'?"]),
    "no folder": (["people.csv", "-t", "city", "-o", "none/x.sunrise"], 1, ["does not exist"]),
    "folder": (["people.csv", "-t", "city", "-o", "."], 1, ["this is a folder"]),
    "standard input": (["-", "-t", "city"], 2, ["-o FILE.sunrise"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_line_that_says_what_to_do(cli, people, monkeypatch, name):
    folder = people.parent
    monkeypatch.chdir(folder)
    for file, data in {
        "empty.csv": b"",
        "header.csv": b"age,city\n",
        "binary.csv": bytes(range(256)) * 9,
        "sheet.csv": b"PK\x03\x04" + bytes(99),
        "latin.csv": "name,city\nJörg,Ulm\nJosé,Bonn\n".encode("latin-1"),
        "bad.csv": b"age,city\n1,Ulm\n2\n3,Bonn\n4,Ulm\n",
        "numbers.csv": b"17,Ulm\n18,Bonn\n",
        "one.csv": b"age,city\n1,Ulm\n2,Ulm\n",
        "one.txt": b"see you\nat noon\n",
        "only.csv": b"city\nUlm\nBonn\n",
        "unlabelled.csv": b"age,city\n1,Ulm\n2,\n3,Bonn\n4,Ulm\n",
    }.items():
        (folder / file).write_bytes(data)
    arguments, code, parts = WRONG[name]
    done = cli("fit", *arguments, stdin=b"age,city\n1,Ulm\n")
    assert done.code == code and done.out == ""
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    for part in parts:
        assert part in done.err, done.err
    assert not list(folder.glob("*.sunrise"))


def test_bad_rows_can_be_skipped(cli, people):
    path = people.with_name("some.csv")
    path.write_text(people.read_text() + "P1,20,long,\nP2\n")
    done = cli("fit", path, "-t", "city", "--skip-bad-rows", "--json")
    assert done.code == 0, done.err
    assert done.json["rows"] == 120


def test_warnings_are_lines_in_the_terms_of_the_command_line(cli, tmp_path):
    path = tmp_path / "twice.csv"
    rows = [f"{k % 7},{k % 7},{'ab'[k % 7 > 3 or k % 5 == 0]}" for k in range(90)]
    path.write_text("\n".join(["u,v,y", *rows]) + "\n")
    done = cli("fit", path, "-t", "y", "--calibrate", "none", "--json")
    (line,) = done.err.splitlines()
    assert line.startswith("warning: Columns 'u' and 'v'") and "--calibrate columns" in line
    assert "filterwarnings" not in line and done.json["warnings"] == [line.removeprefix("warning: ")]
    # Weights of columns correct for duplicates, so there is nothing to warn of.
    assert cli("fit", path, "-t", "y", "--calibrate", "columns").err == ""


def test_a_table_may_have_any_name(cli, people):
    expected = cli("fit", people, "-t", "city", "--json").json["score"]
    for name in ("people.txt", "people.data", "people"):
        path = people.with_name(name)
        path.write_bytes(people.read_bytes())
        done = cli("fit", path, "-t", "city", "-o", people.with_name("m.sunrise"), "--json")
        assert done.code == 0, done.err
        assert done.json["score"] == expected


def test_the_reliability_of_many_classes_is_pooled_in_tenths(cli, tmp_path):
    path = tmp_path / "three.csv"
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 600)
    path.write_text(
        "x,y\n" + "".join(f"{v:.3f},{'abc'[k]}\n" for v, k in zip(rng.normal(y, 1.0), y, strict=True))
    )
    card = cli("fit", path, "-t", "y", "--json").json
    groups = card["score"]["reliability"]
    assert 5 <= len(groups) <= 10
    assert all(10 * g["predicted"] // 1 == k for k, g in enumerate(groups))
    assert sum(g["weight"] for g in groups) == pytest.approx(3 * 600)
    assert sum(g["weight"] * g["observed"] for g in groups) == pytest.approx(600)
    assert "on 600 unseen rows" in cli("fit", path, "-t", "y").out


def test_pairs_of_columns_are_on_the_card(cli, tmp_path):
    """The class is the exclusive or of two columns, which neither of them tells alone."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 800))
    y = np.where(rng.random(800) < 0.9, a ^ b, 1 - (a ^ b))
    path = tmp_path / "pair.csv"
    rows = (f"{'uv'[i]},{'pq'[j]},{['no', 'yes'][k]}" for i, j, k in zip(a, b, y, strict=True))
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    assert cli("fit", path, "-t", "y", "--no-interactions", "--json").json["interactions"] == []
    card = cli("fit", path, "-t", "y", "--calibrate", "columns", "--json").json
    (pair,) = card["interactions"]
    assert "a" in pair["columns"] and "b" in pair["columns"]
    assert card["score"]["accuracy"] == pytest.approx(np.mean(y == (a ^ b)), abs=0.02)
    model = tmp_path / "pair.sunrise"
    assert "columns scored together" in cli("inspect", model).out
    (row,) = cli("explain", model, "--set", "a=u", "--set", "b=q", "--json").json
    assert row["predicted"] == "yes" and pair["columns"] in row["contributions"]
