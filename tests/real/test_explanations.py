"""Explanations of real tables: contributions and prior add up to the score to 1e-12 of their size."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sunrise as sr

SMALL = sorted(json.loads((Path(__file__).parents[1] / "data" / "tables" / "schema.json").read_text()))


@pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")
@pytest.mark.parametrize("name", SMALL)
def test_contributions_add_up_to_the_score(name, find_data):
    path = find_data(f"tables/{name}.csv.gz")
    target = json.loads(find_data("tables/schema.json").read_text())[name]["target"]
    table = pd.read_csv(path).sample(frac=1.0, random_state=0).head(3000)
    model = sr.NaiveBayes("auto-fast").fit(table, target)
    rows = table.drop(columns=target).head(50)
    why, scores = model.explain(rows), model.predict_joint_log_proba(rows)
    finite = np.isfinite(scores)
    size = 1.0 + np.abs(why.contributions).sum(axis=2)
    assert (np.abs(why.score - scores) <= 1e-12 * size)[finite].all()
    frame = why.frame(of=model.classes_[1], against=model.classes_[0])
    sums = frame.groupby("row")["evidence"].sum().to_numpy()
    np.testing.assert_allclose(sums, scores[:, 1] - scores[:, 0], rtol=0, atol=1e-12 * size.max())
