"""Blocks: the cells of some columns in the layout that the engines read, and batches of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sunrise._common.arrays import Codes, Floats, Integers, Labels, Mask
from sunrise._common.threads import threads
from sunrise.data.column import Column
from sunrise.statistics.bursts import Bursts
from sunrise.statistics.support import Support
from sunrise.statistics.terms import COUNT, LEVEL, Term, X
from sunrise.statistics.words import Words


class Engine(Protocol):
    """The part of an engine that adds up cells."""

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
        """Add up the terms of the cells, per class and column."""

    def documents(
        self, block: Any, codes: Codes, weight: Floats, n_classes: int, threads: int
    ) -> tuple[Integers, Floats]:
        """Documents with each word and sums of the words' scaled counts, per class."""


class Rows(NamedTuple):
    """The classes and weights of the rows that are added up, and the number of threads, as the user set it."""

    codes: Codes
    weight: Floats | None
    n_classes: int
    n_jobs: int | None


class Block(Protocol):
    """The cells of a block of columns."""

    @property
    def kind(self) -> str:
        """Which native functions read it: dense or sparse."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def native(self, views: tuple[Term, ...]) -> Any:
        """These views of the cells as the native kernels take them."""

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The cells of some rows as floats; NaN is missing."""

    def canonical(self) -> Block:
        """The same cells, each stored once."""

    def lengths(self) -> Floats:
        """The sum of the observed cells of every row."""

    def some(self, rows: Any) -> Block:
        """Some of the rows."""

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """The sufficient statistics of the cells, per class."""

    def share_out(self, shares: Floats, rows: Any, of_class: Callable[[int], Any]) -> Any:
        """Statistics of rows that count for every class by a share (rows x classes)."""


class _Accumulated:
    """A block whose statistics are what an engine adds up."""

    def share_out(self, shares: Floats, rows: Any, of_class: Callable[[int], Any]) -> Any:
        """Statistics of rows that count for every class by a share (rows x classes).

        `rows` are their statistics as rows of one class each, `of_class(c)` those with the shares of class c.
        """
        return rows.with_shares([of_class(c) for c in range(shares.shape[1])])

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """The sufficient statistics of the cells, per class."""
        block: Any = self
        n_threads = threads(rows.n_jobs, block.shape[0] * block.shape[1])
        return engine.accumulate(self, terms, support, *rows[:3], n_threads)


@dataclass(frozen=True)
class DenseBlock(_Accumulated):
    """A block of columns as a matrix of numbers; NaN is missing."""

    values: NDArray[Any]

    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def native(self, views: tuple[Term, ...]) -> Any:
        """The matrix itself, or each view of each column."""
        return self.values if views == (X,) else [(x, view.name) for x in self.values.T for view in views]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The cells of some rows as floats."""
        return np.asarray(self.values[rows], dtype=np.float64)

    def canonical(self) -> DenseBlock:
        """Dense cells are each there once."""
        return self

    def lengths(self) -> Floats:
        """The sum of the observed cells of every row."""
        return np.asarray(np.nansum(self.numbers(), axis=1))

    def some(self, rows: Any) -> DenseBlock:
        """Some of the rows."""
        return DenseBlock(self.values[rows])


@dataclass(frozen=True)
class ColumnsBlock(_Accumulated):
    """A block of columns that lie apart, as numbers."""

    columns: tuple[Column, ...]
    n_rows: int

    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, len(self.columns)

    def native(self, views: tuple[Term, ...]) -> Any:
        """Each view of each column."""
        empty = np.full(self.n_rows, np.nan) if any(c.cells is None for c in self.columns) else None
        cells = [empty if column.cells is None else column.cells for column in self.columns]
        return [(x, view.name) for x in cells for view in views]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The cells of some rows as floats."""
        columns = [column.numbers(rows) for column in self.columns]
        return np.stack(columns, axis=1) if columns else np.empty((len(np.arange(self.n_rows)[rows]), 0))

    def canonical(self) -> ColumnsBlock:
        """Dense cells are each there once."""
        return self

    def lengths(self) -> Floats:
        """The sum of the observed cells of every row."""
        return np.asarray(np.nansum(self.numbers(), axis=1))

    def some(self, rows: Any) -> DenseBlock:
        """Some of the rows, copied."""
        return DenseBlock(self.numbers(rows))


