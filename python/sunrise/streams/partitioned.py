"""Partitioned sources: tables on a cluster, which add up their rows where they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import Piece, Source


class Partitioned(Source):
    """A table in partitions. Samples and statistics come from the cluster, never the rows."""

    #: Name of the kind of table, for error texts.
    kind: str

    @abstractmethod
    def empty_table(self) -> Any:
        """Return a table without rows that has the columns of the source and their types."""

    @abstractmethod
    def content_sample(self, most: int, label: str, weight: str | None) -> ContentSample:
        """Return the sample of the rows with the smallest hashes."""

    @abstractmethod
    def statistics(self, schema: Schema, label: str, weight: str | None) -> Stats | None:
        """Return the statistics of all rows; None if no row has a positive weight."""

    def pieces(self) -> Iterator[Piece]:
        """Raise TypeError: the rows stay on the cluster."""
        raise TypeError(
            f"The rows of a {self.kind} stay on the cluster and cannot be read one batch at a time."
        )
