"""Interactions: pairs of columns that a model scores together, beyond each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sunrise._common.stored import stored
from sunrise.families.joint import Joint
from sunrise.families.pair_reader import Side


@stored("interaction")
@dataclass(frozen=True)
class Interaction:
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

    @property
    def name(self) -> str:
        """The two columns, for people."""
        return f"{self.columns[0]} × {self.columns[1]}"  # noqa: RUF001

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", gain {self.gain:.1f} nats"
        return f"Interaction({self.name}{gain})"


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
