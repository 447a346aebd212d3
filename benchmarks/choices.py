"""Rules for the choice of a family, compared on the real tables: accuracy and log loss, plain and calibrated.

Tables and folds are those of `benchmarks.tables`, with at most `--rows` training rows in each fold (3,000; 0 for all).
A rule keeps the candidates within some standard errors of the best conditional score, and takes the simplest of them,
or the best density (the simplest within one standard error of it).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sunrise
from sunrise.selection import by_score
from sunrise.selection import decide as rule

from benchmarks.tables import load, protocol, schema

#: The rule before: the simplest family within this many nats per row of the best.
CLOSE = 5e-4


def closest(names: Any, of_class: Any, of_cell: Any, prior: Any, weight: Any) -> Any:
    """Return the simplest family whose score is within CLOSE of the best."""
    mean = weight @ of_class / weight.sum()
    return rule.Decision(int(np.argmax(mean >= mean.max() - CLOSE)), "", np.ones(len(names), bool))


def simplest(errors: float) -> Callable[..., Any]:
    """Return the rule that takes the simplest family within some standard errors of the best score."""

    def decide(names: Any, of_class: Any, of_cell: Any, prior: Any, weight: Any) -> Any:
        mean = weight @ of_class / weight.sum()
        at = int(np.argmax(rule.within(of_class, mean, weight, errors)))
        return rule.Decision(at, "", np.ones(len(names), bool))

    return decide


def densest(errors: float, above_prior: float = 2.0, of_density: float = 1.0) -> Callable[..., Any]:
    """Return the rule of the library with other numbers of standard errors."""

    def decide(*scores: Any) -> Any:
        before = rule.OF_CLASS, rule.ABOVE_PRIOR, rule.OF_DENSITY
        rule.OF_CLASS, rule.ABOVE_PRIOR, rule.OF_DENSITY = errors, above_prior, of_density
        try:
            return rule.decide(*scores)
        finally:
            rule.OF_CLASS, rule.ABOVE_PRIOR, rule.OF_DENSITY = before

    return decide


RULES: dict[str, Callable[..., Any]] = {
    "within 0.0005, simplest": closest,
    "half, simplest": simplest(0.5),
    "one, simplest": simplest(1.0),
    "two, simplest": simplest(2.0),
    "quarter, density": densest(0.25),
    "half, density": densest(0.5),
    "half, density, no prior": densest(0.5, above_prior=-np.inf),
    "one, density": densest(1.0),
    "two, density": densest(2.0),
    "quarter, density within two": densest(0.25, of_density=2.0),
    "half, density within two": densest(0.5, of_density=2.0),
    "one, density within two": densest(1.0, of_density=2.0),
}


def judge(model: Any, X: Any, y: Any, Z: Any, z: Any) -> tuple[int, float]:
    """Return the number of right predictions and the sum of log losses of a model on new rows."""
    logs = model.fit(X, y).predict_log_proba(Z)
    true = np.searchsorted(model.classes_, z)
    return int((logs.argmax(axis=1) == true).sum()), -float(logs[np.arange(len(z)), true].sum())


def compare(X: Any, y: Any, folds: Any, rules: list[str], rows: int) -> dict[str, list[float]]:
    """Return accuracy and log loss, plain and calibrated, of every rule."""
    totals = {name: np.zeros(4) for name in rules}
    patched: Any = by_score
    scores = patched._Sample.scores
    for train, test in folds:
        if rows and len(train) > rows:
            train = np.random.default_rng(0).choice(train, rows, replace=False)
        cache: dict[Any, Any] = {}

        def cached(self: Any, pairs: Any, x: Any, settings: Any, cache: Any = cache) -> Any:
            key = tuple((pair.family.name, pair.column) for pair in pairs)
            if key not in cache:
                cache[key] = scores(self, pairs, x, settings)
            return cache[key]

        known: dict[Any, Any] = {}
        patched._Sample.scores = cached
        for name in rules:
            patched.decide = RULES[name]
            plain = sunrise.NaiveBayes(calibrate=None).fit(X.iloc[train], y[train])
            key = tuple(None if c.family is None else c.family.name for c in plain._model.schema.choices)
            if key not in known:
                data = X.iloc[train], y[train], X.iloc[test], y[test]
                models = sunrise.NaiveBayes(calibrate=None), sunrise.NaiveBayes(calibrate="columns")
                known[key] = np.concatenate([judge(model, *data) for model in models])
            totals[name] += known[key]
        patched._Sample.scores, patched.decide = scores, rule.decide
    return {name: (total / len(y)).tolist() for name, total in totals.items()}


def main() -> None:
    """Print a line for each table and rule, and the means over the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--rules", nargs="*", default=list(RULES))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    known, results = schema(), []
    print(
        "| table | rule | accuracy | log loss | accuracy, columns | log loss, columns |\n|---|---|---|---|---|---|"
    )
    for table in args.tables or known:
        found = compare(*protocol(load(table, known[table])), args.rules, args.rows)
        results.append([found[name] for name in args.rules])
        for name, values in found.items():
            print(f"| {table} | {name} | {' | '.join(f'{value:.4f}' for value in values)} |", flush=True)
    for name, values in zip(args.rules, np.mean(results, axis=0), strict=True):
        print(f"| mean | {name} | {' | '.join(f'{value:.4f}' for value in values)} |")


if __name__ == "__main__":
    main()
