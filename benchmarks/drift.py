"""Show drift on a real stream: telephone calls of a bank from 2008 to 2010, in order of time.

    python -m benchmarks.drift

Every batch of 500 calls is predicted by the model of the calls before it, and is then learned. The calls are learned by
one model of all of them, and by windows that slide or fade. `sr.compare` tells which columns have moved most between
the first and the last quarter of the calls, beside the bits between two random quarters.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import sunrise as sr

from benchmarks.tables import DATA

BATCH = 500


def stream(X: Any, y: Any, model: Any) -> tuple[float, float]:
    """Return log loss and accuracy over all batches but the first two, each predicted before it is learned."""
    losses, hits = [], []
    for start in range(0, len(y), BATCH):
        rows = slice(start, start + BATCH)
        if start >= 2 * BATCH:
            p = model.predict_proba(X[rows])
            at = np.searchsorted(model.classes_, y[rows])
            losses.append(-np.log(np.maximum(p[np.arange(len(at)), at], 1e-300)))
            hits.append(p.argmax(axis=1) == at)
        model.partial_fit(X[rows], y[rows])
    return float(np.concatenate(losses).mean()), float(np.concatenate(hits).mean())


def main() -> None:
    warnings.simplefilter("ignore", sr.UnseenLevelsWarning)  # each month is new once
    table = pd.read_csv(DATA / "bank-marketing.csv.gz")
    y = table["y"].to_numpy()
    X = table.drop(columns=["y", "duration"])  # the duration is known only after the call
    families = sr.NaiveBayes("auto-fast").fit(X, y).fixed_families_  # by type alone

    def model() -> Any:
        return sr.NaiveBayes(families, calibrate=None)

    for name, learner in (
        ("all calls so far", model()),
        ("last 5,000 calls", sr.Window(model(), rows=5000)),
        ("last 2,000 calls", sr.Window(model(), rows=2000)),
        ("half-life 2,500 calls", sr.Window(model(), half_life=2500)),
        ("half-life 1,000 calls", sr.Window(model(), half_life=1000)),
    ):
        loss, accuracy = stream(X, y, learner)
        print(f"{name:24s} log loss {loss:.4f}   accuracy {accuracy:.4f}")
    n, order = len(y) // 4, np.random.default_rng(0).permutation(len(y))
    quarters = np.arange(len(y))[:n], np.arange(len(y))[-n:], order[:n], order[-n:]
    first, last, one, other = (model().fit(X.iloc[rows], y[rows]) for rows in quarters)
    noise = dict(zip(*(sr.compare(one, other)[name] for name in ("column", "bits")), strict=True))
    moved = sr.compare(first, last)
    for column, bits in zip(moved["column"], moved["bits"], strict=True):
        print(f"{column:16s} {bits:.4f} bits (random quarters: {noise[column]:.4f})")


if __name__ == "__main__":
    main()
