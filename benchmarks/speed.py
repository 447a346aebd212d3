"""Speed of the default model, of kernel densities, of predictive distributions and of rows with missing cells.

tables      NaiveBayes() with all defaults on whole tables, from pandas frames: the time of predict_proba divided by
            that of NaiveBayes("auto-fast", calibrate=None); the time of fit beside logistic regression (one-hot,
            scaled, lbfgs), HistGradientBoostingClassifier (pipelines of benchmarks/calibration.py) and the same fit
            without interactions
families    300,000 x 20 cells, 2 classes: kernel densities, leave-one-out, predictive distributions, 10 % missing cells
choosing    choosing families alone: 500,000 x 50 numbers, and 3,000 x 20
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import sunrise
from numpy.typing import NDArray
from sunrise.estimators import learning as module

from benchmarks.calibration import boosting, logistic
from benchmarks.tables import load, schema
from benchmarks.timing import interleaved, line, shown

TABLES = (
    "adult",
    "bank-marketing",
    "mlbench-Satellite",
    "mlbench-LetterRecognition",
    "mlbench-Shuttle",
    "spambase",
    "optdigits",
)
#: Claims, all at most: predict_proba of the default divided by that of "auto-fast"; rows above which a fit must not
#: take longer than logistic regression; below, twice as long or this many seconds; times boosting, geometric mean.
PREDICT, MANY_ROWS, TWICE, SECONDS, BOOSTING = 3.0, 10_000, 2.0, 0.3, 1 / 5


def tables(names: list[str]) -> int:
    """Print a line for each table; return the number of missed claims."""
    cells = (
        "table",
        "rows",
        "predict",
        "auto-fast",
        "ratio",
        "fit",
        "no interactions",
        "logistic",
        "boosting",
        "missed",
    )
    line(*cells)
    print("|" + "---|" * len(cells), flush=True)
    known, missed, faster = schema(), 0, []
    for name in names:
        table = load(name, known[name])
        X, y = table.frame[table.features], table.frame[table.target].to_numpy()
        default = sunrise.NaiveBayes().fit(X, y)
        fast = sunrise.NaiveBayes("auto-fast", calibrate=None).fit(X, y)
        predict, plain = interleaved(
            partial(default.predict_proba, X), partial(fast.predict_proba, X), rounds=9
        )
        ours = sunrise.NaiveBayes, partial(sunrise.NaiveBayes, interactions=None)
        makers: list[Any] = [*ours, *(partial(m, table.numbers, table.strings) for m in PEERS)]
        fit, alone, regression, trees = interleaved(
            *(partial(fitted, make, X, y) for make in makers), rounds=3
        )
        limit = regression if len(y) > MANY_ROWS else max(TWICE * regression, SECONDS)
        late = [
            what
            for what, is_late in (
                ("predict", predict > PREDICT * plain),
                ("fit", fit > limit),
                ("boosting", fit > trees),
            )
            if is_late
        ]
        faster.append((fit / trees, alone / trees))
        missed += len(late)
        times = (shown(t) for t in (fit, alone, regression, trees))
        ratio = f"{predict / plain:.1f}"
        line(name, f"{len(y):,}", shown(predict), shown(plain), ratio, *times, ", ".join(late))
    mean, alone = np.exp(np.mean(np.log(faster), axis=0))
    print(
        f"\n- Fit {1 / mean:.1f} times as fast as boosting in the geometric mean (claimed: {1 / BOOSTING:g}), "
        f"without interactions {1 / alone:.1f} times."
    )
    return missed + int(mean > BOOSTING)


PEERS = (logistic, boosting)


def fitted(make: Any, X: Any, y: Any) -> Any:
    """Make a model and fit it."""
    return make().fit(X, y)


def families() -> int:
    """Print the ratios of pairs of calls; return the number of missed claims."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300_000)
    X = rng.normal(size=(len(y), 20)) + 0.3 * y[:, None]
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    counts = rng.poisson(3.0 + y[:, None], X.shape).astype(float)
    missing = np.where(np.isnan(holes), np.nan, counts)
    kernel, gaussian = sunrise.KernelNB().fit(X, y), sunrise.GaussianNB().fit(X, y)
    cases: list[tuple[str, Any, Any, float]] = [
        ("kernel / Gaussian", *probabilities(kernel, gaussian, X), 3),
        (
            "kernel: leave_one_out / predict_proba",
            lambda: kernel.leave_one_out(X, y),
            lambda: kernel.predict_proba(X),
            4,
        ),
    ]
    for name, cells in (("gaussian", X), ("poisson", counts), ("exponential", abs(X)), ("geometric", counts)):
        predictive, mean = (
            sunrise.NaiveBayes(name, estimate=estimate, calibrate=None).fit(cells, y)
            for estimate in ("predictive", "mean")
        )
        cases.append((f"{name}: predictive / mean", *probabilities(predictive, mean, cells), 3))
    for name, full, some, limit in (
        ("GaussianNB", X, holes, 1.5),
        ("BernoulliNB", counts, missing, 1.5),
        ("PoissonNB", counts, missing, 1.5),
        ("KernelNB", X, holes, 1.5),
        ("MultinomialNB", counts, missing, 3),
        ("ComplementNB", counts, missing, 3),
    ):
        model = getattr(sunrise, name)().fit(full, y)
        cases.append((f"{name}: 10 % missing / complete", *probabilities(model, model, some, full), limit))
    print()
    line("predict_proba, 300,000 x 20, 2 classes", "time", "of", "ratio", "claimed, at most")
    print("|---|---|---|---|---|", flush=True)
    missed = 0
    for name, ours, base, limit in cases:
        a, b = interleaved(ours, base, rounds=9)
        line(name, shown(a), shown(b), f"{a / b:.2f}", f"{limit:g}")
        missed += a > limit * b
    return missed


