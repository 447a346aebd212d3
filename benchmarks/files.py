"""CPU time and memory of fits to files, beside those of the readers alone.

A mixed table of 16 columns (6 gaussian, 3 counts, 5 categorical, 2 yes/no, some cells missing) is written as Parquet,
CSV and JSON lines; the text files have a third of the rows. The families are given, so a fit is one pass. The reader is
`iter_batches` of pyarrow with text as dictionaries, or DuckDB with types by its first rows, in batches of 250,000 rows.
Every measurement runs in a process of its own with one thread; reader and fit take turns.

    python -m benchmarks files [ROWS] [parquet] [plain]

"parquet" leaves out the text files; "plain" writes Parquet without compression and without dictionaries, 4 GB for 30
million rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

#: Claims: CPU of a fit / CPU of the reader alone, and MB of memory above the reader.
PARQUET, TEXT, MEMORY_MB = 2.5, 1.5, 200.0
ROWS = 3_000_000
_CHUNK = 500_000
_ROUNDS = 3

_RUN = """
import sys, time
from pathlib import Path
import duckdb
import pyarrow.parquet as pq
import sunrise as sr

path, kind = sys.argv[1:]
families = {"g": "gaussian", "p": "poisson", "c": "categorical", "b": "bernoulli"}
names = [f"{k}{j}" for k, n in (("g", 6), ("p", 3), ("c", 5), ("b", 2)) for j in range(n)]
model = sr.NaiveBayes({name: families[name[0]] for name in names}, calibrate=None, n_jobs=1)
model.fit(str(Path(path).with_name("first" + Path(path).suffix)), "label")  # imports
start = time.process_time()
if kind == "read" and path.endswith(".parquet"):
    texts = [name for name in [*names, "label"] if name[0] in "cl"]
    for batch in pq.ParquetFile(path, read_dictionary=texts).iter_batches(250_000, use_threads=False):
        pass
elif kind == "read":
    read = "read_csv" if path.endswith(".csv") else "read_json"
    reader = duckdb.connect(config={"threads": 1})
    reader.execute("SET enable_progress_bar = false")
    for batch in reader.sql(f"FROM {read}('{path}')").to_arrow_reader(250_000):
        pass
else:
    model.fit(path, "label")
with open("/proc/self/status") as status:
    peak = next(int(row.split()[1]) for row in status if row.startswith("VmHWM"))
print(time.process_time() - start, peak * 1024)
"""


def chunk(n: int, seed: int) -> Any:
    """Return n rows as an Arrow table."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns: dict[str, Any] = {}
    for j in range(6):
        x = rng.normal(y * (j % 3), 1.0)
        columns[f"g{j}"] = pa.array(x.round(6), mask=rng.random(n) < 0.05 * (j % 2))
    for j in range(3):
        columns[f"p{j}"] = pa.array(rng.poisson(2.0 + y))
    for j in range(5):
        levels = pa.array([f"level {k}" for k in range(20 * (j + 1))])
        columns[f"c{j}"] = levels.take(pa.array(rng.integers(0, len(levels), n)))
    for j in range(2):
        columns[f"b{j}"] = pa.array(rng.random(n) < 0.3 + 0.1 * y)
    columns["label"] = pa.array(["a", "b", "c"]).take(pa.array(y))
    return pa.table(columns)


def write(folder: Path, n_rows: int, endings: list[str], options: dict[str, Any]) -> list[Path]:
    """Write the files, and small ones with the first rows."""
    import duckdb
    import pyarrow.parquet as pq

    for name, n in (("first", 1000), ("all", n_rows)):
        with pq.ParquetWriter(folder / f"{name}.parquet", chunk(1, 0).schema, **options) as writer:
            for k, start in enumerate(range(0, n, _CHUNK)):
                writer.write_table(chunk(min(_CHUNK, n - start), k))
        if len(endings) == 1:
            continue
        part = f"(FROM '{folder / name}.parquet' LIMIT {max(1000, n // 3)})"
        duckdb.sql(f"COPY {part} TO '{folder / name}.csv'")
        duckdb.sql(f"COPY {part} TO '{folder / name}.jsonl' (FORMAT json)")
    return [folder / f"all.{ending}" for ending in endings]


def measure(path: Path) -> list[tuple[float, float]]:
    """Return the smallest CPU time and the smallest peak memory of several processes: of the reader, of the fit."""
    found: dict[str, list[tuple[float, float]]] = {"read": [], "fit": []}
    for _ in range(_ROUNDS):
        for kind, own in found.items():
            command = [sys.executable, "-c", _RUN, str(path), kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            cpu, peak = map(float, done.stdout.split())
            own.append((cpu, peak))
    return [(min(cpu for cpu, _ in own), min(peak for _, peak in own)) for own in found.values()]


def main(arguments: list[str]) -> int:
    """Print a table of ratios; return 1 if a claim is missed."""
    n_rows = next((int(argument) for argument in arguments if argument.isdigit()), ROWS)
    endings = ["parquet"] if "parquet" in arguments else ["parquet", "csv", "jsonl"]
    options = {"compression": "none", "use_dictionary": False} if "plain" in arguments else {}
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), n_rows, endings, options)
        print(
            f"Fits to files of {n_rows:,} rows (Parquet) and {n_rows // 3:,} rows (text), 16 columns, 1 thread.\n"
        )
        print(
            "| file | MB | reader, s CPU | fit, s CPU | ratio | claimed | memory above the reader, MB | claimed |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for path in paths:
            (read, read_peak), (fit, fit_peak) = measure(path)
            claimed = PARQUET if path.suffix == ".parquet" else TEXT
            more = (fit_peak - read_peak) / 1e6
            missed += fit / read > claimed or more > MEMORY_MB
            print(
                f"| {path.suffix[1:]} | {path.stat().st_size / 1e6:.0f} | {read:.2f} | {fit:.2f} | {fit / read:.2f} | "
                f"{claimed:g} | {more:.0f} | {MEMORY_MB:g} |",
                flush=True,
            )
    return int(missed > 0)
