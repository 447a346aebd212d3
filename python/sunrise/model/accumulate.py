"""From a table to sufficient statistics: the one way in which every model learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from sunrise import _native, engines
from sunrise._common.arrays import Codes, Floats, Labels, Positions
from sunrise.data.blocks import Block, LevelsBlock, Rows
from sunrise.data.column import Column
from sunrise.data.errors import refuse_cell
from sunrise.data.findings import Findings
from sunrise.data.frame import Frame
from sunrise.families.base import Family
from sunrise.families.cells import tolerant
from sunrise.families.readers import plain_levels
from sunrise.model.choice import Choice, Part
from sunrise.model.interaction import joint_family
from sunrise.model.schema import Schema
from sunrise.statistics.counts import Counts
from sunrise.statistics.model import Stats
from sunrise.statistics.support import LEVELS, Support
from sunrise.statistics.terms import LEVEL, Term

#: Most codes (rows x pairs) of pairs of columns that are counted at a time.
MOST_CODES = 1 << 25


class RowSample(Protocol):
    """Some rows of a table, kept while the table is read (to look for duplicate columns)."""

    @property
    def rows(self) -> Positions:
        """Positions of the rows."""

    def note_numbers(self, columns: dict[int, Column], as_levels: set[int]) -> None:
        """Keep the sampled cells of numeric columns, of some of them also as levels."""

    def note_levels(self, j: int, codes: Codes) -> None:
        """Keep the sampled cells of a column of levels."""


@dataclass(frozen=True)
class RowAccumulator:
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
    engine: Any = field(default_factory=engines.current, repr=False)
    #: True if level codes are dropped once they are counted: the table is large and is not needed again.
    releases_levels: bool = False
    #: Decay of the rows since they were learned, which is part of their weights; None without decay.
    decay: Floats | None = None

    @property
    def labelled(self) -> RowAccumulator:
        """The accumulator of the rows that have a label: the others get weight 0."""
        labels = self.classes[:0] if self.labels is None else self.labels
        has_label = self.codes < len(labels)
        weight = has_label.astype(float) if self.weight is None else has_label * self.weight
        codes = np.where(has_label, self.codes, 0).astype(np.int32)
        return replace(self, classes=labels, codes=codes, weight=weight, labels=None, sample=None)

    def accumulate(self, block: Block, terms: tuple[Term, ...], support: Support, names: Any = None) -> Any:
        """The statistics of the cells of a block."""
        rows = Rows(self.codes, self.weight, len(self.classes), self.n_jobs, self.decay)
        try:
            return block.statistics(self.engine, terms, support, rows)
        except _native.CellError as error:
            refuse_cell(self.who, names, error.args, support)

    def table(self, table: Frame, schema: Schema, ready: dict[int, Any] | None = None) -> Stats:
        """The statistics of a table under a schema.

        `ready` holds the statistics of columns whose family was just chosen and which were computed for that. Where it
        is None, the schema is older than the table: cells that an automatically chosen family cannot have are missing.
        """
        findings = Findings()
        blocks = [self._part(table, part, schema, ready, findings) for part in schema.parts]
        findings.warn()
        return self._stats(blocks, self._asleep(table, schema), self._counted(table, schema))

    def interactions(self, table: Frame, schema: Schema) -> Stats:
        """The statistics of the interactions of a schema, and of the pairs that it counts, without those of columns."""
        blocks = [self._part(table, part, schema, None, Findings()) for part in schema.interaction_parts]
        return self._stats(blocks, None, self._counted(table, schema))

    def _counted(self, table: Frame, schema: Schema) -> Counts | None:
        """Count the pairs of columns that are not scored, some pairs at a time."""
        if not schema.counted:
            return None
        family = joint_family(schema.counted, schema.names)
        blocks = family.reader.fit_blocks(table, family, self, MOST_CODES)
        return Counts.concatenate(
            [self.accumulate(block, family.terms, family.fit_support, ()) for block in blocks]
        )

    def learn(self, columns: Sequence[Column], choices: Sequence[Choice]) -> list[Choice]:
        """Return the choices with the settings that the first data decide: edges of bins."""
        return [self._learn(column, choice) for column, choice in zip(columns, choices, strict=True)]

    def _learn(self, column: Column, choice: Choice) -> Choice:
        family = choice.family
        if family is None or not family.reader.learns:
            return choice
        family, has_few_cells = family.reader.learn(family, column, self)
        return replace(choice, family=family, is_uninformed=choice.is_uninformed or has_few_cells)

    def _part(
        self, table: Frame, part: Part, schema: Schema, ready: dict[int, Any] | None, findings: Findings
    ) -> Any:
        """The statistics of a block of columns."""
        family, columns, reader = part.family, part.columns, part.family.reader
        one_by_one = (
            self.releases_levels and not reader.is_numeric and not (reader.own_block or reader.derived)
        )
        if one_by_one or (ready and all(j in ready for j in columns)):
            known = ready or {}
            own = [known[j] if j in known else self._levels(table, j, family, schema) for j in columns]
            return own[0] if len(own) == 1 else type(own[0]).concatenate(own)
        block = reader.fit_block(table, columns, family, self)
        names = self._names(table, columns, reader)
        if reader.is_plain and family.support.bounded:
            # A family that was just chosen accepts every cell of its column.
            lenient = schema.lenient(part, given=ready is not None)
            block = tolerant(block, family, lenient, names, findings)
        if self.sample is not None and not reader.derived:
            self._note(table, columns, schema, block)
        statistics = self.accumulate(block, family.terms, family.fit_support, names)
        return statistics.without_empty() if reader.own_block else statistics

    @staticmethod
    def _names(table: Frame, columns: tuple[int, ...], reader: Any) -> Sequence[Any]:
        """The names of the columns of a block, for error texts; codes of pairs of columns need none."""
        if reader.derived:
            return ()
        return [table.names[j] for j in columns] if table.is_named or len(columns) < 1000 else table.names

    def _levels(self, table: Frame, j: int, family: Family, schema: Schema) -> Any:
        """The counts of one column of levels, whose codes are dropped afterwards."""
        block = family.reader.fit_block(table, (j,), family, self)
        if self.sample is not None:
            self._note(table, (j,), schema, block)
        counts = self.accumulate(block, family.terms, family.fit_support, [table.names[j]])
        table.read(j).release_levels()
        return counts

    def _note(self, table: Frame, columns: tuple[int, ...], schema: Schema, block: Block) -> None:
        """Keep the sampled cells of the columns of a block."""
        sample: Any = self.sample
        reader = schema.choices[columns[0]].family.reader  # type: ignore[union-attr]
        if not reader.is_numeric:
            if isinstance(block, LevelsBlock):
                for j, codes in zip(columns, block.codes, strict=True):
                    sample.note_levels(j, codes)
            return
        # By type a column of few distinct numbers would be levels: look at it as levels, too.
        as_levels = {j for j in columns if schema.choices[j].is_lenient}
        sample.note_numbers(dict(zip(columns, table.read_all(columns), strict=True)), as_levels)

    def _asleep(self, table: Frame, schema: Schema) -> Counts | None:
        """Count the values of the columns that were constant or empty so far."""
        if not schema.asleep:
            return None
        columns = table.read_all(schema.asleep)
        own = [plain_levels(column, self.n_jobs, self.who) for column in columns]
        block = LevelsBlock(tuple(codes for _, codes in own), tuple(names for names, _ in own))
        counts = self.accumulate(block, (LEVEL,), LEVELS, [column.name for column in columns])
        if self.releases_levels:
            for column in columns:
                column.release_levels()
        return cast(Counts, counts.without_empty())

    def _stats(self, blocks: list[Any], asleep: Counts | None, counted: Counts | None) -> Stats:
        rows, weight = self.engine.totals(self.codes, self.weight, len(self.classes))
        stats = Stats(self.classes, rows, weight, tuple(blocks), asleep, counted)
        if np.count_nonzero(rows) == len(rows):
            return stats
        return stats.select_classes(np.flatnonzero(rows))  # classes whose rows all have weight 0 are absent
