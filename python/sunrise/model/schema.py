"""The schema of a model: which columns it has, and the family of each; fixed by the first data seen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Labels, Mask
from sunrise.families.base import FAMILIES, Family


@dataclass(frozen=True)
class Part:
    """A block of columns that have one family, by their positions."""

    family: Family
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """What was chosen for a column: its family (None keeps it out) and why.

    Columns of a family that are to be one block share a `block`.
    """

    family: Family | None
    reason: str
    block: Any = None
    #: Levels that are possible whether seen or not.
    declared: Labels | None = None
    #: What the column held: "number", "bool" or "level".
    kind: str = "number"

    #: Whether it was chosen for want of data, not for what the column is.
    is_uninformed: bool = False
    #: What the families that were tried told of the class, in nats a row: the greatest was chosen.
    scores: dict[str, float] | None = field(default=None, compare=False)

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
        """True if the family was chosen by score: cells that it cannot have then count as missing."""
        return bool(self.scores)

    @property
    def description(self) -> str:
        """The family and the reason, in words."""
        return self.reason if self.family is None else f"{self.family.description} ({self.reason})"


@dataclass(frozen=True)
class Schema:
    """The columns of a model in the order of its first data, and the blocks they form."""

    names: Sequence[Any]
    choices: tuple[Choice, ...]
    #: Whether columns are known by name; else by position.
    is_named: bool = True
    #: The column that held the labels, where they came by name.
    label: Any = None
    #: Whose frame the first data were in, if any.
    library: str | None = None

    @classmethod
    def whole(cls, choice: Choice, n_columns: int, names: Any = None, library: str | None = None) -> Schema:
        """One block of one family."""
        known: Sequence[Any] = range(n_columns) if names is None else tuple(names)
        return cls(known, (replace(choice, block="all"),) * n_columns, names is not None, library=library)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The blocks: columns of equal families are scored together."""
        if (
            (only := _only(self.choices)) is not None
            and only.family is not None
            and not only.family.reader.own_block
        ):
            return (Part(only.family, tuple(range(len(self.choices)))),)
        blocks: dict[Any, list[int]] = {}
        families: dict[Any, list[Family]] = {}
        for j, choice in enumerate(self.choices):
            if choice.family is not None:
                reader = choice.family.reader
                unlearned = reader.unlearned(choice.family) if reader.learns else choice.family
                key = _written(unlearned) if choice.block is None else choice.block
                key = (key, j) if reader.own_block else key
                blocks.setdefault(key, []).append(j)
                families.setdefault(key, []).append(choice.family)
        return tuple(Part(_merged(families[key]), tuple(columns)) for key, columns in blocks.items())

    @property
    def families(self) -> dict[Any, Family | None]:
        """The families by column, or by the columns of a block, as they can be given."""
        given: dict[Any, Family | None] = {}
        for part in self.parts:
            names = tuple(self.names[j] for j in part.columns)
            together = self.choices[part.columns[0]].block is not None
            if part.family.reader.learns:
                given |= {name: part.family.select_columns([at]) for at, name in enumerate(names)}
            else:
                given |= {names: part.family} if together else dict.fromkeys(names, part.family)
        left_out = (
            name for name, choice in zip(self.names, self.choices, strict=True) if choice.family is None
        )
        return given | dict.fromkeys(left_out)

    @property
    def used(self) -> list[Any]:
        """Names of the columns that the model uses; the others may be absent from a table."""
        pairs = zip(self.names, self.choices, strict=True)
        return [name for name, choice in pairs if choice.family is not None]

    def lenient(self, part: Part) -> Mask:
        """Which columns of a block have a family that was chosen by score."""
        if (only := _only(self.choices)) is not None:
            return np.full(len(part.columns), only.is_lenient)
        return np.array([self.choices[j].is_lenient for j in part.columns])

    @cached_property
    def is_matrix(self) -> bool:
        """Whether the model is one block of numbers, so that a matrix can be read as it is."""
        parts = self.parts
        return (
            len(parts) == 1 and len(parts[0].columns) == len(self.names) and parts[0].family.reader.is_plain
        )

    def under(self, families: Any, who: str) -> Schema:
        """The schema under settings that may have changed since; what shaped the statistics may not."""
        given = given_choices(families, self.names)
        if len(self.names) == 0 or all(choice is None for choice in given):
            return self
        before, after = _only(self.choices), _only(given)
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
                    f"The statistics of this {who} were made with other settings: column {name!r} was "
                    f"{old.description}, and is to be {new.description}. Use the settings of its first fit (families, "
                    "binarize, ...), or fit anew."
                )
            choices.append(old if new is None else replace(old, family=new.family))
        return replace(self, choices=tuple(choices))

    def aligned(self, other: Schema, blocks: tuple[Any, ...]) -> tuple[Any, ...]:
        """The blocks of a model of another schema in the order of this one; other columns or families are refused."""
        place = {name: j for j, name in enumerate(other.names)}
        named = self.is_named and other.is_named
        if len(self.names) != len(other.names) or (named and place.keys() != set(self.names)):
            raise ValueError(
                "The models have different columns and cannot be merged. Fit them on the same columns."
            )
        order = [place[name] for name in self.names] if named else list(range(len(self.names)))
        for name, mine, theirs in zip(
            self.names, self.choices, (other.choices[j] for j in order), strict=True
        ):
            if mine.statistics_key != theirs.statistics_key:
                raise ValueError(
                    f"The models disagree on column {name!r}: {mine.description} is not {theirs.description}. "
                    "Give both the same families and settings to merge them: a fitted model has its own, edges of bins "
                    "included, in fixed_families_."
                )
        where = {j: (k, at) for k, part in enumerate(other.parts) for at, j in enumerate(part.columns)}
        return tuple(
            self._gathered(part, [where[order[j]] for j in part.columns], blocks) for part in self.parts
        )

    def regrouped(self, old: Schema, blocks: tuple[Any, ...]) -> tuple[Any, ...]:
        """The blocks of the same columns under an earlier schema, as this one groups them."""
        if [part.columns for part in self.parts] == [part.columns for part in old.parts]:
            return blocks
        where = old._where
        return tuple(self._gathered(part, [where[j] for j in part.columns], blocks) for part in self.parts)

    @property
    def _where(self) -> dict[int, tuple[int, int]]:
        """The block of every column, and its place there."""
        return {j: (k, at) for k, part in enumerate(self.parts) for at, j in enumerate(part.columns)}

    def with_levels_of(self, other: Schema) -> Schema:
        """The schema with the levels that either declares."""
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

    def without(self, left_out: dict[int, str], blocks: tuple[Any, ...]) -> tuple[Schema, tuple[Any, ...]]:
        """The schema with more columns left out, each with its reason, and the blocks of what stays."""
        choices = [
            replace(c, family=None, reason=left_out[j]) if j in left_out else c
            for j, c in enumerate(self.choices)
        ]
        for part in self.parts:
            stay = [at for at, j in enumerate(part.columns) if j not in left_out]
            family = part.family.select_columns(stay)
            for place, at in enumerate(stay):
                j = part.columns[at]
                choices[j] = replace(choices[j], family=family.reader.column_family(family, place))
        rest = replace(self, choices=tuple(choices))
        return rest, rest.regrouped(self, blocks)

    def narrowed(self, keep: Any, blocks: tuple[Any, ...]) -> tuple[Schema, tuple[Any, ...]]:
        """The schema of these columns alone, for matrices, which have no columns to spare."""
        kept = [int(j) for j in keep]
        names = tuple(self.names[j] for j in kept) if self.is_named else tuple(range(len(kept)))
        part = Part(self.parts[0].family.select_columns(kept), tuple(range(len(kept))))
        rest = replace(
            self, names=names, choices=tuple(replace(self.choices[j], family=part.family) for j in kept)
        )
        return rest, (self._gathered(part, [(0, j) for j in kept], blocks),)

    @staticmethod
    def _gathered(part: Part, places: list[tuple[int, int]], blocks: tuple[Any, ...]) -> Any:
        """A block made of columns of other blocks, each given by its block and its place there."""
        views = np.arange(len(part.family.fit_support.views))
        n = len(views)
        (first, _), alone = places[0], len({k for k, _ in places}) == 1
        if alone:
            return blocks[first].select_columns(np.concatenate([at * n + views for _, at in places]))
        return type(blocks[first]).concatenate([blocks[k].select_columns(at * n + views) for k, at in places])

    def declared(self, part: Part) -> list[Labels]:
        """The declared levels of a block, for every column."""
        none = np.empty(0, dtype=object)
        return [none if (levels := self.choices[j].declared) is None else levels for j in part.columns]


