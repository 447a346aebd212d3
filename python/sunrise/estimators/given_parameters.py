"""Shared part of all `from_parameters`: validate given parameters and convert them into equivalent statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sunrise._common import labels
from sunrise._common.arrays import Floats, Integers, Labels, Positions


@dataclass(frozen=True)
class Given:
    """Classes and class weights given to `from_parameters`.

    `order` sorts the given classes; `updatable` is True if a number of rows was given.
    """

    classes: Labels
    order: Positions
    class_weight: Floats
    updatable: bool

    @property
    def rows(self) -> Integers:
        """Number of rows of each class, at least 1, because a class without rows has no parameters."""
        return np.maximum(np.rint(self.class_weight), 1).astype(np.int64)

    @property
    def block_rows(self) -> Integers:
        """`rows` with the shape of the statistics of a block: classes x 1."""
        return self.rows[:, None]

    @property
    def observed_weight(self) -> Floats:
        """Weight of the given parameters; 1 without `rows=`, so that the estimates equal the given values exactly."""
        return self.class_weight[:, None] if self.updatable else np.ones((len(self.classes), 1))

    def matrix(
        self, name: str, values: ArrayLike, lowest: float = -np.inf, highest: float = np.inf
    ) -> Floats:
        """Return a table of numbers (classes x columns) with its rows in sorted class order."""
        table = np.asarray(values, dtype=float)
        if table.ndim != 2 or len(table) != len(self.classes):
            raise ValueError(
                f"{name} must be a table with one row for each of the {len(self.classes)} classes; "
                f"its shape is {table.shape}"
            )
        bad = ~(np.isfinite(table) & (table >= lowest) & (table <= highest))
        if bad.any():
            c, j = np.argwhere(bad)[0]
            wanted = "finite" if np.isinf(lowest) else f"from {lowest:g} to {highest:g}"
            raise ValueError(f"{name}[{c}, {j}] is {table[c, j]:g}; it must be {wanted}")
        return table[self.order]

    def shares(self, name: str, values: ArrayLike) -> Floats:
        """Return a table of probabilities; they must sum to 1 in every class."""
        table = self.matrix(name, values, 0.0, 1.0)
        wrong = ~np.isclose(table.sum(axis=1), 1.0)
        if wrong.any():
            c = int(np.argmax(wrong))
            raise ValueError(
                f"{name} must sum to 1 in every class; "
                f"for class {self.classes.tolist()[c]!r} the sum is {table[c].sum():g}"
            )
        return table


def given_parameters(classes: ArrayLike, class_prior: Any, rows: float | None) -> Given:
    """Validate the arguments that every `from_parameters` has."""
    given = np.asarray(labels.as_array(classes))
    ordered = labels.sort(given)
    if given.ndim != 1 or len(ordered) != len(given) or len(given) == 0:
        raise ValueError("classes must be a list of at least one label, without repeated labels")
    order = labels.locate(given, ordered)
    if isinstance(class_prior, dict):
        class_prior = [class_prior.get(label, np.nan) for label in given.tolist()]
    prior = np.full(len(given), 1.0 / len(given)) if class_prior is None else np.asarray(class_prior, float)
    if prior.shape != given.shape or (prior < 0).any() or not np.isclose(prior.sum(), 1.0):
        raise ValueError(
            f"class_prior must be {len(given)} probabilities that sum to 1, in the order of classes"
        )
    if rows is not None and (not rows > 0 or (prior == 0).any()):
        raise ValueError(
            "rows must be positive; with rows, every probability in class_prior must be positive, too"
        )
    return Given(ordered, order, prior[order] * (1.0 if rows is None else float(rows)), rows is not None)
