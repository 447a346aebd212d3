"""Exports beside predict_proba on real tables and texts, and the time of one row in ONNX beside skl2onnx.

The default NaiveBayes is fitted to every table (at most 20,000 rows), and TextNB to every collection of documents. The
largest difference from `predict_proba` is that of 300 rows; a tenth of their cells are missing, and a tenth of the
levels never occurred in fit. Numbers are rounded to float32 before, so that both types of ONNX inputs hold them.
JSON is evaluated by the program of the tests, which follows docs/export.md. The tolerance is 1e-9, with kernel
densities 1e-6, and 1e-5 for the float32 outputs of ONNX.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import sunrise

from benchmarks import tables, text
from benchmarks.timing import interleaved, shown

ROOT = Path(__file__).resolve().parents[1]
#: Number of rows that every export scores.
ROWS = 300
EXPORTS = "json", "duckdb", "sqlite", "postgresql", "onnx", "onnx float32"


def main(wanted: list[str]) -> int:
    """Compare the exports of all tables and texts, or of the named ones; return 1 if a claim is missed."""
    known = tables.schema()
    if strange := set(wanted) - {*known, *text.COLLECTIONS, "speed"}:
        raise SystemExit(
            f"no such table: {', '.join(sorted(strange))}. There are: {', '.join([*known, *text.COLLECTIONS, 'speed'])}"
        )
    names = [name for name in wanted or [*known, *text.COLLECTIONS] if name != "speed"]
    missed = 0
    with ExitStack() as stack:
        engines = _engines(stack)
        if names:
            print(f"| table | rows | pieces of densities | JSON kB | {' | '.join(engines)} |")
            print("|---|---|---|---|" + "---|" * len(engines), flush=True)
        for name in names:
            missed += _table(name, known, engines) if name in known else _texts(name, engines)
    if not wanted or "speed" in wanted:
        missed += speed()
    return int(missed > 0)


def _engines(stack: ExitStack) -> dict[str, Any]:
    """Return the engines of the tests that can run here."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    engine = importlib.import_module("export.engines").Engine
    postgres = importlib.import_module("export.postgres")
    found = {name: engine(name) for name in EXPORTS if name != "postgresql"}
    if (folder := postgres.programs()) is not None:
        import psycopg

        arguments = stack.enter_context(postgres.server(folder))
        connection = psycopg.connect(**arguments, autocommit=True, prepare_threshold=None)
        found["postgresql"] = engine("postgresql", stack.enter_context(connection))
    return {name: found[name] for name in EXPORTS if name in found}


def _table(name: str, known: dict[str, Any], engines: dict[str, Any]) -> int:
    table = tables.load(name, known[name])
    X, y, _ = tables.protocol(table)
    X = X.copy()
    if len({column.lower() for column in X.columns}) < len(X.columns):
        # Most databases do not distinguish upper and lower case in names.
        table, X.columns = _renamed(table), [f"{column} {k}" for k, column in enumerate(X.columns)]
    X[table.numbers] = X[table.numbers].astype("float32").astype("float64")
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sunrise.NaiveBayes().fit(X, y)
    rows = X.sample(min(ROWS, len(X)), random_state=0).astype(object)
    rows[table.strings] = rows[table.strings].mask(
        rng.random((len(rows), len(table.strings))) < 0.1, "never seen"
    )
    rows = rows.mask(rng.random(rows.shape) < 0.1)
    for column in table.numbers:
        rows[column] = rows[column].astype(float)
    return _report(name, model, rows, rows, engines, len(X))


def _renamed(table: Any) -> Any:
    """Return a table whose column names have their positions behind them."""
    place = {column: f"{column} {k}" for k, column in enumerate(table.features)}
    numbers, strings = ([place[column] for column in own] for own in (table.numbers, table.strings))
    return tables.Table(table.name, table.frame, table.target, numbers, strings)


def _texts(name: str, engines: dict[str, Any]) -> int:
    import pandas as pd  # type: ignore[import-untyped]

    texts, y, folds = text.COLLECTIONS[name]()
    train, test = folds[0]
    model = sunrise.TextNB().fit([texts[i] for i in train], y[train])
    documents = [*(texts[i] for i in test[: ROWS // 3]), None, ""]
    frame = pd.DataFrame({"text": documents}, dtype=object)
    usable = {key: engine for key, engine in engines.items() if not engine.is_sql}
    return _report(name, model, documents, frame, engines, len(train), usable)


def _report(
    name: str,
    model: Any,
    X: Any,
    frame: Any,
    engines: dict[str, Any],
    n: int,
    usable: dict[str, Any] | None = None,
) -> int:
    """Print the largest differences of a model's exports; return the number of those beyond their tolerance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(X)
    blocks = model._description()["blocks"]
    pieces = sum(len(block["breaks"]) - 1 for block in blocks if block["kind"] == "curve")
    cells, missed = [], 0
    for key, engine in engines.items():
        if usable is not None and key not in usable:
            cells.append("refused")
            continue
        found, _ = engine(model, frame if key == "json" else X)
        gap = float(np.abs(found - expected).max())
        missed += not gap <= max(engine.tolerance, 1e-6 if pieces else 0.0)
        cells.append(f"{gap:.1e}")
    size = len(model.to_json()) / 1000
    print(f"| {name} | {n} | {pieces or ''} | {size:.0f} | {' | '.join(cells)} |", flush=True)
    return missed


def speed() -> int:
    """Print the time of one row of Iris in onnxruntime; return 1 if Sunrise's graph is slower than skl2onnx's."""
    import onnxruntime
    from skl2onnx import to_onnx
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    row = X[:1].astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1

    def session(model: Any) -> Any:
        return onnxruntime.InferenceSession(model.SerializeToString(), options)

    both = ["label", "probabilities"]

    def times_of_sessions() -> tuple[float, ...]:
        theirs = session(to_onnx(GaussianNB().fit(X, y), row, options={"zipmap": False}))
        ours = session(sunrise.GaussianNB().fit(X, y).to_onnx("float32"))
        exact = session(sunrise.GaussianNB().fit(X, y).to_onnx())
        name = theirs.get_inputs()[0].name
        return interleaved(
            lambda: theirs.run(None, {name: row}),
            lambda: ours.run(both, {"X": row}),
            lambda: exact.run(both, {"X": X[:1]}),
            rounds=30,
            repeat=300,
        )

    # A session is slow as a whole where its memory lies badly, so the best of several counts.
    times = np.min([times_of_sessions() for _ in range(5)], axis=0)
    print("\n| one row of Iris, label and probabilities | time | ratio |\n|---|---|---|")
    labels = "skl2onnx GaussianNB, float32", "Sunrise GaussianNB, float32", "Sunrise GaussianNB, float64"
    for label, time in zip(labels, times, strict=True):
        print(f"| {label} | {shown(time)} | {times[0] / time:.2f} |")
    return int(times[0] < times[1])
