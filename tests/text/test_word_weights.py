"""Weights of words: their meaning, their fit, and what happens to them when a model changes."""

from __future__ import annotations

import gzip
import json
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sunrise as sr
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax
from sunrise import engines
from sunrise.data.blocks import SparseBlock
from sunrise.inference.word_choice import STRENGTHS
from sunrise.inference.word_weights import Learner

every_engine = pytest.mark.parametrize("engine", engines.ENGINES)


@cache
def messages():
    with gzip.open(Path(__file__).parents[1] / "data" / "sms-spam.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], np.array([row["label"] == "spam" for row in rows]).astype(int)


def reviews(n=800, n_classes=2):
    """Messages that are spam or not, the others in several classes by their length."""
    texts, y = messages()
    long = np.array([len(text) > 60 for text in texts])
    return texts[:n], np.where((n_classes > 2) & (y == 0) & long, 2, y)[:n]


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    texts, y = reviews(n_classes=request.param)
    return sr.TextNB(calibrate="words").fit(texts, y), texts, y


def test_the_score_is_that_of_the_formula(fitted):
    model, texts, _ = fitted
    calibration = model._model.calibration
    words, stats = calibration.words, model.stats_.blocks[0]
    assert model.calibration_.kind == "words" and model.chosen_["words"].strength in STRENGTHS
    new = [*texts[:20], "free qqq never seen before", "", None]
    count = sr.text.WordCounter().count(new, stats.vocabulary)
    x = np.log1p(count.matrix.toarray())
    norm = np.sqrt((x * x).sum(axis=1, keepdims=True))
    x = np.divide(x, norm**0.7, out=np.zeros_like(x), where=norm > 0)
    df = stats.documents_with_word.sum(axis=0)
    u = np.log(len(texts) / df) ** 0.5
    odds = model._model.plain_forms[0].x / u  # the IDF weight is part of the form
    band = np.minimum(np.floor(np.log2(df)), 11).astype(int)
    w = np.broadcast_to(words.bands, 12)[band]
    v = np.zeros_like(odds)
    place = {word: j for j, word in enumerate(stats.words)}
    v[:, [place[word] for word in words.words]] = words.learned.T
    f = calibration.weights[0] * (count.lengths + 1.0) ** calibration.exponents_of_columns[0]
    prior = np.log(model.class_prior_)
    scores = (
        (f[:, None] * (x * u) @ (w * odds + v).T) + prior + [calibration.offsets[c] for c in model.classes_]
    )
    scores[-2:] = prior  # documents that say nothing
    np.testing.assert_allclose(
        model.predict_log_proba(new), log_softmax(scores, axis=1), rtol=1e-9, atol=1e-9
    )


def test_explanations_linear_forms_and_files_have_the_same_scores(fitted, tmp_path):
    model, texts, y = fitted
    expected = model.predict_log_proba(texts)
    told = model.explain(texts[:5])
    np.testing.assert_allclose(told.score, model.predict_joint_log_proba(texts[:5]), rtol=1e-10)
    entries = model.explain_words(texts[0])
    joint = model.predict_joint_log_proba(texts[:1])[0] - model._model.log_prior
    top = np.sort(expected[0])[-2:]
    of, against = (int(np.flatnonzero(expected[0] == value)[0]) for value in top[::-1])
    assert sum(entry.evidence for entry in entries) == pytest.approx(joint[of] - joint[against])
    model.save(tmp_path / "m.sunrise")
    for other in (sr.load(tmp_path / "m.sunrise"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_log_proba(texts), expected)
        assert other.chosen_ == model.chosen_
        np.testing.assert_allclose(other.leave_one_out(texts, y), model.leave_one_out(texts, y), rtol=1e-9)


def test_words_tell_what_was_learned_beyond_the_counts(fitted):
    model, texts, _ = fitted
    label = model.classes_[1]
    entries = model.words(label, top=20)
    assert any(entry.learned != 0.0 for entry in entries)
    plain = pickle.loads(pickle.dumps(model))
    calibration = plain._model.calibration
    silent = replace(calibration.words, learned=0.0 * calibration.words.learned)
    plain._set_calibration(replace(calibration, words=silent))
    counts = {entry.word: entry.evidence for entry in plain.words(label, top=10_000)}
    for entry in entries:
        if entry.word in counts:
            assert entry.evidence - entry.learned == pytest.approx(counts[entry.word])
    document = model.explain_words(texts[0], of=label, against=model.classes_[0])
    without = {e.word: e.evidence for e in plain.explain_words(texts[0], of=label, against=model.classes_[0])}
    for entry in document:
        assert entry.evidence - entry.learned == pytest.approx(without[entry.word], abs=1e-12)


def test_updates_keep_the_weights_of_words_and_mark_them_as_stale(fitted):
    model, texts, y = fitted
    more, labels = ["zzbrand new words", "free zzother"], [0, 1]
    updated = pickle.loads(pickle.dumps(model)).partial_fit(more, labels)
    whole = sr.TextNB(calibrate=None).fit([*texts, *more], [*y, *labels])
    np.testing.assert_array_equal(updated.stats_.blocks[0].weight, whole.stats_.blocks[0].weight)
    assert updated.calibration_.stale and not model.calibration_.stale
    form, plain = updated._model.forms[0].x, updated._model.plain_forms[0].x
    new = updated.stats_.blocks[0].words.tolist().index("zzbrand")
    words = updated._model.calibration.words
    df = updated.stats_.blocks[0].documents_with_word.sum(axis=0)
    w = np.broadcast_to(words.bands, 12)[np.minimum(np.floor(np.log2(df)), 11).astype(int)]
    np.testing.assert_allclose(form[:, new], updated._model.calibration.weights[0] * w[new] * plain[:, new])
    back = updated.forget(more, labels)
    np.testing.assert_allclose(
        back.predict_log_proba(texts), model.predict_log_proba(texts), rtol=1e-9, atol=1e-12
    )
    merged = pickle.loads(pickle.dumps(model)) + sr.TextNB(calibrate=None).fit(more, labels)
    np.testing.assert_array_equal(merged.stats_.blocks[0].weight, whole.stats_.blocks[0].weight)


def test_a_forgotten_word_leaves_no_trace_in_the_weights():
    texts, y = reviews()
    secret = ["secretword free", "secretword call now"]
    model = sr.TextNB(calibrate="words").fit([*texts, *secret], [*y, 0, 0])
    assert "secretword" in model._model.calibration.words.words
    model.forget(secret, [0, 0])
    assert "secretword" not in model._model.calibration.words.words


def test_leave_one_out_has_the_weights_of_words(fitted):
    model, texts, y = fitted
    plain = model._model.uncalibrated
    rows = model._read_training_rows(texts, y, None)
    left = rows._hooks[0].documents
    documents = left.documents(rows.batch.blocks[0], np.ones(len(y)), True)
    bands = left.band_scores(documents, rows.y, np.ones(len(y)), 1)
    np.testing.assert_allclose(
        bands.sum(axis=1), type(rows)(plain, *_rest(rows)).block(0), rtol=1e-9, atol=1e-9
    )
    words, calibration = model._model.calibration.words, model._model.calibration
    x = sparse.csr_array((documents.scored, documents.indices, documents.indptr), shape=documents.shape)
    u = model._model.parts[0].family.weight_to_apply
    scores = np.tensordot(bands, np.broadcast_to(words.bands, 12), (1, 0))
    scores = scores + x @ (words.learned_for(model.stats_.blocks[0], model.classes_) * u).T
    f = calibration.weights[0] * (rows.batch.blocks[0].lengths() + 1.0) ** calibration.exponents_of_columns[0]
    prior = np.tile(model._model.log_prior, (len(y), 1))
    n = np.bincount(y)
    prior[np.arange(len(y)), y] += np.log((n[y] - 1) / n[y])
    expected = log_softmax(f[:, None] * scores + prior, axis=1)
    np.testing.assert_allclose(model.leave_one_out(texts, y), expected, rtol=1e-9, atol=1e-9)


def _rest(rows):
    return rows.batch, rows.y, rows.weight


@every_engine
@pytest.mark.parametrize("n_classes", [2, 4, 40])
def test_the_weights_minimise_the_penalised_loss(engine, n_classes):
    rng = np.random.default_rng(1)
    x = sparse.random_array((80, 15), density=0.3, rng=rng, format="csr")
    y = rng.integers(0, n_classes, 80).astype(np.int32)
    offsets, weight = rng.normal(size=(80, n_classes)), rng.uniform(0.5, 2.0, 80)
    width = 1 if n_classes == 2 else n_classes

    def loss(v):
        own = x @ v.reshape(15, width)
        scores = offsets + (np.pad(own, ((0, 0), (1, 0))) if width == 1 else own)
        return -weight @ log_softmax(scores, axis=1)[np.arange(80), y] + 0.35 * v @ v

    best = minimize(loss, np.zeros(15 * width), method="BFGS")
    block = SparseBlock(x.data, x.indices, x.indptr, x.shape)
    with engines.using(engine):
        found, a = engines.current().word_weights(
            block, offsets, y, weight, np.zeros((80, width), np.float32), 0.7, 1e-10, 2
        )
    np.testing.assert_allclose(found.ravel(), best.x, atol=2e-3)
    np.testing.assert_allclose(x.T @ a, found, atol=2e-3)


@pytest.mark.parametrize("model", ["odds", "multinomial", "complement", "bernoulli"])
def test_weights_of_words_learn_what_counts_cannot(model):
    texts, y = reviews(2000)
    plain, words = (
        sr.TextNB(model, calibrate=kind).fit(texts[:1000], y[:1000]) for kind in ("temperature", "words")
    )

    def loss(of):
        return -of.predict_log_proba(texts[1000:])[np.arange(1000), y[1000:]].mean()

    assert loss(words) < loss(plain)
    assert words.loo_score_.method == "5 folds"
    assert words.loo_score_.log_loss == pytest.approx(loss(words), abs=0.04)


def test_shuffled_labels_give_the_log_loss_of_the_prior():
    texts, _ = messages()
    y = np.random.default_rng(5).integers(0, 2, 3000)
    model = sr.TextNB(calibrate="words").fit(texts[:1500], y[:1500])
    log_p = model.predict_log_proba(texts[1500:3000])[np.arange(1500), y[1500:]]
    assert -log_p.mean() < 1.02 * -np.log(model.class_prior_)[y[1500:]].mean()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 3.0}])
