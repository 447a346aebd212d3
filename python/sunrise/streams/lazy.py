"""Lazy tables as sources: which way their statistics are computed, and a sample drawn by their engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from sunrise.data.columns import lazy_kind_of
from sunrise.data.errors import closest
from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.streams.grouped import Grouped
from sunrise.streams.pushdown import PushDown, combine, rest_of, rest_pieces
from sunrise.streams.relation import BATCH_ROWS, Relation
from sunrise.streams.source import FINDERS, Piece

__all__ = ["lazy"]

logger = logging.getLogger("sunrise")

#: Most columns that are pushed down by default: a wide query takes longer to plan than batches take to read.
MOST_COLUMNS = 200
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
                similar = closest(name, self.names)
                hint = "" if similar is None else f" Do you mean {similar!r}?"
                raise ValueError(f"{argument} is {name!r}, but X has no column of this name.{hint}")
        if not self.pushes_down:
            logger.info("%s table of %d columns: read in batches", self.backend, len(self.names))
            return False
        self._grouped = Grouped.of(self, label, weight, who, n_jobs)
        return True

    @property
    def pushes_down(self) -> bool:
        """True if the engine computes the statistics that it can."""
        return len(self.names) <= MOST_COLUMNS if self.push_down == "auto" else bool(self.push_down)

    def sample(self, most: int) -> Iterator[Piece] | None:
        """Read a sample of more than `most` rows, drawn by the engine; None if all rows have to be read."""
        grouped = self._grouped
        if grouped is None or (n_rows := int(grouped.rows.sum())) <= 2 * most:
            return None
        drawn = _draw(self.kind, grouped.frame.to_native(), SURPLUS * most / n_rows)
        return None if drawn is None else self.batches(drawn)

    def add_up(
        self, schema: Schema, first: Stats, read: Callable[[Iterator[Piece], Schema], Stats]
    ) -> Stats | None:
        """Return the statistics of all rows; None if all columns have to be read in batches.

        `first` are the statistics of a sample; `read` adds up batches under a schema.
        """
        if self._grouped is None:
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
        columns in batches. "auto" pushes down tables of at most 200 columns.
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
    """Return about this share of the rows, chosen by a hash of their cells; None if the engine has no hash."""
    if kind == "duckdb":
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in table.columns)
        return table.filter(f"hash({names}) < {int(share * 2**64)}::UBIGINT")
    if kind == "polars":
        import polars as pl

        return table.filter(pl.struct(pl.all()).hash(seed=0) < int(share * 2**64))
    return None


FINDERS.append(lazy_table_of)
