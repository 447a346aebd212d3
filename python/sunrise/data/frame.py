"""Frames: a table of any kind as named columns, each read once, in place where possible."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sunrise import _native
from sunrise._common.arrays import Floats, Positions
from sunrise._common.lazy import is_sparse
from sunrise.data.blocks import Block, DenseBlock, SparseBlock
from sunrise.data.column import Column
from sunrise.data.columns import (
    any_column,
    arrow_column,
    column_of_arrow,
    fill_masked,
    in_place,
    is_missing,
    lazy_kind_of,
    library_of,
    numpy_column,
    pandas_column,
    polars_column,
    readable,
)
from sunrise.data.errors import place, refuse_dates, refuse_lazy, refuse_path, refuse_shape
from sunrise.data.join import take_rows


@dataclass(eq=False)
class Frame:
    """A table of named columns. A column is read when it is first used, and kept as long as the frame."""

    names: Sequence[Any]
    n_rows: int
    #: Reads a column by its position.
    source: Callable[[int], Column] = field(repr=False)
    #: The library of the table: pandas, polars or pyarrow; None for arrays and dicts.
    library: str | None = None
    #: True if the names came with the data; else columns are known by position.
    is_named: bool = True
    #: All cells as one block, if they are stored that way: a matrix of numbers or a sparse matrix.
    block: Block | None = field(default=None, repr=False)
    index: Any = field(default=None, repr=False)
    #: The rules by which the columns were derived from those of another table; None for a table as it came.
    rules: Any = field(default=None, repr=False)
    _columns: dict[int, Column] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.names, tuple) and len(set(self.names)) < len(self.names):
            twice = next(name for k, name in enumerate(self.names) if name in self.names[:k])
            raise ValueError(f"two columns are called {twice!r}. Give every column a name of its own.")

    @property
    def is_sparse(self) -> bool:
        """True if the table is a sparse matrix."""
        return isinstance(self.block, SparseBlock)

    def read(self, j: int) -> Column:
        """Return a column by its position; raise for dates, which `data/derive.py` turns into numbers and levels."""
        column = self.raw(j)
        if column.kind == "date":
            refuse_dates(f"column {self.names[j]!r}")
        return column

    def raw(self, j: int) -> Column:
        """Return a column by its position; it may hold dates."""
        if j not in self._columns:
            self._columns[j] = self.source(j)
        return self._columns[j]

    def read_all(self, columns: Sequence[int]) -> list[Column]:
        """Return some columns by their positions."""
        return [self.read(j) for j in columns]

    def without(self, name: Any) -> Frame:
        """Return the table without a column."""
        keep = [j for j, other in enumerate(self.names) if other != name]
        return Frame(
            tuple(self.names[j] for j in keep),
            self.n_rows,
            lambda j: self.raw(keep[j]),
            self.library,
            self.is_named,
            index=self.index,
        )

    def select_rows(self, rows: Positions) -> Frame:
        """Return the table of some rows, by their positions."""
        block = None if self.block is None else self.block.select_rows(rows)
        return Frame(
            self.names,
            len(rows),
            lambda j: take_rows(self.raw(j), rows),
            self.library,
            self.is_named,
            block,
            rules=self.rules,
        )

    def named(self, names: Any) -> Frame:
        """Return the same table with other names of its columns; None if they are known by position."""
        if names is None and not self.is_named:
            return self
        known = range(len(self.names)) if names is None else tuple(names)
        return Frame(known, self.n_rows, self.raw, self.library, names is not None, self.block, self.index)


def frame_of(X: Any) -> Frame:
    """Read a table of any kind."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and readable(X):  # the fast path of small predictions
        return _matrix_frame(X, DenseBlock(X))
    if isinstance(X, Frame):
        return X
    if is_sparse(X):
        return _sparse_frame(X)
    if isinstance(X, str | bytes | os.PathLike):
        refuse_path("X", X)
    library = library_of(X)
    if type(X).__module__.startswith("pyspark.sql"):
        raise TypeError(
            "X is a DataFrame of Spark. Use sunrise.spark.predict(model, X), or bring few rows here with X.toArrow()."
        )
    if hasattr(X, "collect") or lazy_kind_of(X) is not None or hasattr(X, "read_next_batch"):
        refuse_lazy(X)
    if library in ("pandas", "polars") and not hasattr(X, "columns"):
        raise ValueError(
            f"Expected 2D array: X is a {type(X).__name__}, not a table. For one row pass a dict (row.to_dict()) or a "
            "table of one row, for one column a table with that column (X.to_frame())."
        )
    if library == "pandas":
        names = tuple(X.columns)

        def read(j: int) -> Column:
            # By name is faster than by position, but a name that is no text may mean rows or several columns.
            return pandas_column(names[j], X[names[j]] if type(names[j]) is str else X.iloc[:, j])

        return Frame(names, len(X), read, library, index=X.index)
    if library == "polars" and hasattr(X, "get_columns"):
        columns = X.get_columns()
        return Frame(tuple(X.columns), len(X), lambda j: polars_column(columns[j].name, columns[j]), library)
    if library == "pyarrow" and hasattr(X, "column_names"):
        names = tuple(X.column_names)
        return Frame(names, X.num_rows, lambda j: arrow_column(names[j], X.column(j)), library)
    if isinstance(X, dict):
        return _dict_frame(X)
    if isinstance(X, list) and X and all(isinstance(row, dict) for row in X):
        named_cells = dict.fromkeys(name for row in X for name in row)
        return _dict_frame({name: [row.get(name) for row in X] for name in named_cells})
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        table = _native.arrow_table(X)
        n_rows = len(table[0][1]) if table else 0
        return Frame(tuple(name for name, _ in table), n_rows, lambda j: column_of_arrow(*table[j]))
    return _array_frame(X)


