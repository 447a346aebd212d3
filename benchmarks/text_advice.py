"""Tokens for short texts, names and texts without spaces: accuracy and log loss of TextNB over 5 stratified folds.

names      given names and gender: words against letters
sms        SMS spam: words, n-grams and letters; accents and capital letters
unspaced   SMS spam with all white space removed, in place of a language that is written without spaces
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from typing import Any

import numpy as np
import sunrise
from numpy.typing import NDArray

from benchmarks.tables import DATA
from benchmarks.text import COLLECTIONS, by_chance
from benchmarks.timing import line

LETTERS = {"analyzer": "char_wb"}
#: Settings of TextNB to compare, by data set.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "names": [
        {},
        {"analyzer": "char", "ngram_range": (1, 4)},
        {**LETTERS, "ngram_range": (1, 3)},
        {**LETTERS, "ngram_range": (2, 4)},
        {**LETTERS, "ngram_range": "auto"},
    ],
    "sms": [
        {},
        {"ngram_range": "auto"},
        {**LETTERS, "ngram_range": (1, 4)},
        {**LETTERS, "ngram_range": (2, 4)},
        {"analyzer": "char", "ngram_range": (1, 4)},
        {"strip_accents": "unicode"},
        {"lowercase": False},
    ],
    "unspaced": [
        {},
        {"analyzer": "char", "ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (1, 3)},
        {"analyzer": "char", "ngram_range": (1, 4)},
    ],
}


def read(name: str) -> tuple[list[str], NDArray[Any]]:
    """Return the texts and the labels of a data set."""
    if name == "names":
        with gzip.open(DATA.parent / "names.csv.gz", "rt", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        return [row["name"] for row in rows], np.array([row["gender"] for row in rows])
    texts, y, _ = COLLECTIONS["sms"]()
    return ["".join(text.split()) for text in texts] if name == "unspaced" else texts, y


def main(wanted: list[str]) -> int:
    """Compare settings on all data sets, or on the named ones."""
    for name in [name for name in SETTINGS if name in wanted or not wanted]:
        texts, y = read(name)
        line(name, "accuracy", "log loss", "chosen, by folds")
        print("|---|---|---|---|", flush=True)
        for settings in SETTINGS[name]:
            right, loss, chosen = 0, 0.0, Counter[str]()
            for train, test in by_chance(y):
                model = sunrise.TextNB(**settings).fit([texts[k] for k in train], y[train])
                log_p = model.predict_log_proba([texts[k] for k in test])
                true = np.searchsorted(model.classes_, y[test])
                right += int((log_p.argmax(axis=1) == true).sum())
                loss -= float(log_p[np.arange(len(true)), true].sum())
                if "ngram_range" in model.chosen_:
                    chosen[str(model.chosen_["ngram_range"])] += 1
            told = ", ".join(f"{value} {n}x" for value, n in chosen.most_common())
            label = ", ".join(f"{key}={value!r}" for key, value in settings.items())
            line(f"TextNB({label})", f"{right / len(y):.4f}", f"{loss / len(y):.4f}", told)
        print()
    return 0
