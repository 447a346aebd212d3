"""Time every case, ours and scikit-learn's in turn, and print a Markdown table of ratios."""

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


def seconds(call: Case, ours: bool) -> float:
    """Time of one call."""
    run = call.ours if ours else call.peer
    start = perf_counter()
    for _ in range(call.repeat):
        run()
    return (perf_counter() - start) / call.repeat


def read_bandwidth(threads: int) -> float:
    """Bytes per second that all threads together read from memory, by dot products over 400 MB."""
    parts = np.array_split(np.ones(50_000_000), threads)
    best = np.inf
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        for _ in range(7):
            start = perf_counter()
            list(pool.map(lambda part: part @ part, parts))
            best = min(best, perf_counter() - start)
    return float(sum(part.nbytes for part in parts)) / best


def shown(time: float) -> str:
    """A time in fitting units."""
    return f"{time * 1e6:.1f} us" if time < 1e-3 else f"{time * 1e3:.1f} ms"


def main() -> int:
    """Print the table; fail where a claim is not reached."""
    threads = len(os.sched_getaffinity(0))
    bandwidth = read_bandwidth(threads)
    print(
        f"Sunrise {sunrise.__version__} beside scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}, {threads} threads, "
        f"memory read bandwidth {bandwidth / 1e9:.1f} GB/s. Minimum of interleaved runs; "
        "a Sunrise fit includes deriving the parameters.\n"
    )
    print("| case | scikit-learn | Sunrise | ratio | claimed | share of bandwidth |")
    print("|---|---|---|---|---|---|", flush=True)
    wanted = set(sys.argv[1:])
    # Each group's data are gone before the next group's are made.
    missed = [report(group(), bandwidth) for group in GROUPS if not wanted or group.__name__ in wanted]
    return int(sum(missed) > 0)


def report(cases: list[Case], bandwidth: float) -> int:
    """Time some cases and print their lines; return how many claims were missed."""
    missed = 0
    for case in cases:
        rounds = 12 if case.repeat == 1 else 20
        times = [(seconds(case, False), seconds(case, True)) for _ in range(rounds)]
        theirs, ours = (min(side) for side in zip(*times, strict=True))
        ratio = theirs / ours
        share = f"{case.bytes / ours / bandwidth:.0%}" if case.bytes else ""
        missed += ratio < case.claimed
        line = [case.name, shown(theirs), shown(ours), f"{ratio:.1f}", f"{case.claimed:g}", share]
        print(f"| {' | '.join(line)} |", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
