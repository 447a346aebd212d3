"""The rows of a search for interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunrise._common.arrays import Codes, Floats, Positions
from sunrise.data.frame import Frame


@dataclass(frozen=True)
class SearchRows:
    """All training rows, which are counted, and those of them that judge candidates, each without itself."""

    table: Frame
    #: Class codes and weights of all rows.
    y: Codes
    weight: Floats
    #: Positions of the rows that judge: those of an objective, in its order.
    judges: Positions
    #: A hash of the content of every judge.
    hashes: Any
    #: Fold of every judge; None if the score by folds is not needed.
    fold: Codes | None
    n_jobs: int | None = None
