"""Run the benchmarks. Without arguments, compare the speed of the five drop-in classes with scikit-learn.

python -m benchmarks [gaussian] [categorical] [counts] [small]        speed of the drop-in classes
python -m benchmarks tables [NAME ...]                                accuracy on 27 real tables (../shared)
python -m benchmarks frames [adult] [wide] [memory] [record]          speed and memory with polars and pandas
python -m benchmarks default [NAME ...]                               the default beside plain naive Bayes
python -m benchmarks interactions [NAME ... | noise]                  pairs of columns beside logistic regression
python -m benchmarks speed [tables | NAME ...] [families] [choosing]  speed of the default, kernels, missing cells
python -m benchmarks calibration [NAME ...] [speed]                   log loss with and without calibration
python -m benchmarks text [NAME ...] [speed] [models]                 accuracy and speed on five document collections
python -m benchmarks text_linear [NAME ...] [noise]                   text beside linear models; shuffled labels
python -m benchmarks em [curve] [settings] [tables]                   learning from rows without a label
python -m benchmarks shapes [NAME ...] [speed]                        families chosen by score, kernel densities
python -m benchmarks growth [AXIS ...] [MODEL ...]                    time and memory against the size of the data
python -m benchmarks store [NAME ...]                                 size and speed of model files
python -m benchmarks export [NAME ...] [speed]                        exports beside predict_proba; one row of ONNX
python -m benchmarks report [NAME ...]                                size and speed of live pages, in Chromium
python -m benchmarks files [ROWS]                                     CPU and memory of fits to files
python -m benchmarks cli                                              times of the command line
python -m benchmarks all                                              all benchmarks

Every benchmark prints Markdown tables and exits with status 1 if a claim that it checks is missed.
"""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
import sklearn
import sunrise
from threadpoolctl import threadpool_limits

from benchmarks.cases import GROUPS, Case
from benchmarks.timing import interleaved, shown


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
    if first == "tables":
        from benchmarks import tables

        return tables.main(rest)
    if first == "interactions":
        from benchmarks import interactions

        return interactions.main(rest)
    if first == "default":
        from benchmarks import default

        return default.main(rest)
    if first == "speed":
        from benchmarks import speed

        return speed.main(rest)
    if first == "frames":
        from benchmarks import frames

        return frames.main(rest)
    if first == "calibration":
        from benchmarks import calibration

        return calibration.main(rest)
    if first == "text":
        from benchmarks import text

        return text.main(rest)
    if first == "text_linear":
        from benchmarks import text_linear

        return text_linear.main(rest)
    if first == "em":
        from benchmarks import em

        return em.main(rest)
    if first == "shapes":
        from benchmarks import shapes

        return shapes.main(rest)
    if first == "growth":
        from benchmarks import growth

        return growth.main(rest)
    if first == "store":
        from benchmarks import store

        return store.main(rest)
    if first == "export":
        from benchmarks import export

        return export.main(rest)
    if first == "report":
        from benchmarks import report as pages

        return pages.main(rest)
    if first == "files":
        from benchmarks import files

        return files.main(rest)
    if first == "cli":
        from benchmarks import cli

        return cli.main(rest)
    if first == "all" and not rest:
        names = (
            "tables",
            "frames",
            "calibration",
            "text",
            "em",
            "shapes",
            "growth",
            "store",
            "export",
            "report",
            "files",
            "cli",
        )
        return max(main([]), *(main([name]) for name in names))
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
