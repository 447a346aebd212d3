"""Fit, predict and die on Spark Connect: a process of its own, because one process has one kind of session."""

from __future__ import annotations

import os
import sys

import sunrise as sr


def dies(batches):
    os._exit(1)
    yield from batches


def main(file: str, settings: list[str]) -> None:
    from pyarrow import compute, parquet
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]")
    for setting in settings:
        builder = builder.config(*setting.split("=", 1))
    try:
        spark = builder.getOrCreate()
        spark.range(1).collect()
    except Exception as error:
        print("SKIP", str(error).replace("\n", " ")[:500])
        return
    assert "connect" in type(spark).__module__
    frame = spark.read.parquet(file).repartition(3)
    rows = parquet.read_table(file)
    families = {"far": "gaussian", "colour": "categorical", "note": "text"}
    frame, rows = frame.select(*families, "label"), rows.select([*families, "label"])
    model = sr.spark.fit(sr.NaiveBayes(families, calibrate=None), frame, y="label")
    memory = sr.NaiveBayes(families, calibrate=None).fit(rows, "label")
    cells = rows.drop_columns(["label"])
    assert abs(model.predict_proba(cells) - memory.predict_proba(cells)).max() < 1e-12
    result = sr.spark.predict(model, frame).toArrow()
    assert result.num_rows == rows.num_rows
    again = model.predict_proba(result.select(list(families)))
    assert abs(compute.list_flatten(result["probabilities"]).to_numpy() - again.ravel()).max() < 1e-12
    files = sr.spark.fit_files(
        sr.NaiveBayes(
            families | dict.fromkeys(set(parquet.read_schema(file).names) - {*families, "label"}),
            calibrate=None,
        ),
        file,
        y="label",
    )
    assert abs(files.predict_proba(cells) - memory.predict_proba(cells)).max() < 1e-12
    unfitted = sr.NaiveBayes(families, calibrate=None)
    try:
        sr.spark.fit(unfitted, frame.mapInArrow(dies, frame.schema), y="label")
    except sr.ClusterError as error:
        print("DEAD", str(error).replace("\n", " "))
    assert not hasattr(unfitted, "classes_")
    print("FITTED")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
