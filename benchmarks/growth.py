"""Growth: time and peak memory of fit and predict against rows, columns, classes and levels.

Every point is measured in a process of its own, with one thread and its CPU time, so that other work on the machine
matters little. Memory is the increase of the peak resident size, so the data are not included. The exponent b of
size^b is fitted by least squares to the logarithms of the two upper decades. Above 1.1 in rows, columns or levels a
claim is missed.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import sklearn
import sunrise

from benchmarks.memory import grown
from benchmarks.timing import shown

#: Largest exponent that counts as linear.
LINEAR = 1.1
#: A point is measured again until its runs take this long, in seconds, but at most so often.
ENOUGH, MOST_RUNS = 0.3, 20
#: Smaller increases of the memory are those of allocators, in bytes; no exponent is fitted to them.
SMALL = 4 << 20


@dataclass(frozen=True)
class Series:
    """One model on tables of growing size along one axis."""

    name: str
    axis: str
    sizes: tuple[int, ...]
    model: Callable[[], Any]
    data: Callable[[int], tuple[Any, Any]]


def labels(n: int, n_classes: int) -> Any:
    """Return class codes, each class equally often."""
    return np.random.default_rng(1).permutation(np.arange(n) % n_classes)


def matrix(n_rows: int, n_columns: int, n_classes: int = 3) -> tuple[Any, Any]:
    """Create a matrix of numbers that depend weakly on the class."""
    y = labels(n_rows, n_classes)
    return np.random.default_rng(0).normal(size=(n_rows, n_columns)) + 0.2 * (y % 5)[:, None], y


def frame(n_rows: int, n_columns: int = 10, n_classes: int = 3) -> tuple[Any, Any]:
    """Create a table: of ten columns six hold measurements, two hold counts and two hold strings."""
    import polars as pl

    rng, y = np.random.default_rng(0), labels(n_rows, n_classes)
    names, columns = pl.Series([f"level {k}" for k in range(20)]), {}
    for j in range(n_columns):
        if j % 10 < 6:
            columns[f"x{j}"] = pl.Series(rng.normal(size=n_rows) + 0.2 * (y % 5))
        elif j % 10 < 8:
            columns[f"x{j}"] = pl.Series(rng.poisson(3.0 + 0.3 * (y % 5)))
        else:
            columns[f"x{j}"] = names.gather(
                pl.Series((rng.integers(0, 17, n_rows) + y % 4).astype(np.uint32))
            )
    return pl.DataFrame(columns), y


def strings(n_levels: int) -> tuple[Any, Any]:
    """Create 200,000 rows of one column with so many different strings, and one measurement."""
    import polars as pl

    n, rng = 200_000, np.random.default_rng(0)
    y = labels(n, 3)
    names = pl.Series([f"level {k}" for k in range(n_levels)])
    codes = rng.permutation(np.arange(n) % n_levels).astype(np.uint32)
    return pl.DataFrame({"s": names.gather(pl.Series(codes)), "x": rng.normal(size=n) + y}), y


def counts(n_columns: int) -> tuple[Any, Any]:
    """Create 20,000 sparse rows of 50 counts."""
    from scipy import sparse

    n, length, rng = 20_000, 50, np.random.default_rng(0)
    indices = np.sort(rng.integers(0, n_columns, (n, length)), axis=1).ravel().astype(np.int32)
    indptr = np.arange(0, n * length + 1, length, dtype=np.int32)
    X = sparse.csr_array((rng.integers(1, 5, n * length).astype(float), indices, indptr), (n, n_columns))
    X.sum_duplicates()
    return X, labels(n, 5)


def documents(n_words: int) -> tuple[Any, Any]:
    """Create 5,000 documents of 100 words out of so many."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, n_words, (5_000, 100)).tolist()
    return [" ".join(f"w{k}" for k in row) for row in rows], labels(5_000, 5)


def fast() -> Any:
    """NaiveBayes with families by type, without calibration."""
    return sunrise.NaiveBayes("auto-fast", calibrate=None)


