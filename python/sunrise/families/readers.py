"""Readers: how the cells of a family's columns are read, for fitting and for scoring.

A family names one of `NUMBERS`, `ROWS`, `VALUES`, `LEVELS`, `BINS` (here) or `TEXT` (text_reader.py). A reader owns
everything that depends on the kind of cell: blocks for the engines, what the first data decide (edges of bins), how
settings of single columns combine to those of a block, and how cells are shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Codes, Floats, Labels, Mask
from sunrise.data.blocks import Block, LevelsBlock
from sunrise.data.column import Column, Levels
from sunrise.data.errors import refuse_cell, refuse_unseen_level
from sunrise.data.findings import Findings, Found
from sunrise.data.frame import Frame
from sunrise.data.levels import MISSING, cell_of, level_names, name_of
from sunrise.families.cells import finite, number_block, numbers, outside, tolerant
from sunrise.families.record_cells import Encoder, bin_encoder, level_encoder, number_encoder
from sunrise.numerics.bin_edges import find_cuts
from sunrise.statistics.support import REAL

#: Positions of a column's levels by name.
LevelPositions = dict[str, int]


class Fitting(Protocol):
    """What a reader needs to know of a fit: the rows, and the estimator's name for error texts."""

    @property
    def codes(self) -> Codes:
        """Classes of the rows."""

    @property
    def weight(self) -> Floats | None:
        """Weights of the rows."""

    @property
    def n_jobs(self) -> int | None:
        """Threads."""

    @property
    def who(self) -> str:
        """Name of the estimator."""


class Scoring(NamedTuple):
    """What a reader needs to know of a fitted block to read rows for it."""

    columns: tuple[int, ...]
    #: Levels or words of the block as `Reader.lookup` returned them.
    lookup: Any
    #: Columns whose family was chosen automatically: cells outside the support count as missing.
    lenient: Mask
    n_jobs: int | None
    who: str
    #: Takes notes of cells that the model cannot use.
    findings: Findings
    #: True if encoded levels are dropped after they were read: the table is not read again.
    release: bool = False


class Unusable(NamedTuple):
    """How many cells of a column are missing, hold unseen levels, or are impossible under the family."""

    missing: int
    unseen: int
    impossible: int


