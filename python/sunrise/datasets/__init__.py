"""Small real data sets that ship with the package."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
from sklearn.utils import Bunch


def load_house_votes() -> Bunch:
    """Sixteen key votes of the 435 members of the US House of Representatives in 1984, and their parties.

    1 is yes, 0 is no, NaN is neither (392 cells). From the Congressional Voting Records data set of the UCI
    Machine Learning Repository (doi 10.24432/C5C01P), licence CC BY 4.0; a member's blank was "?" there.

    >>> from sunrise.datasets import load_house_votes
    >>> votes = load_house_votes()
    >>> votes.data.shape, votes.feature_names[3]
    ((435, 16), 'physician-fee-freeze')
    """
    with (files(__name__) / "house_votes.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    code = {"y": 1.0, "n": 0.0, "": np.nan}
    return Bunch(
        data=np.array([[code[cell] for cell in row[1:]] for row in rows]),
        target=np.array([row[0] for row in rows]),
        feature_names=header[1:],
        DESCR=load_house_votes.__doc__,
    )
