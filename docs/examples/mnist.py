"""Produce the tables and plots of mnist.md: naive Bayes models of handwritten digits.

    python docs/examples/mnist.py [data folder]

The script prints the tables of the page and writes the plots to docs/examples/images.
"""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import sunrise as sr

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SUNRISE_DATA") or HERE.parents[2] / "shared" / "data")
IMAGES = HERE / "images"

FILES = [
    "mnist-train-images-idx3-ubyte.gz",
    "mnist-train-labels-idx1-ubyte.gz",
    "mnist-t10k-images-idx3-ubyte.gz",
    "mnist-t10k-labels-idx1-ubyte.gz",
]
SHARES = [share / 10 for share in range(10)]
SMOOTHING = [1e-9, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1]

#: Index of a test image that the Bernoulli model misclassifies.
MISTAKEN = 15

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


def load(folder=DATA):
    """Return training images and labels, test images and labels; an image is a row of 784 grey values."""
    paths = [Path(folder) / name for name in FILES]
    if absent := [path.name for path in paths if not path.is_file()]:
        raise SystemExit(
            f"MNIST files are missing from {folder}: {', '.join(absent)}.\n"
            "They are the four gzip files of the MNIST database of handwritten digits (LeCun, Cortes, Burges):\n"
            "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and\n"
            "t10k-labels-idx1-ubyte.gz. Add the prefix 'mnist-' to each name and pass their folder as the argument."
        )
    cells = [np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) for path in paths]
    return cells[0][16:].reshape(-1, 784), cells[1][8:], cells[2][16:].reshape(-1, 784), cells[3][8:]


def fitted(X, y):
    """Fit the models of the page; return them by name."""
    return {
        "Bernoulli": sr.BernoulliNB(binarize=127).fit(X, y),
        "Gaussian": sr.GaussianNB().fit(X, y),
        "Gaussian, smoothed": sr.GaussianNB(var_smoothing=0.1).fit(X, y),
    }


def smoothing(X, y):
    """Return the accuracy on the last 10,000 training images for each smoothing, fitted to the other images."""
    return {
        amount: sr.GaussianNB(var_smoothing=amount).fit(X[:-10000], y[:-10000]).score(X[-10000:], y[-10000:])
        for amount in SMOOTHING
    }


def smoothing_table(scores):
    """Format the accuracies by smoothing as a Markdown table."""
    cells = [f"{amount:g}" for amount in scores], [f"{100 * score:.1f} %" for score in scores.values()]
    head, row = (" | ".join(part) for part in cells)
    return f"| `var_smoothing` | {head} |\n|{'---|' * (1 + len(scores))}\n| accuracy on the last 10,000 | {row} |"


def hide(X, share, seed=0):
    """Set this fraction of the pixels to NaN. A larger fraction includes the pixels of a smaller one."""
    noise = np.random.default_rng(seed).random(X.shape, dtype=np.float32)
    return np.where(noise < share, np.float32(np.nan), X.astype(np.float32))


def with_missing(models, X, y, share, masks=3):
    """Return the accuracy of every model with missing pixels, and of the Bernoulli model with white instead."""
    scores = []
    for seed in range(masks if share else 1):
        seen = hide(X, share, seed)
        row = [model.score(seen, y) for model in models.values()]
        scores.append([*row, models["Bernoulli"].score(np.nan_to_num(seen), y)])
    return np.mean(scores, axis=0)


def missing_table(rows):
    """Format the accuracies by fraction of missing pixels as a Markdown table."""
    lines = [
        "| missing pixels | Bernoulli | Gaussian | Gaussian, smoothed | Bernoulli, missing as white |",
        "|---|---|---|---|---|",
    ]
    for share, row in zip(SHARES, rows, strict=True):
        lines.append(f"| {share:.0%} | " + " | ".join(f"{100 * score:.1f} %" for score in row) + " |")
    return "\n".join(lines).replace("0%", "0 %")


# Plots


def panel(ax, image, **how):
    """Draw one image of 28 x 28 pixels."""
    drawn = ax.imshow(np.asarray(image).reshape(28, 28), interpolation="nearest", **how)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color="#999999", linewidth=0.5)
    return drawn


def save(figure, path):
    """Save a plot without metadata, so that the file is reproducible."""
    figure.savefig(path, dpi=100, metadata={"Software": None})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def draw_parameters(models, path):
    """Draw the parameters of the models, one column per digit."""
    from matplotlib.figure import Figure

    ink, grey = models["Bernoulli"], models["Gaussian"]
    rows = [
        (
            "Bernoulli:\nprobability\nof ink",
            np.exp(ink.feature_log_prob_),
            {"cmap": "gray_r", "vmin": 0, "vmax": 1},
        ),
        ("Gaussian:\nmean", grey.theta_, {"cmap": "gray_r", "vmin": 0, "vmax": 255}),
        ("Gaussian:\nstandard\ndeviation", np.sqrt(grey.var_), {"cmap": "cividis", "vmin": 0, "vmax": 128}),
    ]
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    figure.suptitle("Parameters of the models for each digit")
    grid = figure.subplots(3, 10)
    for axes, (name, images, how) in zip(grid, rows, strict=True):
        for digit, (ax, image) in enumerate(zip(axes, images, strict=True)):
            drawn = panel(ax, image, **how)
            ax.set_title(digit if how is rows[0][2] else None)
        axes[0].set_ylabel(name, rotation=0, ha="right", va="center", labelpad=8)
        figure.colorbar(drawn, ax=axes, aspect=8, pad=0.01)
    save(figure, path)