@dataclass(frozen=True)
class LevelsBlock(_Accumulated):
    """A block of columns as level codes; -1 is missing."""

    codes: tuple[Codes, ...]
    #: The names of the levels of every column, where levels are counted by name.
    names: tuple[Labels, ...] | None = None

    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.codes[0]), len(self.codes)

    def native(self, views: tuple[Term, ...]) -> Any:
        """Each column, as levels."""
        return [(codes, LEVEL.name) for codes in self.codes]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The codes of some rows as floats; NaN is missing."""
        x = np.stack([codes[rows] for codes in self.codes], axis=1).astype(np.float64)
        return np.where(x < 0, np.nan, x)

    def canonical(self) -> LevelsBlock:
        """Dense cells are each there once."""
        return self

    def lengths(self) -> Floats:
        """The sum of the observed cells of every row."""
        return np.asarray(np.nansum(self.numbers(), axis=1))

    def some(self, rows: Any) -> LevelsBlock:
        """Some of the rows."""
        return LevelsBlock(tuple(codes[rows] for codes in self.codes), self.names)

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """Counts of the levels, by name where they have names."""
        counts = super().statistics(engine, terms, support, rows)
        return counts if self.names is None else counts.named(self.names)


@dataclass(frozen=True)
class SparseBlock(_Accumulated):
    """A block of columns as sparse rows (CSR); what is not stored is 0, NaN is missing."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    kind = "sparse"

    def native(self, views: tuple[Term, ...]) -> Any:
        """The three arrays of the matrix, and its width."""
        if views == (X,):
            return self.data, self.indices, self.indptr, self.shape[1]
        raise ValueError(
            f"a sparse matrix cannot be read as {views}: its zeros are cells too. Give a dense table."
        )

    def seen_as(self, view: Term) -> SparseBlock:
        """Another view of the cells, one of which 0 is 0."""
        cells = self if view == X else self.canonical()
        return SparseBlock(view.of(cells.data.astype(np.float64)), cells.indices, cells.indptr, cells.shape)

    @property
    def matrix(self) -> Any:
        """The cells as SciPy has them."""
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The cells of some rows as floats, zeros written out."""
        return np.asarray(self.matrix[rows].toarray(), dtype=np.float64)

    def canonical(self) -> SparseBlock:
        """The same cells with every column of a row stored once, in order; the caller's matrix stays as it is."""
        matrix = self.matrix.copy()
        matrix.sum_duplicates()
        return SparseBlock(matrix.data, matrix.indices, matrix.indptr, self.shape)

    def lengths(self) -> Floats:
        """The sum of the observed cells of every row."""
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return np.bincount(row, np.nan_to_num(self.data, copy=True), self.shape[0]).astype(np.float64)

    def some(self, rows: Any) -> SparseBlock:
        """Some of the rows."""
        part = self.matrix[rows]
        return SparseBlock(part.data, part.indices, part.indptr, part.shape)


@dataclass(frozen=True)
class WordsBlock(SparseBlock):
    """A column of text as scaled counts of words, and how many words every document has."""

    n_words: Floats
    #: Which documents are missing, if any: a missing document adds nothing to statistics or scores.
    missing: Mask | None = None
    #: The words of the columns.
    vocabulary: Any = None

    def canonical(self) -> WordsBlock:
        """Words were counted once each, in order."""
        return self

    def lengths(self) -> Floats:
        """The number of words of every document, known or not."""
        return self.n_words

    def some(self, rows: Any) -> WordsBlock:
        """Some of the rows."""
        part = self.matrix[rows]
        missing = None if self.missing is None else self.missing[rows]
        rest = self.n_words[rows], missing, self.vocabulary
        return WordsBlock(part.data, part.indices, part.indptr, part.shape, *rest)

    def statistics(self, engine: Engine, terms: tuple[Term, ...], support: Support, rows: Rows) -> Any:
        """Counts of the words by name: documents and sums, or how often each count occurs."""
        weight = np.ones(self.shape[0]) if rows.weight is None else rows.weight
        weight = weight if self.missing is None else np.where(self.missing, 0.0, weight)
        if COUNT in terms:
            counts = super().statistics(engine, terms, support, rows._replace(weight=weight))
            return Bursts(self.vocabulary.words, counts, self.vocabulary)
        n_threads = threads(rows.n_jobs, 16 * len(self.data))
        documents, sums = engine.documents(self, rows.codes, weight, rows.n_classes, n_threads)
        vocabulary = self.vocabulary  # the lambda must not keep the cells alive
        # Most models never need a hundred thousand words as strings, so they are made when first used.
        return Words.of(lambda: vocabulary.words, documents, sums).with_vocabulary(vocabulary)

    @cached_property
    def _transposed(self) -> Any:
        """The cells as words x documents."""
        return self.matrix.T.tocsr()

    def share_out(self, shares: Floats, rows: Any, of_class: Callable[[int], Any]) -> Any:
        """Statistics of documents that count for every class by a share: one product of matrices."""
        if not isinstance(rows, Words):
            return super().share_out(shares, rows, of_class)
        present = np.ones(len(shares), bool) if self.missing is None else ~self.missing
        weights = np.empty_like(rows.weight)
        weights[:, 0], weights[:, 1:] = present @ shares, (self._transposed @ shares).T
        return replace(rows, weight=weights)


@dataclass(frozen=True)
class Batch:
    """Rows of a table: one block of cells for every block of the model."""

    n_rows: int
    blocks: tuple[Block, ...]

    def some(self, rows: Any) -> Batch:
        """Some of the rows: a slice, or their places."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        return Batch(n_rows, tuple(block.some(rows) for block in self.blocks))
