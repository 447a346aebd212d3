"""Accuracy and log loss on 27 real tables, families by type, beside scikit-learn's two models behind imputation.

Pooled stratified 5 folds (shuffled, seed 0); of more than 20,000 rows a sample of 20,000; classes of fewer than 5 rows
left out. Columns are those of the schema's kinds numeric, categorical and ordinal, the latter two as strings.
The log loss is minus the mean log-probability of the true class, nothing clipped.
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

#: Accuracies of the baseline from another program, to check ours against.
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

#: How far below the baseline still counts as equal; on what share of the tables; and by how much the mean is above.
SLACK, SHARE, GAIN = 0.005, 0.85, 0.015


@dataclass(frozen=True)
class Table:
    """A real table: its frame, the label, and the columns that are features."""

    name: str
    frame: Any
    target: str
    numbers: list[str]
    strings: list[str]

    @property
    def features(self) -> list[str]:
        """Names of all columns that are features."""
        return [name for name in self.frame.columns if name in {*self.numbers, *self.strings}]


def schema() -> dict[str, Any]:
    """What each table holds, by name."""
    if not DATA.is_dir():
        raise SystemExit(f"the folder of real tables, {DATA}, is not there")
    known: dict[str, Any] = json.loads((DATA / "schema.json").read_text())
    return known


def load(name: str, about: dict[str, Any]) -> Table:
    """Read a table through pandas; an empty field is a missing cell and nothing else is."""
    kinds = {column["name"]: column["kind"] for column in about["column_info"]}
    numbers = [column for column, kind in kinds.items() if kind == "numeric"]
    strings = [column for column, kind in kinds.items() if kind in ("categorical", "ordinal")]
    dtype = dict.fromkeys(strings, str)
    frame = pd.read_csv(DATA / about["file"], keep_default_na=False, na_values=[""], dtype=dtype)
    return Table(name, frame, about["target"], numbers, strings)


def protocol(table: Table) -> tuple[Any, NDArray[Any], list[tuple[Any, Any]]]:
    """The rows that take part, their labels, and the folds."""
    frame, target = table.frame, table.target
    if len(frame) > 20_000:
        frame = frame.sample(20_000, random_state=0)
    times = frame[target].value_counts()
    frame = frame[frame[target].isin(times[times >= 5].index)]
    y = frame[target].to_numpy()
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    return frame[table.features], y, list(folds)


def measure(model: Any, X: Any, y: NDArray[Any], folds: list[tuple[Any, Any]]) -> tuple[float, float]:
    """Accuracy and log loss of a model over all folds."""
    right, loss = 0, 0.0
    for train, test in folds:
        logs = model.fit(X.iloc[train], y[train]).predict_log_proba(X.iloc[test])
        true = np.searchsorted(model.classes_, y[test])
        right += int((logs.argmax(axis=1) == true).sum())
        loss -= float(logs[np.arange(len(test)), true].sum())
    return right / len(y), loss / len(y)


def main(wanted: list[str]) -> int:
    """Print a line for each table and the summary; fail where what is asked is not reached."""
    known = schema()
    if strange := set(wanted) - set(known):
        raise SystemExit(f"no such table: {', '.join(sorted(strange))}. There are: {', '.join(known)}")
    print(
        f'Sunrise {sunrise.__version__}, NaiveBayes("auto-fast"), beside CategoricalNB + GaussianNB with '
        f"imputation (scikit-learn {sklearn.__version__}). Missing strings are a level of their own in the baseline; "
        "'most frequent' fills them in instead.\n"
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
        ours = measure(sunrise.NaiveBayes("auto-fast"), X, y, folds)
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
    """Print what is asked of all tables together."""
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
            f"Beside {what}: no more than {SLACK} below on {share:.1%} of the tables (claimed: {SHARE:.0%}), "
            f"{better} better by more than that, {worse} worse; mean {gain * 100:+.2f} points "
            f"(claimed: {GAIN * 100:+g})."
        )
        missed += counts and (share < SHARE or gain < GAIN)
    print(f"Lower log loss than the baseline on {(our_loss < loss).sum()} of {len(loss)} tables.")
    return int(missed)
