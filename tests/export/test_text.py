"""Exports of text: JSON and ONNX equal `predict_proba`, SQL refuses by name."""

from __future__ import annotations

import gzip
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import sunrise as sr
from export.test_families import check

TEXTS = [
    "Free prize now, call NOW",
    "lunch at noon?",
    "see you at lunch then",
    "free free free élan",
    "call me at noon",
]
LABELS = ["spam", "ham", "ham", "spam", "ham"]
SETTINGS = {
    "default": {},
    "calibrated": {"calibrate": "temperature"},
    "multinomial": {"model": "multinomial"},
    "complement": {"model": "complement"},
    "bernoulli": {"model": "bernoulli"},
    "bernoulli, mle": {"model": "bernoulli", "estimate": "mle"},
    "multinomial, mle": {"model": "multinomial", "estimate": "mle"},
    "multinomial, predictive": {"model": "multinomial", "estimate": "predictive"},
    "dirichlet_multinomial": {"model": "dirichlet_multinomial"},
    "hashed": {"hash_bits": 12},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 3)},
    "pairs": {"ngram_range": (1, 2), "stop_words": ["at"], "strip_accents": "unicode"},
    "idf first": {"idf_first": True, "length": 1.0},
    "total": {"model": "multinomial", "total": 10.0},
    "rare words": {"min_df": 2},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_text_models(text_engine, name):
    settings = SETTINGS[name]
    model = sr.TextNB(**settings).fit(TEXTS * 12, LABELS * 12)
    documents = [*TEXTS, "nothing known here", "", "free lunch free lunch at the élan", None]
    frame = pd.DataFrame({"text": documents}, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.ImpossibleRowWarning)
        expected = model.predict_proba(documents)
    if text_engine.name == "json":
        p, _ = text_engine(model, frame)
    else:
        p, _ = text_engine(model, documents)
    assert np.abs(p - expected).max() <= text_engine.tolerance


def test_text_beside_columns(text_engine):
    rng = np.random.default_rng(0)
    n = 200
    y = rng.integers(0, 2, n)
    words = np.array([["free", "prize", "call", "now", "lunch", "noon", "home", "see"]])
    texts = [
        " ".join(rng.choice(words[0, 4 * k : 4 * k + 6 - 2 * k], 7)) + f" and so on w{i % 90}"
        for i, k in enumerate(y)
    ]
    X = pd.DataFrame({"text": texts, "x": np.round(rng.normal(y) * 64) / 64})
    model = sr.NaiveBayes({"text": "text", "x": "gaussian"}).fit(X, y)
    test = pd.DataFrame({"text": ["free lunch", None, "call me see"], "x": [0.5, None, 2.0]})
    test["text"] = test["text"].astype(object).where(test["text"].notna(), None)
    check(text_engine, model, test)


def test_sms(text_engine, find_data):
    with gzip.open(find_data("sms-spam.jsonl.gz"), "rt", encoding="utf-8", newline="\n") as lines:
        records = [json.loads(line) for line in lines][:2500]
    texts, y = [r["text"] for r in records], [r["label"] for r in records]
    model = sr.TextNB().fit(texts[:2000], y[:2000])
    frame = pd.DataFrame({"text": texts[2000:]})
    p, _ = text_engine(model, frame if text_engine.name == "json" else texts[2000:])
    assert np.abs(p - model.predict_proba(texts[2000:])).max() <= text_engine.tolerance


def test_sql_refuses_text_by_name():
    model = sr.TextNB().fit(TEXTS, LABELS)
    with pytest.raises(
        ValueError, match="SQL cannot be written because of column 'text': SQL cannot split text"
    ):
        model.to_sql()
