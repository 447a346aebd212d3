"""Run the benchmarks. Without arguments, compare the speed of the five drop-in classes with scikit-learn.

python -m benchmarks [gaussian] [categorical] [counts] [small]        speed of the drop-in classes
python -m benchmarks tables [NAME ...]                                accuracy on 27 real tables (../shared)
python -m benchmarks frames [adult] [wide] [memory] [record]          speed and memory with polars and pandas
python -m benchmarks default [NAME ...]                               the default beside plain naive Bayes
python -m benchmarks interactions [NAME ... | noise]                  columns together beside logistic regression
python -m benchmarks ebm [NAME ...]                                   the default beside explainable boosting
python -m benchmarks speed [tables | NAME ...] [families] [choosing]  speed of the default, kernels, missing cells
python -m benchmarks calibration [NAME ...] [speed]                   log loss with and without calibration
python -m benchmarks text [NAME ...] [speed] [models] [ngrams]        accuracy and speed on five document collections
python -m benchmarks text_linear [NAME ...] [noise]                   text beside linear models; shuffled labels
python -m benchmarks text_advice [names] [sms] [unspaced]             tokens for short texts, names and no spaces
python -m benchmarks em [curve] [settings] [tables]                   learning from rows without a label
python -m benchmarks shapes [NAME ...] [speed]                        families chosen by score, kernel densities
python -m benchmarks growth [AXIS ...] [MODEL ...]                    time and memory against the size of the data
python -m benchmarks store [NAME ...]                                 size and speed of model files
python -m benchmarks export [NAME ...] [speed]                        exports beside predict_proba; one row of ONNX
python -m benchmarks report [NAME ...]                                size and speed of live pages, in Chromium
python -m benchmarks files [ROWS] [parquet] [plain]                   CPU and memory of fits to files
python -m benchmarks batches                                          CPU per cell and per batch
python -m benchmarks cli                                              times of the command line
python -m benchmarks all                                              all benchmarks but ebm

Every benchmark prints Markdown tables and exits with status 1 if a claim that it checks is missed.
"""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from time import perf_counter

import numpy as np
import sklearn
import sunrise
from threadpoolctl import threadpool_limits

from benchmarks.cases import GROUPS, Case
from benchmarks.timing import interleaved, shown

#: Modules of this package with a `main(arguments)`.
PARTS = (
    "tables",
    "frames",
    "default",
    "interactions",
    "ebm",
    "speed",
    "calibration",
    "text",
    "text_linear",
    "text_advice",
    "em",
    "shapes",
    "growth",
    "store",
    "export",
    "report",
    "files",
    "batches",
    "cli",
)


def read_bandwidth(threads: int) -> float:
    """Measure the memory read bandwidth of all threads in bytes per second, by dot products over 400 MB."""
    parts = np.array_split(np.ones(50_000_000), threads)
    best = np.inf
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        for _ in range(7):
            start = perf_counter()
            list(pool.map(lambda part: part @ part, parts))
            best = min(best, perf_counter() - start)
    return float(sum(part.nbytes for part in parts)) / best


def main(arguments: list[str]) -> int:
    """Run the requested benchmarks; return 1 if a claim is missed, otherwise 0."""
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    first, rest = arguments[0] if arguments else "", arguments[1:]
    if first == "all" and not rest:
        # EBM comes with a package that the tests do not need.
        return max(main([]), *(main([name]) for name in PARTS if name != "ebm"))
    if first in PARTS:
        return int(import_module(f"benchmarks.{first}").main(rest))
    return classes(set(arguments))


def classes(wanted: set[str]) -> int:
    """Print the table of the five classes; return 1 if a claim is missed."""
    if strange := wanted - {group.__name__ for group in GROUPS}:
        raise SystemExit(f"no such benchmark: {', '.join(sorted(strange))}\n\n{__doc__}")
    threads = len(os.sched_getaffinity(0))
    bandwidth = read_bandwidth(threads)
    print(
        f"Sunrise {sunrise.__version__} compared with scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}, {threads} threads, "
        f"memory read bandwidth {bandwidth / 1e9:.1f} GB/s. Minimum of interleaved runs; "
        "a Sunrise fit includes deriving the parameters.\n"
    )
    print("| case | scikit-learn | Sunrise | ratio | claimed | share of bandwidth |")
    print("|---|---|---|---|---|---|", flush=True)
    # The data of one group are freed before the data of the next group are created.
    missed = [report(group(), bandwidth) for group in GROUPS if not wanted or group.__name__ in wanted]
    return int(sum(missed) > 0)


def report(cases: list[Case], bandwidth: float) -> int:
    """Time the cases and print one line for each; return the number of missed claims."""
    missed = 0
    for case in cases:
        rounds = 12 if case.repeat == 1 else 20
        theirs, ours = interleaved(case.peer, case.ours, rounds=rounds, repeat=case.repeat)
        ratio = theirs / ours
        share = f"{case.bytes / ours / bandwidth:.0%}" if case.bytes else ""
        missed += ratio < case.claimed
        line = [case.name, shown(theirs), shown(ours), f"{ratio:.1f}", f"{case.claimed:g}", share]
        print(f"| {' | '.join(line)} |", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
