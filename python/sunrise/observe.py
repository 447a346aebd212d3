"""From a table to statistics: the one way in which every model learns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise import _native, engines
from sunrise.arrays import Codes, Floats, Labels
from sunrise.data import read
from sunrise.data.batch import Block, ColumnsBlock, LevelsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.family import Family
from sunrise.infer import infer, look_at
from sunrise.schema import Part, Schema, given_choices
from sunrise.stats import Stats, per_row
from sunrise.support import REAL
from sunrise.terms import X2, X


@dataclass(frozen=True)
class Observer:
    """Adds up what rows of these classes and weights say."""

    classes: Labels
    codes: Codes
    weight: Floats | None
    n_jobs: int | None
    #: Who learns, for error texts.
    who: str

    def matrix(self, block: Block, family: Family, names: Any) -> Stats:
        """Statistics of one block of numbers."""
        family.check(block.shape[1])
        return self._stats([self._add_up(block, family, names)])

    def frame(self, table: Frame, schema: Schema | None, families: Any) -> tuple[Schema, Stats]:
        """Statistics of a frame, and its schema, which is chosen here where there is none yet."""
        choices = given_choices(families, table.names) if schema is None else list(schema.choices)
        alone: dict[int, Any] = {}
        for j, choice in enumerate(choices):
            if choice is not None and choice.family is None:
                continue
            column = table.read(j)
            if choice is None:
                choice = self._infer(column)
            elif schema is None:
                choice = replace(choice, declared=column.declared)
            choices[j] = choice
            if choice.family is not None and (table.matrix is None or choice.family.reads_levels):
                alone[j] = self._column(column, choice.family)
        if schema is None:
            chosen = tuple(choice for choice in choices if choice is not None)
            schema = Schema(table.names, chosen, table.is_named, library=table.library)
        return schema, self._stats([self._part(table, part, alone) for part in schema.parts])

    def _infer(self, column: Column) -> Any:
        return infer(column, look_at(column, self.weight, lambda: self._dispersion(column)))

    def _column(self, column: Column, family: Family) -> Any:
        """Statistics of one column."""
        if family.reads_levels:
            names, codes = read.levels(column, family)
            return self._add_up(LevelsBlock((codes,)), family, [column.name]).named(names)
        block = ColumnsBlock((read.numbers(column, family),), column.n_rows)
        return self._add_up(block, family, [column.name])

    def _part(self, table: Frame, part: Part, alone: dict[int, Any]) -> Any:
        """Statistics of a block: those of its columns side by side, or of all at once where cells lie row by row."""
        family, columns = part.family, part.columns
        family.check(len(columns))
        if columns[0] in alone:
            first = alone[columns[0]]
            return first if len(columns) == 1 else type(first).joined([alone.pop(j) for j in columns])
        return self._add_up(read.matrix_block(table, part), family, [table.names[j] for j in columns])

    def _add_up(self, block: Block, family: Family, names: Any) -> Any:
        n_threads = engines.threads(self.n_jobs, block.shape[0] * block.shape[1])
        rest = self.codes, self.weight, len(self.classes), n_threads
        try:
            return engines.choose().accumulate(block, family.terms, family.support, *rest)
        except _native.CellError as error:
            read.refuse_cell(self.who, names, error.args, family.support)

    def _dispersion(self, column: Column) -> tuple[float, float]:
        """Variance over mean within each class, least and most: about 1 for counts. One cell has no variance."""
        block = ColumnsBlock((column,), column.n_rows)
        rest = self.codes, self.weight, len(self.classes), engines.threads(self.n_jobs, column.n_rows)
        moments = engines.choose().accumulate(block, (X, X2), REAL, *rest)
        some = (moments.seen > 1) & (moments.mean > 0)
        ratio = (per_row(moments.squared_error, moments)[some] / moments.mean[some]).tolist()
        return min(ratio, default=np.inf), max(ratio, default=np.inf)

    def _stats(self, blocks: list[Any]) -> Stats:
        rows, weight = engines.choose().totals(self.codes, self.weight, len(self.classes))
        seen = np.flatnonzero(rows)
        if len(seen) < len(self.classes):  # classes all of whose rows have weight 0 are not there
            return Stats(self.classes[seen], rows[seen], weight[seen], tuple(b.taken(seen) for b in blocks))
        return Stats(self.classes, rows, weight, tuple(blocks))
