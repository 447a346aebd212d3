"""Spark: CPU and wall time of a fit against MLlib's NaiveBayes, and the variances of columns far from 0.

    python -m benchmarks.spark [rows] [columns] [rounds]     Gaussian columns
    python -m benchmarks.spark text [rows] [words] [rounds]  texts, their words hashed to 2**18 counts

All sides read the same Parquet files in a local session with two cores. CPU time is that of the whole process tree: the
JVM, its Python workers and this process. Rounds are interleaved, after one round to warm up; numbers are medians.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import sunrise as sr
from pyarrow import parquet

FILES = 8


def cpu_of_tree(root: int) -> float:
    """Return the seconds of CPU that a process and its descendants, living and dead, have used."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    total, open_ = 0, [root]
    while open_:
        process = open_.pop()
        total += ticks.get(process, 0)
        open_ += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def write_files(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write Gaussian columns, the first of them about 1e9, in files of one row group each."""
    rng = np.random.default_rng(0)
    for k in range(FILES):
        n = n_rows // FILES
        y = rng.integers(0, 2, n)
        columns = {f"x{j}": rng.normal(0.1 * y, 1.0, n) for j in range(n_columns)}
        columns["x0"] += 1e9
        parquet.write_table(pa.table({**columns, "label": y.astype(float)}), folder / f"part-{k}.parquet")


def session() -> Any:
    """Return a local session with two cores."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    package = str(Path(sr.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.log.level", "OFF")
    return builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "100000").getOrCreate()


def sides(spark: Any, folder: str, names: list[str]) -> dict[str, Callable[[], Any]]:
    """Return one fit per side."""
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    def mllib() -> Any:
        frame = VectorAssembler(inputCols=names, outputCol="features").transform(spark.read.parquet(folder))
        return NaiveBayes(modelType="gaussian").fit(frame)

    def own() -> Any:
        return sr.NaiveBayes("gaussian", calibrate=None)

    return {
        "MLlib NaiveBayes, gaussian": mllib,
        "sr.spark.fit of the DataFrame": lambda: sr.spark.fit(own(), spark.read.parquet(folder), y="label"),
        "the same, push_down=False": lambda: sr.spark.fit(
            own(), spark.read.parquet(folder), y="label", push_down=False
        ),
        "sr.spark.fit_files": lambda: sr.spark.fit_files(own(), folder, y="label", spark=spark),
    }


def write_texts(folder: Path, n_rows: int, n_words: int) -> None:
    """Write texts of about `n_words` words, a few of which depend on the label; frequencies follow Zipf's law."""
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{k}" for k in range(50_000)])
    share = 1.0 / np.arange(1, len(vocabulary) + 1)
    ends = np.cumsum(share / share.sum())
    for k in range(FILES):
        n = n_rows // FILES
        y = rng.integers(0, 4, n)
        lengths = rng.poisson(n_words, n) + 1
        words = vocabulary[np.searchsorted(ends, rng.random(lengths.sum()), side="right")]
        stops = np.cumsum(lengths)
        texts = [
            " ".join([f"class{c}", *words[b - m : b]])
            for b, m, c in zip(stops, lengths, y.tolist(), strict=True)
        ]
        table = pa.table({"text": texts, "label": y.astype(float)})
        parquet.write_table(table, folder / f"part-{k}.parquet")


def text_sides(spark: Any, folder: str) -> dict[str, Callable[[], Any]]:
    """Return one fit to texts per side."""
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import HashingTF, Tokenizer

    def mllib() -> Any:
        words = Tokenizer(inputCol="text", outputCol="words").transform(spark.read.parquet(folder))
        return NaiveBayes().fit(HashingTF(inputCol="words", outputCol="features").transform(words))

    def own() -> Any:
        text = sr.Text("multinomial", counter=sr.text.WordCounter(hash_bits=18))
        return sr.NaiveBayes({"text": text}, calibrate=None)

    return {
        "MLlib Tokenizer, HashingTF, NaiveBayes": mllib,
        "sr.spark.fit of the DataFrame": lambda: sr.spark.fit(own(), spark.read.parquet(folder), y="label"),
        "sr.spark.fit_files": lambda: sr.spark.fit_files(own(), folder, y="label", spark=spark),
    }


def main() -> None:
    is_text = sys.argv[1:2] == ["text"]
    given = [*map(int, sys.argv[2 if is_text else 1 :])]
    n_rows, n_columns, rounds = [*given, *(200_000, 100, 3)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        (write_texts if is_text else write_files)(Path(folder), n_rows, n_columns)
        spark = session()
        names = [f"x{j}" for j in range(n_columns)]
        runs = text_sides(spark, folder) if is_text else sides(spark, folder, names)
        models = {name: run() for name, run in runs.items()}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                cpu, start = cpu_of_tree(os.getpid()), perf_counter()
                run()
                wall = perf_counter() - start
                times[name].append((cpu_of_tree(os.getpid()) - cpu, wall))
        kind = "words" if is_text else "columns"
        print(f"{n_rows:,} rows x {n_columns} {kind}, medians of {rounds} rounds")
        first = None
        for name, both in times.items():
            cpu, wall = (median(side) for side in zip(*both, strict=True))
            first = first or (cpu, wall)
            ratios = f"MLlib / this: {first[0] / cpu:.2f}, {first[1] / wall:.2f}"
            print(f"{name:38} {cpu:7.2f} s CPU, {wall:6.2f} s wall; {ratios}")
        if is_text:
            spark.stop()
            return
        table = parquet.read_table(folder, columns=["x0", "label"]).to_pandas()
        truth = (table["x0"] - 1e9).groupby(table["label"]).var(ddof=0).to_numpy()
        print("variances of a column about 1e9:", truth)
        for name, model in models.items():
            own = model.sigma.toArray()[:, 0] if name.startswith("MLlib") else variances(model)
            print(f"{name:32} {own}")
        spark.stop()


def variances(model: Any) -> Any:
    """Return the variances of the first column by class."""
    moments = model.stats_.blocks[0]
    return moments.squared_error[:, 0] / moments.observed_weight[:, 0]


if __name__ == "__main__":
    main()
