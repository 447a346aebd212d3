"""Settings of text that the data choose."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import sunrise as sr
from sunrise.inference.folds import fold_of_rows, hashes_of_table
from sunrise.text import WordCounter


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


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_shorter_ngrams_are_derived_from_the_counts_of_longer_ones(analyzer):
    texts = [
        "Not good, not \N{LATIN SMALL LETTER E WITH ACUTE}t\N{LATIN SMALL LETTER E WITH ACUTE}",
        "",
        None,
        "a b",
        "good",
    ]
    longer = WordCounter(analyzer, (1, 4), stop_words=["bad"] if analyzer == "word" else None)
    counted = longer.count(texts)
    for high in (1, 2, 3):
        shorter = replace(longer, ngram_range=(1, high))
        found, expected = shorter.shorten(counted, longer), shorter.count(texts)
        assert found.words.tolist() == expected.words.tolist()
        for name in ("indptr", "indices", "data", "lengths", "missing"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            assert getattr(found, name).dtype == getattr(expected, name).dtype
    assert longer.shorten(counted, longer) is None
    assert replace(longer, ngram_range=(2, 3)).shorten(counted, longer) is None
    assert replace(longer, ngram_range=(1, 2), lowercase=False).shorten(counted, longer) is None


def test_the_score_is_of_all_choices_made_again_in_every_fold():
    texts, y = negations(120)
    model = sr.TextNB(ngram_range="auto").fit(texts, y)
    fold = fold_of_rows(hashes_of_table(model._read_table(texts, True), model._model.schema), y)
    log_p = np.empty((120, 2))
    for k in range(5):
        outside = [text for text, own in zip(texts, fold == k, strict=True) if not own]
        rest = sr.TextNB(ngram_range="auto").fit(outside, y[fold != k])
        own = [text for text, own in zip(texts, fold == k, strict=True) if own]
        log_p[fold == k] = rest.predict_log_proba(own)
    assert model.loo_score_.method == "5 folds" and model.loo_score_.rows == 120
    assert model.loo_score_.log_loss == pytest.approx(-log_p[np.arange(120), y].mean())


def test_noise_is_not_said_to_be_predictable_after_choices():
    texts, _ = negations(150)
    y = np.random.default_rng(3).integers(0, 2, 150)
    model = sr.TextNB(ngram_range="auto", tf="auto", idf="auto", length="auto", alpha="auto").fit(texts, y)
    assert model.loo_score_.log_loss > 0.68


def test_classes_of_one_document_given_priors_and_missing_labels_are_no_obstacle():
    texts, y = negations(120)
    y = np.where(np.arange(120) == 7, 2, y)
    model = sr.TextNB(ngram_range="auto", class_prior=[0.5, 0.4, 0.1]).fit(texts, y)
    assert (model.loo_score_.rows, model.loo_score_.left_out) == (119, 1)
    labels = [None if k % 3 == 0 else int(c) for k, c in enumerate(y % 2)]
    semi = sr.TextNB(ngram_range="auto", unlabelled="em").fit(texts, labels)
    assert semi.chosen_["ngram_range"] in ((1, 2), (1, 3)) and semi.em_.unlabelled == 40
