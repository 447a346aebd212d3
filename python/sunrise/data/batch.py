"""Batches: the cells of a table, in the layout the engines read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sunrise.arrays import Codes, Floats, Mask
from sunrise.data.column import Column
from sunrise.terms import LEVEL, Term, X


class Block(Protocol):
    """The cells of a block of columns."""

    @property
    def kind(self) -> str:
        """Which kernels read it: dense or sparse."""

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


@dataclass(frozen=True)
class DenseBlock:
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
class ColumnsBlock:
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
class LevelsBlock:
    """A block of columns as level codes; -1 is missing."""

    codes: tuple[Codes, ...]

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
        return LevelsBlock(tuple(codes[rows] for codes in self.codes))


@dataclass(frozen=True)
class SparseBlock:
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
    #: Documents that are not there, where some are not: they say nothing, not even that they have no words.
    missing: Mask | None = None

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
        return WordsBlock(part.data, part.indices, part.indptr, part.shape, self.n_words[rows], missing)


@dataclass(frozen=True)
class Batch:
    """Rows of a table: one block of cells for every block of the model."""

    n_rows: int
    blocks: tuple[Block, ...]

    def some(self, rows: Any) -> Batch:
        """Some of the rows: a slice, or their places."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        return Batch(n_rows, tuple(block.some(rows) for block in self.blocks))