def _only(choices: Sequence[Choice | None]) -> Choice | None:
    """The one choice of all columns, where it is one and the same: of a hundred thousand words, for instance."""
    return choices[0] if choices and len(set(map(id, choices))) == 1 else None


def _merged(families: list[Family]) -> Family:
    """The family of a block, from the families of its columns."""
    reader = families[-1].reader
    return reader.merge_columns(families) if reader.learns else families[-1]


def _written(family: Family) -> str:
    """A family with all its settings, to the last number of an array."""
    with np.printoptions(threshold=sys.maxsize, precision=17):
        return repr(family)


def named_family(wanted: Any, column: Any = None) -> Family:
    """The family that is called so, or the family itself."""
    if isinstance(wanted, Family):
        return wanted
    if isinstance(wanted, type) and issubclass(wanted, Family):
        return wanted()
    if isinstance(wanted, str) and wanted in FAMILIES:
        return FAMILIES[wanted]()
    where = "" if column is None else f" of column {column!r}"
    close = get_close_matches(str(wanted), FAMILIES, n=1)
    hint = f"Is it {close[0]!r}? " if close else ""
    raise ValueError(
        f'{hint}The family{where} is {wanted!r}; it must be "auto" or one of {sorted(FAMILIES)}, or such a family '
        "itself (sunrise.Gaussian(), for one)."
    )


