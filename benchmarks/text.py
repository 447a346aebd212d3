"""Text: accuracy of TextNB() with default settings, and its speed compared with CountVectorizer and MultinomialNB.

20news    20 Newsgroups by date, headers kept: fitted to the training part, evaluated on the test part
sms       SMS spam: 5 stratified folds, seed 0
ling      Ling-Spam: cross-validation over its 10 parts
enron     Enron-Spam: cross-validation over its 6 parts
assassin  SpamAssassin, bodies without headers: 5 stratified folds, seed 0

speed     time from raw strings to models and probabilities compared with scikit-learn, and memory of a fit
ngrams    time and peak memory of words and pairs of words of 33 MB of Enron-Spam, and of all of 20 Newsgroups
models    accuracy of the other text models on 20 Newsgroups

Log losses are computed from predict_log_proba and not clipped.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import sunrise
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sunrise.text import WordCounter

from benchmarks.tables import DATA
from benchmarks.timing import interleaved, line, shown

Folds = list[tuple[NDArray[Any], NDArray[Any]]]

#: Claims: minimum accuracy and maximum log loss.
ASKED = {
    "20news": (0.858, 0.51),
    "sms": (0.983, 0.0505),
    "ling": (0.992, 0.0137),
    "enron": (0.974, 0.0735),
    "assassin": (0.986, 0.0273),
}
#: Claims of `speed`: how many times as fast as CountVectorizer and MultinomialNB.
FASTER = {'fit, calibrate="temperature"': 14.0, "predict_proba": 25.0}


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA.parent / f"{name}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
        return [json.loads(row) for row in lines]


def by_part(part: NDArray[Any]) -> Folds:
    return [(np.flatnonzero(part != one), np.flatnonzero(part == one)) for one in np.unique(part)]


def by_chance(y: NDArray[Any]) -> Folds:
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))


def newsgroups() -> tuple[list[str], NDArray[Any], Folds]:
    found = rows("20news-bydate")
    split = np.array([row["split"] for row in found])
    folds = [(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    return [row["text"] for row in found], np.array([row["group"] for row in found]), folds


def spam(name: str, parts: bool, body: bool = False) -> tuple[list[str], NDArray[Any], Folds]:
    found = rows(name)
    y = np.array([row["label"] for row in found])
    texts = [row["text"].partition("\n\n")[2] if body else row["text"] for row in found]
    return texts, y, by_part(np.array([row["part"] for row in found])) if parts else by_chance(y)


COLLECTIONS: dict[str, Callable[[], tuple[list[str], NDArray[Any], Folds]]] = {
    "20news": newsgroups,
    "sms": partial(spam, "sms-spam", parts=False),
    "ling": partial(spam, "ling-spam-bare", parts=True),
    "enron": partial(spam, "enron-spam", parts=True),
    "assassin": partial(spam, "spamassassin", parts=False, body=True),
}


def measure(texts: list[str], y: NDArray[Any], folds: Folds, **settings: Any) -> tuple[float, float]:
    """Return the accuracy and the log loss over all folds."""
    right, loss, n = 0, 0.0, 0
    for train, test in folds:
        model = sunrise.TextNB(**settings).fit([texts[k] for k in train], y[train])
        log_p = model.predict_log_proba([texts[k] for k in test])
        true = np.searchsorted(model.classes_, y[test])
        right += int((log_p.argmax(axis=1) == true).sum())
        loss -= float(log_p[np.arange(len(true)), true].sum())
        n += len(true)
    return right / n, loss / n


def speed() -> None:
    """Time fit and predict_proba from raw text on 20 Newsgroups."""
    texts, y, [(train, test)] = newsgroups()
    X, X_test, labels = [texts[k] for k in train], [texts[k] for k in test], y[train]
    pipe, ours = make_pipeline(CountVectorizer(), MultinomialNB()), sunrise.TextNB()
    pipe.fit(X, labels)
    ours.fit(X, labels)
    message = X_test[0][:100]
    counter = WordCounter()
    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any], int]] = {
        "counting words": (lambda: CountVectorizer().fit_transform(X), lambda: counter.count(X), 5),
        "counting words, with all words as str": (
            lambda: CountVectorizer().fit_transform(X),
            lambda: counter.count(X).words,
            5,
        ),
        "fit, uncalibrated": (
            lambda: pipe.fit(X, labels),
            lambda: sunrise.TextNB(calibrate=None).fit(X, labels),
            5,
        ),
        'fit, calibrate="temperature"': (
            lambda: pipe.fit(X, labels),
            lambda: sunrise.TextNB(calibrate="temperature").fit(X, labels),
            5,
        ),
        "fit with calibration": (lambda: pipe.fit(X, labels), lambda: ours.fit(X, labels), 5),
        "predict_proba": (lambda: pipe.predict_proba(X_test), lambda: ours.predict_proba(X_test), 3),
    }
    line("20 Newsgroups", "CountVectorizer, MultinomialNB", "Sunrise", "ratio", "claimed")
    print("|---|---|---|---|---|", flush=True)
    for name, (theirs, mine, rounds) in cases.items():
        a, b = interleaved(theirs, mine, rounds=rounds)
        line(name, shown(a), shown(b), f"{a / b:.1f}", f"{FASTER[name]:g}" if name in FASTER else "")
    one = lambda: pipe.predict_proba([message]), lambda: ours.predict_proba([message])
    a, b = interleaved(*one, rounds=5, repeat=50)
    line("predict_proba, one short message", shown(a), shown(b), f"{a / b:.1f}", "")
    bursts = sunrise.TextNB("dirichlet_multinomial", calibrate=None)
    a, b = interleaved(lambda: pipe.fit(X, labels), lambda: bursts.fit(X, labels), rounds=2)
    line("fit, DCM, uncalibrated", shown(a), shown(b), f"{a / b:.1f}", "")


#: Text models: label and settings.
MODELS: dict[str, dict[str, Any]] = {
    "odds": {},
    "multinomial": {"model": "multinomial"},
    "multinomial, documents scaled to 20 words": {"model": "multinomial", "total": 20, "alpha": 0.01},
    "complement": {"model": "complement"},
    "complement, weights divided by their sum": {"model": "complement", "norm": True},
    "complement, all steps of Rennie et al.": {
        "model": "complement",
        "tf": "log",
        "idf": 1,
        "length": 1,
        "idf_first": True,
        "norm": True,
    },
    "Dirichlet-compound multinomial (DCM)": {"model": "dirichlet_multinomial"},
    "complement, all steps but the last": {
        "model": "complement",
        "tf": "log",
        "idf": 1,
        "length": 1,
        "idf_first": True,
    },
    "Bernoulli": {"model": "bernoulli"},
}


def models() -> None:
    """Print accuracy and log loss of all text models on the test part of 20 Newsgroups."""
    texts, y, folds = newsgroups()
    line("20 Newsgroups", "uncalibrated", "calibrated")
    print("|---|---|---|", flush=True)
    for name, settings in MODELS.items():
        found = [measure(texts, y, folds, **settings, calibrate=kind) for kind in (None, "temperature")]
        line(name, *(f"{accuracy:.4f} / {loss:.3f}" for accuracy, loss in found))


def memory() -> float:
    """Return the increase of the peak memory of this process, in MB, during a fit on all of 20 Newsgroups."""
    texts, y, _ = newsgroups()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = _resident("VmRSS")
    sunrise.TextNB().fit(texts, y)
    return _resident("VmHWM") - before


def _resident(what: str) -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(row.split()[1]) / 1e3 for row in status.splitlines() if row.startswith(what))


#: What `ngrams` measures: label, and the calibration of a fit; False only counts.
PAIRS: dict[str, Any] = {"counting": False, 'fit, calibrate="temperature"': "temperature", "fit": "auto"}
#: Bytes of Enron-Spam that `ngrams` uses, drawn from all documents.
N_BYTES = 33e6


def pairs_of_words(name: str, step: str) -> None:
    """Count words and pairs of words of a collection or fit a model to them; print a row with times and peak memory."""
    texts, y, _ = COLLECTIONS[name]()
    sizes = np.array([len(text.encode("utf-8", "replace")) for text in texts])
    order = np.random.default_rng(0).permutation(len(texts))
    some = order[np.cumsum(sizes[order]) <= N_BYTES] if name == "enron" else order
    X, labels = [texts[k] for k in some], y[some]
    del texts
    before, started, cpu = _resident("VmRSS"), perf_counter(), process_time()
    if PAIRS[step] is False:
        n = WordCounter(ngram_range=(1, 2)).count(X).n_columns
    else:
        n = len(
            sunrise.TextNB(ngram_range=(1, 2), calibrate=PAIRS[step]).fit(X, labels).stats_.blocks[0].words
        )
    times = f"{perf_counter() - started:.1f} s", f"{process_time() - cpu:.1f} s"
    memory = f"{_resident('VmHWM'):.0f} MB", f"{before:.0f} MB"
    line(f"{name}, {sizes[some].sum() / 1e6:.0f} MB, {step}", f"{n:,}", *times, *memory)


def ngrams() -> None:
    """Measure every case in a process of its own."""
    line("1- and 2-grams", "distinct", "time", "CPU time", "peak memory", "of it before")
    print("|---|---|---|---|---|---|", flush=True)
    for name in ("enron", "20news"):
        for step in PAIRS:
            code = f"from benchmarks.text import pairs_of_words; pairs_of_words({name!r}, {step!r})"
            subprocess.run([sys.executable, "-c", code], check=True)


def main(wanted: list[str]) -> int:
    """Run all collections and the speed test, or the named ones; return 1 if a claim is missed."""
    if strange := set(wanted) - {*COLLECTIONS, "speed", "models", "ngrams"}:
        raise SystemExit(
            f"no such collection: {', '.join(sorted(strange))}. There are: "
            f"{', '.join(COLLECTIONS)}, speed, models, ngrams"
        )
    missed = 0
    names = [name for name in wanted or COLLECTIONS if name in COLLECTIONS]
    if names:
        line("collection", "documents", "accuracy", "claimed", "log loss", "claimed, at most")
        print("|---|---|---|---|---|---|", flush=True)
    for name in names:
        texts, y, folds = COLLECTIONS[name]()
        accuracy, loss = measure(texts, y, folds)
        least, most = ASKED[name]
        line(name, str(len(y)), f"{accuracy:.4f}", f"{least:g}", f"{loss:.4f}", f"{most:g}")
        missed += accuracy < least or loss > most
    if not wanted or "speed" in wanted:
        print()
        speed()
        print(f"\nA fit on all {len(newsgroups()[0])} documents raises the peak memory by {memory():.0f} MB.")
    if "models" in wanted:
        models()
    if "ngrams" in wanted:
        ngrams()
    return int(missed > 0)
