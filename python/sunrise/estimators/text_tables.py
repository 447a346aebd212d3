"""Tables of text for a terminal and of HTML for a notebook, and values that print as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from shutil import get_terminal_size
from typing import Any

import numpy as np

from sunrise._common.arrays import Floats
from sunrise.data.levels import escape_newlines

#: Number of rows that a printed table shows; the rest is only counted.
MOST_ROWS = 30
#: Width of a printed table where the width of the terminal is unknown.
WIDTH = 120

STYLE = (
    "<style>.sunrise{font:13px sans-serif}.sunrise p{margin:.3em 0;opacity:.75}.sunrise table{border-collapse:collapse;"
    "margin:.4em 0}.sunrise th,.sunrise td{text-align:left;vertical-align:top;padding:.15em .7em;"
    "border-bottom:1px solid #8884}.sunrise .n{text-align:right;font-variant-numeric:tabular-nums}"
    ".sunrise summary{cursor:pointer}</style>"
)


def cut(text: str, width: int) -> str:
    """Return the text, or its beginning and an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def aligned(rows: Iterable[Sequence[str]], sides: str, widest: int = 70) -> list[str]:
    """Return the lines of a table with aligned columns; `sides` has < or > for each column."""
    short = [[cut(escape_newlines(cell), widest) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*short, strict=True)]
    cells = [[f"{cell:{side}{w}}" for cell, side, w in zip(row, sides, widths, strict=True)] for row in short]
    return ["  " + "  ".join(row).rstrip() for row in cells]


def number_not_shown(number: int, noun: str) -> list[str]:
    """Return a line that counts what a table leaves out."""
    return [f"  ... and {number:,} more {noun}"] if number > 0 else []


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], sides: str, note: str = "") -> str:
    """Return a table as HTML; cells with side > are numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        kinds = (" class=n" if side == ">" else "" for side in sides)
        return "".join(f"<{tag}{k}>{escape(c)}</{tag}>" for c, k in zip(cells, kinds, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    after = f"<p>{escape(note)}</p>" if note else ""
    return f"<div class=sunrise>{STYLE}<table><tr>{line(header, 'th')}</tr>{body}</table>{after}</div>"


class ColumnBits(np.ndarray[Any, Any]):
    """Bits of every column: an array in the order of the columns that also knows their names.

    `bits["age"]` is the value of a column, `bits.by_name()` a dict with the largest value first. It prints as a table.
    Slices and results of arithmetic are plain arrays.

    >>> bits = ColumnBits.of(np.array([0.02, 0.31]), ["age", "thallium"])
    >>> bits["age"], bits.by_name()
    (0.02, {'thallium': 0.31, 'age': 0.02})
    >>> bits
      column    bits
      thallium  0.310
      age       0.020
    """

    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, bits: Floats, names: Sequence[str]) -> ColumnBits:
        """Return an array of bits with the names of its columns."""
        new = bits.view(cls)
        new.names = tuple(names)
        return new

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and self.names is not None:
            if key not in self.names:
                raise KeyError(f"{key!r} is not a column of the model")
            return float(np.asarray(self)[self.names.index(key)])
        return np.asarray(self)[key]

    def by_name(self) -> dict[str, float]:
        """Return the bits as a dict by column, the largest first."""
        names = [f"x{j}" for j in range(len(self))] if self.names is None else self.names
        values = np.asarray(self)
        return {names[j]: float(values[j]) for j in np.argsort(-values, kind="stable").tolist()}

    def _rows(self) -> list[tuple[str, str]]:
        return [(name, f"{bits:.3f}") for name, bits in list(self.by_name().items())[:MOST_ROWS]]

    def __repr__(self) -> str:
        if self.names is None or self.ndim != 1:
            return repr(np.asarray(self))
        lines = aligned([("column", "bits"), *self._rows()], "<<")
        return "\n".join([*lines, *number_not_shown(len(self) - MOST_ROWS, "columns")])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        more = ", ".join(line.strip() for line in number_not_shown(len(self) - MOST_ROWS, "columns"))
        return html_table(("column", "bits"), self._rows(), "<>", more)

    def __reduce__(self) -> Any:
        return ColumnBits.of, (np.asarray(self), self.names or ())

    def __deepcopy__(self, memo: Any) -> ColumnBits:
        return ColumnBits.of(np.array(self), self.names or ())


#: The columns of `families_` that are printed; the scores of the candidates are too long for a line.
_SHOWN = ("column", "family", "reason", "parameters")


def _families_text(rows: Sequence[tuple[str, ...]]) -> str:
    """Return families as a table that fits the width of the terminal: long reasons and parameters are cut."""
    shown = [tuple(map(escape_newlines, row)) for row in rows[:MOST_ROWS]]
    names = (
        max(map(len, [*(row[0] for row in shown), "column"])),
        max(len(row[1]) for row in [*shown, _SHOWN]),
    )
    width = get_terminal_size((WIDTH, 24)).columns
    room = max(24, width - sum(min(n, 30) for n in names) - 8)
    reason = min(max(len(row[2]) for row in [*shown, _SHOWN]), max(12, room * 3 // 5))
    lines = [
        (cut(a, 30), cut(b, 30), cut(c, reason), cut(d, max(12, room - reason)))
        for a, b, c, d in [_SHOWN, *shown]
    ]
    return "\n".join([*aligned(lines, "<<<<", width), *number_not_shown(len(rows) - MOST_ROWS, "columns")])


def _families_html(rows: Sequence[tuple[str, ...]]) -> str:
    more = ", ".join(line.strip() for line in number_not_shown(len(rows) - MOST_ROWS, "columns"))
    return html_table(_SHOWN, rows[:MOST_ROWS], "<<<<", more)


class FamiliesByColumn(dict[str, dict[str, Any]]):
    """The families of a model as a dict by column; it prints as a table."""

    def __init__(self, columns: dict[str, dict[str, Any]], rows: Sequence[tuple[str, ...]]) -> None:
        super().__init__(columns)
        self._rows = rows

    def __repr__(self) -> str:
        return _families_text(self._rows) if self else "{}"

    def _repr_html_(self) -> str:
        return _families_html(self._rows)

    def __reduce__(self) -> Any:
        return FamiliesByColumn, (dict(self), self._rows)


def printed_families(frame: Any, library: str) -> Any:
    """Return a frame of families that prints as a table instead of hiding its middle; pyarrow tables stay plain."""
    if library not in ("pandas", "polars"):
        return frame
    frame_class: Any = type(frame)
    return _printed_class(frame_class)(frame)


@cache
def _printed_class(frame_class: Any) -> Any:
    """Return a subclass of a data frame that prints all columns of `families_`; derived frames are plain ones."""

    class Families(frame_class):  # type: ignore[misc]
        @property
        def _constructor(self) -> Any:
            return frame_class

        @classmethod
        def _from_pydf(cls, frame: Any) -> Any:
            return frame_class._from_pydf(frame)

        def _rows(self) -> list[tuple[str, ...]]:
            rows = zip(*(list(self[name]) for name in _SHOWN), strict=True)
            return [(name, family if isinstance(family, str) else "-", *own) for name, family, *own in rows]

        def __repr__(self) -> str:
            return _families_text(self._rows())

        __str__ = __repr__

        def _repr_html_(self, *arguments: Any, **named: Any) -> str:
            return _families_html(self._rows())

        def __reduce__(self) -> Any:
            return frame_class, ({name: list(self[name]) for name in self.columns},)

    # The library of a frame is found by the module of its class.
    Families.__name__ = Families.__qualname__ = frame_class.__name__
    Families.__module__ = frame_class.__module__
    return Families
