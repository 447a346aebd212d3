"""Batches: the cells of a table, in the layout the engines read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sunrise.arrays import Floats


@dataclass(frozen=True)
class DenseBlock:
    """A block of columns as a matrix of numbers; NaN is missing."""

    values: NDArray[Any]

    kind = "dense"

    @property
    def native(self) -> Any:
        """The cells as the native kernels take them."""
        return self.values

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def numbers(self, rows: Any = slice(None)) -> Floats:
        """The cells of some rows as floats."""
        return np.asarray(self.values[rows], dtype=np.float64)

    def canonical(self) -> DenseBlock:
        """Dense cells are each there once."""
        return self


@dataclass(frozen=True)
class SparseBlock:
    """A block of columns as sparse rows (CSR); what is not stored is 0, NaN is missing."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    kind = "sparse"

    @property
    def native(self) -> Any:
        """The cells as the native kernels take them."""
        return self.data, self.indices, self.indptr, self.shape[1]

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


Block = DenseBlock | SparseBlock


@dataclass(frozen=True)
class Batch:
    """Rows of a table: one block of cells for every block of the model."""

    n_rows: int
    blocks: tuple[Block, ...]
