"""Spark Connect: the same fit, the same predictions and the same error, without a JVM in the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from spark_session import SETTINGS, environment, skip_without_spark


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_connect(table, tmp_path):
    skip_without_spark()
    from pyarrow import parquet

    for module in ("grpc", "grpc_status", "google.api"):
        pytest.importorskip(
            module, reason="Spark Connect needs grpcio, grpcio-status and googleapis-common-protos"
        )
    file = tmp_path / "rows.parquet"
    parquet.write_table(table, file)
    script = Path(__file__).with_name("connect_session.py")
    settings = [f"{key}={value}" for key, value in SETTINGS.items()]
    done = subprocess.run(
        [sys.executable, script, file, *settings],
        env=os.environ | environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = done.stdout.splitlines()
    if any(line.startswith("SKIP") for line in lines):
        pytest.skip(next(line for line in lines if line.startswith("SKIP")))
    assert done.returncode == 0, done.stderr[-3000:]
    assert lines[-1] == "FITTED"
    assert lines[-2].startswith("DEAD Spark could not finish the job") and "exited unexpectedly" in lines[-2]
