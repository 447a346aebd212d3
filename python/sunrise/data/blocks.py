"""Blocks: the cells of some columns in the layout that the engines read; a batch is one block per model block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sunrise._common.arrays import Codes, Floats, Integers, Labels, Mask
from sunrise._common.lazy import sparse
from sunrise._common.threads import threads
from sunrise.data.column import Column
from sunrise.data.findings import Findings
from sunrise.statistics.bursts import Bursts
from sunrise.statistics.support import Support
from sunrise.statistics.terms import COUNT, LEVEL, Term, X
from sunrise.statistics.words import Words


class Engine(Protocol):
    """The part of an engine that computes sufficient statistics."""

    def accumulate(
        self,
        block: Any,
        terms: tuple[Term, ...],
        support: Support,
        codes: Codes,
        weight: Floats | None,
        n_classes: int,
        threads: int,
    ) -> Any:
        """Return the sums of the terms, per class and column."""

    def documents(
        self, block: Any, codes: Codes, weight: Floats, n_classes: int, threads: int
    ) -> tuple[Integers, Floats]:
        """Return the number of documents with each word and the sums of its scaled counts, per class."""


class Rows(NamedTuple):
    """Class codes and weights of the rows to accumulate, and `n_jobs` as the user set it."""

    codes: Codes
    weight: Floats | None
    n_classes: int
    n_jobs: int | None
    #: Decay of the rows since they were learned, which is part of their weights; None without decay.
    decay: Floats | None = None


class Block(Protocol):
    """The cells of a block of columns."""

    @property
    def kind(self) -> str:
        """The layout, which selects the native functions: "dense" or "sparse"."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""

    @property
    def missing(self) -> Mask | None:
        """Mask of missing documents; None if cells are missing one by one."""

    def native(self, views: tuple[Term, ...]) -> Any:
        """Return these views of the cells in the layout of the native functions."""

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the cells of some rows as floats; NaN is missing."""

    def canonical(self) -> Block:
        """Return the same cells, each stored once."""

    def lengths(self) -> Floats:
        """Return the sum of the observed cells of every row."""

    def select_rows(self, rows: Any) -> Block:
        """Return some of the rows."""

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """Return the sufficient statistics of the cells, per class."""

    def soft_statistics(self, shares: Floats, rows: Any, of_class: Callable[[int], Any]) -> Any:
        """Return the statistics of rows that belong to each class with a weight, `shares` (rows x classes)."""


class _Accumulated:
    """A block whose statistics an engine computes directly."""

    #: Mask of missing documents; None if cells are missing one by one.
    missing: Mask | None = None

    def soft_statistics(self, shares: Floats, rows: Any, of_class: Callable[[int], Any]) -> Any:
        """Return the statistics of rows that belong to each class with a weight, `shares` (rows x classes).

        `rows` are the statistics with every row in one class; `of_class(c)` returns the statistics with the weights
        of class c.
        """
        return rows.with_shares([of_class(c) for c in range(shares.shape[1])])

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """Return the sufficient statistics of the cells, per class."""
        block: Any = self
        n_threads = threads(rows.n_jobs, block.shape[0] * block.shape[1])
        return engine.accumulate(self, terms, support, *rows[:3], n_threads)


@dataclass(frozen=True)
class DenseBlock(_Accumulated):
    """Columns as a matrix of numbers; NaN is missing."""

    values: NDArray[Any]

    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.values.shape

    def native(self, views: tuple[Term, ...]) -> Any:
        """Return the matrix itself, or each view of each column."""
        return self.values if views == (X,) else [(x, view.name) for x in self.values.T for view in views]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the cells of some rows as floats."""
        return np.asarray(self.values[rows], dtype=np.float64)

    def canonical(self) -> DenseBlock:
        """Return the block itself: dense cells are stored once."""
        return self

    def lengths(self) -> Floats:
        """Return the sum of the observed cells of every row."""
        return np.asarray(np.nansum(self.numbers(), axis=1))

    def select_rows(self, rows: Any) -> DenseBlock:
        """Return some of the rows."""
        return DenseBlock(self.values[rows])


