"""EM: accuracy gained from rows without a label, and a check that they never cause a large loss.

curve     20 Newsgroups by date, headers removed: labelled articles, equally many of each group, and 8,000 unlabelled
          articles, with the settings of Nigam et al. (2000); accuracy on the test part
settings  300 labelled articles and SMS spam with other settings; some of them make EM fail
tables    real tables, with labels for 50 and 300 of up to 3,000 rows

"labelled only" is the model of the labelled rows. All random choices use seed 0.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import sunrise
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from benchmarks import tables
from benchmarks.text import COLLECTIONS
from benchmarks.timing import line

SIZES = (20, 40, 100, 300, 600, 1000, 3000)
MULTINOMIAL: dict[str, Any] = {"model": "multinomial"}
STOP_WORDS = sorted(ENGLISH_STOP_WORDS)
PAPER: dict[str, Any] = {**MULTINOMIAL, "alpha": 0.01, "min_df": 2, "total": 20, "stop_words": STOP_WORDS}
SETTINGS: dict[str, dict[str, Any]] = {
    "as in the paper": PAPER,
    "TextNB()": {},
    "alpha 1": {**MULTINOMIAL, "alpha": 1.0},
    "alpha 1, stop words removed": {**MULTINOMIAL, "alpha": 1.0, "stop_words": STOP_WORDS},
    "alpha 1, one length": {**MULTINOMIAL, "alpha": 1.0, "total": 20, "stop_words": STOP_WORDS},
    "alpha .1": {**MULTINOMIAL, "alpha": 0.1},
    "alpha .01": {**MULTINOMIAL, "alpha": 0.01},
}
#: Claims: minimum accuracy with 300 labelled articles, and maximum loss compared with the labelled rows only.
LEAST, BELOW = 0.66, 0.01


def compared(
    model: Any, X: Any, y: NDArray[Any], labelled: Any, rest: Any, X_test: Any, y_test: Any
) -> list[float]:
    """Return the accuracy with labelled rows only and with all rows, the weight of unlabelled rows, and seconds."""
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    both = np.concatenate([labelled, rest])
    labels = [*y[labelled].tolist(), *[None] * len(rest)]
    plain = model.set_params(unlabelled="error").fit(take(labelled), y[labelled]).predict(X_test)
    start = perf_counter()
    model.set_params(unlabelled="em").fit(take(both), labels)
    seconds = perf_counter() - start
    alone, with_rest = ((found == y_test).mean() for found in (plain, model.predict(X_test)))
    return [alone, with_rest, model.em_.weight, seconds]


def documents(name: str, n: int, n_rest: int) -> tuple[Any, ...]:
    """Load a collection with n labelled documents; for 20news, equally many of each group."""
    texts, y, [(train, test), *_] = COLLECTIONS[name]()
    order = np.random.default_rng(0).permutation(train)
    labelled = order[:n]
    if name == "20news":
        texts = [text.partition("\n\n")[2] for text in texts]
        labelled = np.concatenate([order[y[order] == group][: n // 20] for group in np.unique(y)])
    rest = order[~np.isin(order, labelled)][:n_rest]
    X = np.array(texts, dtype=object)
    return X, y, labelled, rest, X[test], y[test]


def told(name: str, found: list[float]) -> int:
    """Print a line; return 1 if the loss is larger than claimed."""
    alone, with_rest, weight, seconds = found
    line(
        name,
        f"{alone:.3f}",
        f"{with_rest:.3f}",
        f"{with_rest - alone:+.3f}",
        f"{weight:g}",
        f"{seconds:.1f} s",
    )
    return int(with_rest < alone - BELOW)


def head(name: str) -> None:
    line(name, "labelled only", "with unlabelled", "difference", "weight", "fit")
    print("|---|---|---|---|---|---|", flush=True)


def curve() -> int:
    head("labelled articles, with 8,000 unlabelled")
    missed = 0
    for n in SIZES:
        found = compared(sunrise.TextNB(**PAPER), *documents("20news", n, 8000))
        missed += told(str(n), found) + (n == 300 and found[1] < LEAST)
    return missed


def settings() -> int:
    head("settings")
    missed = 0
    for collection, n in (("20news", 300), ("sms", 100)):
        given = documents(collection, n, 3000)
        for name, wanted in SETTINGS.items():
            missed += told(f"{collection}, {n} labelled, {name}", compared(sunrise.TextNB(**wanted), *given))
    return missed


def real_tables() -> int:
    head("table")
    missed, known = 0, tables.schema()
    for name, about in known.items():
        table = tables.load(name, about)
        frame = table.frame[table.frame[table.target].notna()]
        order = np.random.default_rng(0).permutation(len(frame))[:4500]
        X, y = frame[table.features].iloc[order], frame[table.target].astype(str).to_numpy()[order]
        split = len(y) // 3
        for n in (50, 300):
            if 2 * n < len(y) - split and len(np.unique(y)) * 2 < n:
                rows = np.arange(split, len(y))
                given = X, y, rows[:n], rows[n:], X.iloc[:split], y[:split]
                missed += told(
                    f"{name}, {n} labelled", compared(sunrise.NaiveBayes("auto-fast", calibrate=None), *given)
                )
    return missed


PARTS = {"curve": curve, "settings": settings, "tables": real_tables}


def main(wanted: list[str]) -> int:
    """Run all parts, or the named ones; return 1 if a claim is missed."""
    if strange := set(wanted) - set(PARTS):
        raise SystemExit(f"no such part: {', '.join(sorted(strange))}. There are: {', '.join(PARTS)}")
    missed = 0
    for name in wanted or PARTS:
        missed += PARTS[name]()
        print()
    return int(missed > 0)
