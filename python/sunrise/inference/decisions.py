"""Decisions under costs: the class with the least expected cost, or no decision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Floats, Labels


def cost_matrix(cost: Any, classes: Labels) -> Floats:
    """Return the cost matrix, true classes x decided classes; None means cost 1 for every error.

    A dict maps (true class, decided class) to a cost. Pairs that are not in the dict cost 0 if they are equal, else 1.

    >>> cost_matrix({("sick", "well"): 100}, np.array(["sick", "well"]))
    array([[  0., 100.],
           [  1.,   0.]])
    """
    n = len(classes)
    table = 1.0 - np.eye(n)
    if cost is None:
        return table
    if isinstance(cost, dict):
        position = {label: k for k, label in enumerate(classes.tolist())}
        for pair, value in cost.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(label in position for label in pair)):
                raise ValueError(
                    f"cost has the key {pair!r}. A key must be a pair (true class, decided class), with classes among "
                    f"{classes.tolist()}."
                )
            table[position[pair[0]], position[pair[1]]] = value
    else:
        table = np.asarray(cost, dtype=float)
        if table.shape != (n, n):
            raise ValueError(
                f"cost must be an array of {n} true classes x {n} decided classes; its shape is {table.shape}."
            )
    if not np.isfinite(table).all():
        raise ValueError("cost must be finite for every pair of classes.")
    return table


def decisions(proba: Floats, classes: Labels, cost: Any, abstain: float | None) -> NDArray[Any]:
    """Return the class with the least expected cost for every row; None if this cost exceeds `abstain`."""
    expected = proba @ cost_matrix(cost, classes)
    # The first class wins a tie; rounding errors must not break ties.
    best = proba.argmax(axis=1) if cost is None else np.argmin(expected.round(14), axis=1)
    chosen: NDArray[Any] = classes[best]
    if abstain is None:
        return chosen
    if not np.isfinite(abstain):
        raise ValueError(
            f"abstain is {abstain!r}. It must be a finite number, the cost of leaving a row undecided."
        )
    undecided = expected[np.arange(len(best)), best] > abstain
    with_none: NDArray[Any] = chosen.astype(object)
    with_none[undecided] = None
    return with_none
