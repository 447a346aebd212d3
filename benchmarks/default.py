"""The default model, NaiveBayes(), beside plain naive Bayes and "auto-fast": quality, honest scores, speed and size.

Accuracy and log loss are those of the folds of `benchmarks.tables`. `loo_score_` of one fit to all rows (the claim) is
compared with a stratified 10-fold cross-validation. Times are minima of three fits and predictions of all rows, sizes
those of pickles.
"""

from __future__ import annotations

import pickle
import warnings
from time import perf_counter
from typing import Any

import numpy as np
import sunrise
from sklearn.model_selection import StratifiedKFold

from benchmarks.tables import load, measure, protocol, schema
from benchmarks.timing import line

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"calibrate": None},
    "auto-fast": {"families": "auto-fast", "calibrate": None},
}
#: Claims for the default: least mean accuracy and largest mean log loss.
LEAST_ACCURACY, MOST_LOSS = 0.862, 0.32
#: Claims for its score: mean difference of the accuracy from 10-fold cross-validation, ratio of the mean log losses.
DIFFERENCE, RATIO = 0.01, 0.05
#: Number of runs of a timing.
ROUNDS = 3


def least_time(run: Any) -> float:
    """Return the least time of several runs in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return 1e3 * min(times)


def cross_validated(X: Any, y: Any) -> tuple[float, float]:
    """Return accuracy and log loss of the default by 10 folds; fewer if a class has fewer rows."""
    n_folds = min(10, int(np.unique(y, return_counts=True)[1].min()))
    folds = StratifiedKFold(max(2, n_folds), shuffle=True, random_state=1).split(y, y)
    return measure(sunrise.NaiveBayes(), X, y, list(folds))


def main(wanted: list[str]) -> int:
    """Print a line for each table and the summary; return 1 if a claim is missed."""
    warnings.simplefilter("ignore")
    known = schema()
    print(f"Sunrise {sunrise.__version__}: {' / '.join(SETTINGS)}.\n")
    line("table", "accuracy", "log loss", "fit, ms", "predict, ms", "size, kB", "claim", "10 folds", "method")
    print("|" + "---|" * 9, flush=True)
    quality, claims, folded = [], [], []
    for name in wanted or known:
        X, y, folds = protocol(load(name, known[name]))
        scores, cells = [], []
        for settings in SETTINGS.values():
            model = sunrise.NaiveBayes(**settings)
            scores.append(measure(model, X, y, folds))
            fit = least_time(lambda model=model, X=X, y=y: model.fit(X, y))
            predict = least_time(lambda model=model, X=X: model.predict_proba(X))
            cells.append((fit, predict, len(pickle.dumps(model)) / 1e3))
        claim = sunrise.NaiveBayes().fit(X, y).loo_score_
        quality.append(scores)
        claims.append(claim[:2])
        folded.append(cross_validated(X, y))
        line(
            name,
            *(" / ".join(f"{score[k]:.3f}" for score in scores) for k in (0, 1)),
            *(" / ".join(f"{cell[k]:.0f}" for cell in cells) for k in range(3)),
            *(f"{pair[0]:.3f}, {pair[1]:.3f}" for pair in (claims[-1], folded[-1])),
            claim.method,
        )
    means, claimed, real = np.mean(quality, axis=0), np.mean(claims, axis=0), np.mean(folded, axis=0)
    line(
        "mean",
        *(" / ".join(f"{row[k]:.4f}" for row in means) for k in (0, 1)),
        "",
        "",
        "",
        *(f"{pair[0]:.4f}, {pair[1]:.4f}" for pair in (claimed, real)),
        "",
    )
    difference, ratio = claimed[0] - real[0], claimed[1] / real[1]
    print(
        f"\n- The default: mean accuracy {means[0][0]:.4f} (claimed: {LEAST_ACCURACY}), mean log loss "
        f"{means[0][1]:.4f} (claimed: {MOST_LOSS}).\n"
        f"- `loo_score_` against 10-fold cross-validation: accuracy {difference:+.4f} in the mean (claimed: within "
        f"{DIFFERENCE}), ratio of the mean log losses {ratio:.3f} (claimed: within {RATIO:.0%})."
    )
    held = (
        means[0][0] >= LEAST_ACCURACY,
        means[0][1] <= MOST_LOSS,
        abs(difference) <= DIFFERENCE,
        abs(ratio - 1) <= RATIO,
    )
    return int(not all(held)) if not wanted else 0
