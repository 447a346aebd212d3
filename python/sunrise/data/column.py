"""Columns: one column of a table in the form that the native functions read."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Labels
from sunrise._common.stored import stored
from sunrise._common.threads import threads
from sunrise.data.levels import level_names


@stored("levels")
class Levels(NamedTuple):
    """Level names of a column, and for every row the position of its level; -1 is missing."""

    names: Labels
    codes: Codes

    @classmethod
    def of(cls, names: Labels, codes: Codes) -> Levels:
        """Return levels with distinct names; levels with the same name (1 and "1") become one."""
        if len(set(names.tolist())) == len(names):
            return cls(names, np.ascontiguousarray(codes, np.int32))
        distinct, position = np.unique(names, return_inverse=True)
        return cls(
            distinct, _native.map_codes(np.ascontiguousarray(codes, np.int32), position.astype(np.int32))
        )


@stored("column")
@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    `kind` is the type of the cells: "number", "bool", "level", "mixed", or "empty" if all are missing. The native
    functions read `cells` in place, a one-dimensional array or an Arrow column; Python strings and categories have
    encoded levels (`known`) instead. `declared` levels are possible even if no row has them.
    """

    name: Any
    kind: str
    n_rows: int
    cells: Any = None
    known: Levels | None = field(default=None, repr=False)
    declared: Labels | None = field(default=None, repr=False)
    #: The documents, if the column can only be read as text.
    texts: Any = field(default=None, repr=False)
    #: For kind "mixed": the error text if the user did not ask for a categorical column.
    problem: str = ""
    #: The series or array that was read, or its type: drawn cells have this type.
    source: Any = field(default=None, repr=False)
    _word_counts: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def levels(self) -> Levels:
        """The column as levels; numbers and booleans become levels, too."""
        return self._encode(1)

    def levels_by(self, n_jobs: int | None) -> Levels:
        """Return `levels`, encoded by several threads."""
        if "levels" not in self.__dict__:
            # A string costs as much as a few numbers.
            self.__dict__["levels"] = self._encode(threads(n_jobs, 4 * self.n_rows))
        return self.levels

    def release_levels(self) -> None:
        """Drop the encoded levels, to save memory; they are encoded again when they are used again."""
        self.__dict__.pop("levels", None)

    def _encode(self, n_threads: int) -> Levels:
        if self.known is not None:
            return self.known
        if self.kind == "empty":
            return Levels(level_names([]), np.full(self.n_rows, -1, np.int32))
        first, codes = _native.encode_column(self.cells, n_threads)
        return Levels.of(level_names(self._values(first)), codes)

    def count_words(self, counter: Any, vocabulary: Any, n_jobs: int | None) -> Any:
        """Count the words of the cells. Counts with the vocabulary of this column are cached."""
        counts = self._word_counts.get(counter)
        if counts is None or (vocabulary is not None and vocabulary is not counts.vocabulary):
            if vocabulary is not None:
                return self._count_words(counter, vocabulary, n_jobs)
            longer = (counter.shorten(counts, other) for other, counts in self._word_counts.items())
            counts = next((found for found in longer if found is not None), None)
            if counts is None:
                counts = self._count_words(counter, None, n_jobs)
            self._word_counts[counter] = counts
        return counts

    def keep_counts(self, counter: Any) -> None:
        """Drop cached counts of all counters but one, to save memory."""
        for other in list(self._word_counts):
            if other != counter:
                del self._word_counts[other]

    def _count_words(self, counter: Any, vocabulary: Any, n_jobs: int | None) -> Any:
        if self.texts is not None:
            return counter.count(self.texts, vocabulary, n_jobs)
        if self.known is None and self.kind == "level":
            return counter.count(self.cells, vocabulary, n_jobs)
        # Each distinct text is counted once; the None at the end stands for missing cells (code -1).
        names, codes = self.levels
        return counter.count([*names, None], vocabulary, n_jobs).select_rows(codes)

    def _values(self, rows: Any) -> list[Any]:
        """Return the cells of some rows as Python objects."""
        if isinstance(self.cells, np.ndarray):
            cells = self.cells[rows]
            return list(cells.astype(bool) if self.kind == "bool" else cells)
        values: list[Any] = self.cells.take(rows.tolist())
        return [np.float32(value) for value in values] if self.cells.dtype == "Float32" else values

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the cells of some rows as floats; NaN is missing."""
        if isinstance(self.cells, np.ndarray):
            return np.asarray(self.cells[rows], dtype=np.float64)
        positions = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        if self.kind == "empty":
            return np.full(len(positions), np.nan)
        return _native.take_numbers(self.cells, positions)

    def display_value(self, row: int) -> Any:
        """Return a cell for display: a number, a boolean or a level name; None if it is missing."""
        if self.texts is not None:
            return self.texts[row]
        if self.kind in ("level", "mixed", "empty"):
            code = self.levels.codes[row]
            return None if code < 0 else self.levels.names[code]
        value = float(self.numbers(np.array([row]))[0])
        if np.isnan(value):
            return None
        return bool(value) if self.kind == "bool" else value
