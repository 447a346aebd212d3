"""Produce the table and the plot of em.md: classify newsgroups with few labelled and many unlabelled articles.

    python docs/examples/em.py [data folder]

The script prints the table of the page and writes the plot to docs/examples/images.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np
import sunrise as sr
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SUNRISE_DATA") or HERE.parents[2] / "shared" / "data")
IMAGES = HERE / "images"

FILE = "20news-bydate.jsonl.gz"
SIZES = [20, 40, 100, 300, 600, 1000, 3000]
UNLABELLED = 8000
TRIALS = 2
#: The settings of Nigam et al.: a multinomial model of documents that are scaled to the same length.
SETTINGS = {
    "alpha": 0.01,
    "total": 20,
    "model": "multinomial",
    "min_df": 2,
    "stop_words": sorted(ENGLISH_STOP_WORDS),
    "calibrate": "temperature",
}

BLUE, ORANGE = "#0072B2", "#D55E00"


def load(folder=DATA):
    """Return training texts (without headers), training groups, test texts and test groups."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise SystemExit(
            f"{FILE} is not in {folder}. The file contains the 20 Newsgroups sorted by date, one article per line,\n"
            "as JSON with text, group and split (train or test). Pass the folder of the file as the argument."
        )
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    parts = []
    for split in ("train", "test"):
        some = [row for row in rows if row["split"] == split]
        texts = np.array([row["text"].partition("\n\n")[2] for row in some], dtype=object)
        parts += [texts, np.array([row["group"] for row in some])]
    return parts


def drawn(y, n, seed):
    """Draw n labelled articles, equally many of each group, and unlabelled articles from the rest."""
    order = np.random.default_rng(seed).permutation(len(y))
    groups = np.unique(y)
    labelled = np.concatenate([order[y[order] == group][: n // len(groups)] for group in groups])
    rest = order[~np.isin(order, labelled)]
    return labelled, rest[:UNLABELLED]


def labels_of(y, labelled, unlabelled):
    """Return the labels of the labelled articles and None for the unlabelled ones."""
    return [*y[labelled].tolist(), *[None] * len(unlabelled)]


def compared(data, n, seed, **settings):
    """Return the test accuracy with labelled articles only, the test accuracy with EM, and the EM model."""
    texts, y, texts_test, y_test = data
    labelled, unlabelled = drawn(y, n, seed)
    plain = sr.TextNB(**SETTINGS | settings).fit(texts[labelled], y[labelled])
    model = sr.TextNB(**SETTINGS | settings, unlabelled="em")
    model.fit(texts[[*labelled, *unlabelled]], labels_of(y, labelled, unlabelled))
    return *((m.predict(texts_test) == y_test).mean() for m in (plain, model)), model


def curve(data, sizes=SIZES, trials=TRIALS):
    """Return mean accuracies by number of labelled articles: labelled articles only, and with EM."""
    found = {n: [compared(data, n, seed)[:2] for seed in range(trials)] for n in sizes}
    return {n: np.mean(scores, axis=0) for n, scores in found.items()}


def table(scores):
    """Format the accuracies as a Markdown table."""
    rows = [
        ["labelled articles", *(f"{n:,}" for n in scores)],
        ["---"] * (len(scores) + 1),
        ["labelled articles only", *(f"{100 * plain:.1f} %" for plain, _ in scores.values())],
        [f"with {UNLABELLED:,} unlabelled articles", *(f"{100 * em:.1f} %" for _, em in scores.values())],
    ]
    return (
        "\n".join("| " + " | ".join(row) + " |" for row in rows)
        .replace("| --- ", "|---")
        .replace("--- |", "---|")
    )


def draw_curve(scores, path):
    """Plot the accuracy by number of labelled articles."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    ax = figure.subplots()
    plain, em = 100 * np.array(list(scores.values())).T
    ax.plot(list(scores), em, "o-", color=BLUE, label=f"with {UNLABELLED:,} unlabelled articles (EM)")
    ax.plot(list(scores), plain, "s--", color=ORANGE, label="labelled articles only")
    ax.set(xscale="log", xlabel="labelled articles", ylabel="test accuracy (%)", ylim=(0, 85))
    ax.set(
        title="Unlabelled articles improve the accuracy",
        xticks=list(scores),
        xticklabels=[f"{n:,}" for n in scores],
    )
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(loc="lower right")
    figure.savefig(path, dpi=100, metadata={"Software": None})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main(folder=DATA, images=IMAGES):
    """Print the table and save the plot."""
    scores = curve(load(folder))
    print(table(scores))
    Path(images).mkdir(exist_ok=True)
    draw_curve(scores, Path(images) / "em-curve.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
