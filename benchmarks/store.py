"""Size and speed of model files, and the start of a worker that adds up statistics.

The text model has all documents of 20 Newsgroups (174,000 words, 20 classes); the table models are the default model,
fitted to the real tables. Times are minima of several runs; a first prediction is that of a model that was just
loaded.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import sunrise as sr

from benchmarks import tables, text

#: Claims: megabytes, milliseconds to load, milliseconds to the first document; kilobytes of Adult without values;
#: seconds of CPU until a worker has updated its statistics.
TEXT_MB, LOAD_MS, FIRST_MS, ADULT_KB, WORKER_S = 20.0, 100.0, 300.0, 100.0, 0.4

_WORKER = """
import sys, time
from sunrise import Accumulator
own = Accumulator.from_bytes(sys.stdin.buffer.read())
own.update({"x": [1.0, 2.0]}, ["a", "b"])
own.to_bytes()
print(time.process_time())
"""


def timed(call: Any) -> tuple[float, Any]:
    """Return the milliseconds of a call, and its result."""
    start = perf_counter()
    result = call()
    return 1e3 * (perf_counter() - start), result


def text_model(folder: Path) -> int:
    """Print size and times of a large text model; return the number of missed claims."""
    documents, y, _ = text.newsgroups()
    model = sr.TextNB().fit(documents, y)
    path = folder / "text.sunrise"
    save = min(timed(lambda: model.save(path))[0] for _ in range(5))
    loads, firsts = [], []
    for _ in range(7):
        load, loaded = timed(lambda: sr.load(path))
        loads.append(load)
        firsts.append(timed(lambda loaded=loaded: loaded.predict_proba(documents[:1]))[0])
    n_words = len(model.stats_.blocks[0].words)
    size, pickled = path.stat().st_size / 1e6, len(pickle.dumps(model)) / 1e6
    print(
        f"Text model of {n_words:,} words and {len(model.classes_)} classes: {size:.1f} MB (pickle "
        f"{pickled:.1f} MB), save {save:.0f} ms, load {min(loads):.1f} ms, first document {min(firsts):.0f} ms.\n"
    )
    return (size > TEXT_MB) + (min(loads) > LOAD_MS) + (min(firsts) > FIRST_MS)


def table_models(folder: Path, wanted: list[str]) -> int:
    """Print the sizes of the default models of real tables; return the number of missed claims."""
    print("| table | rows x columns | file, kB | without values, kB | pickle, kB | load, ms |")
    print("|---|---|---|---|---|---|")
    missed = 0
    for name, about in tables.schema().items():
        if wanted and name not in wanted:
            continue
        table = tables.load(name, about)
        labelled = table.frame[table.frame[table.target].notna()]
        X, y = labelled[table.features], labelled[table.target]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sr.NaiveBayes().fit(X, y)
        sizes = []
        for values in (True, False):
            model.save(folder / "table.sunrise", values=values)
            sizes.append(os.path.getsize(folder / "table.sunrise") / 1e3)
        model.save(folder / "table.sunrise")
        load = min(timed(lambda: sr.load(folder / "table.sunrise"))[0] for _ in range(5))
        pickled = len(pickle.dumps(model)) / 1e3
        print(
            f"| {name} | {len(X):,} x {X.shape[1]} | {sizes[0]:,.1f} | {sizes[1]:,.1f} | {pickled:,.1f} | {load:.1f} |",
            flush=True,
        )
        missed += name == "adult" and sizes[1] > ADULT_KB
    return missed


def worker() -> int:
    """Print the CPU time of a worker from its start to its statistics; return 1 if the claim is missed."""
    schema = sr.NaiveBayes("gaussian").fit({"x": [0.0, 1.0, 2.0, 3.0]}, ["a", "a", "b", "b"]).schema_
    sent = sr.Accumulator(schema).to_bytes()
    runs = [
        float(
            subprocess.run(
                [sys.executable, "-c", _WORKER], input=sent, capture_output=True, check=True
            ).stdout
        )
        for _ in range(5)
    ]
    print(f"\nA worker starts, reads a schema and adds up a batch in {min(runs):.2f} s of CPU time.")
    return int(min(runs) > WORKER_S)


def main(wanted: list[str]) -> int:
    """Print the sizes and times; return 1 if a claim is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        missed = 0 if wanted else text_model(folder)
        missed += table_models(folder, wanted)
    return int(missed + worker() > 0)
