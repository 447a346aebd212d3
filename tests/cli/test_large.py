"""A CSV file of 1 GB: the memory of a fit does not grow with the file."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pyarrow
import pyarrow.csv
import pytest
import sunrise as sr

#: Bytes of the file, rows of a piece, and most memory of the process in MB. The libraries alone take about 250 MB.
SIZE, PIECE, MOST_MB = 1_000_000_000, 500_000, 900


def write_large(path) -> tuple[int, np.ndarray]:
    """Write random rows until the file has its size; return their number and the number of each class."""
    rng, n_rows, classes = np.random.default_rng(5), 0, np.zeros(2, int)
    towns = pyarrow.array(["Ulm", "Bonn", "Kiel", "Zürich", "Graz"])
    with open(path, "wb") as file:
        while file.tell() < SIZE:
            y = rng.integers(0, 2, PIECE)
            classes += np.bincount(y, minlength=2)
            cells = {f"x{k}": rng.normal(y * k / 4, 1.0) for k in range(5)}
            cells |= {
                "visits": rng.poisson(2.0 + y),
                "town": towns.take(pyarrow.array(rng.integers(0, 4 + y))),
            }
            options = pyarrow.csv.WriteOptions(include_header=n_rows == 0)
            pyarrow.csv.write_csv(pyarrow.table(cells | {"y": y}), file, options)
            n_rows += PIECE
    return n_rows, classes


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the memory of a process is read with wait4")
def test_a_file_of_one_gigabyte_is_fitted_in_bounded_memory(tmp_path):
    path, card = tmp_path / "large.csv", tmp_path / "card.json"
    n_rows, classes = write_large(path)
    arguments = [sys.executable, "-m", "sunrise.cli", "fit", str(path), "--target", "y", "--json"]
    with open(card, "w") as out:
        process = os.posix_spawn(
            arguments[0], arguments, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        )
        _, status, used = os.wait4(process, 0)
    assert status == 0
    found = json.loads(card.read_text())
    assert found["rows"] == n_rows
    assert [entry["rows"] for entry in found["classes"]] == classes.tolist()
    assert found["score"]["accuracy"] == pytest.approx(0.80, abs=0.01)
    mean = sr.load(path.with_suffix(".sunrise")).parameters_["x4"]["mean"]
    assert mean == pytest.approx([0.0, 1.0], abs=3e-3)  # the mean of 4.7 million rows of each class
    assert used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3) < MOST_MB
