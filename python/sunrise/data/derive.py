"""Derived columns: what the door makes of cells that are not numbers or levels yet, by rules that the schema keeps.

- Marks: in a column of numbers written as text, "?", "NA", "-" and the like are missing cells.
- Dates: a column "joined" of dates, or of ISO dates written as text, becomes "joined.days" (days since a reference
  date, the earliest one of the training rows), "joined.month" and "joined.weekday".

`find_rules` finds the rules on the training rows. `Rules.apply` does the same to every later table, so that everything
behind the door sees ordinary columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.stored import stored
from sunrise.data.column import Column
from sunrise.data.dates import PARTS, day_of_text, iso, part_column
from sunrise.data.frame import Frame
from sunrise.data.levels import is_number, name_of

#: Words that stand for a missing cell among numbers and dates; spaces around them do not count.
MARKS = frozenset(("", "?", "-", "--", ".", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "None", "nan", "NaN"))
#: Fewest different numbers beside marks: with fewer, the column may hold codes.
FEWEST_NUMBERS = 3
#: Cells that are looked at before all cells of a column are.
_FIRST_CELLS = 100


@stored("column rules")
@dataclass(frozen=True)
class Rules:
    """How columns of a table become columns of a model."""

    #: For every column of numbers written as text: the marks that its training rows have.
    marks: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    #: What was done, by the name of the model's column: part of the reason in `families_`.
    remarks: dict[Any, str] = field(default_factory=dict)
    #: For every column of dates: the reference date, as days since 1970.
    dates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, marks in self.marks.items():
            if not isinstance(marks, tuple) or not all(isinstance(mark, str) for mark in marks):
                raise ValueError(f"the marks of column {name!r} are not strings")
        for name, day in self.dates.items():
            if not isinstance(name, str) or not isinstance(day, int | float) or not abs(day) < 1e8:
                raise ValueError(f"the reference date of column {name!r} is not a date")

    @cached_property
    def origins(self) -> dict[str, tuple[str, str]]:
        """For every part of a date: the column of the table, and the name of the part."""
        return {f"{name}.{part}": (name, part) for name in self.dates for part in PARTS}

    def inputs(self, names: Sequence[Any]) -> Sequence[Any]:
        """Return the columns of a table from which these columns of the model are made."""
        if not self.dates:
            return names
        return tuple(dict.fromkeys(self.origins.get(name, (name,))[0] for name in names))

    def describe(self) -> list[dict[str, Any]]:
        """Return the rules in plain values, for exports: a column of the model, its origin, and how it is made."""
        numbers = [
            {"column": str(name), "from": str(name), "as": "number", "missing": sorted({*MARKS, *marks})}
            for name, marks in self.marks.items()
        ]
        parts = [
            {"column": column, "from": name, "as": part, "reference": iso(self.dates[name])}
            for column, (name, part) in self.origins.items()
        ]
        return [*numbers, *parts]

    def apply(self, table: Frame) -> Frame:
        """Return the columns of a model from those of a table, which are in the order of the fit."""
        place = {name: j for j, name in enumerate(table.names)} if self.dates else {}
        names = table.names
        if self.dates:
            names = tuple(
                own
                for name in table.names
                for own in ([f"{name}.{part}" for part in PARTS] if name in self.dates else [name])
            )
        days: dict[str, Floats] = {}

        def read(j: int) -> Column:
            name = names[j]
            if name in self.origins:
                origin, part = self.origins[name]
                if origin not in days:
                    days[origin] = as_days(table.raw(place[origin]))
                return part_column(name, part, days[origin], self.dates[origin])
            column, marks = table.raw(place[name] if self.dates else j), self.marks.get(name)
            return column if marks is None else as_numbers(column, marks)

        return replace(table, names=names, source=read, block=None, rules=self)


def find_rules(
    table: Frame,
    reads_numbers: Callable[[int], bool],
    is_open: Callable[[int], bool],
    n_jobs: int | None = None,
) -> Rules | None:
    """Return the rules for a table of training rows; None if its columns are used as they are.

    `reads_numbers(j)` is False for columns that the user leaves out or gives a family of levels or text; `is_open(j)`
    is True for columns without a given family.

    >>> from sunrise.data.frame import frame_of
    >>> table = frame_of({"age": ["31", "?", "52.5", "40"], "seen": ["2024-05-01", None, "2024-02-29", None]})
    >>> rules = find_rules(table, lambda j: True, lambda j: True)
    >>> rules.marks, rules.dates
    ({'age': ('?',)}, {'seen': 19782.0})
    >>> rules.remarks
    {'age': "'?' in 1 cells is missing", 'seen.days': 'days since 2024-02-29, from dates written as text'}
    """
    marks: dict[Any, tuple[str, ...]] = {}
    dates: dict[str, float] = {}
    remarks: dict[Any, str] = {}
    for j, name in enumerate(table.names):
        if not reads_numbers(j):
            continue
        column = table.raw(j)
        if (
            table.is_named
            and isinstance(name, str)
            and is_open(j)
            and (days := _dates(column, n_jobs)) is not None
        ):
            dates[name] = float(np.floor(np.nanmin(days))) if (~np.isnan(days)).any() else 0.0
            written = ", from dates written as text" if column.kind == "level" else ""
            remarks[f"{name}.days"] = f"days since {iso(dates[name])}{written}"
            continue
        if not _is_text(column) or not _all_first(column, lambda text: _is_plain_number(text)):
            continue
        found = _marks_among_numbers(column, n_jobs)
        if found:
            marks[name] = tuple(found)
            words, n_cells = ", ".join(map(repr, found)), sum(found.values())
            remarks[name] = f"{words} in {n_cells:,} cells {'is' if len(found) == 1 else 'are'} missing"
    for name in dates:
        if twice := next((part for part in PARTS if f"{name}.{part}" in table.names), None):
            raise ValueError(
                f"column {name!r} holds dates, which become {name + '.' + twice!r} and others, but X has a column of "
                f"this name. Rename it, or leave the dates out with families={{{name!r}: None}}."
            )
    return Rules(marks, remarks, dates) if marks or dates else None


def _is_text(column: Column) -> bool:
    """True for text that may stand for something else: not for declared categories and documents."""
    return column.kind in ("level", "mixed") and column.declared is None and column.texts is None


def _all_first(column: Column, is_right: Callable[[str], bool]) -> bool:
    """True if the first cells are right or marks: most columns of strings need no closer look."""
    rows = np.arange(min(_FIRST_CELLS, column.n_rows))
    if column.known is not None:
        codes = column.known.codes[rows]
        names = column.known.names[codes[codes >= 0]].tolist()
    else:
        try:
            names = [name_of(cell) for cell in column.cells.take(rows.tolist()) if cell is not None]
        except ValueError:  # not UTF-8: the reader of levels names the column
            return False
    return all(is_right(name) or name.strip() in MARKS for name in names)


def _dates(column: Column, n_jobs: int | None) -> Floats | None:
    """Return a column of dates, or of ISO dates written as text, as days since 1970; None for other columns."""
    if column.kind == "date":
        return column.numbers()
    if column.kind != "level" or not _is_text(column):
        return None
    if not _all_first(column, lambda text: not np.isnan(day_of_text(text))):
        return None
    names, codes = column.levels_by(n_jobs)
    values = [day_of_text(name) for name in names.tolist()]
    is_date = ~np.isnan(values)
    if not is_date.any() or not all(
        own or name.strip() in MARKS for own, name in zip(is_date, names.tolist(), strict=True)
    ):
        return None
    return np.array([*values, np.nan])[codes]


def as_days(column: Column) -> Floats:
    """Return a column as days since 1970; text must be ISO dates or marks."""
    if column.kind == "empty":
        return np.full(column.n_rows, np.nan)
    if column.kind == "date":
        return column.numbers()
    if column.kind not in ("level", "mixed"):
        raise ValueError(
            f"column {column.name!r} holds {'numbers' if column.kind == 'number' else 'booleans'}, but the model was "
            "fitted to dates. Give dates, or ISO dates as text, such as '2024-05-31'."
        )
    names, codes = column.levels
    values = [day_of_text(name) for name in names.tolist()]
    for k, name in enumerate(names.tolist()):
        if np.isnan(values[k]) and name.strip() not in MARKS:
            raise ValueError(
                f"column {column.name!r} holds {name!r} in row {int(np.argmax(codes == k))}, but the model was fitted "
                "to dates. Give dates, or ISO dates as text, such as '2024-05-31'."
            )
    return np.array([*values, np.nan])[codes]


def _marks_among_numbers(column: Column, n_jobs: int | None) -> dict[str, int]:
    """Return the marks of a column and the numbers of their cells; empty if it does not hold numbers and marks."""
    names, codes = column.levels_by(n_jobs)
    levels: list[str] = names.tolist()
    others = [k for k, name in enumerate(levels) if not _is_plain_number(name)]
    if not others or len(levels) - len(others) < FEWEST_NUMBERS:
        return {}
    if not all(levels[k].strip() in MARKS for k in others):
        return {}
    n_cells = np.bincount(codes + 1, minlength=len(levels) + 1)[1:]
    return {levels[k]: int(n_cells[k]) for k in others if n_cells[k]}


def _is_plain_number(name: str) -> bool:
    """True if a text is a number and not a code: a leading zero, as in the ZIP code 02134, is part of a name."""
    digits = name.strip().lstrip("+-")
    return is_number(name) and not (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit())


def as_numbers(column: Column, marks: Sequence[str]) -> Column:
    """Return a column of text as numbers; marks are missing. Columns of numbers stay as they are."""
    if column.kind not in ("level", "mixed"):
        return column
    names, codes = column.levels
    values: Floats = np.full(len(names) + 1, np.nan)  # the last one is for missing cells (code -1)
    for k, name in enumerate(names.tolist()):
        if is_number(name):
            values[k] = float(name)
        elif name.strip() not in MARKS and name not in marks:
            row = int(np.argmax(codes == k))
            raise ValueError(
                f"column {column.name!r} holds {name!r} in row {row}, but the model was fitted to numbers, in which "
                f"{', '.join(map(repr, marks))} stood for missing cells. Replace {name!r} by a number or None; to "
                f'use the texts themselves, fit again with families={{{column.name!r}: "categorical"}}.'
            )
    cells = values[codes]
    if np.isnan(cells).all():
        return Column(column.name, "empty", column.n_rows)
    return Column(column.name, "number", column.n_rows, cells, source="float64")
