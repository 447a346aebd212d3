"""Draw the pictures of docs/plots.md.

    python docs/examples/gallery.py [folder]

The pictures go to docs/examples/images, or to the folder. All data come with the repository or with scikit-learn.
"""

from __future__ import annotations

import gzip
import json
import sys
from io import BytesIO
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import pandas as pd
import sunrise as sr
from PIL import Image
from sklearn.datasets import load_digits
from sunrise.datasets import load_heart_disease

HERE = Path(__file__).resolve().parent
IMAGES, DATA = HERE / "images", HERE.parents[1] / "tests" / "data"


def waterfall():
    """Why the second patient is likely to have heart disease."""
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    return model.explain(heart.head(2)).plot(row=1)


def densities():
    """The fitted distributions of six columns over the data."""
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    columns = ["age", "max_heart_rate", "blood_pressure", "chest_pain", "exercise_angina", "vessels"]
    return sr.plots.DensityDisplay.from_estimator(model, heart, "disease", columns=columns)


def long_tails():
    """Lengths of runs of capital letters in e-mails, on logarithmic axes."""
    mails = pd.read_csv(DATA / "tables" / "spambase.csv.gz")
    columns = ["capital_run_length_average", "capital_run_length_longest"]
    mails = (
        mails[columns]
        .rename(columns=lambda name: name.removeprefix("capital_run_length_"))
        .assign(mail=mails["class"].map({0: "other", 1: "spam"}))
    )
    model = sr.NaiveBayes().fit(mails, "mail")
    return sr.plots.DensityDisplay.from_estimator(model, mails, "mail")


def reliability():
    """Predicted probabilities of disease against what happened, on patients kept from the model."""
    model = sr.NaiveBayes().fit(load_heart_disease("pandas").frame, "disease")
    return sr.plots.ReliabilityDisplay.from_estimator(model, of="yes", groups=8)


def confusion():
    """Handwritten digits that are taken for others."""
    X, y = load_digits(return_X_y=True)
    model = sr.NaiveBayes("gaussian").fit(X, y)
    return sr.plots.ConfusionMatrixDisplay.from_estimator(model)


def text_messages(**settings):
    """A model of spam among text messages."""
    with gzip.open(DATA / "sms-spam.jsonl.gz", "rt", encoding="utf-8") as lines:
        messages = [json.loads(line) for line in lines]
    return sr.TextNB(**settings).fit([m["text"] for m in messages], [m["label"] for m in messages])


def words():
    """The words that tell spam from other text messages."""
    return sr.plots.InformativeWordsDisplay.from_estimator(text_messages(), top=15)


def word_evidence():
    """The words and pairs of words of one message, by their counts and beyond them."""
    message = "Call now! free free prize, call me when you are free ok? claim your prize"
    return sr.plots.WordEvidenceDisplay.from_document(text_messages(ngram_range=(1, 2)), message, top=12)


def drift():
    """What differs between patients up to 55 years and older ones."""
    heart = load_heart_disease("pandas").frame
    families = sr.NaiveBayes().fit(heart, "disease").fixed_families_
    younger, older = (
        sr.NaiveBayes(families | {"age": None}, calibrate=None).fit(heart[rows], "disease")
        for rows in (heart["age"] <= 55, heart["age"] > 55)
    )
    return sr.plots.DriftDisplay.from_estimators(younger, older)


def parameters():
    """The mean of every pixel of a handwritten digit."""
    X, y = load_digits(return_X_y=True)
    return sr.plots.ParameterImagesDisplay.from_estimator(sr.NaiveBayes("gaussian").fit(X, y))


def nomogram():
    """All columns of the model of heart disease as scales, with the second patient marked."""
    heart = load_heart_disease("pandas").frame
    model = sr.NaiveBayes().fit(heart, "disease")
    return sr.plots.NomogramDisplay.from_estimator(model, of="yes", row=heart.iloc[[1]], top=10)


def notes():
    """The spam example of the lecture notes: a message with both words is spam with probability 3/8."""
    parameters = {
        "shipping": ("bernoulli", {"yes": [0.4, 0.8]}),
        "perceptron": ("bernoulli", {"yes": [0.1, 0.01]}),
    }
    model = sr.NaiveBayes.from_parameters(parameters, classes=["not-spam", "spam"], class_prior=[0.25, 0.75])
    row = {"shipping": True, "perceptron": True}
    return sr.plots.NomogramDisplay.from_estimator(model, of="spam", scale="log-odds", row=row)


PICTURES = {
    "waterfall": waterfall,
    "nomogram": nomogram,
    "notes": notes,
    "densities": densities,
    "long-tails": long_tails,
    "reliability": reliability,
    "confusion": confusion,
    "words": words,
    "word-evidence": word_evidence,
    "drift": drift,
    "parameters": parameters,
}


def main(folder=IMAGES):
    """Draw all pictures into a folder; return their paths."""
    paths = []
    for name, draw in PICTURES.items():
        figure = draw().figure_
        paths.append(Path(folder) / f"plots-{name}.png")
        pixels = BytesIO()
        figure.savefig(pixels, dpi=80, facecolor="white")
        matplotlib.pyplot.close(figure)
        # 64 colours are enough, and the files stay small.
        image = Image.open(pixels).convert("RGB").quantize(64, dither=Image.Dither.NONE)
        image.save(paths[-1], optimize=True)
    return paths


if __name__ == "__main__":
    for path in main(*sys.argv[1:2]):
        print(path)
