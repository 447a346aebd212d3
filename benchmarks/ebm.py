"""The default model beside explainable boosting (EBM): accuracy, log loss and time on real tables.

EBM is also an additive model with pairs of columns, fitted by boosting. It comes with `pip install interpret-core`, and
runs with its own settings. The folds are those of `benchmarks.tables`; every table runs in a process of its own.
"""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np
import sunrise

from benchmarks.tables import load, measure, protocol, schema
from benchmarks.timing import line

#: Tables that EBM fits five times in a few minutes.
TABLES = (
    "mammographic",
    "mlbench-BreastCancer",
    "mlbench-HouseVotes84",
    "car",
    "german-credit",
    "titanic",
    "mlbench-PimaIndiansDiabetes",
    "mlbench-PimaIndiansDiabetes2",
    "credit-approval",
    "tic-tac-toe",
    "mlbench-Ionosphere",
)


class Boosting:
    """EBM with its own settings on one thread, and log-probabilities."""

    def fit(self, X: Any, y: Any) -> Boosting:
        """Fit the model."""
        from interpret.glassbox import ExplainableBoostingClassifier

        self.model = ExplainableBoostingClassifier(n_jobs=1, random_state=0).fit(X, y)
        self.classes_ = self.model.classes_
        return self

    def predict_log_proba(self, X: Any) -> Any:
        """Return log-probabilities, not below that of the smallest double."""
        return np.log(np.maximum(self.model.predict_proba(X), np.finfo(float).tiny))


def measured(name: str) -> dict[str, Any]:
    """Return accuracy, log loss and CPU seconds of both models on a table."""
    warnings.simplefilter("ignore")
    table = load(name, schema()[name])
    X, y, folds = protocol(table)
    found: dict[str, Any] = {"name": name}
    plain = X.assign(**{column: X[column].fillna("(missing)") for column in table.strings})
    for key, model, rows in (
        ("sunrise", sunrise.NaiveBayes(), X),
        ("ebm", Boosting(), plain),
    ):
        start = process_time()
        found[key] = (*measure(model, rows, y, folds), process_time() - start)
    return found


def main(wanted: list[str]) -> int:
    """Print a line for each table and the means; the comparison claims nothing."""
    os.environ["SUNRISE_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        found = list(pool.map(measured, wanted or TABLES))
    line("table", "accuracy: NaiveBayes / EBM", "log loss", "CPU of 5 fits and predictions, s")
    print("|---|---|---|---|")
    for own in [*found, {"name": "mean", **_means(found)}]:
        pairs = list(zip(own["sunrise"], own["ebm"], strict=True))
        shown = [f"{a:.4f} / {b:.4f}" for a, b in pairs[:2]]
        line(own["name"], *shown, f"{pairs[2][0]:.1f} / {pairs[2][1]:.1f}")
    better = sum(own["sunrise"][1] < own["ebm"][1] for own in found)
    print(f"\n- Lower log loss than EBM on {better} of {len(found)} tables.")
    return 0


def _means(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: np.mean([own[key] for own in found], axis=0).tolist() for key in ("sunrise", "ebm")}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