def test_class_weights_and_sample_weights_are_part_of_the_loss(class_weight):
    texts, y = reviews(400)
    w = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 400)
    model = sr.TextNB(class_weight=class_weight).fit(texts, y, w)
    plain = sr.TextNB().fit(texts, y)
    assert model.calibration_.kind == "words" and np.isfinite(model.predict_log_proba(texts)).all()
    assert model.predict_proba(texts)[:, 1].mean() > plain.predict_proba(texts)[:, 1].mean()
    assert model.leave_one_out(texts, y, w).shape == (400, 2)


def test_models_without_weights_of_words_say_so():
    texts, y = reviews(100)
    with pytest.raises(ValueError, match='calibrate="words" needs a model of one text column'):
        sr.TextNB("dirichlet_multinomial", calibrate="words").fit(texts, y)
    table = {"text": texts, "x": np.random.default_rng(0).normal(size=100) + y}
    with pytest.raises(ValueError, match='calibrate="words" needs a model of one text column'):
        sr.NaiveBayes({"text": "text"}, calibrate="words").fit(table, y)
    assert sr.TextNB("dirichlet_multinomial").fit(texts, y).calibration_.kind == "temperature"


def test_intervals_have_the_weights_of_words():
    """An interval of calibrated probabilities surrounds them, weights of words included."""
    X, y = reviews(400)
    model = sr.TextNB("multinomial", calibrate="words").fit(X, y)
    assert model.calibration_.kind == "words"
    low, high = model.interval(X[:40], level=0.99, n_draws=300)
    p = model.predict_proba(X[:40])
    inside = (low <= p + 1e-9) & (p <= high + 1e-9)
    assert inside.mean() > 0.9


