"""Lazy tables as sources: which way their statistics are computed, and a sample drawn by their engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from sunrise.data.columns import lazy_kind_of
from sunrise.data.errors import closest
from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.streams.expressions import are_available
from sunrise.streams.grouped import Grouped
from sunrise.streams.pushdown import PushDown, combine, rest_of, rest_pieces
from sunrise.streams.relation import BATCH_ROWS, Relation
from sunrise.streams.source import FINDERS, Piece
from sunrise.streams.sql import quoted

__all__ = ["lazy"]

logger = logging.getLogger("sunrise")

#: Most columns that are pushed down by default: a wide query takes longer to plan than batches take to read.
MOST_COLUMNS = 200
#: Fewest rows per column that a local engine gets by default, because every column costs a query or a part of one.
#: CPU seconds of push-down and of batches with 2 classes (`python -m benchmarks.lazy`), for DuckDB and for polars:
#: 2,000,000 rows x 20 columns 1.1 and 1.9, 0.8 and 1.2; 300,000 x 20 0.36 and 0.46, 0.25 and 0.28;
#: 200,000 x 100 1.4 and 1.5, 0.9 and 0.8; 60,000 x 400 3.6 and 1.7, 2.0 and 1.2.
ROWS_PER_COLUMN = 2000
#: Engines in the process of the caller. Rows of all others travel: PostgreSQL took 2.3 s for 300,000 rows x 20 columns
#: and 6.0 s to send them over a socket, which took 3.5 s of the client's CPU instead of 0.4.
LOCAL = ("polars", "duckdb", "sqlite", "datafusion")
#: Rows of the sample that the engine draws, relative to the rows that are kept of it.
SURPLUS = 1.25


class LazyTable(Relation):
    """A lazy table whose statistics its engine computes where it can."""

    #: How the latest fit has added up each column: "sums", "values" or "batches"; None before.
    ways: dict[str, str] | None = None
    _grouped: Grouped | None = None

    def group(self, label: str, weight: str | None, who: str, n_jobs: int | None) -> bool:
        """Count the rows by label, if the engine is to compute statistics; return whether it is."""
        for argument, name in (("y", label), ("sample_weight", weight)):
            if name is not None and name not in self.types:
                similar = closest(name, list(self.types))
                hint = "" if similar is None else f" Do you mean {similar!r}?"
                raise ValueError(f"{argument} is {name!r}, but X has no column of this name.{hint}")
        self._grouped, why = None, "push_down=False"
        if not are_available():
            why = "the installed narwhals is too old; install a newer one"
            if self.push_down is True:
                raise ImportError(f"push_down=True: {why}.")
        elif self.push_down is not False:
            grouped = Grouped.of(self, label, weight, who, n_jobs)
            why = "" if self.push_down is True else self._reason_for_batches(int(grouped.rows.sum()))
            self._grouped = None if why else grouped
        if why:
            self.ways = None
            logger.info("%s table: all columns read in batches (%s)", self.backend, why)
        return not why

    def _reason_for_batches(self, n_rows: int) -> str:
        """Return why batches are faster than the engine; an empty string if they are not."""
        n_columns = len(self.types)
        if n_columns > MOST_COLUMNS:
            return f"{n_columns:,} columns, more than {MOST_COLUMNS:,}"
        if self.backend in LOCAL and n_rows < ROWS_PER_COLUMN * n_columns:
            return f"{n_rows:,} rows, fewer than {ROWS_PER_COLUMN:,} for each of {n_columns} columns"
        return ""

    def sample(self, most: int) -> Iterator[Piece] | None:
        """Read a sample of more than `most` rows, drawn by the engine; None if all rows have to be read."""
        grouped = self._grouped
        if grouped is None or (n_rows := int(grouped.rows.sum())) <= 2 * most:
            return None
        drawn = _draw(self.kind, self.table, SURPLUS * most / n_rows)
        return None if drawn is None else self.batches(drawn)

    def add_up(
        self, schema: Schema, first: Stats, read: Callable[[Iterator[Piece], Schema], Stats]
    ) -> Stats | None:
        """Return the statistics of all rows; None if all columns have to be read in batches.

        `first` are the statistics of a sample; `read` adds up batches under a schema.
        """
        if (
            self._grouped is None or schema.rules is not None
        ):  # engines do not know the rules of derived columns
            return None
        if (
            schema.interactions or schema.counted
        ):  # counts of pairs are not pushed down, and batches read each column once
            logger.info("%s table: all columns read in batches (the model has interactions)", self.backend)
            return None
        push = PushDown(self._grouped, schema, first)
        done = push.statistics()
        rest_schema = rest_of(schema, done)
        pieces = rest_pieces(self._grouped, rest_schema)
        rest = None if pieces is None else read(pieces, rest_schema)
        self.ways = push.ways(done)
        logger.info("%s table: %s", self.backend, push.describe(done))
        return combine(self._grouped, schema, done, rest)


def lazy(X: Any, *, push_down: bool | str = "auto", batch_rows: int = BATCH_ROWS) -> LazyTable:
    """Return a lazy table (polars LazyFrame, DuckDB relation, Ibis table) with options for `fit`.

    A lazy table can be passed to `fit` itself; this function sets how it is read.

    Parameters
    ----------
    X : polars.LazyFrame, duckdb.DuckDBPyRelation or ibis.Table
        The table, with a column of labels.
    push_down : {"auto", True, False}
        True lets the engine of the table compute sums and counts, and reads only the other columns. False reads all
        columns in batches. "auto" pushes down tables of at most 200 columns, of a local engine (polars, DuckDB) if
        they have at least 2,000 rows per column. The logger "sunrise" tells which way was taken (level INFO), and the
        attribute `ways` of the returned object how each column was added up.
    batch_rows : int
        Rows of a batch.

    Examples
    --------
    >>> import polars as pl
    >>> import sunrise as sr
    >>> people = pl.LazyFrame({"height": [1.62, 1.71, 1.93, 1.88], "sex": ["f", "f", "m", "m"]})
    >>> sr.NaiveBayes().fit(sr.lazy(people, push_down=False), y="sex").classes_
    array(['f', 'm'], dtype=object)
    """
    if lazy_kind_of(X) is None:
        raise TypeError(
            f"X is of type {type(X).__name__}, not a lazy table. Pass a polars LazyFrame, a DuckDB relation or an Ibis "
            "table; pass other tables to fit as they are."
        )
    return LazyTable(X, push_down, batch_rows)


def lazy_table_of(X: Any) -> LazyTable | None:
    """Return the source of a lazy table; None for anything else."""
    return None if lazy_kind_of(X) is None else LazyTable(X)


def _draw(kind: str | None, table: Any, share: float) -> Any:
    """Return about this share of the rows, always the same ones; None if the engine cannot draw them.

    polars and DuckDB draw by a hash of the cells, so the order of the rows does not matter.
    """
    if kind == "duckdb":
        names = ", ".join(map(quoted, table.columns))
        return table.filter(f"hash({names}) < {int(share * 2**64)}::UBIGINT")
    if kind == "polars":
        import polars as pl

        return table.filter(pl.struct(pl.all()).hash(seed=0) < int(share * 2**64))
    from ibis.common.exceptions import IbisError  # type: ignore[import-untyped, unused-ignore, import-not-found]

    try:  # only tables that are stored can be sampled repeatably
        drawn = table.sample(share, method="row", seed=0)
        table.get_backend().compile(drawn)
        return drawn
    except IbisError:
        return None


FINDERS.append(lazy_table_of)
