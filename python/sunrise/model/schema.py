"""The schema of a model: its columns and their families, which the first data determine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Labels, Mask
from sunrise.data.dates import iso
from sunrise.data.derive import Rules
from sunrise.families.base import Family
from sunrise.model.choice import Choice, Part
from sunrise.model.given_families import given_choices
from sunrise.model.interaction import CorrelatedColumns, Interaction, counts_of, joint_family
from sunrise.statistics.model import Stats


@dataclass(frozen=True)
class Schema:
    """The columns of a model in the order of its first data, and the blocks they form."""

    names: Sequence[Any]
    choices: tuple[Choice, ...]
    #: True if columns are matched by name, False if by position.
    is_named: bool = True
    #: Name of the label column, if known.
    label: Any = None
    #: The library of the first data frame, if any.
    library: str | None = None
    #: Columns that are scored together, as summands at positions after those of the columns. Pairs form one block. A
    #: block of numbers (`CorrelatedColumns`) comes last.
    interactions: tuple[Interaction | CorrelatedColumns, ...] = ()
    #: Pairs of columns that are counted and not scored, so that they can be chosen later.
    counted: tuple[Interaction, ...] = ()
    #: How columns are derived from those of a table; None if they are used as they are.
    rules: Rules | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, without cached values that can be derived again."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @classmethod
    def whole(cls, choice: Choice, n_columns: int, names: Any = None, library: str | None = None) -> Schema:
        """Return a schema with all columns in one block."""
        known: Sequence[Any] = range(n_columns) if names is None else tuple(names)
        if choice.block is None:
            choice = replace(choice, block="all")
        return cls(known, (choice,) * n_columns, names is not None, library=library)

    def empty_model(self, estimator: Any) -> Any:
        """Return a copy of an estimator that has this schema and no rows: `partial_fit` chooses nothing anymore."""
        return estimator._with_statistics(self, None)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles of earlier versions have none of these.
        self.__dict__.update({"interactions": (), "counted": (), "rules": None, **state})

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The blocks: those of the columns, then those of the interactions."""
        return self.column_parts if not self.interactions else (*self.column_parts, *self.interaction_parts)

    @property
    def interaction_parts(self) -> tuple[Part, ...]:
        """The block of the pairs and the block of numbers, those that the model has."""
        first, pairs = len(self.names), self.pairs
        parts = []
        if pairs:
            family = joint_family(pairs, self.names)
            parts.append(Part(family, tuple(range(first, first + len(pairs)))))
        if self.correlated is not None:
            parts.append(Part(self.correlated.family(self.names), (first + len(pairs),)))
        return tuple(parts)

    @property
    def pairs(self) -> tuple[Interaction, ...]:
        """The pairs of columns that are scored together."""
        return tuple(own for own in self.interactions if isinstance(own, Interaction))

    @property
    def all_pairs(self) -> tuple[Interaction, ...]:
        """The pairs of columns that are counted: first those that are scored together."""
        return (*self.pairs, *self.counted)

    @property
    def correlated(self) -> CorrelatedColumns | None:
        """The numeric columns that are scored together; None if the model has no block of them."""
        last = self.interactions[-1] if self.interactions else None
        return last if isinstance(last, CorrelatedColumns) else None

    @property
    def n_summands(self) -> int:
        """Number of columns and interactions."""
        return len(self.names) + len(self.interactions)

    @property
    def positions_of_pairs(self) -> list[tuple[int, int]]:
        """The positions of the two columns of every pair."""
        if not self.interactions:
            return []
        place = {name: j for j, name in enumerate(self.names)}
        return [(place[own.columns[0]], place[own.columns[1]]) for own in self.pairs]

    def is_interaction(self, part: Part) -> bool:
        """True for the blocks of the interactions."""
        return bool(self.interactions) and part.columns[0] >= len(self.names)

    @cached_property
    def _common_choice(self) -> Choice | None:
        """The choice that all columns share as one object; None if they differ. It avoids loops over many columns."""
        return _common(self.choices)

    @cached_property
    def column_parts(self) -> tuple[Part, ...]:
        """The blocks of the columns: columns with equal families form one block."""
        if (
            (only := self._common_choice) is not None
            and only.family is not None
            and not only.family.reader.own_block
        ):
            return (Part(only.family, tuple(range(len(self.choices)))),)
        blocks: dict[Any, list[int]] = {}
        families: dict[Any, list[Family]] = {}
        for j, choice in enumerate(self.choices):
            if choice.family is not None:
                reader = choice.family.reader
                unlearned = reader.unlearned(choice.family) if reader.by_column else choice.family
                key = _settings_key(unlearned) if choice.block is None else choice.block
                key = (key, j) if reader.own_block else key
                blocks.setdefault(key, []).append(j)
                families.setdefault(key, []).append(choice.family)
        return tuple(Part(_merge_families(families[key]), tuple(columns)) for key, columns in blocks.items())

    @property
    def families(self) -> dict[Any, Family | None]:
        """Families by column or by tuple of columns, in the format of the `families` argument."""
        given: dict[Any, Family | None] = {}
        for part in self.column_parts:
            names = tuple(self.names[j] for j in part.columns)
            together = self.choices[part.columns[0]].block is not None
            learned = part.family.reader.unlearned(part.family) is not part.family
            if learned and not part.family.joint:
                given |= {name: part.family.select_columns([at]) for at, name in enumerate(names)}
            elif together:
                given[names] = part.family
            else:
                lenient = self.lenient(part)
                given |= {
                    name: part.family.with_settings(lenient=True) if lenient[at] else part.family
                    for at, name in enumerate(names)
                }
        left_out = (
            name for name, choice in zip(self.names, self.choices, strict=True) if choice.family is None
        )
        return given | dict.fromkeys(left_out)

    def inputs_of(self, names: Sequence[Any]) -> Sequence[Any]:
        """Return the columns of a table from which columns of the model are made."""
        return names if self.rules is None else self.rules.inputs(names)

    @property
    def inputs(self) -> Sequence[Any]:
        """The columns of a table from which all columns are made."""
        return self.inputs_of(self.names)

    @property
    def used(self) -> list[Any]:
        """Names of the columns that the model uses; the others may be absent from a table."""
        pairs = zip(self.names, self.choices, strict=True)
        return [name for name, choice in pairs if choice.family is not None]

    @cached_property
    def asleep(self) -> tuple[int, ...]:
        """Positions of the columns that were constant or empty so far."""
        if self._common_choice is not None and not self.choices[0].asleep:
            return ()
        return tuple(j for j, choice in enumerate(self.choices) if choice.asleep)

    def with_choices(self, changed: dict[int, Choice]) -> Schema:
        """Return the schema with other choices for some columns."""
        choices = tuple(changed.get(j, choice) for j, choice in enumerate(self.choices))
        return replace(self, choices=choices)

    def lenient(self, part: Part, given: bool = False) -> Mask:
        """Return the mask of columns of a block whose impossible cells count as missing.

        With `given` only columns whose family came from `fixed_families_`, none whose family was just chosen.
        """
        if self.is_interaction(part):
            return np.zeros(len(part.columns), bool)
        only = self._common_choice
        choices = [self.choices[j] for j in part.columns] if only is None else [only]
        own = [choice.is_given_lenient if given else choice.is_lenient for choice in choices]
        return np.array(own, bool) if only is None else np.full(len(part.columns), own[0])

    @cached_property
    def is_matrix(self) -> bool:
        """True if the model is one block of numbers, so that a matrix needs no conversion."""
        parts = self.parts
        return (
            len(parts) == 1 and len(parts[0].columns) == len(self.names) and parts[0].family.reader.is_plain
        )

    def with_families(self, families: Any, who: str) -> Schema:
        """Return the schema with new settings of the families; raise if the statistics depend on a changed setting."""
        given = given_choices(families, self.names)
        if len(self.names) == 0 or all(choice is None for choice in given):
            return self
        before, after = self._common_choice, _common(given)
        if before is not None and after is not None:
            after = after.with_learned_of(before)
        if before is not None and after is not None and before.statistics_key == after.statistics_key:
            changed = replace(before, family=after.family)
            return replace(self, choices=(changed,) * len(self.choices))
        choices = []
        for name, old, new in zip(self.names, self.choices, given, strict=True):
            new = None if new is None else new.with_learned_of(old)
            if new is not None and old.statistics_key != new.statistics_key:
                raise ValueError(
                    f"The statistics of this {who} depend on settings that have changed: column {name!r} was "
                    f"{old.description}, and is now {new.description}. Use the settings of the first fit (families, "
                    "binarize, grid, ...), or fit again."
                )
            choices.append(old if new is None else replace(old, family=new.family, asleep=False))
        return replace(self, choices=tuple(choices))

    def aligned(self, other: Schema, stats: Stats) -> Stats:
        """Return the statistics of another schema in the order of this schema; raise if columns or families differ."""
        position = {name: j for j, name in enumerate(other.names)}
        named = self.is_named and other.is_named
        self._refuse_other_dates(other)
        if len(self.names) != len(other.names) or (named and position.keys() != set(self.names)):
            raise ValueError(
                "The models have different columns and cannot be merged. Fit them on the same columns."
            )
        order = [position[name] for name in self.names] if named else list(range(len(self.names)))
        for name, mine, theirs in zip(
            self.names, self.choices, (other.choices[j] for j in order), strict=True
        ):
            if mine.statistics_key != theirs.statistics_key:
                raise ValueError(
                    f"The models disagree on column {name!r}: {mine.description} is not {theirs.description}. "
                    "Fit both with the same families and settings (grid=, bins=, ...); fixed_families_ of a model "
                    "holds its families, including grids and the edges of bins."
                )
        positions = other._positions
        own = tuple(
            self.gather_columns(part, [positions[order[j]] for j in part.columns], stats.blocks)
            for part in self.column_parts
        )
        for odd in {*self.interactions, *self.counted} ^ {*other.interactions, *other.counted}:
            raise ValueError(
                f"The models disagree on the interaction {odd.name}: only one of them has it, or its bins have other "
                "edges. Fit both with interactions=model.interactions_ of one of them."
            )
        stats = other.rescored(stats, self.interactions, self.counted)[1]
        return replace(stats, blocks=own + stats.blocks[len(other.column_parts) :])

    def rescored(
        self,
        stats: Stats,
        interactions: Sequence[Interaction | CorrelatedColumns],
        counted: Sequence[Interaction],
    ) -> tuple[Schema, Stats]:
        """Return schema and statistics that score these interactions and count these pairs.

        All of them are scored or counted in the statistics of this schema, `stats`; the others leave.
        """
        new = replace(self, interactions=tuple(interactions), counted=tuple(counted))
        if (new.interactions, new.counted) == (self.interactions, self.counted):
            return new, stats
        first = len(self.column_parts)
        own = (*stats.blocks[first : first + bool(self.pairs)], stats.counted)
        pairs, rest = (counts_of(some, self.all_pairs, own) for some in (new.pairs, new.counted))
        block = stats.blocks[-1:] if new.correlated is not None else ()
        blocks = (*stats.blocks[:first], *(() if pairs is None else (pairs,)), *block)
        return new, replace(stats, blocks=blocks, counted=rest)

    def _refuse_other_dates(self, other: Schema) -> None:
        """Raise if the days of a column are counted from another date in another schema."""
        mine, theirs = ({} if own.rules is None else own.rules.dates for own in (self, other))
        for name in mine.keys() & theirs.keys():
            if mine[name] != theirs[name]:
                raise ValueError(
                    f"The models count the days of column {name!r} from {iso(mine[name])} and from "
                    f"{iso(theirs[name])}, so they cannot be merged. Fit the second one under the schema of the first: "
                    "first.schema_.empty_model(NaiveBayes()).partial_fit(X, y)."
                )

    def regrouped(
        self, old: Schema, blocks: tuple[Any, ...], own: dict[int, Any] | None = None
    ) -> tuple[Any, ...]:
        """Return the blocks of an earlier schema with the same columns, grouped as in this schema.

        `own` has the blocks of columns that the earlier schema left out.
        """
        if [part.columns for part in self.parts] == [part.columns for part in old.parts]:
            return blocks
        own = own or {}
        positions = old._positions | {j: (len(blocks) + k, 0) for k, j in enumerate(own)}
        blocks = (*blocks, *own.values())
        return tuple(
            self.gather_columns(part, [positions[j] for j in part.columns], blocks) for part in self.parts
        )

    @property
    def _positions(self) -> dict[int, tuple[int, int]]:
        """The block of every column, and its position in the block."""
        return {j: (k, at) for k, part in enumerate(self.parts) for at, j in enumerate(part.columns)}

    def with_levels_of(self, other: Schema) -> Schema:
        """Return the schema with the declared levels of both schemas."""
        theirs = dict(zip(other.names, other.choices, strict=True))
        choices = []
        for name, mine in zip(self.names, self.choices, strict=True):
            more = theirs[name].declared if name in theirs else None
            if more is not None:
                mine = replace(
                    mine, declared=np.union1d([] if mine.declared is None else mine.declared, more)
                )
            choices.append(mine)
        return replace(self, choices=tuple(choices))

    def without(self, left_out: dict[int, str], stats: Stats) -> tuple[Schema, Stats]:
        """Return the schema without some columns (position -> reason), and the statistics of the remaining columns."""
        choices = [
            replace(c, family=None, reason=left_out[j]) if j in left_out else replace(c, asleep=False)
            for j, c in enumerate(self.choices)
        ]
        for part in self.column_parts:
            kept = [at for at, j in enumerate(part.columns) if j not in left_out]
            family = part.family.select_columns(kept)
            for position, at in enumerate(kept):
                j = part.columns[at]
                choices[j] = replace(choices[j], family=family.reader.column_family(family, position))
        gone = {self.names[j] for j in left_out}
        usable = [own for own in self.interactions if gone.isdisjoint(own.columns)]
        counted = [own for own in self.counted if gone.isdisjoint(own.columns)]
        before, stats = self.rescored(stats, usable, counted)
        rest = replace(before, choices=tuple(choices))
        return rest, replace(stats, blocks=rest.regrouped(before, stats.blocks))

    def select_columns(self, keep: Any, blocks: tuple[Any, ...]) -> tuple[Schema, tuple[Any, ...]]:
        """Return the schema of some columns only, and their blocks, for a model with a single block (a matrix)."""
        kept = [int(j) for j in keep]
        names = tuple(self.names[j] for j in kept) if self.is_named else tuple(range(len(kept)))
        part = Part(self.parts[0].family.select_columns(kept), tuple(range(len(kept))))
        column_family = part.family.reader.column_family
        choices = (
            replace(self.choices[j], family=column_family(part.family, at)) for at, j in enumerate(kept)
        )
        rest = replace(self, names=names, choices=tuple(choices))
        return rest, (self.gather_columns(part, [(0, j) for j in kept], blocks),)

    @staticmethod
    def gather_columns(part: Part, positions: list[tuple[int, int]], blocks: tuple[Any, ...]) -> Any:
        """Return a block made of columns of other blocks, each given by (block, position in the block)."""
        views = np.arange(len(part.family.fit_support.views))
        n = len(views)
        (first, _), is_one_block = positions[0], len({k for k, _ in positions}) == 1
        # One summand, whose statistics are those of several columns.
        if part.family.joint and part.family.reader.derived:
            return blocks[first]
        if is_one_block:
            return blocks[first].select_columns(np.concatenate([at * n + views for _, at in positions]))
        return type(blocks[first]).concatenate(
            [blocks[k].select_columns(at * n + views) for k, at in positions]
        )

    def declared(self, part: Part) -> list[Labels]:
        """Return the declared levels of every column of a block; an empty list if no column declares any."""
        if self.is_interaction(part) or (
            self._common_choice is not None and self.choices[0].declared is None
        ):
            return []
        none = np.empty(0, dtype=object)
        return [none if (levels := self.choices[j].declared) is None else levels for j in part.columns]


def _common(choices: Sequence[Choice | None]) -> Choice | None:
    """Return the choice if all columns share one object, else None."""
    is_common = bool(choices) and choices[0] is choices[-1] and len(set(map(id, choices))) == 1
    return choices[0] if is_common else None


def _merge_families(families: list[Family]) -> Family:
    """Return the family of a block, from the families of its columns."""
    reader = families[-1].reader
    return reader.merge_columns(families) if reader.by_column else families[-1]


def _settings_key(family: Family) -> str:
    """Return a string with all settings of a family, arrays in full precision."""
    with np.printoptions(threshold=sys.maxsize, precision=17):
        return repr(family)