def test_a_class_of_one_document_does_not_stop_the_folds():
    texts, y = reviews(300)
    model = sr.TextNB(calibrate="words").fit(texts, np.where(np.arange(300) == 5, 2, y))
    assert model.loo_score_.left_out == 1 and np.isfinite(model.predict_log_proba(texts)).all()


def test_the_penalty_on_n_grams_grows_with_the_square_of_their_words():
    texts, y = reviews(60)
    model = sr.TextNB(ngram_range=(1, 3), calibrate="temperature").fit(texts, y)
    learner = Learner(model._read_training_rows(texts, y, None))
    learner.rows = type(learner.rows)(model._model.uncalibrated, *_rest(learner.rows))
    layers = learner.fit_words(learner.plain, 0.3, 1e-12)
    v = learner.learned_of(layers)[:, 1]
    vocabulary = model.stats_.blocks[0].words[learner.words]
    k = np.array([len(word.split()) for word in vocabulary])
    assert set(k) == {1, 2, 3}

    d = learner._documents
    x = sparse.csr_array((d.data, d.indices, d.indptr), shape=d.shape).toarray()[:, learner.words]
    idf = model._model.parts[0].family.weight_to_apply[learner.words]
    z = x * idf * (d.stretch * learner._factors)[:, None]
    q = ((z / k) ** 2).sum(axis=1).mean()
    scores = learner._bands.sum(axis=1) * learner._factors[:, None] + learner._prior + layers.offsets

    def loss(v):
        log_p = log_softmax(scores + np.outer(z @ v, [-1.0, 1.0]), axis=1)[np.arange(len(y)), y]
        return -log_p.sum() + 0.3 * q * ((k * v) ** 2).sum()

    best = minimize(loss, np.zeros(len(v)), method="L-BFGS-B", options={"ftol": 1e-13, "maxfun": 10**6}).x
    assert np.abs(best[k > 1]).max() > 1e-3
    np.testing.assert_allclose(v, best, atol=2e-3 * np.abs(best).max())
