"""The code of the page on clusters runs: Spark, Dask and Ray, where they are installed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import sunrise as sr
from spark_session import environment

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"
BLOCKS = re.findall(r"```py\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # of these libraries
]


@pytest.fixture
def folder(table, tmp_path, monkeypatch):
    """A current folder with the folder `rows` of four Parquet files."""
    from pyarrow import parquet

    (tmp_path / "rows").mkdir()
    table = table.drop_columns(["weight", "note"])
    for k in range(4):
        parquet.write_table(table.slice(k * 2250, 2250), tmp_path / "rows" / f"part-{k}.parquet")
    monkeypatch.chdir(tmp_path)
    return table


def run(mark, **names):
    (block,) = (block for block in BLOCKS if mark in block)
    block = block.replace('"rows', f'"{Path.cwd()}/rows').replace('"scored"', f'"{Path.cwd()}/scored"')
    space = {"sr": sr, **names}
    exec(compile(block, str(PAGE), "exec"), space)
    return space["model"]


def check(model, table):
    """The statistics are those of all rows under the schema of the model."""
    memory = sr.Accumulator(model.schema_).update(table, "label").model(sr.NaiveBayes(calibrate=None))
    assert np.array_equal(model.class_count_, memory.class_count_)
    assert model.class_count_.sum() == table.num_rows
    cells = table.drop_columns(["label"])
    model = sr.Accumulator(model.schema_)._with(model.stats_).model(sr.NaiveBayes(calibrate=None))
    np.testing.assert_allclose(model.predict_proba(cells), memory.predict_proba(cells), rtol=1e-9, atol=1e-12)


def test_spark(spark, folder):
    check(run("sr.spark.fit(", spark=spark), folder)


def test_files(spark, folder):
    check(run("sr.spark.fit_files(", spark=spark), folder)


def test_dask(folder):
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    check(run("import dask"), folder)


def test_ray(folder):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        runtime_env={"env_vars": {"PYTHONPATH": environment()["PYTHONPATH"]}},
    )
    try:
        check(run("import ray"), folder)
    finally:
        ray.shutdown()
