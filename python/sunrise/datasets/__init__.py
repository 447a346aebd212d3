"""Loaders of the small real data sets that are part of the package."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from sunrise.data import write


def _is_yes(cell: str) -> bool:
    return cell in ("y", "yes")


def _load(
    name: str, parsers: dict[str, Callable[[str], Any]], library: str | None, description: str | None
) -> Bunch:
    """Read a CSV file whose first column is the label; columns without a parser are strings."""
    with (files(__name__) / f"{name}.csv").open(encoding="utf-8") as file:
        (label, *names), *rows = csv.reader(file)
    columns: dict[str, Any] = {
        column: [None if row[j] == "" else parsers.get(column, str)(row[j]) for row in rows]
        for j, column in enumerate(names, 1)
    }
    target = np.array([row[0] for row in rows])
    data = columns if library is None else write.frame(library, columns)
    frame = None if library is None else write.frame(library, {label: target.tolist(), **columns})
    return Bunch(
        data=data, target=target, frame=frame, feature_names=names, target_name=label, DESCR=description
    )


def load_house_votes(library: str | None = None) -> Bunch:
    """Load 16 key votes of the 435 members of the US House of Representatives in 1984, with their parties as labels.

    `data` is a matrix: 1 is yes, 0 is no, and NaN (392 cells) is neither. With library="pandas", "polars" or "pyarrow",
    `data` is a frame of booleans, and `frame` also has the label column `party`.

    Source: Congressional Voting Records data set of the UCI Machine Learning Repository (doi 10.24432/C5C01P), licence
    CC BY 4.0. Missing votes were coded "?" there.

    >>> from sunrise.datasets import load_house_votes
    >>> votes = load_house_votes()
    >>> votes.data.shape, votes.feature_names[3]
    ((435, 16), 'physician-fee-freeze')
    """
    with (files(__name__) / "house_votes.csv").open(encoding="utf-8") as file:
        names = next(csv.reader(file))[1:]
    votes = _load("house_votes", dict.fromkeys(names, _is_yes), library, load_house_votes.__doc__)
    if library is None:
        votes.data = np.array([votes.data[name] for name in names], dtype=float).T
    return votes


def load_heart_disease(library: str | None = None) -> Bunch:
    """Load 13 clinical measurements of 303 patients in Cleveland; the label is narrowing of the coronary arteries.

    The columns are numbers, booleans and categories; 6 cells are missing. `data` is a dict of columns. With
    library="pandas", "polars" or "pyarrow", `data` is a frame, and `frame` also has the label column `disease`.

    Source: Heart Disease data set of the UCI Machine Learning Repository (doi 10.24432/C52P4X; Janosi, Steinbrunn,
    Pfisterer and Detrano), licence CC BY 4.0. Changes: codes are replaced by names, and `disease` is "yes" for the
    diagnoses 1 to 4.

    >>> from sunrise.datasets import load_heart_disease
    >>> heart = load_heart_disease()
    >>> heart.data["chest_pain"][:2], heart.target[:2]
    (['typical angina', 'asymptomatic'], array(['no', 'yes'], dtype='<U3'))
    """
    integers = ("age", "blood_pressure", "cholesterol", "max_heart_rate", "vessels")
    parsers: dict[str, Callable[[str], Any]] = dict.fromkeys(integers, int)
    parsers |= {"st_depression": float, "high_sugar": _is_yes, "exercise_angina": _is_yes}
    return _load("heart_disease", parsers, library, load_heart_disease.__doc__)


def load_mammographic(library: str | None = None) -> Bunch:
    """Load patient age and shape, margin and density of 961 mammographic masses; the label is benign or malignant.

    The columns are one number and three categories; 160 cells are missing. `data` is a dict of columns. With
    library="pandas", "polars" or "pyarrow", `data` is a frame, and `frame` also has the label column `severity`.

    Source: Mammographic Mass data set of the UCI Machine Learning Repository (doi 10.24432/C53K6Z; Elter), licence
    CC BY 4.0. Changes: codes are replaced by names, and the assessment of the radiologist (BI-RADS) is removed.

    >>> from sunrise.datasets import load_mammographic
    >>> mass = load_mammographic()
    >>> sorted(mass.data), len(mass.target)
    (['age', 'density', 'margin', 'shape'], 961)
    """
    return _load("mammographic", {"age": int}, library, load_mammographic.__doc__)
