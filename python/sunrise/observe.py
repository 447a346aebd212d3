"""From a table to statistics: the one way in which every model learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunrise import _native, engines
from sunrise.arrays import Codes, Floats, Labels
from sunrise.bursts import Bursts
from sunrise.data import read
from sunrise.data.batch import Block, ColumnsBlock, LevelsBlock, WordsBlock
from sunrise.data.column import Column
from sunrise.data.frame import Frame
from sunrise.duplicates import Glimpse
from sunrise.family import Family
from sunrise.infer import infer, look_at_levels, look_at_numbers
from sunrise.look import Look
from sunrise.moments import Moments
from sunrise.schema import Choice, Part, Schema, given_choices
from sunrise.stats import Counts, Stats, Words, per_row
from sunrise.support import LEVELS, REAL, Support
from sunrise.terms import COUNT, LEVEL, X2, Term, X


@dataclass(frozen=True)
class Observer:
    """Adds up what rows of these classes and weights say."""

    classes: Labels
    codes: Codes
    weight: Floats | None
    n_jobs: int | None
    #: Who learns, for error texts.
    who: str
    #: Some rows to look for columns that say the same, where that is asked for.
    glimpse: Glimpse | None = None
    #: The labels, where some rows have none: classes are then numbers, and the last is that of these rows.
    labels: Labels | None = None

    @property
    def of_labelled(self) -> Observer:
        """Who adds up the rows that have a label, of those some of which have none."""
        labels = self.classes[:0] if self.labels is None else self.labels
        there = self.codes < len(labels)
        weight = there.astype(float) if self.weight is None else there * self.weight  # 0: not there
        codes = np.where(there, self.codes, 0).astype(np.int32)
        return replace(self, classes=labels, codes=codes, weight=weight, labels=None, glimpse=None)

    def matrix(self, block: Block, family: Family, names: Any) -> Stats:
        """Statistics of one block of numbers."""
        family.check(block.shape[1])
        return self._stats([self.add_up(block, family.terms, family.kept, names)])

    def frame(
        self, table: Frame, schema: Schema | None, families: Any, found: dict[int, Choice] | None = None
    ) -> tuple[Schema, Stats]:
        """Statistics of a frame, and its schema, which is chosen here where there is none yet.

        `found` are families of columns that were chosen before.
        """
        choices = given_choices(families, table.names) if schema is None else list(schema.choices)
        for j in found or {}:
            choices[j] = (found or {})[j]
        alone: dict[int, Any] = {}
        for j, choice in enumerate(choices):
            if choice is not None and choice.family is None:
                continue
            column, stats = table.read(j), None
            if choice is None:
                choice, stats = self._infer(j, column)
            elif schema is None:
                choice = replace(choice, declared=column.declared)
            if schema is None and choice.family is not None and choice.family.takes_shape:
                choice = self._shaped(column, choice, choice.family)
            choices[j] = choice if schema else replace(choice, kind=column.kind)
            if choice.family is None:
                continue
            together = choice.family.of_rows  # it is read with the others of its block
            if not together and (table.matrix is None or choice.family.reads_apart):
                lenient = schema is not None and bool(choice.scores)
                alone[j] = self._column(j, column, choice.family, lenient) if stats is None else stats
            if self.glimpse is not None and not (choice.family.reads_levels or choice.family.reads_text):
                few = bool(choice.scores)  # by its type it would be levels where there are few different ones
                self.glimpse.note_numbers(j, column.numbers(self.glimpse.rows), few)
        known = schema
        if schema is None:
            chosen = tuple(choice for choice in choices if choice is not None)
            schema = Schema(table.names, chosen, table.is_named, library=table.library)
        return schema, self._stats([self._part(table, part, alone, known) for part in schema.parts])

    def _infer(self, j: int, column: Column) -> tuple[Choice, Any]:
        """The family of a column, and its statistics where looking at it has found them already."""
        found: dict[tuple[Term, ...], Any] = {}
        if column.problem:
            raise ValueError(column.problem)
        if column.kind in ("number", "bool"):

            def dispersion() -> tuple[float, float]:
                found[X, X2] = self.add_up(
                    ColumnsBlock((column,), column.n_rows), (X, X2), REAL, [column.name]
                )
                labelled = np.arange(len(self.classes if self.labels is None else self.labels))
                return _dispersion(found[X, X2].taken(labelled))

            look = self.look(column, dispersion)
        else:
            names, codes = read.plain_levels(column, self.n_jobs)
            self._note(j, codes)
            counts = self.add_up(LevelsBlock((codes,)), (LEVEL,), LEVELS, [column.name]).named(names)
            found[LEVEL,], look = counts, look_at_levels(counts)
        choice = infer(column, look)
        return choice, None if choice.family is None else found.get(choice.family.terms)

    def look(self, column: Column, dispersion: Callable[[], tuple[float, float]]) -> Look:
        """What a column of numbers looks like."""
        try:
            return look_at_numbers(column, self.weight, dispersion)
        except _native.CellError as error:
            read.refuse_cell(self.who, [column.name], error.args, REAL)

    def _shaped(self, column: Column, choice: Choice, family: Family) -> Choice:
        """A choice with what the first data decide of its family."""
        family = family.shaped(read.finite(column, family, self.who, self.weight), self.codes, self.weight)
        return replace(choice, family=family, is_uninformed=choice.is_uninformed or family.is_uninformed)

    def _note(self, j: int, codes: Codes) -> None:
        if self.glimpse is not None:
            self.glimpse.levels[j] = codes[self.glimpse.rows]

    def _column(self, j: int, column: Column, family: Family, lenient: bool = False) -> Any:
        """Statistics of one column."""
        if family.reads_text:
            return self._words(column, family)
        if family.reads_levels:
            names, codes = read.levels(column, family, self.n_jobs)
            self._note(j, codes)
            return self.add_up(LevelsBlock((codes,)), family.terms, family.support, [column.name]).named(
                names
            )
        if family.reads_bins:
            block: Block = LevelsBlock((read.bins(column, family, 0, self.who, self.weight),))
        else:
            block = ColumnsBlock((read.numbers(column, family),), column.n_rows)
            block = read.within(block, family.support, np.ones(1, bool)) if lenient else block
        return self.add_up(block, family.terms, family.kept, [column.name])

    def _words(self, column: Column, family: Any) -> Counts | Bursts:
        """Statistics of a column of text."""
        counted = family.count(column, None, self.n_jobs)
        there = ~counted.missing if self.weight is None else ~counted.missing & (self.weight > 0)
        block = family.first_scaled(counted, there, self.n_jobs)
        known = counted.vocabulary
        words = known.words if COUNT in family.terms else lambda: known.words
        return self.words(block, words, family, column.name, counted.vocabulary)._seen()

    def words(
        self, block: WordsBlock, words: Any, family: Family, name: Any, vocabulary: Any = None
    ) -> Words | Bursts:
        """Statistics of documents whose words were counted."""
        # Missing documents and those of weight 0 are not there.
        weight = np.ones(block.shape[0]) if self.weight is None else self.weight
        weight = weight if block.missing is None else np.where(block.missing, 0.0, weight)
        if COUNT in family.terms:
            counts = replace(self, weight=weight).add_up(block, family.terms, family.support, [name])
            return Bursts(words, counts, vocabulary)
        n_threads = engines.threads(self.n_jobs, 16 * len(block.data))
        found, sums = engines.choose().documents(block, self.codes, weight, len(self.classes), n_threads)
        return Words.of(words, found, sums).known_by(vocabulary)

    def _part(self, table: Frame, part: Part, alone: dict[int, Any], known: Schema | None) -> Any:
        """Statistics of a block: those of its columns side by side, or of all at once where cells lie row by row."""
        family, columns = part.family, part.columns
        family.check(len(columns))
        if columns[0] in alone:
            first = alone[columns[0]]
            return first if len(columns) == 1 else type(first).joined([alone.pop(j) for j in columns])
        names = [table.names[j] for j in columns]
        lenient = np.array([bool(known and known.choices[j].scores) for j in columns])
        block = read.matrix_block(table, part)
        if lenient.any():
            block = read.within(block, family.support, lenient)
        return self.add_up(block, family.terms, family.kept, names)

    def add_up(self, block: Block, terms: tuple[Term, ...], support: Support, names: Any) -> Any:
        """Statistics of the cells of a block."""
        n_threads = engines.threads(self.n_jobs, block.shape[0] * block.shape[1])
        rest = self.codes, self.weight, len(self.classes), n_threads
        try:
            return engines.choose().accumulate(block, terms, support, *rest)
        except _native.CellError as error:
            read.refuse_cell(self.who, names, error.args, support)

    def _stats(self, blocks: list[Any]) -> Stats:
        rows, weight = engines.choose().totals(self.codes, self.weight, len(self.classes))
        seen = np.flatnonzero(rows)
        if len(seen) < len(self.classes):  # classes all of whose rows have weight 0 are not there
            return Stats(self.classes[seen], rows[seen], weight[seen], tuple(b.taken(seen) for b in blocks))
        return Stats(self.classes, rows, weight, tuple(blocks))


def _dispersion(moments: Moments) -> tuple[float, float]:
    """Variance over mean within each class, least and most: about 1 for counts. One cell has no variance."""
    some = ((moments.seen > 1) | (moments.rows > 1)) & (moments.mean > 0)
    ratio = (per_row(moments.squared_error, moments)[some] / moments.mean[some]).tolist()
    return min(ratio, default=np.inf), max(ratio, default=np.inf)
