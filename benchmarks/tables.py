"""Accuracy and log loss of NaiveBayes("auto-fast") on 27 real tables, compared with the scikit-learn baseline.

Stratified 5-fold cross-validation (shuffled, seed 0) with pooled predictions. Tables with more than 20,000 rows are
sampled down to 20,000; classes with fewer than 5 rows are removed. The features are the columns of the kinds numeric,
categorical and ordinal in the schema, the latter two as strings. The log loss is minus the mean log-probability of the
true class, not clipped.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import sklearn
import sunrise
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.baseline import Baseline

DATA = (
    Path(os.environ.get("SUNRISE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data") / "tables"
)

#: Accuracies of the same baseline from an independent program, as a check.
REFERENCE = {
    "adult": 0.825,
    "mushroom": 0.953,
    "credit-approval": 0.780,
    "bank-marketing": 0.866,
    "titanic": 0.772,
    "german-credit": 0.755,
    "mammographic": 0.825,
    "spambase": 0.821,
    "optdigits": 0.784,
    "mlbench-HouseVotes84": 0.901,
    "mlbench-Soybean": 0.893,
    "mlbench-BreastCancer": 0.973,
    "mlbench-PimaIndiansDiabetes": 0.754,
    "mlbench-Glass": 0.449,
    "mlbench-Ionosphere": 0.826,
    "mlbench-Vehicle": 0.450,
    "mlbench-Vowel": 0.508,
    "mlbench-LetterRecognition": 0.643,
    "mlbench-Sonar": 0.692,
    "mlbench-Satellite": 0.796,
    "mlbench-Shuttle": 0.897,
    "mlbench-DNA": 0.941,
}

#: Claims: accuracy at most SLACK below the baseline on a share SHARE of the tables, and GAIN above it on average.
SLACK, SHARE, GAIN = 0.005, 0.85, 0.015


@dataclass(frozen=True)
class Table:
    """A real table: the data frame, the label column and the feature columns."""

    name: str
    frame: Any
    target: str
    numbers: list[str]
    strings: list[str]

    @property
    def features(self) -> list[str]:
        """Names of all feature columns."""
        return [name for name in self.frame.columns if name in {*self.numbers, *self.strings}]


def schema() -> dict[str, Any]:
    """Return the description of each table by name."""
    if not DATA.is_dir():
        raise SystemExit(f"the folder of the real tables does not exist: {DATA}")
    known: dict[str, Any] = json.loads((DATA / "schema.json").read_text())
    return known


def load(name: str, about: dict[str, Any]) -> Table:
    """Read a table with pandas; only an empty field is a missing value."""
    kinds = {column["name"]: column["kind"] for column in about["column_info"]}
    numbers = [column for column, kind in kinds.items() if kind == "numeric"]
    strings = [column for column, kind in kinds.items() if kind in ("categorical", "ordinal")]
    dtype = dict.fromkeys(strings, str)
    frame = pd.read_csv(DATA / about["file"], keep_default_na=False, na_values=[""], dtype=dtype)
    return Table(name, frame, about["target"], numbers, strings)


def protocol(table: Table) -> tuple[Any, NDArray[Any], list[tuple[Any, Any]]]:
    """Return the features and labels of the evaluated rows, and the folds."""
    frame, target = table.frame, table.target
    if len(frame) > 20_000:
        frame = frame.sample(20_000, random_state=0)
    times = frame[target].value_counts()
    frame = frame[frame[target].isin(times[times >= 5].index)]
    y = frame[target].to_numpy()
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    return frame[table.features], y, list(folds)


def measure(model: Any, X: Any, y: NDArray[Any], folds: list[tuple[Any, Any]]) -> tuple[float, float]:
    """Return the accuracy and the log loss of a model over all folds."""
    right, loss = 0, 0.0
    for train, test in folds:
        logs = model.fit(X.iloc[train], y[train]).predict_log_proba(X.iloc[test])
        true = np.searchsorted(model.classes_, y[test])
        right += int((logs.argmax(axis=1) == true).sum())
        loss -= float(logs[np.arange(len(test)), true].sum())
    return right / len(y), loss / len(y)


def main(wanted: list[str]) -> int:
    """Print a line for each table and the summary; return 1 if a claim is missed."""
    known = schema()
    if strange := set(wanted) - set(known):
        raise SystemExit(f"no such table: {', '.join(sorted(strange))}. There are: {', '.join(known)}")
    print(
        f'Sunrise {sunrise.__version__}, NaiveBayes("auto-fast"), compared with CategoricalNB + GaussianNB with '
        f"imputation (scikit-learn {sklearn.__version__}). Missing strings are a separate level in the baseline; "
        "'most frequent' imputes the most frequent string instead.\n"
    )
    print(
        "| table | rows | reference | baseline | most frequent | Sunrise | difference | log loss, baseline | Sunrise |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    found = []
    for name in wanted or known:
        table = load(name, known[name])
        X, y, folds = protocol(table)
        columns = table.numbers, table.strings
        ours = measure(sunrise.NaiveBayes("auto-fast", calibrate=None), X, y, folds)
        theirs = measure(Baseline(*columns), X, y, folds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            filled = measure(Baseline(*columns, impute="most_frequent"), X, y, folds)
        found.append([*theirs, *filled, *ours])
        reference = f"{REFERENCE[name]:.3f}" if name in REFERENCE else ""
        accuracies = [f"{value:.4f}" for value in (theirs[0], filled[0], ours[0])]
        losses = [f"{value:.3f}" for value in (theirs[1], ours[1])]
        line = [name, str(len(y)), reference, *accuracies, f"{ours[0] - theirs[0]:+.4f}", *losses]
        print(f"| {' | '.join(line)} |", flush=True)
    return summary(np.array(found))


def summary(found: NDArray[np.float64]) -> int:
    """Print the summary of all tables; return 1 if a claim is missed."""
    theirs, loss, filled, _, ours, our_loss = found.T
    means = [f"{side.mean():.4f}" for side in (theirs, filled, ours)]
    losses = [f"{side.mean():.3f}" for side in (loss, our_loss)]
    line = ["mean", "", "", *means, f"{(ours - theirs).mean():+.4f}", *losses]
    print(f"| {' | '.join(line)} |\n")
    missed = 0
    for what, side, counts in (("the baseline", theirs, True), ("'most frequent'", filled, False)):
        share, gain = (ours >= side - SLACK).mean(), (ours - side).mean()
        better, worse = (ours > side + SLACK).sum(), (ours < side - SLACK).sum()
        print(
            f"- Compared with {what}: accuracy at most {SLACK} lower on {share:.1%} of the tables "
            f"(claimed: {SHARE:.0%}), more than {SLACK} higher on {better}, more than {SLACK} lower on {worse}; "
            f"mean difference {gain * 100:+.2f} points (claimed: {GAIN * 100:+g})."
        )
        missed += counts and (share < SHARE or gain < GAIN)
    print(f"- Log loss lower than the baseline on {(our_loss < loss).sum()} of {len(loss)} tables.")
    return int(missed)
