"""Interactions: columns that a model scores together, beyond each alone: pairs, and one block of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sunrise._common.stored import stored
from sunrise.families.joint import Joint
from sunrise.families.pair_reader import Side
from sunrise.families.standard_reader import Scale
from sunrise.families.together import Together
from sunrise.statistics.counts import Counts


class _NamedColumns:
    """How columns that are scored together are shown: by their names, and their gain if a search found them."""

    columns: tuple[Any, ...]
    gain: float | None

    @staticmethod
    @abstractmethod
    def label(columns: Sequence[Any]) -> str:
        """Return a name, for people, of columns with these names."""

    @property
    def name(self) -> str:
        """The columns, for people."""
        return self.label(self.columns)

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", gain {self.gain:.1f} nats"
        return f"{type(self).__name__}({self.name}{gain})"


@stored("interaction")
@dataclass(frozen=True, repr=False)
class Interaction(_NamedColumns):
    """Two columns by name, with the edges of the bins of columns of numbers.

    `gain` is the improvement of the leave-one-out log-likelihood that the search expected of this pair, in nats; None
    if the user gave the pair.

    >>> Interaction(("persons", "safety"), (None, None), 12.3)
    Interaction(persons × safety, gain 12.3 nats)
    """

    columns: tuple[Any, Any]
    #: Edges between the bins of each column; None for a column of levels.
    edges: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
    gain: float | None = field(default=None, compare=False)

    @staticmethod
    def label(columns: Sequence[Any]) -> str:
        """Return the name of a pair of columns with these names."""
        return f"{columns[0]} × {columns[1]}"  # noqa: RUF001


@stored("correlated columns")
@dataclass(frozen=True, repr=False)
class CorrelatedColumns(_NamedColumns):
    """Numeric columns that are scored by one multivariate Student-t, with the scales of their first data.

    `pooled` and `diagonal` are the strengths of `Correlated`, and `gain` is that of `Interaction`.

    >>> CorrelatedColumns(("age", "bmi", "pulse"), (Scale(40, 12), Scale(25, 4), Scale(70, 9)), 10.0, 1.0, 20.1)
    CorrelatedColumns(age, bmi, pulse, gain 20.1 nats)
    """

    columns: tuple[Any, ...]
    scales: tuple[Scale, ...]
    pooled: float = 10.0
    diagonal: float = 1.0
    gain: float | None = field(default=None, compare=False)

    @staticmethod
    def label(columns: Sequence[Any]) -> str:
        """Return the first three names, and the number of the others."""
        shown = ", ".join(map(str, columns[:3]))
        return f"{shown} and {n} more" if (n := len(columns) - 3) > 0 else shown

    def family(self, names: Sequence[Any]) -> Together:
        """Return the family of the block among columns with these names."""
        place = {name: j for j, name in enumerate(names)}
        return Together(
            self.pooled, self.diagonal, self.scales, positions=tuple(place[c] for c in self.columns)
        )


def joint_family(interactions: Sequence[Interaction], names: Sequence[Any]) -> Joint:
    """Return the family of these interactions among columns with these names."""
    wanted = {name for interaction in interactions for name in interaction.columns}
    position = {name: j for j, name in enumerate(names) if name in wanted}
    return Joint(
        pairs=tuple(
            (
                Side(position[interaction.columns[0]], interaction.edges[0]),
                Side(position[interaction.columns[1]], interaction.edges[1]),
            )
            for interaction in interactions
        )
    )


def counts_of(
    pairs: Sequence[Interaction], known: Sequence[Interaction], counts: Sequence[Counts | None]
) -> Counts | None:
    """Return the counts of some pairs out of those of `known` pairs, which follow each other in `counts`."""
    if not pairs:
        return None
    place = {pair: k for k, pair in enumerate(known)}
    every = Counts.concatenate([own for own in counts if own is not None])
    return every.select_columns(np.array([place[pair] for pair in pairs], int))
