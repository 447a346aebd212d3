"""CPU time of fitting lazy tables: statistics computed by the engine of the table against batches.

python -m benchmarks.lazy [rows] [columns]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sunrise as sr


def make_table(n_rows: int, n_columns: int, n_classes: int, seed: int = 0) -> Any:
    """A quarter each of measurements, positive amounts, counts and levels."""
    import polars as pl

    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    kinds: list[Callable[[], Any]] = [
        lambda: rng.normal(y % 7, 1.0),
        lambda: np.exp(rng.normal(size=n_rows)),
        lambda: rng.poisson(1.0 + y % 3),
        lambda: np.array(["red", "green", "blue", "grey"])[rng.integers(0, 4, n_rows)],
    ]
    columns = {f"x{j}": kinds[j % 4]() for j in range(n_columns)}
    return pl.DataFrame({**columns, "y": np.array([f"class {c}" for c in range(n_classes)])[y]})


def families_of(n_columns: int, kind: str) -> Any:
    if kind == "auto":
        return "auto"
    names = ["gaussian", "lognormal", "poisson", "categorical"]
    return {f"x{j}": names[j % 4] for j in range(n_columns)}


def seconds(work: Callable[[], Any], times: int) -> tuple[float, float]:
    """Smallest CPU time and smallest elapsed time of several runs."""
    cpu, elapsed = [], []
    for _ in range(times):
        one, two = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - one)
        elapsed.append(time.perf_counter() - two)
    return min(cpu), min(elapsed)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="?", default=2_000_000)
    parser.add_argument("columns", type=int, nargs="?", default=20)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--engines", default="duckdb,polars,parquet")
    parser.add_argument("--families", default="given")
    given = parser.parse_args()
    import duckdb

    table = make_table(given.rows, given.columns, given.classes)
    connection = duckdb.connect()
    connection.register("given", table.to_arrow())
    connection.execute("create table t as select * from given")
    print(f"{given.rows:,} rows x {given.columns} columns, {given.classes} classes: CPU s (elapsed s)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        table.write_parquet(path)
        import polars as pl

        tables: dict[str, Callable[[], Any]] = {
            "duckdb": lambda: connection.table("t"),
            "polars": lambda: table.lazy(),
            "parquet": lambda: pl.scan_parquet(path),
        }
        families = families_of(given.columns, given.families)
        sr.NaiveBayes().fit(table[:1000].lazy(), y="y")  # imports
        for engine in given.engines.split(","):
            for push_down in (True, False):

                def fit(engine: str = engine, push_down: bool = push_down) -> Any:
                    model = sr.NaiveBayes(families, calibrate=None)
                    return model.fit(sr.lazy(tables[engine](), push_down=push_down), y="y")

                cpu, elapsed = seconds(fit, given.times)
                way = "push-down" if push_down else "batches"
                print(f"  {engine:8} {way:10} {cpu:6.2f} ({elapsed:.2f})", flush=True)


if __name__ == "__main__":
    main()
