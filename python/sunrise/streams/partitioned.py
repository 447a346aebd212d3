"""Partitioned sources: tables on a cluster. The machines that hold the rows compute statistics and predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import Piece, Source

#: End of the error for an estimator that cannot be fitted on a cluster; the name of the estimator comes first.
NOT_ON_CLUSTERS = (
    "cannot be fitted on a cluster. Use NaiveBayes, for example NaiveBayes('gaussian') in "
    "place of GaussianNB()."
)


class Partitioned(Source):
    """A table in partitions. The cluster sends a sample of the rows and the statistics, never all rows."""

    #: Name of the kind of table, for error texts.
    kind: str

    @abstractmethod
    def empty_table(self) -> Any:
        """Return an Arrow table with 0 rows and the columns of the source.

        Fit reads the names and types of the columns from it before any row is read.
        """

    @abstractmethod
    def content_sample(self, most: int, label: str, weight: str | None) -> ContentSample:
        """Return the sample of the `most` rows with the smallest hashes, see `ContentSample`.

        `label` and `weight` are the names of the columns with labels and weights.
        """

    @abstractmethod
    def statistics(
        self, schema: Schema, label: str, weight: str | None, first: Stats | None = None
    ) -> Stats | None:
        """Return the statistics of all rows under a schema; None if no row has a positive weight.

        `first` are statistics known before, of a sample or of earlier rows, that help to plan the computation.
        """

    @abstractmethod
    def predictions(self, model: Any, output: str, names: list[str]) -> Any:
        """Return a table of the same kind with the columns of the source and predictions under these names.

        `output` is "predict" for the class, "proba" or "log_proba" for one column per class.
        """

    def pieces(self) -> Iterator[Piece]:
        """Raise TypeError: the rows stay on the cluster."""
        raise TypeError(
            f"The rows of a {self.kind} stay on the cluster and cannot be read one batch at a time."
        )
