"""A local Spark session for tests; they run in one process of pytest-xdist."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "python"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "OFF",
}
#: Marks of a module whose tests use the session.
MARKS = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:.*pandas >= 3.0.0:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def skip_without_spark():
    """Skip where pyspark or Java is absent; return pyspark."""
    if sys.platform == "win32":
        pytest.skip("Spark on Windows needs the binaries of Hadoop")
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is not installed")
    return pyspark


def environment():
    """The variables that workers need: this Python, and the package of this folder."""
    paths = [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def open_session():
    """Return a local session that runs a task at most twice."""
    skip_without_spark()
    os.environ.update(environment())
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
