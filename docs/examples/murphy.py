"""Produce the tables and plots of murphy.md: words that distinguish two newsgroups.

    python docs/examples/murphy.py [data folder]

The script prints the tables of the page and writes the plots to docs/examples/images.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import sunrise as sr

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SUNRISE_DATA") or HERE.parents[2] / "shared" / "data")
IMAGES = HERE / "images"

FILE = "xwindows.npz"
KEPT = [1, 2, 5, 10, 20, 30, 50, 100, 200, 300, 600]
NAMES = {1: "X windows", 2: "MS windows"}

BLUE, ORANGE = "#0072B2", "#D55E00"


def load(folder=DATA):
    """Return the arrays of the data file by name."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise SystemExit(
            f"{FILE} is not in {folder}. It is XwindowsDocData.mat of the data that comes with PMTK, the toolkit of\n"
            "Murphy's book, saved by numpy.savez as X_train and X_test (900 x 600, zeros and ones), y_train and\n"
            "y_test (1 is X windows, 2 is MS windows) and vocabulary (600 words).\n"
            "Pass the folder of the file as the argument."
        )
    with np.load(path) as data:
        return dict(data)


def fitted(data):
    """Fit the Bernoulli model with a Beta(1, 1) prior."""
    return sr.BernoulliNB(alpha=1).fit(data["X_train"], data["y_train"])


def top(words, numbers, k=5):
    """Return the k words with the largest numbers, together with the numbers."""
    best = np.argsort(-numbers, kind="stable")[:k]
    return [(str(words[j]), float(numbers[j])) for j in best]


def word_table(model, words):
    """Format Table 3.1 of the book in Markdown."""
    theta = np.exp(model.feature_log_prob_)
    columns = [top(words, numbers) for numbers in (*theta, model.mutual_information())]
    lines = ["| X windows | p | MS windows | p | either | bits |", "|---|---|---|---|---|---|"]
    for row in zip(*columns, strict=True):
        lines.append("| " + " | ".join(f"{word} | {number:.3f}" for word, number in row) + " |")
    return "\n".join(lines)


def selected(model, data):
    """Return training and test accuracy with the k most informative words, by k."""
    scores = {}
    for k in KEPT:
        small = model.select(k)
        scores[k] = [
            small.score(data[f"X_{x}"][:, small.selected_], data[f"y_{x}"]) for x in ("train", "test")
        ]
    return scores


def selection_table(scores):
    """Format the accuracies by number of words as a Markdown table."""
    rows = [
        ["words kept", *map(str, scores)],
        ["training documents", *(f"{100 * train:.1f} %" for train, _ in scores.values())],
        ["test documents", *(f"{100 * test:.1f} %" for _, test in scores.values())],
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


# Plots


def save(figure, path):
    """Save a plot without metadata, so that the file is reproducible."""
    figure.savefig(path, dpi=100, metadata={"Software": None})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def draw_densities(model, words, path):
    """Plot the probability of every word in both classes, as in Figure 3.8 of the book."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.4), layout="constrained")
    figure.suptitle("Probability that a document contains the word")
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    for ax, c, p, colour in zip(
        axes, model.classes_, np.exp(model.feature_log_prob_), (BLUE, ORANGE), strict=True
    ):
        ax.bar(np.arange(1, len(p) + 1), p, width=1.6, color=colour)
        for word, height in top(words, p, 6):
            ax.text(words.tolist().index(word) + 1, height + 0.02, word, ha="center", fontsize=9)
        ax.set(title=NAMES[int(c)], ylabel="p(word | class)", ylim=(0, 1.15), xlim=(-5, 605))
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].set_xlabel("number of the word in the vocabulary")
    save(figure, path)


def draw_selection(scores, path):
    """Plot the accuracy by number of words kept."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    ax = figure.subplots()
    train, test = 100 * np.transpose(list(scores.values()))
    ax.plot(KEPT, train, "s--", color=ORANGE, label="training documents")
    ax.plot(KEPT, test, "o-", color=BLUE, label="test documents")
    ax.set_xscale("log")
    ax.minorticks_off()
    shown = [1, 2, 5, 10, 20, 50, 100, 200, 600]
    ax.set_xticks(shown, [str(k) for k in shown])
    ax.set(
        title="A few words are enough", xlabel="number of words kept, most informative first", ylim=(70, 95)
    )
    ax.set_ylabel("accuracy (%)")
    ax.grid(alpha=0.3)
    ax.legend(loc="lower right")
    save(figure, path)


def main(folder=DATA, images=IMAGES):
    """Print the tables and save the plots."""
    data = load(folder)
    model, words = fitted(data), data["vocabulary"]
    print(word_table(model, words))
    print(f"test error {1 - model.score(data['X_test'], data['y_test']):.4f}")
    scores = selected(model, data)
    print(selection_table(scores))
    images = Path(images)
    images.mkdir(exist_ok=True)
    draw_densities(model, words, images / "murphy-densities.png")
    draw_selection(scores, images / "murphy-selection.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
