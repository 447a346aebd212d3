"""Draw the pictures of docs/plots.md.

    python docs/examples/gallery.py [folder]

The pictures go to docs/examples/images, or to the folder. All data come with the package or with scikit-learn.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import sunrise as sr
from sunrise.datasets import load_heart_disease

IMAGES = Path(__file__).resolve().parent / "images"


def waterfall():
    """Why the second patient is likely to have heart disease."""
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    return model.explain(heart.head(2)).plot(row=1)


PICTURES = {"waterfall": waterfall}


def main(folder=IMAGES):
    """Draw all pictures into a folder; return their paths."""
    paths = []
    for name, draw in PICTURES.items():
        figure = draw().figure_
        paths.append(Path(folder) / f"plots-{name}.png")
        figure.savefig(paths[-1], dpi=80, facecolor="white")
        matplotlib.pyplot.close(figure)
    return paths


if __name__ == "__main__":
    for path in main(*sys.argv[1:2]):
        print(path)
