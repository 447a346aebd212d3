"""decay, forget(since=) and pruning."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sunrise as sr

RNG = np.random.default_rng(0)


def test_forgetting_after_decay_needs_to_know_when_the_rows_were_learned():
    X, y = RNG.normal(size=(40, 2)), RNG.integers(0, 2, 40)
    model = sr.GaussianNB().fit(X[:20], y[:20])
    assert model.decay_factor_ == 1.0
    model.decay(0.8)
    later = model.decay_factor_
    model.partial_fit(X[20:], y[20:]).decay(0.5)
    assert model.decay_factor_ == 0.4
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="Pass since=, the value of decay_factor_"):
        model.forget(X[:5], y[:5])
    for since in (0.3, 0.0, -1.0, np.nan, "now"):
        with pytest.raises(ValueError, match="since is .* it must be decay_factor_"):
            model.forget(X[:5], y[:5], since=since)
    assert pickle.dumps(model) == before
    model.forget(X[:20], y[:20], since=1.0)
    truth = sr.GaussianNB().fit(X[20:], y[20:], sample_weight=np.full(20, 0.5))
    np.testing.assert_allclose(model.class_count_, truth.class_count_, rtol=1e-14)
    np.testing.assert_allclose(model.var_, truth.var_, rtol=1e-12)
    model.forget(X[20:30], y[20:30], since=later)
    truth = sr.GaussianNB().fit(X[30:], y[30:], sample_weight=np.full(10, 0.5))
    np.testing.assert_allclose(model.theta_, truth.theta_, rtol=1e-12)
    assert model.fit(X, y).decay_factor_ == 1.0


@pytest.mark.parametrize("factor", [-0.1, 1.1, np.nan, "half", None])
def test_a_factor_is_a_share(factor):
    with pytest.raises(ValueError, match="factor is .* from 0 to 1"):
        sr.GaussianNB().fit([[0.0], [1.0]], [0, 1]).decay(factor)


def test_prune_is_a_weight():
    with pytest.raises(ValueError, match="prune is -1"):
        sr.GaussianNB().fit([[0.0], [1.0]], [0, 1]).decay(0.5, prune=-1)


def test_models_that_cannot_be_updated_do_not_decay():
    with pytest.raises(ValueError, match="made from parameters"):
        sr.GaussianNB.from_parameters([[0.0]], [[1.0]], classes=["only"]).decay(0.5)


def test_a_compressed_model_decays():
    x = np.linspace(0.0, 1.0, 500)[:, None]
    model = sr.KernelNB().fit(x, x[:, 0] > 0.5).compress()
    before = model.predict_proba(x)
    np.testing.assert_allclose(model.decay(0.5).class_count_, [125.0, 125.0])
    np.testing.assert_allclose(model.predict_proba(x), before, atol=0.02)  # the pooled density weighs more


def test_merged_models_keep_the_factor_of_the_left_one():
    a = sr.BernoulliNB().fit([[0], [1]], ["x", "y"]).decay(0.5)
    b = sr.BernoulliNB().fit([[1], [1]], ["x", "y"]).decay(0.25)
    assert (a + b).decay_factor_ == 0.5 and (b + a).decay_factor_ == 0.25 and sum([a, b]).decay_factor_ == 0.5
    np.testing.assert_array_equal((a + b).class_count_, [0.75, 0.75])
    # A row of b, learned at 1, weighs 0.25; so does a row of a that was learned at 2.
    rest = (a + b).forget([[1], [1]], ["x", "y"], since=2.0)
    np.testing.assert_array_equal(rest.class_count_, a.class_count_)
    np.testing.assert_array_equal(rest.feature_count_, a.feature_count_)


def test_calibration_goes_stale():
    X, y = RNG.normal(size=(300, 3)), RNG.integers(0, 2, 300)
    a, b = (sr.NaiveBayes("gaussian").fit(X[part], y[part]) for part in (slice(200), slice(200, None)))
    for model in (a + b, (a + b) - b, sr.NaiveBayes("gaussian").fit(X, y).decay(0.5)):
        assert model._model.calibration.stale


# Memory.


@pytest.mark.parametrize("prune", [0.01, 0.1])
def test_a_stream_of_new_levels_words_and_values_needs_bounded_memory(prune):
    rng = np.random.default_rng(0)
    model = sr.NaiveBayes(
        {"level": "categorical", "text": "text", "value": "kernel", "heavy": "laplace"}, calibrate=None
    )
    sizes = []
    for k in range(1000):
        batch = {
            "level": [f"{k}-{row}" for row in range(3)],
            "text": [f"new{k}x{row} and again" for row in range(3)],
            "value": rng.normal(size=3),
            "heavy": rng.normal(size=3),
        }
        if k == 0:
            model.fit(batch, ["a", "b", "a"])
        else:
            model.decay(0.9, prune=prune).partial_fit(batch, ["a", "b", "a"])
        if k % 100 == 99:
            sizes.append(len(pickle.dumps(model)))
    assert max(sizes) < 1.05 * sizes[0]
    # A row of weight 1 weighs less than `prune` after log(prune) / log(0.9) batches.
    most = 3 * int(np.ceil(np.log(prune) / np.log(0.9)))
    levels, text, value, heavy = model.stats_.blocks
    assert len(levels.codes) <= most and len(text.words) <= most + 2
    assert len(value.x) <= most and len(heavy.x) <= most
    for block in (value, heavy):
        np.testing.assert_array_equal(block.rows.sum(), block.times.sum())
        np.testing.assert_allclose(block.observed_weight.sum(), block.weight.sum())


def test_bursty_words_and_count_values_leave():
    text = sr.TextNB("dirichlet_multinomial", calibrate=None)
    counts = sr.DirichletMultinomialNB()
    for k in range(60):
        if k:
            text.decay(0.5, prune=0.01)
            counts.decay(0.5, prune=0.01)
        text.partial_fit([f"new{k} old", "old word"], ["a", "b"])
        counts.partial_fit([[k + 1, 1], [2, k + 2]], ["a", "b"])
    assert len(text.stats_.blocks[0].words) <= 9
    block = counts.stats_.blocks[0]
    assert all(len(block.levels(j)) <= 10 for j in range(2))
    assert np.isfinite(text.predict_log_proba(["old new59"])).all()
    assert np.isfinite(counts.predict_log_proba([[3, 3]])).all()


def test_pruned_levels_are_as_if_their_cells_were_missing():
    model = sr.NaiveBayes("categorical", calibrate=None).fit(
        {"c": ["x", "x", "y", "x"]}, ["a", "a", "a", "b"]
    )
    model.decay(0.5, prune=0.6)
    truth = sr.NaiveBayes("categorical", calibrate=None)
    truth.fit({"c": ["x", "x", None, "x"]}, ["a", "a", "a", "b"], sample_weight=[0.5] * 4)
    np.testing.assert_allclose(
        model.predict_proba({"c": ["x", None]}), truth.predict_proba({"c": ["x", None]})
    )
    with pytest.raises(ValueError, match="decay may have removed them"):
        model.forget({"c": ["y"]}, ["a"], since=1.0)


def test_a_grid_is_not_pruned():
    model = sr.KernelNB(grid=(-3.0, 3.0, 10)).fit(RNG.normal(size=(50, 1)), RNG.integers(0, 2, 50))
    nodes = len(model.stats_.blocks[0].x)
    assert len(model.decay(0.01, prune=1.0).stats_.blocks[0].x) == nodes


def test_document_frequencies_decay():
    old, new = ["storm sea", "storm wind", "storm sea"], ["sun sea", "sun sand"]
    model = sr.TextNB(calibrate=None).fit(old, ["a", "b", "a"]).decay(0.25).partial_fit(new, ["a", "b"])
    block, family = model.stats_.blocks[0], model._model.parts[0].family
    n = 3 * 0.25 + 2
    frequency = {"storm": 0.75, "sea": 0.5 + 1, "wind": 0.25, "sun": 2, "sand": 1}
    expected = [np.log(n / frequency[word]) ** 0.5 for word in block.words]
    np.testing.assert_allclose(family.word_weight, expected, rtol=1e-14)
    # Sample weights and class weights do not count.
    weighted = sr.TextNB(calibrate=None, class_weight="balanced").fit(
        old, ["a", "b", "a"], sample_weight=[3, 2, 1]
    )
    weighted.decay(0.25).partial_fit(new, ["a", "b"])
    np.testing.assert_allclose(weighted._model.parts[0].family.word_weight, expected, rtol=1e-14)


# Streams that keep their rows.


def test_kept_rows_decay_with_the_model():
    rng = np.random.default_rng(1)
    X = {"x": rng.gamma(2.0, size=300), "c": rng.choice(list("pqr"), 300)}
    y = np.where(rng.random(300) < 0.5, "a", "b")

    def part(rows):
        return {name: cells[rows] for name, cells in X.items()}, y[rows]

    model = (
        sr.NaiveBayes()
        .partial_fit(*part(slice(100)))
        .decay(0.5, prune=10.0)
        .partial_fit(*part(slice(100, 300)))
    )
    truth = sr.NaiveBayes().fit(*part(slice(300)), sample_weight=np.repeat([0.5, 1.0], [100, 200]))
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        model.forget(*part(slice(10)), since=0.5)  # these rows were learned at 1.0
    model.forget(*part(slice(100)), since=1.0)
    truth = sr.NaiveBayes().fit(*part(slice(100, 300)))
    assert model.families_["x"]["family"] == truth.families_["x"]["family"]
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(X), rtol=1e-7)


def test_kept_texts_have_decayed_document_frequencies():
    model = sr.TextNB().partial_fit(["storm sea", "sun sea"], ["a", "b"]).decay(0.5)
    model.partial_fit(["storm wind"] * 3, ["a", "b", "a"])  # more than a quarter: fitted again
    block = model.stats_.blocks[0]
    frequency = dict(zip(block.words, block.decayed_documents_with_word.sum(axis=0), strict=True))
    assert frequency == {"storm": 3.5, "sea": 1.0, "sun": 0.5, "wind": 3.0}


def test_models_that_keep_rows_are_subtracted_row_by_row():
    rng = np.random.default_rng(2)
    X, y = {"x": rng.normal(size=200), "c": rng.choice(list("pqr"), 200)}, rng.integers(0, 2, 200)

    def stream(rows):
        return sr.NaiveBayes().partial_fit({name: cells[rows] for name, cells in X.items()}, y[rows])

    a, b = stream(slice(120)), stream(slice(120, 200))
    rest = (a + b) - b
    assert rest._kept.n_rows == 120
    np.testing.assert_allclose(rest.predict_proba(X), a.predict_proba(X), rtol=1e-7)
    with pytest.raises(ValueError, match="cannot be forgotten"):
        a - b
    decided = sr.NaiveBayes().fit({name: cells[120:] for name, cells in X.items()}, y[120:])
    with pytest.raises(ValueError, match="keeps its 200 rows"):
        (a + b) - decided
    families = {"x": "gaussian", "c": "categorical"}
    whole = sr.NaiveBayes(families, calibrate=None).fit(X, y)
    kept = sr.NaiveBayes({"x": "gaussian"}).partial_fit(
        {name: cells[120:] for name, cells in X.items()}, y[120:]
    )
    plain = sr.NaiveBayes(families, calibrate=None).fit(
        {name: cells[:120] for name, cells in X.items()}, y[:120]
    )
    np.testing.assert_allclose((whole - kept).predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_a_model_after_em_warns():
    texts = ["free prize now", "call for a prize", "see you at lunch", "lunch at noon"] * 3
    em = sr.TextNB(unlabelled="em", unlabelled_weight=1.0, calibrate=None)
    em.fit(texts, ["s", "s", "h", "h"] + [None] * 8)
    plain = sr.TextNB(unlabelled="em", calibrate=None).fit(texts[:4], ["s", "s", "h", "h"])
    with pytest.warns(sr.UnlabelledRowsWarning):
        whole = em + plain
    with pytest.warns(sr.UnlabelledRowsWarning, match="- removes the statistics"):
        whole - plain
    assert np.isfinite(em.decay(0.5).predict_proba(texts)).all()
