"""Real files from fit to predictions: Titanic, SMS messages and Adult."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow.json
import pytest
import sunrise as sr

#: File, target, least accuracy, most log loss, and a column that must be among the three most informative ones.
FILES = {
    "titanic": ("tables/titanic.csv.gz", "Survived", 0.80, 0.45, "Sex"),
    "sms-spam": ("sms-spam.jsonl.gz", "label", 0.98, 0.06, "text"),
    "adult": ("tables/adult.csv.gz", "income", 0.85, 0.32, "relationship"),
}


@pytest.mark.parametrize("name", FILES)
def test_from_a_file_to_predictions(cli, find_data, tmp_path, name):
    file, target, accuracy, loss, column = FILES[name]
    path, model = find_data(file), tmp_path / f"{name}.sunrise"
    card = cli("fit", path, "--target", target, "-o", model, "--json").json
    assert card["score"]["accuracy"] > accuracy and card["score"]["log_loss"] < loss
    assert column in [entry["column"] for entry in card["most_informative"][:3]]
    out = cli("predict", model, path, "--keep", target).out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == card["rows"]
    classes = [str(entry["class"]) for entry in card["classes"]]
    p = np.array([[float(row[c]) for c in classes] for row in rows])
    assert np.allclose(p.sum(axis=1), 1.0)
    right = np.mean([row[f"predicted {target}"] == row[target] for row in rows])
    assert card["score"]["accuracy"] - 0.01 < right <= 1.0  # the model knows these rows
    assert cli("inspect", model, "--json").json["score"] == card["score"]


def test_the_words_of_messages_are_those_of_the_library(cli, find_data, tmp_path):
    path = find_data("sms-spam.jsonl.gz")
    card = cli("fit", path, "-t", "label", "-o", tmp_path / "m.sunrise", "--json").json
    table = pyarrow.json.read_json(path)
    expected = sr.TextNB().fit(table["text"].to_pylist(), table["label"].to_pylist())
    assert card["words"]["text"] == [word for word, _ in expected.informative_words(10)]
