"""Times with 1 to 16 threads, on random data: `python -m benchmarks.scaling`, for machines with many cores."""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any

import numpy as np
import sunrise
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.timing import interleaved, line

THREADS = (1, 2, 4, 8, 16)


def documents(rng: np.random.Generator, n: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return documents of 200 words, and their group of 20: 20 words of each are typical of it."""
    names = np.array([f"w{k}" for k in range(60_000)])
    group = rng.integers(0, 20, n)
    drawn = np.minimum(rng.zipf(1.3, (n, 200)), len(names)) - 1
    drawn[:, :20] = 50 * group[:, None] + rng.integers(0, 50, (n, 20))
    return [" ".join(document) for document in names[drawn]], group


def data() -> dict[str, tuple[Any, Any, Any]]:
    """Return an estimator, cells and labels for every case."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 500_000)
    numbers = rng.normal(size=(len(y), 100)) + 0.1 * y[:, None]
    levels = rng.integers(0, 20, (len(y), 50))
    n, words, length = 200_000, 100_000, 100
    indices = np.sort(rng.integers(0, words, (n, length)), axis=1).ravel().astype(np.int32)
    counts = rng.integers(1, 5, n * length).astype(float)
    rows = np.arange(0, n * length + 1, length, dtype=np.int32)
    matrix = sparse.csr_array((counts, indices, rows), (n, words))
    matrix.sum_duplicates()
    (few, few_groups), (many, many_groups) = documents(rng, 11_000), documents(rng, 110_000)
    binary = rng.integers(0, 2, 300_000)
    cells = rng.normal(size=(len(binary), 20)) + 0.3 * binary[:, None]
    return {
        "GaussianNB, 500k x 100": (sunrise.GaussianNB, numbers, y),
        "CategoricalNB, 500k x 50": (sunrise.CategoricalNB, levels, y),
        "MultinomialNB, CSR 200k x 100k": (sunrise.MultinomialNB, matrix, rng.integers(0, 20, n)),
        "KernelNB, 300k x 20": (sunrise.KernelNB, cells, binary),
        "TextNB(calibrate=None), 11k documents": (partial(sunrise.TextNB, calibrate=None), few, few_groups),
        'TextNB(calibrate="temperature"), 11k documents': (
            partial(sunrise.TextNB, calibrate="temperature"),
            few,
            few_groups,
        ),
        "TextNB(), 11k documents": (sunrise.TextNB, few, few_groups),
        "TextNB(), 110k documents": (sunrise.TextNB, many, many_groups),
        "NaiveBayes(), 60k x 20": (sunrise.NaiveBayes, cells[:60_000], binary[:60_000]),
    }


def main() -> None:
    """Print the times of fit and predict_proba for every number of threads, and the speed-up of the last."""
    warnings.simplefilter("ignore")
    cores = len(os.sched_getaffinity(0))
    numbers = [n for n in THREADS if n <= cores]
    line(f"ms with {', '.join(map(str, numbers))} threads", "fit", "times", "predict_proba", "times")
    print("|---|---|---|---|---|", flush=True)
    for name, (make, X, y) in data().items():
        models = [make(n_jobs=n).fit(X, y) for n in numbers]
        cells = []
        for calls in ([partial(m.fit, X, y) for m in models], [partial(m.predict_proba, X) for m in models]):
            times = interleaved(*calls, rounds=4)
            cells += [", ".join(f"{1e3 * t:.0f}" for t in times), f"{times[0] / times[-1]:.1f}"]
        line(name, *cells)


if __name__ == "__main__":
    main()
