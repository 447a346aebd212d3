"""The live page of a model: its size, the time to write it, and in Chromium the time to open it and to answer a change.

titanic   the default model of the table
columns   10,000 Gaussian columns, 500 rows, two classes
20news    TextNB on the training part of 20 Newsgroups
sms       TextNB on all messages

A change is one value set, or one document of about 2,000 letters typed, with everything that is drawn again.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import sunrise

from benchmarks import tables, text

#: Largest page without its data, in bytes, and the longest time of a change, in seconds.
LARGEST, LONGEST = 300_000, 0.1

CHANGE = """() => {
    const { nomogram, model } = sunrise, times = [], words = 'the space shuttle and the goalie of the team '.repeat(45);
    for (let k = 0; k < 20; k++) {
        const j = nomogram.order[k % nomogram.order.length], { kind, levels } = model.blockOf[j];
        const start = performance.now();
        nomogram.set(j, kind === 'text' ? words + k : kind === 'levels' ? levels[k % levels.length] : k % 2);
        document.body.getBoundingClientRect();
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[10] / 1000;
}"""


def titanic() -> Any:
    table = tables.load("titanic", tables.schema()["titanic"])
    return sunrise.NaiveBayes().fit(
        table.frame[[*table.numbers, *table.strings]], table.frame[table.target].to_numpy()
    )


def columns() -> Any:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 10_000)) + y[:, None] * rng.normal(0.0, 0.2, 10_000)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(10_000)])
    return sunrise.NaiveBayes("gaussian").fit(frame, y)


def texts(name: str) -> Any:
    documents, y, folds = text.COLLECTIONS[name]()
    train = folds[0][0] if name == "20news" else np.arange(len(y))
    return sunrise.TextNB().fit([documents[i] for i in train], y[train])


MODELS: dict[str, Callable[[], Any]] = {
    "titanic": titanic,
    "columns": columns,
    "20news": lambda: texts("20news"),
    "sms": lambda: texts("sms"),
}


def main(wanted: list[str]) -> int:
    """Print one line for each model; return 1 if a claim is missed."""
    if strange := set(wanted) - set(MODELS):
        raise SystemExit(f"no such model: {', '.join(sorted(strange))}. There are: {', '.join(MODELS)}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("the benchmark needs playwright: pip install playwright") from None
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("the benchmark needs Chromium: apt-get install chromium")
    missed = 0
    print("| model | page, kB | without data, kB | write, s | open, s | change, ms |")
    print("|---|---|---|---|---|---|", flush=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in wanted or MODELS:
            path = Path(folder) / f"{name}.html"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = MODELS[name]()
            start = perf_counter()
            model.report(path)
            write = perf_counter() - start
            page = path.read_text(encoding="utf-8")
            bare = len(re.sub(r'(?s)(<script type="[^"]*" id="[^"]*"[^>]*>).*?(</script>)', r"\1\2", page))
            opened, change = opening(browser, path)
            sizes = f"{len(page) / 1e3:,.0f} | {bare / 1e3:.0f}"
            print(f"| {name} | {sizes} | {write:.2f} | {opened:.2f} | {change * 1e3:.1f} |", flush=True)
            missed += bare > LARGEST or change > LONGEST
        browser.close()
    return int(missed > 0)


def opening(browser: Any, path: Path) -> tuple[float, float]:
    """Return the shortest of three times to open a page, and the median time of a change."""
    times = []
    for _ in range(3):
        page = browser.new_page()
        start = perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
        times.append(perf_counter() - start)
        change = float(page.evaluate(CHANGE))
        page.close()
    return min(times), change
