"""Cost of a batch under a known schema: per cell, for missing cells, and per batch.

    python -m benchmarks batches

15 Gaussian columns and an integer label, 250,000 rows, one thread; CPU time, the smallest of interleaved rounds. The
cost of a batch is that of one with 10 rows; the mixed batch has the 16 columns of `benchmarks.files`.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import sunrise as sr

from benchmarks.files import chunk

#: Claims: cells with nulls / cells without, and milliseconds of a batch of 15 columns.
NULLS, BATCH_MS = 3.0, 2.2
ROWS, COLUMNS, SMALL = 250_000, 15, 10


def cpu(runs: dict[str, Callable[[], Any]], rounds: int = 12) -> dict[str, float]:
    """Return the smallest CPU time of every call; every round runs all calls in turn."""
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            start = process_time()
            run()
            best[name] = min(best[name], process_time() - start)
    return best


def arrow(X: Any, y: Any, share: float) -> Any:
    """Return columns as an Arrow table; this share of the cells is null."""
    rng = np.random.default_rng(1)
    nulls = [rng.random(len(y)) < share if share else None for _ in range(X.shape[1])]
    cells = {f"x{j}": pa.array(X[:, j], mask=mask) for j, mask in enumerate(nulls)}
    return pa.table({**cells, "y": pa.array(y)})


def adds(schema: Any, X: Any, y: Any, times: int = 1) -> Callable[[], Any]:
    """Return a call that adds up a batch under a schema."""

    def run() -> None:
        for _ in range(times):
            sr.Accumulator(schema, n_jobs=1).update(X, y)

    return run


def schema_of(families: Any, X: Any, y: Any) -> Any:
    """Return the schema of given families."""
    return sr.NaiveBayes(families, calibrate=None, interactions=None).fit(X, y).schema_


def other_kinds(rng: Any) -> None:
    """Print the cost of cells of other kinds, and with more classes and levels."""
    runs: dict[str, Callable[[], Any]] = {}
    for n_classes in (3, 100):
        y = rng.integers(0, n_classes, ROWS)
        kinds: dict[str, tuple[str, Callable[[], Any]]] = {
            "gaussian": ("gaussian", lambda: pa.array(rng.normal(size=ROWS))),
            "poisson": ("poisson", lambda: pa.array(rng.poisson(3.0, ROWS))),
            "10 levels": ("categorical", lambda: levels(rng, 10)),
            "10,000 levels": ("categorical", lambda: levels(rng, 10_000)),
        }
        for kind, (family, column) in kinds.items():
            table = pa.table({**{f"x{j}": column() for j in range(5)}, "y": pa.array(y)})
            schema = schema_of(family, table.slice(0, 20_000), "y")
            runs[f"{kind}, {n_classes} classes"] = adds(schema, table, "y")
    print("\n| 5 columns | ns of CPU per cell |\n|---|---|")
    for name, time in cpu(runs, 5).items():
        print(f"| {name} | {time / ROWS / 5 * 1e9:.1f} |")


def levels(rng: Any, n: int) -> Any:
    """Return strings with n distinct values, dictionary-encoded as in Parquet files."""
    names = pa.array([f"level {k}" for k in range(n)])
    return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, n, ROWS).astype(np.int32)), names)


def main(arguments: list[str]) -> int:
    """Print a table of costs; return 1 if a claim is missed."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ROWS, COLUMNS)), rng.integers(0, 3, ROWS)
    matrix, by_name = (
        schema_of("gaussian", X[:999], y[:999]),
        schema_of("gaussian", arrow(X[:999], y[:999], 0.0), "y"),
    )
    runs = {"NumPy matrix": adds(matrix, X, y)}
    for share in (0.0, 0.01, 0.05, 0.5):
        runs[f"Arrow, {share:.0%} null"] = adds(by_name, arrow(X, y, share), "y")
    times = cpu(runs)
    print("| cells | ns of CPU per cell | relative to Arrow without nulls | claimed |")
    print("|---|---|---|---|")
    whole, missed = times["Arrow, 0% null"], 0
    for name, time in times.items():
        claimed = f"{NULLS:g}" if "Arrow" in name and time != whole else ""
        missed += bool(claimed) and time / whole > NULLS
        print(f"| {name} | {time / X.size * 1e9:.1f} | {time / whole:.2f} | {claimed} |")
    other_kinds(rng)
    rows = chunk(ROWS, 1)
    families = {"g": "gaussian", "p": "poisson", "c": "categorical", "b": "bernoulli"}
    given = {name: families[name[0]] for name in rows.column_names if name != "label"}
    mixed = schema_of(given, rows.slice(0, 999), "label")
    encoded = {n: rows[n].dictionary_encode() if n[0] in "cl" else rows[n] for n in rows.column_names}
    few, repeat = pa.table(encoded).slice(0, SMALL), 20
    small = {
        "15 Gaussian columns": adds(by_name, arrow(X[:SMALL], y[:SMALL], 0.0), "y", repeat),
        "the same, 50% null": adds(by_name, arrow(X[:SMALL], y[:SMALL], 0.5), "y", repeat),
        "16 mixed columns": adds(mixed, few, "label", repeat),
    }
    print(f"\n| batch of {SMALL} rows | ms of CPU | claimed |\n|---|---|---|")
    for name, time in cpu(small).items():
        missed += time / repeat * 1e3 > BATCH_MS
        print(f"| {name} | {time / repeat * 1e3:.2f} | {BATCH_MS:g} |")
    return int(missed > 0)