def probabilities(first: Any, second: Any, X: NDArray[Any], other: Any = None) -> tuple[Any, Any]:
    """Return two calls of predict_proba."""
    return partial(first.predict_proba, X), partial(second.predict_proba, X if other is None else other)


@contextmanager
def timed(times: list[float]) -> Iterator[None]:
    """Append the time of every choice of families to a list."""
    learning: Any = module
    choose = learning.choose_families

    def measured(*arguments: Any) -> Any:
        start = perf_counter()
        try:
            return choose(*arguments)
        finally:
            times.append(perf_counter() - start)

    learning.choose_families = measured
    try:
        yield
    finally:
        learning.choose_families = choose


def choosing() -> int:
    """Print the time to choose families beside that of a fit by type; return the number of missed claims."""
    rng = np.random.default_rng(0)
    missed = 0
    print()
    line("choosing", "alone", "fit by type", "ratio", "claimed, at most")
    print("|---|---|---|---|---|", flush=True)
    for n, d, classes in ((500_000, 50, 2), (3_000, 20, 2), (3_000, 20, 5)):
        y = rng.integers(0, classes, n)
        X = rng.normal(size=(n, d)) + 0.3 * y[:, None]
        X[:, : d // 4] = rng.poisson(3.0 + y[:, None], (n, d // 4))
        X[:, d // 4 : 2 * (d // 4)] = rng.gamma(2.0 + y[:, None], 1.0, (n, d // 4))
        chosen, typed = sunrise.NaiveBayes(calibrate=None), sunrise.NaiveBayes("auto-fast", calibrate=None)
        alone: list[float] = []

        def choose(chosen: Any = chosen, X: Any = X, y: Any = y, alone: list[float] = alone) -> None:
            with timed(alone):
                chosen.fit(X, y)

        _, base = interleaved(choose, partial(typed.fit, X, y), rounds=5)
        small = n < 10_000
        limit = 0.05 if small else 1.5 * base
        claim = "50 ms" if small else "1.5 times"
        line(
            f"{n:,} x {d}, {classes} classes",
            shown(min(alone)),
            shown(base),
            f"{min(alone) / base:.2f}",
            claim,
        )
        missed += min(alone) > limit
    return missed


def main(wanted: list[str]) -> int:
    """Run all parts, or the named parts and tables; return 1 if a claim is missed."""
    parts = {"families": families, "choosing": choosing}
    if strange := set(wanted) - {*TABLES, "tables", *parts}:
        raise SystemExit(f"unknown: {', '.join(sorted(strange))}\n\n{__doc__}")
    warnings.simplefilter("ignore")
    names = [name for name in TABLES if not wanted or name in wanted or "tables" in wanted]
    missed = tables(names) if names else 0
    missed += sum(part() for name, part in parts.items() if not wanted or name in wanted)
    return int(missed > 0)
