"""From a table to sufficient statistics: the one way in which every model learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise.data.blocks import Block, LevelsBlock, Rows
from sunrise.data.errors import refuse_cell
from sunrise.data.frame import Frame
from sunrise.families.base import Family
from sunrise.families.readers import number_block, tolerant
from sunrise.model.schema import Choice, Part, Schema
from sunrise.statistics.model import Stats
from sunrise.statistics.support import Support
from sunrise.statistics.terms import Term


class RowSample(Protocol):
    """Some rows of a table, kept while the table is read (to look for duplicate columns)."""

    rows: Positions

    def note_numbers(self, j: int, x: Floats, as_levels: bool) -> None:
        """Keep the sampled cells of a numeric column."""

    def note_levels(self, j: int, codes: Codes) -> None:
        """Keep the sampled cells of a column of levels."""


@dataclass(frozen=True)
class Accumulator:
    """Adds up the cells of rows with these classes and weights."""

    classes: Labels
    codes: Codes
    weight: Floats | None
    n_jobs: int | None
    #: Name of the estimator, for error texts.
    who: str
    #: A sample of rows that is kept while columns are read.
    sample: RowSample | None = None
    #: The labels, if some rows have none: classes are then numbers, and the last one is that of these rows.
    labels: Labels | None = None

    @property
    def labelled(self) -> Accumulator:
        """The accumulator of the rows that have a label: the others get weight 0."""
        labels = self.classes[:0] if self.labels is None else self.labels
        has_label = self.codes < len(labels)
        weight = has_label.astype(float) if self.weight is None else has_label * self.weight
        codes = np.where(has_label, self.codes, 0).astype(np.int32)
        return replace(self, classes=labels, codes=codes, weight=weight, labels=None, sample=None)

    def accumulate(self, block: Block, terms: tuple[Term, ...], support: Support, names: Any = None) -> Any:
        """The statistics of the cells of a block."""
        n_threads = engines.threads(self.n_jobs, block.shape[0] * block.shape[1])
        rows = Rows(self.codes, self.weight, len(self.classes), n_threads)
        try:
            return block.statistics(engines.current(), terms, support, rows)
        except _native.CellError as error:
            refuse_cell(self.who, names, error.args, support)

    def matrix(self, block: Block, family: Family, names: Any) -> Stats:
        """The statistics of a model with one block of numbers."""
        family.check(block.shape[1])
        return self._stats([self.accumulate(block, family.terms, family.fit_support, names)])

    def table(self, table: Frame, schema: Schema, ready: dict[int, Any] | None = None) -> Stats:
        """The statistics of a table under a schema.

        `ready` holds the statistics of columns whose family was just chosen and which were computed for that. Where it
        is None, the schema is older than the table: cells that an automatically chosen family cannot have are missing.
        """
        return self._stats([self._part(table, part, schema, ready) for part in schema.parts])

    def learn(self, table: Frame, choices: Sequence[Choice]) -> list[Choice]:
        """Return the choices with what the first data decide of them: edges of bins, types, declared levels."""
        return [self._learn(table, j, choice) for j, choice in enumerate(choices)]

    def _learn(self, table: Frame, j: int, choice: Choice) -> Choice:
        if (family := choice.family) is None:
            return choice
        column, reader = table.read(j), family.reader
        if reader.learns:
            family = reader.learn(family, column, self)
        return replace(
            choice,
            family=family,
            kind=column.kind,
            declared=column.declared,
            is_uninformed=choice.is_uninformed or reader.is_uninformed(family),
        )

    def _part(self, table: Frame, part: Part, schema: Schema, ready: dict[int, Any] | None) -> Any:
        """The statistics of a block: of its columns one by one, or of a matrix or whole rows at once."""
        family, columns, reader = part.family, part.columns, part.family.reader
        family.check(len(columns))
        lenient = np.zeros(len(columns), bool) if ready is not None else schema.lenient(part)
        ready = ready or {}
        if reader.whole_rows or (
            reader.is_plain and table.block is not None and not ready.keys() & set(columns)
        ):
            block = tolerant(number_block(table, columns, family), family.support, lenient)
            self._note_numbers(table, columns, schema)
            names = (
                [table.names[j] for j in columns] if table.is_named or len(columns) < 1000 else table.names
            )
            return self.accumulate(block, family.terms, family.fit_support, names)
        statistics = [
            ready[j] if j in ready else self._column(table, j, reader.column_family(family, at), lenient[at])
            for at, j in enumerate(columns)
        ]
        if reader.is_numeric:
            self._note_numbers(table, columns, schema)
        return statistics[0] if len(columns) == 1 else type(statistics[0]).concatenate(statistics)

    def _column(self, table: Frame, j: int, family: Family, lenient: bool) -> Any:
        """The statistics of one column."""
        column = table.read(j)
        block = family.reader.fit_block(column, family, self)
        if family.reader.is_plain:
            block = tolerant(block, family.support, np.array([lenient]))
        elif not family.reader.is_numeric and isinstance(block, LevelsBlock):
            self.note_levels(j, block.codes[0])
        found = self.accumulate(block, family.terms, family.fit_support, [column.name])
        return found.without_empty() if family.reader.own_block else found

    def note_levels(self, j: int, codes: Codes) -> None:
        """Keep the sampled cells of a column of levels."""
        if self.sample is not None:
            self.sample.note_levels(j, codes)

    def _note_numbers(self, table: Frame, columns: tuple[int, ...], schema: Schema) -> None:
        if self.sample is None:
            return
        for j in columns:
            # By type a column of few distinct numbers would be levels: look at it as levels, too.
            as_levels = schema.choices[j].is_lenient
            self.sample.note_numbers(j, table.read(j).numbers(self.sample.rows), as_levels)

    def _stats(self, blocks: list[Any]) -> Stats:
        rows, weight = engines.current().totals(self.codes, self.weight, len(self.classes))
        present = np.flatnonzero(rows)
        if len(present) < len(self.classes):  # classes whose rows all have weight 0 are absent
            blocks = [block.select_classes(present) for block in blocks]
            return Stats(self.classes[present], rows[present], weight[present], tuple(blocks))
        return Stats(self.classes, rows, weight, tuple(blocks))
