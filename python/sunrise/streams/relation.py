"""Relations: lazy tables (polars LazyFrame, DuckDB relation, Ibis table), read in batches and never loaded whole."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from typing import Any

from sunrise.data.columns import lazy_kind_of
from sunrise.streams.source import Piece, Source, n_rows_of

#: Rows of a batch: large enough that a batch costs little beside its rows, small enough for the memory.
BATCH_ROWS = 1 << 17
#: What `push_down` may be.
PUSH_DOWN = ("auto", True, False)


class NarwhalsTable:
    """A lazy table that narwhals queries."""

    table: Any

    @cached_property
    def frame(self) -> Any:
        """The table as a lazy frame of narwhals."""
        import narwhals.stable.v2 as nw

        return nw.from_native(self.table)

    @cached_property
    def types(self) -> dict[str, Any]:
        """The narwhals types of the columns."""
        return dict(self.frame.collect_schema())


class Relation(NarwhalsTable, Source):
    """A lazy table to fit or to predict.

    `push_down` says where statistics are computed: True by the engine of the table, for every column whose family
    allows it; False by Sunrise, from batches of `batch_rows` rows; "auto" by the way that takes less time according to
    measured rules (`sunrise.streams.lazy`).
    """

    def __init__(self, table: Any, push_down: bool | str = "auto", batch_rows: int = BATCH_ROWS) -> None:
        if not any(push_down is choice or push_down == choice for choice in PUSH_DOWN):
            raise ValueError(f'push_down is {push_down!r}; it must be "auto", True or False.')
        self.table, self.push_down, self.batch_rows = native_table(table), push_down, batch_rows
        self.kind = lazy_kind_of(self.table)
        self._open: list[Generator[Piece, None, None]] = []

    def __repr__(self) -> str:
        return f"Relation of {self.kind} with {len(self.types)} columns, push_down={self.push_down!r}"

    @cached_property
    def backend(self) -> str:
        """The engine that computes the rows: polars, duckdb, or the name of the backend of Ibis."""
        return str(self.table.get_backend().name if self.kind == "ibis" else self.kind)

    def pieces(self) -> Iterator[Piece]:
        """Read all columns in batches."""
        return self.batches(self.table)

    def batches(self, table: Any) -> Iterator[Piece]:
        """Read the rows of a lazy table of the same kind in batches."""
        pieces = self._pieces(table)
        self._open.append(pieces)
        return pieces

    def _pieces(self, table: Any) -> Generator[Piece, None, None]:
        first = 0
        for number, batch in enumerate(_batches(self.kind, table, self.batch_rows)):
            yield Piece(batch, f"batch {number} of the {self.kind} table", first)
            first += n_rows_of(batch)

    def close(self) -> None:
        """Close the readers of batches that have not been read to the end."""
        while self._open:
            self._open.pop().close()

    def selected(self, names: Sequence[str]) -> Any:
        """Return a lazy table with only the columns of these names, in this order; no row is read.

        The result has the type of `table`: a LazyFrame of polars gives a LazyFrame.
        """
        return self.frame.select(*names).to_native()


def _batches(kind: str | None, table: Any, rows: int) -> Iterator[Any]:
    """Read a lazy table in frames of about `rows` rows."""
    if kind == "polars":
        for frame in table.collect_batches(chunk_size=rows, maintain_order=True):
            if len(frame):
                yield frame
        return
    reader = table.to_arrow_reader(rows) if kind == "duckdb" else table.to_pyarrow_batches(chunk_size=rows)
    try:
        for batch in reader:
            if batch.num_rows:
                yield batch
    finally:
        reader.close()  # a connection with an open result refuses further queries


def native_table(table: Any) -> Any:
    """Return the table of the engine itself: an Ibis table on DuckDB as a relation of DuckDB.

    Ibis reads batches by a method that DuckDB 2 does not have.
    """
    if lazy_kind_of(table) != "ibis" or (backend := table.get_backend()).name != "duckdb":
        return table
    table.limit(0).to_pyarrow()  # registers tables in memory
    return backend.con.sql(backend.compile(table))
