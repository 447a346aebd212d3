"""Parameters given by hand, as the statistics they stand for: what every from_parameters has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sunrise._common import labels
from sunrise._common.arrays import Floats, Integers, Labels, Positions


@dataclass(frozen=True)
class Given:
    """Parameters given by hand, with the statistics they stand for."""

    classes: Labels
    order: Positions
    class_weight: Floats
    updatable: bool

    @property
    def rows(self) -> Integers:
        """Rows of each class, at least one: something is known of it."""
        return np.maximum(np.rint(self.class_weight), 1).astype(np.int64)

    @property
    def block_rows(self) -> Integers:
        """The same, for a block."""
        return self.rows[:, None]

    @property
    def observed_weight(self) -> Floats:
        """Weight behind the parameters: their rows, or 1, which leaves every digit as given."""
        return self.class_weight[:, None] if self.updatable else np.ones((len(self.classes), 1))

    def matrix(
        self, name: str, values: ArrayLike, lowest: float = -np.inf, highest: float = np.inf
    ) -> Floats:
        """Read a table of numbers, one row per class."""
        table = np.asarray(values, dtype=float)
        if table.ndim != 2 or len(table) != len(self.classes):
            raise ValueError(
                f"{name} must be a table with one row for each of {len(self.classes)} classes; "
                f"its shape is {table.shape}"
            )
        bad = ~(np.isfinite(table) & (table >= lowest) & (table <= highest))
        if bad.any():
            c, j = np.argwhere(bad)[0]
            wanted = "finite" if np.isinf(lowest) else f"from {lowest:g} to {highest:g}"
            raise ValueError(f"{name}[{c}, {j}] is {table[c, j]:g}; it must be {wanted}")
        return table[self.order]

    def shares(self, name: str, values: ArrayLike) -> Floats:
        """Read a table of probabilities that sum to 1 in every class."""
        table = self.matrix(name, values, 0.0, 1.0)
        wrong = ~np.isclose(table.sum(axis=1), 1.0)
        if wrong.any():
            c = int(np.argmax(wrong))
            raise ValueError(
                f"{name} must sum to 1 in every class; for {self.classes.tolist()[c]!r} it is {table[c].sum():g}"
            )
        return table


def given_parameters(classes: ArrayLike, class_prior: Any, rows: float | None) -> Given:
    """Read what from_parameters of every family has in common."""
    named = np.asarray(labels.as_array(classes))
    ordered = labels.sort(named)
    if named.ndim != 1 or len(ordered) != len(named) or len(named) == 0:
        raise ValueError("classes must be a list of different labels, at least one")
    order = labels.locate(named, ordered)
    if isinstance(class_prior, dict):
        class_prior = [class_prior.get(label, np.nan) for label in named.tolist()]
    prior = np.full(len(named), 1.0 / len(named)) if class_prior is None else np.asarray(class_prior, float)
    if prior.shape != named.shape or (prior < 0).any() or not np.isclose(prior.sum(), 1.0):
        raise ValueError(
            f"class_prior must be {len(named)} probabilities that sum to 1, in the order of classes"
        )
    if rows is not None and (not rows > 0 or (prior == 0).any()):
        raise ValueError("rows must be positive, and every class needs some: no class_prior of 0")
    return Given(ordered, order, prior[order] * (1.0 if rows is None else float(rows)), rows is not None)
