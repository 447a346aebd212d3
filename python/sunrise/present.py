"""From a table to what a fitted model scores: columns by name, levels by the model's own."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from sunrise import _native
from sunrise.alert import alert
from sunrise.arrays import Codes
from sunrise.data import read
from sunrise.data.align import align
from sunrise.data.batch import Batch, Block, LevelsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame, frame_of
from sunrise.family import Family
from sunrise.forms import Form
from sunrise.levels import MISSING, name_of
from sunrise.schema import Part, Schema

#: Positions of a column's levels by name.
Places = dict[str, int]


class UnseenLevelsWarning(UserWarning):
    """Most cells of a column are levels that were never seen in fit.

    Silence it with `warnings.filterwarnings("ignore", category=sunrise.UnseenLevelsWarning)`.
    """


class Unseen(NamedTuple):
    """How many cells of a column hold unseen levels, how many are there at all, and one such."""

    cells: int
    present: int
    example: str
    row: int


def placed(column: Column, family: Family, places: Places, n_jobs: int | None) -> tuple[Codes, Unseen | None]:
    """The column's levels as the model's positions; an unseen level comes after them all."""
    names, codes = read.levels(column, family, n_jobs)
    beyond = len(places)
    to = np.array([places.get(name, beyond) for name in names], np.int32)
    codes = _native.map_codes(codes, to)
    if to.max(initial=-1) < beyond:
        return codes, None
    unseen = codes == beyond
    if not unseen.any():
        return codes, None
    row = int(np.argmax(unseen))
    shown = column.shown(row)
    example = MISSING if shown is None else name_of(shown)
    return codes, Unseen(int(unseen.sum()), int((codes >= 0).sum()), example, row)


class Model(Protocol):
    """What reading rows for a fitted model asks of it."""

    schema: Schema
    parts: tuple[Part, ...]

    @property
    def forms(self) -> tuple[Form, ...]:
        """How the blocks score their cells."""

    @property
    def n_jobs(self) -> int | None:
        """Threads, as the user said."""

    def places(self, k: int) -> list[Places]:
        """The positions of the levels of block k, for each of its columns."""

    def vocabulary(self, k: int) -> Any:
        """The words of block k, by their places."""


def present(table: Frame | Block, model: Model) -> tuple[Batch, Frame | None]:
    """One block of cells for every block of the model, and the table with the model's columns in order."""
    if not isinstance(table, Frame):
        if model.schema.is_matrix:
            return Batch(table.shape[0], (table,)), None
        table = frame_of(table.numbers())
    table = align(table, model.schema)
    blocks: list[Block] = []
    for k, part in enumerate(model.parts):
        if part.family.reads_text:
            family: Any = part.family
            words = family.count(table.read(part.columns[0]), model.vocabulary(k), model.n_jobs)
            blocks.append(family.scaled(words, model.n_jobs))
            continue
        if part.family.reads_bins:
            columns = enumerate(map(table.read, part.columns))
            blocks.append(
                LevelsBlock(tuple(read.bins(c, part.family, at, "NaiveBayes") for at, c in columns))
            )
            continue
        if not part.family.reads_levels:
            block = read.matrix_block(table, part)
            chosen = np.array([bool(model.schema.choices[j].scores) for j in part.columns])
            blocks.append(read.within(block, part.family.support, chosen) if chosen.any() else block)
            continue
        codes = []
        for j, known in zip(part.columns, model.places(k), strict=True):
            column = table.read(j)
            found, unseen = placed(column, part.family, known, model.n_jobs)
            if unseen is not None and known:
                _mind(column.name, part.family, unseen)
            codes.append(found)
        blocks.append(LevelsBlock(tuple(codes)))
    return Batch(table.n_rows, tuple(blocks)), table


def _mind(name: Any, family: Family, unseen: Unseen) -> None:
    """Refuse unseen levels where that is asked for; warn where most are unseen."""
    if family.refuses_unseen:
        raise ValueError(
            f"column {name!r}: level {unseen.example!r} in row {unseen.row} was never seen in fit. "
            'Fit it, or set unseen="ignore" or unseen="reserve".'
        )
    if unseen.present > 1 and unseen.cells > unseen.present / 2:
        alert(
            f"column {name!r}: {unseen.cells} of {unseen.present} cells hold levels that were never seen in fit, such "
            f"as {unseen.example!r}. Is it the same column, with the same spelling?",
            UnseenLevelsWarning,
        )


def counted(table: Frame, model: Model) -> dict[int, tuple[int, int]]:
    """Missing and unseen cells of every column that the model uses."""
    found, table = {}, align(table, model.schema)
    for k, part in enumerate(model.parts):
        for i, j in enumerate(part.columns):
            column = table.read(j)
            if part.family.reads_text:
                found[j] = sum(column.shown(row) is None for row in range(column.n_rows)), 0
            elif part.family.reads_levels:
                _, unseen = placed(column, part.family, model.places(k)[i], model.n_jobs)
                missing = int((column.levels.codes < 0).sum())
                strange = 0 if unseen is None else unseen.cells
                if part.family.missing_is_level and MISSING not in model.places(k)[i]:
                    strange -= missing  # counted as what they are
                found[j] = missing, strange
            else:
                x = read.numbers(column, part.family).numbers()
                strange = 0 if part.family.reads_bins else int(model.forms[k].unseen(i, x).sum())
                found[j] = int(np.isnan(x).sum()), strange
    return dict(sorted(found.items()))
