"""A merge tree at the size of 10**12 rows: drawn statistics of partitions, merged as the tasks of a cluster do.

    python -m benchmarks.merge_tree [partitions] [columns] [classes]
    python -m benchmarks.merge_tree sizes                               bytes of the statistics of a partition

Every partition has the statistics of 2 x 10**8 rows, drawn directly: nobody adds up 10**12 rows here. The result is
compared with exact fractions for one column.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
import sunrise as sr
from sunrise.cluster.parts import merged
from sunrise.cluster.tasks import FAN_IN
from sunrise.statistics.moments import Moments

ROWS = 200_000_000


def drawn_part(schema: Any, example: Any, rng: Any) -> tuple[bytes, Any]:
    """Return the statistics of a partition of `ROWS` rows as bytes, and its moments."""
    n_classes, n_columns = example.blocks[0].x.shape
    rows = rng.multinomial(ROWS, np.full(n_classes, 1.0 / n_classes))
    mean = 1e9 + rng.normal(0.0, 1e-3, (n_classes, n_columns))
    cells = np.broadcast_to(rows[:, None], mean.shape).copy()
    squared = cells * rng.normal(1.0, 1e-3, mean.shape)
    moments = Moments.about_mean(cells, cells.astype(float), mean, squared)
    part = sr.Accumulator(schema)
    part.stats = replace(example, rows=rows, weight=rows.astype(float), blocks=(moments,))
    return part.to_bytes(), (rows[0], mean[0, 0], squared[0, 0])


def sizes() -> None:
    """Print the bytes of the statistics of a partition, which do not depend on its number of rows."""
    rng = np.random.default_rng(0)
    for n_classes, n_columns in ((3, 100), (10, 100), (3, 1000)):
        X, y = rng.normal(size=(50 * n_classes, n_columns)), np.arange(50 * n_classes) % n_classes
        model = sr.NaiveBayes("gaussian", calibrate=None, interactions=None).fit(X, y)
        part = sr.Accumulator(model.schema_).update(X, y)
        print(f"{n_columns:,} Gaussian columns x {n_classes} classes: {len(part.to_bytes()):,} bytes")
    texts = [" ".join(f"w{j}" for j in range(100 * k, 100 * k + 100)) for k in range(600)] * 8
    y = np.arange(len(texts)) // 600 % 4
    model = sr.NaiveBayes({"text": "text"}, calibrate=None, interactions=None).fit({"text": texts}, y)
    part = sr.Accumulator(model.schema_).update({"text": texts}, y)
    print(f"60,000 words x 4 classes: {len(part.to_bytes()):,} bytes")


def main() -> None:
    if sys.argv[1:] == ["sizes"]:
        sizes()
        return
    n_parts, n_columns, n_classes = [*map(int, sys.argv[1:]), *(5000, 100, 10)[len(sys.argv) - 1 :]]
    rng = np.random.default_rng(0)
    y = np.arange(2 * n_classes) % n_classes
    names = [f"x{j}" for j in range(n_columns)]
    few = dict(zip(names, rng.normal(size=(n_columns, len(y))), strict=True))
    model = sr.NaiveBayes("gaussian", calibrate=None).fit(few, y)
    drawn = [drawn_part(model.schema_, model.stats_, rng) for _ in range(n_parts)]
    parts, truth = [part for part, _ in drawn], [own for _, own in drawn]
    print(f"{n_parts:,} partitions of {ROWS:,} rows: {n_parts * ROWS:.2e} rows, {len(parts[0]):,} bytes each")
    level = 0
    while len(parts) > 1:
        start = process_time()
        parts = [
            merged(parts[at : at + FAN_IN], "statistics").to_bytes() for at in range(0, len(parts), FAN_IN)
        ]
        spent, level = process_time() - start, level + 1
        print(
            f"level {level}: {len(parts):,} tasks of up to {FAN_IN} parts, {spent / len(parts):.3f} s of CPU each"
        )
    total = sr.Accumulator.from_bytes(parts[0]).stats
    assert total is not None and int(total.rows.sum()) == n_parts * ROWS
    n = sum(int(rows) for rows, _, _ in truth)
    mean = sum((int(rows) * Fraction(m) for rows, m, _ in truth), Fraction(0)) / n
    squared = sum(Fraction(s) + int(rows) * (Fraction(m) - mean) ** 2 for rows, m, s in truth)
    own = total.blocks[0]
    of_mean = float(abs(Fraction(float(own.mean[0, 0])) - mean))
    of_variance = float(abs(Fraction(float(own.squared_error[0, 0])) / squared - 1))
    print(
        f"rows are exact; the mean is off by {of_mean:.1e} at 1e9, the variance by {of_variance:.1e} of itself"
    )


if __name__ == "__main__":
    main()