def given_choices(families: Any, names: Sequence[Any]) -> list[Choice | None]:
    """What the user chose for every column; None where it is to be inferred."""
    if isinstance(families, str) and families in ("auto", "auto-fast"):
        return [None] * len(names)
    if not isinstance(families, dict):
        return [Choice(named_family(families), "given for all columns", "all")] * len(names)
    choices: list[Choice | None] = [None] * len(names)
    place = {name: j for j, name in enumerate(names)}
    for key, wanted in families.items():
        alone = _is_name(key, place)
        if isinstance(wanted, str) and wanted in ("auto", "auto-fast"):
            if strange := [name for name in ([key] if alone else key) if name not in place]:
                raise ValueError(
                    f"families names a column {strange[0]!r}, which X does not have: {_some(names)}."
                )
            continue
        family = None if wanted is None else named_family(wanted, key)
        if alone and family is not None and family.joint and not family.reader.own_block:
            raise ValueError(
                f"{family.name} is a distribution of several columns together: name them in a tuple, as in "
                f"families={{({key!r}, ...): {family.name!r}}}."
            )
        reason = "left out as asked" if family is None else "given"
        for name in [key] if alone else key:
            if name not in place:
                raise ValueError(f"families names a column {name!r}, which X does not have: {_some(names)}.")
            if choices[place[name]] is not None:
                raise ValueError(f"families names column {name!r} twice.")
            choices[place[name]] = Choice(family, reason, None if alone else key)
    return choices


def _is_name(key: Any, place: dict[Any, int]) -> bool:
    try:
        return key in place or not isinstance(key, tuple)
    except TypeError:
        return False


def _some(names: Iterable[Any]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