def draw_samples(models, X, y, path, each=3):
    """Draw real digits and samples from the models."""
    from matplotlib.figure import Figure

    wanted = np.tile(np.arange(10), each)
    real = np.stack([X[np.flatnonzero(y == digit)[0]] for digit in range(10)])
    ink, _ = models["Bernoulli"].sample(len(wanted), y=wanted, random_state=0)
    grey, _ = models["Gaussian"].sample(len(wanted), y=wanted, random_state=0)
    parts = [
        ("real", real / 255),
        ("Bernoulli", ink > models["Bernoulli"].binarize),
        ("Gaussian", np.clip(grey, 0, 255) / 255),
    ]
    figure = Figure(figsize=(9, 6.6), layout="constrained")
    figure.suptitle("One real digit of each class and three samples from each model")
    grid = figure.subplots(1 + 2 * each, 10)
    at = 0
    for name, images in parts:
        for start in range(0, len(images), 10):
            for digit in range(10):
                panel(grid[at, digit], images[start + digit], cmap="gray_r", vmin=0, vmax=1)
            if start == 10 * (len(images) // 20):
                grid[at, 0].set_ylabel(name, rotation=0, ha="right", va="center", labelpad=8, fontsize=12)
            at += 1
    for digit in range(10):
        grid[0, digit].set_title(digit)
    save(figure, path)


def draw_missing(rows, X, path):
    """Plot the accuracy by fraction of missing pixels next to an example image."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 2])
    seen = matplotlib.colormaps["gray_r"].with_extremes(bad="#9ecae1")
    for ax, share in zip(left.subplots(2, 2).flat, [0, 0.3, 0.6, 0.9], strict=True):
        panel(ax, hide(X[:1], share), cmap=seen, vmin=0, vmax=255)
        ax.set_title(f"{100 * share:.0f} % missing", fontsize=11)
    left.supxlabel("blue: missing", fontsize=10)
    ax = right.subplots()
    lines = [
        ("Bernoulli", BLUE, "o-"),
        ("Gaussian", ORANGE, "s-"),
        ("Gaussian, smoothed", GREEN, "^-"),
        ("Bernoulli, missing as white", GREY, "x--"),
    ]
    for (name, colour, style), scores in zip(lines, 100 * np.transpose(rows), strict=True):
        ax.plot(100 * np.array(SHARES), scores, style, color=colour, label=name)
    ax.axhline(10, color="black", linewidth=0.8, linestyle=":")
    ax.text(0, 9, "guessing", fontsize=9.5, va="top")
    ax.set(title="Missing pixels cost little accuracy", xlabel="missing test pixels (%)", ylim=(0, 100))
    ax.set(ylabel="test accuracy (%)", xticks=range(0, 100, 10))
    ax.grid(alpha=0.3)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 0.13), fontsize=9.5)
    save(figure, path)


def draw_explanation(model, image, truth, path):
    """Draw the evidence of every pixel for the true class against the predicted class."""
    from matplotlib.figure import Figure

    why = model.explain(image[None])
    taken = why.score[0].argmax()
    evidence = why.contributions[0, truth] - why.contributions[0, taken]
    strongest = np.abs(evidence).max()
    ink = np.exp(model.feature_log_prob_)
    figure = Figure(figsize=(9.5, 2.8), layout="constrained")
    first, second, third, last = figure.subplots(1, 4)
    panel(first, image > model.binarize, cmap="gray_r")
    first.set_title(f"a {truth},\nclassified as {taken}", fontsize=11)
    for ax, digit in [(second, truth), (third, taken)]:
        panel(ax, ink[digit], cmap="gray_r", vmin=0, vmax=1)
        ax.set_title(f"probability of ink,\nclass {digit}", fontsize=11)
    drawn = panel(last, evidence, cmap="PuOr", vmin=-strongest, vmax=strongest)
    last.set_title(f"evidence: purple for {truth},\norange for {taken}", fontsize=11)
    figure.colorbar(drawn, cax=last.inset_axes([1.05, 0, 0.06, 1]), label="log-odds")
    save(figure, path)


def main(folder=DATA, images=IMAGES):
    """Print the tables and save the plots."""
    X, y, X_test, y_test = load(folder)
    models = fitted(X, y)
    for name, model in models.items():
        print(f"{name}: {model.score(X_test, y_test):.4f}")
    print(smoothing_table(smoothing(X, y)))
    rows = [with_missing(models, X_test, y_test, share) for share in SHARES]
    print(missing_table(rows))
    images = Path(images)
    images.mkdir(exist_ok=True)
    draw_parameters(models, images / "mnist-parameters.png")
    draw_samples(models, X, y, images / "mnist-samples.png")
    draw_missing(rows, X_test, images / "mnist-missing.png")
    draw_explanation(
        models["Bernoulli"], X_test[MISTAKEN], int(y_test[MISTAKEN]), images / "mnist-explain.png"
    )


if __name__ == "__main__":
    main(*sys.argv[1:2])
