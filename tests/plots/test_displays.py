"""Displays draw the numbers of the model: heights, places and texts are checked against independent numbers."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
import sunrise as sr
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def heart():
    data = sr.datasets.load_heart_disease("pandas").frame
    return sr.NaiveBayes().fit(data, "disease"), data


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return sr.NaiveBayes("gaussian", calibrate=None).fit(X[:900], y[:900]), X, y


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def test_points_of_the_reliability_diagram_are_means_of_groups_of_rows(heart):
    model, data = heart
    display = sr.plots.ReliabilityDisplay.from_estimator(model, data, "disease", of="yes", groups=1)
    p = model.predict_proba(data)[:, 1]
    is_yes = (data["disease"] == "yes").to_numpy()
    points = next(line for line in display.ax_.lines if line.get_marker() == "o")
    assert points.get_xydata().tolist() == [[pytest.approx(p.mean()), pytest.approx(is_yes.mean())]]
    k, n = is_yes.sum(), len(is_yes)
    low, high = stats.beta(k + 0.5, n - k + 0.5).interval(0.9)
    assert (display.low[0], display.high[0]) == pytest.approx((low, high))
    segment = display.ax_.containers[0].lines[2][0].get_segments()[0]
    assert segment[:, 1].tolist() == pytest.approx([low, high])
    steps = display.ax_.patches[0].get_data().values
    counts = np.histogram(p, np.linspace(0, 1, 21))[0]
    np.testing.assert_allclose(steps, 0.2 * counts / counts.max())


def test_the_diagram_is_of_rows_kept_from_the_model_and_weights_do_not_sharpen_it(heart):
    model, data = heart
    display = sr.plots.ReliabilityDisplay.from_estimator(model)
    expected = model.quality_.reliability("yes")
    np.testing.assert_array_equal(display.observed, expected.observed)
    assert "303 rows kept from the model" in display.ax_.get_title(loc="left")
    weighed = sr.plots.ReliabilityDisplay.from_estimator(
        model, data, "disease", sample_weight=np.full(len(data), 100.0)
    )
    plain = sr.plots.ReliabilityDisplay.from_estimator(model, data, "disease")
    np.testing.assert_allclose(weighed.low, plain.low)
    assert "303 new rows" in plain.ax_.get_title(loc="left")


def test_classes_are_pooled_without_error_bars_or_chosen(digits):
    model, X, y = digits
    quality = model.evaluate(X[900:], y[900:])
    pooled = sr.plots.ReliabilityDisplay.from_quality(quality)
    assert np.isnan(pooled.low).all() and "all classes" in pooled.ax_.get_xlabel()
    assert pooled.weight.sum() == pytest.approx(10 * 897)
    own = sr.plots.ReliabilityDisplay.from_quality(quality, of=3, groups=5)
    assert np.average(own.observed, weights=own.weight) == pytest.approx((y[900:] == 3).mean())
    with pytest.raises(ValueError, match="groups is 0"):
        sr.plots.ReliabilityDisplay.from_quality(quality, groups=0)


def test_a_model_without_kept_rows_says_what_to_do(digits):
    for display in (sr.plots.ReliabilityDisplay, sr.plots.ConfusionMatrixDisplay):
        with pytest.raises(ValueError, match="Pass new rows as X and y"):
            display.from_estimator(digits[0])


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_cells_of_the_confusion_matrix_are_those_of_scikit_learn(digits, normalize):
    model, X, y = digits
    display = sr.plots.ConfusionMatrixDisplay.from_estimator(model, X[900:], y[900:], normalize=normalize)
    expected = confusion_matrix(y[900:], model.predict(X[900:]), normalize=normalize)
    np.testing.assert_allclose(display.confusion_matrix, expected)
    np.testing.assert_allclose(display.im_.get_array(), expected)
    shown = [[float(text.get_text().replace(",", "")) for text in row] for row in display.text_]
    np.testing.assert_allclose(shown, expected, atol=0 if normalize is None else 0.00501)
    with pytest.raises(ValueError, match="normalize is 'rows'"):
        sr.plots.ConfusionMatrixDisplay.from_estimator(model, X, y, normalize="rows")


def test_many_classes_have_no_numbers_and_few_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, 600)
    model = sr.NaiveBayes("gaussian", calibrate=None).fit(rng.normal(size=(600, 2)) + y[:, None], y)
    display = sr.plots.ConfusionMatrixDisplay.from_estimator(model, rng.normal(size=(9, 2)), y[:9])
    display.figure_.canvas.draw()
    assert display.text_ is None and len(display.ax_.get_xticks()) == 30


def test_bars_of_words_are_bits_and_shares_of_documents():
    texts = ["free prize now", "free call", "see you", "lunch then", "free lunch"]
    y = np.array(["spam", "spam", "ham", "ham", "ham"])
    model = sr.TextNB().fit(texts, y)
    display = sr.plots.InformativeWordsDisplay.from_estimator(model, top=4)
    assert list(zip(display.words, display.bits, strict=True)) == model.informative_words(top=4)
    assert [bar.get_width() for bar in display.ax_.patches] == display.bits.tolist()
    for word, shares in zip(display.words, display.shares, strict=True):
        has = np.array([word in text.split() for text in texts])
        assert shares.tolist() == [has[y == label].mean() for label in ("ham", "spam")]
    row = display.words.index("free")
    assert texts_of(display.ax_)[row] == "ham 33 %, spam 100 %"


@pytest.mark.parametrize("kind", ["odds", "bernoulli", "dirichlet_multinomial"])
def test_words_of_many_classes_and_all_models(kind):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["sun", "moon", "rain", "snow", "wind"], 4)) for _ in range(60)]
    model = sr.TextNB(kind).fit(texts, rng.integers(0, 5, 60))
    display = sr.plots.InformativeWordsDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    assert len(display.ax_.patches) == len(display.words)


def test_bars_of_drift_are_those_of_compare(heart):
    _, data = heart
    families = heart[0].fixed_families_
    a, b = (sr.NaiveBayes(families, calibrate=None).fit(part, "disease") for part in (data[:150], data[150:]))
    display, table = sr.plots.DriftDisplay.from_estimators(a, b, top=5), sr.compare(a, b)
    assert display.columns == table["column"].tolist()[:5]
    assert [bar.get_width() for bar in display.ax_.patches] == table["bits"].tolist()[:5]
    assert f"{len(table) - 5} more columns" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="top is 0"):
        sr.plots.DriftDisplay.from_estimators(a, b, top=0)


def test_columns_that_cannot_be_compared_say_why():
    X = {"a": [1.0, 2.0, 3.0, 5.0], "b": [0, 1, 1, 0]}
    a = sr.NaiveBayes({"a": "gaussian", "b": "bernoulli"}).fit(X, list("xxyy"))
    b = sr.NaiveBayes({"a": "lognormal", "b": "bernoulli"}).fit(X, list("xxyy"))
    display = sr.plots.DriftDisplay.from_estimators(a, b)
    at = display.columns.index("a")
    assert np.isnan(display.bits[at])
    assert texts_of(display.ax_)[at].startswith("not compared: the models disagree")


def test_images_are_the_parameters_of_the_classes(digits):
    model, X, y = digits
    display = sr.plots.ParameterImagesDisplay.from_estimator(model)
    assert display.parameter == "mean" and len(display.axes_) == 10
    own = X[:900][y[:900] == 3].mean(axis=0).reshape(8, 8)
    drawn = display.axes_[3].images[0].get_array()
    constant = X[:900].std(axis=0).reshape(8, 8) == 0
    assert (drawn.mask == constant).all()
    np.testing.assert_allclose(drawn[~constant], own[~constant], atol=0.15)  # shrunk to the pooled mean
    sd = sr.plots.ParameterImagesDisplay.from_estimator(model, parameter="sd")
    assert sd.images[0, 0, 3] == model.parameters_["x3"]["sd"][0]
    ink = sr.BernoulliNB(alpha=1, binarize=8).fit(X, y)
    yes = sr.plots.ParameterImagesDisplay.from_estimator(ink, (8, 8))
    assert yes.images[4, 2, 3] == pytest.approx(((X[y == 4] > 8)[:, 19].sum() + 1) / ((y == 4).sum() + 2))


def test_images_that_cannot_be_drawn(digits):
    model = digits[0]
    draw = sr.plots.ParameterImagesDisplay.from_estimator
    with pytest.raises(ValueError, match=r"64 columns, which do not fill shape 5 x 5"):
        draw(model, (5, 5))
    with pytest.raises(ValueError, match="no common parameter 'yes' to draw. Common parameters: mean, sd"):
        draw(model, parameter="yes")
    with pytest.raises(ValueError, match="ax has 1 axes for 10 classes"):
        draw(model, ax=plt.subplots()[1])
    mixed = sr.NaiveBayes({"a": "bernoulli", "b": "gaussian"}).fit({"a": [0, 1], "b": [0.0, 1.0]}, [0, 1])
    with pytest.raises(ValueError, match="do not fill a square image"):
        draw(mixed)


def test_displays_draw_on_given_axes(heart, digits):
    model, _ = heart
    _, ax = plt.subplots()
    plots = sr.plots
    assert plots.ReliabilityDisplay.from_estimator(model, ax=ax).ax_ is ax
    assert plots.ConfusionMatrixDisplay.from_estimator(model, ax=ax).figure_ is ax.figure
    assert plots.DriftDisplay.from_estimators(model, model, ax=ax).ax_ is ax
    axes = plt.subplots(2, 5)[1]
    assert plots.ParameterImagesDisplay.from_estimator(digits[0], ax=axes).axes_[7] is axes[1, 2]


def test_every_display_names_matplotlib_if_it_is_missing(heart, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (sr.plots.ReliabilityDisplay, sr.plots.ConfusionMatrixDisplay):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            draw.from_estimator(heart[0])


def test_an_interaction_shows_the_evidence_of_the_explanation():
    rng = np.random.default_rng(0)
    table = {"a": rng.choice(["x", "y"], 200), "b": rng.integers(0, 4, 200).astype(float)}
    y = np.where((table["a"] == "x") == (table["b"] > 1), "p", "q")
    model = sr.NaiveBayes({"a": "categorical", "b": "gaussian"}, interactions=[("a", "b")]).fit(table, y)
    display = sr.plots.InteractionDisplay.from_estimator(model, ("b", "a"))
    assert display.columns == ("a", "b")
    explained = model.explain({"a": ["y"], "b": [2.0]}).contributions[0, :, -1]
    assert display.evidence[1, 2] == pytest.approx(explained, abs=1e-12)
    for c, axes in enumerate(display.axes_):
        assert np.array_equal(axes.images[0].get_array(), display.evidence[:, :, c])
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["x", "y"]
    with pytest.raises(ValueError, match="no interaction of"):
        sr.plots.InteractionDisplay.from_estimator(model, ("a", "c"))
    with pytest.raises(ValueError, match="has no interactions"):
        sr.plots.InteractionDisplay.from_estimator(sr.NaiveBayes(interactions=None).fit(table, y))


def test_bars_of_words_are_their_evidence_by_counts_and_beyond():
    rng = np.random.default_rng(2)
    words = np.array(["not good", "good", "bad", "not bad", "film", "plot", "actor", "scene"])
    y = rng.integers(0, 2, 300)
    texts = [
        " ".join([words[3 * (k % 2)] if c else words[1 + k % 2], *rng.choice(words[4:], 3)])
        for k, c in enumerate(y)
    ]
    model = sr.TextNB(ngram_range=(1, 2), calibrate="words").fit(texts, y)
    display = sr.plots.WordEvidenceDisplay.from_estimator(model, 1, top=4)
    assert display.entries == model.words(1, 4)
    bars = [bar.get_width() for bar in display.ax_.patches]
    assert bars == pytest.approx([e.counted for e in display.entries] + [e.learned for e in display.entries])
    assert any(" " in entry.word for entry in display.entries)
    assert display.ax_.get_xlabel() == "evidence for 1 against all other classes, log-odds"


@pytest.mark.parametrize("kind", ["odds", "bernoulli", "multinomial", "dirichlet_multinomial"])
def test_words_of_a_document_tell_their_repeats(kind):
    texts = ["free prize now", "free call free", "see you", "lunch then", "free lunch"]
    model = sr.TextNB(kind).fit(texts, np.array(["spam", "spam", "ham", "ham", "ham"]))
    display = sr.plots.WordEvidenceDisplay.from_document(model, "free free free lunch $5")
    assert {display.of, display.against} == {"ham", "spam"}
    assert display.entries == model.explain_words("free free free lunch $5", display.of, display.against)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert any(name.startswith("free \N{MULTIPLICATION SIGN}3") for name in names) or kind == "bernoulli"
    assert ("absent words" in names) == (kind == "bernoulli")
    free = next(entry for entry in display.entries if entry.word == "free")
    once = next(e for e in model.explain_words("free lunch", display.of, display.against) if e.word == "free")
    assert abs(free.first) <= abs(free.evidence) + 1e-12
    if kind == "multinomial":
        assert free.first == pytest.approx(once.evidence) == pytest.approx(free.evidence / 3)
    display.figure_.canvas.draw()
