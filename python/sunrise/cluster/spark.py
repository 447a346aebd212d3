"""Spark: fit and predict of a DataFrame, classic or Connect, and of Parquet files that the tasks read themselves.

A task adds up the rows of one partition and returns one row with its statistics, which are added up in the order of the
partitions. So the result does not depend on the order in which tasks end, nor on tasks that are run again.
"""

from __future__ import annotations

from typing import Any

from sunrise.cluster.row_groups import AddUpFiles, files_of, open_file, packed, row_groups, shared_out
from sunrise.cluster.spark_jobs import draw_sample, one_error, quoted, total
from sunrise.cluster.spark_sums import PUSH_DOWN, pushed_statistics
from sunrise.cluster.tasks import RESULT, AddUp, Columns, Predict
from sunrise.data.errors import closest
from sunrise.model.schema import Schema
from sunrise.statistics.model import Stats
from sunrise.store.accumulator import Accumulator
from sunrise.streams.partitioned import NOT_ON_CLUSTERS, Partitioned
from sunrise.streams.sample import ContentSample
from sunrise.streams.source import FINDERS, Source

__all__ = ["fit", "fit_files", "predict"]


class SparkFrame(Partitioned):
    """A DataFrame of Spark."""

    kind = "Spark DataFrame"

    def __init__(self, frame: Any, push_down: bool | str = "auto") -> None:
        if not any(push_down is choice or push_down == choice for choice in PUSH_DOWN):
            raise ValueError(f'push_down is {push_down!r}; it must be "auto", True or False.')
        self._frame, self._push_down = frame, push_down

    def empty_table(self) -> Any:
        """Return an Arrow table without rows that has the columns of the DataFrame and their types."""
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(self._frame.schema).empty_table()

    def content_sample(self, most: int, label: str, weight: str | None) -> ContentSample:
        """Return the sample of the rows with the smallest hashes."""
        with one_error():
            n_rows = self._frame.count()
        return draw_sample(most, Columns(label, weight), n_rows, lambda task: _total(self._frame, task))

    def statistics(
        self, schema: Schema, label: str, weight: str | None, first: Stats | None = None
    ) -> Stats | None:
        """Return the statistics of all rows, by SQL if that is faster."""
        needed = _needed(schema, label, weight)
        frame = self._frame.select(*(quoted(name) for name in self._frame.columns if name in needed))

        def by_tasks(schema: Schema) -> Stats | None:
            return _statistics(_total(frame, AddUp(Columns(label, weight), Accumulator(schema).to_bytes())))

        pushed = pushed_statistics(frame, schema, (label, weight), first, self._push_down, by_tasks)
        return by_tasks(schema) if pushed is None else pushed

    def predictions(self, model: Any, output: str, names: list[str]) -> Any:
        """Return a DataFrame with the columns of this one and predictions."""
        from pyspark.sql import functions as sql

        if output == "log_proba":
            raise TypeError("as_frame=True is not available for log probabilities of a DataFrame of Spark.")
        if output == "predict":
            return predict(model, self._frame, probabilities=False, prediction=names[0])
        label, array = "sunrise: prediction", "sunrise: probabilities"
        if taken := [name for name in names if name in self._frame.columns]:
            raise ValueError(
                f"The DataFrame has a column {taken[0]!r}, the name of a class. Rename it, or use "
                "sunrise.spark.predict."
            )
        found = predict(model, self._frame, prediction=label, probability=array)
        cells = [sql.col(quoted(array))[k] for k in range(len(names))]
        columns = [cell.alias(name) for cell, name in zip(cells, names, strict=True)]
        return found.select(*map(quoted, self._frame.columns), *columns)


class SparkFiles(Partitioned):
    """Parquet files that the tasks of Spark read themselves."""

    kind = "list of files"

    def __init__(self, spark: Any, paths: Any, n_tasks: int | None) -> None:
        self._spark = spark
        files = files_of(paths)
        with open_file(files[0]) as file:
            self._schema = file.schema_arrow
        groups = row_groups(files)
        self._n_rows = sum(group.n_rows for group in groups)
        tasks = shared_out(groups, n_tasks)
        self._n_tasks, self._plan = len(tasks), packed(tasks)

    def empty_table(self) -> Any:
        """Return an Arrow table without rows that has the columns of the first file and their types."""
        return self._schema.empty_table()

    def content_sample(self, most: int, label: str, weight: str | None) -> ContentSample:
        """Return the sample of the rows with the smallest hashes."""
        return draw_sample(
            most, Columns(label, weight), self._n_rows, lambda task: self._total_of_files(task, None)
        )

    def statistics(
        self, schema: Schema, label: str, weight: str | None, first: Stats | None = None
    ) -> Stats | None:
        """Return the statistics of all rows."""
        needed = _needed(schema, label, weight)
        names = tuple(name for name in self._schema.names if name in needed)
        task = AddUp(Columns(label, weight), Accumulator(schema).to_bytes())
        return _statistics(self._total_of_files(task, names))

    def predictions(self, model: Any, output: str, names: list[str]) -> Any:
        """Raise TypeError: files have no rows on the cluster before they are read."""
        raise TypeError("Predict the DataFrame of the files: spark.read.parquet(...).")

    def _total_of_files(self, task: AddUp, columns: tuple[str, ...] | None) -> Any:
        if not self._n_tasks:
            return None
        numbers = self._spark.range(0, self._n_tasks, 1, self._n_tasks)
        return _total(numbers, task, AddUpFiles(task, self._plan, columns))


