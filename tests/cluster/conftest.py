"""One Spark session for all tests of this folder; they run in one process of pytest-xdist."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python"


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


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "OFF",
}


@pytest.fixture(scope="session")
def spark():
    """A local session that runs a task at most twice."""
    skip_without_spark()
    os.environ.update(environment())
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def table():
    """Columns of several kinds with missing cells, one of them far from 0, and a text."""
    import pyarrow as pa

    rng = np.random.default_rng(5)
    n = 9_000
    y = rng.integers(0, 3, n)
    words = np.array(["sun moon", "rain wind sun", "snow ice wind rain", ""])

    def with_gaps(values, every):
        return pa.array(values, mask=np.arange(n) % every == 0)

    return pa.table(
        {
            "far": with_gaps(1e9 + rng.normal(y, 1.0), 7),
            "amount": with_gaps(rng.gamma(2.0 + y), 11),
            "visits": with_gaps(rng.poisson(2.0 + y), 13),
            "member": with_gaps(rng.random(n) < 0.2 + 0.2 * y, 5),
            "colour": with_gaps(np.array(["red", "green", "blue"])[(y + rng.integers(0, 2, n)) % 3], 9),
            "note": with_gaps(words[(y + rng.integers(0, 2, n)) % 4], 17),
            "weight": pa.array(rng.integers(0, 4, n).astype(float)),
            "label": pa.array(np.array(["low", "mid", "top"])[y]),
        }
    )
