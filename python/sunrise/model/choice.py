"""The choice of a family for a column, and blocks of columns with one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sunrise._common.arrays import Labels
from sunrise._common.stored import stored
from sunrise.data.derive import Rules
from sunrise.data.types import ColumnType
from sunrise.families.base import Family
from sunrise.families.capabilities import Candidate

#: The reason of a column that the user left out.
BY_USER = "left out by the user"


@dataclass(frozen=True)
class Part:
    """A block: the positions of columns that share a family."""

    family: Family
    columns: tuple[int, ...]


@stored("choice")
@dataclass(frozen=True)
class Choice:
    """The family of a column (None leaves the column out) and the reason.

    Columns with an equal `block` form one block.
    """

    family: Family | None
    reason: str
    block: Any = None
    #: Levels that are possible even if no row has them.
    declared: Labels | None = None
    #: Kind of the cells: "number", "bool" or "level".
    kind: str = "number"

    #: Type of the cells, for drawn rows.
    type: ColumnType | None = field(default=None, compare=False)

    #: True if there were too few data for an informed choice.
    is_uninformed: bool = False
    #: True if the column is left out only because all of its cells were equal or missing: it may wake up.
    asleep: bool = False
    #: Mean leave-one-out log-probability of the class (nats per row) under each candidate family, if chosen by score.
    scores: dict[str, float] | None = field(default=None, compare=False)
    #: Names of the candidate families that might be chosen on a part of the rows.
    plausible: tuple[str, ...] = field(default=(), compare=False)

    @property
    def statistics_key(self) -> tuple[Any, ...] | None:
        """The settings that shaped the statistics of the column: models must agree on them to be merged."""
        return None if self.family is None else self.family.statistics_key

    def with_learned_of(self, old: Choice) -> Choice:
        """Return the choice with the settings that the first data decided for another one."""
        if self.family is None or old.family is None:
            return self
        return replace(self, family=self.family.reader.with_learned_of(self.family, old.family))

    @property
    def is_lenient(self) -> bool:
        """True if the family was chosen by score, here or in another model: impossible cells then count as missing."""
        return bool(self.scores) or self.is_given_lenient

    @property
    def is_given_lenient(self) -> bool:
        """True if the family was given as `fixed_families_` of a model that had chosen it by score."""
        return isinstance(self.family, Candidate) and self.family.lenient

    @property
    def description(self) -> str:
        """The family and the reason, in words."""
        return self.reason if self.family is None else f"{self.family.description} ({self.reason})"


def with_remarks(choices: Sequence[Choice], names: Sequence[Any], rules: Rules) -> list[Choice]:
    """Return choices whose reasons say what the rules of the table did to their columns."""
    return [
        replace(choice, reason=f"{choice.reason}; {remark}")
        if (remark := rules.remarks.get(name))
        else choice
        for name, choice in zip(names, choices, strict=True)
    ]
