"""The page of the default model of every real table computes the probabilities of `predict_proba`."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from report.test_page import posterior

QUICK = "titanic", "credit-approval"
TABLES = (
    "adult", "bank-marketing", "car", "german-credit", "heart-cleveland", "mammographic", "mlbench-BreastCancer",
    "mlbench-DNA", "mlbench-Glass", "mlbench-HouseVotes84", "mlbench-Ionosphere", "mlbench-LetterRecognition",
    "mlbench-PimaIndiansDiabetes", "mlbench-PimaIndiansDiabetes2", "mlbench-Satellite", "mlbench-Shuttle",
    "mlbench-Sonar", "mlbench-Soybean", "mlbench-Vehicle", "mlbench-Vowel", "mlbench-Zoo", "mushroom", "optdigits",
    "spambase", "tic-tac-toe",
)  # fmt: skip


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in TABLES)])
def test_the_page_of_a_table(open_page, find_data, name):
    about = json.loads(find_data("tables/schema.json").read_text())[name]
    kinds = {column["name"]: column["kind"] for column in about["column_info"]}
    strings = [column for column, kind in kinds.items() if kind in ("categorical", "ordinal")]
    numbers = [column for column, kind in kinds.items() if kind == "numeric"]
    path = find_data(f"tables/{about['file']}")
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(strings, str))
    X, y = frame[[column for column in frame if column in {*numbers, *strings}]], frame[about["target"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sr.NaiveBayes().fit(X, y.to_numpy())
        rng = np.random.default_rng(0)
        rows = X.sample(40, random_state=0).astype(object)
        rows = rows.mask(rng.random(rows.shape) < 0.15)
        rows[strings] = rows[strings].mask(rng.random((40, len(strings))) < 0.05, "never seen")
        rows[numbers] = rows[numbers].astype(float)
        expected = model.predict_proba(rows)
    has_curve = any(block["kind"] == "curve" for block in model._description()["blocks"])
    cells = [
        [None if value != value else value for value in row]
        for row in rows.astype(object).to_numpy().tolist()
    ]
    records = [dict(zip(rows.columns, row, strict=True)) for row in cells]
    page = open_page(model)
    found = posterior(page, records)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if has_curve else 1e-9)
    # The same through the state of the nomogram, whose bars show the result.
    shown = page.evaluate(
        """record => {
            for (const [name, value] of Object.entries(record)) sunrise.set(name, value);
            return sunrise.nomogram.result.p;
        }""",
        records[0],
    )
    np.testing.assert_array_equal(shown, found[0])