def document_frame(documents: Any) -> Frame:
    """Return a list or column of documents as a table with one column of text."""
    n = len(documents)
    return Frame(("text",), n, lambda j: Column("text", "level", n, texts=documents), is_named=False)


def number_frame(X: Any) -> Frame:
    """Read a table whose cells all have to be numbers: Python objects are converted, missing ones become NaN."""
    table = frame_of(X)
    if table.block is not None or not _holds_objects(X):
        return table
    cells = np.asarray(X, dtype=object)
    try:
        values = cells.astype(np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        values = _as_floats(cells, table.names if table.is_named else None)
    return replace(_matrix_frame(values), names=table.names, is_named=table.is_named, library=table.library)


def _holds_objects(X: Any) -> bool:
    """True if cells are Python objects and none of them is a date or a duration."""
    if library_of(X) == "pandas":
        kinds = {getattr(dtype, "kind", "") for dtype in X.dtypes}
        return "O" in kinds and not kinds & {"m", "M"}
    return isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype.kind == "O")


def _as_floats(cells: Any, names: Any) -> Floats:
    """Convert objects to floats one by one, so that the error names the cell."""
    numbers = np.empty(cells.shape)
    for at, cell in np.ndenumerate(cells):
        if is_missing(cell):
            numbers[at] = np.nan
            continue
        try:
            numbers[at] = cell
        except TypeError:
            # scikit-learn's checks expect this kind of error for a cell that is not a scalar.
            raise TypeError(
                f"argument must be a string or a number, not {cell!r} in {place(names, *at)}"
            ) from None
        except ValueError:
            raise ValueError(
                f"could not convert string to float: {cell!r} in {place(names, *at)}. Give numbers, or encode "
                "the column first (for example with sklearn.preprocessing.OrdinalEncoder)."
            ) from None
    return numbers


def is_single(value: Any) -> bool:
    """True if a value is one cell, not a column of cells."""
    return isinstance(value, str | bytes) or not hasattr(value, "__len__")


def _dict_frame(X: dict[Any, Any]) -> Frame:
    """A dict of columns; a dict of single values is one record."""
    names = tuple(X)
    single = [name for name, value in X.items() if is_single(value)]
    if len(single) == len(X):
        X = {name: [value] for name, value in X.items()}
    elif single:
        raise ValueError(
            f"column {single[0]!r} is a single value ({X[single[0]]!r}) where others are columns. Give every column "
            "all its cells; a record holds single values only."
        )
    lengths = {name: len(column) for name, column in X.items()}
    n_rows = next(iter(lengths.values()), 0)
    for name, length in lengths.items():
        if length != n_rows:
            raise ValueError(
                f"the columns have different lengths: {names[0]!r} has {n_rows} rows, {name!r} has {length}."
            )
    return Frame(names, n_rows, lambda j: any_column(names[j], X[names[j]]))


def _array_frame(X: Any) -> Frame:
    """A matrix, or rows in a list; columns are known by position."""
    array = fill_masked(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    if array.dtype.kind in "USO" and not isinstance(X, np.ndarray):
        array = np.array(X, dtype=object)  # NumPy would turn [1, "a"] into strings
    if array.ndim != 2:
        refuse_shape(array.ndim)
    return _matrix_frame(array)


def _matrix_frame(array: Any, block: DenseBlock | None = None) -> Frame:
    if block is None and array.dtype.kind in "iufb":
        block = DenseBlock(in_place(array))
    return Frame(
        range(array.shape[1]), len(array), lambda j: numpy_column(j, array[:, j]), is_named=False, block=block
    )


def _sparse_frame(X: Any) -> Frame:
    """A sparse matrix: one block of cells; a single column is read as a dense one."""
    if X.ndim != 2:
        refuse_shape(X.ndim)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is of type {X.dtype}.")
    matrix = X.tocsr()
    if matrix.dtype.kind not in "iufb":
        matrix = matrix.astype(np.float64)
    block = _sparse_block(matrix)

    def read(j: int) -> Column:
        return numpy_column(j, np.asarray(matrix[:, [j]].toarray())[:, 0])

    return Frame(range(matrix.shape[1]), matrix.shape[0], read, is_named=False, block=block)


def _sparse_block(matrix: Any) -> SparseBlock:
    plain = matrix.dtype in (np.float64, np.float32) and matrix.dtype.isnative
    data = np.require(matrix.data, matrix.dtype if plain else np.float64, ["C", "A"])
    parts = matrix.indices, matrix.indptr
    narrow = all(part.dtype == np.int32 for part in parts)
    indices, indptr = (np.require(part, np.int32 if narrow else np.int64, ["C", "A"]) for part in parts)
    return SparseBlock(data, indices, indptr, matrix.shape)
