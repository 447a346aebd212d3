"""Columns of text: exact under updates, the same from every kind of input, and honest."""

from __future__ import annotations

import gzip
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sunrise as sr
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

RNG = np.random.default_rng(0)
WORDS = [f"w{k}" for k in range(30)]
N = 60
Y = np.arange(N) % 3


def document(label):
    share = np.roll(np.arange(1, 31) / 465, 7 * label)
    return " ".join(RNG.choice(WORDS, RNG.integers(1, 12), p=share))


TEXTS = [document(label) if k % 9 else None for k, label in enumerate(Y)]

SETTINGS = {
    "default": {},
    "multinomial": {"model": "multinomial"},
    "binary": {"tf": "binary", "idf": 1.0},
    "pairs": {"ngram_range": (1, 2), "min_df": 2},
    "complement": {"model": "complement"},
    "normed": {"model": "complement", "tf": "log", "idf": 1.0, "norm": True},
    "bernoulli": {"model": "bernoulli", "max_df": 0.9},
    "same length": {"model": "multinomial", "total": 20.0, "alpha": 0.01},
    "hashed": {"hash_bits": 5},
    "bursts": {"model": "dirichlet_multinomial"},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


def plain(settings):
    return sr.TextNB(calibrate=None, **settings)


def same(a, b, texts=TEXTS):
    np.testing.assert_allclose(a.predict_log_proba(texts), b.predict_log_proba(texts), rtol=1e-11, atol=1e-12)


@every_setting
def test_batches_in_any_order_merging_and_forgetting_are_exact(settings):
    whole = plain(settings).fit(TEXTS, Y)
    stream = plain(settings)
    for part in np.array_split(np.random.default_rng(1).permutation(N), 4):
        stream.partial_fit([TEXTS[k] for k in part], Y[part])
    same(stream, whole)
    same(plain(settings).fit(TEXTS[:25], Y[:25]) + plain(settings).fit(TEXTS[25:], Y[25:]), whole)
    more = plain(settings).fit([*TEXTS, "words that vanish", "w3 w4"], [*Y, 1, 2])
    more.forget(["words that vanish", "w3 w4"], [1, 2])
    same(more, whole)
    assert more.stats_.blocks[0].words.tolist() == whole.stats_.blocks[0].words.tolist()


@pytest.mark.parametrize(
    "make",
    [list, tuple, np.array, pd.Series, pl.Series, pa.array],
    ids=["list", "tuple", "array", "pandas", "polars", "pyarrow"],
)
def test_every_kind_of_column_is_read_alike(make):
    texts = make(TEXTS) if make is not np.array else np.array(TEXTS, dtype=object)
    same(plain({}).fit(texts, Y), plain({}).fit(TEXTS, Y), texts)


def test_a_multinomial_of_words_is_scikit_learns():
    from sklearn.naive_bayes import MultinomialNB

    texts, y = [t for t in TEXTS if t], [c for t, c in zip(TEXTS, Y, strict=True) if t]
    ours = plain(SETTINGS["multinomial"]).fit(texts, y)
    vectorizer = CountVectorizer()
    theirs = MultinomialNB().fit(vectorizer.fit_transform(texts), y)
    expected = theirs.predict_log_proba(vectorizer.transform(texts))
    np.testing.assert_allclose(ours.predict_log_proba(texts), expected, rtol=1e-10, atol=1e-12)


# Bursts are left out approximately, which is compared with refits among the families.
@pytest.mark.parametrize("settings", [value for name, value in SETTINGS.items() if name != "bursts"], ids=str)
def test_leave_one_out_takes_a_document_out_of_every_sum(settings):
    model = plain(settings).fit(TEXTS, Y)
    found = model.leave_one_out(TEXTS, Y)
    fitted, family = model._model, model._model.parts[0].family
    for k, text in enumerate(TEXTS):
        if text is None:
            continue
        alone = plain(settings).fit([text], [Y[k]]).stats_.reindexed(model.classes_).blocks[0]
        before = fitted.blocks[0]
        # The words and their weights stay those of all documents.
        rest = (before - alone) + replace(before, rows=0 * before.rows, weight=0.0 * before.weight)
        form = family.form(family.params(rest, np.ones(3)))
        # The document is read as a model of the other documents reads it: their words, and at least min_df of them.
        others = [i for i in range(N) if i != k]
        other = plain(settings).fit([TEXTS[i] for i in others], Y[others])
        words = other.stats_.blocks[0]
        often = words.rows[:, 1:].sum(axis=0) >= settings.get("min_df", 1)
        place = {word: j for j, word in enumerate(before.words.tolist())}
        x = np.full((1, len(place)), np.nan if settings.get("model") == "bernoulli" else 0.0)
        x[0, [place[word] for word in words.words[often]]] = (
            other._encode([text])[0].blocks[0].numbers()[0, often]
        )
        score = form.cells(x)[0].sum(axis=1)
        if family.uses_class_prior:
            score = score + np.log(np.bincount(Y) - (np.arange(3) == Y[k]))
        np.testing.assert_allclose(found[k], score - np.logaddexp.reduce(score), rtol=1e-10, atol=1e-10)


def test_a_missing_document_gets_the_class_prior_and_so_does_one_without_known_words():
    model = plain({}).fit(TEXTS, Y)
    np.testing.assert_allclose(model.predict_proba([None, "", "never seen"]), [model.class_prior_] * 3)


def test_text_stands_beside_other_columns():
    table = pd.DataFrame({"text": TEXTS, "x": RNG.normal(size=N) + Y})
    model = sr.NaiveBayes({"text": "text"}, calibrate="columns").fit(table, Y)
    assert set(model.calibration_.weights) == {"text", "x"}
    assert set(model.calibration_.exponents) == {"text"}
    told = model.explain(table)
    np.testing.assert_allclose(told.score, model.predict_joint_log_proba(table), rtol=1e-10)
    other = sr.NaiveBayes({"text": "text"}, calibrate="columns").fit(pl.from_pandas(table), Y)
    np.testing.assert_allclose(other.predict_proba(table), model.predict_proba(table), rtol=1e-6)


def test_long_strings_that_rarely_repeat_are_inferred_as_text():
    texts = [" ".join(RNG.choice(WORDS, 20)) + " in all these many words" for _ in range(N)]
    model = sr.NaiveBayes().fit({"review": texts}, Y)
    assert model._model.parts[0].family.name == "text"


def test_words_speak_for_and_against():
    texts = ["free prize now", "call now for a free prize", "see you at lunch", "lunch at noon then"]
    model = sr.TextNB(calibrate="temperature").fit(texts, ["spam", "spam", "ham", "ham"])
    told = model.explain_words("free free lunch with you", of="spam", against="ham")
    assert {(found.word, found.times) for found in told} == {("free", 2), ("lunch", 1), ("you", 1)}
    joint = model.predict_joint_log_proba(["free free lunch with you"])[0]
    offsets = model.calibration_.offsets
    prior = offsets["spam"] - offsets["ham"]
    assert sum(found.evidence for found in told) + prior == pytest.approx(joint[1] - joint[0], rel=1e-9)
    assert told[0].documents == {"ham": 0, "spam": 2} or told[0].documents == {"ham": 2, "spam": 0}
    assert {found.word for found in model.words("spam")} == {"free", "prize", "now", "call", "for"}
    assert [word for word, _ in model.informative_words(4)] == ["at", "free", "lunch", "now"]


def test_models_of_text_can_be_kept_and_cloned():
    model = sr.TextNB().fit(TEXTS, Y)
    same(pickle.loads(pickle.dumps(model)), model)
    same(clone(model).fit(TEXTS, Y), model)
    assert len({model.set_params(n_jobs=n).fit(TEXTS, Y).predict_proba(TEXTS).tobytes() for n in (1, 2)}) == 1


@pytest.mark.parametrize(
    "texts, match",
    [
        ("one string", "list of documents"),
        ({"a": TEXTS}, "list, array or Series of strings, not a table"),
        (np.zeros((3, 2)), "list, array or Series of strings, not a table"),
    ],
)
def test_what_are_no_documents_is_refused(texts, match):
    with pytest.raises(ValueError, match=match):
        sr.TextNB().fit(texts, [0, 1, 0])


def test_what_text_cannot_do_is_said():
    model = plain({}).fit(TEXTS, Y)
    with pytest.raises(ValueError, match="no documents can be drawn"):
        model.sample()
    with pytest.raises(ValueError, match="not a distribution"):
        model.interval(TEXTS)
    assert np.isnan(model.log_evidence_)


def test_messages_with_no_tuning(find_data):
    with gzip.open(find_data("sms-spam.jsonl.gz"), "rt", encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    texts, y = [row["text"] for row in rows], [row["label"] for row in rows]
    model = sr.TextNB().fit(texts[::2], y[::2])
    log_p = model.predict_log_proba(texts[1::2])
    true = np.searchsorted(model.classes_, y[1::2])
    counter = CountVectorizer()
    peer = naive_bayes.MultinomialNB().fit(counter.fit_transform(texts[::2]), y[::2])
    matrix = counter.transform(texts[1::2])
    theirs = peer.predict_log_proba(matrix)
    rows = np.arange(len(true))
    assert (log_p.argmax(axis=1) == true).mean() >= (theirs.argmax(axis=1) == true).mean() - 0.005
    assert log_p[rows, true].mean() > theirs[rows, true].mean()


@pytest.mark.slow
def test_twenty_newsgroups_with_no_tuning(find_data):
    train, test = ([], []), ([], [])
    path = find_data("20news-bydate.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            row = json.loads(line)
            texts, labels = train if row["split"] == "train" else test
            texts.append(row["text"])
            labels.append(row["group"])
    model = sr.TextNB().fit(*train)
    log_p = model.predict_log_proba(test[0])
    true = np.searchsorted(model.classes_, test[1])
    assert (log_p.argmax(axis=1) == true).mean() >= 0.845
    assert -log_p[np.arange(len(true)), true].mean() <= 0.58


@pytest.mark.parametrize("model", ["odds", "multinomial", "complement", "bernoulli", "dirichlet_multinomial"])
def test_one_document_of_each_class_is_enough_to_begin(model):
    texts, y = ["red wine", "dark beer"], ["a", "b"]
    found = sr.TextNB(model).fit(texts, y)
    assert found.predict(["wine", "beer"]).tolist() == ["a", "b"]
    assert np.isneginf(found.leave_one_out(texts, y)[0, 0])


TRANSFORMED = {
    "model": "complement",
    "tf": "log",
    "idf": 1.0,
    "length": 1.0,
    "idf_first": True,
    "norm": True,
}


def test_words_weighed_before_the_length_are_those_of_the_paper_and_refuse_to_be_updated():
    model = plain(TRANSFORMED).fit(TEXTS, Y)
    there = [k for k, text in enumerate(TEXTS) if text is not None]
    counts = CountVectorizer().fit_transform([TEXTS[k] for k in there]).toarray()
    weight = np.log(len(there) / (counts > 0).sum(axis=0))

    def transformed(row):
        d = np.log(row + 1.0) * weight
        return d / np.sqrt((d**2).sum()) if d.any() else d

    rows = np.array([transformed(row) for row in counts])
    theta = np.array([rows[Y[there] != c].sum(axis=0) + 1.0 for c in range(3)])
    w = np.log(theta / theta.sum(axis=1, keepdims=True))
    w /= np.abs(w).sum(axis=1, keepdims=True)
    best = [int(np.argmin(w @ row)) for row in rows]
    assert model.predict([TEXTS[k] for k in there]).tolist() == best
    for call in (
        lambda: model.partial_fit(TEXTS[:3], Y[:3]),
        lambda: model.forget(TEXTS[:3], Y[:3]),
        lambda: plain(TRANSFORMED).fit(TEXTS, Y).merge(model),
        lambda: model + model,
    ):
        with pytest.raises(ValueError, match="column 'text'.*neither updated nor merged.*idf_first=False"):
            call()
    assert model.leave_one_out(TEXTS, Y).shape == (N, 3)


def test_documents_can_be_scaled_to_one_length():
    model = plain({"model": "multinomial", "total": 20.0}).fit(TEXTS, Y)
    matrix = model._encode(TEXTS)[0].blocks[0].matrix
    np.testing.assert_allclose(matrix.sum(axis=1)[[text is not None for text in TEXTS]], 20.0, rtol=1e-13)


@pytest.mark.parametrize("settings", [{}, {"model": "bernoulli"}, TRANSFORMED], ids=str)
def test_any_number_of_threads_has_the_same_bits(settings):
    texts, y = TEXTS * 40, np.tile(Y, 40)
    one, four = (sr.TextNB(n_jobs=n, **settings).fit(texts, y) for n in (1, 4))
    np.testing.assert_array_equal(one.stats_.blocks[0].weight, four.stats_.blocks[0].weight)
    np.testing.assert_array_equal(one.predict_proba(texts), four.predict_proba(texts))
    np.testing.assert_array_equal(one.leave_one_out(texts, y), four.leave_one_out(texts, y))


@every_setting
def test_engines_agree(settings):
    found = []
    for name in ("native", "array"):
        with sr.engines.using(name):
            model = plain(settings).fit(TEXTS, Y)
            found.append((model.predict_log_proba(TEXTS), model.leave_one_out(TEXTS, Y)))
    for native, array in zip(*found, strict=True):
        np.testing.assert_allclose(native, array, rtol=1e-9, atol=1e-11)


def test_a_multinomial_and_a_bernoulli_of_words_are_those_of_their_counts():
    there = [k for k, text in enumerate(TEXTS) if text is not None]
    texts, y = [TEXTS[k] for k in there], Y[there]
    counts = CountVectorizer().fit_transform(texts)
    pairs = (
        ("multinomial", naive_bayes.MultinomialNB()),
        ("bernoulli", naive_bayes.BernoulliNB()),
        ("complement", naive_bayes.ComplementNB()),
        ("dirichlet_multinomial", sr.DirichletMultinomialNB()),
    )
    for name, other in pairs:
        model = plain({"model": name}).fit(texts, y)
        expected = other.fit(counts, y).predict_log_proba(counts)
        np.testing.assert_allclose(model.predict_log_proba(texts), expected, rtol=1e-9, atol=1e-9)


def test_alpha_by_evidence_and_intervals_of_plain_counts():
    model = plain({"model": "multinomial", "alpha": "evidence"}).fit(TEXTS, Y)
    chosen = model._model.parts[0].family.model.chosen.value
    tried = {
        a: plain({"model": "multinomial", "alpha": a}).fit(TEXTS, Y).log_evidence_
        for a in (0.5 * chosen, 2.0 * chosen)
    }
    assert model.log_evidence_ > max(tried.values())
    low, high = model.interval(TEXTS[1:9])
    p = model.predict_proba(TEXTS[1:9])
    assert ((low <= p) & (p <= high)).mean() > 0.9
    with pytest.raises(ValueError, match="no evidence"):
        plain({"alpha": "evidence"}).fit(TEXTS, Y)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "bernoulli", "idf": 1.0}, "whole words"),
        ({"norm": True}, 'norm=True needs model="complement"'),
        ({"model": "poisson"}, "model"),
        ({"model": "dirichlet_multinomial", "min_df": 2}, "max_features do not work with it"),
        ({"model": "dirichlet_multinomial", "alpha": 0.1}, "estimates its alphas"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        plain(settings).fit(TEXTS, Y)


def test_families_that_cannot_score_words_are_refused():
    with pytest.raises(ValueError, match="poisson cannot score words"):
        sr.Text(sr.Poisson())
    with pytest.raises(ValueError, match="there is no model 'poisson' for text"):
        sr.Text("poisson")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_file_of_lines_is_a_list_of_documents(tmp_path, ending):
    path = tmp_path / f"texts.txt{ending}"
    texts = ["Zwei Gläser", "", "free prize", "\u0130stanbul now"]
    data = "\r\n".join(texts).encode() + b"\r\n"
    path.write_bytes(gzip.compress(data) if ending else data)
    a, b = sr.TextNB().fit(path, [0, 1, 0, 1]), sr.TextNB().fit(texts, [0, 1, 0, 1])
    np.testing.assert_array_equal(a.predict_proba(path), b.predict_proba(texts))
    counted = sr.text.WordCounter().count(path)
    assert (counted.matrix != sr.text.WordCounter().count(texts).matrix).nnz == 0