@dataclass(frozen=True)
class ColumnsBlock(_Accumulated):
    """Numeric columns, each in an array of its own."""

    columns: tuple[Column, ...]
    n_rows: int

    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, len(self.columns)

    def native(self, views: tuple[Term, ...]) -> Any:
        """Return each view of each column."""
        empty = np.full(self.n_rows, np.nan) if any(c.cells is None for c in self.columns) else None
        cells = [empty if column.cells is None else column.cells for column in self.columns]
        return [(x, view.name) for x in cells for view in views]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the cells of some rows as floats."""
        columns = [column.numbers(rows) for column in self.columns]
        return np.stack(columns, axis=1) if columns else np.empty((len(np.arange(self.n_rows)[rows]), 0))

    def canonical(self) -> ColumnsBlock:
        """Return the block itself: dense cells are stored once."""
        return self

    def lengths(self) -> Floats:
        """Return the sum of the observed cells of every row."""
        return np.asarray(np.nansum(self.numbers(), axis=1))

    def select_rows(self, rows: Any) -> DenseBlock:
        """Return a copy of some of the rows."""
        return DenseBlock(self.numbers(rows))


@dataclass(frozen=True)
class ScaledColumns(ColumnsBlock):
    """Numeric columns minus their centres, divided by their units; infinite cells are missing."""

    centre: Floats
    unit: Floats

    def native(self, views: tuple[Term, ...]) -> Any:
        """Return the columns with their scales, for the native functions."""
        cells = [x for x, _ in super().native((X,))]
        return [
            (x, "scaled", centre, unit)
            for x, centre, unit in zip(cells, self.centre.tolist(), self.unit.tolist(), strict=True)
        ]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the scaled cells of some rows."""
        x = super().numbers(rows)
        return np.asarray((np.where(np.isinf(x), np.nan, x) - self.centre) / self.unit)


@dataclass(frozen=True)
class LevelsBlock(_Accumulated):
    """Columns as level codes; -1 is missing."""

    codes: tuple[Codes, ...]
    #: Level names of every column, if levels are counted by name.
    names: tuple[Labels, ...] | None = None
    #: The numbers of every column, if the levels are bins of numbers.
    raw: tuple[Floats, ...] | None = None

    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.codes[0]), len(self.codes)

    def native(self, views: tuple[Term, ...]) -> Any:
        """Return each column as levels."""
        return [(codes, LEVEL.name) for codes in self.codes]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the codes of some rows as floats; NaN is missing."""
        x = np.stack([codes[rows] for codes in self.codes], axis=1).astype(np.float64)
        return np.where(x < 0, np.nan, x)

    def canonical(self) -> LevelsBlock:
        """Return the block itself: dense cells are stored once."""
        return self

    def lengths(self) -> Floats:
        """Return the sum of the observed cells of every row."""
        return np.asarray(np.nansum(self.numbers(), axis=1))

    def select_rows(self, rows: Any) -> LevelsBlock:
        """Return some of the rows."""
        raw = None if self.raw is None else tuple(x[rows] for x in self.raw)
        return LevelsBlock(tuple(codes[rows] for codes in self.codes), self.names, raw)

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """Return the counts of the levels, by name if they have names."""
        counts = super().statistics(engine, terms, support, rows)
        return counts if self.names is None else counts.named(self.names)


@dataclass(frozen=True)
class SparseBlock(_Accumulated):
    """Columns as a sparse matrix (CSR); a cell that is not stored is 0, NaN is missing."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    kind = "sparse"

    def native(self, views: tuple[Term, ...]) -> Any:
        """Return the three arrays of the matrix and its number of columns."""
        if views == (X,):
            return self.data, self.indices, self.indptr, self.shape[1]
        raise ValueError(
            f"a sparse matrix cannot be read as {views}, because its zeros are cells, too. Pass a dense table."
        )

    def with_view(self, view: Term) -> SparseBlock:
        """Return a view of the cells; the view of 0 must be 0."""
        cells = self if view == X else self.canonical()
        return SparseBlock(view.of(cells.data.astype(np.float64)), cells.indices, cells.indptr, cells.shape)

    @property
    def matrix(self) -> Any:
        """The cells as a SciPy matrix."""
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """Return the cells of some rows as dense floats."""
        return np.asarray(self.matrix[rows].toarray(), dtype=np.float64)

    def canonical(self) -> SparseBlock:
        """Return a copy whose rows store every column once, in order; the caller's matrix does not change."""
        matrix = self.matrix.copy()
        matrix.sum_duplicates()
        return SparseBlock(matrix.data, matrix.indices, matrix.indptr, self.shape)

    def lengths(self) -> Floats:
        """Return the sum of the observed cells of every row."""
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return np.bincount(row, np.nan_to_num(self.data, copy=True), self.shape[0]).astype(np.float64)

    def select_rows(self, rows: Any) -> SparseBlock:
        """Return some of the rows."""
        part = self.matrix[rows]
        return SparseBlock(part.data, part.indices, part.indptr, part.shape)


