"""Small real data sets that ship with the package."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from sunrise.data import write


def _yes(cell: str) -> bool:
    return cell in ("y", "yes")


def _load(name: str, read: dict[str, Callable[[str], Any]], library: str | None, about: str | None) -> Bunch:
    """Read a table whose first column is the label; columns that `read` does not name are strings."""
    with (files(__name__) / f"{name}.csv").open(encoding="utf-8") as file:
        (label, *names), *rows = csv.reader(file)
    columns: dict[str, Any] = {
        column: [None if row[j] == "" else read.get(column, str)(row[j]) for row in rows]
        for j, column in enumerate(names, 1)
    }
    target = np.array([row[0] for row in rows])
    data = columns if library is None else write.frame(library, columns)
    frame = None if library is None else write.frame(library, {label: target.tolist(), **columns})
    return Bunch(data=data, target=target, frame=frame, feature_names=names, target_name=label, DESCR=about)


def load_house_votes(library: str | None = None) -> Bunch:
    """Sixteen key votes of the 435 members of the US House of Representatives in 1984, and their parties.

    `data` is a matrix where 1 is yes, 0 is no and NaN is neither (392 cells); with library="pandas", "polars" or
    "pyarrow" it is a frame of yes and no, and `frame` has the party, too. From the Congressional Voting Records data
    set of the UCI Machine Learning Repository (doi 10.24432/C5C01P), licence CC BY 4.0; a member's blank was "?"
    there.

    >>> from sunrise.datasets import load_house_votes
    >>> votes = load_house_votes()
    >>> votes.data.shape, votes.feature_names[3]
    ((435, 16), 'physician-fee-freeze')
    """
    with (files(__name__) / "house_votes.csv").open(encoding="utf-8") as file:
        names = next(csv.reader(file))[1:]
    votes = _load("house_votes", dict.fromkeys(names, _yes), library, load_house_votes.__doc__)
    if library is None:
        votes.data = np.array([votes.data[name] for name in names], dtype=float).T
    return votes


def load_heart_disease(library: str | None = None) -> Bunch:
    """Thirteen findings on 303 patients in Cleveland, and whether their coronary arteries were narrowed.

    Numbers, yes and no, and categories, with 6 cells missing. `data` is a dict of columns; with library="pandas",
    "polars" or "pyarrow" it is a frame, and `frame` has the column `disease`, too. From the Heart Disease data set of
    the UCI Machine Learning Repository (doi 10.24432/C52P4X; Janosi, Steinbrunn, Pfisterer and Detrano), licence
    CC BY 4.0; codes are written out here, and disease is "yes" where the diagnosis was 1 to 4.

    >>> from sunrise.datasets import load_heart_disease
    >>> heart = load_heart_disease()
    >>> heart.data["chest_pain"][:2], heart.target[:2]
    (['typical angina', 'asymptomatic'], array(['no', 'yes'], dtype='<U3'))
    """
    whole = ("age", "blood_pressure", "cholesterol", "max_heart_rate", "vessels")
    read: dict[str, Callable[[str], Any]] = dict.fromkeys(whole, int)
    read |= {"st_depression": float, "high_sugar": _yes, "exercise_angina": _yes}
    return _load("heart_disease", read, library, load_heart_disease.__doc__)


def load_mammographic(library: str | None = None) -> Bunch:
    """Age and the look of 961 masses found by mammography, and whether they were benign or malignant.

    A number and three categories, with 160 cells missing. `data` is a dict of columns; with library="pandas",
    "polars" or "pyarrow" it is a frame, and `frame` has the column `severity`, too. From the Mammographic Mass data
    set of the UCI Machine Learning Repository (doi 10.24432/C53K6Z; Elter), licence CC BY 4.0; codes are written
    out here, and the radiologist's own assessment (BI-RADS) is left out.

    >>> from sunrise.datasets import load_mammographic
    >>> mass = load_mammographic()
    >>> sorted(mass.data), len(mass.target)
    (['age', 'density', 'margin', 'shape'], 961)
    """
    return _load("mammographic", {"age": int}, library, load_mammographic.__doc__)