DECADES = 1_000, 10_000, 100_000, 1_000_000
SERIES = [
    Series("GaussianNB", "rows", DECADES, sunrise.GaussianNB, lambda n: matrix(n, 10)),
    Series("auto-fast", "rows", DECADES, fast, frame),
    Series("default", "rows", (300, 3_000, 30_000, 300_000), sunrise.NaiveBayes, frame),
    Series(
        "GaussianNB", "columns", (100, 1_000, 10_000, 100_000), sunrise.GaussianNB, lambda n: matrix(200, n)
    ),
    Series("auto-fast", "columns", (10, 100, 1_000, 10_000), fast, lambda n: frame(1_000, n)),
    Series("default", "columns", (10, 100, 1_000, 10_000), sunrise.NaiveBayes, lambda n: frame(1_000, n)),
    Series("MultinomialNB, CSR", "columns", DECADES, sunrise.MultinomialNB, counts),
    Series("TextNB", "words", (100, 1_000, 10_000, 100_000), sunrise.TextNB, documents),
    Series("GaussianNB", "classes", (2, 20, 200, 2_000), sunrise.GaussianNB, lambda n: matrix(20_000, 10, n)),
    Series("auto-fast", "classes", (2, 20, 200, 2_000), fast, lambda n: frame(20_000, 10, n)),
    Series("default", "classes", (2, 20, 200, 2_000), sunrise.NaiveBayes, lambda n: frame(20_000, 10, n)),
    Series("auto-fast", "levels", (100, 1_000, 10_000, 100_000), fast, strings),
    Series("default", "levels", (100, 1_000, 10_000, 100_000), sunrise.NaiveBayes, strings),
]


def seconds(run: Callable[[], Any]) -> float:
    """Return the smallest CPU time of some calls."""
    times: list[float] = []
    while not times or (sum(times) < ENOUGH and len(times) < MOST_RUNS):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times)


def measure(at: int, size: int) -> None:
    """Print time and memory of one point as JSON; runs in a process of its own."""
    series = SERIES[at]
    small, y = series.data(series.sizes[0])
    series.model().fit(small, y).predict(small)  # modules are imported before anything is measured
    X, y = series.data(size)
    fit_memory = grown(lambda: series.model().fit(X, y)._model.forms)
    model = series.model().fit(X, y)
    found = {"fit memory": fit_memory, "fit": seconds(lambda: series.model().fit(X, y)._model.forms)}
    found["predict memory"] = grown(lambda: model.predict(X))
    found["predict"] = seconds(lambda: model.predict(X))
    start = process_time()
    repr(model), str(model)
    found["print"] = process_time() - start
    print(json.dumps(found))


def exponent(sizes: list[int], values: list[float]) -> float:
    """Return the slope of log value against log size by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def of_memory(sizes: list[int], values: list[float]) -> float | None:
    """Return the exponent of the memory; None if too few points are large enough."""
    pairs = [(size, value) for size, value in zip(sizes, values, strict=True) if value >= SMALL]
    return exponent(*map(list, zip(*pairs, strict=True))) if len(pairs) > 1 else None


def run(at: int, series: Series) -> int:
    """Measure and print one series; return the number of missed claims."""
    threads = dict.fromkeys(("SUNRISE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    points = []
    for size in series.sizes:
        command = [sys.executable, "-c", f"from benchmarks.growth import measure; measure({at}, {size})"]
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads
        )
        points.append(json.loads(done.stdout))
    missed, upper = 0, list(series.sizes[-3:])
    for what in ("fit", "predict"):
        times = [point[what] for point in points]
        sizes = [point[f"{what} memory"] for point in points]
        slopes = exponent(upper, times[-3:]), of_memory(upper, sizes[-3:])
        too_steep = any(slope is not None and slope > LINEAR for slope in slopes)
        missed += too_steep and series.axis != "classes"
        cells = [
            f"{what}, {series.name}",
            f"{series.axis} {series.sizes[0]:,} ... {series.sizes[-1]:,}",
            ", ".join(map(shown, times)),
            f"{slopes[0]:.2f}",
            ", ".join(f"{max(size, 0) / 1e6:.1f}" for size in sizes),
            "" if slopes[1] is None else f"{slopes[1]:.2f}",
            shown(points[-1]["print"]) if what == "fit" else "",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)
    return missed


def main(wanted: list[str]) -> int:
    """Run all series, or those along the named axes or of the named models; return 1 if an exponent is too large."""
    known = {series.axis for series in SERIES} | {series.name for series in SERIES}
    if strange := set(wanted) - known:
        raise SystemExit(
            f"no such series: {', '.join(sorted(strange))}. There are: {', '.join(sorted(known))}"
        )
    print(
        f"Sunrise {sunrise.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}, "
        f"1 thread, CPU time. Exponents of the two upper decades; at most {LINEAR} in rows, columns and levels.\n"
    )
    print("| call | size | time | exponent | extra memory, MB | exponent | print of the largest |")
    print("|---|---|---|---|---|---|---|", flush=True)
    missed = [
        run(at, series)
        for at, series in enumerate(SERIES)
        if not wanted or {series.axis, series.name} & set(wanted)
    ]
    return int(sum(missed) > 0)
