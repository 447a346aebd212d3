"""Batches of rows of a file: what the reader of a format gives, and batches of equal size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

#: Number of rows of a batch.
BATCH = 250_000

#: Kinds of columns by their names: "number", "bool", "text", "empty", or "other" for cells that are not single values.
Columns = dict[str, str]


@dataclass
class Batches:
    """The rows of a file as Arrow tables of any size."""

    tables: Iterator[Any]
    #: Returns the share of the file that its first n rows take.
    share_read: Callable[[int], float]
    #: Number of rows that were skipped so far.
    n_skipped: int = 0


class FileFormat(ABC):
    """Reads files of a format."""

    #: The options for reading, as JSON.
    options: Any = None

    @abstractmethod
    def columns(self, path: str) -> Columns:
        """Return the names and kinds of the columns of a file."""

    def unify(self, paths: list[str], columns: list[Columns]) -> list[Columns]:
        """Return the columns of all files, with kinds that may depend on all files."""
        return columns

    @abstractmethod
    def batches(self, path: str, columns: Columns, wanted: Sequence[str], label: Any, skip: bool) -> Batches:
        """Read the wanted columns of a file; `skip` leaves out rows that cannot be read or have no label."""

    @abstractmethod
    def type_remedy(self, name: str) -> str:
        """What a user can do about a column whose type differs between files."""


def regroup(tables: Iterable[Any]) -> Iterator[Any]:
    """Cut tables into tables of `BATCH` rows, so that sums do not depend on the batches of a reader."""
    pyarrow, n_rows = require("pyarrow"), BATCH
    waiting: list[Any] = []
    n_waiting = 0
    for table in tables:
        waiting.append(table)
        n_waiting += table.num_rows
        if n_waiting < n_rows:
            continue
        whole = waiting[0] if len(waiting) == 1 else pyarrow.concat_tables(waiting)
        waiting.clear()  # frees the memory of batches that have been used
        del table
        start = 0
        while whole.num_rows - start >= n_rows:
            yield whole.slice(start, n_rows)
            start += n_rows
        n_waiting = whole.num_rows - start
        waiting = [whole.slice(start)] if n_waiting else []
        del whole
    if n_waiting:
        yield waiting[0] if len(waiting) == 1 else pyarrow.concat_tables(waiting)


def require(module: str) -> Any:
    """Import an optional library; the error says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise ImportError(
            f"Files are read with {name}, which is not installed. Install what the extra 'files' of sunrise names, "
            "with: pip install pyarrow duckdb"
        ) from None


def with_labels(table: Any, label: Any, skip: bool, batches: Batches) -> Any:
    """Return a table without the rows that have no label, if rows are skipped; the number of rows is noted."""
    if not skip or label not in table.column_names:
        return table
    compute = require("pyarrow.compute")
    present = compute.is_valid(table[label])
    if str(table.schema.field(label).type) in ("double", "float", "halffloat"):
        present = compute.and_(
            present, compute.invert(compute.fill_null(compute.is_nan(table[label]), False))
        )
    kept = table.filter(present)
    batches.n_skipped += table.num_rows - kept.num_rows
    return kept
