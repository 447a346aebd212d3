"""Real tables: read by pandas and by polars, fitted with no argument, as good as scikit-learn behind imputation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sunrise
from plain import NaiveBayes
from sklearn.model_selection import StratifiedKFold
from sunrise import DuplicateColumnsWarning

DATA = Path(__file__).resolve().parents[1] / "data" / "tables"
Find = Callable[[str], Path]

TABLES = [
    "adult",
    "mushroom",
    "credit-approval",
    "car",
    "heart-cleveland",
    "bank-marketing",
    "titanic",
    "german-credit",
    "mammographic",
    "tic-tac-toe",
    "spambase",
    "optdigits",
    "mlbench-HouseVotes84",
    "mlbench-Soybean",
    "mlbench-BreastCancer",
    "mlbench-PimaIndiansDiabetes",
    "mlbench-PimaIndiansDiabetes2",
    "mlbench-Zoo",
    "mlbench-Glass",
    "mlbench-Ionosphere",
    "mlbench-Vehicle",
    "mlbench-Vowel",
    "mlbench-LetterRecognition",
    "mlbench-Sonar",
    "mlbench-Satellite",
    "mlbench-Shuttle",
    "mlbench-DNA",
]

#: Accuracy of CategoricalNB + GaussianNB with imputation on the tables of fewer than 1,500 rows, as measured by
#: `python -m benchmarks tables` (the column "baseline").
BASELINE = {
    "credit-approval": 0.7797,
    "heart-cleveland": 0.5611,
    "titanic": 0.7722,
    "german-credit": 0.7550,
    "mammographic": 0.8252,
    "tic-tac-toe": 0.7025,
    "mlbench-HouseVotes84": 0.9011,
    "mlbench-Soybean": 0.8931,
    "mlbench-BreastCancer": 0.9728,
    "mlbench-PimaIndiansDiabetes": 0.7539,
    "mlbench-PimaIndiansDiabetes2": 0.7500,
    "mlbench-Zoo": 0.8660,
    "mlbench-Glass": 0.4486,
    "mlbench-Ionosphere": 0.8262,
    "mlbench-Vehicle": 0.4504,
    "mlbench-Vowel": 0.5081,
    "mlbench-Sonar": 0.6923,
}

#: Those where Sunrise is further below than that, and by how much: in titanic, numbers of relatives that are few but
#: ordered do better as measurements than as categories.
BELOW = {"titanic": 0.0203}

SLACK = 0.005

#: Tables with columns that say the same, and such a pair; none of the others has one.
TWINS = {
    "adult": ("education", "education_num"),
    "credit-approval": ("A4", "A5"),
    "spambase": ("word_freq_857", "word_freq_415"),
    "mlbench-Vehicle": ("Scat.Ra", "Sc.Var.maxis"),
}
twins_are_known = pytest.mark.filterwarnings("ignore::sunrise.DuplicateColumnsWarning")


#: Tables whose fits take seconds.
LARGE = {
    "adult",
    "bank-marketing",
    "optdigits",
    "mlbench-LetterRecognition",
    "mlbench-Satellite",
    "mlbench-Shuttle",
    "mlbench-DNA",
}
every_table = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in TABLES]
)

#: Tables that are part of the repository: a clone alone tests these.
HERE = {path.name.removesuffix(".csv.gz") for path in DATA.glob("*.csv.gz")}


def schema() -> dict[str, Any]:
    known: dict[str, Any] = json.loads((DATA / "schema.json").read_text())
    return known


def columns(about: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The features of a table, and those of them that are strings whatever they look like."""
    kinds = {column["name"]: column["kind"] for column in about["column_info"]}
    strings = [name for name, kind in kinds.items() if kind in ("categorical", "ordinal")]
    return [name for name, kind in kinds.items() if name in strings or kind == "numeric"], strings


def read_pandas(find_data: Find, about: dict[str, Any]) -> tuple[pd.DataFrame, pd.Series]:
    features, strings = columns(about)
    path, dtype = find_data(f"tables/{about['file']}"), dict.fromkeys(strings, str)
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=dtype)
    return frame[features], frame[about["target"]]


def read_polars(find_data: Find, about: dict[str, Any]) -> tuple[pl.DataFrame, pl.Series]:
    features, strings = columns(about)
    path, dtype = find_data(f"tables/{about['file']}"), dict.fromkeys(strings, pl.String)
    frame = pl.read_csv(path, schema_overrides=dtype, infer_schema_length=None)
    return frame[features], frame[about["target"]]


def test_every_table_of_the_schema_is_tested() -> None:
    known = schema()
    assert list(known) == TABLES
    assert {name for name in TABLES if known[name]["rows"] < 1500} == set(BASELINE)
    assert len(HERE & set(BASELINE)) >= 5 and len(HERE & set(TWINS)) >= 2


@twins_are_known
@every_table
def test_pandas_and_polars_give_the_same_probabilities(find_data: Find, name: str) -> None:
    about = schema()[name]
    X, y = read_pandas(find_data, about)
    other, labels = read_polars(find_data, about)
    missing = [column["missing"] for column in about["column_info"] if column["name"] in X.columns]
    assert X.isna().sum().tolist() == missing == list(other.null_count().row(0))

    a, b = NaiveBayes().fit(X, y), NaiveBayes().fit(other, labels)
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.class_count_.tolist() == list(dict(sorted(about["classes"].items())).values())
    ours, theirs = a.predict_proba(X[:5000]), b.predict_proba(other[:5000])
    assert np.abs(ours - theirs).max() <= 1e-12
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-12)
    # A model reads the other library's frames too.
    assert np.abs(b.predict_proba(X[:500]) - theirs[:500]).max() <= 1e-12


@every_table
def test_columns_that_say_the_same_are_warned_of(find_data: Find, name: str) -> None:
    X, y = read_pandas(find_data, schema()[name])
    if name not in TWINS:
        NaiveBayes().fit(X, y)  # a warning would be an error
        return
    with pytest.warns(DuplicateColumnsWarning, match=" and ".join(map(repr, TWINS[name]))):
        NaiveBayes().fit(X, y)
    if name == "credit-approval":
        sunrise.NaiveBayes().fit(X, y)  # column weights are the remedy


@twins_are_known
@pytest.mark.filterwarnings("ignore::sunrise.UnseenLevelsWarning")
@every_table
def test_compress_changes_no_prediction_by_much(find_data: Find, name: str) -> None:
    X, y = read_pandas(find_data, schema()[name])
    test = np.arange(len(X)) % 3 == 0
    model = sunrise.NaiveBayes().fit(X[~test], y[~test])
    before, accuracy = model.predict_proba(X[test]), model.score(X[test], y[test])
    model.compress()
    assert np.abs(model.predict_proba(X[test]) - before).max() < 0.002
    assert abs(model.score(X[test], y[test]) - accuracy) < 1e-3


@twins_are_known
@pytest.mark.parametrize("name", BASELINE)
def test_no_less_accurate_than_two_models_behind_imputation(find_data: Find, name: str) -> None:
    X, y = read_pandas(find_data, schema()[name])
    times = y.value_counts()
    often = y.isin(times[times >= 5].index)
    X, y = X[often], y[often].to_numpy()
    right = 0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(y, y):
        right += (NaiveBayes("auto-fast").fit(X.iloc[train], y[train]).predict(X.iloc[test]) == y[test]).sum()
    assert right / len(y) >= BASELINE[name] - max(SLACK, BELOW.get(name, 0) + 0.001)