class Reader(ABC):
    """How the cells of a family's columns are read."""

    #: True if every column is a block of its own.
    own_block: ClassVar[bool] = False
    #: True if cells are plain numbers, so that a whole matrix is read in place.
    is_plain: ClassVar[bool] = False
    #: True if statistics are of whole rows, so that the columns of a block are read together.
    whole_rows: ClassVar[bool] = False
    #: True if cells are numbers: what they are and how they correlate can be looked at.
    is_numeric: ClassVar[bool] = True
    #: True if the first data decide settings of each column (edges of bins).
    learns: ClassVar[bool] = False
    #: True if columns of a block may have settings of their own (edges of bins, grids of kept values).
    by_column: ClassVar[bool] = False
    #: True if cells are made from those of other columns of the model (`sources`).
    derived: ClassVar[bool] = False

    # What the first data decide.

    def learn(self, family: Any, column: Column, fitting: Fitting) -> tuple[Any, bool]:
        """Return the family of one column with the settings that its first data decide, and if they held too little."""
        return family, False

    def is_decided(self, family: Any) -> bool:
        """True if the first data have nothing to decide."""
        return True

    def unlearned(self, family: Any) -> Any:
        """Return the family without learned settings: columns that agree on the rest form a block."""
        return family

    def with_learned_of(self, family: Any, other: Any) -> Any:
        """Return the family with the settings that another one of the same kind has learned."""
        return family

    def merge_columns(self, families: list[Any]) -> Any:
        """Combine the families of several columns into the family of one block."""
        return families[-1]

    def column_family(self, family: Any, at: int) -> Any:
        """Return the family of one column of a block: the opposite of `merge_columns`."""
        return family

    # Reading.

    def sources(self, family: Any, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the positions of the columns whose cells a block reads."""
        return columns

    @abstractmethod
    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """Read the columns of a block for fitting."""

    @abstractmethod
    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """Read the columns of a block for scoring."""

    def record_encoder(self, family: Any, lookup: Any, lenient: Mask) -> Encoder | None:
        """Return the encoder of the values of one record; None if a record has to be read as a table."""
        return None

    def lookup(self, stats: Any) -> Any:
        """Return what reading rows needs of fitted statistics: positions of levels, the vocabulary; else None."""
        return None

    def declare(self, stats: Any, declared: list[Labels]) -> Any:
        """Return the statistics with levels that the data declare whether they occur or not."""
        return stats

    def update_problem(self, family: Any) -> str | None:
        """Why statistics of this family cannot be updated or merged; None if they can."""
        return None

    def measured(self, block: Any, rows: Any) -> Floats:
        """Return the cells of some rows as the base measure of the family takes them: rows x columns."""
        return np.asarray(block.numbers(rows))

    # For people.

    def unused(self, family: Any) -> str | None:
        """Why a fitted block of this family says nothing about the class; None if it does, or if that is plain."""
        return None

    def count_unusable(self, column: Column, family: Any, form: Any, lookup: Any, at: int) -> Unusable:
        """Return how many cells of a column are missing, hold unseen levels, or are impossible under the family."""
        x = numbers(column, family).numbers()
        impossible = outside(x, family.support)
        return Unusable(
            int(np.isnan(x).sum()), int((form.unseen(at, x) & ~impossible).sum()), int(impossible.sum())
        )

    def to_cells(self, x: Floats, lookup: Any, at: int, kind: str, whole: bool) -> list[Any]:
        """Turn drawn numbers into cells of the column's own type."""
        if kind == "bool":
            return [bool(value >= 0.5) for value in x]
        return [int(value) for value in x] if whole else x.tolist()


class NumberReader(Reader):
    """Cells are numbers, added up as they are."""

    is_plain = True

    def __init__(self, whole_rows: bool = False) -> None:
        self.__dict__["whole_rows"] = whole_rows

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """The columns of the block."""
        return number_block(table, columns, family)

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """The columns of the block; cells that an automatically chosen family cannot have are missing."""
        block = number_block(table, scoring.columns, family)
        names = [table.names[j] for j in scoring.columns]
        return tolerant(block, family, scoring.lenient, names, scoring.findings)

    def record_encoder(self, family: Any, lookup: Any, lenient: Mask) -> Encoder:
        """The values as floats."""
        return number_encoder(family.support, lenient)


class ValueReader(NumberReader):
    """Cells are numbers, kept as they are until `compress` gives each column a grid (`family.compressed`)."""

    by_column = True

    def unlearned(self, family: Any) -> Any:
        """The family without grids."""
        return family.with_settings(compressed=()) if family.compressed else family

    def with_learned_of(self, family: Any, other: Any) -> Any:
        """The grids of another family, if everything else that shapes the statistics agrees."""
        if family.compressed or family.name != other.name or not other.compressed:
            return family
        same = family.statistics_key == self.unlearned(other).statistics_key
        return family.on_grids(other.compressed) if same else family

    def merge_columns(self, families: list[Any]) -> Any:
        """The family with the grids of all columns."""
        grids = tuple(family.compressed[0] if family.compressed else None for family in families)
        return families[-1].with_settings(compressed=grids if any(grids) else ())

    def column_family(self, family: Any, at: int) -> Any:
        """The family with the grid of one column."""
        return family.with_settings(compressed=family.compressed[at : at + 1])


class LevelReader(Reader):
    """Cells are levels, known by name."""

    is_numeric = False

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """Codes of the levels, with their names."""
        missing_is_level = family.missing == "level"
        cells = table.read_all(columns)
        own = [levels(column, missing_is_level, fitting.n_jobs, fitting.who) for column in cells]
        return LevelsBlock(tuple(codes for _, codes in own), tuple(names for names, _ in own))

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """The levels as positions among those of the fit; an unseen level comes after all of them."""
        codes = []
        columns = table.read_all(scoring.columns)
        for column, positions in zip(columns, scoring.lookup, strict=True):
            own, unseen = self._positions(column, family, positions, scoring.n_jobs, scoring.who)
            if unseen is not None and positions:
                if family.unseen == "error":
                    refuse_unseen_level(column.name, unseen.example, unseen.row)
                scoring.findings.unseen.append(unseen)
            codes.append(own)
            if scoring.release:
                column.release_levels()
        return LevelsBlock(tuple(codes))

    def record_encoder(self, family: Any, lookup: Any, lenient: Mask) -> Encoder:
        """The positions of the levels."""
        return level_encoder(lookup, family.missing == "level")

    def lookup(self, stats: Any) -> list[LevelPositions]:
        """Positions of the levels by name, for each column."""
        return [{name: k for k, name in enumerate(stats.levels(j))} for j in range(stats.n_columns)]

    def declare(self, stats: Any, declared: list[Labels]) -> Any:
        """The statistics with the declared levels."""
        return stats.with_levels(declared)

    def _positions(
        self, column: Column, family: Any, positions: LevelPositions, n_jobs: int | None, who: str
    ) -> tuple[Codes, Found | None]:
        names, codes = levels(column, family.missing == "level", n_jobs, who)
        beyond = len(positions)
        to = np.array([positions.get(name, beyond) for name in names], np.int32)
        codes = _native.map_codes(codes, to)
        if to.max(initial=-1) < beyond:
            return codes, None
        unseen = codes == beyond
        if not unseen.any():
            return codes, None
        row = int(np.argmax(unseen))
        shown = column.display_value(row)
        example = MISSING if shown is None else name_of(shown)
        return codes, Found(column.name, int(unseen.sum()), int((codes >= 0).sum()), example, row)

    def count_unusable(self, column: Column, family: Any, form: Any, lookup: Any, at: int) -> Unusable:
        """Missing cells, and cells with levels that did not occur in fit."""
        _, unseen = self._positions(column, family, lookup[at], None, "check")
        missing = int((column.levels.codes < 0).sum())
        cells = 0 if unseen is None else unseen.cells
        if family.missing == "level" and MISSING not in lookup[at]:
            cells -= missing  # they are counted as missing
        return Unusable(missing, cells, 0)

    def to_cells(self, x: Floats, lookup: Any, at: int, kind: str, whole: bool) -> list[Any]:
        """Levels by name, as the type of cell that they were."""
        names = list(lookup[at])
        return [cell_of(names[int(position)], kind) for position in x]


class BinReader(Reader):
    """Cells are numbers, counted by the bin they fall into. The first data decide the edges of the bins."""

    learns = True
    by_column = True

    def learn(self, family: Any, column: Column, fitting: Fitting) -> tuple[Any, bool]:
        """The family with the edges of this column, and if there were too few cells to find edges by."""
        if not family.cuts:
            x = finite(column, family, fitting.who, fitting.weight)
            cuts = find_cuts(family.edges, x, fitting.codes, fitting.weight, family.bins)
            family = family.with_settings(cuts=(cuts,))
        return family, bool(family.has_few_cells)

    def is_decided(self, family: Any) -> bool:
        """True if the edges are given or known."""
        return bool(family.cuts) or not isinstance(family.edges, str)

    def unlearned(self, family: Any) -> Any:
        """The family without edges."""
        return family.with_settings(cuts=())

    def with_learned_of(self, family: Any, other: Any) -> Any:
        """The edges of another family, if it found them in the same way or has the edges that are given here."""
        if family.cuts or family.name != other.name or not other.cuts:
            return family
        same = family.statistics_key == self.unlearned(other).statistics_key
        same = same or family.edges == other.cuts[0].edges
        return family.with_settings(cuts=other.cuts) if same else family

    def merge_columns(self, families: list[Any]) -> Any:
        """The family with the edges of all columns."""
        return families[-1].with_settings(cuts=tuple(cuts for family in families for cuts in family.cuts))

    def column_family(self, family: Any, at: int) -> Any:
        """The family with the edges of one column."""
        return family.with_settings(cuts=family.cuts[at : at + 1])

    def fit_block(self, table: Frame, columns: tuple[int, ...], family: Any, fitting: Fitting) -> Block:
        """The bins of the cells of every column."""
        own = zip(table.read_all(columns), family.cuts, strict=True)
        cells = ((finite(column, family, fitting.who, fitting.weight), cuts) for column, cuts in own)
        return LevelsBlock(tuple(cuts.bins(x) for x, cuts in cells))

    def score_block(self, table: Frame, family: Any, scoring: Scoring) -> Block:
        """The bins of the cells of every column."""
        x = tuple(finite(column, family, scoring.who) for column in table.read_all(scoring.columns))
        return LevelsBlock(tuple(cuts.bins(own) for own, cuts in zip(x, family.cuts, strict=True)), raw=x)

    def record_encoder(self, family: Any, lookup: Any, lenient: Mask) -> Encoder:
        """The bins of the values."""
        return bin_encoder([cuts.edges for cuts in family.cuts])

    def measured(self, block: Any, rows: Any) -> Floats:
        """The numbers themselves, not their bins."""
        return np.stack([x[rows] for x in block.raw], axis=1)

    def count_unusable(self, column: Column, family: Any, form: Any, lookup: Any, at: int) -> Unusable:
        """Missing cells; every number has a bin."""
        return Unusable(int(np.isnan(numbers(column, family).numbers()).sum()), 0, 0)


#: Numbers, column by column.
NUMBERS = NumberReader()
#: Numbers whose statistics are of whole rows.
ROWS = NumberReader(whole_rows=True)
#: Numbers that are kept, or counted on grids.
VALUES = ValueReader()
LEVELS = LevelReader()
BINS = BinReader()


def plain_levels(column: Column, n_jobs: int | None, who: str) -> Levels:
    """The levels of a column; missing cells have the code -1."""
    try:
        return column.levels_by(n_jobs)
    except _native.CellError as error:
        refuse_cell(who, [column.name], error.args, REAL)
    except ValueError as error:  # bytes that are not text
        raise ValueError(f"column {column.name!r}: {error}. Decode it before, or drop it.") from None


def levels(column: Column, missing_is_level: bool, n_jobs: int | None, who: str) -> Levels:
    """The levels of a column; missing cells have a level of their own if that is asked for."""
    names, codes = plain_levels(column, n_jobs, who)
    if not missing_is_level:
        return Levels(names, codes)
    more = np.append(names, level_names([MISSING]))
    return Levels.of(more, np.where(codes < 0, len(names), codes).astype(np.int32))
