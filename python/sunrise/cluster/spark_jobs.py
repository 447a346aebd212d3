"""Jobs of Spark: parts of partitions added up, and one error for a job that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sunrise._common import warnings as categories
from sunrise._common.warnings import alert
from sunrise.cluster.errors import ClusterError
from sunrise.cluster.parts import from_bytes
from sunrise.cluster.tasks import FAN_IN, RESULT, AddUp, Columns, Merge, Result
from sunrise.streams.sample import ContentSample


def total(parts: Any, kind: str) -> Any:
    """Return the sum of the parts in a DataFrame of results, in the order of the partitions; None without parts.

    Tasks merge `FAN_IN` neighbours each, so the driver receives few parts.
    """
    from pyspark.sql import functions as sql

    by_group = parts.repartition(sql.floor(sql.col("partition") / FAN_IN))
    with one_error():
        rows = Result.rows(by_group.mapInArrow(Merge(kind), RESULT).toArrow())
    if not rows:
        return None
    result = Result.sum(rows, kind)
    if result.problem is not None:
        raise ValueError(result.problem)
    if result.warning is not None:
        alert(result.warning, getattr(categories, str(result.category), UserWarning))
    return None if result.part is None else from_bytes(result.part, kind)


def draw_sample(most: int, columns: Columns, n_rows: int, run: Callable[[AddUp], Any]) -> ContentSample:
    """Return the sample of `n_rows` rows; `run` adds up all partitions by a task.

    The number of rows tells which hashes are small enough, nearly: tasks return only rows below twice that hash. If
    many rows are equal, these are too few, and the tasks draw again without a limit.
    """
    limit = (2 * most << 64) // n_rows if n_rows > 8 * most else None
    sample = run(AddUp(columns, most=most, limit=limit))
    if limit is not None and (sample is None or len(sample.hashes) < most):
        sample = run(AddUp(columns, most=most))
    return ContentSample(most) if sample is None else sample


@contextmanager
def one_error() -> Iterator[None]:
    """Raise ClusterError for the errors of Spark, which differ between classic and Connect."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:  # a client of Connect has no py4j
        Py4JError = PySparkException
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise ClusterError(
            f"Spark could not finish the job: {_reason(error)}. The model is unchanged. If a worker has died, it may "
            "lack memory: raise spark.executor.memoryOverhead, or use more partitions. If sunrise cannot be imported "
            "there, see docs/cluster.md."
        ) from error


def _reason(error: Exception) -> str:
    """Return the line of an error of Spark that names the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for mark in ("ModuleNotFoundError: ", "exited unexpectedly", "Error: ", "Exception: "):
        for line in lines:
            if mark in line and not line.startswith(("at ", "File ", ":")):
                return line.removeprefix("Caused by: ")[:300].rstrip(".")
    return (lines[0] if lines else type(error).__name__)[:300].rstrip(".")


def quoted(name: str) -> str:
    """Return a column name as Spark reads it literally, with dots and spaces."""
    return "`" + name.replace("`", "``") + "`"
