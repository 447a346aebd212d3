"""Decisions under costs: the action whose expected cost is least, or none at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Floats, Labels


def cost_matrix(cost: Any, classes: Labels) -> Floats:
    """What deciding for a class (column) costs where another (row) is true; None is 1 for every error.

    A dict leads from (true class, decided class) to a cost; what it does not name is 0 where right and 1 where wrong.

    >>> cost_matrix({("sick", "well"): 100}, np.array(["sick", "well"]))
    array([[  0., 100.],
           [  1.,   0.]])
    """
    n = len(classes)
    table = 1.0 - np.eye(n)
    if cost is None:
        return table
    if isinstance(cost, dict):
        place = {label: k for k, label in enumerate(classes.tolist())}
        for pair, value in cost.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(label in place for label in pair)):
                raise ValueError(
                    f"cost names {pair!r}; it must lead from (true class, decided class) to a cost, with classes among "
                    f"{classes.tolist()}."
                )
            table[place[pair[0]], place[pair[1]]] = value
    else:
        table = np.asarray(cost, dtype=float)
        if table.shape != (n, n):
            raise ValueError(
                f"cost must be a table of {n} true classes x {n} decisions; its shape is {table.shape}."
            )
    if not np.isfinite(table).all():
        raise ValueError("cost must be finite for every pair of classes.")
    return table


def decisions(proba: Floats, classes: Labels, cost: Any, abstain: float | None) -> NDArray[Any]:
    """The class of least expected cost for every row; None where that is more than abstaining costs."""
    expected = proba @ cost_matrix(cost, classes)
    # Ties go to the first; rounding must not break one.
    best = proba.argmax(axis=1) if cost is None else np.argmin(expected.round(14), axis=1)
    chosen: NDArray[Any] = classes[best]
    if abstain is None:
        return chosen
    if not np.isfinite(abstain):
        raise ValueError(f"abstain is what leaving a row undecided costs: a finite number, not {abstain!r}.")
    undecided = expected[np.arange(len(best)), best] > abstain
    some: NDArray[Any] = chosen.astype(object)
    some[undecided] = None
    return some
