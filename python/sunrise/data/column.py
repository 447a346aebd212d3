"""Columns: one column of a table, as the kernels read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Labels
from sunrise._common.threads import threads
from sunrise.data.levels import named


class Levels(NamedTuple):
    """The names of the levels of a column, and the position of every row's among them; -1 is missing."""

    names: Labels
    codes: Codes

    @classmethod
    def of(cls, names: Labels, codes: Codes) -> Levels:
        """Levels of which several may have one name (1 and "1")."""
        if len(set(names.tolist())) == len(names):
            return cls(names, np.ascontiguousarray(codes, np.int32))
        distinct, place = np.unique(names, return_inverse=True)
        return cls(distinct, _native.map_codes(np.ascontiguousarray(codes, np.int32), place.astype(np.int32)))


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    `kind` says what it holds: "number", "bool", "level", "mixed", or "empty" where no cell is there. `cells` is what
    the native kernels read in place, a one-dimensional array or an Arrow column; strings among Python objects and
    categories come with their `known` levels instead. `declared` are levels that are possible whether seen or not.
    """

    name: Any
    kind: str
    n_rows: int
    cells: Any = None
    known: Levels | None = field(default=None, repr=False)
    declared: Labels | None = field(default=None, repr=False)
    #: Documents as they came, where they are to be read as nothing else.
    texts: Any = field(default=None, repr=False)
    #: Of a column of kind "mixed": why it cannot be used unless levels are asked for.
    problem: str = ""
    _counted: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def levels(self) -> Levels:
        """The column as levels, whatever it holds."""
        return self._encoded(1)

    def levels_by(self, n_jobs: int | None) -> Levels:
        """The same, worked out by several threads."""
        if "levels" not in self.__dict__:
            # A string costs as much as a few numbers.
            self.__dict__["levels"] = self._encoded(threads(n_jobs, 4 * self.n_rows))
        return self.levels

    def _encoded(self, n_threads: int) -> Levels:
        if self.known is not None:
            return self.known
        if self.kind == "empty":
            return Levels(named([]), np.full(self.n_rows, -1, np.int32))
        first, codes = _native.encode_column(self.cells, n_threads)
        return Levels.of(named(self._values(first)), codes)

    def count_words(self, counter: Any, vocabulary: Any, n_jobs: int | None) -> Any:
        """Count the words of the cells; counts by the column's own words are kept, so that they are made once."""
        own = self._counted.get(counter)
        if own is None or (vocabulary is not None and vocabulary is not own.vocabulary):
            own = self._count_words(counter, vocabulary, n_jobs)
            if vocabulary is None:
                self._counted[counter] = own
        return own

    def _count_words(self, counter: Any, vocabulary: Any, n_jobs: int | None) -> Any:
        if self.texts is not None:
            return counter.count(self.texts, vocabulary, n_jobs)
        if self.known is None and self.kind == "level":
            return counter.count(self.cells, vocabulary, n_jobs)
        # Every distinct text is counted once; an additional missing one stands for missing cells.
        names, codes = self.levels
        return counter.count([*names, None], vocabulary, n_jobs).select_rows(codes)

    def _values(self, rows: Any) -> list[Any]:
        """The cells of some rows as Python has them."""
        if isinstance(self.cells, np.ndarray):
            cells = self.cells[rows]
            return list(cells.astype(bool) if self.kind == "bool" else cells)
        values: list[Any] = self.cells.take(rows.tolist())
        return [np.float32(value) for value in values] if self.cells.dtype == "Float32" else values

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The cells of some rows as floats; NaN is missing."""
        if isinstance(self.cells, np.ndarray):
            return np.asarray(self.cells[rows], dtype=np.float64)
        places = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        return (
            np.full(len(places), np.nan) if self.kind == "empty" else _native.take_numbers(self.cells, places)
        )

    def shown(self, row: int) -> Any:
        """A cell for people: a number, the name of a level, or None where it is missing."""
        if self.texts is not None:
            return self.texts[row]
        if self.kind in ("level", "mixed", "empty"):
            code = self.levels.codes[row]
            return None if code < 0 else self.levels.names[code]
        value = float(self.numbers(np.array([row]))[0])
        if np.isnan(value):
            return None
        return bool(value) if self.kind == "bool" else value
