"""Settings of text that the data choose."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sunrise as sr


def negations(n, seed=0):
    """Whether "good" is praise depends on the word before it."""
    rng = np.random.default_rng(seed)
    texts, y = [], rng.integers(0, 2, n)
    for c in y:
        words = [f"filler{k}" for k in rng.integers(0, 30, 6)]
        words += ["not", "good", "very", "bad"] if c else ["very", "good", "not", "bad"]
        texts.append(" ".join(words))
    return texts, y


def test_pairs_of_words_are_chosen_where_they_matter(tmp_path):
    texts, y = negations(300)
    model = sr.TextNB(ngram_range="auto").fit(texts[:200], y[:200])
    assert model.chosen_["ngram_range"] in ((1, 2), (1, 3))
    assert model.score(texts[200:], y[200:]) > 0.9
    model.save(tmp_path / "m.sunrise")
    for other in (sr.load(tmp_path / "m.sunrise"), pickle.loads(pickle.dumps(model))):
        assert other.chosen_ == model.chosen_
        np.testing.assert_array_equal(other.predict_proba(texts), model.predict_proba(texts))
        other.partial_fit(texts[200:], y[200:])
        assert other.chosen_["ngram_range"] == model.chosen_["ngram_range"]


def test_single_words_are_kept_where_pairs_say_no_more():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    texts = [
        " ".join([f"class{c}" if rng.random() < 0.8 else "none", *(f"w{k}" for k in rng.integers(0, 40, 5))])
        for c in y
    ]
    model = sr.TextNB(ngram_range="auto", tf="auto", idf="auto", length="auto", alpha="auto").fit(texts, y)
    assert model.chosen_["ngram_range"] == (1, 1)
    assert set(model.chosen_) >= {"ngram_range", "tf", "idf", "length", "alpha", "words"}
    again = sr.TextNB(**{name: value for name, value in model.chosen_.items() if name != "words"}).fit(
        texts, y
    )
    np.testing.assert_allclose(again.predict_proba(texts), model.predict_proba(texts))


def test_settings_are_chosen_by_fit_only():
    with pytest.raises(ValueError, match='ngram_range="auto" is chosen by fit'):
        sr.TextNB(ngram_range="auto").partial_fit(["a b", "c d"], [0, 1])
    with pytest.raises(ValueError, match="estimates its alphas"):
        sr.TextNB("dirichlet_multinomial", alpha="auto").fit(["aa bb", "cc dd"], [0, 1])