def _needed(schema: Schema, label: str, weight: str | None) -> set[Any]:
    """Return the names of the columns that statistics depend on."""
    return {*schema.inputs_of([*schema.used, *(schema.names[j] for j in schema.asleep)]), label, weight}


def _total(frame: Any, task: AddUp, run: Any = None) -> Any:
    return total(frame.mapInArrow(run or task, RESULT), task.kind)


def _statistics(sum_of_all: Accumulator | None) -> Stats | None:
    return None if sum_of_all is None else sum_of_all.stats


def fit(
    model: Any,
    frame: Any,
    y: str,
    sample_weight: str | None = None,
    *,
    push_down: bool | str = "auto",
) -> Any:
    """Fit a model to a Spark DataFrame, and return it; the same as `model.fit(frame, y, sample_weight)`.

    Parameters
    ----------
    model : NaiveBayes
        The model to fit.
    frame : pyspark.sql.DataFrame
        The rows, on a classic session or on Spark Connect.
    y : str
        Name of the column with the labels.
    sample_weight : str, default=None
        Name of the column with the weights of the rows.
    push_down : {"auto", True, False}
        True lets Spark add up the columns whose statistics are sums (Gaussian, log-normal, gamma, Bernoulli and others)
        in SQL. False sends all rows to tasks in Python. "auto" uses SQL if all columns are sums, there are at least 50
        million cells, and the DataFrame reads stored or cached rows, because SQL reads it several times. The logger
        "sunrise" tells the decision (level INFO).
    """
    if _spark_frame(frame) is None:
        raise TypeError(f"frame is of type {type(frame).__name__}; pass a DataFrame of Spark.")
    return _reader(model).fit(SparkFrame(frame, push_down), y, sample_weight)


def fit_files(
    model: Any,
    paths: Any,
    y: str,
    sample_weight: str | None = None,
    *,
    spark: Any = None,
    n_tasks: int | None = None,
) -> Any:
    """Fit a model to Parquet files that the tasks of Spark read themselves, and return it.

    This is several times as fast as a DataFrame: Spark spends most of the time of `fit` on handing over rows.

    Parameters
    ----------
    model : NaiveBayes
        The model to fit.
    paths : str, path-like or list of them
        Files and folders, as all workers see them: of a shared file system, or addresses such as s3://bucket/folder.
    y : str
        Name of the column with the labels.
    sample_weight : str, default=None
        Name of the column with the weights of the rows.
    spark : SparkSession, default=None
        The session, classic or Connect; None for the active one.
    n_tasks : int, default=None
        Number of tasks, at most one per row group; None for one per row group, at most 1,024 or one per 512 MiB, and
        at most 20,000.
    """
    if spark is None:
        from pyspark.sql import SparkSession

        spark = SparkSession.active()
    return _reader(model).fit(SparkFiles(spark, paths, n_tasks), y, sample_weight)


def _reader(model: Any) -> Any:
    """Return the model; raise TypeError if it cannot be fitted on a cluster."""
    if not getattr(model, "_reads_sources", False):
        raise TypeError(f"{type(model).__name__} {NOT_ON_CLUSTERS}")
    return model


def predict(
    model: Any,
    frame: Any,
    probabilities: bool = True,
    *,
    prediction: str = "prediction",
    probability: str = "probabilities",
) -> Any:
    """Return a Spark DataFrame with the columns of `frame` and the prediction of every row.

    Parameters
    ----------
    model : fitted estimator
        The model; it is sent to the workers in the format of a model file.
    frame : pyspark.sql.DataFrame
        The rows. Columns that the model does not know, such as identifiers, are passed on.
    probabilities : bool, default=True
        True adds a second column: an array with the probability of every class, in the order of `classes_`.
    prediction, probability : str
        Names of the new columns.
    """
    model._require_fitted()
    schema: Schema = model._model.schema
    if absent := [name for name in schema.inputs_of(schema.used) if name not in frame.columns]:
        similar = closest(absent[0], frame.columns)
        hint = "" if similar is None else f" Do you mean {similar!r}?"
        raise ValueError(f"The DataFrame has no column {absent[0]!r}, which the model needs.{hint}")
    from pyspark.sql import types

    added = {prediction: _label_type(types, model.classes_)}
    if probabilities:
        added[probability] = types.ArrayType(types.DoubleType())
    if taken := [name for name in added if name in frame.columns]:
        raise ValueError(
            f"The DataFrame has a column {taken[0]!r} already. Pass another name as prediction= or probability=."
        )
    unknown = tuple(name for name in frame.columns if name not in schema.inputs)
    task = Predict(b"".join(model._pieces()), unknown, prediction, probability if probabilities else None)
    fields = [*frame.schema.fields, *(types.StructField(name, kind) for name, kind in added.items())]
    return frame.mapInArrow(task, types.StructType(fields))


def _label_type(types: Any, classes: Any) -> Any:
    """Return the Spark type of class labels."""
    first = classes.tolist()[0]
    kinds = {bool: types.BooleanType, int: types.LongType, float: types.DoubleType, str: types.StringType}
    return kinds.get(type(first), types.DateType)()


def _spark_frame(X: Any) -> Source | None:
    """Return the source of a DataFrame of Spark; None for anything else."""
    is_frame = type(X).__module__.startswith("pyspark.sql") and hasattr(X, "mapInArrow")
    return SparkFrame(X) if is_frame else None


FINDERS.append(_spark_frame)
