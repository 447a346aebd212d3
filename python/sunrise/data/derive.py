"""Derived columns: what the door makes of cells that are not numbers or levels yet, by rules that the schema keeps.

- Marks: in a column of numbers written as text, "?", "NA", "-" and the like are missing cells.

`find_rules` finds the rules on the training rows. `Rules.apply` does the same to every later table, so that everything
behind the door sees ordinary columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise._common.stored import stored
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.data.levels import is_number, name_of

#: Words that stand for a missing cell among numbers; spaces around them do not count.
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

    def __post_init__(self) -> None:
        for name, marks in self.marks.items():
            if not isinstance(marks, tuple) or not all(isinstance(mark, str) for mark in marks):
                raise ValueError(f"the marks of column {name!r} are not strings")

    def describe(self) -> list[dict[str, Any]]:
        """Return the rules in plain values, for exports: a column of the model, its origin, and how it is made."""
        return [
            {"column": str(name), "from": str(name), "as": "number", "missing": sorted({*MARKS, *marks})}
            for name, marks in self.marks.items()
        ]

    def apply(self, table: Frame) -> Frame:
        """Return the columns of a model from those of a table, which are in the order of the fit."""

        def read(j: int) -> Column:
            column, marks = table.read(j), self.marks.get(table.names[j])
            return column if marks is None else as_numbers(column, marks)

        return replace(table, source=read, block=None, rules=self)


def find_rules(table: Frame, reads_numbers: Callable[[int], bool], n_jobs: int | None = None) -> Rules | None:
    """Return the rules for a table of training rows; None if its columns are used as they are.

    `reads_numbers(j)` is False for columns that the user leaves out or gives a family of levels or text.

    >>> from sunrise.data.frame import frame_of
    >>> rules = find_rules(frame_of({"age": ["31", "?", "52.5", "40", "?"], "sex": list("fmfmm")}), lambda j: True)
    >>> rules.marks, rules.remarks
    ({'age': ('?',)}, {'age': "'?' in 2 cells is missing"})
    """
    marks: dict[Any, tuple[str, ...]] = {}
    remarks: dict[Any, str] = {}
    for j, name in enumerate(table.names):
        if not reads_numbers(j):
            continue
        column = table.read(j)
        if column.kind not in ("level", "mixed") or column.declared is not None or column.texts is not None:
            continue
        if not _may_be_numbers(column):
            continue
        found = _marks_among_numbers(column, n_jobs)
        if found:
            marks[name] = tuple(found)
            words, n_cells = ", ".join(map(repr, found)), sum(found.values())
            remarks[name] = f"{words} in {n_cells:,} cells {'is' if len(found) == 1 else 'are'} missing"
    return Rules(marks, remarks) if marks else None


def _may_be_numbers(column: Column) -> bool:
    """True if the first cells are numbers or marks: most columns of strings need no closer look."""
    rows = np.arange(min(_FIRST_CELLS, column.n_rows))
    if column.known is not None:
        codes = column.known.codes[rows]
        names = column.known.names[codes[codes >= 0]].tolist()
    else:
        try:
            names = [name_of(cell) for cell in column.cells.take(rows.tolist()) if cell is not None]
        except ValueError:  # not UTF-8: the reader of levels names the column
            return False
    return all(_is_plain_number(name) or name.strip() in MARKS for name in names)


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