@dataclass(frozen=True)
class WordsBlock(SparseBlock):
    """A text column as scaled word counts, with the number of words of every document."""

    n_words: Floats
    #: Mask of missing documents, or None; a missing document adds nothing to statistics or scores.
    missing: Mask | None = None
    #: The words of the columns.
    vocabulary: Any = None

    def canonical(self) -> WordsBlock:
        """Return the block itself: every word is stored once, in order."""
        return self

    def lengths(self) -> Floats:
        """Return the number of words of every document, unknown words included."""
        return self.n_words

    def select_rows(self, rows: Any) -> WordsBlock:
        """Return some of the rows."""
        part = self.matrix[rows]
        missing = None if self.missing is None else self.missing[rows]
        rest = self.n_words[rows], missing, self.vocabulary
        return WordsBlock(part.data, part.indices, part.indptr, part.shape, *rest)

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """Return word counts by name: documents and sums, or how often each count occurs."""
        weight = np.ones(self.shape[0]) if rows.weight is None else rows.weight
        weight = weight if self.missing is None else np.where(self.missing, 0.0, weight)
        if COUNT in terms:
            counts = super().statistics(engine, terms, support, rows._replace(weight=weight))
            return Bursts(self.vocabulary.words, counts, self.vocabulary)
        n_threads = threads(rows.n_jobs, 16 * len(self.data))
        documents, sums = engine.documents(self, rows.codes, weight, rows.n_classes, n_threads)
        vocabulary = self.vocabulary  # the lambda must not keep the cells alive
        # Most models never need a hundred thousand words as strings, so the strings are created at the first use.
        words = Words.of(lambda: vocabulary.words, documents, sums)
        if rows.decay is not None:
            present = replace(self, data=np.ones(len(self.data)))
            decay = np.where(weight > 0, rows.decay, 0.0)
            decayed = engine.documents(present, rows.codes, decay, rows.n_classes, n_threads)[1]
            words = replace(words, decayed_rows=decayed)
        return words.with_vocabulary(vocabulary)

    @cached_property
    def _transposed(self) -> Any:
        """The cells, words x documents."""
        return self.matrix.T.tocsr()

    def soft_statistics(self, shares: Floats, rows: Any, of_class: Callable[[int], Any]) -> Any:
        """Return the statistics of documents that belong to each class with a weight: one matrix product."""
        if not isinstance(rows, Words):
            return super().soft_statistics(shares, rows, of_class)
        present = np.ones(len(shares), bool) if self.missing is None else ~self.missing
        weights = np.empty_like(rows.weight)
        weights[:, 0], weights[:, 1:] = present @ shares, (self._transposed @ shares).T
        return replace(rows, weight=weights)


@dataclass(frozen=True)
class Batch:
    """Rows of a table: one block of cells for every block of the model."""

    n_rows: int
    blocks: tuple[Block, ...]
    #: Cells of the whole table that the model cannot use.
    findings: Findings | None = field(default=None, repr=False)

    def warn(self) -> None:
        """Warn of the cells that the model cannot use."""
        if self.findings is not None:
            self.findings.warn()

    def missing_documents(self, k: int) -> Mask:
        """Return the mask of missing documents of block k: they are in no statistics and add nothing to scores."""
        missing = self.blocks[k].missing
        return np.zeros(self.n_rows, bool) if missing is None else missing

    def select_rows(self, rows: Any) -> Batch:
        """Return some of the rows, given by a slice or by positions."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        return Batch(n_rows, tuple(block.select_rows(rows) for block in self.blocks))
