"""What EM reports: a summary of its result, and a line for every step while it runs."""

from __future__ import annotations

import logging
import sys
from typing import Any, NamedTuple

from sunrise._common.stored import stored

_log = logging.getLogger("sunrise")


@stored("em")
class Em(NamedTuple):
    """Summary of the EM algorithm for unlabelled rows.

    `weight` is the weight of an unlabelled row; 0 means that unlabelled rows are not used. `labelled` and `unlabelled`
    are numbers of rows. `log_likelihood` has one value per step. It cannot decrease if `is_likelihood` is True; False
    means that the scores are not probabilities of the rows or the estimates not posterior modes. `scores` maps each
    weight that was tried to the cross-validated accuracy on labelled rows; weight 0 means labelled rows only. It is
    empty if no class has two labelled rows.
    """

    weight: float
    labelled: int
    unlabelled: int
    steps: int
    converged: bool
    log_likelihood: tuple[float, ...]
    is_likelihood: bool
    scores: dict[float, float]


class Progress(NamedTuple):
    """Reports lines of text: to the logger "sunrise" at level INFO, and to standard error if `verbose` is True."""

    verbose: bool = False

    def report(self, text: str, *values: Any) -> None:
        """Report one line; the values fill the text as in `text % values`."""
        _log.info(text, *values)
        if self.verbose:
            print(text % values, file=sys.stderr, flush=True)
